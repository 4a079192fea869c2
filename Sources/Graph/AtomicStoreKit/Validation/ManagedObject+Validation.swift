import AtomicStoreSPI
import StorePredicates

extension ManagedObject: PropertyValidating {
  /// Checks a value for a property: first by the model's rules, then by the object's own, ``validate(_:forKey:)``,
  /// which may change it.
  ///
  /// - Throws: `ManagedObjectError` with Core Data's code; several errors as `.validationMultipleErrors`; any error
  ///   that the object's own check throws.
  public final func validateValue(_ value: inout Any?, forKey key: String) throws {
    let p = try number(of: key)
    let errors = try modelErrors(p, value)
    if !errors.isEmpty { throw ManagedObjectError.combining(errors) }
    try validate(&value, forKey: key)
  }

  private final func modelErrors(_ p: Int, _ value: Any?) throws(ManagedObjectError) -> [ManagedObjectError] {
    let property = plan.properties[p]
    switch property.kind {
    case .attribute(let type):
      if property.holdsAnyValue {
        let isMissing = StoredValue.unwrapped(value) == nil && property.attribute?.isOptional == false
        return isMissing ? [failure(p, .validationMissingMandatoryProperty, "a value is needed", "nil")] : []
      }
      return attributeErrors(p, try converted(value, property, type))
    case .toOne: return try relationshipErrors(p, [destination(value, property)].compactMap { $0 })
    case .toMany, .orderedToMany: return try relationshipErrors(p, destinations(value, property))
    case .composite, .fetched: return []
    }
  }

  private final func attributeErrors(_ p: Int, _ value: StoredValue) -> [ManagedObjectError] {
    guard let rule = plan.properties[p].rule else { return [] }
    return rule.violations(value, patternBudget).map { failure(p, $0.code, $0.rule, value.displayText) }
  }

  /// The steps of the save for patterns; outside of a save, those of one value.
  private final var patternBudget: StepBudget { context?.saveSession?.patternBudget ?? StepBudget() }

  private final func relationshipErrors(_ p: Int, _ objects: [ManagedObject]) -> [ManagedObjectError] {
    guard let rule = plan.properties[p].rule else { return [] }
    // What is being deleted is as good as gone.
    return countErrors(p, rule, objects.reduce(0) { $0 + ($1.flags.contains(.deleted) || $1.context == nil ? 0 : 1) })
  }

  private final func countErrors(_ p: Int, _ rule: ValidationRule, _ count: Int) -> [ManagedObjectError] {
    if count == 0 {
      if plan.properties[p].isToMany, rule.minimumCount <= 0, context?.allowsEmptyNonOptionalToMany ?? false {
        return []
      }
      return rule.isMandatory ? [failure(p, .validationMissingMandatoryProperty, "an object is needed", "nil")] : []
    }
    if rule.minimumCount > 0, count < rule.minimumCount {
      return [
        failure(
          p, .validationRelationshipLacksMinimumCount, "at least \(rule.minimumCount) objects", "\(count) objects")
      ]
    }
    if rule.maximumCount > 0, count > rule.maximumCount {
      return [
        failure(
          p, .validationRelationshipExceedsMaximumCount, "at most \(rule.maximumCount) objects", "\(count) objects")
      ]
    }
    return []
  }

  /// Whether a to-many is empty and was so when it was read: then no change of this object or of another emptied it.
  final func wasReadEmpty(_ p: Int) -> Bool {
    base != nil && !flags.contains(.inserted) && toManyCount(p) == 0 && storedCount(p) == 0
  }

  private final func failure(
    _ p: Int, _ code: ManagedObjectError.Code, _ rule: String, _ value: String
  ) -> ManagedObjectError {
    let name = plan.properties[p].name
    let reason = code == .validationMissingMandatoryProperty ? rule : "the rule is \(rule)"
    return objectError(code, "\(rowName).\(name) is \(value): \(reason)", key: name, value: value, rule: rule)
  }

  final func validateProperties() throws {
    var errors: [ManagedObjectError] = []
    let hasHooks = OwnValidation.exists(in: type(of: self))
    for p in plan.properties.indices {
      let property = plan.properties[p]
      var found: [ManagedObjectError] = []
      if let rule = plan.properties[p].rule {
        switch property.kind {
        case .attribute:
          if property.holdsAnyValue {
            if try value(at: p) == nil { found = try modelErrors(p, nil) }
          } else {
            found = rule.violations(storedValue(p), patternBudget).map {
              failure(p, $0.code, $0.rule, storedValue(p).displayText)
            }
          }
        case .toOne: found = relationshipErrors(p, [toOneObject(p)].compactMap { $0 })
        case .toMany, .orderedToMany: found = wasReadEmpty(p) ? [] : countErrors(p, rule, toManyCount(p))
        case .composite, .fetched: break
        }
      }
      errors += found
      guard hasHooks, found.isEmpty, property.kind != .fetched, property.kind != .composite else { continue }
      // Creating a set of all its objects is worthwhile only if the relationship changed.
      if property.isToMany, edits.map({ $0[p] == nil }) ?? true { continue }
      do {
        let before = try value(at: p)
        var after = before
        try validate(&after, forKey: property.name)
        try takeValidated(p, before, after)
      } catch {
        errors.append(wrapped(error, key: property.name))
      }
    }
    if !errors.isEmpty { throw ManagedObjectError.combining(errors) }
  }

  /// Sets the value that a check returned, if it changed the value.
  private final func takeValidated(_ p: Int, _ before: Any?, _ after: Any?) throws {
    let property = plan.properties[p]
    if before == nil, after == nil { return }
    if case .attribute(let type) = property.kind, !property.holdsAnyValue {
      // Almost always nothing changed: common types are compared directly.
      switch storedValue(p) {
      case .string(let text):
        if let after = after as? String, after.utf8.elementsEqual(text.utf8) { return }
      case .integer(let number):
        if let after = after as? Int, after == number { return }
      case .double(let number):
        if let after = after as? Double, after.bitPattern == number.bitPattern { return }
      case .boolean(let flag):
        if let after = after as? Bool, after == flag { return }
      default: break
      }
      if case .transformable = type {
        if isAsBefore(before, after) { return }
        return try setValue(after, at: p)
      }
      return try setStoredValue(p, try converted(after, property, type))
    }
    if property.kind == .toOne, let one = before as? ManagedObject, let two = after as? ManagedObject, one === two {
      return
    }
    if let one = before as? Set<ManagedObject>, let two = after as? Set<ManagedObject>, one == two { return }
    if property.isRelationship { return try setValue(after, at: p) }
    if isAsBefore(before, after) { return }
    try setValue(after, at: p)
  }

  /// Whether a check left a value unchanged. Values that cannot be compared count as unchanged: otherwise they would
  /// count as changed in every pass, and the object would never be ready.
  private final func isAsBefore(_ before: Any?, _ after: Any?) -> Bool {
    switch (StoredValue.unwrapped(before), StoredValue.unwrapped(after)) {
    case (nil, nil): true
    case (let one?, let other?): AnyValue.areEqual(one, other) ?? true
    default: false
    }
  }

  final func wrapped(_ error: any Error, key: String?) -> ManagedObjectError {
    if let error = error as? ManagedObjectError { return error }
    return ManagedObjectError(
      .managedObjectValidation,
      "\(rowName)\(key.map { "." + $0 } ?? ""): \(error)",
      objectID: objectID, entityName: plan.name, key: key, underlying: error)
  }

  final func validateDeleteRules() throws {
    // A fault may already be removed from the store: then there is nothing to protect.
    guard isReachable else { return }
    var errors: [ManagedObjectError] = []
    for p in plan.relationships where plan.properties[p].relationship?.deleteRule == .deny {
      let property = plan.properties[p]
      let others = ends(p)
      let staying = others.filter { !$0.flags.contains(.deleted) && $0.context != nil && $0.isReachable }
      guard !staying.isEmpty else { continue }
      let names = staying.prefix(5).map { "\($0.rowName)" }
      errors.append(
        objectError(
          .validationRelationshipDeniedDelete,
          "\(rowName) cannot be deleted while its \(property.name) has "
            + "\(names.joined(separator: ", "))\(staying.count > 5 ? " and \(staying.count - 5) more" : "")",
          key: property.name, value: "\(staying.count) objects", rule: "Deny"))
    }
    if !errors.isEmpty { throw ManagedObjectError.combining(errors) }
  }
}

/// Which classes have their own ``ManagedObject/validate(_:forKey:)``: only for these does a save make the values that
/// it gets. A to-many of a thousand members is a thousand objects.
///
/// Swift does not say whether a method is overridden. A class has a table of its methods, and which entry is that of
/// `validate` follows from two subclasses of ``ManagedObject``, of which one overrides it and nothing else. If there is
/// no such entry, all classes count as those that override it.
enum OwnValidation {
  private class Plain: ManagedObject {}
  private class Overriding: ManagedObject {
    override func validate(_ value: inout Any?, forKey key: String) throws { value = nil }
  }

  static func exists(in type: ManagedObject.Type) -> Bool {
    if type == ManagedObject.self { return false }
    guard let place else { return true }
    // Every subclass has all entries of ManagedObject, at the same places.
    return method(place, of: type) != method(place, of: ManagedObject.self)
  }

  private static func method(_ place: Int, of type: ManagedObject.Type) -> UInt {
    unsafeBitCast(type, to: UnsafePointer<UInt>.self)[place]
  }

  /// The number of the entry, in words.
  private static let place: Int? = {
    let base = unsafeBitCast(ManagedObject.self as ManagedObject.Type, to: UnsafeRawPointer.self)
    // Of the layout of a class without Objective-C: its superclass, and how many bytes it has, behind its address
    // and before it.
    let superclassOffset = 8
    let sizes = (32, 36)
    let plain = unsafeBitCast(Plain.self as ManagedObject.Type, to: UnsafeRawPointer.self)
    guard MemoryLayout<Int>.size == 8, plain.load(fromByteOffset: superclassOffset, as: UnsafeRawPointer?.self) == base
    else { return nil }
    let size = Int(base.load(fromByteOffset: sizes.0, as: UInt32.self))
    let before = Int(base.load(fromByteOffset: sizes.1, as: UInt32.self))
    guard size > before, size - before < 1 << 16 else { return nil }
    let places = (0..<(size - before) / 8).filter { place in
      method(place, of: Plain.self) == method(place, of: ManagedObject.self)
        && method(place, of: Overriding.self) != method(place, of: ManagedObject.self)
    }
    return places.count == 1 ? places.first : nil
  }()
}

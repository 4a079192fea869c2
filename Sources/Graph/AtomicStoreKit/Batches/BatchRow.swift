import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// The values of a new object in a ``BatchInsertRequest``, by attribute name.
public struct BatchRow {
  let plan: EntityPlan
  let transformers: AttributeTransformers
  /// By slot: the values that were set.
  private(set) var values: SlotValues
  /// By property: the values of transient attributes that were set. They are checked, and not stored.
  private(set) var transients: [Int: Any?] = [:]
  /// What was refused first.
  var error: ManagedObjectError?

  init(_ plan: EntityPlan, _ transformers: AttributeTransformers) {
    self.plan = plan
    self.transformers = transformers
    values = SlotValues(slotCount: plan.entity.slots.count)
  }

  /// The value of an attribute, or of a part of a composite such as `address.city`; nil for null, and if it was not
  /// set, in which case the object gets the model's default. A name that is not an attribute's, or a value that
  /// ``ManagedObject/setValue(_:forKey:)`` would refuse, makes the request fail.
  public subscript(name: String) -> Any? {
    get {
      guard let p = plan.property(named: name) else { return nil }
      let property = plan.properties[p]
      guard property.kind == .composite else { return value(of: property) }
      let parts = property.parts.compactMap { part in
        value(of: plan.properties[part]).map { (String(plan.properties[part].name.dropFirst(name.count + 1)), $0) }
      }
      return parts.isEmpty ? nil : Dictionary(uniqueKeysWithValues: parts)
    }
    set {
      do throws(ManagedObjectError) { try set(newValue, at: try plan.number(of: name)) } catch {
        if self.error == nil { self.error = error }
      }
    }
  }

  private func value(of property: PropertyPlan) -> Any? {
    if property.slot >= 0 { return values[property.slot]?.anyValue }
    let value = transients[property.index] ?? nil
    return (value as? StoredValue).map(\.anyValue) ?? value
  }

  private mutating func set(_ value: Any?, at p: Int) throws(ManagedObjectError) {
    let property = plan.properties[p]
    switch property.kind {
    case .attribute where property.holdsAnyValue: transients[p] = .some(StoredValue.unwrapped(value))
    case .attribute(let type):
      let stored = try plan.stored(value, property, type, transformers)
      if property.slot >= 0 { values[property.slot] = stored } else { transients[p] = stored }
    case .composite: for (part, value) in try plan.parts(of: value, property) { try set(value, at: part) }
    case .toOne, .toMany, .orderedToMany, .fetched:
      throw ManagedObjectError(
        .invalidValue, "\(plan.name).\(property.name) is not an attribute: a batch sets attributes only",
        entityName: plan.name, key: property.name)
    }
  }

  /// The value of a transient attribute, as the rules of the model see it; nil for one of any type.
  private func transientValue(_ property: PropertyPlan) -> StoredValue? {
    guard let value = transients[property.index] else { return property.unsetValue }
    return value == nil ? .null : value as? StoredValue
  }

  /// Adds the model's defaults, and checks the model's rules.
  ///
  /// - Parameters:
  ///   - number: The row's number, from 1, for messages.
  ///   - budget: The steps that the patterns of all rows may take.
  /// - Returns: All values, which the row has no longer.
  mutating func complete(_ number: Int, _ budget: StepBudget) throws(ManagedObjectError) -> SlotValues {
    if let error { throw error.inRow(number) }
    var values = SlotValues()
    swap(&values, &self.values)
    for (p, value) in plan.defaults where plan.properties[p].slot >= 0 && values[plan.properties[p].slot] == nil {
      values[plan.properties[p].slot] = value
    }
    var errors: [ManagedObjectError] = []
    for property in plan.properties {
      guard case .attribute = property.kind, let rule = property.rule,
        let value = property.slot >= 0 ? values[property.slot] ?? .null : transientValue(property)
      else { continue }
      for violation in rule.violations(value, budget) {
        errors.append(
          ManagedObjectError(
            violation.code,
            "\(plan.name).\(property.name) is \(value.displayText): "
              + (violation.code == .validationMissingMandatoryProperty ? "" : "the rule is ") + violation.rule,
            entityName: plan.name, key: property.name, value: value.displayText, rule: violation.rule
          ).inRow(number))
      }
    }
    if !errors.isEmpty { throw ManagedObjectError.combining(errors) }
    return values
  }
}

extension ManagedObjectError {
  /// The error with the number of a row of a batch.
  func inRow(_ number: Int) -> ManagedObjectError {
    var error = self
    error.message = "row \(number): \(message)"
    return error
  }
}

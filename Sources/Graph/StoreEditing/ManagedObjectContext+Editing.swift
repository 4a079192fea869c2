public import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Changes to many objects at once, by entity and predicate. They are made in the context, with inverses and delete
/// rules; a save validates and writes them, all or nothing.
extension ManagedObjectContext {
  /// Sets properties of the objects that fulfil a predicate.
  ///
  /// - Parameters:
  ///   - assignments: The new values. Those of all objects are computed before any is set.
  ///   - entityName: The entity; objects of its sub-entities are included.
  ///   - predicate: What the objects fulfil; nil for all.
  /// - Returns: How many objects were changed; objects that have the values already are not.
  /// - Throws: `ManagedObjectError`, `.invalidValue` for a value that a property does not take, and
  ///   `PersistentStoreError` for an assignment that is wrong for every object; nothing is changed then. If setting a
  ///   value fails, the objects before it stay changed: roll back.
  @discardableResult
  public func setValues(
    _ assignments: [PropertyAssignment], entityName: String, predicate: FetchPredicate? = nil
  ) throws -> Int {
    let assignments = try checked(assignments, entityName)
    let objects = try fetch(FetchRequest<ManagedObject>(entityName: entityName, predicate: predicate))
    // An expression may follow relationships to objects that are set, too: they are read as they were. `now()` is one
    // instant for all.
    let now = Date()
    let values = try objects.map { try self.values(of: assignments, for: $0, now: now) }
    var changed = 0
    for (object, values) in zip(objects, values) where try set(values, of: object) { changed += 1 }
    return changed
  }

  /// Sets properties of the objects that fulfil a predicate, and saves all changes, for a context that is used for
  /// nothing else: as ``setValues`` and `save()`, but without an object for each row, and without events, where columns
  /// suffice.
  package func setAndSaveValues(
    _ assignments: [PropertyAssignment], entityName: String, predicate: FetchPredicate? = nil
  ) throws -> Int {
    let assignments = try checked(assignments, entityName)
    try checkAreStored(assignments, entityName)
    let request = FetchRequest<ManagedObject>(entityName: entityName, predicate: predicate)
    if let rows = rowAssignments(assignments, entityName), let saved = try updateRows(request, rows) {
      return saved.count
    }
    let count = try setValues(assignments, entityName: entityName, predicate: predicate)
    try save()
    return count
  }

  /// The assignments as columns need them; nil where one needs objects.
  private func rowAssignments(_ assignments: [PropertyAssignment], _ entityName: String) -> [RowAssignment]? {
    let entity = persistentStoreCoordinator.persistentStores.lazy.compactMap { $0.model.entity(named: entityName) }
      .first
    var rows: [RowAssignment] = []
    for assignment in assignments {
      guard case .attribute(let attribute)? = entity?.assignableProperty(named: assignment.property) else { return nil }
      switch assignment.source {
      case .text(let text):
        guard let value = Self.value(of: text, attribute.type) else { return nil }
        rows.append(RowAssignment(assignment.property, .value(value)))
      case .expression(let expression):
        rows.append(RowAssignment(assignment.property, .expression(expression)))
      }
    }
    return rows
  }

  /// Deletes the objects that fulfil a predicate, by the delete rules of their relationships.
  ///
  /// - Returns: How many fulfilled it; the rules may have deleted more.
  @discardableResult
  public func deleteObjects(entityName: String, predicate: FetchPredicate? = nil) throws -> Int {
    let objects = try fetch(FetchRequest<ManagedObject>(entityName: entityName, predicate: predicate))
    for object in objects { delete(object) }
    return objects.count
  }

  /// Deletes the objects that fulfil a predicate, and saves all changes, for a context that is used for nothing else:
  /// as ``deleteObjects(entityName:predicate:)`` and `save()`, but by the database itself where that is the same.
  package func deleteAndSaveObjects(entityName: String, predicate: FetchPredicate? = nil) throws -> Int {
    let unseen = unseenRequirements(entityName)
    let request = FetchRequest<ManagedObject>(entityName: entityName, predicate: predicate)
    if unseen.isEmpty, let changes = try deleteRows(request) { return changes.deleted.count }
    let count = try deleteObjects(entityName: entityName, predicate: predicate)
    processPendingChanges()
    try refuseLoss(of: unseen)
    try save()
    return count
  }

  /// Inserts an object with values.
  ///
  /// - Returns: The new object.
  @discardableResult
  public func insertObject(entityName: String, values assignments: [PropertyAssignment]) throws -> ManagedObject {
    let assignments = try checked(assignments, entityName)
    let object = try insertNewObject(forEntityName: entityName)
    try set(try values(of: assignments, for: object, now: Date()), of: object)
    return object
  }

  /// Refuses what is wrong for every object, also if there is none.
  ///
  /// - Returns: The assignments, with the names of properties that were written as keys of predicates.
  private func checked(_ assignments: [PropertyAssignment], _ entityName: String) throws -> [PropertyAssignment] {
    var names: Set<ScalarString> = []
    let entity = persistentStoreCoordinator.persistentStores.lazy.compactMap { $0.model.entity(named: entityName) }
      .first
    let assignments = assignments.map { assignment in
      var assignment = assignment
      if let keys = entity.flatMap({ FetchExpression.keyPath(of: assignment.property, for: $0).keys }) {
        assignment.property = keys.joined(separator: ".")
      }
      return assignment
    }
    for assignment in assignments {
      guard names.insert(ScalarString(assignment.property)).inserted else {
        throw PersistentStoreError(.invalidOption, "'\(assignment.property)' is set twice")
      }
      guard let entity else { continue }
      guard let property = entity.assignableProperty(named: assignment.property) else {
        throw unknown(assignment.property, entity)
      }
      if case .attribute(let attribute) = property, let derivation = attribute.derivationExpression {
        throw PersistentStoreError(
          .invalidOption,
          "'\(assignment.property)' is derived from \(derivation) and cannot be set: set what it is "
            + "derived from", at: StoreLocation(entity: entity.name, property: assignment.property))
      }
      if case .expression(let expression) = assignment.source { try check(expression, assignment, entity) }
    }
    return assignments
  }

  /// Refuses values of transient properties: a store has none of them.
  package func checkAreStored(_ assignments: [PropertyAssignment], _ entityName: String) throws {
    for assignment in try checked(assignments, entityName) {
      let entities = persistentStoreCoordinator.persistentStores.lazy.compactMap { $0.model.entity(named: entityName) }
      guard let entity = entities.first, let property = entity.assignableProperty(named: assignment.property),
        property.isTransient
      else { continue }
      throw PersistentStoreError(
        .invalidOption, "'\(assignment.property)' is transient: stores do not have it",
        at: StoreLocation(entity: entity.name, property: assignment.property))
    }
  }

  private func check(
    _ expression: FetchExpression, _ assignment: PropertyAssignment, _ entity: Entity
  ) throws(PersistentStoreError) {
    do throws(PredicateFormatError) { try expression.check(entity) } catch {
      var message = "'\(assignment.written ?? assignment.property)': \(error.message)"
      if case .relationship? = entity.assignableProperty(named: assignment.property) {
        message += "; an object is given as \(assignment.writtenAsText)"
      } else {
        if let suggestion = error.suggestion { message += "; \(suggestion)" }
        message += "; a text is given as \(assignment.writtenAsText)"
      }
      throw PersistentStoreError(
        .invalidOption, message,
        at: StoreLocation(entity: entity.name, property: assignment.property))
    }
  }

  private func unknown(_ property: String, _ entity: Entity) -> PersistentStoreError {
    PersistentStoreError(
      .invalidOption,
      "\(entity.name) does not have a property '\(property)'"
        + Suggestion.text(
          for: property,
          among: entity.properties.map(\.name) + entity.slots.map(\.name).filter { entity.property(named: $0) == nil }))
  }

  private func values(
    of assignments: [PropertyAssignment], for object: ManagedObject, now: Date
  ) throws -> [(name: String, value: Any?)] {
    try assignments.map { ($0.property, try value(of: $0, for: object, now: now)) }
  }

  /// - Returns: Whether anything changed.
  @discardableResult
  private func set(_ values: [(name: String, value: Any?)], of object: ManagedObject) throws -> Bool {
    var isChanged = false
    for (name, value) in values {
      if let stored = value as? StoredValue, case .value(let old)? = try peek(name, object), old.isIdentical(to: stored)
      {
        continue
      }
      try object.setValue(value, forKey: name)
      isChanged = true
    }
    return isChanged
  }

  private func peek(_ name: String, _ object: ManagedObject) throws -> PredicateValue? {
    try object.predicateProperty(named: name).map { try object.predicateValue(of: $0) }
  }

  /// What a property is set to: a stored value, an object, a set of objects, or nil.
  private func value(of assignment: PropertyAssignment, for object: ManagedObject, now: Date) throws -> Any? {
    let entity = object.entity
    guard let property = entity.assignableProperty(named: assignment.property) else {
      throw unknown(assignment.property, entity)
    }
    switch (property, assignment.source) {
    case (.fetchedProperty, _):
      throw PersistentStoreError(
        .invalidOption, "a fetched property is computed, and cannot be set",
        at: StoreLocation(entity: entity.name, property: assignment.property))
    case (.attribute(let attribute), .text(let text)):
      guard let value = Self.value(of: text, attribute.type) else {
        throw object.refusal(
          "'\(text)' is not of type \(attribute.type.modelName)\(Self.hint(text, attribute.type))", assignment)
      }
      // A composite as a whole has no stored value.
      if case .composite = attribute.type, value.isNull { return nil }
      return value
    case (.relationship(let relationship), .text(let text)): return try objects(text, relationship, object, assignment)
    case (_, .expression(let expression)):
      do throws(ManagedObjectError) {
        return try object.value(of: expression, forKey: assignment.property, now: now)
      } catch {
        guard error.code == .invalidValue else { throw error }
        throw object.refusal(error.message + Self.hint(expression, property, assignment), assignment)
      }
    }
  }

  // MARK: Attributes

  /// The value of a type that a text is; nil for none.
  private static func value(of text: String, _ type: AttributeType) -> StoredValue? {
    text.isEmpty ? .null : ValueConversion.written(text, as: type)
  }

  /// What is wrong with a text, or how its type is written.
  private static func hint(_ text: String, _ type: AttributeType) -> String {
    let isNumber = DecimalNumber(text).map { !$0.isNaN } ?? (Double(text).map { !$0.isNaN } ?? false)
    switch type.valueKind {
    case .integer where isNumber:
      let isWhole = DecimalNumber(text)?.integer != nil || Double(text).map { $0.rounded() == $0 } ?? false
      return isWhole ? ": it is out of range" : ": it has a fraction"
    case .float where isNumber, .double where isNumber:
      return isInRange(text, type) ? ": it has more digits than are kept" : ": it is out of range"
    case .decimal where isNumber: return ": it is out of range"
    case .date: return ": write it as 2020-12-31 or 2020-12-31T23:59:59Z"
    case .boolean: return ": write true or false"
    case .uuid: return ": write it as 01234567-89AB-CDEF-0123-456789ABCDEF"
    case .data: return ": bytes cannot be given as a text"
    default: return ""
    }
  }

  /// Whether the nearest floating-point number is neither infinite nor a zero that the text does not mean.
  private static func isInRange(_ text: String, _ type: AttributeType) -> Bool {
    guard let number = Double(text), number.isFinite else { return false }
    return type.valueKind == .float ? Float(number).isFinite && Float(number) != 0 : number != 0
  }

  /// How a value of the property's type is written, where an expression is not one.
  private static func hint(
    _ expression: FetchExpression, _ property: PropertyDescription, _ assignment: PropertyAssignment
  ) -> String {
    guard case .attribute(let attribute) = property, [.date, .string, .uuid, .uri].contains(attribute.type) else {
      return ""
    }
    if attribute.type == .date {
      // A calculation is most likely a date without quotes, which needs its colon only.
      switch expression {
      case .constant(.string), .keyPath: return hint("", .date)
      default: break
      }
    }
    let text = attribute.type == .string ? " for the text, CAST(\(expression), 'NSString') for the value" : ""
    return "; write \(assignment.writtenAsText)\(text)"
  }

  // MARK: Relationships

  /// Objects that a text names: `Entity/reference`, several separated by blanks. A to-one may have a reference with
  /// blanks.
  private func objects(
    _ text: String, _ relationship: RelationshipDescription, _ object: ManagedObject, _ assignment: PropertyAssignment
  ) throws -> Any? {
    var parts = text.split(separator: " ")
    if !relationship.isToMany, parts.count > 1, let ids = ids(text[...], object), !existingObjects(with: ids).isEmpty {
      parts = [text[...]]
    }
    let found = try parts.map { part in
      guard let ids = ids(part, object) else {
        throw object.refusal("'\(part)' is not ENTITY/REFERENCE", assignment)
      }
      let objects = existingObjects(with: ids)
      guard objects.count < 2 else {
        throw object.refusal(
          "'\(part)' is two objects, one whose reference is a number and one with a text", assignment)
      }
      // An error says why there is none.
      return try objects.first ?? existingObject(with: ids[ids.count - 1])
    }
    if relationship.isToMany { return relationship.isOrdered ? found as Any : Set(found) }
    guard found.count < 2 else {
      throw object.refusal("a to-one takes one object, not \(found.count)", assignment)
    }
    return found.first
  }

  /// The objects that `Entity/reference` may mean, the text last: references of some stores are texts, which may look
  /// like numbers.
  private func ids(_ text: Substring, _ object: ManagedObject) -> [ManagedObjectID]? {
    guard let slash = text.firstIndex(of: "/"), let store = object.objectID.storeIdentifier ?? storeIdentifiers.first
    else { return nil }
    let reference = String(text[text.index(after: slash)...])
    return ((Int64(reference).map { [.integer($0)] } ?? []) + [.string(reference)]).map {
      ManagedObjectID(storeIdentifier: store, entityName: String(text[..<slash]), reference: $0)
    }
  }

  private var storeIdentifiers: [UUID] { persistentStoreCoordinator.storeIdentifiers }
}

extension ManagedObject {
  /// The error for a value that a property does not take, which names the object.
  fileprivate func refusal(_ message: String, _ assignment: PropertyAssignment) -> ManagedObjectError {
    let place = StoreLocation(
      entity: entity.name, reference: objectID.reference?.description, property: assignment.property)
    return ManagedObjectError(
      .invalidValue, "\(place): \(message)", objectID: objectID, entityName: entity.name, key: assignment.property)
  }
}

extension PropertyDescription {
  fileprivate var isTransient: Bool {
    switch self {
    case .attribute(let attribute): attribute.isTransient
    case .relationship(let relationship): relationship.isTransient
    case .fetchedProperty: false
    }
  }
}

extension Entity {
  /// A property, or the part of a composite attribute by its path, such as `address.city`.
  fileprivate func assignableProperty(named name: String) -> PropertyDescription? {
    if let property = property(named: name) { return property }
    return slot(named: name).flatMap { slots[$0].attribute }.map { .attribute($0) }
  }
}

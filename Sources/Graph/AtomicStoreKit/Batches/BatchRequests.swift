public import AtomicStoreSPI
public import StoreCoordination

/// Inserts many objects of an entity into a store, without creating managed objects: see
/// ``ManagedObjectContext/execute(_:)-(BatchInsertRequest)``.
///
/// ```swift
/// var names = ["Ada", "Ben"].makeIterator()
/// let request = BatchInsertRequest(entityName: "Person") { row in
///   guard let name = names.next() else { return true }
///   row["name"] = name
///   return false
/// }
/// let result = try context.execute(request)
/// ```
public struct BatchInsertRequest {
  /// What happens to a row that has the values of a uniqueness constraint which an object already has.
  public enum ConstraintRule: Sendable {
    /// The request fails with 133021, and nothing is inserted.
    case fail
    /// The object gets the values that the row sets, and keeps all others.
    case update
    /// The row is skipped.
    case skip
  }
  /// The entity of the objects.
  public var entityName: String
  /// What happens to rows that violate a uniqueness constraint.
  public var constraintRule = ConstraintRule.fail
  /// The store; needed if several accept the entity.
  public var affectedStore: PersistentStore?
  /// Fills in the next row and returns false, or returns true if there are no more rows. It may throw.
  public var rowHandler: (inout BatchRow) throws -> Bool {
    didSet { objects = nil }
  }
  /// The rows, if they are known.
  private var objects: [[String: Any?]]?

  /// What fills in the rows of one execution: known rows start over each time.
  func makeRowHandler() -> (inout BatchRow) throws -> Bool { objects.map(Self.handler) ?? rowHandler }

  private static func handler(of objects: [[String: Any?]]) -> (inout BatchRow) throws -> Bool {
    var rest = objects.makeIterator()
    return { row in
      guard let values = rest.next() else { return true }
      for (name, value) in values { row[name] = value }
      return false
    }
  }

  /// Creates a request for rows that a closure makes, one at a time.
  ///
  /// - Parameters:
  ///   - entityName: The entity of the new objects.
  ///   - rowHandler: Fills in the next row and returns false, or returns true if there are no more rows.
  public init(entityName: String, rowHandler: @escaping (inout BatchRow) throws -> Bool) {
    self.entityName = entityName
    self.rowHandler = rowHandler
  }

  /// Creates a request for rows that are known, each with values by attribute name. It can be executed again.
  public init(entityName: String, objects: [[String: Any?]]) {
    self.init(entityName: entityName, rowHandler: Self.handler(of: objects))
    self.objects = objects
  }
}

/// Sets properties of all objects that match a predicate: see
/// ``ManagedObjectContext/execute(_:)-(BatchUpdateRequest)``.
public struct BatchUpdateRequest {
  /// The entity of the objects; empty for that of the class whose key paths made the request.
  public var entityName: String
  var objectClass: ManagedObject.Type?
  /// The condition that objects must fulfil; nil for all objects.
  public var predicate: FetchPredicate?
  /// Whether objects of sub-entities are included.
  public var includesSubentities = true
  /// The stores to search; nil for all.
  public var affectedStores: [PersistentStore]?
  /// The new values by property name: a value, nil for null, or a `FetchExpression`, which is evaluated on each object
  /// as it was before the update.
  public var propertiesToUpdate: [String: Any?]

  /// Creates a request.
  public init(entityName: String, predicate: FetchPredicate? = nil, propertiesToUpdate: [String: Any?]) {
    self.entityName = entityName
    self.predicate = predicate
    self.propertiesToUpdate = propertiesToUpdate
  }

  /// Creates a request for objects of the entity that `Object` is registered for.
  ///
  /// ```swift
  /// var request = BatchUpdateRequest(\Employee.salary < 3000 && \.department?.name == "Sales")
  /// request.set(\Employee.salary, to: 3000)
  /// ```
  public init<Object: ManagedObject>(_ predicate: ObjectPredicate<Object>, propertiesToUpdate: [String: Any?] = [:]) {
    self.init(entityName: "", predicate: predicate.fetchPredicate, propertiesToUpdate: propertiesToUpdate)
    objectClass = Object.self
  }

  /// Adds the new value of a property to ``propertiesToUpdate``.
  public mutating func set<Object: ManagedObject, Value>(
    _ keyPath: ReferenceWritableKeyPath<Object, Value>, to value: Value
  ) {
    propertiesToUpdate[keyPath.keyPathText] = .some(value)
  }
}

/// Deletes all objects that match a fetch request, or those with certain IDs: see
/// ``ManagedObjectContext/execute(_:)-(BatchDeleteRequest)``.
public struct BatchDeleteRequest {
  /// Which objects to delete.
  public var fetchRequest: FetchRequest<ManagedObject>
  let objectIDs: [ManagedObjectID]?

  /// Creates a request for the objects that match a fetch request, which may have a limit and an order.
  public init(fetchRequest: FetchRequest<ManagedObject>) {
    self.fetchRequest = fetchRequest
    objectIDs = nil
  }

  /// Creates a request for objects of the entity that `Object` is registered for.
  public init<Object: ManagedObject>(_ predicate: ObjectPredicate<Object>) {
    self.init(fetchRequest: FetchRequest(entityName: "", predicate: predicate.fetchPredicate))
    fetchRequest.objectClass = Object.self
  }

  /// Creates a request for objects by ID. Those that no longer exist are left out.
  public init(objectIDs: [ManagedObjectID]) {
    fetchRequest = FetchRequest(entityName: objectIDs.first?.entityName ?? "")
    self.objectIDs = objectIDs
  }
}

/// What a batch request changed.
public struct BatchResult: Sendable {
  /// The IDs of the objects, for ``ManagedObjectContext/mergeChanges(fromRemoteContextSave:into:)``.
  public var changes: ObjectIDChanges
  /// The rows of an insertion that were skipped because of a uniqueness constraint.
  public var skippedCount = 0

  /// The IDs of the objects that the request inserted, updated or deleted. For a deletion, those that delete rules
  /// deleted are included; for all requests, objects whose relationships changed as a consequence are not.
  public var objectIDs: [ManagedObjectID]
  /// The number of ``objectIDs``.
  public var count: Int { objectIDs.count }
}

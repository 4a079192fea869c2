public import AtomicStoreSPI
import FoundationEssentials

/// What a context is asked for: the objects of an entity, and which of them.
///
/// `Result` is the class that they are given as; use `ManagedObject` for entities without one.
public struct FetchRequest<Result: ManagedObject> {
  public var entityName: String
  /// Whether objects of sub-entities are among them.
  public var includesSubentities = true
  /// Whether unsaved changes of the context count. Otherwise what the stores hold is fetched, as they hold it.
  public var includesPendingChanges = true
  /// Whether the objects are faults until they are asked for a value. Values cost little to fetch: they stay in the
  /// store's columns.
  public var returnsObjectsAsFaults = true
  /// The most objects given; 0 for all.
  public var fetchLimit = 0
  /// How many of those found are left out at the beginning.
  public var fetchOffset = 0
  /// The stores that are asked; nil for all.
  public var affectedStores: [PersistentStore]?
  /// Which objects: those that fulfil it; nil for all.
  public var predicate: FetchPredicate?
  /// Which objects of those: a closure that says so of each.
  public var filter: ((Result) throws -> Bool)?
  /// In which order; empty for the order that the stores have.
  public var sortKeys: [SortKey] = []

  public init(
    entityName: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey] = [],
    filter: ((Result) throws -> Bool)? = nil
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.sortKeys = sortKeys
    self.filter = filter
  }

  /// A request as a model has it.
  public init(_ description: FetchRequestDescription, variables: [String: FetchExpression] = [:]) throws {
    self.init(entityName: description.entityName)
    if let text = description.predicateString, !text.isEmpty {
      predicate = try FetchPredicate(format: text).substituting(variables)
    }
    includesSubentities = description.includesSubentities ?? true
    includesPendingChanges = description.includesPendingChanges ?? true
    returnsObjectsAsFaults = description.returnsObjectsAsFaults ?? true
    fetchLimit = max(0, description.fetchLimit ?? 0)
    sortKeys = description.sortOrder.map { SortKey($0.keyPath, isAscending: $0.isAscending) }
  }
}

extension ManagedObjectContext {
  /// The objects that a request asks for. Pending changes are processed first.
  ///
  /// Without a sort order of its own: store by store, entity by entity, by reference; then those inserted and not saved,
  /// as they were inserted. The same request gives the same order.
  ///
  /// - Throws: `.invalidFetch` for an entity that the model does not have; what the filter throws.
  public func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    processPendingChanges()
    var found = try candidates(request)
    var results: [Result] = []
    var skipped = 0
    let now = Date()
    if let predicate = request.predicate {
      found = try found.filter { try PredicateEvaluator($0, now: now).evaluate(predicate) }
    }
    if !request.sortKeys.isEmpty { found = try SortKey.sort(found, by: request.sortKeys) }
    if request.filter == nil, request.fetchLimit == 0, request.fetchOffset <= 0, let all = found as? [Result] {
      results = all
    } else {
      for object in found {
        guard let typed = object as? Result else { throw wrongClass(object, Result.self) }
        if let filter = request.filter, try !filter(typed) { continue }
        if skipped < request.fetchOffset {
          skipped += 1
          continue
        }
        results.append(typed)
        if request.fetchLimit > 0, results.count == request.fetchLimit { break }
      }
    }
    if !request.returnsObjectsAsFaults { for object in results { _ = object.isReachable } }
    return results
  }

  private func wrongClass(_ object: ManagedObject, _ wanted: ManagedObject.Type) -> ManagedObjectError {
    ManagedObjectError(
      .invalidFetch,
      "objects of \(object.plan.name) are \(type(of: object)), not \(wanted): register the class with the coordinator",
      entityName: object.plan.name)
  }

  /// How many objects the request would find.
  public func count<Result: ManagedObject>(for request: FetchRequest<Result>) throws -> Int {
    processPendingChanges()
    if request.filter == nil, request.predicate == nil, parent == nil, inserted.isEmpty, deleted.isEmpty, let entities = try? entities(of: request) {
      var count = 0
      for home in homesAsked(request) {
        guard let version = home.currentVersion() else { continue }
        for entity in entities where entity.model === home.store.model { count += version.rowCount(of: entity.index) }
      }
      count = max(0, count - max(0, request.fetchOffset))
      return request.fetchLimit > 0 ? min(count, request.fetchLimit) : count
    }
    return try fetch(request).count
  }

  private func entities<Result>(of request: FetchRequest<Result>) throws(ManagedObjectError) -> [Entity] {
    var models: [ManagedObjectModel] = []
    if let model = persistentStoreCoordinator.managedObjectModel {
      models = [model]
    } else {
      for store in persistentStoreCoordinator.persistentStores where !models.contains(where: { $0 === store.model }) {
        models.append(store.model)
      }
    }
    let entities = models.compactMap { $0.entity(named: request.entityName) }
    guard !entities.isEmpty else {
      let names = models.flatMap { $0.entities.map(\.name) }
      throw ManagedObjectError(
        .invalidFetch,
        "the model has no entity '\(request.entityName)'\(Suggestion.text(for: request.entityName, among: names))",
        entityName: request.entityName)
    }
    return entities.flatMap { request.includesSubentities ? $0.hierarchy : [$0] }
  }

  private func homesAsked<Result>(_ request: FetchRequest<Result>) -> [StoreHome] {
    let stores = persistentStoreCoordinator.persistentStores
    return stores.filter { store in request.affectedStores?.contains { $0.latest === store } ?? true }.map { home(of: $0) }
  }

  /// All objects of the request's entities, in order.
  private func candidates<Result>(_ request: FetchRequest<Result>) throws(ManagedObjectError) -> [ManagedObject] {
    let entities = try entities(of: request)
    let names = Set(entities.map(\.index))
    var objects: [ManagedObject] = []
    if let parent {
      var above = FetchRequest<ManagedObject>(entityName: request.entityName)
      above.includesSubentities = request.includesSubentities
      above.affectedStores = request.affectedStores
      above.includesPendingChanges = request.includesPendingChanges
      objects = try parent.candidates(above).map { child(of: $0) }
    } else {
      for home in homesAsked(request) {
        guard let version = home.currentVersion() else { continue }
        for entity in entities where entity.model === home.store.model {
          let count = version.rowCount(of: entity.index)
          objects.reserveCapacity(objects.count + count)
          for row in 0..<count {
            objects.append(object(at: NodeHandle(entity: entity.index, row: row), in: version, of: home))
          }
        }
      }
    }
    guard request.includesPendingChanges else {
      // A parent's or an own insertion is not in a store yet.
      return parent == nil ? objects : objects.filter { !$0.flags.contains(.inserted) }
    }
    if !deleted.isEmpty { objects.removeAll { $0.flags.contains(.deleted) } }
    if !inserted.isEmpty {
      let stores = request.affectedStores.map { $0.map(\.latest) }
      for object in inserted where names.contains(object.plan.index) && entities.contains(object.plan.entity) {
        if let stores {
          guard let home = homeForCheck(object), stores.contains(where: { $0 === home.store }) else { continue }
        }
        // One that came back after a conflict is in both lists.
        if object.flags.contains(.permanent), object.base != nil, objects.contains(where: { $0 === object }) { continue }
        objects.append(object)
      }
    }
    return objects
  }
}

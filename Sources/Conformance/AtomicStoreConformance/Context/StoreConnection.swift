import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A connection of a check to an incremental store: the store's own calls, with names where they take numbers.
final class StoreConnection {
  var store: any IncrementalStore
  let model: ManagedObjectModel

  init(_ store: any IncrementalStore, _ model: ManagedObjectModel) {
    self.store = store
    self.model = model
  }

  deinit { store.close() }

  /// The numbers of an entity and of one of its slots.
  func entity(_ name: String) throws -> Entity {
    guard let entity = model.entity(named: name) else {
      throw ExpectationFailure(expected: "the check's own model has \(name)", actual: "it does not")
    }
    return entity
  }
  func slot(_ name: String, of entity: String) throws -> Int {
    guard let slot = try self.entity(entity).slot(named: name) else {
      throw ExpectationFailure(expected: "\(entity) has '\(name)'", actual: "it does not")
    }
    return slot
  }

  // MARK: Saving

  /// What an object is to be saved with.
  func snapshot(_ object: ObjectReference, _ values: [String: StoredValue]) throws -> ManagedObjectSnapshot {
    var snapshot = ManagedObjectSnapshot(entity: try entity(object.entityName).index, reference: object.reference)
    for (name, value) in values { snapshot.values[try slot(name, of: object.entityName)] = value }
    return snapshot
  }

  /// References for new objects.
  func new(_ count: Int, _ entity: String) throws -> [ObjectReference] {
    let references = try store.newReferences(count, entity: try self.entity(entity).index)
    guard references.count == count else {
      throw ExpectationFailure(expected: "\(count) new references", actual: "\(references.count)")
    }
    return references.map { ObjectReference(entityName: entity, reference: $0) }
  }

  /// Saves; whether the store said that it did, or that another save was first.
  func save(_ changes: StoreSave) throws -> Bool {
    if case .saved = try store.save(changes) { true } else { false }
  }

  /// Saves what nothing can be in the way of.
  func mustSave(_ changes: StoreSave) throws {
    guard try save(changes) else {
      throw ExpectationFailure(expected: "the save is carried out", actual: "the store says that it was overtaken")
    }
  }

  /// Inserts objects with these values.
  @discardableResult
  func insert(_ entity: String, _ list: [[String: StoredValue]]) throws -> [ObjectReference] {
    let references = try new(list.count, entity)
    try mustSave(StoreSave(inserted: try zip(references, list).map { try snapshot($0, $1) }))
    return references
  }

  /// A change of an object, based on the version that it has now unless another is given.
  func change(
    _ object: ObjectReference, _ values: [String: StoredValue], expecting version: Int64? = nil
  ) throws -> StoreSave {
    let based = try version ?? row(object)?.version
    return StoreSave(updated: [try snapshot(object, values)], expected: [(object, based)])
  }

  // MARK: Reading

  func request(
    _ entity: String, _ predicate: String? = nil, sort: [SortKey] = [], limit: Int? = nil, offset: Int = 0,
    onlyItself: Bool = false
  ) throws -> StoreFetch {
    let found = try self.entity(entity)
    return StoreFetch(
      entity: found.index,
      entities: onlyItself ? [found.index] : found.hierarchy.filter { !$0.isAbstract }.map(\.index).sorted(),
      predicate: try predicate.map { try FetchPredicate(format: $0) }, sortKeys: sort, limit: limit, offset: offset)
  }

  func name(_ row: StoreRow) -> String { "\(model.entity(at: row.entity).name)/\(row.reference)" }

  /// The objects of a request, by name.
  func names(_ request: StoreFetch) throws -> [String] { try store.fetch(request).rows.map(name) }

  func rows(_ objects: [ObjectReference]) throws -> [StoreRow] {
    guard let first = objects.first else { return [] }
    return try store.rows(objects.map(\.reference), root: try entity(first.entityName).root.index)
  }
  func row(_ object: ObjectReference) throws -> StoreRow? { try rows([object]).first }

  /// One value of an object, as text; nil for null.
  func value(_ name: String, of object: ObjectReference) throws -> String? {
    guard let row = try row(object) else {
      throw ExpectationFailure(expected: "\(object) is in the store", actual: "it is not")
    }
    return text(name, of: row)
  }

  func text(_ name: String, of row: StoreRow) -> String? {
    guard let slot = model.entity(at: row.entity).slot(named: name), let value = row.values[slot] else { return nil }
    return GraphText.value(value)
  }

  /// The destinations of a to-many, by name, for each of the owners.
  func related(_ owners: [ObjectReference], _ name: String) throws -> [[String]] {
    guard let first = owners.first else { return [] }
    return try store.related(
      owners.map(\.reference), slot: try slot(name, of: first.entityName), entity: try entity(first.entityName).index
    ).map { $0.map(\.description) }
  }

  // MARK: History

  /// The transactions after a token.
  ///
  /// - Throws: ``NotApplicable`` for a store that keeps no history.
  func history(since token: HistoryToken? = nil) throws -> [HistoryTransaction] {
    guard try store.currentHistoryToken() == nil else { return try store.changes(since: token) }
    guard try store.changes(since: nil).isEmpty else {
      throw ExpectationFailure(expected: "a store that has transactions has a current token", actual: "nil")
    }
    throw NotApplicable(reason: "the store does not keep a history")
  }
}

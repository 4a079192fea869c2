public import AtomicStoreSPI

/// An incremental store in a database that speaks SQL: it needs a connection, and nothing else.
public protocol SQLIncrementalStore: IncrementalStore {
  /// The kind of connection.
  associatedtype Database: SQLDatabase
  /// The store itself.
  var sql: SQLStore<Database> { get set }
}

extension SQLIncrementalStore {
  public mutating func metadata() throws(PersistentStoreError) -> StoreMetadata? { try sql.metadata() }
  public mutating func create(
    _ metadata: StoreMetadata, for model: ManagedObjectModel
  ) throws(PersistentStoreError) { try sql.create(metadata, for: model) }
  public mutating func prepare(for model: ManagedObjectModel) throws(PersistentStoreError) {
    try sql.prepare(for: model)
  }
  public mutating func fetch(_ request: StoreFetch) throws(PersistentStoreError) -> StoreFetchResult {
    // References that are texts are looked up by a second query.
    try sql.answering(isDoubtful: { $0.rows.isEmpty || $0.rows.contains(where: \.hasTexts) }) {
      () throws(PersistentStoreError) in try sql.fetch(request)
    }
  }
  public mutating func count(_ request: StoreFetch) throws(PersistentStoreError) -> Int? {
    try sql.answering(isDoubtful: { $0 == 0 }) { () throws(PersistentStoreError) in try sql.count(request) }
  }
  public func answer(to request: StoreFetch) -> FetchAnswer { sql.answer(to: request) }
  public mutating func groups(_ request: StoreGrouping) throws(PersistentStoreError) -> [StoreGroup]? {
    try sql.answering(isDoubtful: { $0?.isEmpty ?? false }) { () throws(PersistentStoreError) in
      try sql.groups(request)
    }
  }
  public func answer(to request: StoreGrouping) -> FetchAnswer { sql.answer(to: request) }
  public mutating func rows(_ references: [ReferenceObject], root: Int) throws(PersistentStoreError) -> [StoreRow] {
    try sql.answering(isDoubtful: { $0.count < references.count || $0.contains(where: \.hasTexts) }) {
      () throws(PersistentStoreError) in try sql.rows(references, root: root)
    }
  }
  public mutating func related(
    _ owners: [ReferenceObject], slot: Int, entity: Int
  ) throws(PersistentStoreError) -> [[ObjectReference]] {
    // Many owners take more than one query.
    let isLong = owners.count > Database.dialect.listLimit
    return try sql.answering(isDoubtful: { isLong || $0.allSatisfy(\.isEmpty) }) {
      () throws(PersistentStoreError) in try sql.related(owners, slot: slot, entity: entity)
    }
  }
  public mutating func newReferences(_ count: Int, entity: Int) throws(PersistentStoreError) -> [ReferenceObject] {
    try sql.newReferences(count, entity: entity)
  }
  public mutating func save(_ changes: StoreSave) throws(PersistentStoreError) -> StoreSaveAnswer {
    try sql.save(changes)
  }
  public mutating func save(
    _ changes: StoreSave,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> StoreSaveAnswer? { try sql.save(changes, verify: verify) }
  public mutating func update(_ change: StoreUpdate) throws(PersistentStoreError) -> [ObjectReference]? {
    try sql.update(change)
  }
  public mutating func delete(_ change: StoreUpdate) throws(PersistentStoreError) -> (
    deleted: [ObjectReference], updated: [ObjectReference]
  )? { try sql.delete(change) }
  public mutating func load(into nodes: NodeTableBuilder) throws(PersistentStoreError) { try sql.load(into: nodes) }
  public mutating func load(
    into nodes: NodeTableBuilder, only columns: NeededColumns
  ) throws(PersistentStoreError) { try sql.load(into: nodes, only: columns) }
  public mutating func read(
    _ parts: StoreParts, _ body: (StorePart) throws(PersistentStoreError) -> Bool
  ) throws(PersistentStoreError) -> Bool { try sql.read(parts, body) }
  public mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) { try sql.replaceAll(with: snapshot, mayReplace: mayReplace, verify: verify) }
  public mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool, willVerify: () -> Void,
    compare: (StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool {
    try sql.replaceAll(with: snapshot, mayReplace: mayReplace, willVerify: willVerify, compare: compare)
    return true
  }
  public mutating func replaceAll(
    with other: any IncrementalStore, metadata: StoreMetadata, mayReplace: Bool, willVerify: () -> Void
  ) throws(PersistentStoreError) -> [Int: Int]? {
    guard let other = other as? any SQLIncrementalStore else { return nil }
    return try copyAll(of: other, metadata, mayReplace, willVerify)
  }
  private mutating func copyAll<Other: SQLIncrementalStore>(
    of other: Other, _ metadata: StoreMetadata, _ mayReplace: Bool, _ willVerify: () -> Void
  ) throws(PersistentStoreError) -> [Int: Int] {
    try sql.replaceAll(with: other.sql, metadata, mayReplace: mayReplace, willVerify: willVerify)
  }
  public mutating func rewrite(
    _ change: (StoreMetadata, (NodeTableBuilder) throws(PersistentStoreError) -> Void) throws(PersistentStoreError)
      -> StoreSnapshot?,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool {
    try sql.rewrite(change, verify: verify)
    return true
  }
  public mutating func setMetadata(_ metadata: StoreMetadata) throws(PersistentStoreError) {
    let store = sql
    try store.transaction { () throws(PersistentStoreError) in try store.writeMetadata(metadata) }
  }
  public mutating func changes(since token: HistoryToken?) throws(PersistentStoreError) -> [HistoryTransaction] {
    try sql.answering(isDoubtful: { _ in true }) { () throws(PersistentStoreError) in try sql.changes(since: token) }
  }
  public mutating func currentHistoryToken() throws(PersistentStoreError) -> HistoryToken? {
    try sql.answering(isDoubtful: { _ in true }) { () throws(PersistentStoreError) in try sql.currentHistoryToken() }
  }
  public var lastSavedToken: HistoryToken? { sql.lastSaved }
  public var comparesTransactions: Bool { true }
  public var instance: String? { sql.instance }
  public mutating func hasHistory(since token: HistoryToken) throws(PersistentStoreError) -> Bool {
    try sql.hasHistory(since: token)
  }
  public mutating func deleteHistory(before token: HistoryToken) throws(PersistentStoreError) {
    try sql.deleteHistory(before: token)
  }
  public mutating func destroy() throws(PersistentStoreError) { try sql.destroy() }
  public mutating func close() { sql.database.close() }
}

extension StoreRow {
  /// Whether it, or what it leads to, has a text as its reference.
  fileprivate var hasTexts: Bool {
    if case .string = reference { return true }
    return values.contains { entry in
      if case .toOne(let other) = entry.value, case .string = other.reference { return true }
      return false
    }
  }
}

import AtomicStoreSPI
import FoundationEssentials

/// Everything at once: the load of a whole store, and its replacement.
extension SQLStore {
  /// - Parameter columns: What is needed; nil for everything.
  func load(into nodes: NodeTableBuilder, only columns: NeededColumns? = nil) throws(PersistentStoreError) {
    try reading { schema throws(PersistentStoreError) in
      try SQLWholeLoad(self, schema, nodes, only: columns).run()
    } mayRepeat: {
      nodes.removeAll()
      return true
    }
  }

  /// Runs a transaction that reads, and again if the database refused it.
  ///
  /// - Parameter mayRepeat: Asked before each further attempt.
  func reading<Result>(
    _ body: (SQLSchema) throws(PersistentStoreError) -> Result, mayRepeat: () -> Bool
  ) throws(PersistentStoreError) -> Result {
    let schema = try ready()
    var attempts = 5
    while true {
      do throws(PersistentStoreError) {
        try database.begin(isWriting: false)
        try checkStamp()
        let result = try body(schema)
        try database.commit(wasSaved: nil)
        return result
      } catch {
        database.rollBack()
        attempts -= 1
        guard error.code == .retry, attempts > 0, mayRepeat() else { throw error }
      }
    }
  }

  private func read(_ schema: SQLSchema, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    try SQLWholeLoad(self, schema, nodes).run()
  }

  mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let new = SQLSchema(snapshot.nodes.model, Self.dialect)
    try replaceAll(with: new, mayReplace: mayReplace) { store throws(PersistentStoreError) in
      try store.write(snapshot, new, verify: verify)
    }
  }

  /// Replaces everything by a snapshot, and compares what was written with it row by row.
  ///
  /// - Parameter compare: Called with the metadata that were read back, before the transaction ends.
  mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool, willVerify: () -> Void,
    compare: (StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let new = SQLSchema(snapshot.nodes.model, Self.dialect)
    try replaceAll(with: new, mayReplace: mayReplace) { store throws(PersistentStoreError) in
      let save = try SQLWholeSave(store, new, snapshot)
      try save.run()
      willVerify()
      var reader = store
      guard let metadata = try reader.metadata() else {
        throw PersistentStoreError(.internalInconsistency, "the store that was written is not there")
      }
      try compare(metadata)
      try SQLWholeComparison(save, store, new).run()
    }
  }

  /// Creates the tables and fills them, and reads back what was written.
  private func write(
    _ snapshot: StoreSnapshot, _ schema: SQLSchema,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    try SQLWholeSave(self, schema, snapshot).run()
    try readBack(schema, verify)
  }

  /// Has a function read back everything, within the transaction.
  func readBack(
    _ schema: SQLSchema,
    _ verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    var reader = self
    guard let metadata = try reader.metadata() else {
      throw PersistentStoreError(.internalInconsistency, "the store that was written is not there")
    }
    try verify { nodes throws(PersistentStoreError) in
      try read(schema, into: nodes)
      return metadata
    }
  }

  /// Replaces everything by what a function makes of it.
  mutating func rewrite(
    _ change: (StoreMetadata, (NodeTableBuilder) throws(PersistentStoreError) -> Void) throws(PersistentStoreError)
      -> StoreSnapshot?,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    guard try database.connect(mayCreate: false) else {
      throw PersistentStoreError(.notFound, "the store does not exist")
    }
    let store = self
    func body(_ written: inout Set<String>) throws(PersistentStoreError) -> SQLSchema? {
      var reader = store
      guard let old = try reader.metadata() else { throw PersistentStoreError(.notFound, "the store does not exist") }
      let schema = SQLSchema(try Self.model(of: old), Self.dialect)
      let present = reader
      let read = { (nodes: NodeTableBuilder) throws(PersistentStoreError) in try present.read(schema, into: nodes) }
      guard let snapshot = try change(old, read) else { return nil }
      let transactions = try reader.currentHistoryToken()?.number ?? 0
      try store.dropTables(schema)
      let new = SQLSchema(snapshot.nodes.model, Self.dialect)
      try store.write(snapshot, new, verify: verify)
      try store.beginHistory(after: transactions)
      written.insert(try Self.stamp(in: store.database))
      return new
    }
    let new: SQLSchema?
    do throws(PersistentStoreError) { new = try replacing(retries: min(2, Self.dialect.retries), body) } catch {
      guard error.code == .retry else { throw error }
      // Other connections save without a pause. The change is possible, so they are refused from now on, as they will
      // be after it: they have to open the store again.
      try transaction { () throws(PersistentStoreError) in try put("stamp", Data(UUID().uuidString.utf8)) }
      new = try replacing(body)
    }
    guard let new else { return }
    _ = try metadata()
    schema = new
    spare = [:]
    given = [:]
  }

  mutating func destroy() throws(PersistentStoreError) {
    guard let metadata = try metadata() else { return }
    let schema = SQLSchema(try Self.model(of: metadata), Self.dialect)
    let store = self
    try transaction { () throws(PersistentStoreError) in try store.dropTables(schema) }
  }

  /// The model whose tables a store has.
  static func model(of metadata: StoreMetadata) throws(PersistentStoreError) -> ManagedObjectModel {
    guard let description = metadata.model else {
      throw PersistentStoreError(.modelNeeded, "the store does not contain its model, which describes its tables")
    }
    do { return try ManagedObjectModel(description) } catch {
      throw PersistentStoreError(.invalidModel, "the store's own model is not valid", underlying: error)
    }
  }
}

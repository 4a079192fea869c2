import AtomicStoreSPI
import FoundationEssentials

/// Everything at once: the load of a whole store, and its replacement.
extension SQLStore {
  func load(into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let schema = try ready()
    var attempts = 5
    while true {
      do throws(PersistentStoreError) {
        try database.begin(isWriting: false)
        try checkStamp()
        try read(schema, into: nodes)
        return try database.commit(wasSaved: nil)
      } catch {
        database.rollBack()
        attempts -= 1
        guard error.code == .retry, attempts > 0 else { throw error }
        nodes.removeAll()
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
      try SQLWholeSave(store, new, snapshot).run()
      var reader = store
      guard let metadata = try reader.metadata() else {
        throw PersistentStoreError(.internalInconsistency, "the store that was written is not there")
      }
      try verify { nodes throws(PersistentStoreError) in
        try store.read(new, into: nodes)
        return metadata
      }
    }
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
      throw PersistentStoreError(.modelNeeded, "the store has lost its model, which says what its tables are")
    }
    do { return try ManagedObjectModel(description) } catch {
      throw PersistentStoreError(.invalidModel, "the store's own model is not valid", underlying: error)
    }
  }
}

import AtomicStoreSPI

extension SQLStore {
  /// Replaces everything by what another database holds.
  ///
  /// - Returns: The number of objects by entity.
  mutating func replaceAll<Source: SQLDatabase>(
    with source: SQLStore<Source>, _ metadata: StoreMetadata, mayReplace: Bool
  ) throws(PersistentStoreError) -> [Int: Int] {
    let from = try source.ready()
    try source.database.begin(isWriting: false)
    defer { source.database.rollBack() }
    try source.checkStamp()
    let new = SQLSchema(from.model, Self.dialect)
    var counts: [Int: Int] = [:]
    try replaceAll(with: new, mayReplace: mayReplace) { store throws(PersistentStoreError) in
      let copy = SQLCopy(source: source, target: store, from: from, to: new)
      counts = try copy.run(metadata)
      try copy.verify()
      var reader = store
      guard let written = try reader.metadata(), written.uuid == metadata.uuid, written.entries == metadata.entries
      else { throw PersistentStoreError(.internalInconsistency, "the metadata is not what was written") }
    }
    return counts
  }

  /// Replaces everything in one transaction.
  ///
  /// - Parameter fill: Creates the tables of the new schema, fills them, and reads back what was written.
  mutating func replaceAll(
    with new: SQLSchema, mayReplace: Bool, fill: (SQLStore) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    guard try database.connect(mayCreate: true) else {
      throw PersistentStoreError(.cannotCreate, "the database cannot be created")
    }
    let store = self
    try transaction { () throws(PersistentStoreError) in
      var reader = store
      var transactions: Int64 = 0
      if let old = try reader.metadata() {
        guard mayReplace else { throw PersistentStoreError(.alreadyExists, "there already is a store at this place") }
        transactions = try reader.currentHistoryToken()?.number ?? 0
        try store.dropTables(SQLSchema(try Self.model(of: old), Self.dialect))
      }
      // Tables of others, where there are any with these names, make it fail.
      try fill(store)
      try store.beginHistory(after: transactions)
    }
    _ = try metadata()
    schema = new
    spare = [:]
  }
}

import AtomicStoreSPI

extension SQLStore {
  /// Replaces everything by what another database holds.
  ///
  /// - Returns: The number of objects by entity.
  mutating func replaceAll<Source: SQLDatabase>(
    with source: SQLStore<Source>, _ metadata: StoreMetadata, mayReplace: Bool, willVerify: () -> Void
  ) throws(PersistentStoreError) -> [Int: Int] {
    let from = try source.ready()
    let new = SQLSchema(from.model, Self.dialect)
    var counts: [Int: Int] = [:]
    try replaceAll(with: new, mayReplace: mayReplace) { found throws(PersistentStoreError) in
      try found.refuseSame(as: source)
    } fill: { store throws(PersistentStoreError) in
      // One snapshot for each attempt: if the source's connection is lost, the next one is of a new snapshot as a
      // whole.
      try source.database.begin(isWriting: false)
      defer { source.database.rollBack() }
      try source.checkStamp()
      let copy = SQLCopy(source: source, target: store, from: from, to: new)
      counts = try copy.run(metadata)
      willVerify()
      try copy.verify()
      var reader = store
      guard let written = try reader.metadata(), written.uuid == metadata.uuid, written.entries == metadata.entries
      else { throw PersistentStoreError(.internalInconsistency, "the metadata is not what was written") }
    }
    return counts
  }

  /// Refuses a store that is to be replaced by itself: it would wait for its own reader for ever.
  ///
  /// Files are distinguished by their paths. A copy that was made with the tools of a server looks the same.
  private func refuseSame<Source: SQLDatabase>(as source: SQLStore<Source>) throws(PersistentStoreError) {
    guard !Self.dialect.isSQLite, !SQLStore<Source>.dialect.isSQLite, instance == source.instance else { return }
    throw PersistentStoreError.targetIsSource
  }

  /// Replaces everything in one transaction.
  ///
  /// - Parameter check: Called with the store that is there, before it is replaced.
  /// - Parameter fill: Creates the tables of the new schema, fills them, and reads back what was written.
  mutating func replaceAll(
    with new: SQLSchema, mayReplace: Bool,
    check: (SQLStore) throws(PersistentStoreError) -> Void = { _ throws(PersistentStoreError) in },
    fill: (SQLStore) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    guard try database.connect(mayCreate: true) else {
      throw PersistentStoreError(.cannotCreate, "the database cannot be created")
    }
    let store = self
    try replacing { written throws(PersistentStoreError) in
      var reader = store
      var transactions: Int64 = 0
      if let old = try reader.metadata() {
        guard mayReplace else { throw PersistentStoreError(.alreadyExists, "there already is a store at this place") }
        try check(reader)
        transactions = try reader.currentHistoryToken()?.number ?? 0
        try store.dropTables(SQLSchema(try Self.model(of: old), Self.dialect))
      }
      // Tables of others, where there are any with these names, make it fail.
      try fill(store)
      try store.beginHistory(after: transactions)
      written.insert(try Self.stamp(in: store.database))
    }
    _ = try metadata()
    schema = new
    spare = [:]
    given = [:]
  }

  /// Runs a transaction that replaces all tables.
  ///
  /// - Parameter body: Adds the name of the new tables to the set: where the connection is lost, it says whether the
  ///   transaction was carried out.
  func replacing<Result>(
    retries: Int? = nil, _ body: (inout Set<String>) throws(PersistentStoreError) -> Result
  ) throws(PersistentStoreError) -> Result {
    // One for each attempt.
    var written: Set<String> = []
    let wasSaved: (Database) throws(PersistentStoreError) -> Bool = { database throws(PersistentStoreError) in
      guard try database.hasTable(Self.metadataTable) else { return false }
      return written.contains(try Self.stamp(in: database))
    }
    return try transaction(wasSaved: wasSaved, retries: retries) { () throws(PersistentStoreError) in
      // A transaction that reads the tables to be replaced could last forever: then an error is better than waiting.
      if !Self.dialect.isSQLite { try database.run("SET LOCAL lock_timeout = '30s'", []) }
      return try body(&written)
    }
  }
}

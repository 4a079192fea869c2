import AtomicStoreSPI

/// What prevents that rows of a store are changed: what would have to follow, and only Core Data can make follow.
struct EditObstacles {
  /// The version of Z_METADATA and of the version hashes that is known.
  private static let knownVersion = 1
  private static let knownHashVersion: Int128 = 3

  let ignoresHistory: Bool

  /// The first one; nil for none.
  func first(in database: SQLiteDatabase) throws(PersistentStoreError) -> PersistentStoreError? {
    func obstacle(_ text: String, _ remedy: PersistentStoreError.Remedy? = nil) -> PersistentStoreError {
      PersistentStoreError(.notSupported, text, at: StoreLocation(file: database.file), remedy: remedy)
    }
    let schema = try DatabaseSchema(database)
    if !schema.triggerNames.isEmpty {
      return obstacle(
        "the store has triggers (\(Self.list(schema.triggerNames))), which call functions that only Core Data has, to keep derived attributes: it cannot be changed here. A store that 'convert' writes has none"
      )
    }
    let tables = StoreTables(database)
    let rows = try tables.entityRows()
    let mirrors =
      schema.tableNames.filter { DatabaseSchema.key($0).hasPrefix(StoreTables.mirroringPrefix) }
      + rows.filter { $0.number > StoreTables.lastHistoryNumber }.map(\.name)
    if !mirrors.isEmpty {
      return obstacle(
        "the store is mirrored in iCloud (\(Self.list(mirrors))), and Core Data would not upload the changes: it cannot be changed here. A store that 'convert' writes is not mirrored"
      )
    }
    if !ignoresHistory, let table = Self.historyTable(schema) {
      return obstacle(
        "the store keeps a persistent history (\(table)), which the kit does not write: readers of the history would miss the changes",
        .writeOption("history=ignore", effect: "changes the store all the same"))
    }
    if let version = try tables.unknownVersion(known: Self.knownVersion, hashes: Self.knownHashVersion) {
      return obstacle("the store has \(version), which the kit does not know: it cannot be changed here")
    }
    return nil
  }

  /// The table with the transactions of the persistent history; nil for a store without.
  static func historyTable(_ schema: DatabaseSchema) -> String? {
    StoreTables.historyTables.first { schema.hasTable($0) }
  }

  private static func list(_ names: [String]) -> String {
    names.prefix(3).joined(separator: ", ") + (names.count > 3 ? " and \(names.count - 3) more" : "")
  }
}

extension StoreTables {
  /// The greatest number of an entity of the persistent history.
  static let lastHistoryNumber: Int64 = 16_003
  /// What tables of mirroring in iCloud begin with.
  static let mirroringPrefix = "ANSCK"

  /// What is of a version that is not known; nil if all is known.
  fileprivate func unknownVersion(known: Int, hashes: Int128) throws(PersistentStoreError) -> String? {
    let rows = try database.prepare(
      "SELECT Z_VERSION FROM Z_METADATA", StoreLocation(file: database.file, entity: "Z_METADATA"))
    while try rows.step() {
      guard rows.kind(0) == .integer, rows.integer(0) == known else {
        return "Z_METADATA of version \(rows.integer(0))"
      }
    }
    let version = try metadataEntries()["NSStoreModelVersionHashesVersion"]
    if let version, version.integerValue.map({ Int128($0) }) != hashes {
      return "version hashes of another version than \(hashes)"
    }
    return nil
  }
}

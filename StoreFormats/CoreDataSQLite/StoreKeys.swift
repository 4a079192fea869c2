/// Names that reading and writing share.
enum StoreKeys {
  static let storeType = "CoreDataSQLite"
  /// The key of the metadata under which the model is kept, so that the store can be read without another file.
  static let model = "AtomicStoreModel"
  /// The key of the metadata under which Core Data keeps the version hashes of entities.
  static let versionHashes = "NSStoreModelVersionHashes"
  /// Keys of the metadata that describe the file, not the user's data.
  static let format = ["NSStoreType", "NSStoreUUID", "_NSAutoVacuumLevel"]
}

/// What to do with rows that are not an object's: the option `rows`.
enum StrayRows: String, Sendable {
  case refuse, skip
  /// They are left out, and reported as losses: the option `damaged=skip-object` without `rows`.
  case lose
}

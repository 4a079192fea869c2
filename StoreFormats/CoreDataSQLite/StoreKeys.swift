/// Names that reading and writing share.
enum StoreKeys {
  static let storeType = "CoreDataSQLite"
  /// The key of the metadata under which the model is kept, so that the store can be read without another file.
  static let model = "AtomicStoreModel"
  /// Keys of the metadata that describe the file, not the user's data.
  static let format = ["NSStoreType", "NSStoreUUID", "_NSAutoVacuumLevel"]
}

/// What to do with rows that are not an object's: the option `rows`.
enum StrayRows: String, CaseIterable, Sendable { case refuse, skip }

/// Names that reading and writing share.
enum StoreKeys {
  static let storeType = "CoreDataBinary"
  /// The key of the metadata under which the model is kept as a binary property list, so that the store can be read
  /// without another file.
  static let model = "AtomicStoreModel"
  /// Keys of the metadata that describe the file, not the user's data.
  static let format = ["NSStoreType", "NSStoreUUID"]
}

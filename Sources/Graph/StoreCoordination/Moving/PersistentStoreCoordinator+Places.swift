import AtomicStoreSPI

extension PersistentStoreCoordinator {
  /// Whether a path or URL leads to a database: one that is there, or one that would be created.
  package func isDatabase(_ path: String, type: String?) throws(PersistentStoreError) -> Bool {
    try registry.incrementalType(type, at: path) != nil
  }

  /// Whether there is anything at a path, or a store at a URL.
  package func holdsContent(
    at path: String, type: String?, options: StoreOptions
  ) throws(PersistentStoreError) -> Bool {
    guard let database = try registry.incrementalType(type, at: path) else {
      return try StorePath.inspect(path).holdsContent
    }
    let address = StoreAddress(path, of: database)
    if address.isFile { return try StorePath.inspect(address.full).holdsContent }
    do throws(PersistentStoreError) {
      var store = try database.init(StoreConfiguration(path: address.full, options: options, isReadOnly: true))
      defer { store.close() }
      return try store.metadata() != nil
    } catch {
      throw error.located(StoreLocation(file: address.shown))
    }
  }

  /// Whether a path or URL leads to an open store.
  package func isSame(_ path: String, type: String?, as store: PersistentStore) throws(PersistentStoreError) -> Bool {
    guard let database = try registry.incrementalType(type, at: path) else {
      let place = try StorePath.inspect(path)
      return !store.isReachedByURL && StorePath.isSame(place, path: store.path)
    }
    let address = StoreAddress(path, of: database)
    guard address.isFile else { return ScalarString(address.shown) == ScalarString(store.path) }
    let place = try StorePath.inspect(address.full)
    return !store.isReachedByURL && StorePath.isSame(place, path: store.path)
  }
}

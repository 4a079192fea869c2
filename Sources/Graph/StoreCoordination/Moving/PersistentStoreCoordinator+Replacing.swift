import AtomicStoreSPI

extension PersistentStoreCoordinator {
  /// Replaces a store by a copy of another one, of the same or another type, in one step or not at all. UUID and
  /// references are the source's. Unrelated files in a replaced directory are kept, as in a save.
  public func replacePersistentStore(
    at path: String, type: String? = nil, withPersistentStoreFrom source: String, sourceType: String? = nil
  ) throws {
    for other in persistentStores {
      if StorePath.isSame(try StorePath.inspect(path), path: other.path) {
        throw PersistentStoreError(
          .storeAlreadyAdded, "the store is open; remove it first", at: StoreLocation(file: path))
      }
    }
    var converter = StoreConverter(registry: registry)
    converter.sourceType = sourceType
    converter.targetType = type
    converter.replacesTarget = true
    converter.refusesSelections = true
    _ = try converter.convert(from: source, to: path)
  }
}

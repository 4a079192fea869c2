public import AtomicStoreSPI

extension PersistentStoreCoordinator {
  /// The metadata of the store at a path, no row decoded.
  public static func metadataForPersistentStore(
    type: String? = nil, at path: String, options: StoreOptions = [:], registry: StoreRegistry
  ) throws(PersistentStoreError) -> StoreMetadata {
    let opening = StoreOpening(
      registry: registry, type: type, path: path, configurationName: nil, options: options, isReadOnly: true,
      model: nil)
    return try opening.metadata()
  }

  /// Sets the user's entries in the metadata of the store at a path, everything else stays as it
  /// is. The options are those for reading.
  public static func setMetadata(
    _ entries: PropertyListDictionary, type: String? = nil, at path: String, options: StoreOptions = [:],
    registry: StoreRegistry
  ) throws(PersistentStoreError) {
    let coordinator = PersistentStoreCoordinator(registry: registry)
    let store = try coordinator.addStoreForMetadata(type: type, at: path, options: options)
    try store.setMetadata(entries)
    try coordinator.save(store)
    try coordinator.remove(store)
  }

  /// Changes the user's entries in the metadata of the store at a path, as
  /// ``setMetadata(_:type:at:options:registry:)``, from what they are when they are saved: what others save meanwhile
  /// is kept.
  ///
  /// - Parameters:
  ///   - type: A registered name; nil finds the type from the content.
  ///   - path: The path of the store.
  ///   - options: The format's options, by name.
  ///   - registry: The formats that the store may have.
  ///   - verifiesSaves: Called with the store's type: whether the save is read back and compared, see
  ///     ``verifiesSaves``.
  ///   - change: Changes the entries. It is called again if another process saved the store meanwhile.
  /// - Throws: what `change` throws, and then nothing is saved; `.changedOnDisk` where other processes keep saving the
  ///   store.
  public static func updateMetadata(
    type: String? = nil, at path: String, options: StoreOptions = [:], registry: StoreRegistry,
    verifiesSaves: (_ type: String) -> Bool = { _ in false }, _ change: (inout PropertyListDictionary) throws -> Void
  ) throws {
    for attempt in 1... {
      let coordinator = PersistentStoreCoordinator(registry: registry)
      let store = try coordinator.addStoreForMetadata(type: type, at: path, options: options)
      var entries = store.metadata.entries
      try change(&entries)
      try store.setMetadata(entries)
      coordinator.verifiesSaves = verifiesSaves(store.type)
      do throws(PersistentStoreError) {
        try coordinator.save(store)
        return try coordinator.remove(store)
      } catch {
        // Each time that this one fails another one was saved: it has its turn, however many there are.
        guard error.code == .changedOnDisk, attempt < 100 else { throw error }
      }
    }
  }
}

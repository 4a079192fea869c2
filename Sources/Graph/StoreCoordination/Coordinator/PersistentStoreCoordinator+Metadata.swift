public import AtomicStoreSPI

extension PersistentStoreCoordinator {
  /// Returns the metadata of the store at a path, without decoding objects.
  public static func metadataForPersistentStore(
    type: String? = nil, at path: String, options: StoreOptions = [:], registry: StoreRegistry
  ) throws(PersistentStoreError) -> StoreMetadata {
    let opening = StoreOpening(
      registry: registry, type: type, path: path, configurationName: nil, options: options, isReadOnly: true,
      model: nil)
    return try opening.metadata()
  }

  /// Returns the metadata of the store at a path, and the model that it carries, or that is inferred from its data. No
  /// object is read.
  package static func metadataAndModelForPersistentStore(
    type: String? = nil, at path: String, options: StoreOptions = [:], registry: StoreRegistry
  ) throws(PersistentStoreError) -> (metadata: StoreMetadata, model: ManagedObjectModel) {
    let opening = StoreOpening(
      registry: registry, type: type, path: path, configurationName: nil, options: options, isReadOnly: true,
      model: nil)
    return try opening.metadataAndModel()
  }

  /// Sets the user's entries in the metadata of the store at a path and preserves everything else. The options are
  /// those for reading.
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
  /// ``setMetadata(_:type:at:options:registry:)``, based on the entries at the time of saving: what other processes
  /// save meanwhile is kept.
  ///
  /// - Parameters:
  ///   - type: A registered name; nil detects the type from the content.
  ///   - path: The path of the store.
  ///   - options: The format's options, by name.
  ///   - registry: The formats that the store may have.
  ///   - verifiesSaves: Called with the store's type: whether the save is read back and compared, see
  ///     ``verifiesSaves``.
  ///   - change: Changes the entries. It is called again if another process saved the store meanwhile.
  /// - Throws: The errors of `change`, in which case nothing is saved; `.changedOnDisk` if other processes keep saving
  ///   the store.
  package static func updateMetadata(
    type: String? = nil, at path: String, options: StoreOptions = [:], registry: StoreRegistry,
    verifiesSaves: (_ type: String) -> Bool = { _ in false }, _ change: (inout PropertyListDictionary) throws -> Void
  ) throws {
    try RepeatedSave.run {
      let coordinator = PersistentStoreCoordinator(registry: registry)
      let store = try coordinator.addStoreForMetadata(type: type, at: path, options: options)
      var entries = store.metadata.entries
      try change(&entries)
      try store.setMetadata(entries)
      coordinator.verifiesSaves = verifiesSaves(store.type)
      try coordinator.save(store)
      try coordinator.remove(store)
    }
  }

  /// An option of every store, `ignoreVersionHashes`: with `yes`, a store is opened with the specified model even if
  /// the version hashes in its metadata are those of another one. The next save writes the hashes of the model.
  ///
  /// A store that carries a model with other stored properties is still refused, because it could not be read.
  public static let ignoreVersionHashesOption = StoreOpening.ignoreVersionHashesOption
}

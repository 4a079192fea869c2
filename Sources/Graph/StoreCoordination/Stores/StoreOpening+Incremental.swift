import AtomicStoreSPI

extension StoreOpening {
  /// Opens an incremental store, or creates one.
  ///
  /// - Parameter readsWhole: Whether everything is read at once: the store is then read-only, and its connection
  ///   closed.
  func openIncremental(
    _ type: any IncrementalStore.Type, readsWhole: Bool
  ) throws(PersistentStoreError) -> PersistentStore {
    try KitCopies.requireOnlyOne()
    let address = StoreAddress(path, of: type)
    let (own, limits, rules, _) = try ownOptions()
    try type.traits.check(own, of: type.storeType, for: use ?? (isReadOnly ? .reading : .readingAndWriting))
    let configuration = StoreConfiguration(
      path: address.full, configurationName: configurationName, options: own, isReadOnly: isReadOnly || readsWhole,
      limits: limits)
    do throws(PersistentStoreError) {
      if address.isFile { try checkFile(address, type) }
      var store = try type.init(configuration)
      do throws(PersistentStoreError) {
        return try open(&store, address, readsWhole: readsWhole, limits, rules)
      } catch {
        store.close()
        throw error
      }
    } catch {
      throw error.located(StoreLocation(file: address.shown))
    }
  }

  /// The metadata of an incremental store.
  func incrementalMetadata(_ type: any IncrementalStore.Type) throws(PersistentStoreError) -> StoreMetadata {
    let address = StoreAddress(path, of: type)
    do throws(PersistentStoreError) {
      var store = try type.init(
        StoreConfiguration(path: address.full, options: try ownOptions().own, isReadOnly: true))
      defer { store.close() }
      guard let found = try store.metadata() else { throw PersistentStoreError(.notFound, "there is no store") }
      return found
    } catch {
      throw error.located(StoreLocation(file: address.shown))
    }
  }

  private func checkFile(_ address: StoreAddress, _ type: any IncrementalStore.Type) throws(PersistentStoreError) {
    if OpenDatabases.type(at: address.full) != nil { return }
    let place = try StorePath.inspect(address.full)
    guard place.holdsContent else { return }
    guard type.recognize(try place.probe()) == .yes else {
      throw PersistentStoreError(.foreignFormat, "the content is not a \(type.storeType) store")
    }
  }

  private func open(
    _ store: inout any IncrementalStore, _ address: StoreAddress, readsWhole: Bool, _ limits: StoreLimits,
    _ rules: RelationshipRules
  ) throws(PersistentStoreError) -> PersistentStore {
    var (metadata, model) = try metadataAndModel(&store, mayCreate: !isReadOnly && !readsWhole)
    guard model.entities(forConfiguration: configurationName) != nil else { throw unknownConfiguration(model) }
    metadata.model = model.description
    try store.prepare(for: model)
    var traits = Swift.type(of: store).traits
    if readsWhole { traits.writes = .none }
    var nodes = NodeTable(model: model)
    var notes: [StoreSelection.Note] = []
    var loadNotes: [LoadNote] = []
    if readsWhole {
      let builder = NodeTableBuilder(model: model, file: address.shown, limits: limits)
      builder.rules = rules
      builder.inverseHandling = .enforce
      try store.load(into: builder)
      // The same order as in a file, where nothing else says it.
      nodes = try builder.finish().canonical()
      notes = builder.notes
      loadNotes = builder.observations + builder.damage
      metadata.entries.keep(danglingReferences: builder.keptReferences)
      store.close()
    }
    var open = OpenStore(
      format: DatabaseFormat(traits), version: NodeVersion(nodes), metadata: metadata,
      storedLastReference: metadata.lastReference, readNotes: notes, notes: loadNotes, opening: self)
    open.instance = store.instance
    let connection =
      readsWhole
      ? nil
      : IncrementalConnection(
        store, name: address.shown,
        file: address.isFile ? OpenDatabases.add(address.full, Swift.type(of: store)) : nil)
    // Before anything is read: what others save from here on may differ from it.
    connection?.noteOpening()
    return PersistentStore(
      open, shownAs: address.shown, configurationName: configurationName, isReadOnly: isReadOnly || readsWhole,
      connection: connection)
  }

  /// What the store says of itself; that of a new store if there is none yet.
  private func metadataAndModel(
    _ store: inout any IncrementalStore, mayCreate: Bool
  ) throws(PersistentStoreError) -> (metadata: StoreMetadata, model: ManagedObjectModel) {
    let type = Swift.type(of: store)
    if let found = try store.metadata() { return (found, try model(for: found, type)) }
    guard mayCreate else { throw PersistentStoreError(.notFound, "the store does not exist") }
    guard let model else { throw PersistentStoreError(.modelNeeded, "a new store needs a model") }
    var metadata = StoreMetadata(storeType: type.storeType, model: model.description)
    metadata.setVersionHashes(of: model, configuration: configurationName, for: type.traits)
    do throws(PersistentStoreError) {
      try store.create(metadata, for: model)
    } catch {
      // If another process has created it meanwhile, that one is opened.
      guard error.code == .alreadyExists, let found = try store.metadata() else { throw error }
      return (found, try self.model(for: found, type))
    }
    return (metadata, model)
  }

  /// The model to use: the one that is given, if the store's is the same.
  private func model(
    for metadata: StoreMetadata, _ type: any IncrementalStore.Type
  ) throws(PersistentStoreError) -> ManagedObjectModel {
    if let model {
      try check(model, metadata)
      return model
    }
    guard let stored = metadata.model else {
      throw PersistentStoreError(.modelNeeded, "the store does not contain a model: specify one")
    }
    do { return try ManagedObjectModel(stored) } catch {
      throw PersistentStoreError(.invalidModel, "the store's own model is not valid", underlying: error)
    }
  }
}

import AtomicStoreSPI

extension StoreRegistry {
  /// The in-process type of what is opened; nil if it is not one.
  func inProcessType(_ type: String?, at path: String) -> (any AtomicStore.Type)? {
    if let type {
      guard let found = try? storeType(named: type), found.traits.isInProcess else { return nil }
      return found
    }
    guard StoreAddress.scheme(of: path) == StoreOpening.inProcessScheme else { return nil }
    return storeTypes.lazy.compactMap { try? self.storeType(named: $0) }.first { $0.traits.isInProcess }
  }
}

extension StoreOpening {
  /// The scheme of the URLs of in-process stores.
  static let inProcessScheme = "memory"

  /// The name of an in-process store; empty for a private one.
  private var inProcessName: String {
    var rest = path[...]
    if StoreAddress.scheme(of: path) == Self.inProcessScheme {
      rest = rest.dropFirst(Self.inProcessScheme.utf8.count + 1)
    }
    if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
    return rest == "/dev/null" ? "" : String(rest)
  }

  /// The key of an in-process store in the table of names; nil for a private one.
  private func inProcessKey(_ type: any AtomicStore.Type) -> ScalarString? {
    let name = inProcessName
    return name.isEmpty ? nil : ScalarString(type.storeType + ":" + name)
  }

  /// Opens an in-process store, or creates one.
  ///
  /// - Parameter snapshot: What a new one holds; nil for nothing.
  func openInProcess(
    _ type: any AtomicStore.Type, holding snapshot: StoreSnapshot? = nil
  ) throws(PersistentStoreError) -> PersistentStore {
    try KitCopies.requireOnlyOne()
    let shown = Self.inProcessScheme + ":" + inProcessName
    do throws(PersistentStoreError) {
      let (own, limits, _, _) = try ownOptions()
      try type.traits.check(own, of: type.storeType, for: use ?? (isReadOnly ? .reading : .readingAndWriting))
      let format = try type.init(
        StoreConfiguration(
          path: shown, configurationName: configurationName, options: own, isReadOnly: isReadOnly, limits: limits))
      let content = try SharedContent.named(inProcessKey(type)) { () throws(PersistentStoreError) in
        try newContent(type, snapshot)
      }
      let saved = try adopted(content.current, model: model)
      let open = OpenStore(
        format: format, version: saved.version, metadata: saved.metadata,
        storedLastReference: saved.metadata.lastReference, shared: .init(content: content, number: saved.number),
        opening: self)
      return PersistentStore(
        open, shownAs: shown, configurationName: configurationName, isReadOnly: isReadOnly, connection: nil)
    } catch {
      throw error.located(StoreLocation(file: shown))
    }
  }

  private func newContent(
    _ type: any AtomicStore.Type, _ snapshot: StoreSnapshot?
  ) throws(PersistentStoreError) -> SharedContent.Saved {
    guard !isReadOnly else {
      throw PersistentStoreError(.notFound, "the store does not exist, and a new one cannot be opened read-only")
    }
    guard let model else { throw PersistentStoreError(.modelNeeded, "a new store needs a model") }
    guard model.entities(forConfiguration: configurationName) != nil else { throw unknownConfiguration(model) }
    if let snapshot {
      var metadata = snapshot.metadata
      metadata.storeType = type.storeType
      return SharedContent.Saved(version: NodeVersion(snapshot.nodes), metadata: metadata)
    }
    var metadata = StoreMetadata(storeType: type.storeType, model: model.description)
    metadata.setVersionHashes(of: model, configuration: configurationName, for: type.traits)
    return SharedContent.Saved(version: NodeVersion(NodeTable(model: model)), metadata: metadata)
  }

  /// The content for this coordinator's model, which may be another instance of the same model.
  func adopted(_ saved: SharedContent.Saved, model: ManagedObjectModel?) throws(PersistentStoreError)
    -> SharedContent.Saved
  {
    var saved = saved
    if let model, saved.version.model !== model {
      let differences = model.differences(from: saved.version.model.description)
      guard differences.isEmpty, let nodes = saved.version.nodes.rebased(on: model) else {
        let list = differences.map { "\($0)" }.joined(separator: "; ")
        throw PersistentStoreError(
          .modelMismatch, "the store was created with another model\(list.isEmpty ? "" : ": " + list)")
      }
      saved.version = NodeVersion(nodes)
    }
    let model = saved.version.model
    guard model.entities(forConfiguration: configurationName) != nil else { throw unknownConfiguration(model) }
    try checkConfiguration(saved.version.nodes)
    return saved
  }

  /// The metadata of an in-process store that a coordinator has open.
  func inProcessMetadata(_ type: any AtomicStore.Type) throws(PersistentStoreError) -> StoreMetadata {
    guard let content = SharedContent.existing(inProcessKey(type)) else {
      throw PersistentStoreError(.notFound, "the store does not exist", at: StoreLocation(file: path))
    }
    return content.current.metadata
  }

  /// Gives up the name of an in-process store: coordinators that have it open keep it, and others get a new one.
  ///
  /// - Parameter isOpen: Whether the coordinator that destroys it has it open.
  func destroyInProcess(
    _ type: any AtomicStore.Type, unless isOpen: (StoreMetadata) -> Bool
  ) throws(PersistentStoreError) {
    let metadata = try inProcessMetadata(type)
    guard !isOpen(metadata) else {
      throw PersistentStoreError(
        .storeAlreadyAdded, "the store is open; remove it first", at: StoreLocation(file: path))
    }
    if let key = inProcessKey(type) { SharedContent.forget(key) }
  }
}

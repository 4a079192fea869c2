public import AtomicStoreSPI
public import FoundationEssentials
import Synchronization

/// Opens, saves and closes stores, and presents several stores as one.
///
/// ```swift
/// let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
/// let store = try coordinator.addPersistentStore(at: "library.xml")
/// let context = ManagedObjectContext(coordinator)
/// ```
///
/// It uses formats only through the SPI and a registry.
public final class PersistentStoreCoordinator: StoreCoordinating {
  /// The formats it can open.
  public let registry: StoreRegistry
  /// The model that all stores must match; nil lets each store have its own.
  public let managedObjectModel: ManagedObjectModel?

  struct State {
    var stores: [PersistentStore] = []
    /// Increases when a store is added or removed.
    var generation = 0
    /// What higher layers store with the coordinator, by type.
    var attachments: [ObjectIdentifier: any Sendable & AnyObject] = [:]
    var observers: [Int: @Sendable (StoreEvent) -> Void] = [:]
    var nextObserver = 0
    var verifiesSaves = false
    var rehearsesSaves = false
    var allowsEmptyNonOptionalToMany = false
    var readsIncrementalStoresWhole = false
    var toldNotes = ToldNotes.all
    /// What stores that are added are compared with.
    var similarNodes: NodeTable?
    /// Which properties of stores that are added are read; nil for all.
    var readNeeds: ReadChoice?
    /// Notices what others save; nil if no one asked for it.
    var watcher: StoreWatcher?
    var remoteChangeInterval = 1.0
    /// Changes that a save came upon, which are reported from outside of it.
    var unreported: [RemoteStoreChange] = []
  }
  let state = Mutex(State())
  /// Locked during a save.
  let saving = Mutex(())
  package let turns = SaveTurns()
  let storeLog = StoreLog()
  /// Whether its stores are closed with it. False if it only reads a store of another coordinator.
  private let ownsStores: Bool

  /// Creates a coordinator without stores.
  ///
  /// ```swift
  /// let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
  /// ```
  public init(managedObjectModel: ManagedObjectModel? = nil, registry: StoreRegistry) {
    self.managedObjectModel = managedObjectModel
    self.registry = registry
    ownsStores = true
  }

  /// Creates a coordinator that reads a store of another coordinator, with its own contexts. The store remains the
  /// other coordinator's.
  package init(viewing store: PersistentStore) {
    managedObjectModel = nil
    registry = StoreRegistry()
    ownsStores = false
    state.withLock { $0.stores = [store] }
  }

  deinit {
    state.withLock { $0.watcher }?.stop()
    guard ownsStores else { return }
    for store in state.withLock({ $0.stores }) {
      store.state.withLock { $0.close(from: nil) }
      store.connection?.close()
    }
  }

  /// Whether each save is read back and compared with what was saved before it takes the place of the old store; false
  /// by default.
  ///
  /// A format that loses something without declaring it then fails the save with `.unsupportedByFormat`, and the old
  /// store stays. A verified save costs about as much as a save, an open and a comparison of all values.
  public var verifiesSaves: Bool {
    get { state.withLock { $0.verifiesSaves } }
    set { state.withLock { $0.verifiesSaves = newValue } }
  }

  /// Whether saves of files do everything except publishing: then only the stores in memory change.
  package var rehearsesSaves: Bool {
    get { state.withLock { $0.rehearsesSaves } }
    set { state.withLock { $0.rehearsesSaves = newValue } }
  }

  /// Whether a save accepts a to-many relationship that is not optional, has no minimum count, and was emptied or left
  /// empty by the change. By default it does not: "not optional" means at least one object. Set it for code and models
  /// that rely on the opposite, as many written for Core Data do, and SwiftData's arrays. It holds for all contexts of
  /// the coordinator.
  ///
  /// A relationship that was read empty, and is still empty, is accepted in any case.
  public var allowsEmptyNonOptionalToMany: Bool {
    get { state.withLock { $0.allowsEmptyNonOptionalToMany } }
    set { state.withLock { $0.allowsEmptyNonOptionalToMany = newValue } }
  }

  /// The open stores, in the order they were added.
  public var persistentStores: [PersistentStore] { state.withLock { $0.stores } }

  public var storeIdentifiers: [UUID] { persistentStores.map(\.identifier) }

  /// Returns the open store with that identity, or nil.
  public func persistentStore(identifier: UUID) -> PersistentStore? {
    persistentStores.first { $0.identifier == identifier }
  }

  /// Returns the ID for a URI, if its store is open and its model has the entity; whether the store contains the object
  /// is known when its fault fires. Nil for temporary IDs, which are meaningless here.
  public func managedObjectID(forURIRepresentation uri: String) -> ManagedObjectID? {
    guard let given = ManagedObjectID(uriRepresentation: uri) else { return nil }
    let id = currentID(of: given)
    guard let identifier = id.storeIdentifier else { return nil }
    return persistentStore(identifier: identifier)?.model.entity(named: id.entityName) == nil ? nil : id
  }

  /// The ID that an object has now which was given this one before its store took over another identity.
  package func currentID(of id: ManagedObjectID) -> ManagedObjectID {
    guard let identifier = id.storeIdentifier, persistentStore(identifier: identifier) == nil else { return id }
    return persistentStores.lazy.compactMap { store in store.formerIDs.withLock { $0[id] } }.first ?? id
  }

  /// Returns what a higher layer stores with the coordinator: one value for each type, created on the first call.
  ///
  /// - Parameter make: Creates the value. It is called while the coordinator is locked, so it must not use the
  ///   coordinator.
  package func attachment<Attachment: Sendable & AnyObject>(_ make: () -> Attachment) -> Attachment {
    state.withLock { state in
      let key = ObjectIdentifier(Attachment.self)
      if let known = state.attachments[key] as? Attachment { return known }
      let made = make()
      state.attachments[key] = made
      return made
    }
  }

  /// Increases when a store is added or removed.
  package var generation: Int { state.withLock { $0.generation } }

  // MARK: Adding and removing

  /// Opens the store at a path, or creates a new one if there is nothing or an empty file.
  ///
  /// ```swift
  /// let store = try coordinator.addPersistentStore(type: "CSV", at: "people.csvstore", isReadOnly: true)
  /// ```
  ///
  /// - Parameters:
  ///   - type: A registered name; nil detects the type from the content, or for a new store from the file's extension.
  ///   - configurationName: A configuration of the model: the store accepts objects of its entities only; nil for all.
  ///   - path: The path of a file or directory; `memory:` or `memory:NAME` for a store in memory.
  ///   - options: The format's options, by name.
  ///   - isReadOnly: Whether the store may not be saved.
  ///   - model: The store's model, if the coordinator has none; nil uses the one that the store carries, or infers it.
  /// - Throws: `PersistentStoreError`. On any error the file is unchanged, and a reservation file that was created is
  ///   removed.
  @discardableResult
  public func addPersistentStore(
    type: String? = nil, configurationName: String? = nil, at path: String, options: StoreOptions = [:],
    isReadOnly: Bool = false, model: ManagedObjectModel? = nil
  ) throws(PersistentStoreError) -> PersistentStore {
    try add(
      StoreOpening(
        registry: registry, type: type, path: path, configurationName: configurationName, options: options,
        isReadOnly: isReadOnly, model: managedObjectModel ?? model))
  }

  /// Opens a store read-only. Ends of its relationships that contradict each other are read as they are stored, unless
  /// an option says otherwise: ``NodeTable/inverseDisagreements(limit:)`` lists the contradictions.
  package func addPersistentStoreUnchecked(
    type: String?, at path: String, options: StoreOptions
  ) throws(PersistentStoreError) -> PersistentStore {
    var options = options
    if options["inverses"] == nil { options["inverses"] = RelationshipRules.Inverses.asStored.rawValue }
    return try addPersistentStore(type: type, at: path, options: options, isReadOnly: true)
  }

  /// Opens a store of which only metadata will change, so that options for writing would have no effect.
  func addStoreForMetadata(
    type: String?, at path: String, options: StoreOptions
  ) throws(PersistentStoreError) -> PersistentStore {
    try add(
      StoreOpening(
        registry: registry, type: type, path: path, configurationName: nil, options: options, isReadOnly: false,
        model: nil,
        use: .reading))
  }

  private func add(_ opening: StoreOpening) throws(PersistentStoreError) -> PersistentStore {
    let start = isLogging ? Self.clock : 0
    do throws(PersistentStoreError) {
      let store = try addStore(opening)
      log(
        .info, "opened store",
        [
          "path": store.path, "type": store.type, "uuid": store.identifier.uuidString,
          "objects": store.connection == nil ? "\(store.nodes.count)" : "not counted",
          "seconds": Self.seconds(since: start),
        ])
      return store
    } catch {
      log(.error, "store not opened", ["path": StoreAddress.withoutPassword(opening.path), "error": "\(error)"])
      throw error
    }
  }

  private func addStore(_ opening: StoreOpening) throws(PersistentStoreError) -> PersistentStore {
    let path = opening.path
    let store: PersistentStore
    if let type = try registry.incrementalType(opening.type, at: path) {
      store = try opening.openIncremental(type, readsWhole: readsIncrementalStoresWhole)
    } else if let type = registry.inProcessType(opening.type, at: path) {
      store = try opening.openInProcess(type)
    } else {
      let place = try opening.inspect()
      try refuseTwice(place, path)
      var opening = opening
      (opening.similarNodes, opening.readNeeds) = state.withLock { ($0.similarNodes, $0.readNeeds) }
      store = PersistentStore(
        try opening.open(place), path: path, configurationName: opening.configurationName,
        isReadOnly: opening.isReadOnly)
    }
    try register(store)
    tellNotes(of: store, openedAs: path)
    return store
  }

  /// Adds a private store in memory: what a new document has before it is anywhere, and what objects that are read
  /// from elsewhere are changed in.
  ///
  /// - Parameter snapshot: The objects and metadata, by the coordinator's model; nil for none.
  package func addStoreInMemory(holding snapshot: StoreSnapshot? = nil) throws(PersistentStoreError) -> PersistentStore
  {
    let opening = StoreOpening(
      registry: registry, type: InMemoryStore.storeType, path: "memory:", configurationName: nil, options: [:],
      isReadOnly: false, model: managedObjectModel)
    let store = try opening.openInProcess(InMemoryStore.self, holding: snapshot)
    try register(store)
    return store
  }

  /// Adds a store that was opened.
  private func register(_ store: PersistentStore) throws(PersistentStoreError) {
    let identifier = store.identifier
    let clash = state.withLock { state -> PersistentStore? in
      if let other = state.stores.first(where: { $0.identifier == identifier }) { return other }
      state.stores.append(store)
      state.generation += 1
      return nil
    }
    if let clash {
      store.state.withLock { $0.close(from: nil) }
      store.connection?.close()
      throw PersistentStoreError(
        .storeAlreadyAdded, "the store has the same UUID \(identifier) as the open store \(clash.path)",
        at: StoreLocation(file: store.path))
    }
    if let watcher = state.withLock({ $0.watcher }) {
      store.connection?.beginNoticing()
      watcher.poke()
    }
    post(.didChange(StoreChange(added: [store])))
    for mixed in mixedSaves where mixed.newer == identifier || mixed.older == identifier {
      post(.foundMixedSave(mixed))
    }
  }

  /// As ``addPersistentStore(type:configurationName:at:options:isReadOnly:model:)``, for a file URL, `memory:NAME`, or
  /// the URL of a database.
  @discardableResult
  public func addPersistentStore(
    type: String? = nil, configurationName: String? = nil, at url: URL, options: StoreOptions = [:],
    isReadOnly: Bool = false, model: ManagedObjectModel? = nil
  ) throws(PersistentStoreError) -> PersistentStore {
    try addPersistentStore(
      type: type, configurationName: configurationName, at: place(of: url, type: type), options: options,
      isReadOnly: isReadOnly, model: model)
  }

  /// The path of a file URL, and the text of a URL that names a store.
  package func place(of url: URL, type: String?) throws(PersistentStoreError) -> String {
    if url.isFileURL { return url.path(percentEncoded: false) }
    let text = url.absoluteString
    let scheme = StoreAddress.scheme(of: text) ?? ""
    if scheme == StoreOpening.inProcessScheme { return text }
    if let database = try registry.incrementalType(type, at: text), database.urlSchemes.contains(scheme) { return text }
    // The path of a network URL also names a local file, which is not meant.
    throw PersistentStoreError(
      .cannotCreate, "this is neither a file URL nor that of a database",
      at: StoreLocation(file: StoreAddress.withoutPassword(text)))
  }

  func refuseTwice(
    _ place: StorePath, _ path: String, besides known: PersistentStore? = nil
  ) throws(PersistentStoreError) {
    for other in persistentStores where other !== known && StorePath.isSame(place, path: other.path) {
      throw PersistentStoreError(
        .storeAlreadyAdded, "the coordinator has this store open already", at: StoreLocation(file: path))
    }
  }

  func refuseTwice(_ address: StoreAddress, besides known: PersistentStore) throws(PersistentStoreError) {
    if address.isFile { return try refuseTwice(try StorePath.inspect(address.full), address.full, besides: known) }
    for other in persistentStores where other !== known && ScalarString(other.path) == ScalarString(address.shown) {
      throw PersistentStoreError(
        .storeAlreadyAdded, "the coordinator has this store open already", at: StoreLocation(file: address.shown))
    }
  }

  /// Closes a store. If it was never saved, its reservation file is removed.
  ///
  /// - Throws: `.storeNotAdded`.
  public func remove(_ store: PersistentStore) throws(PersistentStoreError) {
    try check(store)
    post(.willRemove(store))
    let found = state.withLock { state -> Bool in
      guard let index = state.stores.firstIndex(where: { $0 === store }) else { return false }
      state.stores.remove(at: index)
      state.generation += 1
      return true
    }
    guard found else {
      throw PersistentStoreError(
        .storeNotAdded, "the store does not belong to this coordinator", at: StoreLocation(file: store.path))
    }
    store.state.withLock { $0.close(from: self) }
    store.connection?.close()
    log(.info, "removed store", ["path": store.path, "type": store.type])
    post(.didChange(StoreChange(removed: [store])))
  }

  func check(_ store: PersistentStore) throws(PersistentStoreError) {
    guard persistentStores.contains(where: { $0 === store }) else {
      throw PersistentStoreError(
        .storeNotAdded, "the store does not belong to this coordinator", at: StoreLocation(file: store.path))
    }
  }
}

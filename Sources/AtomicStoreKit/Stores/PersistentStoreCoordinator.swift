public import AtomicStoreSPI
public import FoundationEssentials
import Synchronization

/// Opens stores, keeps them apart, and closes them: several stores behind one façade.
///
/// It knows the SPI and a registry of formats, and no format itself.
public final class PersistentStoreCoordinator: StoreCoordinating {
  /// The formats it can open.
  public let registry: StoreRegistry
  /// The model that all stores must fit; nil lets each store bring its own.
  public let managedObjectModel: ManagedObjectModel?

  struct State {
    var stores: [PersistentStore] = []
    /// Grows when a store is added or removed.
    var generation = 0
    var classes: [ScalarString: ManagedObject.Type] = [:]
    var transformers: [String: any AttributeTransformer] = [:]
    var functions: [ScalarString: @Sendable (Any?, [Any?]) throws -> Any?] = [:]
    var observers: [Int: @Sendable (StoreEvent) -> Void] = [:]
    var nextObserver = 0
  }
  let state = Mutex(State())
  /// Held during a save.
  let saving = Mutex(())
  let turns = SaveTurns()

  /// A coordinator without stores.
  public init(managedObjectModel: ManagedObjectModel? = nil, registry: StoreRegistry) {
    self.managedObjectModel = managedObjectModel
    self.registry = registry
  }

  deinit {
    for store in state.withLock({ $0.stores }) { store.state.withLock { $0.close(from: nil) } }
  }

  /// The open stores, in the order they were added.
  public var persistentStores: [PersistentStore] { state.withLock { $0.stores } }

  public var storeIdentifiers: [UUID] { persistentStores.map(\.identifier) }

  /// The open store with that identity, or nil.
  public func persistentStore(identifier: UUID) -> PersistentStore? {
    persistentStores.first { $0.identifier == identifier }
  }

  /// The ID that a URI stands for, where its store is open and its model has the entity; whether the store holds such
  /// an object shows when its fault is fired. Nil for temporary IDs too: they mean nothing here.
  public func managedObjectID(forURIRepresentation uri: String) -> ManagedObjectID? {
    guard let id = ManagedObjectID(uriRepresentation: uri), let identifier = id.storeIdentifier else { return nil }
    return persistentStore(identifier: identifier)?.model.entity(named: id.entityName) == nil ? nil : id
  }

  // MARK: Adding and removing

  /// Opens the store at a path, or begins a new one where there is nothing or an empty file.
  ///
  /// - Parameters:
  ///   - type: A registered name; nil finds the type from the content, or for a new store from the file's extension.
  ///   - configurationName: A configuration of the model: the store takes objects of its entities only; nil for all.
  ///   - path: The path of a file or directory.
  ///   - options: The format's options, by name.
  ///   - isReadOnly: Whether the store may not be saved.
  ///   - model: The store's model, where the coordinator has none; nil takes the one that the store carries, or infers it.
  /// - Throws: `PersistentStoreError`; on any error the file is as it was, and a reservation that was made is gone.
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

  /// Opens a store for reading even where the ends of its relationships contradict each other:
  /// ``NodeTable/inverseDisagreements(limit:)`` lists where.
  package func addPersistentStoreUnchecked(
    type: String?, at path: String, options: StoreOptions
  ) throws(PersistentStoreError) -> PersistentStore {
    try add(
      StoreOpening(
        registry: registry, type: type, path: path, configurationName: nil, options: options, isReadOnly: true,
        model: managedObjectModel, checksInverses: false))
  }

  /// Opens a store whose metadata alone will change, so that options for writing would have no effect.
  private func addStoreForMetadata(
    type: String?, at path: String, options: StoreOptions
  ) throws(PersistentStoreError) -> PersistentStore {
    try add(
      StoreOpening(
        registry: registry, type: type, path: path, configurationName: nil, options: options, isReadOnly: false, model: nil,
        use: .reading))
  }

  private func add(_ opening: StoreOpening) throws(PersistentStoreError) -> PersistentStore {
    let path = opening.path
    let place = try opening.inspect()
    try refuseTwice(place, path)
    var open = try opening.open(place)
    let identifier = open.metadata.uuid
    let store = PersistentStore(
      open, path: path, configurationName: opening.configurationName, isReadOnly: opening.isReadOnly)
    let clash = state.withLock { state -> PersistentStore? in
      if let other = state.stores.first(where: { $0.identifier == identifier }) { return other }
      state.stores.append(store)
      state.generation += 1
      return nil
    }
    if let clash {
      open.close(from: nil)
      throw PersistentStoreError(
        .storeAlreadyAdded, "the store has the UUID \(identifier) of the open store \(clash.path)",
        at: StoreLocation(file: path))
    }
    post(.didChange(StoreChange(added: [store])))
    for mixed in mixedSaves where mixed.newer == identifier || mixed.older == identifier { post(.foundMixedSave(mixed)) }
    return store
  }

  /// As ``addPersistentStore(type:configurationName:at:options:isReadOnly:model:)``, for a file URL.
  @discardableResult
  public func addPersistentStore(
    type: String? = nil, configurationName: String? = nil, at url: URL, options: StoreOptions = [:],
    isReadOnly: Bool = false, model: ManagedObjectModel? = nil
  ) throws(PersistentStoreError) -> PersistentStore {
    // The path of an address on the net names a file of this machine as well, which is not meant.
    guard url.isFileURL else {
      throw PersistentStoreError(.cannotCreate, "this is no file URL", at: StoreLocation(file: url.absoluteString))
    }
    return try addPersistentStore(
      type: type, configurationName: configurationName, at: url.path(percentEncoded: false), options: options,
      isReadOnly: isReadOnly, model: model)
  }

  func refuseTwice(
    _ place: StorePlace, _ path: String, besides known: PersistentStore? = nil
  ) throws(PersistentStoreError) {
    for other in persistentStores where other !== known && StorePlace.isSame(place, path: other.path) {
      throw PersistentStoreError(
        .storeAlreadyAdded, "the coordinator has this store open already", at: StoreLocation(file: path))
    }
  }

  /// Closes a store. One that was never saved leaves no reservation of ours behind.
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
        .storeNotAdded, "the store is not one of this coordinator's", at: StoreLocation(file: store.path))
    }
    store.state.withLock { $0.close(from: self) }
    post(.didChange(StoreChange(removed: [store])))
  }

  func check(_ store: PersistentStore) throws(PersistentStoreError) {
    guard persistentStores.contains(where: { $0 === store }) else {
      throw PersistentStoreError(
        .storeNotAdded, "the store is not one of this coordinator's", at: StoreLocation(file: store.path))
    }
  }

  // MARK: Metadata without loading

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

  /// Changes the user's entries in the metadata of the store at a path, as ``setMetadata(_:type:at:options:registry:)``, from what they
  /// are when they are saved: what others save meanwhile is kept.
  ///
  /// - Parameters:
  ///   - type: A registered name; nil finds the type from the content.
  ///   - path: The path of the store.
  ///   - options: The format's options, by name.
  ///   - registry: The formats that the store may have.
  ///   - change: Changes the entries. It is called again if another process saved the store meanwhile.
  /// - Throws: what `change` throws, and then nothing is saved; `.changedOnDisk` where other processes keep saving the store.
  public static func updateMetadata(
    type: String? = nil, at path: String, options: StoreOptions = [:], registry: StoreRegistry,
    _ change: (inout PropertyListDictionary) throws -> Void
  ) throws {
    for attempt in 1... {
      let coordinator = PersistentStoreCoordinator(registry: registry)
      let store = try coordinator.addStoreForMetadata(type: type, at: path, options: options)
      var entries = store.metadata.entries
      try change(&entries)
      try store.setMetadata(entries)
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

public import AtomicStoreSPI
public import FoundationEssentials
import Synchronization

/// A store that a coordinator opened: its nodes and metadata as they are on disk.
///
/// A handle that can be used on any thread: its state is protected by a lock, and the format is called by one thread at
/// a time.
///
/// ```swift
/// let store = try coordinator.addPersistentStore(at: "people.xml")
/// print(store.type, store.nodes.count, store.loadNotes)
/// ```
public final class PersistentStore: Sendable {
  /// The registered name of its type.
  public let type: String
  /// The absolute path of the store; a symbolic link is followed when it is opened, and preserved.
  public let path: String
  /// The configuration of the model that the store was added with; nil for all entities.
  public let configurationName: String?
  /// Whether the store was opened read-only: a save that would change it fails.
  public let isReadOnly: Bool
  /// The store's identity, kept in saves, Save As and conversions. A store that was never saved takes over the identity
  /// of what another process saves to its path first.
  public var identifier: UUID { state.withLock { $0.metadata.uuid } }
  /// The model of its nodes: the coordinator's, or the one that the store carries or that was inferred from its data.
  public let model: ManagedObjectModel

  /// Whether the store exists in the memory of this process only, as type `InMemory`.
  public var isInProcess: Bool { state.withLock { $0.format.traits.isInProcess } }

  /// Whether ``path`` is a URL, not a path.
  package var isReachedByURL: Bool { StoreAddress.scheme(of: path) != nil }

  private let takenEntities: Set<Int>

  /// The connection of an incremental store that is read in parts; nil for every other.
  package let connection: IncrementalConnection?
  let state: Mutex<OpenStore>
  /// The store that replaced this one by Save As.
  let successor = Mutex<PersistentStore?>(nil)
  /// The IDs that objects were given before the store took over another identity, with those that they have now.
  let formerIDs = Mutex(FormerIDs())
  /// Why the last change by another process could not be read.
  let lastRemoteFailure = Mutex<String?>(nil)

  convenience init(_ open: OpenStore, path: String, configurationName: String?, isReadOnly: Bool) {
    // The current directory may have changed when the store is saved.
    self.init(
      open, shownAs: StorePath.absolute(path), configurationName: configurationName, isReadOnly: isReadOnly,
      connection: nil)
  }

  init(
    _ open: OpenStore, shownAs path: String, configurationName: String?, isReadOnly: Bool,
    connection: IncrementalConnection?
  ) {
    type = open.metadata.storeType
    model = open.nodes.model
    self.path = path
    self.connection = connection
    self.configurationName = configurationName
    self.isReadOnly = isReadOnly
    takenEntities = Set(
      (model.entities(forConfiguration: configurationName) ?? []).filter { !$0.isAbstract }.map(\.index))
    var open = open
    open.opening.path = self.path
    state = Mutex(open)
  }

  /// All nodes as they were loaded or last saved. A value: later saves do not change it. Empty for an incremental
  /// store, which is not loaded.
  ///
  /// ```swift
  /// let nodes = store.nodes
  /// print(nodes.count)
  /// ```
  public var nodes: NodeTable { version.nodes }

  /// The nodes that objects read. Each save replaces it.
  package var version: NodeVersion { state.withLock { $0.version } }

  /// The version, and whether the store is still open.
  package var versionIfOpen: (version: NodeVersion, isOpen: Bool, identifier: UUID) {
    state.withLock { ($0.version, $0.isOpen, $0.metadata.uuid) }
  }

  /// Remembers that an object which was never saved has another ID from now on.
  package func noteNewID(_ new: ManagedObjectID, insteadOf old: ManagedObjectID) {
    // An ID of the present identity may be another object's by now.
    let isFormer = old.storeIdentifier != identifier
    formerIDs.withLock { $0.note(new, insteadOf: old, isFormer: isFormer) }
  }

  /// Whether the store accepts objects of the entity, by its configuration.
  package func takes(_ entity: Entity) -> Bool { entity.model === model && takenEntities.contains(entity.index) }

  /// Returns references for new objects, in order. `object` returns the attributes of each, for formats that derive
  /// references from them.
  package func newReferences(
    count: Int, _ object: (Int) -> ManagedObjectSnapshot
  ) throws(PersistentStoreError) -> [ReferenceObject] {
    if let connection {
      var references = [ReferenceObject?](repeating: nil, count: count)
      let byEntity = Dictionary(grouping: 0..<count) { object($0).entity }
      for entity in byEntity.keys.sorted() {
        let places = byEntity[entity] ?? []
        let made = try connection.use { store throws(PersistentStoreError) in
          try store.newReferences(places.count, entity: entity)
        }
        for (place, reference) in zip(places, made) { references[place] = reference }
      }
      return references.compactMap { $0 }
    }
    let result = state.withLock { open -> Result<[ReferenceObject], PersistentStoreError> in
      var references: [ReferenceObject] = []
      references.reserveCapacity(count)
      let nodes = open.version.nodes
      do throws(PersistentStoreError) {
        for index in 0..<count {
          references.append(
            try open.format.newReferenceObject(for: object(index), in: nodes, metadata: &open.metadata))
        }
        return .success(references)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// This store, or the one that replaced it by Save As.
  package var latest: PersistentStore {
    var store = self
    while let next = store.successor.withLock({ $0 }) { store = next }
    return store
  }

  /// The metadata that the next save writes.
  ///
  /// ```swift
  /// print(store.metadata.entries.keys)
  /// ```
  public var metadata: StoreMetadata { state.withLock { $0.metadata } }

  /// What the load derived from the other end of a relationship, changed or removed, by the options `inverses` and
  /// `dangling`. Empty if nothing was changed.
  package var readNotes: [StoreSelection.Note] { state.withLock { $0.readNotes } }

  /// Whether the metadata was set since the last save.
  package var hasUnsavedMetadata: Bool { state.withLock { $0.metadataChanged } }

  /// Files in the store's directory that its format ignored.
  var unrelatedFiles: [String] { state.withLock { $0.unrelatedFiles } }
  /// What the format reported when it read the file: what is lost of it, what was read beside it.
  public var loadNotes: [LoadNote] { state.withLock { $0.notes } }
  /// Whether damaged objects, references or other parts were left out, or ends of relationships changed, when it was
  /// read.
  package var isReadInPart: Bool { !readNotes.isEmpty || loadNotes.contains(where: \.isLoss) }

  /// Whether the store is still open in its coordinator.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Sets the user's metadata entries. They are written with the next save.
  ///
  /// - Throws: `.invalidValue` for a key that the kit manages and for a date that is not a number, which property lists
  ///   cannot hold, `.readOnly`, `.storeNotAdded` if the store was removed: the entries would never be written.
  public func setMetadata(_ entries: PropertyListDictionary) throws(PersistentStoreError) {
    for key in StoreMetadata.reservedKeys where entries[key] != nil {
      throw PersistentStoreError(
        .invalidValue, "the metadata key '\(key)' is managed by the kit", at: StoreLocation(file: path))
    }
    for entry in entries where entry.value.hasInvalidDate {
      throw PersistentStoreError(
        .invalidValue, "a date in the metadata entry '\(entry.key)' is not a number", at: StoreLocation(file: path))
    }
    guard !isReadOnly else { throw .readOnly(path) }
    guard isOpen else {
      throw PersistentStoreError(.storeNotAdded, "the store is not open", at: StoreLocation(file: path))
    }
    state.withLock {
      // The kit manages the note on common saves: it is kept unless the caller passes it.
      var entries = entries
      if entries[StoreMetadata.saveSetKey] == nil {
        entries[StoreMetadata.saveSetKey] = $0.metadata.entries[StoreMetadata.saveSetKey]
      }
      guard $0.metadata.entries != entries else { return }
      $0.metadata.entries = entries
      $0.metadataChanged = true
    }
  }

  /// Returns the value of a slot. A deferred value is requested from the format first, and kept.
  package func value(slot: Int, of node: NodeHandle) throws(PersistentStoreError) -> StoredValue {
    try state.withLock { open throws(PersistentStoreError) in try open.value(slot: slot, of: node) }
  }

  /// The object ID of a node: `x-coredata://UUID/Entity/pREFERENCE`.
  package func objectID(for reference: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(storeIdentifier: identifier, entityName: reference.entityName, reference: reference.reference)
  }

  /// Returns the node that an object ID refers to, or nil if it is not in this store.
  package func node(for id: ManagedObjectID) -> NodeHandle? {
    guard id.storeIdentifier == identifier, let reference = id.reference,
      let entity = model.entity(named: id.entityName)
    else { return nil }
    return version.handle(for: reference, root: entity.root.index)
  }
}

/// IDs that objects had before their store took over another identity.
struct FormerIDs {
  private var present: [ManagedObjectID: ManagedObjectID] = [:]
  /// By the ID that an object has now.
  private var former: [ManagedObjectID: [ManagedObjectID]] = [:]

  subscript(id: ManagedObjectID) -> ManagedObjectID? { present[id] }

  mutating func note(_ new: ManagedObjectID, insteadOf old: ManagedObjectID, isFormer: Bool) {
    let ids = (former.removeValue(forKey: old) ?? []) + (isFormer ? [old] : [])
    guard !ids.isEmpty else { return }
    for id in ids { present[id] = new }
    former[new] = ids
  }
}

extension PropertyListValue {
  /// Whether it is a date that is not a number, or holds one: readers of property lists refuse such a date.
  fileprivate var hasInvalidDate: Bool {
    var rest = [self]
    while let value = rest.popLast() {
      switch value {
      case .date(let date): if date.timeIntervalSinceReferenceDate.isNaN { return true }
      case .array(let list): rest += list
      case .dictionary(let dictionary): rest += dictionary.map(\.value)
      default: break
      }
    }
    return false
  }
}

extension StoreMetadata {
  /// The key of the note that saves of several stores write. Stores that were never saved together with others do not
  /// have it.
  static let saveSetKey = "AtomicStoreSaveSet"
}

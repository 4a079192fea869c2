public import FoundationEssentials

/// A store format: adopt it to teach the kit another way to keep a graph of objects in a file or folder.
///
/// The requirements stand in the order of an atomic store's life, as Apple's *Atomic Store Life-cycle* tells it:
///
/// | Core Data | here |
/// |---|---|
/// | `registerStoreClass:forStoreType:` | ``StoreRegistry/register(_:)`` under ``storeType`` |
/// | `initWithPersistentStoreCoordinator:configurationName:URL:options:` | ``init(_:)`` |
/// | `metadata` | ``metadata(in:)`` |
/// | `load:`, `addCacheNodes:`, `objectIDForEntity:referenceObject:` | ``load(_:into:)`` |
/// | `newReferenceObjectForManagedObject:` | ``newReferenceObject(for:in:metadata:)`` |
/// | `newCacheNodeForManagedObject:` | ``newCacheNode(for:in:)`` |
/// | `updateCacheNode:fromManagedObject:` | ``updateCacheNode(_:from:in:)`` |
/// | `willRemoveCacheNodes:` | ``willRemoveCacheNodes(_:from:)`` |
/// | `save:` | ``save(_:to:)`` |
/// | `willRemoveFromPersistentStoreCoordinator:` | ``willRemove(from:)`` |
///
/// **You implement** ``storeType``, ``traits``, ``recognize(_:)``, ``init(_:)``, ``metadata(in:)``,
/// ``load(_:into:)`` and ``save(_:to:)``. **You may customise** the rest; see each default.
///
/// The kit decides what lies at the URL before it asks a format (nothing, zero bytes, this format, another, a folder,
/// a link, something unreadable), makes reservation files and takes them away, sets type and UUID, resolves
/// relationships, hands out references, stages and renames. A format is asked to read only content that it recognised,
/// never an empty file, and its clean-up hook cannot prevent the kit's.
///
/// Adopt it with a `struct`; there is one value for each open store, the kit serialises the calls, so no locks.
public protocol AtomicStore: Sendable {
  /// The name it is registered by, such as `XML`.
  static var storeType: String { get }

  /// What the format can carry.
  static var traits: StoreTraits { get }

  /// Says whether the content is this format's. Cheap: the probe holds the first bytes. Must not judge by the name:
  /// the kit does that where formats are unsure.
  static func recognize(_ probe: StoreProbe) -> Recognition

  /// What this very store can carry, where its options or its path make it differ from the type's ``traits``.
  var traits: StoreTraits { get }

  /// One file or a folder, as this store will be written. The default is the traits' layout; a format that has both
  /// decides by path and options.
  var layout: StoreLayout { get }

  /// Prepares a store for a place that holds one, or will hold one. Reads and writes nothing.
  ///
  /// - Throws: `.invalidOption` for values of options that make no sense.
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError)

  /// Reads the metadata without decoding rows. Runs before every load and when only metadata is asked for: keep it
  /// cheap. A file that has no metadata gives a value with a UUID derived from what is stable.
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata

  /// Works out the model from the data, for a file that carries none (``StoreMetadata/model`` is nil) when the caller
  /// has none either. The default says that a model is needed.
  mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription

  /// Reads all nodes. For each: begin it with its entity and reference object, set its values, name its
  /// relationships' destinations by reference. The kit resolves those afterwards and creates the object IDs.
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError)

  /// Supplies the value of a slot that `load` deferred, when it is first read. The default throws: a format that defers
  /// values has its own.
  ///
  /// Find the object by its reference: saves move nodes to other rows.
  mutating func value(slot: Int, of node: NodeHandle, in nodes: NodeTable) throws(PersistentStoreError) -> StoredValue

  /// Whether ``save(_:to:)`` writes values that are still deferred by itself, say by copying their bytes from the file that
  /// it read: `NodeTable.isDeferred(slot:of:)` says which those are, and they go on being deferred after the save. The default
  /// is false: the kit asks for every deferred value before a save, once, and the nodes hold them all from then on.
  var writesDeferredValues: Bool { get }

  /// Gives a new object its reference: stable for good, unique in its hierarchy. The default is the next integer never
  /// used before in this store. A format may derive it from the object's values instead (a natural key).
  mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject

  /// Adds the node of a new object. Its reference is set. Relationships are pushed by the kit afterwards, when all new
  /// nodes are there. The default adds the node and pushes the attributes' values.
  mutating func newCacheNode(
    for object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> NodeHandle

  /// Pushes the changed values of an object into its node. The default sets each.
  mutating func updateCacheNode(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError)

  /// Told before nodes go, to let go of what hangs on them. The default does nothing; the kit removes them.
  mutating func willRemoveCacheNodes(_ removed: [NodeHandle], from nodes: inout NodeTable)

  /// The part of a graph that this store's options ask for, where they ask for a part. The default is nil: all of it.
  func selection(from snapshot: StoreSnapshot) throws(PersistentStoreError) -> StoreSelection?

  /// Writes all nodes and the metadata to new files. Touch nothing else: when this returns, the kit puts the files in the store's
  /// place in one step, or removes them where anything fails.
  ///
  /// - Throws: `.unsupportedByFormat` for what the format cannot carry, before the store is harmed.
  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError)

  /// Writes the store again with other metadata entries and everything else byte for byte as `source` has it. Called instead of
  /// ``save(_:to:)`` where a save changes metadata entries and nothing else.
  ///
  /// The default returns false. Adopt it where a full save would write more anew than the metadata.
  ///
  /// - Parameters:
  ///   - metadata: Its entries are to be written; identity, last reference and model are as they were read.
  ///   - source: The store as it is on disk.
  /// - Returns: False where this is not possible; then nothing may have been written, and the kit calls ``save(_:to:)``.
  mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to files: StagedFiles
  ) throws(PersistentStoreError) -> Bool

  /// Told once that the store goes: removed from its coordinator, or with nil after a failed load, or when the
  /// coordinator is deallocated. The default does nothing; the kit's own clean-up follows in any case.
  mutating func willRemove(from coordinator: (any StoreCoordinating)?)
}

/// What a format may know of the coordinator that its store is removed from.
public protocol StoreCoordinating: AnyObject, Sendable {
  /// The UUIDs of the open stores.
  var storeIdentifiers: [UUID] { get }
}

extension AtomicStore {
  public var traits: StoreTraits { Self.traits }
  public var layout: StoreLayout { traits.layout }

  public func selection(from snapshot: StoreSnapshot) throws(PersistentStoreError) -> StoreSelection? { nil }

  public mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to files: StagedFiles
  ) throws(PersistentStoreError) -> Bool { false }

  public mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    throw PersistentStoreError(
      .modelNeeded, "a \(Self.storeType) store does not describe itself: a model is needed",
      at: StoreLocation(file: source.name))
  }

  public mutating func value(
    slot: Int, of node: NodeHandle, in nodes: NodeTable
  ) throws(PersistentStoreError) -> StoredValue {
    let entity = nodes.model.entity(at: node.entity)
    throw PersistentStoreError(
      .internalInconsistency, "\(Self.storeType) deferred a value and does not supply it: value(slot:of:in:) is missing",
      at: StoreLocation(entity: entity.name, reference: nodes.reference(of: node).description, property: entity.slots[slot].name))
  }

  public var writesDeferredValues: Bool { false }

  public mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    let (next, overflow) = metadata.lastReference.addingReportingOverflow(1)
    guard !overflow else { throw PersistentStoreError(.limitExceeded, "all integer references are used up") }
    metadata.lastReference = next
    return .integer(next)
  }

  public mutating func newCacheNode(
    for object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> NodeHandle {
    guard let reference = object.reference else {
      throw PersistentStoreError(.internalInconsistency, "a node is made after its reference")
    }
    let node = try nodes.addCacheNode(entity: object.entity, reference: reference)
    for slot in object.values.slots where !nodes.model.isRelationship(slot: slot, of: object.entity) {
      if let value = object.values[slot] { try nodes.set(value, slot: slot, of: node) }
    }
    return node
  }

  public mutating func updateCacheNode(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) {
    for slot in object.values.slots {
      if let value = object.values[slot] { try nodes.set(value, slot: slot, of: node) }
    }
  }

  public mutating func willRemoveCacheNodes(_ removed: [NodeHandle], from nodes: inout NodeTable) {}

  public mutating func willRemove(from coordinator: (any StoreCoordinating)?) {}
}

public import FoundationEssentials

/// The metadata of a store.
///
/// A format writes and reads type and UUID; the kit assigns and checks them. All ``entries`` belong to the user (or to
/// Apple's software, in a file from there) and are kept.
///
/// ```swift
/// var metadata = StoreMetadata(storeType: "XML")
/// metadata.entries["author"] = "Ada"
/// ```
public struct StoreMetadata: Sendable, Equatable {
  /// The registered name of the store's type.
  public var storeType: String
  /// The identity of the store. It never changes, and no two open stores have the same.
  ///
  /// ```swift
  /// print(store.metadata.uuid == store.identifier)  // true
  /// ```
  public var uuid: UUID
  /// Further entries, without type and UUID.
  ///
  /// ```swift
  /// for entry in snapshot.metadata.entries { print(entry.key, entry.value) }
  /// ```
  public var entries: PropertyListDictionary
  /// The greatest integer reference ever assigned, so that none is assigned twice; 0 for none.
  public var lastReference: Int64
  /// The model that the file carries; nil if it carries none.
  ///
  /// ```swift
  /// if let carried = store.metadata.model { print(carried.entities.map(\.name)) }
  /// ```
  public var model: ModelDescription?

  /// Creates metadata. By default it is that of a new store: a new UUID, no entries, no references assigned.
  ///
  /// ```swift
  /// let metadata = StoreMetadata(storeType: "XML", entries: ["author": "Ada"], lastReference: 12)
  /// ```
  public init(
    storeType: String, uuid: UUID = UUID(), entries: PropertyListDictionary = PropertyListDictionary(),
    lastReference: Int64 = 0, model: ModelDescription? = nil
  ) {
    self.storeType = storeType
    self.uuid = uuid
    self.entries = entries
    self.lastReference = lastReference
    self.model = model
  }

  /// The keys that the kit manages; entries must not use them.
  package static let reservedKeys = ["NSStoreType", "NSStoreUUID"]
}

/// Options by name, as the caller specified them.
public typealias StoreOptions = [String: String]

/// The argument of a format's `init`.
///
/// ```swift
/// print(configuration.options["encoding"] ?? "utf-8", configuration.limits.objects)
/// ```
public struct StoreConfiguration: Sendable {
  /// The path of the file or directory, with symbolic links resolved.
  public var path: String
  /// The configuration of the model that the store is opened with; nil for all entities.
  public var configurationName: String?
  /// The options that the caller specified. The kit checks them against ``StoreTraits/readOptions`` and
  /// ``StoreTraits/writeOptions``, and refuses others.
  public var options: StoreOptions
  /// Whether the store is opened read-only.
  public var isReadOnly: Bool
  /// The limits of the load. The kit enforces those on bytes, objects and values; a format that parses nested data must
  /// enforce the depth.
  public var limits: StoreLimits
  /// Whether objects that cannot be read are left out: the option `damaged=skip-object`. A format that supports it
  /// calls ``NodeTableBuilder/skipNode(because:)`` in `load`, and infers a model from the other objects.
  public var skipsDamagedObjects = false

  /// Creates a configuration. The coordinator does so; create one yourself to test a format.
  package init(
    path: String, configurationName: String? = nil, options: StoreOptions = [:], isReadOnly: Bool = false,
    limits: StoreLimits = StoreLimits()
  ) {
    self.limits = limits
    self.path = path
    self.configurationName = configurationName
    self.options = options
    self.isReadOnly = isReadOnly
  }
}

/// What a save writes: the complete new content of the store.
///
/// ```swift
/// let snapshot = StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "XML"))
/// print(snapshot.nodes.count, snapshot.metadata.uuid)
/// ```
public struct StoreSnapshot: Sendable {
  /// In canonical order: see `canonical()`.
  ///
  /// ```swift
  /// let before = old.nodes.count, after = new.nodes.count
  /// ```
  public var nodes: NodeTable
  /// The metadata to write, the model included.
  ///
  /// ```swift
  /// print(snapshot.metadata.storeType)
  /// ```
  public var metadata: StoreMetadata

  /// Creates a snapshot of nodes that are in canonical order.
  ///
  /// ```swift
  /// let empty = StoreSnapshot(nodes: NodeTable(model: model), metadata: StoreMetadata(storeType: "XML"))
  /// ```
  public init(nodes: NodeTable, metadata: StoreMetadata) {
    self.nodes = nodes
    self.metadata = metadata
  }
}

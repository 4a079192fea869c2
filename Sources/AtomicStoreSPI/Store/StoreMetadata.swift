public import FoundationEssentials

/// What a store says about itself beside its objects.
///
/// Type and UUID are the kit's: a format writes and reads them, and cannot get them wrong, since the kit compares.
/// Everything in ``entries`` is the user's (or Apple's, in a file that came from there) and is kept.
public struct StoreMetadata: Sendable, Equatable {
  /// The registered name of the store's type.
  public var storeType: String
  /// What identifies the store. It does not change in the store's life, and no two open stores have the same.
  public var uuid: UUID
  /// Further entries, without type and UUID.
  public var entries: PropertyListDictionary
  /// The greatest integer reference ever handed out, so that none is handed out twice; 0 for none.
  public var lastReference: Int64
  /// The model that the file carries, when it does; nil where it must come from elsewhere.
  public var model: ModelDescription?

  /// Creates metadata; by default of a new store: a new UUID, no entries, no reference handed out.
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

  /// The keys that are the kit's own; entries may not have them.
  public static let reservedKeys = ["NSStoreType", "NSStoreUUID"]
}

/// Options by name, as a caller gave them.
public typealias StoreOptions = [String: String]

/// What a format's `init` is told.
public struct StoreConfiguration: Sendable {
  /// The file's or folder's path, symbolic links resolved.
  public var path: String
  /// The configuration of the model that the store is opened with; nil for all entities.
  public var configurationName: String?
  /// The options that the caller gave. The kit checks them against ``StoreTraits/readOptions`` and
  /// ``StoreTraits/writeOptions``: others never get here.
  public var options: StoreOptions
  /// Whether the store will never be saved.
  public var isReadOnly: Bool
  /// The kit holds a load to those of bytes, objects and values; a format that reads nested things holds itself to the
  /// depth.
  public var limits: StoreLimits

  /// Creates a configuration. The coordinator does so; do it yourself to test a format.
  public init(
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

/// What a save writes: all nodes and the metadata, as they will be.
public struct StoreSnapshot: Sendable {
  /// In canonical order: see ``NodeTable/canonical()``.
  public var nodes: NodeTable
  /// The metadata to write, the model included.
  public var metadata: StoreMetadata

  /// Creates a snapshot of nodes that are in canonical order.
  public init(nodes: NodeTable, metadata: StoreMetadata) {
    self.nodes = nodes
    self.metadata = metadata
  }
}

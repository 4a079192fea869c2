/// What a format can store, and what it cannot. The format refuses what does not fit, in ``AtomicStore/save(_:to:)``:
/// what it has staged is discarded then, and nothing is written. The converter predicts losses before that, the
/// documentation lists them, and the conformance checks verify both.
///
/// ```swift
/// let traits = StoreTraits(summary: "Lines of cells", fileExtensions: ["tabbed"], references: .integersOnly)
/// ```
public struct StoreTraits: Sendable {
  /// Which reference objects survive a save.
  public enum References: String, Sendable {
    /// Integers and strings.
    case all
    /// Integers; strings are refused.
    case integersOnly
    /// The format does not store references: they are derived from key values or rows.
    case derived
  }

  /// When ``AtomicStore/save(_:to:)`` can be asked to write.
  public enum Writes: String, Sendable, CaseIterable {
    /// Never: stores are read.
    case none
    /// A store that is not there yet, or that a conversion replaces as a whole; not one that was opened.
    case newOnly
    /// Always.
    case all
  }

  /// Whether Core Data opens stores of a format, and so trusts the version hashes in their metadata to describe the
  /// layout of the data.
  public enum TrustedHashes: String, Sendable, CaseIterable {
    /// It does not. Version hashes are metadata entries like others.
    case no
    /// It does. A store whose model is inferred is written without hashes: the model is a guess, and the layout that
    /// follows from it is not the one that the hashes stand for.
    case ofKnownModels
    /// As ``ofKnownModels``, but a model that the format itself inferred describes the layout of the store completely.
    /// A store that is written again with this model keeps its hashes.
    case ofInferredLayouts
  }

  /// One line for people.
  public var summary: String
  /// File name extensions, without the leading dot, the preferred one first.
  public var fileExtensions: [String]
  /// Whether a store is one file or a directory of files. If a format supports both, each store specifies its layout:
  /// ``AtomicStore/layout``.
  public var layout: StoreLayout
  /// When stores of the format can be written. Defaults to always.
  public var writes: Writes
  /// Whether ``AtomicStore/save(_:to:)`` is implemented: ``writes`` is not `none`.
  public var canWrite: Bool {
    get { writes != .none }
    set { writes = newValue ? .all : .none }
  }
  /// Which reference objects survive a save. Defaults to all.
  public var references: References
  /// Whether the order of ordered relationships survives a save.
  public var keepsOrder: Bool
  /// Whether null is distinguished from an empty string or empty data.
  public var keepsNilApartFromEmpty: Bool
  /// Whether not-a-number, infinities and -0.0 come back to the bit.
  public var keepsSpecialFloats: Bool
  /// Whether decimals come back digit for digit, not only as a double or a 64-bit integer holds them.
  public var keepsDecimals: Bool
  /// Whether all metadata entries survive a save.
  public var keepsMetadata: Bool
  /// Whether the UUID of a store survives a save. Defaults to true: a format may keep it without metadata entries.
  public var keepsIdentity: Bool
  /// Whether stores with equal objects and metadata are equal bytes, whatever was saved before. Defaults to true; false
  /// for a format that writes the time, random numbers, as encryption does, or the history of its changes.
  public var writesEqualBytes: Bool
  /// Whether Core Data trusts the version hashes in the metadata. Defaults to no.
  public var trustedHashes: TrustedHashes
  /// Whether the file specifies its entities and types, so that no model is needed.
  public var isSelfDescribing: Bool
  /// The maximum number of entities with objects in one store; nil for no limit.
  public var maximumEntities: Int?
  /// Whether stores exist in the memory of a process only: the coordinator keeps their objects and shares them by name,
  /// and calls neither ``AtomicStore/load(_:into:)`` nor ``AtomicStore/save(_:to:)``. Defaults to false. See
  /// `InMemoryStore`.
  public var isInProcess: Bool
  /// Whether ``AtomicStore/load(_:into:)`` reads only the properties that ``NodeTableBuilder/model`` has, and skips
  /// others for which ``NodeTableBuilder/leavesOut(property:entity:)`` is true. Defaults to false. Worth it where
  /// they can be skipped without being read.
  public var leavesOutProperties: Bool
  /// Attribute types (names as in model files) that the format cannot store.
  public var unsupportedTypes: [String]
  /// Returns what is read back of a value whose attribute's type is one of ``unsupportedTypes``: the value itself, the
  /// same one in another encoding, or nil if it is lost. Nil, the default, if all are. A save need only accept values
  /// that are read back as they are: a conversion passes what is kept of the others.
  public var keptValue: (@Sendable (StoredValue, AttributeDescription) -> StoredValue?)?
  /// The options for reading. Another option is refused if a store is only read.
  public var readOptions: [StoreOption]
  /// The options for writing. Another option is refused if a store is only written; an option in both lists is valid
  /// for both.
  public var writeOptions: [StoreOption]

  /// Creates traits. By default, the format is one file and preserves everything.
  public init(
    summary: String, fileExtensions: [String], layout: StoreLayout = .file, canWrite: Bool = true,
    writes: Writes? = nil, references: References = .all, keepsOrder: Bool = true, keepsNilApartFromEmpty: Bool = true,
    keepsSpecialFloats: Bool = true, keepsDecimals: Bool = true, keepsMetadata: Bool = true,
    keepsIdentity: Bool = true, writesEqualBytes: Bool = true, trustedHashes: TrustedHashes = .no,
    isSelfDescribing: Bool = true,
    maximumEntities: Int? = nil, unsupportedTypes: [String] = [],
    keptValue: (@Sendable (StoredValue, AttributeDescription) -> StoredValue?)? = nil, readOptions: [StoreOption] = [],
    writeOptions: [StoreOption] = [], isInProcess: Bool = false, leavesOutProperties: Bool = false
  ) {
    self.summary = summary
    self.fileExtensions = fileExtensions
    self.layout = layout
    self.writes = writes ?? (canWrite ? .all : .none)
    self.references = references
    self.keepsOrder = keepsOrder
    self.keepsNilApartFromEmpty = keepsNilApartFromEmpty
    self.keepsSpecialFloats = keepsSpecialFloats
    self.keepsDecimals = keepsDecimals
    self.keepsMetadata = keepsMetadata
    self.keepsIdentity = keepsIdentity
    self.writesEqualBytes = writesEqualBytes
    self.trustedHashes = trustedHashes
    self.isSelfDescribing = isSelfDescribing
    self.maximumEntities = maximumEntities
    self.unsupportedTypes = unsupportedTypes
    self.keptValue = keptValue
    self.readOptions = readOptions
    self.writeOptions = writeOptions
    self.isInProcess = isInProcess
    self.leavesOutProperties = leavesOutProperties
  }
}

/// An option of a format.
public struct StoreOption: Sendable, Hashable {
  /// The name that callers use, as in `--read-option name=value`.
  public var name: String
  /// A one-line description, shown by `atomicstore formats`.
  public var help: String
  /// The valid values; nil for any text.
  public var values: [String]?
  /// Creates an option; with `values` of nil, it accepts any text.
  public init(name: String, help: String, values: [String]? = nil) {
    self.name = name
    self.help = help
    self.values = values
  }
}

/// A format's answer to whether some content is of this format.
public enum Recognition: Sendable, Hashable {
  /// The content is this format's.
  case yes
  /// The content is not this format's.
  case no
  /// It may be, and only reading all of it would decide. The format is chosen if no other recognizes the content and
  /// the file name matches.
  case unsure
  /// A known kind that this format cannot open, such as an older version or another program's file. The text names it.
  case known(String)
}

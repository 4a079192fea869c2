/// What a format can carry, and what not. One declaration, four uses: the kit refuses what does not fit before a byte
/// is written, the converter forecasts losses, the documentation prints it, and the harness proves it.
public struct StoreTraits: Sendable {
  /// Which reference objects survive a save.
  public enum References: String, Sendable {
    /// Integers and strings.
    case all
    /// Integers; strings are refused.
    case integersOnly
    /// The format keeps no references: they come from key values or rows.
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

  /// One line for people.
  public var summary: String
  /// File name extensions without the point, the preferred one first.
  public var fileExtensions: [String]
  /// One file, or a folder of files. A format that has both says per store which: ``AtomicStore/layout``.
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
  /// Whether the sequence of ordered relationships survives a save.
  public var keepsOrder: Bool
  /// Whether null and an empty string, or empty data, come back as what they were.
  public var keepsNilApartFromEmpty: Bool
  /// Whether not-a-number, infinities and -0.0 come back to the bit.
  public var keepsSpecialFloats: Bool
  /// Whether decimals come back digit for digit, not only as a double or a 64-bit integer holds them.
  public var keepsDecimals: Bool
  /// Whether all metadata entries survive a save.
  public var keepsMetadata: Bool
  /// Whether the file tells its entities and types without a model.
  public var isSelfDescribing: Bool
  /// The most entities that one store holds objects of; nil for no bound.
  public var maximumEntities: Int?
  /// Attribute types (names as in model files) that the format cannot hold at all.
  public var unsupportedTypes: [String]
  /// What reading takes. An option that is not in this list is refused where a store is only read.
  public var readOptions: [StoreOption]
  /// What writing takes. An option that is not in this list is refused where a store is only written; one that is in
  /// both lists holds for both.
  public var writeOptions: [StoreOption]

  /// Creates traits. By default the format is one file and keeps everything.
  public init(
    summary: String, fileExtensions: [String], layout: StoreLayout = .file, canWrite: Bool = true,
    writes: Writes? = nil, references: References = .all, keepsOrder: Bool = true, keepsNilApartFromEmpty: Bool = true,
    keepsSpecialFloats: Bool = true, keepsDecimals: Bool = true, keepsMetadata: Bool = true,
    isSelfDescribing: Bool = true,
    maximumEntities: Int? = nil, unsupportedTypes: [String] = [], readOptions: [StoreOption] = [],
    writeOptions: [StoreOption] = []
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
    self.isSelfDescribing = isSelfDescribing
    self.maximumEntities = maximumEntities
    self.unsupportedTypes = unsupportedTypes
    self.readOptions = readOptions
    self.writeOptions = writeOptions
  }
}

/// An option that a format takes.
public struct StoreOption: Sendable, Hashable {
  /// The name that callers give, as in `--read-option name=value`.
  public var name: String
  /// One line for people, shown by `atomicstore formats`.
  public var help: String
  /// The values it takes; nil for any text.
  public var values: [String]?
  /// Creates an option; with `values` of nil it takes any text.
  public init(name: String, help: String, values: [String]? = nil) {
    self.name = name
    self.help = help
    self.values = values
  }
}

/// A format's answer to "is this yours?".
public enum Recognition: Sendable, Hashable {
  /// The content is this format's.
  case yes
  /// The content is not this format's.
  case no
  /// It may be, and only a full read would tell: taken if nobody is sure and the file name agrees.
  case unsure
  /// Known, and not a store this format can open: an older kind, another program's. The text says what it is.
  case known(String)
}

public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// A store in comma-separated values: a directory with a file for each entity, or one file for one entity.
///
/// - The directory, `X.csvstore/`, preserves everything: `metadata.plist` and an RFC 4180 file for each concrete
///   entity.
/// - The single file, `X.csv`, preserves one entity's objects with their references; it cannot store metadata.
/// - Third-party files can be read as well: options specify the entity and the key columns.
///
/// `FORMAT.md` describes all three.
public struct CSVStore: AtomicStore {
  public static let storeType = "CSV"

  public static let traits = StoreTraits(
    summary: "comma-separated values: a directory with a file for each entity, or a single file for one",
    fileExtensions: ["csvstore", "csv", "tsv"], layout: .folder, readOptions: CSVOption.reading,
    writeOptions: CSVOption.writing)

  public var traits: StoreTraits {
    var traits = Self.traits
    traits.layout = layout
    guard layout == .file else { return traits }
    traits.keepsMetadata = false
    traits.keepsIdentity = false
    traits.maximumEntities = 1
    if foreign != nil { traits.references = .derived }
    return traits
  }

  public private(set) var layout: StoreLayout
  let path: String
  let options: StoreOptions
  /// A store opened with a configuration has files only for the entities of that configuration.
  let configurationName: String?
  /// The maximum nesting depth of the metadata.
  let maximumDepth: Int
  /// The layout of the third-party file that was read: a save preserves it.
  var foreign: ForeignLayout?
  /// The metadata of a directory with the source that it was read from, until that is loaded.
  var readFolder: (source: StoreSource, folder: FolderMetadata)?
  /// From which size on files are read in pieces, and of which sizes these are.
  var streamSizes = StreamSizes()
  /// How the files that were read are written: a save preserves that, unless the options specify otherwise.
  var readStyle = SheetStyle()
  /// Whether the single file that was read does not specify its entity, as old ones do not: a save preserves that.
  var wasUnnamed = false
  /// The dialect of the files written by the kit that were read; nil if the files of a directory have several.
  var typedDialect: CSVDialect?
  /// The dialect for files written by the kit: as the option specifies, else as read, else commas, or tabs if the file
  /// name implies them.
  var ownDialect: CSVDialect {
    let byName: CSVDialect = path.lowercased().hasSuffix(".tsv") && layout == .file ? .tab : .comma
    let byDecimal: CSVDialect = style.hasDecimalComma && byName == .comma ? .semicolon : byName
    return CSVDialect(option: options[CSVOption.delimiter]) ?? typedDialect ?? byDecimal
  }
  /// How files of the kit are written.
  var style: SheetStyle {
    var style = SheetStyle(options, read: readStyle)
    // A single file has nothing else that could have the types.
    if layout == .file { style.hasPlainHeaders = false }
    return style
  }

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    path = configuration.path
    options = configuration.options
    maximumDepth = configuration.limits.depth
    configurationName = configuration.configurationName
    let name = path.lowercased()
    switch configuration.options["layout"] {
    case "file": layout = .file
    case "folder": layout = .folder
    default: layout = name.hasSuffix(".csv") || name.hasSuffix(".tsv") || options["entity"] != nil ? .file : .folder
    }
    if layout == .file, options[CSVOption.headers] == "plain" {
      throw PersistentStoreError(
        .invalidOption, "the option headers=plain is for directories: a single file has its types in the header")
    }
    if let key = options["key"], key.isEmpty {
      throw PersistentStoreError(.invalidOption, "the option 'key' does not contain a column")
    }
  }

  // MARK: Recognition

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    if probe.isFolder {
      let metadata = probe.prefix(ofMember: FolderMetadata.fileName)
      if contains(metadata, FolderMetadata.signature) { return .yes }
      return .no
    }
    var prefix = probe.prefix[...]
    if prefix.starts(with: [0xEF, 0xBB, 0xBF]) { prefix = prefix.dropFirst(3) }
    if prefix.starts(with: Header.identifier.utf8) { return .yes }
    // Any text could be a CSV file: the file name decides, unless the content is clearly something else.
    if prefix.starts(with: "<".utf8) || prefix.starts(with: "bplist".utf8) { return .no }
    // A NUL is valid only within quotes, as we write it ourselves.
    var isQuoted = false
    for byte in prefix {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if byte == 0, !isQuoted { return .no }
    }
    return .unsure
  }

  private static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    let wanted = Array(text.utf8)
    guard bytes.count >= wanted.count else { return false }
    return (0...bytes.count - wanted.count).contains { bytes[$0...].starts(with: wanted) }
  }

  // MARK: Metadata and model

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    layout = source.isFolder ? .folder : .file
    if source.isFolder {
      let folder = try FolderMetadata.read(source, storeType: Self.storeType, maximumDepth: maximumDepth)
      readFolder = (source, folder)
      return folder.metadata
    }
    let file = try CSVFile(source, member: nil, options: options)
    var metadata = StoreMetadata(storeType: Self.storeType, uuid: Self.identifier(ofPath: path))
    if file.isTyped {
      // In files from before the header specified the entity, it is the destination of the relationships.
      let name = options["entity"] ?? file.entityName ?? file.destinationName ?? entityName
      typedEntity = name
      typedDialect = file.dialect
      metadata.model = try file.typedModel(entity: name)
    }
    return metadata
  }

  public mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    try CSVFile(source, member: nil, options: options).foreignModel(entity: entityName, options: options)
  }

  /// The entity in the header of the typed file that was read.
  private var typedEntity: String?

  /// The entity of a single file: from the option, its header, or the file's name.
  var entityName: String {
    if let name = options["entity"] ?? typedEntity { return name }
    let file = path.split(separator: "/").last.map(String.init) ?? "Row"
    guard let point = file.lastIndex(of: "."), point != file.startIndex else { return file }
    return String(file[..<point])
  }

  /// A single file cannot store an identity: it is derived from the path.
  static func identifier(ofPath path: String) -> UUID {
    let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    var bytes = Array(absolute.utf8)
    let high = Version1Hash.of(bytes.span)
    bytes.append(0)
    let low = Version1Hash.of(bytes.span)
    var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &value) { target in
      for place in 0..<8 {
        target[place] = UInt8(truncatingIfNeeded: high >> UInt64(place * 8))
        target[place + 8] = UInt8(truncatingIfNeeded: low >> UInt64(place * 8))
      }
      // Version 8, for custom UUIDs (RFC 9562).
      target[6] = target[6] & 0x0F | 0x80
      target[8] = target[8] & 0x3F | 0x80
    }
    return UUID(uuid: value)
  }

  // MARK: References

  /// For a third-party file with key columns, the reference is the key; for one without, the next row.
  public mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    guard let foreign, !foreign.keys.isEmpty else {
      metadata.lastReference = try nodes.nextIntegerReference(after: metadata.lastReference, entity: object.entity)
      return .integer(metadata.lastReference)
    }
    let entity = nodes.model.entity(at: object.entity)
    var parts: [String] = []
    for key in foreign.keys {
      guard let slot = entity.slot(named: key), let value = object.values[slot], !value.isNull else {
        throw PersistentStoreError(
          .invalidValue, "a new \(entity.name) needs a value for its key",
          at: StoreLocation(entity: entity.name, property: key))
      }
      parts.append(foreign.text(of: value))
    }
    return .string(ForeignLayout.key(parts))
  }

  public func selection(from snapshot: StoreSnapshot) throws(PersistentStoreError) -> StoreSelection? {
    guard layout == .file, foreign == nil else { return nil }
    var name = options["entity"]
    if name == nil {
      let full = snapshot.nodes.model.entities.filter { snapshot.nodes.count(of: $0.index) > 0 }
      // If only one entity has objects, no option is needed; otherwise one must be chosen.
      guard full.count <= 1 else {
        throw PersistentStoreError(
          .invalidOption,
          "a single CSV file can contain one entity, of \(full.map(\.name).joined(separator: ", ")); a directory "
            + "whose name ends with .csvstore contains all",
          remedy: .writeOption("entity=\(full[0].name)", effect: "writes that one"))
      }
      name = full.first?.name ?? snapshot.nodes.model.entities.first { !$0.isAbstract }?.name
    }
    guard let name else { return nil }
    var selection = try snapshot.restricted(toEntity: name)
    selection.keepsMetadata = false
    selection.snapshot.metadata.entries = PropertyListDictionary()
    selection.notes.append(
      .init(
        subject: "UUID \(snapshot.metadata.uuid.uuidString)", count: 1,
        text: "omitted, because a single file cannot store it"))
    let entries = snapshot.metadata.entries.count
    if entries > 0 {
      selection.notes.append(
        .init(subject: "metadata", count: entries, text: "omitted, because a single file cannot store it"))
    }
    return selection
  }
}

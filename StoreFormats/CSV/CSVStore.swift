public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// A store in comma-separated values: a folder with a file for each entity, or one file for one entity.
///
/// - The folder, `X.csvstore/`, keeps everything: `metadata.plist` beside one RFC 4180 file for each concrete entity.
/// - The single file, `X.csv`, keeps one entity's objects with their references; it has no place for metadata.
/// - A file that somebody else made is read too: its options say which entity it is and which columns are the key.
///
/// `FORMAT.md` describes all three.
public struct CSVStore: AtomicStore {
  public static let storeType = "CSV"

  public static let traits = StoreTraits(
    summary: "comma-separated values: a folder with a file for each entity, or a single file for one",
    fileExtensions: ["csvstore", "csv", "tsv"], layout: .folder, readOptions: CSVOption.reading,
    writeOptions: CSVOption.writing)

  public var traits: StoreTraits {
    var traits = Self.traits
    traits.layout = layout
    guard layout == .file else { return traits }
    traits.keepsMetadata = false
    traits.maximumEntities = 1
    if foreign != nil { traits.references = .derived }
    return traits
  }

  public private(set) var layout: StoreLayout
  let path: String
  let options: StoreOptions
  /// A store opened with a configuration has files for that configuration's entities only.
  let configurationName: String?
  /// Of the metadata.
  let maximumDepth: Int
  /// How a file that somebody else made is laid out, once it was read: a save keeps to it.
  var foreign: ForeignLayout?
  /// Whether the store that was read is defused for spreadsheets: a save keeps that, unless the option says otherwise.
  var wasDefused = false
  /// Whether the single file that was read does not name its entity, as those of old: a save keeps that.
  var wasUnnamed = false
  /// The dialect of files of our own, once they were read; nil where a folder's files have several.
  var typedDialect: CSVDialect?
  /// What files of our own are written in: what the option says, else what was read, else commas, or tabs where the
  /// name promises them.
  var ownDialect: CSVDialect {
    let byName: CSVDialect = path.lowercased().hasSuffix(".tsv") && layout == .file ? .tab : .comma
    return CSVDialect(option: options[CSVOption.delimiter]) ?? typedDialect ?? byName
  }
  var defusesFormulas: Bool { options[CSVOption.formulas].map { $0 == "defuse" } ?? wasDefused }

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
    if let key = options["key"], key.isEmpty {
      throw PersistentStoreError(.invalidOption, "the option 'key' names no column")
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
    // Any text could be somebody's CSV: only the file's name can tell, unless it is plainly something else.
    if prefix.starts(with: "<".utf8) || prefix.starts(with: "bplist".utf8) { return .no }
    // A NUL is text within quotes only, as we write it ourselves.
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
      return try FolderMetadata.read(source, storeType: Self.storeType, maximumDepth: maximumDepth).metadata
    }
    let file = try CSVFile(source, member: nil, options: options)
    var metadata = StoreMetadata(storeType: Self.storeType, uuid: Self.identifier(ofPath: path))
    if file.isTyped {
      // Files from before the header named the entity have it where their relationships lead.
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

  /// The entity that a typed file's header names, once it was read.
  private var typedEntity: String?

  /// The entity of a single file: the option, what its header says, or the file's name.
  var entityName: String {
    if let name = options["entity"] ?? typedEntity { return name }
    let file = path.split(separator: "/").last.map(String.init) ?? "Row"
    guard let point = file.lastIndex(of: "."), point != file.startIndex else { return file }
    return String(file[..<point])
  }

  /// A single file has no place for an identity: it is known by where it lies.
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
      // Version 8, of its maker's own making (RFC 9562).
      target[6] = target[6] & 0x0F | 0x80
      target[8] = target[8] & 0x3F | 0x80
    }
    return UUID(uuid: value)
  }

  // MARK: References

  /// For a foreign file with key columns the reference is the key; for one without, the next row.
  public mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    guard let foreign, !foreign.keys.isEmpty else {
      metadata.lastReference += metadata.lastReference < .max ? 1 : 0
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
      // One entity in use needs no option; several must be chosen from.
      guard full.count <= 1 else {
        throw PersistentStoreError(
          .invalidOption,
          "a single CSV file holds one entity: the option 'entity' chooses from "
            + full.map(\.name).joined(separator: ", "))
      }
      name = full.first?.name ?? snapshot.nodes.model.entities.first { !$0.isAbstract }?.name
    }
    guard let name else { return nil }
    var selection = try snapshot.restricted(toEntity: name)
    selection.keepsMetadata = false
    selection.snapshot.metadata.entries = PropertyListDictionary()
    let entries = snapshot.metadata.entries.count
    if entries > 0 {
      selection.notes.append(
        .init(subject: "metadata", count: entries, text: "left out, a single file has no place for it"))
    }
    return selection
  }
}

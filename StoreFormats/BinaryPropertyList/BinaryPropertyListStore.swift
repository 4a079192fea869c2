public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// A store in one binary property list: a dictionary for each entity, which contains one packed column for each
/// property.
///
/// Any reader of property lists can open it; `FORMAT.md` describes how to decode the columns.
public struct BinaryPropertyListStore: AtomicStore {
  public static let storeType = "BinaryPropertyList"
  public static let traits = StoreTraits(
    summary: "a binary property list with packed columns, the fastest to load",
    fileExtensions: ["plist", "bplist", "binarystore"], leavesOutProperties: true)

  /// The first string of the file, directly after the header, so that the format can be recognized from the first
  /// bytes.
  static let signature = "AtomicStore BinaryPropertyList"
  /// What is written: version 2 where references are strings, 3 where a column has values of few rows.
  static let versions = (integers: 1, strings: 2, sparse: 3)

  private let depth: Int
  /// How columns are taken apart when they are saved; another size only for tests.
  var pieces = RowPieces.standard
  /// The sizes of files and of columns from which on columns can be read when they are filled; others only for tests.
  /// Of smaller ones, each column takes longer to read by itself than memory for it takes to clear.
  var sizes = (file: 1 << 20, column: 1 << 17)

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { depth = configuration.limits.depth }

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    guard !probe.isFolder, probe.begins(with: "bplist00") else { return .no }
    // The string's marker and length are in between: three bytes, or four for a length over 255.
    let head = probe.prefix.dropFirst(8).prefix(64)
    let wanted = Array(signature.utf8)
    for start in head.indices.prefix(5) where head[start...].starts(with: wanted) { return .yes }
    return .no
  }

  // MARK: Metadata

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    // The columns, nearly all of a large file, are between the names of the metadata and their locations. If another
    // writer used another order, or a part exceeds what is read, or anything is invalid, the whole file is read.
    if let found = try metadataAlone(in: source) { return found }
    return try metadata(try source.bytes(), gap: 0..<0, source)
  }

  /// How much is read at the beginning of the file, where metadata and model are, and before the object table at its
  /// end, where the root dictionary is.
  private static let window = 256 << 10

  /// - Throws: The errors of reading. The result may not be decodable.
  private func metadataAlone(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata? {
    let end = try source.bytes(head: 0, tail: BinaryPropertyListReader.trailerSize)
    let table = end.withUnsafeBytes { BinaryPropertyListReader.tableSize($0) }
    let tail = min(table, end.count) + Self.window
    let bytes = try source.bytes(head: Self.window, tail: tail)
    let start = min(Self.window, bytes.count)
    return try? metadata(bytes, gap: start..<max(bytes.count - tail, start), source)
  }

  private func metadata(
    _ bytes: StoreBytes, gap: Range<Int>, _ source: StoreSource
  ) throws(PersistentStoreError) -> StoreMetadata {
    try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      do throws(PersistentStoreError) {
        var reader = try BinaryPropertyListReader(raw, gap: gap)
        reader.maximumDepth = depth
        return try Self.metadata(reader)
      } catch {
        throw error.located(StoreLocation(file: source.name))
      }
    }
  }

  private static func metadata(_ reader: BinaryPropertyListReader) throws(PersistentStoreError) -> StoreMetadata {
    let top = PropertyListNode(reader, reader.top, "top")
    guard try top.require("format").string() == signature else { throw top.malformed("is of another format") }
    let version = try top.require("version").integer()
    guard version >= versions.integers, version <= versions.sparse else {
      throw PersistentStoreError(
        .unsupportedVersion,
        "the store is of version \(version), but this version of the kit reads versions "
          + "\(versions.integers) to \(versions.sparse)")
    }
    try top.allow(["format", "version", "UUID", "lastReference", "metadata", "model", "entities"])
    guard let uuid = UUID(uuidString: try top.require("UUID").string()) else {
      throw top.malformed("does not have a UUID")
    }
    guard case .dictionary(let entries) = try top.require("metadata").whole() else {
      throw top.malformed("does not have metadata")
    }
    guard let last = Int64(exactly: try top.require("lastReference").integer()) else {
      throw top.malformed("has a last reference that does not fit in 64 bits")
    }
    return StoreMetadata(
      storeType: storeType, uuid: uuid, entries: entries, lastReference: last, model: try model(top.require("model")))
  }

  private static func model(_ node: PropertyListNode) throws(PersistentStoreError) -> ModelDescription {
    let list = try node.whole()
    do throws(PersistentStoreError) { return try ModelDescription(propertyList: list) } catch {
      throw error.located(StoreLocation(offset: try node.reader.offset(of: node.object)))
    }
  }
}

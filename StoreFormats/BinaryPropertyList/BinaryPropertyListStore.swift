public import AtomicStoreSPI
import StoreCodecs
import FoundationEssentials

/// A store in one binary property list: a dictionary for each entity, in it one packed column for each property.
///
/// Any reader of property lists can open it; `FORMAT.md` says how to decode the columns.
public struct BinaryPropertyListStore: AtomicStore {
  public static let storeType = "BinaryPropertyList"
  public static let traits = StoreTraits(
    summary: "a binary property list with packed columns, the fastest to load",
    fileExtensions: ["plist", "bplist", "binarystore"])

  /// The first string of the file, right behind the header, so that the first bytes tell the format.
  static let signature = "AtomicStore BinaryPropertyList"
  static let version = 1

  /// The file as ``metadata(in:)`` read it, for the ``load(_:into:)`` that mostly follows: reading it twice would cost as
  /// much as decoding it.
  private var read: (source: ObjectIdentifier, bytes: StoreBytes)?

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

  /// The bytes of a source; those that were read for its metadata are handed out once.
  mutating func takeBytes(of source: StoreSource) throws(PersistentStoreError) -> StoreBytes {
    defer { read = nil }
    if let read, read.source == ObjectIdentifier(source) { return read.bytes }
    return try source.bytes()
  }

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    if probe.begins(with: "CoreData\0\0\0\u{1}") {
      return .known("an Apple binary store (NSBinaryStoreType), which this version does not read; save it as XML with Core Data")
    }
    if probe.begins(with: "SQLite format 3\0") {
      return .known("an SQLite database, as Core Data's SQLite stores are, which this version does not read")
    }
    guard !probe.isFolder, probe.begins(with: "bplist00") else { return .no }
    // The string's marker and length stand between: three bytes, or four for a length over 255.
    let head = probe.prefix.dropFirst(8).prefix(64)
    let wanted = Array(signature.utf8)
    for start in head.indices.prefix(5) where head[start...].starts(with: wanted) { return .yes }
    return .no
  }

  // MARK: Metadata

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    let bytes = try source.bytes()
    read = (ObjectIdentifier(source), bytes)
    return try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      do throws(PersistentStoreError) {
        return try Self.metadata(try BinaryPropertyListReader(raw))
      } catch {
        throw error.located(StoreLocation(file: source.name))
      }
    }
  }

  private static func metadata(_ reader: BinaryPropertyListReader) throws(PersistentStoreError) -> StoreMetadata {
    let top = PropertyListNode(reader, reader.top, "top")
    guard try top.require("format").string() == signature else { throw top.malformed("names another format") }
    let version = try top.require("version").integer()
    guard version == Self.version else {
      throw PersistentStoreError(
        .unsupportedVersion, "the store is of version \(version), this kit reads version \(Self.version)")
    }
    guard let uuid = UUID(uuidString: try top.require("UUID").string()) else { throw top.malformed("has no UUID") }
    guard case .dictionary(let entries) = try top.require("metadata").whole() else {
      throw top.malformed("has no metadata")
    }
    guard let last = Int64(exactly: try top.require("lastReference").integer()) else {
      throw top.malformed("has a last reference beyond 64 bits")
    }
    return StoreMetadata(
      storeType: storeType, uuid: uuid, entries: entries, lastReference: last,
      model: try ModelDescription(propertyList: try top.require("model").whole()))
  }
}

/// An object of a property list with the path to it, for messages.
struct PropertyListNode {
  let reader: BinaryPropertyListReader
  let object: BinaryPropertyListReader.Object
  let path: String

  init(_ reader: BinaryPropertyListReader, _ object: BinaryPropertyListReader.Object, _ path: String) {
    self.reader = reader
    self.object = object
    self.path = path
  }

  func malformed(_ what: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, "\(path) \(what)", at: StoreLocation(offset: try? reader.offset(of: object)))
  }

  func optional(_ key: String) throws(PersistentStoreError) -> PropertyListNode? {
    guard case .dictionary = try reader.kind(of: object) else { throw malformed("is no dictionary") }
    return try reader.value(for: key, in: object).map { PropertyListNode(reader, $0, "\(path).\(key)") }
  }
  func require(_ key: String) throws(PersistentStoreError) -> PropertyListNode {
    guard let node = try optional(key) else { throw malformed("has no '\(key)'") }
    return node
  }
  func string() throws(PersistentStoreError) -> String { try reader.string(of: object) }
  func integer() throws(PersistentStoreError) -> Int128 { try reader.integer(of: object) }
  func data() throws(PersistentStoreError) -> UnsafeRawBufferPointer { try reader.dataBytes(of: object) }
  func bytes() throws(PersistentStoreError) -> UnsafeBufferPointer<UInt8> { try data().assumingMemoryBound(to: UInt8.self) }
  func whole() throws(PersistentStoreError) -> PropertyListValue { try reader.materialize(object) }

  /// The numbers of a data object, little-endian.
  func numbers<Number: FixedWidthInteger & BitwiseCopyable>(
    _ type: Number.Type
  ) throws(PersistentStoreError) -> [Number] {
    let bytes = try data()
    let size = MemoryLayout<Number>.size
    guard bytes.count % size == 0 else { throw malformed("is \(bytes.count) bytes, not a multiple of \(size)") }
    return [Number](unsafeUninitializedCapacity: bytes.count / size) { buffer, count in
      UnsafeMutableRawBufferPointer(buffer).copyMemory(from: bytes)
      count = bytes.count / size
    }
  }

  func elements() throws(PersistentStoreError) -> [PropertyListNode] {
    guard case .array = try reader.kind(of: object) else { throw malformed("is no array") }
    var result: [PropertyListNode] = []
    for index in 0..<(try reader.count(of: object)) {
      result.append(PropertyListNode(reader, try reader.element(index, of: object), "\(path)[\(index)]"))
    }
    return result
  }
}

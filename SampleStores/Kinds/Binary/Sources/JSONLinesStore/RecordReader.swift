import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// What a value begins with.
enum Tag: UInt8 {
  case null, text, integer, no, yes, double
  /// Any other value, as the kit's own text for it.
  case typed
  case reference, references
}

/// Reads records, and nothing beyond the end of the file: every length is held against what is left.
struct RecordReader {
  private let bytes: StoreBytes
  private let file: String
  private let depth: Int
  private var offset = 0

  /// - Parameter depth: How deep metadata and models may be nested.
  init(_ source: StoreSource, depth: Int) throws(PersistentStoreError) {
    self.depth = depth
    bytes = try source.bytes()
    file = source.name
    let signature = JSONLinesStore.signature
    guard bytes.count >= signature.count + 1 + 8, signature.indices.allSatisfy({ bytes.span[$0] == signature[$0] })
    else {
      throw failure("the file does not begin as such a store does")
    }
    offset = signature.count
    let version = try byte()
    guard version == JSONLinesStore.version else {
      throw PersistentStoreError(
        .unsupportedVersion, "it is of version \(version), and \(JSONLinesStore.version) is read here", at: place)
    }
  }

  var place: StoreLocation { StoreLocation(file: file, offset: offset) }
  func failure(_ message: String) -> PersistentStoreError { PersistentStoreError(.malformed, message, at: place) }

  /// Where the digest begins.
  private var end: Int { bytes.count - 8 }
  var isAtDigest: Bool { offset == end }

  func checkDigest() throws(PersistentStoreError) {
    let digest = bytes.withUnsafeBytes { RecordDigest.of($0.prefix(end)) }
    let known = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: end, as: UInt64.self) }
    guard digest == UInt64(littleEndian: known) else {
      throw failure("the file is not as it was written: its digest differs")
    }
  }

  // MARK: Numbers and texts

  private mutating func take(_ count: Int) throws(PersistentStoreError) -> Int {
    guard count >= 0, count <= end - offset else { throw failure("the file ends before what it reports") }
    defer { offset += count }
    return offset
  }

  private mutating func byte() throws(PersistentStoreError) -> UInt8 {
    let place = try take(1)
    return bytes.span[place]
  }

  private mutating func word() throws(PersistentStoreError) -> UInt64 {
    let start = try take(8)
    return UInt64(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt64.self) })
  }

  /// A number of things that take so many bytes each: no more of them than the rest of the file has room for.
  mutating func count(of size: Int) throws(PersistentStoreError) -> Int {
    guard let count = Int(exactly: try word()), count <= (end - offset) / size else {
      throw failure("a number is too great")
    }
    return count
  }

  mutating func text() throws(PersistentStoreError) -> String {
    let count = try count(of: 1)
    let start = try take(count)
    let text = bytes.withUnsafeBytes {
      String(validating: UnsafeRawBufferPointer(rebasing: $0[start..<(start + count)]), as: UTF8.self)
    }
    guard let text else { throw failure("a text is not UTF-8") }
    return text
  }

  // MARK: Values

  mutating func tag() throws(PersistentStoreError) -> Tag {
    guard let tag = Tag(rawValue: try byte()) else { throw failure("a value of an unknown kind") }
    return tag
  }

  /// The value of an attribute; nil where the tag does not belong to one.
  mutating func value(_ tag: Tag) throws(PersistentStoreError) -> StoredValue? {
    switch tag {
    case .text: .string(try text())
    case .integer: .integer(Int64(bitPattern: try word()))
    case .no: .boolean(false)
    case .yes: .boolean(true)
    case .double: .double(Double(bitPattern: try word()))
    case .typed: StoredValue(typedText: try text())
    case .null, .reference, .references: nil
    }
  }

  mutating func reference() throws(PersistentStoreError) -> ReferenceObject {
    switch try tag() {
    case .integer: return .integer(Int64(bitPattern: try word()))
    case .text: return .string(try text())
    default: throw failure("a reference is a number or a text")
    }
  }

  // MARK: The description

  /// Decodes a property list within the depth limit; the description itself is the level above metadata and model.
  private func propertyList(_ range: Range<Int>) throws(PersistentStoreError) -> PropertyListValue {
    let result: Result<PropertyListValue, PersistentStoreError> = bytes.withUnsafeBytes { all in
      do throws(PersistentStoreError) {
        var reader = try BinaryPropertyListReader(UnsafeRawBufferPointer(rebasing: all[range]))
        reader.maximumDepth = min(depth + 1, PropertyList.maximumDepth)
        return .success(try reader.materialize(reader.top))
      } catch { return .failure(error) }
    }
    do throws(PersistentStoreError) {
      return try result.get()
    } catch {
      guard error.code != .limitExceeded else { throw error.located(place) }
      throw failure("the description is not a property list: \(error.message)")
    }
  }

  mutating func description() throws(PersistentStoreError) -> (metadata: StoreMetadata, count: Int) {
    let length = try count(of: 1)
    let start = try take(length)
    let list = try propertyList(start..<(start + length))
    guard case .dictionary(let fields) = list, case .string(let uuidText)? = fields["uuid"],
      let uuid = UUID(uuidString: uuidText),
      case .integer(let last)? = fields["last"], let lastReference = Int64(exactly: last),
      case .integer(let objects)? = fields["objects"], let count = Int(exactly: objects),
      case .dictionary(let entries)? = fields["metadata"]
    else { throw failure("the description lacks something") }
    var metadata = StoreMetadata(storeType: JSONLinesStore.storeType, uuid: uuid, lastReference: lastReference)
    if let model = fields["model"] { metadata.model = try ModelDescription(propertyList: model) }
    metadata.entries = entries
    return (metadata, count)
  }
}

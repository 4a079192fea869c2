import AtomicStoreSPI
import Glibc
import StoreCodecs

/// The head of a document, read several times faster than by an XML parser, if it has the form in which Core Data and
/// this format write it.
///
/// As in a ``CanonicalScanner``, what is wrong is never reported: what is accepted has the same meaning for libxml2.
struct PlainHead {
  private let bytes: Bytes
  private var position: Int
  private var header = StoreHeader()
  private var seen: Set<InfoItem> = []
  private var hasMetadata = false

  /// Reads a head.
  ///
  /// - Parameters:
  ///   - bytes: The document up to the end of `<databaseInfo>`.
  ///   - start: The offset after `<database>`.
  ///   - file: The name of the file.
  ///   - maximumDepth: The maximum depth of the metadata.
  /// - Returns: nil for any other form.
  static func read(_ bytes: Bytes, from start: Int, file: String, maximumDepth: Int) -> StoreHeader? {
    var head = PlainHead(bytes: bytes, position: start)
    guard (try? head.read(file, maximumDepth)) == true else { return nil }
    return head.header
  }

  private init(bytes: Bytes, position: Int) {
    self.bytes = bytes
    self.position = position
  }

  private mutating func read(_ file: String, _ maximumDepth: Int) throws(PersistentStoreError) -> Bool {
    skipBlanks()
    guard take("<databaseInfo>") else { return false }
    skipBlanks()
    while !take("</databaseInfo>") {
      if take("<metadata>") {
        guard try readMetadata(maximumDepth) else { return false }
      } else {
        guard try readItem(file) else { return false }
      }
      skipBlanks()
    }
    guard position == bytes.count, seen.count == InfoItem.allCases.count else { return false }
    header.declaration = XMLDeclaration(UnsafeRawBufferPointer(bytes))
    header.endLine = bytes.reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    return true
  }

  private mutating func readMetadata(_ maximumDepth: Int) throws(PersistentStoreError) -> Bool {
    guard !hasMetadata else { return false }
    hasMetadata = true
    skipBlanks()
    if take("</metadata>") { return true }
    guard let list = PropertyList.decodePlainXML(Bytes(rebasing: bytes[position...]), maximumDepth: maximumDepth),
      case .dictionary(let entries) = list.value
    else { return false }
    position += list.length
    header.entries = try MetadataText.entries(of: entries)
    skipBlanks()
    return take("</metadata>")
  }

  private static let items: [(item: InfoItem, opening: StaticString, closing: StaticString)] = [
    (.version, "<version>", "</version>"), (.uuid, "<UUID>", "</UUID>"),
    (.nextObjectID, "<nextObjectID>", "</nextObjectID>"),
  ]

  /// Reads an item whose text needs no parser: digits, letters and hyphens.
  private mutating func readItem(_ file: String) throws(PersistentStoreError) -> Bool {
    guard let (item, _, closing) = Self.items.first(where: { take($0.opening) }), seen.insert(item).inserted else {
      return false
    }
    let start = position
    while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
      switch bytes[position] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
        position += 1
      default: return false
      }
    }
    try header.set(item, Bytes(rebasing: bytes[start..<position]), file: file)
    return take(closing)
  }

  private mutating func skipBlanks() {
    while position < bytes.count,
      bytes[position] == UInt8(ascii: " ") || bytes[position] == UInt8(ascii: "\n")
        || bytes[position] == UInt8(ascii: "\t")
    {
      position += 1
    }
  }

  private mutating func take(_ word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard bytes.count - position >= count else { return false }
    for index in 0..<count where bytes[position + index] != word.utf8Start[index] { return false }
    position += count
    return true
  }
}

/// A head that was read, with its bytes: a document that begins with the same bytes has the same head.
struct KnownHead {
  let bytes: [UInt8]
  /// The line that it ends on.
  let endLine: Int

  init(_ bytes: UnsafeRawBufferPointer, endLine: Int) {
    self.bytes = Array(bytes)
    self.endLine = endLine
  }

  /// Whether it and a document's first bytes are the same, as far as both go.
  func agrees(with start: UnsafeRawBufferPointer) -> Bool {
    bytes.withUnsafeBytes { mine in
      let common = min(mine.count, start.count)
      guard common > 0, let one = mine.baseAddress, let other = start.baseAddress else { return true }
      return memcmp(one, other, common) == 0
    }
  }
}

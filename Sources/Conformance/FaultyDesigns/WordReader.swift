import AtomicStoreSPI
import FoundationEssentials

/// Reads the words of a ``LedgerStore``.
struct WordReader {
  private let bytes: [UInt8]
  private let file: String
  private let depth: Int
  private var position = 0
  private(set) var line = 1

  init(_ source: StoreSource, depth: Int) throws(PersistentStoreError) {
    bytes = try source.bytes().withUnsafeBytes { Array($0) }
    file = source.name
    self.depth = depth
  }

  var place: StoreLocation { StoreLocation(file: file, line: line) }
  func failure(_ message: String) -> PersistentStoreError { PersistentStoreError(.malformed, message, at: place) }

  private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }
  /// Whether the line goes on.
  var hasMore: Bool { byte == UInt8(ascii: " ") }

  private mutating func expect(_ wanted: UInt8) throws(PersistentStoreError) {
    guard byte == wanted else { throw failure("'\(Character(Unicode.Scalar(wanted)))' is expected") }
    position += 1
  }
  private mutating func skipSpace() { if hasMore { position += 1 } }

  mutating func endLine() throws(PersistentStoreError) {
    try expect(UInt8(ascii: "\n"))
    line += 1
  }
  mutating func skipLine() {
    while let byte, byte != UInt8(ascii: "\n") { position += 1 }
    if byte != nil {
      position += 1
      line += 1
    }
  }

  mutating func header() throws(PersistentStoreError) -> StoreMetadata {
    guard try word() == "LEDGER" else { throw failure("this is not a ledger") }
    let version = try word()
    guard version == "1" || Mistake.is(.ledgerVersionIgnored) else {
      throw PersistentStoreError(.unsupportedVersion, "the version is '\(version)', and 1 is read here", at: place)
    }
    try endLine()
    guard try word() == "store", let uuid = UUID(uuidString: try word()), let last = Int64(try word()) else {
      throw failure("the description of the store is incomplete")
    }
    var metadata = StoreMetadata(storeType: LedgerStore.storeType, uuid: uuid, lastReference: last)
    metadata.model = try ModelDescription(propertyList: try list())
    guard case .dictionary(let entries) = try list() else { throw failure("the metadata is not a dictionary") }
    metadata.entries = Mistake.read(metadata: entries)
    try endLine()
    return metadata
  }

  /// What comes before the last word of the file has the digest that this word is.
  func checkDigest() throws(PersistentStoreError) {
    guard bytes.last == UInt8(ascii: "\n"), let end = bytes.dropLast().lastIndex(of: UInt8(ascii: " ")),
      String(decoding: bytes[(end + 1)..<(bytes.count - 1)], as: UTF8.self)
        == String(Digest.of(bytes[...end]), radix: 16)
    else { throw failure("the file is not as it was written: its digest differs") }
  }

  /// What follows, up to the digest.
  func rest() throws(PersistentStoreError) -> String {
    guard let end = bytes.dropLast().lastIndex(of: UInt8(ascii: " ")), end >= position,
      let text = String(validating: bytes[position...end], as: UTF8.self)
    else { throw failure("the file ends before its digest") }
    return text
  }

  mutating func finish() throws(PersistentStoreError) {
    _ = try word()
    try endLine()
    guard position == bytes.count else { throw failure("the file goes on after its end") }
  }

  /// Up to the next space, bracket or line end.
  mutating func word() throws(PersistentStoreError) -> String {
    skipSpace()
    let start = position
    while let byte, byte > UInt8(ascii: " "), byte != UInt8(ascii: ")") { position += 1 }
    guard position > start, let text = String(validating: bytes[start..<position], as: UTF8.self) else {
      throw failure("a word is expected")
    }
    return text
  }

  mutating func text() throws(PersistentStoreError) -> String {
    skipSpace()
    try expect(UInt8(ascii: "\""))
    var scalars = String.UnicodeScalarView()
    while let byte, byte != UInt8(ascii: "\"") {
      guard byte >= UInt8(ascii: " "), byte <= UInt8(ascii: "~") else { throw failure("a byte that no text has") }
      position += 1
      guard byte == UInt8(ascii: "\\") else {
        scalars.append(Unicode.Scalar(byte))
        continue
      }
      guard let escaped = self.byte else { break }
      position += 1
      guard escaped == UInt8(ascii: "{") else {
        scalars.append(Unicode.Scalar(escaped))
        continue
      }
      var value: UInt32 = 0
      while let digit = self.byte, digit != UInt8(ascii: "}") {
        guard let number = Character(Unicode.Scalar(digit)).hexDigitValue, value < 0x1000000 else {
          throw failure("a character is given by a number of hexadecimal digits")
        }
        value = value << 4 | UInt32(number)
        position += 1
      }
      try expect(UInt8(ascii: "}"))
      guard let scalar = Unicode.Scalar(value) else { throw failure("there is no such character") }
      scalars.append(scalar)
    }
    try expect(UInt8(ascii: "\""))
    return String(scalars)
  }

  mutating func reference() throws(PersistentStoreError) -> ReferenceObject {
    skipSpace()
    if byte == UInt8(ascii: "@") {
      position += 1
      return .string(try text())
    }
    try expect(UInt8(ascii: "#"))
    guard let number = Int64(try word()) else { throw failure("a reference is a number or a text") }
    return .integer(number)
  }

  mutating func references() throws(PersistentStoreError) -> [ReferenceObject] {
    skipSpace()
    try expect(UInt8(ascii: "("))
    var list: [ReferenceObject] = []
    while byte != UInt8(ascii: ")") { list.append(try reference()) }
    position += 1
    return list
  }

  // MARK: Values

  private func bits(_ word: Substring) throws(PersistentStoreError) -> UInt64 {
    guard let bits = UInt64(word, radix: 16) else { throw failure("'\(word)' is not a number of hexadecimal digits") }
    return bits
  }

  mutating func value() throws(PersistentStoreError) -> StoredValue {
    skipSpace()
    guard let kind = byte else { throw failure("a value is expected") }
    if kind == UInt8(ascii: "s") || kind == UInt8(ascii: "l") {
      position += 1
      let text = try text()
      return kind == UInt8(ascii: "s") ? .string(text) : .uri(text)
    }
    let word = try word()
    let rest = word.dropFirst()
    switch kind {
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "b"): return .boolean(rest == "1")
    case UInt8(ascii: "i"): if let number = Int64(rest) { return .integer(number) }
    case UInt8(ascii: "f"): return .float(Float(bitPattern: UInt32(truncatingIfNeeded: try bits(rest))))
    case UInt8(ascii: "r"): return .double(Double(bitPattern: try bits(rest)))
    case UInt8(ascii: "m"): if let number = DecimalNumber(String(rest)) { return .decimal(number) }
    case UInt8(ascii: "t"): return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try bits(rest))))
    case UInt8(ascii: "g"): if let uuid = UUID(uuidString: String(rest)) { return .uuid(uuid) }
    case UInt8(ascii: "x"):
      var data = Data()
      var high: UInt8?
      for digit in rest.utf8 {
        guard let number = Character(Unicode.Scalar(digit)).hexDigitValue else { throw failure("data is hexadecimal") }
        if let first = high {
          data.append(first << 4 | UInt8(number))
          high = nil
        } else {
          high = UInt8(number)
        }
      }
      if high == nil { return .data(data) }
    default: break
    }
    throw failure("'\(word.prefix(40))' is not a value")
  }

  mutating func list(level: Int = 0) throws(PersistentStoreError) -> PropertyListValue {
    guard level <= depth || Mistake.is(.ledgerNoDepthLimit) else {
      throw PersistentStoreError(.limitExceeded, "more than \(depth) lists in each other", at: place)
    }
    skipSpace()
    switch byte {
    case UInt8(ascii: "["):
      position += 1
      var list: [PropertyListValue] = []
      skipSpace()
      while byte != UInt8(ascii: "]") {
        list.append(try self.list(level: level + 1))
        skipSpace()
      }
      position += 1
      return .array(list)
    case UInt8(ascii: "{"):
      position += 1
      var dictionary = PropertyListDictionary()
      skipSpace()
      while byte != UInt8(ascii: "}") {
        let key = try text()
        guard dictionary[key] == nil else { throw failure("the key '\(key)' is given twice") }
        dictionary[key] = try list(level: level + 1)
        skipSpace()
      }
      position += 1
      return .dictionary(dictionary)
    case UInt8(ascii: "u"):
      let word = try word()
      guard let number = UInt64(word.dropFirst()) else { throw failure("'\(word)' is not a number") }
      return .uid(number)
    case UInt8(ascii: "i"):
      let word = try word()
      guard let number = Int128(word.dropFirst()) else { throw failure("'\(word)' is not a number") }
      return .integer(number)
    default: break
    }
    switch try value() {
    case .string(let text): return .string(text)
    case .double(let number): return .real(number)
    case .boolean(let flag): return .boolean(flag)
    case .date(let date): return .date(date)
    case .data(let data): return .data(data)
    default: throw failure("a value that no property list has")
    }
  }
}

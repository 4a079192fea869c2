import AtomicStoreSPI
import StoreJSON

/// Reads JSON (RFC 8259) value by value.
struct JSONScanner {
  /// A value that is not an object, or is in a form of ``ObjectForms``.
  struct Field {
    var kind = ImportField.Kind.missing
    /// The bytes: of a string, those between the quotes.
    var start: Int
    var end: Int
    var hasEscapes = false
  }
  /// Where something is.
  struct Place {
    let line: Int
    let column: Int
    var location: StoreLocation { StoreLocation(line: line, column: column) }
  }
  let bytes: UnsafeBufferPointer<UInt8>
  private(set) var position = 0
  private(set) var line = 1
  private var lineStart = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  var peek: UInt8? { position < bytes.count ? bytes[position] : nil }
  /// Counted from 1.
  var column: Int { position - lineStart + 1 }
  var place: Place { Place(line: line, column: column) }

  mutating func restart(at record: JSONRecords.Record) {
    position = record.start
    line = record.line
    lineStart = record.start - record.column + 1
  }

  mutating func skipMark() { if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 } }

  mutating func skipLine() {
    while let byte = peek, byte != UInt8(ascii: "\n") { position += 1 }
    guard peek != nil else { return }
    position += 1
    line += 1
    lineStart = position
  }

  mutating func skipSpace() {
    while let byte = peek {
      switch byte {
      case UInt8(ascii: "\n"):
        line += 1
        lineStart = position + 1
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
      default: return
      }
      position += 1
    }
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    position += 1
    return true
  }

  func failure(_ message: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: StoreLocation(line: line, column: column, offset: position))
  }

  // MARK: Values

  /// The name of a member.
  mutating func readName() throws(PersistentStoreError) -> String {
    guard peek == UInt8(ascii: "\"") else { throw failure("a member's name is missing") }
    return text(of: try readString())
  }

  /// Whether the bytes of a name that was read before follow in quotes.
  func isAtName(_ range: Range<Int>) -> Bool {
    let end = position + 1 + range.count
    guard end < bytes.count, bytes[position] == UInt8(ascii: "\""), bytes[end] == UInt8(ascii: "\"") else {
      return false
    }
    for offset in 0..<range.count where bytes[position + 1 + offset] != bytes[range.lowerBound + offset] {
      return false
    }
    return true
  }

  /// Skips a name for which ``isAtName(_:)`` is true.
  mutating func skipName(_ range: Range<Int>) { position += range.count + 2 }

  /// A value that is not an object.
  ///
  /// - Parameter allowsReferences: Whether an array may have objects in the form of ``ObjectForms``.
  mutating func readValue(allowsReferences: Bool = false) throws(PersistentStoreError) -> Field {
    guard let first = peek else { throw failure("a value is missing") }
    var field = Field(start: position, end: position)
    switch first {
    case UInt8(ascii: "\""): return try readString()
    case UInt8(ascii: "["):
      field.kind = .list
      try skipList(depth: 0, allowsReferences)
      field.end = position
    case UInt8(ascii: "t"):
      try takeWord("true")
      field.kind = .yes
    case UInt8(ascii: "f"):
      try takeWord("false")
      field.kind = .no
    case UInt8(ascii: "n"): try takeWord("null")
    case UInt8(ascii: "{"): throw failure("an object within an array is not a value that can be imported")
    default:
      field.kind = .number
      try takeNumber()
      field.end = position
    }
    return field
  }

  private mutating func takeWord(_ word: StaticString) throws(PersistentStoreError) {
    for index in 0..<word.utf8CodeUnitCount {
      guard peek == word.utf8Start[index] else { throw failure("this is not a JSON value") }
      position += 1
    }
  }

  private mutating func takeDigits() -> Bool {
    let start = position
    while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
    return position > start
  }

  private mutating func takeNumber() throws(PersistentStoreError) {
    _ = take(UInt8(ascii: "-"))
    let start = position
    guard takeDigits() else { throw failure("this is not a JSON value") }
    guard bytes[start] != UInt8(ascii: "0") || position == start + 1 else {
      throw failure("a JSON number does not begin with 0: a code with leading zeros is a text in quotes")
    }
    if take(UInt8(ascii: ".")), !takeDigits() { throw failure("a digit is missing") }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      guard takeDigits() else { throw failure("a digit is missing") }
    }
  }

  /// Skips an array; what is in it is read when it is used.
  private mutating func skipList(depth: Int, _ allowsReferences: Bool) throws(PersistentStoreError) {
    guard depth < 32 else { throw failure("arrays are nested more than 32 deep") }
    _ = take(UInt8(ascii: "["))
    skipSpace()
    if take(UInt8(ascii: "]")) { return }
    while true {
      skipSpace()
      if peek == UInt8(ascii: "[") {
        try skipList(depth: depth + 1, allowsReferences)
      } else if peek == UInt8(ascii: "{") {
        let start = self
        guard case .object? = readForm() else {
          throw start.failure("an object within an array is not a value that can be imported")
        }
        guard allowsReferences else { throw start.failure("references to objects are read only with a model") }
      } else {
        _ = try readValue()
      }
      skipSpace()
      if take(UInt8(ascii: "]")) { return }
      guard take(UInt8(ascii: ",")) else { throw failure("',' or ']' is missing") }
    }
  }

  private mutating func readString() throws(PersistentStoreError) -> Field {
    position += 1
    var field = Field(kind: .string, start: position, end: position)
    var union: UInt8 = 0
    // Locals, which stay in registers.
    let bytes = bytes
    var end = position
    while end < bytes.count {
      let byte = bytes[end]
      if byte == UInt8(ascii: "\"") { break }
      guard byte >= UInt8(ascii: " ") else {
        position = end
        throw failure("a string contains a control character")
      }
      end += 1
      union |= byte
      guard byte == UInt8(ascii: "\\") else { continue }
      field.hasEscapes = true
      var decoded: [UInt8] = []
      do throws(JSONEscape.Failure) { try JSONEscape.read(bytes, at: &end, into: &decoded) } catch {
        position = end
        throw failure(error.message)
      }
    }
    position = end
    field.end = end
    // An escape is a whole character.
    if !UTF8.isASCII(union),
      String(validating: UnsafeBufferPointer(rebasing: bytes[field.start..<end]), as: UTF8.self) == nil
    {
      throw failure("the text is not UTF-8")
    }
    guard take(UInt8(ascii: "\"")) else { throw failure("the string is never closed") }
    return field
  }

  /// Appends the text of a string that was read before and has escapes.
  func append(_ range: Range<Int>, to text: inout [UInt8]) {
    var index = range.lowerBound
    while index < range.upperBound {
      let byte = bytes[index]
      index += 1
      if byte != UInt8(ascii: "\\") {
        text.append(byte)
      } else {
        try? JSONEscape.read(bytes, at: &index, into: &text)
      }
    }
  }
}

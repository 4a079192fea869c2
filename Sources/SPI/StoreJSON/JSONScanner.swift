package import StorePrimitives

/// Reads JSON text (RFC 8259) token by token.
@usableFromInline package struct JSONScanner {
  /// A value that is not an object.
  package struct Field {
    /// What a value is.
    package enum Kind {
      case null, yes, no, number, string, list, object
    }
    package var kind: Kind
    /// The bytes: of a string, those between the quotes; none of a word.
    package var start: Int
    package var end: Int
    package var hasEscapes = false

    package init(_ kind: Kind, _ start: Int) {
      self.kind = kind
      self.start = start
      end = start
    }
  }
  /// Where something is.
  @usableFromInline package struct Place {
    @usableFromInline let line: Int
    @usableFromInline let column: Int

    @inlinable init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }
    package var location: StoreLocation { StoreLocation(line: line, column: column) }
  }
  @usableFromInline package let bytes: UnsafeBufferPointer<UInt8>
  @usableFromInline package var position = 0
  @usableFromInline package var line = 1
  @usableFromInline package var lineStart = 0

  /// - Parameter bytes: UTF-8; they must outlive the scanner.
  package init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  @inlinable @inline(__always) package var peek: UInt8? { position < bytes.count ? bytes[position] : nil }
  /// Counted from 1.
  @inlinable package var column: Int { position - lineStart + 1 }
  @inlinable package var place: Place { Place(line: line, column: column) }

  /// Goes on at an offset, whose line and column are known.
  package mutating func restart(at offset: Int, line: Int, column: Int) {
    position = offset
    self.line = line
    lineStart = offset - column + 1
  }

  package mutating func skipMark() { if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 } }

  package mutating func skipLine() {
    while let byte = peek, byte != UInt8(ascii: "\n") { position += 1 }
    guard peek != nil else { return }
    position += 1
    line += 1
    lineStart = position
  }

  @inlinable @inline(__always)
  package mutating func skipSpace() {
    // Most tokens follow each other.
    if let byte = peek, byte <= UInt8(ascii: " ") { skipSpaces() }
  }

  @usableFromInline
  mutating func skipSpaces() {
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

  @inlinable @inline(__always)
  package mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    position += 1
    return true
  }

  package func failure(_ message: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: StoreLocation(line: line, column: column, offset: position))
  }

  // MARK: Values

  /// The name of a member.
  package mutating func readName() throws(PersistentStoreError) -> String {
    guard peek == UInt8(ascii: "\"") else { throw failure("the name of a member is missing") }
    return text(of: try readString())
  }

  /// Whether the bytes of a name that was read before follow in quotes.
  @inlinable
  package func isAtName(_ range: Range<Int>) -> Bool {
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
  @inlinable package mutating func skipName(_ range: Range<Int>) { position += range.count + 2 }

  /// A string, a number, or a word.
  package mutating func readScalar() throws(PersistentStoreError) -> Field {
    switch peek {
    case nil: throw failure("a value is missing")
    case UInt8(ascii: "\""): return try readString()
    case UInt8(ascii: "t"): return try readWord("true", .yes)
    case UInt8(ascii: "f"): return try readWord("false", .no)
    case UInt8(ascii: "n"): return try readWord("null", .null)
    default: return try readNumber()
    }
  }

  private mutating func readWord(_ word: StaticString, _ kind: Field.Kind) throws(PersistentStoreError) -> Field {
    let field = Field(kind, position)
    for index in 0..<word.utf8CodeUnitCount {
      guard take(word.utf8Start[index]) else { throw failure("this is not a JSON value") }
    }
    return field
  }

  private mutating func takeDigits() -> Bool {
    let start = position
    while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
    return position > start
  }

  private mutating func readNumber() throws(PersistentStoreError) -> Field {
    var field = Field(.number, position)
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
    field.end = position
    return field
  }

  private mutating func readString() throws(PersistentStoreError) -> Field {
    position += 1
    var field = Field(.string, position)
    var union: UInt8 = 0
    // Locals, which stay in registers.
    let bytes = bytes
    var end = position
    while end < bytes.count {
      let plain = Self.plainBytes(bytes, end)
      end += plain.count
      union |= plain.union
      guard end < bytes.count else { break }
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
    if !UTF8.isASCII(union), !Self.isUTF8(bytes[field.start..<end]) {
      throw failure("the text is not UTF-8")
    }
    guard take(UInt8(ascii: "\"")) else { throw failure("the string is never closed") }
    return field
  }

  private static func isUTF8(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    // Without an allocation.
    (try? UTF8Span(validating: Span(_unsafeElements: UnsafeBufferPointer(rebasing: bytes)))) != nil
  }

  /// The number of bytes from an index on before one that ends a string, escapes another one or is a control
  /// character, as far as eight bytes can be read at once; and the highest bit of all of them.
  @inline(__always)
  private static func plainBytes(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> (count: Int, union: UInt8) {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs = ones &* 0x80
    let raw = UnsafeRawBufferPointer(bytes)
    var (index, union) = (start, 0 as UInt64)
    while index + 8 <= raw.count {
      let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let quote = word ^ ones &* UInt64(UInt8(ascii: "\""))
      let escape = word ^ ones &* UInt64(UInt8(ascii: "\\"))
      // The highest bit of each byte that is less than what is subtracted, perhaps also of bytes behind the first one.
      let controls = (word &- ones &* UInt64(UInt8(ascii: " "))) & ~word
      let special = ((quote &- ones) & ~quote | (escape &- ones) & ~escape | controls) & highs
      guard special == 0 else {
        let bits = special.trailingZeroBitCount & ~7
        index += bits / 8
        union |= word & (1 << UInt64(bits) - 1)
        break
      }
      union |= word
      index += 8
    }
    return (index - start, union & highs == 0 ? 0 : 0x80)
  }

  // MARK: Texts

  /// The text of a string or a number.
  package func text(of field: Field) -> String {
    guard field.hasEscapes else { return String(decoding: bytes[field.start..<field.end], as: UTF8.self) }
    var decoded: [UInt8] = []
    append(field.start..<field.end, to: &decoded)
    return String(decoding: decoded, as: UTF8.self)
  }

  /// Appends the text of a string that was read before and has escapes.
  package func append(_ range: Range<Int>, to text: inout [UInt8]) {
    var index = range.lowerBound
    while index < range.upperBound {
      var end = index
      while end < range.upperBound, bytes[end] != UInt8(ascii: "\\") { end += 1 }
      text.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[index..<end]))
      index = end + 1
      if end < range.upperBound { try? JSONEscape.read(bytes, at: &index, into: &text) }
    }
  }
}

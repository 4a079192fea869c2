import AtomicStoreSPI

/// JSON as these files have it: no numbers with fractions, no null.
enum JSONValue {
  case string(String)
  case integer(Int64)
  case boolean(Bool)
  case array([JSONValue])
  case object([(key: String, value: JSONValue)])
}

/// Reads a store line by line. Strict: what JSON does not allow is an error with its line and column.
struct LineReader {
  private let bytes: StoreBytes
  private let file: String
  private var offset = 0
  private var line = 0
  private var lineStart = 0

  /// How deep objects and lists may be nested.
  private let maximumDepth: Int

  /// - Parameters:
  ///   - member: The file of a store that is a directory.
  ///   - depth: How deep metadata and models may be nested. A line has three levels above them, and dates, bytes and
  ///     the like one below.
  init(_ source: StoreSource, member: String? = nil, depth: Int) throws(PersistentStoreError) {
    maximumDepth = depth + 4
    bytes = try source.bytes(ofMember: member)
    file = source.displayName(ofMember: member)
  }

  var isAtEnd: Bool { offset == bytes.count }
  /// The line that was read last.
  var place: StoreLocation { StoreLocation(file: file, line: max(line, 1)) }

  private func failure(_ message: String, at offset: Int? = nil) -> PersistentStoreError {
    PersistentStoreError(
      .malformed, message,
      at: StoreLocation(file: file, line: max(line, 1), column: (offset ?? self.offset) - lineStart + 1))
  }

  /// The next line's value.
  mutating func next() throws(PersistentStoreError) -> JSONValue {
    line += 1
    lineStart = offset
    guard !isAtEnd else { throw failure("a line is expected") }
    let value = try value(depth: 0)
    guard peek() == UInt8(ascii: "\n") else {
      throw failure(isAtEnd ? "the line is not ended" : "the line goes on after its value")
    }
    offset += 1
    return value
  }

  private func peek() -> UInt8? { offset < bytes.count ? bytes.span[offset] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    offset += 1
    return true
  }

  private mutating func expect(_ text: StaticString) throws(PersistentStoreError) {
    for index in 0..<text.utf8CodeUnitCount {
      guard take(text.utf8Start[index]) else { throw failure("'\(text)' is expected") }
    }
  }

  private mutating func value(depth: Int) throws(PersistentStoreError) -> JSONValue {
    guard depth < maximumDepth else {
      throw PersistentStoreError(
        .limitExceeded, "nested more deeply than the limit 'maximumDepth' of \(maximumDepth - 4)",
        at: failure("").location)
    }
    switch peek() {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"):
      try expect("true")
      return .boolean(true)
    case UInt8(ascii: "f"):
      try expect("false")
      return .boolean(false)
    case UInt8(ascii: "["):
      offset += 1
      var list: [JSONValue] = []
      if take(UInt8(ascii: "]")) { return .array(list) }
      repeat { list.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
      guard take(UInt8(ascii: "]")) else { throw failure("',' or ']' is expected") }
      return .array(list)
    case UInt8(ascii: "{"):
      offset += 1
      var members: [(key: String, value: JSONValue)] = []
      var known: Set<ScalarString> = []
      if take(UInt8(ascii: "}")) { return .object(members) }
      repeat {
        let start = offset
        let key = try string()
        guard known.insert(ScalarString(key)).inserted else { throw failure("'\(key)' is here twice", at: start) }
        guard take(UInt8(ascii: ":")) else { throw failure("':' is expected") }
        members.append((key, try value(depth: depth + 1)))
      } while take(UInt8(ascii: ","))
      guard take(UInt8(ascii: "}")) else { throw failure("',' or '}' is expected") }
      return .object(members)
    default: return .integer(try integer())
    }
  }

  private mutating func integer() throws(PersistentStoreError) -> Int64 {
    let start = offset
    var text = ""
    if take(UInt8(ascii: "-")) { text = "-" }
    while let byte = peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
      text.unicodeScalars.append(Unicode.Scalar(byte))
      offset += 1
    }
    let digits = text.drop { $0 == "-" }
    guard let number = Int64(text), digits.count == 1 || !digits.hasPrefix("0") else {
      throw failure(
        "a value is expected: a text, a whole number of 64 bits, true, false, a list or an object", at: start)
    }
    return number
  }

  private mutating func string() throws(PersistentStoreError) -> String {
    let start = offset
    guard take(UInt8(ascii: "\"")) else { throw failure("a text is expected") }
    var text: [UInt8] = []
    while true {
      guard let byte = peek() else { throw failure("the text is not closed", at: start) }
      offset += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else {
          throw failure("the text is not UTF-8", at: start)
        }
        return string
      case 0..<UInt8(ascii: " "): throw failure("a string contains a control character", at: offset - 1)
      case UInt8(ascii: "\\"): try escape(into: &text)
      default: text.append(byte)
      }
    }
  }

  private mutating func escape(into text: inout [UInt8]) throws(PersistentStoreError) {
    let start = offset - 1
    guard let byte = peek() else { throw failure("the text is not closed", at: start) }
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
    case UInt8(ascii: "r"): text.append(UInt8(ascii: "\r"))
    case UInt8(ascii: "t"): text.append(UInt8(ascii: "\t"))
    case UInt8(ascii: "u"):
      var value = try digits(start)
      // The upper half of a pair is followed by the lower one, or it is not a character.
      if value >= 0xD800, value < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
        let low = try digits(start)
        guard low >= 0xDC00, low < 0xE000 else { throw failure("half a character", at: start) }
        value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(value) else { throw failure("half a character", at: start) }
      text.append(contentsOf: Array(String(Character(scalar)).utf8))
    default: throw failure("an escape that JSON does not have", at: start)
    }
  }

  private mutating func digits(_ start: Int) throws(PersistentStoreError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = peek(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw failure("four digits are expected", at: start)
      }
      value = value << 4 | UInt32(digit)
      offset += 1
    }
    return value
  }
}

package import StorePrimitives

/// Reads JSON text (RFC 8259) into a value. Numbers keep their text, so that decimals lose no digit.
package struct JSONReader {
  private let bytes: [UInt8]
  private var position = 0
  /// Deeper values are refused: reading them is recursive.
  private let maximumDepth: Int

  /// Reads a text that holds one value.
  ///
  /// - Parameter depth: How deep values may be nested.
  /// - Throws: `.malformed` with line and column for text that is not JSON, and for an object with two equal keys.
  package static func read(
    _ bytes: [UInt8], name: String, depth: Int = 512
  ) throws(PersistentStoreError) -> JSONValue {
    var reader = JSONReader(bytes: bytes, depth: depth)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
    do throws(PersistentStoreError) {
      let value = try reader.readValue(depth: 0)
      reader.skipSpace()
      guard reader.position == bytes.count else { throw reader.failure("something follows the value") }
      return value
    } catch {
      var error = error
      error.location.file = name
      throw error
    }
  }

  private init(bytes: [UInt8], depth: Int) {
    self.bytes = bytes
    maximumDepth = depth
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func failure(_ message: String) -> PersistentStoreError {
    var line = 1
    var start = 0
    for index in 0..<min(position, bytes.count) where bytes[index] == UInt8(ascii: "\n") {
      line += 1
      start = index + 1
    }
    return PersistentStoreError(
      .malformed, message, at: StoreLocation(line: line, column: position - start + 1, offset: position))
  }

  private mutating func skipSpace() {
    while let byte = next,
      byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
        || byte == UInt8(ascii: "\r")
    { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func take(_ word: StaticString) -> Bool {
    guard position + word.utf8CodeUnitCount <= bytes.count else { return false }
    for index in 0..<word.utf8CodeUnitCount where bytes[position + index] != word.utf8Start[index] { return false }
    position += word.utf8CodeUnitCount
    return true
  }

  private mutating func readValue(depth: Int) throws(PersistentStoreError) -> JSONValue {
    guard depth < maximumDepth else { throw failure("values are nested more than \(maximumDepth) deep") }
    skipSpace()
    switch next {
    case nil: throw failure("a value is missing")
    case UInt8(ascii: "{"): return try readObject(depth)
    case UInt8(ascii: "["): return try readArray(depth)
    case UInt8(ascii: "\""): return .string(try readString())
    case UInt8(ascii: "t") where take("true"): return .boolean(true)
    case UInt8(ascii: "f") where take("false"): return .boolean(false)
    case UInt8(ascii: "n") where take("null"): return .null
    default: return try readNumber()
    }
  }

  private mutating func readObject(_ depth: Int) throws(PersistentStoreError) -> JSONValue {
    position += 1
    var members: [(String, JSONValue)] = []
    var known: Set<ScalarString> = []
    skipSpace()
    if take(UInt8(ascii: "}")) { return .object([]) }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw failure("the name of a member is missing") }
      let name = try readString()
      guard known.insert(ScalarString(name)).inserted else { throw failure("the member '\(name)' occurs twice") }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw failure("':' is missing") }
      members.append((name, try readValue(depth: depth + 1)))
      skipSpace()
      if take(UInt8(ascii: "}")) { return .object(members) }
      guard take(UInt8(ascii: ",")) else { throw failure("',' or '}' is missing") }
    }
  }

  private mutating func readArray(_ depth: Int) throws(PersistentStoreError) -> JSONValue {
    position += 1
    var values: [JSONValue] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return .array([]) }
    while true {
      values.append(try readValue(depth: depth + 1))
      skipSpace()
      if take(UInt8(ascii: "]")) { return .array(values) }
      guard take(UInt8(ascii: ",")) else { throw failure("',' or ']' is missing") }
    }
  }

  private mutating func takeDigits() -> Bool {
    let start = position
    while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
    return position > start
  }

  private mutating func readNumber() throws(PersistentStoreError) -> JSONValue {
    let start = position
    var isInteger = true
    _ = take(UInt8(ascii: "-"))
    // A zero is alone: 01 is not a number.
    guard take(UInt8(ascii: "0")) || takeDigits() else { throw failure("this is not a JSON value") }
    if take(UInt8(ascii: ".")) {
      isInteger = false
      guard takeDigits() else { throw failure("a digit is missing") }
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isInteger = false
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      guard takeDigits() else { throw failure("a digit is missing") }
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    // -0 is not the integer 0.
    if isInteger, text != "-0", let number = Int(text) { return .integer(number) }
    return .exactNumber(text)
  }

  private mutating func readString() throws(PersistentStoreError) -> String {
    position += 1
    var text: [UInt8] = []
    while let byte = next, byte != UInt8(ascii: "\"") {
      guard byte >= UInt8(ascii: " ") else { throw failure("a string contains a control character") }
      position += 1
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      try readEscape(into: &text)
    }
    guard take(UInt8(ascii: "\"")) else { throw failure("a string is not closed") }
    guard let result = String(validating: text, as: UTF8.self) else { throw failure("the text is not UTF-8") }
    return result
  }

  private mutating func readEscape(into text: inout [UInt8]) throws(PersistentStoreError) {
    var end = position
    let failed: JSONEscape.Failure? = bytes.withUnsafeBufferPointer { bytes in
      do throws(JSONEscape.Failure) {
        try JSONEscape.read(bytes, at: &end, into: &text)
        return nil
      } catch { return error }
    }
    position = end
    if let failed { throw failure(failed.message) }
  }
}

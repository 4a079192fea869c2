package import StorePrimitives

/// Reads JSON text (RFC 8259) into a value. Numbers keep their text, so that decimals lose no digit.
package struct JSONReader {
  private var scanner: JSONScanner
  /// Deeper values are refused: reading them is recursive.
  private let maximumDepth: Int

  /// Reads a text that holds one value.
  ///
  /// - Parameter depth: How deep values may be nested.
  /// - Throws: `.malformed` with line and column for text that is not JSON, and for an object with two equal keys.
  package static func read(
    _ bytes: [UInt8], name: String, depth: Int = 512
  ) throws(PersistentStoreError) -> JSONValue {
    do throws(PersistentStoreError) {
      return try bytes.withUnsafeBufferPointer { bytes throws(PersistentStoreError) in
        var reader = JSONReader(scanner: JSONScanner(bytes), maximumDepth: depth)
        reader.scanner.skipMark()
        let value = try reader.readValue(depth: 0)
        reader.scanner.skipSpace()
        guard reader.scanner.peek == nil else { throw reader.scanner.failure("something follows the value") }
        return value
      }
    } catch {
      throw error.located(StoreLocation(file: name))
    }
  }

  private mutating func readValue(depth: Int) throws(PersistentStoreError) -> JSONValue {
    guard depth < maximumDepth else {
      throw scanner.failure("values are nested more than \(maximumDepth) deep")
    }
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "{")) { return try readObject(depth) }
    if scanner.take(UInt8(ascii: "[")) { return try readArray(depth) }
    let field = try scanner.readScalar()
    switch field.kind {
    case .yes: return .boolean(true)
    case .no: return .boolean(false)
    case .number:
      let text = scanner.text(of: field)
      // -0 is not the integer 0.
      if text != "-0", let number = Int(text) { return .integer(number) }
      return .exactNumber(text)
    case .string: return .string(scanner.text(of: field))
    case .null, .list, .object: return .null
    }
  }

  private mutating func readObject(_ depth: Int) throws(PersistentStoreError) -> JSONValue {
    var members: [(String, JSONValue)] = []
    var known: Set<ScalarString> = []
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "}")) { return .object([]) }
    while true {
      scanner.skipSpace()
      let name = try scanner.readName()
      guard known.insert(ScalarString(name)).inserted else {
        throw scanner.failure("the member '\(name)' occurs twice")
      }
      scanner.skipSpace()
      guard scanner.take(UInt8(ascii: ":")) else { throw scanner.failure("':' is missing") }
      members.append((name, try readValue(depth: depth + 1)))
      scanner.skipSpace()
      if scanner.take(UInt8(ascii: "}")) { return .object(members) }
      guard scanner.take(UInt8(ascii: ",")) else { throw scanner.failure("',' or '}' is missing") }
    }
  }

  private mutating func readArray(_ depth: Int) throws(PersistentStoreError) -> JSONValue {
    var values: [JSONValue] = []
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "]")) { return .array([]) }
    while true {
      values.append(try readValue(depth: depth + 1))
      scanner.skipSpace()
      if scanner.take(UInt8(ascii: "]")) { return .array(values) }
      guard scanner.take(UInt8(ascii: ",")) else { throw scanner.failure("',' or ']' is missing") }
    }
  }
}

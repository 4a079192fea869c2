import FoundationEssentials

extension PropertyListValue {
  /// The value as text that includes its type, for metadata and models in text formats: `string:…`, `integer:5`,
  /// `boolean:true`, `double:-0.0`, `date:…` in seconds since 2001, `data:AAEC` (base64), `uid:7`, as
  /// ``StoredValue/typedText`` has it. An array or a dictionary is JSON whose other values are such texts:
  /// `{"seen":["integer:1","date:0.0"]}`. Keys are in the order of their bytes, so equal values have equal texts.
  ///
  /// ``init(typedText:limits:at:)`` returns exactly this value.
  ///
  /// - Throws: `.limitExceeded` for nesting deeper than ``StoreLimits/greatestDepth``.
  public var typedText: String {
    get throws(PersistentStoreError) {
      var writer = TypedTextWriter()
      try writer.append(self, depth: 0)
      return String(decoding: writer.bytes, as: UTF8.self)
    }
  }

  /// Parses a text that ``typedText`` returned. White space between the parts of an array or dictionary is allowed.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - limits: The limits of the load, of which the depth is checked.
  ///   - location: Where the text is, for errors.
  /// - Throws: `.malformed` with the first byte of the text that is wrong, also for a key that occurs twice;
  ///   `.limitExceeded` for nesting deeper than the limit.
  public init(
    typedText text: String, limits: StoreLimits = StoreLimits(), at location: StoreLocation = StoreLocation()
  ) throws(PersistentStoreError) {
    var reader = TypedTextReader(
      bytes: Array(text.utf8), maximumDepth: min(limits.depth, StoreLimits.greatestDepth), location: location)
    self = try reader.whole()
  }

  /// The text of a value that is not a container; nil for one that is.
  fileprivate var leafText: String? {
    switch self {
    case .string(let text): "string:" + text
    case .integer(let number): "integer:\(number)"
    case .boolean(let flag): StoredValue.boolean(flag).typedText
    case .real(let number): StoredValue.double(number).typedText
    case .date(let date): StoredValue.date(date).typedText
    case .data(let data): StoredValue.data(data).typedText
    case .uid(let number): "uid:\(number)"
    case .array, .dictionary: nil
    }
  }

  fileprivate init?(leafText text: String) {
    if text.hasPrefix("integer:") {
      guard let number = Int128(text.dropFirst(8)), number >= Int64.min, number <= UInt64.max else { return nil }
      self = .integer(number)
      return
    }
    if text.hasPrefix("uid:") {
      guard let number = UInt64(text.dropFirst(4)) else { return nil }
      self = .uid(number)
      return
    }
    switch StoredValue(typedText: text) {
    case .string(let text): self = .string(text)
    case .boolean(let flag): self = .boolean(flag)
    case .double(let number): self = .real(number)
    case .date(let date): self = .date(date)
    case .data(let data): self = .data(data)
    default: return nil
    }
  }
}

private struct TypedTextWriter {
  var bytes: [UInt8] = []

  mutating func append(_ value: PropertyListValue, depth: Int) throws(PersistentStoreError) {
    guard depth <= StoreLimits.greatestDepth else {
      throw StoreLimits.tooDeep(StoreLimits.greatestDepth, at: StoreLocation())
    }
    switch value {
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        try append(element, depth: depth + 1)
      }
      bytes.append(UInt8(ascii: "]"))
    case .dictionary(let entries):
      bytes.append(UInt8(ascii: "{"))
      for (index, entry) in entries.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        append(quoted: entry.key)
        bytes.append(UInt8(ascii: ":"))
        try append(entry.value, depth: depth + 1)
      }
      bytes.append(UInt8(ascii: "}"))
    default:
      guard let text = value.leafText else { return }
      if depth == 0 { bytes += text.utf8 } else { append(quoted: text) }
    }
  }

  private mutating func append(quoted text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): bytes += "\\n".utf8
      case UInt8(ascii: "\r"): bytes += "\\r".utf8
      case UInt8(ascii: "\t"): bytes += "\\t".utf8
      case 0..<UInt8(ascii: " "): bytes += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

private struct TypedTextReader {
  let bytes: [UInt8]
  let maximumDepth: Int
  let location: StoreLocation
  private var place = 0

  init(bytes: [UInt8], maximumDepth: Int, location: StoreLocation) {
    self.bytes = bytes
    self.maximumDepth = maximumDepth
    self.location = location
  }

  mutating func whole() throws(PersistentStoreError) -> PropertyListValue {
    guard let first = bytes.first, first == UInt8(ascii: "[") || first == UInt8(ascii: "{") else {
      guard let value = PropertyListValue(leafText: String(decoding: bytes, as: UTF8.self)) else {
        throw failure("this is not a value with its type", at: 0)
      }
      return value
    }
    let value = try value(depth: 0)
    skipSpace()
    guard place == bytes.count else { throw failure("something follows the value", at: place) }
    return value
  }

  private func failure(_ reason: String, at place: Int) -> PersistentStoreError {
    PersistentStoreError(.malformed, "\(reason) (byte \(place + 1) of the text of a property list)", at: location)
  }

  private mutating func skipSpace() {
    while place < bytes.count,
      [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(bytes[place])
    { place += 1 }
  }

  /// Skips white space, and a byte if it is the next one.
  private mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard place < bytes.count, bytes[place] == byte else { return false }
    place += 1
    return true
  }

  private mutating func value(depth: Int) throws(PersistentStoreError) -> PropertyListValue {
    guard depth <= maximumDepth else { throw StoreLimits.tooDeep(maximumDepth, at: location) }
    if take(UInt8(ascii: "[")) { return try array(depth) }
    if take(UInt8(ascii: "{")) { return try dictionary(depth) }
    let start = place
    guard let value = PropertyListValue(leafText: try quoted()) else {
      throw failure("this is not a value with its type", at: start)
    }
    return value
  }

  private mutating func array(_ depth: Int) throws(PersistentStoreError) -> PropertyListValue {
    var elements: [PropertyListValue] = []
    if take(UInt8(ascii: "]")) { return .array(elements) }
    repeat { elements.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw failure("',' or ']' is missing", at: place) }
    return .array(elements)
  }

  private mutating func dictionary(_ depth: Int) throws(PersistentStoreError) -> PropertyListValue {
    if take(UInt8(ascii: "}")) { return .dictionary(PropertyListDictionary()) }
    let start = place
    var entries: [(key: String, value: PropertyListValue)] = []
    repeat {
      let key = try quoted()
      guard take(UInt8(ascii: ":")) else { throw failure("':' is missing", at: place) }
      entries.append((key, try value(depth: depth + 1)))
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw failure("',' or '}' is missing", at: place) }
    // Adding keys that are not sorted one by one would take quadratic time.
    entries.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    var dictionary = PropertyListDictionary()
    for (key, value) in entries {
      dictionary[key] = value
    }
    guard dictionary.count == entries.count else { throw failure("a key occurs twice in the dictionary", at: start) }
    return .dictionary(dictionary)
  }

  private mutating func quoted() throws(PersistentStoreError) -> String {
    guard take(UInt8(ascii: "\"")) else { throw failure("'\"' is missing", at: place) }
    let start = place
    var plain: [UInt8] = []
    while place < bytes.count {
      let byte = bytes[place]
      place += 1
      if byte == UInt8(ascii: "\"") { return String(decoding: plain, as: UTF8.self) }
      if byte == UInt8(ascii: "\\") { try escape(&plain) } else { plain.append(byte) }
    }
    throw failure("the text is not ended", at: start)
  }

  /// What follows a backslash.
  private mutating func escape(_ plain: inout [UInt8]) throws(PersistentStoreError) {
    var end = place
    let problem: JSONEscape.Failure? = bytes.withUnsafeBufferPointer { bytes in
      do throws(JSONEscape.Failure) {
        try JSONEscape.read(bytes, at: &end, into: &plain)
        return nil
      } catch { return error }
    }
    if let problem { throw failure(problem.message, at: place) }
    place = end
  }
}

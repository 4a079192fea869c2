import FoundationEssentials

/// A place in a property list, for messages: its text is made only for an error.
final class SchemaPath: CustomStringConvertible {
  private let above: SchemaPath?
  private let key: String
  private let index: Int?

  init(_ key: String, in above: SchemaPath? = nil, at index: Int? = nil) {
    self.above = above
    self.key = key
    self.index = index
  }

  var description: String { (above.map { "\($0)." } ?? "") + key + (index.map { "[\($0)]" } ?? "") }
}

/// Reads the keys of a dictionary, and reports unread keys as errors.
struct SchemaReader {
  private let dictionary: PropertyListDictionary
  /// The positions of the keys that were read: a bit for each of the first 64, and the others.
  private var taken: UInt64 = 0
  private var takenBeyond: Set<Int> = []
  private var remaining: Int
  let path: SchemaPath

  init(_ value: PropertyListValue, _ path: SchemaPath) throws(PersistentStoreError) {
    guard case .dictionary(let dictionary) = value else {
      throw PersistentStoreError(.malformed, "\(path) is not a dictionary")
    }
    self.dictionary = dictionary
    self.path = path
    remaining = dictionary.count
  }

  func bad(_ key: String, _ what: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, "\(path).\(key) \(what)")
  }

  /// The value of a key that was not read before.
  mutating func take(_ key: String) -> PropertyListValue? {
    guard remaining > 0, let position = dictionary.position(of: key), !isTaken(position) else { return nil }
    if position < 64 { taken |= 1 << UInt64(position) } else { takenBeyond.insert(position) }
    remaining -= 1
    return dictionary[position].value
  }

  private func isTaken(_ position: Int) -> Bool {
    position < 64 ? taken & 1 << UInt64(position) != 0 : takenBeyond.contains(position)
  }

  mutating func string(_ key: String) throws(PersistentStoreError) -> String? {
    guard let value = take(key) else { return nil }
    guard let text = value.stringValue else { throw bad(key, "is not a string") }
    return text
  }
  mutating func name() throws(PersistentStoreError) -> String {
    guard let name = try string("name") else { throw bad("name", "is missing") }
    return name
  }
  mutating func boolean(_ key: String) throws(PersistentStoreError) -> Bool? {
    guard let value = take(key) else { return nil }
    guard let flag = value.booleanValue else { throw bad(key, "is not a boolean") }
    return flag
  }
  mutating func integer(_ key: String) throws(PersistentStoreError) -> Int? {
    guard let value = take(key) else { return nil }
    guard let number = value.integerValue else { throw bad(key, "is not an integer") }
    return number
  }
  mutating func list(_ key: String) throws(PersistentStoreError) -> [PropertyListValue] {
    guard let value = take(key) else { return [] }
    guard let list = value.arrayValue else { throw bad(key, "is not an array") }
    return list
  }
  mutating func strings(_ key: String) throws(PersistentStoreError) -> [String] {
    try strings(in: try list(key), key)
  }
  private func strings(in list: [PropertyListValue], _ key: String) throws(PersistentStoreError) -> [String] {
    var result: [String] = []
    for value in list {
      guard let text = value.stringValue else { throw bad(key, "contains an element that is not a string") }
      result.append(text)
    }
    return result
  }
  mutating func stringLists(_ key: String) throws(PersistentStoreError) -> [[String]] {
    var result: [[String]] = []
    for value in try list(key) {
      guard let inner = value.arrayValue else { throw bad(key, "contains an element that is not an array") }
      result.append(try strings(in: inner, key))
    }
    return result
  }
  mutating func map<Element>(
    _ key: String, _ body: (PropertyListValue, SchemaPath) throws(PersistentStoreError) -> Element
  ) throws(PersistentStoreError) -> [Element] {
    let list = try list(key)
    var result: [Element] = []
    result.reserveCapacity(list.count)
    for (index, value) in list.enumerated() { result.append(try body(value, SchemaPath(key, in: path, at: index))) }
    return result
  }
  mutating func userInfo() throws(PersistentStoreError) -> [UserInfoEntry] {
    var result: [UserInfoEntry] = []
    for pair in try stringLists("userInfo") {
      guard pair.count == 2 else { throw bad("userInfo", "contains an element that is not a pair") }
      result.append(UserInfoEntry(key: pair[0], value: pair[1]))
    }
    return result
  }
  mutating func extras() throws(PersistentStoreError) -> [ModelExtra] {
    var result: [ModelExtra] = []
    for value in try list("extras") {
      if let text = value.stringValue {
        result.append(.element(text))
      } else if let pair = value.arrayValue, pair.count == 2, let name = pair[0].stringValue,
        let text = pair[1].stringValue
      {
        result.append(.attribute(name: name, value: text))
      } else {
        throw bad("extras", "contains an element that is neither a string nor a pair")
      }
    }
    return result
  }
  mutating func value(_ key: String) throws(PersistentStoreError) -> StoredValue? {
    guard let value = take(key) else { return nil }
    guard let pair = value.arrayValue, pair.count == 2, let kind = pair[0].stringValue else {
      throw bad(key, "is not a pair of type and value")
    }
    let text = pair[1].stringValue
    switch kind {
    case "boolean": if let flag = pair[1].booleanValue { return .boolean(flag) }
    case "integer": if case .integer(let number) = pair[1], let fits = Int64(exactly: number) { return .integer(fits) }
    case "float":
      if let bits = text.flatMap({ UInt32($0, radix: 16) }) { return .float(Float(bitPattern: bits)) }
    case "double":
      if let bits = text.flatMap({ UInt64($0, radix: 16) }) { return .double(Double(bitPattern: bits)) }
    case "date":
      if let bits = text.flatMap({ UInt64($0, radix: 16) }) {
        return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
      }
    case "decimal": if let number = text.flatMap({ DecimalNumber($0) }) { return .decimal(number) }
    case "string": if let text { return .string(text) }
    case "data": if let data = pair[1].dataValue { return .data(data) }
    case "uuid": if let uuid = text.flatMap({ UUID(uuidString: $0) }) { return .uuid(uuid) }
    case "uri": if let text { return .uri(text) }
    default: break
    }
    throw bad(key, "is not a valid \(kind)")
  }

  /// - Throws: `.unsupportedVersion` for a key that was not read.
  func finish() throws(PersistentStoreError) {
    guard remaining > 0, let unread = dictionary.indices.first(where: { !isTaken($0) }) else { return }
    throw PersistentStoreError(
      .unsupportedVersion, "\(path) has a key that is unknown to this version: \(dictionary[unread].key)")
  }
}

import FoundationEssentials
public import StorePrimitives

/// Builds a property list from the events of an XML reader, for a whole file or a subtree.
///
/// Pass it the `plist` element or the element of a value with all events inside, then call ``finish(line:)``. It has
/// its own stack, so that hostile nesting does not cause recursion, and does not depend on an XML reader.
///
/// Every method throws `.malformed` with the line for unknown elements, misplaced text, invalid values and duplicate
/// keys, and `.limitExceeded` for nesting deeper than ``PropertyList/maximumDepth``.
public struct PropertyListXMLBuilder {
  enum Element { case plist, dictionary, array, key, string, integer, real, date, data, yes, no }
  private struct Container {
    var isDictionary: Bool
    var line: Int
    var key: String?
    var elements: [PropertyListValue] = []
    var entries: [PropertyListDictionary.Element] = []
    /// All keys, once one of them was not greater than the key before it.
    var seen: Set<PropertyListText>?

    /// Whether no entry has that key. Keys are mostly in order: a set of them is built only if they are not.
    mutating func isNew(_ key: String) -> Bool {
      if seen == nil {
        guard let last = entries.last, last.key.byteOrder(to: key) >= 0 else { return true }
        seen = Set(entries.lazy.map { PropertyListText($0.key) })
      }
      return seen?.insert(PropertyListText(key)).inserted ?? true
    }
  }

  private var isInPlist = false
  private var containers: [Container] = []
  /// The open element that contains text.
  private var leaf: Element?
  private var text: [UInt8] = []
  private var result: PropertyListValue?

  private let maximumDepth: Int

  /// - Parameter maximumDepth: The maximum nesting depth of arrays and dictionaries: at most
  ///   ``PropertyList/maximumDepth``.
  public init(maximumDepth: Int = PropertyList.maximumDepth) {
    self.maximumDepth = min(maximumDepth, PropertyList.maximumDepth)
  }

  /// Called when an element starts. Attributes are ignored.
  public mutating func begin(_ name: String, line: Int) throws(PersistentStoreError) {
    guard leaf == nil else { throw malformed("<\(name)> inside a value", line) }
    guard let element = Self.element(name) else {
      throw malformed("<\(name)> is not an element of a property list", line)
    }
    try begin(element, name, line: line)
  }

  /// Called when an element starts that is not inside a value.
  mutating func begin(_ element: Element, _ name: @autoclosure () -> String, line: Int) throws(PersistentStoreError) {
    if element == .plist {
      guard !isInPlist, containers.isEmpty, result == nil else { throw malformed("a second <plist>", line) }
      isInPlist = true
      return
    }
    guard let last = containers.indices.last else {
      guard result == nil else { throw malformed("a second value: <\(name())>", line) }
      guard element != .key else { throw malformed("a <key> outside a dictionary", line) }
      return try open(element, line)
    }
    if containers[last].isDictionary {
      if element == .key {
        guard containers[last].key == nil else { throw malformed("a key follows a key", line) }
      } else if containers[last].key == nil {
        throw malformed("<\(name())> without a key", line)
      }
    } else if element == .key {
      throw malformed("a <key> outside a dictionary", line)
    }
    try open(element, line)
  }

  /// Called with character data, CDATA included, in any number of pieces.
  public mutating func characters(
    _ bytes: UnsafeBufferPointer<UInt8>, line: Int
  ) throws(PersistentStoreError) {
    if leaf != nil {
      text.append(contentsOf: bytes)
    } else if !bytes.allSatisfy(Self.isBlank) {
      throw malformed("text between the values", line)
    }
  }

  /// Called when the innermost element ends.
  public mutating func end(line: Int) throws(PersistentStoreError) {
    guard let element = leaf else {
      guard let container = containers.popLast() else {
        isInPlist = false
        return
      }
      return try close(container, line)
    }
    leaf = nil
    defer { text.removeAll(keepingCapacity: true) }
    if element == .key {
      try place(key: String(decoding: text, as: UTF8.self), line)
    } else {
      try place(try scalar(element, line))
    }
  }

  /// Called with a whole key or string, instead of its start, its characters and its end.
  mutating func add(_ element: Element, text: String, line: Int) throws(PersistentStoreError) {
    try begin(element, "", line: line)
    leaf = nil
    if element == .key { try place(key: text, line) } else { try place(.string(text)) }
  }

  /// The kind of the innermost open array or dictionary; nil if there is none.
  var innermost: Element? { containers.last.map { $0.isDictionary ? .dictionary : .array } }

  /// Returns the value, once all elements have ended.
  public consuming func finish(line: Int) throws(PersistentStoreError) -> PropertyListValue {
    guard leaf == nil, containers.isEmpty, let result else { throw malformed("a property list without a value", line) }
    return result
  }
}

extension PropertyListXMLBuilder {
  private mutating func open(_ element: Element, _ line: Int) throws(PersistentStoreError) {
    guard element == .dictionary || element == .array else {
      leaf = element
      return
    }
    guard containers.count <= maximumDepth else {
      throw PropertyList.tooDeep(maximumDepth, at: StoreLocation(line: line))
    }
    containers.append(Container(isDictionary: element == .dictionary, line: line))
  }

  private mutating func close(_ container: Container, _ line: Int) throws(PersistentStoreError) {
    guard container.isDictionary else { return try place(.array(container.elements)) }
    if let key = container.key { throw malformed("the key '\(key)' has no value", line) }
    var duplicate = ""
    guard let dictionary = PropertyListDictionary(entries: container.entries, duplicate: &duplicate) else {
      throw malformed("duplicate key '\(duplicate)'", container.line)
    }
    if dictionary.count == 1, case .integer(let number)? = dictionary["CF$UID"], let uid = UInt64(exactly: number) {
      return try place(.uid(uid))
    }
    try place(.dictionary(dictionary))
  }

  private mutating func place(key: String, _ line: Int) throws(PersistentStoreError) {
    guard let last = containers.indices.last else { return }
    guard containers[last].isNew(key) else { throw malformed("duplicate key '\(key)'", line) }
    containers[last].key = key
  }

  private mutating func place(_ value: PropertyListValue) throws(PersistentStoreError) {
    guard let last = containers.indices.last else {
      result = value
      return
    }
    if let key = containers[last].key {
      containers[last].entries.append(.init(key: key, value: value))
      containers[last].key = nil
    } else {
      containers[last].elements.append(value)
    }
  }

  private func scalar(_ element: Element, _ line: Int) throws(PersistentStoreError) -> PropertyListValue {
    if element == .string { return .string(String(decoding: text, as: UTF8.self)) }
    let blankless = text.drop(while: Self.isBlank)
    let trimmed = blankless.prefix(blankless.lastIndex { !Self.isBlank($0) }.map { $0 - blankless.startIndex + 1 } ?? 0)
    let shown = String(decoding: trimmed.prefix(60), as: UTF8.self)
    switch element {
    case .yes, .no:
      guard trimmed.isEmpty else { throw malformed("a boolean element contains '\(shown)'", line) }
      return .boolean(element == .yes)
    case .integer:
      guard let number = Self.integer(trimmed) else { throw malformed("'\(shown)' is not an integer", line) }
      return .integer(number)
    case .real:
      guard let number = Self.real(String(decoding: trimmed, as: UTF8.self)) else {
        throw malformed("'\(shown)' is not a real", line)
      }
      return .real(number)
    case .date:
      guard let date = PropertyListDate.parse(trimmed) else { throw malformed("'\(shown)' is not a date", line) }
      return .date(date)
    default:
      guard let data = Data(base64Encoded: Data(text.filter { !Self.isBlank($0) })) else {
        throw malformed("the content of a <data> is not base64", line)
      }
      return .data(data)
    }
  }

  /// Decimal or, after `0x`, hexadecimal, with an optional sign.
  private static func integer(_ digits: ArraySlice<UInt8>) -> Int128? {
    let isNegative = digits.first == UInt8(ascii: "-")
    let unsigned = isNegative || digits.first == UInt8(ascii: "+") ? digits.dropFirst() : digits
    let isHexadecimal = unsigned.starts(with: "0x".utf8) || unsigned.starts(with: "0X".utf8)
    let body = String(decoding: isHexadecimal ? unsigned.dropFirst(2) : unsigned, as: UTF8.self)
    guard let first = body.utf8.first, first != UInt8(ascii: "-"), first != UInt8(ascii: "+"),
      let magnitude = Int128(body, radix: isHexadecimal ? 16 : 10), magnitude <= Int128(UInt64.max)
    else { return nil }
    let number = isNegative ? -magnitude : magnitude
    return number >= Int128(Int64.min) ? number : nil
  }

  private static func real(_ text: String) -> Double? {
    switch text.lowercased() {
    case "nan": return .nan
    case "inf", "+inf", "infinity", "+infinity": return .infinity
    case "-inf", "-infinity": return -.infinity
    default:
      // Swift also accepts hexadecimal reals and signed not-a-numbers, which property lists do not have.
      let isPlain = text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
          UInt8(ascii: "E"), UInt8(ascii: "e"):
          true
        default: false
        }
      }
      return isPlain ? Double(text) : nil
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
  }

  private static func element(_ name: String) -> Element? {
    switch name {
    case "plist": .plist
    case "dict": .dictionary
    case "array": .array
    case "key": .key
    case "string": .string
    case "integer": .integer
    case "real": .real
    case "date": .date
    case "data": .data
    case "true": .yes
    case "false": .no
    default: nil
    }
  }

  private func malformed(_ message: String, _ line: Int) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: StoreLocation(line: line))
  }
}

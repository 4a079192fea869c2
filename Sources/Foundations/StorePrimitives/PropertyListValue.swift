public import FoundationEssentials

/// A value of a property list, for metadata and the property-list codecs.
///
/// Two values are equal if they are the same to the bit and to the Unicode scalar: `é` as one scalar and as two are
/// different, -0.0 and 0.0 are different, a not-a-number equals itself.
///
/// ```swift
/// let value: PropertyListValue = ["name": "Ada", "years": [1815, 1852]]
/// ```
public enum PropertyListValue: Sendable {
  /// Text.
  case string(String)
  /// An integer. Files can contain -2^63 … 2^64 - 1.
  case integer(Int128)
  /// A double, to the bit.
  case real(Double)
  /// True or false.
  case boolean(Bool)
  /// A date. XML property lists hold whole seconds only, see the encoder.
  case date(Date)
  /// Bytes.
  case data(Data)
  /// A list of values.
  case array([PropertyListValue])
  /// Values by key.
  case dictionary(PropertyListDictionary)
  /// A reference inside a keyed archive.
  case uid(UInt64)
}

extension PropertyListValue: Equatable {
  public static func == (one: PropertyListValue, other: PropertyListValue) -> Bool {
    switch (one, other) {
    case (.string(let a), .string(let b)): a.hasSameScalars(as: b)
    case (.integer(let a), .integer(let b)): a == b
    case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
    case (.boolean(let a), .boolean(let b)): a == b
    case (.date(let a), .date(let b)):
      a.timeIntervalSinceReferenceDate.bitPattern == b.timeIntervalSinceReferenceDate.bitPattern
    case (.data(let a), .data(let b)): a == b
    case (.array(let a), .array(let b)): a == b
    case (.dictionary(let a), .dictionary(let b)): a == b
    case (.uid(let a), .uid(let b)): a == b
    default: false
    }
  }
}

extension PropertyListValue {
  /// The text, or nil for another kind of value.
  public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
  /// The integer, or nil for another kind of value and for one that `Int` cannot hold.
  public var integerValue: Int? { if case .integer(let value) = self { Int(exactly: value) } else { nil } }
  /// The boolean, or nil for another kind of value.
  public var booleanValue: Bool? { if case .boolean(let value) = self { value } else { nil } }
  /// The bytes, or nil for another kind of value.
  public var dataValue: Data? { if case .data(let value) = self { value } else { nil } }
  /// The list, or nil for another kind of value.
  public var arrayValue: [PropertyListValue]? { if case .array(let value) = self { value } else { nil } }
  /// The dictionary, or nil for another kind of value.
  public var dictionaryValue: PropertyListDictionary? { if case .dictionary(let value) = self { value } else { nil } }
}

extension PropertyListValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByFloatLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int) { self = .integer(Int128(value)) }
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
  public init(arrayLiteral elements: PropertyListValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, PropertyListValue)...) {
    var dictionary = PropertyListDictionary()
    for (key, value) in elements { dictionary[key] = value }
    self = .dictionary(dictionary)
  }
}

/// The dictionary of a property list: keys are sorted by their UTF-8 bytes and compared by Unicode scalars.
///
/// Swift's own `Dictionary` treats `é` as one scalar and as two as the same key, but a file may contain both.
///
/// ```swift
/// let settings: PropertyListDictionary = ["author": "Ada", "revision": 7]
/// print(settings.keys)
/// ```
public struct PropertyListDictionary: Sendable, Equatable, RandomAccessCollection {
  public struct Element: Sendable, Equatable {
    /// The key.
    public var key: String
    /// The value for that key.
    public var value: PropertyListValue
    public static func == (one: Element, other: Element) -> Bool {
      one.key.hasSameScalars(as: other.key) && one.value == other.value
    }

    package init(key: String, value: PropertyListValue) {
      self.key = key
      self.value = value
    }
  }
  private var elements: [Element] = []

  /// Creates an empty dictionary.
  public init() {}

  /// Makes room for that many entries.
  package mutating func reserveCapacity(_ count: Int) { elements.reserveCapacity(count) }

  /// Creates a dictionary from entries in any order.
  ///
  /// They are sorted first: adding unsorted keys one by one would take quadratic time.
  ///
  /// - Returns: nil, with `duplicate` set to the first duplicate key, if there is one.
  package init?(entries: [Element], duplicate: inout String) {
    // Files are mostly sorted.
    if entries.indices.dropFirst().allSatisfy({ entries[$0 - 1].key.byteOrder(to: entries[$0].key) < 0 }) {
      elements = entries
      return
    }
    let sorted = entries.sorted { $0.key.byteOrder(to: $1.key) < 0 }
    for index in sorted.indices.dropFirst() where sorted[index - 1].key.hasSameScalars(as: sorted[index].key) {
      duplicate = sorted[index].key
      return nil
    }
    elements = sorted
  }

  public var startIndex: Int { elements.startIndex }
  public var endIndex: Int { elements.endIndex }
  public subscript(position: Int) -> Element { elements[position] }
  /// The keys, in the order of their UTF-8 bytes.
  public var keys: [String] { elements.map(\.key) }

  /// The value for a key; setting nil removes it. Lookup is logarithmic; adding a key that is not the last moves those
  /// after it. So a reader adds the keys of a large dictionary in ascending order of their UTF-8 bytes, as a file that
  /// was written from one has them.
  ///
  /// ```swift
  /// var entries = PropertyListDictionary()
  /// entries["revision"] = 7
  /// print(entries["revision"] ?? "none")
  /// ```
  public subscript(key: String) -> PropertyListValue? {
    get {
      let (position, found) = search(key)
      return found ? elements[position].value : nil
    }
    set {
      let (position, found) = search(key)
      switch (found, newValue) {
      case (true, let value?): elements[position].value = value
      case (true, nil): elements.remove(at: position)
      case (false, let value?): elements.insert(Element(key: key, value: value), at: position)
      case (false, nil): break
      }
    }
  }

  /// The position of a key; nil if it is not there.
  package func position(of key: String) -> Int? {
    // Most dictionaries have a few keys of different lengths.
    if elements.count <= 8 { return elements.firstIndex { $0.key.hasSameScalars(as: key) } }
    let (position, found) = search(key)
    return found ? position : nil
  }

  private func search(_ key: String) -> (position: Int, found: Bool) {
    // Files are mostly sorted: try the end first.
    guard let last = elements.last else { return (0, false) }
    let order = last.key.byteOrder(to: key)
    if order <= 0 { return order < 0 ? (elements.count, false) : (elements.count - 1, true) }
    var low = 0
    var high = elements.count - 1
    while low < high {
      let middle = (low + high) / 2
      let order = elements[middle].key.byteOrder(to: key)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }
}

extension PropertyListDictionary: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, PropertyListValue)...) {
    for (key, value) in elements { self[key] = value }
  }
}

public import FoundationEssentials

/// A value as stores hold it. The set of cases is closed: a value that none of them can represent cannot be stored.
///
/// Equality compares values of one type: numbers numerically (`1.10` equals `1.1`, -0.0 equals 0.0, and not-a-number
/// equals itself), strings by Unicode scalars (`é` as one scalar does not equal `é` as two). To compare *data*, which a
/// store must preserve to the bit, use ``isIdentical(to:)``.
///
/// ```swift
/// switch nodes.value(slot: slot.index, of: node) {
/// case .null: print("no value")
/// case .string(let text): print(text)
/// case let value: print(value.kindDescription)
/// }
/// ```
public enum StoredValue: Sendable {
  /// No value.
  case null
  /// A boolean.
  case boolean(Bool)
  /// An integer of any attribute type; the type limits its range.
  case integer(Int64)
  /// A single-precision float.
  case float(Float)
  /// A double-precision float.
  case double(Double)
  /// A decimal number, with its spelling.
  case decimal(DecimalNumber)
  /// Text.
  case string(String)
  /// Binary data, or the bytes of a transformable value, unchanged.
  case data(Data)
  /// A date.
  case date(Date)
  /// A UUID.
  case uuid(UUID)
  /// The original text of a URI: Foundation's URL would change some.
  case uri(String)
  /// The object at the other end of a to-one. A to-one without an object is ``null``.
  // In separate memory: it is twice as large as all other values.
  indirect case toOne(ObjectReference)
  /// The objects of a to-many: in their order if it is ordered, otherwise in ascending order of reference; `[]` if
  /// there are none.
  case toMany([ObjectReference])
}

/// A reference to an object in a relationship: the name of its concrete entity and its reference object.
///
/// ```swift
/// let ada = ObjectReference(entityName: "Person", reference: .integer(1))
/// print(ada)  // Person/1
/// ```
public struct ObjectReference: Hashable, Sendable, CustomStringConvertible {
  /// The name of the object's concrete entity.
  public var entityName: String
  /// The object's reference in its store.
  ///
  /// ```swift
  /// if case .integer(let number) = reference.reference { print(number) }
  /// ```
  public var reference: ReferenceObject

  /// Creates a reference to an object. The object need not exist.
  ///
  /// ```swift
  /// let book = ObjectReference(entityName: "Book", reference: .string("978-3"))
  /// ```
  public init(entityName: String, reference: ReferenceObject) {
    self.entityName = entityName
    self.reference = reference
  }

  public var description: String { "\(entityName)/\(reference)" }
}

/// The identity of an object in a store: permanent, and unique in the hierarchy of the object's entity.
///
/// Strings are compared by their Unicode scalars.
///
/// ```swift
/// let references: [ReferenceObject] = [.integer(7), .string("7")]
/// print(references[0] == references[1])  // false
/// ```
public enum ReferenceObject: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// An integer. By default, the kit assigns integers, starting at 1.
  case integer(Int64)
  /// A string, such as a key value in the file.
  case string(String)

  public static func == (one: ReferenceObject, other: ReferenceObject) -> Bool {
    switch (one, other) {
    case (.integer(let a), .integer(let b)): a == b
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .integer(let value): hasher.combine(value)
    case .string(let text):
      for byte in text.utf8 { hasher.combine(byte) }
      hasher.combine(0xFF as UInt8)
    }
  }

  /// Integers in ascending order, then strings by their UTF-8 bytes.
  public static func < (one: ReferenceObject, other: ReferenceObject) -> Bool {
    switch (one, other) {
    case (.integer(let a), .integer(let b)): a < b
    case (.string(let a), .string(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
    case (.integer, .string): true
    case (.string, .integer): false
    }
  }

  public var description: String {
    switch self {
    case .integer(let value): String(value)
    case .string(let text): text
    }
  }
}

extension StoredValue: Hashable {
  public static func == (one: StoredValue, other: StoredValue) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.boolean(let a), .boolean(let b)): a == b
    case (.integer(let a), .integer(let b)): a == b
    case (.float(let a), .float(let b)): a == b || a.isNaN && b.isNaN
    case (.double(let a), .double(let b)): a == b || a.isNaN && b.isNaN
    case (.decimal(let a), .decimal(let b)): a == b
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.data(let a), .data(let b)): a == b
    case (.date(let a), .date(let b)):
      a.timeIntervalSinceReferenceDate == b.timeIntervalSinceReferenceDate
        || a.timeIntervalSinceReferenceDate.isNaN && b.timeIntervalSinceReferenceDate.isNaN
    case (.uuid(let a), .uuid(let b)): a == b
    case (.uri(let a), .uri(let b)): a.utf8.elementsEqual(b.utf8)
    case (.toOne(let a), .toOne(let b)): a == b
    case (.toMany(let a), .toMany(let b)): a == b
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .boolean(let flag): hasher.combine(flag)
    case .integer(let number): hasher.combine(number)
    case .float(let number): hasher.combine(number.isNaN ? .nan : number)
    case .double(let number): hasher.combine(number.isNaN ? .nan : number)
    case .decimal(let number): hasher.combine(number)
    case .string(let text), .uri(let text): hasher.combine(ScalarString(text))
    case .data(let data): hasher.combine(data)
    case .date(let date):
      let seconds = date.timeIntervalSinceReferenceDate
      hasher.combine(seconds.isNaN ? .nan : seconds)
    case .uuid(let uuid): hasher.combine(uuid)
    case .toOne(let reference): hasher.combine(reference)
    case .toMany(let references): hasher.combine(references)
    }
  }
}

extension StoredValue {
  /// Whether both values are the same to the bit and the Unicode scalar: `1.10` is not `1.1`, -0.0 is not 0.0, and
  /// not-a-number is identical if the bits are equal. Use it to find out whether a store preserved a value, or whether
  /// an object changed.
  public func isIdentical(to other: StoredValue) -> Bool {
    switch (self, other) {
    case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.decimal(let a), .decimal(let b)): a.isIdentical(to: b)
    case (.date(let a), .date(let b)):
      a.timeIntervalSinceReferenceDate.bitPattern == b.timeIntervalSinceReferenceDate.bitPattern
    default: self == other
    }
  }

  /// Whether this is ``null``. An empty to-many is not.
  ///
  /// ```swift
  /// let missing = nodes.handles(of: entity.index).filter { nodes.value(slot: slot.index, of: $0).isNull }
  /// ```
  public var isNull: Bool { if case .null = self { true } else { false } }

  /// The type of the value for messages, such as "a string", "an integer".
  public var kindDescription: String {
    switch self {
    case .null: "null"
    case .boolean: "a boolean"
    case .integer: "an integer"
    case .float: "a float"
    case .double: "a double"
    case .decimal: "a decimal"
    case .string: "a string"
    case .data: "binary data"
    case .date: "a date"
    case .uuid: "a UUID"
    case .uri: "a URI"
    case .toOne: "a to-one reference"
    case .toMany: "a to-many reference list"
    }
  }
}

public import FoundationEssentials

/// A value as stores hold it. Closed: what no case fits, no store can hold.
///
/// Equality is that of values of one kind: numbers are equal by number (`1.10` equals `1.1`, -0.0 equals 0.0, and
/// not-a-number equals itself), texts by Unicode scalars (`é` in one scalar is not `é` in two). Whether two are the
/// same *data*, which a store must keep to the bit, ``isIdentical(to:)`` says.
public enum StoredValue: Sendable {
  /// No value.
  case null
  /// A boolean.
  case boolean(Bool)
  /// Of any integer attribute; its type bounds the range.
  case integer(Int64)
  /// A single-precision float.
  case float(Float)
  /// A double-precision float.
  case double(Double)
  /// A decimal number, with its spelling.
  case decimal(DecimalNumber)
  /// Text.
  case string(String)
  /// Binary data, or a transformable's archived bytes, untouched.
  case data(Data)
  /// A date.
  case date(Date)
  /// A UUID.
  case uuid(UUID)
  /// The URI's text as it was given: Foundation's URL would rewrite some.
  case uri(String)
  /// The object at the other end of a to-one. One without an object is ``null``.
  case toOne(ObjectReference)
  /// The objects of a to-many, in their sequence if it is ordered, otherwise ascending by reference; `[]`
  /// where there are none.
  case toMany([ObjectReference])
}

/// An object as a relationship names it: its concrete entity's name and its reference object.
public struct ObjectReference: Hashable, Sendable, CustomStringConvertible {
  /// The name of the object's concrete entity.
  public var entityName: String
  /// What the store knows the object by.
  public var reference: ReferenceObject

  /// Creates a reference to an object, which need not exist.
  public init(entityName: String, reference: ReferenceObject) {
    self.entityName = entityName
    self.reference = reference
  }

  public var description: String { "\(entityName)/\(reference)" }
}

/// What a store knows an object by: stable, and unique within the hierarchy of the object's entity.
///
/// Strings are told apart by their Unicode scalars.
public enum ReferenceObject: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// An integer, which is what the kit hands out by default: from 1 upwards.
  case integer(Int64)
  /// Text, such as a key value of the file's own.
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

  /// Integers ascending, then strings by their UTF-8 bytes.
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
  /// Whether both are the same to the bit and the Unicode scalar: `1.10` is not `1.1`, -0.0 is not 0.0, and a
  /// not-a-number is one with the same bits. What asks whether a store kept a value, or whether an object changed, asks
  /// this.
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
  public var isNull: Bool { if case .null = self { true } else { false } }

  /// What the value is, for messages: "a string", "an integer".
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

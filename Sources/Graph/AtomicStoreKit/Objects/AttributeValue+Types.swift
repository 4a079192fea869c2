public import AtomicStoreSPI
public import FoundationEssentials
import StorePredicates

// The types of attributes. A number is read as any type that has an equal one, as it is set. Those that are read most
// look into the columns directly: see ``ManagedObject/cell(_:_:)``.

extension String: AttributeValue {
  public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> String? {
    if let (cells, cell) = object.cell(key, .text) { return cells.text(cell.index, of: object.node) }
    return object.attributeValue(key)
  }
  public init?(atomicStoreValue stored: StoredValue) {
    switch stored {
    case .string(let text), .uri(let text): self = text
    default: return nil
    }
  }
  public var atomicStoreValue: StoredValue { .string(self) }
  @inlinable public static var atomicStoreValueForNull: String { "" }
}
extension Bool: AttributeValue {
  public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Bool? {
    if let (cells, cell) = object.cell(key, .boolean) { return cells.boolean(cell.index, of: object.node) }
    return object.attributeValue(key)
  }
  public init?(atomicStoreValue stored: StoredValue) {
    guard case .boolean(let flag) = stored else { return nil }
    self = flag
  }
  public var atomicStoreValue: StoredValue { .boolean(self) }
  @inlinable public static var atomicStoreValueForNull: Bool { false }
}
extension AttributeValue where Self: FixedWidthInteger {
  @inlinable public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Self? {
    guard let number = Int64.atomicStoreReadInteger(object, key) else { return nil }
    return Self(exactly: number)
  }
  public init?(atomicStoreValue stored: StoredValue) {
    guard case .integer(let number)? = ValueConversion.taken(stored, by: .integer64) else { return nil }
    self.init(exactly: number)
  }
  public var atomicStoreValue: StoredValue { .integer(Int64(clamping: self)) }
  @inlinable public static var atomicStoreValueForNull: Self { 0 }
}
extension Int64 {
  /// The value of an integer property of any width.
  @usableFromInline static func atomicStoreReadInteger(_ object: ManagedObject, _ key: ManagedKey) -> Int64? {
    if let (cells, cell) = object.cell(key, .integer) { return cells.integer(cell.index, of: object.node) }
    return object.attributeValue(key)
  }
}
extension Int: AttributeValue {}
extension Int16: AttributeValue {}
extension Int32: AttributeValue {}
extension Int64: AttributeValue {}
extension Double: AttributeValue {
  public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Double? {
    if let (cells, cell) = object.cell(key, .double) { return cells.double(cell.index, of: object.node) }
    return object.attributeValue(key)
  }
  public init?(atomicStoreValue stored: StoredValue) {
    guard case .double(let number)? = ValueConversion.taken(stored, by: .double) else { return nil }
    self = number
  }
  public var atomicStoreValue: StoredValue { .double(self) }
  @inlinable public static var atomicStoreValueForNull: Double { 0 }
}
extension Float: AttributeValue {
  public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Float? {
    if let (cells, cell) = object.cell(key, .float) { return cells.float(cell.index, of: object.node) }
    return object.attributeValue(key)
  }
  public init?(atomicStoreValue stored: StoredValue) {
    guard case .float(let number)? = ValueConversion.taken(stored, by: .float) else { return nil }
    self = number
  }
  public var atomicStoreValue: StoredValue { .float(self) }
  @inlinable public static var atomicStoreValueForNull: Float { 0 }
}
extension DecimalNumber: AttributeValue {
  public init?(atomicStoreValue stored: StoredValue) {
    guard case .decimal(let number)? = ValueConversion.taken(stored, by: .decimal) else { return nil }
    self = number
  }
  public var atomicStoreValue: StoredValue { .decimal(self) }
  public static var atomicStoreValueForNull: DecimalNumber { DecimalNumber(0) }
}
extension DecimalNumber: Comparable, ExpressibleByIntegerLiteral {
  public init(integerLiteral number: Int64) { self.init(number) }
  /// Compares the values. Not-a-number is less than every other number.
  public static func < (one: DecimalNumber, other: DecimalNumber) -> Bool { one.isLess(than: other) }
}
/// Foundation's decimals hold the same numbers, but not how they are written: 1.10 may become 1.1.
extension Decimal: AttributeValue {
  public init?(atomicStoreValue stored: StoredValue) {
    guard case .decimal(let number)? = ValueConversion.taken(stored, by: .decimal),
      let digits = Decimal(string: "\(number.mantissa)")
    else { return nil }
    let sign: FloatingPointSign = number.isNegative ? .minus : .plus
    self = number.isNaN ? .nan : Decimal(sign: sign, exponent: Int(number.exponent), significand: digits)
    if isNaN, !number.isNaN { return nil }
  }
  public var atomicStoreValue: StoredValue {
    // The digits of a number have 128 bits, and its exponent has eight.
    guard !isNaN, let mantissa = UInt128("\(significand)"), let exponent = Int8(exactly: exponent) else {
      return .decimal(.nan)
    }
    return .decimal(DecimalNumber(mantissa: mantissa, exponent: exponent, isNegative: isSignMinus))
  }
  public static var atomicStoreValueForNull: Decimal { 0 }
}
extension Date: AttributeValue {
  public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Date? {
    if let (cells, cell) = object.cell(key, .date) {
      return cells.double(cell.index, of: object.node).map { Date(timeIntervalSinceReferenceDate: $0) }
    }
    return object.attributeValue(key)
  }
  public init?(atomicStoreValue stored: StoredValue) {
    guard case .date(let date) = stored else { return nil }
    self = date
  }
  public var atomicStoreValue: StoredValue { .date(self) }
  /// The reference date, 2001-01-01T00:00:00Z.
  public static var atomicStoreValueForNull: Date { Date(timeIntervalSinceReferenceDate: 0) }
}
extension Data: AttributeValue {
  public init?(atomicStoreValue stored: StoredValue) {
    guard case .data(let data) = stored else { return nil }
    self = data
  }
  public var atomicStoreValue: StoredValue { .data(self) }
  public static var atomicStoreValueForNull: Data { Data() }
}
extension UUID: AttributeValue {
  public init?(atomicStoreValue stored: StoredValue) {
    guard case .uuid(let uuid) = stored else { return nil }
    self = uuid
  }
  public var atomicStoreValue: StoredValue { .uuid(self) }
  /// All zeros.
  public static var atomicStoreValueForNull: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
}
extension URL: OptionalManagedPropertyValue {
  public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> URL? {
    let text = String.atomicStoreReadOptional(object, key)
    object.extras?.probe?.note(Self.self)
    return text.flatMap { URL(string: $0) }
  }
  public static func atomicStoreWriteOptional(_ value: URL?, _ object: ManagedObject, _ key: ManagedKey) {
    guard let p = key.property(of: object) else { return }
    do throws(ManagedObjectError) { try object.setValue(value, at: p) } catch { object.refuse(error) }
  }
}

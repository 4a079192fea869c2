import FoundationEssentials

/// A type whose values stand for values of a store. `AttributeValue` of AtomicStoreKit refines it.
///
/// Its values can be used wherever a value is expected: in `setValue(_:forKey:)`, in batches, and as arguments of
/// predicates. So can those of any enumeration with a raw value.
public protocol StoredValueRepresentable {
  /// The value as stores hold it.
  var atomicStoreValue: StoredValue { get }
}

extension StoredValue {
  /// The value as `value(forKey:)` returns it: `Int` for integers of any width, `String`, `Bool`, `Double`, `Float`,
  /// `DecimalNumber`, `Date`, `Data`, `UUID`, and for a URI `URL`, or its text if Foundation would change it.
  public var anyValue: Any? {
    switch self {
    case .null, .toOne, .toMany: nil
    case .boolean(let flag): flag
    case .integer(let number): Int(number)
    case .float(let number): number
    case .double(let number): number
    case .decimal(let number): number
    case .string(let text): text
    case .data(let data): data
    case .date(let date): date
    case .uuid(let uuid): uuid
    case .uri(let text):
      if let url = URL(string: text), url.absoluteString.utf8.elementsEqual(text.utf8) { url } else { text }
    }
  }

  /// Converts a caller's value to an attribute's type; nil if the type does not accept it. Conversions are lossless: an
  /// integer must be in range, a number for a Double must be exactly representable.
  package init?(any value: Any?, type: AttributeType) {
    if let value, let usual = StoredValue(usual: value), type.accepts(usual) {
      self = usual
      return
    }
    guard let value = Self.unwrapped(value) else {
      self = .null
      return
    }
    if let stored = value as? StoredValue {
      guard type.accepts(stored) else { return nil }
      self = stored
      return
    }
    if let converted = Self(value, as: type) {
      self = converted
    } else if let represented = Self.represented(value) {
      self.init(any: represented, type: type)
    } else {
      return nil
    }
  }

  private init?(_ value: Any, as type: AttributeType) {
    switch type.valueKind {
    case .integer:
      guard !(value is Bool), let number = Self.integer(value) else { return nil }
      self = .integer(number)
      guard type.accepts(self) else { return nil }
    case .boolean:
      guard let flag = value as? Bool else { return nil }
      self = .boolean(flag)
    case .double:
      guard let number = Self.double(value) else { return nil }
      self = .double(number)
    case .float:
      guard let number = Self.float(value) else { return nil }
      self = .float(number)
    case .decimal:
      guard let number = Self.decimal(value) else { return nil }
      self = .decimal(number)
    case .string:
      guard let text = value as? String else { return nil }
      self = .string(text)
    case .date:
      guard let date = value as? Date else { return nil }
      self = .date(date)
    case .data:
      if let data = value as? Data {
        self = .data(data)
      } else if let bytes = value as? [UInt8] {
        self = .data(Data(bytes))
      } else {
        return nil
      }
    case .uuid:
      guard let uuid = value as? UUID else { return nil }
      self = .uuid(uuid)
    case .uri:
      guard let text = (value as? URL)?.absoluteString ?? value as? String else { return nil }
      self = .uri(text)
    case .undefined where type == .undefined:
      guard let guess = Self(guessing: value) else { return nil }
      self = guess
    case .undefined, .toOne, .toMany: return nil
    }
  }

  /// Converts a value by its own type, for attributes that have none.
  package init?(guessing value: Any) {
    if let usual = StoredValue(usual: value) {
      self = usual
    } else if let plain = StoredValue(plain: value) {
      self = plain
    } else if let represented = Self.represented(value) {
      self.init(guessing: represented)
    } else {
      return nil
    }
  }

  /// The value that a value of another type is stored as: an enumeration's raw value, or what a
  /// ``StoredValueRepresentable`` says. Nil if it is not represented by another value.
  private static func represented(_ value: Any) -> Any? {
    guard StoredValue(plain: value) == nil else { return nil }
    if type(of: value) == AnyHashable.self, let boxed = value as? AnyHashable { return represented(boxed.base) }
    if let value = value as? any StoredValueRepresentable { return value.atomicStoreValue.anyValue }
    guard let value = value as? any RawRepresentable, let raw = rawValue(of: value), type(of: raw) != type(of: value)
    else { return nil }
    return raw
  }

  private static func rawValue(of value: some RawRepresentable) -> Any? { unwrapped(value.rawValue) }

  private init?(plain value: Any) {
    switch value {
    case let flag as Bool: self = .boolean(flag)
    case let number as Double: self = .double(number)
    case let number as Float: self = .float(number)
    case let number as DecimalNumber: self = .decimal(number)
    case let text as String: self = .string(text)
    case let data as Data: self = .data(data)
    case let date as Date: self = .date(date)
    case let uuid as UUID: self = .uuid(uuid)
    case let url as URL: self = .uri(url.absoluteString)
    default:
      guard let number = Self.integer(value) else { return nil }
      self = .integer(number)
    }
  }

  /// The value of the types that programs use most, found by comparing types: a cast takes many times as long. Nil for
  /// all others.
  package init?(usual value: Any) {
    let type = type(of: value)
    if type == Int.self, let number = value as? Int {
      self = .integer(Int64(number))
    } else if type == String.self, let text = value as? String {
      self = .string(text)
    } else if type == Double.self, let number = value as? Double {
      self = .double(number)
    } else if type == Bool.self, let flag = value as? Bool {
      self = .boolean(flag)
    } else {
      return nil
    }
  }

  private static func integer(_ value: Any) -> Int64? {
    switch value {
    case let number as Int: Int64(number)
    case let number as any BinaryInteger: Int64(exactly: number)
    default: nil
    }
  }

  private static func double(_ value: Any) -> Double? {
    if let number = value as? Double { return number }
    if let number = value as? Float { return Double(number) }
    return value is Bool ? nil : integer(value).flatMap { Double(exactly: $0) }
  }

  private static func float(_ value: Any) -> Float? {
    if let number = value as? Float { return number }
    if let number = value as? Double, let exact = exactFloat(number) { return exact }
    return value is Bool ? nil : integer(value).flatMap { Float(exactly: $0) }
  }

  private static func decimal(_ value: Any) -> DecimalNumber? {
    if let number = value as? DecimalNumber { return number }
    if let number = value as? Decimal, let exact = DecimalNumber("\(number)") { return exact }
    return value is Bool ? nil : integer(value).map { DecimalNumber($0) }
  }

  private static func exactFloat(_ number: Double) -> Float? {
    let single = Float(number)
    return Double(single).bitPattern == number.bitPattern || number.isNaN ? single : nil
  }

  /// The value wrapped in any number of optionals.
  package static func unwrapped(_ value: Any?) -> Any? {
    guard let value else { return nil }
    guard let nested = value as? any NestedOptional else { return value }
    return unwrapped(nested.content)
  }

  /// For messages: short, on one line.
  package var displayText: String {
    switch self {
    case .null: "nil"
    case .boolean(let flag): flag ? "true" : "false"
    case .integer(let number): "\(number)"
    case .float(let number): "\(number)"
    case .double(let number): "\(number)"
    case .decimal(let number): number.description
    case .string(let text): text.count > 60 ? "'\(text.prefix(57))…'" : "'\(text)'"
    case .data(let data): "\(data.count) bytes"
    // Not Date's own description, which traps for dates far from today.
    case .date(let date): "\(date.timeIntervalSinceReferenceDate) s since 2001"
    case .uuid(let uuid): uuid.uuidString
    case .uri(let text): text
    case .toOne(let reference): "\(reference)"
    case .toMany(let references): "\(references.count) objects"
    }
  }
}

private protocol NestedOptional { var content: Any? { get } }
extension Optional: NestedOptional { fileprivate var content: Any? { self.map { $0 as Any } } }

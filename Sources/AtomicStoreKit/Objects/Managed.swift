public import AtomicStoreSPI
public import FoundationEssentials

/// A property wrapper for properties of a ``ManagedObject`` subclass that access a property of its entity.
///
/// ```swift
/// final class Employee: ManagedObject {
///   @Managed("name") var name: String
///   @Managed("salary") var salary: DecimalNumber?
///   @Managed("department") var department: Department?
///   @Managed("projects") var projects: Set<Project>
/// }
/// ```
///
/// Properties cannot throw: an unavailable object reads as nil, zero or empty, and so does null if the type is not
/// optional; the error is stored in ``ManagedObject/accessError``. A refused assignment makes the next save fail.
@propertyWrapper
public struct Managed<Value: ManagedPropertyValue> {
  // A literal has static lifetime; its address is all that each object stores for each property.
  private let key: UnsafePointer<UInt8>
  private let count: Int32

  /// - Parameter key: The property's name in the model.
  public init(_ key: StaticString) {
    self.key = key.utf8Start
    count = Int32(truncatingIfNeeded: key.utf8CodeUnitCount)
  }

  // Property wrappers must have this property. In subclasses of ManagedObject the static subscript below is used
  // instead, and elsewhere the attribute makes the compiler refuse every use. Code that reaches it anyway would access
  // an object without such a property, which reads as null and refuses assignments.
  @available(*, unavailable, message: "only properties of ManagedObject subclasses are managed")
  public var wrappedValue: Value {
    get { Value.read(.standIn(), ManagedKey(key: key, count: Int(count))) }
    set { Value.write(newValue, .standIn(), ManagedKey(key: key, count: Int(count))) }
  }

  public static subscript<Object: ManagedObject>(
    _enclosingInstance object: Object, wrapped wrapped: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, Managed<Value>>
  ) -> Value {
    get {
      if object.flags.contains(.probing) { object.needExtras().probed = wrapped }
      let place = object[keyPath: storage]
      return Value.read(object, ManagedKey(key: place.key, count: Int(place.count)))
    }
    set {
      let place = object[keyPath: storage]
      Value.write(newValue, object, ManagedKey(key: place.key, count: Int(place.count)))
    }
  }
}

/// The name of a property, as ``Managed`` stores it.
public struct ManagedKey {
  let key: UnsafePointer<UInt8>
  let count: Int

  var text: String { String(decoding: UnsafeBufferPointer(start: key, count: count), as: UTF8.self) }

  /// The number of the property; nil if the entity has no property of that name, which is then recorded as an error.
  func property(of object: ManagedObject) -> Int? {
    if let p = object.plan.property(named: key, count: count) { return p }
    do throws(ManagedObjectError) { _ = try object.number(of: text) } catch { object.refuse(error) }
    return nil
  }
}

/// A type that a ``Managed`` property can have: attribute values and objects, optional or not, sets and lists of
/// objects. Do not conform your own types to it: conform them to ``AttributeValue``.
public protocol ManagedPropertyValue {
  /// Reads the property of an object. Called by ``Managed``.
  static func read(_ object: ManagedObject, _ key: ManagedKey) -> Self
  /// Sets the property of an object. Called by ``Managed``; an error is recorded and thrown by the next save.
  static func write(_ value: Self, _ object: ManagedObject, _ key: ManagedKey)
}

/// A type whose optional a ``Managed`` property can have.
public protocol OptionalManagedPropertyValue {
  /// Reads the property of an object; nil for null, and if the value is not of this type.
  static func readOptional(_ object: ManagedObject, _ key: ManagedKey) -> Self?
  /// Sets the property of an object; nil for null.
  static func writeOptional(_ value: Self?, _ object: ManagedObject, _ key: ManagedKey)
}

/// A type that attributes can be read as. Conform your own types to it, such as enumerations with raw values.
public protocol AttributeValue: ManagedPropertyValue, OptionalManagedPropertyValue {
  /// Returns nil if the stored value cannot be represented.
  init?(_ stored: StoredValue)
  /// The value as stores hold it.
  var stored: StoredValue { get }
  /// The value of a property that is not optional if the stored value is null.
  static var valueForNull: Self { get }
}

extension AttributeValue {
  public static func readOptional(_ object: ManagedObject, _ key: ManagedKey) -> Self? {
    guard let p = key.property(of: object), object.isReadable() else { return nil }
    return Self(object.storedValue(p))
  }
  public static func writeOptional(_ value: Self?, _ object: ManagedObject, _ key: ManagedKey) {
    guard let p = key.property(of: object) else { return }
    do throws(ManagedObjectError) {
      let property = object.plan.properties[p]
      let stored = value?.stored ?? .null
      // Read the slot directly if no conversion is needed.
      if case .attribute(let type) = property.kind, property.slot >= 0, type.accepts(stored) {
        try object.setStoredValue(p, stored)
      } else {
        try object.setValue(stored.anyValue, at: p)
      }
    } catch {
      object.refuse(error)
    }
  }
  public static func read(_ object: ManagedObject, _ key: ManagedKey) -> Self {
    readOptional(object, key) ?? valueForNull
  }
  public static func write(_ value: Self, _ object: ManagedObject, _ key: ManagedKey) {
    writeOptional(value, object, key)
  }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
  public init?(_ stored: StoredValue) {
    guard let raw = RawValue(stored) else { return nil }
    self.init(rawValue: raw)
  }
  public var stored: StoredValue { rawValue.stored }
}

extension Optional: ManagedPropertyValue where Wrapped: OptionalManagedPropertyValue {
  public static func read(_ object: ManagedObject, _ key: ManagedKey) -> Wrapped? { Wrapped.readOptional(object, key) }
  public static func write(_ value: Wrapped?, _ object: ManagedObject, _ key: ManagedKey) {
    Wrapped.writeOptional(value, object, key)
  }
}

extension ManagedObject: OptionalManagedPropertyValue {
  public static func readOptional(_ object: ManagedObject, _ key: ManagedKey) -> Self? {
    guard let p = key.property(of: object), object.isReadable(), object.plan.properties[p].kind == .toOne else {
      return nil
    }
    return object.toOneObject(p) as? Self
  }
  public static func writeOptional(_ value: ManagedObject?, _ object: ManagedObject, _ key: ManagedKey) {
    guard let p = key.property(of: object) else { return }
    do throws(ManagedObjectError) {
      if object.plan.properties[p].kind == .toOne {
        try object.realize()
        try object.setToOne(p, value)
      } else {
        try object.setValue(value, at: p)
      }
    } catch {
      object.refuse(error)
    }
  }
}

extension Set: ManagedPropertyValue where Element: ManagedObject {
  public static func read(_ object: ManagedObject, _ key: ManagedKey) -> Set<Element> {
    Set([Element].read(object, key))
  }
  public static func write(_ value: Set<Element>, _ object: ManagedObject, _ key: ManagedKey) {
    [Element].write(value.sorted(by: ManagedObject.precedes), object, key)
  }
}

extension Array: ManagedPropertyValue where Element: ManagedObject {
  public static func read(_ object: ManagedObject, _ key: ManagedKey) -> [Element] {
    guard let p = key.property(of: object), object.isReadable() else { return [] }
    switch object.plan.properties[p].kind {
    case .toMany, .orderedToMany: return object.toManyObjects(p).compactMap { $0 as? Element }
    case .fetched:
      do throws(ManagedObjectError) { return try object.fetchedObjects(p).compactMap { $0 as? Element } } catch {
        object.record(error)
        return []
      }
    default: return []
    }
  }
  public static func write(_ value: [Element], _ object: ManagedObject, _ key: ManagedKey) {
    guard let p = key.property(of: object) else { return }
    do throws(ManagedObjectError) { try object.setValue(value as [ManagedObject], at: p) } catch {
      object.refuse(error)
    }
  }
}

// MARK: - Attribute types

extension String: AttributeValue {
  public init?(_ stored: StoredValue) {
    switch stored {
    case .string(let text), .uri(let text): self = text
    default: return nil
    }
  }
  public var stored: StoredValue { .string(self) }
  public static var valueForNull: String { "" }
}
extension Bool: AttributeValue {
  public init?(_ stored: StoredValue) {
    guard case .boolean(let flag) = stored else { return nil }
    self = flag
  }
  public var stored: StoredValue { .boolean(self) }
  public static var valueForNull: Bool { false }
}
extension AttributeValue where Self: FixedWidthInteger {
  public init?(_ stored: StoredValue) {
    guard case .integer(let number) = stored else { return nil }
    self.init(exactly: number)
  }
  public var stored: StoredValue { .integer(Int64(clamping: self)) }
  public static var valueForNull: Self { 0 }
}
extension Int: AttributeValue {}
extension Int16: AttributeValue {}
extension Int32: AttributeValue {}
extension Int64: AttributeValue {}
extension Double: AttributeValue {
  public init?(_ stored: StoredValue) {
    switch stored {
    case .double(let number): self = number
    case .float(let number): self = Double(number)
    default: return nil
    }
  }
  public var stored: StoredValue { .double(self) }
  public static var valueForNull: Double { 0 }
}
extension Float: AttributeValue {
  public init?(_ stored: StoredValue) {
    guard case .float(let number) = stored else { return nil }
    self = number
  }
  public var stored: StoredValue { .float(self) }
  public static var valueForNull: Float { 0 }
}
extension DecimalNumber: AttributeValue {
  public init?(_ stored: StoredValue) {
    guard case .decimal(let number) = stored else { return nil }
    self = number
  }
  public var stored: StoredValue { .decimal(self) }
  public static var valueForNull: DecimalNumber { DecimalNumber(0) }
}
extension Date: AttributeValue {
  public init?(_ stored: StoredValue) {
    guard case .date(let date) = stored else { return nil }
    self = date
  }
  public var stored: StoredValue { .date(self) }
  /// The reference date, 2001-01-01T00:00:00Z.
  public static var valueForNull: Date { Date(timeIntervalSinceReferenceDate: 0) }
}
extension Data: AttributeValue {
  public init?(_ stored: StoredValue) {
    guard case .data(let data) = stored else { return nil }
    self = data
  }
  public var stored: StoredValue { .data(self) }
  public static var valueForNull: Data { Data() }
}
extension UUID: AttributeValue {
  public init?(_ stored: StoredValue) {
    guard case .uuid(let uuid) = stored else { return nil }
    self = uuid
  }
  public var stored: StoredValue { .uuid(self) }
  /// All zeros.
  public static var valueForNull: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
}
extension URL: OptionalManagedPropertyValue {
  public static func readOptional(_ object: ManagedObject, _ key: ManagedKey) -> URL? {
    String.readOptional(object, key).flatMap { URL(string: $0) }
  }
  public static func writeOptional(_ value: URL?, _ object: ManagedObject, _ key: ManagedKey) {
    guard let p = key.property(of: object) else { return }
    do throws(ManagedObjectError) { try object.setValue(value, at: p) } catch { object.refuse(error) }
  }
}

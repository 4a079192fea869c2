public import AtomicStoreSPI

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
///
/// In a module with its own type that is called `Managed`, write `@AtomicStoreKit.Managed("name")`.
@propertyWrapper
@frozen
public struct Managed<Value: ManagedPropertyValue> {
  // A literal has static lifetime; its address is all that each object stores for each property.
  @usableFromInline let key: UnsafePointer<UInt8>
  @usableFromInline let count: Int32

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
    get { Value.atomicStoreRead(.standIn(), ManagedKey(key: key, count: Int(count))) }
    set { Value.atomicStoreWrite(newValue, .standIn(), ManagedKey(key: key, count: Int(count))) }
  }

  // Inlined, so that reading does not go through key paths, which would cost more than the read: the storage is then
  // read directly, and the other key path is not created.
  public static subscript<Object: ManagedObject>(
    _enclosingInstance object: Object, wrapped wrapped: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, Managed<Value>>
  ) -> Value {
    @inlinable get {
      let place = object[keyPath: storage]
      return Value.atomicStoreRead(object, ManagedKey(key: place.key, count: Int(place.count)))
    }
    set {
      let place = object[keyPath: storage]
      Value.atomicStoreWrite(newValue, object, ManagedKey(key: place.key, count: Int(place.count)))
    }
  }
}

extension ManagedObject {
  /// The property that ``Managed`` would access, for classes in which its name cannot be used:
  /// `@Managed("cars") var cars` also declares `_cars`, as every property wrapper does.
  ///
  /// ```swift
  /// private var _cars: [Car] = []
  /// var cars: Set<Car> {
  ///   get { self[managed: "cars"] }
  ///   set { self[managed: "cars"] = newValue }
  /// }
  /// ```
  ///
  /// It reads and writes in the same way, and key paths in requests recognize it.
  public final subscript<Value: ManagedPropertyValue>(managed key: StaticString) -> Value {
    get { Value.atomicStoreRead(self, ManagedKey(key: key.utf8Start, count: key.utf8CodeUnitCount)) }
    set { Value.atomicStoreWrite(newValue, self, ManagedKey(key: key.utf8Start, count: key.utf8CodeUnitCount)) }
  }
}

/// The name of a property, as ``Managed`` stores it.
@frozen
public struct ManagedKey {
  @usableFromInline let key: UnsafePointer<UInt8>
  @usableFromInline let count: Int

  @inlinable init(key: UnsafePointer<UInt8>, count: Int) {
    self.key = key
    self.count = count
  }

  var text: String { String(decoding: UnsafeBufferPointer(start: key, count: count), as: UTF8.self) }

  /// The number of the property; nil if the entity has no property of that name, which is then recorded as an error,
  /// and if only the access is to be recorded.
  func property(of object: ManagedObject) -> Int? {
    if let p = object.plan.property(literal: key, count: count) { return p }
    if let probe = object.extras?.probe {
      probe.note(PropertyProbe.Read(owner: object, name: UnsafeBufferPointer(start: key, count: count)))
      return nil
    }
    do throws(ManagedObjectError) { _ = try object.number(of: text) } catch { object.refuse(error) }
    return nil
  }
}

/// What can be the type of a ``Managed`` property: attribute values and objects, optional or not, sets and lists of
/// objects. Do not adopt it: adopt ``AttributeValue`` for your own types.
///
/// Types of the standard library conform to it, so the names of its members begin with `atomicStore`: they cannot be
/// the same as those of members that a program adds to these types.
public protocol ManagedPropertyValue {
  /// Reads the property of an object. Called by ``Managed``.
  static func atomicStoreRead(_ object: ManagedObject, _ key: ManagedKey) -> Self
  /// Sets the property of an object. Called by ``Managed``; an error is recorded and thrown by the next save.
  static func atomicStoreWrite(_ value: Self, _ object: ManagedObject, _ key: ManagedKey)
}

/// What the type of an optional ``Managed`` property can wrap. Do not adopt it: adopt ``AttributeValue``.
public protocol OptionalManagedPropertyValue {
  /// Reads the property of an object; nil for null, and if the value is not of this type.
  static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Self?
  /// Sets the property of an object; nil for null.
  static func atomicStoreWriteOptional(_ value: Self?, _ object: ManagedObject, _ key: ManagedKey)
}

/// The type of a property that key paths in requests compare and sort by: attribute values and objects, optional or
/// not. Do not adopt it: adopt ``AttributeValue``.
public protocol ComparablePropertyValue {
  /// The type without the optional.
  associatedtype AtomicStoreOperand: OptionalManagedPropertyValue
}

/// The type of a property that leads to several objects. Do not adopt it.
public protocol ToManyPropertyValue {
  /// The class of the objects.
  associatedtype AtomicStoreElement: ManagedObject
}

/// A type that attributes are read as. Adopt it for your own, such as enumerations with raw values, for which one
/// requirement is left:
///
/// ```swift
/// enum Level: Int, AttributeValue {
///   case low, high
///   static var atomicStoreValueForNull: Level { .low }
/// }
/// ```
///
/// Its values can also be passed to `setValue(_:forKey:)`, to batches, and as arguments of predicates.
public protocol AttributeValue: ManagedPropertyValue, OptionalManagedPropertyValue, ComparablePropertyValue,
  StoredValueRepresentable
where AtomicStoreOperand == Self {
  /// Creates a value from what a store has; nil if that is not a value of this type.
  init?(atomicStoreValue stored: StoredValue)
  /// What a property that is not optional returns for null.
  static var atomicStoreValueForNull: Self { get }
}

extension AttributeValue {
  public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Self? {
    object.attributeValue(key)
  }
  public static func atomicStoreWriteOptional(_ value: Self?, _ object: ManagedObject, _ key: ManagedKey) {
    guard let p = key.property(of: object) else { return }
    do throws(ManagedObjectError) {
      let property = object.plan.properties[p]
      let stored = value?.atomicStoreValue ?? .null
      // Set the value directly if no conversion is needed.
      if case .attribute(let type) = property.kind, !property.holdsAnyValue, type.accepts(stored) {
        try object.setStoredValue(p, stored)
      } else {
        try object.setValue(stored.anyValue, at: p)
      }
    } catch {
      object.refuse(error)
    }
  }
  @inlinable public static func atomicStoreRead(_ object: ManagedObject, _ key: ManagedKey) -> Self {
    atomicStoreReadOptional(object, key) ?? atomicStoreValueForNull
  }
  public static func atomicStoreWrite(_ value: Self, _ object: ManagedObject, _ key: ManagedKey) {
    atomicStoreWriteOptional(value, object, key)
  }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
  @inlinable public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Self? {
    guard let raw = RawValue.atomicStoreReadOptional(object, key) else { return nil }
    return Self(rawValue: raw)
  }
  public init?(atomicStoreValue stored: StoredValue) {
    guard let raw = RawValue(atomicStoreValue: stored) else { return nil }
    self.init(rawValue: raw)
  }
  public var atomicStoreValue: StoredValue { rawValue.atomicStoreValue }
}

extension Optional: ComparablePropertyValue where Wrapped: OptionalManagedPropertyValue {
  public typealias AtomicStoreOperand = Wrapped
}
extension Optional: ToManyPropertyValue where Wrapped: ToManyPropertyValue {
  public typealias AtomicStoreElement = Wrapped.AtomicStoreElement
}

extension Optional: ManagedPropertyValue where Wrapped: OptionalManagedPropertyValue {
  @inlinable public static func atomicStoreRead(_ object: ManagedObject, _ key: ManagedKey) -> Wrapped? {
    Wrapped.atomicStoreReadOptional(object, key)
  }
  public static func atomicStoreWrite(_ value: Wrapped?, _ object: ManagedObject, _ key: ManagedKey) {
    Wrapped.atomicStoreWriteOptional(value, object, key)
  }
}

extension ManagedObject: OptionalManagedPropertyValue {
  public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Self? {
    if let (cells, cell) = object.cell(key, .toOne), let known = object.knownToOne(cell.index, cells) {
      object.hold(known, at: Int(cell.holder))
      return known as? Self
    }
    guard let p = key.property(of: object) else {
      let placeholders: [Self]? = object.extras?.probe?.objects(of: object, key.text, isList: false)
      return placeholders?.first
    }
    guard object.isReadable(p), object.plan.properties[p].kind == .toOne else { return nil }
    return object.readToOne(p) as? Self
  }
  public static func atomicStoreWriteOptional(_ value: ManagedObject?, _ object: ManagedObject, _ key: ManagedKey) {
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

extension Set: ManagedPropertyValue, ToManyPropertyValue where Element: ManagedObject {
  public typealias AtomicStoreElement = Element
  public static func atomicStoreRead(_ object: ManagedObject, _ key: ManagedKey) -> Set<Element> {
    Set([Element].atomicStoreRead(object, key))
  }
  public static func atomicStoreWrite(_ value: Set<Element>, _ object: ManagedObject, _ key: ManagedKey) {
    [Element].atomicStoreWrite(value.sorted(by: ManagedObject.precedes), object, key)
  }
}

extension Array: ManagedPropertyValue, ToManyPropertyValue where Element: ManagedObject {
  public typealias AtomicStoreElement = Element
  public static func atomicStoreRead(_ object: ManagedObject, _ key: ManagedKey) -> [Element] {
    guard let p = key.property(of: object) else {
      return object.extras?.probe?.objects(of: object, key.text, isList: true) ?? []
    }
    guard object.isReadable(p) else { return [] }
    switch object.plan.properties[p].kind {
    case .toMany, .orderedToMany: return object.readToMany(p).compactMap { $0 as? Element }
    case .fetched:
      do throws(ManagedObjectError) { return try object.fetches.fetchedObjects(p).compactMap { $0 as? Element } } catch
      {
        object.record(error)
        return []
      }
    default: return []
    }
  }
  public static func atomicStoreWrite(_ value: [Element], _ object: ManagedObject, _ key: ManagedKey) {
    guard let p = key.property(of: object) else { return }
    do throws(ManagedObjectError) { try object.setValue(value as [ManagedObject], at: p) } catch {
      object.refuse(error)
    }
  }
}

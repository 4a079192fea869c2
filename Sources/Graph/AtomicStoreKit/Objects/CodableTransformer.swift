public import AtomicStoreSPI
public import FoundationEssentials

/// A transformer for values of a `Codable` type, which it stores as JSON with sorted keys: equal values give equal
/// bytes.
///
/// ```swift
/// coordinator.setTransformer(CodableTransformer<Address>(), forName: "Address")
/// ```
public struct CodableTransformer<Value: Codable>: AttributeTransformer {
  /// Creates a transformer.
  public init() {}

  public func data(from value: Any) throws -> Data {
    guard let value = value as? Value else {
      throw ManagedObjectError(.invalidValue, "the value is not \(Value.self) but \(type(of: value))")
    }
    return try Self.encode(value)
  }
  public func value(from data: Data) throws -> Any { try Self.decode(data) }

  static func encode(_ value: Value) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
  }
  static func decode(_ data: Data) throws -> Value { try JSONDecoder().decode(Value.self, from: data) }
}

/// A `Codable` type of optional ``Managed`` properties over transformable or binary attributes, stored as JSON.
///
/// ```swift
/// struct Address: CodableAttributeValue {
///   var street: String
///   var city: String
/// }
/// final class Person: ManagedObject {
///   @Managed("address") var address: Address?
/// }
/// ```
///
/// No transformer needs to be registered. Bytes that are not such a value read as nil, with an error in
/// ``ManagedObject/accessError``. Predicates compare the JSON: `address == %@` finds equal values.
public protocol CodableAttributeValue: Codable, OptionalManagedPropertyValue, StoredValueRepresentable {}

extension CodableAttributeValue {
  public static func atomicStoreReadOptional(_ object: ManagedObject, _ key: ManagedKey) -> Self? {
    guard let p = key.property(of: object), object.isReadable(p) else {
      object.extras?.probe?.note(Self.self)
      return nil
    }
    if case .other(let value)? = try? object.content(p), let value = value as? Self { return value }
    guard case .data(let data) = object.storedValue(p) else { return nil }
    do { return try CodableTransformer<Self>.decode(data) } catch {
      object.record(
        object.objectError(
          .invalidValue, "\(object.plan.name).\(key.text): the \(data.count) stored bytes are not \(Self.self)",
          key: key.text, underlying: error))
      return nil
    }
  }
  public static func atomicStoreWriteOptional(_ value: Self?, _ object: ManagedObject, _ key: ManagedKey) {
    guard let p = key.property(of: object) else { return }
    do throws(ManagedObjectError) { try object.setValue(value, at: p) } catch { object.refuse(error) }
  }

  /// The bytes as which it is stored; none, which no value has, if it cannot be encoded.
  public var atomicStoreValue: StoredValue { .data((try? encoded()) ?? Data()) }

  func encoded() throws -> Data { try CodableTransformer<Self>.encode(self) }
}

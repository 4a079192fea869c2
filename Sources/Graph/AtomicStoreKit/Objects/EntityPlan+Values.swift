import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// What properties take of the values that programs give: by key, by typed properties, and in batches.
extension EntityPlan {
  /// The number of a property, or of a part of a composite attribute.
  func number(of key: String) throws(ManagedObjectError) -> Int {
    if let p = property(named: key) { return p }
    throw ManagedObjectError(
      .undefinedKey, "\(name) has no property '\(key)'\(Suggestion.text(for: key, among: properties.map(\.name)))",
      entityName: name, key: key)
  }

  /// What an attribute stores for a value.
  ///
  /// - Throws: `.invalidValue` for a value of another type, of which only equal numbers are taken.
  func stored(
    _ value: Any?, _ property: PropertyPlan, _ type: AttributeType, _ transformers: AttributeTransformers?
  ) throws(ManagedObjectError) -> StoredValue {
    if case .transformable = type, let value = StoredValue.unwrapped(value), !(value is Data), !(value is StoredValue) {
      return .data(try bytes(of: value, property, transformers))
    }
    if let stored = ValueConversion.taken(value, by: type) { return stored }
    if case .binaryData = type, let value = StoredValue.unwrapped(value) as? any CodableAttributeValue {
      return .data(try bytes(of: value, property, transformers))
    }
    throw refusal(value, property, type.modelName)
  }

  /// The values of a composite's parts, at any depth, in a dictionary by their paths; all nil for nil.
  ///
  /// - Throws: `.invalidValue` for anything but a dictionary; `.undefinedKey` for a part that it does not have.
  func parts(
    of value: Any?, _ property: PropertyPlan
  ) throws(ManagedObjectError) -> [(property: Int, value: Any?)] {
    let value = StoredValue.unwrapped(value)
    guard let given = value == nil ? [:] : value as? [String: Any] else {
      throw refusal(value, property, "a dictionary of its parts")
    }
    for key in given.keys.sorted() { _ = try number(of: "\(property.name).\(key)") }
    return property.parts.filter { properties[$0].kind != .composite }.map { part in
      (part, given[String(decoding: properties[part].nameBytes.dropFirst(property.nameBytes.count + 1), as: UTF8.self)])
    }
  }

  /// The bytes that a transformable attribute stores for a value: what its transformer makes of it or, without one,
  /// what a ``CodableAttributeValue`` is encoded as.
  private func bytes(
    of value: Any, _ property: PropertyPlan, _ transformers: AttributeTransformers?
  ) throws(ManagedObjectError) -> Data {
    let name = property.attribute?.valueTransformerName ?? ""
    do {
      if let transformer = transformers?[name] { return try transformer.data(from: value) }
      if let value = value as? any CodableAttributeValue { return try value.encoded() }
    } catch {
      var refused = refusal(value, property, "a value that can be encoded")
      refused.underlying = error
      throw refused
    }
    throw refusal(value, property, "bytes: no transformer '\(name)' is registered")
  }

  func refusal(_ value: Any?, _ property: PropertyPlan, _ wanted: String) -> ManagedObjectError {
    let value = StoredValue.unwrapped(value)
    let text = value.map { String("\($0)".prefix(60)) } ?? "nil"
    let type = value.map { "\(Swift.type(of: $0)) " } ?? ""
    return ManagedObjectError(
      .invalidValue, "\(name).\(property.name) requires \(wanted), not \(type)\(text)", entityName: name,
      key: property.name, value: text)
  }
}

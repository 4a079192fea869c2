public import FoundationEssentials

/// Turns the values of transformable attributes into the bytes that stores keep, and back.
///
/// Register one by the name that the model gives (`valueTransformerName`) with
/// ``PersistentStoreCoordinator/setTransformer(_:forName:)``. Attributes whose transformer nobody registered take and
/// give their bytes untouched. (Foundation's `ValueTransformer` does not exist on Linux.)
public protocol AttributeTransformer: Sendable {
  /// The bytes of a value; throws where the value is not of the kind it transforms.
  func data(from value: Any) throws -> Data
  /// The value of bytes that ``data(from:)`` made.
  func value(from data: Data) throws -> Any
}

extension ManagedObject {
  struct TransformerCall {
    let transformer: (any AttributeTransformer)?

    func reverse(_ value: Any, _ property: PropertyPlan, _ object: ManagedObject) throws(ManagedObjectError) -> Data {
      guard let transformer else {
        throw object.refusal(
          value, property,
          "bytes: no transformer '\(property.attribute?.valueTransformerName ?? "")' is registered")
      }
      do { return try transformer.data(from: value) } catch {
        var refused = object.refusal(value, property, "what its transformer takes")
        refused.underlying = error
        throw refused
      }
    }
  }

  final func transformer(of property: PropertyPlan) -> TransformerCall {
    let name = property.attribute?.valueTransformerName ?? ""
    return TransformerCall(transformer: context?.registrations.transformer(named: name))
  }

  /// The value of a transformable attribute: what the transformer makes of the bytes, made once.
  final func transformed(_ stored: StoredValue, _ property: PropertyPlan) throws(ManagedObjectError) -> Any? {
    guard case .data(let data) = stored else { return stored.anyValue }
    if let made = extras?.transformed[property.index] { return made }
    guard let transformer = transformer(of: property).transformer else { return data }
    do {
      let value = try transformer.value(from: data)
      needExtras().transformed[property.index] = value
      return value
    } catch {
      throw ManagedObjectError(
        .invalidValue, "\(plan.name).\(property.name): its transformer cannot read the \(data.count) stored bytes",
        objectID: objectID, entityName: plan.name, key: property.name, underlying: error)
    }
  }
}

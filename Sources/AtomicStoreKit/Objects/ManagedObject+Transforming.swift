import AtomicStoreSPI
import FoundationEssentials

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
        var refused = object.refusal(value, property, "a value that its transformer accepts")
        refused.underlying = error
        throw refused
      }
    }
  }

  final func transformer(of property: PropertyPlan) -> TransformerCall {
    let name = property.attribute?.valueTransformerName ?? ""
    return TransformerCall(transformer: context?.transformers[name])
  }

  /// The value of a transformable attribute: what the transformer creates from the bytes, created once.
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

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

  /// The bytes that a transformable attribute stores for a value: what its transformer makes of it or, without one,
  /// what a ``CodableAttributeValue`` is encoded as.
  final func bytes(of value: Any, _ property: PropertyPlan) throws(ManagedObjectError) -> Data {
    let call = transformer(of: property)
    guard call.transformer == nil, let value = value as? any CodableAttributeValue else {
      return try call.reverse(value, property, self)
    }
    do { return try value.encoded() } catch {
      var refused = refusal(value, property, "a value that can be encoded")
      refused.underlying = error
      throw refused
    }
  }

  /// The value of a transformable attribute: what the transformer creates from the bytes, created once; nil if no
  /// transformer is registered.
  final func transformed(_ data: Data, _ property: PropertyPlan) throws(ManagedObjectError) -> Any? {
    if let made = extras?.transformed[property.index] { return made }
    guard let transformer = transformer(of: property).transformer else { return nil }
    do {
      let value = try transformer.value(from: data)
      needExtras().transformed[property.index] = value
      return value
    } catch {
      throw objectError(
        .invalidValue, "\(plan.name).\(property.name): its transformer cannot read the \(data.count) stored bytes",
        key: property.name, underlying: error)
    }
  }
}

import AtomicStoreSPI
import FoundationEssentials

extension ManagedObject {
  final func transformer(of property: PropertyPlan) -> (any AttributeTransformer)? {
    context?.transformers[property.attribute?.valueTransformerName ?? ""]
  }

  /// The value of a transformable attribute: what the transformer creates from the bytes, created once; nil if no
  /// transformer is registered.
  final func transformed(_ data: Data, _ property: PropertyPlan) throws(ManagedObjectError) -> Any? {
    if let made = extras?.transformed[property.index] { return made }
    guard let transformer = transformer(of: property) else { return nil }
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

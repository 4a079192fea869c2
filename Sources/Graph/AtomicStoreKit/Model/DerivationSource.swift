/// A property from which derived attributes of other objects are computed, and the path to those objects.
struct DerivationSource: Hashable, Sendable {
  /// The number of the property in its entity.
  let property: Int
  /// The numbers of the inverse relationships, in order, that lead from its object back to the object with the derived
  /// attribute.
  let way: [Int]
}

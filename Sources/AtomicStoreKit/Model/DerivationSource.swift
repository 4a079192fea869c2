/// A property that derived attributes of other objects are derived from, and the way to those objects.
struct DerivationSource: Hashable, Sendable {
  /// The number of the property in its entity.
  let property: Int
  /// The numbers of the inverse relationships that lead from its object back to the one with the derived attribute, in
  /// turn.
  let way: [Int]
}

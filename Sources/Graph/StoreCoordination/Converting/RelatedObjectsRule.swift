/// What happens to a relationship from an object of the subset to one that was not selected.
public enum RelatedObjectsRule: String, Sendable, Hashable, CaseIterable {
  /// The other object is included, and everything reachable from it.
  case closure
  /// The reference is removed; the remaining objects of a to-many keep their order. It is an error if the model
  /// requires the relationship to have more objects.
  case nullify
  /// It is an error, which names the first such relationship.
  case fail
}

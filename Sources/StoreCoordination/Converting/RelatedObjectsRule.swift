/// What becomes of a relationship that leads from an object of the subset to one that was not chosen.
public enum RelatedObjectsRule: String, Sendable, Hashable, CaseIterable {
  /// The other object is taken along, and everything that can be reached from it.
  case closure
  /// The relationship is cut; what remains of a to-many keeps its order. One that the model demands may not be cut
  /// away.
  case nullify
  /// It is an error, which names the first one.
  case fail
}

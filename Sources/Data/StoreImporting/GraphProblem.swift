import AtomicStoreSPI

/// Something that is wrong with records together, or with what is computed from them: it is found in the finished
/// graph.
struct GraphProblem {
  /// The objects that have it: all but the one that was first are wrong, or the only one.
  var objects: [ObjectReference]
  var property: String
  var value: String
  /// For a uniqueness constraint nil: the record that has the value is named.
  var message: String?
  /// What kind of problem of a record it is.
  var kind = ImportProblem.Kind.rule
}

extension GraphProblem {
  /// An object that names another one, which does not name it back.
  static func disagreement(
    of object: ObjectReference, _ property: String, with other: ObjectReference, _ inverse: String
  ) -> GraphProblem {
    GraphProblem(
      objects: [object], property: property, value: "\(other)",
      message: "\(other) is named here, but its '\(inverse)' does not name \(object) back: correct one of the two, or "
        + "leave one of the two columns out",
      kind: .reference)
  }
}

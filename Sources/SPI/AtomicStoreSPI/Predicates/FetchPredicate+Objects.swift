extension FetchPredicate.Comparison {
  /// The objects that the evaluated object is compared with: `SELF == x`, `SELF != x`, `SELF IN {x, y}`, where `SELF`
  /// may also be the key `objectID` of an entity that has no such property. Nil for any other comparison.
  package func objects(comparedWithThoseOf entity: Entity) -> (ids: [ManagedObjectID], isOther: Bool)? {
    guard modifier == .direct else { return nil }
    func isItself(_ expression: FetchExpression) -> Bool {
      switch expression {
      case .evaluatedObject: true
      case .keyPath(let path):
        path.count == 1 && ["self", "SELF", "objectID"].contains(path[0]) && entity.property(named: path[0]) == nil
      default: false
      }
    }
    if isItself(left) { return objectIDs.map { ($0, comparator == .notEqual) } }
    guard isItself(right), comparator == .equal || comparator == .notEqual, case .objectID(let id) = left else {
      return nil
    }
    return ([id], comparator == .notEqual)
  }

  /// The objects on the right of `==`, `!=` and `IN`; nil if there is anything else.
  package var objectIDs: [ManagedObjectID]? {
    switch (comparator, right) {
    case (.equal, .objectID(let id)), (.notEqual, .objectID(let id)): return [id]
    case (.isIn, .aggregate(let list)):
      var ids: [ManagedObjectID] = []
      for element in list {
        guard case .objectID(let id) = element else { return nil }
        ids.append(id)
      }
      return ids
    default: return nil
    }
  }
}

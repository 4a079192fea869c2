/// A contradiction between the two ends of a relationship: an object names another one, which does not name it back in
/// the inverse.
public struct InverseDisagreement: Sendable, Hashable, CustomStringConvertible {
  /// The object that names the other.
  public var object: ObjectReference
  /// The relationship of `object` that names the other.
  public var property: String
  /// The object that `object` names.
  public var other: ObjectReference
  /// The relationship of `other` that should name `object`.
  public var inverse: String

  package init(object: ObjectReference, property: String, other: ObjectReference, inverse: String) {
    self.object = object
    self.property = property
    self.other = other
    self.inverse = inverse
  }

  public var description: String {
    "\(object).\(property) names \(other), but \(other).\(inverse) does not name \(object)"
  }
}

extension NodeTable {
  /// Returns the contradictions between the two ends of relationships, in the model's order of entities and
  /// relationships. Only relationships that name each other as inverse are compared.
  ///
  /// - Parameter limit: The maximum number to list; nil for all.
  public func inverseDisagreements(limit: Int? = nil) -> [InverseDisagreement] {
    if endsAgree { return [] }
    let ends = InverseEnds(model: model, tables: entities)
    let isDense = entities.allSatisfy { $0.deletedCount == 0 }
    var result: [InverseDisagreement] = []
    func add(_ links: [InverseEnds.Link], _ end: InversePair.End, _ other: InversePair.End) {
      for link in links where limit.map({ result.count < $0 }) ?? true {
        result.append(
          InverseDisagreement(
            object: objectReference(of: NodeHandle(bits: link.source)), property: end.name,
            other: objectReference(of: NodeHandle(bits: link.target)), inverse: other.name))
      }
    }
    for pair in model.inversePairs where !(isDense && ends.agree(pair)) {
      let first = ends.links(at: pair.first, facing: pair.second)
      let second = ends.links(at: pair.second, facing: pair.first)
      add(first.subtracting(second.reversedLinks), pair.first, pair.second)
      if !pair.isOwnInverse { add(second.subtracting(first.reversedLinks), pair.second, pair.first) }
    }
    return result
  }
}

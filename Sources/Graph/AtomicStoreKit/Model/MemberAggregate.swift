import AtomicStoreSPI
import StorePredicates

/// A part of a derived attribute's expression that counts the members of a to-many, or adds up an integer of theirs:
/// `items.@count`, `SUBQUERY(items, $i, $i.isOpen == YES).@count`, `items.@sum.price`. A database computes it without
/// objects being made of the members.
struct MemberAggregate: Sendable {
  let expression: FetchExpression
  /// The number of the to-many, whose inverse is a to-one.
  let relationship: Int
  /// Which members count, as a condition on a member; nil for all of them.
  let condition: FetchPredicate?
  /// The number of the attribute that is added up; nil for a count.
  let summed: Int?

  /// - Returns: Nil for any other expression.
  init?(_ expression: FetchExpression, of owner: EntityPlan, _ entities: EntityPlans) {
    let (key, operation): (String, ArraySlice<String>)
    let filter: (variable: String, FetchPredicate)?
    switch expression {
    case .keyPath(let path) where path.count > 1: (key, operation, filter) = (path[0], path.dropFirst(), nil)
    case .member(.subquery(.keyPath(let path), let variable, let predicate), let rest) where path.count == 1:
      (key, operation, filter) = (path[0], rest[...], (variable, predicate))
    default: return nil
    }
    guard let relationship = owner.property(named: key).map({ owner.properties[$0] }), relationship.isToMany,
      relationship.slot >= 0, relationship.destination >= 0, relationship.inverse >= 0
    else { return nil }
    let members = entities[relationship.destination]
    let inverse = members.properties[relationship.inverse]
    guard inverse.kind == .toOne, inverse.slot >= 0 else { return nil }
    var condition: FetchPredicate?
    if let filter {
      guard let found = Self.condition(filter.1, filter.variable, members) else { return nil }
      condition = found
    }
    if operation.elementsEqual(["@count"]) {
      summed = nil
    } else {
      let keys = operation.filter { $0 != "@sum" }
      guard operation.count == 2, keys.count == 1, let p = Self.attribute(keys[0], members),
        members.properties[p].attributeType?.valueKind == .integer
      else { return nil }
      summed = p
    }
    self.expression = expression
    self.relationship = relationship.index
    self.condition = condition
  }

  private static func attribute(_ name: String, _ members: EntityPlan) -> Int? {
    guard let p = members.property(named: name), members.properties[p].attributeType != nil,
      members.properties[p].slot >= 0
    else { return nil }
    return p
  }

  /// The condition of a subquery as one on a member; nil if it reads anything but attributes of the member.
  private static func condition(
    _ predicate: FetchPredicate, _ variable: String, _ members: EntityPlan
  ) -> FetchPredicate? {
    func side(_ expression: FetchExpression) -> FetchExpression? {
      switch expression {
      case .constant: return expression
      case .aggregate(let list):
        let isConstant = list.allSatisfy { if case .constant = $0 { true } else { false } }
        return isConstant ? expression : nil
      case .member(.variable(variable), let path) where path.count == 1 && attribute(path[0], members) != nil:
        return .keyPath(path)
      default: return nil
      }
    }
    func all(_ parts: [FetchPredicate]) -> [FetchPredicate]? {
      let found = parts.compactMap { condition($0, variable, members) }
      return found.count == parts.count ? found : nil
    }
    switch predicate {
    case .value: return predicate
    case .block: return nil
    case .and(let parts): return all(parts).map { .and($0) }
    case .or(let parts): return all(parts).map { .or($0) }
    case .not(let part): return condition(part, variable, members).map { .not($0) }
    case .comparison(var comparison):
      guard comparison.modifier == .direct, let left = side(comparison.left), let right = side(comparison.right) else {
        return nil
      }
      (comparison.left, comparison.right) = (left, right)
      return .comparison(comparison)
    }
  }
}

/// What the expression of a derived attribute reads.
struct DerivationPlan: Sendable {
  /// The key paths, with operators such as `@sum`.
  let paths: [[String]]
  /// What a database may compute.
  let aggregates: [MemberAggregate]
  /// The key paths that are read where it does.
  let pathsBeside: [[String]]

  init(_ text: String, of owner: EntityPlan, _ entities: EntityPlans) {
    guard case .success(let expression) = ParsedTexts.expression(text) else {
      (paths, aggregates, pathsBeside) = ([], [], [])
      return
    }
    var found: [MemberAggregate] = []
    func rest(of expression: FetchExpression) -> FetchExpression {
      if let aggregate = MemberAggregate(expression, of: owner, entities) {
        found.append(aggregate)
        return .constant(.null)
      }
      return expression.mapParts(predicates: rest(ofPredicate:), expressions: rest(of:))
    }
    func rest(ofPredicate predicate: FetchPredicate) -> FetchPredicate {
      predicate.mapParts(predicates: rest(ofPredicate:), expressions: rest(of:))
    }
    pathsBeside = DerivationPaths(rest(of: expression)).paths
    paths = found.isEmpty ? pathsBeside : DerivationPaths(expression).paths
    aggregates = found
  }
}

import AtomicStoreSPI
import StorePredicates

extension NeededColumns {
  /// Adds what an expression or a predicate reads of an entity's objects.
  ///
  /// - Parameter variables: The entities that elements of subqueries around it may be of.
  mutating func add(_ tree: FetchTree, of entity: Entity, variables: [String: [Entity]] = [:]) {
    switch tree {
    case .expression(.keyPath(let path)): return add(path[...], of: entity)
    case .expression(.member(let base, let path)):
      for owner in Self.entities(of: base, entity, variables) { add(path[...], of: owner) }
      return add(.expression(base), of: entity, variables: variables)
    case .expression(.subquery(let source, let variable, let predicate)):
      add(.expression(source), of: entity, variables: variables)
      var inner = variables
      inner[variable] = Self.entities(of: source, entity, variables)
      return add(.predicate(predicate), of: entity, variables: inner)
    default: break
    }
    for part in tree.parts { add(part, of: entity, variables: variables) }
  }

  /// The entities that the objects of an expression may be of, without their sub-entities.
  private static func entities(
    of expression: FetchExpression, _ entity: Entity, _ variables: [String: [Entity]]
  ) -> [Entity] {
    switch expression {
    case .evaluatedObject: [entity]
    case .variable(let name): variables[name] ?? []
    case .keyPath(let path): destinations(of: path[...], [entity])
    case .member(let base, let path): destinations(of: path[...], entities(of: base, entity, variables))
    case .subquery(let source, _, _): entities(of: source, entity, variables)
    default: []
    }
  }

  private static func destinations(of path: ArraySlice<String>, _ entities: [Entity]) -> [Entity] {
    guard let key = path.first else { return entities }
    guard !FetchExpression.isOperator(key) else { return destinations(of: path.dropFirst(), entities) }
    var found: [Entity] = []
    for member in entities.flatMap(\.hierarchy) {
      guard let slot = member.slot(named: key), let number = member.slots[slot].destination else { continue }
      let destination = member.model.entity(at: number)
      if !found.contains(destination) { found.append(destination) }
    }
    return destinations(of: path.dropFirst(), found)
  }

  private mutating func add(_ path: ArraySlice<String>, of entity: Entity) {
    guard let key = path.first else { return }
    // `@sum.salary` and `employees.@sum.salary` read what comes after the operator.
    if FetchExpression.isOperator(key) { return add(path.dropFirst(), of: entity) }
    let whole = path.joined(separator: ".")
    for member in entity.hierarchy where !member.isAbstract {
      for slot in member.slots where slot.name == whole || slot.name == key || slot.name.hasPrefix(key + ".") {
        add(slot: slot.index, of: member)
        if let destination = slot.destination { add(path.dropFirst(), of: member.model.entity(at: destination)) }
      }
    }
  }
}

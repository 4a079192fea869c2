import AtomicStoreSPI
import StorePredicates

extension NeededColumns {
  /// Adds what an expression or a predicate reads of an entity's objects.
  mutating func add(_ tree: FetchTree, of entity: Entity) {
    if case .expression(.keyPath(let path)) = tree { return add(path[...], of: entity) }
    for part in tree.parts { add(part, of: entity) }
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

import AtomicStoreSPI

/// Conditions about objects that a predicate names.
extension SQLPredicateCompiler {
  /// Whether the object of a row is one of some, or is not.
  mutating func itself(
    _ ids: [ManagedObjectID], _ isOther: Bool, _ entity: Entity, _ table: String
  ) -> String? {
    guard let condition = among(ids, entity.root, table) else { return nil }
    return isOther ? "NOT \(condition)" : condition
  }

  /// A condition for the rows of some objects; nil for temporary IDs, by which objects that were saved since are known
  /// as well, and for too many.
  private mutating func among(_ ids: [ManagedObjectID], _ root: Entity, _ table: String) -> String? {
    guard ids.count <= dialect.listLimit else { return nil }
    var numbers: [Int: [String]] = [:]
    var texts: [Int: [String]] = [:]
    for id in ids {
      guard let reference = id.reference else { return nil }
      guard id.storeIdentifier == store, let named = schema.model.entity(named: id.entityName), named.root == root
      else {
        continue
      }
      switch reference {
      case .integer(let number):
        if number > SQLKeys.lastText { numbers[named.index, default: []].append(parameter(.integer(number))) }
      case .string(let text): texts[named.index, default: []].append(parameter(.text(text)))
      }
    }
    var conditions: [String] = []
    for (entity, list) in numbers.sorted(by: { $0.key < $1.key }) {
      conditions.append("(\(table).id IN (\(list.joined(separator: ", "))) AND \(table).ent = \(entity))")
    }
    for (entity, list) in texts.sorted(by: { $0.key < $1.key }) {
      conditions.append(
        "(\(table).ref IS NOT NULL AND \(table).ref IN (\(list.joined(separator: ", "))) AND \(table).ent = \(entity))")
    }
    return conditions.isEmpty ? dialect.literal(false) : "(" + conditions.joined(separator: " OR ") + ")"
  }

  /// Whether a to-one leads to one of some objects, or does not.
  mutating func destination(_ comparison: FetchPredicate.Comparison, _ slot: Slot, _ place: String) -> String? {
    guard let ids = comparison.objectIDs, let destination = slot.destination.map({ schema.model.entity(at: $0) }) else {
      return nil
    }
    let inner = alias()
    guard let condition = among(ids, destination.root, inner) else { return nil }
    // Asked for once, so that an index of the column finds the rows.
    let list = "(SELECT \(inner).id FROM \(schema.table(of: destination).name.quoted) \(inner) WHERE \(condition))"
    return comparison.comparator == .notEqual
      ? "(\(place) IS NULL OR \(place) NOT IN \(list))" : "(\(place) IS NOT NULL AND \(place) IN \(list))"
  }
}

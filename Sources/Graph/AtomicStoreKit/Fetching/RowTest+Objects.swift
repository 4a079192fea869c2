import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Evaluating compiled predicates on objects that have unsaved changes.
extension RowTest {
  /// Whether an object of the entity that the test was compiled for fulfils it. Nil if the evaluator must decide: for
  /// changes to to-many relationships, and to their destinations.
  func holds(_ object: ManagedObject, _ version: NodeVersion, _ budget: StepBudget) -> Bool? {
    switch self {
    case .constant(let flag): return flag
    case .and(let parts):
      for part in parts {
        guard let holds = part.holds(object, version, budget) else { return nil }
        if !holds { return false }
      }
      return true
    case .or(let parts):
      for part in parts {
        guard let holds = part.holds(object, version, budget) else { return nil }
        if holds { return true }
      }
      return false
    case .not(let part): return part.holds(object, version, budget).map { !$0 }
    case .null(let slot, _), .integers(let slot, _, _, _, _), .integerSet(let slot, _, _), .doubles(let slot, _, _, _),
      .decimals(let slot, _, _, _), .boolean(let slot, _, _), .text(let slot, _, _), .uuid(let slot, _, _, _),
      .destination(let slot, _, _), .destinations(let slot, _, _),
      .through(let slot, _, _), .some(let slot, _), .every(let slot, _), .count(let slot, _, _, _):
      return holds(object, slot, version, budget)
    case .itself(let objects, let isOther): return objects.ids.contains(object.objectID) != isOther
    case .numbers, .evaluated: return nil
    }
  }

  private func holds(
    _ object: ManagedObject, _ slot: Int, _ version: NodeVersion, _ budget: StepBudget
  ) -> Bool? {
    let p = object.plan.propertyOfSlot[slot]
    switch object.layered(p) {
    case nil:
      guard object.base != nil, !object.flags.contains(.inserted) else {
        return holds(.null, object.plan.properties[p], budget)
      }
      return object.base === version ? holds(object.node.row, version, object.node.entity, budget) : nil
    case .stored(let value)?: return holds(value, object.plan.properties[p], budget)
    case .object(let other)?: return holds(other, of: object, version, budget)
    case .changes, .ordered, .transient: return nil
    }
  }

  /// For an object that a to-one was set to.
  private func holds(
    _ other: ManagedObject?, of object: ManagedObject, _ version: NodeVersion, _ budget: StepBudget
  ) -> Bool? {
    if case .destinations(_, let objects, let isOther) = self {
      return (other.map { objects.ids.contains($0.objectID) } ?? false) != isOther
    }
    var node: NodeHandle?
    if let other {
      guard other.cache === object.cache, let reference = other.reference,
        let found = version.handle(for: reference, root: other.plan.root)
      else { return nil }
      node = found
    }
    switch self {
    case .null(_, let wanted): return (node == nil) == wanted
    case .destination(_, let bits, let isOther): return (node?.rawBits == bits) != isOther
    case .through(_, let tests, let null):
      guard let node else { return null }
      return tests[node.entity]?.holds(node.row, version, node.entity, budget) ?? false
    default: return nil
    }
  }

  /// For a value that is not in a column.
  private func holds(_ value: StoredValue, _ property: PropertyPlan, _ budget: StepBudget) -> Bool? {
    switch (self, value) {
    case (.null(_, let wanted), _): return value.isNull == wanted
    case (.integers(_, _, _, _, let null), .null), (.integerSet(_, _, let null), .null),
      (.doubles(_, _, _, let null), .null), (.decimals(_, _, _, let null), .null),
      (.boolean(_, _, let null), .null), (.text(_, _, let null), .null), (.uuid(_, _, _, let null), .null),
      (.through(_, _, let null), .null):
      return null
    case (.destination(_, _, let isOther), .null), (.destinations(_, _, let isOther), .null): return isOther
    case (.integers(_, let low, let high, let isOutside, _), .integer(let number)):
      return (number >= low && number <= high) != isOutside
    case (.integerSet(_, let set, _), .integer(let number)): return set.contains(number)
    case (.doubles(_, let order, let bound, _), .double(let number)): return order.holds(number, bound)
    case (.doubles(_, let order, let bound, _), .float(let number)): return order.holds(Double(number), bound)
    case (.doubles(_, let order, let bound, _), .date(let date)):
      return order.holds(date.timeIntervalSinceReferenceDate, bound)
    case (.decimals(_, let order, let bound, _), .decimal):
      return order.holds(NumberOrder.order(value, .decimal(bound.value)))
    case (.boolean(_, let wanted, _), .boolean(let flag)): return flag == wanted
    case (.text(_, let test, _), .string(let text)), (.text(_, let test, _), .uri(let text)):
      var text = text
      return text.withUTF8 { test.holds($0, budget) }
    case (.uuid(_, let wanted, let isOther, _), .uuid(let uuid)): return (uuid == wanted) != isOther
    // The to-many of a new object to which nothing was added.
    case (.some, .null): return false
    case (.every, .null): return true
    case (.count(_, let low, let high, let isOutside), .null): return (0 >= low && 0 <= high) != isOutside
    default: return nil
    }
  }

  /// Whether it reads a column with values that the format has yet to supply.
  func readsDeferredValues(_ version: NodeVersion, _ entity: Int) -> Bool {
    func isDeferred(_ slot: Int) -> Bool { version.hasDeferredValues(entity: entity, slot: slot) }
    switch self {
    case .constant: return false
    case .and(let parts), .or(let parts): return parts.contains { $0.readsDeferredValues(version, entity) }
    case .not(let part): return part.readsDeferredValues(version, entity)
    case .null(let slot, _), .integers(let slot, _, _, _, _), .integerSet(let slot, _, _), .doubles(let slot, _, _, _),
      .decimals(let slot, _, _, _), .boolean(let slot, _, _), .text(let slot, _, _), .uuid(let slot, _, _, _):
      return isDeferred(slot)
    case .numbers(let one, _, let other):
      var isFound = false
      for expression in [one, other] {
        expression.visitColumns(entity) { isFound = isFound || version.hasDeferredValues(entity: $0, slot: $1) }
      }
      return isFound
    case .evaluated(let predicate, let conditions): return conditions.isDeferred(predicate)
    case .itself, .destination, .destinations, .count: return false
    case .through(_, let tests, _), .some(_, let tests), .every(_, let tests):
      return tests.contains { $0.value.readsDeferredValues(version, $0.key) }
    }
  }
}

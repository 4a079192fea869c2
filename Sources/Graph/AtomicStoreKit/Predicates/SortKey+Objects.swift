import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

extension SortKey {
  /// Returns the objects in order. Each value is read once.
  ///
  /// - Throws: as a predicate on the same key; `.invalidFetch` for values that cannot be compared.
  static func sort(_ objects: [ManagedObject], by keys: [SortKey]) throws(ManagedObjectError) -> [ManagedObject] {
    let paths = paths(of: keys)
    var rows: [(values: [StoredValue], place: Int)] = []
    rows.reserveCapacity(objects.count)
    for (place, object) in objects.enumerated() { rows.append((try values(of: object, by: keys, paths), place)) }
    rows.sort { one, other in
      for index in keys.indices {
        let order = keys[index].order(one.values[index], other.values[index])
        if order != 0 { return keys[index].isAscending ? order < 0 : order > 0 }
      }
      return one.place < other.place
    }
    return rows.map { objects[$0.place] }
  }

  private static func paths(of keys: [SortKey]) -> [FetchExpression] {
    keys.map { FetchExpression.keyPath(of: $0.keyPath) }
  }

  /// Returns the values that an object is sorted by, one for each key.
  static func values(of object: ManagedObject, by keys: [SortKey]) throws(ManagedObjectError) -> [StoredValue] {
    try values(of: object, by: keys, paths(of: keys))
  }

  private static func values(
    of object: ManagedObject, by keys: [SortKey], _ paths: [FetchExpression]
  ) throws(ManagedObjectError) -> [StoredValue] {
    let evaluator = PredicateEvaluator(object)
    var values: [StoredValue] = []
    for (index, path) in paths.enumerated() {
      let value: PredicateValue
      do throws(PredicateEvaluationError) { value = try evaluator.value(of: path) } catch {
        throw ManagedObjectError(error)
      }
      switch value {
      case .value(let value): values.append(keys[index].sortable(value))
      case .open(let number): values.append(number.value)
      case .composite(let composite):
        throw ManagedObjectError(evaluator.failure(composite.refusal, key: keys[index].keyPath))
      case .object, .id, .list:
        let reason = if case .list = value { "several values" } else { "an object, which has no order" }
        throw ManagedObjectError(
          .invalidFetch, "cannot sort by '\(keys[index].keyPath)': it leads to \(reason)",
          entityName: object.plan.name, key: keys[index].keyPath)
      }
    }
    return values
  }

  /// The value that is compared where a value is sorted by this key.
  func sortable(_ value: StoredValue) -> StoredValue {
    guard comparator == nil, case .string(let text) = value else { return value }
    return .string(
      textOrder == .scalars ? StringComparison.folded(text, options) : StringComparison.standardKey(text))
  }

  /// The order of two values of this key, as ``values(of:by:)`` returns them, ascending.
  func order(_ one: StoredValue, _ other: StoredValue) -> Int {
    comparator.map { $0(one, other) } ?? Self.order(one, other)
  }

  /// A total order: null first, then not-a-number, then by type and value.
  static func order(_ one: StoredValue, _ other: StoredValue) -> Int {
    if one.isNull || other.isNull { return one.isNull ? (other.isNull ? 0 : -1) : 1 }
    if case .data(let a) = one, case .data(let b) = other {
      return a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
    }
    if let order = ValueOrder.order(one, other, []) { return order }
    let a = rank(one)
    let b = rank(other)
    return a < b ? -1 : a > b ? 1 : 0
  }

  private static func rank(_ value: StoredValue) -> Int {
    switch value {
    case .null: 0
    case .double(let number): number.isNaN ? 1 : 2
    case .float(let number): number.isNaN ? 1 : 2
    case .decimal(let number): number.isNaN ? 1 : 2
    case .integer, .boolean: 2
    case .date(let date): date.timeIntervalSinceReferenceDate.isNaN ? 3 : 4
    case .string, .uri: 5
    case .uuid: 6
    case .data: 7
    case .toOne, .toMany: 8
    }
  }
}

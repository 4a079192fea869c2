import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// A request for groups as an incremental store is asked for it: the keys, what is to be computed of each group, and
/// which expressions of the request these are.
struct StoreGroupPlan {
  /// An expression that has one value in each group.
  enum Value {
    case key(Int)
    case count
    /// The number of an aggregate: its result is the value.
    case single(Int)
    /// The numbers of a sum and of the count of its values.
    case average(sum: Int, count: Int)

    /// Whether every group has it, so that objects need not be evaluated for it.
    var isOfEveryGroup: Bool {
      switch self {
      case .key, .count: true
      case .single, .average: false
      }
    }
  }
  private(set) var aggregates: [StoreGrouping.Aggregate] = []
  private(set) var values: [(expression: FetchExpression, value: Value)] = []
  /// Why objects must be evaluated; nil if the values suffice for all columns and for the condition.
  private(set) var reason: String?

  init(keys: [FetchExpression], columns: [FetchExpression], having: FetchPredicate?) {
    for (index, key) in keys.enumerated() { values.append((key, .key(index))) }
    for column in columns { cover(.expression(column)) }
    if let having { cover(.predicate(having)) }
  }

  /// The values of columns that are nothing but values of groups; nil if something has to be computed of them.
  func values(of columns: [FetchColumn]) -> [Value]? {
    let found = columns.compactMap { column in values.first { $0.expression == column.expression }?.value }
    return found.count == columns.count ? found : nil
  }

  /// Sees to it that all of an expression can be computed from values of groups.
  private mutating func cover(_ tree: FetchTree) {
    guard reason == nil else { return }
    switch tree {
    case .expression(let expression):
      if values.contains(where: { $0.expression == expression }) { return }
      if let value = value(of: expression) {
        values.append((expression, value))
        return
      }
      switch expression {
      case .constant, .objectID, .aggregate, .cast, .conditional, .set: break
      case .function where !expression.isAggregate: break
      default:
        reason = "'\(expression)' is evaluated on the objects of each group"
        return
      }
    case .predicate(.block):
      reason = "a closure is evaluated on the objects of each group"
      return
    case .predicate: break
    }
    for part in tree.parts { cover(part) }
  }

  private mutating func number(_ function: StoreGrouping.Function, _ path: [String]) -> Int {
    let aggregate = StoreGrouping.Aggregate(function, of: path)
    if let known = aggregates.firstIndex(of: aggregate) { return known }
    aggregates.append(aggregate)
    return aggregates.count - 1
  }

  /// How an expression is computed by a store; nil if it is not an aggregate of a path.
  private mutating func value(of expression: FetchExpression) -> Value? {
    switch expression {
    case .keyPath(["@count"]): .count
    case .function(let name, let arguments):
      if arguments.count == 1, case .keyPath(let path) = arguments[0] { value(name, path) } else { nil }
    case .keyPath(let path) where path.count > 1:
      if let first = path.first, let name = Self.operators[first] {
        value(name, Array(path.dropFirst()))
      } else if let last = path.last, let name = Self.operators[last] {
        value(name, path.dropLast())
      } else {
        nil
      }
    default: nil
    }
  }

  private static let operators = ["@sum": "sum:", "@avg": "average:", "@min": "min:", "@max": "max:"]

  private mutating func value(_ name: String, _ path: [String]) -> Value? {
    guard !path.contains(where: FetchExpression.isOperator) else { return nil }
    switch name {
    case "count:": return .single(number(.count, path))
    case "sum:": return .single(number(.sum, path))
    case "min:": return .single(number(.minimum, path))
    case "max:": return .single(number(.maximum, path))
    case "average:": return .average(sum: number(.sum, path), count: number(.count, path))
    default: return nil
    }
  }
}

/// How the groups of a request are found.
private enum GroupDecision {
  case store(StoreGroupPlan, StoreGrouping)
  case memory(String)
}

extension ManagedObjectContext {
  /// How a request for groups to an incremental store would be executed; nil if it has no groups, or if more than the
  /// groups has to be evaluated on objects.
  func explanation<Result>(ofGroups request: FetchRequest<Result>, _ search: StoreSearch) -> FetchExplanation? {
    guard isGrouped(request) else { return nil }
    guard !request.shouldRefreshRefetchedObjects else {
      return FetchExplanation(method: .objects, reason: "objects that are fetched again are refreshed first")
    }
    switch decision(request, search) {
    case .store: return FetchExplanation(method: .store)
    case .memory(let reason):
      guard case .exact = search.answer, search.everythingBecause == nil else { return nil }
      return FetchExplanation(method: .objects, reason: reason)
    }
  }

  func isGrouped<Result>(_ request: FetchRequest<Result>) -> Bool {
    !request.propertiesToGroupBy.isEmpty || isOneGroup(request, request.propertiesToFetch)
  }

  /// The rows of groups that an incremental store computed, in order, before limits; nil if the kit has to group.
  func storeGroupRows<Result>(_ request: FetchRequest<Result>) throws -> [FetchedRow]? {
    guard isGrouped(request), !request.shouldRefreshRefetchedObjects else { return nil }
    processPendingChanges()
    try check(request)
    guard case .store(let search) = try plan(request, for: .store),
      case .store(let plan, let grouping) = decision(request, search), let connection = search.cache.connection
    else { return nil }
    let parts: [StoreGroup]?
    do throws(PersistentStoreError) {
      parts = try connection.use { store throws(PersistentStoreError) in try store.groups(grouping) }
    } catch {
      throw ManagedObjectError(
        .persistentStoreOperation, "the store could not be asked", entityName: request.entityName, underlying: error)
    }
    guard let parts else { return nil }
    var groups = Self.joined(parts, grouping)
    if grouping.keys.isEmpty, groups.isEmpty {
      // All objects are one group, even if there are none.
      let nothing = grouping.aggregates.map { aggregate -> StoreGroup.Result in
        aggregate.function == .count || aggregate.function == .sum ? .whole(0) : .value(.null)
      }
      groups = [StoreGroup(first: (0, .integer(0)), keys: [], count: 0, results: nothing)]
    }
    Self.sort(&groups, by: request)
    return try rows(ofGroups: groups.count, plan, request) { Self.value($0, of: groups[$1], search.cache) }
  }

  private func decision<Result>(_ request: FetchRequest<Result>, _ search: StoreSearch) -> GroupDecision {
    let columns = columnsAsked(request)
    let keys = request.propertiesToGroupBy.map(\.expression)
    let plan = StoreGroupPlan(
      keys: keys, columns: columns.map(\.expression), having: request.havingExpressions)
    if let reason = plan.reason { return .memory(reason) }
    var paths: [[String]] = []
    for key in keys {
      guard case .keyPath(let path) = key else {
        return .memory("the groups are formed by '\(key)', which is computed")
      }
      paths.append(path)
    }
    let leadsOn = (paths + plan.aggregates.map(\.path)).contains { $0.count > 1 }
    if search.hasChanges || hasPendingChanges && leadsOn {
      return .memory("objects with unsaved changes are grouped by the kit")
    }
    guard let connection = search.cache.connection else { return .memory("the store is not open") }
    let entity = search.cache.store.model.entity(at: search.fetch.entity)
    for key in request.sortKeys {
      guard Self.isValue(FetchExpression.keys(of: key.keyPath), entity),
        keys.contains(.keyPath(of: key.keyPath))
      else {
        return .memory("the groups are sorted by '\(key.keyPath)', which is not one of their keys")
      }
    }
    let grouping = StoreGrouping(
      StoreFetch(entity: search.fetch.entity, entities: search.fetch.entities, predicate: request.predicate),
      keys: paths, aggregates: plan.aggregates)
    switch connection.answer(to: grouping) {
    case .exact: return .store(plan, grouping)
    case .superset(let reason), .inMemory(let reason): return .memory(reason)
    }
  }

  /// Whether a path leads to an attribute: only these have an order.
  private static func isValue(_ path: [String], _ entity: Entity) -> Bool {
    if let slot = entity.slot(named: path.joined(separator: ".")) { return !entity.slots[slot].isRelationship }
    guard path.count > 1, let first = entity.slot(named: path[0]), let next = entity.slots[first].destination else {
      return false
    }
    return isValue(Array(path.dropFirst()), entity.model.entity(at: next))
  }

  // MARK: Groups of a store

  /// Puts parts of groups together that have equal keys.
  private static func joined(_ parts: [StoreGroup], _ grouping: StoreGrouping) -> [StoreGroup] {
    var groups: [StoreGroup] = []
    var places: [[StoredValue]: Int] = [:]
    for part in parts {
      guard let place = places[part.keys] else {
        places[part.keys] = groups.count
        groups.append(part)
        continue
      }
      if isBefore(part, groups[place]) { groups[place].first = part.first }
      groups[place].count += part.count
      for (index, aggregate) in grouping.aggregates.enumerated() {
        groups[place].results[index] = joined(groups[place].results[index], part.results[index], aggregate.function)
      }
    }
    return groups
  }

  private static func joined(
    _ one: StoreGroup.Result, _ other: StoreGroup.Result, _ function: StoreGrouping.Function
  ) -> StoreGroup.Result {
    switch (one, other) {
    case (.whole(let a), .whole(let b)): return .whole(a + b)
    case (.value(let a), .value(let b)):
      if a.isNull || b.isNull { return a.isNull ? other : one }
      let order = ValueOrder.order(b, a, []) ?? 0
      return (function == .minimum ? order < 0 : order > 0) ? other : one
    default: return one
    }
  }

  private static func isBefore(_ one: StoreGroup, _ other: StoreGroup) -> Bool {
    one.first.entity != other.first.entity
      ? one.first.entity < other.first.entity : one.first.reference < other.first.reference
  }

  /// Sorts groups by keys that the request sorts by, or else by their first objects.
  private static func sort<Result>(_ groups: inout [StoreGroup], by request: FetchRequest<Result>) {
    let keys = request.sortKeys.compactMap { key -> (SortKey, Int)? in
      request.propertiesToGroupBy.firstIndex { $0.expression == .keyPath(of: key.keyPath) }.map { (key, $0) }
    }
    groups.sort { one, other in
      for (key, index) in keys {
        let order = key.order(key.sortable(one.keys[index]), key.sortable(other.keys[index]))
        if order != 0 { return key.isAscending ? order < 0 : order > 0 }
      }
      return isBefore(one, other)
    }
  }

  /// The rows of groups that fulfil the condition of a request; nil if a value is missing.
  ///
  /// - Parameter value: Returns the value of a plan's expression in a group.
  func rows<Result>(
    ofGroups count: Int, _ plan: StoreGroupPlan, _ request: FetchRequest<Result>,
    value: (StoreGroupPlan.Value, Int) -> FetchedRow.Value?
  ) throws -> [FetchedRow]? {
    let columns = columnsAsked(request)
    let names = columns.map(\.name)
    let having = request.havingExpressions
    let values = having == nil ? plan.values(of: columns) : nil
    let now = Date()
    var rows: [FetchedRow] = []
    rows.reserveCapacity(count)
    for group in 0..<count {
      if let values {
        let own = values.compactMap { value($0, group) }
        guard own.count == values.count else { return nil }
        rows.append(FetchedRow(columns: names, values: own))
        continue
      }
      var evaluator = PredicateEvaluator(list: [], now: now, entityName: request.entityName)
      for (expression, wanted) in plan.values {
        switch value(wanted, group) {
        case .value(let value): evaluator.groupKeys.append((expression, .value(value)))
        case .object(let id): evaluator.groupKeys.append((expression, .id(id)))
        case .list, nil: return nil
        }
      }
      if let having, try !Self.holds(having, evaluator) { continue }
      rows.append(FetchedRow(columns: names, values: try Self.values(of: columns, evaluator)))
    }
    return rows
  }

  private static func value(
    _ value: StoreGroupPlan.Value, of group: StoreGroup, _ cache: StoreCache
  ) -> FetchedRow.Value {
    switch value {
    case .count: return .value(.integer(Int64(group.count)))
    case .key(let index):
      guard case .toOne(let object) = group.keys[index] else { return .value(group.keys[index]) }
      return .object(
        ManagedObjectID(
          storeIdentifier: cache.identifier, entityName: object.entityName, reference: object.reference))
    case .single(let index):
      switch group.results[index] {
      case .whole(let number): return .value(Arithmetic.sum(number))
      case .value(let value): return .value(value)
      }
    case .average(let sum, let count):
      guard case .whole(let sum) = group.results[sum], case .whole(let count) = group.results[count], count > 0 else {
        return .value(.null)
      }
      return .value(Arithmetic.average(sum, of: Int(count)))
    }
  }
}

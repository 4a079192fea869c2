import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

extension ManagedObjectContext {
  /// The rows of groups that were formed of columns, in order, before limits; nil if objects must be evaluated.
  func columnGroupRows<Result>(_ request: FetchRequest<Result>) throws -> ComputedRows? {
    guard isGrouped(request), !request.shouldRefreshRefetchedObjects, !hasPendingChanges else { return nil }
    let columns = columnsAsked(request)
    let keys = request.propertiesToGroupBy.map(\.expression)
    let having = request.havingExpressions
    let plan = StoreGroupPlan(keys: keys, columns: columns.map(\.expression), having: having)
    guard plan.reason == nil, let groups = try columnGroups(request, keys, plan) else { return nil }
    let names = columns.map(\.name)
    let values = columns.compactMap { column in plan.values.first { $0.expression == column.expression }?.value }
    let areOfGroups = values.count == columns.count && having == nil
    if areOfGroups, values.allSatisfy(\.isOfEveryGroup) {
      return ComputedRows(groups, names: names, values: values)
    }
    let now = Date()
    var rows: [FetchedRow] = []
    rows.reserveCapacity(groups.count)
    for group in 0..<groups.count {
      if areOfGroups {
        let own = values.compactMap { groups.value($0, of: group) }
        guard own.count == values.count else { return nil }
        rows.append(FetchedRow(columns: names, values: own))
        continue
      }
      var evaluator = PredicateEvaluator(list: [], now: now, entityName: request.entityName)
      for (expression, value) in plan.values {
        switch groups.value(value, of: group) {
        case .value(let value): evaluator.groupKeys.append((expression, .value(value)))
        case .object(let id): evaluator.groupKeys.append((expression, .id(id)))
        case .list, nil: return nil
        }
      }
      if let having, try !Self.holds(having, evaluator) { continue }
      rows.append(FetchedRow(columns: names, values: try Self.values(of: columns, evaluator)))
    }
    return ComputedRows(rows)
  }

  private func columnGroups<Result>(
    _ request: FetchRequest<Result>, _ keys: [FetchExpression], _ plan: StoreGroupPlan
  ) throws -> ColumnGroups? {
    let arePaths = keys.allSatisfy { if case .keyPath = $0 { true } else { false } }
    var computation =
      arePaths ? nil : RowComputation(keys, entityName: request.entityName, budget: fetchState.stepBudget)
    guard arePaths || computation != nil else { return nil }
    var read = computation?.leaves ?? keys
    var aggregates: [ColumnAggregate] = []
    for (index, aggregate) in plan.aggregates.enumerated() {
      let column = FetchExpression.keyPath(aggregate.path)
      let needsNumbers = plan.values.contains { if case .average(index, _) = $0.value { true } else { false } }
      aggregates.append(
        ColumnAggregate(
          aggregate.function, column: read.firstIndex(of: column) ?? read.count, needsNumbers: needsNumbers))
      if !read.contains(column) { read.append(column) }
    }
    // Whatever the columns are, the rows that are counted have to be found.
    if read.isEmpty { read = [.evaluatedObject] }
    var plain = request
    plain.fetchLimit = 0
    plain.fetchOffset = 0
    try check(plain)
    guard case .columns(let searches) = try self.plan(plain, for: .rows), searches.count == 1,
      let found = try rows(of: plain, by: .columns(searches)), found.objects.isEmpty,
      let rows = ColumnRows(
        found, columns: read.map { FetchColumn("", $0) }, entityName: request.entityName)
    else { return nil }
    var groups = ColumnGroups(of: rows, keyCount: keys.count, aggregates: aggregates)
    var isComplete = true
    rows.forEachRow { row in
      guard isComplete else { return }
      guard computation != nil else {
        isComplete = groups.add(row)
        return
      }
      // An error is reported about an object.
      guard let keys = try? computation?.values(of: row) else {
        isComplete = false
        return
      }
      isComplete = groups.add(row, keys: keys)
    }
    return isComplete ? groups : nil
  }
}

import AtomicStoreSPI
import StorePredicates

extension ManagedObjectContext {
  /// The rows of groups that were formed of columns, in order, before limits; nil if objects must be evaluated.
  func columnGroupRows<Result>(_ request: FetchRequest<Result>) throws -> ComputedRows? {
    guard isGrouped(request), !request.shouldRefreshRefetchedObjects, !hasPendingChanges else { return nil }
    let keys = request.propertiesToGroupBy.map(\.expression)
    let columns = columnsAsked(request)
    let plan = StoreGroupPlan(keys: keys, columns: columns.map(\.expression), having: request.havingExpressions)
    guard plan.reason == nil, let groups = try columnGroups(request, keys, plan) else { return nil }
    if request.havingExpressions == nil, let values = plan.values(of: columns), values.allSatisfy(\.isOfEveryGroup) {
      return ComputedRows(groups, names: columns.map(\.name), values: values)
    }
    return try rows(ofGroups: groups.count, plan, request) { groups.value($0, of: $1) }.map { ComputedRows($0) }
  }

  private func columnGroups<Result>(
    _ request: FetchRequest<Result>, _ keys: [FetchExpression], _ plan: StoreGroupPlan
  ) throws -> ColumnGroups? {
    let arePaths = keys.allSatisfy { if case .keyPath = $0 { true } else { false } }
    var read = arePaths ? keys : []
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
      arePaths || keys.allSatisfy({ searches[0].cache.evaluates(.expression($0), on: searches[0].version) }),
      let found = try rows(of: plain, by: .columns(searches)), found.objects.isEmpty,
      let rows = ColumnRows(
        found, columns: read.map { FetchColumn("", $0) }, entityName: request.entityName)
    else { return nil }
    var groups = ColumnGroups(of: rows, keyCount: keys.count, aggregates: aggregates)
    var isComplete = true
    if arePaths {
      rows.forEachRow { row in
        guard isComplete else { return }
        isComplete = groups.add(row)
      }
      return isComplete && groups.finish() ? groups : nil
    }
    let search = searches[0]
    let evaluators = RowEvaluator(search.version.nodes, store: search.cache.identifier, budget: search.budget)
    return search.budget.attempt {
      try rows.forEachRow { row in
        guard isComplete else { return }
        let evaluator = evaluators.at(row.node)
        isComplete = groups.add(row, keys: try keys.map { try evaluator.value(of: $0) })
      }
      return isComplete && groups.finish() ? groups : nil
    }
  }
}

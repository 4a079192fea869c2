import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

extension ManagedObjectContext {
  /// Returns the result of a request as rows of columns, grouped and filtered as `propertiesToFetch`,
  /// `propertiesToGroupBy`, `havingPredicate` and `returnsDistinctResults` of the request specify. Limit and offset
  /// count rows. An incremental store computes groups itself where it can do so exactly, of the values that it holds at
  /// that moment: see ``explain(_:)``.
  ///
  /// Groups are in the order of their first object. Without groups, an aggregate column (`sum:(salary)`, `@count`)
  /// produces a single row.
  public func fetchRows<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [FetchedRow] {
    switch try fetchedRows(request) {
    case .columns(let rows): rows.all
    case .computed(let rows): Array(rows)
    }
  }

  /// As ``fetchRows(_:)``, but rows that are in the columns of stores are read when they are asked for.
  package func fetchedRows<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> FetchedRows {
    try withStepBudget(of: request) { request in
      processPendingChanges()
      if !request.includesPendingChanges, parent == nil, hasPendingChanges {
        return try withStoresAlone(request) { try $0.fetchedRows(request) }
      }
      if let rows = try fetchState.stepBudget?.tryFirst({ try columnRows(request) }) { return .columns(rows) }
      return .computed(try computedRows(request))
    }
  }

  func columnsAsked<Result>(_ request: FetchRequest<Result>) -> [FetchColumn] {
    guard request.propertiesToFetch.isEmpty else { return request.propertiesToFetch }
    let keys = request.propertiesToGroupBy
    return keys.isEmpty ? attributeColumns(request.entityName) : keys
  }

  /// The rows of a request whose columns are properties; nil if objects must be evaluated.
  private func columnRows<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> ColumnRows? {
    let columns = columnsAsked(request)
    let areStored = columns.allSatisfy {
      switch $0.expression {
      case .evaluatedObject: true
      case .keyPath(let path): path.first.map { !FetchExpression.isOperator($0) } ?? false
      default: false
      }
    }
    guard areStored, !columns.isEmpty, request.propertiesToGroupBy.isEmpty, request.rowSortKeys.isEmpty,
      !request.shouldRefreshRefetchedObjects
    else {
      return nil
    }
    processPendingChanges()
    guard !hasPendingChanges else { return nil }
    try check(request)
    var plain = request
    if request.returnsDistinctResults {
      plain.fetchLimit = 0
      plain.fetchOffset = 0
    }
    let plan = try plan(plain, for: .rows)
    let start = persistentStoreCoordinator.isLogging ? PersistentStoreCoordinator.clock : nil
    guard case .columns = plan, let found = try rows(of: plain, by: plan),
      let rows = ColumnRows(found, columns: columns, entityName: request.entityName)
    else { return nil }
    if let start { logSlowFetch(request, plan, count: rows.count, since: start) }
    guard request.returnsDistinctResults else { return rows }
    return rows.distinct(offset: max(0, request.fetchOffset), limit: max(0, request.fetchLimit))
  }

  private func computedRows<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> ComputedRows {
    let asked = columnsAsked(request)
    let further = request.rowSortKeys.filter { key in
      !asked.contains { $0.name.utf8.elementsEqual(key.keyPath.utf8) }
    }.compactMap { FetchColumn(ofRowSortKey: $0) ?? path(ofRowSortKey: $0, request, asked) }
    guard !further.isEmpty else { return try computedRows(request, asked) }
    guard !request.returnsDistinctResults else {
      throw ManagedObjectError(
        .invalidFetch, "distinct rows are sorted by columns, and '\(further[0].name)' is not one",
        entityName: request.entityName, key: further[0].name)
    }
    var wider = request
    wider.propertiesToFetch = asked + further
    let names = asked.map(\.name)
    return ComputedRows(
      try computedRows(wider, asked + further).map {
        FetchedRow(columns: names, values: Array($0.values.prefix(names.count)))
      })
  }

  /// The column of a sort key that is a key path: of an object, or of what is grouped by.
  private func path<Result>(
    ofRowSortKey key: SortKey, _ request: FetchRequest<Result>, _ columns: [FetchColumn]
  ) -> FetchColumn? {
    let column = FetchColumn(key.keyPath, .keyPath(of: key.keyPath))
    if request.propertiesToGroupBy.contains(where: { $0.expression == column.expression }) { return column }
    guard request.propertiesToGroupBy.isEmpty, !isOneGroup(request, columns),
      let entity = managedObjectModel?.entity(named: request.entityName),
      let name = FetchExpression.keys(of: key.keyPath).first, entity.property(named: name) != nil
    else { return nil }
    return column
  }

  private func computedRows<Result: ManagedObject>(
    _ request: FetchRequest<Result>, _ columns: [FetchColumn]
  ) throws -> ComputedRows {
    let order = try RowSorter(request.rowSortKeys, columns.map(\.name), request.entityName)
    if let rows = try storeGroupRows(request) { return try Self.finished(ComputedRows(rows), request, order) }
    if let rows = try columnGroupRows(request) { return try Self.finished(rows, request, order) }
    let isOneGroup = isOneGroup(request, columns)
    let isRowPerObject =
      request.propertiesToGroupBy.isEmpty && !isOneGroup && !request.returnsDistinctResults && order == nil
    var plain = request
    if !isRowPerObject {
      plain.fetchLimit = 0
      plain.fetchOffset = 0
    }
    let having = request.havingExpressions
    let read = (columns + request.propertiesToGroupBy).map { FetchTree.expression($0.expression) }
    // The steps of the condition are given back as well where the objects are found again.
    let rows = try fetchState.stepBudget?.tryFirst { () -> [FetchedRow]? in
      guard let found = try storedObjects(of: plain, reading: read + (having.map { [.predicate($0)] } ?? [])) else {
        return nil
      }
      // An error is reported about a managed object.
      return try? self.rows(of: found, request, columns, isOneGroup: isOneGroup)
    }
    let found = try rows ?? self.rows(of: .managed(try fetch(plain)), request, columns, isOneGroup: isOneGroup)
    return isRowPerObject ? ComputedRows(found) : try Self.finished(ComputedRows(found), request, order)
  }

  /// What expressions are evaluated on: objects of the context, or rows of its stores.
  private enum EvaluatedObjects {
    case managed([ManagedObject])
    case stored(FoundRows, StepBudget?)

    var count: Int {
      switch self {
      case .managed(let objects): objects.count
      case .stored(let found, _): found.count
      }
    }

    /// Calls `body` with an evaluator of each object, which is valid inside `body` only.
    func forEach(_ now: Date, _ body: (PredicateEvaluator) throws -> Void) rethrows {
      switch self {
      case .managed(let objects): for object in objects { try body(PredicateEvaluator(object, now: now)) }
      case .stored(let found, let budget):
        for (cache, version, nodes) in found.parts where !nodes.isEmpty {
          let rows = RowEvaluator(version.nodes, store: cache.identifier, now: now, budget: budget)
          for node in nodes { try body(rows.at(node)) }
        }
      }
    }

    /// One subject for each object.
    var subjects: [any PredicateSubject] {
      switch self {
      case .managed(let objects): objects
      case .stored(let found, let budget):
        found.parts.flatMap { cache, version, nodes in
          NodeSubject.all(nodes, of: version.nodes, store: cache.identifier, budget: budget)
        }
      }
    }
  }

  /// The rows that a request finds in the columns of stores; nil if objects must be evaluated.
  private func storedObjects<Result: ManagedObject>(
    of request: FetchRequest<Result>, reading trees: [FetchTree]
  ) throws -> EvaluatedObjects? {
    guard !request.shouldRefreshRefetchedObjects, !hasPendingChanges else { return nil }
    try check(request)
    let plan = try plan(request, for: .rows)
    guard case .columns(let searches) = plan,
      searches.allSatisfy({ search in trees.allSatisfy { search.cache.evaluates($0, on: search.version) } }),
      let found = try rows(of: request, by: plan), found.objects.isEmpty,
      // Rows of two stores may have the same number.
      found.parts.allSatisfy({ $0.cache === found.parts[0].cache })
    else { return nil }
    return .stored(found, fetchState.stepBudget)
  }

  private func rows<Result>(
    of found: EvaluatedObjects, _ request: FetchRequest<Result>, _ columns: [FetchColumn], isOneGroup: Bool
  ) throws -> [FetchedRow] {
    let names = columns.map(\.name)
    let now = Date()
    var rows: [FetchedRow] = []
    if request.propertiesToGroupBy.isEmpty, !isOneGroup {
      rows.reserveCapacity(found.count)
      try found.forEach(now) { evaluator in
        rows.append(FetchedRow(columns: names, values: try Self.values(of: columns, evaluator)))
      }
      return rows
    }
    let keys = request.propertiesToGroupBy.map(\.expression)
    var groups: [(key: [PredicateValue], objects: [any PredicateSubject])] = isOneGroup ? [([], found.subjects)] : []
    var places: [String: [Int]] = [:]
    if !isOneGroup {
      for object in found.subjects {
        let evaluator = PredicateEvaluator(object, now: now)
        let key = try Self.groupKey(keys, evaluator)
        // A text that is equal for equal keys selects the few groups that must be compared.
        let text = key.map(Self.bucket).joined(separator: "\u{1F}")
        let known = places[text]?.first { place in
          zip(groups[place].key, key).allSatisfy { PredicateEvaluator.isEqual($0, $1, []) }
        }
        if let known {
          groups[known].objects.append(object)
        } else {
          places[text, default: []].append(groups.count)
          groups.append((key, [object]))
        }
      }
    }
    let having = request.havingExpressions
    for group in groups {
      var evaluator = PredicateEvaluator(
        list: group.objects, now: now, entityName: request.entityName, budget: fetchState.stepBudget)
      evaluator.groupKeys = zip(keys, group.key).map { ($0, $1) }
      if let having, try !Self.holds(having, evaluator) { continue }
      rows.append(FetchedRow(columns: names, values: try Self.values(of: columns, evaluator)))
    }
    return rows
  }

  /// Whether all objects form one group.
  func isOneGroup<Result>(_ request: FetchRequest<Result>, _ columns: [FetchColumn]) -> Bool {
    request.propertiesToGroupBy.isEmpty && !columns.isEmpty && columns.allSatisfy { $0.expression.addsUp }
  }

  /// Applies what a request says of rows rather than of objects.
  private static func finished<Result>(
    _ found: ComputedRows, _ request: FetchRequest<Result>, _ order: RowSorter?
  ) throws(ManagedObjectError) -> ComputedRows {
    var found = found
    if request.returnsDistinctResults || order != nil {
      var rows = Array(found)
      if request.returnsDistinctResults {
        var seen: Set<[FetchedRow.Value]> = []
        rows = rows.filter { seen.insert($0.values).inserted }
      }
      if let order { rows = try order.sorted(rows) }
      found = ComputedRows(rows)
    }
    return found.limited(offset: request.fetchOffset, limit: request.fetchLimit)
  }

  private func attributeColumns(_ entityName: String) -> [FetchColumn] {
    guard let entity = managedObjectModel?.entity(named: entityName) else { return [] }
    let plan = ModelPlan.plan(of: entity.model).entities[entity.index]
    return plan.attributes.filter { plan.properties[$0].slot >= 0 }.map {
      FetchColumn(plan.properties[$0].name, .keyPath([plan.properties[$0].name]))
    }
  }

  static func values(
    of columns: [FetchColumn], _ evaluator: PredicateEvaluator
  ) throws(ManagedObjectError) -> [FetchedRow.Value] {
    try ManagedObjectError.reporting { () throws(PredicateEvaluationError) in
      try columns.map { column throws(PredicateEvaluationError) in
        try plain(try evaluator.value(of: column.expression), evaluator)
      }
    }
  }

  private static func groupKey(
    _ keys: [FetchExpression], _ evaluator: PredicateEvaluator
  ) throws(ManagedObjectError) -> [PredicateValue] {
    try ManagedObjectError.reporting { () throws(PredicateEvaluationError) in
      try keys.map { expression throws(PredicateEvaluationError) in
        let value = try evaluator.value(of: expression)
        try evaluator.refuseComposite(value)
        return value
      }
    }
  }

  static func holds(_ predicate: FetchPredicate, _ evaluator: PredicateEvaluator) throws(ManagedObjectError)
    -> Bool
  {
    do throws(PredicateEvaluationError) { return try evaluator.evaluate(predicate) } catch {
      throw ManagedObjectError(error)
    }
  }

  static func plain(_ value: PredicateValue, _ evaluator: PredicateEvaluator) throws(PredicateEvaluationError)
    -> FetchedRow.Value
  {
    switch value {
    case .value(let value): return .value(value)
    case .open(let number): return .value(number.value)
    case .object(let object): return .object(object.objectID)
    case .id(let id): return .object(id)
    case .list(let list):
      return .list(try list.map { element throws(PredicateEvaluationError) in try plain(element, evaluator) })
    case .composite(let composite): throw evaluator.failure(composite.refusal, key: composite.name)
    }
  }

  private static func bucket(_ value: PredicateValue) -> String {
    switch value {
    case .open(let number): bucket(.value(number.value))
    case .value(let value):
      // Equal numbers of different types must have the same bucket. Adding 0 turns -0 into 0.
      if let number = NumberOrder.Number(value) {
        "n\(number.asDouble + 0)"
      } else if case .date(let date) = value {
        "d\(date.timeIntervalSinceReferenceDate + 0)"
      } else {
        "v\(value.typedText)"
      }
    case .object(let object): "o\(object.objectID)"
    case .id(let id): "o\(id)"
    case .list(let list): "l\(list.count)"
    case .composite(let composite): "c\(composite.name)"
    }
  }
}

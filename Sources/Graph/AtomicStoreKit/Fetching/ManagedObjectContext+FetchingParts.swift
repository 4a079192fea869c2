import AtomicStoreSPI
import StoreCoordination
import StorePredicates

extension ManagedObjectContext {
  /// As ``fetchedRows(_:)``, but of an incremental store, rows are read a part at a time, as of one moment, so that
  /// they are not in memory all at once: without sort keys, groups and unsaved changes, if the columns are
  /// attributes, to-ones and the objects themselves, and the condition reads attributes only.
  ///
  /// - Parameters:
  ///   - rowsAtOnce: How many rows of the store are a part.
  ///   - body: Called with each part in order, or with all rows; not called if there are none. Until it returns, the
  ///     store cannot be asked: it must not use the context. If a later part cannot be read, it was called with those
  ///     before.
  package func forEachPart<Result: ManagedObject>(
    of request: FetchRequest<Result>, rowsAtOnce: Int = 8192, _ body: (FetchedRows) throws -> Void
  ) throws {
    try withStepBudget(of: request) { request in
      processPendingChanges()
      var (rest, token) = (request, HistoryToken?.none)
      let isRead = try fetchState.stepBudget?.tryFirst {
        try readParts(&rest, &token, rowsAtOnce: rowsAtOnce, body) ? true : nil
      }
      guard isRead == nil else { return }
      let rows = try fetchedRows(rest)
      // The rest is of another moment than the parts. A store without tokens cannot tell.
      if rest.fetchOffset != request.fetchOffset, try token != currentToken(of: request) {
        throw ManagedObjectError(
          .persistentStoreOperation, "the store was changed while its rows were read: fetch them again",
          entityName: request.entityName)
      }
      if rows.count > 0 { try body(rows) }
    }
  }

  /// The last transaction of the store in which a request finds its rows.
  private func currentToken<Result: ManagedObject>(of request: FetchRequest<Result>) throws -> HistoryToken? {
    guard let connection = cachesAsked(request).first?.connection else { return nil }
    return try connection.use { store throws(PersistentStoreError) in try store.currentHistoryToken() }
  }

  /// - Parameters:
  ///   - request: Afterwards, the rows that `body` was not called with.
  ///   - token: Afterwards, the last transaction before them.
  /// - Returns: True if all rows were read. Otherwise ``fetchedRows(_:)`` has to read the rest: it evaluates objects,
  ///   and so reports what is wrong with a condition or a relationship.
  private func readParts<Result: ManagedObject>(
    _ request: inout FetchRequest<Result>, _ token: inout HistoryToken?, rowsAtOnce: Int,
    _ body: (FetchedRows) throws -> Void
  ) throws -> Bool {
    guard let search = try partSearch(request), let connection = search.cache.connection else { return false }
    let start = persistentStoreCoordinator.isLogging ? PersistentStoreCoordinator.clock : nil
    let model = search.cache.store.model
    let parts = StoreParts(
      search.fetch.entities, only: neededColumns(request, model, for: .rows),
      file: search.cache.store.path, rows: rowsAtOnce)
    var (skipped, given) = (max(0, request.fetchOffset), 0)
    token = try currentToken(of: request)
    var failure: (any Error)?
    var isUndecided = false
    var spent = 0.0
    do throws(PersistentStoreError) {
      let isRead = try connection.read(parts) { part in
        guard let (found, nodes) = rows(of: part, request, search.cache) else {
          isUndecided = true
          return false
        }
        let left = request.fetchLimit > 0 ? request.fetchLimit - given : .max
        let rows = found.limited(to: nodes.dropFirst(skipped).prefix(left))
        skipped = max(0, skipped - nodes.count)
        given += rows.count
        let before = PersistentStoreCoordinator.clock
        do { if rows.count > 0 { try body(.columns(rows)) } } catch { failure = error }
        spent += PersistentStoreCoordinator.clock - before
        return failure == nil && rows.count < left
      }
      guard isRead else { return false }
    } catch {
      if let failure { throw failure }
      // As where columns are read at once.
      guard [.limitExceeded, .danglingReference, .duplicateReference].contains(error.code) else {
        throw ManagedObjectError(
          .persistentStoreOperation, "the store could not be asked", entityName: request.entityName, underlying: error)
      }
      isUndecided = true
    }
    if let failure { throw failure }
    guard isUndecided else {
      // Without the time that the body took.
      if let start { logSlowFetch(request, .columns([]), count: given, since: start + spent) }
      return true
    }
    request.fetchOffset = max(0, request.fetchOffset) + given
    if request.fetchLimit > 0 { request.fetchLimit -= given }
    return false
  }

  /// The search of a request whose rows can be read in parts; nil if they cannot, or the store itself finds them.
  private func partSearch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> StoreSearch? {
    let columns = columnsAsked(request)
    guard parent == nil, !hasPendingChanges, !columns.isEmpty, !isGrouped(request), request.sortKeys.isEmpty,
      request.rowSortKeys.isEmpty, !request.returnsDistinctResults
    else { return nil }
    try check(request)
    // Another store may have taken a store's place.
    for cache in cachesAsked(request) { _ = cache.currentVersion() }
    guard let search = try storeSearch(request), !search.fetch.entities.isEmpty else { return nil }
    let (plan, version) = (search.cache.plan, NodeVersion(NodeTable(model: search.cache.store.model)))
    let start = plan.entities[search.fetch.entity]
    for column in columns {
      guard let source = RowColumn(column.expression, start, plan, version), source.isDirect else { return nil }
      if case .toMany = source.source { return nil }
    }
    if let predicate = request.predicate, !FetchTree.predicate(predicate).isOfAttributes(start) { return nil }
    return readsColumns(request, search, for: .rows) ? search : nil
  }

  /// The rows of a part that a request finds, without its limit; nil if objects must be evaluated.
  private func rows<Result: ManagedObject>(
    of part: StorePart, _ request: FetchRequest<Result>, _ cache: StoreCache
  ) -> (rows: ColumnRows, nodes: ArraySlice<NodeHandle>)? {
    var plain = request
    (plain.fetchOffset, plain.fetchLimit) = (0, 0)
    let entity = cache.store.model.entity(at: part.entity)
    guard case .success(let searches) = columnSearch(plain, [entity], in: cache, NodeVersion(part.nodes)),
      let found = rows(of: plain, searches), let one = found.parts.first,
      let rows = ColumnRows(found, columns: columnsAsked(request), entityName: request.entityName)
    else { return nil }
    return (rows, one.nodes.prefix { $0.row < part.count })
  }
}

extension FetchTree {
  /// Whether it reads nothing but attributes of the object that it is evaluated on, so that it does not matter with
  /// which other rows, or when, it is evaluated.
  fileprivate func isOfAttributes(_ entity: EntityPlan) -> Bool {
    switch self {
    case .expression(.keyPath(let path)):
      guard path.count == 1, let property = entity.property(named: path[0]),
        case .attribute = entity.properties[property].kind
      else { return false }
      return true
    case .expression(.evaluatedObject), .expression(.objectID), .expression(.member), .expression(.subquery),
      .expression(.variable):
      return false
    // The time, and random numbers.
    case .expression(.function(let name, let arguments)) where arguments.isEmpty || name.hasPrefix("random"):
      return false
    default: return parts.allSatisfy { $0.isOfAttributes(entity) }
    }
  }
}

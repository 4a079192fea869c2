import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

extension ManagedObjectContext {
  /// A fetch of at most so many rows of an incremental store makes objects of them, if the store finds them.
  private static let fewRows = 1000
  /// A condition is worth asking the store for if it leaves at most this part of the rows.
  private static let smallPart = 8

  /// A search in the columns that a request needs, which are read from an incremental store now; nil if the store
  /// answers the request, or objects must be evaluated.
  func columnSearch<Result>(
    _ request: FetchRequest<Result>, _ search: StoreSearch, for purpose: FetchPlan.Purpose
  ) throws(ManagedObjectError) -> ColumnSearch? {
    let store = search.cache.store
    guard readsColumns(request, search, for: purpose), let connection = store.connection else { return nil }
    let needed = neededColumns(request, store.model, for: purpose)
    let version: NodeVersion
    if let known = fetchState.storeColumns, known.needed == needed, known.store == store.identifier {
      version = known.version
    } else {
      do throws(PersistentStoreError) {
        version = NodeVersion(
          try connection.read(needed, into: NodeTableBuilder(model: store.model, file: store.path)))
      } catch {
        // Objects need not be in memory at once, and what a relationship names may be missing.
        if error.code == .limitExceeded || error.code == .danglingReference { return nil }
        throw ManagedObjectError(
          .persistentStoreOperation, "the store could not be asked", entityName: request.entityName, underlying: error)
      }
      if fetchState.stepBudget != nil { fetchState.storeColumns = (needed, version, store.identifier) }
    }
    guard case .success(let searches) = columnSearch(request, try entities(of: request), in: search.cache, version)
    else { return nil }
    return searches.first
  }

  /// Whether a request is evaluated on columns of an incremental store.
  func readsColumns<Result>(
    _ request: FetchRequest<Result>, _ search: StoreSearch, for purpose: FetchPlan.Purpose
  ) -> Bool {
    guard !search.hasChanges, purpose != .store, isWorthReading(request, search, for: purpose) else { return false }
    // With unsaved changes of other objects, too, columns are not sorted.
    guard !hasPendingChanges || request.sortKeys.isEmpty else { return false }
    // Whether it can be done is known without a row.
    let version = NodeVersion(NodeTable(model: search.cache.store.model))
    guard let entities = try? entities(of: request),
      case .success = columnSearch(request, entities, in: search.cache, version)
    else { return false }
    guard purpose == .rows else { return true }
    // Only objects can be refreshed.
    guard !request.shouldRefreshRefetchedObjects else { return false }
    let columns = columnsAsked(request).map(\.expression) + request.propertiesToGroupBy.map(\.expression)
    if isGrouped(request) {
      return StoreGroupPlan(
        keys: request.propertiesToGroupBy.map(\.expression), columns: columns, having: request.havingExpressions
      ).reason == nil
    }
    return RowComputation(columns, entityName: request.entityName, budget: nil) != nil
  }

  /// Whether the store would make objects of many rows that the request does not return.
  private func isWorthReading<Result>(
    _ request: FetchRequest<Result>, _ search: StoreSearch, for purpose: FetchPlan.Purpose
  ) -> Bool {
    switch search.answer {
    case .exact where purpose != .rows: return false
    case .exact where request.fetchLimit > 0 && request.fetchLimit <= Self.fewRows && !isGrouped(request): return false
    case .inMemory: return true
    case .exact, .superset: break
    }
    guard let predicate = request.predicate else { return true }
    let parts: [FetchPredicate] = if case .and(let parts) = predicate { parts } else { [predicate] }
    var fetch = StoreFetch(entity: search.fetch.entity, entities: search.fetch.entities)
    let exact = parts.filter { part in
      fetch.predicate = part
      return search.cache.store.connection?.answer(to: fetch) == .exact
    }
    fetch.predicate = .and(exact)
    guard !exact.isEmpty, let some = count(fetch, search) else { return true }
    fetch.predicate = nil
    guard some > Self.fewRows, let all = count(fetch, search) else { return false }
    return some > all / Self.smallPart
  }

  private func count(_ fetch: StoreFetch, _ search: StoreSearch) -> Int? {
    try? search.cache.store.connection?.use { store throws(PersistentStoreError) in try store.count(fetch) }
  }

  /// The columns that a request reads: those of its condition and its order, and for rows all that it returns.
  private func neededColumns<Result>(
    _ request: FetchRequest<Result>, _ model: ManagedObjectModel, for purpose: FetchPlan.Purpose
  ) -> NeededColumns {
    var needed = NeededColumns()
    guard let entity = model.entity(named: request.entityName) else { return needed }
    needed.add(entity)
    var trees = request.sortKeys.map { FetchTree.expression(.keyPath(of: $0.keyPath)) }
    if let predicate = request.predicate { trees.append(.predicate(predicate)) }
    if purpose == .rows {
      trees += (columnsAsked(request) + request.propertiesToGroupBy).map { .expression($0.expression) }
      if let having = request.havingExpressions { trees.append(.predicate(having)) }
    }
    for tree in trees { needed.add(tree, of: entity) }
    return needed
  }

  /// The objects of rows that were found in columns of an incremental store. Those that another program has deleted
  /// since are left out.
  func objects(
    at nodes: ArraySlice<NodeHandle>, in version: NodeVersion, of cache: StoreCache
  ) throws(ManagedObjectError) -> [ManagedObject] {
    guard let connection = cache.store.connection, let window = cache.currentVersion() else { return [] }
    var byRoot: [Int: [ReferenceObject]] = [:]
    for node in nodes {
      byRoot[cache.plan.entities[node.entity].root, default: []].append(version.reference(of: node))
    }
    var places: [Int: [ReferenceObject: NodeHandle]] = [:]
    for (root, references) in byRoot {
      let rows: [StoreRow]
      do throws(PersistentStoreError) {
        rows = try connection.use { store throws(PersistentStoreError) in try store.rows(references, root: root) }
      } catch {
        throw ManagedObjectError(
          .persistentStoreOperation, "the store could not be asked", entityName: cache.plan.entities[root].name,
          underlying: error)
      }
      for (row, node) in zip(rows, cache.take(rows)) { places[root, default: [:]][row.reference] = node }
    }
    return nodes.compactMap { node in
      places[cache.plan.entities[node.entity].root]?[version.reference(of: node)].map {
        object(at: $0, in: window, of: cache)
      }
    }
  }
}

extension NeededColumns {
  /// Adds what an expression or a predicate reads of an entity's objects.
  fileprivate mutating func add(_ tree: FetchTree, of entity: Entity) {
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

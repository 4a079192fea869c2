import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// A request that an incremental store executes.
struct StoreSearch {
  let cache: StoreCache
  let fetch: StoreFetch
  /// What the store leaves to the kit, before unsaved changes are considered.
  let answer: FetchAnswer
  /// Whether objects with unsaved changes have to be evaluated as well.
  let hasChanges: Bool
  /// Why everything is evaluated on objects; nil if the store evaluates the predicate.
  let everythingBecause: String?
  /// The new and changed objects that may fulfil the predicate; nil if all have to be examined.
  var pending: [ManagedObject]?
}

extension ManagedObjectContext {
  /// How an incremental store executes a request; nil if no incremental store is asked, or it is not asked alone.
  func storeSearch<Result>(_ request: FetchRequest<Result>) throws(ManagedObjectError) -> StoreSearch? {
    guard parent == nil, request.filter == nil else { return nil }
    let caches = cachesAsked(request)
    guard caches.count == 1, let cache = caches.first, cache.isIncremental, let connection = cache.connection
    else {
      return nil
    }
    let entities = try entities(of: request).filter { $0.model === cache.store.model }
    guard let entity = cache.store.model.entity(named: request.entityName) else { return nil }
    var fetch = StoreFetch(
      entity: entity.index, entities: entities.filter { !$0.isAbstract }.map(\.index), predicate: request.predicate,
      sortKeys: request.sortKeys, limit: request.fetchLimit > 0 ? request.fetchLimit : nil,
      offset: max(0, request.fetchOffset))
    let leadsOn =
      request.predicate?.readsRelationships ?? false
      || request.sortKeys.contains { $0.keyPath.utf8.contains(UInt8(ascii: ".")) }
    if !leadsOn, let pending = pendingObjects(request, cache, entity) {
      fetch.limit = fetch.limit.flatMap { Self.sum($0, fetch.offset, updated.count, deleted.count) }
      fetch.offset = 0
      return StoreSearch(
        cache: cache, fetch: fetch, answer: connection.answer(to: fetch), hasChanges: true, everythingBecause: nil,
        pending: pending)
    }
    let changed =
      hasPendingChanges
      ? (inserted.elements + updated.elements + deleted.elements).filter { fetch.entities.contains($0.plan.index) } : []
    guard hasPendingChanges, !changed.isEmpty || leadsOn else {
      return StoreSearch(
        cache: cache, fetch: fetch, answer: connection.answer(to: fetch), hasChanges: false, everythingBecause: nil)
    }
    var reason: String?
    if leadsOn {
      // Objects with changes may be at the other end.
      reason = "the request may read unsaved changes through a relationship"
      fetch.predicate = nil
      fetch.sortKeys = []
      fetch.limit = nil
    } else if let limit = fetch.limit {
      // As many as changed may be missing in the end.
      fetch.limit = Self.sum(limit, fetch.offset, changed.count, 0)
    }
    fetch.offset = 0
    return StoreSearch(
      cache: cache, fetch: fetch, answer: connection.answer(to: fetch), hasChanges: true, everythingBecause: reason)
  }

  /// A limit of rows with further ones; nil for a number that is too large.
  private static func sum(_ limit: Int, _ numbers: Int...) -> Int? {
    var sum = limit
    for number in numbers {
      let (next, overflow) = sum.addingReportingOverflow(number)
      guard !overflow else { return nil }
      sum = next
    }
    return sum
  }

  /// The new and changed objects that may fulfil a predicate which demands a value of a property; nil if there are few
  /// of them, or the predicate does not.
  private func pendingObjects<Result>(
    _ request: FetchRequest<Result>, _ cache: StoreCache, _ entity: Entity
  ) -> [ManagedObject]? {
    // Evaluating a few objects is as fast as searching a table.
    guard inserted.count + updated.count > 16, let predicate = request.predicate,
      let version = cache.currentVersion()
    else { return nil }
    let plan = cache.plan.entities[entity.index]
    let compiler = RowTestCompiler(plan: cache.plan, version: version, store: cache.identifier)
    let parts: [FetchPredicate] = if case .and(let parts) = predicate { parts } else { [predicate] }
    for part in parts {
      guard case .comparison(let comparison) = part, comparison.comparator == .equal,
        case .keyPath = comparison.left, case .constant = comparison.right,
        let (slot, value) = compiler.compile(part, plan)?.soughtValue(plan)
      else { continue }
      let root = cache.plan.entities[plan.root]
      return pendingObjects(with: value, plan.propertyOfSlot[slot], root: root, version)
    }
    return nil
  }

  /// Executes a request in an incremental store.
  func rows<Result>(
    of request: FetchRequest<Result>, in search: StoreSearch
  ) throws(ManagedObjectError) -> FoundRows {
    let cache = search.cache
    guard let version = cache.currentVersion() else { return FoundRows() }
    let (answer, nodes) = try nodes(of: search)
    var found = FoundRows()
    if !search.hasChanges, case .exact = answer {
      found.parts.append((cache, version, nodes[...]))
      return found
    }
    var objects = nodes.map { object(at: $0, in: version, of: cache) }
    if search.hasChanges {
      let wanted = Set(search.fetch.entities)
      let there = ObjectList(objects)
      objects.removeAll { !$0.flags.isDisjoint(with: [.deleted, .inserted]) }
      let changed = (search.pending?.filter { $0.flags.contains(.updated) } ?? updated.elements).filter {
        $0.cache === cache && wanted.contains($0.plan.index) && !there.contains($0)
      }
      objects += changed
      // The store sorted by the values that it has; objects that are equal by their new ones stand in stored order.
      if !changed.isEmpty || !request.sortKeys.isEmpty { objects.sort(by: Self.isStoredBefore) }
      objects += insertedObjects(search.pending, cache, wanted)
    }
    let isDecided = if case .exact = answer { search.everythingBecause == nil } else { false }
    if let predicate = request.predicate {
      let now = Date()
      objects = try keep(objects) { object throws(PredicateEvaluationError) in
        // The store has tested what is as it was read.
        if isDecided, !object.hasChanges { return true }
        return try PredicateEvaluator(object, now: now).evaluate(predicate)
      }
    }
    if !request.sortKeys.isEmpty { objects = try sorted(objects, by: request.sortKeys) }
    let rest = objects.dropFirst(max(0, request.fetchOffset))
    found.objects = Array(request.fetchLimit > 0 ? rest.prefix(request.fetchLimit) : rest)
    return found
  }

  /// All objects of the request's entities in an incremental store, in order, without those inserted here.
  func storedObjects(of entities: [Entity], in cache: StoreCache) throws(ManagedObjectError) -> [ManagedObject] {
    let own = entities.filter { $0.model === cache.store.model && !$0.isAbstract }
    guard let first = own.first, let version = cache.currentVersion() else { return [] }
    let search = StoreSearch(
      cache: cache, fetch: StoreFetch(entity: first.root.index, entities: own.map(\.index)), answer: .exact,
      hasChanges: false, everythingBecause: nil)
    return try nodes(of: search).nodes.map { object(at: $0, in: version, of: cache) }
  }

  /// The exact number of objects of a request, if the store can tell.
  func storeCount(of search: StoreSearch) throws(ManagedObjectError) -> Int? {
    guard !search.hasChanges, let connection = search.cache.connection else { return nil }
    var fetch = search.fetch
    fetch.limit = nil
    fetch.offset = 0
    fetch.sortKeys = []
    let asked = fetch
    do throws(PersistentStoreError) {
      return try connection.use { store throws(PersistentStoreError) in try store.count(asked) }
    } catch {
      throw ManagedObjectError(.persistentStoreOperation, "the store could not be asked", underlying: error)
    }
  }

  private func nodes(of search: StoreSearch) throws(ManagedObjectError) -> (answer: FetchAnswer, nodes: [NodeHandle]) {
    guard let connection = search.cache.connection else { return (.exact, []) }
    let fetch = search.fetch
    do throws(PersistentStoreError) {
      let result = try connection.use { store throws(PersistentStoreError) in try store.fetch(fetch) }
      return (result.answer, search.cache.take(result.rows))
    } catch {
      throw ManagedObjectError(
        .persistentStoreOperation, "the store could not be asked",
        entityName: search.cache.plan.entities[fetch.entity].name,
        underlying: error)
    }
  }

  private func insertedObjects(
    _ pending: [ManagedObject]?, _ cache: StoreCache, _ wanted: Set<Int>
  ) -> [ManagedObject] {
    let new = pending?.filter { $0.flags.contains(.inserted) }.sorted { $0.position < $1.position }
    return (new ?? inserted.elements).filter { object in
      guard wanted.contains(object.plan.index), !object.flags.contains(.deleted) else { return false }
      return cacheForCheck(object).map { $0 === cache } ?? true
    }
  }

  private func keep(
    _ objects: [ManagedObject], _ test: (ManagedObject) throws(PredicateEvaluationError) -> Bool
  ) throws(ManagedObjectError) -> [ManagedObject] {
    var kept: [ManagedObject] = []
    for object in objects {
      do throws(PredicateEvaluationError) { if try test(object) { kept.append(object) } } catch {
        throw ManagedObjectError(error)
      }
    }
    return kept
  }

  private func sorted(_ objects: [ManagedObject], by keys: [SortKey]) throws(ManagedObjectError) -> [ManagedObject] {
    try SortKey.sort(objects, by: keys)
  }

  /// The order of stored objects without sort keys.
  private static func isStoredBefore(_ one: ManagedObject, _ other: ManagedObject) -> Bool {
    if one.plan.index != other.plan.index { return one.plan.index < other.plan.index }
    guard let a = one.reference, let b = other.reference else { return one.reference != nil }
    return a < b
  }
}

// MARK: Columns

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
    return columns.allSatisfy { search.cache.evaluates(.expression($0), on: version) }
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
    // The parts of a request are planned one by one, and would have the rows counted each time.
    let (entities, store) = (search.fetch.entities, search.cache.store.identifier)
    if let known = fetchState.storeShare, known.store == store, known.entities == entities, known.predicate == predicate
    {
      return known.isLarge
    }
    let isLarge = leavesManyRows(predicate, search)
    if fetchState.stepBudget != nil { fetchState.storeShare = (predicate, entities, store, isLarge) }
    return isLarge
  }

  /// Whether what the store can say of a condition leaves a large part of the rows.
  private func leavesManyRows(_ predicate: FetchPredicate, _ search: StoreSearch) -> Bool {
    let parts: [FetchPredicate] = if case .and(let parts) = predicate { parts } else { [predicate] }
    var fetch = StoreFetch(entity: search.fetch.entity, entities: search.fetch.entities)
    let exact = parts.filter { part in
      fetch.predicate = part
      return search.cache.connection?.answer(to: fetch) == .exact
    }
    fetch.predicate = .and(exact)
    guard !exact.isEmpty, let some = count(fetch, search) else { return true }
    fetch.predicate = nil
    guard some > Self.fewRows, let all = count(fetch, search) else { return false }
    return some > all / Self.smallPart
  }

  private func count(_ fetch: StoreFetch, _ search: StoreSearch) -> Int? {
    try? search.cache.connection?.use { store throws(PersistentStoreError) in try store.count(fetch) }
  }

  /// The columns that a request reads: those of its condition and its order, and for rows all that it returns.
  func neededColumns<Result>(
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
    guard let connection = cache.connection, let window = cache.currentVersion() else { return [] }
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

extension FetchPredicate {
  /// Whether a key path of it has more than one key, or something else that may lead to other objects.
  var readsRelationships: Bool { FetchTree.predicate(self).leadsOn }
}

extension FetchTree {
  fileprivate var leadsOn: Bool {
    switch self {
    case .expression(.keyPath(let path)) where path.count > 1: true
    case .expression(.member), .expression(.element), .expression(.subquery), .expression(.custom),
      .expression(.function), .expression(.fetch), .predicate(.block):
      true
    default: parts.contains { $0.leadsOn }
    }
  }
}

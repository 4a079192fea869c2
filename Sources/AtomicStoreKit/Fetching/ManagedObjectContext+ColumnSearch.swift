import AtomicStoreSPI
import StoreCoordination
import StorePredicates
import FoundationEssentials

/// Fetches that run over the columns of stores, with unsaved changes laid over them.
extension ManagedObjectContext {
  /// A store that a request is asked of by columns: its entities with what each row must fulfil, nil for nothing.
  struct ColumnSearch {
    let home: StoreHome
    let version: NodeVersion
    let entities: [(plan: EntityPlan, test: RowTest?)]
  }

  /// What a request finds: nodes of each store, and behind them the objects that have no node, or that stand in an order which
  /// columns do not know.
  struct FoundRows {
    var parts: [(home: StoreHome, version: NodeVersion, nodes: ArraySlice<NodeHandle>)] = []
    var objects: [ManagedObject] = []
    var count: Int { parts.reduce(objects.count) { $0 + $1.nodes.count } }
  }

  /// What to run over columns for a request; nil where that cannot be: a closure, keys that are no columns, or changes in memory
  /// that the columns do not know and the predicate may look at through a relationship.
  func columnSearches<Result>(_ request: FetchRequest<Result>) throws(ManagedObjectError) -> [ColumnSearch]? {
    guard parent == nil, request.filter == nil else { return nil }
    let entities = try entities(of: request)
    let homes = homesAsked(request)
    // Several stores in one order are sorted as objects.
    guard homes.count == 1 || request.sortKeys.isEmpty else { return nil }
    if hasPendingChanges { guard request.includesPendingChanges, managedObjectModel != nil else { return nil } }
    var searches: [ColumnSearch] = []
    for home in homes {
      guard let version = home.currentVersion(), isReadAsStored(home, version) else { return nil }
      var asked: [(plan: EntityPlan, test: RowTest?)] = []
      let compiler = RowTestCompiler(plan: home.plan, version: version, store: home.identifier)
      for entity in entities where entity.model === home.store.model && !entity.isAbstract {
        let plan = home.plan.entities[entity.index]
        guard let predicate = request.predicate else {
          asked.append((plan, nil))
          continue
        }
        guard let test = compiler.compile(predicate, plan), !test.readsDeferredValues(version, plan.index),
          !isChanged(anyOf: test.entitiesLedTo)
        else { return nil }
        asked.append((plan, test))
      }
      searches.append(ColumnSearch(home: home, version: version, entities: asked))
    }
    return searches
  }

  /// Whether objects without changes say what the store's present version says: none reads an older one, and nothing lies over
  /// stored values. Found out once for each version, not at each fetch.
  private func isReadAsStored(_ home: StoreHome, _ version: NodeVersion) -> Bool {
    if home.settledVersion === version { return true }
    var isSettled = true
    home.visit { object in
      objectsAskedByFetches += 1
      guard object.flags.contains(.realized) else { return }
      if object.base !== version, !object.flags.contains(.inserted) { isSettled = false }
      if object.hasStoredOverlay { isSettled = false }
    }
    if isSettled { home.settledVersion = version }
    return isSettled
  }

  /// Whether objects of one of these entities are changed here.
  private func isChanged(anyOf entities: Set<Int>) -> Bool {
    guard !entities.isEmpty, hasPendingChanges else { return false }
    return [inserted, updated, deleted].contains { $0.contains { entities.contains($0.plan.index) } }
  }

  /// What a request finds by its predicate and order run over columns; nil where that cannot be.
  func rows<Result>(of request: FetchRequest<Result>) throws(ManagedObjectError) -> FoundRows? {
    guard let searches = try columnSearches(request) else { return nil }
    if hasPendingChanges { return try rowsWithChanges(of: request, searches) }
    var skipped = max(0, request.fetchOffset)
    var wanted = request.fetchLimit > 0 ? request.fetchLimit : .max
    var found = FoundRows()
    for search in searches {
      var nodes: [NodeHandle] = []
      for (plan, test) in search.entities {
        guard let test else {
          let count = search.version.rowCount(of: plan.index)
          nodes.reserveCapacity(nodes.count + count)
          for row in 0..<count { nodes.append(NodeHandle(entity: plan.index, row: row)) }
          continue
        }
        test.rows(search.version, plan) { nodes.append(NodeHandle(entity: plan.index, row: $0)) }
      }
      if !request.sortKeys.isEmpty {
        guard let sort = RowSort(request.sortKeys, entities: search.entities.map(\.plan), search.home.plan, search.version) else {
          return nil
        }
        let (end, overflow) = skipped.addingReportingOverflow(wanted)
        nodes = sort.sorted(nodes, limit: overflow ? .max : end)
      }
      let part = nodes.dropFirst(skipped).prefix(wanted)
      skipped = max(0, skipped - nodes.count)
      wanted -= wanted == .max ? 0 : part.count
      found.parts.append((search.home, search.version, part))
    }
    return found
  }

  // MARK: With unsaved changes

  /// The same where there are unsaved changes: rows whose objects have changed count by what the objects say, and new objects
  /// come behind them.
  private func rowsWithChanges<Result>(
    of request: FetchRequest<Result>, _ searches: [ColumnSearch]
  ) throws(ManagedObjectError) -> FoundRows? {
    let now = Date()
    var found = FoundRows()
    let candidates = candidates(for: request, searches)
    for search in searches {
      var changed: [Int: [Int]] = [:]
      for object in candidates?.filter({ $0.flags.contains(.updated) }) ?? updated.elements {
        guard object.home === search.home, object.base === search.version,
          try isFound(object, request, search, now: now)
        else { continue }
        changed[object.node.entity, default: []].append(object.node.row)
      }
      var nodes: [NodeHandle] = []
      for (plan, test) in search.entities {
        var rows: [Int] = []
        if let test { test.rows(search.version, plan) { rows.append($0) } } else { rows = Array(0..<search.version.rowCount(of: plan.index)) }
        if !updated.isEmpty || !deleted.isEmpty {
          rows.removeAll { hasChanges(NodeHandle(entity: plan.index, row: $0), search) }
        }
        if let changed = changed[plan.index] {
          rows += changed
          rows.sort()
        }
        for row in rows { nodes.append(NodeHandle(entity: plan.index, row: row)) }
      }
      found.parts.append((search.home, search.version, nodes[...]))
    }
    guard let new = try newObjects(request, searches, candidates, now: now) else { return nil }
    found.objects = new
    return try part(of: found, request)
  }

  /// Whether the object of a row is changed or deleted here.
  private func hasChanges(_ node: NodeHandle, _ search: ColumnSearch) -> Bool {
    guard let object = search.home.object(root: search.home.plan.entities[node.entity].root, search.version.reference(of: node))
    else { return false }
    return !object.flags.isDisjoint(with: [.updated, .deleted])
  }

  /// The new objects that a request finds, in the order they were inserted. Nil where one is a row of its store as well: one that came
  /// back after a conflict.
  private func newObjects<Result>(
    _ request: FetchRequest<Result>, _ searches: [ColumnSearch], _ candidates: [ManagedObject]?, now: Date
  ) throws(ManagedObjectError) -> [ManagedObject]? {
    guard !inserted.isEmpty else { return [] }
    let entities = try entities(of: request)
    let names = Set(entities.map(\.index))
    let stores = request.affectedStores.map { $0.map(\.latest) }
    var found: [ManagedObject] = []
    let new = candidates?.filter { $0.flags.contains(.inserted) }.sorted { $0.position < $1.position }
    for object in new ?? inserted.elements {
      guard names.contains(object.plan.index), entities.contains(object.plan.entity) else { continue }
      guard !object.flags.contains(.deleted), object.base == nil else { return nil }
      if let stores {
        guard let home = homeForCheck(object), stores.contains(where: { $0 === home.store }) else { continue }
      }
      if try isFound(object, request, searches.first { $0.home === object.home }, now: now) { found.append(object) }
    }
    return found
  }

  /// Whether an object that is new or changed is among those asked for.
  private func isFound<Result>(
    _ object: ManagedObject, _ request: FetchRequest<Result>, _ search: ColumnSearch?, now: Date
  ) throws(ManagedObjectError) -> Bool {
    var test: RowTest?
    if let search {
      guard let entry = search.entities.first(where: { $0.plan === object.plan }) else { return false }
      test = entry.test
    }
    guard let predicate = request.predicate else { return true }
    objectsAskedByFetches += 1
    if let test, let version = search?.version, let holds = test.holds(object, version) { return holds }
    do throws(PredicateEvaluationError) { return try PredicateEvaluator(object, now: now).evaluate(predicate) } catch {
      throw ManagedObjectError(error)
    }
  }

  /// What is left of the objects found by order, offset and limit.
  private func part<Result>(of found: FoundRows, _ request: FetchRequest<Result>) throws(ManagedObjectError) -> FoundRows {
    let offset = max(0, request.fetchOffset)
    guard !request.sortKeys.isEmpty else {
      var skipped = offset
      var wanted = request.fetchLimit > 0 ? request.fetchLimit : .max
      var part = FoundRows()
      for (home, version, nodes) in found.parts {
        let taken = nodes.dropFirst(skipped).prefix(wanted)
        skipped = max(0, skipped - nodes.count)
        wanted -= wanted == .max ? 0 : taken.count
        part.parts.append((home, version, taken))
      }
      part.objects = Array(found.objects.dropFirst(skipped).prefix(wanted))
      return part
    }
    var objects: [ManagedObject] = []
    for (home, version, nodes) in found.parts { for node in nodes { objects.append(object(at: node, in: version, of: home)) } }
    objects = try SortKey.sort(objects + found.objects, by: request.sortKeys)
    let rest = objects.dropFirst(offset)
    return FoundRows(objects: Array(request.fetchLimit > 0 ? rest.prefix(request.fetchLimit) : rest))
  }

  /// Where a request asks for a value, the objects with changes that may have it; nil where all must be asked.
  private func candidates<Result>(for request: FetchRequest<Result>, _ searches: [ColumnSearch]) -> [ManagedObject]? {
    // A few are asked as quickly as a table is looked at.
    guard inserted.count + updated.count > 16, searches.count == 1, let search = searches.first,
      let (plan, test) = search.entities.first, let (slot, value) = test?.soughtValue(plan)
    else { return nil }
    let values = pendingValues ?? PendingValues()
    pendingValues = values
    return values.objects(with: value, plan.propertyOfSlot[slot], root: search.home.plan.entities[plan.root], self, search.version)
  }
}

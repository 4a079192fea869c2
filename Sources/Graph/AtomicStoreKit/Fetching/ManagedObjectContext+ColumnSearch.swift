import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// Fetches over the columns of stores, adjusted for unsaved changes.
extension ManagedObjectContext {
  /// The result of a request: nodes of each store, followed by the objects without a node, or those whose order columns
  /// do not determine.
  struct FoundRows {
    var parts: [(cache: StoreCache, version: NodeVersion, nodes: ArraySlice<NodeHandle>)] = []
    var objects: [ManagedObject] = []
    var count: Int { parts.reduce(objects.count) { $0 + $1.nodes.count } }
  }

  /// Executes a request by a plan over columns. Returns nil if objects must be evaluated after all: an object that is
  /// new here may be a row as well, and a pattern may need more steps than a test has.
  func rows<Result>(of request: FetchRequest<Result>, by plan: FetchPlan) throws(ManagedObjectError) -> FoundRows? {
    switch plan {
    case .columns(let searches): rows(of: request, searches)
    case .columnsAndChanges(let searches): try rowsWithChanges(of: request, searches)
    case .store(let search): try rows(of: request, in: search)
    case .all, .withoutChanges, .objects: nil
    }
  }

  func rows<Result>(of request: FetchRequest<Result>, _ searches: [ColumnSearch]) -> FoundRows? {
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
        test.rows(search.version, plan, search.budget) { nodes.append(NodeHandle(entity: plan.index, row: $0)) }
      }
      guard !search.isUndecided else { return nil }
      if let sort = search.sort {
        let (end, overflow) = skipped.addingReportingOverflow(wanted)
        nodes = sort.sorted(nodes, limit: overflow ? .max : end)
      }
      let part = nodes.dropFirst(skipped).prefix(wanted)
      skipped = max(0, skipped - nodes.count)
      wanted -= wanted == .max ? 0 : part.count
      found.parts.append((search.cache, search.version, part))
    }
    return found
  }

  // MARK: With unsaved changes

  /// As above, with unsaved changes: rows whose objects have changed are evaluated on the objects, and new objects
  /// follow the rows.
  private func rowsWithChanges<Result>(
    of request: FetchRequest<Result>, _ searches: [ColumnSearch]
  ) throws(ManagedObjectError) -> FoundRows? {
    let now = Date()
    var found = FoundRows()
    let candidates = candidates(for: request, searches)
    for search in searches {
      var changed: [Int: [Int]] = [:]
      for object in candidates?.filter({ $0.flags.contains(.updated) }) ?? updated.elements {
        guard object.cache === search.cache, object.base === search.version,
          try isFound(object, request, search, now: now)
        else { continue }
        changed[object.node.entity, default: []].append(object.node.row)
      }
      var nodes: [NodeHandle] = []
      for (plan, test) in search.entities {
        var rows: [Int] = []
        if let test {
          test.rows(search.version, plan, search.budget) { rows.append($0) }
        } else {
          rows = Array(0..<search.version.rowCount(of: plan.index))
        }
        if !updated.isEmpty || !deleted.isEmpty {
          rows.removeAll { hasChanges(NodeHandle(entity: plan.index, row: $0), search) }
        }
        if let changed = changed[plan.index] {
          rows += changed
          rows.sort()
        }
        for row in rows { nodes.append(NodeHandle(entity: plan.index, row: row)) }
      }
      guard !search.isUndecided else { return nil }
      found.parts.append((search.cache, search.version, nodes[...]))
    }
    guard let new = try newObjects(request, searches, candidates, now: now),
      !searches.contains(where: \.isUndecided)
    else { return nil }
    found.objects = new
    return try part(of: found, request)
  }

  /// Whether the object of a row is changed or deleted here.
  private func hasChanges(_ node: NodeHandle, _ search: ColumnSearch) -> Bool {
    guard
      let object = search.cache.object(
        root: search.cache.plan.entities[node.entity].root, search.version.reference(of: node))
    else { return false }
    return !object.flags.isDisjoint(with: [.updated, .deleted])
  }

  /// The new objects that match a request, in the order of insertion. Nil if one is a row of its store as well: an
  /// object restored after a conflict.
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
        guard let cache = cacheForCheck(object), stores.contains(where: { $0 === cache.store }) else { continue }
      }
      if try isFound(object, request, searches.first { $0.cache === object.cache }, now: now) { found.append(object) }
    }
    return found
  }

  /// Whether a new or changed object matches the request.
  private func isFound<Result>(
    _ object: ManagedObject, _ request: FetchRequest<Result>, _ search: ColumnSearch?, now: Date
  ) throws(ManagedObjectError) -> Bool {
    var test: RowTest?
    if let search {
      guard let entry = search.entities.first(where: { $0.plan === object.plan }) else { return false }
      test = entry.test
    }
    guard let predicate = request.predicate else { return true }
    if let test, let search, let holds = test.holds(object, search.version, search.budget), !search.isUndecided {
      return holds
    }
    do throws(PredicateEvaluationError) { return try PredicateEvaluator(object, now: now).evaluate(predicate) } catch {
      guard let conditions = search?.conditions else { throw ManagedObjectError(error) }
      conditions.fail()
      return false
    }
  }

  /// Applies order, offset and limit to the objects found.
  private func part<Result>(of found: FoundRows, _ request: FetchRequest<Result>) throws(ManagedObjectError)
    -> FoundRows
  {
    let offset = max(0, request.fetchOffset)
    guard !request.sortKeys.isEmpty else {
      var skipped = offset
      var wanted = request.fetchLimit > 0 ? request.fetchLimit : .max
      var part = FoundRows()
      for (cache, version, nodes) in found.parts {
        let taken = nodes.dropFirst(skipped).prefix(wanted)
        skipped = max(0, skipped - nodes.count)
        wanted -= wanted == .max ? 0 : taken.count
        part.parts.append((cache, version, taken))
      }
      part.objects = Array(found.objects.dropFirst(skipped).prefix(wanted))
      return part
    }
    var objects: [ManagedObject] = []
    for (cache, version, nodes) in found.parts {
      for node in nodes { objects.append(object(at: node, in: version, of: cache)) }
    }
    objects = try SortKey.sort(objects + found.objects, by: request.sortKeys)
    let rest = objects.dropFirst(offset)
    return FoundRows(objects: Array(request.fetchLimit > 0 ? rest.prefix(request.fetchLimit) : rest))
  }

  /// If a request searches for a value, the objects with changes that may have it; nil if all must be evaluated.
  private func candidates<Result>(for request: FetchRequest<Result>, _ searches: [ColumnSearch]) -> [ManagedObject]? {
    // Evaluating a few objects is as fast as searching a table.
    guard inserted.count + updated.count > 16, searches.count == 1, let search = searches.first,
      let (plan, test) = search.entities.first, let (slot, value) = test?.soughtValue(plan)
    else { return nil }
    let root = search.cache.plan.entities[plan.root]
    return pendingObjects(with: value, plan.propertyOfSlot[slot], root: root, search.version)
  }
}

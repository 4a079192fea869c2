import AtomicStoreSPI
import FoundationEssentials

extension FetchPredicate {
  /// Whether any part of the predicate is one that a test is true of.
  fileprivate func contains(_ test: (FetchTree) -> Bool) -> Bool {
    func search(_ tree: FetchTree) -> Bool { test(tree) || tree.parts.contains(where: search) }
    return search(.predicate(self))
  }

  /// The predicate with all its parts replaced, from the inside.
  fileprivate func mapped(_ change: (FetchPredicate) -> FetchPredicate) -> FetchPredicate {
    change(mapParts(predicates: { $0.mapped(change) }, expressions: { $0 }))
  }
}

extension Faults {
  /// The comparison that a predicate consists of.
  private static func comparison(_ request: StoreFetch) -> FetchPredicate.Comparison? {
    if case .comparison(let comparison)? = request.predicate { comparison } else { nil }
  }

  /// The rows that a request would have without its condition.
  private static func unconditional(
    _ target: inout FaultTarget, _ request: StoreFetch
  ) throws(PersistentStoreError) -> [StoreRow] {
    var request = request
    request.predicate = nil
    return try target.store.fetch(request).rows
  }

  /// The slot of the first sort key; nil where it is a path, or there is none.
  private static func keySlot(_ target: FaultTarget, _ request: StoreFetch) -> Int? {
    request.sortKeys.first.flatMap { target.slot($0.keyPath, of: request.entity) }
  }

  static let incrementalRequests: [Fault] = [
    .incremental("subentitiesForgotten", "looks for objects of the entity itself alone") { hooks in
      hooks.request = { request in
        if request.entities.contains(request.entity) { request.entities = [request.entity] }
      }
    },
    .incremental("entitiesIgnored", "returns the objects of sub-entities that were not asked for") { hooks in
      hooks.fetched = { (target, request, result) throws(PersistentStoreError) in
        guard let entity = target.model?.entity(at: request.entity) else { return }
        var wider = request
        wider.entities = entity.hierarchy.filter { !$0.isAbstract }.map(\.index).sorted()
        result = try target.store.fetch(wider)
      }
    },
    .incremental("limitOffByOne", "returns one object more than the limit") { hooks in
      hooks.request = { request in if let limit = request.limit { request.limit = limit + 1 } }
    },
    .incremental("offsetAloneIgnored", "skips nothing where there is an offset and no limit") { hooks in
      hooks.request = { request in if request.limit == nil { request.offset = 0 } }
    },
    .incremental("nullsComeLast", "sorts null behind all values") { hooks in
      hooks.fetched = { target, request, result in
        guard result.answer == .exact, let slot = keySlot(target, request) else { return }
        func isNull(_ row: StoreRow) -> Bool { row.values[slot]?.isNull ?? true }
        let (nulls, values) = (result.rows.filter(isNull), result.rows.filter { !isNull($0) })
        result.rows = request.sortKeys[0].isAscending ? values + nulls : nulls + values
      }
    },
    .incremental("tiesTurned", "turns the order of objects that are equal in the sort keys") { hooks in
      hooks.fetched = { target, request, result in
        guard result.answer == .exact, request.sortKeys.count == 1, let slot = keySlot(target, request) else { return }
        var rows: [StoreRow] = []
        var group: [StoreRow] = []
        for row in result.rows {
          if let last = group.last, (last.values[slot] ?? .null) != (row.values[slot] ?? .null) {
            rows += group.reversed()
            group = []
          }
          group.append(row)
        }
        result.rows = rows + group.reversed()
      }
    },
    .incremental("sortsIgnoringCase", "sorts texts without regard to case") { hooks in
      hooks.fetched = { target, request, result in
        guard result.answer == .exact, request.limit == nil, let slot = keySlot(target, request) else { return }
        func text(_ row: StoreRow) -> String? {
          if case .string(let text)? = row.values[slot] { text.lowercased() } else { nil }
        }
        guard result.rows.contains(where: { text($0) != nil }) else { return }
        let isAscending = request.sortKeys[0].isAscending
        result.rows.sort { one, other in
          let (a, b) = (text(one) ?? "", text(other) ?? "")
          return isAscending ? a < b : b < a
        }
      }
    },
    .incremental("turnedWithoutKeys", "returns objects in any order where none is asked for") { hooks in
      hooks.fetched = { _, request, result in if request.sortKeys.isEmpty { result.rows.reverse() } }
    },
    .incremental("supersetSaidExact", "says that it has answered what it has not understood") { hooks in
      hooks.fetched = { _, _, result in result.answer = .exact }
    },
    .incremental("dropsMatch", "misses the last object that fulfils a condition of two parts") { hooks in
      hooks.fetched = { _, request, result in
        guard case .and? = request.predicate, !result.rows.isEmpty else { return }
        result.rows.removeLast()
      }
    },
    .incremental("countIgnoresCondition", "counts all objects") { hooks in
      hooks.counted = { (target, request, count) throws(PersistentStoreError) in
        count == nil ? nil : try unconditional(&target, request).count
      }
    },
    .incremental("countIgnoresLimit", "counts beyond the limit") { hooks in
      hooks.counted = { (target, request, _) throws(PersistentStoreError) in
        var request = request
        (request.limit, request.offset) = (nil, 0)
        return try target.store.count(request)
      }
    },
    .incremental("answerPromisesExact", "promises to answer everything itself") { hooks in
      hooks.answer = { _, _ in .exact }
    },
    .incremental("percentIsWildcard", "takes a percent sign for any text") { hooks in
      hooks.fetched = { (target, request, result) throws(PersistentStoreError) in
        guard let comparison = comparison(request), case .constant(.string(let text)) = comparison.right,
          text.contains("%")
        else { return }
        result = StoreFetchResult(.exact, rows: try unconditional(&target, request))
      }
    },
    .incremental("nanIsGreatest", "takes not-a-number for greater than all numbers") { hooks in
      hooks.fetched = { (target, request, result) throws(PersistentStoreError) in
        guard let comparison = comparison(request), [.greater, .greaterOrEqual].contains(comparison.comparator),
          case .keyPath(let path) = comparison.left, path.count == 1,
          let slot = target.slot(path[0], of: request.entity)
        else { return }
        result.rows += try unconditional(&target, request).filter { row in
          if case .double(let number)? = row.values[slot] { number.isNaN } else { false }
        }
      }
    },
    .incremental("allOfNothingIsFalse", "does not take ALL for true of an empty list") { hooks in
      hooks.fetched = { (target, request, result) throws(PersistentStoreError) in
        guard let comparison = comparison(request), comparison.modifier == .all,
          case .keyPath(let path) = comparison.left, let slot = target.slot(path[0], of: request.entity)
        else { return }
        let lists = try target.store.related(result.rows.map(\.reference), slot: slot, entity: request.entity)
        result.rows = zip(result.rows, lists).filter { !$1.isEmpty }.map(\.0)
      }
    },
    .incremental("notEqualDropsNull", "does not take null for different from a value") { hooks in
      hooks.fetched = { target, request, result in
        guard let comparison = comparison(request), comparison.comparator == .notEqual,
          case .keyPath(let path) = comparison.left, path.count == 1,
          let slot = target.slot(path[0], of: request.entity)
        else { return }
        result.rows.removeAll { $0.values[slot]?.isNull ?? true }
      }
    },
    .incremental("objectIDIgnored", "does not look at the identifiers of objects in a condition") { hooks in
      hooks.fetched = { (target, request, result) throws(PersistentStoreError) in
        let hasObject = request.predicate?.contains { if case .expression(.objectID) = $0 { true } else { false } }
        guard hasObject ?? false else { return }
        result = StoreFetchResult(.exact, rows: try unconditional(&target, request))
      }
    },
    .incremental("orIsAnd", "takes “or” for “and”") { hooks in
      hooks.request = { request in
        request.predicate = request.predicate?.mapped { if case .or(let parts) = $0 { .and(parts) } else { $0 } }
      }
    },
    .incremental("notIsIgnored", "leaves out “not”") { hooks in
      hooks.request = { request in
        request.predicate = request.predicate?.mapped { if case .not(let part) = $0 { part } else { $0 } }
      }
    },
    .incremental("capsResults", "returns ten objects at most") { hooks in
      hooks.fetched = { _, _, result in result.rows = Array(result.rows.prefix(10)) }
    },
  ]
}

public import AtomicStoreSPI
import StoreCoordination
import StorePredicates

extension StoreMerge {
  /// Merges graphs of one model.
  ///
  /// - Parameter graphs: At least one; the first keeps its references.
  /// - Throws: ``ConflictError``; `PersistentStoreError`: `.modelMismatch` where the models differ, `.inverseMismatch`
  ///   where a to-one would lead to several objects.
  public func merge(_ graphs: [NodeTable]) throws -> Result {
    guard let first = graphs.first else {
      throw PersistentStoreError(.invalidOption, "there is nothing to merge")
    }
    try checkNames(in: first.model)
    var union = try GraphUnion(first, Array(graphs.dropFirst()), matching, conflictRule, after: lastReference)
    return try union.result(allowsEmptyNonOptionalToMany)
  }

  /// Merges the changes that two graphs made to a common base.
  ///
  /// Objects are the same where their references are, and the base has them; new objects of the second whose reference
  /// the first gave to another object get another one.
  ///
  /// - Throws: as ``merge(_:)``.
  public func merge(base: NodeTable, _ first: NodeTable, _ second: NodeTable) throws -> Result {
    try checkNames(in: base.model)
    var merge = try ThreeWayMerge(base, first, second, conflictRule, after: lastReference)
    return try merge.result(allowsEmptyNonOptionalToMany)
  }

  /// Merges stores with their metadata.
  ///
  /// With a base, a metadata key that only one store changed or removed is taken from that store; without one, a key
  /// that only one store has is taken. Other values are a conflict, which ``conflictRule`` decides as it does for
  /// objects, except that ``ConflictRule/newest(_:)`` does not apply to metadata. Keys that begin with `NS`, `_NS` or
  /// `AtomicStore` describe one store; the first store's are kept.
  ///
  /// - Parameters:
  ///   - stores: At least one; two if there is a base. The first keeps its references.
  ///   - base: The version that both stores come from.
  /// - Throws: as ``merge(_:)``. ``ConflictError`` lists the conflicts of objects and of metadata.
  public func merge(_ stores: [StoreSnapshot], base: StoreSnapshot? = nil) throws -> Result {
    guard let first = stores.first, base == nil || stores.count == 2 else {
      throw PersistentStoreError(
        .invalidOption, base == nil ? "there is nothing to merge" : "--base needs exactly two stores derived from it")
    }
    var metadata = MetadataMerge(first.metadata.entries, conflictRule)
    for store in stores.dropFirst() { metadata.add(store.metadata.entries, base: base?.metadata.entries) }
    let open = metadata.decision.open
    var result: Result
    do {
      let graphs = stores.map(\.nodes)
      result = try base.map { try merge(base: $0.nodes, graphs[0], graphs[1]) } ?? merge(graphs)
    } catch let error as ConflictError {
      throw ConflictError(conflicts: error.conflicts + open)
    }
    guard open.isEmpty else { throw ConflictError(conflicts: open) }
    result.metadata = metadata.entries
    result.settled += metadata.decision.settled
    return result
  }

  /// - Throws: `.invalidOption` for an entity or property of ``matching`` or ``conflictRule`` that the model does not
  ///   have: nothing would match, or every conflict remain.
  private func checkNames(in model: ManagedObjectModel) throws(PersistentStoreError) {
    if case .properties(let properties) = matching {
      for (name, keys) in properties.sorted(by: { $0.key < $1.key }) {
        let entity = try model.entity(specified: name)
        guard !keys.isEmpty else {
          throw PersistentStoreError(.invalidOption, "no property is named by which objects of \(name) are matched")
        }
        for key in keys where entity.slot(named: key) == nil {
          throw PersistentStoreError(
            .invalidOption,
            "\(name) does not have a property '\(key)'\(Suggestion.text(for: key, among: entity.slots.map(\.name)))")
        }
      }
    }
    if case .newest(let key) = conflictRule, !model.entities.contains(where: { $0.slot(named: key) != nil }) {
      throw PersistentStoreError(.invalidOption, "no entity has a property '\(key)'")
    }
  }
}

extension NodeTable {
  /// The graph that a merge ends with: with both ends of relationships and derived attributes.
  ///
  /// - Parameters:
  ///   - graphs: The merged graphs, with what their objects are called in this one.
  ///   - first: The graph whose derived attributes are current.
  ///   - allowsEmptyNonOptionalToMany: As ``StoreMerge/allowsEmptyNonOptionalToMany``.
  /// - Throws: ``StoreMerge/ConflictError`` for objects that break a rule or a uniqueness constraint of the model which
  ///   they did not break in one of the merged graphs; `PersistentStoreError` for a derived attribute that cannot be
  ///   computed, and could be in each of them.
  func completed(
    mergedFrom graphs: [(nodes: NodeTable, names: ObjectNames)], since first: NodeTable,
    allowsEmptyNonOptionalToMany: Bool
  ) throws -> NodeTable {
    var merged = try withBothEnds(madeOf: graphs).canonical()
    let derived = DerivedAttributes(merged.model)
    var known: Set<DerivedAttributes.Failure>?
    try derived.update(&merged, since: first) { failure, _ in
      let failures =
        known
        ?? graphs.reduce(into: []) { failures, graph in
          for failure in derived.failures(in: graph.nodes) {
            failures.insert(.init(graph.names[failure.object] ?? failure.object, failure.property.string))
          }
        }
      known = failures
      return failures.contains(failure)
    }
    let broken = NewFindings(in: merged, allowsEmptyNonOptionalToMany: allowsEmptyNonOptionalToMany).since(graphs)
      .compactMap { finding in
        finding.object.map { StoreMerge.Conflict($0, property: finding.property, rule: finding.message) }
      }
    guard broken.isEmpty else { throw StoreMerge.ConflictError(conflicts: broken) }
    try merged.checkUniqueness(mergedFrom: graphs.map(\.nodes))
    return merged
  }

  /// Refuses objects that break a uniqueness constraint which they did not break in one of the merged graphs.
  private func checkUniqueness(mergedFrom graphs: [NodeTable]) throws {
    let groups = UniquenessGroup.all(in: self)
    guard !groups.isEmpty else { return }
    var known: [UniquenessKey: Int] = [:]
    for graph in graphs {
      for group in UniquenessGroup.all(in: graph) {
        known[UniquenessKey(group), default: 0].raise(to: group.nodes.count)
      }
    }
    var conflicts: [StoreMerge.Conflict] = []
    for group in groups where group.nodes.count > known[UniquenessKey(group)] ?? 0 {
      guard let first = group.nodes.first else { continue }
      for node in group.nodes.dropFirst() {
        conflicts.append(
          StoreMerge.Conflict(
            objectReference(of: node), sameAs: objectReference(of: first), properties: group.constraint,
            values: group.keyText))
      }
    }
    guard conflicts.isEmpty else { throw StoreMerge.ConflictError(conflicts: conflicts) }
  }
}

extension [NodeTable] {
  /// Returns the first integer after a number that no string reference of an entity's hierarchy is the text of, in any
  /// of the graphs: in a graph that is added later, the text would be another object's.
  ///
  /// - Throws: `.limitExceeded` after the greatest number.
  func nextIntegerReference(after last: Int64, entityName: String) throws(PersistentStoreError) -> Int64 {
    var number = last
    var isFree = false
    while !isFree {
      isFree = true
      for graph in self {
        guard let entity = graph.model.entity(named: entityName) else { continue }
        let next = try graph.nextIntegerReference(after: Swift.max(last, number - 1), entity: entity.index)
        if next != number {
          number = next
          isFree = false
        }
      }
    }
    return number
  }
}

private struct UniquenessKey: Hashable {
  let entity: String
  let constraint: [String]
  let values: [StoredValue]

  init(_ group: UniquenessGroup) {
    entity = group.entity.name
    constraint = group.constraint
    values = group.key
  }
}

extension Int {
  fileprivate mutating func raise(to other: Int) { self = Swift.max(self, other) }
}

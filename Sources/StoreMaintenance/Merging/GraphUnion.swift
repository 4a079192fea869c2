import AtomicStoreSPI

/// Graphs put together one after the other.
struct GraphUnion {
  /// The first is the one that the union begins with.
  private let graphs: [NodeTable]
  private var nodes: NodeTable
  private let matching: StoreMerge.Matching
  private var decision: ConflictDecision
  private var renumbered: [String: Int] = [:]
  private var lastNumber: Int64
  /// What objects are called in the union, by graph.
  private var names: [ObjectNames] = [[:]]

  init(
    _ first: NodeTable, _ others: [NodeTable], _ matching: StoreMerge.Matching, _ rule: StoreMerge.ConflictRule,
    after last: Int64
  ) throws {
    graphs = [first] + others
    nodes = first
    self.matching = matching
    decision = ConflictDecision(rule)
    lastNumber = graphs.map(\.greatestIntegerReference).reduce(max(0, last), max)
    for graph in others {
      try nodes.checkModel(of: graph)
      try add(graph)
    }
  }

  private mutating func add(_ graph: NodeTable) throws {
    let index = MatchIndex(nodes, matching)
    var names: ObjectNames = [:]
    var pairs: [(old: NodeHandle, new: NodeHandle, isNew: Bool)] = []
    for entity in graph.model.entities {
      guard let own = nodes.model.entity(named: entity.name) else { continue }
      for node in graph.handles(of: entity.index) {
        let object = graph.objectReference(of: node)
        if let match = index.match(node, in: graph) {
          names[object] = nodes.objectReference(of: match)
          pairs.append((node, match, false))
          continue
        }
        var reference = object.reference
        if nodes.handle(for: reference, entity: own.index) != nil {
          lastNumber = try graphs.nextIntegerReference(after: lastNumber, entityName: entity.name)
          reference = .integer(lastNumber)
          renumbered[entity.name, default: 0] += 1
        }
        let new = try nodes.addCacheNode(entity: own.index, reference: reference)
        names[object] = nodes.objectReference(of: new)
        pairs.append((node, new, true))
      }
    }
    var ends = OneToOneEnds()
    // Which object is newer is asked of the graph as it was: the property that says it may be taken from the other one.
    let before = nodes
    self.names.append(names)
    for pair in pairs { try merge(pair.old, of: graph, into: pair.new, isNew: pair.isNew, before, names, &ends) }
    if case .refuse = decision.rule { return }
    guard decision.open.isEmpty else { return }
    let added = Set(pairs.filter(\.isNew).map(\.new))
    for cleared in try ends.clear(in: &nodes) {
      decision.settle(cleared, of: nodes.objectReference(of: cleared.node), isOfSecond: added.contains(cleared.node))
    }
  }

  private mutating func merge(
    _ node: NodeHandle, of graph: NodeTable, into target: NodeHandle, isNew: Bool,
    _ before: NodeTable, _ names: ObjectNames, _ ends: inout OneToOneEnds
  ) throws {
    for slot in nodes.model.entity(at: target.entity).slots {
      guard let other = graph.model.entity(at: node.entity).slot(named: slot.name) else { continue }
      let value = graph.value(slot: other, of: node).renamed(names)
      if isNew {
        if !value.isNull { try nodes.set(value, slot: slot.index, of: target) }
        continue
      }
      guard slot.isMerged(in: nodes.model) else { continue }
      let old = nodes.value(slot: slot.index, of: target)
      let object = nodes.objectReference(of: target)
      let merged = decision.merged(old, value, base: nil, slot, of: object, (before, target), (graph, node)) {
        ends.decide(target, slot)
      }
      if let merged { try nodes.set(merged, slot: slot.index, of: target) }
    }
  }

  mutating func result(_ allowsEmptyNonOptionalToMany: Bool) throws -> StoreMerge.Result {
    guard decision.open.isEmpty else { throw StoreMerge.ConflictError(conflicts: decision.open) }
    let merged = try nodes.completed(
      mergedFrom: Array(zip(graphs, names)), since: graphs[0],
      allowsEmptyNonOptionalToMany: allowsEmptyNonOptionalToMany)
    return StoreMerge.Result(nodes: merged, renumbered: renumbered, settled: decision.settled)
  }
}

/// Finds the object of a union that one of another graph is.
struct MatchIndex {
  private let nodes: NodeTable
  private let matching: StoreMerge.Matching
  /// By entity and properties, values to nodes.
  private var known: [Key: [[StoredValue]: NodeHandle]] = [:]

  private struct Key: Hashable {
    /// The entity that the properties are named for.
    var entity: Int
    /// The object's entity: one of another has other properties, and is not the same.
    var own: Int
    var properties: [String]
  }

  init(_ nodes: NodeTable, _ matching: StoreMerge.Matching) {
    self.nodes = nodes
    self.matching = matching
    for entity in nodes.model.entities {
      for properties in constraints(of: entity) {
        for member in entity.hierarchy {
          for node in nodes.handles(of: member.index) {
            guard let values = Self.values(properties, node, nodes) else { continue }
            let key = Key(entity: entity.index, own: node.entity, properties: properties)
            known[key, default: [:]][values] = node
          }
        }
      }
    }
  }

  /// Properties whose values make objects of an entity, and of those below it, the same.
  private func constraints(of entity: Entity) -> [[String]] {
    switch matching {
    case .nothing, .references: []
    case .properties(let properties): properties[entity.name].map { [$0] } ?? []
    case .uniquenessConstraints: entity.declaration.uniquenessConstraints
    }
  }

  private static func values(_ properties: [String], _ node: NodeHandle, _ nodes: NodeTable) -> [StoredValue]? {
    var values: [StoredValue] = []
    for property in properties {
      guard let value = nodes.value(forKey: property, of: node), !value.isNull else { return nil }
      values.append(value)
    }
    return values
  }

  /// The object that is the same as one of another graph.
  func match(_ node: NodeHandle, in graph: NodeTable) -> NodeHandle? {
    let object = graph.objectReference(of: node)
    if matching == .references {
      guard let found = nodes.handle(for: object) else { return nil }
      return nodes.name(of: found) == object.entityName ? found : nil
    }
    guard let own = nodes.model.entity(named: object.entityName) else { return nil }
    var level: Entity? = own
    while let entity = level {
      for properties in constraints(of: entity) {
        if let values = Self.values(properties, node, graph),
          let found = known[Key(entity: entity.index, own: own.index, properties: properties)]?[values]
        {
          return found
        }
      }
      level = entity.superentity
    }
    return nil
  }
}

import AtomicStoreSPI
import StoreCoordination
import StorePrimitives

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

  /// The objects of one entity of a graph, and what they are in the union.
  private struct EntityUnion {
    let own: Entity
    let entity: Entity
    /// The rows of the graph, and those of the union.
    var matches: MatchedRows
    /// The rows whose objects are new in the union.
    var added: Set<Int> = []
    /// The rows whose object is that of an earlier row, too.
    var repeated: Set<Int> = []
  }

  private mutating func add(_ graph: NodeTable) throws {
    let index = MatchIndex(nodes, matching)
    var names: ObjectNames = [:]
    var unions: [EntityUnion] = []
    let translation = RowTranslation(entities: graph.model.entityCount)
    for entity in graph.model.entities {
      guard let own = nodes.model.entity(named: entity.name) else { continue }
      let rowCount = (graph.handles(of: entity.index).last?.row ?? -1) + 1
      var union = EntityUnion(own: own, entity: entity, matches: MatchedRows([]))
      if matching == .references {
        union.matches = MatchedRows(graph.reader(of: entity.index), nodes.reader(of: own.index))
      }
      if matching != .references || !union.matches.isIdentity {
        try match(&union, rowCount, of: graph, index, &names)
      }
      translation.set(entity.index, to: own.index, union.matches, rowCount: rowCount)
      unions.append(union)
    }
    self.names.append(names)
    var ends = OneToOneEnds()
    // Which object is newer is asked of the graph as it was: the property that says it may be taken from the other one.
    let before = nodes
    for union in unions { try merge(union, of: graph, before, names, translation, &ends) }
    if case .refuse = decision.rule { return }
    guard decision.open.isEmpty else { return }
    let added = Set(
      unions.flatMap { union in
        union.added.compactMap { row in
          union.matches.rows(at: row).other.map { NodeHandle(entity: union.own.index, row: $0) }
        }
      })
    for cleared in try ends.clear(in: &nodes) {
      decision.settle(cleared, of: nodes.objectReference(of: cleared.node), isOfSecond: added.contains(cleared.node))
    }
  }

  /// Finds what the objects of an entity are in the union, and adds those that it does not have.
  private mutating func match(
    _ union: inout EntityUnion, _ rowCount: Int, of graph: NodeTable, _ index: MatchIndex, _ names: inout ObjectNames
  ) throws {
    var rows = [UInt32](repeating: MatchedRows.none, count: rowCount)
    union.matches.forEachMatch { rows[$0] = $1 }
    var taken: Set<UInt32> = []
    for node in graph.handles(of: union.entity.index) {
      if rows[node.row] == MatchedRows.none {
        var new = index.match(node, in: graph, union.own)
        if new == nil {
          new = try addNode(graph.reference(of: node), union.own, union.entity.name)
          union.added.insert(node.row)
        }
        guard let new else { continue }
        rows[node.row] = UInt32(truncatingIfNeeded: new.row)
        let reference = nodes.reference(of: new)
        if reference != graph.reference(of: node) {
          names[graph.objectReference(of: node)] = ObjectReference(entityName: union.own.name, reference: reference)
        }
      }
      if matching != .references, !taken.insert(rows[node.row]).inserted { union.repeated.insert(node.row) }
    }
    union.matches = MatchedRows(rows)
  }

  /// Adds an object, which gets another reference if the union has its own already.
  private mutating func addNode(_ wanted: ReferenceObject, _ own: Entity, _ name: String) throws -> NodeHandle {
    var reference = wanted
    if nodes.handle(for: reference, entity: own.index) != nil {
      lastNumber = try graphs.nextIntegerReference(after: lastNumber, entityName: name)
      reference = .integer(lastNumber)
      renumbered[name, default: 0] += 1
    }
    return try nodes.addCacheNode(entity: own.index, reference: reference)
  }

  /// A property of an entity in both.
  private struct MergedProperty {
    let slot: Slot
    /// In the graph.
    let other: Int
    let isMerged: Bool
    let columns: ColumnPair
  }

  /// How many rows are compared at a time, a column after the other.
  private static let block = 4096

  /// Merges the objects of an entity. What the columns have the same values of stays as it is.
  private mutating func merge(
    _ union: EntityUnion, of graph: NodeTable, _ before: NodeTable, _ names: ObjectNames,
    _ translation: RowTranslation, _ ends: inout OneToOneEnds
  ) throws {
    let (reader, own) = (graph.reader(of: union.entity.index), before.reader(of: union.own.index))
    let properties = union.own.slots.compactMap { slot in
      union.entity.slot(named: slot.name).map { number in
        MergedProperty(
          slot: slot, other: number, isMerged: slot.isMerged(in: nodes.model),
          columns: ColumnPair((union.entity.slots[number], reader), (slot, own), isSequence: true))
      }
    }
    try withExtendedLifetime((reader, own)) {
      for start in stride(from: 0, to: union.matches.count, by: Self.block) {
        let rows = start..<min(start + Self.block, union.matches.count)
        var differ = [Bool](repeating: false, count: rows.count)
        for property in properties where property.isMerged {
          property.columns.markDifferent(at: rows, union.matches, translation, &differ)
        }
        for row in rows where differ[row - start] || union.added.contains(row) || union.repeated.contains(row) {
          guard let target = union.matches.rows(at: row).other else { continue }
          let node = NodeHandle(entity: union.entity.index, row: row)
          let new = NodeHandle(entity: union.own.index, row: target)
          if union.added.contains(row) {
            for property in properties {
              let value = graph.value(slot: property.other, of: node).renamed(names)
              if !value.isNull { try nodes.set(value, slot: property.slot.index, of: new) }
            }
            continue
          }
          for property in properties where property.isMerged {
            // Of a repeated object, the union may have other values by now.
            if !union.repeated.contains(row), property.columns.isSame(row, target, translation) { continue }
            let old = nodes.value(slot: property.slot.index, of: new)
            let value = graph.value(slot: property.other, of: node).renamed(names)
            let result = decision.merged(
              old, value, base: nil, property.slot, of: nodes.objectReference(of: new), (before, new), (graph, node)
            ) { ends.decide(new, property.slot) }
            if let result { try nodes.set(result, slot: property.slot.index, of: new) }
          }
        }
      }
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
  private var known: [Key: (keys: TextNumbers, nodes: [NodeHandle])] = [:]

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
            guard let values = Self.key(properties, node, nodes) else { continue }
            let key = Key(entity: entity.index, own: node.entity, properties: properties)
            values.withUnsafeBufferPointer { values in
              let number = known[key, default: (TextNumbers(), [])].keys.add(values)
              if number == known[key]?.nodes.count {
                known[key]?.nodes.append(node)
              } else {
                known[key]?.nodes[number] = node
              }
            }
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

  /// Bytes that are the same for equal values of the properties; nil if one has none.
  private static func key(_ properties: [String], _ node: NodeHandle, _ nodes: NodeTable) -> [UInt8]? {
    var key: [UInt8] = []
    for property in properties {
      guard let value = nodes.value(forKey: property, of: node), !value.isNull else { return nil }
      value.appendKey(to: &key)
    }
    return key
  }

  /// The object that is the same as one of another graph.
  ///
  /// - Parameter own: The object's entity in the union.
  func match(_ node: NodeHandle, in graph: NodeTable, _ own: Entity) -> NodeHandle? {
    if known.isEmpty { return nil }
    var level: Entity? = own
    while let entity = level {
      for properties in constraints(of: entity) {
        if let values = Self.key(properties, node, graph),
          let found = known[Key(entity: entity.index, own: own.index, properties: properties)],
          let number = values.withUnsafeBufferPointer({ found.keys.number(of: $0) })
        {
          return found.nodes[number]
        }
      }
      level = entity.superentity
    }
    return nil
  }
}

package import AtomicStoreSPI

extension RelationalForm {
  /// The rows of the tables.
  ///
  /// - Throws: `.unsupportedByFormat` if the graph could not be made of the tables again, since ends of relationships
  ///   contradict each other; `.limitExceeded` for a table that consists of null almost everywhere.
  package func tables(of nodes: NodeTable) throws(PersistentStoreError) -> NodeTable {
    let builder = NodeTableBuilder(model: model)
    for root in roots {
      let objects = Self.objects(of: root.entity, nodes)
      try checkSize(of: root, rows: objects.count)
      for node in objects {
        try builder.beginNode(entity: root.table.index, reference: nodes.reference(of: node))
        if let slot = root.entityName {
          try builder.set(.string(source.entity(at: node.entity).name), slot: slot.index)
        }
        for (slot, place) in places[node.entity].enumerated() {
          guard case .column(let column) = place else { continue }
          let value = nodes.value(slot: slot, of: node)
          if !value.isNull { try builder.set(value, slot: column) }
        }
      }
    }
    for join in joins { try add(join, nodes, to: builder) }
    let tables = try builder.finish().canonical()
    try check(tables, of: nodes)
    return tables
  }

  private func checkSize(of root: RootTable, rows: Int) throws(PersistentStoreError) {
    let columns = root.table.slots.count
    let widest = root.entity.hierarchy.reduce(1) { max($0, $1.slots.count) }
    guard columns > 64 * widest, rows > maximumCells / columns else { return }
    throw PersistentStoreError(
      .limitExceeded,
      "the table would have \(rows) rows of \(columns) columns, of which no entity has more than \(widest): fetch each entity instead",
      at: StoreLocation(entity: root.entity.name))
  }

  /// The objects of an entity and its sub-entities by reference.
  private static func objects(of entity: Entity, _ nodes: NodeTable) -> [NodeHandle] {
    let family = entity.hierarchy
    let all = family.flatMap { nodes.handles(of: $0.index) }
    return family.count > 1 ? all.sorted { nodes.reference(of: $0) < nodes.reference(of: $1) } : all
  }

  private func add(_ join: JoinTable, _ nodes: NodeTable, to builder: NodeTableBuilder) throws(PersistentStoreError) {
    var number: Int64 = 0
    for node in Self.objects(of: join.entity, nodes) {
      guard case .toMany(let members) = nodes.value(slot: join.relationship.index, of: node) else { continue }
      for (index, member) in members.enumerated() {
        number += 1
        try builder.beginNode(entity: join.table.index, reference: number)
        try builder.set(toOne: nodes.reference(of: node), slot: join.owner)
        try builder.set(toOne: member.reference, slot: join.member)
        if let position = join.position { try builder.set(integer: Int64(index + 1), slot: position) }
      }
    }
  }

  private func check(_ tables: NodeTable, of nodes: NodeTable) throws(PersistentStoreError) {
    func snapshot(_ nodes: NodeTable) -> StoreSnapshot {
      StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: ""))
    }
    let differences = GraphComparison.differences(
      snapshot(nodes), snapshot(try graph(of: tables)),
      options: .init(comparesIdentity: false, comparesMetadata: false, comparesUnknownOrder: true, limit: 1))
    guard let difference = differences.first else { return }
    throw PersistentStoreError(
      .unsupportedByFormat, "this store cannot be written as tables without loss: \(difference)")
  }

  // MARK: Back

  /// The graph that tables hold, perhaps changed by another program: an end of a relationship that is in no table
  /// follows from the other.
  ///
  /// - Throws: `.invalidValue` for a row of an entity that does not exist or does not have a column that the row has a
  ///   value of, and for a row of a join table without an owner or member, or of an owner that does not have the
  ///   relationship; `.inverseMismatch` and what else a store is refused for.
  package func graph(of tables: NodeTable) throws(PersistentStoreError) -> NodeTable {
    let builder = NodeTableBuilder(model: source)
    for entity in source.entities where !entity.isAbstract {
      for (slot, place) in places[entity.index].enumerated() where place == .inverse {
        builder.markAbsent(slot: slot, entity: entity.index)
      }
    }
    var members: [[NodeHandle: [ReferenceObject]]] = []
    for join in joins { members.append(try Self.members(join, tables)) }
    for root in roots {
      var others: [Int: [Int]] = [:]
      let reader = tables.reader(of: root.table.index)
      try checkSize(of: root, rows: reader.count)
      for node in tables.handles(of: root.table.index) {
        let entity = try entity(of: node, root, tables)
        let places = places[entity.index]
        let unused = others[entity.index] ?? unusedColumns(of: entity, root)
        others[entity.index] = unused
        for slot in unused where !reader.isNull(slot: slot, row: node.row) {
          throw Self.failure("an object of \(entity.name) does not have this property", node, slot, tables)
        }
        try builder.beginNode(entity: entity.index, reference: tables.reference(of: node))
        for (slot, place) in places.enumerated() {
          switch place {
          case .column(let column):
            let value = tables.value(slot: column, of: node)
            if !value.isNull { try builder.set(value, slot: slot) }
          case .join(let index):
            for member in members[index].removeValue(forKey: node) ?? [] {
              try builder.append(toMany: member, slot: slot)
            }
          case .inverse: break
          }
        }
      }
    }
    for (join, rest) in zip(joins, members) {
      guard let owner = rest.keys.min(by: { $0.row < $1.row }) else { continue }
      throw PersistentStoreError(
        .invalidValue, "the owner \(tables.reference(of: owner)) is not an object of \(join.entity.name)",
        at: StoreLocation(entity: join.table.name, property: RelationalColumns.owner))
    }
    builder.compareEnds(by: .toOneAsStored)
    return try builder.finish().canonical()
  }

  /// The columns that an entity's rows have no values of.
  private func unusedColumns(of entity: Entity, _ root: RootTable) -> [Int] {
    var unused = Set(root.table.slots.indices)
    if let slot = root.entityName { unused.remove(slot.index) }
    for case .column(let column) in places[entity.index] { unused.remove(column) }
    return unused.sorted()
  }

  /// The members of a to-many by owner, in order.
  private static func members(
    _ join: JoinTable, _ tables: NodeTable
  ) throws(PersistentStoreError) -> [NodeHandle: [ReferenceObject]] {
    var found: [NodeHandle: [(position: Int64, member: ReferenceObject)]] = [:]
    let reader = tables.reader(of: join.table.index)
    for node in tables.handles(of: join.table.index) {
      guard let owner = reader.toOne(slot: join.owner, row: node.row) else {
        throw failure("a value is needed", node, join.owner, tables)
      }
      guard let member = reader.toOne(slot: join.member, row: node.row) else {
        throw failure("a value is needed", node, join.member, tables)
      }
      var position: Int64 = 0
      if let slot = join.position {
        guard !reader.isNull(slot: slot, row: node.row) else {
          throw failure("a value is needed", node, slot, tables)
        }
        position = reader.integer(slot: slot, row: node.row)
      }
      found[owner, default: []].append((position, tables.reference(of: member)))
    }
    guard join.position != nil else { return found.mapValues { $0.map(\.member) } }
    return found.mapValues { members in
      // Rows of one position stay in the order of their keys.
      members.enumerated().sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }
        .map(\.element.member)
    }
  }

  private func entity(
    of node: NodeHandle, _ root: RootTable, _ tables: NodeTable
  ) throws(PersistentStoreError) -> Entity {
    guard let slot = root.entityName else { return root.entity }
    guard case .string(let name) = tables.value(slot: slot.index, of: node) else {
      throw Self.failure("a value is needed: the name of the row's entity", node, slot.index, tables)
    }
    guard let entity = source.entity(named: name), entity.isKindOf(entity: root.entity), !entity.isAbstract else {
      let names = root.entity.hierarchy.filter { !$0.isAbstract }.map(\.name)
      throw Self.failure(
        Suggestion.unknown("entity", String(name.prefix(60)), among: names), node, slot.index, tables)
    }
    return entity
  }

  private static func failure(
    _ message: String, _ node: NodeHandle, _ slot: Int, _ tables: NodeTable
  ) -> PersistentStoreError {
    let table = tables.model.entity(at: node.entity)
    return PersistentStoreError(
      .invalidValue, message,
      at: StoreLocation(
        entity: table.name, reference: tables.reference(of: node).description, property: table.slots[slot].name))
  }
}

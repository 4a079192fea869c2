import AtomicStoreSPI

extension SQLStore {
  func answer(to request: StoreGrouping) -> FetchAnswer {
    guard let schema else { return .inMemory("the store is not prepared") }
    var predicates = SQLPredicateCompiler(schema, Self.dialect, store: identifier)
    _ = condition(request.rows, &predicates, schema)
    let groups = SQLGroupCompiler(request, schema, Self.dialect)
    return (predicates.reason ?? groups.reason).map { .inMemory($0) } ?? .exact
  }

  func groups(_ request: StoreGrouping) throws(PersistentStoreError) -> [StoreGroup]? {
    let schema = try ready()
    var predicates = SQLPredicateCompiler(schema, Self.dialect, store: identifier)
    let condition = condition(request.rows, &predicates, schema)
    let groups = SQLGroupCompiler(request, schema, Self.dialect)
    guard predicates.reason == nil, groups.reason == nil else { return nil }
    let entity = schema.model.entity(at: request.rows.entity)
    let sql =
      "SELECT \(groups.selected.joined(separator: ", ")) FROM \(schema.table(of: entity).name.quoted) t\(groups.joins) WHERE \(sameTables) \(condition) GROUP BY \(groups.grouped.map(String.init).joined(separator: ", "))"
    var found: [StoreGroup] = []
    var texts: [ReferenceText] = []
    var isOrdered = true
    try database.query(sql, predicates.values) { row throws(PersistentStoreError) in
      guard isOrdered, let group = try group(row, groups, entity, schema, found.count, &texts) else {
        isOrdered = false
        return
      }
      found.append(group)
    }
    guard isOrdered else { return nil }
    for (root, list) in Dictionary(grouping: texts, by: { $0.entity.root.index }) {
      let names = try referenceTexts(list.map(\.id), root: root, schema)
      for text in list {
        guard let name = names[text.id] else { continue }
        found[text.group].keys[text.key] = .toOne(
          ObjectReference(entityName: text.entity.name, reference: .string(name)))
      }
    }
    return found
  }

  /// A key whose object has a text as its reference.
  private struct ReferenceText {
    var group: Int
    var key: Int
    var entity: Entity
    var id: Int64
  }

  /// The group that a row is; nil if one of its values has no order, or is not valid.
  private func group(
    _ row: any SQLRow, _ groups: SQLGroupCompiler, _ entity: Entity, _ schema: SQLSchema, _ number: Int,
    _ texts: inout [ReferenceText]
  ) throws(PersistentStoreError) -> StoreGroup? {
    guard !groups.invalidAt.contains(where: { row.integer($0) > 0 }) else { return nil }
    let hasNumber = !row.isNull(1)
    let id = hasNumber ? row.integer(1) : 0
    guard let first = Self.entity(row.integer(0), below: entity.root) else {
      throw PersistentStoreError(.malformed, "the row \(id) is of entity number \(row.integer(0)), which it cannot be")
    }
    var keys: [StoredValue] = []
    for (index, key) in groups.keys.enumerated() {
      let slot = key.source.slot
      guard !row.isNull(key.at) else {
        keys.append(.null)
        continue
      }
      guard row.holds(key.at, key.source.column.type) else { throw Self.malformed(id, slot, of: key.source.owner) }
      if case .attribute(let type) = slot.kind {
        keys.append(try Self.value(row, key.at, type, slot, of: key.source.owner, id))
        continue
      }
      guard let end = Self.end(row, key, schema.model) else { throw Self.malformed(id, slot, of: key.source.owner) }
      let destination = row.integer(key.at)
      if destination <= SQLKeys.lastText {
        texts.append(ReferenceText(group: number, key: index, entity: end, id: destination))
      }
      keys.append(.toOne(ObjectReference(entityName: end.name, reference: .integer(destination))))
    }
    var results: [StoreGroup.Result] = []
    for output in groups.outputs {
      guard let result = try Self.result(row, output, id) else { return nil }
      results.append(result)
    }
    return StoreGroup(
      first: (first.index, hasNumber ? .integer(id) : .string(try Self.text(row, 2, id))), keys: keys,
      count: Int(row.integer(3)), results: results)
  }

  /// The entity of the object that is a key; nil if the row names one that it cannot be of.
  private static func end(_ row: any SQLRow, _ key: SQLGroupCompiler.Key, _ model: ManagedObjectModel) -> Entity? {
    guard let declared = key.source.slot.destination.map({ model.entity(at: $0) }) else { return nil }
    guard let at = key.entityAt else { return declared.hierarchy.first { !$0.isAbstract } }
    return row.isNull(at) ? nil : entity(row.integer(at), below: declared)
  }

  private static func result(
    _ row: any SQLRow, _ output: SQLGroupCompiler.Output, _ id: Int64
  ) throws(PersistentStoreError) -> StoreGroup.Result? {
    switch output {
    case .count(let at): return .whole(Int128(row.integer(at)))
    case .sum(let high, let low):
      let upper = high.map { row.isNull($0) ? 0 : Int128(row.integer($0)) } ?? 0
      return .whole((upper << 32) + (row.isNull(low) ? 0 : Int128(row.integer(low))))
    case .extreme(let source, let at, let unorderedAt):
      if let unorderedAt, row.integer(unorderedAt) > 0 { return nil }
      guard !row.isNull(at) else { return .value(.null) }
      guard row.holds(at, source.column.type), case .attribute(let type) = source.slot.kind else {
        throw malformed(id, source.slot, of: source.owner)
      }
      return .value(try value(row, at, type, source.slot, of: source.owner, id))
    }
  }
}

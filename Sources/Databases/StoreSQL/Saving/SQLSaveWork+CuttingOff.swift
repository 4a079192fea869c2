import AtomicStoreSPI

/// What still leads to deleted rows: relationships without an inverse, and those that another process has set since.
extension SQLSaveWork {
  /// A relationship as it is stored, with the condition under which a row has it to some of the rows in a list.
  struct Link {
    /// The hierarchy of the rows that have it.
    let table: SQLSchema.Table
    /// The root entity of its destinations.
    let destination: Int
    /// The slot, which has the same number in all entities that have the relationship.
    let slot: Int
    let kind: Kind
    /// The rows that this save changes there itself, and notes so.
    let noted: Set<Int64>

    enum Kind {
      case toOne(SQLSchema.Column)
      /// The column with the owners, and that with the members.
      case toMany(SQLSchema.JoinTable, own: String, other: String)
    }

    /// The condition for rows that lead to rows with the listed numbers.
    func condition(_ list: String) -> String {
      switch kind {
      case .toOne(let column): "\(column.name.quoted) IN (\(list))"
      case .toMany(let join, let own, let other):
        "id IN (SELECT \(own) FROM \(join.name.quoted) WHERE \(other) IN (\(list)))"
      }
    }

    /// What is set in such rows: their version is another one, as with every change.
    var assignments: String {
      guard case .toOne(let column) = kind else { return "ver = ver + 1" }
      let columns = [column.name, column.entityName, column.positionName].compactMap(\.self)
      return (["ver = ver + 1"] + columns.map { "\($0.quoted) = NULL" }).joined(separator: ", ")
    }
  }

  /// All relationships to objects of some hierarchies, each once.
  func links(toRoots roots: Set<Int>) -> [Link] {
    var links: [Link] = []
    for entity in model.entities {
      for slot in entity.slots where SQLSchema.owner(of: slot.index, in: entity) == entity {
        guard let number = slot.destination, roots.contains(model.entity(at: number).root.index) else { continue }
        let kind: Link.Kind
        if let column = schema.column(slot.index, of: entity) {
          kind = .toOne(column)
        } else if case .pairs(let join, let isTurned)? = schema.toMany(slot.index, of: entity) {
          kind = .toMany(join, own: isTurned ? "b" : "a", other: isTurned ? "a" : "b")
        } else {
          continue
        }
        links.append(
          Link(
            table: schema.table(of: entity), destination: model.entity(at: number).root.index, slot: slot.index,
            kind: kind, noted: noted(slot.index, of: entity)))
      }
    }
    return links
  }

  /// The rows that have a slot among their changes.
  private func noted(_ slot: Int, of entity: Entity) -> Set<Int64> {
    var found: Set<Int64> = []
    for object in changes.updated where object.values[slot] != nil {
      let own = model.entity(at: object.entity)
      guard let reference = object.reference, own.root == entity.root, slot < own.slots.count,
        SQLSchema.owner(of: slot, in: own) == entity, let id = ids[own.root.index]?[reference]
      else { continue }
      found.insert(id)
    }
    return found
  }

  /// Cuts what leads to deleted rows, and notes in the history which rows that changes: for each relationship in one
  /// statement, however many there are.
  mutating func cutOff(_ gone: Entity, _ numbers: [Int64], _ links: [Link]) throws(PersistentStoreError) {
    for part in numbers.parts(of: SQLStore<Database>.dialect.listLimit) {
      try cutOff(gone.root.index, SQLStore<Database>.list(part), links)
    }
  }

  /// - Parameter list: The numbers of the deleted rows, or a query for them.
  mutating func cutOff(_ root: Int, _ list: String, _ links: [Link]) throws(PersistentStoreError) {
    for link in links where link.destination == root {
      let condition = link.condition(list)
      guard try noteCutOff(link, condition) > 0 || !link.noted.isEmpty else { continue }
      try database.run("UPDATE \(link.table.name.quoted) SET \(link.assignments) WHERE \(condition)", [])
    }
    // Last, since both directions of a many-to-many are found by its pairs.
    for join in schema.joins {
      for (column, other) in [("a", join.roots.0), ("b", join.roots.1)] where other == root {
        try database.run("DELETE FROM \(join.name.quoted) WHERE \(column) IN (\(list))", [])
      }
    }
  }

  /// - Returns: The number of rows.
  private mutating func noteCutOff(_ link: Link, _ condition: String) throws(PersistentStoreError) -> Int {
    // Of more rows it is noted twice, which means the same.
    let isShort = !link.noted.isEmpty && link.noted.count <= SQLStore<Database>.dialect.listLimit
    let others = isShort ? " AND id NOT IN (\(SQLStore<Database>.list(link.noted.sorted())))" : ""
    let first = deletedCount + cutOffCount
    let count = try database.run(
      "INSERT INTO \(SQLStore<Database>.changesTable) (number, place, ent, id, ref, kind, slots) "
        + "SELECT \(number), \(first - 1) + ROW_NUMBER() OVER (ORDER BY id), ent, id, ref, 'update', '\(link.slot)' "
        + "FROM \(link.table.name.quoted) WHERE \(condition)\(others)", [])
    cutOffCount += Int64(count)
    return count
  }
}

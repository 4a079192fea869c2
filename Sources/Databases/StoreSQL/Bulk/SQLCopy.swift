import AtomicStoreSPI

/// Copies everything from one database to another, table by table and a few thousand rows at a time.
///
/// Both have the tables of the same model. What is not valid in the source is an error, as it is when a store is
/// loaded.
struct SQLCopy<Source: SQLDatabase, Target: SQLDatabase> {
  let source: SQLStore<Source>
  let target: SQLStore<Target>
  let from: SQLSchema
  let to: SQLSchema

  private var model: ManagedObjectModel { to.model }

  // MARK: Copying

  /// Creates the tables and fills them.
  ///
  /// - Returns: The number of objects by entity.
  func run(_ metadata: StoreMetadata) throws(PersistentStoreError) -> [Int: Int] {
    var lasts: [Int: Int64] = [:]
    var texts: [Int: Int64] = [:]
    try source.database.query("SELECT root, last, texts FROM \(SQLStore<Source>.keysTable)", []) { row in
      lasts[Int(row.integer(0))] = row.integer(1)
      texts[Int(row.integer(0))] = row.integer(2)
    }
    try target.createTables(to, metadata, lasts: lasts, withIndexes: false)
    var counts: [Int: Int] = [:]
    for table in tables {
      try parts(of: table, isCounted: true) { part throws(PersistentStoreError) in
        try target.database.add(part, to: table.newName, columns: table.columns.map { ($0.newName, $0.type) })
      }
      guard let root = table.root?.index else { continue }
      lasts[root] = max(lasts[root] ?? 0, table.lastNumber)
      texts[root] = max(texts[root] ?? 0, table.lastText)
      for (entity, count) in table.counts { counts[entity] = count }
    }
    for root in to.tables.keys.sorted() {
      try target.database.run(
        "UPDATE \(SQLStore<Target>.keysTable) SET last = ?1, texts = ?2 WHERE root = ?3",
        [.integer(max(0, lasts[root] ?? 0)), .integer(max(0, texts[root] ?? 0)), .integer(Int64(root))])
    }
    try target.createIndexes(to)
    return counts
  }

  // MARK: Comparing

  /// Compares everything that was written with the source.
  func verify() throws(PersistentStoreError) {
    for table in tables {
      var last: [Int64]?
      let reader = SQLCopyReader(table.types)
      let found = SQLCopyPart(table.types)
      try parts(of: table, isCounted: false) { part throws(PersistentStoreError) in
        let next = table.keys(of: try reader.row(in: part.bytes(of: part.count - 1)))
        try compare(part, table, found, after: last, through: next)
        last = next
      }
      let (condition, values) = Self.condition(table.keys, after: last, through: nil)
      try target.database.query(
        "SELECT COUNT(*) FROM \(table.newName.quoted) WHERE \(condition)", values
      ) { row throws(PersistentStoreError) in
        if row.integer(0) > 0 { throw different(table, "there are \(row.integer(0)) rows too many") }
      }
    }
    try verifyEnds()
  }

  private func different(_ table: SQLCopyTable, _ what: String) -> PersistentStoreError {
    PersistentStoreError(
      .internalInconsistency, "the result is not what was written: table '\(table.newName)': \(what)")
  }

  private func compare(
    _ part: SQLCopyPart, _ table: SQLCopyTable, _ found: SQLCopyPart, after: [Int64]?, through: [Int64]
  ) throws(PersistentStoreError) {
    let (condition, values) = Self.condition(table.keys, after: after, through: through)
    found.removeAll()
    try target.database.query(
      "SELECT \(table.newList) FROM \(table.newName.quoted) WHERE \(condition) ORDER BY \(table.order)", values
    ) { row throws(PersistentStoreError) in
      try table.add(row, to: found)
    }
    guard found.count == part.count else {
      throw different(table, "there are \(found.count) rows where \(part.count) were written")
    }
    guard !found.isSame(as: part) else { return }
    for row in 0..<part.count where !found.bytes(of: row).elementsEqual(part.bytes(of: row)) {
      throw try difference(table, found.bytes(of: row), part.bytes(of: row))
    }
  }

  /// Says which value of a row is another.
  private func difference(
    _ table: SQLCopyTable, _ found: UnsafeRawBufferPointer, _ wanted: UnsafeRawBufferPointer
  ) throws(PersistentStoreError) -> PersistentStoreError {
    let (one, other) = (SQLCopyReader(table.types), SQLCopyReader(table.types))
    let (present, was) = (try one.row(in: found), try other.row(in: wanted))
    let names = table.columns.indices.filter { at in
      guard present.isNull(at) == was.isNull(at) else { return true }
      return !present.isNull(at) && !present.hasSameBytes(at, as: was)
    }.map { "'\(table.columns[$0].newName)'" }
    return different(table, "the row \(was.integer(0)) has another value in \(names.joined(separator: ", "))")
  }

  /// The rows after one, and up to another, in the order of one or two keys.
  private static func condition(
    _ keys: [String], after: [Int64]?, through: [Int64]?
  ) -> (sql: String, values: [SQLValue]) {
    var values: [SQLValue] = []
    func mark(_ number: Int64) -> String {
      values.append(.integer(number))
      return "?\(values.count)"
    }
    func compared(_ list: [Int64], _ sign: String, _ last: String) -> String {
      guard keys.count > 1 else { return "\(keys[0]) \(last) \(mark(list[0]))" }
      return
        "(\(keys[0]) \(sign) \(mark(list[0])) OR (\(keys[0]) = \(mark(list[0])) AND \(keys[1]) \(last) \(mark(list[1]))))"
    }
    var parts: [String] = []
    if let after { parts.append(compared(after, ">", ">")) }
    if let through { parts.append(compared(through, "<", "<=")) }
    return (parts.isEmpty ? "\(keys[0]) IS NOT NULL" : parts.joined(separator: " AND "), values)
  }

  // MARK: Ends of relationships

  /// Checks that all relationships lead to rows, and that both ends agree where both are columns.
  private func verifyEnds() throws(PersistentStoreError) {
    for entity in model.entities where !entity.isAbstract {
      for slot in entity.slots {
        guard case .toOne = slot.kind, let column = to.column(slot.index, of: entity),
          let destination = slot.destination.map({ model.entity(at: $0) })
        else { continue }
        let end = "t.\(column.name.quoted)"
        var test = "d.id = \(end) AND d.ent IN (\(kinds(destination)))"
        if let name = column.entityName { test += " AND d.ent = t.\(name.quoted)" }
        if let inverse = slot.inverseSlot, case .toOne = destination.slots[inverse].kind,
          let back = to.column(inverse, of: destination)
        {
          test += " AND d.\(back.name.quoted) = t.id"
        }
        try refuse(
          "\(to.table(of: entity).name.quoted) t WHERE t.ent = \(entity.index) AND \(end) IS NOT NULL AND NOT EXISTS (SELECT 1 FROM \(to.table(of: destination).name.quoted) d WHERE \(test))",
          "\(entity.name).\(slot.name)")
      }
    }
    for entity in model.entities {
      for slot in entity.slots where slot.isToMany && SQLSchema.owner(of: slot.index, in: entity) == entity {
        guard case .pairs(let join, let isTurned)? = to.toMany(slot.index, of: entity),
          let destination = slot.destination.map({ model.entity(at: $0) })
        else { continue }
        let isItself = slot.inverseSlot == slot.index && SQLSchema.owner(of: slot.index, in: destination) == entity
        try verify(
          join, isTurned: isTurned, isItself: isItself, from: entity, to: destination, "\(entity.name).\(slot.name)")
      }
    }
  }

  /// Checks that all pairs lead to objects that the relationship may have, and that one which is its own inverse has
  /// each pair in both directions.
  private func verify(
    _ join: SQLSchema.JoinTable, isTurned: Bool, isItself: Bool, from owner: Entity, to destination: Entity,
    _ name: String
  ) throws(PersistentStoreError) {
    for (column, entity) in [(isTurned ? "b" : "a", owner), (isTurned ? "a" : "b", destination)] {
      try refuse(
        "\(join.name.quoted) j WHERE NOT EXISTS (SELECT 1 FROM \(to.table(of: entity).name.quoted) d WHERE d.id = j.\(column) AND d.ent IN (\(kinds(entity))))",
        name)
    }
    guard isItself else { return }
    let pairs = join.name.quoted
    try refuse("\(pairs) j WHERE NOT EXISTS (SELECT 1 FROM \(pairs) k WHERE k.a = j.b AND k.b = j.a)", name)
  }

  private func kinds(_ entity: Entity) -> String {
    let kinds = entity.hierarchy.filter { !$0.isAbstract }.map { "\($0.index)" }
    return kinds.isEmpty ? "-1" : kinds.joined(separator: ", ")
  }

  private func refuse(_ rows: String, _ name: String) throws(PersistentStoreError) {
    try target.database.query("SELECT COUNT(*) FROM \(rows)", []) { row throws(PersistentStoreError) in
      guard row.integer(0) > 0 else { return }
      throw PersistentStoreError(
        .danglingReference,
        "\(row.integer(0)) relationships '\(name)' lead to rows that do not exist, or that lead elsewhere")
    }
  }

  // MARK: Tables

  private var tables: [SQLCopyTable] {
    var tables: [SQLCopyTable] = []
    for root in to.tables.keys.sorted() {
      guard let old = from.tables[root], let new = to.tables[root] else { continue }
      tables.append(SQLCopyTable(model.entity(at: root), old, new))
    }
    for (old, new) in zip(from.joins, to.joins) { tables.append(SQLCopyTable(old, new)) }
    return tables
  }

  /// Reads a table of the source in parts, none of them empty.
  private func parts(
    of table: SQLCopyTable, isCounted: Bool, _ body: (SQLCopyPart) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let part = SQLCopyPart(table.types)
    func filled() throws(PersistentStoreError) {
      try body(part)
      part.removeAll()
    }
    try source.database.read(
      "SELECT \(table.list) FROM \(table.name.quoted) ORDER BY \(table.order)", table.types
    ) { row throws(PersistentStoreError) in
      try table.add(row, to: part)
      if isCounted { table.count(row) }
      if part.isFull { try filled() }
    } queried: { row throws(PersistentStoreError) in
      try table.add(row, to: part)
      if isCounted { table.count(row) }
      if part.isFull { try filled() }
    }
    if part.count > 0 { try filled() }
  }
}

import AtomicStoreSPI
import FoundationEssentials

/// Copies everything from one database to another, table by table and a few thousand rows at a time.
///
/// Both have the tables of the same model. What is not valid in the source is an error, as it is when a store is
/// loaded.
struct SQLCopy<Source: SQLDatabase, Target: SQLDatabase> {
  let source: SQLStore<Source>
  let target: SQLStore<Target>
  let from: SQLSchema
  let to: SQLSchema

  /// How many rows are in memory at a time, and about how many bytes of texts and data.
  private static var partSize: Int { 5000 }
  private static var partBytes: Int { 4 << 20 }
  private var model: ManagedObjectModel { to.model }

  /// A column that is copied.
  private struct Column {
    var name: String
    var newName: String
    var type: SQLType
    /// The attribute whose values it holds; nil for ends of relationships and the like.
    var slot: Slot?
  }

  /// A table that is copied: its columns, and its rows in order.
  private struct Table {
    var name: String
    var newName: String
    var columns: [Column]
    /// The columns that the rows are ordered by; together they are different in each row.
    var keys: [String]
    /// By entity number: the columns that its rows have beyond ``fixed``. Empty for a table of pairs.
    var own: [Int: Set<String>] = [:]
    /// How many columns all rows have.
    var fixed: Int

    var root: Entity?
    var list: String { columns.map(\.name.quoted).joined(separator: ", ") }
    var newList: String { columns.map(\.newName.quoted).joined(separator: ", ") }
    var order: String { keys.joined(separator: ", ") }
  }

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
    let version = Int64(Date().timeIntervalSinceReferenceDate * 1_000_000)
    for table in tables {
      try parts(of: table) { part throws(PersistentStoreError) in
        if let root = table.root?.index {
          for row in part.indices {
            // Whatever the source has counted: numbers that are in use are not given to new objects.
            if case .integer(let id) = part[row][0] {
              if id > SQLKeys.lastText {
                lasts[root] = max(lasts[root] ?? 0, id)
              } else {
                texts[root] = max(texts[root] ?? 0, id &- .min)
              }
            }
            if case .integer(let entity) = part[row][1] { counts[Int(entity), default: 0] += 1 }
            part[row][2] = .integer(version)
          }
        }
        try write(part, table)
      }
    }
    for root in to.tables.keys.sorted() {
      try target.database.run(
        "UPDATE \(SQLStore<Target>.keysTable) SET last = ?1, texts = ?2 WHERE root = ?3",
        [.integer(max(0, lasts[root] ?? 0)), .integer(max(0, texts[root] ?? 0)), .integer(Int64(root))])
    }
    try target.createIndexes(to)
    return counts
  }

  private func write(_ part: [[SQLValue]], _ table: Table) throws(PersistentStoreError) {
    try target.database.add(
      part.count, to: table.newName, columns: table.columns.map { ($0.newName, $0.type) }, PartRows(part: part))
  }

  // MARK: Comparing

  /// Compares everything that was written with the source.
  func verify() throws(PersistentStoreError) {
    for table in tables {
      var last: [Int64]?
      try parts(of: table) { part throws(PersistentStoreError) in
        guard let end = part.last else { return }
        let next = table.keys.indices.map { index -> Int64 in
          if case .integer(let number) = end[index] { number } else { 0 }
        }
        try compare(part, table, after: last, through: next)
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

  private func different(_ table: Table, _ what: String) -> PersistentStoreError {
    PersistentStoreError(
      .internalInconsistency, "the result is not what was written: table '\(table.newName)': \(what)")
  }

  private func compare(
    _ part: [[SQLValue]], _ table: Table, after: [Int64]?, through: [Int64]
  ) throws(PersistentStoreError) {
    let (condition, values) = Self.condition(table.keys, after: after, through: through)
    var place = 0
    try target.database.query(
      "SELECT \(table.newList) FROM \(table.newName.quoted) WHERE \(condition) ORDER BY \(table.order)", values
    ) { row throws(PersistentStoreError) in
      let found = try read(row, table)
      guard place < part.count else { throw different(table, "there are more rows") }
      for (index, value) in part[place].enumerated() where index != 2 || table.root == nil {
        guard Self.isSame(value, found[index]) else {
          throw different(
            table, "'\(table.columns[index].newName)' of row \(found[0]) is \(found[index]), not \(value)")
        }
      }
      place += 1
    }
    guard place == part.count else { throw different(table, "\(part.count - place) rows are missing") }
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

  /// Whether two values are the same to the bit and the scalar.
  private static func isSame(_ one: SQLValue, _ other: SQLValue) -> Bool {
    switch (one, other) {
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
    case (.text(let a), .text(let b)): a.utf8.elementsEqual(b.utf8)
    default: one == other
    }
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

  private var tables: [Table] {
    var tables: [Table] = []
    for root in to.tables.keys.sorted() {
      guard let old = from.tables[root], let new = to.tables[root] else { continue }
      let fixed: [(String, SQLType)] = [("id", .integer64), ("ent", .integer64), ("ver", .integer64), ("ref", .text)]
      var columns = fixed.map { Column(name: $0.0, newName: $0.0, type: $0.1) }
      let slots = slots(of: model.entity(at: root), old)
      for (one, other) in zip(old.all, new.all) {
        columns.append(Column(name: one.name, newName: other.name, type: other.type, slot: slots[one.name]))
        for (name, newName) in [(one.entityName, other.entityName), (one.positionName, other.positionName)] {
          if let name, let newName { columns.append(Column(name: name, newName: newName, type: .integer64)) }
        }
      }
      var table = Table(name: old.name, newName: new.name, columns: columns, keys: ["id"], fixed: 4)
      table.root = model.entity(at: root)
      for (entity, list) in old.columns {
        table.own[entity] = Set(
          list.compactMap { $0 }.flatMap { [$0.name, $0.entityName, $0.positionName].compactMap { $0 } })
      }
      tables.append(table)
    }
    for (old, new) in zip(from.joins, to.joins) {
      let columns = ["a", "b", "pos_a", "pos_b"].map { Column(name: $0, newName: $0, type: .integer64) }
      tables.append(Table(name: old.name, newName: new.name, columns: columns, keys: ["a", "b"], fixed: 4))
    }
    return tables
  }

  /// The attributes of a hierarchy by the names of their columns.
  private func slots(of root: Entity, _ table: SQLSchema.Table) -> [String: Slot] {
    var found: [String: Slot] = [:]
    for entity in root.hierarchy {
      for slot in entity.slots where slot.attributeType != nil {
        guard let columns = table.columns[entity.index], let column = columns[slot.index] else { continue }
        found[column.name] = slot
      }
    }
    return found
  }

  /// Reads a table of the source in parts.
  private func parts(
    of table: Table, _ body: (inout [[SQLValue]]) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    var part: [[SQLValue]] = []
    part.reserveCapacity(Self.partSize)
    var bytes = 0
    func add(_ row: some SQLRow) throws(PersistentStoreError) {
      part.append(try read(row, table))
      for value in part[part.count - 1] {
        switch value {
        case .text(let text): bytes += text.utf8.count
        case .blob(let data): bytes += data.count
        default: break
        }
      }
      guard part.count == Self.partSize || bytes >= Self.partBytes else { return }
      try body(&part)
      bytes = 0
      part.removeAll(keepingCapacity: true)
    }
    try source.database.read(
      "SELECT \(table.list) FROM \(table.name.quoted) ORDER BY \(table.order)", table.columns.map(\.type)
    ) { row throws(PersistentStoreError) in
      try add(row)
    } queried: { row throws(PersistentStoreError) in
      try add(row)
    }
    if !part.isEmpty { try body(&part) }
  }

  // MARK: Rows

  private func read(_ row: some SQLRow, _ table: Table) throws(PersistentStoreError) -> [SQLValue] {
    var values: [SQLValue] = []
    values.reserveCapacity(table.columns.count)
    var own: Set<String>?
    if let root = table.root { own = table.own[try entity(row, below: root)] }
    for (at, column) in table.columns.enumerated() {
      // What another entity of the hierarchy has is not a value of this row.
      let isAbsent = at >= table.fixed && own.map { !$0.contains(column.name) } ?? false
      values.append(row.isNull(at) || isAbsent ? .null : try value(row, at, column))
    }
    return values
  }

  /// The entity of a row, whose reference is as it has to be.
  private func entity(_ row: some SQLRow, below root: Entity) throws(PersistentStoreError) -> Int {
    let id = row.integer(0)
    guard !row.isNull(0), !row.isNull(1), let entity = SQLStore<Source>.entity(row.integer(1), below: root) else {
      throw PersistentStoreError(.malformed, "the row \(id) is of entity number \(row.integer(1)), which it cannot be")
    }
    guard row.isNull(3) == (id > SQLKeys.lastText) else {
      throw PersistentStoreError(
        .malformed, "the row \(id) has \(row.isNull(3) ? "no text" : "a text") as its reference")
    }
    return entity.index
  }

  private func value(_ row: some SQLRow, _ at: Int, _ column: Column) throws(PersistentStoreError) -> SQLValue {
    guard row.holds(at, column.type) else { throw malformed(row, column) }
    let value: SQLValue
    switch column.type {
    case .integer16, .integer32, .integer64:
      let number = row.integer(at)
      guard
        column.type == .integer64
          || (column.type == .integer16 ? Int16(exactly: number) != nil : Int32(exactly: number) != nil)
      else { throw malformed(row, column) }
      value = .integer(number)
    case .boolean: value = .boolean(row.boolean(at))
    case .double: value = .double(row.double(at))
    case .float: value = .float(row.float(at))
    case .uuid: value = .uuid(row.uuid(at))
    case .blob: value = .blob(row.data(at))
    case .text:
      let text = try SQLStore<Source>.text(row, at, row.integer(0))
      switch column.slot?.attributeType {
      case .decimal: guard DecimalNumber(text) != nil else { throw malformed(row, column) }
      case .undefined: guard StoredValue(typedText: text) != nil else { throw malformed(row, column) }
      default: break
      }
      value = .text(text)
    }
    return value
  }

  private func malformed(_ row: some SQLRow, _ column: Column) -> PersistentStoreError {
    PersistentStoreError(.malformed, "the row \(row.integer(0)) has no valid value in '\(column.name)'")
  }
}

/// Rows that were read.
private struct PartRows: SQLRowSource {
  let part: [[SQLValue]]

  func write<Writer: SQLRowWriter>(_ row: Int, _ writer: Writer) throws(PersistentStoreError) {
    for value in part[row] {
      switch value {
      case .null: writer.null()
      case .integer(let number): writer.integer(number)
      case .boolean(let flag): writer.boolean(flag)
      case .double(let number): writer.double(number)
      case .float(let number): writer.float(number)
      case .uuid(let uuid): writer.uuid(uuid)
      case .text(let text): try writer.text(Array(text.utf8).span)
      case .blob(let data): try writer.blob([UInt8](data).span)
      }
    }
  }
}

import AtomicStoreSPI
import FoundationEssentials

extension SQLStore {
  /// The columns of a query for whole rows: `id, ent, ver, ref` and then those of the entities' slots.
  struct RowColumns {
    struct Place {
      var column: SQLSchema.Column
      var at: Int
      var entityAt: Int?
    }
    var sql = ""
    /// By entity and slot.
    var places: [Int: [Place?]] = [:]
  }

  func columns(of entities: [Entity], _ schema: SQLSchema, table: String) -> RowColumns {
    var result = RowColumns()
    var names = ["id", "ent", "ver", "ref"]
    var known: [String: Int] = [:]
    func place(_ name: String) -> Int {
      if let at = known[name] { return at }
      known[name] = names.count
      names.append(name.quoted)
      return names.count - 1
    }
    for entity in entities {
      result.places[entity.index] = entity.slots.map { slot in
        schema.column(slot.index, of: entity).map { column in
          RowColumns.Place(column: column, at: place(column.name), entityAt: column.entityName.map(place))
        }
      }
    }
    result.sql = names.map { "\(table).\($0)" }.joined(separator: ", ")
    return result
  }

  /// Reads rows of a query with ``columns(of:_:table:)``.
  func storeRows(
    _ sql: String, _ values: [SQLValue], _ columns: RowColumns, _ schema: SQLSchema
  ) throws(PersistentStoreError) -> [StoreRow] {
    var rows: [StoreRow] = []
    var texts: [(row: Int, slot: Int, entity: Entity, id: Int64)] = []
    let model = schema.model
    try database.query(sql, values) { row throws(PersistentStoreError) in
      let entity = Int(row.integer(1))
      guard let places = columns.places[entity] else {
        throw PersistentStoreError(
          .malformed, "the row \(row.integer(0)) is of entity number \(entity), which it cannot be")
      }
      var values = SlotValues(slotCount: places.count)
      let own = model.entity(at: entity)
      for slot in own.slots {
        guard let place = places[slot.index], !row.isNull(place.at) else { continue }
        guard row.holds(place.at, place.column.type) else { throw Self.malformed(row.integer(0), slot, of: own) }
        switch slot.kind {
        case .attribute(let type):
          values[slot.index] = try Self.value(row, place.at, type, slot, of: own, row.integer(0))
        case .toOne:
          guard let destination = slot.destination else { continue }
          guard let end = Self.destinationEntity(row, place, model.entity(at: destination)) else {
            throw Self.malformed(row.integer(0), slot, of: own)
          }
          let id = row.integer(place.at)
          if id <= SQLKeys.lastText { texts.append((rows.count, slot.index, end, id)) }
          values[slot.index] = .toOne(ObjectReference(entityName: end.name, reference: .integer(id)))
        case .toMany: continue
        }
      }
      let reference: ReferenceObject =
        row.isNull(3) ? .integer(row.integer(0)) : .string(try Self.text(row, 3, row.integer(0)))
      rows.append(StoreRow(entity: entity, reference: reference, version: row.integer(2), values: values))
    }
    guard !texts.isEmpty else { return rows }
    for (root, group) in Dictionary(grouping: texts, by: { $0.entity.root.index }) {
      let names = try referenceTexts(group.map(\.id), root: root, schema)
      for entry in group {
        guard let text = names[entry.id] else { continue }
        rows[entry.row].values[entry.slot] = .toOne(
          ObjectReference(entityName: entry.entity.name, reference: .string(text)))
      }
    }
    return rows
  }

  /// The entity of a to-one's destination; nil if the row names one that it cannot be of.
  private static func destinationEntity(
    _ row: any SQLRow, _ place: RowColumns.Place, _ declared: Entity
  ) -> Entity? {
    guard let at = place.entityAt else { return declared.hierarchy.first { !$0.isAbstract } }
    return row.isNull(at) ? nil : entity(row.integer(at), below: declared)
  }

  /// The concrete entity with a number that a row has; nil if it is not one of a hierarchy.
  static func entity(_ number: Int64, below declared: Entity) -> Entity? {
    guard number >= 0, number < Int64(declared.model.entityCount) else { return nil }
    let entity = declared.model.entity(at: Int(number))
    return !entity.isAbstract && entity.isKindOf(entity: declared) ? entity : nil
  }

  static func malformed(_ id: Int64, _ slot: Slot, of entity: Entity) -> PersistentStoreError {
    SQLValues.malformed(id, slot, of: entity)
  }

  static func text(_ row: some SQLRow, _ at: Int, _ id: Int64) throws(PersistentStoreError) -> String {
    try SQLValues.text(row, at, id)
  }

  static func value(
    _ row: some SQLRow, _ at: Int, _ type: AttributeType, _ slot: Slot, of entity: Entity, _ id: Int64
  ) throws(PersistentStoreError) -> StoredValue {
    try SQLValues.value(row, at, type, slot, of: entity, id)
  }

  /// The references of rows whose numbers stand for texts.
  func referenceTexts(_ ids: [Int64], root: Int, _ schema: SQLSchema) throws(PersistentStoreError) -> [Int64: String] {
    guard let table = schema.tables[root] else { return [:] }
    var texts: [Int64: String] = [:]
    for part in Set(ids).sorted().parts(of: Self.dialect.listLimit) {
      try database.query("SELECT id, ref FROM \(table.name.quoted) WHERE id IN (\(Self.list(part)))", []) { row in
        if !row.isNull(1) { texts[row.integer(0)] = row.text(1) }
      }
    }
    return texts
  }

  /// The numbers of rows, by reference.
  func numbers(_ references: [ReferenceObject], root: Int, _ schema: SQLSchema) throws(PersistentStoreError)
    -> [ReferenceObject: Int64]
  {
    var result: [ReferenceObject: Int64] = [:]
    var texts: [String] = []
    for reference in references {
      switch reference {
      case .integer(let number): result[reference] = try Self.checked(number)
      case .string(let text): texts.append(text)
      }
    }
    guard !texts.isEmpty, let table = schema.tables[root] else { return result }
    for part in texts.parts(of: Self.dialect.listLimit) {
      let marks = part.indices.map { "?\($0 - part.startIndex + 1)" }.joined(separator: ", ")
      try database.query(
        "SELECT id, ref FROM \(table.name.quoted) WHERE ref IN (\(marks))", part.map { .text($0) }
      ) { row in result[.string(row.text(1))] = row.integer(0) }
    }
    return result
  }

  static func checked(_ number: Int64) throws(PersistentStoreError) -> Int64 {
    guard number > SQLKeys.lastText else {
      throw PersistentStoreError(
        .unsupportedByFormat,
        "the reference \(number) is below the least number of these stores, \(SQLKeys.lastText + 1)")
    }
    return number
  }

  static func list(_ numbers: some Collection<Int64>) -> String { numbers.map(String.init).joined(separator: ", ") }

  /// A condition for one of some numbers. A single one is a parameter: the statement is the same the next time.
  static func isOne(of numbers: some Collection<Int64>, _ column: String) -> (sql: String, values: [SQLValue]) {
    guard numbers.count == 1, let number = numbers.first else { return ("\(column) IN (\(list(numbers)))", []) }
    return ("\(column) = ?1", [.integer(number)])
  }

  /// A condition for rows of some entities.
  static func isKind(of entities: [Int], _ column: String) -> String {
    entities.count == 1 ? "\(column) = \(entities[0])" : "\(column) IN (\(list(entities.map(Int64.init))))"
  }

  // MARK: Requests

  func rows(_ references: [ReferenceObject], root: Int) throws(PersistentStoreError) -> [StoreRow] {
    let schema = try ready()
    guard let table = schema.tables[root] else { return [] }
    let entities = schema.model.entity(at: root).hierarchy.filter { !$0.isAbstract }
    let columns = columns(of: entities, schema, table: "t")
    var rows: [StoreRow] = []
    var integers: [Int64] = []
    var texts: [String] = []
    for reference in references {
      switch reference {
      case .integer(let number): if number > SQLKeys.lastText { integers.append(number) }
      case .string(let text): texts.append(text)
      }
    }
    let head = "SELECT \(columns.sql) FROM \(table.name.quoted) t WHERE \(sameTables)"
    for part in integers.parts(of: Self.dialect.listLimit) {
      let (condition, values) = Self.isOne(of: part, "t.id")
      rows += try storeRows("\(head) \(condition)", values, columns, schema)
    }
    for part in texts.parts(of: Self.dialect.listLimit) {
      let marks = part.indices.map { "?\($0 - part.startIndex + 1)" }.joined(separator: ", ")
      rows += try storeRows("\(head) t.ref IN (\(marks))", part.map { .text($0) }, columns, schema)
    }
    return rows
  }

  func related(
    _ owners: [ReferenceObject], slot: Int, entity: Int
  ) throws(PersistentStoreError) -> [[ObjectReference]] {
    let schema = try ready()
    let owner = schema.model.entity(at: entity)
    guard let kept = schema.toMany(slot, of: owner), let number = owner.slots[slot].destination else {
      return owners.map { _ in [] }
    }
    let destination = schema.model.entity(at: number)
    let ids = try numbers(owners, root: owner.root.index, schema)
    let keepsSequence = owner.slots[slot].keepsSequence
    var lists: [Int64: [(id: Int64, entityName: String, text: String?)]] = [:]
    let there = schema.table(of: destination).name.quoted
    for part in Set(ids.values).sorted().parts(of: Self.dialect.listLimit) {
      let sql: String
      var values: [SQLValue] = []
      switch kept {
      case .inverse(_, let column):
        let name = "d.\(column.name.quoted)"
        let kinds = Self.isKind(of: destination.hierarchy.map(\.index), "d.ent")
        let (owned, parameters) = Self.isOne(of: part, name)
        values = parameters
        let order = keepsSequence ? (column.positionName.map { ", d.\($0.quoted)" } ?? "") : ""
        sql =
          "SELECT \(name), d.id, d.ent, d.ref FROM \(there) d WHERE \(sameTables) \(owned) AND \(kinds) ORDER BY \(name)\(order), d.id"
      case .pairs(let join, let isTurned):
        let (own, other, position) = isTurned ? ("b", "a", "pos_b") : ("a", "b", "pos_a")
        let order = keepsSequence ? ", j.\(position)" : ""
        let (owned, parameters) = Self.isOne(of: part, "j.\(own)")
        values = parameters
        sql =
          "SELECT j.\(own), d.id, d.ent, d.ref FROM \(join.name.quoted) j JOIN \(there) d ON d.id = j.\(other) WHERE \(sameTables) \(owned) ORDER BY j.\(own)\(order), d.id"
      }
      try database.query(sql, values) { row throws(PersistentStoreError) in
        guard let entity = Self.entity(row.integer(2), below: destination) else {
          throw Self.malformed(row.integer(0), owner.slots[slot], of: owner)
        }
        lists[row.integer(0), default: []].append(
          (row.integer(1), entity.name, row.isNull(3) ? nil : try Self.text(row, 3, row.integer(1))))
      }
    }
    return owners.map { reference in
      guard let id = ids[reference], let members = lists[id] else { return [] }
      var list = members.map { member in
        ObjectReference(
          entityName: member.entityName,
          reference: member.text.map { .string($0) } ?? .integer(member.id))
      }
      if !keepsSequence, members.contains(where: { $0.text != nil }) { list.sort { $0.reference < $1.reference } }
      return list
    }
  }

  func fetch(_ request: StoreFetch) throws(PersistentStoreError) -> StoreFetchResult {
    let schema = try ready()
    if let rows = try firstRows(request, schema) { return StoreFetchResult(.exact, rows: rows) }
    let (sql, values, answer, columns) = statement(request, schema)
    return StoreFetchResult(answer, rows: try storeRows(sql, values, columns, schema))
  }

  /// Some rows of an entity without a condition or an order, which need not be sorted: integer references come first,
  /// in the order of the table's key. Nil where the entity has not as many.
  private func firstRows(_ request: StoreFetch, _ schema: SQLSchema) throws(PersistentStoreError) -> [StoreRow]? {
    guard request.predicate == nil, request.sortKeys.isEmpty, request.entities.count == 1, let limit = request.limit
    else { return nil }
    let entity = schema.model.entity(at: request.entities[0])
    let columns = columns(of: [entity], schema, table: "t")
    let sql =
      "SELECT \(columns.sql) FROM \(schema.table(of: entity).name.quoted) t WHERE \(sameTables) t.ent = \(entity.index) AND t.id > ?1 ORDER BY t.id LIMIT ?2 OFFSET ?3"
    // The numbers are parameters: the pages of a long list are one statement.
    let values = [SQLKeys.lastText, Int64(limit), Int64(request.offset)].map { SQLValue.integer($0) }
    let rows = try storeRows(sql, values, columns, schema)
    return rows.count == limit ? rows : nil
  }

  func answer(to request: StoreFetch) -> FetchAnswer {
    guard let schema else { return .inMemory("the store is not prepared") }
    return statement(request, schema).answer
  }

  func count(_ request: StoreFetch) throws(PersistentStoreError) -> Int? {
    let schema = try ready()
    var compiler = SQLPredicateCompiler(schema, Self.dialect, store: identifier)
    let condition = condition(request, &compiler, schema)
    guard compiler.reason == nil else { return nil }
    let table = schema.table(of: schema.model.entity(at: request.entity))
    var count = 0
    try database.query("SELECT COUNT(*) FROM \(table.name.quoted) t WHERE \(sameTables) \(condition)", compiler.values)
    { row in
      count = Int(row.integer(0))
    }
    let left = max(0, count - request.offset)
    return request.limit.map { min($0, left) } ?? left
  }

  func condition(_ request: StoreFetch, _ compiler: inout SQLPredicateCompiler, _ schema: SQLSchema) -> String {
    // An abstract entity without concrete sub-entities has no rows, whatever is asked of them.
    if request.entities.isEmpty { return Self.dialect.literal(false) }
    let kinds = Self.isKind(of: request.entities, "t.ent")
    guard let predicate = request.predicate,
      let found = compiler.compile(predicate, schema.model.entity(at: request.entity), table: "t")
    else { return kinds }
    return "\(kinds) AND \(found)"
  }

  private func statement(
    _ request: StoreFetch, _ schema: SQLSchema
  ) -> (sql: String, values: [SQLValue], answer: FetchAnswer, columns: RowColumns) {
    let entity = schema.model.entity(at: request.entity)
    let columns = columns(of: request.entities.map { schema.model.entity(at: $0) }, schema, table: "t")
    var compiler = SQLPredicateCompiler(schema, Self.dialect, store: identifier)
    let condition = condition(request, &compiler, schema)
    let isAll = request.predicate != nil && compiler.reason != nil && !condition.contains(" AND ")
    var answer = FetchAnswer.exact
    if let reason = compiler.reason { answer = isAll ? .inMemory(reason) : .superset(reason) }
    var order: [String] = []
    if case .exact = answer, !request.sortKeys.isEmpty {
      if let terms = compiler.order(request.sortKeys, entity, table: "t") {
        order = terms
      } else {
        answer = .superset("the objects are sorted by the kit")
      }
    }
    order += ["t.ent", "(CASE WHEN t.ref IS NULL THEN 0 ELSE 1 END)", "t.ref", "t.id"]
    var sql =
      "SELECT \(columns.sql) FROM \(schema.table(of: entity).name.quoted) t WHERE \(sameTables) \(condition) ORDER BY \(order.joined(separator: ", "))"
    if case .exact = answer {
      if let limit = request.limit {
        sql += " LIMIT \(limit)"
      } else if request.offset > 0, Self.dialect.isSQLite {
        sql += " LIMIT -1"
      }
      if request.offset > 0 { sql += " OFFSET \(request.offset)" }
    }
    return (sql, compiler.values, answer, columns)
  }
}

extension Array {
  /// The elements in parts of at most that many.
  func parts(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}

/// Values of decimal attributes that another program has written, and that are not decimal numbers.
extension SQLStore {
  /// How many rows are looked at together.
  private static var rowsAtOnce: Int { 10_000 }

  /// The error of a statement, or one that names the object with a value that the statement cannot have compared: a
  /// database does not say which row it is.
  func named(_ error: PersistentStoreError) -> PersistentStoreError {
    // The words of SQLite's function, and of PostgreSQL's cast.
    guard error.code == .malformed, let schema,
      ["is not a decimal number", "for type numeric"].contains(where: { error.message.contains($0) })
    else { return error }
    for root in schema.tables.keys.sorted().map({ schema.model.entity(at: $0) }) {
      for entity in root.hierarchy where !entity.isAbstract {
        for slot in entity.slots where slot.attributeType == .decimal {
          if let found = try? invalidDecimal(slot, entity, schema) { return found }
        }
      }
    }
    return error
  }

  private func invalidDecimal(
    _ slot: Slot, _ entity: Entity, _ schema: SQLSchema
  ) throws(PersistentStoreError) -> PersistentStoreError? {
    guard let name = schema.column(slot.index, of: entity)?.name.quoted else { return nil }
    let sql =
      "SELECT t.id, t.ref, t.\(name) FROM \(schema.table(of: entity).name.quoted) t WHERE \(sameTables) t.ent = \(entity.index) AND t.\(name) IS NOT NULL AND t.id >= ?1 ORDER BY t.id LIMIT \(Self.rowsAtOnce)"
    var next = Int64.min
    while true {
      var last: Int64?
      var found: PersistentStoreError?
      try database.query(sql, [.integer(next)]) { row throws(PersistentStoreError) in
        last = row.integer(0)
        guard found == nil, !Self.isDecimal(row, 2) else { return }
        let reference: ReferenceObject = row.isNull(1) ? .integer(row.integer(0)) : .string(row.text(1))
        let shown = row.holds(2, .text) ? ": '\(row.text(2).prefix(60))'" : ""
        found = PersistentStoreError(
          .malformed, "a value of '\(entity.name).\(slot.name)' is not a decimal number\(shown)",
          at: StoreLocation(entity: entity.name, reference: reference.description, property: slot.name))
      }
      guard found == nil, let last, last < .max else { return found }
      next = last + 1
    }
  }

  private static func isDecimal(_ row: any SQLRow, _ column: Int) -> Bool {
    guard row.holds(column, .text) else { return false }
    var isDecimal = false
    row.withText(column) { isDecimal = DecimalNumber(utf8: $0) != nil }
    return isDecimal
  }
}

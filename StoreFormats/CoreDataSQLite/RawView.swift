import AtomicStoreSPI

/// A model inferred from the tables alone, for a store whose model is nowhere to be found.
///
/// Entities and inheritance are known from Z_PRIMARYKEY. Properties are guessed from columns: their names are in
/// capitals, their types are those that the columns were declared with, and a to-one is recognized only where the table
/// says which entity it leads to.
struct RawView {
  private let database: SQLiteDatabase
  private let schema: DatabaseSchema
  private let entities: [StoreTables.EntityRow]
  private let byNumber: [Int64: StoreTables.EntityRow]
  private var properties: [Int64: [PropertyDescription]] = [:]
  private var taken: [Int64: Set<ScalarString>] = [:]

  init(_ database: SQLiteDatabase) throws(PersistentStoreError) {
    self.database = database
    schema = try DatabaseSchema(database)
    entities = try StoreTables(database).entityRows().filter { $0.number < StoreTables.firstHistoryNumber }
    var byNumber: [Int64: StoreTables.EntityRow] = [:]
    for entity in entities { byNumber[entity.number] = entity }
    self.byNumber = byNumber
  }

  func model() throws(PersistentStoreError) -> ModelDescription {
    var copy = self
    return try copy.make()
  }

  private mutating func make() throws(PersistentStoreError) -> ModelDescription {
    var children: [Int64: [StoreTables.EntityRow]] = [:]
    for entity in entities {
      guard entity.parent == 0 || byNumber[entity.parent] != nil else {
        throw PersistentStoreError(
          .malformed, "the super-entity of \(entity.name), number \(entity.parent), is not there",
          at: StoreLocation(file: database.file, entity: "Z_PRIMARYKEY"))
      }
      children[entity.parent, default: []].append(entity)
    }
    for root in children[0] ?? [] {
      let tree = Self.tree(root, children)
      if let table = try schema.table(DatabaseLayout.tableName(root.name)) { try readColumns(table, tree, root) }
    }
    try readJoinTables()
    let roots = try (children[0] ?? []).map { (root) throws(PersistentStoreError) in
      try description(root, children, depth: 0)
    }
    let reached = roots.reduce(0) { $0 + Self.count($1) }
    guard reached == entities.count else {
      throw PersistentStoreError(
        .malformed, "entities are each other's super-entities",
        at: StoreLocation(file: database.file, entity: "Z_PRIMARYKEY"))
    }
    return ModelDescription(entities: roots, isInferred: true, inferredFrom: StoreKeys.storeType)
  }

  private static func count(_ entity: EntityDescription) -> Int { entity.subentities.reduce(1) { $0 + count($1) } }

  private static func tree(_ root: StoreTables.EntityRow, _ children: [Int64: [StoreTables.EntityRow]]) -> [StoreTables
    .EntityRow]
  {
    var result = [root]
    var next = 0
    while next < result.count {
      result += children[result[next].number] ?? []
      next += 1
    }
    return result.sorted { $0.number < $1.number }
  }

  private func description(
    _ row: StoreTables.EntityRow, _ children: [Int64: [StoreTables.EntityRow]], depth: Int
  ) throws(PersistentStoreError) -> EntityDescription {
    guard depth < 256 else {
      throw PersistentStoreError(
        .limitExceeded, "more than 256 entities are below one another",
        at: StoreLocation(file: database.file, entity: row.name))
    }
    var below: [EntityDescription] = []
    for child in children[row.number] ?? [] { below.append(try description(child, children, depth: depth + 1)) }
    return EntityDescription(name: row.name, properties: properties[row.number] ?? [], subentities: below)
  }

  private mutating func add(_ property: PropertyDescription, to number: Int64) {
    guard taken[number, default: []].insert(ScalarString(property.name)).inserted else { return }
    properties[number, default: []].append(property)
  }

  // MARK: Columns

  /// Gives each column to the one entity whose rows use it, or to the root where several do, or none.
  private mutating func readColumns(
    _ table: DatabaseSchema.Table, _ tree: [StoreTables.EntityRow], _ root: StoreTables.EntityRow
  ) throws(PersistentStoreError) {
    let skipped: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
    let columns = table.columns.filter {
      !skipped.contains(DatabaseSchema.key($0.name)) && DatabaseSchema.key($0.name).hasPrefix("Z")
    }
    guard !columns.isEmpty else { return }
    // A column with the destination's entity number says that another one is a to-one, and which entity that leads to.
    var destinations: [String: Int64] = [:]
    for column in columns {
      if let (number, rest) = Self.numbered(DatabaseSchema.key(column.name), "_") { destinations[rest] = number }
    }
    let users = tree.count > 1 ? users(of: columns, in: table) : [:]
    let external = external(columns, in: table)
    for (index, column) in columns.enumerated() {
      let name = DatabaseSchema.key(column.name)
      // The order of a list that the raw view has; of any other the keys are numbers of the object.
      if name.hasPrefix("Z_FOK_"), table.column(named: "Z" + name.dropFirst(6)) != nil,
        Self.numbered("Z" + name.dropFirst(6), "") != nil
      {
        continue
      }
      if Self.numbered(name, "_") != nil { continue }
      let used = users[index] ?? []
      let owner = used.count == 1 ? used.first ?? root.number : root.number
      let text = String(column.name.dropFirst())
      if let (number, rest) = Self.numbered(name, ""), let other = byNumber[number] {
        let isOrdered = table.column(named: "Z_FOK_\(number)\(rest)") != nil
        add(
          .relationship(
            RelationshipDescription(
              name: rest, destinationEntityName: root.name, maximumCount: 0, isOrdered: isOrdered)),
          to: other.number)
        continue
      }
      if let destination = destinations[DatabaseSchema.key(text)].flatMap({ byNumber[$0] }) {
        add(.relationship(RelationshipDescription(name: text, destinationEntityName: destination.name)), to: owner)
      } else {
        var attribute = AttributeDescription(name: text, type: Self.type(column.type))
        attribute.allowsExternalBinaryDataStorage = external.contains(index)
        add(.attribute(attribute), to: owner)
      }
    }
  }

  /// The columns of blobs that name separate files, and hold nothing else than external data.
  private func external(_ columns: [DatabaseSchema.Column], in table: DatabaseSchema.Table) -> Set<Int> {
    let blobs = columns.indices.filter { Self.type(columns[$0].type) == .binaryData }
    guard !blobs.isEmpty else { return [] }
    let sums = blobs.flatMap { index in
      let conditions = ExternalData.conditions(columns[index].name)
      return ["sum(\(conditions.isFileName))", "sum(\(conditions.isOther))"]
    }
    // If the table is damaged, reading its rows says so.
    let rows = try? database.prepare(
      "SELECT \(sums.joined(separator: ", ")) FROM \(SQLiteDatabase.quoted(table.name)) NOT INDEXED",
      StoreLocation(file: database.file, entity: table.name))
    guard let rows, (try? rows.step()) == true else { return [] }
    var found: Set<Int> = []
    for (place, index) in blobs.enumerated()
    where rows.integer(Int32(2 * place)) > 0 && rows.integer(Int32(2 * place + 1)) == 0 { found.insert(index) }
    return found
  }

  /// The entities whose rows have a value in each column, as far as the table can be read.
  private func users(of columns: [DatabaseSchema.Column], in table: DatabaseSchema.Table) -> [Int: [Int64]] {
    let counts = columns.map { "count(\(SQLiteDatabase.quoted($0.name)))" }.joined(separator: ", ")
    let rows = try? database.prepare(
      "SELECT Z_ENT, \(counts) FROM \(SQLiteDatabase.quoted(table.name)) NOT INDEXED GROUP BY Z_ENT",
      StoreLocation(file: database.file, entity: table.name))
    var users: [Int: [Int64]] = [:]
    while let rows, (try? rows.step()) == true {
      for index in columns.indices where rows.integer(Int32(index + 1)) > 0 {
        users[index, default: []].append(rows.integer(0))
      }
    }
    return users
  }

  private static func type(_ declared: String) -> AttributeType {
    switch declared {
    case "INTEGER": .integer64
    case "FLOAT": .double
    case "TIMESTAMP": .date
    case "DECIMAL": .decimal
    case "VARCHAR": .string
    case "BLOB": .binaryData
    default: .undefined
    }
  }

  /// The number and the rest of a name such as `Z7_OWNER` or `Z7ITEMS`.
  private static func numbered(_ name: String, _ separator: String) -> (number: Int64, text: String)? {
    let digits = name.dropFirst().prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits) else { return nil }
    let rest = name.dropFirst(1 + digits.count)
    guard rest.hasPrefix(separator), separator.isEmpty == !rest.hasPrefix("_"), rest.count > separator.count else {
      return nil
    }
    return (number, String(rest.dropFirst(separator.count)))
  }

  // MARK: Join tables

  private mutating func readJoinTables() throws(PersistentStoreError) {
    for name in schema.tableNames where DatabaseSchema.key(name).hasPrefix("Z_") {
      guard let table = try schema.table(name) else { continue }
      let sides = table.columns.compactMap { column -> (number: Int64, text: String)? in
        let key = DatabaseSchema.key(column.name)
        guard key.hasPrefix("Z_"), !key.hasPrefix("Z_FOK_") else { return nil }
        return Self.numbered("Z" + key.dropFirst(2), "")
      }
      guard sides.count == 2, let first = byNumber[sides[0].number], let second = byNumber[sides[1].number] else {
        continue
      }
      // A column bears the name that the other side has for its objects.
      let ordered = (
        table.column(named: "Z_FOK_\(sides[1].number)\(sides[1].text)") != nil,
        table.column(named: "Z_FOK_\(sides[0].number)\(sides[0].text)") != nil
      )
      add(
        .relationship(
          RelationshipDescription(
            name: sides[1].text, destinationEntityName: second.name, inverseName: sides[0].text, maximumCount: 0,
            isOrdered: ordered.0)),
        to: first.number)
      add(
        .relationship(
          RelationshipDescription(
            name: sides[0].text, destinationEntityName: first.name, inverseName: sides[1].text, maximumCount: 0,
            isOrdered: ordered.1)),
        to: second.number)
    }
  }
}

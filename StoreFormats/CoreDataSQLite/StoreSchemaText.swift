import AtomicStoreSPI

/// The statements that create a store's tables and indexes, as Core Data writes them.
struct StoreSchemaText {
  /// A column with its declared type.
  struct Column {
    let name: String
    let type: String
    let source: DatabaseLayout.Column
  }

  let layout: DatabaseLayout
  /// For each table of the layout its columns in the order in which they are created.
  let columns: [[Column]]
  /// For each join table its columns: keys of the first side, of the second, order keys of the second among the first's
  /// and the reverse.
  let joins: [JoinColumns]
  /// The numbers of the join tables that entities of a hierarchy name, by its root.
  private let joinsOfRoots: [Int: [Int]]

  struct JoinColumns {
    let table: String
    let first: String
    let second: String
    let secondOrder: String?
    let firstOrder: String?
  }

  init(_ layout: DatabaseLayout) {
    self.layout = layout
    columns = layout.tables.map { Self.sorted($0, layout.model) }
    joins = Self.joinColumns(layout)
    joinsOfRoots = Dictionary(grouping: layout.joinTables.indices) {
      layout.model.entity(at: layout.joinTables[$0].first.entity).root.index
    }
  }

  // MARK: Columns

  /// Core Data's groups of columns, in their order.
  private enum Group: Int { case integer, orderKey, number, decimal, text, uri, uuid, transformable, data }

  private static func group(_ role: DatabaseLayout.Column.Role) -> (Group, String) {
    switch role {
    case .toOne, .toOneEntity, .owner: (.integer, "INTEGER")
    case .orderKey, .ownerOrderKey: (.orderKey, "INTEGER")
    case .attribute(let type):
      switch type.valueKind {
      case .integer, .boolean: (.integer, "INTEGER")
      case .float, .double: (.number, "FLOAT")
      case .date: (.number, "TIMESTAMP")
      case .decimal: (.decimal, "DECIMAL")
      case .string: (.text, "VARCHAR")
      case .uri: (.uri, "VARCHAR")
      case .uuid: (.uuid, "BLOB")
      case .data where type == .transformable: (.transformable, "BLOB")
      case .data, .undefined, .toOne, .toMany: (.data, "BLOB")
      }
    }
  }

  /// The layout has an entity's attributes by name and then its to-ones, entity after entity from the root. Dates and
  /// other numbers are one group, and come by name.
  private static func sorted(_ table: DatabaseLayout.Table, _ model: ManagedObjectModel) -> [Column] {
    table.columns.enumerated()
      .map { (position: $0.offset, group: group($0.element.role), column: $0.element) }
      .sorted { ($0.group.0.rawValue, $0.position) < ($1.group.0.rawValue, $1.position) }
      .map { Column(name: $0.column.name, type: $0.group.1, source: $0.column) }
  }

  private static func joinColumns(_ layout: DatabaseLayout) -> [JoinColumns] {
    // Names of columns are distinguished over all join tables of a store.
    var names = FreeNames()
    return layout.joinTables.map { join in
      let firstText = DatabaseLayout.columnText(join.first.name)
      let secondText = DatabaseLayout.columnText(join.second.name)
      let first = names.free("Z_\(join.first.number)" + secondText)
      let second = join.isReflexive ? "REFLEXIVE" : names.free("Z_\(join.second.number)" + firstText)
      return JoinColumns(
        table: "Z_\(join.first.number)" + firstText, first: first, second: second,
        secondOrder: join.first.isOrdered
          ? "Z_FOK_" + (join.isReflexive ? String(first.dropFirst(2)) : String(second.dropFirst(2))) : nil,
        firstOrder: join.second.isOrdered && !join.isReflexive ? "Z_FOK_" + first.dropFirst(2) : nil)
    }
  }

  // MARK: Statements

  /// Of an entity table.
  func createTable(_ index: Int) -> String {
    let list =
      ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"]
      + columns[index].map { "\(Self.name($0.name)) \($0.type)" }
    return "CREATE TABLE \(Self.name(layout.tables[index].name)) ( \(list.joined(separator: ", ")) )"
  }

  /// Of a many-to-many relationship.
  func createJoinTable(_ index: Int) -> String {
    let join = joins[index]
    let names = [join.first, join.second, join.secondOrder, join.firstOrder].compactMap { $0 }.map(Self.name)
    return
      "CREATE TABLE \(Self.name(join.table)) ( \(names.map { $0 + " INTEGER" }.joined(separator: ", ")), PRIMARY KEY (\(names[0]), \(names[1])) )"
  }

  static let createPrimaryKey =
    "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)"
  static let createMetadata =
    "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)"

  /// The tables in the order in which Core Data creates them: by entity number, a join table after the table of the
  /// entity that names it.
  var createTables: [String] {
    var result: [String] = []
    for (index, table) in layout.tables.enumerated().sorted(by: {
      (layout.numbers[$0.element.root] ?? 0) < (layout.numbers[$1.element.root] ?? 0)
    }) {
      result.append(createTable(index))
      result += (joinsOfRoots[table.root] ?? []).map { createJoinTable($0) }
    }
    // No Z_MODELCACHE: two in five known stores have none, and none has an empty one.
    return result + [Self.createPrimaryKey, Self.createMetadata]
  }

  /// An index with its statement.
  struct Index {
    let name: String
    let sql: String
    /// The entity and the properties of a uniqueness constraint; nil for an index that data cannot break.
    var constraint: (entity: String, properties: [String])?

    init(
      _ name: String, on table: String, _ columns: String, where condition: String? = nil,
      constraint: (entity: String, properties: [String])? = nil
    ) {
      self.name = name
      self.constraint = constraint
      let kind = constraint == nil ? "INDEX" : "UNIQUE INDEX"
      sql =
        "CREATE \(kind) \(StoreSchemaText.name(name)) ON \(StoreSchemaText.name(table)) (\(columns))"
        + (condition.map { " WHERE \($0)" } ?? "")
    }
  }

  /// Indexes of relationships, of entity numbers, of attributes, of fetch indexes and of uniqueness constraints.
  ///
  /// Of two that would have one name, as names of entities and indexes allow, the first is there.
  var createIndexes: [Index] {
    var plain: [Index] = []
    var declared: [Index] = []
    var unique: [Index] = []
    let model = layout.model
    for (index, table) in layout.tables.enumerated().sorted(by: {
      (layout.numbers[$0.element.root] ?? 0) < (layout.numbers[$1.element.root] ?? 0)
    }) {
      plain += relationshipIndexes(table, columns[index])
      for entity in table.entities.map({ model.entity(at: $0) }) {
        declared += attributeIndexes(of: entity, table, columns[index])
        declared += fetchIndexes(of: entity, table, columns[index])
        unique += constraints(of: entity, table, columns[index])
      }
    }
    var taken = Set((layout.tables.map(\.name) + joins.map(\.table)).map { DatabaseSchema.key($0) })
    return (plain + declared + unique).filter { taken.insert(DatabaseSchema.key($0.name)).inserted }
  }

  private func relationshipIndexes(_ table: DatabaseLayout.Table, _ columns: [Column]) -> [Index] {
    var result: [Index] = []
    for column in columns {
      switch column.source.role {
      case .toOne, .owner:
        result.append(Index("\(table.name)_\(column.name)_INDEX", on: table.name, Self.name(column.name)))
      default: break
      }
    }
    if table.entities.count > 1 { result.append(Index("\(table.name)_Z_ENT_INDEX", on: table.name, "Z_ENT")) }
    for number in joinsOfRoots[table.root] ?? [] {
      let names = joins[number]
      result.append(
        Index(
          "\(names.table)_\(names.second)_INDEX", on: names.table,
          "\(Self.name(names.second)), \(Self.name(names.first))"))
    }
    return result
  }

  /// Of attributes that a model from before fetch indexes marks as indexed: an entity with fetch indexes has only
  /// those.
  private func attributeIndexes(of entity: Entity, _ table: DatabaseLayout.Table, _ columns: [Column]) -> [Index] {
    guard entity.declaration.fetchIndexes.isEmpty else { return [] }
    return entity.declaration.properties.compactMap { property in
      guard case .attribute(let attribute) = property, attribute.isIndexed,
        let column = column(of: attribute.name, entity, columns)
      else { return nil }
      return Index("Z_\(entity.name)_\(attribute.name)", on: table.name, "\(Self.name(column)) COLLATE BINARY ASC")
    }
  }

  private func fetchIndexes(of entity: Entity, _ table: DatabaseLayout.Table, _ columns: [Column]) -> [Index] {
    entity.declaration.fetchIndexes.compactMap { index in
      // Of expressions, and in trees of rectangles, nothing is known.
      guard !index.elements.isEmpty, index.elements.allSatisfy({ $0.collationType == "Binary" }) else { return nil }
      // A to-one has an index anyway.
      if index.elements.count == 1, let name = index.elements[0].propertyName, let slot = entity.slot(named: name),
        entity.slots[slot].kind == .toOne
      {
        return nil
      }
      var condition: String?
      if let predicate = index.partialIndexPredicate {
        condition = self.condition(predicate, entity, columns)
        if condition == nil { return nil }
      }
      let parts = index.elements.map { element -> String? in
        element.propertyName.flatMap { column(of: $0, entity, columns) }.map {
          "\(Self.name($0)) COLLATE BINARY \(element.isAscending ? "ASC" : "DESC")"
        }
      }
      guard !parts.contains(nil) else { return nil }
      return Index(
        "Z_\(entity.name)_\(index.name)", on: table.name, parts.compactMap { $0 }.joined(separator: ", "),
        where: condition)
    }
  }

  /// The condition of an index of some rows: a comparison of an attribute with an integer, as in `messageID > 0`. Nil
  /// for another predicate, of which no file shows the form.
  private func condition(_ predicate: String, _ entity: Entity, _ columns: [Column]) -> String? {
    let parts = predicate.split(separator: " ").map(String.init)
    guard parts.count == 3, [">", ">=", "<", "<=", "!=", "="].contains(parts[1] == "==" ? "=" : parts[1]),
      let number = Int64(parts[2]), let column = column(of: parts[0], entity, columns)
    else { return nil }
    return "\(Self.name(column)) \(parts[1] == "==" ? "=" : parts[1]) \(number)"
  }

  private func constraints(of entity: Entity, _ table: DatabaseLayout.Table, _ columns: [Column]) -> [Index] {
    entity.declaration.uniquenessConstraints.compactMap { constraint in
      let parts = constraint.map { column(of: $0, entity, columns) }
      guard !parts.isEmpty, !parts.contains(nil) else { return nil }
      return Index(
        "Z_\(entity.name)_UNIQUE_\(constraint.joined(separator: "_"))", on: table.name,
        parts.compactMap { $0 }.map { "\(Self.name($0)) COLLATE BINARY ASC" }.joined(separator: ", "),
        constraint: (entity.name, constraint))
    }
  }

  /// The column of a property of an entity, or of one above it.
  private func column(of property: String, _ entity: Entity, _ columns: [Column]) -> String? {
    guard let slot = entity.slot(named: property) else { return nil }
    let declarer = layout.declarer(of: slot, in: entity)
    return columns.first {
      guard $0.source.entity == declarer.index, $0.source.slot == slot else { return false }
      switch $0.source.role {
      case .attribute, .toOne: return true
      default: return false
      }
    }?.name
  }

  /// A name as Core Data writes it: bare, which is right for letters, digits and underscores; quoted else.
  static func name(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy {
      $0 == UInt8(ascii: "_") || $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")
        || $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z")
    }
    return isPlain ? name : SQLiteDatabase.quoted(name)
  }
}

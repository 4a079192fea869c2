import AtomicStoreSPI

/// Writes a request for groups as SQL: which columns are selected, and which tables they come from.
///
/// Rows of one group are counted apart by entity, and the kit puts the parts together. The first object of a part has
/// the least number, or the least text if all of its references are texts.
struct SQLGroupCompiler {
  /// A column that a path leads to.
  struct Source {
    var slot: Slot
    var owner: Entity
    var column: SQLSchema.Column
    /// The table's name in the statement.
    var table: String
    var sql: String { "\(table).\(column.name.quoted)" }
  }
  /// A key, and the numbers of its columns in the result.
  struct Key {
    var source: Source
    var at: Int
    var entityAt: Int?
  }
  /// What an aggregate is read from.
  enum Output {
    /// The number of a column with an integer.
    case count(Int)
    /// The numbers of the columns with a sum; the first is to be multiplied by 2^32.
    case sum(high: Int?, low: Int)
    /// The number of the column, and that of one with the number of values that have no exact order.
    case extreme(Source, at: Int, unorderedAt: Int?)
  }

  private let schema: SQLSchema
  private let dialect: SQLDialect
  private let entity: Entity
  private var aliases: [[String]: String] = [:]
  /// The entity, the least number without a text, the least text, the number of rows; then keys and aggregates.
  private(set) var selected = ["t.ent", "MIN(CASE WHEN t.ref IS NULL THEN t.id END)", "MIN(t.ref)", "COUNT(*)"]
  /// The numbers of the columns that rows are grouped by, from 1.
  private(set) var grouped = [1]
  private(set) var joins = ""
  private(set) var keys: [Key] = []
  private(set) var outputs: [Output] = []
  /// The numbers of the columns with how many values are not of their attribute's type: SQLite takes any. Such groups
  /// are left to the kit, which reports the values.
  private(set) var invalidAt: [Int] = []
  private var checked: Set<String> = []
  /// Why the kit has to group; nil if everything is exact.
  private(set) var reason: String?

  init(_ request: StoreGrouping, _ schema: SQLSchema, _ dialect: SQLDialect) {
    self.schema = schema
    self.dialect = dialect
    entity = schema.model.entity(at: request.rows.entity)
    // Each further key costs, and servers estimate the number of groups by them.
    if let only = request.rows.entities.first, request.rows.entities.count == 1, !request.keys.isEmpty {
      selected[0] = "\(only)"
      grouped = []
    }
    for path in request.keys where reason == nil { addKey(path) }
    for aggregate in request.aggregates where reason == nil { add(aggregate) }
  }

  private mutating func select(_ sql: String) -> Int {
    selected.append(sql)
    return selected.count - 1
  }

  private mutating func leave(_ path: [String], _ why: String) {
    if reason == nil { reason = "'\(path.joined(separator: "."))' \(why)" }
  }

  // MARK: Paths

  /// The column that a path leads to through to-ones; nil if there is another way, or none.
  private mutating func source(_ path: [String]) -> Source? {
    var owner = entity
    var table = "t"
    var place = 0
    while place < path.count {
      let rest = path[place...].joined(separator: ".")
      // A part of a composite is a single property.
      let isLast = place + 1 == path.count || owner.slot(named: rest) != nil
      guard let number = owner.slot(named: isLast ? rest : path[place]), let column = schema.column(number, of: owner)
      else { return nil }
      let slot = owner.slots[number]
      if isLast { return Source(slot: slot, owner: owner, column: column, table: table) }
      guard case .toOne = slot.kind, let destination = slot.destination.map({ schema.model.entity(at: $0) }),
        let joined = join(Array(path[...place]), table, column, destination)
      else { return nil }
      (owner, table) = (destination, joined)
      place += 1
    }
    return nil
  }

  /// The name of the table at the end of a path; nil if there are too many.
  private mutating func join(
    _ path: [String], _ table: String, _ column: SQLSchema.Column, _ destination: Entity
  ) -> String? {
    if let known = aliases[path] { return known }
    // SQLite joins 64 tables at most, and conditions add some.
    guard aliases.count < 20 else { return nil }
    let alias = "g\(aliases.count + 1)"
    aliases[path] = alias
    joins +=
      " LEFT JOIN \(schema.table(of: destination).name.quoted) \(alias) ON \(alias).id = \(table).\(column.name.quoted)"
    return alias
  }

  // MARK: Keys

  private mutating func addKey(_ path: [String]) {
    guard let source = source(path) else { return leave(path, "is grouped by the kit: it is not a column") }
    switch source.slot.valueKind {
    case .toMany: return leave(path, "has several values")
    case .toOne, .integer, .boolean, .string, .uri, .uuid: break
    default:
      let type = source.slot.attributeType?.modelName ?? ""
      return leave(path, "is grouped by the kit: equal values of type \(type) may differ in the database")
    }
    let at = select(source.sql)
    grouped.append(at + 1)
    var key = Key(source: source, at: at)
    if let name = source.column.entityName {
      let place = select("\(source.table).\(name.quoted)")
      grouped.append(place + 1)
      key.entityAt = place
    }
    keys.append(key)
  }

  // MARK: Aggregates

  private mutating func add(_ aggregate: StoreGrouping.Aggregate) {
    guard let source = source(aggregate.path), !source.slot.isToMany else {
      return leave(aggregate.path, "is computed by the kit: it is not a column")
    }
    let value = source.sql
    if dialect.isSQLite, checked.insert(value).inserted {
      let test = Self.invalid(value, source.column.type)
      invalidAt.append(select("COUNT(CASE WHEN \(value) IS NOT NULL AND (\(test)) THEN 1 END)"))
    }
    switch (aggregate.function, source.slot.valueKind) {
    case (.count, _): outputs.append(.count(select("COUNT(\(value))")))
    case (.sum, .boolean): outputs.append(.count(select("COUNT(CASE WHEN \(value) THEN 1 END)")))
    case (.sum, .integer) where source.slot.attributeType != .integer64:
      outputs.append(.sum(high: nil, low: select("CAST(SUM(\(value)) AS \(dialect.name(of: .integer64)))")))
    case (.sum, .integer):
      // In two halves, as the sum may be greater than any of these integers.
      let integer = dialect.name(of: .integer64)
      let high = select("CAST(SUM(\(value) >> 32) AS \(integer))")
      outputs.append(.sum(high: high, low: select("CAST(SUM(\(value) & 4294967295) AS \(integer))")))
    case (.minimum, _), (.maximum, _): addExtreme(aggregate, source, source.slot.attributeType)
    case (.sum, _):
      let type = source.slot.attributeType
      leave(
        aggregate.path,
        "is added up by the kit: sums of type \(type?.modelName ?? "object") depend on how a database adds")
    }
  }

  /// A condition that values fulfil which SQLite has in a column of another type.
  private static func invalid(_ value: String, _ type: SQLType) -> String {
    switch type {
    case .integer16: "typeof(\(value)) <> 'integer' OR \(value) NOT BETWEEN -32768 AND 32767"
    case .integer32: "typeof(\(value)) <> 'integer' OR \(value) NOT BETWEEN -2147483648 AND 2147483647"
    case .integer64, .boolean: "typeof(\(value)) <> 'integer'"
    case .double: "typeof(\(value)) = 'text' OR typeof(\(value)) = 'blob' AND length(\(value)) <> 8"
    case .float: "typeof(\(value)) = 'text' OR typeof(\(value)) = 'blob' AND length(\(value)) <> 4"
    case .text: "typeof(\(value)) <> 'text'"
    case .blob: "typeof(\(value)) <> 'blob'"
    case .uuid: "typeof(\(value)) <> 'blob' OR length(\(value)) <> 16"
    }
  }

  private mutating func addExtreme(_ aggregate: StoreGrouping.Aggregate, _ source: Source, _ type: AttributeType?) {
    let name = aggregate.function == .minimum ? "MIN" : "MAX"
    let value = source.sql
    switch type?.valueKind {
    case .integer, .string, .uri:
      outputs.append(.extreme(source, at: select("\(name)(\(value))"), unorderedAt: nil))
    case .double, .float, .date:
      // Not-a-number has no order, and of -0.0 and 0.0 the first one counts.
      let test =
        dialect.keepsSpecialDoublesAsBlobs
        ? "typeof(\(value)) = 'blob'"
        : "\(value) = 'NaN' OR (\(value) = 0 AND CAST(\(value) AS text) = '-0')"
      let at = select("\(name)(\(value))")
      outputs.append(.extreme(source, at: at, unorderedAt: select("COUNT(CASE WHEN \(test) THEN 1 END)")))
    default:
      leave(
        aggregate.path, "is compared by the kit: a database has another order of type \(type?.modelName ?? "object")")
    }
  }
}

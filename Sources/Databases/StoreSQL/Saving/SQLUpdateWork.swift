import AtomicStoreSPI
import FoundationEssentials

/// Writes an update of many rows as SQL. What is not exactly the result of the kit is left to it: expressions are those
/// of integers, in SQLite those of doubles, and columns of the same type.
struct SQLUpdateWork<Database: SQLDatabase> {
  private struct Assignment {
    let slot: Slot
    let column: SQLSchema.Column
    let type: AttributeType
    let value: FetchExpression
  }
  /// The SQL of an expression, and the conditions under which it is what the kit computes.
  private struct Term {
    var sql: String
    var conditions: [String]
  }

  private let store: SQLStore<Database>
  private let schema: SQLSchema
  private let change: StoreUpdate
  private let entity: Entity
  private let assignments: [Assignment]
  private var table: String { schema.table(of: entity).name.quoted }
  private var isSQLite: Bool { Database.dialect.isSQLite }

  /// Nil if the kit has to do it.
  init?(_ store: SQLStore<Database>, _ schema: SQLSchema, _ change: StoreUpdate) {
    self.store = store
    self.schema = schema
    self.change = change
    entity = schema.model.entity(at: change.rows.entity)
    var assignments: [Assignment] = []
    for (slot, value) in change.values {
      guard slot < entity.slots.count, case .attribute(let type) = entity.slots[slot].kind,
        let column = schema.column(slot, of: entity),
        change.rows.entities.allSatisfy({ schema.column(slot, of: schema.model.entity(at: $0))?.name == column.name })
      else { return nil }
      assignments.append(Assignment(slot: entity.slots[slot], column: column, type: type, value: value))
    }
    self.assignments = assignments
    guard !assignments.isEmpty, !change.rows.entities.isEmpty, written(hasRefused: true) != nil else { return nil }
  }

  // MARK: Statements

  /// Which rows change, and which of them the kit has to look at: their results would not be exact, or they are
  /// refused.
  private struct Written {
    var values: [SQLValue] { compiler.values }
    var changed: String
    var doubtful: String?
    /// By assignment: whether the row changes in it.
    var differs: [String]
    /// Has the parameters.
    var compiler: SQLPredicateCompiler
  }

  /// - Parameter hasRefused: Whether the statement names what is refused: all parameters of one must be used.
  private func written(hasRefused: Bool) -> Written? {
    var compiler = SQLPredicateCompiler(schema, Database.dialect, store: store.identifier)
    let condition = store.condition(change.rows, &compiler, schema)
    var inexact: [String] = []
    var refused = ["t.ver = \(Int64.max)"]
    var differs: [String] = []
    for assignment in assignments {
      guard let term = term(of: assignment, &compiler) else { return nil }
      differs.append("t.\(assignment.column.name.quoted) IS DISTINCT FROM \(term.sql)")
      if hasRefused { inexact += term.conditions.map { "NOT (\($0))" } }
    }
    for (number, predicate) in hasRefused ? change.refused : [] {
      guard let found = compiler.compile(predicate, schema.model.entity(at: number), table: "t") else { return nil }
      refused.append("(t.ent = \(number) AND \(found))")
    }
    guard compiler.reason == nil else { return nil }
    return Written(
      changed: "\(condition) AND (\((differs + inexact).joined(separator: " OR ")))",
      doubtful: hasRefused ? (inexact + refused).joined(separator: " OR ") : nil, differs: differs, compiler: compiler)
  }

  private func term(of assignment: Assignment, _ compiler: inout SQLPredicateCompiler) -> Term? {
    switch assignment.value {
    case .constant(let value):
      guard assignment.type.accepts(value), isExact(value),
        let sql = try? SQLValue(value, assignment.type, StoreLocation())
      else { return nil }
      return Term(sql: sql == .null ? "NULL" : compiler.parameter(sql), conditions: [])
    case .keyPath(let path):
      guard let slot = entity.slot(named: path.joined(separator: ".")), let column = schema.column(slot, of: entity),
        case .attribute(assignment.type) = entity.slots[slot].kind, isExactlyCopied(assignment.type)
      else { return nil }
      return Term(sql: "t.\(column.name.quoted)", conditions: [])
    default:
      if assignment.type == .double { return real(assignment.value, &compiler, depth: 0) }
      guard let bounds = Self.bounds(of: assignment.type), let term = whole(assignment.value, depth: 0) else {
        return nil
      }
      let inRange = "\(term.sql) IS NULL OR \(term.sql) BETWEEN \(bounds.least) AND \(bounds.greatest)"
      return Term(sql: term.sql, conditions: term.conditions + [inRange])
    }
  }

  // MARK: Expressions

  private static func bounds(of type: AttributeType) -> (least: String, greatest: String)? {
    switch type {
    case .integer16: ("\(Int16.min)", "\(Int16.max)")
    case .integer32: ("\(Int32.min)", "\(Int32.max)")
    // The least number has no literal: its digits without the sign are too large.
    case .integer64: ("(\(Int64.min + 1) - 1)", "\(Int64.max)")
    default: nil
    }
  }

  /// The value as its column takes it: PostgreSQL computes integers without bounds, and refuses to make them integers
  /// again that do not fit.
  private func stored(_ sql: String, _ assignment: Assignment) -> String {
    isSQLite || Self.bounds(of: assignment.type) == nil || sql == "NULL"
      ? sql : "CAST(\(sql) AS \(Database.dialect.name(of: assignment.column.type)))"
  }

  /// Whether a value that differs for the kit differs for the database, too.
  private func isExact(_ value: StoredValue) -> Bool {
    switch value {
    case .null, .boolean, .integer, .uuid, .data: true
    case .string(let text), .uri(let text): !text.utf8.contains(0)
    case .decimal(let number): !number.isNaN
    case .float(let number): !number.isNaN && (isSQLite || number != 0)
    case .double(let number): !number.isNaN && (isSQLite || number != 0)
    case .date(let date): date.timeIntervalSinceReferenceDate.isFinite && date.timeIntervalSinceReferenceDate != 0
    default: false
    }
  }

  private func isExactlyCopied(_ type: AttributeType) -> Bool {
    switch type.valueKind {
    case .integer, .boolean, .string, .uri, .uuid, .data, .decimal: true
    default: false
    }
  }

  /// Sums, differences and products of integers.
  private func whole(_ expression: FetchExpression, depth: Int) -> Term? {
    guard depth < 8 else { return nil }
    switch expression {
    case .constant(.integer(let number)):
      guard number > .min else { return nil }
      return Term(sql: isSQLite ? "(\(number))" : "CAST(\(number) AS numeric)", conditions: [])
    case .keyPath(let path):
      guard let slot = entity.slot(named: path.joined(separator: ".")), let column = schema.column(slot, of: entity),
        case .attribute(let type) = entity.slots[slot].kind, Self.bounds(of: type) != nil
      else { return nil }
      let name = "t.\(column.name.quoted)"
      // SQLite takes any value in any column.
      return isSQLite
        ? Term(sql: name, conditions: ["typeof(\(name)) IN ('integer', 'null')"])
        : Term(sql: "CAST(\(name) AS numeric)", conditions: [])
    case .function(let name, let arguments):
      let signs = ["add:to:": "+", "from:subtract:": "-", "multiply:by:": "*"]
      guard let sign = signs[name], arguments.count == 2, let one = whole(arguments[0], depth: depth + 1),
        let other = whole(arguments[1], depth: depth + 1)
      else { return nil }
      let sql = "(\(one.sql) \(sign) \(other.sql))"
      // What does not fit into 64 bits is a double for the kit.
      let fits =
        isSQLite
        ? "typeof(\(sql)) IN ('integer', 'null')" : "\(sql) IS NULL OR \(sql) BETWEEN \(Int64.min) AND \(Int64.max)"
      return Term(sql: sql, conditions: one.conditions + other.conditions + [fits])
    default: return nil
    }
  }

  /// Sums, differences, products and quotients of doubles, and of integers beside them. PostgreSQL refuses some of
  /// those that are infinite, and SQLite has no negative zero but in a blob, and not-a-number is NULL for it.
  private func real(
    _ expression: FetchExpression, _ compiler: inout SQLPredicateCompiler, depth: Int
  ) -> Term? {
    guard isSQLite, depth < 8, case .function(let name, let arguments) = expression, arguments.count == 2 else {
      return nil
    }
    let signs = ["add:to:": "+", "from:subtract:": "-", "multiply:by:": "*", "divide:by:": "/"]
    let parts = arguments.compactMap { operand($0, &compiler, depth: depth + 1) }
    // Numbers without a double beside them may be integers or decimals.
    guard let sign = signs[name], parts.count == 2, parts.contains(where: \.isDouble) else { return nil }
    let (one, other) = (parts[0].term, parts[1].term)
    let sql = "(\(one.sql) \(sign) \(other.sql))"
    var conditions = one.conditions + other.conditions
    // Of doubles, a result is a double or not a number.
    let operands = parts.filter { !$0.isConstant }.map { "\($0.term.sql) IS NULL" }
    conditions.append("\(sql) IS NOT NULL OR \(operands.joined(separator: " OR "))")
    if sign == "*" || sign == "/" {
      conditions.append("\(sql) IS NULL OR \(sql) <> 0 OR \(one.sql) >= 0 AND \(other.sql) >= 0")
    }
    return Term(sql: sql, conditions: conditions)
  }

  /// - Returns: What a calculation with doubles computes with, and whether it is a double itself, or a constant.
  private func operand(
    _ expression: FetchExpression, _ compiler: inout SQLPredicateCompiler, depth: Int
  ) -> (term: Term, isDouble: Bool, isConstant: Bool)? {
    switch expression {
    case .constant(let value):
      let number: Double
      switch value {
      case .integer(let integer): number = Double(integer)
      case .double(let double): number = double
      case .decimal(let decimal): number = decimal.doubleValue
      default: return nil
      }
      guard number.isFinite, number != 0 || number.sign == .plus else { return nil }
      return (Term(sql: compiler.parameter(.double(number)), conditions: []), false, true)
    case .keyPath(let path):
      guard let slot = entity.slot(named: path.joined(separator: ".")), let column = schema.column(slot, of: entity),
        case .attribute(let type) = entity.slots[slot].kind, type == .double || Self.bounds(of: type) != nil
      else { return nil }
      let name = "t.\(column.name.quoted)"
      let kind = type == .double ? "real" : "integer"
      return (Term(sql: name, conditions: ["typeof(\(name)) IN ('\(kind)', 'null')"]), type == .double, false)
    default: return real(expression, &compiler, depth: depth).map { ($0, true, false) }
    }
  }

  // MARK: Execution

  /// Within the transaction.
  ///
  /// - Returns: Nil if the kit has to do it; nothing is written then.
  /// - Throws: `.invalidValue` if the kit has to look at a row: the transaction has to end without its changes.
  func run(_ name: String, number: Int64) throws(PersistentStoreError) -> [ObjectReference]? {
    guard let all = written(hasRefused: true), let some = written(hasRefused: false), let doubtful = all.doubtful else {
      return nil
    }
    let changes = SQLStore<Database>.changesTable
    // The history lists the slots by number, each behind a blank.
    let sorted = zip(assignments, all.differs).sorted { $0.0.slot.index < $1.0.slot.index }
    let slots =
      sorted.count == 1
      ? "'\(sorted[0].0.slot.index)'"
      : "LTRIM(\(sorted.map { "CASE WHEN \($1) THEN ' \($0.slot.index)' ELSE '' END" }.joined(separator: " || ")))"
    // The table takes no row without slots: the statement fails where the kit has to look at one, and no query before
    // it reads all rows to find that out.
    let count = try store.database.run(
      "INSERT INTO \(changes) (number, place, ent, id, ref, kind, slots) SELECT \(number), \(try place()), t.ent, t.id, t.ref, '\(HistoryTransaction.Kind.update.rawValue)', CASE WHEN \(doubtful) THEN NULL ELSE \(slots) END FROM \(table) t WHERE \(all.changed)",
      all.values)
    guard count > 0 else { return [] }
    var compiler = SQLPredicateCompiler(schema, Database.dialect, store: store.identifier)
    // A subquery could read rows that were updated before.
    let isPlain = !some.changed.contains("SELECT")
    if isPlain { compiler = some.compiler }
    let rows = isPlain ? some.changed : "t.id IN (SELECT c.id FROM \(changes) c WHERE c.number = \(number))"
    let sets = assignments.compactMap { assignment in
      term(of: assignment, &compiler).map { "\(assignment.column.name.quoted) = \(stored($0.sql, assignment))" }
    }
    // PostgreSQL takes another name for the table only with AS.
    try store.database.run(
      "UPDATE \(table) AS t SET ver = t.ver + 1, \(sets.joined(separator: ", ")) WHERE \(rows)", compiler.values)
    try store.noteTransaction(number, name, author: change.author, context: change.contextName)
    return try changedObjects(number)
  }

  /// Where a row is in the history of the transaction: in the order of entities and references. Sorting and counting
  /// rows takes longer than updating them, so that rows of one entity without texts as references have their numbers.
  private func place() throws(PersistentStoreError) -> String {
    var isCounted = change.rows.entities.count > 1
    if !isCounted {
      try store.database.query("SELECT MAX(ref) FROM \(table)", []) { row in isCounted = !row.isNull(0) }
    }
    guard isCounted else { return "t.id" }
    let order = "t.ent, (CASE WHEN t.ref IS NULL THEN 0 ELSE 1 END), t.ref, t.id"
    return "ROW_NUMBER() OVER (ORDER BY \(order)) - 1"
  }

  private func changedObjects(_ number: Int64) throws(PersistentStoreError) -> [ObjectReference] {
    var found: [ObjectReference] = []
    // Rows of an entity follow each other, and looking up a name takes longer than reading a row.
    var last: (number: Int64, name: String)?
    try store.database.query(
      "SELECT ent, id, ref FROM \(SQLStore<Database>.changesTable) WHERE number = \(number) ORDER BY place", []
    ) { row throws(PersistentStoreError) in
      let number = row.integer(0)
      if last?.number != number {
        guard let entity = SQLStore<Database>.entity(number, below: entity) else {
          throw PersistentStoreError(.malformed, "the row \(row.integer(1)) is of an entity that it cannot be of")
        }
        last = (number, entity.name)
      }
      found.append(
        ObjectReference(
          entityName: last?.name ?? "",
          reference: row.isNull(2) ? .integer(row.integer(1)) : .string(row.text(2))))
    }
    return found
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StorePrimitives

/// Writes predicates as SQL.
///
/// Every condition it writes is true or false, never NULL, so that it can be negated: NULL is asked for explicitly.
/// What it cannot say exactly is left out where all conditions must hold, and the answer is then a superset.
struct SQLPredicateCompiler {
  let schema: SQLSchema
  let dialect: SQLDialect
  let store: UUID
  private(set) var values: [SQLValue] = []
  /// The first part that was left to the kit.
  private(set) var reason: String?
  private var aliases = 0

  init(_ schema: SQLSchema, _ dialect: SQLDialect, store: UUID) {
    self.schema = schema
    self.dialect = dialect
    self.store = store
  }

  mutating func parameter(_ value: SQLValue) -> String {
    values.append(value)
    return "?\(values.count)"
  }

  mutating func alias() -> String {
    aliases += 1
    return "t\(aliases)"
  }

  /// A condition that every object fulfils which fulfils the predicate; nil if there is none but "all". ``reason`` is
  /// nil if it is exact.
  mutating func compile(_ predicate: FetchPredicate, _ entity: Entity, table: String) -> String? {
    if case .and(let parts) = predicate, parts.count <= 400 {
      let conditions = parts.compactMap { compile($0, entity, table: table) }
      return conditions.isEmpty
        ? (parts.isEmpty ? dialect.literal(true) : nil) : "(" + conditions.joined(separator: " AND ") + ")"
    }
    let before = values.count
    if let exact = exactly(predicate, entity, table, depth: 0) { return exact }
    values.removeLast(values.count - before)
    if reason == nil { reason = "'\(predicate)' is evaluated on objects" }
    return nil
  }

  private mutating func exactly(_ predicate: FetchPredicate, _ entity: Entity, _ table: String, depth: Int) -> String? {
    // SQLite refuses expressions that are nested deeper than 1,000, the parser of ours recurses.
    guard depth < 100 else { return nil }
    switch predicate {
    case .value(let flag): return dialect.isSQLite ? (flag ? "1" : "0") : (flag ? "TRUE" : "FALSE")
    case .block: return nil
    case .not(let part): return exactly(part, entity, table, depth: depth + 1).map { "NOT \($0)" }
    case .and(let parts), .or(let parts):
      // A chain is as deep as it is long, and the depth is limited to 1,000.
      guard parts.count <= 400 else { return nil }
      var conditions: [String] = []
      for part in parts {
        guard let condition = exactly(part, entity, table, depth: depth + 1) else { return nil }
        conditions.append(condition)
      }
      let isAnd = if case .and = predicate { true } else { false }
      if conditions.isEmpty { return dialect.literal(isAnd) }
      return "(" + conditions.joined(separator: isAnd ? " AND " : " OR ") + ")"
    case .comparison(let comparison): return exactly(comparison, entity, table)
    }
  }

  private mutating func exactly(_ given: FetchPredicate.Comparison, _ entity: Entity, _ table: String) -> String? {
    if let (ids, isOther) = given.objects(comparedWithThoseOf: entity) {
      // A sub-entity may have a property of that name, which is the object elsewhere.
      guard given.options.isEmpty, entity.hierarchy.allSatisfy({ given.objects(comparedWithThoseOf: $0) != nil }) else {
        return nil
      }
      return itself(ids, isOther, entity, table)
    }
    var comparison = given
    if case .keyPath = comparison.right, case .constant = comparison.left, comparison.modifier == .direct {
      let turned: FetchPredicate.Comparator
      switch comparison.comparator {
      case .equal, .notEqual: turned = comparison.comparator
      case .less: turned = .greater
      case .greater: turned = .less
      case .lessOrEqual: turned = .greaterOrEqual
      case .greaterOrEqual: turned = .lessOrEqual
      default: return nil
      }
      comparison = FetchPredicate.Comparison(comparison.right, turned, comparison.left, options: comparison.options)
    }
    guard comparison.options.isEmpty, case .keyPath(let path) = comparison.left, path.count <= 16 else { return nil }
    return along(path[...], comparison, entity, table)
  }

  private mutating func along(
    _ path: ArraySlice<String>, _ comparison: FetchPredicate.Comparison, _ entity: Entity, _ table: String
  ) -> String? {
    guard let key = path.first else { return nil }
    // A part of a composite is a single property.
    if path.count > 1, let slot = entity.slot(named: path.joined(separator: ".")) {
      return comparison.modifier == .direct ? leaf(entity.slots[slot], comparison, entity, table) : nil
    }
    guard let number = entity.slot(named: key) else { return nil }
    let slot = entity.slots[number]
    let rest = path.dropFirst()
    if rest.isEmpty {
      guard !slot.isToMany, comparison.modifier == .direct else { return nil }
      return leaf(slot, comparison, entity, table)
    }
    guard let destination = slot.destination.map({ schema.model.entity(at: $0) }) else { return nil }
    if slot.isToMany { return toMany(slot, destination, rest, comparison, entity, table) }
    guard case .toOne = slot.kind, let column = schema.column(number, of: entity),
      !rest.contains(where: FetchExpression.isOperator)
    else { return nil }
    let inner = alias()
    guard let test = along(rest, comparison, destination, inner) else { return nil }
    let there = "\(table).\(column.name.quoted)"
    let exists =
      "EXISTS (SELECT 1 FROM \(schema.table(of: destination).name.quoted) \(inner) WHERE \(inner).id = \(there) AND \(test))"
    return Self.holdsForNull(comparison) ? "(\(there) IS NULL OR \(exists))" : exists
  }

  /// What a comparison says about a null at the end of a path, or before a to-many, which has no elements then.
  private static func holdsForNull(_ comparison: FetchPredicate.Comparison) -> Bool {
    if comparison.modifier != .direct { return comparison.modifier == .all }
    return switch (comparison.comparator, comparison.right) {
    case (.equal, .constant(let value)): value.isNull
    case (.notEqual, .constant(let value)): !value.isNull
    case (.notEqual, .objectID): true
    case (.isIn, .aggregate(let list)): list.contains(.constant(.null))
    default: false
    }
  }

  // MARK: To-manys

  private mutating func toMany(
    _ slot: Slot, _ destination: Entity, _ rest: ArraySlice<String>, _ comparison: FetchPredicate.Comparison,
    _ entity: Entity, _ table: String
  ) -> String? {
    let inner = alias()
    guard let source = elements(slot, destination, entity, table, inner) else { return nil }
    if rest.count == 1, rest.first == "@count", comparison.modifier == .direct {
      guard case .constant(.integer(let number)) = comparison.right,
        let sign = Self.sign(comparison.comparator)
      else { return nil }
      return "((SELECT COUNT(*) FROM \(source)) \(sign) \(parameter(.integer(number))))"
    }
    // Beyond it, all values are single: a second to-many would flatten.
    guard comparison.modifier != .direct, rest.count == 1, let key = rest.first,
      let number = destination.slot(named: key),
      !destination.slots[number].isToMany, let column = schema.column(number, of: destination)
    else { return nil }
    var element = comparison
    element.modifier = .direct
    guard let test = leaf(destination.slots[number], element, destination, inner) else { return nil }
    // Null is not an element of the list.
    let value = "\(inner).\(column.name.quoted)"
    if comparison.modifier == .any {
      return "EXISTS (SELECT 1 FROM \(source) AND \(value) IS NOT NULL AND \(test))"
    }
    return "NOT EXISTS (SELECT 1 FROM \(source) AND \(value) IS NOT NULL AND NOT \(test))"
  }

  private static func sign(_ comparator: FetchPredicate.Comparator) -> String? {
    switch comparator {
    case .equal: "="
    case .notEqual: "<>"
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    case .greaterOrEqual: ">="
    default: nil
    }
  }

  /// The members of a to-many as `FROM … WHERE …`.
  private func elements(
    _ slot: Slot, _ destination: Entity, _ entity: Entity, _ table: String, _ inner: String
  ) -> String? {
    let name = schema.table(of: destination).name.quoted
    switch schema.toMany(slot.index, of: entity) {
    case .inverse(_, let column):
      let kinds = destination.hierarchy.filter { !$0.isAbstract }.map { String($0.index) }.joined(separator: ", ")
      if kinds.isEmpty { return "\(name) \(inner) WHERE \(dialect.literal(false))" }
      return "\(name) \(inner) WHERE \(inner).\(column.name.quoted) = \(table).id AND \(inner).ent IN (\(kinds))"
    case .pairs(let join, let isTurned):
      let (own, other) = isTurned ? ("b", "a") : ("a", "b")
      return
        "\(join.name.quoted) j\(inner) JOIN \(name) \(inner) ON \(inner).id = j\(inner).\(other) WHERE j\(inner).\(own) = \(table).id"
    case nil: return nil
    }
  }

  // MARK: Leaves

  /// The column of an attribute.
  private struct Column {
    /// The column in the statement.
    var place: String
    var type: AttributeType
    /// The entity and the attribute.
    var name: String
  }

  private mutating func leaf(
    _ slot: Slot, _ comparison: FetchPredicate.Comparison, _ entity: Entity, _ table: String
  ) -> String? {
    guard let column = schema.column(slot.index, of: entity) else { return nil }
    let place = "\(table).\(column.name.quoted)"
    if case .constant(.null) = comparison.right {
      switch comparison.comparator {
      case .equal: return "\(place) IS NULL"
      case .notEqual: return "\(place) IS NOT NULL"
      default: return nil
      }
    }
    switch slot.kind {
    case .toMany: return nil
    case .toOne: return destination(comparison, slot, place)
    case .attribute(let type):
      let column = Column(place: place, type: type, name: "\(entity.name).\(slot.name)")
      if case .aggregate(let list) = comparison.right { return self.list(list, comparison, column) }
      guard case .constant(let value) = comparison.right else { return nil }
      return scalar(comparison.comparator, value, column)
    }
  }

  /// Whether the object of a row is one of some, or is not.
  private mutating func itself(
    _ ids: [ManagedObjectID], _ isOther: Bool, _ entity: Entity, _ table: String
  ) -> String? {
    guard let condition = among(ids, entity.root, table) else { return nil }
    return isOther ? "NOT \(condition)" : condition
  }

  /// A condition for the rows of some objects; nil for temporary IDs, by which objects that were saved since are known
  /// as well, and for too many.
  private mutating func among(_ ids: [ManagedObjectID], _ root: Entity, _ table: String) -> String? {
    guard ids.count <= dialect.listLimit else { return nil }
    var numbers: [Int: [String]] = [:]
    var texts: [Int: [String]] = [:]
    for id in ids {
      guard let reference = id.reference else { return nil }
      guard id.storeIdentifier == store, let named = schema.model.entity(named: id.entityName), named.root == root
      else {
        continue
      }
      switch reference {
      case .integer(let number):
        if number > SQLKeys.lastText { numbers[named.index, default: []].append(parameter(.integer(number))) }
      case .string(let text): texts[named.index, default: []].append(parameter(.text(text)))
      }
    }
    var conditions: [String] = []
    for (entity, list) in numbers.sorted(by: { $0.key < $1.key }) {
      let isOne = list.count == 1 ? "= \(list[0])" : "IN (\(list.joined(separator: ", ")))"
      conditions.append("(\(table).id \(isOne) AND \(table).ent = \(entity))")
    }
    for (entity, list) in texts.sorted(by: { $0.key < $1.key }) {
      conditions.append(
        "(\(table).ref IS NOT NULL AND \(table).ref IN (\(list.joined(separator: ", "))) AND \(table).ent = \(entity))")
    }
    return conditions.isEmpty ? dialect.literal(false) : "(" + conditions.joined(separator: " OR ") + ")"
  }

  /// Whether a to-one leads to one of some objects, or does not.
  private mutating func destination(_ comparison: FetchPredicate.Comparison, _ slot: Slot, _ place: String) -> String? {
    guard let ids = comparison.objectIDs, let destination = slot.destination.map({ schema.model.entity(at: $0) }) else {
      return nil
    }
    let inner = alias()
    guard let condition = among(ids, destination.root, inner) else { return nil }
    // Asked for once, so that an index of the column finds the rows.
    let list = "(SELECT \(inner).id FROM \(schema.table(of: destination).name.quoted) \(inner) WHERE \(condition))"
    return comparison.comparator == .notEqual
      ? "(\(place) IS NULL OR \(place) NOT IN \(list))" : "(\(place) IS NOT NULL AND \(place) IN \(list))"
  }

  private mutating func list(
    _ list: [FetchExpression], _ comparison: FetchPredicate.Comparison, _ column: Column
  ) -> String? {
    let place = column.place
    var constants: [StoredValue] = []
    for element in list {
      guard case .constant(let value) = element else { return nil }
      constants.append(value)
    }
    switch comparison.comparator {
    case .between:
      guard constants.count == 2, let low = scalar(.greaterOrEqual, constants[0], column),
        let high = scalar(.lessOrEqual, constants[1], column)
      else { return nil }
      return "(\(low) AND \(high))"
    case .isIn:
      let some = constants.filter { !$0.isNull }
      let holdsNull = some.count < constants.count
      guard some.count <= dialect.listLimit else { return nil }
      var parameters: [String] = []
      for value in some {
        switch (column.type.valueKind, value) {
        case (.string, .string(let text)): parameters.append(parameter(.text(text)))
        case (.integer, .integer(let number)): parameters.append(parameter(.integer(number)))
        default: return nil
        }
      }
      if parameters.isEmpty { return holdsNull ? "\(place) IS NULL" : dialect.literal(false) }
      let among = "\(place) IN (\(parameters.joined(separator: ", ")))"
      return holdsNull ? "(\(place) IS NULL OR \(among))" : "(\(place) IS NOT NULL AND \(among))"
    default: return nil
    }
  }

  private mutating func scalar(
    _ comparator: FetchPredicate.Comparator, _ value: StoredValue, _ column: Column
  ) -> String? {
    let place = column.place
    switch (column.type.valueKind, value) {
    case (.string, .string(let text)), (.uri, .string(let text)), (.uri, .uri(let text)), (.string, .uri(let text)):
      return self.text(comparator, text, place)
    case (.integer, .integer(let number)): return simple(comparator, .integer(number), place)
    case (.double, .double(let number)), (.float, .double(let number)): return double(comparator, number, place)
    case (.double, .integer(let number)), (.float, .integer(let number)):
      return Double(exactly: number).flatMap { double(comparator, $0, place) }
    case (.decimal, .decimal(let number)): return decimal(comparator, number, column)
    case (.decimal, .integer(let number)): return decimal(comparator, DecimalNumber(number), column)
    // Beside a decimal, a number is the decimal that it is shown as.
    case (.decimal, .double(let number)):
      return DecimalNumber(number.description).flatMap { decimal(comparator, $0, column) }
    case (.date, .date(let date)): return double(comparator, date.timeIntervalSinceReferenceDate, place)
    case (.boolean, .boolean(let flag)):
      guard comparator == .equal || comparator == .notEqual else { return nil }
      return simple(comparator, .boolean(flag), place)
    case (.uuid, .uuid(let uuid)):
      guard comparator == .equal || comparator == .notEqual else { return nil }
      return simple(comparator, .uuid(uuid), place)
    default: return nil
    }
  }

  private mutating func simple(_ comparator: FetchPredicate.Comparator, _ value: SQLValue, _ place: String) -> String? {
    guard let sign = Self.sign(comparator) else { return nil }
    let test = "\(place) \(sign) \(parameter(value))"
    return comparator == .notEqual ? "(\(place) IS NULL OR \(test))" : "(\(place) IS NOT NULL AND \(test))"
  }

  private mutating func double(_ comparator: FetchPredicate.Comparator, _ number: Double, _ place: String) -> String? {
    // Nothing is equal to not-a-number, and nothing is in order with it.
    guard let sign = Self.sign(comparator), !number.isNaN else { return nil }
    let column = dialect.number(place)
    let test = "\(column) \(sign) \(parameter(.double(number == 0 ? 0 : number)))"
    return comparator == .notEqual ? "(\(column) IS NULL OR \(test))" : "(\(column) IS NOT NULL AND \(test))"
  }

  private mutating func decimal(
    _ comparator: FetchPredicate.Comparator, _ number: DecimalNumber, _ column: Column
  ) -> String? {
    guard let sign = Self.sign(comparator), let value = dialect.decimal(column.place, of: column.name),
      let key = DecimalKey(number).sortKey
    else { return nil }
    let other =
      dialect.isSQLite ? parameter(.blob(Data(key))) : "CAST(\(parameter(.text(number.description))) AS numeric)"
    return "COALESCE(\(value) \(sign) \(other), \(dialect.literal(comparator == .notEqual)))"
  }

  private mutating func text(_ comparator: FetchPredicate.Comparator, _ text: String, _ place: String) -> String? {
    if Self.sign(comparator) != nil { return simple(comparator, .text(text), place) }
    // PostgreSQL has the first control characters in another form, of which a part could be found.
    guard !text.isEmpty, dialect.isSQLite || !text.utf8.contains(where: { $0 <= 2 }) else { return nil }
    let test: String
    if dialect.isSQLite {
      // As blobs: text functions end at NUL.
      let part = parameter(.blob(Data(text.utf8)))
      let whole = "CAST(\(place) AS BLOB)"
      switch comparator {
      // The part of an empty blob is NULL.
      case .beginsWith: test = "COALESCE(substr(\(whole), 1, \(text.utf8.count)) = \(part), 0)"
      case .endsWith: test = "COALESCE(substr(\(whole), -\(text.utf8.count)) = \(part), 0)"
      case .contains: test = "COALESCE(instr(\(whole), \(part)) > 0, 0)"
      default: return nil
      }
    } else {
      let part = parameter(.text(text))
      switch comparator {
      case .beginsWith: test = "left(\(place), \(text.unicodeScalars.count)) = \(part)"
      case .endsWith: test = "right(\(place), \(text.unicodeScalars.count)) = \(part)"
      case .contains: test = "strpos(\(place), \(part)) > 0"
      default: return nil
      }
    }
    return "(\(place) IS NOT NULL AND \(test))"
  }
}

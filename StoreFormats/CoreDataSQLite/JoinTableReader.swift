import AtomicStoreSPI

/// Reads the table of a many-to-many relationship.
struct JoinTableReader {
  let tableName: String
  private let join: DatabaseLayout.JoinTable
  private let database: SQLiteDatabase
  /// Whether the table's own key is both columns, so that no pair is there twice.
  private let hasKey: Bool
  /// The columns with the keys of the first side's objects and of the second's, and of the order of each among the
  /// other's.
  let columns: (first: String, second: String, firstOrder: String?, secondOrder: String?)

  /// Nil where the store has no table for the relationship: it is looked up by the names of both sides.
  init?(
    _ join: DatabaseLayout.JoinTable, schema: DatabaseSchema, layout: DatabaseLayout, database: SQLiteDatabase
  ) throws(PersistentStoreError) {
    self.join = join
    self.database = database
    let model = layout.model
    // An inverse may be declared by a super-entity of the destination that the relationship names.
    func numbers(_ side: DatabaseLayout.JoinTable.Side, _ other: DatabaseLayout.JoinTable.Side) -> [Int64] {
      let destination = model.entity(at: other.entity).slots[other.slot].destination
      let number = destination.flatMap { layout.numbers[$0] } ?? side.number
      return number == side.number ? [side.number] : [side.number, number]
    }
    let firstNumbers = numbers(join.first, join.second)
    let secondNumbers = numbers(join.second, join.first)
    let firstText = DatabaseLayout.columnText(join.first.name)
    let secondText = DatabaseLayout.columnText(join.second.name)
    let candidates = firstNumbers.map { "Z_\($0)" + firstText } + secondNumbers.map { "Z_\($0)" + secondText }
    for candidate in candidates {
      var found = try schema.table(candidate)
      if found == nil { found = try Self.numbered(candidate, schema) }
      guard let table = found else { continue }
      // Objects of one side stand in the column with their own number and the name that the other side has for them.
      let first = Self.column(firstNumbers.map { "Z_\($0)" + secondText }, table)
      let second =
        join.isReflexive
        ? table.column(named: "REFLEXIVE") ?? first.flatMap { table.firstKeyColumn(but: $0) }
        : Self.column(secondNumbers.map { "Z_\($0)" + firstText }, table)
      guard let first, let second, first != second else { continue }
      func order(_ column: Int) -> String? {
        table.column(named: "Z_FOK_" + table.columns[column].name.dropFirst(2)).map { table.columns[$0].name }
      }
      tableName = table.name
      hasKey = Set(table.keyColumns) == [first, second]
      columns = (table.columns[first].name, table.columns[second].name, order(first), order(second))
      return
    }
    return nil
  }

  /// The table of that name with a number at its end.
  private static func numbered(_ name: String, _ schema: DatabaseSchema) throws(PersistentStoreError) -> DatabaseSchema
    .Table?
  {
    for digit in 1...9 {
      if let table = try schema.table(name + String(digit)) { return table }
    }
    return nil
  }

  /// The column of one of these names, or of one with a number at its end, which distinguishes names that a store uses
  /// twice.
  private static func column(_ names: [String], _ table: DatabaseSchema.Table) -> Int? {
    for name in names {
      if let column = table.column(named: name) { return column }
    }
    for name in names {
      let key = DatabaseSchema.key(name)
      let found = table.columns.firstIndex { column in
        let other = DatabaseSchema.key(column.name)
        return other.hasPrefix(key)
          && other.utf8.dropFirst(key.utf8.count).allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
      }
      if let found { return found }
    }
    return nil
  }

  /// The pairs, as the members of both sides.
  ///
  /// - Throws: `.malformed` for a damaged row, and for one without a key or that is there twice; `.danglingReference`
  ///   for one that joins two objects that do not exist. The latter three are left out and reported where that is asked
  ///   for. A row one of whose objects does not exist is the other one's dangling reference.
  func read(
    _ lookups: [Int: KeyLookup], _ nodes: NodeTableBuilder, strayRows: StrayRows,
    source: StoreSource
  ) throws(PersistentStoreError) -> [MemberList] {
    let model = nodes.model
    let place = StoreLocation(file: database.file, entity: tableName)
    let names = ["rowid", columns.first, columns.second, columns.firstOrder ?? "", columns.secondOrder ?? ""]
    let list = names.map { $0.isEmpty ? "0" : $0 == "rowid" ? $0 : SQLiteDatabase.quoted($0) }.joined(separator: ", ")
    let rows = try database.prepare("SELECT \(list) FROM \(SQLiteDatabase.quoted(tableName)) NOT INDEXED", place)
    var first = MemberList(entity: join.first.entity, slot: join.first.slot, isOrdered: join.first.isOrdered)
    var second = MemberList(entity: join.second.entity, slot: join.second.slot, isOrdered: join.second.isOrdered)
    let firstLookup = lookups[model.entity(at: join.first.entity).root.index]
    let secondLookup = lookups[model.entity(at: join.second.entity).root.index]
    var previous = Int64.min
    var strays: [Stray: (count: Int, first: Int64)] = [:]
    var seen: Set<Pair> = []
    while try next(rows, nodes) {
      let row = rows.integer(0)
      guard row > previous || previous == .min else {
        throw PersistentStoreError(
          .malformed, "row \(row) comes after row \(previous): the table is damaged", at: place)
      }
      previous = row
      let isPair = rows.kind(1) == .integer && rows.kind(2) == .integer
      guard isPair || rows.isNull(1) || rows.isNull(2) else {
        throw PersistentStoreError(
          .malformed, "row \(row) holds \(rows.kind(1).name) and \(rows.kind(2).name), not two keys", at: place)
      }
      let (one, other) = (rows.integer(1), rows.integer(2))
      let stray: Stray? =
        !isPair
        ? .half
        : firstLookup?[one] == nil && secondLookup?[other] == nil
          ? .unknown : !hasKey && !seen.insert(Pair(owner: one, member: other)).inserted ? .twice : nil
      if let stray {
        guard strayRows != .refuse else { throw error(stray, row, one, other, model, place) }
        strays[stray] = (strays[stray]?.count ?? 0, strays[stray]?.first ?? row)
        strays[stray]?.count += 1
        continue
      }
      if join.isReflexive {
        first.append(owner: one, member: other, orderKey: rows.integer(3))
        second.append(owner: other, member: one, orderKey: .max)
      } else {
        first.append(owner: one, member: other, orderKey: rows.integer(4))
        second.append(owner: other, member: one, orderKey: rows.integer(3))
      }
    }
    for stray in Stray.allCases {
      guard let found = strays[stray] else { continue }
      source.report(
        LoadNote(
          subject: tableName, count: found.count, text: "left out: a row that \(stray.rawValue)",
          example: "row \(found.first)", isLoss: strayRows == .lose,
          location: strayRows == .lose
            ? StoreLocation(
              file: database.file, entity: nodes.model.entity(at: join.first.entity).name, property: join.first.name)
            : nil))
    }
    return join.isReflexive ? [Self.merged(first, second)] : [first, second]
  }

  /// Whether there is another row. If what is damaged is left out, a table ends where it cannot be read any further.
  private func next(_ rows: SQLiteStatement, _ nodes: NodeTableBuilder) throws(PersistentStoreError) -> Bool {
    do throws(PersistentStoreError) { return try rows.step() } catch {
      try nodes.skipPart(
        of: join.first.entity, slot: join.first.slot, because: error.damagedTable(skips: nodes.skipsDamagedObjects))
      return false
    }
  }

  /// Rows that join no two objects.
  private enum Stray: String, CaseIterable {
    case unknown = "joins two objects that do not exist"
    case half = "has no key of one of its objects"
    case twice = "joins two objects that an earlier row joins"
  }

  private struct Pair: Hashable { let owner: Int64, member: Int64 }

  private func error(
    _ stray: Stray, _ row: Int64, _ one: Int64, _ other: Int64, _ model: ManagedObjectModel, _ place: StoreLocation
  ) -> PersistentStoreError {
    let pair =
      "\(model.entity(at: join.first.entity).name)/\(one) and \(model.entity(at: join.second.entity).name)/\(other)"
    let (code, text): (PersistentStoreError.Code, String) =
      switch stray {
      case .unknown: (.danglingReference, "row \(row) joins \(pair), which do not exist")
      case .half: (.malformed, "row \(row) \(stray.rawValue)")
      case .twice: (.malformed, "row \(row) joins \(pair), which an earlier row joins too")
      }
    return PersistentStoreError(code, text, at: place, remedy: .skippingRows)
  }

  /// Both directions of a relationship that is its own inverse, each pair once.
  private static func merged(_ one: MemberList, _ other: MemberList) -> MemberList {
    var result = MemberList(entity: one.entity, slot: one.slot, isOrdered: one.isOrdered)
    var seen: Set<Pair> = []
    for list in [one, other] {
      for index in list.owners.indices
      where seen.insert(Pair(owner: list.owners[index], member: list.members[index])).inserted {
        result.append(
          owner: list.owners[index], member: list.members[index], orderKey: list.isOrdered ? list.orderKeys[index] : 0)
      }
    }
    return result
  }
}

extension DatabaseSchema.Table {
  /// The first column that holds keys of objects and is not this one.
  fileprivate func firstKeyColumn(but column: Int) -> Int? {
    columns.indices.first { $0 != column && !columns[$0].name.hasPrefix("Z_FOK_") }
  }
}

import AtomicStoreSPI
import CSQLite

/// Reads the table of a root entity and its sub-entities: one pass, in the order of the keys.
struct TableReader {
  let table: DatabaseLayout.Table
  let found: DatabaseSchema.Table
  private let layout: DatabaseLayout
  var database: SQLiteDatabase
  var nodes: NodeTableBuilder
  private let strayRows: StrayRows
  private let external: ExternalData
  private let source: StoreSource
  /// The greatest key that was given out, as the store says.
  private let greatestKey: Int64
  private let isUTF8: Bool

  private var columnLookup: ColumnLookup
  private var selected: [String] = ["Z_PK", "Z_ENT"]
  private var selectedIndex: [Int: Int32] = [:]
  private(set) var plans: [Int64: EntityPlan] = [:]
  private var usedColumns: Set<Int> = []
  private(set) var strays = StrayRowNotes()
  /// Whether the table was read in parts.
  private(set) var isDivided = false

  init(
    _ table: DatabaseLayout.Table, _ found: DatabaseSchema.Table, layout: DatabaseLayout, database: SQLiteDatabase,
    nodes: NodeTableBuilder,
    strayRows: StrayRows, external: ExternalData, source: StoreSource, greatestKey: Int64
  ) throws(PersistentStoreError) {
    self.table = table
    self.found = found
    columnLookup = ColumnLookup(table, found)
    self.layout = layout
    self.database = database
    self.nodes = nodes
    self.strayRows = strayRows
    self.external = external
    self.source = source
    self.greatestKey = greatestKey
    let encoding = try database.prepare("PRAGMA encoding", StoreLocation(offset: 0))
    isUTF8 = try encoding.step() && encoding.string(0) == "UTF-8"
    for name in ["Z_PK", "Z_ENT", "Z_OPT"] {
      if let column = found.column(named: name) {
        usedColumns.insert(column)
      } else if name != "Z_OPT" {
        throw PersistentStoreError(
          .malformed, "the table has no column \(name)", at: StoreLocation(file: database.file, entity: found.name))
      }
    }
  }

  // MARK: Planning

  /// Where a column of the layout is; nil where the table does not have it.
  private mutating func place(_ column: DatabaseLayout.Column) -> Int32? {
    guard let index = columnLookup.index(of: column) else { return nil }
    usedColumns.insert(index)
    if let known = selectedIndex[index] { return known }
    selected.append(found.columns[index].name)
    selectedIndex[index] = Int32(selected.count - 1)
    return Int32(selected.count - 1)
  }

  private mutating func plan(_ lists: inout [MemberList]) throws(PersistentStoreError) {
    let model = nodes.model
    var declared: [Int: [Field]] = [:]
    var owners: [(destination: Int, field: OwnerField)] = []
    for column in table.columns {
      let entity = model.entity(at: column.entity)
      switch column.role {
      case .attribute:
        guard layout.numbers[column.entity] != nil else { continue }
        let slot = entity.slots[column.slot]
        guard let index = place(column) else { throw missing(column, slot.name) }
        let isExternal = slot.attribute?.allowsExternalBinaryDataStorage == true && slot.valueKind == .data
        declared[column.entity, default: []].append(
          Field(kind: slot.valueKind, isExternal: isExternal, column: index, slot: column.slot))
      case .toOne:
        guard layout.numbers[column.entity] != nil else { continue }
        let slot = entity.slots[column.slot]
        guard let index = place(column) else { throw missing(column, slot.name) }
        var field = Field(kind: .toOne, column: index, slot: column.slot)
        if let (owner, inverse) = layout.inverse(of: slot, in: entity), inverse.isToMany {
          lists.append(
            MemberList(
              entity: layout.declarer(of: inverse.index, in: owner).index, slot: inverse.index,
              isOrdered: DatabaseLayout.keepsOrder(inverse)))
          field.list = lists.count - 1
        }
        declared[column.entity, default: []].append(field)
      case .toOneEntity: _ = place(column)
      case .orderKey:
        guard let index = place(column) else {
          noteMissingOrder(column.name, "\(entity.name).\(entity.slots[column.slot].name)")
          continue
        }
        // It comes right after its to-one.
        if let last = declared[column.entity]?.indices.last { declared[column.entity]?[last].orderColumn = index }
      case .owner(let owner, let slot):
        guard layout.numbers[owner] != nil else { continue }
        let description = model.entity(at: owner).slots[slot]
        guard let index = place(column) else { throw missing(column, description.name, of: owner) }
        lists.append(MemberList(entity: owner, slot: slot, isOrdered: DatabaseLayout.keepsOrder(description)))
        owners.append((column.entity, OwnerField(column: index, orderColumn: nil, list: lists.count - 1)))
      case .ownerOrderKey(let owner, let slot):
        guard let last = owners.popLast() else { continue }
        let index = place(column)
        if index == nil {
          noteMissingOrder(column.name, "\(model.entity(at: owner).name).\(model.entity(at: owner).slots[slot].name)")
        }
        owners.append(
          (last.destination, OwnerField(column: last.field.column, orderColumn: index, list: last.field.list)))
      }
    }
    for index in table.entities {
      guard let number = layout.numbers[index] else { continue }
      let entity = model.entity(at: index)
      var plan = EntityPlan(entity: index)
      var ancestor: Entity? = entity
      while let current = ancestor {
        plan.fields = (declared[current.index] ?? []) + plan.fields
        ancestor = current.superentity
      }
      plan.owners = owners.filter { entity.isKindOf(entity: model.entity(at: $0.destination)) }.map(\.field)
      plans[number] = plan
    }
  }

  private func missing(_ column: DatabaseLayout.Column, _ property: String, of owner: Int? = nil)
    -> PersistentStoreError
  {
    PersistentStoreError(
      .modelMismatch, "the table \(found.name) has no column \(column.name)",
      at: StoreLocation(
        file: database.file, entity: nodes.model.entity(at: owner ?? column.entity).name, property: property))
  }

  private func noteMissingOrder(_ column: String, _ subject: String) {
    source.report(
      LoadNote(
        subject: subject, text: "the table \(found.name) has no column \(column), so that the order is not known",
        isLoss: true))
  }

  // MARK: Reading

  /// About how many rows the table has: as many as keys were given out, or fit into the file.
  var expectedRows: Int {
    let most = database.image.count / (16 + 2 * found.columns.count)
    return min(Int(clamping: max(greatestKey, 0)), most)
  }

  /// Adds the objects of the table, and to the lists what the table says about to-many relationships.
  mutating func read(into lists: inout [MemberList]) throws(PersistentStoreError) -> KeyLookup {
    let firstList = lists.count
    try plan(&lists)
    var lookup: KeyLookup
    if let found = readParts(into: &lists, from: firstList) {
      lookup = found
      isDivided = true
    } else {
      lookup = KeyLookup()
      let expected = expectedRows
      lookup.reserve(expected)
      for list in lists.indices.dropFirst(firstList) { lists[list].reserve(expected) }
      do throws(PersistentStoreError) { try readRows(in: nil, &lookup, &lists) } catch {
        // What was read before stays.
        try nodes.skipPart(of: table.root, because: error.damagedTable(skips: nodes.skipsDamagedObjects))
      }
    }
    lookup.seal()
    strays.report(found.name, areLosses: strayRows == .lose, to: source)
    reportUnknownColumns()
    return lookup
  }

  /// Reads the rows whose keys are in a range, or all of them.
  mutating func readRows(
    in range: ClosedRange<Int64>?, _ lookup: inout KeyLookup, _ lists: inout [MemberList]
  ) throws(PersistentStoreError) {
    let place = StoreLocation(file: database.file, entity: nodes.model.entity(at: table.root).name)
    let columns = selected.map { SQLiteDatabase.quoted($0) }.joined(separator: ", ")
    // Where Z_PK is the key of the table the rows are in its order, and two of one key show damage; tables that were
    // not made by Core Data may have none.
    let order = found.rowKey == found.column(named: "Z_PK") ? "" : " ORDER BY Z_PK"
    let condition = range.map { " WHERE Z_PK BETWEEN \($0.lowerBound) AND \($0.upperBound)" } ?? ""
    let rows = try database.prepare(
      "SELECT \(columns) FROM \(SQLiteDatabase.quoted(found.name)) NOT INDEXED\(condition)\(order)", place)
    var number: Int64?
    var plan: EntityPlan?
    var previous: Int64?
    while try rows.step(after: previous) {
      let key = try rows.key(after: previous, of: found.name, place)
      previous = key
      if number != rows.integer(1) || plan == nil {
        number = rows.integer(1)
        plan = number.flatMap { plans[$0] }
        if let known = plan, nodes.model.entity(at: known.entity).isAbstract { plan = nil }
      }
      guard let plan else {
        try stray(key, rows, place)
        continue
      }
      try nodes.beginNode(entity: plan.entity, reference: key)
      lookup.append(key, NodeHandle(entity: plan.entity, row: nodes.count(of: plan.entity) - 1))
      do throws(PersistentStoreError) {
        for field in plan.fields {
          let type = rows.type(field.column)
          if type != SQLITE_NULL { try read(field, type, rows, key, &lists) }
        }
      } catch {
        try nodes.skipNode(because: error)
        continue
      }
      for owner in plan.owners where !rows.isNull(owner.column) {
        lists[owner.list].append(
          owner: rows.integer(owner.column), member: key,
          orderKey: owner.orderColumn.map { Self.orderKey(rows, $0) } ?? 0)
      }
    }
  }

  /// An object without an order key comes last.
  private static func orderKey(_ rows: SQLiteStatement, _ column: Int32) -> Int64 {
    rows.isNull(column) ? .max : rows.integer(column)
  }

  @inline(__always)
  private func read(
    _ field: Field, _ type: Int32, _ rows: SQLiteStatement, _ key: Int64, _ lists: inout [MemberList]
  ) throws(PersistentStoreError) {
    let column = field.column
    switch field.kind {
    case .toOne:
      guard type == SQLITE_INTEGER else { throw misfit(field, rows) }
      let destination = rows.integer(column)
      try nodes.set(toOne: destination, slot: field.slot)
      if let list = field.list {
        lists[list].append(
          owner: destination, member: key, orderKey: field.orderColumn.map { Self.orderKey(rows, $0) } ?? 0)
      }
    case .integer:
      guard type == SQLITE_INTEGER else { throw misfit(field, rows) }
      try nodes.set(integer: rows.integer(column), slot: field.slot)
    case .boolean:
      guard type == SQLITE_INTEGER, rows.integer(column) & ~1 == 0 else { throw misfit(field, rows) }
      try nodes.set(boolean: rows.integer(column) == 1, slot: field.slot)
    case .float:
      guard type == SQLITE_FLOAT || type == SQLITE_INTEGER else { throw misfit(field, rows) }
      try nodes.set(float: Float(rows.real(column)), slot: field.slot)
    case .double:
      guard type == SQLITE_FLOAT || type == SQLITE_INTEGER else { throw misfit(field, rows) }
      try nodes.set(double: rows.real(column), slot: field.slot)
    case .date:
      guard type == SQLITE_FLOAT || type == SQLITE_INTEGER else { throw misfit(field, rows) }
      try nodes.set(dateSeconds: rows.real(column), slot: field.slot)
    case .string, .uri:
      guard type == SQLITE_TEXT else { throw misfit(field, rows) }
      let bytes = isUTF8 ? rows.bytes(column) : rows.utf8(column)
      try nodes.set(utf8: Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)), slot: field.slot)
    case .data:
      guard type == SQLITE_BLOB else { throw misfit(field, rows) }
      let bytes = rows.bytes(column)
      if field.isExternal { return try external.set(bytes, slot: field.slot, of: nodes) }
      try nodes.set(bytes: Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)), slot: field.slot)
    case .toMany: break
    case .decimal, .uuid, .undefined: try readRare(field, rows)
    }
  }

  private func readRare(_ field: Field, _ rows: SQLiteStatement) throws(PersistentStoreError) {
    let column = field.column
    let kind = rows.kind(column)
    switch field.kind {
    case .decimal:
      // Whole numbers come as integers, others as doubles, of which the shortest text is taken; not-a-number is a text.
      let text: String
      switch kind {
      case .integer: text = String(rows.integer(column))
      case .real: text = rows.real(column).description
      case .text: text = rows.string(column) ?? ""
      default: throw misfit(field, rows)
      }
      try nodes.set(decimal: text.utf8.span, slot: field.slot)
    case .uuid:
      let bytes = rows.bytes(column)
      guard kind == .blob, bytes.count == 16 else { throw misfit(field, rows) }
      try nodes.set(uuid: bytes.loadUnaligned(as: UUIDBytes.self).uuid, slot: field.slot)
    default: try nodes.set(Self.untyped(rows, column, kind), slot: field.slot)
    }
  }

  /// A value of an attribute without a type: what SQLite says that it is.
  static func untyped(_ rows: SQLiteStatement, _ column: Int32, _ kind: SQLiteStatement.Kind) -> StoredValue {
    switch kind {
    case .integer: .integer(rows.integer(column))
    case .real: .double(rows.real(column))
    case .text: .string(rows.string(column) ?? "")
    case .blob: .data(DataBytes.data(rows.bytes(column)))
    case .null: .null
    }
  }

  private func misfit(_ field: Field, _ rows: SQLiteStatement) -> PersistentStoreError {
    let kind = rows.kind(field.column)
    let shown =
      switch kind {
      case .integer: " \(rows.integer(field.column))"
      case .real: " \(rows.real(field.column))"
      case .blob: " of \(rows.bytes(field.column).count) bytes"
      default: ""
      }
    return PersistentStoreError(
      .invalidValue,
      "the column \(selected[Int(field.column)]) of \(found.name) holds \(kind.name)\(shown), which is not of the type \(nodes.typeName(slot: field.slot))",
      at: nodes.location(field.slot).filled(from: StoreLocation(file: database.file)))
  }

  // MARK: Rows that do not belong to an object

  /// A row of an entity that the model does not have, of one that is kept in another table, or of an abstract one.
  private mutating func stray(_ key: Int64, _ rows: SQLiteStatement, _ place: StoreLocation)
    throws(PersistentStoreError)
  {
    let number = rows.isNull(1) ? nil : rows.integer(1)
    guard !strays.count(number) else { return }
    let reason = StrayRowNotes.reason(number, nodes.model, layout)
    guard strayRows != .refuse else {
      throw PersistentStoreError(
        .modelMismatch, "the row with Z_PK \(key) of \(found.name) \(reason)",
        at: place.filled(from: StoreLocation(reference: String(key))), remedy: .skippingRows)
    }
    strays.add(number, reason, key)
  }

  /// Values in columns that no property of the model has.
  private func reportUnknownColumns() {
    let names = found.columns.indices.filter { !usedColumns.contains($0) }.map { found.columns[$0].name }
    guard !names.isEmpty else { return }
    let counts = names.map { "count(\(SQLiteDatabase.quoted($0)))" }.joined(separator: ", ")
    // If the table is damaged, what could be read of it is there, and the rest is not counted.
    let rows = try? database.prepare(
      "SELECT \(counts) FROM \(SQLiteDatabase.quoted(found.name)) NOT INDEXED",
      StoreLocation(file: database.file, entity: found.name))
    guard let rows, (try? rows.step()) == true else { return }
    for (index, name) in names.enumerated() where rows.integer(Int32(index)) > 0 {
      source.report(
        LoadNote(
          subject: "\(found.name).\(name)", count: Int(rows.integer(Int32(index))),
          text: "values of a column that the model has no property for", isLoss: true))
    }
  }
}

extension PersistentStoreError.Remedy {
  static let skippingRows = readOption("rows=skip", effect: "leaves such rows out")
}

extension PersistentStoreError {
  /// The error for a table that cannot be read to its end.
  func damagedTable(skips: Bool) -> PersistentStoreError {
    guard code == .malformed, !skips, remedy == nil else { return self }
    var error = self
    error.remedy = .readOption("damaged=skip-object", effect: "reads the rest")
    return error
  }
}

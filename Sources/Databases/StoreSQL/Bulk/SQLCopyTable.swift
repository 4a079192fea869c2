import AtomicStoreSPI
import FoundationEssentials

/// A table that is copied: its columns, and its rows in the binary form of COPY. Not generic: see ``SQLValues``.
final class SQLCopyTable {
  /// A column that is copied.
  struct Column {
    var name: String
    var newName: String
    var type: SQLType
    /// The attribute whose values it holds; nil for ends of relationships and the like.
    var slot: Slot?
  }
  /// What a value must be besides of its type. Without references to count, as there is one for each value.
  private struct Cell {
    enum Check: UInt8 { case none, decimal, undefined }
    var type: SQLType
    var check: Check
  }

  let name: String
  let newName: String
  let columns: [Column]
  /// The columns that the rows are ordered by, which are the first ones; together they are different in each row.
  let keys: [String]
  /// Nil for a table of pairs.
  let root: Entity?
  private let cells: [Cell]
  /// By entity number: whether its rows have each column. Empty for a table of pairs.
  private let own: [Int: [Bool]]
  /// How many rows of each entity were counted, by its number.
  private(set) var counts: [Int: Int] = [:]
  /// The greatest number of a row that was counted, and of one whose reference is a text, from the least number on.
  private(set) var lastNumber: Int64 = 0
  private(set) var lastText: Int64 = 0
  /// What rows get as their version.
  private let version = Int64(Date().timeIntervalSinceReferenceDate * 1_000_000)

  var types: [SQLType] { columns.map(\.type) }
  var list: String { columns.map(\.name.quoted).joined(separator: ", ") }
  var newList: String { columns.map(\.newName.quoted).joined(separator: ", ") }
  var order: String { keys.joined(separator: ", ") }

  /// The table of a hierarchy.
  init(_ root: Entity, _ old: SQLSchema.Table, _ new: SQLSchema.Table) {
    self.root = root
    (name, newName, keys) = (old.name, new.name, ["id"])
    let fixed: [(String, SQLType)] = [("id", .integer64), ("ent", .integer64), ("ver", .integer64), ("ref", .text)]
    var columns = fixed.map { Column(name: $0.0, newName: $0.0, type: $0.1) }
    let slots = Self.slots(of: root, old)
    for (one, other) in zip(old.all, new.all) {
      columns.append(Column(name: one.name, newName: other.name, type: other.type, slot: slots[one.name]))
      for (name, newName) in [(one.entityName, other.entityName), (one.positionName, other.positionName)] {
        if let name, let newName { columns.append(Column(name: name, newName: newName, type: .integer64)) }
      }
    }
    var own: [Int: [Bool]] = [:]
    for (entity, list) in old.columns where !root.model.entity(at: entity).isAbstract {
      let names = Set(list.compactMap { $0 }.flatMap { [$0.name, $0.entityName, $0.positionName].compactMap { $0 } })
      // What another entity of the hierarchy has is not a value of a row.
      own[entity] = columns.enumerated().map { $0.offset < fixed.count || names.contains($0.element.name) }
    }
    self.columns = columns
    self.own = own
    cells = columns.map { Self.cell($0) }
  }

  /// A table of pairs.
  init(_ old: SQLSchema.JoinTable, _ new: SQLSchema.JoinTable) {
    root = nil
    (name, newName, keys) = (old.name, new.name, ["a", "b"])
    columns = ["a", "b", "pos_a", "pos_b"].map { Column(name: $0, newName: $0, type: .integer64) }
    own = [:]
    cells = columns.map { Self.cell($0) }
  }

  private static func cell(_ column: Column) -> Cell {
    switch column.slot?.valueKind {
    case .decimal: Cell(type: column.type, check: .decimal)
    case .undefined: Cell(type: column.type, check: .undefined)
    default: Cell(type: column.type, check: .none)
    }
  }

  /// The attributes of a hierarchy by the names of their columns.
  private static func slots(of root: Entity, _ table: SQLSchema.Table) -> [String: Slot] {
    var found: [String: Slot] = [:]
    for entity in root.hierarchy {
      for slot in entity.slots where slot.attributeType != nil {
        guard let columns = table.columns[entity.index], let column = columns[slot.index] else { continue }
        found[column.name] = slot
      }
    }
    return found
  }

  // MARK: Rows

  /// Counts a row that was checked.
  @inline(__always) func count<Row: SQLRow>(_ row: Row) {
    guard root != nil else { return }
    let id = row.integer(0)
    // Whatever the source has counted: numbers that are in use are not given to new objects.
    if id > SQLKeys.lastText { lastNumber = max(lastNumber, id) } else { lastText = max(lastText, id &- .min) }
    counts[Int(row.integer(1)), default: 0] += 1
  }

  /// Adds a row of the source, or of the target, to a part. The version of both is the same.
  ///
  /// - Throws: `.malformed` for a row that cannot be of this table, or has a value that is not valid.
  @inline(__always)
  func add<Row: SQLRow>(_ row: Row, to part: SQLCopyPart) throws(PersistentStoreError) {
    part.begin()
    let writer = part.writer
    let present = try check(row)
    for (at, cell) in cells.enumerated() {
      if at == 2, root != nil {
        writer.integer(version)
      } else if row.isNull(at) || !(present?[at] ?? true) {
        writer.null()
      } else {
        try add(row, at, cell, writer)
      }
    }
    part.end()
  }

  /// The values of the keys of a row.
  func keys(of row: SQLCopyRow) -> [Int64] { keys.indices.map { row.integer($0) } }

  /// Which columns a row has; nil for all.
  @inline(__always)
  private func check<Row: SQLRow>(_ row: Row) throws(PersistentStoreError) -> [Bool]? {
    guard let root else {
      guard !row.isNull(0), !row.isNull(1) else { throw malformed(row, 0) }
      return nil
    }
    let id = row.integer(0)
    guard !row.isNull(0), !row.isNull(1), row.holds(0, .integer64), row.holds(1, .integer64),
      let present = own[Int(truncatingIfNeeded: row.integer(1))]
    else {
      throw PersistentStoreError(
        .malformed, "the row \(id) of '\(root.name)' is of entity number \(row.integer(1)), which it cannot be")
    }
    guard row.isNull(3) == (id > SQLKeys.lastText) else {
      throw PersistentStoreError(
        .malformed, "the row \(id) has \(row.isNull(3) ? "no text" : "a text") as its reference")
    }
    return present
  }

  @inline(__always)
  private func add<Row: SQLRow>(
    _ row: Row, _ at: Int, _ cell: Cell, _ writer: SQLCopyWriter
  ) throws(PersistentStoreError) {
    guard row.holds(at, cell.type) else { throw malformed(row, at) }
    switch cell.type {
    case .integer64: writer.integer(row.integer(at))
    case .integer32, .integer16:
      let number = row.integer(at)
      guard cell.type == .integer16 ? Int16(exactly: number) != nil : Int32(exactly: number) != nil else {
        throw malformed(row, at)
      }
      writer.integer(number)
    case .boolean: writer.boolean(row.boolean(at))
    case .double: writer.double(row.double(at))
    case .float: writer.float(row.float(at))
    case .uuid: writer.uuid(row.uuid(at))
    case .blob: try row.withBytes(at) { bytes throws(PersistentStoreError) in try writer.blob(bytes) }
    case .text:
      try row.withText(at) { bytes throws(PersistentStoreError) in
        guard isValid(bytes, cell.check) else { throw malformed(row, at) }
        try writer.text(bytes)
      }
    }
  }

  @inline(__always) private func isValid(_ bytes: Span<UInt8>, _ check: Cell.Check) -> Bool {
    switch check {
    case .none: Self.isText(bytes)
    case .decimal: DecimalNumber(utf8: bytes) != nil
    case .undefined:
      bytes.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) }.flatMap { StoredValue(typedText: $0) }
        != nil
    }
  }

  private static func isText(_ bytes: Span<UInt8>) -> Bool {
    do {
      _ = try UTF8Span(validating: bytes)
      return true
    } catch {
      return false
    }
  }

  private func malformed(_ row: some SQLRow, _ at: Int) -> PersistentStoreError {
    PersistentStoreError(
      .malformed, "the row \(row.integer(0)) of '\(name)' has no valid value in '\(columns[at].name)'")
  }
}

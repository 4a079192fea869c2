import AtomicStoreSPI
import FoundationEssentials

/// The rows of an entity, for its table.
struct SQLEntityRows: SQLRowSource {
  /// A slot's columns. Without references to count, as there is one for each value of the store.
  private struct Cell {
    enum Kind: UInt8 { case integer, boolean, double, float, text, blob, uuid, other, toOne }
    var kind: Kind
    var slot: Int
    var hasEntity = false
    /// The index of its positions; -1 for none.
    var positions = -1

    static func kind(_ slot: Slot, _ column: SQLType) -> Kind {
      switch column {
      case _ where slot.attributeType == nil: .toOne
      case _ where slot.valueKind == .undefined: .other
      case .integer16, .integer32, .integer64: .integer
      case .boolean: .boolean
      case .double: .double
      case .float: .float
      case .uuid: .uuid
      case .text: .text
      case .blob: .blob
      }
    }
  }

  private(set) var columns: [(name: String, type: SQLType)] = [
    ("id", .integer64), ("ent", .integer64), ("ver", .integer64), ("ref", .text),
  ]
  private var cells: [Cell] = []
  private var positions: [[Int64?]] = []
  private let entity: Entity
  private let number: Int
  private let version: Int64
  private let rows: SQLRows
  private let reader: EntityReader
  private let hasTexts: Bool

  init(
    _ entity: Entity, _ schema: SQLSchema, _ rows: SQLRows, version: Int64, positions: (Slot) -> [Int64?]
  ) {
    self.entity = entity
    number = entity.index
    self.version = version
    self.rows = rows
    reader = rows.readers[entity.index]
    hasTexts = !rows.textNumbers[entity.index].isEmpty
    for slot in entity.slots {
      guard let column = schema.column(slot.index, of: entity) else { continue }
      columns.append((column.name, column.type))
      var cell = Cell(kind: Cell.kind(slot, column.type), slot: slot.index)
      if let name = column.entityName {
        columns.append((name, .integer64))
        cell.hasEntity = true
      }
      if let name = column.positionName {
        columns.append((name, .integer64))
        cell.positions = self.positions.count
        self.positions.append(positions(slot))
      }
      cells.append(cell)
    }
  }

  @inline(__always)
  func write<Writer: SQLRowWriter>(_ row: Int, _ writer: Writer) throws(PersistentStoreError) {
    writer.integer(rows.id(NodeHandle(entity: number, row: row)))
    writer.integer(Int64(number))
    writer.integer(version)
    if hasTexts, let text = reader.textReference(row: row) { try writer.text(text) } else { writer.null() }
    for cell in cells {
      guard cell.kind != .toOne else {
        writeEnd(cell, row, writer)
        continue
      }
      guard !reader.isNull(slot: cell.slot, row: row) else {
        writer.null()
        continue
      }
      try write(cell, row, writer)
    }
  }

  @inline(__always)
  private func write<Writer: SQLRowWriter>(
    _ cell: Cell, _ row: Int, _ writer: Writer
  ) throws(PersistentStoreError) {
    switch cell.kind {
    case .integer: writer.integer(reader.integer(slot: cell.slot, row: row))
    case .boolean: writer.boolean(reader.boolean(slot: cell.slot, row: row))
    case .double: writer.double(reader.double(slot: cell.slot, row: row))
    case .float: writer.float(reader.float(slot: cell.slot, row: row))
    case .uuid: writer.uuid(reader.uuid(slot: cell.slot, row: row))
    case .text, .blob:
      do throws(PersistentStoreError) {
        let bytes = reader.bytes(slot: cell.slot, row: row)
        if cell.kind == .text { try writer.text(bytes) } else { try writer.blob(bytes) }
      } catch {
        throw error.located(
          StoreLocation(
            entity: entity.name, reference: reader.reference(row: row).description,
            property: entity.slots[cell.slot].name))
      }
    case .other:
      try writer.text(Array(reader.value(slot: cell.slot, row: row).typedText.utf8).span)
    case .toOne: break
    }
  }

  @inline(__always)
  private func writeEnd<Writer: SQLRowWriter>(_ cell: Cell, _ row: Int, _ writer: Writer) {
    let end = reader.toOne(slot: cell.slot, row: row)
    if let end { writer.integer(rows.id(end)) } else { writer.null() }
    if cell.hasEntity { if let end { writer.integer(Int64(end.entity)) } else { writer.null() } }
    guard cell.positions >= 0 else { return }
    if let place = positions[cell.positions][row] { writer.integer(place) } else { writer.null() }
  }
}

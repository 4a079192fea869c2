import AtomicStoreSPI

/// The columns of a hierarchy's table, as a query for all rows in the order of their numbers has them.
struct SQLRowLayout {
  /// The columns of a slot. Without references to count, as there is one for each value of the store.
  struct Cell {
    let kind: StoredValue.Kind
    let type: SQLType
    let slot: Int
    let at: Int
    /// The column of the destination's entity; -1 for none.
    var entityAt = -1
    /// The column of the position; -1 for none.
    var positionAt = -1
    var keepsEnds = false
    /// The index of its ``SQLEnds``.
    var end = 0
    /// The root of the destination, and the entity that objects there have where no column says it.
    var root = 0
    var destination = 0
  }

  private let columns: String
  private let table: String
  let types: [SQLType]
  /// By entity. The first three columns are the number, the entity and the reference if that is a text.
  let cells: [Int: [Cell]]

  /// - Parameter needed: The slots that are read; nil for all.
  init(_ schema: SQLSchema, _ root: Entity, only needed: NeededColumns? = nil) {
    var names = ["id", "ent", "ref"]
    var types: [SQLType] = [.integer64, .integer64, .text]
    var known: [String: Int] = [:]
    func place(_ name: String, _ type: SQLType) -> Int {
      if let at = known[name] { return at }
      known[name] = names.count
      names.append(name.quoted)
      types.append(type)
      return names.count - 1
    }
    var cells: [Int: [Cell]] = [:]
    for entity in root.hierarchy where !entity.isAbstract {
      var list: [Cell] = []
      for slot in entity.slots {
        guard needed?.needs(slot: slot.index, of: entity.index) != false,
          let column = schema.column(slot.index, of: entity)
        else { continue }
        var cell = Cell(kind: slot.valueKind, type: column.type, slot: slot.index, at: place(column.name, column.type))
        if let destination = slot.destination.map({ schema.model.entity(at: $0) }) {
          if let name = column.entityName { cell.entityAt = place(name, .integer64) }
          cell.root = destination.root.index
          cell.destination = destination.hierarchy.first { !$0.isAbstract }?.index ?? destination.index
          if let inverse = slot.inverseSlot, destination.slots[inverse].isToMany,
            needed.map({ $0.needs(slot: inverse, ofAny: destination.hierarchy) }) ?? true
          {
            cell.keepsEnds = true
            if let name = column.positionName { cell.positionAt = place(name, .integer64) }
          }
        }
        list.append(cell)
      }
      cells[entity.index] = list
    }
    self.cells = cells
    self.types = types
    columns = names.map { "t.\($0)" }.joined(separator: ", ")
    table = schema.table(of: root).name.quoted
  }

  /// The query.
  ///
  /// - Parameter condition: Which rows of the table `t` it is for; nil for all.
  func sql(where condition: String? = nil) -> String {
    "SELECT \(columns) FROM \(table) t\(condition.map { " WHERE \($0)" } ?? "") ORDER BY t.id"
  }
}

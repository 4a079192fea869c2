import AtomicStoreSPI
import FoundationEssentials

/// Adds the rows of one table to nodes. Not generic: see ``SQLValues``.
final class SQLWholeRows {
  /// What an entity's rows have, and what was read of them.
  final class Plan {
    fileprivate let cells: [SQLRowLayout.Cell]
    /// The row numbers, in the order of rows.
    var numbers: [Int64] = []
    /// Where to-ones lead whose other ends are to-manys, and their slots.
    private(set) var endSlots: [Int] = []
    var ends: [SQLEnds] = []
    /// To-ones that lead to rows whose references are texts.
    var texts: [(row: Int, slot: Int, id: Int64)] = []

    fileprivate init(_ cells: [SQLRowLayout.Cell]) {
      var cells = cells
      for index in cells.indices where cells[index].keepsEnds {
        cells[index].end = ends.count
        endSlots.append(cells[index].slot)
        ends.append(SQLEnds())
      }
      self.cells = cells
    }
  }

  let layout: SQLRowLayout
  /// By entity.
  let plans: [Int: Plan]
  /// The same by position in the hierarchy; nil for abstract entities.
  private let list: [Plan?]
  private let schema: SQLSchema
  private let root: Entity
  private let nodes: NodeTableBuilder
  private let model: ManagedObjectModel
  /// Whether the nodes are a part of all, where what a to-one leads to is added as a reference: see
  /// ``addReferences()``.
  private let isPart: Bool
  /// By entity: the numbers of the rows that to-ones of a part lead to.
  private var references: [Set<Int64>]

  init(
    _ schema: SQLSchema, _ root: Entity, _ nodes: NodeTableBuilder, only needed: NeededColumns? = nil,
    isPart: Bool = false
  ) {
    self.root = root
    self.nodes = nodes
    self.isPart = isPart
    references = isPart ? schema.model.entities.map { _ in [] } : []
    let layout = SQLRowLayout(schema, root, only: needed)
    let plans = layout.cells.mapValues { Plan($0) }
    model = schema.model
    list = root.hierarchy.map { plans[$0.index] }
    (self.schema, self.layout, self.plans) = (schema, layout, plans)
  }

  /// Adds a row.
  ///
  /// - Throws: `.malformed` for a row that cannot be of this table, or has a value of another type.
  @inline(__always) func add<Row: SQLRow>(_ row: Row) throws(PersistentStoreError) {
    guard !row.isNull(0), !row.isNull(1), row.holds(0, .integer64), row.holds(1, .integer64) else {
      throw PersistentStoreError(.malformed, "a row of '\(root.name)' has no number, or no entity")
    }
    let id = row.integer(0)
    let number = row.integer(1)
    guard let position = schema.position(of: number, under: root.index), let plan = list[position] else {
      throw PersistentStoreError(.malformed, "the row \(id) is of entity number \(number), which it cannot be")
    }
    let entity = Int(number)
    if row.isNull(2) {
      try nodes.beginNode(entity: entity, reference: id)
    } else {
      try nodes.beginNode(entity: entity, reference: .string(try SQLValues.text(row, 2, id)))
    }
    plan.numbers.append(id)
    for cell in plan.cells {
      guard cell.kind != .toOne else {
        try addEnd(row, cell, plan, id, entity)
        continue
      }
      guard !row.isNull(cell.at) else { continue }
      guard row.holds(cell.at, cell.type) else { throw malformed(id, cell, entity) }
      try set(row, cell, id, entity)
    }
  }

  private func malformed(_ id: Int64, _ cell: SQLRowLayout.Cell, _ entity: Int) -> PersistentStoreError {
    SQLValues.malformed(id, model.entity(at: entity).slots[cell.slot], of: model.entity(at: entity))
  }

  @inline(__always) private func set<Row: SQLRow>(
    _ row: Row, _ cell: SQLRowLayout.Cell, _ id: Int64, _ entity: Int
  ) throws(PersistentStoreError) {
    let (at, slot) = (cell.at, cell.slot)
    switch cell.kind {
    case .integer: try nodes.set(integer: row.integer(at), slot: slot)
    case .boolean: try nodes.set(boolean: row.boolean(at), slot: slot)
    case .double: try nodes.set(double: row.double(at), slot: slot)
    case .float: try nodes.set(float: row.float(at), slot: slot)
    case .date: try nodes.set(dateSeconds: row.double(at), slot: slot)
    case .string, .uri:
      try row.withText(at) { bytes throws(PersistentStoreError) in try nodes.set(utf8: bytes, slot: slot) }
    case .data:
      try row.withBytes(at) { bytes throws(PersistentStoreError) in try nodes.set(bytes: bytes, slot: slot) }
    case .decimal:
      try row.withText(at) { bytes throws(PersistentStoreError) in try nodes.set(decimal: bytes, slot: slot) }
    case .uuid: try nodes.set(uuid: row.uuid(at), slot: slot)
    case .undefined: try setOther(row, cell, id, entity)
    case .toOne, .toMany: break
    }
  }

  private func setOther<Row: SQLRow>(
    _ row: Row, _ cell: SQLRowLayout.Cell, _ id: Int64, _ entity: Int
  ) throws(PersistentStoreError) {
    let slot = model.entity(at: entity).slots[cell.slot]
    guard let type = slot.attributeType else { return }
    let value = try SQLValues.value(row, cell.at, type, slot, of: model.entity(at: entity), id)
    try nodes.set(value, slot: cell.slot)
  }

  @inline(__always) private func addEnd<Row: SQLRow>(
    _ row: Row, _ cell: SQLRowLayout.Cell, _ plan: Plan, _ id: Int64, _ entity: Int
  ) throws(PersistentStoreError) {
    var end = SQLEnds.none
    if !row.isNull(cell.at) {
      guard row.holds(cell.at, .integer64) else { throw malformed(id, cell, entity) }
      end = row.integer(cell.at)
      if isPart {
        try nodes.set(toOne: end, slot: cell.slot)
        try noteReference(row, cell, end, id, entity)
      } else if end > SQLKeys.lastText {
        try nodes.set(toOne: end, slot: cell.slot)
      } else {
        plan.texts.append((plan.numbers.count - 1, cell.slot, end))
      }
    }
    guard cell.keepsEnds else { return }
    plan.ends[cell.end].ids.append(end)
    if cell.entityAt >= 0 {
      plan.ends[cell.end].entities.append(row.isNull(cell.entityAt) ? -1 : row.integer(cell.entityAt))
    }
    if cell.positionAt >= 0 {
      plan.ends[cell.end].positions.append(row.isNull(cell.positionAt) ? .max : row.integer(cell.positionAt))
    }
  }

  // MARK: Parts

  private func noteReference<Row: SQLRow>(
    _ row: Row, _ cell: SQLRowLayout.Cell, _ end: Int64, _ id: Int64, _ entity: Int
  ) throws(PersistentStoreError) {
    guard cell.entityAt >= 0 else {
      references[cell.destination].insert(end)
      return
    }
    guard !row.isNull(cell.entityAt), row.holds(cell.entityAt, .integer64),
      schema.position(of: row.integer(cell.entityAt), under: cell.root) != nil
    else {
      // Where the table is read whole, the row that it leads to says what it is.
      var error = malformed(id, cell, entity)
      error.code = .danglingReference
      throw error
    }
    references[Int(row.integer(cell.entityAt))].insert(end)
  }

  /// Adds the objects that to-ones of a part lead to, without values, after the rows that were read. The rows
  /// themselves name them: what they have is not looked up.
  func addReferences() throws(PersistentStoreError) {
    for (entity, found) in references.enumerated() {
      let own = plans[entity]?.numbers ?? []
      for number in found.sorted() where own.place(ofSorted: number) == nil {
        try nodes.beginNode(entity: entity, reference: number)
      }
    }
  }
}

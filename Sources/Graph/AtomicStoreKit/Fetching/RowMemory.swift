import AtomicStoreSPI
import StorePredicates

/// The memory of the columns of rows, and the values of one row at a time.
///
/// It belongs to one loop over rows. Such a loop reads millions of values, and searching for a column or counting a
/// reference for each would take longer than reading the value.
final class RowMemory {
  private let version: NodeVersion
  private let values: UnsafeMutableBufferPointer<RowCell>
  private let columnCount: Int
  /// What to read in each column, for rows of one entity.
  private var readings: [Reading] = []
  private var entity = -1
  /// By entity, made when they are needed.
  private var known: [[Reading]?]
  private let references: [ReferenceView]
  /// The names of entities, which stay where they are.
  private let entityNames: UnsafeMutableBufferPointer<UnsafeBufferPointer<UInt8>>

  private struct Reading {
    enum Form: UInt8 {
      case object, boolean, integer, double, date, text, decimal, data, toOne, toMany
      /// At the end of relationships.
      case path
      case other
    }
    let form: Form
    let column: ColumnView?
  }

  init(_ columns: [RowColumn], _ plan: ModelPlan, _ version: NodeVersion) {
    self.version = version
    columnCount = columns.count
    values = .allocate(capacity: columns.count)
    values.initialize(repeating: .null)
    known = Array(repeating: nil, count: plan.entities.count)
    let names = version.nodes.model.entities.map { Array($0.name.utf8) }
    references = plan.entities.indices.map { version.references(entity: $0) }
    entityNames = .allocate(capacity: names.count)
    for (index, name) in names.enumerated() {
      let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: name.count)
      _ = copy.initialize(from: name)
      entityNames.initializeElement(at: index, to: UnsafeBufferPointer(copy))
    }
  }

  deinit {
    for name in entityNames { name.deallocate() }
    entityNames.deallocate()
    values.deallocate()
  }

  var cells: UnsafeBufferPointer<RowCell> { UnsafeBufferPointer(values) }

  func name(of object: NodeHandle) -> RowObjectName {
    let references = references[object.entity]
    return RowObjectName(
      entity: entityNames[object.entity], number: references.number(object.row), text: references.text(object.row))
  }

  /// Reads the values of a row.
  func read(_ node: NodeHandle, _ columns: [RowColumn], _ version: NodeVersion) {
    if node.entity != entity { begin(node.entity, columns) }
    // Once, and not for each column: accesses to variables of an object are checked.
    let readings = readings
    for index in 0..<columnCount {
      let reading = readings[index]
      if reading.form == .path {
        guard let end = columns[index].node(from: node, version) else {
          values[index] = .null
          continue
        }
        let (form, view) = Self.source(columns[index].source, end.entity, version)
        values[index] = Self.value(form, view, end)
      } else {
        values[index] = Self.value(reading.form, reading.column, node)
      }
    }
  }

  private func begin(_ entity: Int, _ columns: [RowColumn]) {
    self.entity = entity
    if let known = known[entity] {
      readings = known
      return
    }
    readings = columns.map { column in
      guard column.isDirect else { return Reading(form: .path, column: nil) }
      let (form, view) = Self.source(column.source, entity, version)
      return Reading(form: form, column: view)
    }
    known[entity] = readings
  }

  private static func source(
    _ source: RowColumn.Source, _ entity: Int, _ version: NodeVersion
  ) -> (Reading.Form, ColumnView?) {
    switch source {
    case .object: return (.object, nil)
    case .toOne(let slot): return (.toOne, version.column(entity: entity, slot: slot))
    case .toMany(let slot): return (.toMany, version.column(entity: entity, slot: slot))
    case .attribute(let slot, let type):
      let form: Reading.Form =
        switch type.valueKind {
        case .boolean: .boolean
        case .integer: .integer
        case .double: .double
        case .date: .date
        case .string, .uri: .text
        case .decimal: .decimal
        case .data where type != .transformable: .data
        default: .other
        }
      return (form, version.column(entity: entity, slot: slot))
    }
  }

  @inline(__always)
  private static func value(_ form: Reading.Form, _ view: ColumnView?, _ node: NodeHandle) -> RowCell {
    guard let view else { return .object(node) }
    let row = node.row
    switch form {
    case .text: return view.bytes(row).map { .text($0) } ?? .null
    case .decimal: return view.bytes(row).map { .decimal($0) } ?? .null
    case .data: return view.bytes(row).map { .data($0) } ?? .null
    case .toOne:
      let bits = view.handle(row)
      return bits == .max ? .null : .object(NodeHandle(rawBits: bits))
    case .toMany:
      let list = UnsafeRawBufferPointer(view.handles(row))
      return .objects(list.assumingMemoryBound(to: NodeHandle.self))
    case .object, .path, .other: return .other
    default: break
    }
    guard view.isPresent(row) else { return .null }
    switch form {
    case .boolean: return .boolean(view.cell(row, as: UInt8.self) != 0)
    case .integer: return .integer(view.integer(row))
    case .double: return .double(view.cell(row, as: Double.self))
    case .date: return .date(view.cell(row, as: Double.self))
    default: return .other
    }
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs
import StoreCoordination
import StoreJSON

/// The objects of a store as the script of a page reads them: for each entity the values column by column.
///
/// Objects have numbers, those of an entity one after the other. A relationship consists of numbers, or of a text if
/// the object is not on the page.
struct ReportRows {
  private let report: StoreReport
  private let nodes: NodeTable
  /// How many objects of each entity are on the page.
  let counts: [Int]
  /// The number of the first object of each entity.
  let firsts: [Int]

  init(_ report: StoreReport) {
    self.report = report
    nodes = report.nodes
    let limit = max(0, report.maximumRowCount)
    var wanted = nodes.model.entities.map { min(report.nodes.count(of: $0.index), limit) }
    // If there are too many in total, large entities yield.
    var room = max(0, report.maximumObjectCount)
    for (place, index) in wanted.indices.sorted(by: { (wanted[$0], $0) < (wanted[$1], $1) }).enumerated() {
      wanted[index] = min(wanted[index], room / (wanted.count - place))
      room -= wanted[index]
    }
    counts = wanted
    var first = 0
    firsts = wanted.map { count in
      defer { first += count }
      return first
    }
  }

  /// Whether all objects are on the page.
  var isComplete: Bool { zip(nodes.model.entities, counts).allSatisfy { nodes.count(of: $0.index) == $1 } }

  func write(to writer: ByteWriter) throws(PersistentStoreError) {
    writer.append("{\"entities\":[")
    for (place, entity) in nodes.model.entities.enumerated() {
      if place > 0 { writer.append(byte: UInt8(ascii: ",")) }
      try write(entity, to: writer)
    }
    writer.append("]}")
  }

  private func write(_ entity: Entity, to writer: ByteWriter) throws(PersistentStoreError) {
    let reader = nodes.reader(of: entity.index)
    let count = counts[entity.index]
    Page.writeScriptData(
      .object([
        ("name", .string(Markup.visible(entity.name))), ("total", .integer(nodes.count(of: entity.index))),
        ("first", .integer(firsts[entity.index])),
        (
          "columns",
          .array(
            entity.slots.map {
              .object([("name", .string(Markup.visible($0.name))), ("kind", .string(Self.kind($0)))])
            })
        ),
      ]), openTo: writer)
    writer.append(",\"references\":[")
    for row in 0..<count {
      if row > 0 { writer.append(byte: UInt8(ascii: ",")) }
      Page.writeScriptData(.string(shown(reader.reference(row: row).description)), to: writer)
      try writer.flushIfNeeded()
    }
    writer.append("],\"values\":[")
    for slot in entity.slots {
      if slot.index > 0 { writer.append(byte: UInt8(ascii: ",")) }
      writer.append(byte: UInt8(ascii: "["))
      for row in 0..<count {
        if row > 0 { writer.append(byte: UInt8(ascii: ",")) }
        Page.writeScriptData(value(slot, row, reader), to: writer)
        try writer.flushIfNeeded()
      }
      writer.append(byte: UInt8(ascii: "]"))
    }
    writer.append("]}")
  }

  /// How the script treats a column.
  static func kind(_ slot: Slot) -> String {
    switch slot.kind {
    case .toOne: return "one"
    case .toMany: return "many"
    case .attribute(let type):
      switch type {
      case .integer16, .integer32, .integer64, .decimal, .double, .float: return "number"
      case .string: return "text"
      default: return "other"
      }
    }
  }

  private func shown(_ text: String) -> String {
    Markup.visible(Markup.shortened(text, to: max(1, report.maximumValueLength)))
  }

  private func value(_ slot: Slot, _ row: Int, _ reader: EntityReader) -> JSONValue {
    switch slot.kind {
    case .toOne: return reader.toOne(slot: slot.index, row: row).map { object($0) } ?? .null
    case .toMany:
      let members = reader.toMany(slot: slot.index, row: row)
      guard !members.isEmpty else { return .null }
      var list: [JSONValue] = []
      for index in members.indices.prefix(max(0, report.maximumMemberCount)) { list.append(object(members[index])) }
      let rest = members.count - list.count
      return .array(rest > 0 ? list + [.string("and \(Markup.grouped(rest)) more")] : list)
    case .attribute:
      return text(reader.value(slot: slot.index, row: row)).map { .string($0) } ?? .null
    }
  }

  private func object(_ node: NodeHandle) -> JSONValue {
    node.row < counts[node.entity]
      ? .integer(firsts[node.entity] + node.row) : .string(shown(nodes.objectReference(of: node).description))
  }

  /// A value as people read it; nil for null.
  func text(_ value: StoredValue) -> String? {
    switch value {
    case .null: nil
    case .string(let text), .uri(let text): shown(text)
    case .data(let data): Markup.count(data.count, "byte")
    default: shown(GraphComparison.text(value))
    }
  }
}

extension Page {
  /// Writes an object without its closing brace, for members that are written one by one.
  static func writeScriptData(_ value: JSONValue, openTo writer: ByteWriter) {
    let whole = ByteWriter()
    writeScriptData(value, to: whole)
    writer.append(Array(whole.takeBytes().dropLast()))
  }
}

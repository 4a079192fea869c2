import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs
import StoreCoordination
import StoreJSON
import StorePredicates

/// The objects of a store as the script of a page reads them: for each entity the values column by column.
///
/// Objects have numbers, those of an entity one after the other. A relationship consists of numbers, or of a text if
/// the object is not on the page; how many members of a to-many are left out is its last number, as a negative one.
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

  /// What the pages of an entity's objects show besides lines.
  typealias Contents = [(column: Int, row: Int, content: JSONValue)]

  /// The contents of all objects on the page, by entity, as many as a page has; and whether these are all.
  func contents() -> (entities: [Contents], areComplete: Bool) {
    var contents = ValueContents(lineLength: max(1, report.maximumValueLength))
    let entities = nodes.model.entities.map { entity in
      var found: Contents = []
      let reader = nodes.reader(of: entity.index)
      let slots = entity.slots.filter(Self.mayHaveContent)
      for row in 0..<(slots.isEmpty ? 0 : counts[entity.index]) {
        contents.beginObject()
        for slot in slots where isContent(slot, row, reader) {
          guard let content = contents.content(of: reader.value(slot: slot.index, row: row)) else { continue }
          found.append((slot.index, row, content))
        }
      }
      return found
    }
    return (entities, !contents.isFull)
  }

  private static func mayHaveContent(_ slot: Slot) -> Bool {
    switch slot.valueKind {
    case .string, .data, .undefined: true
    default: false
    }
  }

  /// Whether a value is more than a line; of texts known without making one.
  private func isContent(_ slot: Slot, _ row: Int, _ reader: EntityReader) -> Bool {
    guard slot.attributeType == .string, !reader.isNull(slot: slot.index, row: row) else { return true }
    let bytes = reader.bytes(slot: slot.index, row: row)
    return bytes.count > report.maximumValueLength || bytes.indices.contains { bytes[$0] == UInt8(ascii: "\n") }
  }

  /// - Parameter contents: By entity; nil for a page that asks a server for the objects.
  func write(to writer: ByteWriter, _ contents: [Contents]?) throws(PersistentStoreError) {
    writer.append("{\"entities\":[")
    for (place, entity) in nodes.model.entities.enumerated() {
      if place > 0 { writer.append(byte: UInt8(ascii: ",")) }
      Page.writeScriptData(description(of: entity), openTo: writer)
      if let contents { try writeObjects(of: entity, contents[place], to: writer) }
      writer.append(byte: UInt8(ascii: "}"))
    }
    writer.append("]}")
  }

  private func description(of entity: Entity) -> JSONValue {
    .object([
      ("name", .string(Markup.visible(entity.name))), ("title", .string(shown(entity.name))),
      ("total", .integer(nodes.count(of: entity.index))), ("count", .integer(counts[entity.index])),
      ("first", .integer(firsts[entity.index])), ("uri", .string(uriPrefix(of: entity))),
      ("isNameWhole", .boolean(shown(entity.name) == entity.name)),
      ("labels", .array(Self.labels(of: entity).map { .integer($0.index) })),
      ("columns", .array(entity.slots.map { .object(column($0)) })),
    ])
  }

  /// What the URIs of the objects of an entity begin with: before their references, if these are numbers.
  private func uriPrefix(of entity: Entity) -> String {
    String(uri(.integer(0), of: entity).dropLast())
  }

  private func uri(_ reference: ReferenceObject, of entity: Entity) -> String {
    ManagedObjectID(storeIdentifier: report.metadata.uuid, entityName: entity.name, reference: reference)
      .uriRepresentation
  }

  private func column(_ slot: Slot) -> [(String, JSONValue)] {
    let name = Markup.visible(slot.name)
    var column: [(String, JSONValue)] = [("name", .string(name)), ("kind", .string(Self.kind(slot)))]
    // The name itself, and as predicates write it, where these differ from what is shown.
    if name != slot.name { column.append(("property", .string(slot.name))) }
    let key = Self.key(slot).description
    if key != name { column.append(("key", .string(key))) }
    if let type = Self.castType(slot) { column.append(("cast", .string(type))) }
    if let destination = slot.destination, let inverse = slot.inverseSlot {
      column.append(("inverse", .string(nodes.model.entity(at: destination).slots[inverse].name)))
    }
    return column
  }

  private func writeObjects(
    of entity: Entity, _ contents: Contents, to writer: ByteWriter
  ) throws(PersistentStoreError) {
    let reader = nodes.reader(of: entity.index)
    let rows = 0..<counts[entity.index]
    func write(_ name: String, _ value: (Int) -> JSONValue) throws(PersistentStoreError) {
      writer.append(name)
      writer.append(byte: UInt8(ascii: "["))
      for row in rows {
        if row > 0 { writer.append(byte: UInt8(ascii: ",")) }
        Page.writeScriptData(value(row), to: writer)
        try writer.flushIfNeeded()
      }
      writer.append(byte: UInt8(ascii: "]"))
    }
    try write(",\"references\":") { .string(shown(reader.reference(row: $0).description)) }
    if rows.contains(where: { if case .string = reader.reference(row: $0) { true } else { false } }) {
      let prefix = uriPrefix(of: entity).utf8.count
      try write(",\"ids\":") { .string(String(uri(reader.reference(row: $0), of: entity).dropFirst(prefix))) }
    }
    writer.append(",\"values\":[")
    for slot in entity.slots {
      try write(slot.index > 0 ? "," : "") { value(slot, $0, reader) }
    }
    writer.append("],\"contents\":[")
    for (place, found) in contents.enumerated() {
      if place > 0 { writer.append(byte: UInt8(ascii: ",")) }
      Page.writeScriptData(.array([.integer(found.column), .integer(found.row), found.content]), to: writer)
      try writer.flushIfNeeded()
    }
    writer.append(byte: UInt8(ascii: "]"))
  }

  /// How the script treats a column.
  static func kind(_ slot: Slot) -> String {
    switch slot.valueKind {
    case .toOne: "one"
    case .toMany: "many"
    case .integer, .decimal, .double, .float: "number"
    case .string: "text"
    case .date: "date"
    case .boolean: "boolean"
    // Shown as a size, or of any type: neither sorted nor compared.
    case .data, .undefined: "bytes"
    default: "other"
    }
  }

  /// The key path of a column. A name may have dots without being a part of a composite attribute.
  static func key(_ slot: Slot) -> FetchExpression {
    guard let part = slot.attribute, part.name != slot.name else { return .keyPath([slot.name]) }
    return .keyPath([String(slot.name.dropLast(part.name.count + 1)), part.name])
  }

  /// The type that a predicate names where it writes a value of the column; nil where the literal shows it.
  private static func castType(_ slot: Slot) -> String? {
    switch slot.valueKind {
    case .decimal: "NSDecimalNumber"
    case .float: "Float"
    case .date: "NSDate"
    case .uuid: "NSUUID"
    case .uri: "NSURL"
    default: nil
    }
  }

  /// The columns of which the first that has a text is what people call an object.
  static func labels(of entity: Entity) -> [Slot] {
    let texts = entity.slots.filter { $0.attributeType == .string }
    return ["name", "title", "displayname", "fullname", "label", "caption", "subject", "text", "identifier"].compactMap
    {
      label in texts.first { $0.name.lowercased() == label }
    }
  }

  private func shown(_ text: String) -> String { report.shownText(text) }

  private func value(_ slot: Slot, _ row: Int, _ reader: EntityReader) -> JSONValue {
    switch slot.kind {
    case .toOne: return reader.toOne(slot: slot.index, row: row).map { object($0) } ?? .null
    case .toMany:
      let members = reader.toMany(slot: slot.index, row: row)
      guard !members.isEmpty else { return .null }
      var list: [JSONValue] = []
      for index in members.indices.prefix(max(0, report.maximumMemberCount)) { list.append(object(members[index])) }
      let rest = members.count - list.count
      return .array(rest > 0 ? list + [.integer(-rest)] : list)
    case .attribute:
      let value = reader.value(slot: slot.index, row: row)
      guard let shown = report.shownText(value) else { return .null }
      // In brackets if it is not the whole value.
      if case .string(let whole) = value, whole != shown { return .array([.string(shown)]) }
      if case .uri(let whole) = value, whole != shown { return .array([.string(shown)]) }
      return .string(shown)
    }
  }

  private func object(_ node: NodeHandle) -> JSONValue {
    node.row < counts[node.entity]
      ? .integer(firsts[node.entity] + node.row) : .string(shown(nodes.objectReference(of: node).description))
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

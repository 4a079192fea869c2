import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Writes the objects of a snapshot. Everything that is the same for all rows of an entity or property is prepared as
/// bytes before the first row, so that a row is little more than copying.
final class StoreWriter {
  private let writer: ByteWriter
  private let nodes: NodeTable
  private let plans: [EntityPlan]
  /// The entities with rows.
  private let active: [EntityPlan]

  /// - Parameter keepsNames: Whether the schema is written, so that names that differ only in case can be
  ///   distinguished.
  init(_ nodes: NodeTable, to writer: ByteWriter, keepsNames: Bool) throws(PersistentStoreError) {
    self.writer = writer
    self.nodes = nodes
    let entities = nodes.model.entities
    if !keepsNames { try Self.refuseClashes(entities) }
    let names = NameFolding.entity.written(entities.map(\.name))
    var typeNames: [[UInt8]] = []
    for (entity, name) in zip(entities, names) {
      typeNames.append(try NameText.encode(name, at: StoreLocation(entity: entity.name)))
    }
    var plans: [EntityPlan] = []
    for entity in entities { plans.append(try EntityPlan(entity, nodes.reader(of: entity.index), typeNames)) }
    self.plans = plans
    active = plans.filter { $0.count > 0 }
    for root in clashingHierarchies() {
      let suffix = [UInt8(ascii: ".")] + ObjectIdentifierText.percentEncoded(names[root])
      for plan in plans where plan.root == root { plan.suffix = suffix }
    }
  }

  private static func refuseClashes(_ entities: [Entity]) throws(PersistentStoreError) {
    if let (one, other) = NameFolding.entity.clash(entities.map(\.name)) {
      throw PersistentStoreError(
        .unsupportedByFormat,
        "the entities '\(one)' and '\(other)' differ only in case, which an XML store without a schema cannot represent"
      )
    }
    for entity in entities {
      if let (one, other) = NameFolding.property.clash(entity.slots.map(\.name)) {
        throw PersistentStoreError(
          .unsupportedByFormat,
          "'\(one)' and '\(other)' differ only in case, which an XML store without a schema cannot represent",
          at: StoreLocation(entity: entity.name))
      }
    }
  }

  /// Identifiers are unique in the whole store, references only in their hierarchy: a hierarchy that has a number in
  /// common with an earlier one adds its name to each of its numbers.
  private func clashingHierarchies() -> [Int] {
    var clashing: Set<Int> = []
    var previous: (number: Int64, root: Int)?
    merge { plan, row in
      let number = plan.numbers[row]
      if let before = previous, before.number == number {
        clashing.insert(max(before.root, plan.root))
        previous = (number, min(before.root, plan.root))
      } else {
        previous = (number, plan.root)
      }
    }
    return clashing.sorted()
  }

  // MARK: Objects

  /// Writes all objects, by ascending identifier over all entities; strings follow numbers.
  func writeObjects() throws(PersistentStoreError) {
    try merge { plan, row throws(PersistentStoreError) in try write(plan, row: row) }
    var rows = active.map(\.numberCount)
    while let best = leastString(rows, besides: nil) {
      let next = leastString(rows, besides: best)
      // As long as the next string of the others is greater, they need not be compared.
      repeat {
        try write(active[best], row: rows[best])
        rows[best] += 1
      } while rows[best] < active[best].count && next.map { precedes(best, $0, rows) } ?? true
    }
  }

  /// Visits the rows with integer references, in ascending order over all entities.
  private func merge<Failure: Error>(_ visit: (EntityPlan, Int) throws(Failure) -> Void) throws(Failure) {
    var rows = [Int](repeating: 0, count: active.count)
    while true {
      var best = -1
      var least = Int64.max
      var next = Int64.max
      for index in active.indices where rows[index] < active[index].numberCount {
        let number = active[index].numbers[rows[index]]
        if best < 0 || number < least {
          if best >= 0 { next = least }
          least = number
          best = index
        } else {
          next = min(next, number)
        }
      }
      guard best >= 0 else { return }
      // As long as the next number of the others is greater, they need not be compared.
      let plan = active[best]
      var row = rows[best]
      repeat {
        try visit(plan, row)
        row += 1
      } while row < plan.numberCount && plan.numbers[row] < next
      rows[best] = row
    }
  }

  /// The entity whose next row has the least string reference.
  private func leastString(_ rows: [Int], besides other: Int?) -> Int? {
    var best: Int?
    for index in active.indices where index != other && rows[index] < active[index].count {
      if let found = best, !precedes(index, found, rows) { continue }
      best = index
    }
    return best
  }

  /// Whether the string reference of an entity's next row is less than that of another entity's.
  private func precedes(_ one: Int, _ other: Int, _ rows: [Int]) -> Bool {
    let reader = active[one].reader
    let otherReader = active[other].reader
    guard let text = reader.textReference(row: rows[one]), let otherText = otherReader.textReference(row: rows[other])
    else { return false }
    let count = min(text.count, otherText.count)
    for index in 0..<count where text[index] != otherText[index] { return text[index] < otherText[index] }
    return text.count < otherText.count
  }

  private func write(_ plan: EntityPlan, row: Int) throws(PersistentStoreError) {
    writer.append(plan.head)
    appendIdentifier(plan, row: row)
    // As in Core Data: an object without properties is on one line.
    guard
      !plan.relationships.isEmpty || plan.attributes.contains(where: { !plan.reader.isNull(slot: $0.index, row: row) })
    else {
      writer.append("\"></object>\n")
      return try writer.flushIfNeeded()
    }
    writer.append("\">\n")
    for slot in plan.attributes {
      if plan.reader.isNull(slot: slot.index, row: row) { continue }
      try writeAttribute(plan, slot, row)
    }
    for slot in plan.relationships { writeRelationship(plan, slot, row) }
    writer.append("    </object>\n")
    try writer.flushIfNeeded()
  }

  @inline(__always) private func appendIdentifier(_ plan: EntityPlan, row: Int) {
    guard row < plan.numberCount else {
      writer.append(byte: UInt8(ascii: "s"))
      let reader = plan.reader
      if let text = reader.textReference(row: row) { ObjectIdentifierText.append(text, to: writer) }
      return
    }
    writer.append(byte: UInt8(ascii: "z"))
    writer.append(integer: plan.numbers[row])
    if !plan.suffix.isEmpty { writer.append(plan.suffix) }
  }

  private func writeAttribute(_ plan: EntityPlan, _ slot: SlotPlan, _ row: Int) throws(PersistentStoreError) {
    let reader = plan.reader
    writer.append(slot.head)
    switch slot.type {
    case .string, .uri: StoreText.encode(reader.bytes(slot: slot.index, row: row), to: writer)
    case .boolean:
      writer.append(byte: reader.boolean(slot: slot.index, row: row) ? UInt8(ascii: "1") : UInt8(ascii: "0"))
    case .integer16, .integer32, .integer64: writer.append(integer: reader.integer(slot: slot.index, row: row))
    case .float: writer.append(float: reader.float(slot: slot.index, row: row), dropsPointZero: true)
    case .double: writer.append(double: reader.double(slot: slot.index, row: row), dropsPointZero: true)
    case .date: Self.append(date: reader.double(slot: slot.index, row: row), to: writer)
    case .decimal: writer.append(reader.bytes(slot: slot.index, row: row))
    case .uuid: writer.append(uuid: reader.uuid(slot: slot.index, row: row))
    case .binaryData, .transformable:
      Base64.encode(reader.bytes(slot: slot.index, row: row), to: writer, wrapping: .coreData)
    case .undefined: try writeUndefined(reader.value(slot: slot.index, row: row))
    case .composite: break
    }
    writer.append("</attribute>\n")
  }

  private static func append(date seconds: Double, to writer: ByteWriter) {
    // Twenty decimals if they are exact; otherwise the shortest exact text.
    if !writer.appendFixed20(seconds) { writer.append(double: seconds) }
  }

  /// Writes a value whose attribute has no type, with its own type: the element's open tag is completed here.
  private func writeUndefined(_ value: StoredValue) throws(PersistentStoreError) {
    guard let type = StoreTypeName.type(of: value) else {
      throw PersistentStoreError(.internalInconsistency, "\(value.kindDescription) in an attribute")
    }
    writer.append(StoreTypeName.name(of: type))
    writer.append("\">")
    switch value {
    case .boolean(let flag): writer.append(byte: flag ? UInt8(ascii: "1") : UInt8(ascii: "0"))
    case .integer(let number): writer.append(integer: number)
    case .float(let number): writer.append(float: number, dropsPointZero: true)
    case .double(let number): writer.append(double: number, dropsPointZero: true)
    case .decimal(let number): writer.append(number.description)
    case .string(let text), .uri(let text): StoreText.encode(Array(text.utf8).span, to: writer)
    case .data(let data): Base64.encode(Array(data).span, to: writer, wrapping: .coreData)
    case .date(let date): Self.append(date: date.timeIntervalSinceReferenceDate, to: writer)
    case .uuid(let uuid): writer.append(uuid: uuid)
    case .null, .toOne, .toMany: break
    }
  }

  private func writeRelationship(_ plan: EntityPlan, _ slot: SlotPlan, _ row: Int) {
    let reader = plan.reader
    writer.append(slot.head)
    if slot.isToMany {
      let nodes = reader.toMany(slot: slot.index, row: row)
      if nodes.count > 0 {
        writer.append(" idrefs=\"")
        for index in 0..<nodes.count {
          if index > 0 { writer.append(byte: UInt8(ascii: " ")) }
          appendIdentifier(plans[nodes[index].entity], row: nodes[index].row)
        }
        writer.append(byte: UInt8(ascii: "\""))
      }
    } else if let node = reader.toOne(slot: slot.index, row: row) {
      writer.append(" idrefs=\"")
      appendIdentifier(plans[node.entity], row: node.row)
      writer.append(byte: UInt8(ascii: "\""))
    }
    writer.append("></relationship>\n")
  }
}

/// The constant parts of one property's elements.
private struct SlotPlan {
  let index: Int
  let type: AttributeType
  let isToMany: Bool
  /// The open tag: complete for most attributes, otherwise up to the first part that varies.
  let head: [UInt8]
}

/// One entity's rows and their constant parts.
private final class EntityPlan {
  let reader: EntityReader
  let count: Int
  let head: [UInt8]
  let root: Int
  /// What follows a number in an identifier.
  var suffix: [UInt8] = []
  let attributes: [SlotPlan]
  let relationships: [SlotPlan]
  /// The integer references: they come first, and relationships access them in random order.
  let numbers: UnsafeMutablePointer<Int64>
  let numberCount: Int

  init(
    _ entity: Entity, _ reader: EntityReader, _ typeNames: [[UInt8]]
  ) throws(PersistentStoreError) {
    self.reader = reader
    root = entity.root.index
    count = reader.count
    head = Array("    <object type=\"".utf8) + typeNames[entity.index] + Array("\" id=\"".utf8)
    let written = NameFolding.property.written(entity.slots.map(\.name))
    var attributes: [SlotPlan] = []
    var relationships: [SlotPlan] = []
    for (slot, name) in zip(entity.slots, written) {
      let name = try NameText.encode(name, at: StoreLocation(entity: entity.name, property: slot.name))
      switch slot.kind {
      case .attribute(let type):
        let typeName = StoreTypeName.name(of: type)
        var head = Array("        <attribute name=\"".utf8) + name + Array("\" type=\"".utf8)
        head += UnsafeBufferPointer(start: typeName.utf8Start, count: typeName.utf8CodeUnitCount)
        head += Array((type == .undefined ? "\" valuetype=\"" : "\">").utf8)
        attributes.append(SlotPlan(index: slot.index, type: type, isToMany: false, head: head))
      case .toOne, .toMany:
        let counts = "\(slot.relationship?.minimumCount ?? 0)/\(slot.relationship?.maximumCount ?? 0)"
        let head =
          Array("        <relationship name=\"".utf8) + name + Array("\" type=\"\(counts)\" destination=\"".utf8)
          + (slot.destination.map { typeNames[$0] } ?? []) + [UInt8(ascii: "\"")]
        relationships.append(SlotPlan(index: slot.index, type: .undefined, isToMany: slot.isToMany, head: head))
      }
    }
    self.attributes = attributes
    self.relationships = relationships
    numbers = .allocate(capacity: max(count, 1))
    var numberCount = 0
    while numberCount < count, let number = reader.integerReference(row: numberCount) {
      (numbers + numberCount).initialize(to: number)
      numberCount += 1
    }
    self.numberCount = numberCount
  }

  deinit { numbers.deallocate() }
}

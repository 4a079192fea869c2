import AtomicStoreSPI
import Foundation
import Testing

/// Two entities, one below the other, and every kind of slot.
func everything() throws -> ManagedObjectModel {
  let types: [AttributeType] = [
    .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
    .uuid, .uri, .transformable,
  ]
  var properties = types.map {
    PropertyDescription.attribute($0.modelName.lowercased().replacingOccurrences(of: " ", with: ""), $0)
  }
  properties.append(
    .toOne("one", "Base", inverse: "many"))
  properties.append(
    .toMany("many", "Base", inverse: "one"))
  properties.append(
    .toMany("list", "Base", isOrdered: true))
  return try ManagedObjectModel(
    ModelDescription(entities: [
      EntityDescription(
        name: "Base", properties: properties,
        subentities: [
          EntityDescription(
            name: "Derived", properties: [.attribute("extra", .string)])
        ]),
      EntityDescription(name: "Abstract", isAbstract: true),
      EntityDescription(name: "Other"),
    ]))
}

let sampleValues: [(String, StoredValue)] = [
  ("undefined", .decimal(DecimalNumber(mantissa: 150, exponent: -2))), ("integer16", .integer(-32768)),
  ("integer32", .integer(2_147_483_647)), ("integer64", .integer(.min)),
  ("decimal", .decimal(DecimalNumber(mantissa: 150, exponent: -2, isNegative: true))),
  ("double", .double(-0.0)), ("float", .float(Float(bitPattern: 0x7FC0_0001))), ("string", .string("e\u{301}\0\r\n")),
  ("boolean", .boolean(false)), ("date", .date(Date(timeIntervalSinceReferenceDate: .leastNonzeroMagnitude))),
  ("binary", .data(Data([0, 255]))), ("uuid", .uuid(UUID())), ("uri", .uri("http://ex.com/a b")),
  ("transformable", .data(Data())),
]

@Suite("Node tables") struct NodeTableTests {
  @Test("entities are numbered by name, slots begin with the super-entity's")
  func layout() throws {
    let model = try everything()
    #expect(model.entities.map(\.name) == ["Abstract", "Base", "Derived", "Other"])
    let base = try #require(model.entity(named: "Base"))
    let derived = try #require(model.entity(named: "Derived"))
    #expect(derived.slots.prefix(base.slots.count).map(\.name) == base.slots.map(\.name))
    #expect(derived.slots.last?.name == "extra")
    #expect(derived.isKindOf(entity: base) && !base.isKindOf(entity: derived))
    #expect(derived.root == base)
  }

  @Test("a value is preserved to the bit", arguments: sampleValues.indices)
  func values(_ index: Int) throws {
    let (name, value) = sampleValues[index]
    let model = try everything()
    let base = try #require(model.entity(named: "Base"))
    let slot = try #require(base.slot(named: name))
    let builder = NodeTableBuilder(model: model)
    try builder.beginNode(entity: base.index, reference: 7)
    try builder.beginNode(entity: base.index, reference: 8)
    try builder.set(value, slot: slot)
    var table = try builder.finish()
    let node = try #require(table.handle(for: .integer(8), entity: base.index))
    #expect(table.value(slot: slot, of: node).isIdentical(to: value))
    #expect(table.value(slot: slot, of: NodeHandle(entity: base.index, row: 0)) == .null)
    // And through an edit, which leaves a copy alone.
    let before = table
    try table.set(.null, slot: slot, of: node)
    #expect(table.value(slot: slot, of: node) == .null)
    #expect(before.value(slot: slot, of: node) == value)
  }

  @Test("a value out of range is refused, naming object and property")
  func misfits() throws {
    let model = try everything()
    let base = try #require(model.entity(named: "Base"))
    let builder = NodeTableBuilder(model: model, file: "f")
    try builder.beginNode(entity: base.index, reference: 7, line: 12)
    for (name, value) in [
      ("integer16", StoredValue.integer(32768)), ("integer32", .integer(-2_147_483_649)), ("string", .integer(1)),
      ("boolean", .integer(1)), ("date", .double(1)), ("one", .string("x")), ("string", .toMany([])),
    ] {
      let slot = try #require(base.slot(named: name))
      do {
        try builder.set(value, slot: slot)
        Issue.record("\(name) took \(value)")
      } catch {
        #expect(error.code == .invalidValue)
        #expect(error.location == StoreLocation(file: "f", line: 12, entity: "Base", reference: "7", property: name))
      }
    }
    #expect(throws: PersistentStoreError.self) { try builder.set(utf8: [0xFF].span, slot: 7) }
    #expect(throws: PersistentStoreError.self) { try builder.set(decimal: Array("1,5".utf8).span, slot: 4) }
  }

  @Test(
    "decimal text is kept in its one canonical form",
    arguments: [
      ("1.50", "1.50"), ("-0", "0"), ("007", "7"), ("+3", "3"), ("1e2", "1E+2"), ("0.001", "0.001"), (".5", "0.5"),
      ("-0.0", "0.0"), ("5.", "5"), ("NaN", "NaN"),
      ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
    ])
  func decimals(_ given: String, _ kept: String) throws {
    let model = try everything()
    let base = try #require(model.entity(named: "Base"))
    let builder = NodeTableBuilder(model: model)
    try builder.beginNode(entity: base.index, reference: 1)
    try builder.set(decimal: Array(given.utf8).span, slot: 4)
    let table = try builder.finish()
    #expect(table.reader(of: base.index).string(slot: 4, row: 0) == kept)
    #expect(
      DecimalNumber(kept).map { StoredValue.decimal($0) }
        == table.value(slot: 4, of: NodeHandle(entity: base.index, row: 0)))
  }

  @Test("relationships resolve forwards, to sub-entities, and for strings and huge numbers too")
  func resolution() throws {
    let model = try everything()
    let base = try #require(model.entity(named: "Base"))
    let derived = try #require(model.entity(named: "Derived"))
    let one = try #require(base.slot(named: "one"))
    let many = try #require(base.slot(named: "many"))
    let list = try #require(base.slot(named: "list"))
    let builder = NodeTableBuilder(model: model)
    try builder.beginNode(entity: base.index, reference: 1)
    try builder.set(toOne: ReferenceObject.string("x"), slot: one)
    for reference in [ReferenceObject.string("x"), .integer(.min), .integer(1)] {
      try builder.append(toMany: reference, slot: many)
      try builder.append(toMany: reference, slot: list)
    }
    try builder.beginNode(entity: derived.index, reference: .string("x"))
    try builder.beginNode(entity: base.index, reference: .min)
    let table = try builder.finish()
    let node = try #require(table.handle(for: .integer(1), entity: base.index))
    let x = ObjectReference(entityName: "Derived", reference: .string("x"))
    let least = ObjectReference(entityName: "Base", reference: .integer(.min))
    let itself = ObjectReference(entityName: "Base", reference: .integer(1))
    #expect(table.value(slot: one, of: node) == .toOne(x))
    // Without an order: ascending. With one: as given.
    #expect(table.value(slot: many, of: node) == .toMany([least, itself, x]))
    #expect(table.value(slot: list, of: node) == .toMany([x, least, itself]))
  }

  @Test("a dangling reference names the row, its line and the property")
  func dangling() throws {
    let model = try everything()
    let base = try #require(model.entity(named: "Base"))
    let one = try #require(base.slot(named: "one"))
    let builder = NodeTableBuilder(model: model, file: "f.csv")
    try builder.beginNode(entity: base.index, reference: 1, line: 17)
    try builder.set(toOne: 99, slot: one)
    do {
      _ = try builder.finish()
      Issue.record("a dangling reference went by")
    } catch {
      #expect(error.code == .danglingReference)
      #expect("\(error)" == "f.csv:17 (Base/1.one): Base/99 does not exist")
    }
  }

  @Test("an error names the file that its row is in, where an entity's rows are in several", arguments: [1, 2, 3])
  func members(_ reference: Int64) throws {
    let model = try everything()
    let base = try #require(model.entity(named: "Base"))
    let one = try #require(base.slot(named: "one"))
    let builder = NodeTableBuilder(model: model, file: "store")
    for (number, member): (Int64, String) in [(1, "store/a"), (2, "store/a"), (3, "store/b")] {
      builder.setMember(member, entity: base.index)
      try builder.beginNode(entity: base.index, reference: number, line: Int(number))
      if number == reference { try builder.set(toOne: 99, slot: one) }
    }
    let error = #expect(throws: PersistentStoreError.self) { _ = try builder.finish() }
    #expect(error?.location.file == (reference == 3 ? "store/b" : "store/a") && error?.location.line == Int(reference))
  }

  @Test("a reference to another hierarchy's object, a duplicate reference, and an abstract entity's object are refused")
  func refusals() throws {
    let model = try everything()
    let base = try #require(model.entity(named: "Base"))
    let derived = try #require(model.entity(named: "Derived"))
    let other = try #require(model.entity(named: "Other"))
    let abstract = try #require(model.entity(named: "Abstract"))
    let one = try #require(base.slot(named: "one"))
    let list = try #require(base.slot(named: "list"))
    func code(_ fill: (NodeTableBuilder) throws -> Void) -> PersistentStoreError.Code? {
      let builder = NodeTableBuilder(model: model)
      do {
        try fill(builder)
        _ = try builder.finish()
        return nil
      } catch { return (error as? PersistentStoreError)?.code }
    }
    #expect(
      code {
        try $0.beginNode(entity: base.index, reference: 1)
        try $0.set(toOne: 2, slot: one)
        try $0.beginNode(entity: other.index, reference: 2)
      } == .danglingReference)
    #expect(
      code {
        try $0.beginNode(entity: base.index, reference: 1)
        try $0.beginNode(entity: derived.index, reference: 1)
      } == .duplicateReference)
    // Two hierarchies may use the same number.
    #expect(
      code {
        try $0.beginNode(entity: base.index, reference: 1)
        try $0.beginNode(entity: other.index, reference: 1)
      } == nil)
    #expect(code { try $0.beginNode(entity: abstract.index, reference: 1) } == .invalidValue)
    #expect(
      code {
        try $0.beginNode(entity: base.index, reference: 1)
        try $0.append(toMany: 1, slot: list)
        try $0.append(toMany: 1, slot: list)
      } == .malformed)
  }

  @Test("canonical order sorts rows, removes deleted ones, and translates handles")
  func canonical() throws {
    let model = try everything()
    let base = try #require(model.entity(named: "Base"))
    let one = try #require(base.slot(named: "one"))
    let string = try #require(base.slot(named: "string"))
    let builder = NodeTableBuilder(model: model)
    for reference in [Int64(5), 3, 9, 1] {
      try builder.beginNode(entity: base.index, reference: reference)
      try builder.set(.string("s\(reference)"), slot: string)
    }
    try builder.set(toOne: 5, slot: one)
    var table = try builder.finish()
    #expect(!table.isCanonical)
    table.remove(try #require(table.handle(for: .integer(3), entity: base.index)))
    let sorted = try table.canonical()
    #expect(sorted.handles(of: base.index).map { sorted.reference(of: $0) } == [.integer(1), .integer(5), .integer(9)])
    let first = try #require(sorted.handle(for: .integer(1), entity: base.index))
    #expect(sorted.value(slot: one, of: first) == .toOne(ObjectReference(entityName: "Base", reference: .integer(5))))
    #expect(sorted.value(slot: string, of: first) == .string("s1"))
    #expect(sorted.isCanonical)
    // A relationship to what was removed cannot be saved.
    table.remove(try #require(table.handle(for: .integer(5), entity: base.index)))
    #expect(throws: PersistentStoreError.self) { _ = try table.canonical() }
  }

  @Test("whole columns give the same table as values one by one")
  func columns() throws {
    let model = try everything()
    let base = try #require(model.entity(named: "Base"))
    let one = NodeTableBuilder(model: model)
    for row in 0..<100 {
      try one.beginNode(entity: base.index, reference: Int64(row))
      for (name, value) in sampleValues where row % 3 != 0 {
        try one.set(value, slot: try #require(base.slot(named: name)))
      }
      if row % 2 == 0 { try one.set(toOne: Int64(99 - row), slot: 14) }
      for other in 0..<row % 5 { try one.append(toMany: Int64(other), slot: 15) }
    }
    let table = try one.finish()
    let reader = table.reader(of: base.index)

    let other = NodeTableBuilder(model: model)
    let references = (0..<100).map { Int64($0) }
    try other.appendRows(entity: base.index, references: references.span)
    for slot in base.slots where !slot.isRelationship {
      let cells = reader.fixedCells(slot: slot.index)
      if cells.count > 0 {
        try other.fillFixed(
          entity: base.index, slot: slot.index, cells: cells, presence: reader.presenceBits(slot: slot.index))
      } else {
        var lengths: [UInt32] = []
        var heap: [UInt8] = []
        for row in 0..<100 {
          if reader.isNull(slot: slot.index, row: row) {
            lengths.append(.max)
          } else {
            let bytes = reader.bytes(slot: slot.index, row: row)
            lengths.append(UInt32(bytes.count))
            for index in 0..<bytes.count { heap.append(bytes[index]) }
          }
        }
        try other.fillBytes(entity: base.index, slot: slot.index, lengths: lengths.span, heap: heap.span)
      }
    }
    var bits = [UInt8](repeating: 0, count: 13)
    var ones: [Int64] = []
    var counts: [UInt32] = []
    var all: [Int64] = []
    for row in 0..<100 {
      if row % 2 == 0 { bits[row / 8] |= 1 << UInt8(row % 8) }
      ones.append(Int64(99 - row))
      counts.append(UInt32(row % 5))
      for item in 0..<row % 5 { all.append(Int64(item)) }
    }
    try other.fillToOne(entity: base.index, slot: 14, references: ones.span, presence: bits.span)
    try other.fillToMany(entity: base.index, slot: 15, counts: counts.span, references: all.span)
    let copy = try other.finish()
    for row in 0..<100 {
      for slot in base.slots {
        let node = NodeHandle(entity: base.index, row: row)
        #expect(copy.value(slot: slot.index, of: node).isIdentical(to: table.value(slot: slot.index, of: node)))
      }
    }
    // Sizes that do not fit are refused.
    let bad = NodeTableBuilder(model: model)
    try bad.appendRows(entity: base.index, references: references.span)
    #expect(throws: PersistentStoreError.self) {
      try bad.fillFixed(entity: base.index, slot: 1, cells: [1, 2, 3].span, presence: nil)
    }
    #expect(throws: PersistentStoreError.self) {
      try bad.fillBytes(
        entity: base.index, slot: 7, lengths: [UInt32](repeating: 1, count: 100).span, heap: [0x61].span)
    }
  }

  @Test("a builder after removeAll is as it was when created")
  func startsAgain() throws {
    let model = try everything()
    let builder = NodeTableBuilder(model: model, file: "a")
    let base = try #require(model.entity(named: "Base"))
    let text = try #require(base.slot(named: "string"))
    let one = try #require(base.slot(named: "one"))
    let many = try #require(base.slot(named: "many"))
    for number in 0..<200 {
      try builder.beginNode(entity: base.index, reference: .string("key \(number)"), line: number + 1)
      try builder.set(.string("old"), slot: text)
      // No one has this reference: it must not be asked for any more.
      try builder.set(toOne: .string("unknown"), slot: one)
      try builder.append(toMany: Int64.max, slot: many)
      builder.attach(number)
      builder.defer(slot: text)
    }
    builder.removeAll()
    #expect(builder.count(of: base.index) == 0)
    #expect(builder.location() == StoreLocation(file: "a"))
    try builder.beginNode(entity: base.index, reference: 7)
    try builder.set(toOne: 7, slot: one)
    let nodes = try builder.finish()
    #expect(nodes.count == 1)
    let node = NodeHandle(entity: base.index, row: 0)
    #expect(nodes.reference(of: node) == .integer(7))
    #expect(nodes.value(forKey: "string", of: node) == .null)
    #expect(nodes.value(forKey: "many", of: node) == .toMany([]))
    #expect(nodes.reader(of: base.index).toOne(slot: one, row: 0) == node)
  }
}

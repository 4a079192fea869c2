import AtomicStoreSPI
import Foundation
import Testing

@Suite("Memory of node tables") struct NodeTableMemoryTests {
  private static func model(_ kinds: [AttributeType]) throws -> ManagedObjectModel {
    var properties: [PropertyDescription] = kinds.enumerated().map {
      .attribute("a\($0.offset)", $0.element)
    }
    properties.append(.toOne("one", "Node"))
    properties.append(
      .toMany("many", "Node"))
    return try ManagedObjectModel(ModelDescription(entities: [EntityDescription(name: "Node", properties: properties)]))
  }
  private static let kinds: [AttributeType] = [
    .boolean, .integer16, .integer32, .integer64, .float, .double, .date, .uuid, .string, .binaryData, .decimal,
    .undefined,
  ]

  @Test("a property without values is null in all rows, and can be set later", arguments: [1, 7, 8, 9, 200])
  func unused(_ rows: Int) throws {
    let model = try Self.model(Self.kinds)
    let builder = NodeTableBuilder(model: model)
    for row in 0..<rows { try builder.beginNode(entity: 0, reference: Int64(rows - row)) }
    var table = try builder.finish()
    for round in 0..<2 {
      let reader = table.reader(of: 0)
      for slot in model.entities[0].slots {
        for row in 0..<rows {
          #expect(reader.isNull(slot: slot.index, row: row))
          #expect(reader.value(slot: slot.index, row: row) == (slot.isToMany ? .toMany([]) : .null))
        }
        #expect(reader.fixedCells(slot: slot.index).count % rows == 0)
        #expect(reader.toOne(slot: slot.index, row: rows - 1) == nil)
      }
      if round == 0 { table = try table.canonical() }
    }
    let one = NodeHandle(entity: 0, row: rows - 1)
    let before = table
    let slot = try #require(model.entities[0].slot(named: "a3"))
    try table.set(.integer(5), slot: slot, of: one)
    #expect(table.value(slot: slot, of: one) == .integer(5))
    #expect(before.value(slot: slot, of: one) == .null)
    // Another of the same layout shared the column with it.
    let text = try #require(model.entities[0].slot(named: "a8"))
    let bytes = try #require(model.entities[0].slot(named: "a9"))
    try table.set(.string("x"), slot: text, of: one)
    #expect(table.value(slot: bytes, of: one) == .null)
    let added = try table.addCacheNode(entity: 0, reference: .integer(1_000_000))
    try table.set(.string("y"), slot: text, of: added)
    #expect(table.value(slot: text, of: added) == .string("y") && table.value(slot: text, of: one) == .string("x"))
    #expect(table.value(slot: slot, of: added) == .null)
  }

  @Test("a value that only the last row has, or only the first, is in that row only", arguments: [0, 99])
  func late(_ place: Int) throws {
    let model = try Self.model(Self.kinds)
    let builder = NodeTableBuilder(model: model)
    for row in 0..<100 {
      try builder.beginNode(entity: 0, reference: Int64(row))
      guard row == place else { continue }
      for slot in 0..<4 { try builder.set(slot == 0 ? .boolean(true) : .integer(7), slot: slot) }
      try builder.set(.string("text"), slot: 8)
      try builder.set(toOne: 50, slot: Self.kinds.count)
      try builder.append(toMany: 3, slot: Self.kinds.count + 1)
    }
    let reader = try builder.finish().reader(of: 0)
    for row in 0..<100 {
      for slot in [0, 1, 2, 3, 8, 12, 13] { #expect(reader.isNull(slot: slot, row: row) == (row != place)) }
      for slot in [4, 5, 6, 7, 9, 10, 11] { #expect(reader.isNull(slot: slot, row: row)) }
    }
    #expect(reader.integer(slot: 3, row: place) == 7 && reader.toOne(slot: 12, row: place)?.row == 50)
  }

  @Test("values that need more memory than the limit are refused with the limit's name, the entity and the property")
  func limited() throws {
    let model = try Self.model(Array(repeating: .integer64, count: 1000))
    var limits = StoreLimits()
    limits.memory = 1 << 20
    let builder = NodeTableBuilder(model: model, file: "store", limits: limits, inputBytes: 0)
    do {
      for row in 0..<1000 {
        try builder.beginNode(entity: 0, reference: Int64(row))
        for slot in 0..<1000 { try builder.set(integer: 1, slot: slot) }
      }
      Issue.record("1,000 columns of 1,000 rows take 8 MB")
    } catch {
      #expect(error.code == .limitExceeded)
      #expect(error.message.contains("'maximumMemory' of 1048576"))
      #expect(error.location.file == "store" && error.location.entity == "Node" && error.location.property != nil)
    }
    // Started again, there is as much room as at first.
    builder.removeAll()
    try builder.beginNode(entity: 0, reference: 1)
    try builder.set(integer: 1, slot: 0)
    #expect(try builder.finish().count == 1)
  }

  @Test("long strings count as well, and shared columns each time they are filled")
  func heaps() throws {
    var limits = StoreLimits()
    limits.memory = 1 << 20
    let model = try Self.model([.string, .string, .binaryData])
    let builder = NodeTableBuilder(model: model, limits: limits, inputBytes: 0)
    try builder.beginNode(entity: 0, reference: 1)
    let text = [UInt8](repeating: UInt8(ascii: "x"), count: 700_000)
    try builder.set(utf8: text.span, slot: 0)
    // At the latest when all values are there.
    #expect(throws: PersistentStoreError.self) {
      try builder.set(utf8: text.span, slot: 1)
      _ = try builder.finish()
    }
    let other = NodeTableBuilder(model: model, limits: limits, inputBytes: 0)
    try other.appendRows(entity: 0, references: ([1] as [Int64]).span)
    let lengths: [UInt32] = [700_000]
    try other.fillBytes(entity: 0, slot: 0, lengths: lengths.span, heap: text.span)
    #expect(throws: PersistentStoreError.self) {
      try other.fillBytes(entity: 0, slot: 2, lengths: lengths.span, heap: text.span)
      _ = try other.finish()
    }
  }

  @Test("string references count as well: their texts, and what finding their objects takes", arguments: [8, 40])
  func stringReferences(_ length: Int) throws {
    let model = try Self.model([])
    func load(_ memory: Int) throws {
      var limits = StoreLimits()
      limits.memory = memory
      let builder = NodeTableBuilder(model: model, limits: limits, inputBytes: 0)
      let end = String(repeating: "x", count: length - 6)
      for row in 100_000..<120_000 {
        try builder.beginNode(entity: 0, reference: .string("\(row)" + end))
        try builder.set(toOne: .string("100007" + end), slot: 0)
      }
      #expect(try builder.finish().count == 20_000)
    }
    try load(16 << 20)
    // The cells alone take less.
    let error = #expect(throws: PersistentStoreError.self) { try load(3 << 19) }
    #expect(error?.code == .limitExceeded)
  }

  @Test("the memory limit for values is 32 MB plus 48 times the input, or as the option specifies")
  func amount() throws {
    #expect(StoreLimits().memory(forInput: 0) == 32 << 20)
    #expect(StoreLimits().memory(forInput: 1000) == (32 << 20) + 48_000)
    #expect(StoreLimits().memory(forInput: .max) == .max)
    var options: StoreOptions = ["maximumMemory": "5", "other": "x"]
    let limits = try StoreLimits(taking: &options)
    #expect(limits.memory(forInput: 1000) == 5 && options == ["other": "x"])
    options = ["maximumMemory": "-1"]
    #expect(throws: PersistentStoreError.self) { try StoreLimits(taking: &options) }
  }
}

import TestSupport
import Testing

@testable import AtomicStoreSPI
@testable import StorePrimitives

@Suite("Nodes by numbers and texts") struct SparseReferenceTests {
  @Test("nodes by scattered numbers are like a dictionary, also after removals", arguments: 1...10)
  func sparse(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var nodes = seed % 2 == 0 ? SparseNodes() : SparseNodes(expecting: 100)
    var right: [Int64: UInt64] = [:]
    let numbers = (0..<300).map { index -> Int64 in
      switch index % 4 {
      case 0: Int64(index) << 40
      case 1: Int64.random(in: .min ... .max, using: &random)
      case 2: -Int64(index)
      default: index % 8 == 3 ? .max - Int64(index) : .min + Int64(index)
      }
    }
    for round in 0..<5000 {
      let number = numbers[Int.random(in: 0..<numbers.count, using: &random)]
      #expect(nodes[number] == right[number])
      // Mostly additions first, mostly removals later, and again.
      let value = Int.random(in: 0..<10, using: &random) < (round / 1000 % 2 == 0 ? 7 : 3) ? UInt64(round) : nil
      nodes[number] = value
      right[number] = value
      #expect(nodes.isEmpty == right.isEmpty)
    }
    for number in numbers { #expect(nodes[number] == right[number]) }
    let copy = nodes
    nodes[numbers[0]] = 1
    #expect(copy[numbers[0]] == right[numbers[0]])
  }

  @Test("texts have the numbers of their first additions", arguments: 1...5)
  func texts(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var numbers = TextNumbers()
    var right: [[UInt8]: Int] = [:]
    for _ in 0..<3000 {
      let text = (0..<Int.random(in: 0...20, using: &random)).map { _ in UInt8.random(in: 97...98, using: &random) }
      text.withUnsafeBufferPointer { #expect(numbers.number(of: $0) == right[text]) }
      let number = text.withUnsafeBufferPointer { numbers.add($0) }
      #expect(number == right[text] ?? right.count)
      right[text] = number
      #expect(numbers.withBytes(of: number) { Array($0) } == text)
      #expect(text.withUnsafeBufferPointer { numbers.isText($0, number) })
    }
    #expect(numbers.count == right.count)
  }

  @Test("texts of a batch have the numbers that they would have one after the other", arguments: 1...5)
  func batches(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (numbers, right, batch) = (TextNumbers(expecting: 4000), TextNumbers(), TextBatch())
    var expected: [Int] = []
    for _ in 0..<9000 {
      let length = Int.random(in: 0...12, using: &random)
      let text = (0..<length).map { _ in UInt8.random(in: 97...98, using: &random) }
      if Bool.random(using: &random) {
        text.withUnsafeBufferPointer { batch.append($0) }
      } else {
        batch.bytes += [1, 2, 3]
        batch.cancelText()
        batch.bytes += text
        batch.endText()
      }
      expected.append(text.withUnsafeBufferPointer { right.add($0) })
      guard batch.isFull || Int.random(in: 0..<300, using: &random) == 0 else { continue }
      #expect(batch.takeNumbers(from: &numbers) == expected)
      #expect(batch.count == 0 && batch.takeNumbers(from: &numbers).isEmpty)
      expected = []
    }
    #expect(batch.takeNumbers(from: &numbers) == expected && numbers.count == right.count)
  }

  @Test("texts that all differ have their numbers, however many are expected", arguments: [0, 100, 3500, 50_000])
  func manyTexts(expected: Int) {
    var numbers = TextNumbers(expecting: expected)
    func text(_ number: Int) -> [UInt8] { Array("\(number &* 7919 % 100_003)".utf8) }
    for number in 0..<20_000 {
      #expect(text(number).withUnsafeBufferPointer { numbers.add($0) } == number)
    }
    for number in stride(from: 0, to: 19_999, by: 7) {
      #expect(text(number).withUnsafeBufferPointer { numbers.number(of: $0) } == number)
      #expect(text(number).withUnsafeBufferPointer { numbers.add($0) } == number)
      #expect(text(number).withUnsafeBufferPointer { numbers.isText($0, number) && !numbers.isText($0, number + 1) })
    }
    #expect(text(20_000).withUnsafeBufferPointer { numbers.number(of: $0) } == nil && numbers.count == 20_000)
  }

  @Test("first texts that are far longer than the others take no room for all")
  func longFirstTexts() {
    var numbers = TextNumbers(expecting: 3_000_000)
    var text = [UInt8](repeating: 97, count: 16_000)
    for number in 0..<3_100 {
      text.replaceSubrange(0..<2, with: [UInt8(number & 63) + 32, UInt8(number >> 6) + 32])
      #expect(text.withUnsafeBufferPointer { numbers.add($0) } == number)
    }
    #expect(numbers.bytes.capacity < numbers.bytes.count * 3)
  }

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node", properties: [.toOne("one", "Node"), .toMany("many", "Node", isOrdered: true)])
      ]))
  }

  private static func builder() throws -> NodeTableBuilder {
    let builder = NodeTableBuilder(model: try model())
    try builder.appendRows(entity: 0, references: ([1, 0, 3] as [Int64]).span)
    builder.setReference("b", entity: 0, row: 1)
    return builder
  }

  @Test("a relationship filled from a list of references has the objects of each row, and a second fill replaces them")
  func filled() throws {
    let builder = try Self.builder()
    let names = [
      try builder.numbered(utf8: Array("b".utf8).span, entity: 0), builder.numbered(3), builder.numbered(1),
    ]
    let entity = try Self.model().entities[0]
    let one = try #require(entity.slot(named: "one"))
    let many = try #require(entity.slot(named: "many"))
    func fill(_ slot: Int, _ counts: [UInt32], _ indexes: [Int]) throws {
      let references = indexes.map { names[$0] }
      try builder.fillRelationship(entity: 0, slot: slot, counts: counts.span, references: references.span)
    }
    try fill(one, [1, 1, 1], [0, 0, 0])
    try fill(one, [1, 0, 1], [0, 2])
    try fill(many, [3, 0, 0], [0, 1, 2])
    try fill(many, [0, 2, 1], [1, 0, 2])
    let table = try builder.finish().canonical()
    func value(_ slot: Int, _ row: Int) -> StoredValue { table.value(slot: slot, of: NodeHandle(entity: 0, row: row)) }
    func object(_ reference: ReferenceObject) -> ObjectReference {
      ObjectReference(entityName: "Node", reference: reference)
    }
    // In ascending order of reference, texts behind numbers.
    let rows = (0..<3).map { table.reference(of: NodeHandle(entity: 0, row: $0)) }
    #expect(rows == [.integer(1), .integer(3), .string("b")])
    #expect(value(one, 0) == .toOne(object(.string("b"))) && value(one, 2) == .null)
    #expect(value(one, 1) == .toOne(object(.integer(1))))
    #expect(value(many, 0) == .toMany([]) && value(many, 1) == .toMany([object(.integer(1))]))
    #expect(value(many, 2) == .toMany([object(.integer(3)), object(.string("b"))]))
  }

  @Test(
    "counts and references that do not fit are refused",
    arguments: [
      ("one", [1, 1], [0, 0]), ("one", [2, 0, 0], [0, 0]), ("one", [1, 0, 0], []), ("one", [0, 0, 0], [0]),
      ("many", [1, 1, 1], [0, 1]), ("many", [1, 1, 0], [0, 1, 2]), ("many", [.max, 0, 0], [0]),
    ] as [(String, [UInt32], [Int])])
  func refused(_ name: String, _ counts: [UInt32], _ indexes: [Int]) throws {
    let builder = try Self.builder()
    let slot = try #require(try Self.model().entities[0].slot(named: name))
    let names = [
      builder.numbered(1), builder.numbered(3), try builder.numbered(utf8: Array("b".utf8).span, entity: 0),
    ]
    let references = indexes.map { names[$0] }
    #expect(throws: PersistentStoreError.self) {
      try builder.fillRelationship(entity: 0, slot: slot, counts: counts.span, references: references.span)
    }
  }

  @Test("references that have numbers fill rows and relationships like the references themselves")
  func numbered() throws {
    let builder = NodeTableBuilder(model: try Self.model())
    try builder.appendRows(entity: 0, references: ([7, 0] as [Int64]).span)
    let text = try builder.numbered(utf8: Array("b".utf8).span, entity: 0)
    try builder.setReference(text, entity: 0, row: 1)
    let far = builder.numbered(.max)
    let one = try #require(try Self.model().entities[0].slot(named: "one"))
    try builder.fillRelationship(
      entity: 0, slot: one, counts: ([1, 1] as [UInt32]).span, references: [text, builder.numbered(7)].span)
    #expect(throws: PersistentStoreError.self, "an integer is not a text") {
      try builder.setReference(far, entity: 0, row: 0)
    }
    #expect(throws: PersistentStoreError.self, "not UTF-8") {
      _ = try builder.numbered(utf8: ([0xFF] as [UInt8]).span, entity: 0)
    }
    #expect(throws: PersistentStoreError.self, "another builder does not have the texts of this one") {
      let other = NodeTableBuilder(model: try Self.model())
      try other.appendRows(entity: 0, references: ([1] as [Int64]).span)
      try other.fillRelationship(entity: 0, slot: one, counts: ([1] as [UInt32]).span, references: [text].span)
    }
    let table = try builder.finish()
    func value(_ row: Int) -> StoredValue { table.value(slot: one, of: NodeHandle(entity: 0, row: row)) }
    #expect(value(0) == .toOne(ObjectReference(entityName: "Node", reference: .string("b"))))
    #expect(value(1) == .toOne(ObjectReference(entityName: "Node", reference: .integer(7))))
  }
}

import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@Suite("String references") struct StringReferenceTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [.toOne("one", "Node"), .toMany("many", "Node"), .toMany("list", "Node", isOrdered: true)],
          subentities: [EntityDescription(name: "Sub")]),
        EntityDescription(name: "Other", properties: [.toOne("node", "Node")]),
      ]))
  }

  /// Texts that are equal strings in Swift, texts that begin like others, and the empty one.
  private static func reference(_ number: Int) -> ReferenceObject {
    switch number % 7 {
    case 0: .integer(Int64(number) - 50)
    case 1: .string("é\(number)")
    case 2: .string("e\u{301}\(number - 1)")
    case 3: .string(number == 3 ? "" : String(repeating: "long text ", count: number % 20) + "\(number)")
    case 4: .integer(Int64.max - Int64(number))
    default: .string("\(number)")
    }
  }

  @Test("a new number is not the text of any string reference, in a table that was loaded and in one that was edited")
  func newNumbers() throws {
    let model = try Self.model()
    let texts = [
      "", "1", "2", "02", "+3", "4 ", " 5", "６", "7", "-1", "-0", "0", "8a", "9223372036854775807",
      "9223372036854775808", "100000000000000000000", "10.0", "1e1",
    ]
    let builder = NodeTableBuilder(model: model)
    for text in texts { try builder.beginNode(entity: 0, reference: .string(text)) }
    try builder.beginNode(entity: 0, reference: 12)
    let loaded = try builder.finish()
    // As it is after an edit: with its own table.
    var edited = loaded
    _ = try edited.addCacheNode(entity: 0, reference: .string("13"))
    for (nodes, first) in [(loaded, 13), (edited, 14)] as [(NodeTable, Int64)] {
      var given: [Int64] = []
      var number: Int64 = -2
      while given.count < 12 {
        number = try nodes.nextIntegerReference(after: number, entity: 0)
        given.append(number)
      }
      #expect(given == [3, 4, 5, 6, 8, 9, 10, 11, 12] + [first, first + 1, first + 2])
      let error = #expect(throws: PersistentStoreError.self) {
        try nodes.nextIntegerReference(after: .max - 1, entity: 0)
      }
      #expect(error?.code == .limitExceeded)
      #expect(try nodes.nextIntegerReference(after: .max - 2, entity: 0) == .max - 1)
    }
  }

  @Test("random references are resolved, lists sorted, rows found, however they are given", arguments: 0..<20)
  func random(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let model = try Self.model()
    let entity = try #require(model.entity(named: "Node"))
    let sub = try #require(model.entity(named: "Sub"))
    let slots = try (
      one: #require(entity.slot(named: "one")), many: #require(entity.slot(named: "many")),
      list: #require(entity.slot(named: "list"))
    )
    let numbers = (0..<200).shuffled(using: &generator)
    let builder = NodeTableBuilder(model: model)
    var wanted: [ReferenceObject: (one: ReferenceObject, many: [ReferenceObject])] = [:]
    var isSub: [ReferenceObject: Bool] = [:]
    for number in numbers { isSub[Self.reference(number)] = Bool.random(using: &generator) }
    for number in numbers {
      let reference = Self.reference(number)
      let index = isSub[reference] == true ? sub.index : entity.index
      let inBytes = Bool.random(using: &generator)
      if inBytes, case .string(let text) = reference {
        try builder.beginNode(entity: index, utf8: Array(text.utf8).span)
      } else {
        try builder.beginNode(entity: index, reference: reference)
      }
      let one = Self.reference(Int.random(in: 0..<200, using: &generator))
      let many = Array(Set((0..<5).map { _ in Self.reference(Int.random(in: 0..<200, using: &generator)) }))
        .sorted().shuffled(using: &generator)
      wanted[reference] = (one, many)
      if inBytes, case .string(let text) = one {
        try builder.set(toOneUTF8: Array(text.utf8).span, slot: slots.one)
      } else {
        try builder.set(toOne: one, slot: slots.one)
      }
      for member in many {
        if inBytes, case .string(let text) = member {
          try builder.append(toManyUTF8: Array(text.utf8).span, slot: slots.many)
          try builder.append(toManyUTF8: Array(text.utf8).span, slot: slots.list)
        } else {
          try builder.append(toMany: member, slot: slots.many)
          try builder.append(toMany: member, slot: slots.list)
        }
      }
    }
    let table = try builder.finish()
    for nodes in [table, try table.canonical()] {
      for (reference, links) in wanted {
        let node = try #require(nodes.handle(for: reference, entity: entity.index))
        #expect(nodes.reference(of: node) == reference)
        guard case .toOne(let one) = nodes.value(slot: slots.one, of: node),
          case .toMany(let many) = nodes.value(slot: slots.many, of: node),
          case .toMany(let list) = nodes.value(slot: slots.list, of: node)
        else {
          Issue.record("not a relationship")
          return
        }
        #expect(one.reference == links.one)
        #expect(many.map(\.reference) == links.many.sorted())
        #expect(list.map(\.reference) == links.many)
      }
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        var bytes: [UInt8]?
        if let text = reader.textReference(row: row) { bytes = text.withUnsafeBufferPointer { Array($0) } }
        switch reader.reference(row: row) {
        case .integer: #expect(bytes == nil)
        case .string(let wanted): #expect(bytes == Array(wanted.utf8))
        }
      }
    }
    #expect(table.handle(for: .string("no such object"), entity: entity.index) == nil)
    let rows = try table.canonical().handles(of: entity.index).map { table.reference(of: $0) }
    #expect(rows.count == table.count(of: entity.index))
    let ordered = try table.canonical()
    let references = ordered.handles(of: entity.index).map { ordered.reference(of: $0) }
    #expect(references == references.sorted())
  }

  @Test("a text that two objects have is refused, with both, as is one that no object has")
  func errors() throws {
    let model = try Self.model()
    let node = try #require(model.entity(named: "Node"))
    let other = try #require(model.entity(named: "Other"))
    let twice = NodeTableBuilder(model: model, file: "file")
    try twice.beginNode(entity: node.index, utf8: Array("a".utf8).span, line: 3)
    try twice.beginNode(entity: node.index, reference: .string("a"), line: 7)
    let duplicate = #expect(throws: PersistentStoreError.self) { _ = try twice.finish() }
    #expect(duplicate?.code == .duplicateReference)
    #expect(duplicate.map { "\($0)" }?.contains("file:3") == true && duplicate?.location.line == 7)

    let missing = NodeTableBuilder(model: model)
    try missing.beginNode(entity: node.index, reference: .string("é"))
    try missing.beginNode(entity: other.index, reference: .string("é"))
    try missing.set(toOneUTF8: Array("e\u{301}".utf8).span, slot: 0)
    let dangling = #expect(throws: PersistentStoreError.self) { _ = try missing.finish() }
    #expect(dangling?.code == .danglingReference && dangling?.location.property == "node")

    let broken = NodeTableBuilder(model: model)
    try broken.beginNode(entity: other.index, reference: 1)
    let bytes: [UInt8] = [0x61, 0xFF]
    for error in [
      #expect(throws: PersistentStoreError.self) { try broken.set(toOneUTF8: bytes.span, slot: 0) },
      #expect(throws: PersistentStoreError.self) { try broken.beginNode(entity: node.index, utf8: bytes.span) },
      #expect(throws: PersistentStoreError.self) {
        _ = try broken.numbered(utf8: bytes.span, entity: other.index)
      },
    ] { #expect(error?.code == .invalidValue) }
  }

  @Test("the last reference that is set for a row counts")
  func replaced() throws {
    let model = try Self.model()
    let builder = NodeTableBuilder(model: model)
    try builder.appendRows(entity: 0, references: ([0, 0, 5] as [Int64]).span)
    builder.setReference("b", entity: 0, row: 1)
    builder.setReference("a", entity: 0, row: 0)
    try builder.setReference(builder.numbered(utf8: Array("c".utf8).span, entity: 0), entity: 0, row: 1)
    let table = try builder.finish()
    #expect(table.handle(for: .string("b"), entity: 0) == nil)
    #expect(table.handle(for: .string("c"), entity: 0)?.row == 1)
    #expect(table.handle(for: .integer(5), entity: 0)?.row == 2)
    #expect(table.handle(for: .integer(0), entity: 0) == nil)
    #expect(!table.isCanonical)
  }

  @Test("objects are found by references added and removed at random, far apart and close together", arguments: 0..<10)
  func added(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed) + 100)
    var table = NodeTable(model: try Self.model())
    var known: [ReferenceObject: NodeHandle] = [:]
    // All that were ever added: to sort those that are there for each removal would take most of the test.
    var added: [ReferenceObject] = []
    let spread: Int64 = [10, 1000, 1 << 40, .max][seed % 4]
    var removals = 0
    for step in 0..<2000 {
      let number = seed % 2 == 0 ? Int64(step) * 2 + 1 : Int64.random(in: -spread / 2...spread / 2, using: &generator)
      let reference: ReferenceObject =
        Int.random(in: 0..<4, using: &generator) == 0 ? .string("\(number)") : .integer(number)
      #expect(table.handle(for: reference, entity: 0) == known[reference])
      if known[reference] == nil {
        known[reference] = try table.addCacheNode(entity: 0, reference: reference)
        added.append(reference)
      } else if let node = known.removeValue(forKey: reference) {
        table.remove(node)
      }
      if step % 5 == 0, let gone = added.randomElement(using: &generator), let node = known.removeValue(forKey: gone) {
        table.remove(node)
        removals += 1
        #expect(table.handle(for: gone, entity: 0) == nil)
      }
    }
    #expect(removals > 20)
    for (reference, node) in known { #expect(table.handle(for: reference, entity: 0) == node) }
    let canonical = try table.canonical()
    #expect(canonical.count == known.count)
    for reference in known.keys {
      #expect(canonical.handle(for: reference, entity: 0).map { canonical.reference(of: $0) } == reference)
    }
  }
}

import AtomicStoreSPI
import Testing

@Suite("Nodes with other references") struct RenamingTests {
  /// Two entities of one hierarchy, whose objects list each other.
  private static func table(_ count: Int) throws -> NodeTable {
    let properties: [PropertyDescription] = [
      .attribute("name", .string), .toOne("one", "Node"), .toMany("many", "Node"),
      .toMany("list", "Node", isOrdered: true),
    ]
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node", properties: properties, subentities: [EntityDescription(name: "Special")])
      ]))
    let builder = NodeTableBuilder(model: model)
    let (name, one) = (try slot("name", model), try slot("one", model))
    let (many, list) = (try slot("many", model), try slot("list", model))
    for row in 0..<count {
      let entity = row % 2
      try builder.beginNode(entity: entity, reference: Int64(row))
      try builder.set(.string("node \(row)"), slot: name)
      try builder.set(.toOne(object((row + 1) % count)), slot: one)
      let members = (0..<min(count, 5)).map { object((row * 3 + $0) % count) }
      try builder.set(.toMany(members), slot: many)
      try builder.set(.toMany(members.reversed()), slot: list)
    }
    return try builder.finish()
  }
  private static func object(_ row: Int) -> ObjectReference {
    ObjectReference(entityName: row % 2 == 0 ? "Node" : "Special", reference: .integer(Int64(row)))
  }
  private static func slot(_ name: String, _ model: ManagedObjectModel) throws -> Int {
    try #require(model.entities[0].slot(named: name))
  }

  /// What an object has, by the names of other objects.
  private static func content(_ nodes: NodeTable, _ node: NodeHandle) throws -> [String] {
    func name(_ reference: ObjectReference) throws -> String {
      let found = try #require(nodes.handle(for: reference))
      return "\(nodes.value(forKey: "name", of: found).map { "\($0)" } ?? "-")"
    }
    var result: [String] = []
    for slot in nodes.model.entity(at: node.entity).slots {
      switch nodes.value(slot: slot.index, of: node) {
      case .toOne(let reference): result.append("\(slot.name) \(try name(reference))")
      case .toMany(let list):
        let names = try list.map(name)
        result.append("\(slot.name) \(slot.keepsSequence ? names : names.sorted())")
      case let value: result.append("\(slot.name) \(value)")
      }
    }
    return result
  }

  @Test(
    "values and relationships stay, and lists without an order are in that of the new references",
    arguments: [1, 2, 7, 40])
  func stays(_ count: Int) throws {
    let before = try Self.table(count)
    var references: [Int: [ReferenceObject]] = [:]
    var expected: [ReferenceObject: [String]] = [:]
    for entity in 0..<2 {
      for node in before.handles(of: entity) {
        // Descending, and every third one a text.
        let row = node.row * 2 + entity
        let new: ReferenceObject = row % 3 == 0 ? .string("key \(count - row)") : .integer(Int64(1000 - row))
        references[entity, default: []].append(new)
        expected[new] = try Self.content(before, node)
      }
    }
    let after = try before.renaming(references)
    #expect(after.isCanonical)
    for (reference, content) in expected {
      let node = try #require(after.handle(for: reference, entity: 0))
      #expect(after.reference(of: node) == reference)
      #expect(try Self.content(after, node) == content)
      guard case .toMany(let list) = after.value(forKey: "many", of: node) else {
        Issue.record("a list is missing")
        continue
      }
      #expect(list.map(\.reference) == list.map(\.reference).sorted())
    }
    // What the table was made of is as it was.
    #expect(before.handle(for: .integer(0), entity: 0) == NodeHandle(entity: 0, row: 0))
  }

  @Test("two objects of a hierarchy cannot have the same reference", arguments: [0, 1])
  func duplicates(_ entity: Int) throws {
    let table = try Self.table(6)
    var references: [Int: [ReferenceObject]] = [
      0: [.string("a"), .string("b"), .string("c")], 1: [.string("d"), .string("e"), .string("f")],
    ]
    references[entity]?[2] = .string(entity == 0 ? "b" : "a")
    #expect(throws: PersistentStoreError.self) { try table.renaming(references) }
    references[entity]?[2] = .string("z")
    _ = try table.renaming(references)
  }
}

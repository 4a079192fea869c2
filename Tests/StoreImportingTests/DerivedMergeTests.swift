import AtomicStoreSPI
import Foundation
import StoreMaintenance
import Testing

@Suite("Derived attributes in merged stores") struct DerivedMergeTests {
  private static func model() throws -> ManagedObjectModel {
    func derived(_ name: String, _ type: AttributeType, _ expression: String) -> PropertyDescription {
      .attribute(AttributeDescription(name: name, type: type, derivationExpression: expression))
    }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("first", .string), .attribute("salary", .integer64), .attribute("bonus", .integer64),
            derived("search", .string, "canonical:(first)"), derived("total", .integer64, "salary + bonus"),
            derived("changed", .date, "now()"),
          ])
      ]))
  }

  /// One person; the derived values are right except for what the test passes.
  private static func people(
    _ first: String, salary: Int64, bonus: Int64, changed: TimeInterval, search: String? = nil
  ) throws -> NodeTable {
    let model = try model()
    var nodes = NodeTable(model: model)
    let node = try nodes.addCacheNode(entity: 0, reference: .integer(1))
    let values: [(String, StoredValue)] = [
      ("first", .string(first)), ("salary", .integer(salary)), ("bonus", .integer(bonus)),
      ("search", .string(search ?? first.lowercased())), ("total", .integer(salary + bonus)),
      ("changed", .date(Date(timeIntervalSinceReferenceDate: changed))),
    ]
    for (key, value) in values { try nodes.setValue(value, forKey: key, of: node) }
    return nodes
  }

  private static func expect(
    _ nodes: NodeTable, search: String, total: Int64, changed: TimeInterval,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try nodes.value("Person", 1, "search") == .string(search), sourceLocation: sourceLocation)
    #expect(try nodes.value("Person", 1, "total") == .integer(total), sourceLocation: sourceLocation)
    #expect(
      try nodes.value("Person", 1, "changed") == .date(Date(timeIntervalSinceReferenceDate: changed)),
      sourceLocation: sourceLocation)
  }

  @Test("changes of both sides do not conflict in what is derived from them: that follows, and the later time stays")
  func bothSides() throws {
    let base = try Self.people("Ada", salary: 100, bonus: 1, changed: 10)
    let mine = try Self.people("Ada", salary: 200, bonus: 1, changed: 30)
    let theirs = try Self.people("Eve", salary: 100, bonus: 5, changed: 20)
    for (one, other) in [(mine, theirs), (theirs, mine)] {
      let result = try StoreMerge().merge(base: base, one, other)
      #expect(result.settled.isEmpty)
      try Self.expect(result.nodes, search: "eve", total: 205, changed: 30)
    }
  }

  @Test("a rule that settles values settles what is derived from them", arguments: [true, false])
  func rules(takesFirst: Bool) throws {
    let one = try Self.people("Ada", salary: 100, bonus: 1, changed: 10)
    let other = try Self.people("Eve", salary: 100, bonus: 2, changed: 20)
    var merge = StoreMerge()
    let error = try #require(throws: StoreMerge.ConflictError.self) { _ = try merge.merge([one, other]) }
    #expect(error.conflicts.map(\.property) == ["first", "bonus"])
    merge.conflictRule = takesFirst ? .first : .last
    let result = try merge.merge([one, other])
    try Self.expect(result.nodes, search: takesFirst ? "ada" : "eve", total: takesFirst ? 101 : 102, changed: 20)
  }

  @Test(
    "the newer object wins in all properties, also in those after the one that says which is newer",
    arguments: [false, true])
  func newest(isFirst: Bool) throws {
    let (old, new) = (
      try Self.people("Ada", salary: 100, bonus: 1, changed: 10),
      try Self.people("Eve", salary: 90, bonus: 2, changed: 20)
    )
    var merge = StoreMerge()
    merge.conflictRule = .newest("bonus")
    let result = try merge.merge(isFirst ? [new, old] : [old, new])
    #expect(result.settled.count == 3)
    try Self.expect(result.nodes, search: "eve", total: 92, changed: 20)
  }

  @Test("what no one changed stays as it is, although it is not what the derivation gives")
  func untouched() throws {
    let base = try Self.people("Ada", salary: 1, bonus: 1, changed: 10, search: "other")
    try Self.expect(try StoreMerge().merge(base: base, base, base).nodes, search: "other", total: 2, changed: 10)
    let changed = try Self.people("Ada", salary: 7, bonus: 1, changed: 20, search: "other")
    try Self.expect(
      try StoreMerge().merge(base: base, base, changed).nodes, search: "ada", total: 8, changed: 20)
  }

  @Test("a derivation that has no result keeps its value, and nothing else is held up by it")
  func withoutResult() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("first", .string), .attribute("salary", .integer64),
            .attribute(
              AttributeDescription(name: "small", type: .integer16, derivationExpression: "salary + 1")),
          ])
      ]))
    func people(_ first: String, _ salary: Int64) throws -> NodeTable {
      var nodes = NodeTable(model: model)
      let node = try nodes.addCacheNode(entity: 0, reference: .integer(1))
      try nodes.setValue(.string(first), forKey: "first", of: node)
      try nodes.setValue(.integer(salary), forKey: "salary", of: node)
      return nodes
    }
    let base = try people("Ada", 1)
    let result = try StoreMerge().merge(base: base, try people("Ada", 40_000), try people("Eve", 1))
    #expect(try result.nodes.value("Person", 1, "first") == .string("Eve"))
    #expect(try result.nodes.value("Person", 1, "salary") == .integer(40_000))
    #expect(try result.nodes.value("Person", 1, "small") == .null)
  }
}

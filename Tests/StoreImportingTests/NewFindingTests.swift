import AtomicStoreSPI
import StoreImporting
import StoreMaintenance
import Testing

@Suite("What breaks a rule that was not broken before") struct NewFindingTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Team",
          properties: [
            .attribute("name", .string),
            .toMany("players", "Player", inverse: "team", minimumCount: 2, maximumCount: 4),
          ]),
        EntityDescription(
          name: "Player",
          properties: [
            .attribute("name", .string), .attribute("age", .integer16, maximum: .integer(100)),
            .toOne("team", "Team", inverse: "players"),
          ]),
      ]))
  }

  /// A team with so many players, the first of whom has an age. Four more have no team.
  private static func nodes(players count: Int64, age: Int64) throws -> NodeTable {
    var nodes = NodeTable(model: try model())
    let (team, player) = (
      try #require(nodes.model.entity(named: "Team")).index, try #require(nodes.model.entity(named: "Player")).index
    )
    let one = try nodes.addCacheNode(entity: team, reference: .integer(1))
    for number in 1...count + 4 {
      let node = try nodes.addCacheNode(entity: player, reference: .integer(number))
      if number <= count { try nodes.setValue(toOne("Team", 1), forKey: "team", of: node) }
      if number == 1 { try nodes.setValue(.integer(age), forKey: "age", of: node) }
    }
    let list = (0..<count).map { ObjectReference(entityName: "Player", reference: .integer($0 + 1)) }
    try nodes.setValue(.toMany(list), forKey: "players", of: one)
    return nodes
  }

  @Test(
    "a value that breaks a rule may stay, but not become another one that does; a number of objects may not get worse",
    arguments: [
      (6, 200, 6, 200, []), (6, 200, 7, 200, ["players"]), (6, 200, 5, 200, []), (6, 200, 4, 99, []),
      (6, 200, 6, 300, ["age"]), (6, 200, 6, 150, ["age"]), (4, 100, 5, 101, ["age", "players"]),
      (1, 1, 1, 1, []), (6, 1, 1, 1, ["players"]), (1, 1, 6, 1, ["players"]),
    ] as [(Int64, Int64, Int64, Int64, [String])])
  func worse(_ count: Int64, _ age: Int64, _ newCount: Int64, _ newAge: Int64, _ found: [String]) throws {
    let old = try Self.nodes(players: count, age: age)
    let new = try Self.nodes(players: newCount, age: newAge)
    let findings = NewFindings(in: new, .all) { _, _ in false }.since([(nodes: old, names: [:])])
    #expect(findings.compactMap(\.property) == found, "\(findings)")
  }

  @Test(
    "an import adds nothing to a to-many that has too many objects, and may take some away",
    arguments: [("id,name\n1,Ann\n", 0), ("id,team\n7,1\n", 1), ("id,team\n6,\n", 0), ("id,team\n6,\n7,1\n", 0)])
  func importing(_ table: String, _ problemCount: Int) throws {
    var importer = StoreImporter()
    importer.existing = try Self.nodes(players: 6, age: 200)
    importer.model = importer.existing?.model
    importer.existingObjects = .update
    let found = try problems(importer, [LibrarySample.source(table, "players.csv", entity: "Player")])
    #expect(found.count == problemCount, "\(found)")
  }
}

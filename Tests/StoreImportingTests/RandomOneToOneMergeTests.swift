import AtomicStoreSPI
import StoreImporting
import StoreMaintenance
import TestSupport
import Testing

@Suite("Merging random stores with one-to-one relationships") struct RandomOneToOneMergeTests {
  /// Employees and badges of some of the numbers from 1 to 5, some of them partners of each other.
  private static func staff(_ random: inout SeededGenerator) throws -> NodeTable {
    var importer = StoreImporter()
    importer.model = try StaffSample.model()
    let emps = (1...5).filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
    let badges = (1...5).filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
    let owned = badges.shuffled(using: &random)
    var buddies: [Int: Int] = [:]
    let pool = emps.shuffled(using: &random)
    for index in stride(from: 0, to: pool.count - 1, by: 2) where Bool.random(using: &random) {
      buddies[pool[index]] = pool[index + 1]
      buddies[pool[index + 1]] = pool[index]
    }
    let records = emps.enumerated().map { index, emp in
      let badge = index < owned.count && Bool.random(using: &random) ? "\(owned[index])" : ""
      return "\(emp),\(badge),\(buddies[emp].map(\.description) ?? "")\n"
    }
    return try importer.read(
      StaffSample.tables([
        "Emp": "id,badge,buddy\n" + records.joined(), "Badge": "id,name\n" + badges.map { "\($0),x\n" }.joined(),
      ])
    ).nodes
  }

  private static let ends = [("Emp", "badge"), ("Badge", "emp"), ("Emp", "buddy")]

  private static func expectEnds(of kept: NodeTable, in nodes: NodeTable, _ seed: UInt64) throws {
    for (entity, property) in ends {
      for reference in 1...5 as ClosedRange<Int64>
      where kept.handle(for: ObjectReference(entityName: entity, reference: .integer(reference))) != nil {
        let value = try kept.value(entity, reference, property)
        #expect(try nodes.value(entity, reference, property) == value, "\(seed): \(entity)/\(reference).\(property)")
      }
    }
  }

  @Test(
    "all values of the store that wins are in the result, whose ends agree",
    arguments: (1...100 as ClosedRange<UInt64>).share(of: "one-to-one unions"))
  func union(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let graphs = [try Self.staff(&random), try Self.staff(&random), try Self.staff(&random)]
    for rule in [StoreMerge.ConflictRule.first, .last] {
      var merge = StoreMerge()
      merge.conflictRule = rule
      let nodes = try merge.merge(graphs).nodes
      #expect(nodes.inverseDisagreements().isEmpty)
      try Self.expectEnds(of: rule == .first ? graphs[0] : graphs[2], in: nodes, seed)
    }
  }

  @Test(
    "with a base, the ends of the result agree, whatever both sides changed",
    arguments: (1...100 as ClosedRange<UInt64>).share(of: "one-to-one merges"))
  func threeWay(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (base, one, two) = (try Self.staff(&random), try Self.staff(&random), try Self.staff(&random))
    for rule in [StoreMerge.ConflictRule.first, .last] {
      var merge = StoreMerge()
      merge.conflictRule = rule
      #expect(try merge.merge(base: base, one, two).nodes.inverseDisagreements().isEmpty)
    }
  }
}

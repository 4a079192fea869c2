import AtomicStoreSPI
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Merging one-to-one relationships") struct OneToOneMergeTests {
  private static func staff(_ emps: String, _ badges: String, required: Set<String> = []) throws -> NodeTable {
    var importer = StoreImporter()
    importer.model = try StaffSample.model(required: required)
    return try importer.read(
      StaffSample.tables(["Emp": "id,name,badge,buddy\n" + emps, "Badge": "id,name\n" + badges])
    ).nodes
  }

  private static func merge(_ rule: StoreMerge.ConflictRule, _ graphs: [NodeTable]) throws -> StoreMerge.Result {
    var merge = StoreMerge()
    merge.conflictRule = rule
    let result = try merge.merge(graphs)
    #expect(StoreCheck(registry: StoreRegistry()).check(result.nodes).isSound)
    return result
  }

  @Test(
    "the side that wins decides both ends, also of objects that only the other side has",
    arguments: [(StoreMerge.ConflictRule.first, [1], [1], []), (.last, [2], [], [1])])
  func oneSided(rule: StoreMerge.ConflictRule, badge: [Int64], first: [Int64], second: [Int64]) throws {
    // Each store has its own badge for the same employee.
    let one = try Self.staff("1,Ann,1,\n", "1,x\n")
    let other = try Self.staff("1,Ann,2,\n", "2,y\n")
    let result = try Self.merge(rule, [one, other])
    #expect(try result.nodes.references("Emp", 1, "badge") == badge)
    #expect(try result.nodes.references("Badge", 1, "emp") == first)
    #expect(try result.nodes.references("Badge", 2, "emp") == second)
    let shown = rule == .first ? "Badge/2.emp: nil or Emp/1" : "Badge/1.emp: Emp/1 or nil"
    #expect(result.settled.map(\.description) == ["Emp/1.badge: Badge/1 or Badge/2", shown], "\(result.settled)")
  }

  @Test("of two employees who each are in one store only, one gets the badge of both stores", arguments: [false, true])
  func contested(isLast: Bool) throws {
    let one = try Self.staff("1,Ann,1,\n", "1,x\n")
    let other = try Self.staff("2,Bob,1,\n", "1,x\n")
    let nodes = try Self.merge(isLast ? .last : .first, [one, other]).nodes
    #expect(try nodes.references("Badge", 1, "emp") == [isLast ? 2 : 1])
    #expect(try nodes.references("Emp", 1, "badge") == (isLast ? [] : [1]))
    #expect(try nodes.references("Emp", 2, "badge") == (isLast ? [1] : []))
  }

  @Test("ends that contradict each other in a source stay so, also where its objects are renumbered")
  func contradictingSources() throws {
    var nodes = try Self.staff("1,Ann,1,\n", "1,x\n")
    let badge = try #require(nodes.handle(for: ObjectReference(entityName: "Badge", reference: .integer(1))))
    try nodes.setValue(.null, forKey: "emp", of: badge)
    #expect(nodes.inverseDisagreements().count == 1)
    var merge = StoreMerge()
    merge.matching = .nothing
    let merged = try merge.merge([nodes, nodes]).nodes
    #expect(merged.count == 4 && merged.inverseDisagreements().count == 2)
  }

  @Test("with three stores each is decided against those before it")
  func three() throws {
    let graphs = [
      try Self.staff("1,Ann,1,\n", "1,x\n"), try Self.staff("1,Ann,2,\n", "2,y\n"),
      try Self.staff("3,Cyd,2,\n", "2,y\n"),
    ]
    let last = try Self.merge(.last, graphs).nodes
    #expect(try last.references("Emp", 3, "badge") == [2] && last.references("Emp", 1, "badge").isEmpty)
    let first = try Self.merge(.first, graphs).nodes
    #expect(try first.references("Emp", 1, "badge") == [1] && first.references("Badge", 2, "emp").isEmpty)
    #expect(try first.references("Emp", 3, "badge").isEmpty)
  }

  @Test("a relationship that is its own inverse is decided at both ends", arguments: [false, true])
  func ownInverse(isLast: Bool) throws {
    let one = try Self.staff("1,Ann,,2\n2,Bob,,1\n", "1,x\n")
    let other = try Self.staff("1,Ann,,3\n3,Cyd,,1\n", "1,x\n")
    let nodes = try Self.merge(isLast ? .last : .first, [one, other]).nodes
    #expect(try nodes.references("Emp", 1, "buddy") == [isLast ? 3 : 2])
    #expect(try nodes.references("Emp", 2, "buddy") == (isLast ? [] : [1]))
    #expect(try nodes.references("Emp", 3, "buddy") == (isLast ? [1] : []))
  }

  @Test("with a base, the side that wins decides who has what both sides gave away", arguments: [false, true])
  func threeWay(isLast: Bool) throws {
    let base = try Self.staff("1,Ann,,\n2,Bob,,\n", "1,x\n")
    let ours = try Self.staff("1,Ann,1,\n2,Bob,,\n", "1,x\n")
    let theirs = try Self.staff("1,Ann,,\n2,Bob,1,\n", "1,x\n")
    var merge = StoreMerge()
    merge.conflictRule = isLast ? .last : .first
    let result = try merge.merge(base: base, ours, theirs)
    #expect(StoreCheck(registry: StoreRegistry()).check(result.nodes).isSound)
    #expect(try result.nodes.references("Badge", 1, "emp") == [isLast ? 2 : 1])
    #expect(try result.nodes.references("Emp", 1, "badge") == (isLast ? [] : [1]))
    #expect(try result.nodes.references("Emp", 2, "badge") == (isLast ? [1] : []))
    let cleared = isLast ? "Emp/1.badge: Badge/1 or nil" : "Emp/2.badge: nil or Badge/1"
    #expect(result.settled.map(\.description) == ["Badge/1.emp: Emp/1 or Emp/2", cleared], "\(result.settled)")
  }

  @Test("nothing is merged if the rule would take a required object from the side that loses")
  func required() throws {
    let one = try Self.staff("1,Ann,1,\n", "1,x\n", required: ["Emp.badge"])
    let other = try Self.staff("2,Bob,1,\n", "1,x\n", required: ["Emp.badge"])
    let error = #expect(throws: PersistentStoreError.self) { try Self.merge(.first, [one, other]) }
    #expect(error?.code == .inverseMismatch && error?.location.reference == "2" && error?.location.property == "badge")
    #expect(error?.message.contains("the model requires a value of 'badge'") ?? false)
  }

  @Test("without a rule the conflict is reported, and nothing is decided")
  func refused() throws {
    let graphs = [try Self.staff("1,Ann,1,\n", "1,x\n"), try Self.staff("1,Ann,2,\n", "2,y\n")]
    let error = #expect(throws: StoreMerge.ConflictError.self) { try Self.merge(.refuse, graphs) }
    #expect(error?.conflicts.map(\.description) == ["Emp/1.badge: Badge/1 or Badge/2"])
  }
}

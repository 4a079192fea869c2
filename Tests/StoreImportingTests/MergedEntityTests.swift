import AtomicStoreSPI
import StoreCoordination
import StoreImporting
import StoreMaintenance
import Testing

/// An employee who becomes a manager has other properties, and what refers to them names another entity.
@Suite("Merging objects that changed their entity") struct MergedEntityTests {
  private static func staff(_ employees: String, _ managers: String = "", _ projects: String = "") throws -> NodeTable {
    func relationship(_ name: String, _ to: String, _ inverse: String, _ count: Int) -> PropertyDescription {
      .relationship(
        RelationshipDescription(name: name, destinationEntityName: to, inverseName: inverse, maximumCount: count))
    }
    func attribute(_ name: String, _ type: AttributeType = .string) -> PropertyDescription {
      .attribute(AttributeDescription(name: name, type: type))
    }
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person", isAbstract: true,
          properties: [
            attribute("name"), relationship("boss", "Person", "staff", 1), relationship("staff", "Person", "boss", 0),
          ],
          subentities: [
            EntityDescription(name: "Employee", properties: [attribute("salary", .integer32)]),
            EntityDescription(
              name: "Manager",
              properties: [
                attribute("bonus"), attribute("car"), attribute("club"), relationship("projects", "Project", "lead", 0),
              ]),
          ]),
        EntityDescription(
          name: "Project", properties: [attribute("title"), relationship("lead", "Manager", "projects", 1)]),
      ]))
    return try importer.read([
      LibrarySample.source("id,name,salary,boss_id\n" + employees, "e.csv", entity: "Employee"),
      LibrarySample.source("id,name,bonus,car,club,boss_id\n" + managers, "m.csv", entity: "Manager"),
      LibrarySample.source("id,title,lead_id\n" + projects, "p.csv", entity: "Project"),
    ]).nodes
  }

  private static let employees = "1,Ada,10,2\n2,Bob,20,\n3,Cy,30,2\n"
  private static let others = "1,Ada,10,2\n3,Cy,30,2\n"
  private static func promoted() throws -> NodeTable { try staff(others, "2,Bob,big,VW,golf,\n", "7,Moon,2\n") }

  private static func differences(_ one: NodeTable, _ other: NodeTable) -> [String] {
    var options = GraphComparison.Options()
    options.comparesIdentity = false
    options.comparesMetadata = false
    return GraphComparison.differences(
      StoreSnapshot(nodes: one, metadata: StoreMetadata(storeType: "XML")),
      StoreSnapshot(nodes: other, metadata: StoreMetadata(storeType: "XML")),
      options: options
    ).map { "\($0)" }
  }
  private static func isSound(_ nodes: NodeTable) -> Bool { StoreCheck(registry: StoreRegistry()).check(nodes).isSound }

  @Test(
    "what one side alone changed is the result, whichever way the object went",
    arguments: [false, true], [false, true])
  func alone(_ isDemoted: Bool, _ isSwapped: Bool) throws {
    let (old, new) = try (Self.staff(Self.employees), Self.promoted())
    let (base, side) = isDemoted ? (new, old) : (old, new)
    let merged = try StoreMerge().merge(base: base, isSwapped ? side : base, isSwapped ? base : side)
    #expect(Self.differences(merged.nodes, side).isEmpty && merged.settled.isEmpty && Self.isSound(merged.nodes))
    // Also if both made the same change.
    let twice = try StoreMerge().merge(base: base, side, side)
    #expect(Self.differences(twice.nodes, side).isEmpty && twice.settled.isEmpty)
  }

  @Test("a promotion and changes of other objects are put together", arguments: [false, true])
  func together(_ isSwapped: Bool) throws {
    let base = try Self.staff(Self.employees)
    // One more member of the staff, a raise, and one who leaves.
    let changed = try Self.staff("2,Bob,20,\n3,Cy,31,2\n4,Dee,5,2\n")
    let side = try Self.promoted()
    let merged = try StoreMerge().merge(base: base, isSwapped ? side : changed, isSwapped ? changed : side).nodes
    #expect(
      Self.differences(merged, try Self.staff("3,Cy,31,2\n4,Dee,5,2\n", "2,Bob,big,VW,golf,\n", "7,Moon,2\n")).isEmpty)
    #expect(try merged.value("Manager", 2, "staff") == toMany("Employee", 3, 4) && Self.isSound(merged))
  }

  @Test(
    "a promotion and a change of the same object are a conflict, and the rule takes one of them whole",
    arguments: [false, true])
  func conflict(_ isSwapped: Bool) throws {
    let base = try Self.staff(Self.employees)
    let raised = try Self.staff("1,Ada,10,2\n2,Bob,25,\n3,Cy,30,2\n")
    let side = try Self.staff(Self.others, "2,Bob,big,VW,golf,\n")
    let sides = isSwapped ? (side, raised) : (raised, side)
    var merge = StoreMerge()
    let error = try #require(throws: StoreMerge.ConflictError.self) {
      _ = try merge.merge(base: base, sides.0, sides.1)
    }
    #expect(
      error.conflicts.map(\.description) == [
        "Employee/2: " + (isSwapped ? "now of the entity Manager or changed" : "changed or now of the entity Manager")
      ])
    for rule in [StoreMerge.ConflictRule.first, .last] {
      merge.conflictRule = rule
      let merged = try merge.merge(base: base, sides.0, sides.1)
      #expect(Self.differences(merged.nodes, rule == .first ? sides.0 : sides.1).isEmpty && merged.settled.count == 1)
      #expect(Self.isSound(merged.nodes))
    }
  }

  @Test(
    "a reference that one side made, and that the other side's change of an entity forbids, is not lost silently",
    arguments: [false, true])
  func forbidden(_ isSwapped: Bool) throws {
    let base = try Self.staff(Self.others, "2,Bob,big,VW,golf,\n")
    let demoted = try Self.staff(Self.employees)
    let leading = try Self.staff(Self.others, "2,Bob,big,VW,golf,\n", "7,Moon,2\n")
    let error = try #require(throws: PersistentStoreError.self) {
      _ = try StoreMerge().merge(base: base, isSwapped ? demoted : leading, isSwapped ? leading : demoted)
    }
    #expect("\(error)".contains("Project/7.lead: Employee/2 is not Manager"), "\(error)")
  }

  @Test(
    "an object that one side deleted and the other moved to another entity is kept or gone, by the rule",
    arguments: [false, true])
  func deleted(_ isSwapped: Bool) throws {
    let base = try Self.promoted()
    let deleting = try Self.staff("1,Ada,10,\n3,Cy,30,\n", "", "7,Moon,\n")
    let demoting = try Self.staff(Self.employees, "", "7,Moon,\n")
    let sides = isSwapped ? (demoting, deleting) : (deleting, demoting)
    var merge = StoreMerge()
    #expect(throws: StoreMerge.ConflictError.self) { _ = try merge.merge(base: base, sides.0, sides.1) }
    for rule in [StoreMerge.ConflictRule.first, .last] {
      merge.conflictRule = rule
      let merged = try merge.merge(base: base, sides.0, sides.1).nodes
      let isKept = (rule == .first) == isSwapped
      #expect(Self.differences(merged, isKept ? demoting : deleting).isEmpty, "\(Self.differences(merged, demoting))")
      #expect(Self.isSound(merged))
    }
  }

  @Test("objects with the same values are not the same if they are of different entities")
  func byProperty() throws {
    var merge = StoreMerge()
    merge.matching = .properties(["Person": ["name"]])
    let merged = try merge.merge([
      Self.staff("1,Ada,10,\n", "2,Bob,big,,,\n"), Self.staff("7,Bob,20,\n8,Ada,10,\n", "9,Ada,small,,,\n"),
    ]).nodes
    #expect(merged.count("Employee") == 2 && merged.count("Manager") == 2)
    #expect(try merged.value("Employee", 7, "salary") == .integer(20))
    #expect(try merged.value("Manager", 9, "bonus") == .string("small"))
  }

  @Test("each side promotes one of two objects that refer to each other: this is not a conflict")
  func both() throws {
    let base = try Self.staff(Self.employees)
    let ours = try Self.promoted()
    let theirs = try Self.staff("2,Bob,20,\n3,Cy,30,2\n", "1,Ada,small,,,2\n")
    let merged = try StoreMerge().merge(base: base, ours, theirs).nodes
    #expect(
      Self.differences(
        merged, try Self.staff("3,Cy,30,2\n", "1,Ada,small,,,2\n2,Bob,big,VW,golf,\n", "7,Moon,2\n")
      ).isEmpty)
    #expect(Self.isSound(merged))
  }
}

import AtomicStoreSPI
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Adding tables with both ends of relationships to a store") struct StatedEndTests {
  private static func read(_ tables: [String: String]) throws -> NodeTable {
    let nodes = try StaffSample.importer().read(StaffSample.tables(tables)).nodes
    let findings = StoreCheck(registry: StoreRegistry()).check(nodes).findings
    #expect(findings.isEmpty, "\(findings)")
    return nodes
  }

  @Test("objects without a record follow what records state at the other end of a one-to-many")
  func oneToMany() throws {
    // A new employee comes to department 2, which no record is of; employee 2, also without a record, leaves the other.
    let nodes = try Self.read(["Dept": "id,emps\n1,1\n", "Emp": "id,name,dept\n9,Nia,2\n"])
    #expect(try nodes.references("Dept", 1, "emps") == [1] && nodes.references("Dept", 2, "emps") == [3, 9])
    #expect(try nodes.value("Emp", 2, "dept") == .null && nodes.references("Emp", 9, "dept") == [2])
    // Employee 3, who has no record, moves; department 2 has no record either.
    let moved = try Self.read(["Dept": "id,emps\n1,3 1 2\n", "Emp": "id,dept\n1,1\n2,1\n"])
    #expect(try moved.references("Dept", 1, "emps") == [3, 1, 2] && moved.references("Dept", 2, "emps").isEmpty)
    #expect(try moved.references("Emp", 3, "dept") == [1])
  }

  @Test("members of an ordered to-many keep their order, and new ones follow")
  func order() throws {
    let nodes = try Self.read(["Dept": "id,emps\n2,\n", "Emp": "id,name,dept\n8,Eve,1\n7,Dan,1\n3,Cyd,1\n"])
    #expect(try nodes.references("Dept", 1, "emps") == [2, 1, 3, 7, 8])
  }

  @Test("in a one-to-one the object that a record names leaves its partner, if that has no record")
  func oneToOne() throws {
    let nodes = try Self.read(["Badge": "id,emp\n1,3\n", "Emp": "id,name,badge\n9,Nia,4\n"])
    #expect(try nodes.references("Emp", 3, "badge") == [1] && nodes.value("Emp", 1, "badge") == .null)
    #expect(try nodes.value("Badge", 3, "emp") == .null && nodes.references("Badge", 4, "emp") == [9])
    // Both ends are stated: two employees exchange their badges.
    let both = try Self.read(["Badge": "id,emp\n1,2\n2,1\n", "Emp": "id,badge\n1,2\n2,1\n"])
    #expect(try both.references("Emp", 1, "badge") == [2] && both.references("Badge", 1, "emp") == [2])
  }

  @Test("a relationship that is its own inverse may be changed at one end: the others follow")
  func ownInverse() throws {
    let nodes = try Self.read(["Emp": "id,buddy\n1,3\n"])
    #expect(try nodes.references("Emp", 3, "buddy") == [1] && nodes.value("Emp", 2, "buddy") == .null)
    let none = try Self.read(["Emp": "id,buddy\n1,\n"])
    #expect(try none.value("Emp", 1, "buddy") == .null && none.value("Emp", 2, "buddy") == .null)
  }

  @Test("objects without a record follow what records state at the other end of a many-to-many")
  func manyToMany() throws {
    let nodes = try Self.read(["Emp": "id,skills\n2,2\n", "Skill": "id,name,emps\n3,SQL,3\n"])
    #expect(try nodes.references("Skill", 1, "emps") == [1] && nodes.references("Skill", 2, "emps") == [2])
    #expect(try nodes.references("Emp", 3, "skills") == [3])
  }

  @Test("a join table states the end of its records only")
  func join() throws {
    var importer = try StaffSample.importer()
    importer.joinTables = [
      .init(
        entityName: "Skill", relationshipName: "emps", source: LibrarySample.source("s,e\n2,1\n2,3\n", "joins.csv"),
        columns: ["s", "e"])
    ]
    let nodes = try importer.read(StaffSample.tables(["Skill": "id\n2\n"])).nodes
    #expect(try nodes.references("Skill", 2, "emps") == [1, 3] && nodes.references("Skill", 1, "emps") == [1, 2])
    #expect(try nodes.references("Emp", 2, "skills") == [1] && nodes.references("Emp", 3, "skills") == [2])
  }

  @Test(
    "two records that contradict each other are refused, with file and line",
    arguments: [
      (
        ["Dept": "id,emps\n1,1 2 3\n", "Emp": "id,dept\n3,2\n"],
        [
          "Dept.csv:2 (Dept/1.emps): Emp/3 is named here, but its 'dept' does not name Dept/1 back",
          "Emp.csv:2 (Emp/3.dept): Dept/1 is not named here, but its 'emps' names Emp/3",
        ]
      ),
      (
        ["Dept": "id,emps\n1,\n", "Emp": "id,dept\n1,1\n"],
        [
          "Dept.csv:2 (Dept/1.emps): Emp/1 is not named here, but its 'dept' names Dept/1",
          "Emp.csv:2 (Emp/1.dept): Dept/1 is named here, but its 'emps' does not name Emp/1 back",
        ]
      ),
      (
        ["Badge": "id,emp\n4,\n", "Emp": "id,badge\n3,4\n"],
        [
          "Badge.csv:2 (Badge/4.emp): Emp/3 is not named here, but its 'badge' names Badge/4",
          "Emp.csv:2 (Emp/3.badge): Badge/4 is named here, but its 'emp' does not name Emp/3 back",
        ]
      ),
      (
        ["Emp": "id,buddy\n1,3\n3,2\n"],
        [
          "Emp.csv:2 (Emp/1.buddy): Emp/3 is named here, but its 'buddy' does not name Emp/1 back",
          "Emp.csv:3 (Emp/3.buddy): Emp/1 is not named here, but its 'buddy' names Emp/3",
        ]
      ),
      (
        ["Emp": "id,skills\n3,1\n", "Skill": "id,emps\n1,1 2\n"],
        [
          "Emp.csv:2 (Emp/3.skills): Skill/1 is named here, but its 'emps' does not name Emp/3 back",
          "Skill.csv:2 (Skill/1.emps): Emp/3 is not named here, but its 'skills' names Skill/1",
        ]
      ),
      (
        ["Emp": "id,badge\n1,4\n3,4\n"],
        [
          "Emp.csv:2 (Emp/1.badge): Badge/4 is named here and by Emp/3, but its 'emp' can name only one object",
          "Emp.csv:3 (Emp/3.badge): Badge/4 is named here and by Emp/1, but its 'emp' can name only one object",
        ]
      ),
      (
        ["Dept": "id,emps\n1,3\n2,3\n"],
        [
          "Dept.csv:2 (Dept/1.emps): Emp/3 is named here and by Dept/2, but its 'dept' can name only one object",
          "Dept.csv:3 (Dept/2.emps): Emp/3 is named here and by Dept/1, but its 'dept' can name only one object",
        ]
      ),
    ])
  func contradictions(tables: [String: String], expected: [String]) throws {
    let found = try problems(StaffSample.importer(), StaffSample.tables(tables)).map(\.description)
    #expect(found.count == expected.count, "\(found)")
    for (one, other) in zip(found, expected) { #expect(one.hasPrefix(other), "\(one)") }
  }

  @Test("records that contradict each other are left out, and the others are imported")
  func rejection() throws {
    var importer = try StaffSample.importer()
    importer.rejectsBadRecords = true
    let result = try importer.read(
      StaffSample.tables(["Dept": "id,name,emps\n1,AA,1 2 3\n", "Emp": "id,name,dept\n3,Cy,2\n8,Nia,2\n"]))
    #expect(result.tables.map(\.rejectedCount) == [1, 1] && result.problems.count == 2, "\(result.problems)")
    #expect(try result.nodes.references("Dept", 2, "emps") == [3, 8])
    #expect(try result.nodes.value("Emp", 3, "name") == .string("Cyd"))
    #expect(try result.nodes.value("Dept", 1, "name") == .string("A"))
  }

  @Test("ends of the store that contradict each other stay as they are where no record concerns them")
  func damagedStore() throws {
    var importer = try StaffSample.importer()
    var nodes = try #require(importer.existing)
    let badge = try #require(nodes.handle(for: ObjectReference(entityName: "Badge", reference: .integer(4))))
    try nodes.setValue(toOne("Emp", 1), forKey: "emp", of: badge)
    importer.existing = nodes
    let found = nodes.inverseDisagreements()
    #expect(!found.isEmpty)
    let result = try importer.read(StaffSample.tables(["Dept": "id,name\n1,AA\n"]))
    #expect(result.nodes.inverseDisagreements() == found)
    #expect(try result.nodes.value("Dept", 1, "name") == .string("AA"))
  }
}

import AtomicStoreSPI
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Required relationships of a store that tables are added to") struct RequiredRelationshipTests {
  @Test(
    "records that would empty a required relationship of an object without a record are refused, with that object",
    arguments: [
      // Another one gets the only badge.
      ("Emp.badge", ["Badge": "id,emp\n4,\n1,3\n"], "Badge.csv:3 (Badge/1.emp): this leaves Emp/1 without 'badge'"),
      ("Emp.badge", ["Badge": "id,emp\n1,\n"], "Badge.csv:2 (Badge/1.emp): this leaves Emp/1 without 'badge'"),
      ("Badge.emp", ["Emp": "id,badge\n1,2\n2,1\n3,4\n"], "Emp.csv:4 (Emp/3.badge): this leaves Badge/3 without 'emp'"),
      ("Emp.dept", ["Dept": "id,emps\n1,2\n"], "Dept.csv:2 (Dept/1.emps): this leaves Emp/1 without 'dept'"),
      ("Dept.emps", ["Emp": "id,dept\n3,1\n"], "Emp.csv:2 (Emp/3.dept): this leaves Dept/2 without 'emps'"),
      ("Dept.emps", ["Dept": "id,emps\n1,1 2 3\n"], "Dept.csv:2 (Dept/1.emps): this leaves Dept/2 without 'emps'"),
      ("Dept.emps", ["Dept": "id,emps\n2,\n"], "Dept.csv:2 (Dept/2.emps): this leaves Dept/2 without 'emps'"),
      ("Emp.buddy", ["Emp": "id,name,buddy\n9,Nia,1\n"], "Emp.csv:2 (Emp/9.buddy): this leaves Emp/2 without 'buddy'"),
      ("Skill.emps", ["Emp": "id,skills\n2,1\n"], "Emp.csv:2 (Emp/2.skills): this leaves Skill/2 without 'emps'"),
    ])
  func refused(required: String, tables: [String: String], expected: String) throws {
    // Badge 4 has no owner and employee 3 no buddy in the store: that is not the tables' fault.
    let found = try problems(StaffSample.importer(required: [required]), StaffSample.tables(tables))
    #expect(found.map(\.description) == [expected + ", which the model requires"])
    #expect(found.allSatisfy { $0.kind == .missing })
    // If it is optional, nothing is wrong.
    #expect(try problems(StaffSample.importer(), StaffSample.tables(tables)).isEmpty)
  }

  @Test("a required relationship that gets another value is none that is empty")
  func replaced() throws {
    let nodes = try StaffSample.importer(required: ["Emp.badge", "Dept.emps"]).read(
      StaffSample.tables(["Badge": "id,emp\n1,3\n3,1\n", "Emp": "id,dept\n3,1\n2,2\n"])
    ).nodes
    #expect(try nodes.references("Emp", 1, "badge") == [3] && nodes.references("Dept", 2, "emps") == [2])
  }

  @Test(
    "a new object whose required relationship no table has is refused once for the table", arguments: [false, true])
  func noTable(isFresh: Bool) throws {
    var importer = try Self.importer(isFresh)
    importer.existingObjects = .refuse
    let found = try problems(importer, StaffSample.tables(["Emp": "id,name\n8,Nia\n9,Eve\n"]))
    #expect(
      found.map(\.description) == ["Emp.csv (Emp.dept): no column has values of 'dept', which the model requires"])
  }

  @Test("a new object whose required relationship neither end has is refused with its line", arguments: [false, true])
  func neitherEnd(isFresh: Bool) throws {
    let emps = "id,name\n8,Nia\n9,Eve\n"
    let found = try problems(
      Self.importer(isFresh), StaffSample.tables(["Dept": "id,name,emps\n7,C,9\n", "Emp": emps]))
    #expect(found.map(\.description) == ["Emp.csv:2 (Emp/8.dept): a value is needed"])
    let nodes = try Self.importer(isFresh).read(
      StaffSample.tables(["Dept": "id,name,emps\n7,C,9 8\n", "Emp": emps])
    ).nodes
    #expect(try nodes.references("Emp", 8, "dept") == [7])
  }

  @Test(
    "of new records only those are left out that have no value of a required relationship", arguments: [false, true])
  func newRejection(isFresh: Bool) throws {
    var importer = try Self.importer(isFresh)
    importer.rejectsBadRecords = true
    let result = try importer.read(
      StaffSample.tables(["Dept": "id,name,emps\n7,C,9\n", "Emp": "id,name\n8,Nia\n9,Eve\n"]))
    #expect(result.tables.map(\.rejectedCount) == [0, 1])
    #expect(try result.nodes.references("Dept", 7, "emps") == [9])
  }

  @Test(
    "a new department may have no employees yet, although the model requires some, which a note says",
    arguments: [false, true])
  func toMany(isFresh: Bool) throws {
    let importer = try Self.importer(isFresh, required: "Dept.emps")
    let result = try importer.read(StaffSample.tables(["Dept": "id,name\n7,C\n8,D\n"]))
    #expect(try result.nodes.references("Dept", 7, "emps").isEmpty)
    let note = result.notes.first { $0.subject == "Dept.emps" && $0.text.contains("'check' lists them") }
    #expect(note?.count == 2, "\(result.notes)")
    let none = try Self.importer(isFresh, required: "Emp.buddy").read(StaffSample.tables(["Dept": "id,name\n7,C\n"]))
    #expect(!none.notes.contains { $0.text.contains("'check' lists them") }, "\(none.notes)")
  }

  private static func importer(_ isFresh: Bool, required: String = "Emp.dept") throws -> StoreImporter {
    var importer = try StaffSample.importer(required: [required])
    if isFresh {
      importer.model = try StaffSample.model(required: [required])
      importer.existing = nil
    }
    return importer
  }

  @Test("a record that would empty a required relationship is left out, and the others are imported")
  func rejection() throws {
    var importer = try StaffSample.importer(required: ["Emp.badge"])
    importer.rejectsBadRecords = true
    let result = try importer.read(StaffSample.tables(["Badge": "id,name,emp\n1,xx,3\n4,ww,\n"]))
    #expect(result.tables[0].rejectedCount == 1 && result.problems.map(\.line) == [2])
    #expect(try result.nodes.references("Emp", 1, "badge") == [1])
    #expect(try result.nodes.value("Badge", 4, "name") == .string("ww"))
  }
}

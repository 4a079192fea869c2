import AtomicStoreSPI
import StoreImporting
import TestSupport
import Testing

@Suite("Importing keys of records that do not exist") struct DanglingKeyTests {
  private typealias Choice = StoreImporter.DanglingKeys

  /// Employees whose departments, badges and skills partly do not exist.
  private static let tables = [
    "Dept": "id,name\n1,A\n", "Badge": "id,name\n1,x\n", "Skill": "id,name\n1,Swift\n",
    "Emp": "id,name,dept,badge,skills\n1,Ann,1,1,1 9\n2,Bob,9,,\n3,Cyd,NA,7,9\n",
  ]

  private static func importer(_ choice: Choice, required: Set<String> = []) throws -> StoreImporter {
    var importer = StoreImporter()
    importer.model = try StaffSample.model(required: required)
    importer.danglingKeys = choice
    return importer
  }

  @Test(
    "with nullify and keep-as-text every record is there, without the dangling keys", arguments: [false, true])
  func removed(isKept: Bool) throws {
    let result = try Self.importer(isKept ? .keepAsText : .nullify).read(StaffSample.tables(Self.tables))
    let nodes = result.nodes
    #expect(nodes.count("Emp") == 3 && result.problems.isEmpty)
    #expect(try nodes.references("Emp", 1, "dept") == [1] && nodes.references("Dept", 1, "emps") == [1])
    #expect(try nodes.references("Emp", 1, "skills") == [1] && nodes.references("Emp", 1, "badge") == [1])
    for (emp, property) in [(2, "dept"), (3, "dept"), (3, "badge"), (3, "skills")] as [(Int64, String)] {
      #expect(try nodes.references("Emp", emp, property).isEmpty, "\(emp).\(property)")
    }
    let end = isKept ? "kept as text in the metadata" : "removed"
    #expect(
      Set(result.notes.map(\.description)).isSuperset(of: [
        "Emp.dept: references to objects that do not exist, \(end) (2)",
        "Emp.badge: references to objects that do not exist, \(end) (1)",
        "Emp.skills: references to objects that do not exist, \(end) (2)",
      ]), "\(result.notes)")
    #expect(
      result.danglingReferences
        == (isKept
          ? [
            "Emp/2.dept": ["Dept/9"], "Emp/3.dept": ["Dept/NA"], "Emp/3.badge": ["Badge/7"],
            "Emp/1.skills": ["Skill/9"], "Emp/3.skills": ["Skill/9"],
          ] : [:]))
  }

  @Test("a dangling key does not make the keys of its table texts")
  func numbers() throws {
    let nodes = try Self.importer(.nullify).read(StaffSample.tables(Self.tables)).nodes
    let dept = try #require(nodes.model.entity(named: "Dept")).index
    #expect(nodes.handles(of: dept).map { nodes.reference(of: $0) } == [.integer(1)])
  }

  @Test("refuse lists them with file and line and imports nothing, even where bad records are left out")
  func refused() throws {
    var importer = try Self.importer(.refuse)
    for rejects in [false, true] {
      importer.rejectsBadRecords = rejects
      let found = try problems(importer, StaffSample.tables(Self.tables))
      #expect(found.map(\.line) == [2, 3, 4, 4, 4], "\(found)")
      #expect(found.first?.message == "there is no Skill with the key '9'")
    }
    importer.danglingKeys = .reject
    let result = try importer.read(StaffSample.tables(Self.tables))
    #expect(result.nodes.count("Emp") == 0 && result.tables.contains { $0.rejectedCount == 3 })
  }

  @Test("a record without a relationship that the model requires is a problem, or left out")
  func required() throws {
    var importer = try Self.importer(.nullify, required: ["Emp.dept"])
    let found = try problems(importer, StaffSample.tables(Self.tables))
    #expect(
      found.map(\.description) == [
        "Emp.csv:3:7 (Emp/2.dept): there is no Dept with the key '9', and the model requires a value of 'dept'",
        "Emp.csv:4:7 (Emp/3.dept): there is no Dept with the key 'NA', and the model requires a value of 'dept'",
      ], "\(found)")
    importer.rejectsBadRecords = true
    let result = try importer.read(StaffSample.tables(Self.tables))
    #expect(result.nodes.count("Emp") == 1)
    #expect(try result.nodes.references("Emp", 1, "skills") == [1])
  }

  @Test("a record that names one that is left out loses that key, and stays")
  func leftOut() throws {
    var importer = try Self.importer(.nullify)
    importer.rejectsBadRecords = true
    let result = try importer.read(
      StaffSample.tables(["Dept": "id,name\n1,A\n1,B\n,C\n", "Emp": "id,name,dept\n1,Ann,1\n2,Bob,2\n"]))
    #expect(result.nodes.count("Emp") == 2 && result.nodes.count("Dept") == 1)
    #expect(try result.nodes.references("Emp", 2, "dept").isEmpty)
  }

  @Test("pairs of a join table with dangling keys are removed or kept as text", arguments: [false, true])
  func joins(isKept: Bool) throws {
    var importer = try Self.importer(isKept ? .keepAsText : .nullify)
    importer.joinTables = [
      .init(
        entityName: "Emp", relationshipName: "skills",
        source: LibrarySample.source("e,s\n1,1\n1,8\n9,1\n9,8\n", "pairs.csv"), columns: ["e", "s"])
    ]
    let result = try importer.read(
      StaffSample.tables(["Skill": "id,name\n1,Swift\n", "Emp": "id,name\n1,Ann\n"]))
    #expect(try result.nodes.references("Emp", 1, "skills") == [1])
    #expect(try result.nodes.references("Skill", 1, "emps") == [1])
    let end = isKept ? "kept as text in the metadata" : "removed"
    #expect(
      result.notes.map(\.description).contains(
        "Emp.skills: pairs of pairs.csv whose first key is not that of a record, \(end) (2)"), "\(result.notes)")
    #expect(
      result.danglingReferences
        == (isKept ? ["Emp/1.skills": ["Skill/8"], "Emp/9.skills": ["Skill/1", "Skill/8"]] : [:]))
  }

  @Test("records that are added to a store, or update its objects, are treated alike", arguments: [false, true])
  func existing(isUpdate: Bool) throws {
    var importer = try StaffSample.importer()
    importer.danglingKeys = .nullify
    let emp: Int64 = isUpdate ? 1 : 7
    let result = try importer.read(
      StaffSample.tables(["Emp": "id,name,badge,dept\n\(emp),New,99,1\n"]))
    #expect(try result.nodes.value("Emp", emp, "name") == .string("New"))
    #expect(try result.nodes.references("Emp", emp, "badge").isEmpty)
    #expect(try result.nodes.references("Emp", emp, "dept") == [1])
    // What the object had at the other end is released.
    if isUpdate { #expect(try result.nodes.references("Badge", 1, "emp").isEmpty) }
  }

  @Test("pairs that connect one object with many take time in proportion to their number")
  func hub() throws {
    func seconds(_ count: Int) throws -> Double {
      var importer = try Self.importer(.reject)
      let rows = (1...count).map { "\($0)" }
      importer.joinTables = [
        .init(
          entityName: "Skill", relationshipName: "emps",
          source: LibrarySample.source("s,e\n" + rows.map { "1,\($0)\n" }.joined(), "pairs.csv"), columns: ["s", "e"])
      ]
      let tables = StaffSample.tables([
        "Skill": "id,name\n1,Swift\n", "Emp": "id\n" + rows.map { $0 + "\n" }.joined(),
      ])
      return try ProcessorTime.seconds {
        let result = try importer.read(tables)
        #expect(result.joinTables.first?.count == count)
      }
    }
    _ = try seconds(100)
    // Eight times is linear, sixty-four the square.
    let (small, large) = (try seconds(4_000), try seconds(32_000))
    #expect(large < small * 24, "\(small) \(large)")
  }
}

import AtomicStoreSPI
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Members that a JSON object lacks") struct AbsentMemberTests {
  private static func json(_ entity: String, _ text: String) -> ImportSource {
    LibrarySample.source(text, "\(entity).json", entity: entity)
  }

  private static func checked(_ nodes: NodeTable) -> NodeTable {
    let findings = StoreCheck(registry: StoreRegistry()).check(nodes).findings
    #expect(findings.isEmpty, "\(findings)")
    return nodes
  }

  @Test("an object of the store keeps the value of a member that its record lacks; null removes it")
  func update() throws {
    let nodes = Self.checked(
      try StaffSample.importer().read([
        Self.json(
          "Emp",
          """
          {"id": 1, "name": "Anna"}
          {"id": 2, "grade": "senior", "name": null, "badge": null, "skills": []}
          {"id": 3, "skills": [1]}
          """)
      ]).nodes)
    #expect(try nodes.value("Emp", 1, "name") == .string("Anna") && nodes.value("Emp", 1, "grade") == .string("junior"))
    #expect(try nodes.references("Emp", 1, "badge") == [1] && nodes.references("Emp", 1, "skills") == [1])
    #expect(try nodes.value("Emp", 2, "name") == .null && nodes.value("Emp", 2, "grade") == .string("senior"))
    #expect(try nodes.value("Emp", 2, "badge") == .null && nodes.value("Badge", 2, "emp") == .null)
    #expect(try nodes.value("Emp", 3, "name") == .string("Cyd") && nodes.references("Emp", 3, "badge") == [3])
    #expect(try nodes.references("Skill", 1, "emps") == [1, 3] && nodes.references("Skill", 2, "emps").isEmpty)
  }

  @Test(
    "a new object gets the default value of a member that its record lacks, and none for null",
    arguments: [false, true])
  func defaults(isFresh: Bool) throws {
    var importer = try StaffSample.importer()
    if isFresh { importer.existing = nil }
    let records = #"[{"id": 7, "name": "a"}, {"id": 8, "grade": null}, {"id": 9, "grade": "senior"}]"#
    let nodes = Self.checked(try importer.read([Self.json("Emp", records)]).nodes)
    #expect(try nodes.value("Emp", 7, "grade") == .string("junior") && nodes.value("Emp", 8, "grade") == .null)
    #expect(try nodes.value("Emp", 9, "grade") == .string("senior"))
  }

  @Test("a relationship that a record lacks follows the other end, which a record has", arguments: [false, true])
  func otherEnd(isFresh: Bool) throws {
    var importer = try StaffSample.importer()
    if isFresh { importer.existing = nil }
    let nodes = Self.checked(
      try importer.read([
        Self.json("Dept", #"[{"id": 11, "emps": [21, 22]}, {"id": 12}]"#),
        Self.json("Emp", #"[{"id": 21, "name": "a"}, {"id": 22, "dept": 11}, {"id": 23, "dept": 12}]"#),
      ]).nodes)
    #expect(try nodes.references("Emp", 21, "dept") == [11] && nodes.references("Dept", 12, "emps") == [23])
  }

  @Test("null at one end contradicts the other end")
  func contradiction() throws {
    let found = try problems(
      StaffSample.importer(),
      [
        Self.json("Dept", #"{"id": 1, "emps": [1]}"#),
        Self.json("Emp", #"{"id": 1, "dept": null}"# + "\n" + #"{"id": 2, "dept": 2}"#),
      ])
    #expect(found.map(\.line) == [1, 1] && found.map(\.file) == ["Dept.json", "Emp.json"], "\(found)")
  }

  @Test(
    "a new object that lacks a required member is a problem, unless the other end names it", arguments: [false, true])
  func required(isFresh: Bool) throws {
    var importer = try StaffSample.importer(required: ["Emp.dept"])
    if isFresh {
      importer.model = try StaffSample.model(required: ["Emp.dept"])
      importer.existing = nil
    }
    let departments = Self.json("Dept", #"{"id": 11, "emps": [21]}"#)
    let named = #"{"id": 21, "name": "a"}"#
    let nodes = try importer.read([departments, Self.json("Emp", named)]).nodes
    #expect(try nodes.references("Emp", 21, "dept") == [11])
    let records =
      named + "\n" + #"{"id": 22, "name": "b"}"# + "\n" + #"{"id": 21, "dept": 11}"#.replacing("21", with: "23")
    let found = try problems(
      importer, [Self.json("Dept", #"{"id": 11, "emps": [21, 23]}"#), Self.json("Emp", records)])
    #expect(found.map(\.description) == ["Emp.json:2 (Emp/22.dept): a value is needed"])
  }

  private static func text(_ name: String) -> AttributeDescription { AttributeDescription(name: name, type: .string) }

  /// For an entity whose home is an address.
  private static func importer(_ composites: [CompositeDescription]) throws -> StoreImporter {
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(
        entities: [EntityDescription(name: "P", properties: [.attribute("home", .composite("Address"))])],
        composites: composites))
    return importer
  }

  @Test("null for a composite attribute is null for its parts; without the member they keep their values")
  func composite() throws {
    var importer = try Self.importer([
      CompositeDescription(name: "Address", attributes: [Self.text("city"), Self.text("code")])
    ])
    let all = #"{"id": 1, "home": {"city": "Bern", "code": "3000"}}"#
    let store = [all, all.replacing("1,", with: "2,"), all.replacing("1,", with: "3,")].joined(separator: "\n")
    importer.existing = try importer.read([Self.json("P", store)]).nodes
    importer.existingObjects = .update
    let nodes = try importer.read([
      Self.json(
        "P", #"{"id": 1, "home": {"city": "Biel"}}"# + "\n" + #"{"id": 2, "home": null}"# + "\n" + #"{"id": 3}"#)
    ]).nodes
    #expect(
      try nodes.value("P", 1, "home.city") == .string("Biel") && nodes.value("P", 1, "home.code") == .string("3000"))
    // Also the part that no record has.
    #expect(try nodes.value("P", 2, "home.city") == .null && nodes.value("P", 2, "home.code") == .null)
    #expect(
      try nodes.value("P", 3, "home.city") == .string("Bern") && nodes.value("P", 3, "home.code") == .string("3000"))
    for name in ["home", "Home"] {
      let alone = try importer.read([Self.json("P", "{\"id\": 2, \"\(name)\": null}")])
      #expect(
        try alone.nodes.value("P", 2, "home.city") == .null && alone.nodes.value("P", 2, "home.code") == .null)
      #expect(try alone.nodes.value("P", 1, "home.code") == .string("3000"))
    }
    importer.existing = nil
    let new = try importer.read([Self.json("P", #"[{"id": 4, "home": null}, {"id": 5, "home": {"code": "1"}}]"#)]).nodes
    #expect(try new.value("P", 4, "home.code") == .null && new.value("P", 5, "home.code") == .string("1"))
    #expect(try new.value("P", 5, "home.city") == .null)
  }

  @Test("null for a composite attribute within another one is null for its parts")
  func nestedComposite() throws {
    var importer = try Self.importer([
      CompositeDescription(
        name: "Address",
        attributes: [Self.text("city"), AttributeDescription(name: "place", type: .composite("Place"))]),
      CompositeDescription(name: "Place", attributes: [Self.text("x"), Self.text("y")]),
    ])
    let all = #"{"id": 1, "home": {"city": "Bern", "place": {"x": "1", "y": "2"}}}"#
    importer.existing = try importer.read([Self.json("P", all + "\n" + all.replacing("1,", with: "2,"))]).nodes
    importer.existingObjects = .update
    let nodes = try importer.read([
      Self.json("P", #"[{"id": 1, "home": {"place": null}}, {"id": 2, "home": null}]"#)
    ]).nodes
    #expect(try nodes.value("P", 1, "home.city") == .string("Bern") && nodes.value("P", 2, "home.city") == .null)
    for (id, key) in [(1, "home.place.x"), (1, "home.place.y"), (2, "home.place.x"), (2, "home.place.y")] {
      #expect(try nodes.value("P", Int64(id), key) == .null, "\(id) \(key)")
    }
  }

  @Test("records without the text that objects are found by are new objects, also several", arguments: ["csv", "json"])
  func keyText(form: String) throws {
    var importer = try StaffSample.importer()
    importer.existingObjects = .updateByProperty(["Skill": "name"])
    let text =
      form == "csv" ? "name,emps\nC,1\n,2\n,3\n" : #"[{"name": "C", "emps": [1]}, {"emps": [2]}, {"name": null}]"#
    let nodes = try importer.read([LibrarySample.source(text, "Skill.\(form)", entity: "Skill")]).nodes
    #expect(nodes.count("Skill") == 4)
    #expect(try nodes.references("Skill", 2, "emps") == [1])
  }

  @Test("a derived attribute that a record lacks is calculated, whatever its default value", arguments: [false, true])
  func derived(hasDefault: Bool) throws {
    let low = AttributeDescription(
      name: "low", type: .string, defaultValue: hasDefault ? .string("zz") : nil,
      derivationExpression: "lowercase:(name)")
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Author", properties: [.attribute("name", .string), .attribute(low)])
      ]))
    let records =
      #"[{"id": 1, "name": "Ann", "low": "ann"}, {"id": 2, "name": "BOB"}, {"id": 3, "name": "C", "low": null}]"#
    let nodes = Self.checked(try importer.read([Self.json("Author", records)]).nodes)
    #expect(try (1...3).map { try nodes.value("Author", $0, "low") } == [.string("ann"), .string("bob"), .string("c")])
  }

  @Test("names of members with thousands of dots are read in time that grows with their length")
  func dots() throws {
    let name = String(repeating: "a.", count: 400_000)
    var importer = try StaffSample.importer()
    importer.existing = nil
    let nodes = try importer.read([Self.json("Emp", "{\"id\": 1, \"name\": \"a\", \"\(name)\": 1}")]).nodes
    #expect(try nodes.value("Emp", 1, "name") == .string("a"))
  }
}

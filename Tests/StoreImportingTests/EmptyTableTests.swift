import AtomicStoreSPI
import StoreImporting
import Testing

@Suite("JSON tables without objects") struct EmptyTableTests {
  @Test(
    "JSON without objects is a table without records, with a store and without",
    arguments: [("[]", "Dept.json"), (" [ ]\n", "Dept.ndjson"), ("", "Dept.ndjson"), ("\u{FEFF}\n\n", "Dept.jsonl")])
  func empty(text: String, name: String) throws {
    var importer = try StaffSample.importer()
    // Columns that are named cannot be found in a table that has none.
    importer.keyColumns = ["Dept": ["code"]]
    importer.relationshipColumns = [.init(entityName: "Dept", relationshipName: "emps", columns: ["people"])]
    let table = LibrarySample.source(text, name, entity: "Dept")
    for rule in [StoreImporter.ExistingObjects.refuse, .update, .updateByProperty(["Dept": "name"])] {
      importer.existingObjects = rule
      let result = try importer.read([table])
      #expect(result.nodes.count("Dept") == 2 && result.tables.map(\.count) == [0])
    }
    importer.existing = nil
    importer.existingObjects = .refuse
    importer.model = try LibrarySample.model()
    importer.keyColumns = ["Book": ["isbn"]]
    importer.relationshipColumns = []
    // The model requires a title, but the table does not contain a book that could lack it.
    #expect(try importer.read([LibrarySample.source(text, name, entity: "Book")]).nodes.count == 0)
    importer.model = nil
    importer.keyColumns = [:]
    #expect(
      try importer.read([LibrarySample.source(text, name, entity: "Book")]).nodes.model.entities.map(\.name) == ["Book"]
    )
  }

  @Test(
    "without a model a table without records still has the relationships that are named for it",
    arguments: [("[]", "Loan.json"), ("", "Loan.ndjson")])
  func inferred(text: String, name: String) throws {
    var importer = StoreImporter()
    importer.relationshipColumns = [
      .init(entityName: "Loan", relationshipName: "book", columns: ["book"], destinationEntityName: "Book")
    ]
    let result = try importer.read([
      LibrarySample.source(text, name), LibrarySample.source("id,title\n1,Emma\n", "Book.csv"),
    ])
    let slot = try #require(result.nodes.model.entity(named: "Loan")?.slot(named: "book"))
    #expect(result.nodes.count("Book") == 1 && result.nodes.count("Loan") == 0)
    #expect(result.nodes.model.entity(named: "Loan")?.slots[slot].isRelationship ?? false)
    #expect(result.nodes.model.entity(named: "Book")?.slot(named: "loans") != nil)
  }

  @Test("a join table without objects has no pairs")
  func join() throws {
    var importer = try StaffSample.importer()
    importer.joinTables = [
      .init(
        entityName: "Skill", relationshipName: "emps", source: LibrarySample.source("", "pairs.ndjson"),
        columns: ["s", "e"])
    ]
    let result = try importer.read(StaffSample.tables(["Skill": "id\n2\n"]))
    #expect(try result.nodes.references("Skill", 2, "emps").isEmpty && result.joinTables.map(\.count) == [0])
  }

  @Test("an object without members is a record, of which what the model requires is missing")
  func emptyObject() throws {
    let found = try problems(try LibrarySample.importer(), [LibrarySample.source("[{}]", "authors.json")])
    #expect(found.map(\.property) == ["name"], "\(found)")
  }

  @Test("an empty file of another kind is not a table", arguments: ["Dept.csv", "Dept.json", "standard input"])
  func others(name: String) throws {
    let error = #expect(throws: PersistentStoreError.self) {
      try StaffSample.importer().read([LibrarySample.source("", name, entity: "Dept")])
    }
    #expect(error?.message == "the file is empty")
  }
}

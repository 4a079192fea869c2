import AtomicStoreSPI
import Foundation
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Adding tables to a store") struct ExistingObjectTests {
  private static func library() throws -> StoreImporter {
    var importer = try LibrarySample.importer()
    importer.existing = try importer.read([LibrarySample.file("authors.csv"), LibrarySample.file("books.csv")]).nodes
    return importer
  }

  @Test("new records follow on, and name objects of the store; both ends are set")
  func append() throws {
    let result = try Self.library().read([
      LibrarySample.source("title,author_id\nVérité,2\n", "books.csv")
    ])
    #expect(result.nodes.count("Book") == 11 && result.nodes.count("Author") == 6)
    #expect(try result.nodes.value("Book", 11, "author") == toOne("Author", 2))
    #expect(try result.nodes.value("Author", 2, "books") == toMany("Book", 3, 4, 11))
    #expect(try result.nodes.value("Book", 4, "title") == .string("Nana, édition illustrée"))
    #expect(StoreCheck(registry: StoreRegistry()).check(result.nodes).findings.isEmpty)
  }

  @Test("a record whose key an object has is a problem, and so is one whose owner does not exist")
  func taken() throws {
    let found = try problems(
      Self.library(), [LibrarySample.source("id,title,author_id\n4,Nana,2\n12,Vérité,77\n", "books.csv")])
    #expect(
      found.map(\.description) == [
        "books.csv:2 (Book/4.id): the store has Book/4 already",
        "books.csv:3:13 (Book/12.author): there is no Author with the key '77'",
      ])
  }

  @Test("an update by key changes what the table has columns for, and moves the other end")
  func updateByKey() throws {
    var importer = try Self.library()
    importer.existingObjects = .update
    let result = try importer.read([LibrarySample.source("id,author_id,price\n4,1,\n", "books.csv")])
    #expect(result.nodes.count("Book") == 10)
    #expect(try result.nodes.value("Book", 4, "title") == .string("Nana, édition illustrée"))
    #expect(try result.nodes.value("Book", 4, "inPrint") == .boolean(false))
    #expect(try result.nodes.value("Book", 4, "price") == .null)
    #expect(try result.nodes.value("Author", 1, "books") == toMany("Book", 1, 2, 4))
    #expect(try result.nodes.value("Author", 2, "books") == toMany("Book", 3))
    #expect(StoreCheck(registry: StoreRegistry()).check(result.nodes).findings.isEmpty)
  }

  @Test("an update by a property finds objects by value; keys of the tables are theirs alone")
  func updateByProperty() throws {
    var importer = try Self.library()
    importer.existingObjects = .updateByProperty(["Author": "name"])
    let result = try importer.read([
      // Here 1 is Zola, who is 2 in the store, and 2 is new.
      LibrarySample.source("id,name,born\n1,Émile Zola,1840-04-03\n2,Colette,1873-01-28\n", "authors.csv"),
      LibrarySample.source("title,author_id\nChéri,2\nVérité,1\n", "books.csv"),
    ])
    #expect(result.nodes.count("Author") == 7 && result.nodes.count("Book") == 12)
    // References follow on from the greatest of the store.
    #expect(try result.nodes.value("Author", 2, "books") == toMany("Book", 3, 4, 13))
    #expect(try result.nodes.value("Author", 11, "name") == .string("Colette"))
    #expect(try result.nodes.value("Author", 11, "books") == toMany("Book", 12))
    #expect(
      try result.nodes.value("Author", 2, "born").isIdentical(
        to: .date(#require(try? Date("1840-04-03T00:00:00Z", strategy: .iso8601)))))
  }

  @Test("a record that several objects match by the property is a problem: none of them is updated")
  func several() throws {
    var importer = try LibrarySample.importer()
    importer.existing = try importer.read([LibrarySample.source("id,name\n1,Zola\n2,Zola\n3,Eliot\n", "authors.csv")])
      .nodes
    importer.existingObjects = .updateByProperty(["Author": "name"])
    let records = LibrarySample.source("name,born\nEliot,1819-11-22\nZola,1840-04-02\n", "authors.csv")
    #expect(
      try problems(importer, [records]).map(\.description) == [
        "authors.csv:3 (Author.name): 2 objects of the store have this name, Author/1 and Author/2"
      ])
    importer.rejectsBadRecords = true
    let result = try importer.read([records])
    #expect(result.tables[0].rejectedCount == 1 && result.nodes.count("Author") == 3)
    #expect(try result.nodes.value("Author", 2, "born").isNull && !result.nodes.value("Author", 3, "born").isNull)
  }

  @Test("two records of one object are a problem")
  func twice() throws {
    var importer = try Self.library()
    importer.existingObjects = .updateByProperty(["Author": "name"])
    let found = try problems(
      importer, [LibrarySample.source("name\nÉmile Zola\nÉmile Zola\n", "authors.csv")])
    #expect(found.count == 1 && found[0].line == 3 && found[0].message.contains("as well"), "\(found)")
  }

  @Test("two new records with one value of the property are a problem that names both, also in two tables")
  func newTwice() throws {
    var importer = try Self.library()
    importer.existingObjects = .updateByProperty(["Author": "name"])
    let records = LibrarySample.source("id,name\n1,Colette\n2,Sand\n3,Colette\n", "authors.csv")
    let found = try problems(importer, [records, LibrarySample.source("name\nSand\n", "more.csv", entity: "Author")])
    #expect(
      found.map(\.description) == [
        "authors.csv:4 (Author/3.name): another record has the name 'Colette' as well: line 2",
        "more.csv:2 (Author.name): another record has the name 'Sand' as well: authors.csv, line 3",
      ])
    #expect(found.map(\.value) == ["Colette", "Sand"] && found.allSatisfy { $0.kind == .key })
    importer.rejectsBadRecords = true
    let result = try importer.read([records])
    #expect(result.tables[0].rejectedCount == 1 && result.nodes.count("Author") == 8)
  }

  @Test("records without a value of the property are new objects, however many there are")
  func withoutValue() throws {
    var importer = try Self.library()
    importer.existingObjects = .updateByProperty(["Book": "price"])
    let result = try importer.read([LibrarySample.source("title,price,author_id\nChéri,,1\nVérité,,2\n", "books.csv")])
    #expect(result.nodes.count("Book") == 12)
  }

  @Test(
    "a relationship that is its own inverse keeps its values if a record has no column for it, or the same values",
    arguments: ["id,name\n1,z\n", "id,buddy,friends\n1,2,2 3\n"])
  func ownInverse(records: String) throws {
    func relationship(_ name: String, _ maximum: Int) -> PropertyDescription {
      .relationship(
        RelationshipDescription(name: name, destinationEntityName: "P", inverseName: name, maximumCount: maximum))
    }
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "P",
          properties: [
            .attribute(AttributeDescription(name: "name", type: .string)), relationship("buddy", 1),
            relationship("friends", 0),
          ])
      ]))
    let store = try importer.read([
      LibrarySample.source("id,name,buddy,friends\n1,a,2,2 3\n2,b,1,1\n3,c,,1\n", "p.csv", entity: "P")
    ]).nodes
    importer.existing = store
    importer.existingObjects = .update
    let nodes = try importer.read([LibrarySample.source(records, "p.csv", entity: "P")]).nodes
    for reference in 1...3 as ClosedRange<Int64> {
      for name in ["buddy", "friends"] {
        #expect(try nodes.value("P", reference, name) == store.value("P", reference, name), "\(reference).\(name)")
      }
    }
  }

  @Test("both ends of a one-to-many are taken if records say the same; if not, the import is refused")
  func bothEnds() throws {
    var importer = try LibrarySample.importer()
    let books = LibrarySample.source("id,title,author\n1,Emma,1\n2,Nana,2\n3,Rome,2\n", "books.csv")
    importer.existing =
      try importer.read([LibrarySample.source("id,name\n1,Austen\n2,Zola\n3,Sand\n", "authors.csv"), books]).nodes
    importer.existingObjects = .update
    func read(_ authors: String, _ books: String) throws -> NodeTable {
      try importer.read([
        LibrarySample.source("id,name,books\n" + authors, "authors.csv"),
        LibrarySample.source("id,title,author\n" + books, "books.csv"),
      ]).nodes
    }
    // Rome moves to Sand.
    let nodes = try read("2,Zola,2\n3,Sand,3\n", "3,Rome,3\n")
    #expect(try nodes.value("Book", 3, "author") == toOne("Author", 3))
    #expect(try nodes.value("Book", 1, "author") == toOne("Author", 1))
    #expect(try nodes.value("Author", 2, "books") == toMany("Book", 2))
    // Zola, whom no record is of, gets the new book.
    let more = try read("1,Austen,1\n", "9,New,2\n")
    #expect(try more.value("Author", 2, "books") == toMany("Book", 2, 3, 9))
    for (authors, books) in [("3,Sand,3\n2,Zola,2\n", "3,Rome,2\n"), ("1,Austen,\n", "1,Emma,1\n")] {
      let error = #expect(throws: ImportError.self, "\(authors)\(books)") { try read(authors, books) }
      #expect(error?.problems.contains { $0.file == "books.csv" && $0.property == "author" } ?? false)
    }
  }

  @Test("a record that needs a number when all are used up is a problem that says so", arguments: [false, true])
  func usedUp(byName: Bool) throws {
    var importer = try StaffSample.importer()
    importer.existing =
      try importer.read(StaffSample.tables(["Skill": "id,name\n\(Int64.max),SQL\n"])).nodes
    importer.existingObjects = byName ? .updateByProperty(["Skill": "name"]) : .refuse
    let found = try problems(
      importer, StaffSample.tables(["Skill": "name,emps\n" + (byName ? "SQL,1\n" : "") + "Ada,1\nOCaml,2\n"]))
    let line = byName ? 3 : 2
    #expect(found.map(\.line) == [line, line + 1], "\(found)")
    #expect(found.allSatisfy { $0.message.contains("there is none after 9223372036854775807") && $0.kind == .key })
    // Objects that exist need none.
    guard byName else { return }
    let nodes = try importer.read(StaffSample.tables(["Skill": "name,emps\nSQL,3\n"])).nodes
    #expect(try nodes.references("Skill", .max, "emps") == [3])
  }
}

import AtomicStoreSPI
import Foundation
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Importing tables into one graph") struct ImportTests {
  @Test("keys that are not properties become references, foreign keys relationships with both ends")
  func library() throws {
    let result = try LibrarySample.importer().read([
      LibrarySample.file("authors.csv"), LibrarySample.file("books.csv"), LibrarySample.file("loans.csv"),
    ])
    let nodes = result.nodes
    #expect(nodes.count("Author") == 6 && nodes.count("Book") == 10 && nodes.count("Loan") == 4)
    #expect(try nodes.value("Author", 2, "name") == .string("Émile Zola"))
    #expect(try nodes.value("Book", 3, "author") == toOne("Author", 2))
    #expect(try nodes.value("Author", 2, "books") == toMany("Book", 3, 4))
    #expect(try nodes.value("Book", 3, "loans") == toMany("Loan", 2, 3))
    #expect(try nodes.value("Book", 4, "title") == .string("Nana, édition illustrée"))
    #expect(try nodes.value("Book", 6, "title") == .string("こゝろ\n(Kokoro)"))
    #expect(try nodes.value("Book", 4, "inPrint") == .boolean(false))
    #expect(try nodes.value("Book", 4, "price").isIdentical(to: .decimal(#require(DecimalNumber("38.00")))))
    #expect(try nodes.value("Book", 9, "price") == .null)
    #expect(StoreCheck(registry: StoreRegistry()).check(nodes).findings.isEmpty)
    #expect(result.tables.map(\.keyColumns) == [["id"], ["id"], ["id"]])
    #expect(result.tables.allSatisfy { $0.ignoredColumns.isEmpty })
  }

  @Test("the order of the tables does not matter: references may point forward")
  func order() throws {
    let files = ["authors.csv", "books.csv", "loans.csv"]
    let one = try LibrarySample.importer().read(files.map { try LibrarySample.file($0) })
    let other = try LibrarySample.importer().read(files.reversed().map { try LibrarySample.file($0) })
    for entity in ["Author", "Book", "Loan"] {
      let index = try #require(one.nodes.model.entity(named: entity)).index
      for node in one.nodes.handles(of: index) {
        for slot in one.nodes.model.entity(at: index).slots {
          let twin = try #require(other.nodes.handle(for: one.nodes.reference(of: node), entity: index))
          #expect(
            one.nodes.value(slot: slot.index, of: node).isIdentical(to: other.nodes.value(slot: slot.index, of: twin)))
        }
      }
    }
  }

  @Test(
    "columns are found by name whatever case and separators, by relationship, destination and former name",
    arguments: [
      ("title,INPRINT,AuthorID", "Library"), ("Title,In Print,author", "Library"),
      ("title,in-print,author_key", "Library"),
      ("title,in_print,fk_author", "Library 2"), ("title,in_print,author_id", "Library 3"),
    ])
  func columns(_ header: String, _ version: String) throws {
    var importer = StoreImporter()
    importer.model = try LibrarySample.model(version)
    let result = try importer.read([
      LibrarySample.source("id,name\n7,Zola\n", "authors.csv"),
      LibrarySample.source("\(header)\nNana,no,7\n", "books.csv"),
    ])
    #expect(try result.nodes.value("Book", 1, "author") == toOne("Author", 7))
    #expect(try result.nodes.value("Book", 1, version == "Library 3" ? "available" : "inPrint") == .boolean(false))
    #expect(result.tables.allSatisfy { $0.ignoredColumns.isEmpty })
  }

  @Test("named columns: a key, a relationship, a column that is nothing")
  func named() throws {
    var importer = try LibrarySample.importer()
    importer.keyColumns = ["Author": ["code"]]
    importer.relationshipColumns = [.init(entityName: "Book", relationshipName: "author", columns: ["writer"])]
    let result = try importer.read([
      LibrarySample.source("code,name,shelf\nzola,Zola,A1\n", "authors.csv"),
      LibrarySample.source("title,writer\nNana,zola\n", "books.csv"),
    ])
    let author = ObjectReference(entityName: "Author", reference: .string("zola"))
    #expect(try result.nodes.value("Book", 1, "author") == .toOne(author))
    #expect(result.tables[0].ignoredColumns == ["shelf"])
  }

  @Test("what was named and does not exist is refused", arguments: ["key", "relationship", "column", "entity", "join"])
  func unknownNames(_ what: String) throws {
    var importer = try LibrarySample.importer()
    switch what {
    case "key": importer.keyColumns = ["Author": ["nmae"]]
    case "relationship":
      importer.relationshipColumns = [.init(entityName: "Author", relationshipName: "book", columns: ["name"])]
    case "column":
      importer.relationshipColumns = [.init(entityName: "Author", relationshipName: "books", columns: ["x"])]
    case "entity": importer.keyColumns = ["Autor": ["id"]]
    default:
      importer.joinTables = [
        .init(
          entityName: "Author", relationshipName: "name", source: LibrarySample.source("a,b\n", "j"),
          columns: ["a", "b"])
      ]
    }
    let error = try #require(throws: PersistentStoreError.self) {
      _ = try importer.read([LibrarySample.source("id,name\n1,Zola\n", "authors.csv")])
    }
    #expect(error.code == .invalidOption)
  }

  @Test(
    "a file is of the entity that it is named after, singular or plural; words after that are skipped",
    arguments: ["Author", "authors", "AUTHORS", "authors-2026", "author_list"])
  func fileNames(_ stem: String) throws {
    let result = try LibrarySample.importer().read([LibrarySample.source("name\nZola\n", "somewhere/\(stem).csv")])
    #expect(result.nodes.count("Author") == 1)
  }

  @Test("a file that is named after no entity is refused with the names")
  func strangeFileName() throws {
    let error = try #require(throws: PersistentStoreError.self) {
      _ = try LibrarySample.importer().read([LibrarySample.source("name\nZola\n", "people.csv")])
    }
    #expect(error.code == .invalidOption && error.message.contains("Author, Book, Loan"))
  }

  @Test(
    "JSON arrays and lines are tables: nested objects, arrays of keys, null, escapes", arguments: ["array", "lines"])
  func json(_ form: String) throws {
    let records = [
      #"{"id": 1, "name": "Zo\u006ca \ud83d\ude00", "books": [11, 12]}"#, #"{"id": 2, "name": "Eliot", "born": null}"#,
    ]
    let text = form == "array" ? "[" + records.joined(separator: ",\n") + "]" : records.joined(separator: "\n") + "\n"
    let result = try LibrarySample.importer().read([
      LibrarySample.source(text, "authors.json"),
      LibrarySample.source("id,title,price\n11,Nana,1.5\n12,Germinal,2\n", "books.csv"),
    ])
    #expect(try result.nodes.value("Author", 1, "name") == .string("Zola 😀"))
    #expect(try result.nodes.value("Author", 1, "books") == toMany("Book", 11, 12))
    #expect(try result.nodes.value("Book", 12, "author") == toOne("Author", 1))
    #expect(try result.nodes.value("Author", 2, "born") == .null)
  }

  @Test("a join table makes a many-to-many relationship, with both ends, each pair once")
  func join() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Author",
          properties: [
            .attribute(AttributeDescription(name: "name", type: .string)),
            .relationship(
              RelationshipDescription(
                name: "books", destinationEntityName: "Book", inverseName: "authors", maximumCount: 0)),
          ]),
        EntityDescription(
          name: "Book",
          properties: [
            .relationship(
              RelationshipDescription(
                name: "authors", destinationEntityName: "Author", inverseName: "books", maximumCount: 0))
          ]),
      ]))
    var importer = StoreImporter()
    importer.model = model
    let pairs = LibrarySample.source("book_id,author_id\n1,2\n1,1\n1,2\n2,1\n", "book_authors.csv")
    importer.joinTables = [
      .init(
        entityName: "Book", relationshipName: "authors", source: pairs, columns: ["book_id", "author_id"])
    ]
    let authors = LibrarySample.source("id,name\n1,a\n2,b\n3,c\n", "authors.csv")
    let result = try importer.read([authors, LibrarySample.source("id\n1\n2\n", "books.csv")])
    #expect(try result.nodes.value("Book", 1, "authors") == toMany("Author", 1, 2))
    #expect(try result.nodes.value("Author", 1, "books") == toMany("Book", 1, 2))
    #expect(try result.nodes.value("Author", 3, "books") == toMany("Book"))
    // A pair that is dangling is named with its line in the join table.
    let found = try problems(importer, [authors, LibrarySample.source("id\n1\n", "books.csv")])
    #expect(found.map(\.description) == ["book_authors.csv:5:1 (Book.authors): there is no Book with the key '2'"])
  }

  @Test("default values fill required fields that are empty, and properties without a column")
  func defaults() throws {
    let result = try LibrarySample.importer().read([
      LibrarySample.source("id,name\n1,Zola\n", "authors.csv"),
      LibrarySample.source("title,author_id,in_print\nNana,1,\n", "books.csv"),
    ])
    #expect(try result.nodes.value("Book", 1, "inPrint") == .boolean(true))
    let other = try LibrarySample.importer().read([
      LibrarySample.source("id,name\n1,Zola\n", "authors.csv"),
      LibrarySample.source("title,author_id\nNana,1\n", "books.csv"),
    ])
    #expect(try other.nodes.value("Book", 1, "inPrint") == .boolean(true))
  }

  @Test("keys of several columns are one reference")
  func compositeKeys() throws {
    var importer = try LibrarySample.importer()
    importer.keyColumns = ["Author": ["land", "nr"]]
    let result = try importer.read([LibrarySample.source("land,nr,name\nfr,1,Zola\nuk,1,El|iot\n", "authors.csv")])
    let key = ObjectReference(entityName: "Author", reference: .string("uk|1"))
    #expect(result.nodes.handle(for: key) != nil)
  }

  @Test("numbers with a fraction of zeros are integers, as programs with one kind of number write them")
  func zeroFractions() throws {
    let result = try LibrarySample.importer().read([
      LibrarySample.source("id,name\n1.0,Zola\n", "authors.csv"),
      LibrarySample.source("title,author_id\nNana,1.0\n", "books.csv"),
    ])
    #expect(try result.nodes.value("Book", 1, "author") == toOne("Author", 1))
  }
}

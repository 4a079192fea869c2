import AtomicStoreSPI
import Foundation
import StoreImporting
import Testing

@Suite("Working a model out from tables") struct ModelInferenceTests {
  private static func type(of cells: [String], _ importer: StoreImporter = StoreImporter()) throws -> AttributeType {
    let text = "value,x\n" + cells.map { "\($0),\n" }.joined()
    let model = try importer.read([LibrarySample.source(text, "things.csv")]).nodes.model
    let entity = try #require(model.entity(named: "Thing"))
    let slot = try #require(entity.slot(named: "value"))
    return try #require(entity.slots[slot].attributeType)
  }

  @Test(
    "types are those that all records have",
    arguments: [
      (["1", "-20", ""], AttributeType.integer64), (["9223372036854775807"], .integer64),
      (["9223372036854775808"], .decimal), (["1.5", "2"], .decimal), (["1e5", "2"], .double), (["01200"], .string),
      (["1", "x"], .string), (["true", "false"], .boolean), (["yes", "no", ""], .boolean), (["0", "1"], .integer64),
      (["2026-12-24"], .date), (["2026-12-24T10:00:00Z", ""], .date), (["24.12.2026", "1.2.2026"], .date),
      (["12/31/2026", "1/2/2026"], .date), (["1/2/2026"], .string),
      (["5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE"], .uuid), ([""], .string), (["2026-12-24", "soon"], .string),
      (["\"1\"", "\"\""], .integer64), (["0.5", "-0.25"], .decimal), (["00.5"], .string), (["-"], .string),
      (["+491711234567", "+4930123456", ""], .string), (["+1", "-3"], .integer64), (["+5", "7", "-2"], .integer64),
      (["+05", "7"], .string), (["+1.5", "2.5"], .decimal),
    ])
  func types(_ cells: [String], _ expected: AttributeType) throws { #expect(try Self.type(of: cells) == expected) }

  @Test(
    "numbers are found out, and read, by the separators",
    arguments: [
      (["1.234", "2.500"], AttributeType.integer64, StoredValue.integer(1234)),
      (["1.234", "2,5"], .decimal, .decimal(DecimalNumber("1234") ?? .nan)),
      (["1.234", "2,5E3"], .double, .double(1234)),
      (["1,5", "12.345,25"], .decimal, .decimal(DecimalNumber("1.5") ?? .nan)),
      (["1.2", "2,5"], .string, .string("1.2")),
    ])
  func separators(_ cells: [String], _ expected: AttributeType, _ first: StoredValue) throws {
    var importer = StoreImporter()
    importer.conventions.decimalSeparator = .comma
    importer.conventions.thousandsSeparator = .point
    importer.conventions.delimiter = UInt8(ascii: ";")
    let nodes = try importer.read([
      LibrarySample.source("value;x\n" + cells.map { "\($0);\n" }.joined(), "things.csv")
    ]).nodes
    #expect(nodes.model.entity(named: "Thing")?.attributesByName["value"]?.type == expected)
    #expect(try nodes.value("Thing", 1, "value") == first)
  }

  @Test("words that are given for true and false make a Boolean of a column, also 0 and 1")
  func ownWords() throws {
    var importer = StoreImporter()
    importer.conventions.trueWords = ["0"]
    importer.conventions.falseWords = ["1"]
    #expect(try Self.type(of: ["0", "1"], importer) == .boolean)
    #expect(try Self.type(of: ["0", "1", "2"], importer) == .integer64)
  }

  @Test(
    "entities are named in the singular",
    arguments: [
      "houses House", "movies Movie", "prices Price", "images Image", "types Type", "cases Case", "status Status",
      "news News", "bus Bus", "series Series", "courses Course", "buses Bus", "statuses Status", "addresses Address",
      "categories Category", "boxes Box", "classes Class", "people Person", "warehouses Warehouse", "analyses Analysis",
      "heroes Hero", "shoes Shoe", "database Database", "book_loans BookLoan", "caches Cache", "branches Branch",
    ])
  func singular(_ names: String) throws {
    let words = names.split(separator: " ").map(String.init)
    let model = try StoreImporter().read([LibrarySample.source("n\n1\n", words[0] + ".csv")]).nodes.model
    #expect(model.entities.map(\.name) == [words[1]])
  }

  @Test("of several singular forms the one is taken that a column of keys is called after, and it is a relationship")
  func singularByColumn() throws {
    for (table, column, name) in [
      ("axes", "axe_id", "Axe"), ("tallies", "tallie_id", "Tallie"), ("houses", "house_id", "House"),
    ] {
      let nodes = try StoreImporter().read([
        LibrarySample.source("id,n\n1,1\n", table + ".csv"), LibrarySample.source("id,\(column)\n1,1\n", "things.csv"),
      ]).nodes
      let slot = name.prefix(1).lowercased() + name.dropFirst()
      #expect(try nodes.value("Thing", 1, slot) == .toOne(ObjectReference(entityName: name, reference: .integer(1))))
    }
  }

  @Test("dates in a recognized form are read by it")
  func dates() throws {
    let result = try StoreImporter().read([
      LibrarySample.source("day,us\n24.12.2026,12/31/2026\n1.2.2026,1/2/2026\n", "things.csv")
    ])
    #expect(try result.nodes.value("Thing", 1, "day") == .date(Date(timeIntervalSinceReferenceDate: 819_763_200)))
    #expect(try result.nodes.value("Thing", 2, "us") == .date(Date(timeIntervalSinceReferenceDate: 789_004_800)))
  }

  @Test("an integer with a plus sign is read")
  func plusSigns() throws {
    let nodes = try StoreImporter().read([LibrarySample.source("id,value\n1,+5\n2,-3\n", "things.csv")]).nodes
    let entity = try #require(nodes.model.entity(named: "Thing"))
    let values = nodes.handles(of: entity.index).map { nodes.value(forKey: "value", of: $0) }
    #expect(Set(values) == [.integer(5), .integer(-3)])
  }

  @Test(
    "a note says which cell keeps a column from being a date, a number or a truth value",
    arguments: [
      (
        ["2020-01-31", "2021-02-28", "not known"],
        "2 of 3 are dates, things.csv:4 is not: 'not known'; that may be a word for no value (--null) (1)"
      ),
      (["1", "2.5", "x", "7", "y"], "3 of 5 are numbers, things.csv:4 is not: 'x' (2)"),
      (
        ["yes", "?", "no"],
        "2 of 3 are truth values, things.csv:3 is not: '?'; that may be a word for no value (--null) (1)"
      ),
      (["1,5", "2", "-0,25"], "its numbers have a decimal comma: --decimal comma reads them (3)"),
      (["1.234,5", "2,5"], "its numbers have a decimal comma: --decimal comma --thousands point reads them (2)"),
      (["2020-01-31", "24.12.2021"], "its dates are written in several ways (2)"),
      (["1", "x", "y"], nil), (["a", "b", "c"], nil), (["+491711234567", "+4930123456"], nil), (["", ""], nil),
    ] as [([String], String?)])
  func textColumns(_ cells: [String], _ note: String?) throws {
    let text = "value,x\n" + cells.map { "\"\($0)\",\n" }.joined()
    let result = try StoreImporter().read([LibrarySample.source(text, "things.csv")])
    let notes = result.notes.filter { $0.subject == "Thing.value" }.map(\.description)
    #expect(notes == (note.map { ["Thing.value: kept as text: " + $0] } ?? []), "\(notes)")
  }

  @Test(
    "the note counts all records of a long table, of which only the beginning is looked at first",
    arguments: [1, 2, 2_500, 3_000])
  func longColumn(_ misfit: Int) throws {
    let rows = (1...3_000).map { $0 == misfit ? "x\n" : "\($0)\n" }.joined()
    let result = try StoreImporter().read([LibrarySample.source("value\n" + rows, "things.csv")])
    #expect(
      result.notes.map(\.description).contains {
        $0.hasPrefix("Thing.value: kept as text: 2999 of 3000 are numbers, things.csv:\(misfit + 1) is not: 'x'")
      }, "\(result.notes)")
  }

  @Test("day and month that cannot be told apart stay text, with a note")
  func ambiguous() throws {
    let result = try StoreImporter().read([LibrarySample.source("day,n\n1/2/2026,1\n", "things.csv")])
    #expect(try result.nodes.value("Thing", 1, "day") == .string("1/2/2026"))
    #expect(result.notes.contains { $0.subject == "Thing.day" })
  }

  @Test("types that are named are not found out")
  func named() throws {
    var importer = StoreImporter()
    importer.types = ["Thing.value": .string]
    #expect(try Self.type(of: ["1", "2"], importer) == .string)
    importer.types = ["value": .integer16]
    #expect(try Self.type(of: ["1", "2"], importer) == .integer16)
  }

  @Test("entities are named after files, properties after columns, keys become relationships with inverses")
  func graph() throws {
    let result = try StoreImporter().read([
      LibrarySample.file("authors.csv"), LibrarySample.file("books.csv"), LibrarySample.file("loans.csv"),
    ])
    let nodes = result.nodes
    #expect(nodes.model.entities.map(\.name) == ["Author", "Book", "Loan"])
    let book = try #require(nodes.model.entity(named: "Book"))
    #expect(book.slots.map(\.name) == ["title", "price", "inPrint", "published", "author", "loans"])
    #expect(book.attributesByName["price"]?.type == .decimal && book.attributesByName["title"]?.isOptional == false)
    #expect(try nodes.value("Author", 2, "books") == toMany("Book", 3, 4))
    #expect(try nodes.value("Loan", 4, "book") == toOne("Book", 8))
    #expect(nodes.model.description.isInferred == false)
  }

  @Test("a relationship within a table needs its entity, and two to one table have their own inverses")
  func selfReference() throws {
    var importer = StoreImporter()
    importer.relationshipColumns = [
      .init(
        entityName: "Category", relationshipName: "parent", columns: ["parent_id"], destinationEntityName: "Category")
    ]
    let text = "id,name,parent_id\n1,all,\n2,some,1\n"
    let result = try importer.read([LibrarySample.source(text, "categories.csv")])
    #expect(try result.nodes.value("Category", 1, "categoriesByParent") == toMany("Category", 2))
    importer.relationshipColumns[0].destinationEntityName = nil
    #expect(throws: PersistentStoreError.self) { _ = try importer.read([LibrarySample.source(text, "categories.csv")]) }
  }

  @Test(
    "names of entities",
    arguments: [("book_loans", "BookLoan"), ("people", "Person"), ("2026", "Table2026"), ("news", "News")])
  func names(_ stem: String, _ expected: String) throws {
    let result = try StoreImporter().read([LibrarySample.source("a\n1\n", stem + ".csv")])
    #expect(result.tables[0].entityName == expected)
  }
}

import AtomicStoreSPI
import Foundation
import StoreImporting
import Testing

@Suite("JSON that fetch printed") struct ObjectFormTests {
  private static let authors = #"""
    [{"objectID":{"entity":"Author","reference":7},"name":"Zola","born":null,
      "books":[{"entity":"Book","reference":2},{"reference":5,"entity":"Book"}]},
     {"objectID":{"entity":"Author","reference":8},"name":"Eliot","born":null,"books":[]}]
    """#
  private static let books = #"""
    {"objectID":{"entity":"Book","reference":2},"title":"Nana","author":{"entity":"Author","reference":7}}
    {"objectID":{"entity":"Book","reference":5},"title":"Germinal","author":{"entity":"Author","reference":7}}
    """#

  private static func read(_ authors: String, _ books: String) throws -> StoreImporter.Result {
    try LibrarySample.importer().read([
      LibrarySample.source(authors, "authors.json"), LibrarySample.source(books, "books.ndjson"),
    ])
  }

  @Test("objects keep their references, and relationships lead to the objects that they name")
  func references() throws {
    let result = try Self.read(Self.authors, Self.books)
    #expect(result.tables.map(\.keyColumns) == [["objectID"], ["objectID"]])
    #expect(result.tables.allSatisfy { $0.ignoredColumns.isEmpty })
    #expect(try result.nodes.value("Author", 7, "books") == toMany("Book", 2, 5))
    #expect(try result.nodes.value("Author", 8, "books") == toMany("Book"))
    #expect(try result.nodes.value("Book", 5, "author") == toOne("Author", 7))
  }

  @Test("references that are texts may have spaces, quotes and brackets in them")
  func texts() throws {
    let name = #"a, \"b\" [c]"#
    let result = try Self.read(
      #"[{"objectID":{"entity":"Author","reference":"\#(name)"},"name":"Zola"}]"#,
      #"{"objectID":{"entity":"Book","reference":2},"title":"Nana","author":{"entity":"Author","reference":"\#(name)"}}"#
    )
    #expect(
      try result.nodes.value("Book", 2, "author")
        == .toOne(ObjectReference(entityName: "Author", reference: .string(#"a, "b" [c]"#))))
    let other = try Self.read(
      #"[{"objectID":{"entity":"Author","reference":1},"name":"Zola","books":[{"entity":"Book","reference":"\#(name)"}]}]"#,
      #"{"objectID":{"entity":"Book","reference":"\#(name)"},"title":"Nana","author":{"entity":"Author","reference":1}}"#
    )
    #expect(
      try other.nodes.value("Author", 1, "books")
        == .toMany([ObjectReference(entityName: "Book", reference: .string(#"a, "b" [c]"#))]))
  }

  @Test("an object of another entity is a problem of its record, with its line; the other records are read")
  func otherEntities() throws {
    var importer = try LibrarySample.importer()
    let sources = [
      LibrarySample.source(
        #"""
        [{"objectID":{"entity":"Loan","reference":1},"name":"Zola"},
         {"objectID":{"entity":"Author","reference":2},"name":"Eliot"},
         {"objectID":{"entity":"Author","reference":3},"name":"Homer","books":[{"entity":"Loan","reference":2}]}]
        """#, "authors.json"),
      LibrarySample.source(
        #"{"objectID":{"entity":"Book","reference":2},"title":"Nana","author":{"entity":"Book","reference":2}}"#,
        "books.json"),
    ]
    #expect(
      try problems(importer, sources).map(\.description) == [
        "authors.json:1:3 (Author): this is an object of Loan, and not of Author",
        "authors.json:3:63 (Author): this is an object of Loan, and not of Book",
        "books.json:1:60 (Book): this is an object of Book, and not of Author",
      ])
    importer.rejectsBadRecords = true
    let result = try importer.read(sources)
    #expect(result.tables.map(\.rejectedCount) == [2, 1] && result.nodes.count("Author") == 1)
  }

  @Test("an object with other members has its own columns, as in JSON of other programs")
  func otherObjects() throws {
    let result = try Self.read(
      #"[{"id":7,"name":"Zola","born":{"base64":"AA=="}}]"#,
      #"{"id":2,"title":"Nana","author_id":7,"author":{"entity":"Author","reference":7,"note":"x"}}"#)
    #expect(result.tables[0].ignoredColumns == ["born.base64"])
    #expect(result.tables[1].ignoredColumns == ["author.entity", "author.reference", "author.note"])
  }

  @Test("without a model, a list of references is refused")
  func withoutModel() throws {
    let found = try problems(StoreImporter(), [LibrarySample.source(Self.authors, "authors.json")])
    #expect(found.map(\.message) == ["references to objects are read only with a model"], "\(found)")
  }

  @Test("in a list of keys, a text with spaces is one key")
  func lists() throws {
    let result = try Self.read(
      #"[{"id":1,"name":"Zola","books":["a b","c"]}]"#, #"{"id":"a b","title":"Nana"} {"id":"c","title":"Rome"}"#)
    #expect(
      try result.nodes.value("Author", 1, "books")
        == .toMany(["a b", "c"].map { ObjectReference(entityName: "Book", reference: .string($0)) }))
  }

  @Test("one object in its form is a to-many of one object, whatever its reference has in it")
  func oneObject() throws {
    let result = try Self.read(
      #"[{"id":1,"name":"Zola","books":{"entity":"Book","reference":"a b"}},{"id":2,"name":"Eve","books":["a","b"]}]"#,
      #"{"id":"a b","title":"Nana"} {"id":"a","title":"Rome"} {"id":"b","title":"Paris"}"#)
    #expect(
      try result.nodes.value("Author", 1, "books")
        == .toMany([ObjectReference(entityName: "Book", reference: .string("a b"))]))
  }

  @Test("the word for no value is a reference like others where a list has it in quotes")
  func wordForNull() throws {
    var importer = try LibrarySample.importer()
    importer.conventions.nullWords = ["NA"]
    let result = try importer.read([
      LibrarySample.source(
        #"[{"id":1,"name":"Zola","books":["NA"]},{"id":2,"name":"Eliot","books":[{"entity":"Book","reference":"N"}]}]"#,
        "authors.json"),
      LibrarySample.source(#"{"id":"NA","title":"Nana"} {"id":"N","title":"Rome"}"#, "books.json"),
    ])
    for (author, book) in [(1, "NA"), (2, "N")] as [(Int64, String)] {
      #expect(
        try result.nodes.value("Author", author, "books")
          == .toMany([ObjectReference(entityName: "Book", reference: .string(book))]))
    }
  }

  @Test(
    "an object in an array that is not one of the store is refused, and nothing after it is lost",
    arguments: [#"[{"base64":"AA=="}]"#, #"[{"base64":"AA=="}5,2]"#, #"[2,{"date":"x"}]"#, #"[{"a":1}]"#, "[{}]"])
  func otherObjectInArray(list: String) throws {
    let found = try problems(
      try LibrarySample.importer(),
      [LibrarySample.source(#"[{"id":1,"name":"Zola","books":\#(list)}]"#, "authors.json")])
    #expect(found.map(\.message) == ["an object within an array is not a value that can be imported"], "\(found)")
  }

  @Test(
    "objects and arrays are refused at any depth",
    arguments: [#"[{"a":"#, #"{"entity":["#, #"[{"date":"x"}"#, "[", #"{"books":{"a":["#], [true, false])
  func depth(start: String, hasModel: Bool) throws {
    let text = #"[{"id":1,"books":"# + String(repeating: start, count: 20_000)
    let importer = hasModel ? try LibrarySample.importer() : StoreImporter()
    #expect(try !problems(importer, [LibrarySample.source(text, "authors.json")]).isEmpty)
  }

  @Test("a number for an attribute of undefined type keeps all its digits")
  func undefinedNumbers() throws {
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "P", properties: [.attribute("any", .undefined)])]))
    let texts = ["12345678901234567890", "0.1", "1.5e3", "0.12345678901234567890", "7", "1e300"]
    let records = texts.enumerated().map { #"{"id":\#($0 + 1),"any":\#($1)}"# }.joined(separator: "\n")
    let nodes = try importer.read([LibrarySample.source(records, "p.json", entity: "P")]).nodes
    let values: [StoredValue] = [
      .decimal(try #require(DecimalNumber(texts[0]))), .double(0.1), .double(1500),
      .decimal(try #require(DecimalNumber(texts[3]))), .integer(7), .double(1e300),
    ]
    for (index, value) in values.enumerated() {
      #expect(try nodes.value("P", Int64(index + 1), "any") == value, "\(texts[index])")
    }
  }

  @Test("empty binary data that fetch prints as CSV is empty data, and an empty cell is none")
  func emptyData() throws {
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "P", properties: [.attribute("photo", .binaryData), .attribute("n", .integer64)])
      ]))
    let nodes = try importer.read([
      LibrarySample.source("id,photo,n\n1,\"\",\"\"\n2,,\n3,AA==,5\n", "p.csv", entity: "P")
    ]).nodes
    #expect(try nodes.value("P", 1, "photo") == .data(Data()))
    #expect(try nodes.value("P", 2, "photo") == .null)
    #expect(try nodes.value("P", 3, "photo") == .data(Data([0])))
    // A number has no empty text.
    #expect(try nodes.value("P", 1, "n") == .null)
  }

  @Test(
    "a composite attribute that is null in some records is not reported as left out, other members are",
    arguments: [("null", [String]()), ("\"Bern\"", ["home"]), ("[]", ["home"])])
  func nullComposite(_ text: String, _ ignored: [String]) throws {
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(
        entities: [EntityDescription(name: "P", properties: [.attribute("home", .composite("Address"))])],
        composites: [
          CompositeDescription(name: "Address", attributes: [AttributeDescription(name: "city", type: .string)])
        ]))
    let records = #"{"id":1,"home":{"city":"Rome"}}"# + "\n" + #"{"id":2,"home":\#(text)}"#
    let result = try importer.read([LibrarySample.source(records, "p.ndjson", entity: "P")])
    #expect(result.tables[0].ignoredColumns == ignored)
    #expect(try result.nodes.value("P", 1, "home.city") == .string("Rome"))
  }

  @Test(
    "the objects that fetch prints as CSV keep their references, whatever else looks like a key",
    arguments: ["id", "pk", "key", "P_id"])
  func printedKey(_ name: String) throws {
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "P", properties: [.attribute(name, .integer64)])]))
    let result = try importer.read([LibrarySample.source("objectID,\(name)\nP/3,10\nP/4,11\n", "p.csv", entity: "P")])
    #expect(result.tables[0].keyColumns == ["objectID"] && result.tables[0].ignoredColumns == [])
    #expect(try result.nodes.value("P", 3, name) == .integer(10))
    #expect(try result.nodes.value("P", 4, name) == .integer(11))
  }

  @Test("a column objectID of numbers is none that fetch printed: the column id stays the key")
  func otherObjectColumn() throws {
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "P", properties: [.attribute("name", .string)])]))
    let result = try importer.read([
      LibrarySample.source("objectID,id,name\n2,1,first\n1,2,second\n", "p.csv", entity: "P")
    ])
    #expect(result.tables[0].keyColumns == ["id"])
    #expect(try result.nodes.value("P", 1, "name") == .string("first"))
  }
}

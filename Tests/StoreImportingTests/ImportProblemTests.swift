import AtomicStoreSPI
import Foundation
import StoreImporting
import Testing

@Suite("Importing dirty tables") struct ImportProblemTests {
  @Test("all problems of all records are found in one pass, each with its place")
  func sample() throws {
    let found = try problems(
      LibrarySample.importer(),
      [
        LibrarySample.file("authors.csv"), LibrarySample.file("books.csv"),
        ImportSource(
          bytes: Array(Data(contentsOf: URL(filePath: LibrarySample.folder + "/loans-dirty.csv"))),
          name: "loans-dirty.csv"),
      ])
    #expect(
      found.map(\.description) == [
        "loans-dirty.csv:4:3 (Loan/2.book): there is no Book with the key '99'",
        "loans-dirty.csv:5:5 (Loan/3.borrower): a value is needed",
        "loans-dirty.csv:6:18 (Loan/4.due): '31.11.2026' is not a Date; a date format may be given",
        "loans-dirty.csv:6:29 (Loan/4.returned): 'perhaps' is not a Boolean",
        "loans-dirty.csv:6:37 (Loan/4.fee): '1,50' is not a Decimal; the decimal separator may be a comma",
        "loans-dirty.csv:7:1 (Loan.id): another record has the key '2': line 4",
        "loans-dirty.csv:8:12 (Loan): text follows the quote that closes a field",
        "loans-dirty.csv:9:5 (Loan): the record has 3 fields, the header 7",
        "loans-dirty.csv:10:5 (Loan/7.borrower): 'X' breaks the rule: at least 2 characters",
        "loans-dirty.csv:10:21 (Loan/7.fee): '-3' breaks the rule: at least 0",
        "loans-dirty.csv:11:1 (Loan.id): the key has no value",
      ])
    #expect(Set(found.map(\.kind)) == [.reference, .missing, .value, .key, .record, .rule])
  }

  @Test("rejected records are left out with those that refer to them, and kept as they are")
  func rejecting() throws {
    var importer = try LibrarySample.importer()
    importer.rejectsBadRecords = true
    let result = try importer.read([
      LibrarySample.source("id,name\n1,Zola\n2,\n3,Eliot\n", "authors.csv"),
      LibrarySample.source("id,title,author_id\r\n1,Nana,1\r\n2,\"Lost\",2\r\n3,Emma,9\r\n", "books.csv"),
      LibrarySample.source("id,borrower,due,book_id\n1,Ada,2026-01-01,1\n2,Bob,2026-01-01,2\n", "loans.csv"),
    ])
    #expect(result.nodes.count("Author") == 2 && result.nodes.count("Book") == 1 && result.nodes.count("Loan") == 1)
    #expect(result.tables.map(\.rejectedCount) == [1, 2, 1])
    #expect(String(decoding: result.tables[0].rejected, as: UTF8.self) == "id,name\n2,\n")
    #expect(
      String(decoding: result.tables[1].rejected, as: UTF8.self) == "id,title,author_id\r\n2,\"Lost\",2\r\n3,Emma,9\r\n"
    )
    #expect(
      result.problems.map(\.description) == [
        "authors.csv:3:3 (Author/2.name): a value is needed",
        "books.csv:3:10 (Book/2.author): Author/2, which is named here, is left out: line 3",
        "books.csv:4:8 (Book/3.author): there is no Author with the key '9'",
        "loans.csv:3:18 (Loan/2.book): Book/2, which is named here, is left out: line 3",
      ])
  }

  @Test(
    "what is left out of a table with an open quote is that line alone",
    arguments: ["1,\"open\n2,b\n", "1,a\"b\n2,b\n"])
  func structure(_ records: String) throws {
    var importer = try LibrarySample.importer()
    importer.rejectsBadRecords = true
    let result = try importer.read([LibrarySample.source("id,name\n" + records, "authors.csv")])
    #expect(result.nodes.count("Author") == 1)
    #expect(result.problems.count == 1 && result.problems[0].kind == .record && result.problems[0].line == 2)
  }

  @Test("the search ends at the number of problems that was asked for", arguments: [1, 5])
  func limit(_ count: Int) throws {
    var importer = try LibrarySample.importer()
    importer.maximumProblemCount = count
    let error = try #require(throws: ImportError.self) {
      _ = try importer.read([
        LibrarySample.source("id,name\n" + (1...20).map { "\($0),\n" }.joined(), "authors.csv")
      ])
    }
    #expect(error.problems.count == count && error.isCut)
  }

  @Test("a required property without a column is one problem, not one for each record")
  func noColumn() throws {
    let found = try problems(LibrarySample.importer(), [LibrarySample.source("id\n1\n2\n3\n", "authors.csv")])
    #expect(
      found.map(\.description) == [
        "authors.csv (Author.name): no column has values of 'name', which the model requires"
      ])
  }

  @Test("keys of an entity that no table is of are one problem")
  func noTable() throws {
    let found = try problems(
      LibrarySample.importer(), [LibrarySample.source("title,author_id\na,1\nb,2\n", "books.csv")])
    #expect(found.count == 1 && found[0].message.contains("no table provides Author"))
  }

  @Test(
    "integers that their type does not hold are named",
    arguments: [("Integer 16", "70000"), ("Integer 32", "3000000000"), ("Integer 64", "9223372036854775808")])
  func ranges(_ type: String, _ text: String) throws {
    let attribute = AttributeDescription(name: "n", type: try #require(AttributeType(modelName: type)))
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "T", properties: [.attribute(attribute)])]))
    let found = try problems(importer, [LibrarySample.source("n\n\(text)\n1\n", "t.csv")])
    #expect(found.count == 1 && found[0].line == 2 && found[0].kind == .value)
  }

  @Test(
    "JSON that is not well formed is a problem of its line",
    arguments: ["{\"name\": }", "{\"name\" \"x\"}", "7", "{\"name\": \"\\x\"}"])
  func badJSON(_ line: String) throws {
    let found = try problems(
      LibrarySample.importer(),
      [LibrarySample.source("{\"name\": \"a\"}\n\(line)\n{\"name\": \"\"}\n", "authors.json", entity: "Author")])
    #expect(found.contains { $0.line == 2 && $0.kind == .record })
    #expect(found.contains { $0.line == 3 && $0.kind == .rule }, "\(found)")
  }

  @Test(
    "a Boolean of JSON in a property of another type is a problem that shows it",
    arguments: [AttributeType.integer16, .double, .float, .decimal, .date, .uuid, .binaryData], ["true", "false"])
  func booleans(_ type: AttributeType, _ word: String) throws {
    var importer = StoreImporter()
    importer.model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "T", properties: [.attribute("a", type)])]))
    let error = try #require(throws: ImportError.self) {
      _ = try importer.read([ImportSource(bytes: Array("[{\"id\": 1, \"a\": \(word)}]".utf8), name: "T.json")])
    }
    #expect(error.problems.map(\.description).joined().contains("'\(word)' is not "), "\(error)")
  }
}

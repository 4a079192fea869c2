import AtomicStoreSPI
import Foundation
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Replacing values that tell of people") struct AnonymizerTests {
  private static func library() throws -> NodeTable {
    try LibrarySample.importer().read([
      LibrarySample.file("authors.csv"), LibrarySample.file("books.csv"), LibrarySample.file("loans.csv"),
    ]).nodes
  }

  @Test("hashes are equal for equal values, differ by salt, and are the same again")
  func hash() throws {
    var anonymizer = StoreAnonymizer(salt: "a")
    anonymizer.rules = ["Loan": ["borrower": .hash]]
    let (nodes, counts) = try anonymizer.anonymize(Self.library())
    #expect(counts.map(\.count) == [4] && counts.map(\.property) == ["Loan.borrower"])
    let one = try nodes.value("Loan", 1, "borrower")
    #expect(try one == nodes.value("Loan", 3, "borrower"))
    #expect(try one != nodes.value("Loan", 2, "borrower") && one != .string("Ada Lovelace"))
    #expect(try anonymizer.anonymize(Self.library()).nodes.value("Loan", 1, "borrower") == one)
    anonymizer.salt = "b"
    #expect(try anonymizer.anonymize(Self.library()).nodes.value("Loan", 1, "borrower") != one)
  }

  @Test("masks keep the form, fixed values and sequences are what they say, null stays null")
  func others() throws {
    var anonymizer = StoreAnonymizer(salt: "")
    anonymizer.rules = [
      "Author": ["name": .mask, "born": .fixed("2000-01-01")],
      "Book": ["title": .sequence("book "), "price": .fixed("1")],
    ]
    let nodes = try anonymizer.anonymize(Self.library()).nodes
    #expect(try nodes.value("Author", 2, "name") == .string("Xxxxx Xxxx"))
    #expect(try nodes.value("Author", 6, "born") == .null)
    #expect(try nodes.value("Book", 10, "title") == .string("book 10"))
    #expect(try nodes.value("Book", 1, "price") == .decimal(DecimalNumber(1)))
    #expect(try nodes.value("Book", 9, "price") == .null)
  }

  @Test(
    "what cannot be replaced is refused",
    arguments: [
      ("Autor", "name", StoreAnonymizer.Rule.mask), ("Author", "nmae", .mask), ("Author", "books", .hash),
      ("Author", "born", .hash), ("Book", "price", .mask), ("Book", "price", .fixed("x")),
      ("Author", "born", .sequence("")),
    ])
  func refused(_ entity: String, _ property: String, _ rule: StoreAnonymizer.Rule) throws {
    var anonymizer = StoreAnonymizer(salt: "")
    anonymizer.rules = [entity: [property: rule]]
    let error = try #require(throws: PersistentStoreError.self) { _ = try anonymizer.anonymize(Self.library()) }
    #expect(error.code == .invalidOption)
  }
}

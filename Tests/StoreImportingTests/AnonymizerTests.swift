import AtomicStoreSPI
import Foundation
import StoreImporting
import StoreMaintenance
import Testing

@Suite("Replacing personal data") struct AnonymizerTests {
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

  @Test(
    "hashes of integers and UUIDs are values of their types, whatever the salt",
    arguments: [AttributeType.integer16, .integer32, .integer64, .uuid])
  func typedHashes(_ type: AttributeType) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Item", properties: [.attribute("key", type)])]))
    let builder = NodeTableBuilder(model: model)
    let value: StoredValue = type == .uuid ? .uuid(UUID()) : .integer(7)
    try builder.beginNode(entity: 0, reference: .integer(1))
    try builder.set(value, slot: 0)
    let nodes = try builder.finish()
    var found: Set<StoredValue> = []
    for salt in 0..<64 {
      var anonymizer = StoreAnonymizer(salt: "\(salt)")
      anonymizer.rules = ["Item": ["key": .hash]]
      let hashed = try anonymizer.anonymize(nodes).nodes.value("Item", 1, "key")
      #expect(type.accepts(hashed) && !hashed.isNull)
      if case .integer(let number) = hashed { #expect(number >= 0) }
      found.insert(hashed)
    }
    #expect(found.count > 60)
  }

  /// Objects of an entity and its sub-entity.
  private static func people(_ objects: [(String, Int64)]) throws -> NodeTable {
    let email = PropertyDescription.attribute(AttributeDescription(name: "email", type: .string))
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person", properties: [email], subentities: [EntityDescription(name: "Employee")],
          uniquenessConstraints: [["email"]])
      ]))
    let builder = NodeTableBuilder(model: model)
    for (name, number) in objects {
      let entity = try #require(model.entity(named: name))
      try builder.beginNode(entity: entity.index, reference: .integer(number))
      try builder.set(.string("a\(number)@b"), slot: try #require(entity.slot(named: "email")))
    }
    return try builder.finish()
  }

  @Test("a sequence goes on through all entities of a hierarchy")
  func sequenceOfHierarchy() throws {
    var anonymizer = StoreAnonymizer(salt: "")
    anonymizer.rules = ["Person": ["email": .sequence("p-")]]
    let (nodes, counts) = try anonymizer.anonymize(Self.people([("Employee", 2), ("Person", 1), ("Person", 3)]))
    #expect(counts.map(\.count) == [3])
    for (name, number) in [("Person", 1), ("Employee", 2), ("Person", 3)] as [(String, Int64)] {
      #expect(try nodes.value(name, number, "email") == .string("p-\(number)"))
    }
  }

  @Test("a value is replaced once, by the rule of the nearest entity that has one")
  func rulesOfHierarchy() throws {
    let people = try Self.people([("Employee", 2), ("Person", 1)])
    var anonymizer = StoreAnonymizer(salt: "a")
    anonymizer.rules = ["Person": ["email": .hash]]
    let hashes = try anonymizer.anonymize(people).nodes
    anonymizer.rules["Employee"] = ["email": .hash]
    let (nodes, counts) = try anonymizer.anonymize(people)
    #expect(try nodes.value("Employee", 2, "email") == hashes.value("Employee", 2, "email"))
    #expect(counts.map(\.property) == ["Employee.email", "Person.email"] && counts.map(\.count) == [1, 1])
    anonymizer.rules["Employee"] = ["email": .fixed("Staff")]
    let fixed = try anonymizer.anonymize(people).nodes
    #expect(try fixed.value("Employee", 2, "email") == .string("Staff"))
    #expect(try fixed.value("Person", 1, "email") == hashes.value("Person", 1, "email"))
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

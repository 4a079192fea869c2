import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Core Data's SQLite stores", .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
struct CoreDataSQLiteTests {
  let samples: SQLiteSamples
  init() throws { samples = try SQLiteSamples() }

  @Test("every type of attribute is read as it is in its column")
  func attributes() throws {
    let opened = try samples.open("Plain.sqlite")
    #expect(try opened.value("Person", 1, "name") == .string("Ada"))
    #expect(try opened.value("Person", 1, "active") == .boolean(true))
    #expect(try opened.value("Person", 1, "age") == .integer(41))
    #expect(try opened.value("Person", 1, "joined") == .date(Date(timeIntervalSinceReferenceDate: 280_000_000)))
    #expect(try opened.value("Employee", 2, "joined") == .date(Date(timeIntervalSinceReferenceDate: 12.5)))
    #expect(try opened.value("Person", 1, "ratio") == .float(0.5))
    #expect(try opened.value("Person", 1, "score") == .double(2.25))
    #expect(try opened.value("Employee", 2, "score") == .double(3))
    #expect(try opened.value("Person", 1, "salary") == .decimal(try #require(DecimalNumber("1200"))))
    #expect(try opened.value("Employee", 2, "salary") == .decimal(try #require(DecimalNumber("3.25"))))
    #expect(try opened.value("Guest", 4, "salary") == .decimal(.nan))
    #expect(try opened.value("Person", 1, "site") == .uri("http://example.com/a%20b"))
    #expect(
      try opened.value("Person", 1, "ident")
        == .uuid(try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))))
    #expect(try opened.value("Person", 1, "blob") == .data(Data([0, 0xFF])))
    #expect(try opened.value("Employee", 2, "blob") == .data(Data()))
    #expect(try opened.value("Guest", 4, "name") == .string(""))
    for key in ["name", "active", "age", "joined", "ratio", "score", "salary", "site", "ident", "blob", "photo"] {
      #expect(try opened.value("Person", 9, key) == .null)
    }
  }

  @Test("a value that is stored here begins with 1, which is not a part of it")
  func inlineExternal() throws {
    let opened = try samples.open("Plain.sqlite")
    #expect(try opened.value("Person", 1, "photo") == .data(Data([0xCA, 0xFE])))
    #expect(try opened.value("Guest", 4, "photo") == .data(Data()))
  }

  @Test("sub-entities share a table, and properties of one name have a column each")
  func inheritance() throws {
    let opened = try samples.open("Plain.sqlite")
    #expect(opened.nodes.model.entities.map { opened.nodes.count(of: $0.index) } == [1, 1, 2, 2, 1])
    #expect(try opened.value("Employee", 2, "note") == .string("good"))
    #expect(try opened.value("Employee", 2, "title") == .string("Boss"))
    #expect(try opened.value("Guest", 4, "note") == .integer(77))
  }

  @Test("an entity that a migration in place renamed is found under its earlier name, and that is noted")
  func renamed() throws {
    try samples.edit("Plain.sqlite", "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Worker' WHERE Z_NAME = 'Employee'")
    var description = samples.model.description
    let person = try #require(description.entities.firstIndex { $0.name == "Person" })
    let employee = try #require(description.entities[person].subentities.firstIndex { $0.name == "Employee" })
    description.entities[person].subentities[employee].renamingIdentifier = "Worker"
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(description), registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: samples.path("Plain.sqlite"), isReadOnly: true)
    let opened = SQLiteSamples.Opened(coordinator: coordinator, store: store)
    #expect(try opened.value("Employee", 2, "title") == .string("Boss"))
    #expect(opened.notes.contains { $0.subject == "Employee" && $0.text.contains("Worker") && !$0.isLoss })
    // Without the identifier nothing says that they are one.
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .modelMismatch && error.message.contains("1 objects of Worker"), "\(error)")
  }

  @Test("relationships have both ends, ordered ones their order")
  func relationships() throws {
    let opened = try samples.open("Plain.sqlite")
    #expect(
      try opened.value("Employee", 2, "manager")
        == .toOne(ObjectReference(entityName: "Person", reference: .integer(1))))
    #expect(try opened.members("Person", 1, "reports") == ["Employee/2"])
    #expect(try opened.members("Employee", 2, "reports") == ["Guest/4"])
    #expect(try opened.members("Team", 1, "members") == ["Employee/2", "Person/1", "Guest/4"])
    #expect(try opened.members("Person", 1, "tags") == ["Tag/2", "Tag/1"])
    #expect(try opened.members("Tag", 2, "people") == ["Person/1", "Employee/2"])
    #expect(try opened.members("Person", 9, "tags") == [])
  }

  @Test("metadata are the user's, the UUID and the greatest key are the store's")
  func metadata() throws {
    let store = try samples.open("Plain.sqlite").store
    #expect(store.identifier.uuidString == "3F0A7B6E-52C4-4E0B-9C7A-0D8C1B7A9E11")
    #expect(store.metadata.entries == ["sample": "script"])
    #expect(store.metadata.lastReference == 9)
    #expect(store.loadNotes.isEmpty)
  }

  @Test(
    "a store is known by its content, whatever its name", arguments: ["Plain.moody", "Plain", "Plain.xml", "Plain.csv"])
  func names(_ name: String) throws {
    try FileManager.default.copyItem(atPath: samples.path("Plain.sqlite"), toPath: samples.path(name))
    #expect(try samples.open(name).store.type == "CoreDataSQLite")
  }

  @Test("a schema of many pages is looked through")
  func largeSchema() throws {
    // Until the first page of the schema does not hold the tables themselves.
    let tables = (0..<200).map { "CREATE TABLE AAA\($0) (\(String(repeating: "x", count: 40)) INTEGER);" }.joined()
    try samples.edit("Plain.sqlite", tables)
    #expect(try samples.open("Plain.sqlite").nodes.count == 7)
  }

  @Test("metadata of a store that was opened are changed in its file, and nothing is left behind")
  func changing() throws {
    let before = try samples.contents()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: samples.model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: samples.path("Plain.sqlite"))
    let nodes = store.nodes
    try coordinator.save(store)
    #expect(try samples.contents() == before, "nothing to save")
    try store.setMetadata(["other": "entry"])
    try coordinator.save(store)
    #expect(try samples.contents().keys.sorted() == before.keys.sorted())
    let again = try samples.open("Plain.sqlite").store
    #expect(again.metadata.entries == ["other": "entry"])
    #expect(again.identifier == store.identifier)
    #expect(again.nodes.count == nodes.count)
  }

  @Test("what is read converts to another type and compares equal", arguments: ["xml", "plist", "csvstore"])
  func conversion(_ type: String) throws {
    var converter = StoreConverter(registry: .builtIn)
    converter.model = samples.model
    let report = try converter.convert(from: samples.path("Plain.sqlite"), to: samples.path("Copy." + type))
    #expect(report.counts.reduce(0) { $0 + $1.count } == 7 && report.losses.isEmpty)
    let differences = GraphComparison.differences(
      StoreSnapshot(
        nodes: try samples.open("Plain.sqlite").nodes.canonical(),
        metadata: try samples.open("Plain.sqlite").store.metadata),
      StoreSnapshot(
        nodes: try samples.open("Copy." + type).nodes.canonical(),
        metadata: try samples.open("Copy." + type).store.metadata),
      options: .init(limit: 10))
    #expect(differences.isEmpty, "\(differences)")
  }

  // MARK: Without a model

  @Test("without a model there is a raw view, marked as inferred from the data")
  func rawView() throws {
    let opened = try samples.open("Plain.sqlite", model: false)
    #expect(opened.nodes.model.description.isInferred)
    #expect(opened.nodes.count == 7)
    #expect(try opened.value("Person", 1, "NAME") == .string("Ada"))
    #expect(try opened.value("Employee", 2, "TITLE") == .string("Boss"))
    #expect(try opened.value("Employee", 2, "SALARY") == .decimal(try #require(DecimalNumber("3.25"))))
    #expect(try opened.value("Guest", 4, "NOTE1") == .integer(77))
    // The table says of this one that it leads to a Person; of the team there is only a number.
    #expect(
      try opened.value("Employee", 2, "MANAGER")
        == .toOne(ObjectReference(entityName: "Person", reference: .integer(1))))
    #expect(try opened.value("Employee", 2, "TEAM") == .integer(1))
    #expect(try opened.members("Person", 1, "TAGS") == ["Tag/2", "Tag/1"])
    #expect(try opened.members("Tag", 2, "PEOPLE") == ["Person/1", "Employee/2"])
  }
}

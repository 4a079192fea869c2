import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Damaged and hostile SQLite stores", .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
struct CoreDataSQLiteDamageTests {
  let samples: SQLiteSamples
  init() throws { samples = try SQLiteSamples() }

  @Test(
    "a value of another kind is refused with its object and property",
    arguments: zip(
      [
        "ZAGE = 'old'", "ZAGE = 70000", "ZACTIVE = 2", "ZACTIVE = 'yes'", "ZNAME = X'00'", "ZIDENT = X'0011'",
        "ZIDENT = 'text'",
        "ZJOINED = 'today'", "ZSALARY = 'many'", "ZBLOB = 'text'", "ZPHOTO = X'05'", "ZPHOTO = X''", "ZTEAM = 'first'",
        "ZSCORE = X'00'",
        "ZNAME = CAST(X'C328' AS TEXT)",
      ],
      [
        "age", "age", "active", "active", "name", "ident", "ident", "joined", "salary", "blob", "photo", "photo",
        "team", "score", "name",
      ]))
  func wrongKind(_ change: String, _ property: String) throws {
    try samples.edit("Plain.sqlite", "UPDATE ZPERSON SET \(change) WHERE Z_PK = 2")
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .invalidValue || error.code == .malformed, "\(error)")
    #expect(
      error.location.entity == "Employee" && error.location.reference == "2" && error.location.property == property,
      "\(error)")
    #expect(error.location.file == samples.path("Plain.sqlite"))
  }

  /// Overwrites the first page of a table with zeros.
  private func damage(_ table: String) throws {
    let path = samples.path("Plain.sqlite")
    let number = try #require(
      SQLiteSamples.lines(path, "SELECT rootpage FROM sqlite_master WHERE name = '\(table)'").first.flatMap { Int($0) })
    let size = try #require(SQLiteSamples.lines(path, "PRAGMA page_size").first.flatMap { Int($0) })
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try file.seek(toOffset: UInt64((number - 1) * size))
    try file.write(contentsOf: Data(count: size))
    try file.close()
  }

  @Test(
    "damage in a table that is not needed is a warning", arguments: ["Z_MODELCACHE", "ZOTHER", "ATRANSACTION"],
    [true, false])
  func unneeded(_ table: String, _ hasModel: Bool) throws {
    try samples.edit("Plain.sqlite", "CREATE TABLE \(table) (Z_CONTENT BLOB); INSERT INTO \(table) VALUES (X'00')")
    let sound = try samples.open("Plain.sqlite", model: hasModel).nodes
    try damage(table)
    let opened = try samples.open("Plain.sqlite", model: hasModel)
    #expect(opened.nodes.count == sound.count && opened.nodes.count == 7)
    #expect(opened.notes.filter(\.isWarning).map(\.subject) == [table], "\(opened.notes)")
  }

  @Test(
    "a damaged table is refused, and does not take the others along where what is damaged is left out",
    arguments: zip(["ZTAG", "ZTEAM", "ZPERSON", "Z_1TAGS"], [5, 6, 3, 7]))
  func damagedTable(_ table: String, _ count: Int) throws {
    try damage(table)
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .malformed && "\(error)".contains("damaged=skip-object"), "\(error)")
    let opened = try samples.open("Plain.sqlite", options: ["damaged": "skip-object"])
    #expect(opened.nodes.count == count)
    #expect(opened.notes.contains { $0.isLoss && $0.text.contains("the table \(table) is damaged") }, "\(opened.notes)")
    // Without a model too.
    let raw = try samples.open("Plain.sqlite", model: false, options: ["damaged": "skip-object"])
    #expect(raw.nodes.count == count)
  }

  /// The rows of an entity, of a store of which nothing else is read.
  private func rows(_ entity: String, _ columns: [String], where text: String? = nil, model: Bool) throws -> Int {
    // Without the model, properties have the names of columns.
    let predicate = try text.flatMap { model ? try FetchPredicate(format: $0) : nil }
    let keys = model ? columns : []
    @Sendable func request() -> FetchRequest<ManagedObject> {
      var request = FetchRequest<ManagedObject>(entityName: entity, predicate: predicate)
      request.propertiesToFetch = keys.map { FetchColumn(keyPath: $0) }
      return request
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model ? samples.model : nil, registry: .builtIn)
    coordinator.readNeeds = { ReadNeeds(objects: request().neededObjects(in: $0)) }
    let store = try coordinator.addPersistentStore(at: samples.path("Plain.sqlite"), isReadOnly: true)
    let lost = store.loadNotes.filter { $0.isLoss }
    #expect(lost.count == 1 && lost.allSatisfy { $0.text.contains("is damaged") }, "\(lost)")
    return try ManagedObjectContext(coordinator).count(for: request())
  }

  @Test(
    "damage in the table of an entity that a request does not need does not stop it, and is reported",
    arguments: [true, false],
    [
      ("ZTAG", "Team", ["name"], nil, 1), ("ZTEAM", "Tag", ["label"], nil, 2), ("ZPERSON", "Tag", ["label"], nil, 2),
      ("ZPERSON", "Team", ["name"], "name != nil", 1), ("ZTEAM", "Person", ["name"], nil, 4),
      ("ZTAG", "Person", ["name"], nil, 4), ("Z_1TAGS", "Person", ["name"], nil, 4),
    ] as [(String, String, [String], String?, Int)])
  func unneededEntity(
    _ model: Bool, _ request: (table: String, entity: String, columns: [String], predicate: String?, count: Int)
  ) throws {
    try damage(request.table)
    #expect(try samples.failure("Plain.sqlite").code == .malformed)
    #expect(try rows(request.entity, request.columns, where: request.predicate, model: model) == request.count)
  }

  @Test(
    "damage that a request may depend on refuses the store as before",
    arguments: [
      ("ZTEAM", "Team", ["name"], nil), ("ZTEAM", "Person", ["team"], nil), ("ZTEAM", "Person", ["team.name"], nil),
      ("ZTEAM", "Person", ["name"], "team != nil"), ("ZPERSON", "Team", ["members"], nil),
      ("ZPERSON", "Team", ["name"], "members.@count > 2"), ("ZTAG", "Person", ["tags"], nil),
      ("Z_1TAGS", "Person", ["tags"], nil), ("Z_1TAGS", "Tag", ["people"], nil), ("ZPERSON", "Employee", ["name"], nil),
      ("ZTAG", "Person", ["name"], "SUBQUERY(tags, $t, $t.label == 'red').@count > 0"),
    ] as [(String, String, [String], String?)])
  func neededEntity(_ table: String, _ entity: String, _ columns: [String], _ predicate: String?) throws {
    try damage(table)
    let whole = try samples.failure("Plain.sqlite")
    let error = try #require(throws: PersistentStoreError.self) {
      _ = try rows(entity, columns, where: predicate, model: true)
    }
    #expect(error.code == .malformed && error.message == whole.message)
  }

  @Test("the table that a store does not have is named", arguments: ["Z_PRIMARYKEY", "Z_METADATA"])
  func missingTable(_ table: String) throws {
    try samples.edit("Plain.sqlite", "DROP TABLE \(table); VACUUM")
    let error = try samples.failure("Plain.sqlite")
    let other = table == "Z_METADATA" ? "Z_PRIMARYKEY" : "Z_METADATA"
    #expect("\(error)".contains(table) && !"\(error)".contains(other), "\(error)")
  }

  @Test(
    "a row that belongs to no object is refused with its key, or left out and reported",
    arguments: zip(
      ["99", "4", "NULL", "0"],
      ["the entity number 99", "of Tag, whose objects are in another table", "no entity number", "the entity number 0"])
  )
  func strayRow(_ number: String, _ words: String) throws {
    try samples.edit("Plain.sqlite", "INSERT INTO ZPERSON (Z_PK, Z_ENT, ZNAME) VALUES (20, \(number), 'stray')")
    let error = try samples.failure("Plain.sqlite")
    #expect(
      error.code == .modelMismatch && error.message.contains(words) && "\(error)".contains("rows=skip"), "\(error)")
    #expect(error.location.reference == "20")
    let opened = try samples.open("Plain.sqlite", options: ["rows": "skip"])
    #expect(opened.nodes.count == 7)
    #expect(opened.notes.map(\.subject) == ["ZPERSON"] && opened.notes.map(\.example) == ["Z_PK 20"], "\(opened.notes)")
  }

  @Test("objects of an entity that the model does not have are refused by name")
  func unknownEntity() throws {
    try samples.edit("Plain.sqlite", "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Visitor' WHERE Z_ENT = 3")
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .modelMismatch && error.message.contains("only in the store: Visitor"), "\(error)")
    // What leads to the object that is left out now is dangling.
    try samples.edit("Plain.sqlite", "UPDATE ZPERSON SET ZMANAGER = NULL, ZTEAM = NULL WHERE Z_PK = 4")
    #expect(try samples.open("Plain.sqlite", options: ["rows": "skip"]).nodes.count == 6)
  }

  @Test(
    "a reference to an object that is not there is refused with both ends",
    arguments: zip(
      [
        "UPDATE ZPERSON SET ZTEAM = 77 WHERE Z_PK = 2", "INSERT INTO Z_1TAGS VALUES (1, 55, 1)",
        "INSERT INTO Z_1TAGS VALUES (66, 1, 1)", "INSERT INTO Z_1TAGS VALUES (66, 55, 1)",
      ],
      ["Team/77", "Tag/55", "Person/66", "Person/66 and Tag/55"]))
  func dangling(_ sql: String, _ words: String) throws {
    try samples.edit("Plain.sqlite", sql)
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .danglingReference && error.message.contains(words), "\(error)")
    #expect(error.location.entity != nil)
  }

  @Test(
    "a store whose tables do not fit the model is refused by table and column",
    arguments: zip(
      [
        "ALTER TABLE ZPERSON DROP COLUMN ZSCORE", "DROP TABLE ZTEAM", "DROP TABLE Z_1TAGS", "DROP TABLE Z_PRIMARYKEY",
        "DELETE FROM Z_METADATA",
        "UPDATE Z_METADATA SET Z_UUID = 'x'", "UPDATE Z_METADATA SET Z_PLIST = X'00'",
        "INSERT INTO Z_METADATA VALUES (2, 'x', NULL)",
        "INSERT INTO Z_PRIMARYKEY VALUES (9, 'Team', 0, 0)",
      ],
      ["ZSCORE", "ZTEAM", "Z_1TAGS", "Z_PRIMARYKEY", "Z_METADATA", "Z_UUID", "Z_PLIST", "more than one row", "twice"]))
  func schema(_ sql: String, _ words: String) throws {
    try samples.edit("Plain.sqlite", sql)
    let error = try samples.failure("Plain.sqlite")
    #expect(error.description.contains(words), "\(error)")
    #expect(error.code == .modelMismatch || error.code == .malformed, "\(error)")
  }

  @Test(
    "nothing in a schema is run: computed columns, views, virtual tables",
    arguments: [
      "ALTER TABLE ZTEAM ADD COLUMN ZX BLOB AS (zeroblob(1000000))",
      "ALTER TABLE ZTEAM RENAME TO T; CREATE VIEW ZTEAM AS SELECT Z_PK, Z_ENT, Z_OPT, randomblob(1000000) AS ZNAME FROM T",
      "DROP TABLE ZTEAM; CREATE VIRTUAL TABLE ZTEAM USING fts5(Z_PK, Z_ENT, Z_OPT, ZNAME)",
    ])
  func schemaIsNotRun(_ sql: String) throws {
    try samples.edit("Plain.sqlite", sql)
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .malformed || error.code == .modelMismatch, "\(error)")
    #expect(error.description.contains("ZTEAM"), "\(error)")
  }

  @Test("pages that are named twice, which would give rows without end, are refused")
  func sharedPages() throws {
    try samples.edit(
      "Plain.sqlite",
      "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO ZTAG SELECT i, 4, 1, hex(randomblob(40)) FROM n"
    )
    let path = samples.path("Plain.sqlite")
    var bytes = [UInt8](try #require(FileManager.default.contents(atPath: path)))
    // The root of a table that takes several pages: each cell's first four bytes name a page; all get the first one's.
    var changed = 0
    for page in 1..<bytes.count / 1024 where bytes[page * 1024] == 5 {
      let start = page * 1024
      let count = Int(bytes[start + 3]) << 8 | Int(bytes[start + 4])
      let cells = (0..<count).map { start + (Int(bytes[start + 12 + 2 * $0]) << 8 | Int(bytes[start + 13 + 2 * $0])) }
      for cell in cells.dropFirst() {
        bytes.replaceSubrange(cell..<cell + 4, with: Array(bytes[cells[0]..<cells[0] + 4]))
        changed += 1
      }
    }
    try #require(changed > 10)
    try Data(bytes).write(to: URL(filePath: path))
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .malformed && error.location.entity == "Tag", "\(error)")
  }

  @Test("a file cut short is refused, wherever it is cut", arguments: [99, 100, 1023, 1024, 3000, 7000, 11_000])
  func cut(_ length: Int) throws {
    let path = samples.path("Plain.sqlite")
    try (try #require(FileManager.default.contents(atPath: path))).prefix(length).write(to: URL(filePath: path))
    let error = try samples.failure("Plain.sqlite")
    #expect([.malformed, .notSupported, .unrecognizedFormat].contains(error.code), "\(error)")
  }

  @Test("any changed byte gives a store or a typed error with a place", arguments: 0..<8)
  func changedBytes(_ part: Int) throws {
    let original = [UInt8](try #require(FileManager.default.contents(atPath: samples.path("Plain.sqlite"))))
    let format = try StoreRegistry.builtIn.storeType(named: "CoreDataSQLite")
    for offset in stride(from: part, to: original.count, by: 8 * 3) {
      var bytes = original
      bytes[offset] = offset % 2 == 0 ? ~bytes[offset] : bytes[offset] &+ 1
      let source = StoreSource(bytes: bytes, name: "store.sqlite")
      do throws(PersistentStoreError) {
        var store = try format.init(StoreConfiguration(path: "store.sqlite"))
        _ = try store.metadata(in: source)
        let builder = NodeTableBuilder(model: samples.model, file: "store.sqlite")
        try store.load(source, into: builder)
        _ = try builder.finish()
      } catch {
        let place = error.location
        #expect(place.offset != nil || place.entity != nil || place.property != nil, "byte \(offset): \(error)")
        #expect(
          [.malformed, .limitExceeded, .invalidValue, .danglingReference, .duplicateReference, .modelMismatch].contains(
            error.code), "byte \(offset): \(error)")
      }
    }
  }

  @Test(
    "limits hold: objects, bytes of a value, bytes of the file",
    arguments: ["maximumObjects": "3", "maximumValueBytes": "2", "maximumBytes": "2000"].sorted { $0.key < $1.key })
  func limits(_ name: String, _ value: String) throws {
    let error = try samples.failure("Plain.sqlite", options: [name: value])
    #expect(error.code == .limitExceeded && error.message.contains(name), "\(error)")
  }
}

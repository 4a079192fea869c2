import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// What real stores are like besides the usual: other settings of the database, tables of other parts of Core Data,
/// tables that other programs made.
@Suite("SQLite stores of all shapes", .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
struct CoreDataSQLiteShapeTests {
  let samples: SQLiteSamples
  init() throws { samples = try SQLiteSamples() }

  private func convert(_ name: String, to target: String, model: Bool = true, options: StoreOptions = [:]) throws
    -> StoreConverter.Report
  {
    var converter = StoreConverter(registry: .builtIn)
    converter.model = model ? samples.model : nil
    converter.readOptions = options
    return try converter.convert(from: samples.path(name), to: samples.path(target))
  }

  // MARK: The database

  @Test(
    "the settings of a database do not matter",
    arguments: [
      "PRAGMA page_size=512; VACUUM", "PRAGMA page_size=65536; VACUUM", "PRAGMA auto_vacuum=FULL; VACUUM",
      "PRAGMA auto_vacuum=NONE; VACUUM", "PRAGMA journal_mode=WAL", "PRAGMA user_version=7; PRAGMA application_id=9",
      "ANALYZE", "DELETE FROM ZPERSON WHERE Z_PK > 100; REINDEX",
    ])
  func settings(_ sql: String) throws {
    try samples.edit("Plain.sqlite", sql)
    let opened = try samples.open("Plain.sqlite")
    #expect(opened.nodes.count == 7 && opened.notes.allSatisfy { !$0.isLoss })
    #expect(try opened.value("Employee", 2, "name") == .string("Zoë 李"))
  }

  @Test("a database in UTF-16 is recognized and read", arguments: ["UTF-16le", "UTF-16be"])
  func encoding(_ encoding: String) throws {
    let dump = try SQLiteSamples.lines(samples.path("Plain.sqlite"), ".dump").joined(separator: "\n")
    try samples.script("Wide.sqlite", "PRAGMA encoding='\(encoding)';\n" + dump)
    let opened = try samples.open("Wide.sqlite")
    #expect(opened.nodes.count == 7)
    #expect(try opened.value("Employee", 2, "name") == .string("Zoë 李"))
  }

  @Test("the name of the file does not matter, nor a log and an index that are empty")
  func names() throws {
    try FileManager.default.moveItem(atPath: samples.path("Plain.sqlite"), toPath: samples.path("Plain"))
    for suffix in ["-wal", "-shm", "-journal"] { try Data().write(to: URL(filePath: samples.path("Plain" + suffix))) }
    let opened = try samples.open("Plain")
    #expect(opened.nodes.count == 7 && opened.notes.isEmpty, "\(opened.notes)")
  }

  @Test("a store that another connection is changing is read as it was before")
  func openTransaction() throws {
    try samples.script(
      "Plain.sqlite",
      """
      PRAGMA journal_mode=WAL;
      BEGIN IMMEDIATE;
      INSERT INTO ZTAG VALUES (50, 4, 1, 'not yet');
      .shell cp '\(samples.path("Plain.sqlite"))' '\(samples.path("Held.sqlite"))' && cp '\(samples.path("Plain.sqlite-wal"))' '\(samples.path("Held.sqlite-wal"))'
      """)
    #expect(try samples.open("Held.sqlite").nodes.count == 7)
  }

  @Test("a database without tables says that its log may be missing")
  func missingLog() throws {
    try samples.edit("Empty.sqlite", "PRAGMA journal_mode=WAL; VACUUM")
    let error = try samples.failure("Empty.sqlite")
    #expect(error.message.contains("not a Core Data store") && error.message.contains("-wal"), "\(error)")
    try samples.edit("Other.sqlite", "CREATE TABLE t (x)")
    #expect(try !samples.failure("Other.sqlite").message.contains("-wal"))
  }

  // MARK: Tables of other parts

  @Test("an index over places has its own tables, which are not a loss")
  func placeIndex() throws {
    try samples.edit(
      "Plain.sqlite",
      "CREATE VIRTUAL TABLE Z_Person_byPlace USING rtree(Z_PK, a, b, c, d); INSERT INTO Z_Person_byPlace VALUES (1, 1, 2, 3, 4)"
    )
    let opened = try samples.open("Plain.sqlite")
    #expect(opened.nodes.count == 7)
    #expect(opened.notes.map(\.subject) == ["Z_Person_byPlace"] && opened.notes.allSatisfy { !$0.isLoss })
    #expect(try convert("Plain.sqlite", to: "out.csvstore").losses.isEmpty)
  }

  @Test("the tables of history and of a mirror in iCloud are noted and no loss, with a model and without")
  func mirror() throws {
    try samples.edit(
      "History.sqlite",
      """
      CREATE TABLE ANSCKRECORDMETADATA ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZENTITYID INTEGER, ZENTITYPK INTEGER, ZENCODEDRECORD BLOB, UNIQUE (ZENTITYID, ZENTITYPK) );
      INSERT INTO ANSCKRECORDMETADATA VALUES (1, 17005, 1, 1, 1, X'00');
      INSERT INTO Z_PRIMARYKEY VALUES (17005, 'NSCKRecordMetadata', 0, 1);
      """)
    for isGiven in [true, false] {
      let opened = try samples.open("History.sqlite", model: isGiven)
      #expect(opened.nodes.count == 1 && opened.nodes.model.entityCount == 5)
      #expect(opened.notes.allSatisfy { !$0.isLoss }, "\(opened.notes)")
      #expect(opened.notes.contains { $0.subject.contains("ANSCKRECORDMETADATA") }, "\(opened.notes)")
      #expect(try convert("History.sqlite", to: "out\(isGiven).csvstore", model: isGiven).losses.isEmpty)
    }
  }

  // MARK: Tables that other programs made

  @Test("a table without a key is read in the order of Z_PK; a key that is there twice is refused")
  func withoutKey() throws {
    try samples.edit(
      "Plain.sqlite",
      """
      ALTER TABLE ZTAG RENAME TO old; CREATE TABLE ZTAG ( Z_PK INTEGER, Z_ENT INTEGER, Z_OPT INTEGER, ZLABEL VARCHAR );
      INSERT INTO ZTAG SELECT * FROM old ORDER BY Z_PK DESC; DROP TABLE old;
      """)
    let opened = try samples.open("Plain.sqlite")
    #expect(try opened.value("Tag", 1, "label") == .string("red"))
    #expect(try opened.members("Person", 1, "tags") == ["Tag/2", "Tag/1"])
    try samples.edit("Plain.sqlite", "INSERT INTO ZTAG VALUES (1, 4, 1, 'again')")
    let error = try samples.failure("Plain.sqlite")
    #expect(error.location.entity == "Tag" && error.location.reference == "1", "\(error)")
  }

  @Test(
    "rows of a join table without a key that join no two objects are refused with their number, or left out and reported",
    arguments: zip(
      ["(NULL, 1, 2048)", "(1, NULL, 2048)", "(1, 1, 4096)", "(77, 88, 4096)"],
      ["no key", "no key", "Person/1 and Tag/1, which an earlier row joins", "Person/77 and Tag/88"]))
  func strayJoins(_ row: String, _ words: String) throws {
    try samples.edit(
      "Plain.sqlite",
      """
      ALTER TABLE Z_1TAGS RENAME TO old; CREATE TABLE Z_1TAGS ( Z_1PEOPLE, Z_4TAGS, Z_FOK_4TAGS );
      INSERT INTO Z_1TAGS SELECT * FROM old ORDER BY rowid; DROP TABLE old; INSERT INTO Z_1TAGS VALUES \(row);
      """)
    let error = try samples.failure("Plain.sqlite")
    #expect(error.message.contains("row 4") && error.message.contains(words), "\(error)")
    #expect("\(error)".contains("rows=skip") && error.location.entity == "Z_1TAGS", "\(error)")
    let opened = try samples.open("Plain.sqlite", options: ["rows": "skip"])
    #expect(try opened.members("Person", 1, "tags") == ["Tag/2", "Tag/1"])
    #expect(opened.notes.map(\.subject) == ["Z_1TAGS"] && opened.notes.map(\.example) == ["row 4"], "\(opened.notes)")
  }

  @Test(
    "dates and decimals that Core Data can hold are read, whatever kind of number they are",
    arguments: zip(
      ["63113904000", "-63114076800", "0", "1e300", "9e999"],
      [63_113_904_000, -63_114_076_800, 0, 1e300, .infinity] as [Double]))
  func dates(_ text: String, _ seconds: Double) throws {
    try samples.edit("Plain.sqlite", "UPDATE ZPERSON SET ZJOINED = \(text) WHERE Z_PK = 2")
    let value = try samples.open("Plain.sqlite").value("Employee", 2, "joined")
    #expect(value == .date(Date(timeIntervalSinceReferenceDate: seconds)))
  }

  @Test(
    "a decimal is read as an integer, a double or a text",
    arguments: zip(
      ["12", "1e20", "-0.1", "'NaN'", "1e-20"],
      ["12", "100000000000000000000", "-0.1", "NaN", "0.00000000000000000001"]))
  func decimals(_ text: String, _ number: String) throws {
    try samples.edit("Plain.sqlite", "UPDATE ZPERSON SET ZSALARY = \(text) WHERE Z_PK = 2")
    guard case .decimal(let value) = try samples.open("Plain.sqlite").value("Employee", 2, "salary") else {
      throw CancellationError()
    }
    #expect(value.isNumericallyEqual(to: try #require(DecimalNumber(number))), "\(value)")
  }

  // MARK: The raw view

  @Test("without a model order keys are attributes, and nothing is lost")
  func rawOrder() throws {
    #expect(try convert("Plain.sqlite", to: "out.csvstore", model: false).losses.isEmpty)
    let opened = try samples.open("Plain.sqlite", model: false)
    #expect(try opened.value("Person", 1, "_FOK_TEAM") == .integer(3072))
    #expect(try opened.members("Person", 1, "TAGS") == ["Tag/2", "Tag/1"])
    // There and back.
    _ = try convert("out.csvstore", to: "back.sqlite", model: false)
    let back = try samples.open("back.sqlite", model: false)
    #expect(try back.value("Person", 1, "_FOK_TEAM") == .integer(3072))
  }

  @Test(
    "without a model, data in files are read where a column names such files; a missing one is a loss that is named")
  func rawExternalData() throws {
    let opened = try samples.open("External.sqlite", model: false)
    guard case .data(let photo) = try opened.value("Person", 1, "PHOTO") else { throw CancellationError() }
    #expect(photo.count == 64)
    #expect(try opened.value("Person", 2, "PHOTO") == .null)
    let losses = opened.notes.filter(\.isLoss)
    #expect(losses.map(\.subject) == ["Person.PHOTO"] && losses.map(\.count) == [1], "\(opened.notes)")
    #expect(losses.first?.example?.contains("Person/2, file .External_SUPPORT/_EXTERNAL_DATA/6E2B1C3A") == true)
    #expect(throws: StoreConverter.LossError.self) { try convert("External.sqlite", to: "out.csvstore", model: false) }
  }

  @Test("without a model, an ordered to-many without an inverse keeps its order")
  func rawOwners() throws {
    try samples.edit(
      "Plain.sqlite",
      """
      ALTER TABLE ZTAG ADD COLUMN Z5MARKS INTEGER; ALTER TABLE ZTAG ADD COLUMN Z_FOK_5MARKS INTEGER;
      UPDATE ZTAG SET Z5MARKS = 1, Z_FOK_5MARKS = 4096 - 1024 * Z_PK;
      """)
    let opened = try samples.open("Plain.sqlite", model: false)
    #expect(try opened.members("Team", 1, "MARKS") == ["Tag/2", "Tag/1"])
    #expect(opened.notes.allSatisfy { !$0.isLoss }, "\(opened.notes)")
  }

  // MARK: Columns under other names

  private func open(_ name: String, _ entities: [EntityDescription], composites: [CompositeDescription] = []) throws
    -> SQLiteSamples.Opened
  {
    let model = try ManagedObjectModel(ModelDescription(entities: entities, composites: composites))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: samples.path(name), isReadOnly: true)
    return SQLiteSamples.Opened(coordinator: coordinator, store: store)
  }

  private func table(_ name: String, _ columns: String, _ row: String) throws {
    try samples.edit(
      name,
      """
      CREATE TABLE ZPLACE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, \(columns) );
      INSERT INTO ZPLACE VALUES (1, 1, 1, \(row));
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Place', 0, 1);
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      INSERT INTO Z_METADATA VALUES (1, '3F0A7B6E-52C4-4E0B-9C7A-0D8C1B7A9E11', NULL);
      """)
  }

  @Test(
    "the parts of composites are found under both kinds of names, those of two composites apart",
    arguments: ["ZHOME_STREET VARCHAR, ZWORK_STREET VARCHAR", "ZSTREET VARCHAR, ZSTREET1 VARCHAR"])
  func composites(_ columns: String) throws {
    try table("Place.sqlite", columns, "'home', 'work'")
    let address = CompositeDescription(
      name: "Address", attributes: [AttributeDescription(name: "street", type: .string)])
    let properties = ["home", "work"].map {
      PropertyDescription.attribute(AttributeDescription(name: $0, type: .composite("Address")))
    }
    let opened = try open(
      "Place.sqlite", [EntityDescription(name: "Place", properties: properties)], composites: [address])
    #expect(try opened.value("Place", 1, "home.street") == .string("home"))
    #expect(try opened.value("Place", 1, "work.street") == .string("work"))
  }

  @Test("a property that was renamed has its column, unless another property has that name now")
  func renamed() throws {
    try table("Place.sqlite", "ZTITLE VARCHAR", "'old'")
    let renamed = PropertyDescription.attribute(
      AttributeDescription(name: "name", type: .string, renamingIdentifier: "title"))
    let alone = try open("Place.sqlite", [EntityDescription(name: "Place", properties: [renamed])])
    #expect(try alone.value("Place", 1, "name") == .string("old"))
    let error = try #require(throws: PersistentStoreError.self) {
      try open(
        "Place.sqlite",
        [
          EntityDescription(
            name: "Place", properties: [renamed, .attribute(AttributeDescription(name: "title", type: .string))])
        ])
    }
    #expect(error.code == .modelMismatch && error.location.property == "name", "\(error)")
  }
}

import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@testable import CoreDataSQLiteStoreFormat

@Suite("Rows of Core Data's SQLite stores", .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
struct CoreDataSQLiteEditingTests {
  /// A store that is open for changes.
  final class Edited {
    let coordinator: PersistentStoreCoordinator
    let store: PersistentStore
    let context: ManagedObjectContext

    init(_ path: String, _ model: ManagedObjectModel?, options: StoreOptions = [:], registry: StoreRegistry = .builtIn)
      throws
    {
      coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
      store = try coordinator.addPersistentStore(at: path, options: options)
      context = ManagedObjectContext(coordinator)
    }

    func object(_ entity: String, _ key: Int64) throws -> ManagedObject {
      let id = store.objectID(for: ObjectReference(entityName: entity, reference: .integer(key)))
      return try context.existingObject(with: id)
    }
  }

  private let samples: SQLiteSamples

  init() throws {
    samples = try SQLiteSamples()
    // What the kit does not know of a store.
    try samples.edit("Plain.sqlite", Self.unknown)
  }

  private static let unknown = """
    CREATE TABLE MINE (x, y BLOB); INSERT INTO MINE VALUES (7, X'00FF');
    CREATE TABLE ZOTHER (Z_PK INTEGER PRIMARY KEY, ZX); INSERT INTO ZOTHER VALUES (1, 'kept');
    ALTER TABLE ZPERSON ADD COLUMN ZEXTRA VARCHAR; UPDATE ZPERSON SET ZEXTRA = 'extra ' || Z_PK;
    CREATE INDEX MY_INDEX ON ZPERSON (ZAGE, ZNAME);
    """

  private func open(_ name: String = "Plain.sqlite", options: StoreOptions = [:]) throws -> Edited {
    try Edited(samples.path(name), samples.model, options: options)
  }

  /// The content of a database as statements.
  static func dump(_ path: String) throws -> [String] { try SQLiteSamples.lines(path, ".dump") }

  /// What a change does to the statements of a database: those that are gone, and those that are new.
  private func changes(_ name: String = "Plain.sqlite", _ body: () throws -> Void) throws -> (
    gone: [String], new: [String]
  ) {
    let before = try Self.dump(samples.path(name))
    try body()
    let after = try Self.dump(samples.path(name))
    #expect(try SQLiteSamples.lines(samples.path(name), "PRAGMA integrity_check") == ["ok"])
    return (before.filter { !after.contains($0) }, after.filter { !before.contains($0) })
  }

  private func rows(_ sql: String, _ name: String = "Plain.sqlite") throws -> [String] {
    try SQLiteSamples.lines(samples.path(name), sql)
  }

  // MARK: Objects

  @Test("a changed attribute changes its cell and Z_OPT, and nothing else")
  func attribute() throws {
    let edited = try open()
    let changed = try changes {
      try edited.object("Person", 1)["name"] = "Augusta"
      try edited.context.save()
    }
    #expect(changed.gone.count == 1 && changed.new.count == 1)
    #expect(changed.new.first?.contains("VALUES(1,1,2,1,41,") == true, "\(changed.new)")
    #expect(try rows("SELECT ZNAME, Z_OPT, ZEXTRA FROM ZPERSON WHERE Z_PK = 1") == ["Augusta|2|extra 1"])
    // And again, with the same open store.
    try edited.object("Person", 1)["age"] = 42
    try edited.context.save()
    #expect(try rows("SELECT ZAGE, Z_OPT FROM ZPERSON WHERE Z_PK = 1") == ["42|3"])
  }

  @Test("values of every type are written as a new store has them")
  func types() throws {
    let edited = try open()
    let person = try edited.object("Person", 9)
    let ident = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
    person["active"] = true
    person["blob"] = Data([1, 2])
    person["ident"] = ident
    person["joined"] = Date(timeIntervalSinceReferenceDate: 12.5)
    person["photo"] = Data([0xCA])
    person["ratio"] = Float(0.5)
    person["salary"] = DecimalNumber("12.50")
    person["score"] = -3.25
    person["site"] = URL(string: "http://example.com/")
    try edited.context.save()
    #expect(
      try rows(
        "SELECT ZACTIVE, quote(ZBLOB), quote(ZIDENT), ZJOINED, quote(ZPHOTO), ZRATIO, ZSALARY, ZSCORE, ZSITE FROM ZPERSON WHERE Z_PK = 9"
      ) == ["1|X'0102'|X'00112233445566778899AABBCCDDEEFF'|12.5|X'01CA'|0.5|12.5|-3.25|http://example.com/"])
    for key in ["active", "blob", "ident", "joined", "photo", "ratio", "salary", "score", "site"] { person[key] = nil }
    try edited.context.save()
    #expect(
      try rows(
        "SELECT count(*) FROM ZPERSON WHERE Z_PK = 9 AND coalesce(ZACTIVE, ZBLOB, ZIDENT, ZJOINED, ZPHOTO, ZRATIO, ZSALARY, ZSCORE, ZSITE) IS NULL"
      ) == ["1"])
  }

  @Test("a new object gets the key after Z_MAX of its table, and Z_MAX follows")
  func insertion() throws {
    let edited = try open()
    let changed = try changes {
      let employee = ManagedObject(
        entity: try #require(edited.store.model.entity(named: "Employee")), insertInto: edited.context)
      employee["name"] = "New"
      employee["title"] = "Clerk"
      employee["manager"] = try edited.object("Employee", 2)
      let tag = ManagedObject(
        entity: try #require(edited.store.model.entity(named: "Tag")), insertInto: edited.context)
      tag["label"] = "new"
      try edited.context.save()
    }
    #expect(
      try rows("SELECT Z_PK, Z_ENT, Z_OPT, ZMANAGER, Z1_MANAGER, ZTITLE, ZEXTRA FROM ZPERSON WHERE ZNAME = 'New'")
        == ["10|2|1|2|2|Clerk|"])
    #expect(try rows("SELECT Z_PK, Z_ENT, Z_OPT FROM ZTAG WHERE ZLABEL = 'new'") == ["3|4|1"])
    #expect(try rows("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY WHERE Z_SUPER = 0") == ["Person|10", "Tag|3", "Team|1"])
    // Two rows, two keys, and the manager, whose reports are others.
    #expect(changed.new.count == 5 && changed.gone.count == 3, "\(changed)")
    #expect(try rows("SELECT Z_OPT FROM ZPERSON WHERE Z_PK = 2") == ["2"])
  }

  @Test("a key that was given out is not given out again")
  func keys() throws {
    let edited = try open()
    edited.context.delete(try edited.object("Person", 9))
    try edited.context.save()
    let again = try open()
    let person = ManagedObject(
      entity: try #require(again.store.model.entity(named: "Person")), insertInto: again.context)
    person["name"] = "New"
    try again.context.save()
    #expect(try rows("SELECT Z_PK FROM ZPERSON ORDER BY Z_PK") == ["1", "2", "4", "10"])
  }

  @Test("a deleted object takes its rows in join tables along, and references to it become null")
  func deletion() throws {
    let edited = try open()
    let changed = try changes {
      edited.context.delete(try edited.object("Employee", 2))
      try edited.context.save()
    }
    #expect(try rows("SELECT Z_PK FROM ZPERSON ORDER BY Z_PK") == ["1", "4", "9"])
    #expect(try rows("SELECT ZMANAGER, Z1_MANAGER, Z_OPT FROM ZPERSON WHERE Z_PK = 4") == ["||3"])
    #expect(try rows("SELECT * FROM Z_1TAGS ORDER BY 1, 2") == ["1|1|3072", "1|2|2048"])
    // The order of the others in the team stays, with their keys.
    #expect(try rows("SELECT Z_FOK_TEAM FROM ZPERSON WHERE ZTEAM = 1 ORDER BY Z_PK") == ["3072", "4096"])
    #expect(!changed.gone.contains { $0.contains("MINE") || $0.contains("ZOTHER") || $0.contains("Z_METADATA") })
  }

  // MARK: Relationships

  @Test("both ends of a relationship follow, and only what changes is written")
  func inverse() throws {
    let edited = try open()
    let changed = try changes {
      try edited.object("Person", 9)["manager"] = try edited.object("Guest", 4)
      try edited.context.save()
    }
    #expect(try rows("SELECT ZMANAGER, Z1_MANAGER, Z_OPT FROM ZPERSON WHERE Z_PK = 9") == ["4|3|2"])
    #expect(changed.new.count == 2 && changed.new.allSatisfy { $0.contains("ZPERSON") }, "\(changed.new)")
  }

  @Test("the order of a one-to-many changes with as few order keys as possible")
  func order() throws {
    let edited = try open()
    let team = try edited.object("Team", 1)
    // Employee 2, Person 1, Guest 4.
    let members = try [("Guest", 4), ("Employee", 2), ("Person", 1)].map { try edited.object($0.0, $0.1) }
    let changed = try changes {
      team["members"] = members
      try edited.context.save()
    }
    #expect(
      try rows("SELECT Z_PK, Z_FOK_TEAM, Z_OPT FROM ZPERSON WHERE ZTEAM = 1 ORDER BY Z_FOK_TEAM")
        == ["4|1024|2", "2|2048|1", "1|3072|1"])
    #expect(changed.new.count == 2, "\(changed.new)")
    team["members"] = try [("Guest", 4), ("Person", 9), ("Person", 1)].map { try edited.object($0.0, Int64($0.1)) }
    try edited.context.save()
    #expect(
      try rows("SELECT Z_PK, Z_FOK_TEAM FROM ZPERSON WHERE ZTEAM = 1 ORDER BY Z_FOK_TEAM")
        == ["4|1024", "9|2048", "1|3072"])
    #expect(try rows("SELECT quote(ZTEAM), quote(Z_FOK_TEAM) FROM ZPERSON WHERE Z_PK = 2") == ["NULL|NULL"])
  }

  @Test("rows of a join table are added, removed and sorted")
  func manyToMany() throws {
    let edited = try open()
    let (red, blue) = (try edited.object("Tag", 1), try edited.object("Tag", 2))
    let changed = try changes {
      try edited.object("Person", 1)["tags"] = [red, blue]
      try edited.object("Employee", 2)["tags"] = [red]
      try edited.object("Person", 9)["tags"] = [blue, red]
      try edited.context.save()
    }
    #expect(
      try rows("SELECT * FROM Z_1TAGS ORDER BY Z_1PEOPLE, Z_FOK_4TAGS")
        == ["1|1|1024", "1|2|2048", "2|1|2048", "9|2|2048", "9|1|3072"])
    #expect(!changed.gone.contains { $0.contains("Z_PRIMARYKEY") || $0.contains("MINE") })
    let again = try open()
    #expect(
      (try again.object("Person", 9)["tags"] as? [ManagedObject])?.compactMap { $0["label"] as? String } == [
        "blau", "red",
      ])
  }

  @Test(
    "keys of a list keep their order with as few changes as possible",
    arguments: [
      ([2048, 3072, 4096], [2048, 3072, 4096]), ([nil, nil], [2048, 3072]), ([2048, nil, 3072], [2048, 2560, 3072]),
      ([3072, 2048, 4096], [1024, 2048, 4096]), ([5, nil, 6], [2048, 3072, 4096]), ([7, nil, nil], [7, 1031, 2055]),
      ([1, nil, 2], [2048, 3072, 4096]), ([nil, 1], [2048, 3072]), ([.max, nil], [2048, 3072]), ([], []),
    ] as [([Int64?], [Int64])])
  func orderKeys(_ known: [Int64?], _ wanted: [Int64]) {
    let keys = OrderKeys.assign(known)
    #expect(keys == wanted)
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test("two objects exchange values of which each must be unique")
  func uniqueness() throws {
    try samples.edit("Plain.sqlite", "CREATE UNIQUE INDEX Z_Tag_UNIQUE_label ON ZTAG (ZLABEL COLLATE BINARY ASC)")
    let edited = try open()
    try edited.object("Tag", 1)["label"] = "blau"
    try edited.object("Tag", 2)["label"] = "red"
    try edited.context.save()
    #expect(try rows("SELECT ZLABEL, Z_OPT FROM ZTAG ORDER BY Z_PK") == ["blau|2", "red|2"])
    try edited.object("Tag", 1)["label"] = "red"
    let before = try Data(contentsOf: URL(filePath: samples.path("Plain.sqlite")))
    #expect { try edited.context.save() } throws: { "\($0)".contains("UNIQUE") }
    #expect(try Data(contentsOf: URL(filePath: samples.path("Plain.sqlite"))) == before)
    // What could not be saved is not saved.
    #expect(edited.context.hasChanges)
  }

  @Test("objects exchange values that are unique together, each changing another one")
  func uniqueTogether() throws {
    try samples.edit("Plain.sqlite", "CREATE UNIQUE INDEX U ON ZPERSON (ZAGE, ZNAME)")
    let edited = try open()
    let (one, other) = (try edited.object("Person", 1), try edited.object("Employee", 2))
    (one["age"], one["name"], other["age"], other["name"]) = (1, "a", 1, "b")
    try edited.context.save()
    (one["name"], other["age"]) = ("b", 2)
    try edited.context.save()
    #expect(try rows("SELECT ZAGE, ZNAME FROM ZPERSON WHERE Z_PK IN (1, 2) ORDER BY Z_PK") == ["1|b", "2|b"])
  }

  // MARK: External data

  private var directory: String { samples.path(".External_SUPPORT/_EXTERNAL_DATA") }

  @Test("a large value gets a new file, and the file that the store no longer names is removed")
  func externalData() throws {
    let edited = try open("External.sqlite")
    let old = try FileManager.default.contentsOfDirectory(atPath: directory)
    #expect(old.count == 1)
    try edited.object("Person", 1)["photo"] = Data(repeating: 7, count: 200_000)
    try edited.context.save()
    let new = try FileManager.default.contentsOfDirectory(atPath: directory)
    #expect(new.count == 1 && new != old)
    #expect(
      try rows("SELECT CAST(substr(ZPHOTO, 2, 36) AS TEXT) FROM ZPERSON WHERE Z_PK = 1", "External.sqlite") == new)
    // The file that was missing is missing: its cell stays as it was.
    #expect(
      try rows("SELECT CAST(substr(ZPHOTO, 2, 36) AS TEXT) FROM ZPERSON WHERE Z_PK = 2", "External.sqlite")
        == ["6E2B1C3A-0000-4000-8000-000000000002"])
    edited.context.delete(try edited.object("Person", 1))
    try edited.context.save()
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
  }

  @Test("a change that fails leaves no new file, and keeps the old one")
  func failedExternalData() throws {
    try samples.edit("External.sqlite", "CREATE UNIQUE INDEX U ON ZPERSON (ZNAME)")
    let edited = try open("External.sqlite")
    let old = try FileManager.default.contentsOfDirectory(atPath: directory)
    try edited.object("Person", 1)["photo"] = Data(repeating: 7, count: 200_000)
    try edited.object("Person", 2)["name"] = "has it"
    #expect(throws: (any Error).self) { try edited.context.save() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == old)
  }

  // MARK: Metadata

  @Test("entries that describe the model stay where all others are replaced, and the next save succeeds")
  func metadataReplaced() throws {
    let edited = try open()
    try edited.store.setMetadata(["author": "Ada"])
    try edited.coordinator.save(edited.store)
    try edited.object("Person", 1)["name"] = "x"
    try edited.context.save()
    let again = try open()
    #expect(again.store.metadata.entries["author"] == "Ada")
    #expect(try again.object("Person", 1)["name"] as? String == "x")
  }

  @Test("metadata change where an entry changes, and others stay")
  func metadata() throws {
    let edited = try open()
    let before = try rows("SELECT quote(Z_PLIST) FROM Z_METADATA")
    try edited.object("Person", 1)["name"] = "x"
    try edited.context.save()
    #expect(try rows("SELECT quote(Z_PLIST) FROM Z_METADATA") == before)
    let changed = try changes {
      var entries = edited.store.metadata.entries
      entries["author"] = "Ada"
      try edited.store.setMetadata(entries)
      try edited.coordinator.save(edited.store)
    }
    #expect(changed.new.count == 1 && changed.new.allSatisfy { $0.contains("Z_METADATA") }, "\(changed.new)")
    let again = try open()
    #expect(again.store.metadata.entries["author"] == "Ada")
    #expect(again.store.metadata.entries["sample"] == edited.store.metadata.entries["sample"])
    #expect(again.store.identifier == edited.store.identifier)
  }

  // MARK: Refusals

  @Test(
    "what only Core Data could make follow is refused by name, before anything is written",
    arguments: [
      ("CREATE TRIGGER Z_DA_X AFTER UPDATE ON ZTEAM BEGIN SELECT NSCoreDataF(1); END", "Z_DA_X"),
      ("CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY)", "history=ignore"),
      ("CREATE TABLE ANSCKRECORDMETADATA (Z_PK INTEGER PRIMARY KEY)", "ANSCKRECORDMETADATA"),
      ("INSERT INTO Z_PRIMARYKEY VALUES (16101, 'CloudThing', 0, 0)", "CloudThing"),
      ("UPDATE Z_METADATA SET Z_VERSION = 2", "Z_METADATA of version 2"),
    ])
  func refusals(_ sql: String, _ named: String) throws {
    let path = try samples.edit("Plain.sqlite", sql)
    let edited = try open()
    let before = try Data(contentsOf: URL(filePath: path))
    try edited.object("Person", 1)["name"] = "x"
    #expect { try edited.context.save() } throws: { "\($0)".contains(named) }
    #expect(edited.context.hasChanges)
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
    #expect(!FileManager.default.fileExists(atPath: path + "-journal"))
  }

  @Test("history=ignore changes a store with a history, and says what is missing in it")
  func ignoredHistory() throws {
    try samples.edit("History.sqlite", "DROP TRIGGER Z_DA_ZTEAM")
    let told = Told()
    var registry = StoreRegistry.builtIn
    registry.noteHandler = { note, _ in told.add(note) }
    let edited = try Edited(
      samples.path("History.sqlite"), samples.model, options: ["history": "ignore"], registry: registry)
    let changed = try changes("History.sqlite") {
      try edited.object("Person", 1)["name"] = "x"
      try edited.context.save()
    }
    #expect(changed.new.count == 1, "\(changed.new)")
    #expect(told.texts.contains { $0.contains("ACHANGE") && $0.contains("1 changed") }, "\(told.texts)")
  }

  private final class Told: @unchecked Sendable {
    // One thread uses it.
    private(set) var texts: [String] = []
    func add(_ note: LoadNote) { texts.append("\(note)") }
  }

  // MARK: Other programs

  @Test(
    "a change that another program made meanwhile is kept, also if it is in the log only", arguments: ["DELETE", "WAL"])
  func overtaken(_ mode: String) throws {
    try samples.edit("Plain.sqlite", "PRAGMA journal_mode=\(mode)")
    let edited = try open()
    try edited.object("Person", 1)["name"] = "mine"
    // A connection that is open keeps the log.
    try samples.script(
      "Plain.sqlite", "UPDATE ZPERSON SET ZNAME = 'theirs', Z_OPT = 7 WHERE Z_PK = 2;\n")
    try edited.context.save()
    #expect(
      try rows("SELECT ZNAME, Z_OPT FROM ZPERSON WHERE Z_PK < 3 ORDER BY Z_PK") == ["mine|2", "theirs|7"])
    #expect(try edited.object("Employee", 2)["name"] as? String == "theirs")
    #expect(try rows("PRAGMA journal_mode") == [mode.lowercased()])
  }

  @Test("a store in the middle of a transaction is read as it was before")
  func hotJournal() throws {
    try samples.edit(
      "Plain.sqlite",
      "WITH RECURSIVE n(i) AS (SELECT 20 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i, 1, 1, 'person ' || i FROM n"
    )
    let before = try samples.open("Plain.sqlite").nodes.count
    // Pages that do not fit the cache are written before the transaction ends.
    try samples.script(
      "Plain.sqlite",
      """
      PRAGMA cache_size=5; PRAGMA cache_spill=1;
      BEGIN; UPDATE ZPERSON SET ZNAME = 'torn'; DELETE FROM ZPERSON WHERE Z_PK % 2 = 0;
      .shell cp '\(samples.path("Plain.sqlite"))' '\(samples.path("Torn.sqlite"))'
      .shell cp '\(samples.path("Plain.sqlite"))-journal' '\(samples.path("Torn.sqlite"))-journal'
      ROLLBACK;
      """)
    let torn = try Data(contentsOf: URL(filePath: samples.path("Torn.sqlite")))
    #expect(torn.range(of: Data("torn".utf8)) != nil)
    let opened = try samples.open("Torn.sqlite")
    #expect(opened.nodes.count == before)
    #expect(try opened.value("Person", 1, "name") == .string("Ada"))
    #expect(opened.notes.contains { $0.subject == "Torn.sqlite-journal" && $0.isWarning && $0.count > 0 })
    #expect(try Data(contentsOf: URL(filePath: samples.path("Torn.sqlite"))) == torn)
    // A change lets SQLite roll back first.
    let edited = try open("Torn.sqlite")
    try edited.object("Person", 1)["name"] = "x"
    try edited.context.save()
    #expect(try rows("SELECT count(*) FROM ZPERSON WHERE ZNAME = 'torn'", "Torn.sqlite") == ["0"])
    #expect(!FileManager.default.fileExists(atPath: samples.path("Torn.sqlite-journal")))
  }

  // MARK: Real stores

  @Test(
    "of a real store one row changes, and nothing else",
    .enabled(if: !CoreDataSQLiteCorpusTests.all.isEmpty, CoreDataSQLiteCorpusTests.needed),
    arguments: CoreDataSQLiteCorpusTests.all)
  func realStores(_ original: String) throws {
    let folder = try CoreDataSQLiteWritingTests.Scratch()
    let path = folder.path + "/copy.sqlite"
    try FileManager.default.copyItem(atPath: original, toPath: path)
    for end in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: original + end) {
      try FileManager.default.copyItem(atPath: original + end, toPath: path + end)
    }
    let options: StoreOptions = original.hasSuffix(CoreDataSQLiteCorpusTests.damaged) ? ["rows": "skip"] : [:]
    let edited = try Edited(path, nil, options: options)
    let nodes = edited.store.nodes
    var found: (entity: Entity, slot: Slot, node: NodeHandle)?
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      guard let slot = entity.slots.first(where: { $0.attributeType == .string && $0.attribute?.isOptional == true })
      else { continue }
      found = (entity, slot, NodeHandle(entity: entity.index, row: 0))
      break
    }
    // Three are empty.
    guard let (entity, slot, node) = found else {
      #expect(nodes.count == 0 || nodes.model.description.isInferred)
      return
    }
    let before = try Self.dump(path)
    let object = try edited.context.existingObject(with: edited.store.objectID(for: nodes.objectReference(of: node)))
    object[slot.name] = "changed"
    do { try edited.context.save() } catch {
      let text = "\(error)"
      #expect(text.contains("triggers") || text.contains("history=ignore") || text.contains("mirrored"), "\(text)")
      #expect(try Self.dump(path) == before)
      return
    }
    let after = try Self.dump(path)
    let (gone, new) = (before.filter { !after.contains($0) }, after.filter { !before.contains($0) })
    #expect(gone.count == 1 && new.count == 1 && new[0].contains("'changed'"), "\(entity.name): \(gone) \(new)")
    #expect(before.count == after.count)
  }
}

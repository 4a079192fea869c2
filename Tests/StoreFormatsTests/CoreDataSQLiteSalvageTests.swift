import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

/// What is read of a store with `damaged=skip-object` when pages of its database are damaged, one after another.
@Suite("Salvaging SQLite stores", .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
struct CoreDataSQLiteSalvageTests {
  let samples: SQLiteSamples
  init() throws { samples = try SQLiteSamples() }

  private static let skip: StoreOptions = ["damaged": "skip-object"]
  private static let pageSize = 1024

  /// A page of the sound store.
  struct Page: Sendable {
    let number: Int
    /// The table or index; empty for one that is part of neither, such as the pointer map.
    let owner: String
    let kind: String
    let cells: Int

    var isTable: Bool { owner.hasPrefix("Z") && !owner.hasSuffix("INDEX") && !owner.contains("autoindex") }
  }

  enum Damage: String, CaseIterable, Sendable {
    case zeros, flipped, random

    func applied(to bytes: [UInt8], page: Int) -> [UInt8] {
      var bytes = bytes
      var random = Random(seed: UInt64(page))
      for index in (page - 1) * pageSize..<page * pageSize {
        switch self {
        case .zeros: bytes[index] = 0
        case .flipped: bytes[index] = ~bytes[index]
        case .random: bytes[index] = UInt8.random(in: 0...255, using: &random)
        }
      }
      return bytes
    }
  }

  // MARK: A store of several pages for each table

  /// - Parameter isMapped: Whether the database has a pointer map, as Core Data's have.
  private func make(isMapped: Bool) throws -> (bytes: [UInt8], pages: [Page], whole: StoreSnapshot) {
    var converter = StoreConverter(registry: .builtIn)
    converter.model = samples.model
    _ = try converter.convert(from: samples.path("Plain.sqlite"), to: samples.path("Large.sqlite"))
    try samples.edit(
      "Large.sqlite",
      """
      WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
      INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZLABEL) SELECT i, 4, 1, 'label ' || printf('%060d', i) FROM n;
      WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 25)
      INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZBLOB)
        SELECT i, 2, 1, 'person ' || printf('%0200d', i), CAST(printf('%0*d', (i % 3) * 1100, i) AS BLOB) FROM n;
      WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
      INSERT INTO Z_1TAGS (Z_1PEOPLE, Z_4TAGS, Z_FOK_4TAGS) SELECT 10 + i % 16, i, 2048 * i FROM n;
      UPDATE Z_PRIMARYKEY SET Z_MAX = 150 WHERE Z_NAME = 'Tag'; UPDATE Z_PRIMARYKEY SET Z_MAX = 25 WHERE Z_NAME = 'Person';
      PRAGMA page_size = \(Self.pageSize); PRAGMA auto_vacuum = \(isMapped ? "INCREMENTAL" : "NONE"); VACUUM;
      """)
    let path = samples.path("Large.sqlite")
    let bytes = [UInt8](try #require(FileManager.default.contents(atPath: path)))
    var pages = (1...bytes.count / Self.pageSize).map { Page(number: $0, owner: "", kind: "", cells: 0) }
    for line in try SQLiteSamples.lines(path, "SELECT pageno, name, pagetype, ncell FROM dbstat") {
      let parts = line.components(separatedBy: "|")
      let number = try #require(Int(parts[0]))
      pages[number - 1] = Page(number: number, owner: parts[1], kind: parts[2], cells: try #require(Int(parts[3])))
    }
    try #require(
      Set(pages.map(\.owner)).isSuperset(of: ["", "ZTAG", "ZPERSON", "Z_1TAGS", "sqlite_schema"]) || !isMapped)
    let store = try samples.open("Large.sqlite").store
    return (bytes, pages, StoreSnapshot(nodes: store.nodes, metadata: store.metadata))
  }

  private func open(_ bytes: [UInt8], options: StoreOptions = skip) throws -> SQLiteSamples.Opened {
    try Data(bytes).write(to: URL(filePath: samples.path("Damaged.sqlite")))
    return try samples.open("Damaged.sqlite", options: options)
  }

  /// The number of objects of an entity and its sub-entities.
  private static func count(_ entity: String, _ nodes: NodeTable) throws -> Int {
    try #require(nodes.model.entity(named: entity)).hierarchy.reduce(0) { $0 + nodes.handles(of: $1.index).count }
  }

  private static func differences(_ opened: SQLiteSamples.Opened, _ whole: StoreSnapshot) -> [String] {
    // The metadata may be what was lost.
    let found = StoreSnapshot(nodes: opened.nodes, metadata: whole.metadata)
    return GraphComparison.differences(whole, found, options: .init(limit: 3)).map(\.description)
  }

  // MARK: Claims

  @Test(
    "of a store with a damaged page, every row is read that is not on it, and the rest is counted and named",
    arguments: Damage.allCases, [true, false])
  func everyPage(_ damage: Damage, _ isMapped: Bool) throws {
    let (bytes, pages, whole) = try make(isMapped: isMapped)
    let entities = ["ZTAG": "Tag", "ZPERSON": "Person", "ZTEAM": "Team"]
    for page in pages.indices.share(of: "damaged pages").map({ pages[$0] }) {
      let opened = try open(damage.applied(to: bytes, page: page.number))
      let losses = opened.notes.filter(\.isLoss).map(\.description)
      let name: Comment = "page \(page.number), \(page.kind) of \(page.owner): \(losses)"
      for (table, entity) in entities where table != page.owner {
        #expect(try Self.count(entity, opened.nodes) == Self.count(entity, whole.nodes), name)
      }
      guard page.isTable, page.kind == "leaf", entities[page.owner] != nil || page.owner == "Z_1TAGS" else {
        // Only rows have what is nowhere else. The last page of a long value has nothing by which damage is seen.
        if page.kind != "overflow" { #expect(Self.differences(opened, whole).isEmpty, name) }
        continue
      }
      let loss = losses.filter { $0.contains("the table \(page.owner) is damaged") }
      #expect(loss.count == 1 && loss.allSatisfy { $0.contains("page \(page.number)") }, name)
      if let entity = entities[page.owner] {
        let left = try Self.count(entity, whole.nodes) - page.cells
        #expect(try Self.count(entity, opened.nodes) == left, name)
        #expect(loss.allSatisfy { $0.contains("\(left) rows read") }, name)
      }
      if page.owner == "ZTAG" { #expect(loss.allSatisfy { $0.contains("at most \(page.cells) lost") }, name) }
    }
  }

  @Test("without the option, a damaged page is an error that names it, or does not matter", arguments: [true, false])
  func refused(_ isMapped: Bool) throws {
    let (bytes, pages, whole) = try make(isMapped: isMapped)
    for page in pages.indices.share(of: "refused pages").map({ pages[$0] }) where page.kind != "overflow" {
      let damaged = Damage.zeros.applied(to: bytes, page: page.number)
      do {
        let opened = try open(damaged, options: [:])
        #expect(!page.isTable || page.owner == "Z_MODELCACHE", "page \(page.number) of \(page.owner)")
        #expect(Self.differences(opened, whole).isEmpty, "page \(page.number) of \(page.owner)")
      } catch let error as PersistentStoreError {
        #expect(error.description.contains("damaged=skip-object"), "page \(page.number) of \(page.owner): \(error)")
      }
    }
  }

  @Test("of a store that is cut short, all rows are read whose pages are there", arguments: [true, false])
  func cutShort(_ isMapped: Bool) throws {
    let (bytes, pages, whole) = try make(isMapped: isMapped)
    let schemaEnd = pages.filter { $0.owner == "sqlite_schema" }.map(\.number).min() ?? 1
    for count in (schemaEnd..<pages.count).share(of: "pages of a store cut short") {
      let cut = Array(bytes.prefix(count * Self.pageSize + (count % 2) * 100))
      let opened: SQLiteSamples.Opened
      do { opened = try open(cut) } catch let error as PersistentStoreError {
        // Nothing says yet that it is a Core Data store.
        #expect(error.code == .notSupported && error.message.contains("cut short"), "\(count) pages: \(error)")
        #expect(count < pages.filter { $0.owner == "sqlite_schema" }.map(\.number).max() ?? 1, "\(count) pages")
        continue
      }
      let losses = opened.notes.filter(\.isLoss).map(\.description)
      #expect(
        losses.contains { $0.contains("cut short") && $0.contains("\(count) of \(pages.count) pages") }, "\(losses)")
      for (table, entity) in ["ZTAG": "Tag", "ZPERSON": "Person", "ZTEAM": "Team"]
      where pages.allSatisfy({ $0.owner != table || $0.number <= count }) {
        #expect(
          try Self.count(entity, opened.nodes) == Self.count(entity, whole.nodes), "\(count) pages, \(table): \(losses)"
        )
      }
    }
  }

  @Test(
    "what was read of a damaged store converts, opens and compares equal", arguments: ["ZTAG", "ZPERSON", "Z_1TAGS"])
  func converts(_ table: String) throws {
    let (bytes, pages, _) = try make(isMapped: true)
    let page = try #require(pages.last { $0.owner == table && $0.kind == "leaf" })
    let damaged = Damage.random.applied(to: bytes, page: page.number)
    let opened = try open(damaged)
    let before = try samples.contents()
    var converter = StoreConverter(registry: .builtIn)
    converter.model = samples.model
    converter.readOptions = Self.skip
    #expect(throws: StoreConverter.LossError.self) {
      try converter.convert(from: samples.path("Damaged.sqlite"), to: samples.path("Result.sqlite"))
    }
    // The source is not touched, and nothing is made beside it.
    #expect(try samples.contents() == before)
    converter.allowsLoss = true
    _ = try converter.convert(from: samples.path("Damaged.sqlite"), to: samples.path("Result.sqlite"))
    let result = try samples.open("Result.sqlite")
    #expect(result.notes.allSatisfy { !$0.isLoss }, "\(result.notes)")
    let found = StoreSnapshot(nodes: result.nodes, metadata: result.store.metadata)
    #expect(Self.differences(opened, found).isEmpty)
    #expect(try SQLiteSamples.lines(samples.path("Result.sqlite"), "PRAGMA integrity_check") == ["ok"])
  }

  @Test(
    "a store without Z_METADATA is read with a model, and has the same new UUID each time", arguments: [true, false])
  func withoutMetadata(_ isGone: Bool) throws {
    let whole = try samples.open("Plain.sqlite")
    let snapshot = StoreSnapshot(nodes: whole.nodes, metadata: whole.store.metadata)
    try samples.edit("Plain.sqlite", isGone ? "DROP TABLE Z_METADATA; VACUUM" : "DELETE FROM Z_METADATA")
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .malformed && error.description.contains("damaged=skip-object"), "\(error)")
    let opened = try samples.open("Plain.sqlite", options: Self.skip)
    #expect(Self.differences(opened, snapshot).isEmpty)
    #expect(opened.notes.contains { $0.isLoss && $0.text.contains("UUID") }, "\(opened.notes)")
    #expect(try samples.open("Plain.sqlite", options: Self.skip).store.identifier == opened.store.identifier)
    // Without a model its tables say what they have.
    #expect(try samples.open("Plain.sqlite", model: false, options: Self.skip).nodes.count == 7)
  }

  @Test("a store whose metadata are damaged keeps its UUID")
  func damagedMetadata() throws {
    let whole = try samples.open("Plain.sqlite")
    try samples.edit("Plain.sqlite", "UPDATE Z_METADATA SET Z_PLIST = X'00'")
    let opened = try samples.open("Plain.sqlite", options: Self.skip)
    #expect(opened.store.identifier == whole.store.identifier && opened.nodes.count == whole.nodes.count)
    #expect(opened.notes.contains { $0.isLoss && $0.text.contains("only its UUID") }, "\(opened.notes)")
  }

  @Test("a store without Z_PRIMARYKEY is read with a model; without one, that is an error")
  func withoutEntities() throws {
    let whole = try samples.open("Plain.sqlite")
    let snapshot = StoreSnapshot(nodes: whole.nodes, metadata: whole.store.metadata)
    try samples.edit("Plain.sqlite", "DROP TABLE Z_PRIMARYKEY; VACUUM")
    let opened = try samples.open("Plain.sqlite", options: Self.skip)
    #expect(Self.differences(opened, snapshot).isEmpty)
    #expect(opened.notes.contains { $0.isLoss && $0.text.contains("Z_PRIMARYKEY") }, "\(opened.notes)")
    let error = try #require(throws: PersistentStoreError.self) {
      _ = try samples.open("Plain.sqlite", model: false, options: Self.skip)
    }
    #expect(error.code == .modelNeeded && error.message.contains("Z_PRIMARYKEY"), "\(error)")
  }

  @Test("deleted rows on free pages do not come back", arguments: [true, false])
  func deletedRows(_ isMapped: Bool) throws {
    let (_, pages, _) = try make(isMapped: isMapped)
    try samples.edit("Large.sqlite", "DELETE FROM ZTAG WHERE Z_PK > 20; DELETE FROM Z_1TAGS")
    let bytes = [UInt8](try #require(FileManager.default.contents(atPath: samples.path("Large.sqlite"))))
    let root = try #require(pages.first { $0.owner == "ZTAG" && $0.kind == "internal" })
    let opened = try open(Damage.zeros.applied(to: bytes, page: root.number))
    #expect(try Self.count("Tag", opened.nodes) <= 20)
  }

  @Test("a damaged list of free pages takes no page from a table", arguments: [true, false])
  func damagedFreeList(_ isMapped: Bool) throws {
    let (bytes, pages, whole) = try make(isMapped: isMapped)
    for page in pages where page.owner == "ZTAG" {
      var damaged = bytes
      damaged.replaceSubrange(32..<36, with: withUnsafeBytes(of: UInt32(page.number).bigEndian) { Array($0) })
      #expect(Self.differences(try open(damaged), whole).isEmpty, "page \(page.number), \(page.kind)")
    }
  }

  @Test(
    "a rollback journal that names far more pages than there are is refused, with the option and without it",
    arguments: [StoreOptions(), skip])
  func hugeJournal(_ options: StoreOptions) throws {
    // The number of pages, which the only record has as well.
    let number: UInt32 = 0x0FFF_FFFF
    var journal = Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7])
    // One record, no nonce, sectors of 32 bytes, pages of 512.
    for word in [1, 0, number, 32, 512, 0, number] {
      withUnsafeBytes(of: word.bigEndian) { journal.append(contentsOf: $0) }
    }
    // A page of zeros has the checksum 0.
    journal.append(Data(count: 512 + 4))
    try journal.write(to: URL(filePath: samples.path("Plain.sqlite-journal")))
    let error = try samples.failure("Plain.sqlite", options: options)
    #expect(error.code == .malformed && error.message.contains("names \(number) pages"), "\(error)")
  }

  @Test(
    "a sound store is read the same with the option as without it", arguments: ["Plain", "Live", "External", "History"])
  func sound(_ name: String) throws {
    let plain = try samples.open(name + ".sqlite")
    let opened = try samples.open(name + ".sqlite", options: Self.skip)
    let snapshot = StoreSnapshot(nodes: plain.nodes, metadata: plain.store.metadata)
    #expect(Self.differences(opened, snapshot).isEmpty)
    #expect(opened.notes == plain.notes && opened.store.metadata == plain.store.metadata)
  }

  @Test("a store in UTF-16 is salvaged too", arguments: ["UTF-16le", "UTF-16be"])
  func encoding(_ encoding: String) throws {
    let dump = try SQLiteSamples.lines(samples.path("Plain.sqlite"), ".dump").joined(separator: "\n")
    try samples.script("Wide.sqlite", "PRAGMA encoding='\(encoding)';\n" + dump + "\nDELETE FROM Z_METADATA;")
    let opened = try samples.open("Wide.sqlite", options: Self.skip)
    #expect(opened.nodes.count == 7)
    #expect(try opened.value("Employee", 2, "name") == .string("Zoë 李"))
  }

  // MARK: Real stores

  private static let corpus = CoreDataSQLiteCorpusTests.all

  @Test(
    "of a real store with a damaged page, the rows of all other tables are read",
    .enabled(if: !corpus.isEmpty, CoreDataSQLiteCorpusTests.needed), arguments: corpus)
  func realStore(_ path: String) throws {
    try FileManager.default.copyItem(atPath: path, toPath: samples.path("Real.sqlite"))
    let bytes = [UInt8](try #require(FileManager.default.contents(atPath: samples.path("Real.sqlite"))))
    let size = bytes[16] == 0 && bytes[17] == 1 ? 65_536 : Int(bytes[16]) << 8 | Int(bytes[17])
    func open(_ bytes: [UInt8]) throws -> PersistentStore {
      try Data(bytes).write(to: URL(filePath: samples.path("Real.sqlite")))
      return try PersistentStoreCoordinator(registry: .builtIn)
        .addPersistentStore(at: samples.path("Real.sqlite"), options: Self.skip, isReadOnly: true)
    }
    let whole = try open(bytes)
    let owners = try SQLiteSamples.lines(
      samples.path("Real.sqlite"), "SELECT pageno, name, pagetype FROM dbstat ORDER BY pageno")
    for number in (0..<owners.count).share(of: "pages of real stores") {
      let parts = owners[number].components(separatedBy: "|")
      // Without the schema, and without the model that is in these two, columns are not known.
      guard let page = Int(parts[0]), page > 1, !["sqlite_schema", "Z_METADATA", "Z_MODELCACHE"].contains(parts[1])
      else { continue }
      var damaged = bytes
      for index in (page - 1) * size..<page * size { damaged[index] = 0 }
      guard parts[1] != "Z_PRIMARYKEY" || !whole.model.description.isInferred else {
        let error = #expect(throws: PersistentStoreError.self) { _ = try open(damaged) }
        #expect(error?.code == .modelNeeded)
        continue
      }
      let opened = try open(damaged)
      for entity in whole.model.entities where "Z" + entity.root.name.uppercased() != parts[1] {
        guard let other = opened.model.entity(named: entity.name) else {
          #expect(parts[1] == "Z_PRIMARYKEY", "page \(page) of \(parts[1]): \(entity.name)")
          continue
        }
        #expect(
          opened.nodes.handles(of: other.index).count == whole.nodes.handles(of: entity.index).count,
          "page \(page) of \(parts[1]): \(entity.name)")
      }
    }
  }
}

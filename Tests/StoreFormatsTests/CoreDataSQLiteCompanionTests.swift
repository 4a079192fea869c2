import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("What is beside an SQLite store", .enabled(if: SQLiteSamples.program != nil, SQLiteSamples.needed))
struct CoreDataSQLiteCompanionTests {
  let samples: SQLiteSamples
  init() throws { samples = try SQLiteSamples() }

  // MARK: The write-ahead log

  @Test("rows that are in the write-ahead log only are read, and no file is touched or made")
  func liveLog() throws {
    let before = try samples.contents()
    let opened = try samples.open("Live.sqlite")
    #expect(opened.nodes.count == 3)
    #expect(try opened.value("Person", 1, "name") == .string("in the file, changed in the log"))
    #expect(try opened.value("Person", 2, "name") == .string("in the log"))
    #expect(try opened.value("Employee", 3, "name") == .string("in the log too"))
    let note = try #require(opened.notes.first)
    #expect(note.subject == "Live.sqlite-wal" && note.count == 3 && !note.isLoss, "\(note)")
    #expect(try samples.contents() == before)
  }

  @Test("without its log the store shows what is in the file")
  func withoutLog() throws {
    try FileManager.default.removeItem(atPath: samples.path("Live.sqlite-wal"))
    let opened = try samples.open("Live.sqlite")
    #expect(opened.nodes.count == 1 && opened.notes.allSatisfy(\.isWarning))
    #expect(try opened.value("Person", 1, "name") == .string("in the file"))
  }

  @Test(
    "of a log that was cut short the whole transactions count",
    arguments: zip([3176, 3175, 2128, 1080, 1079, 33, 32, 31, 1], [3, 2, 2, 1, 0, 0, 0, 0, 0]))
  func cutLog(_ length: Int, _ frames: Int) throws {
    let path = samples.path("Live.sqlite-wal")
    try (try #require(FileManager.default.contents(atPath: path))).prefix(length).write(to: URL(filePath: path))
    let opened = try samples.open("Live.sqlite")
    #expect(opened.nodes.count == min(frames, 2) + 1)
    #expect(opened.notes.first?.count == frames)
  }

  @Test(
    "a changed byte ends what is taken of the log",
    arguments: zip([0, 9, 25, 40, 1000, 1100, 2200], [0, 0, 0, 0, 0, 1, 2]))
  func changedLog(_ offset: Int, _ frames: Int) throws {
    let path = samples.path("Live.sqlite-wal")
    var bytes = try #require(FileManager.default.contents(atPath: path))
    bytes[offset] ^= 0x04
    try bytes.write(to: URL(filePath: path))
    #expect(try samples.open("Live.sqlite").notes.first?.count == frames)
  }

  @Test("a log is read by the same rule as SQLite reads it", arguments: [0, 40, 1100, 2200, 3100])
  func sameAsSQLite(_ offset: Int) throws {
    let path = samples.path("Live.sqlite-wal")
    var bytes = try #require(FileManager.default.contents(atPath: path))
    if offset > 0 { bytes[offset] ^= 0x10 }
    try bytes.write(to: URL(filePath: path))
    let ours = try samples.open("Live.sqlite").nodes.count
    // SQLite itself, on a copy, which it writes to.
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: samples.path("Live.sqlite" + suffix), toPath: samples.path("Copy.sqlite" + suffix))
    }
    try samples.edit("Copy.sqlite", "PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(try samples.open("Copy.sqlite").nodes.count == ours)
  }

  @Test("a log of another page size is refused, since it belongs to another file")
  func foreignLog() throws {
    try samples.script(
      "Other.sqlite",
      """
      PRAGMA page_size=512;
      PRAGMA journal_mode=WAL;
      PRAGMA wal_autocheckpoint=0;
      CREATE TABLE t (x);
      .shell cp '\(samples.path("Other.sqlite-wal"))' '\(samples.path("Plain.sqlite-wal"))'
      """)
    try #require(FileManager.default.fileExists(atPath: samples.path("Plain.sqlite-wal")))
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .malformed && error.message.contains("512"), "\(error)")
  }

  @Test("an unfinished transaction over several databases is refused, with what to do")
  func hotJournal() throws {
    var journal = Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7])
    let magic = journal
    journal.append(Data(count: 100))
    try journal.write(to: URL(filePath: samples.path("Plain.sqlite-journal")))
    // Nothing was written yet.
    #expect(try samples.open("Plain.sqlite").nodes.count == 7)
    try (journal + magic).write(to: URL(filePath: samples.path("Plain.sqlite-journal")))
    let error = try samples.failure("Plain.sqlite")
    #expect(error.code == .malformed && error.message.contains("rollback journal"), "\(error)")
    // One that was finished has a head of zeros, or nothing.
    try Data(count: 512).write(to: URL(filePath: samples.path("Plain.sqlite-journal")))
    #expect(try samples.open("Plain.sqlite").nodes.count == 7)
  }

  @Test("a log that is a link is refused, since it could lead anywhere")
  func linkedLog() throws {
    try FileManager.default.moveItem(atPath: samples.path("Live.sqlite-wal"), toPath: samples.path("elsewhere"))
    try FileManager.default.createSymbolicLink(
      atPath: samples.path("Live.sqlite-wal"), withDestinationPath: "elsewhere")
    let error = try samples.failure("Live.sqlite")
    #expect(error.code == .unsupportedFileKind, "\(error)")
  }

  @Test("a log that the header promises and that is not there is a warning; an empty one is not")
  func missingLog() throws {
    #expect(try !samples.open("Live.sqlite").notes.contains(where: \.isWarning))
    try FileManager.default.removeItem(atPath: samples.path("Live.sqlite-wal"))
    let opened = try samples.open("Live.sqlite")
    let notes = opened.notes.filter(\.isWarning)
    #expect(notes.map(\.subject) == ["Live.sqlite-wal"] && notes.allSatisfy { !$0.isLoss }, "\(opened.notes)")
    #expect(opened.nodes.count == 1)
    #expect(FileManager.default.createFile(atPath: samples.path("Live.sqlite-wal"), contents: nil))
    #expect(try !samples.open("Live.sqlite").notes.contains(where: \.isWarning))
    #expect(try !samples.open("Plain.sqlite").notes.contains(where: \.isWarning))
    // The index of a log shows too that there was one.
    #expect(FileManager.default.createFile(atPath: samples.path("Plain.sqlite-shm"), contents: nil))
    let warnings = try samples.open("Plain.sqlite").notes.filter(\.isWarning)
    #expect(warnings.count == 1 && warnings.allSatisfy { $0.text.contains("Plain.sqlite-shm") }, "\(warnings)")
  }

  // MARK: External data

  @Test("a value in its own file is read; a missing file is a loss that a conversion must be allowed")
  func externalData() throws {
    let opened = try samples.open("External.sqlite")
    guard case .data(let photo) = try opened.value("Person", 1, "photo") else { throw CancellationError() }
    #expect(photo.count == 64)
    #expect(try opened.value("Person", 2, "photo") == .null)
    let note = try #require(opened.notes.first)
    #expect(opened.notes.count == 1 && note.isLoss && note.subject == "Person.photo" && note.count == 1, "\(note)")
    #expect(
      note.example?.contains("Person/2") == true
        && note.example?.contains("6E2B1C3A-0000-4000-8000-000000000002") == true, "\(note)")

    var converter = StoreConverter(registry: .builtIn)
    converter.model = samples.model
    let error = try #require(throws: StoreConverter.LossError.self) {
      try converter.convert(from: samples.path("External.sqlite"), to: samples.path("Copy.xml"))
    }
    #expect(error.losses.map(\.kind) == [.notLoaded])
    #expect(!FileManager.default.fileExists(atPath: samples.path("Copy.xml")))
    converter.allowsLoss = true
    #expect(
      try converter.convert(from: samples.path("External.sqlite"), to: samples.path("Copy.xml")).losses.count == 1)
  }

  @Test(
    "a name that leads out of the folder, or is none, is refused",
    arguments: [
      "../../../../etc/hostname0000000000000000", "6E2B1C3A-0000-4000-8000-00000000000",
      "6E2B1C3A/0000-4000-8000-000000000001", "",
    ])
  func hostileName(_ name: String) throws {
    try samples.edit(
      "External.sqlite",
      "UPDATE ZPERSON SET ZPHOTO = CAST(X'02' || CAST('\(name)' AS BLOB) || X'00' AS BLOB) WHERE Z_PK = 1")
    let error = try samples.failure("External.sqlite")
    #expect(
      error.code == .malformed && error.location.property == "photo" && error.location.reference == "1", "\(error)")
  }

  @Test(
    "a file or folder of external data that is a link is refused",
    arguments: [".External_SUPPORT", ".External_SUPPORT/_EXTERNAL_DATA/6E2B1C3A-0000-4000-8000-000000000001"])
  func linkedData(_ name: String) throws {
    try FileManager.default.moveItem(atPath: samples.path(name), toPath: samples.path("elsewhere"))
    try FileManager.default.createSymbolicLink(
      atPath: samples.path(name), withDestinationPath: samples.path("elsewhere"))
    #expect(try samples.failure("External.sqlite").code == .unsupportedFileKind)
  }

  // MARK: What is not part of the graph

  @Test("history and triggers are noted and do not matter")
  func history() throws {
    let opened = try samples.open("History.sqlite")
    #expect(opened.nodes.count == 1)
    #expect(
      opened.notes.map(\.subject) == ["ATRANSACTION", "triggers"] && !opened.notes.contains(where: \.isLoss),
      "\(opened.notes)")
  }

  @Test("values in a column that the model does not have are a loss")
  func unknownColumn() throws {
    try samples.edit(
      "Plain.sqlite",
      "ALTER TABLE ZTEAM ADD COLUMN ZMOTTO VARCHAR; ALTER TABLE ZTEAM ADD COLUMN ZEMPTY VARCHAR; UPDATE ZTEAM SET ZMOTTO = 'onward'"
    )
    let notes = try samples.open("Plain.sqlite").notes
    #expect(notes.map(\.subject) == ["ZTEAM.ZMOTTO"] && notes.allSatisfy(\.isLoss), "\(notes)")
  }

  @Test(
    "files that belong to a store are named, with what to open instead",
    arguments: zip(
      [
        "Live.sqlite-wal", ".External_SUPPORT", "Plain.sqlite-journal", "Empty.sqlite", "Cut.sqlite", "Cipher.sqlite",
      ],
      [
        "'Live.sqlite' beside it", "external data", "'Plain.sqlite' beside it", "not a Core Data store",
        "cut short: 2000 of 11264 bytes", "encrypted",
      ]))
  func relatedFiles(_ name: String, _ words: String) throws {
    try (Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]) + Data(count: 600)).write(
      to: URL(filePath: samples.path("Plain.sqlite-journal")))
    try samples.edit("Empty.sqlite", "CREATE TABLE t (x)")
    try Data((0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13 ^ $0 >> 3) }).write(
      to: URL(filePath: samples.path("Cipher.sqlite")))
    try (try #require(FileManager.default.contents(atPath: samples.path("Plain.sqlite")))).prefix(2000).write(
      to: URL(filePath: samples.path("Cut.sqlite")))
    let error = try samples.failure(name)
    #expect(error.code == .notSupported && error.message.contains(words), "\(error)")
  }
}

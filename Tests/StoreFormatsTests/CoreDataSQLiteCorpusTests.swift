import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Real SQLite stores") struct CoreDataSQLiteCorpusTests {
  static func files(_ folder: String) -> [String] {
    let path = XMLSupport.corpus.deletingLastPathComponent().appendingPathComponent(folder).path
    return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted().map { path + "/" + $0 }
  }
  static let all = files("sqlite")
  static let needed: Comment = "needs ../shared/corpus"
  /// The one with damage: an Artwork's table has a row that says that it is a Collection.
  static let damaged = "ArtsyPartner_1.3.sqlite"

  /// Stores whose cached model has the hashes of their metadata.
  static let withModel: [String] = {
    let names = ["CoreDataKitTests_2.sqlite", "SampleModel_V1.sqlite", "logs.sqlite", "Moody_3.moody"]
    return all.filter { path in names.contains { path.hasSuffix("~" + $0) } }
  }()

  private static func options(_ path: String) -> StoreOptions { path.hasSuffix(damaged) ? ["rows": "skip"] : [:] }

  @Test(
    "a store that Core Data wrote converts and compares equal, and is not touched", .enabled(if: !all.isEmpty, needed),
    arguments: all)
  func converts(_ path: String) throws {
    let folder = try CoreDataSQLiteWritingTests.Scratch()
    let before = try Data(contentsOf: URL(filePath: path))
    for name in ["copy.csvstore", "copy.xml"] {
      var converter = StoreConverter(registry: .builtIn)
      converter.readOptions = Self.options(path)
      let report = try converter.convert(from: path, to: folder.path + "/" + name)
      #expect(report.losses.isEmpty)
    }
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
  }

  @Test(
    "the damaged one is refused with table and key", .enabled(if: !all.isEmpty, needed),
    arguments: all.filter { $0.hasSuffix(damaged) })
  func damage(_ path: String) throws {
    let error = try #require(throws: PersistentStoreError.self) {
      try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    }
    #expect(error.code == .modelMismatch && error.message.contains("Z_PK 1 of ZARTWORK is of Collection"), "\(error)")
  }

  @Test(
    "the model that Core Data left in a store is the one it is read with", .enabled(if: !all.isEmpty, needed),
    arguments: withModel)
  func cachedModel(_ path: String) throws {
    let store = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    #expect(!store.model.description.isInferred)
    let hashes = try #require(VersionHashes(metadata: store.metadata.entries))
    #expect(store.model.versionHashes == hashes)
  }

  @Test(
    "tables are created with the text that Core Data used",
    .enabled(if: !all.isEmpty && SQLiteSamples.program != nil, needed), arguments: all)
  func statements(_ path: String) throws {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path, options: Self.options(path), isReadOnly: true)
    guard !store.model.description.isInferred else { return }
    let folder = try CoreDataSQLiteWritingTests.Scratch()
    var converter = StoreConverter(registry: .builtIn)
    converter.readOptions = Self.options(path)
    converter.allowsLoss = true
    _ = try converter.convert(from: path, to: folder.path + "/new.sqlite")
    let sql =
      "SELECT sql FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%CONSTRAINT%' AND name <> 'Z_MODELCACHE' ORDER BY name"
    // A database in the corpus may not be opened for writing.
    try FileManager.default.copyItem(atPath: path, toPath: folder.path + "/old.sqlite")
    let old = try SQLiteSamples.lines(folder.path + "/old.sqlite", sql)
    let new = Set(try SQLiteSamples.lines(folder.path + "/new.sqlite", sql))
    #expect(!old.isEmpty)
    for statement in old { #expect(new.contains(statement), "\(statement)") }
  }
}

import CStoreFiles
import Foundation
import Synchronization
import Testing

@testable import StoreFiles

/// Files beside a store of one file: there with it, or not at all.
@Suite("Files that are published beside a store") struct CompanionTests {
  private static func stage(
    _ path: String, _ text: String, _ policy: StagedStore.Policy = .createNew, _ faults: FaultPlan? = nil
  ) throws -> StagedStore {
    let staged = try StagedStore(target: path, layout: .file, policy: policy, faults: faults)
    try staged.files.file().write(Array("store".utf8))
    for name in ["a", "b"] {
      try Array("\(text) \(name)".utf8).withUnsafeBytes {
        try staged.files.writeCompanion(name, in: ".s_SUPPORT/DATA", $0)
      }
    }
    try staged.finish()
    return staged
  }

  @Test("they are read before they are published, and are there with the store")
  func published() throws {
    let folder = try Folder()
    let staged = try Self.stage(folder("s.store"), "new")
    #expect(!FileManager.default.fileExists(atPath: folder(".s_SUPPORT")))
    let source = try staged.sourceForVerification(name: "s.store")
    #expect(source.fileName == "s.store")
    let file = try #require(try source.companion(named: ".s_SUPPORT/DATA/a"))
    #expect(try file.bytes().withUnsafeBytes { String(decoding: $0, as: UTF8.self) } == "new a")
    #expect(file.name == folder(".s_SUPPORT/DATA/a"))
    #expect(try source.companion(named: "s.store-wal") == nil)
    try staged.commit()
    #expect(try String(contentsOfFile: folder(".s_SUPPORT/DATA/b"), encoding: .utf8) == "new b")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [".s_SUPPORT", "s.store"])
  }

  @Test("what is discarded, refused or undone leaves nothing", arguments: ["discard", "refuse", "undo"])
  func removed(_ end: String) throws {
    let folder = try Folder()
    let path = folder("s.store")
    switch end {
    case "discard": try Self.stage(path, "new").discard()
    case "refuse":
      let staged = try Self.stage(path, "new")
      try Data("other".utf8).write(to: URL(filePath: path))
      #expect(commitError(staged)?.code == .alreadyExists)
      try FileManager.default.removeItem(atPath: path)
    default:
      let published = try Self.stage(path, "new").publish()
      #expect(FileManager.default.fileExists(atPath: folder(".s_SUPPORT/DATA/a")))
      try published.rollBack()
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test("whichever call of a save fails, store and files are there or nothing is")
  func everyFailure() throws {
    var failures = 0
    while true {
      let folder = try Folder()
      var isDone = false
      do {
        try Self.stage(folder("s.store"), "new", .createNew, FaultPlan(failing: failures, error: EIO)).commit()
        isDone = true
      } catch {
        #expect(error is PersistentStoreError)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty, "call \(failures): \(error)")
      }
      guard isDone == false else { break }
      failures += 1
      try #require(failures < 100)
    }
    // Three files are created and written, and two directories made; all are synced; two names are given.
    #expect(failures >= 15)
  }

  @Test("a directory that is there belongs to another store, and stays as it is")
  func taken() throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder(".s_SUPPORT"), withIntermediateDirectories: true)
    let error = #expect(throws: PersistentStoreError.self) {
      let staged = try Self.stage(folder("s.store"), "new")
      staged.discard()
    }
    #expect(error?.code == .alreadyExists)
    // Made while the store was written: found when it is published.
    try FileManager.default.removeItem(atPath: folder(".s_SUPPORT"))
    let late = try Self.stage(folder("s.store"), "new")
    try FileManager.default.createDirectory(atPath: folder(".s_SUPPORT"), withIntermediateDirectories: true)
    #expect(commitError(late)?.code == .alreadyExists)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [".s_SUPPORT"])
  }

  @Test(
    "names that lead elsewhere are refused",
    arguments: [
      ("a", "SUPPORT"), ("a", ".S/.."), ("a", "../S"), ("..", ".S"), ("a/b", ".S"), ("", ".S"), ("a", ".S//T"),
      ("a", ""),
    ])
  func names(_ name: String, _ directory: String) throws {
    let folder = try Folder()
    let staged = try StagedStore(target: folder("s.store"), layout: .file, policy: .createNew)
    let error = #expect(throws: PersistentStoreError.self) {
      try [1].withUnsafeBytes { try staged.files.writeCompanion(name, in: directory, $0) }
    }
    #expect(error?.code == .invalidValue)
    staged.discard()
  }

  // MARK: Whose they are

  /// - Parameter replaced: The UUID of the store that is replaced, and whether it is of the same type.
  private static func save(
    _ path: String, _ text: String, _ identifier: String, replacing replaced: (String, Bool)? = nil,
    _ faults: FaultPlan? = nil
  ) throws {
    let staged = try StagedStore(target: path, layout: .file, policy: .replaceAny, faults: faults)
    staged.files.setCompanionOwner(CompanionOwner(identifier: identifier) { replaced })
    try staged.files.file().write(Array(text.utf8))
    try Array(text.utf8).withUnsafeBytes { try staged.files.writeCompanion("a", in: ".s_SUPPORT/DATA", $0) }
    try staged.finish()
    try staged.commit()
  }
  private static let one = "00000000-0000-0000-0000-000000000001"
  private static let two = "00000000-0000-0000-0000-000000000002"

  @Test("those of the store that is written, or replaced, are replaced with it")
  func replaced() throws {
    let folder = try Folder()
    let path = folder("s.store")
    try Self.save(path, "old", Self.one)
    // What is left where the store itself was removed.
    try FileManager.default.removeItem(atPath: path)
    try Self.save(path, "again", Self.one)
    try Self.save(path, "new", Self.two, replacing: (Self.one, false))
    #expect(try String(contentsOfFile: folder(".s_SUPPORT/DATA/a"), encoding: .utf8) == "new")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [".s_SUPPORT", "s.store"])
  }

  @Test("those of another store are refused, with its UUID")
  func another() throws {
    let folder = try Folder()
    try Self.save(folder("s.store"), "old", Self.one)
    let others: [(String, Bool)?] = [nil, (Self.two, true)]
    for replaced in others {
      let error = #expect(throws: PersistentStoreError.self) {
        try Self.save(folder("s.store"), "new", Self.two, replacing: replaced)
      }
      #expect(error?.code == .alreadyExists && error?.message.contains(Self.one) ?? false)
    }
    #expect(try String(contentsOfFile: folder(".s_SUPPORT/DATA/a"), encoding: .utf8) == "old")
    // Without a mark, they are of the store beside them if that has the type that has such a directory.
    try FileManager.default.removeItem(atPath: folder(".s_SUPPORT/.atomicstore-store"))
    #expect(throws: PersistentStoreError.self) {
      try Self.save(folder("s.store"), "new", Self.two, replacing: (Self.one, false))
    }
    try Self.save(folder("s.store"), "new", Self.two, replacing: (Self.one, true))
    #expect(try String(contentsOfFile: folder(".s_SUPPORT/DATA/a"), encoding: .utf8) == "new")
  }

  /// Replaces a store that has files beside it by one that has none.
  private static func saveWithout(
    _ path: String, _ identifier: String, replacing replaced: (String, Bool)?, _ faults: FaultPlan? = nil
  ) throws {
    let staged = try StagedStore(target: path, layout: .file, policy: .replaceAny, faults: faults)
    staged.files.setCompanionOwner(CompanionOwner(identifier: identifier) { replaced })
    try staged.files.file().write(Array("new".utf8))
    try staged.files.removeReplacedCompanions(in: ".s_SUPPORT/DATA")
    try staged.finish()
    try staged.commit()
  }

  @Test("a store that has none removes those of the store that it replaces, and of no other one")
  func removedWithTheirStore() throws {
    let folder = try Folder()
    let path = folder("s.store")
    try Self.save(path, "old", Self.one)
    try Self.saveWithout(path, Self.two, replacing: nil)
    #expect(try String(contentsOfFile: folder(".s_SUPPORT/DATA/a"), encoding: .utf8) == "old")
    try Self.saveWithout(path, Self.two, replacing: (Self.one, false))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["s.store"])
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
  }

  @Test("whichever call of that fails, both are the old ones")
  func everyFailureOfRemoving() throws {
    let failures = try Self.failures { try Self.saveWithout($0, Self.two, replacing: (Self.one, false), $1) }
    #expect(failures >= 8)
  }

  @Test("whichever call fails, both are the old ones")
  func everyFailureOfReplacing() throws {
    #expect(try Self.failures { try Self.save($0, "new", Self.one, $1) } >= 15)
  }

  /// Makes each call of a save over a store fail, and expects the old one with its files.
  ///
  /// - Returns: The number of calls.
  private static func failures(of save: (_ path: String, FaultPlan) throws -> Void) throws -> Int {
    for failures in 0..<100 {
      let folder = try Folder()
      let path = folder("s.store")
      try Self.save(path, "old", one)
      do {
        try save(path, FaultPlan(failing: failures, error: EIO))
        return failures
      } catch {
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "old", "call \(failures): \(error)")
        #expect(try String(contentsOfFile: folder(".s_SUPPORT/DATA/a"), encoding: .utf8) == "old")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [".s_SUPPORT", "s.store"])
      }
    }
    Issue.record("every call fails")
    return 0
  }

  @Test("if those of the old store cannot be restored, the error says where they are")
  func notRestored() throws {
    let folder = try Folder()
    try Self.save(folder("s.store"), "old", Self.one)
    let exchanges = Mutex(0)
    // The store cannot be replaced after its files were, and they cannot be exchanged back.
    let faults = FaultPlan(error: EIO) { _, call in
      guard call == .exchange else { return call == .exchangeBack }
      return exchanges.withLock { count in
        count += 1
        return count == 2
      }
    }
    let error = #expect(throws: PersistentStoreError.self) {
      try Self.save(folder("s.store"), "new", Self.one, faults)
    }
    let kept = try #require(folder.names.first { $0.contains(".kept-") })
    #expect(error?.code == .notRolledBack && error?.message.contains(folder(kept)) == true, "\(error as Any)")
    #expect(try String(contentsOfFile: folder(kept + "/DATA/a"), encoding: .utf8) == "old")
    #expect(try String(contentsOfFile: folder("s.store"), encoding: .utf8) == "old")
  }
}

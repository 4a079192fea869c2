import CStoreFiles
import Foundation
import Glibc
import StorePrimitives
import Synchronization
import Testing

@testable import StoreFiles

/// Several files and directories that one command writes.
@Suite("What is published as one unit") struct PublicationTests {
  private static func write(_ text: String, _ path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }
  private static func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
  private static func mode(_ path: String) throws -> mode_t {
    try #require(try SystemCall.status(path, followLinks: false)).st_mode & 0o7777
  }
  private static func staged(
    _ path: String, _ text: String, _ policy: StagedStore.Policy = .replaceAny, _ faults: FaultPlan? = nil
  ) throws -> StagedStore {
    let staged = try StagedStore(target: path, layout: .file, policy: policy, faults: faults)
    try staged.files.file().write(Array(text.utf8))
    try staged.finish()
    return staged
  }

  /// A file that is replaced, a new file, a tree that is replaced, and a new tree.
  private static func unit(in folder: String, failing last: Bool = false) throws -> Publication {
    let unit = Publication()
    try unit.addFile(Array("new".utf8), at: folder + "/old", replaces: true)
    try unit.addFile(Array("new".utf8), at: folder + "/file", replaces: false)
    for name in ["tree", "other"] {
      try unit.addTree(at: folder + "/" + name, policy: .replaceAny) { (files) throws(PersistentStoreError) in
        try files.file(at: "a/b/c").write(Array("new".utf8))
        try files.file(at: ".hidden").write(Array("new".utf8))
        try files.file(at: "run", isExecutable: true).write(Array("new".utf8))
      }
    }
    if last { unit.add(try staged(folder + "/last", "new", .createNew)) }
    return unit
  }
  private static func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }
  private static func prepare(_ folder: String) throws {
    try write("old", folder + "/old")
    try FileManager.default.createDirectory(atPath: folder + "/tree/a", withIntermediateDirectories: true)
    try write("old", folder + "/tree/a/old")
  }
  private static func isOld(_ folder: String) throws -> Bool {
    let names = try Self.names(folder).filter { $0 != "last" }
    let tree = try Self.names(folder + "/tree")
    let texts = [try read(folder + "/old"), try read(folder + "/tree/a/old")]
    return names == ["old", "tree"] && tree == ["a"] && texts == ["old", "old"]
  }

  @Test("gets all its names, and a directory is replaced with everything in it")
  func published() throws {
    let folder = try Folder()
    try Self.prepare(folder.path)
    try Self.unit(in: folder.path).commit()
    #expect(folder.names == ["file", "old", "other", "tree"])
    #expect(try Self.read(folder("old")) == "new")
    #expect(try Self.read(folder("tree/a/b/c")) == "new")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder("tree")).sorted() == [".hidden", "a", "run"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder("tree/a")) == ["b"])
    #expect(try Self.mode(folder("tree/run")) & 0o100 != 0)
    #expect(try Self.mode(folder("tree/.hidden")) & 0o111 == 0)
  }

  @Test("leaves nothing behind if it is not published, directories that were made for it included")
  func abandoned() throws {
    let folder = try Folder()
    try Self.prepare(folder.path)
    do {
      let unit = try Self.unit(in: folder.path)
      try unit.makeDirectory(folder("x/y/z"))
      try unit.addFile([1], at: folder("x/y/z/file"), replaces: false)
      #expect(FileManager.default.fileExists(atPath: folder("x/y/z")))
    }
    #expect(try Self.isOld(folder.path))
  }

  @Test("is rolled back if its last name cannot be given")
  func rolledBack() throws {
    let folder = try Folder()
    try Self.prepare(folder.path)
    let unit = try Self.unit(in: folder.path, failing: true)
    try Self.write("precious", folder("last"))
    let error = #expect(throws: PersistentStoreError.self) { try unit.commit() }
    #expect(error?.code == .alreadyExists && error?.location.file == folder("last"))
    #expect(try Self.isOld(folder.path))
    #expect(try Self.read(folder("last")) == "precious")
  }

  @Test("is rolled back if the database that belongs to it fails, whether or not that published it")
  func transaction() throws {
    struct Failure: Error {}
    for publishes in [false, true] {
      let folder = try Folder()
      try Self.prepare(folder.path)
      do {
        let unit = try Self.unit(in: folder.path)
        #expect(throws: Failure.self) {
          try unit.commit(with: { () throws -> Void in
            if publishes { try unit.publish() }
            throw Failure()
          })
        }
        if publishes { #expect(throws: PersistentStoreError.self) { try unit.commit() } }
      }
      #expect(try Self.isOld(folder.path))
    }
    let folder = try Folder()
    try Self.prepare(folder.path)
    #expect(try Self.unit(in: folder.path).commit(with: { 7 }) == 7)
    #expect(try Self.read(folder("file")) == "new")
    #expect(folder.names == ["file", "old", "other", "tree"])
  }

  @Test("is published by a transaction that is tried again, and once only")
  func triedAgain() throws {
    struct Failure: Error {}
    let folder = try Folder()
    do {
      let unit = Publication()
      try unit.addFile(Array("new".utf8), at: folder("file"), replaces: false)
      #expect(throws: Failure.self) { try unit.commit(with: { () throws -> Void in throw Failure() }) }
      try unit.commit(with: {})
      #expect(try Self.read(folder("file")) == "new")
      try unit.commit()
      try unit.addFile([1], at: folder("more"), replaces: false)
      let error = #expect(throws: PersistentStoreError.self) { try unit.commit() }
      #expect(error?.code == .internalInconsistency)
    }
    #expect(folder.names == ["file"])
  }

  @Test("what is rolled back has its record until everything is as before")
  func recordedWhileRolledBack() throws {
    let folder = try Folder()
    try Self.write("old", folder("old"))
    try Self.write("precious", folder("last"))
    let path = folder.path
    let isRecorded = Mutex(false)
    let faults = FaultPlan(
      error: EIO,
      willCall: { call in
        guard call == .exchangeBack else { return }
        isRecorded.withLock { $0 = (try? Self.names(path))?.contains { $0.hasSuffix(".unit") } ?? false }
      }
    ) { _, _ in false }
    let unit = Publication()
    unit.add(try Self.staged(folder("old"), "new", .replaceAny, faults))
    unit.add(try Self.staged(folder("last"), "new", .createNew))
    #expect(throws: PersistentStoreError.self) { try unit.commit() }
    #expect(isRecorded.withLock { $0 })
    #expect(try Self.read(folder("old")) == "old" && folder.names == ["last", "old"])
  }

  @Test("a directory that must not be replaced stays, also if that is found after the exchange", arguments: [1, 2])
  func refused(_ refusal: Int) throws {
    let folder = try Folder()
    try Self.prepare(folder.path)
    let unit = Publication()
    let checked = Mutex<[String]>([])
    try unit.addTree(
      at: folder("tree"), policy: .replaceAny,
      replacing: { (old) throws(PersistentStoreError) in
        let count = checked.withLock { list in
          list.append(old)
          return list.count
        }
        if count == refusal { throw PersistentStoreError(.alreadyExists, "refused") }
      }
    ) { (files) throws(PersistentStoreError) in try files.file(at: "new").write([1]) }
    let error = #expect(throws: PersistentStoreError.self) { try unit.commit() }
    let paths = checked.withLock { $0 }
    #expect(error?.message == "refused" && paths.count == refusal && paths.first == folder("tree"))
    #expect(try Self.isOld(folder.path))
  }

  @Test("a path in a tree stays in it", arguments: ["", "/a", "a//b", "../a", "a/..", "a/./b", "a/"])
  func paths(_ path: String) throws {
    let folder = try Folder()
    let unit = Publication()
    let error = #expect(throws: PersistentStoreError.self) {
      try unit.addTree(at: folder("tree"), policy: .createNew) { (files) throws(PersistentStoreError) in
        _ = try files.file(at: path)
      }
    }
    #expect(error?.code == .invalidValue && folder.names == [])
  }

  @Test("grants no more than what it is made of", arguments: [0o600, 0o640, 0o644] as [mode_t])
  func permissions(_ mode: mode_t) throws {
    let folder = try Folder()
    try Self.write("private", folder("source"))
    #expect(chmod(folder("source"), mode) == 0)
    let unit = try Publication(madeOf: [StorePath.inspect(folder("source"))])
    try unit.makeDirectory(folder("made"))
    try unit.addFile([1], at: folder("made/file"), replaces: false)
    try unit.addTree(at: folder("tree"), policy: .createNew) { (files) throws(PersistentStoreError) in
      try files.file(at: "a/b").write([1])
    }
    try unit.commit()
    for name in ["made/file", "tree/a/b"] { #expect(try Self.mode(folder(name)) & 0o777 & ~mode == 0) }
    let searchable = mode | (mode & 0o444) >> 2
    for name in ["made", "tree", "tree/a"] { #expect(try Self.mode(folder(name)) & 0o077 & ~searchable == 0) }
  }

  // MARK: Killed processes

  /// A hidden name of a process that no longer runs.
  private static func stale(_ target: String, _ suffix: String) -> String {
    var process = ProcessIdentity.current
    process.number = 2_147_483_646
    return ".\(target).atomicstore-\(process.text)-1zz\(suffix)"
  }

  /// What a process leaves that is killed after it has given the first two of three names: of a file that it replaced,
  /// and of a new directory.
  private static func killHalfWay(_ folder: String) throws {
    func staged(_ name: String) -> String { folder + "/" + stale(name, ".tmp") }
    try write("old", folder + "/one")
    try write("new", staged("one"))
    try FileManager.default.createDirectory(atPath: staged("two") + "/b", withIntermediateDirectories: true)
    try write("new", staged("two") + "/a")
    try write("new", staged("two") + "/b/c")
    try write("new", staged("three"))
    let entries = try ["one", "two", "three"].map { name in
      let target = folder + "/" + name
      return try #require(try PublicationRecord.Entry(target: target, staged: staged(name), isTree: name == "two"))
    }
    let record = folder + "/" + stale("one", ".unit")
    try Data(PublicationRecord.bytes(entries, first: record)).write(to: URL(filePath: record))
    #expect(asf_exchange(staged("one"), folder + "/one") == 0)
    #expect(rename(staged("two"), folder + "/two") == 0)
  }

  @Test("what a killed process has published half-way is undone by the next save into the directory")
  func undone() throws {
    let folder = try Folder()
    try Self.killHalfWay(folder.path)
    #expect(try Self.read(folder("one")) == "new")
    try Self.staged(folder("next"), "x").commit()
    #expect(folder.names == ["next", "one"])
    #expect(try Self.read(folder("one")) == "old")
  }

  @Test(
    "what was changed since stays, with everything that was published with it", arguments: ["one", "two/a", "two/b/c"])
  func changedSince(_ name: String) throws {
    let folder = try Folder()
    try Self.killHalfWay(folder.path)
    let handle = try #require(FileHandle(forWritingAtPath: folder(name)))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(" and more".utf8))
    try handle.close()
    try Self.staged(folder("next"), "x").commit()
    #expect(folder.names == ["next", "one", "two"])
    #expect(try Self.read(folder(name)) == "new and more")
    #expect(try Self.read(folder("one")).hasPrefix("new"))
  }

  @Test(
    "a file that was added to a published directory since stays", arguments: ["two/x", "two/b/x", "two/b/.x"])
  func addedSince(_ name: String) throws {
    let folder = try Folder()
    try Self.killHalfWay(folder.path)
    try Self.write("added", folder(name))
    try Self.staged(folder("next"), "x").commit()
    #expect(try Self.read(folder(name)) == "added")
    #expect(folder.names == ["next", "one", "two"])
  }

  @Test("rolling back keeps a directory in which someone has changed a file since, at any depth")
  func rolledBackLater() throws {
    let folder = try Folder()
    try Self.prepare(folder.path)
    let unit = try Self.unit(in: folder.path)
    try unit.publish()
    try Self.write("edited", folder("tree/a/b/c"))
    try unit.rollBack(after: PersistentStoreError(.inputOutput, "a failure"))
    #expect(try Self.read(folder("tree/a/b/c")) == "edited")
    #expect(try Self.read(folder("old")) == "old")
    #expect(folder.names == ["old", "tree"])
  }

  @Test("what cannot be undone yet is kept, and undone later")
  func postponed() throws {
    let folder = try Folder()
    try Self.killHalfWay(folder.path)
    let holder = try #require(holdLock(of: folder("one")))
    StaleItems.remove(in: folder.path)
    #expect(try Self.read(folder("one")) == "new")
    #expect(try Self.read(folder(Self.stale("one", ".tmp"))) == "old")
    close(holder)
    StaleItems.remove(in: folder.path)
    #expect(try Self.read(folder("one")) == "old")
    #expect(folder.names == ["one"])
  }

  @Test(
    "a write into any of the directories undoes all of a unit, unless its record was removed", arguments: [true, false])
  func otherDirectory(_ isRecorded: Bool) throws {
    let folder = try Folder()
    for name in ["a", "b"] {
      try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: false)
    }
    let entries = try ["a/one", "b/two"].map { name in
      let staged = folder(FilePathText.folder(name) + "/" + Self.stale(FilePathText.name(name), ".tmp"))
      try Self.write("old", folder(name))
      try Self.write("new", staged)
      return try #require(try PublicationRecord.Entry(target: folder(name), staged: staged, isTree: false))
    }
    let (record, copy) = (folder("a/" + Self.stale("one", ".unit")), folder("b/" + Self.stale("two", ".unit")))
    for path in isRecorded ? [record, copy] : [copy] {
      try Data(PublicationRecord.bytes(entries, first: record)).write(to: URL(filePath: path))
    }
    for entry in entries { #expect(asf_exchange(entry.staged, entry.target) == 0) }
    try Self.staged(folder("b/next"), "x").commit()
    try Self.staged(folder("a/next"), "x").commit()
    for entry in entries { #expect(try Self.read(entry.target) == (isRecorded ? "old" : "new")) }
    #expect(try Self.names(folder("a")) == ["next", "one"] && Self.names(folder("b")) == ["next", "two"])
  }

  @Test("what another process has published meanwhile stays, with everything that was published with it")
  func replacedSince() throws {
    let folder = try Folder()
    try Self.killHalfWay(folder.path)
    // As a save does, by renaming: a file made after the first was removed could get its number.
    try Self.write("another", folder("other"))
    #expect(rename(folder("other"), folder("one")) == 0)
    try Self.staged(folder("next"), "x").commit()
    #expect(try Self.read(folder("one")) == "another")
    #expect(folder.names == ["next", "one", "two"])
  }

  @Test("the record of another user, or one that cannot be read, keeps what is needed to undo it")
  func notOurs() throws {
    let folder = try Folder()
    try Self.killHalfWay(folder.path)
    let before = try Self.names(folder.path)
    let record = folder(Self.stale("one", ".unit"))
    #expect(geteuid() == 0 ? chown(record, 65534, 65534) == 0 : chmod(record, 0) == 0)
    try Self.staged(folder("next"), "x").commit()
    #expect(try Self.names(folder.path) == (before + ["next"]).sorted())
    #expect(geteuid() == 0 ? chown(record, 0, 0) == 0 : chmod(record, 0o600) == 0)
    StaleItems.remove(in: folder.path)
    #expect(folder.names == ["next", "one"])
    #expect(try Self.read(folder("one")) == "old")
  }

  @Test(
    "what cannot be moved back stays recorded, with what is needed to do it later",
    .enabled(if: geteuid() == 0, "only root can be another user"))
  func unmovable() throws {
    let folder = try Folder()
    try Self.killHalfWay(folder.path)
    // Another user may create the lock there, but not rename the file.
    let record = folder(Self.stale("one", ".unit"))
    #expect(chown(record, OtherUser.unrelated.uid, 0) == 0 && chmod(folder.path, 0o1777) == 0)
    let path = folder.path
    #expect(OtherUser.unrelated.run { StaleItems.remove(in: path) } == nil)
    #expect(try Self.read(folder("one")) == "new")
    #expect(try Self.read(folder(Self.stale("one", ".tmp"))) == "old")
    #expect(chown(record, 0, 0) == 0)
    StaleItems.remove(in: folder.path)
    #expect(folder.names == ["one"])
    #expect(try Self.read(folder("one")) == "old")
  }

  @Test("a record does not depend on the number of the device, which changes with a boot or mount")
  func device() throws {
    let folder = try Folder()
    try Self.write("text", folder("file"))
    let identity = try #require(try FileIdentity.of(folder("file")))
    #expect(
      identity.text
        == "\(identity.inode) 4 \(identity.modificationSeconds) \(identity.modificationNanoseconds) 0")
  }

  @Test("a damaged record, and one that leads elsewhere, undo nothing", arguments: ["cut", "elsewhere"])
  func damaged(_ how: String) throws {
    let folder = try Folder()
    try Self.killHalfWay(folder.path)
    let path = folder(Self.stale("one", ".unit"))
    let bytes = try Data(contentsOf: URL(filePath: path))
    if how == "cut" {
      try bytes.prefix(bytes.count - 5).write(to: URL(filePath: path))
    } else {
      let entry = PublicationRecord.Entry(
        target: folder("two/a"), staged: folder("two/b"),
        identity: try #require(try FileIdentity.of(folder("two/a"))).text, replaced: nil)
      try Data(PublicationRecord.bytes([entry, entry], first: path)).write(to: URL(filePath: path))
    }
    try Self.staged(folder("next"), "x").commit()
    #expect(folder.names == ["next", "one", "two"])
    #expect(try Self.read(folder("one")) == "new")
    #expect(try Self.read(folder("two/a")) == "new")
  }
}

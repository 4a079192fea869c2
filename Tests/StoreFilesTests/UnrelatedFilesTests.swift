import CStoreFiles
import Foundation
import Glibc
import Testing

@testable import StoreFiles

private func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
private func read(_ path: String) throws -> String {
  String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
}

@Suite("Unrelated files in a store's directory") struct UnrelatedFilesTests {
  private static func stage(
    _ path: String, _ members: [String: String], _ policy: StagedStore.Policy = .replaceAny,
    _ layout: StoreLayout = .folder
  ) throws -> StagedStore {
    let staged = try StagedStore(target: path, layout: layout, policy: policy)
    for (name, text) in members {
      try (layout == .file ? staged.files.file() : staged.files.member(name)).write(Array(text.utf8))
    }
    try staged.finish()
    return staged
  }

  /// A store of one file, with a version control's folder, a hidden file, a folder, a link and a pipe beside it.
  private static func populated(_ folder: borrowing Folder) throws -> String {
    let path = folder("s.store")
    try stage(path, ["a": "old", "b": "old"], .createNew).commit()
    try FileManager.default.createDirectory(atPath: path + "/.git/objects/00", withIntermediateDirectories: true)
    try write("object", to: path + "/.git/objects/00/1")
    chmod(path + "/.git/objects/00/1", 0o444)
    chmod(path + "/.git/objects", 0o750)
    try write("hidden", to: path + "/.hidden")
    try FileManager.default.createDirectory(atPath: path + "/notes", withIntermediateDirectories: false)
    try write("note", to: path + "/notes/one")
    #expect(symlink("/nowhere", path + "/link") == 0 && mkfifo(path + "/pipe", 0o600) == 0)
    return path
  }

  private static func expectUnrelatedFiles(_ path: String) throws {
    #expect(
      try read(path + "/.git/objects/00/1") == "object" && read(path + "/.hidden") == "hidden"
        && read(path + "/notes/one") == "note")
    let status = try #require(try SystemCall.status(path + "/.git/objects", followLinks: false))
    let object = try #require(try SystemCall.status(path + "/.git/objects/00/1", followLinks: false))
    #expect(status.st_mode & 0o7777 == 0o750 && object.st_mode & 0o7777 == 0o444)
    // The file itself, not a copy, and no one else's any more.
    #expect(object.st_nlink == 1)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path + "/link") == "/nowhere")
    #expect(try SystemCall.status(path + "/pipe", followLinks: false).map { $0.st_mode & S_IFMT } == S_IFIFO)
  }

  @Test("is kept by every save, and files that the store no longer has do not")
  func carried() throws {
    let folder = try Folder()
    let path = try Self.populated(folder)
    for number in 0..<3 {
      let identity = try StorePath.inspect(path).identity
      try Self.stage(path, ["a": "\(number)"], .replaceOnlyIf(identity)).commit()
      #expect(try read(path + "/a") == "\(number)" && !FileManager.default.fileExists(atPath: path + "/b"))
      try Self.expectUnrelatedFiles(path)
    }
    #expect(folder.names == ["s.store"])
  }

  @Test("is as it was after a save that is rolled back, or that fails")
  func notCarried() throws {
    let folder = try Folder()
    let path = try Self.populated(folder)
    let staged = try Self.stage(path, ["a": "new"])
    let published = try staged.publish()
    try Self.expectUnrelatedFilesBothWays(path)
    try published.rollBack()
    #expect(try read(path + "/a") == "old")
    try Self.expectUnrelatedFiles(path)
    try Self.stage(path, ["a": "new"]).discard()
    try Self.expectUnrelatedFiles(path)
    #expect(folder.names == ["s.store"])
  }
  /// While the old store is kept each file has two names.
  private static func expectUnrelatedFilesBothWays(_ path: String) throws {
    #expect(try SystemCall.status(path + "/.hidden", followLinks: false)?.st_nlink == 2)
  }

  @Test("what comes while a save is at work is kept too")
  func late() throws {
    let folder = try Folder()
    let path = try Self.populated(folder)
    let staged = try Self.stage(path, ["a": "new"])
    let published = try staged.publish()
    let old = try #require(folder.names.first { $0 != "s.store" })
    try write("late", to: folder(old) + "/.late")
    published.conclude()
    #expect(try read(path + "/.late") == "late")
    try Self.expectUnrelatedFiles(path)
    #expect(folder.names == ["s.store"])
  }

  @Test("a file of the store does not take an unrelated file's name: the save is refused, and nothing is changed")
  func sameName() throws {
    let folder = try Folder()
    let path = try Self.populated(folder)
    let staged = try Self.stage(path, ["notes": "a file"])
    let error = commitError(staged)
    #expect(error?.location.file == path + "/notes" && error?.code == .cannotCreate)
    #expect(try read(path + "/a") == "old")
    try Self.expectUnrelatedFiles(path)
    #expect(folder.names == ["s.store"])
  }

  @Test("a file does not replace a directory with unrelated files")
  func fileOverFolder() throws {
    let folder = try Folder()
    let path = try Self.populated(folder)
    let staged = try Self.stage(path, ["": "a file"], .replaceAny, .file)
    let thrown = commitError(staged)
    #expect(thrown != nil)
    try Self.expectUnrelatedFiles(path)
  }

  // MARK: Whose turn it is

  @Test("a member that was edited in place is a conflict; a new hidden file is not")
  func edited() throws {
    let folder = try Folder()
    let path = folder("s.store")
    try Self.stage(path, ["a": "old", "b": "old"], .createNew).commit()
    var identity = try StorePath.inspect(path).identity
    try write("hidden", to: path + "/.hidden")
    #expect(try StorePath.inspect(path).identity == identity)
    try Self.stage(path, ["a": "new", "b": "new"], .replaceOnlyIf(identity)).commit()
    #expect(try read(path + "/.hidden") == "hidden")
    identity = try StorePath.inspect(path).identity
    let staged = try Self.stage(path, ["a": "newer", "b": "newer"], .replaceOnlyIf(identity))
    let handle = try #require(FileHandle(forWritingAtPath: path + "/b"))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("edited".utf8))
    try handle.close()
    let error = commitError(staged)
    #expect(error?.code == .changedOnDisk)
    #expect(try read(path + "/b") == "newedited")
    // As is one that came, or went.
    for change in [{ try write("c", to: path + "/c") }, { _ = unlink(path + "/c") }] {
      let before = try StorePath.inspect(path).identity
      try change()
      #expect(try StorePath.inspect(path).identity != before)
    }
  }

  @Test("what another process saved after a commit is not rolled back with it", arguments: [StoreLayout.file, .folder])
  func rollBackOfOthers(_ layout: StoreLayout) throws {
    let folder = try Folder()
    let path = folder("store")
    let name = layout == .file ? "" : "a"
    let member = layout == .file ? path : path + "/a"
    for isThere in [false, true] {
      if isThere { try Self.stage(path, [name: "old"], .replaceAny, layout).commit() }
      let first = try Self.stage(path, [name: "first"], .replaceAny, layout)
      let published = try first.publish()
      let identity = published.identity
      try Self.stage(path, [name: "second"], .replaceOnlyIf(identity), layout).commit()
      let error = rollBackError(published)
      #expect(error?.code == .changedOnDisk)
      #expect(try read(member) == "second")
      #expect(folder.names == ["store"])
      SystemCall.removeTree(path)
    }
  }

  @Test("a commit that cannot be synced is put back at once, not after a wait for its own lock")
  func putBack() throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(path, ["": "old"], .createNew, .file).commit()
    // The sync after the exchange.
    let plan = FaultPlan(error: EIO) { number, call in call == .sync && number > 3 }
    let staged = try StagedStore(target: path, layout: .file, policy: .replaceAny, faults: plan)
    try staged.files.file().write(Array("new".utf8))
    try staged.finish()
    let thrown = commitError(staged)
    // A commit that waits for its own lock in vain says so.
    #expect(thrown != nil && thrown?.code != .locked)
    #expect(plan.calls.last == .exchangeBack)
    #expect(try read(path) == "old" && folder.names == ["store"])
  }

  // MARK: Stale files

  @Test(
    "staged files are locked until they are published, and replaced ones until they are removed",
    arguments: [StoreLayout.file, .folder])
  func holds(_ layout: StoreLayout) throws {
    let folder = try Folder()
    let path = folder("store")
    let name = layout == .file ? "" : "a"
    func isLocked(_ path: String) -> Bool {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      defer { close(descriptor) }
      return flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
    func stagedItem() -> String? { folder.names.first { $0 != "store" }.map { folder($0) } }
    try Self.stage(path, [name: "old"], .createNew, layout).commit()
    let staged = try Self.stage(path, [name: "new"], .replaceAny, layout)
    #expect(isLocked(try #require(stagedItem())))
    let published = try staged.publish()
    #expect(isLocked(try #require(stagedItem())))
    published.conclude()
    #expect(stagedItem() == nil)
    // The store itself can be locked by anyone.
    #expect(!isLocked(path))
  }
}

import Foundation
import Glibc
import Testing

@testable import StoreFiles

/// Saves where the file system cannot exchange: EXDEV as an overlay says it, EINVAL as one that does not know the call.
@Suite("Saves without an exchange") struct FolderSwapTests {
  private static func stage(
    _ path: String, _ members: [String: String], _ policy: StagedStore.Policy = .replaceAny, error: Int32 = EXDEV,
    keeping unrelated: [String] = [], willCall: (@Sendable (FaultPlan.Call) -> Void)? = nil
  ) throws -> StagedStore {
    let faults = FaultPlan(error: error, willCall: willCall) { _, call in call == .exchange }
    let staged = try StagedStore(
      target: path, layout: members[""] == nil ? .folder : .file, policy: policy, keeping: unrelated, faults: faults)
    for (name, text) in members.sorted(by: { $0.key < $1.key }) {
      try (name.isEmpty ? staged.files.file() : staged.files.member(name)).write(Array(text.utf8))
    }
    try staged.finish()
    return staged
  }
  private static func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }
  private static func read(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
  }
  /// As the kit reads it.
  private static func content(_ path: String) throws -> [String: String] {
    let source = try StoreSource(opening: StorePath.inspect(path))
    var all: [String: String] = [:]
    for name in source.isFolder ? source.memberNames.map({ $0 as String? }) : [nil] {
      all[name ?? ""] = String(decoding: try source.bytes(ofMember: name).withUnsafeBytes { Array($0) }, as: UTF8.self)
    }
    return all
  }
  private static let old = ["a": "old a", "b": "old b", "gone": "old"]
  private static let new = ["a": "new a", "b": "new b", "more": "new"]

  @Test(
    "a directory's members are replaced, and what else is in it stays where it is", arguments: [EXDEV, EINVAL, ENOSYS])
  func members(_ error: Int32) throws {
    let folder = try Folder()
    let path = folder("s")
    try Self.stage(path, Self.old, .createNew).commit()
    try FileManager.default.createDirectory(atPath: path + "/.git/objects", withIntermediateDirectories: true)
    try Self.write("object", to: path + "/.git/objects/1")
    try Self.write("note", to: path + "/note.txt")
    let before = try #require(try SystemCall.status(path + "/.git/objects/1", followLinks: false))
    chmod(path + "/a", 0o640)
    for round in 0..<3 {
      let identity = try StorePath.inspect(path).identity
      var members = Self.new
      members["a"] = "\(round)"
      let committed = try Self.stage(path, members, .replaceOnlyIf(identity), error: error, keeping: ["note.txt"])
        .commit()
      members["note.txt"] = "note"
      #expect(try Self.content(path) == members)
      #expect(try StorePath.inspect(path).identity == committed)
      #expect(folder.names == ["s"])
      #expect(Set(try FileManager.default.contentsOfDirectory(atPath: path)) == Set(members.keys).union([".git"]))
    }
    let after = try #require(try SystemCall.status(path + "/.git/objects/1", followLinks: false))
    #expect(after.st_ino == before.st_ino && after.st_nlink == 1)
    #expect(try #require(try SystemCall.status(path + "/a", followLinks: false)).st_mode & 0o777 == 0o640)
  }

  @Test("a commit can be undone until it is concluded", arguments: [[:], ["": "old"], old])
  func rollBack(_ old: [String: String]) throws {
    let folder = try Folder()
    let path = folder("s")
    let new = old[""] == nil ? Self.new : ["": "new"]
    if !old.isEmpty { try Self.stage(path, old, .createNew).commit() }
    let identity = try StorePath.inspect(path).identity
    let staged = try Self.stage(path, new, .replaceOnlyIf(identity))
    let published = try staged.publish()
    #expect(try Self.content(path) == new)
    try published.rollBack()
    #expect(try StorePath.inspect(path).identity == identity)
    #expect(old.isEmpty ? folder.names.isEmpty : try Self.content(path) == old)
    #expect(folder.names == (old.isEmpty ? [] : ["s"]))
    if old.count > 1 {
      #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == old.keys.sorted())
    }
  }

  @Test("a file or a directory replaces an empty one of the other kind, and no other")
  func kinds() throws {
    let folder = try Folder()
    for isFolder in [true, false] {
      let path = folder("place\(isFolder)")
      if isFolder { try Self.write("", to: path) } else { mkdir(path, 0o755) }
      let new = isFolder ? Self.new : ["": "new"]
      let taken = try Self.stage(path, new)
      let published = try taken.publish()
      #expect(try Self.content(path) == new)
      try published.rollBack()
      #expect(try StorePath.inspect(path).kind == (isFolder ? .zeroLength : .emptyFolder))
      try Self.stage(path, new).commit()
      #expect(try Self.content(path) == new)
      let error = #expect(throws: PersistentStoreError.self) {
        try Self.stage(path, isFolder ? ["": "new"] : Self.new).commit()
      }
      #expect(error?.code == .cannotCreate)
      #expect(try Self.content(path) == new)
    }
    #expect(folder.names == ["placefalse", "placetrue"])
  }

  @Test("a new store replaces an empty directory")
  func emptyFolder() throws {
    let folder = try Folder()
    mkdir(folder("s"), 0o755)
    try Self.stage(folder("s"), Self.new).commit()
    #expect(try Self.content(folder("s")) == Self.new)
  }

  /// Every state that a killed process can leave: the commit is begun, and some members have been moved.
  @Test("a commit that was begun is the store, whatever has been moved; the next save finishes it", arguments: 0...5)
  func interrupted(_ moves: Int) throws {
    let folder = try Folder()
    let path = folder("s")
    try Self.stage(path, Self.old, .createNew).commit()
    try Self.write("hidden", to: path + "/.hidden")
    let staged = folder("staged")
    mkdir(staged, 0o755)
    for (name, text) in Self.new { try Self.write(text, to: staged + "/" + name) }
    try FolderSwap.begin(staged, in: path, .init(members: ["a", "b", "more"], removed: ["gone"]), of: path)
    let identity = try StorePath.inspect(path).identity
    let steps: [() -> Void] = [
      { Glibc.rename(path + "/a", folder("out-a")) }, { Glibc.rename(path + "/.atomicstore-commit/a", path + "/a") },
      { Glibc.rename(path + "/.atomicstore-commit/b", path + "/b") },
      { Glibc.rename(path + "/.atomicstore-commit/more", path + "/more") },
      { unlink(path + "/gone") },
    ]
    for step in steps.prefix(moves) { step() }
    #expect(try Self.content(path) == Self.new)
    #expect(try StorePath.inspect(path).allNames() == [".hidden", "a", "b", "more"])
    #expect(try StorePath.inspect(path).probe().prefix(ofMember: "more") == Array("new".utf8))
    // It is one version throughout: a program that read it before a move can save after it.
    #expect(try StorePath.inspect(path).identity == identity)
    try Self.stage(path, ["a": "later"], .replaceOnlyIf(identity)).commit()
    #expect(try Self.content(path) == ["a": "later"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == [".hidden", "a"])
  }

  @Test("a source that was opened before members were moved reads them where they are")
  func readWhileMoving() throws {
    let folder = try Folder()
    let path = folder("s")
    try Self.stage(path, Self.old, .createNew).commit()
    let staged = folder("staged")
    mkdir(staged, 0o755)
    for (name, text) in Self.new { try Self.write(text, to: staged + "/" + name) }
    try FolderSwap.begin(staged, in: path, .init(members: ["a", "b", "more"], removed: ["gone"]), of: path)
    let source = try StoreSource(opening: StorePath.inspect(path))
    try FolderSwap.finish(in: path, movingOldTo: nil, of: path)
    for (name, text) in Self.new {
      #expect(try source.bytes(ofMember: name).withUnsafeBytes { Array($0) } == Array(text.utf8))
    }
    #expect(try source.totalSize() == Self.new.values.reduce(0) { $0 + $1.utf8.count })
  }

  @Test("a member that another program changed while the members were moved is a conflict, and its version is there")
  func otherWriter() throws {
    let folder = try Folder()
    let path = folder("s")
    try Self.stage(path, Self.old, .createNew).commit()
    let identity = try StorePath.inspect(path).identity
    let staged = try Self.stage(path, Self.new, .replaceOnlyIf(identity)) { call in
      if call == .exchange { try? Data("theirs".utf8).write(to: URL(filePath: path + "/b"), options: .atomic) }
    }
    let error = commitError(staged)
    #expect(error?.code == .changedOnDisk)
    #expect(try Self.content(path) == ["a": "old a", "b": "theirs", "gone": "old"])
    #expect(folder.names == ["s"])
  }

  @Test("a new member does not take the name of what is not the store's")
  func taken() throws {
    let folder = try Folder()
    let path = folder("s")
    try Self.stage(path, Self.old, .createNew).commit()
    mkdir(path + "/more", 0o755)
    let staged = try Self.stage(path, Self.new)
    let error = commitError(staged)
    #expect(error?.code == .cannotCreate && error?.location.file == path + "/more")
    #expect(try Self.content(path) == Self.old)
    #expect(folder.names == ["s"])
  }

  @Test(
    "a list that is not whole, or leads elsewhere, is refused; a directory without a list is nothing",
    arguments: [
      "", "x", "atomicstore-commit 1\0+a", "atomicstore-commit 1\0+../a\0", "atomicstore-commit 1\0+.git\0",
      "atomicstore-commit 2\0+a\0",
    ])
  func lists(_ text: String) throws {
    let folder = try Folder()
    let path = folder("s")
    try Self.stage(path, Self.old, .createNew).commit()
    mkdir(path + "/.atomicstore-commit", 0o755)
    #expect(try Self.content(path) == Self.old)
    try Self.write(text, to: path + "/.atomicstore-commit/.members")
    let error = #expect(throws: PersistentStoreError.self) { try StorePath.inspect(path) }
    #expect(error?.code == .malformed)
    unlink(path + "/.atomicstore-commit/.members")
    try Self.stage(path, Self.new).commit()
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == Self.new.keys.sorted())
  }

  @Test("a commit directory that is a link is not followed")
  func link() throws {
    let folder = try Folder()
    let path = folder("s")
    try Self.stage(path, ["a": "old"], .createNew).commit()
    mkdir(folder("outside"), 0o755)
    try Self.write("secret", to: folder("outside/a"))
    try Self.write("atomicstore-commit 1\0+a\0", to: folder("outside/.members"))
    try FileManager.default.createSymbolicLink(
      atPath: path + "/.atomicstore-commit", withDestinationPath: folder("outside"))
    #expect(try Self.content(path) == ["a": "old"])
    try Self.stage(path, ["a": "new"]).commit()
    #expect(try Self.content(path) == ["a": "new"] && Self.read(folder("outside/a")) == "secret")
  }

  @Test("names with line feeds, quotes and of 255 bytes are members like others")
  func oddNames() throws {
    let folder = try Folder()
    let names = ["line\nfeed", "+plus", "-minus", "é", String(repeating: "x", count: 255), " "]
    let members = Dictionary(uniqueKeysWithValues: names.map { ($0, $0) })
    for round in 0..<2 {
      try Self.stage(folder("s"), members.mapValues { "\(round) \($0)" }).commit()
      #expect(try Self.content(folder("s")) == members.mapValues { "\(round) \($0)" })
    }
  }

  @Test("a store of more members than a process may have open files is written", arguments: [1100])
  func manyMembers(_ count: Int) throws {
    let folder = try Folder()
    let staged = try StagedStore(target: folder("s"), layout: .folder, policy: .createNew)
    let files = try (0..<count).map { number in
      let file = try staged.files.member("m\(number)")
      try file.write(Array("\(number)".utf8))
      return file
    }
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix(folder.path)
        == true
    }
    #expect(open.count < 50)
    // A format may go back to one that it left.
    try files[0].write(Array(" again".utf8))
    try staged.finish()
    try staged.commit()
    #expect(try Self.read(folder("s/m0")) == "0 again" && Self.read(folder("s/m\(count - 1)")) == "\(count - 1)")
    #expect(try FolderListing(folder("s")).members.count == count)
    #expect(throws: PersistentStoreError.self) { try files[0].write([1]) }
  }
}

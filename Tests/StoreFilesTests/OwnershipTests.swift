import CConformance
import CStoreFiles
import Foundation
import Glibc
import Testing

@testable import StoreFiles

/// A user without an account here, in groups without a name.
struct OtherUser {
  var uid: uid_t
  var groups: [gid_t]
  static let owner = OtherUser(uid: 5001, groups: [5001, 6000])
  static let member = OtherUser(uid: 5002, groups: [5002, 6000])
  static let unrelated = OtherUser(uid: 5003, groups: [5003])

  /// Runs something as this user, in a thread: the system's own calls change the rights of the calling thread alone.
  func run(_ body: @escaping @Sendable () throws -> Void) -> (any Error)? {
    final class Outcome: @unchecked Sendable { var error: (any Error)? }  // Read after the thread has ended.
    let outcome = Outcome()
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      if csf_become(uid, groups, Int64(groups.count)) != 0 {
        outcome.error = POSIXError(.EPERM)
      } else {
        do { try body() } catch { outcome.error = error }
      }
      ended.signal()
    }
    ended.wait()
    return outcome.error
  }
}

@Suite("Who may read and write a store after a save") struct OwnershipTests {
  private static let isRoot = geteuid() == 0
  private static let hasLists: Bool = {
    let path = NSTemporaryDirectory() + "lists-\(UUID().uuidString)"
    guard FileManager.default.createFile(atPath: path, contents: nil) else { return false }
    defer { unlink(path) }
    return set("system.posix_acl_access", list(users: [5002: 6]), of: path)
  }()

  private static func stage(_ path: String, _ members: [String: String], ceiling: PermissionCeiling? = nil) throws
    -> StagedStore
  {
    let staged = try StagedStore(
      target: path, layout: members[""] == nil ? .folder : .file, policy: .replaceAny, ceiling: ceiling)
    for (name, text) in members {
      try (name.isEmpty ? staged.files.file() : staged.files.member(name)).write(Array(text.utf8))
    }
    try staged.finish()
    return staged
  }
  private static func status(_ path: String) throws -> stat {
    try #require(try SystemCall.status(path, followLinks: false))
  }
  private static func mode(_ path: String) throws -> mode_t { try status(path).st_mode & 0o7777 }

  /// The value of an access control list, as the system keeps it.
  private static func list(
    owner: UInt16 = 6, group: UInt16 = 4, mask: UInt16 = 7, other: UInt16 = 0, users: [UInt32: UInt16] = [:],
    groups: [UInt32: UInt16] = [:]
  ) -> [UInt8] {
    var bytes: [UInt8] = [2, 0, 0, 0]
    func add(_ tag: UInt16, _ permissions: UInt16, _ id: UInt32) {
      for value in [tag, permissions] { bytes += [UInt8(value & 255), UInt8(value >> 8)] }
      bytes += (0..<4).map { UInt8(truncatingIfNeeded: id >> (8 * $0)) }
    }
    add(1, owner, .max)
    for (id, permissions) in users.sorted(by: { $0.key < $1.key }) { add(2, permissions, id) }
    add(4, group, .max)
    for (id, permissions) in groups.sorted(by: { $0.key < $1.key }) { add(8, permissions, id) }
    add(16, mask, .max)
    add(32, other, .max)
    return bytes
  }
  private static func set(_ name: String, _ value: [UInt8], of path: String) -> Bool {
    csf_set_attribute_bytes(path, name, value, Int64(value.count)) == 0
  }
  private static func get(_ name: String, of path: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let length = Int(asf_get_attribute(path, name, &bytes, Int64(bytes.count)))
    return length < 0 ? nil : Array(bytes[..<length])
  }

  private static func asUser(_ user: OtherUser, _ body: @escaping @Sendable () throws -> Void) -> (any Error)? {
    user.run(body)
  }

  /// A store in a directory that a group shares, of a given owner and mode.
  private static func shared(
    _ folder: borrowing Folder, _ members: [String: String], owner: OtherUser = .owner, group: gid_t = 6000,
    file: mode_t,
    folderMode: mode_t
  ) throws -> String {
    chown(folder.path, 0, 6000)
    chmod(folder.path, 0o2777)
    let path = folder("store")
    try stage(path, members).commit()
    for name in members.keys where !name.isEmpty {
      chown(path + "/" + name, owner.uid, group)
      chmod(path + "/" + name, file)
    }
    chown(path, owner.uid, group)
    chmod(path, members[""] == nil ? folderMode : file)
    return path
  }

  @Test(
    "a member of the group saves: the group and the mode stay, and the owner can still read and write",
    .enabled(if: isRoot, "only root can be other users"), arguments: [["": "new"], ["a": "new", "b": "new"]])
  func groupKept(_ members: [String: String]) throws {
    let folder = try Folder()
    let path = try Self.shared(folder, members.mapValues { _ in "old" }, file: 0o660, folderMode: 0o2770)
    #expect(Self.asUser(.member) { try Self.stage(path, members).commit() } == nil)
    let status = try Self.status(path)
    #expect(status.st_uid == 5002 && status.st_gid == 6000)
    #expect(try Self.mode(path) == (members[""] == nil ? 0o2770 : 0o660))
    for name in members.keys where !name.isEmpty {
      #expect(try Self.status(path + "/" + name).st_gid == 6000 && Self.mode(path + "/" + name) == 0o660)
    }
    // And back again.
    #expect(Self.asUser(.owner) { try Self.stage(path, members).commit() } == nil)
    #expect(try Self.status(path).st_uid == 5001 && Self.status(path).st_gid == 6000)
    #expect(folder.names == ["store"])
  }

  @Test(
    "a save by which a user would lose access is refused, and nothing is changed",
    .enabled(if: isRoot, "only root can be other users"),
    arguments: [
      // The group's members could write, and others cannot: an unrelated user who may write by a list cannot give the
      // file to the group.
      (gid_t(6000), [UInt32(5003): UInt16(6)], UInt16(6), UInt16(0)),
      // The owner may write, the group and others may not.
      (gid_t(5003), [UInt32(5003): UInt16(6)], UInt16(4), UInt16(4)),
    ])
  func refused(_ group: gid_t, _ users: [UInt32: UInt16], _ groupPermissions: UInt16, _ other: UInt16) throws {
    try #require(Self.hasLists, "this file system has no access control lists")
    let folder = try Folder()
    let path = try Self.shared(folder, ["": "old"], group: group, file: 0o600, folderMode: 0)
    // New files here get their maker's group.
    chmod(folder.path, 0o777)
    #expect(
      Self.set(
        "system.posix_acl_access", Self.list(group: groupPermissions, mask: 6, other: other, users: users), of: path))
    let before = try Self.status(path)
    let error = Self.asUser(.unrelated) { try Self.stage(path, ["": "new"]).commit() } as? PersistentStoreError
    #expect(
      error?.code == .permissionDenied && error?.location.file == path && error?.message.contains("lose access") == true
    )
    #expect(try Self.status(path).st_ino == before.st_ino)
    #expect(folder.names == ["store"])
  }

  @Test("root keeps owner, group and mode", .enabled(if: isRoot, "only root can give files away"))
  func root() throws {
    let folder = try Folder()
    let path = try Self.shared(folder, ["a": "old"], owner: .unrelated, group: 5003, file: 0o600, folderMode: 0o700)
    try Self.stage(path, ["a": "new", "b": "new"]).commit()
    #expect(
      try Self.status(path).st_uid == 5003 && Self.status(path + "/a").st_uid == 5003 && Self.mode(path + "/a") == 0o600
    )
    // A member that is new is its maker's, as any new file in a directory without the set-group-ID bit.
    #expect(try Self.status(path + "/b").st_uid == 0)
  }

  @Test("access control lists stay, of files and of directories; one that a directory hands on is not added")
  func lists() throws {
    try #require(Self.hasLists, "this file system has no access control lists")
    let folder = try Folder()
    let access = Self.list(group: 4, mask: 6, users: [5002: 6], groups: [6000: 4])
    let inherited = Self.list(owner: 7, group: 5, other: 5, groups: [6000: 7])
    try Self.stage(folder("file"), ["": "old"]).commit()
    try Self.stage(folder("s"), ["a": "old", "plain": "old"]).commit()
    chmod(folder("s/plain"), 0o640)
    #expect(
      Self.set("system.posix_acl_access", access, of: folder("file"))
        && Self.set("system.posix_acl_access", access, of: folder("s/a")))
    #expect(Self.set("system.posix_acl_default", inherited, of: folder("s")))
    #expect(Self.set("system.posix_acl_default", inherited, of: folder.path))
    try Self.stage(folder("file"), ["": "new"]).commit()
    try Self.stage(folder("s"), ["a": "new", "plain": "new", "more": "new"]).commit()
    #expect(Self.get("system.posix_acl_access", of: folder("file")) == access)
    #expect(Self.get("system.posix_acl_access", of: folder("s/a")) == access)
    #expect(Self.get("system.posix_acl_default", of: folder("s")) == inherited)
    #expect(Self.get("system.posix_acl_access", of: folder("s/plain")) == nil)
    #expect(try Self.mode(folder("s/plain")) == 0o640)
    // A new member, and a new store, get what any new file gets.
    try Data().write(to: URL(filePath: folder("s/probe")))
    #expect(
      Self.get("system.posix_acl_access", of: folder("s/more"))
        == Self.get("system.posix_acl_access", of: folder("s/probe")))
    try Self.stage(folder("new"), ["": "new"]).commit()
    let descriptor = open(folder("touched"), O_WRONLY | O_CREAT, 0o666)
    close(descriptor)
    #expect(
      Self.get("system.posix_acl_access", of: folder("new"))
        == Self.get("system.posix_acl_access", of: folder("touched")))
    #expect(try Self.mode(folder("new")) == Self.mode(folder("touched")))
  }

  @Test("a new directory in one with the set-group-ID bit has the bit and the group, and so have its members")
  func setGroup() throws {
    let folder = try Folder()
    let group: gid_t = Self.isRoot ? 6000 : getegid()
    chown(folder.path, uid_t.max, group)
    chmod(folder.path, 0o2775)
    try Self.stage(folder("s"), ["a": "new"]).commit()
    #expect(try Self.mode(folder("s")) & S_ISGID != 0 && Self.status(folder("s")).st_gid == group)
    #expect(try Self.status(folder("s/a")).st_gid == group)
    // As mkdir gives it.
    mkdir(folder("made"), 0o777)
    #expect(try Self.mode(folder("s")) == Self.mode(folder("made")))
    // And after a save with a new member.
    try Self.stage(folder("s"), ["a": "new", "b": "new"]).commit()
    #expect(try Self.mode(folder("s")) == Self.mode(folder("made")) && Self.status(folder("s/b")).st_gid == group)
  }

  @Test("the file mode creation mask is read, and never set")
  func creationMask() throws {
    let known = mode_t(truncatingIfNeeded: try #require(asf_umask() >= 0 ? asf_umask() : nil))
    let folder = try Folder()
    let descriptor = open(folder("probe"), O_WRONLY | O_CREAT, 0o777)
    close(descriptor)
    #expect(try Self.mode(folder("probe")) == 0o777 & ~known)
    let sources = try Self.swiftSources()
    #expect(sources.count > 100)
    // Mistakes that the harness must find are allowed to, and a check that is about the mask in its own process.
    let others = ["PlantedFaults/", "FaultyDesigns/", "Catalogue/Incremental/Checks+IncrementalWhole.swift"]
    for (path, text) in sources where !others.contains(where: { path.contains($0) }) {
      #expect(!text.contains("umask("), "\(path)")
    }
  }

  private static func swiftSources() throws -> [(path: String, text: String)] {
    var root = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    root.removeLast(3)
    let sources = root.joined(separator: "/") + "/Sources"
    let names = try #require(FileManager.default.enumerator(atPath: sources)?.compactMap { $0 as? String })
    return try names.filter { $0.hasSuffix(".swift") }.map {
      ($0, try String(contentsOfFile: sources + "/" + $0, encoding: .utf8))
    }
    .map { ($0, $1.replacingOccurrences(of: "asf_umask(", with: "")) }
  }

  @Test(
    "nothing but the file layer removes files: no other part of the libraries calls FileManager.removeItem, unlink or rmdir"
  )
  func removals() throws {
    // The command's own temporary files, the harness, and the judge of hostile inputs have their own directories.
    let others = try Self.swiftSources().filter {
      !$0.path.hasPrefix("Foundations/StoreFiles/") && !$0.path.hasPrefix("Conformance/AtomicStoreConformance/")
        && !$0.path.hasPrefix("Conformance/StoreMutation/") && !$0.path.hasPrefix("Conformance/FaultyDesigns/")
    }
    for (path, text) in others {
      let isCommand = path.hasPrefix("Command/AtomicStoreCommand/") || path.hasPrefix("Command/CommandSupport/")
      let calls = isCommand ? ["removeItem(", "rmdir("] : ["removeItem(", "unlink(", "unlinkat(", "rmdir("]
      for call in calls {
        // Objects have a method of the name.
        let found = text.components(separatedBy: call).dropLast().filter { before in
          !before.hasSuffix("func ") && !(before.last.map { $0.isLetter || ($0 == "." && call == "unlink(") } ?? false)
        }
        #expect(found.isEmpty, "\(path) calls \(call)")
      }
    }
  }

  // MARK: Copies

  @Test(
    "a copy grants others no more than its source does",
    arguments: [
      (mode_t(0o600), mode_t(0o600)), (0o640, 0o640), (0o644, 0o644), (0o444, 0o644), (0o400, 0o600), (0o666, 0o644),
      (0o604, 0o604),
    ])
  func ceiling(_ source: mode_t, _ copy: mode_t) throws {
    try #require(asf_umask() == 0o022, "this is about the mask 022")
    let folder = try Folder()
    try Self.stage(folder("source"), ["": "x"]).commit()
    chmod(folder("source"), source)
    let ceiling = try PermissionCeiling(of: StorePath.inspect(folder("source")))
    try Self.stage(folder("copy"), ["": "x"], ceiling: ceiling).commit()
    #expect(try Self.mode(folder("copy")) == copy)
    try Self.stage(folder("dir"), ["a": "x"], ceiling: ceiling).commit()
    #expect(try Self.mode(folder("dir/a")) == copy)
    let readable = copy & 0o044
    #expect(try Self.mode(folder("dir")) & 0o777 == 0o700 | readable | readable >> 2)
    // What is there already has its own.
    chmod(folder("copy"), 0o664)
    try Self.stage(folder("copy"), ["": "x"], ceiling: ceiling).commit()
    #expect(try Self.mode(folder("copy")) == 0o664)
  }

  @Test(
    "if only its owner may search a directory, no one else can read the files; neither another group nor a list's mask changes that"
  )
  func folderCeiling() throws {
    try #require(asf_umask() == 0o022, "this is about the mask 022")
    let folder = try Folder()
    try Self.stage(folder("s"), ["a": "x"]).commit()
    for (mode, copy) in [(mode_t(0o700), mode_t(0o600)), (0o750, 0o640), (0o755, 0o644), (0o711, 0o644)] {
      chmod(folder("s"), mode)
      let ceiling = try PermissionCeiling(of: StorePath.inspect(folder("s")))
      SystemCall.removeTree(folder("copy"))
      try Self.stage(folder("copy"), ["": "x"], ceiling: ceiling).commit()
      #expect(try Self.mode(folder("copy")) == copy, "\(String(mode, radix: 8))")
    }
    try Self.stage(folder("f"), ["": "x"]).commit()
    if Self.isRoot {
      chown(folder("f"), uid_t.max, 6000)
      chmod(folder("f"), 0o640)
      try Self.stage(
        folder("other group"), ["": "x"], ceiling: try PermissionCeiling(of: StorePath.inspect(folder("f")))
      ).commit()
      #expect(try Self.mode(folder("other group")) == 0o600)
      chown(folder("f"), uid_t.max, getegid())
    }
    guard Self.hasLists else { return }
    #expect(Self.set("system.posix_acl_access", Self.list(group: 0, mask: 6, users: [5002: 6]), of: folder("f")))
    try Self.stage(folder("list"), ["": "x"], ceiling: try PermissionCeiling(of: StorePath.inspect(folder("f"))))
      .commit()
    #expect(try Self.mode(folder("list")) == 0o600)
  }

  @Test("a result without a name can be read, is its owner's alone, and has no name")
  func unnamed() throws {
    let folder = try Folder()
    let staged = StagedStore(unnamedIn: folder.path, shownAs: "standard output")
    let file = try staged.files.file()
    try file.write(Array("content".utf8))
    try staged.finish()
    #expect(folder.names.isEmpty)
    let descriptor = try #require(file.descriptor)
    var status = stat()
    #expect(fstat(descriptor, &status) == 0 && status.st_mode & 0o7777 == 0o600 && status.st_nlink == 0)
    let source = try staged.sourceForVerification(name: "standard output")
    for _ in 0..<2 { #expect(try source.bytes().withUnsafeBytes { Array($0) } == Array("content".utf8)) }
    staged.discard()
    #expect(folder.names.isEmpty)
  }
}

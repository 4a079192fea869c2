import CStoreFiles
import Foundation
import Glibc
import Testing

@testable import StoreFiles

/// Holds a store's lock as another process would: the descriptor, to be closed; nil where it cannot be had.
func holdLock(of target: String, by process: ProcessIdentity = .current) -> Int32? {
  let descriptor = open(StoreLock.path(for: target), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
  let text = process.text + "\n"
  guard descriptor >= 0, asf_lock(descriptor) == 0, write(descriptor, text, text.utf8.count) > 0 else { return nil }
  return descriptor
}

@Suite("The lock of a commit") struct StoreLockTests {
  private static func stage(_ path: String, _ text: String) throws -> StagedStore {
    let staged = try StagedStore(target: path, layout: .file, policy: .replaceAny)
    try staged.files.file().write(Array(text.utf8))
    try staged.finish()
    return staged
  }
  private static func read(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
  }
  private static func mode(_ path: String) throws -> mode_t {
    try #require(try SystemCall.status(path, followLinks: false)).st_mode & 0o7777
  }

  private static func code(_ body: () throws -> Void) -> PersistentStoreError? {
    do {
      try body()
      return nil
    } catch { return error as? PersistentStoreError }
  }

  @Test("a commit does not wait for a lock on the directory, which anyone who can read it can hold")
  func folderLock() throws {
    let folder = try Folder()
    try Self.stage(folder("store"), "old").commit()
    let holder = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    #expect(holder >= 0 && flock(holder, LOCK_EX) == 0)
    defer { close(holder) }
    try Self.stage(folder("store"), "new").commit(patience: 0)
    #expect(try Self.read(folder("store")) == "new")
  }

  @Test("a commit does not continue without the lock: it ends with an error that names the lock file")
  func refused() throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(path, "old").commit()
    let holder = try #require(holdLock(of: path))
    let staged = try Self.stage(path, "new")
    let thrown = commitError(staged, patience: 20)
    let error = try #require(thrown)
    #expect(error.code == .locked && error.location.file == path)
    #expect(error.message.contains(StoreLock.path(for: path)) && error.message.contains("process \(getpid())"))
    #expect(try Self.read(path) == "old")
    close(holder)
    // What was left is taken over.
    try Self.stage(path, "new").commit(patience: 0)
    #expect(try Self.read(path) == "new" && folder.names == ["store"])
  }

  @Test("a file that a killed process left locks nothing, and goes", arguments: [true, false])
  func leftBehind(_ saysWho: Bool) throws {
    let folder = try Folder()
    let path = folder("store")
    try Data((saysWho ? ProcessIdentity.current.text + "\n" : "").utf8).write(
      to: URL(filePath: StoreLock.path(for: path)))
    try Self.stage(path, "new").commit(patience: 0)
    #expect(folder.names == ["store"])
  }

  /// Its locks may not be seen here: a network file system can be mounted so.
  @Test("another host's lock file is respected although no process seems to hold it, until it is old")
  func otherHost() throws {
    let folder = try Folder()
    let path = folder("store")
    let other = ProcessIdentity(boot: "000000000000", namespace: "x", number: getpid(), start: nil)
    let lock = StoreLock.path(for: path)
    close(try #require(holdLock(of: path, by: other)))
    let error = Self.code { try Self.stage(path, "new").commit(patience: 10) }
    #expect(error?.code == .locked && error?.message.contains("another host") == true)
    #expect(try SystemCall.status(lock, followLinks: false) != nil)
    var times = [timeval(tv_sec: time(nil) - 3600, tv_usec: 0), timeval(tv_sec: time(nil) - 3600, tv_usec: 0)]
    #expect(utimes(lock, &times) == 0)
    try Self.stage(path, "new").commit(patience: 0)
    #expect(folder.names == ["store"])
  }

  @Test(
    "a link, a directory or a pipe with the name of the lock file is not followed, and is not a lock",
    arguments: ["link", "folder", "pipe"])
  func otherKinds(_ kind: String) throws {
    let folder = try Folder()
    let path = folder("store")
    let lock = StoreLock.path(for: path)
    switch kind {
    case "link":
      try Data("victim".utf8).write(to: URL(filePath: folder("victim")))
      try FileManager.default.createSymbolicLink(atPath: lock, withDestinationPath: folder("victim"))
    case "folder": #expect(mkdir(lock, 0o700) == 0)
    default: #expect(mkfifo(lock, 0o600) == 0)
    }
    #expect(Self.code { try Self.stage(path, "new").commit(patience: 10) }?.code == .locked)
    if kind == "link" { #expect(try Self.read(folder("victim")) == "victim") }
  }

  @Test(
    "only those can open the lock file who may write the store",
    arguments: [(mode_t(0o644), mode_t(0o600)), (0o600, 0o600), (0o664, 0o660), (0o666, 0o666), (0o646, 0o606)])
  func permissions(_ store: mode_t, _ lock: mode_t) throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(path, "old").commit()
    chmod(path, store)
    let held = try StoreLock(for: path)
    #expect(try Self.mode(StoreLock.path(for: path)) == lock)
    withExtendedLifetime(held) {}
  }

  @Test("a store with a long name has a lock file, and stores of other names have others")
  func names() throws {
    let folder = try Folder()
    for name in ["store", "stor", String(repeating: "é", count: 127), String(repeating: "x", count: 255)] {
      let path = StoreLock.path(for: folder(name))
      #expect(FilePathText.name(path).utf8.count <= 255)
      try Self.stage(folder(name), "x").commit(patience: 0)
    }
    #expect(StoreLock.path(for: "/a/store") != StoreLock.path(for: "/a/stor"))
    #expect(folder.names.allSatisfy { !$0.hasPrefix(".") })
  }

  @Test("what can never be locked is refused at once, with its path", arguments: ["pipe", "link", "directory"])
  func obstacles(_ kind: String) throws {
    let folder = try Folder()
    let path = folder("store")
    let lock = StoreLock.path(for: path)
    switch kind {
    case "pipe": #expect(mkfifo(lock, 0o666) == 0)
    case "link": #expect(symlink("/etc/passwd", lock) == 0)
    default: #expect(mkdir(lock, 0o777) == 0)
    }
    // Patience is without limit: the test would not end.
    let error = commitError(try Self.stage(path, "new"), patience: .max)
    #expect(error?.code == .locked && error?.message.contains(lock) ?? false)
    #expect(folder.names == [FilePathText.name(lock)])
  }
}

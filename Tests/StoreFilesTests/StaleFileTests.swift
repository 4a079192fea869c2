import Foundation
import Glibc
import Testing

@testable import StoreFiles

@Suite("What killed processes leave") struct StaleFileTests {
  private static func stage(_ path: String, _ text: String = "x") throws -> StagedStore {
    let staged = try StagedStore(target: path, layout: .file, policy: .replaceAny)
    try staged.files.file().write(Array(text.utf8))
    try staged.finish()
    return staged
  }
  private static func write(_ path: String) throws { try Data("x".utf8).write(to: URL(filePath: path)) }

  /// A number that the system hands out to no process.
  private static let noNumber: pid_t = 2_147_483_646
  private static func process(_ change: (inout ProcessIdentity) -> Void) -> ProcessIdentity {
    var process = ProcessIdentity.current
    change(&process)
    return process
  }
  private static func name(_ target: String, _ process: ProcessIdentity) -> String {
    ".\(target).atomicstore-\(process.text)-1zz.tmp"
  }

  @Test("working names say which process made them, cannot be foreseen, and fit")
  func names() throws {
    for target in ["/f/store", "/f/" + String(repeating: "é", count: 127), "/f/" + String(repeating: "x", count: 255)] {
      let names = (0..<200).map { _ in HiddenName.staged(beside: target) }
      #expect(Set(names).count == names.count)
      #expect(
        names.allSatisfy { FilePathText.name($0).utf8.count <= 255 && $0.hasPrefix("/f/.") && $0.hasSuffix(".tmp") })
      #expect(names.allSatisfy { $0.contains(".atomicstore-\(ProcessIdentity.current.text)-") })
      // Not a counter: what differs is longer than a number of a few digits.
      let tails = names.compactMap { $0.split(separator: "-").last?.dropLast(4) }
      #expect(tails.filter { $0.utf8.count >= 8 }.count > 190)
    }
  }

  @Test("errors name the result, not what is staged for it")
  func shown() {
    for target in ["/f/store", "/f/.hidden", "/f.g/a.atomicstore-b", "store"] {
      for path in [HiddenName.staged(beside: target), HiddenName.record(beside: target), StoreLock.path(for: target)] {
        let named = target.contains("/") ? target : "./" + target
        #expect(HiddenName.shown(path) == named && HiddenName.shown(path + "/a/b") == named + "/a/b", "\(path)")
        #expect(SystemCall.error(EIO, "read", path).location.file == named)
        for journal in ["-wal", "-shm", "-journal"] { #expect(HiddenName.shown(path + journal) == named) }
      }
      #expect(HiddenName.shown(target) == target && HiddenName.shown(target + ".tmp") == target + ".tmp")
      #expect(HiddenName.shown(target + "-wal") == target + "-wal")
    }
  }

  @Test("a process is known by its number and its beginning, on this host and in this container")
  func identity() throws {
    let own = ProcessIdentity.current
    #expect(own.state == .running && own.isOnThisHost && own.start != nil)
    #expect(ProcessIdentity(own.text) == own)
    #expect(Self.process { $0.number = Self.noNumber }.state == .gone)
    // The number was given to another process since.
    #expect(Self.process { $0.start = 1 }.state == .gone)
    #expect(Self.process { $0.start = nil }.state == .running)
    #expect(Self.process { $0.boot = "000000000000" }.state == .unknown)
    #expect(Self.process { $0.namespace = "other" }.state == .unknown)
    for text in ["", "a-b-c-d", "a-b-0-x", "a-b--1-x", "a-b-1", "a-b-1-x-y"] {
      #expect(ProcessIdentity(text) == nil, "\(text)")
    }
  }

  @Test("goes with the next save into the directory, of whatever store; what living processes stage stays")
  func removed() throws {
    let folder = try Folder()
    let gone = [
      Self.name("a", Self.process { $0.number = Self.noNumber }),
      Self.name("other", Self.process { $0.number = Self.noNumber }),
      // Of an earlier process with our number.
      Self.name("a", Self.process { $0.start = 1 }), Self.name("a", Self.process { _ in }),
      ".b" + HiddenName.lockSuffix,
    ]
    let staying = [
      Self.name(
        "a",
        Self.process {
          $0.number = getppid()
          $0.start = nil
        }), Self.name("a", Self.process { $0.boot = "000000000000" }),
      Self.name("a", Self.process { $0.namespace = "other" }), ".a.atomicstore-\(Self.noNumber)-0.tmp",
      ".a.atomicstore-x-0.tmp", ".a.atomicstore-0-0.tmp", "a.tmp", ".atomicstore-lock.txt", "c" + HiddenName.lockSuffix,
    ]
    for name in gone + staying { try Self.write(folder(name)) }
    mkdir(folder(Self.name("dir", Self.process { $0.number = Self.noNumber })), 0o700)
    try Self.write(folder(Self.name("dir", Self.process { $0.number = Self.noNumber })) + "/member")
    // Two saves at once: the second does not take what the first writes for stale.
    let first = try StagedStore(target: folder("a"), layout: .file, policy: .replaceAny)
    try first.files.file().write(Array("first".utf8))
    try Self.stage(folder("z")).commit()
    try first.finish()
    try first.commit()
    #expect(folder.names == (staying + ["a", "z"]).sorted())
  }

  @Test(
    "of another host, or of another container, goes when it is old, and not while it is locked",
    arguments: [true, false])
  func old(_ isOtherHost: Bool) throws {
    let folder = try Folder()
    let other = Self.process { if isOtherHost { $0.boot = "000000000000" } else { $0.namespace = "other" } }
    let path = folder(Self.name("a", other))
    try Self.write(path)
    let now = time(nil)
    let age = isOtherHost ? 24 * 3600 : 60
    StaleItems.remove(in: folder.path, now: now + age - 10)
    #expect(folder.names.count == 1)
    let hold = try #require(StagedItems.hold(path))
    StaleItems.remove(in: folder.path, now: now + age + 10)
    #expect(folder.names.count == 1)
    // A process that another test is just starting has the descriptor too, until it is the other program.
    flock(hold, LOCK_UN)
    close(hold)
    StaleItems.remove(in: folder.path, now: now + age + 10)
    #expect(folder.names.isEmpty)
  }

  @Test(
    "a locked file is kept although its creator no longer runs: another process has the lock", arguments: [true, false])
  func held(_ isFolder: Bool) throws {
    let folder = try Folder()
    let name = Self.name("a", Self.process { $0.number = Self.noNumber })
    if isFolder { mkdir(folder(name), 0o700) } else { try Self.write(folder(name)) }
    let hold = try #require(StagedItems.hold(folder(name)))
    try Self.stage(folder("a")).commit()
    #expect(folder.names.contains(name))
    close(hold)
    try Self.stage(folder("a")).commit()
    #expect(folder.names == ["a"])
  }

  @Test("goes where a long name was cut, too", arguments: [1, 150, 200, 244, 254, 255])
  func longNames(_ count: Int) throws {
    let folder = try Folder()
    let target = String(repeating: "x", count: count)
    let tail = ".atomicstore-\(Self.process { $0.number = Self.noNumber }.text)-1zz.tmp"
    try Self.write(folder("." + target.prefix(254 - tail.utf8.count) + tail))
    try Self.stage(folder(target)).commit()
    #expect(folder.names == [target])
  }
}

import Foundation
import Glibc
import Testing

@testable import StoreFiles

/// A separate folder for each test, gone afterwards.
struct Folder: ~Copyable {
  let path: String
  init() throws {
    path = NSTemporaryDirectory() + "files-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }
  func callAsFunction(_ name: String) -> String { path + "/" + name }
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}

private func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
private func read(_ path: String) throws -> String {
  String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
}

/// What a commit throws; nil where it succeeds.
func commitError(_ staged: consuming StagedStore, patience: Int = 30_000) -> PersistentStoreError? {
  do throws(PersistentStoreError) {
    try staged.commit(patience: patience)
    return nil
  } catch { return error }
}

/// What undoing a commit throws; nil where it succeeds.
func rollBackError(_ published: consuming PublishedStore) -> PersistentStoreError? {
  do throws(PersistentStoreError) {
    try published.rollBack()
    return nil
  } catch { return error }
}

private func code(_ body: () throws -> Void) -> PersistentStoreError.Code? {
  do {
    try body()
    return nil
  } catch { return (error as? PersistentStoreError)?.code }
}

@Suite("Writing a store") struct StagingTests {
  private func stage(
    _ path: String, _ text: String, folder: Bool = false, policy: StagedStore.Policy = .replaceAny,
    faults: FaultPlan? = nil
  ) throws -> StagedStore {
    let staged = try StagedStore(target: path, layout: folder ? .folder : .file, policy: policy, faults: faults)
    if folder {
      try staged.files.member("a.txt").write(Array(text.utf8))
      try staged.files.member("b.txt").write(Array("b".utf8))
    } else {
      try staged.files.file().write(Array(text.utf8))
    }
    try staged.finish()
    return staged
  }

  @Test(
    "whatever call fails, with whatever error, the old bytes stay and nothing is left behind",
    arguments: [false, true], [ENOSPC, EIO, EACCES, EDQUOT])
  func faults(folder isFolder: Bool, error: Int32) throws {
    let folder = try Folder()
    let target = folder("store")
    try stage(target, "old", folder: isFolder).commit()
    let content = isFolder ? target + "/a.txt" : target
    let counting = FaultPlan()
    try stage(target, "old", folder: isFolder, faults: counting).commit()
    #expect(counting.calls.count >= (isFolder ? 7 : 4))
    for failing in counting.calls.indices {
      let plan = FaultPlan(failing: failing, error: error)
      var failure: PersistentStoreError?
      do {
        try stage(target, "new", folder: isFolder, faults: plan).commit()
      } catch { failure = error as? PersistentStoreError }
      let what = "call \(failing), \(counting.calls[failing])"
      #expect(failure != nil, "\(what) did not fail")
      #expect(try read(content) == "old", "\(what)")
      #expect(folder.names == ["store"], "\(what)")
    }
  }

  @Test("what is at a path is found without inspecting the files of a directory")
  func kindsOfPaths() throws {
    let folder = try Folder()
    try write("", to: folder("empty"))
    try write("text", to: folder("file"))
    for name in ["emptyFolder", "hidden", "filled"] {
      try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: true)
    }
    try write("text", to: folder("hidden/.name"))
    try write("text", to: folder("filled/.name"))
    try write("text", to: folder("filled/name"))
    for name in ["empty", "file", "emptyFolder", "hidden", "filled"] {
      try FileManager.default.createSymbolicLink(atPath: folder("link-" + name), withDestinationPath: folder(name))
    }
    let kinds: [(String, StorePath.Kind)] = [
      ("nothing", .nothing), ("empty", .zeroLength), ("file", .file), ("emptyFolder", .emptyFolder),
      ("hidden", .folder), ("filled", .folder),
    ]
    for (name, kind) in kinds {
      for path in [folder(name), folder(name) + (kind == .folder ? "/" : "")]
        + (name == "nothing" ? [] : [folder("link-" + name)])
      {
        #expect(try StorePath.kind(of: path) == kind, "\(path)")
        #expect(try StorePath.inspect(path).kind == kind, "\(path)")
      }
    }
    #expect(code { _ = try StorePath.kind(of: "") } == .cannotCreate)
    #expect(code { _ = try StorePath.kind(of: "/dev/null") } == .unsupportedFileKind)
    #expect(code { _ = try StorePath.kind(of: folder("file") + "/") } == .unsupportedFileKind)
  }

  @Test("short writes are carried on with")
  func shortWrites() throws {
    let folder = try Folder()
    let text = String(repeating: "0123456789", count: 1000)
    try stage(folder("a"), text, faults: FaultPlan(shortWrites: true)).commit()
    #expect(try read(folder("a")) == text)
  }

  @Test("a new store does not replace what is there, and a changed one is not overwritten")
  func policies() throws {
    let folder = try Folder()
    try write("theirs", to: folder("a"))
    #expect(code { try stage(folder("a"), "mine", policy: .createNew).commit() } == .alreadyExists)
    let identity = try StorePath.inspect(folder("a")).identity
    try write("theirs too", to: folder("a"))
    #expect(code { try stage(folder("a"), "mine", policy: .replaceOnlyIf(identity)).commit() } == .changedOnDisk)
    #expect(code { try stage(folder("a"), "mine", policy: .replaceOnlyIf(nil)).commit() } == .changedOnDisk)
    #expect(try read(folder("a")) == "theirs too")
    try stage(folder("a"), "mine", policy: .replaceOnlyIf(try StorePath.inspect(folder("a")).identity)).commit()
    #expect(try read(folder("a")) == "mine")
    #expect(folder.names == ["a"])
  }

  @Test("a committed store can be undone until it is concluded", arguments: [false, true])
  func rollBack(folder isFolder: Bool) throws {
    let folder = try Folder()
    let target = folder("store")
    let content = isFolder ? target + "/a.txt" : target
    try stage(target, "old", folder: isFolder).commit()
    let staged = try stage(target, "new", folder: isFolder)
    let published = try staged.publish()
    #expect(try read(content) == "new")
    try published.rollBack()
    #expect(try read(content) == "old")
    #expect(folder.names == ["store"])
    // Where nothing was, nothing is again.
    let first = try stage(folder("first"), "new", folder: isFolder)
    try first.publish().rollBack()
    #expect(folder.names == ["store"])
    try stage(target, "new", folder: isFolder).publish().conclude()
    #expect(try read(content) == "new")
    // A value that is forgotten concludes.
    _ = try stage(target, "newer", folder: isFolder).publish()
    #expect(try read(content) == "newer")
    #expect(folder.names == ["store"])
  }

  @Test("a format that keeps its files cannot add anything after the save", arguments: [false, true])
  func closed(folder isFolder: Bool) throws {
    let folder = try Folder()
    let staged = try StagedStore(target: folder("store"), layout: isFolder ? .folder : .file, policy: .createNew)
    let files = staged.files
    let file = try isFolder ? files.member("a") : files.file()
    try file.write([1])
    try staged.finish()
    #expect(code { _ = try isFolder ? files.member("b") : files.file() } == .internalInconsistency)
    #expect(code { try file.write([2]) } == .internalInconsistency)
    try staged.commit()
    #expect(code { _ = try isFolder ? files.member("b") : files.file() } == .internalInconsistency)
    #expect(code { try file.write([2]) } == .internalInconsistency)
    #expect(Array(try Data(contentsOf: URL(filePath: folder(isFolder ? "store/a" : "store")))) == [1])
    #expect(folder.names == ["store"])
  }

  @Test("what is not finished is not published, and leaves nothing")
  func unfinished() throws {
    let folder = try Folder()
    let staged = try StagedStore(target: folder("store"), layout: .file, policy: .createNew)
    try staged.files.file().write([1])
    let thrown = commitError(staged)
    #expect(thrown?.code == .internalInconsistency)
    #expect(folder.names.isEmpty)
  }

  @Test("a directory replaces a file, and a file a directory")
  func kinds() throws {
    let folder = try Folder()
    try write("", to: folder("store"))
    try stage(folder("store"), "x", folder: true).commit()
    #expect(try read(folder("store/a.txt")) == "x")
    try stage(folder("store"), "y").commit()
    #expect(try read(folder("store")) == "y")
    #expect(folder.names == ["store"])
  }

  @Test("what is not committed leaves nothing, whether it is discarded or forgotten")
  func discarded() throws {
    let folder = try Folder()
    try stage(folder("a"), "x").discard()
    _ = try stage(folder("b"), "x", folder: true)
    do {
      let forgotten = try StagedStore(target: folder("c"), layout: .file, policy: .replaceAny)
      try forgotten.files.file().write([1])
      #expect(folder.names.count == 1)
    }
    // As if a format kept what it was given: it can write no more, and keeps nothing on the disk.
    let kept = try StagedStore(target: folder("d"), layout: .file, policy: .replaceAny).files
    #expect(code { _ = try kept.file() } == .internalInconsistency)
    #expect(folder.names.isEmpty)
  }

  @Test("links stay and their target is replaced; the mode stays")
  func linksAndModes() throws {
    let folder = try Folder()
    try write("old", to: folder("real"))
    chmod(folder("real"), 0o604)
    try FileManager.default.createSymbolicLink(atPath: folder("middle"), withDestinationPath: "real")
    try FileManager.default.createSymbolicLink(atPath: folder("link"), withDestinationPath: folder("middle"))
    try stage(folder("link"), "new").commit()
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder("link")) == folder("middle"))
    #expect(try read(folder("real")) == "new")
    let mode = try FileManager.default.attributesOfItem(atPath: folder("real"))[.posixPermissions] as? Int
    #expect(mode == 0o604)
    #expect(folder.names == ["link", "middle", "real"])
  }

  @Test(
    "any name that the system takes will do",
    arguments: ["with blank", "100%", "#hash?", "new\nline", "emoji 😀", "-", String(repeating: "é", count: 127)])
  func names(_ name: String) throws {
    let folder = try Folder()
    try stage(folder(name), "one").commit()
    try stage(folder(name), "two").commit()
    #expect(try read(folder(name)) == "two")
    #expect(folder.names == [name])
  }

  @Test("members must be plain names", arguments: ["", ".", "..", "a/b", "a\0b", String(repeating: "x", count: 256)])
  func memberNames(_ name: String) throws {
    let folder = try Folder()
    let staged = try StagedStore(target: folder("store"), layout: .folder, policy: .replaceAny)
    #expect(code { _ = try staged.files.member(name) } == .invalidValue)
  }

  @Test("names that coincide are numbered in order, and none is given twice, also where numbers are taken already")
  func numberedNames() {
    var taken: Set<String> = []
    let names = (0..<20).map { _ in StagedFiles.memberName(for: "A/b", extension: "bin", taken: &taken) }
    #expect(names == ["A%2Fb.bin"] + (2..<21).map { "A%2Fb~\($0).bin" })
    taken = ["a.bin", "a~3.bin", "a~4.bin", "a~6.bin"]
    for _ in 0..<20 {
      let before = taken
      let name = StagedFiles.memberName(for: "A", extension: "bin", taken: &taken)
      #expect(!before.contains(name.lowercased()) && taken == before.union([name.lowercased()]), "\(name)")
    }
  }

  @Test("a missing folder, and a folder that cannot be written to")
  func noPlace() throws {
    let folder = try Folder()
    #expect(code { _ = try stage(folder("no/a"), "x") } == .cannotCreate)
    #expect(code { _ = try stage("/proc/a", "x") } != nil)
  }
}

@Suite("Inspecting a path") struct StorePathTests {
  @Test("nothing, zero bytes, a file, folders, links to them")
  func kinds() throws {
    let folder = try Folder()
    try write("", to: folder("zero"))
    try write("x", to: folder("file"))
    for name in ["empty", "full"] {
      try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: false)
    }
    try write("x", to: folder("full/member"))
    for (name, kind) in [
      ("none", StorePath.Kind.nothing), ("zero", .zeroLength), ("file", .file), ("empty", .emptyFolder),
      ("full", .folder),
    ] {
      #expect(try StorePath.inspect(folder(name)).kind == kind, "\(name)")
      try FileManager.default.createSymbolicLink(atPath: folder("to-" + name), withDestinationPath: name)
      let place = try StorePath.inspect(folder("to-" + name))
      #expect(place.kind == kind && place.isSymbolicLink, "link to \(name)")
      #expect(try StorePath.isSame(StorePath.inspect(folder(name)), path: folder("to-" + name)), "link to \(name)")
    }
    #expect(try StorePath.inspect(folder("full") + "/").kind == .folder)
  }

  @Test("a circle of links, a device and a pipe are refused")
  func refused() throws {
    let folder = try Folder()
    try FileManager.default.createSymbolicLink(atPath: folder("a"), withDestinationPath: "b")
    try FileManager.default.createSymbolicLink(atPath: folder("b"), withDestinationPath: "a")
    mkfifo(folder("pipe"), 0o600)
    #expect(code { _ = try StorePath.inspect(folder("a")) } == .cannotCreate)
    #expect(code { _ = try StorePath.inspect("/dev/null") } == .unsupportedFileKind)
    #expect(code { _ = try StorePath.inspect(folder("pipe")) } == .unsupportedFileKind)
    #expect(code { _ = try StorePath.inspect("") } == .cannotCreate)
  }

  @Test("a file that may not be read is a matter of permission", .enabled(if: geteuid() != 0, "root may read anything"))
  func unreadable() throws {
    let folder = try Folder()
    try write("x", to: folder("a"))
    chmod(folder("a"), 0)
    #expect(code { _ = try StoreSource(opening: StorePath.inspect(folder("a"))).bytes() } == .permissionDenied)
  }
}

@Suite("Reading a store") struct StoreSourceTests {
  @Test("chunks are the bytes, on disk and in memory", arguments: [1, 7, 4096, 1 << 20])
  func chunks(_ size: Int) throws {
    let folder = try Folder()
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try Data(bytes).write(to: URL(filePath: folder("a")))
    for source in [try StoreSource(opening: StorePath.inspect(folder("a"))), StoreSource(bytes: bytes, name: "a")] {
      var read: [UInt8] = []
      try source.readChunks(size: size) { chunk throws(PersistentStoreError) in
        read.append(contentsOf: chunk)
        return true
      }
      #expect(read == bytes)
      #expect(try source.bytes().withUnsafeBytes { Array($0) } == bytes)
      #expect(try source.bytes(limit: 5).withUnsafeBytes { Array($0) } == Array(bytes.prefix(5)))
      #expect(try source.totalSize() == bytes.count)
    }
  }

  @Test("a folder's members are its own files: no hidden ones, no folders, no links that lead out")
  func members() throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("s/inner"), withIntermediateDirectories: true)
    try write("secret", to: folder("outside"))
    try write("b", to: folder("s/b"))
    try write("a", to: folder("s/a"))
    try write("h", to: folder("s/.hidden"))
    try FileManager.default.createSymbolicLink(atPath: folder("s/link"), withDestinationPath: folder("outside"))
    let source = try StoreSource(opening: StorePath.inspect(folder("s")))
    #expect(source.memberNames == ["a", "b"])
    for name in ["link", "../outside", ".hidden", "inner", "missing"] {
      #expect(code { _ = try source.bytes(ofMember: name) } == .notFound, "\(name)")
    }
    #expect(code { _ = try source.bytes() } == .notFound)
  }
}

@Suite("Reservations") struct ReservationTests {
  @Test("one is created if there is nothing, and removed only while it is the same file and empty")
  func reservation() throws {
    let folder = try Folder()
    let made = try #require(try Reservation.make(at: StorePath.inspect(folder("a"))))
    #expect(folder.names == ["a"])
    #expect(try Reservation.make(at: StorePath.inspect(folder("a"))) == nil)
    made.removeIfUnsaved()
    #expect(folder.names.isEmpty)
    let filled = try #require(try Reservation.make(at: StorePath.inspect(folder("b"))))
    try write("x", to: folder("b"))
    filled.removeIfUnsaved()
    #expect(folder.names == ["b"])
    let replaced = try #require(try Reservation.make(at: StorePath.inspect(folder("c"))))
    // Another empty file under the same name is someone else's.
    try write("", to: folder("d"))
    Glibc.rename(folder("d"), folder("c"))
    replaced.removeIfUnsaved()
    #expect(folder.names == ["b", "c"])
  }
}

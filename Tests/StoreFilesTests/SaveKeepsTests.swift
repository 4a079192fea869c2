import CConformance
import Foundation
import Glibc
import Testing

@testable import StoreFiles

/// What a save must leave as it was, and what it must not leave.
@Suite("A save changes nothing but the content") struct SaveKeepsTests {
  private func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
  private func read(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
  }

  private func mode(_ path: String) throws -> mode_t {
    try #require(try SystemCall.status(path, followLinks: false)).st_mode & 0o7777
  }

  private func stage(_ path: String, _ members: [String: String], faults: FaultPlan? = nil) throws -> StagedStore {
    let staged = try StagedStore(
      target: path, layout: members[""] == nil ? .folder : .file, policy: .replaceAny, faults: faults)
    for (name, text) in members.sorted(by: { $0.key < $1.key }) {
      try (name.isEmpty ? staged.files.file() : staged.files.member(name)).write(Array(text.utf8))
    }
    try staged.finish()
    return staged
  }

  static let hasAttributes: Bool = {
    let path = NSTemporaryDirectory() + "attributes-\(UUID().uuidString)"
    guard FileManager.default.createFile(atPath: path, contents: nil) else { return false }
    defer { unlink(path) }
    return csf_set_attribute(path, "user.probe", "x") == 0
  }()

  private func set(_ name: String, _ value: String, of path: String) {
    #expect(csf_set_attribute(path, name, value) == 0)
  }
  private func has(_ name: String, _ value: String, _ path: String) -> Bool {
    csf_has_attribute(path, name, value) != 0
  }

  @Test("a file keeps its extended attributes", .enabled(if: hasAttributes, "this file system has none"))
  func fileAttributes() throws {
    let folder = try Folder()
    try stage(folder("a"), ["": "old"]).commit()
    set("user.tag", "red", of: folder("a"))
    set("user.empty", "", of: folder("a"))
    set("user.ü", "ü", of: folder("a"))
    try stage(folder("a"), ["": "new"]).commit()
    #expect(try read(folder("a")) == "new")
    #expect(
      has("user.tag", "red", folder("a")) && has("user.empty", "", folder("a")) && has("user.ü", "ü", folder("a")))
    #expect(!has("user.other", "", folder("a")))
  }

  @Test("a folder and each of its members keep theirs", .enabled(if: hasAttributes, "this file system has none"))
  func folderAttributes() throws {
    let folder = try Folder()
    try stage(folder("s"), ["a": "old", "b": "old"]).commit()
    set("user.tag", "of the folder", of: folder("s"))
    set("user.tag", "of a", of: folder("s/a"))
    try stage(folder("s"), ["a": "new", "b": "new", "c": "new"]).commit()
    #expect(has("user.tag", "of the folder", folder("s")))
    #expect(has("user.tag", "of a", folder("s/a")))
    for name in ["s/b", "s/c"] {
      #expect(!has("user.tag", "of a", folder(name)) && !has("user.tag", "of the folder", folder(name)))
    }
  }

  @Test("each member of a folder keeps its mode, and a new one gets what new files get")
  func memberModes() throws {
    let folder = try Folder()
    try stage(folder("s"), ["a": "old", "b": "old", "c": "old"]).commit()
    chmod(folder("s/a"), 0o600)
    chmod(folder("s/b"), 0o664)
    chmod(folder("s/c"), 0o440)
    chmod(folder("s"), 0o750)
    try stage(folder("s"), ["a": "new", "b": "new", "c": "new", "d": "new"]).commit()
    #expect(try mode(folder("s/a")) == 0o600 && mode(folder("s/b")) == 0o664 && mode(folder("s/c")) == 0o440)
    // As any new file here, whatever the mask is.
    try write("", to: folder("probe"))
    #expect(try mode(folder("s/d")) == mode(folder("probe")))
    #expect(try mode(folder("s")) == 0o750)
    #expect(try read(folder("s/c")) == "new")
  }

  @Test("a link in place of a member reveals nothing")
  func linkedMember() throws {
    let folder = try Folder()
    try write("outside", to: folder("outside"))
    chmod(folder("outside"), 0o666)
    try stage(folder("s"), ["a": "old"]).commit()
    unlink(folder("s/a"))
    try FileManager.default.createSymbolicLink(atPath: folder("s/a"), withDestinationPath: folder("outside"))
    try stage(folder("s"), ["a": "new"]).commit()
    #expect(try read(folder("outside")) == "outside")
    #expect(try read(folder("s/a")) == "new")
    #expect(try #require(try SystemCall.status(folder("s/a"), followLinks: false)).st_mode & S_IFMT == S_IFREG)
  }

  @Test("what is being written is its owner's alone until it is whole", arguments: [false, true])
  func stagedMode(_ isFolder: Bool) throws {
    let folder = try Folder()
    let target = folder("store")
    try stage(target, isFolder ? ["a": "old"] : ["": "old"]).commit()
    chmod(target, isFolder ? 0o775 : 0o664)
    let staged = try StagedStore(target: target, layout: isFolder ? .folder : .file, policy: .replaceAny)
    try (isFolder ? staged.files.member("a") : staged.files.file()).write(Array("new".utf8))
    let working = try #require(folder.names.first { $0 != "store" })
    #expect(try mode(folder(working)) == (isFolder ? 0o700 : 0o600))
    try staged.finish()
    #expect(try mode(folder(working)) == (isFolder ? 0o775 : 0o664))
    try staged.commit()
    #expect(try mode(target) == (isFolder ? 0o775 : 0o664))
    #expect(folder.names == ["store"])
  }

  @Test("an error of any call names the store, and never the working file", arguments: [false, true], [ENOSPC, EIO])
  func errorsNameTheStore(_ isFolder: Bool, error: Int32) throws {
    let folder = try Folder()
    let target = folder("store")
    let members = isFolder ? ["a": "text"] : ["": "text"]
    try stage(target, members).commit()
    let counting = FaultPlan()
    try stage(target, members, faults: counting).commit()
    for failing in counting.calls.indices {
      let failure = #expect(throws: PersistentStoreError.self) {
        try stage(target, members, faults: FaultPlan(failing: failing, error: error)).commit()
      }
      let what = "call \(failing), \(counting.calls[failing])"
      #expect(failure?.location.file?.hasPrefix(target) == true, "\(what): \(failure.map { "\($0)" } ?? "")")
      #expect(failure.map { "\($0)".contains(".atomicstore-") } == false, "\(what): \(failure.map { "\($0)" } ?? "")")
    }
  }

  @Test("the error for a directory that cannot be synced names the store")
  func folderSync() throws {
    let folder = try Folder()
    let missing = #expect(throws: PersistentStoreError.self) {
      try SystemCall.syncFolder(folder("gone"), of: folder("store"))
    }
    #expect(missing?.location.file == folder("store"))
    #expect(missing.map { "\($0)".contains("gone") } == false)
    try SystemCall.syncFolder(folder.path, of: folder("store"))
  }

  @Test("a directory is recognized by its own files: links in it are not followed, however the store is opened")
  func recognition() throws {
    let folder = try Folder()
    try write("SECRET", to: folder("outside"))
    try FileManager.default.createDirectory(atPath: folder("s"), withIntermediateDirectories: false)
    try write("plain", to: folder("s/a"))
    try FileManager.default.createSymbolicLink(atPath: folder("s/link"), withDestinationPath: folder("outside"))
    // Beyond the members whose first bytes are read at once.
    for number in 0..<70 { try write("x", to: folder("s/m\(number)")) }
    try FileManager.default.createSymbolicLink(atPath: folder("s/zlink"), withDestinationPath: folder("outside"))
    try write("late", to: folder("s/zz"))
    let probe = try StorePath.inspect(folder("s")).probe()
    #expect(probe.prefix(ofMember: "a") == Array("plain".utf8))
    #expect(probe.prefix(ofMember: "zz") == Array("late".utf8))
    #expect(probe.prefix(ofMember: "link").isEmpty && probe.prefix(ofMember: "zlink").isEmpty)
    #expect(probe.prefix(ofMember: "../outside").isEmpty)
  }
}

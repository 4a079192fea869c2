import Foundation
import Testing

@testable import StoreFiles

/// Stands for a library that reads and writes paths.
private struct LibraryError: Error, CustomStringConvertible {
  var description: String { "the library is out of order" }
}
private func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }
private func text(_ path: String) throws -> String {
  String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
}

@Suite("Files that libraries write and read") struct LibraryFileTests {
  private static func error(_ body: () throws -> Void) -> PersistentStoreError? {
    do { try body() } catch { return error as? PersistentStoreError }
    return nil
  }

  @Test("what a library writes is the store, with mode and content of any other, and nothing is left beside it")
  func written() throws {
    let folder = try Folder()
    let path = folder("s.tables")
    for words in ["one", "two"] {
      let staged = try StagedStore(target: path, layout: .file, policy: .replaceAny)
      try staged.files.file(discarding: ["-lock"]) { own in
        #expect(own.hasSuffix("/store.tables") && !FileManager.default.fileExists(atPath: own))
        // As libraries do: beside it first, and then renamed.
        try write(words, to: own + ".new")
        try FileManager.default.moveItem(atPath: own + ".new", toPath: own)
        try write("locked", to: own + "-lock")
        try write("", to: own + "-journal")
        #expect(chmod(own, 0o400) == 0)
      }
      try staged.finish()
      let source = try staged.sourceForVerification(name: path)
      #expect(try source.withFile { try text($0) } == words)
      try staged.commit()
      #expect(try text(path) == words && folder.names == ["s.tables"])
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == (words == "one" ? 0o644 : 0o600), "\(String(mode ?? 0, radix: 8))")
      #expect(chmod(path, 0o600) == 0)
    }
  }

  @Test(
    "a file that is missing, not a separate file, or not alone is refused, and nothing is left",
    arguments: ["nothing", "link", "hard link", "folder", "journal", "throws", "throws the kit's"])
  func refused(_ which: String) throws {
    let folder = try Folder()
    let path = folder("s.tables")
    try write("old", to: path)
    let error = Self.error {
      let staged = try StagedStore(target: path, layout: .file, policy: .replaceAny)
      try staged.files.file { own in
        switch which {
        case "nothing": break
        case "link": try FileManager.default.createSymbolicLink(atPath: own, withDestinationPath: path)
        case "hard link": try FileManager.default.linkItem(atPath: path, toPath: own)
        case "folder": try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        case "journal":
          try write("new", to: own)
          try write("part", to: own + "-journal")
        case "throws": throw LibraryError()
        default: throw PersistentStoreError(.unsupportedByFormat, "no", at: StoreLocation(entity: "A"))
        }
      }
    }
    let codes: [String: PersistentStoreError.Code] = [
      "throws": .inputOutput, "throws the kit's": .unsupportedByFormat,
    ]
    #expect(error?.code == codes[which] ?? .internalInconsistency, "\(String(describing: error))")
    #expect(error?.location.file == path)
    if which == "throws" { #expect(error?.description == path + ": the library is out of order") }
    #expect(try text(path) == "old" && folder.names == ["s.tables"])
  }

  @Test("whichever call of such a save fails, the old store stays and nothing is left")
  func everyFailure() throws {
    var failures = 0
    while true {
      let folder = try Folder()
      let path = folder("s.tables")
      try write("old", to: path)
      let plan = FaultPlan(failing: failures, error: EIO)
      let error = Self.error {
        let staged = try StagedStore(target: path, layout: .file, policy: .replaceAny, faults: plan)
        try staged.files.file { try write("new", to: $0) }
        try staged.finish()
        try staged.commit()
      }
      #expect(folder.names == ["s.tables"])
      if error == nil, plan.calls.count <= failures { break }
      if error != nil { #expect(try text(path) == "old", "call \(failures)") }
      failures += 1
    }
    #expect(failures >= 4)
  }

  @Test("a library can write a result that gets no name, and read it")
  func unnamed() throws {
    let folder = try Folder()
    let staged = StagedStore(unnamedIn: folder.path, shownAs: "standard output")
    try staged.files.file { try write("new", to: $0) }
    #expect(folder.names.isEmpty)
    try staged.finish()
    let source = try staged.sourceForVerification(name: "standard output")
    #expect(try source.bytes().withUnsafeBytes { String(decoding: $0, as: UTF8.self) } == "new")
    var copy = ""
    #expect(
      try source.withFile { path in
        copy = path
        return try text(path)
      } == "new")
    #expect(!FileManager.default.fileExists(atPath: (copy as NSString).deletingLastPathComponent))
  }

  @Test("a library reads the store's own file, a member, or a copy of what is in memory")
  func read() throws {
    let folder = try Folder()
    try write("text", to: folder("s.tables"))
    let file = try StoreSource(opening: try StorePath.inspect(folder("s.tables")))
    #expect(try file.withFile { $0 } == folder("s.tables"))
    #expect(throws: PersistentStoreError.self) { try file.withFile(ofMember: "a") { _ in } }
    let directory = try StoreSource(opening: try StorePath.inspect(folder.path))
    #expect(try directory.withFile(ofMember: "s.tables") { try text($0) } == "text")
    #expect(Self.error { try directory.withFile(ofMember: "none") { _ in } }?.code == .notFound)
    let memory = StoreSource(members: [(name: "a.x", bytes: Array("one".utf8))], name: "m")
    let (path, content) = try memory.withFile(ofMember: "a.x") { ($0, try text($0)) }
    #expect(path.hasSuffix("/store.x") && content == "one")
  }

  @Test("an error of the library has the store's name; a change while it reads is noticed")
  func failing() throws {
    let folder = try Folder()
    let path = folder("s.tables")
    try write("text", to: path)
    let source = try StoreSource(opening: try StorePath.inspect(path))
    let error = Self.error { try source.withFile { _ in throw LibraryError() } }
    #expect(error?.code == .malformed && error?.description == path + ": the library is out of order")
    #expect(error?.underlying is LibraryError)
    #expect(Self.error { try source.withFile { try write("other text", to: $0) } }?.code == .changedOnDisk)
  }
}

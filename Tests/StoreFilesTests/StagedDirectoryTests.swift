import Foundation
import StorePrimitives
import Testing

@testable import StoreFiles

@Suite("A directory that is moved to its path in one step") struct StagedDirectoryTests {
  private static func names(_ path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  private static func write(_ text: String, _ path: String) throws {
    try text.write(toFile: path, atomically: false, encoding: .utf8)
  }

  @Test(
    "a directory with a file is replaced, or is as it was if the check fails after the exchange",
    arguments: [true, false])
  func replacing(_ isRefused: Bool) throws {
    let folder = try Folder()
    let (path, target) = (folder.path, folder("x"))
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
    try Self.write("old", target + "/old")
    do {
      let staged = try StagedDirectory(target: target)
      try Self.write("new", staged.path + "/new")
      var checked: [String] = []
      let refusal = PersistentStoreError(.alreadyExists, "refused")
      let check = { (old: String) throws(PersistentStoreError) in
        checked.append(old)
        if isRefused, checked.count == 2 { throw refusal }
      }
      if isRefused {
        let error = #expect(throws: PersistentStoreError.self) { try staged.commit(check) }
        #expect(error?.message == "refused")
      } else {
        try staged.commit(check)
      }
      #expect(checked == [target, staged.path])
    }
    #expect(try Self.names(path) == ["x"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: target) == [isRefused ? "old" : "new"])
  }

  @Test("a directory that cannot be moved back is kept under a name that the error has")
  func keeping() throws {
    let folder = try Folder()
    let (path, target) = (folder.path, folder("x"))
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
    try Self.write("precious", target + "/old")
    var message = ""
    do {
      let staged = try StagedDirectory(target: target)
      let error = #expect(throws: PersistentStoreError.self) {
        try staged.commit { (old) throws(PersistentStoreError) in
          guard old != target else { return }
          // Without a target there is nothing to exchange.
          rename(target, path + "/elsewhere")
          throw PersistentStoreError(.alreadyExists, "refused")
        }
      }
      #expect(error?.code == .notRolledBack)
      message = error?.message ?? ""
    }
    let kept = try #require(try Self.names(path).first { $0 != "elsewhere" })
    #expect(message.hasSuffix(path + "/" + kept) && !kept.hasPrefix("."), "\(message)")
    #expect(try String(contentsOfFile: path + "/" + kept + "/old", encoding: .utf8) == "precious")
  }

  @Test("an abandoned directory is removed, and one that appears meanwhile is not replaced")
  func appearing() throws {
    let folder = try Folder()
    let (path, target) = (folder.path, folder("x"))
    do {
      let staged = try StagedDirectory(target: target)
      #expect(try Self.names(path).count == 1)
      withExtendedLifetime(staged) {}
    }
    #expect(try Self.names(path) == [])
    do {
      let staged = try StagedDirectory(target: target)
      try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
      let error = #expect(throws: PersistentStoreError.self) {
        try staged.commit { (_) throws(PersistentStoreError) in throw .alreadyExists(target) }
      }
      #expect(error?.code == .alreadyExists)
    }
    #expect(try Self.names(path) == ["x"])
  }
}

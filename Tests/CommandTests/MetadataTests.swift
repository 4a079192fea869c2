import Foundation
import Synchronization
import Testing

@Suite("atomicstore metadata") struct MetadataTests {
  static func copy(_ fileExtension: String, in folder: borrowing Folder) throws -> String {
    let store = folder("a." + fileExtension)
    try FileManager.default.copyItem(atPath: Command.samples + "/Company/Company." + fileExtension, toPath: store)
    return store
  }

  @Test("processes that set keys simultaneously keep each other's changes", arguments: ["xml", "plist", "csvstore"])
  func concurrent(_ fileExtension: String) throws {
    let folder = try Folder()
    let store = try Self.copy(fileExtension, in: folder)
    let codes = Mutex<[Int: Int32]>([:])
    DispatchQueue.concurrentPerform(iterations: 8) { number in
      let code = (try? Command.run("metadata", "set", store, "key\(number)", "value\(number)"))?.code ?? -1
      codes.withLock { $0[number] = code }
    }
    #expect(codes.withLock { $0.values.allSatisfy { $0 == 0 } }, "\(codes.withLock { $0 })")
    let all = try #require(try Command.run("metadata", "get", store, "--json").json() as? [String: Any])
    for (number, code) in codes.withLock({ $0 }) where code == 0 {
      #expect(all["key\(number)"] as? String == "value\(number)")
    }
    #expect(try Command.run("diff", Command.company, store, "--ignore-metadata").code == 0)
    #expect(folder.names == ["a." + fileExtension])
  }

  @Test(
    "integers may have the full range of a property list's, in every format", arguments: ["xml", "plist", "csvstore"])
  func integers(_ fileExtension: String) throws {
    let folder = try Folder()
    let store = try Self.copy(fileExtension, in: folder)
    for text in ["18446744073709551615", "9223372036854775808", "-9223372036854775808", "0"] {
      let set = try Command.run("metadata", "set", store, "--type", "integer", "--", "n", text)
      #expect(set.code == 0, "\(set.errors)")
      #expect(try Command.run("metadata", "get", store, "n").output == text + "\n")
    }
  }

  @Test(
    "a number out of range is refused, and the store is not changed",
    arguments: [
      ("integer", "18446744073709551616"), ("integer", "-9223372036854775809"), ("integer", "1.0"), ("real", "1e400"),
      ("real", "-1e400"), ("real", "1e-400"),
    ])
  func beyond(_ type: String, _ text: String) throws {
    let folder = try Folder()
    let store = try Self.copy("xml", in: folder)
    let result = try Command.run("metadata", "set", store, "--type", type, "--", "n", text)
    #expect(result.code == 64 && result.errors.contains(text), "\(result.errors)")
    #expect(try Data(contentsOf: URL(filePath: store)) == Data(contentsOf: URL(filePath: Command.company)))
  }

  @Test(
    "reals are stored exactly, including zero and the largest",
    arguments: ["0.0", "-0.0", "1.7976931348623157e+308", "5e-324", "inf"])
  func reals(_ text: String) throws {
    let folder = try Folder()
    let store = try Self.copy("xml", in: folder)
    #expect(try Command.run("metadata", "set", store, "--type", "real", "--", "n", text).code == 0)
    #expect(try Command.run("metadata", "get", store, "n").output == text + "\n")
  }

  @Test(
    "the kit's own keys cannot be set or removed",
    arguments: ["AtomicStoreModel", "AtomicStoreExactEntries", "AtomicStoreSaveSet", "NSStoreType", "NSStoreUUID"])
  func ownKeys(_ key: String) throws {
    let folder = try Folder()
    let store = try Self.copy("xml", in: folder)
    for arguments in [[key, "x"], [key, "--remove"]] {
      let result = try Command.run(arguments: ["metadata", "set", store] + arguments)
      #expect(result.code == 65 && result.errors.contains("'\(key)'"), "\(result.errors)")
    }
    #expect(try Data(contentsOf: URL(filePath: store)) == Data(contentsOf: URL(filePath: Command.company)))
  }

  @Test("metadata of an edited store can be set if edits are accepted; otherwise it is invalid data")
  func edited() throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.samples + "/Damaged/edited.csvstore", toPath: folder("e.csvstore"))
    let refused = try Command.run("metadata", "set", folder("e.csvstore"), "k", "v")
    #expect(refused.code == 65 && refused.errors.contains("edited=accept"), "\(refused.errors)")
    let set = try Command.run("metadata", "set", folder("e.csvstore"), "k", "v", "--read-option", "edited=accept")
    #expect(set.code == 0, "\(set.errors)")
    #expect(
      try Command.run("metadata", "get", folder("e.csvstore"), "k", "--read-option", "edited=accept").output == "v\n")
    // The save that accepted the edited table recorded it: what was saved opens without the option.
    #expect(try Command.run("inspect", folder("e.csvstore")).code == 0)
    #expect(try Command.run("metadata", "get", folder("e.csvstore"), "--read-option", "color=red").code == 64)
  }
}

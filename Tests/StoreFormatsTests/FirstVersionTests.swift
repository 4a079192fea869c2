import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@testable import CSVStoreFormat

/// Stores that version 0.1.0 wrote: they open, and are saved as that version saved them.
@Suite("Stores of version 0.1.0") struct FirstVersionTests {
  private static let fixtures =
    Array(#filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast())
    .joined(separator: "/") + "/Fixtures/0.1.0"
  static let names = ["Company.xml", "Company.plist", "Company.csvstore"]

  /// A copy of a fixture, since a store is locked and saved where it is.
  private static func withCopy(_ name: String, _ body: (String) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "first-version-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.copyItem(atPath: "\(fixtures)/\(name)", toPath: "\(folder)/\(name)")
    try body("\(folder)/\(name)")
  }

  private static func files(_ path: String) throws -> [String: Data] {
    let source = try StoreSource(opening: try StorePath.inspect(path))
    guard source.isFolder else { return ["": try Data(contentsOf: URL(filePath: path))] }
    return try Dictionary(
      uniqueKeysWithValues: source.memberNames.map { ($0, try Data(contentsOf: URL(filePath: path + "/" + $0))) })
  }

  @Test(
    "a store opens with its own model and with the model file, to the graph that it was written from", arguments: names)
  func opens(_ name: String) throws {
    let expected = try SampleStores.company()
    for model in [nil, try SampleStores.model("Company")] {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: "\(Self.fixtures)/\(name)", isReadOnly: true)
      var written = expected
      // That version wrote no version hashes.
      written.metadata.entries = store.metadata.entries
      let differences = GraphComparison.differences(
        written, StoreSnapshot(nodes: store.nodes, metadata: store.metadata))
      #expect(differences.isEmpty, "\(differences.prefix(5))")
      #expect(store.metadata.entries["Company"] == "Übersee & Söhne")
      #expect(store.metadata.lastReference == 13)
    }
  }

  @Test(
    "a store is saved with a change and back, to the same objects and the same bytes of each table", arguments: names)
  func saves(_ name: String) throws {
    try Self.withCopy(name) { path in
      let before = try Self.files(path)
      func rename(_ old: String, _ new: String) throws {
        let coordinator = PersistentStoreCoordinator(
          managedObjectModel: try SampleStores.model("Company"), registry: .builtIn)
        try coordinator.addPersistentStore(at: path)
        let context = ManagedObjectContext(coordinator)
        let request = FetchRequest(entityName: "Project", predicate: try FetchPredicate(format: "title == '\(old)'"))
        try #require(try context.fetch(request).first).setValue(new, forKey: "title")
        try context.save()
      }
      try rename("Landing", "Return")
      try rename("Return", "Landing")
      let after = try Self.files(path)
      #expect(before.keys.sorted() == after.keys.sorted())
      for (member, bytes) in before where member.hasSuffix(".csv") {
        #expect(after[member] == bytes, "\(member)")
      }
      let coordinator = PersistentStoreCoordinator(managedObjectModel: nil, registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
      var expected = try SampleStores.company()
      expected.metadata.entries = store.metadata.entries
      let differences = GraphComparison.differences(
        expected, StoreSnapshot(nodes: store.nodes, metadata: store.metadata))
      #expect(differences.isEmpty, "\(differences.prefix(5))")
    }
  }

  @Test("edits in a folder are noticed by the digests of that version, and the next save writes XXH64")
  func digests() throws {
    try Self.withCopy("Company.csvstore") { path in
      let metadata = URL(filePath: path + "/metadata.plist")
      let member = URL(filePath: path + "/Project.csv")
      let old = try String(contentsOf: metadata, encoding: .utf8)
      #expect(!old.contains("xxh64:"))
      let table = try Data(contentsOf: member)
      try (table + Data("\n".utf8)).write(to: member)
      let error = try OpenCSV.failure(path)
      #expect(error.code == .changedOnDisk && error.location.file == path + "/Project.csv", "\(error)")
      try table.write(to: member)
      let opened = try OpenCSV(path)
      try opened.store.setMetadata(["Company": "changed"])
      try opened.coordinator.save(opened.store)
      let new = try String(contentsOf: metadata, encoding: .utf8)
      #expect(new.contains("<key>version</key>\n\t<integer>2</integer>"))
      _ = try OpenCSV(path)
    }
  }

  @Test(
    "XXH64 is that of other implementations, in one piece and in many",
    arguments: [
      ("", 0xef46_db37_51d8_e999), ("a", 0xd24e_c4f1_a98c_6e5b), ("abc", 0x44bc_2cf5_ad77_0999),
      ("Nobody inspects the spammish repetition", 0xfbce_a83c_8a37_8bf1),
    ] as [(String, UInt64)])
  func hash(_ text: String, _ expected: UInt64) {
    Self.expect(Array(text.utf8), expected)
  }

  @Test(
    "XXH64 of the bytes 0, 1, 2 … is that of other implementations, at lengths around its block of 32",
    arguments: [
      (31, 0xc346_d2b5_9b4d_8ee1), (32, 0xcbf5_9c51_16ff_32b4), (33, 0x0c53_5d1a_cafb_8ead),
      (100, 0x6ac1_e580_3216_6597), (200, 0x50dc_1079_b99e_879c),
    ] as [(UInt8, UInt64)])
  func hash(_ count: UInt8, _ expected: UInt64) {
    Self.expect(Array(0..<count), expected)
  }

  private static func expect(_ bytes: [UInt8], _ expected: UInt64) {
    #expect(XXH64.of(bytes.span) == expected)
    for size in [1, 3, 31, 32, 33] {
      var hash = XXH64()
      for start in stride(from: 0, to: bytes.count, by: size) {
        bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { hash.add($0) }
      }
      #expect(hash.value == expected, "in pieces of \(size)")
    }
  }
}

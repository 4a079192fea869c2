import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import Testing

@Suite("Metadata of large property-list stores") struct PropertyListMetadataTests {
  /// Two megabytes of texts, with entries that take so many bytes.
  private static func store(in folder: CSVFolder, entryBytes: Int = 10) throws -> String {
    let path = folder.path + "/large.plist"
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(PropertyListSupport.person), registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: "BinaryPropertyList", at: path)
    var entries = PropertyListDictionary()
    entries["note"] = .data(Data(repeating: 7, count: entryBytes))
    try store.setMetadata(entries)
    let snapshots = (0..<2_000).map { _ in
      ManagedObjectSnapshot(entity: 0, values: [1: .string(String(repeating: "x", count: 1_000))])
    }
    try coordinator.save(store, changes: StoreChanges(inserted: snapshots))
    return path
  }

  private static func metadata(_ path: String) throws -> StoreMetadata {
    try PersistentStoreCoordinator.metadataForPersistentStore(at: path, registry: .builtIn)
  }

  private static func opened(_ path: String) throws -> StoreMetadata {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    return try coordinator.addPersistentStore(at: path, isReadOnly: true).metadata
  }

  @Test("they are read without the columns, which may be anything")
  func withoutColumns() throws {
    let folder = try CSVFolder()
    let path = try Self.store(in: folder)
    let before = try Self.metadata(path)
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    #expect(bytes.count > 2_000_000)
    for place in 300_000..<1_700_000 { bytes[place] = 0xFF }
    _ = try folder.write(bytes, to: "large.plist")
    let after = try Self.metadata(path)
    #expect(after.entries["note"] == .data(Data(repeating: 7, count: 10)))
    #expect(after.uuid == before.uuid && after.model == before.model && after.lastReference == before.lastReference)
    // Who reads the objects finds what was done to them.
    #expect(throws: PersistentStoreError.self) { try Self.opened(path) }
  }

  @Test(
    "entries of any size are the same alone and with the objects", arguments: [0, 200_000, 262_000, 300_000, 1_000_000])
  func large(_ count: Int) throws {
    let folder = try CSVFolder()
    let path = try Self.store(in: folder, entryBytes: count)
    let metadata = try Self.metadata(path)
    #expect(metadata.entries["note"] == .data(Data(repeating: 7, count: count)))
    let opened = try Self.opened(path)
    #expect(opened.entries == metadata.entries && opened.uuid == metadata.uuid)
  }

  @Test("a file whose writer put them between the columns is read too", arguments: [false, true])
  func otherOrder(_ columnsFirst: Bool) throws {
    let folder = try CSVFolder()
    let path = try Self.store(in: folder)
    let before = try Self.metadata(path)
    // Keys in the order of their bytes: metadata and model come after the entities.
    guard case .dictionary(let top) = try PropertyList.decodeBinary([UInt8](try Data(contentsOf: URL(filePath: path))))
    else {
      Issue.record("no dictionary")
      return
    }
    var bytes: [UInt8] = []
    var writer = try BinaryPropertyListWriter(maximumObjectCount: 1_000) { (part) throws(PersistentStoreError) in
      bytes.append(contentsOf: part)
    }
    // First, so that the store is recognized.
    let signature = try writer.string("AtomicStore BinaryPropertyList")
    var entries = [(key: try writer.string("format"), value: signature)]
    let order = ["entities", "metadata", "model", "UUID", "lastReference", "version"]
    for key in columnsFirst ? order : order.reversed() {
      let value = try #require(top[key])
      entries.append((key: try writer.string(key), value: try writer.value(value)))
    }
    try writer.finish(top: try writer.dictionary(entries))
    _ = try folder.write(bytes, to: "large.plist")
    let after = try Self.metadata(path)
    #expect(after.entries == before.entries && after.uuid == before.uuid && after.model == before.model)
    #expect(try Self.opened(path).entries == before.entries)
  }

  @Test("cut at any length, a store has none")
  func truncated() throws {
    let folder = try CSVFolder()
    let path = try Self.store(in: folder)
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    for length in [
      64, 1_000, 262_143, 262_144, 262_145, bytes.count / 2, bytes.count - 300_000, bytes.count - 33, bytes.count - 1,
    ] {
      _ = try folder.write(Array(bytes[..<length]), to: "large.plist")
      #expect(throws: PersistentStoreError.self, "cut at \(length)") { try Self.metadata(path) }
    }
  }
}

import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Limits that a caller sets") struct StoreLimitTests {
  static let types = ["XML", "BinaryPropertyList", "CSV", "CoreDataSQLite", "CoreDataBinary", "Arrow"]

  private final class Folder {
    let path = NSTemporaryDirectory() + "limits-\(UUID().uuidString)"
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  /// Ten notes, one of 1,000 bytes, and an entry of so many arrays in each other.
  private func store(
    _ type: String, in folder: Folder, name: String = "store", notes: Int = 6, tags: Int = 4, depth: Int = 0
  ) throws -> String {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Note", properties: [.attribute("text", .string)]),
        EntityDescription(name: "Tag", properties: [.attribute("name", .string)]),
      ]))
    let path = folder.path + "/" + name
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: type, at: path)
    let context = ManagedObjectContext(coordinator)
    for number in 0..<notes + tags {
      let isNote = number < notes
      try context.insertNewObject(forEntityName: isNote ? "Note" : "Tag")
        .setValue(number == 0 ? String(repeating: "é", count: 500) : "\(number)", forKey: isNote ? "text" : "name")
    }
    if depth > 0 {
      var value = PropertyListValue.array([])
      for _ in 1..<depth { value = .array([value]) }
      var entries = PropertyListDictionary()
      entries["deep"] = value
      try store.setMetadata(entries)
    }
    // An empty store is written where it is asked for.
    if context.hasChanges { try context.save() } else { try coordinator.save(store, changes: StoreChanges()) }
    return path
  }

  private func open(_ path: String, _ options: StoreOptions) throws {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: path, options: options, isReadOnly: true)
  }

  @Test("as many objects as the limit are read, one more is refused", arguments: types)
  func objects(_ type: String) throws {
    let folder = try Folder()
    let path = try store(type, in: folder)
    try open(path, ["maximumObjects": "10"])
    for limit in ["9", "1", "0"] {
      let error = #expect(throws: PersistentStoreError.self) { try open(path, ["maximumObjects": limit]) }
      #expect(error?.code == .limitExceeded && error?.message.contains("'maximumObjects' of \(limit)") == true)
      #expect(error?.location.file?.hasPrefix(path) == true)
    }
  }

  @Test("limits are exact, and what is said of them true, for stores of a few objects", arguments: types)
  func exactObjects(_ type: String) throws {
    let folder = try Folder()
    for count in 0...13 {
      let path = try store(type, in: folder, name: "store\(count)", notes: (count + 1) / 2, tags: count / 2)
      for limit in 0...13 {
        if limit >= count {
          try open(path, ["maximumObjects": "\(limit)"])
          continue
        }
        let error = #expect(throws: PersistentStoreError.self) { try open(path, ["maximumObjects": "\(limit)"]) }
        #expect(
          error?.code == .limitExceeded && error?.message.contains("'maximumObjects' of \(limit)") == true,
          "\(count): \(String(describing: error))")
      }
    }
  }

  @Test("a value of as many bytes as the limit is read, one more is refused, with its location", arguments: types)
  func values(_ type: String) throws {
    let folder = try Folder()
    let path = try store(type, in: folder)
    try open(path, ["maximumValueBytes": "1000"])
    let error = #expect(throws: PersistentStoreError.self) { try open(path, ["maximumValueBytes": "999"]) }
    #expect(
      error?.code == .limitExceeded
        && error?.message.contains("1000 bytes: more than the limit 'maximumValueBytes' of 999") == true)
    #expect(error?.location.entity == "Note" && error?.location.property == "text")
  }

  @Test("files of as many bytes as the limit are read, one more is refused before they are", arguments: types)
  func bytes(_ type: String) throws {
    let folder = try Folder()
    let path = try store(type, in: folder)
    let size = try StoreSource(opening: StorePath.inspect(path)).totalSize()
    try open(path, ["maximumBytes": "\(size)"])
    let error = #expect(throws: PersistentStoreError.self) { try open(path, ["maximumBytes": "\(size - 1)"]) }
    #expect(error?.code == .limitExceeded && error?.message.contains("'maximumBytes' of \(size - 1)") == true)
  }

  @Test("metadata nested deeper than the limit are refused, others are read", arguments: types)
  func depth(_ type: String) throws {
    let folder = try Folder()
    let path = try store(type, in: folder, depth: 40)
    try open(path, ["maximumDepth": "60"])
    let error = #expect(throws: PersistentStoreError.self) { try open(path, ["maximumDepth": "20"]) }
    #expect(error?.code == .limitExceeded && error?.message.contains("'maximumDepth'") == true)
  }

  @Test(
    "an option that is not a number, or is out of range, is refused",
    arguments: [
      ("maximumBytes", "many"), ("maximumObjects", "-1"), ("maximumObjects", "2147483648"), ("maximumValueBytes", ""),
      ("maximumDepth", "513"),
      ("maximumDepth", "1.5"),
    ])
  func options(_ name: String, _ value: String) throws {
    let folder = try Folder()
    let path = try store("XML", in: folder)
    let error = #expect(throws: PersistentStoreError.self) { try open(path, [name: value]) }
    #expect(error?.code == .invalidOption && error?.message.contains("'\(name)'") == true)
  }
}

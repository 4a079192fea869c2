import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import Testing

/// What each damaged sample must be refused with: a code, a line or an offset, and words.
struct Damage: Sendable, CustomTestStringConvertible {
  var file: String
  var code: PersistentStoreError.Code
  var line: Int?
  var offset: Int?
  var words: [String]
  var testDescription: String { file }
}

@Suite("Damaged stores") struct DamagedStoreTests {
  static let all: [Damage] = [
    Damage(file: "truncated.xml", code: .malformed, line: nil, words: ["not well-formed"]),
    Damage(file: "dangling.xml", code: .danglingReference, line: nil, words: ["77 does not exist", "FriendInfo/"]),
    Damage(
      file: "duplicate-id.xml", code: .duplicateReference, line: 213,
      words: ["two objects have the id z1", "on line 208", "(Person/z1)"]),
    Damage(file: "unknown-property.xml", code: .modelMismatch, line: nil, words: ["rankling"]),
    Damage(file: "bad-number.xml", code: .invalidValue, line: nil, words: ["70000", "ranking"]),
    Damage(file: "bad-escape.xml", code: .malformed, line: nil, words: ["\\"]),
    Damage(file: "entities.xml", code: .malformed, line: 3, words: ["entity declarations are refused"]),
    Damage(file: "not-a-store.xml", code: .unrecognizedFormat, line: nil, words: ["not a store"]),
    Damage(file: "truncated.plist", code: .malformed, line: nil, words: ["truncated.plist"]),
    Damage(file: "not-utf8.plist", code: .malformed, line: nil, words: ["Person.name", "not UTF-8"]),
    Damage(
      file: "bad-number.csv", code: .invalidValue, line: 3, words: ["'abc' is not an Integer 16", ":3:7", "2.age"]),
    Damage(
      file: "out-of-range.csv", code: .invalidValue, line: 2, words: ["70000 is out of range for Integer 16", ":2:7"]),
    Damage(file: "unterminated.csv", code: .malformed, line: 2, words: ["quote"]),
    Damage(file: "ragged.csv", code: .malformed, line: 3, words: ["2 fields", "3"]),
    Damage(file: "bad-utf8.csv", code: .malformed, line: 2, words: ["0xE4 is not valid UTF-8"]),
    Damage(file: "dangling.csv", code: .danglingReference, line: 2, words: ["9 does not exist", "1.friend"]),
    Damage(file: "circle.xml", code: .malformed, line: nil, words: ["A is a sub-entity of B, and the reverse", "(A)"]),
    Damage(
      file: "spare-object.plist", code: .malformed, offset: 1290, words: ["1 objects", "not in any of its containers"]),
    Damage(file: "newer-model.plist", code: .unsupportedVersion, offset: 820, words: ["xroperties"]),
    Damage(file: "only-a-mark.csv", code: .malformed, line: 1, words: ["empty"]),
    Damage(
      file: "truncated.sqlite", code: .malformed, words: ["truncated.sqlite", "cut short", "damaged=skip-object"]),
    Damage(file: "dangling.sqlite", code: .danglingReference, words: ["Person/77 does not exist", "Person/9.MANAGER"]),
    Damage(file: "bad-number.sqlite", code: .invalidValue, words: ["ZAGE of ZPERSON holds a text", "Employee/2.AGE"]),
    Damage(file: "wrong-table.sqlite", code: .modelMismatch, words: ["Z_PK 7 of ZTAG is of Team", "rows=skip"]),
    Damage(file: "edited.csvstore", code: .changedOnDisk, line: nil, words: ["Person.csv", "edited=accept"]),
  ]

  @Test("a damaged store is refused with its location and reason", arguments: all)
  func refused(_ damage: Damage) throws {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    do {
      try coordinator.addPersistentStore(at: SampleStores.folder + "/Damaged/" + damage.file, isReadOnly: true)
      Issue.record("\(damage.file) was opened")
    } catch {
      #expect(error.code == damage.code, "\(error)")
      if let offset = damage.offset { #expect(error.location.offset == offset, "\(error)") }
      if let line = damage.line { #expect(error.location.line == line, "\(error)") }
      for words in damage.words { #expect(error.description.contains(words), "\(error)") }
    }
    #expect(coordinator.persistentStores.isEmpty)
  }

  @Test("every damaged sample is in the table")
  func complete() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: SampleStores.folder + "/Damaged")
    #expect(Set(names).subtracting(["README.md"]) == Set(Self.all.map(\.file)).union(Self.readable.map(\.file)))
  }

  /// What looks damaged and is not: its number of objects, which it has after a save too.
  static let readable: [(file: String, count: Int)] = [("quoted-delimiter.csv", 2)]

  @Test("what only looks damaged is read, and is the same after a save", arguments: readable)
  func read(_ sample: (file: String, count: Int)) throws {
    let folder = try CSVFolder()
    let path = folder.path + "/" + sample.file
    try FileManager.default.copyItem(atPath: SampleStores.folder + "/Damaged/" + sample.file, toPath: path)
    let original = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    #expect(original.nodes.count == sample.count)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path)
    let node = try #require(store.nodes.handles(of: 0).first)
    let change = ManagedObjectSnapshot(
      entity: 0, reference: store.nodes.reference(of: node), values: [0: store.nodes.value(slot: 0, of: node)])
    try coordinator.save(store, changes: StoreChanges(updated: [change]))
    let again = try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    let options = GraphComparison.Options(comparesIdentity: false)
    #expect(
      GraphComparison.differences(
        StoreSnapshot(nodes: original.nodes, metadata: original.metadata),
        StoreSnapshot(nodes: again.nodes, metadata: again.metadata),
        options: options
      ).isEmpty)
  }

  @Test("an edited directory is read unchanged on request")
  func accepted() throws {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(
      at: SampleStores.folder + "/Damaged/edited.csvstore", options: ["edited": "accept"], isReadOnly: true)
    let node = try #require(store.nodes.handle(for: ObjectReference(entityName: "Person", reference: .integer(1))))
    #expect(store.nodes.value(forKey: "name", of: node) == .string("Sheila"))
  }
}

import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreKit

/// Two coordinators open a new store before either saves: the one that saves first decides its identity, and the other
/// goes on with it.
@Suite("A new store that is opened twice") struct NewStoreTests {
  static let types = [
    "XML", "BinaryPropertyList", "CSV", "CSV folder", "Arrow", "CoreDataBinary", "CoreDataSQLite", "SQLiteGraph",
  ]
  private static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Note",
      properties: [
        .attribute("text", .string), .toOne("parent", "Note", inverse: "children"),
        .toMany("children", "Note", inverse: "parent"),
      ])
  ])

  private struct Opener {
    let coordinator: PersistentStoreCoordinator
    let store: PersistentStore
    let context: ManagedObjectContext

    init(_ type: String, _ path: String) throws {
      coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(NewStoreTests.model), registry: .builtIn)
      store = try coordinator.addPersistentStore(type: type == "CSV folder" ? "CSV" : type, at: path)
      context = ManagedObjectContext(coordinator)
    }

    func note(_ text: String, in context: ManagedObjectContext? = nil) throws -> ManagedObject {
      let note = try (context ?? self.context).insertNewObject(forEntityName: "Note")
      note["text"] = text
      return note
    }
  }

  private let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory("new-store") }

  private func path(_ type: String) throws -> String {
    let path = directory.path + (type == "CSV" ? "/Note.csv" : "/store")
    if type == "CSV folder" {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }
    return path
  }

  /// A single CSV file does not have an identity that could be taken over.
  private static func haveSameIdentity(_ one: Opener, _ other: Opener, _ type: String) -> Bool {
    type == "CSV" || other.store.identifier == one.store.identifier
  }

  private static func texts(_ type: String, _ path: String) throws -> [String] {
    let opener = try Opener(type, path)
    return try withExtendedLifetime(opener) {
      try opener.context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).compactMap { $0["text"] as? String }
        .sorted()
    }
  }

  @Test("the other one sees what was saved, takes over the identity, and saves", arguments: types, [true, false])
  func adopts(_ type: String, _ looks: Bool) throws {
    let path = try path(type)
    let one = try Opener(type, path)
    let other = try Opener(type, path)
    _ = try other.note("other")
    try one.note("one")["parent"] = try one.note("parent")
    try one.context.save()
    if looks {
      let changes = other.coordinator.checkForRemoteChanges()
      #expect(changes.map(\.inserted.count) == [2])
      #expect(try other.context.count(for: FetchRequest<ManagedObject>(entityName: "Note")) == 3)
    }
    try other.context.save()
    #expect(Self.haveSameIdentity(one, other, type))
    #expect(try Self.texts(type, path) == ["one", "other", "parent"])
    // And back again.
    _ = one.coordinator.checkForRemoteChanges()
    one.context.refreshAllObjects()
    #expect(try one.context.count(for: FetchRequest<ManagedObject>(entityName: "Note")) == 3)
    _ = try one.note("last")
    try one.context.save()
    #expect(try Self.texts(type, path) == ["last", "one", "other", "parent"])
  }

  @Test("the file stays empty until the first save", arguments: ["XML", "BinaryPropertyList", "CSV", "Arrow"])
  func reservation(_ type: String) throws {
    let path = try path(type)
    let openers = try [Opener(type, path), Opener(type, path)]
    #expect(try Data(contentsOf: URL(filePath: path)).isEmpty)
    for opener in openers { try opener.coordinator.remove(opener.store) }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(
    "metadata that the first save wrote is read, and metadata set by the other is saved",
    arguments: ["XML", "BinaryPropertyList"])
  func metadata(_ type: String) throws {
    let path = try path(type)
    let one = try Opener(type, path)
    let other = try Opener(type, path)
    try one.store.setMetadata(["a": .string("1")])
    try one.context.persistentStoreCoordinator.save(one.store)
    _ = other.coordinator.checkForRemoteChanges()
    #expect(other.store.metadata.entries["a"] == .string("1"))
    try other.store.setMetadata(["a": .string("1"), "b": .string("2")])
    try other.coordinator.save(other.store)
    let read = try Opener(type, path).store.metadata.entries
    #expect(read["a"] == .string("1") && read["b"] == .string("2"))
  }

  @Test(
    "IDs that were permanent before lead to the same objects, although their references were taken",
    arguments: types.filter { $0 != "CSV" }, [true, false])
  func permanentIDs(_ type: String, _ looks: Bool) throws {
    let path = try path(type)
    let one = try Opener(type, path)
    let other = try Opener(type, path)
    let notes = try (0..<3).map { try other.note("other \($0)") }
    notes[1]["parent"] = notes[0]
    let child = ManagedObjectContext(parent: other.context)
    let inner = try other.note("inner", in: child)
    let temporary = notes[2].objectID
    try other.context.obtainPermanentIDs(for: [notes[0], notes[1]])
    try child.obtainPermanentIDs(for: [inner])
    let ids = (notes[0...1] + [inner]).map(\.objectID)
    #expect(ids.allSatisfy { !$0.isTemporaryID })
    for index in 0..<4 { _ = try one.note("one \(index)") }
    try one.context.save()
    if looks { _ = other.coordinator.checkForRemoteChanges() }
    #expect(other.context.object(with: ids[0]) === notes[0] && other.context.object(with: ids[1]) === notes[1])
    #expect(child.object(with: ids[2]) === inner)
    try child.save()
    try other.context.save()
    #expect(other.context.object(with: ids[0]) === notes[0] && other.context.object(with: temporary) === notes[2])
    #expect(notes[1]["parent"] as? ManagedObject === notes[0])
    let uri = try #require(other.coordinator.managedObjectID(forURIRepresentation: ids[1].uriRepresentation))
    #expect(uri == notes[1].objectID && Self.haveSameIdentity(one, other, type))
    #expect(
      try Self.texts(type, path)
        == ["inner", "one 0", "one 1", "one 2", "one 3", "other 0", "other 1", "other 2"])
    let there = ManagedObjectContext(other.coordinator)
    #expect(try there.existingObject(with: ids[0])["text"] as? String == "other 0")
  }

  @Test(
    "references given before a save are replaced where another coordinator saved them first",
    arguments: types)
  func takenReferences(_ type: String) throws {
    let path = try path(type)
    let one = try Opener(type, path)
    _ = try one.note("first")
    try one.context.save()
    let other = try Opener(type, path)
    let note = try other.note("other")
    try other.context.obtainPermanentIDs(for: [note])
    let theirs = try one.note("one")
    try one.context.save()
    _ = other.coordinator.checkForRemoteChanges()
    let found = try other.context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
    #expect(Set(found.compactMap { $0["text"] as? String }) == ["first", "one", "other"])
    try other.context.save()
    #expect(try Self.texts(type, path) == ["first", "one", "other"])
    #expect(note.objectID != theirs.objectID)
  }

  @Test("undo and redo of objects that had permanent IDs survive the other's save")
  func undone() throws {
    let path = try path("XML")
    let one = try Opener("XML", path)
    let other = try Opener("XML", path)
    other.context.undoManager = UndoHistory()
    let note = try other.note("other")
    try other.context.obtainPermanentIDs(for: [note])
    other.context.processPendingChanges()
    other.context.undo()
    _ = try one.note("one")
    try one.context.save()
    _ = other.coordinator.checkForRemoteChanges()
    #expect(try other.context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).count == 1)
    other.context.redo()
    try other.context.save()
    #expect(try Self.texts("XML", path) == ["one", "other"])
  }

  @Test("a store of another type, or of another open store, is not taken over")
  func refused() throws {
    let path = try path("XML")
    let one = try Opener("XML", path)
    let other = try Opener("BinaryPropertyList", path)
    _ = try one.note("one")
    try one.context.save()
    _ = try other.note("other")
    #expect {
      try other.context.save()
    } throws: {
      "\($0)".contains("of type XML, not BinaryPropertyList")
    }
    #expect(try Self.texts("XML", path) == ["one"])
  }
}

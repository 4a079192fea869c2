import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// Save As of a database that is open, to files and to other databases, with contexts that go on.
@Suite struct SaveAsFromDatabaseTests {
  private struct Stop: Error {}

  /// From where to where: names of files, or of schemas where they have no extension.
  static let ways: [(from: String, to: String)] =
    [("a.sqlgraph", "b.plist"), ("a.sqlgraph", "b.xml"), ("a.sqlgraph", "b.csvstore"), ("a.sqlgraph", "b.sqlgraph")]
    + (TestServer.url == nil ? [] : [("a", "b.xml"), ("a", "b.sqlgraph"), ("a.sqlgraph", "b"), ("a", "c")])

  /// A database with notes "a", "b" and "c", each with two lines in order, which a coordinator has open.
  private struct Fixture {
    let folder: TemporaryDirectory
    let coordinator: PersistentStoreCoordinator
    let store: PersistentStore
    let context: ManagedObjectContext
    let source: String
    let target: String

    static func model() throws -> ManagedObjectModel {
      try ManagedObjectModel(
        ModelDescription(entities: [
          EntityDescription(
            name: "Note",
            properties: [
              .attribute("name", .string, isOptional: false), .attribute("rank", .integer64),
              .toMany("lines", "Line", inverse: "note", isOrdered: true), .toMany("others", "Note", inverse: "others"),
            ]),
          EntityDescription(
            name: "Line", properties: [.attribute("text", .string), .toOne("note", "Note", inverse: "lines")]),
        ]))
    }

    init(_ way: (from: String, to: String), test: String) throws {
      folder = try TemporaryDirectory("save-as-from-database")
      let path = folder.path
      func place(_ name: String) -> String {
        name.contains(".")
          ? path + "/" + name
          : TestServer.schema("from_\(test)_\(way.from.prefix(3))_\(way.to)_\(name)".replacing(".", with: "_"))
      }
      (source, target) = (place(way.from), place(way.to))
      coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model(), registry: .builtIn)
      store = try coordinator.addPersistentStore(at: source)
      let context = ManagedObjectContext(coordinator)
      for name in ["a", "b", "c"] {
        let note = try context.insertNewObject(forEntityName: "Note")
        try note.setValue(name, forKey: "name")
        for number in 1...2 {
          let line = try context.insertNewObject(forEntityName: "Line")
          try line.setValue("\(name)\(number)", forKey: "text")
          try note.add(line, to: "lines")
        }
      }
      try context.save()
      self.context = ManagedObjectContext(coordinator)
    }

    func note(_ name: String, in context: ManagedObjectContext? = nil) throws -> ManagedObject {
      let all = try (context ?? self.context).fetch(FetchRequest<ManagedObject>(entityName: "Note"))
      return try #require(all.first { $0["name"] as? String == name })
    }

    /// Changes what is at a place as another program does.
    func asOther(_ place: String, _ body: (ManagedObjectContext) throws -> Void) throws {
      let other = PersistentStoreCoordinator(managedObjectModel: try Self.model(), registry: .builtIn)
      let opened = try other.addPersistentStore(at: place)
      let context = ManagedObjectContext(other)
      try body(context)
      try context.save()
      try other.remove(opened)
    }

    /// Each note with its rank and lines, as another program reads it.
    static func contents(_ place: String) throws -> [String] {
      let coordinator = PersistentStoreCoordinator(registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: place, isReadOnly: true)
      defer { try? coordinator.remove(store) }
      return try contents(in: ManagedObjectContext(coordinator))
    }

    static func contents(in context: ManagedObjectContext) throws -> [String] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).map { note in
        let lines = try note.objects(forRelationshipNamed: "lines").map { $0["text"] as? String ?? "nil" }
        return "\(note["name"] as? String ?? "nil") \(note["rank"] as? Int ?? 0) \(lines.joined(separator: ","))"
      }.sorted()
    }
  }

  @Test("contexts go on after Save As of a database, with their changes and what they have read", arguments: ways)
  func goesOn(_ way: (from: String, to: String)) throws {
    let fixture = try Fixture(way, test: "on")
    let (a, b) = (try fixture.note("a"), try fixture.note("b"))
    let identifier = a.objectID
    let lines = try a.objects(forRelationshipNamed: "lines")
    try a.setValue(Int64(1), forKey: "rank")
    let new = try fixture.context.insertNewObject(forEntityName: "Note")
    try new.setValue("new", forKey: "name")
    // What another program saves meanwhile moves too; who has read the old value keeps it.
    try fixture.asOther(fixture.source) { context in
      try fixture.note("b", in: context).setValue(Int64(7), forKey: "rank")
      try fixture.note("c", in: context).setValue("d", forKey: "name")
    }
    let moved = try fixture.coordinator.migratePersistentStore(fixture.store, to: fixture.target)
    #expect(moved.identifier == fixture.store.identifier)
    #expect(!fixture.store.isOpen)
    #expect(b["rank"] as? Int == nil)
    #expect(a["rank"] as? Int == 1)
    // A relationship that was not read before, and one that was.
    #expect(try b.objects(forRelationshipNamed: "lines").map { $0["text"] as? String } == ["b1", "b2"])
    #expect(lines.map { $0["text"] as? String } == ["a1", "a2"])
    try lines.first?.setValue("first", forKey: "text")
    try new.add(a, to: "others")
    try fixture.context.save()
    #expect(a.objectID == identifier)
    let expected = ["a 1 first,a2", "b 7 b1,b2", "d 0 c1,c2", "new 0 "]
    #expect(try Fixture.contents(in: ManagedObjectContext(fixture.coordinator)) == expected)
    // Once more in the same context, with what the other program changed.
    fixture.context.refresh(b, mergeChanges: false)
    try b.setValue("e", forKey: "name")
    fixture.context.delete(new)
    try fixture.context.save()
    try fixture.coordinator.remove(moved)
    #expect(try Fixture.contents(fixture.target) == ["a 1 first,a2", "d 0 c1,c2", "e 7 b1,b2"])
    #expect(try Fixture.contents(fixture.source) == ["a 0 a1,a2", "b 7 b1,b2", "d 0 c1,c2"])
  }

  @Test(
    "what another program changed before the Save As is a conflict after it, if it was changed here", arguments: ways)
  func conflict(_ way: (from: String, to: String)) throws {
    let fixture = try Fixture(way, test: "conflict")
    let b = try fixture.note("b")
    try b.setValue(Int64(1), forKey: "rank")
    try fixture.asOther(fixture.source) { context in
      try fixture.note("b", in: context).setValue(Int64(7), forKey: "rank")
    }
    let moved = try fixture.coordinator.migratePersistentStore(fixture.store, to: fixture.target)
    #expect { try fixture.context.save() } throws: { ($0 as? ManagedObjectError)?.code == .managedObjectMerge }
    fixture.context.mergePolicy = .mergeByPropertyStoreTrump
    try b.setValue("x", forKey: "name")
    try fixture.context.save()
    try fixture.coordinator.remove(moved)
    #expect(try Fixture.contents(fixture.target) == ["a 0 a1,a2", "c 0 c1,c2", "x 7 b1,b2"])
  }

  @Test("a Save As whose last step fails leaves the database open, and no result", arguments: ways)
  func fails(_ way: (from: String, to: String)) throws {
    let fixture = try Fixture(way, test: "fails")
    let (a, b) = (try fixture.note("a"), try fixture.note("b"))
    try a.setValue(Int64(1), forKey: "rank")
    let reader = ManagedObjectContext(fixture.coordinator)
    #expect(throws: Stop.self) {
      _ = try fixture.coordinator.migratePersistentStore(
        fixture.store, to: fixture.target, type: nil, options: [:], replaces: false
      ) {
        #expect(try Fixture.contents(in: reader).count == 3)
        #expect(try fixture.note("c")["rank"] as? Int == nil)
        throw Stop()
      }
    }
    #expect(fixture.store.isOpen)
    #expect { try Fixture.contents(fixture.target) } throws: { ($0 as? PersistentStoreError)?.code == .notFound }
    let c = try fixture.note("c")
    try c.setValue(Int64(3), forKey: "rank")
    #expect(try b.objects(forRelationshipNamed: "lines").count == 2)
    try fixture.context.save()
    let expected = ["a 1 a1,a2", "b 0 b1,b2", "c 3 c1,c2"]
    reader.refreshAllObjects()
    #expect(try Fixture.contents(in: reader) == expected)
    #expect(try Fixture.contents(fixture.source) == expected)
  }

  @Test("a database is not saved over itself, however its place is written", arguments: ways)
  func itself(_ way: (from: String, to: String)) throws {
    let fixture = try Fixture(way, test: "itself")
    var spellings = [fixture.source]
    if !fixture.source.contains("://") { spellings.append("sqlite:" + fixture.source) }
    for spelling in spellings {
      #expect { try fixture.coordinator.migratePersistentStore(fixture.store, to: spelling, replaces: true) } throws: {
        ($0 as? PersistentStoreError)?.code == .alreadyExists
      }
    }
    #expect(try Fixture.contents(fixture.source).count == 3)
    #expect(fixture.store.isOpen)
  }

  // MARK: New documents

  static let databases = ["a.sqlgraph"] + (TestServer.url == nil ? [] : ["a"])

  @Test(
    "a new document takes the place of a database with permission, and otherwise says what to do", arguments: databases)
  func newDocument(_ name: String) throws {
    let fixture = try Fixture((from: name, to: "b.plist"), test: "document")
    try fixture.coordinator.remove(fixture.store)
    let before = try Fixture.contents(fixture.source)
    let document = PersistentDocument(model: try Fixture.model(), registry: .builtIn)
    let note = try document.managedObjectContext.insertNewObject(forEntityName: "Note")
    // A name is missing.
    #expect(throws: ManagedObjectError.self) { try document.save(to: fixture.source, replaces: true) }
    #expect(document.path == nil)
    #expect(try Fixture.contents(fixture.source) == before)
    try note.setValue("new", forKey: "name")
    #expect { try document.save(to: fixture.source) } throws: {
      let error = $0 as? PersistentStoreError
      return error?.code == .alreadyExists && error?.message.contains("replaces: true") ?? false
    }
    #expect(try Fixture.contents(fixture.source) == before)
    try document.save(to: fixture.source, replaces: true)
    #expect(!document.isDocumentEdited)
    try note.setValue(Int64(1), forKey: "rank")
    // The same place again is an ordinary save.
    try document.save(to: fixture.source)
    try document.close()
    #expect(try Fixture.contents(fixture.source) == ["new 1 "])
    let again = try PersistentDocument(contentsOf: fixture.source, model: try Fixture.model(), registry: .builtIn)
    #expect(try Fixture.contents(in: again.managedObjectContext) == ["new 1 "])
    try again.save(to: fixture.target)
    #expect(try Fixture.contents(fixture.target) == ["new 1 "])
    try again.close()
  }

  @Test("a new document becomes a new database, and nothing is left of one that cannot be saved", arguments: databases)
  func newDatabase(_ name: String) throws {
    let folder = try TemporaryDirectory("new-database")
    let place = name.contains(".") ? folder.path + "/" + name : TestServer.schema("new_database")
    let document = PersistentDocument(model: try Fixture.model(), registry: .builtIn)
    let note = try document.managedObjectContext.insertNewObject(forEntityName: "Note")
    #expect(throws: ManagedObjectError.self) { try document.save(to: place) }
    #expect { try Fixture.contents(place) } throws: { ($0 as? PersistentStoreError)?.code == .notFound }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    try note.setValue("new", forKey: "name")
    try document.save(to: place)
    #expect(document.fileType == (name.contains(".") ? "SQLiteGraph" : "PostgreSQL"))
    try document.close()
    #expect(try Fixture.contents(place) == ["new 0 "])
  }
}

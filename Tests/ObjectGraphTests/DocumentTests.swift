import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Documents") struct DocumentTests {
  func document() -> PersistentDocument { PersistentDocument(model: CompanyGraph.model, registry: .builtIn) }

  func people(at path: String) throws -> [String] {
    let opened = try PersistentDocument(contentsOf: path, model: CompanyGraph.model, registry: .builtIn)
    return try opened.managedObjectContext.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
      .compactMap { $0["name"] as? String }
  }

  func insert(_ name: String, into document: PersistentDocument) throws {
    try document.managedObjectContext.insertNewObject(forEntityName: "Person").setValue(name, forKey: "name")
  }

  @Test("a new document is edited, saved, saved as another format, and reverted")
  func life() throws {
    let folder = try TestFolder()
    let document = document()
    #expect(!document.isDocumentEdited)
    try insert("Ada", into: document)
    #expect(document.isDocumentEdited)
    #expect(throws: PersistentStoreError.self) { try document.save() }
    try document.save(to: folder.file("a.xml"))
    #expect(!document.isDocumentEdited)
    #expect(document.fileType == "XML")
    #expect(try people(at: folder.file("a.xml")) == ["Ada"])

    try insert("Bob", into: document)
    let ada = try #require(document.managedObjectContext.fetch(FetchRequest<ManagedObject>(entityName: "Person")).first)
    let id = ada.objectID
    try document.save(to: folder.file("b.csvstore"))
    #expect(document.fileType == "CSV")
    #expect(try people(at: folder.file("a.xml")) == ["Ada"])
    #expect(try people(at: folder.file("b.csvstore")) == ["Ada", "Bob"])
    #expect(ada.objectID == id)
    #expect(ada["name"] as? String == "Ada")

    try ada.setValue("Eve", forKey: "name")
    try document.revert()
    #expect(ada["name"] as? String == "Ada")
    #expect(!document.isDocumentEdited)
  }

  @Test("after undo a document is unedited again")
  func undo() throws {
    let folder = try TestFolder()
    let document = document()
    try insert("Ada", into: document)
    try document.save(to: folder.file("a.plist"))
    try insert("Bob", into: document)
    #expect(document.isDocumentEdited)
    document.undoManager.undo()
    #expect(!document.isDocumentEdited)
    document.undoManager.redo()
    try document.save()
    #expect(try people(at: folder.file("a.plist")) == ["Ada", "Bob"])
  }

  @Test("a Save As that fails leaves the document with its file and its changes")
  func failingSaveAs() throws {
    let folder = try TestFolder()
    let document = document()
    try insert("Ada", into: document)
    try document.save(to: folder.file("a.plist"))
    try insert("Bob", into: document)
    // Abstract things cannot be saved.
    let thing = try #require(CompanyGraph.model.entity(named: "Thing"))
    let bad = ManagedObject(entity: thing, insertInto: document.managedObjectContext)
    #expect(throws: ManagedObjectError.self) { try document.save(to: folder.file("b.xml")) }
    #expect(document.path == folder.file("a.plist"))
    #expect(!FileManager.default.fileExists(atPath: folder.file("b.xml")))
    #expect(document.isDocumentEdited)
    document.managedObjectContext.delete(bad)
    try document.save()
    #expect(try people(at: folder.file("a.plist")) == ["Ada", "Bob"])
    #expect(throws: PersistentStoreError.self) { try document.save(to: "") }
  }

  @Test("an existing file is replaced only on request")
  func replacing() throws {
    let folder = try TestFolder()
    let first = document()
    try insert("Ada", into: first)
    try first.save(to: folder.file("a.xml"))
    let second = document()
    try insert("Bob", into: second)
    #expect(throws: PersistentStoreError.self) { try second.save(to: folder.file("a.xml")) }
    #expect(try people(at: folder.file("a.xml")) == ["Ada"])
    try second.save(to: folder.file("a.xml"), replaces: true)
    #expect(try people(at: folder.file("a.xml")) == ["Bob"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.xml"])
    try second.close()
    #expect(second.path == nil)
  }

  @Test("a Save As over another file that fails leaves that file as it was")
  func failingReplacement() throws {
    let folder = try TestFolder()
    let other = document()
    try insert("Zoe", into: other)
    try other.save(to: folder.file("b.xml"))
    try other.close()
    let document = document()
    try insert("Ada", into: document)
    try document.save(to: folder.file("a.plist"))
    try insert("Bob", into: document)
    let thing = try #require(CompanyGraph.model.entity(named: "Thing"))
    _ = ManagedObject(entity: thing, insertInto: document.managedObjectContext)
    #expect(throws: ManagedObjectError.self) { try document.save(to: folder.file("b.xml"), replaces: true) }
    #expect(try people(at: folder.file("b.xml")) == ["Zoe"])
    #expect(try people(at: folder.file("a.plist")) == ["Ada"])
    #expect(document.path == folder.file("a.plist"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a.plist", "b.xml"])
  }

  @Test("a Save As over another store replaces it and leaves nothing beside it", arguments: ["b.xml", "b.csvstore"])
  func replacement(_ name: String) throws {
    let folder = try TestFolder()
    let other = document()
    try insert("Zoe", into: other)
    try other.save(to: folder.file(name))
    try other.close()
    let document = document()
    try insert("Ada", into: document)
    try document.save(to: folder.file("a.plist"))
    try insert("Bob", into: document)
    try document.save(to: folder.file(name), replaces: true)
    #expect(document.path == folder.file(name))
    #expect(try people(at: folder.file(name)) == ["Ada", "Bob"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a.plist", name])
    try insert("Carl", into: document)
    try document.save()
    #expect(try people(at: folder.file(name)) == ["Ada", "Bob", "Carl"])
  }

  @Test("Save As to the document's own file is a save")
  func ownFile() throws {
    let folder = try TestFolder()
    let document = document()
    try insert("Ada", into: document)
    try document.save(to: folder.file("a.plist"))
    try insert("Bob", into: document)
    try document.save(to: folder.file("a.plist"), replaces: true)
    #expect(!document.isDocumentEdited)
    #expect(try people(at: folder.file("a.plist")) == ["Ada", "Bob"])
  }

  @Test("a new document that cannot replace an existing file keeps its changes", arguments: [false, true])
  func failingFirstSave(_ isBad: Bool) throws {
    let folder = try TestFolder()
    let document = document()
    try insert("Ada", into: document)
    // A folder of someone else's is nothing that a file may replace.
    let taken = folder.file("a.xml")
    try FileManager.default.createDirectory(atPath: taken, withIntermediateDirectories: true)
    try Data("x".utf8).write(to: URL(fileURLWithPath: taken + "/note.txt"))
    if isBad {
      let thing = try #require(CompanyGraph.model.entity(named: "Thing"))
      _ = ManagedObject(entity: thing, insertInto: document.managedObjectContext)
    }
    #expect(throws: (any Error).self) { try document.save(to: taken, type: "XML", replaces: true) }
    #expect(FileManager.default.fileExists(atPath: taken + "/note.txt"))
    // What was entered is still to be had, and can be saved elsewhere.
    if !isBad {
      try document.save(to: folder.file("b.xml"))
      #expect(try people(at: folder.file("b.xml")) == ["Ada"])
    } else {
      #expect(document.isDocumentEdited)
    }
  }

  @Test("reverting to a file that was removed fails and discards nothing")
  func revertWithoutFile() throws {
    let folder = try TestFolder()
    let document = document()
    try insert("Ada", into: document)
    try document.save(to: folder.file("a.plist"))
    try insert("Bob", into: document)
    try FileManager.default.removeItem(atPath: folder.file("a.plist"))
    #expect(throws: PersistentStoreError.self) { try document.revert() }
    #expect(document.isDocumentEdited)
    try document.save(to: folder.file("b.plist"))
    #expect(try people(at: folder.file("b.plist")) == ["Ada", "Bob"])
  }

  @Test(
    "a first save that fails over another file leaves that file, and the document can be saved elsewhere",
    arguments: [true, false])
  func failingFirstReplacement(_ isThere: Bool) throws {
    let folder = try TestFolder()
    let other = document()
    try insert("Zoe", into: other)
    try other.save(to: folder.file("b.xml"))
    try other.close()
    let target = folder.file(isThere ? "b.xml" : "c.xml")
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person", properties: [.attribute("name", .string)],
          uniquenessConstraints: [["name"]])
      ]))
    let document = PersistentDocument(model: model, registry: .builtIn)
    // What is unique is checked after stores were chosen.
    let people = try ["Ada", "Ada"].map { name in
      let person = try document.managedObjectContext.insertNewObject(forEntityName: "Person")
      try person.setValue(name, forKey: "name")
      return person
    }
    let bytes = FileManager.default.contents(atPath: folder.file("b.xml"))
    #expect(throws: ManagedObjectError.self) { try document.save(to: target, replaces: true) }
    #expect(document.path == nil)
    #expect(document.persistentStoreCoordinator.persistentStores.isEmpty)
    #expect(document.managedObjectContext.insertedObjects == Set(people))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["b.xml"])
    #expect(FileManager.default.contents(atPath: folder.file("b.xml")) == bytes)
    document.managedObjectContext.delete(people[0])
    try document.save(to: target, replaces: true)
    #expect(document.path == target)
    #expect(!document.isDocumentEdited)
    let opened = try PersistentDocument(contentsOf: target, model: model, registry: .builtIn)
    #expect(try opened.managedObjectContext.fetch(FetchRequest<ManagedObject>(entityName: "Person")).count == 1)
  }

  @Test("a Save As that fails keeps what metadata was set, and the old file is written as before")
  func failingSaveAsKeepsMetadata() throws {
    let folder = try TestFolder()
    let document = document()
    try insert("Ada", into: document)
    try document.save(to: folder.file("a.plist"))
    let store = try #require(document.persistentStoreCoordinator.persistentStores.first)
    try store.setMetadata(["note": .string("n")])
    try insert("Bob", into: document)
    let thing = try #require(CompanyGraph.model.entity(named: "Thing"))
    let bad = ManagedObject(entity: thing, insertInto: document.managedObjectContext)
    #expect(throws: ManagedObjectError.self) { try document.save(to: folder.file("b.xml")) }
    #expect(document.persistentStoreCoordinator.persistentStores.first === store)
    #expect(store.isOpen)
    #expect(store.hasUnsavedMetadata)
    document.managedObjectContext.delete(bad)
    try document.save()
    #expect(try people(at: folder.file("a.plist")) == ["Ada", "Bob"])
    let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(
      at: folder.file("a.plist"), registry: .builtIn)
    #expect(metadata.entries["note"] == .string("n"))
  }
}

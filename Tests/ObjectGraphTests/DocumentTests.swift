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

  @Test("undo makes a document unedited again")
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

  @Test("a file that is there is replaced only when asked for")
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
}

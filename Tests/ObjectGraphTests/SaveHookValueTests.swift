import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Values in saves and refreshes") struct SaveHookValueTests {
  final class Plain: ManagedObject {}
  final class Box { let number = 1 }
  struct Loose { let run: @Sendable () -> Void }

  @Test(
    "a transient value that cannot be compared does not prevent a save",
    arguments: ["class", "struct"])
  func incomparable(_ kind: String) throws {
    let stack = try Stack("XML", classes: ["Employee": Plain.self])
    let ada = try stack.insert("Employee", ["name": "Ada"])
    let value: Any = kind == "class" ? Box() as Any : Loose(run: {})
    try ada.setValue(value, forKey: "mood")
    try stack.context.save()
    #expect(!stack.context.hasChanges)
    #expect(ada["mood"] != nil)
  }

  static let stamped = ModelDescription(entities: [
    EntityDescription(
      name: "Page",
      properties: [
        .attribute("title", .string),
        .attribute("mood", .undefined, isTransient: true),
        .attribute("data", .transformable, valueTransformerName: "words"),
        .attribute("saved", .date, derivationExpression: "now()"),
      ])
  ])

  @Test("a change to transient properties alone sets no new time of saving and modifies no file")
  func transientAlone() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.stamped))
    let page = try stack.insert("Page", ["title": "A"])
    try stack.context.save()
    let saved = page["saved"] as? Date
    let before = try Data(contentsOf: URL(fileURLWithPath: stack.store.path))
    try page.setValue("merry", forKey: "mood")
    try stack.context.save()
    #expect(page["saved"] as? Date == saved)
    #expect(try Data(contentsOf: URL(fileURLWithPath: stack.store.path)) == before)
    try page.setValue("B", forKey: "title")
    try stack.context.save()
    #expect(page["saved"] as? Date != saved)
  }

  struct Words: AttributeTransformer {
    func data(from value: Any) throws -> Data { Data((value as? String ?? "").utf8) }
    func value(from data: Data) throws -> Any { String(decoding: data, as: UTF8.self) }
  }

  @Test("a transformable attribute is read again when its object is refreshed with its changes kept")
  func transformed() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.stamped))
    stack.coordinator.setTransformer(Words(), forName: "words")
    let page = try stack.insert("Page", ["title": "A", "data": "one"])
    try stack.context.save()
    #expect(page["data"] as? String == "one")
    let there = ManagedObjectContext(stack.coordinator)
    try there.existingObject(with: page.objectID).setValue("two", forKey: "data")
    try there.save()
    try page.setValue("B", forKey: "title")
    stack.context.refresh(page, mergeChanges: true)
    #expect(page["data"] as? String == "two")
    #expect(page["title"] as? String == "B")
  }

  @Test("setting a store's metadata does not cause a mismatch with the stores it was saved with")
  func metadata() throws {
    let model = try ManagedObjectModel(MixedSaveTests.model)
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let staff = try coordinator.addPersistentStore(configurationName: "staff", at: folder.file("staff.xml"))
    try coordinator.addPersistentStore(configurationName: "trade", at: folder.file("trade.plist"))
    let context = ManagedObjectContext(coordinator)
    for name in ["Employee", "Customer"] { _ = try context.insertNewObject(forEntityName: name) }
    try context.save()
    var entries = PropertyListDictionary()
    entries["owner"] = .string("me")
    try staff.setMetadata(entries)
    #expect(coordinator.mixedSaves.isEmpty)
    try coordinator.save(staff)
    #expect(coordinator.mixedSaves.isEmpty)
    #expect(staff.metadata.entries["owner"] == .string("me"))
  }

  @Test("a reference assigned before Save As is not assigned again after it", arguments: Stack.types)
  func migrated(_ type: String) throws {
    let stack = try Stack("XML")
    let ada = try stack.insert("Employee", ["name": "Ada"])
    try stack.context.save()
    let bob = try stack.insert("Employee", ["name": "Bob"])
    try stack.context.obtainPermanentIDs(for: [bob])
    let id = bob.objectID
    let there = ManagedObjectContext(stack.coordinator)
    let theirs = try there.existingObject(with: ada.objectID)
    try theirs.setValue("Eve", forKey: "name")
    let carl = try there.insertNewObject(forEntityName: "Employee")
    try stack.coordinator.migratePersistentStore(
      stack.store, to: stack.folder.file("new-" + Stack.fileName(type)), type: type)
    try there.save()
    try stack.context.save()
    #expect(bob.objectID == id)
    #expect(carl.objectID != id)
    stack.context.refresh(ada, mergeChanges: true)
    #expect(ada["name"] as? String == "Eve")
    #expect(try stack.fetch("Employee").count == 3)
  }
}

import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// What the nearest peer was found to get wrong when it was run, as far as the graph is concerned. Relationships that
/// leave dangling old ends, and delete rules, are in their own tests.
@Suite("Defects of other implementations, which this one does not have") struct PeerDefectTests {
  @Test(
    "an object referenced before it appears in the file has its entity and its attributes",
    arguments: Stack.types)
  func forwardReference(_ type: String) throws {
    let stack = try Stack(type)
    let badge = try stack.insert("Badge", ["number": 7])
    let department = try stack.insert("Department", ["name": "D"])
    _ = try stack.insert(
      "Manager",
      [
        "name": "M", "salary": 12.5, "hired": Date(timeIntervalSinceReferenceDate: 1), "badge": badge,
        "department": department,
      ])
    try stack.context.save()
    let other = try stack.reopened()
    let badges = try other.fetch("Badge")
    let owner = try #require(badges.first?["owner"] as? ManagedObject)
    #expect(owner.entity.name == "Manager")
    #expect(owner["salary"] as? Double == 12.5)
    #expect(try other.fetch("Employee") == [owner])
    #expect(try other.first("Department", "D").map { try $0.objects(forRelationshipNamed: "employees") } == [owner])
  }

  @Test("a related object is the same object, with its values, before the save, after it, and after a reopening")
  func noGhosts() throws {
    let stack = try Stack("XML")
    let department = try stack.insert("Department", ["name": "D"])
    let ada = try stack.insert("Employee", ["name": "Ada", "department": department])
    func found(_ context: ManagedObjectContext) throws -> [ManagedObject] {
      try context.fetch(
        FetchRequest<ManagedObject>(entityName: "Employee") {
          try $0.value(forKeyPath: "department.name") as? String == "D"
        })
    }
    #expect(try found(stack.context) == [ada])
    try stack.context.save()
    #expect(try found(stack.context) == [ada])
    #expect(try stack.context.fetch(FetchRequest<ManagedObject>(entityName: "Employee") { $0 === ada }) == [ada])
    #expect(
      try stack.context.fetch(
        FetchRequest<ManagedObject>(entityName: "Employee") { $0["department"] as? ManagedObject == department })
        == [ada])
    let fresh = ManagedObjectContext(stack.coordinator)
    #expect(try found(fresh).map(\.objectID) == [ada.objectID])
    let other = try stack.reopened()
    #expect(try found(other.context).map(\.objectID) == [ada.objectID])
  }

  static let longNumbers = [
    "12345678901234567890.123456789", "-0.00000000000000000001", "99999999999999999999999999999999999999", "0.1",
  ]

  @Test("decimals keep all their digits", arguments: Stack.types, longNumbers)
  func decimals(_ type: String, _ text: String) throws {
    let stack = try Stack(type)
    let number = try #require(DecimalNumber(text))
    _ = try stack.insert("Department", ["name": "D", "budget": number])
    try stack.context.save()
    let other = try stack.reopened()
    let found = try #require(try other.first("Department", "D"))["budget"] as? DecimalNumber
    #expect(found?.isIdentical(to: number) == true)
  }

  @Test(
    "doubles and dates are preserved to the last bit", arguments: Stack.types,
    [0.1 + 0.2, 1.0 / 3.0, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 12345678.9])
  func doubles(_ type: String, _ number: Double) throws {
    let stack = try Stack(type)
    _ = try stack.insert(
      "Employee", ["name": "E", "salary": number, "hired": Date(timeIntervalSinceReferenceDate: 712_345_678.123456)])
    try stack.context.save()
    let other = try stack.reopened()
    let employee = try #require(try other.first("Employee", "E"))
    #expect((employee["salary"] as? Double)?.bitPattern == number.bitPattern)
    #expect((employee["hired"] as? Date)?.timeIntervalSinceReferenceDate == 712_345_678.123456)
  }

  @Test(
    "strings are preserved scalar by scalar", arguments: Stack.types,
    [
      "\u{1}\u{0}\u{1F}", "< > & \" '", "a\rb\nc\r\nd\te", "", " ", "e\u{301}", "\u{e9}", "\u{FFFE}\u{FFFF}",
      "👩‍👩‍👧 ]]> %20 ,;\"\"",
    ])
  func strings(_ type: String, _ text: String) throws {
    let stack = try Stack(type)
    let ada = try stack.insert("Person", ["name": text, "age": 1])
    try stack.context.save()
    let other = try stack.reopened()
    let again = try other.context.existingObject(with: ada.objectID)
    #expect((again["name"] as? String).map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
  }

  @Test(
    "a save that cannot be written leaves all changes pending, and succeeds when it is repeated",
    arguments: Stack.types)
  func failedSave(_ type: String) throws {
    let stack = try Stack(type)
    let kept = try stack.insert("Person", ["name": "Kept"])
    let doomed = try stack.insert("Person", ["name": "Doomed"])
    try stack.context.save()
    let new = try stack.insert("Person", ["name": "New", "spouse": kept])
    try kept.setValue("Changed", forKey: "name")
    stack.context.delete(doomed)
    // The folder is elsewhere for a while.
    let elsewhere = stack.folder.path + "-elsewhere"
    try FileManager.default.moveItem(atPath: stack.folder.path, toPath: elsewhere)
    let error = try #require(graphError { try stack.context.save() })
    try FileManager.default.moveItem(atPath: elsewhere, toPath: stack.folder.path)
    #expect(error.code == .persistentStoreSave)
    #expect(error.underlying is PersistentStoreError)
    #expect(stack.context.insertedObjects == [new])
    #expect(stack.context.updatedObjects == [kept])
    #expect(stack.context.deletedObjects == [doomed])
    #expect(new.objectID.isTemporaryID)
    #expect(stack.store.nodes.count == 2)
    try stack.context.save()
    #expect(!stack.context.hasChanges)
    let other = try stack.reopened()
    let people = try other.fetch("Person")
    #expect(people.map { $0["name"] as? String }.sorted { $0 ?? "" < $1 ?? "" } == ["Changed", "New"])
    #expect(try other.first("Person", "Changed")?["spouse"] as? ManagedObject === other.first("Person", "New"))
  }

  @Test("an abstract entity cannot have objects, however they are created")
  func abstract() throws {
    let stack = try Stack()
    #expect(
      graphError { try stack.context.insertNewObject(forEntityName: "Thing") }?.message.contains("abstract") == true)
    let entity = try #require(CompanyGraph.model.entity(named: "Thing"))
    let object = ManagedObject(entity: entity, insertInto: stack.context)
    #expect(graphError { try stack.context.save() }?.objectID == object.objectID)
    stack.context.delete(object)
    try stack.context.save()
    #expect(stack.store.nodes.count == 0)
  }

  @Test("a read-only store accepts no new object, and no change")
  func readOnly() throws {
    let stack = try Stack("BinaryPropertyList")
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    try stack.coordinator.remove(stack.store)
    try stack.coordinator.addPersistentStore(type: stack.store.type, at: stack.store.path, isReadOnly: true)
    let context = ManagedObjectContext(stack.coordinator)
    let again = try context.existingObject(with: ada.objectID)
    try again.setValue("Bob", forKey: "name")
    #expect((graphError { try context.save() }?.underlying as? PersistentStoreError)?.code == .readOnly)
    context.rollback()
    _ = try context.insertNewObject(forEntityName: "Person")
    #expect((graphError { try context.save() }?.underlying as? PersistentStoreError)?.code == .readOnly)
  }

  @Test("a temporary ID has a different kind of URI, and a permanent one identifies its row whether or not it exists")
  func uris() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    #expect(ada.objectID.uriRepresentation.hasPrefix("x-coredata:///Person/t"))
    try stack.context.save()
    let uri = ada.objectID.uriRepresentation
    #expect(uri == "x-coredata://\(stack.store.identifier.uuidString)/Person/p1")
    #expect(stack.coordinator.managedObjectID(forURIRepresentation: uri) == ada.objectID)
    let missing = try #require(stack.coordinator.managedObjectID(forURIRepresentation: uri + "0"))
    #expect(stack.context.object(with: missing).objectID == missing)
    #expect(graphError { _ = try stack.context.existingObject(with: missing) }?.reason == .notInStore)
    #expect(
      stack.coordinator.managedObjectID(forURIRepresentation: "x-coredata://\(UUID().uuidString)/Person/p1") == nil)
  }
}

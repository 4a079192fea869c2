import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@Suite("Typed access and access by key are the same property") struct TypedAccessTests {
  /// How many scripts each test runs; `ATOMICSTORE_TYPED_SCRIPTS` asks for more.
  static let count = ProcessInfo.processInfo.environment["ATOMICSTORE_TYPED_SCRIPTS"].flatMap { Int($0) } ?? 8

  @Test(
    "whatever is done to an object, both kinds of access read and write the same",
    arguments: ["InMemory", "XML", "SQLiteGraph"])
  func equivalence(_ type: String) {
    for seed in 1...UInt64(Self.count) {
      let script = TypedScript(seed: seed, type: type)
      guard script.failure() != nil else { continue }
      let short = script.shortened()
      Issue.record("seed \(seed), \(short)\n\(short.failure() ?? "it no longer fails")")
      return
    }
  }

  private static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Car",
      properties: [
        .attribute("name", .string),
        .attribute("speed", .integer32, isTransient: true),
        .attribute(
          "gear", .integer16, isOptional: false, isTransient: true, defaultValue: .integer(1), maximum: .integer(6)),
        .attribute("isDriving", .boolean, isOptional: false, isTransient: true, defaultValue: .boolean(false)),
        .toOne("owner", "Owner", inverse: "cars"),
      ]),
    EntityDescription(
      name: "Owner", properties: [.toMany("cars", "Car", inverse: "owner"), .attribute("name", .string)]),
  ])

  private func stack(_ type: String = "InMemory") throws -> Stack {
    try Stack(type, model: try ManagedObjectModel(Self.model))
  }

  @Test(
    "a fetched object whose required transient attribute has a default can be changed and saved", arguments: Stack.types
  )
  func requiredTransient(_ type: String) throws {
    let stack = try stack(type)
    let car = try stack.insert("Car", ["name": "A"])
    let owner = try stack.insert("Owner", ["name": "Ada"])
    try car.setValue(owner, forKey: "owner")
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    let same = try other.existingObject(with: car.objectID)
    #expect(same["isDriving"] as? Bool == false)
    #expect(same["gear"] as? Int == 1)
    try same.setValue("B", forKey: "name")
    try other.save()
    // A deletion that changes the object through an inverse validates it, too.
    let result = try other.execute(BatchDeleteRequest(fetchRequest: FetchRequest(entityName: "Owner")))
    #expect(result.count == 1)
  }

  @Test("a transient attribute is validated by the rules of the model, and refuses what is not of its type")
  func rules() throws {
    let stack = try stack()
    let car = try stack.insert("Car", ["name": "A", "gear": 7])
    #expect(throws: ManagedObjectError.self) { try stack.context.save() }
    try car.setValue(nil, forKey: "gear")
    #expect(throws: ManagedObjectError.self) { try stack.context.save() }
    try car.setValue(6, forKey: "gear")
    try stack.context.save()
    #expect(throws: ManagedObjectError.self) { try car.setValue("fast", forKey: "speed") }
    #expect(throws: ManagedObjectError.self) { try car.setValue(Int64.max, forKey: "speed") }
  }

  @Test("a transient attribute has its default again after a refresh, and its former value after an undo")
  func defaults() throws {
    let stack = try stack()
    stack.context.undoManager = UndoHistory()
    let car = try stack.insert("Car", ["name": "A"])
    try stack.context.save()
    try car.setValue(3, forKey: "gear")
    stack.context.processPendingChanges()
    stack.context.undo()
    #expect(car["gear"] as? Int == 1)
    #expect(!car.hasChanges)
    stack.context.redo()
    #expect(car["gear"] as? Int == 3)
    try stack.context.save()
    #expect(car["gear"] as? Int == 3)
    stack.context.refresh(car, mergeChanges: false)
    #expect(car["gear"] as? Int == 1)
    let child = ManagedObjectContext(parent: stack.context)
    #expect(try child.existingObject(with: car.objectID).value(forKey: "gear") as? Int == 1)
  }

  @Test("predicates and sort keys see a transient attribute as access by key does")
  func fetching() throws {
    let stack = try stack()
    let cars = try (1...3).map { try stack.insert("Car", ["name": "\($0)", "gear": $0]) }
    try stack.context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Car", predicate: try FetchPredicate(format: "gear >= 2"))
    request.sortKeys = [SortKey("gear", isAscending: false)]
    #expect(try stack.context.fetch(request) == [cars[2], cars[1]])
    stack.context.refresh(cars[2], mergeChanges: false)
    #expect(try stack.context.fetch(request) == [cars[1]])
  }
}

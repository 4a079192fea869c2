import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

/// A value that no store knows: it survives exactly if its object does.
private final class Car: ManagedObject {
  @Managed("number") var number: Int
  @Managed("owner") var owner: Owner?
  var note: String?
}

private final class Owner: ManagedObject {
  @Managed("number") var number: Int
  @Managed("cars") var cars: Set<Car>
  @Managed("queue") var queue: [Car]
  @Managed("best") var best: Car?
}

@Suite("A relationship that was read holds its objects") struct HeldObjectTests {
  static let types = ["InMemory", "XML", "SQLiteGraph"]
  static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Owner",
      properties: [
        .attribute("number", .integer64), .toMany("cars", "Car", inverse: "owner"),
        .toMany("queue", "Car", isOrdered: true), .toOne("best", "Car"),
      ]),
    EntityDescription(
      name: "Car", properties: [.attribute("number", .integer64), .toOne("owner", "Owner", inverse: "cars")]),
  ])

  /// A context in which nothing was read, and the ID of an owner with three cars.
  private static func stored(_ type: String) throws -> (Stack, ManagedObjectContext, ManagedObjectID) {
    let stack = try Stack(
      type, model: try ManagedObjectModel(model), classes: ["Owner": Owner.self, "Car": Car.self])
    let owner = Owner(context: stack.context)
    let cars = (1...3).map { number in
      let car = Car(context: stack.context)
      car.number = number
      return car
    }
    (owner.cars, owner.queue, owner.best) = (Set(cars), cars.reversed(), cars[0])
    try stack.context.save()
    return (stack, ManagedObjectContext(stack.coordinator), owner.objectID)
  }

  private static func owner(_ context: ManagedObjectContext, _ id: ManagedObjectID) throws -> Owner {
    try #require(try context.existingObject(with: id) as? Owner)
  }

  /// The ways to read all three relationships.
  enum Way: String, CaseIterable, Sendable {
    case typed, key, subscripting, list, path
  }

  private static func read(_ owner: Owner, _ way: Way) throws -> [Car] {
    let found: [Any?] =
      switch way {
      case .typed: [owner.best, owner.cars, owner.queue]
      case .key: try ["best", "cars", "queue"].map { try owner.value(forKey: $0) }
      case .subscripting: ["best", "cars", "queue"].map { owner[$0] }
      case .list: try ["best", "cars", "queue"].map { try owner.objects(forRelationshipNamed: $0) }
      case .path:
        try ["best.owner.best", "best.owner.cars", "best.owner.queue"].map { try owner.value(forKeyPath: $0) }
      }
    return found.flatMap { value -> [Car] in
      if let car = value as? Car { return [car] }
      if let set = value as? Set<ManagedObject> { return set.compactMap { $0 as? Car } }
      return (value as? [ManagedObject] ?? []).compactMap { $0 as? Car }
    }
  }

  @Test("reading again gives the same instances", arguments: types, Way.allCases)
  func sameInstances(_ type: String, _ way: Way) throws {
    let (stack, context, id) = try Self.stored(type)
    let owner = try Self.owner(context, id)
    #expect(try Self.read(owner, way).count == 7)
    for car in try Self.read(owner, way) { car.note = "\(car.number)" }
    for other in Way.allCases {
      #expect(try Self.read(owner, other).allSatisfy { $0.note == "\($0.number)" }, "\(other)")
    }
    #expect(!owner.hasFault(forRelationshipNamed: "cars"))
    #expect(stack.store.isOpen)
  }

  @Test("what is only visited by a predicate, a sort key or a count is not held", arguments: types)
  func notRead(_ type: String) throws {
    let (stack, context, id) = try Self.stored(type)
    let owner = try Self.owner(context, id)
    _ = try context.fetch(
      FetchRequest<Owner>(
        entityName: "Owner", predicate: try FetchPredicate(format: "ANY cars.number > 1 AND best.number == 1")))
    #expect(try owner.count(forRelationshipNamed: "cars") == 3)
    #expect(try owner.objectIDs(forRelationshipNamed: "cars").count == 3)
    #expect(context.registeredObjects == [owner])
    #expect(stack.store.isOpen)
  }

  /// What ends the cycle that the objects have made.
  enum End: String, CaseIterable, Sendable {
    case reset, released, refreshed, refreshedWithChanges, allRefreshed, deleted, rolledBack
  }

  private struct Weak {
    weak var object: ManagedObject?
  }

  @Test("the memory comes back", arguments: types, End.allCases)
  func comesBack(_ type: String, _ end: End) throws {
    let (stack, first, id) = try Self.stored(type)
    var context: ManagedObjectContext? = first
    if end == .released { context = ManagedObjectContext(stack.coordinator) }
    var weakObjects: [Weak] = []
    func readAll(_ context: ManagedObjectContext) throws {
      let owner = try Self.owner(context, id)
      let found: [ManagedObject] = try Self.read(owner, .typed)
      weakObjects = (found + [owner]).map { Weak(object: $0) }
      for car in owner.cars { #expect(car.owner === owner) }
    }
    try readAll(try #require(context))
    #expect(weakObjects.allSatisfy { $0.object != nil }, "a cycle keeps them alive")
    func finish(_ context: ManagedObjectContext) throws {
      switch end {
      case .reset: context.reset()
      case .released: break
      case .refreshed:
        for object in context.registeredObjects { context.refresh(object, mergeChanges: false) }
      case .refreshedWithChanges:
        for object in context.registeredObjects { context.refresh(object, mergeChanges: true) }
      case .allRefreshed: context.refreshAllObjects()
      case .deleted:
        for object in context.registeredObjects { context.delete(object) }
        try context.save()
      case .rolledBack:
        for object in context.registeredObjects { object["number"] = 99 }
        context.rollback()
      }
      // Until then the objects are held for the next notification.
      context.processPendingChanges()
    }
    try finish(try #require(context))
    if end == .released { context = nil }
    #expect(weakObjects.allSatisfy { $0.object == nil }, "\(weakObjects.filter { $0.object != nil }.count) are left")
    _ = (first, context)
  }

  @Test("a child context and its parent give their memory back", arguments: types, [true, false])
  func children(_ type: String, _ isReset: Bool) throws {
    let (stack, parent, id) = try Self.stored(type)
    var weakObjects: [Weak] = []
    func work() throws {
      let child = ManagedObjectContext(parent: parent)
      let owner = try Self.owner(child, id)
      let found: [ManagedObject] = try Self.read(owner, .typed)
      weakObjects = (found + [owner]).map { Weak(object: $0) }
      weakObjects += parent.registeredObjects.map { Weak(object: $0) }
      for car in owner.cars { #expect(car.owner === owner) }
      owner.best?.number = 7
      try child.save()
      try parent.save()
      if isReset { child.reset() }
    }
    try work()
    parent.refreshAllObjects()
    parent.processPendingChanges()
    #expect(weakObjects.allSatisfy { $0.object == nil })
    #expect(parent.registeredObjects.isEmpty)
    #expect(stack.store.isOpen)
  }

  @Test("a deleted object is not held by what it was related to", arguments: types, [true, false])
  func deletedMember(_ type: String, _ hasUndo: Bool) throws {
    let (stack, context, id) = try Self.stored(type)
    if hasUndo { context.undoManager = UndoHistory() }
    let owner = try Self.owner(context, id)
    _ = try Self.read(owner, .typed)
    weak var deleted: ManagedObject?
    func delete() throws {
      let car = try #require(owner.best)
      deleted = car
      // Without an inverse the owner is not notified.
      (owner.best, owner.queue) = (nil, owner.queue.filter { $0 !== car })
      context.delete(car)
      try context.save()
      context.undoManager?.removeAllActions()
    }
    let notes = owner.queue.map(\.objectID)
    try delete()
    #expect(deleted == nil)
    #expect(owner.cars.count == 2 && owner.queue.count == 2 && notes.count == 3)
    #expect(stack.store.isOpen)
  }

  @Test(
    "a relationship that was read and then changed holds what it was changed to, when that is saved", arguments: types)
  func changed(_ type: String) throws {
    let (stack, context, id) = try Self.stored(type)
    let owner = try Self.owner(context, id)
    _ = try Self.read(owner, .typed)
    func change() {
      let new = Car(context: context)
      (new.number, new.note) = (9, "new")
      owner.cars.insert(new)
      owner.queue.insert(new, at: 0)
      owner.best = new
    }
    change()
    try context.save()
    #expect(owner.best?.note == "new")
    #expect(owner.queue.first?.note == "new")
    #expect(owner.cars.contains { $0.note == "new" })
    #expect(owner.cars.count == 4)
    #expect(stack.store.isOpen)
  }

  @Test("a long chain that was read is released without recursion")
  func longChain() throws {
    let model = ModelDescription(entities: [
      EntityDescription(name: "Link", properties: [.toOne("next", "Link"), .attribute("number", .integer64)])
    ])
    let stack = try Stack(model: try ManagedObjectModel(model))
    var last: ManagedObject?
    let count = 20_000
    for number in 0..<count {
      let link = try stack.insert("Link", ["number": number])
      if let last { try link.setValue(last, forKey: "next") }
      last = link
    }
    try stack.context.save()
    let id = try #require(last).objectID
    last = nil
    let context = ManagedObjectContext(stack.coordinator)
    func walk() throws {
      let first = try context.existingObject(with: id)
      var link: ManagedObject? = first
      var length = 0
      while let here = link {
        length += 1
        link = here["next"] as? ManagedObject
      }
      #expect(length == count)
      #expect(context.registeredObjects.count == count)
    }
    try walk()
    #expect(context.registeredObjects.isEmpty)
  }

  @Test("the results of a list, and what was read through them, are released with the list and the context's reset")
  func liveList() throws {
    let (stack, context, id) = try Self.stored("InMemory")
    var weakObjects: [Weak] = []
    func work() throws {
      let request = FetchRequest<Car>(entityName: "Car", sortKeys: [SortKey("number")])
      let list = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
      try list.performFetch()
      let cars = try #require(list.fetchedObjects)
      #expect(cars.count == 3)
      for car in cars { #expect(car.owner?.cars.count == 3) }
      weakObjects = context.registeredObjects.map { Weak(object: $0) }
      #expect(weakObjects.count == 4)
    }
    try work()
    #expect(weakObjects.allSatisfy { $0.object != nil })
    context.reset()
    #expect(weakObjects.allSatisfy { $0.object == nil })
    #expect(id.storeIdentifier == stack.store.identifier)
  }
}

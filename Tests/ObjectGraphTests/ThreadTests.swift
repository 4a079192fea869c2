import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Synchronization
import Testing

/// Contexts that each stay with one thread, on a coordinator that all share. What they meet in, ThreadSanitizer sees
/// here: versions of nodes, indexes, saves, observers, and what is parsed once for all.
@Suite("Contexts on several threads") struct ThreadTests {
  static let threads = 4
  static let rounds = 12

  /// Threads of the system, which wait at a gate and start at once; the first error of any.
  static func run(_ body: @escaping @Sendable (Int) throws -> Void) throws {
    let failure = Mutex<(any Error)?>(nil)
    let group = DispatchGroup()
    let gate = DispatchSemaphore(value: 0)
    for number in 0..<threads {
      group.enter()
      Thread.detachNewThread {
        gate.wait()
        do { try body(number) } catch { failure.withLock { $0 = $0 ?? error } }
        group.leave()
      }
    }
    for _ in 0..<threads { gate.signal() }
    group.wait()
    if let error = failure.withLock({ $0 }) { throw error }
  }

  @Test("everything that they insert is saved, and concurrent readers find complete objects", arguments: Stack.types)
  func insertions(_ type: String) throws {
    let stack = try Stack(type)
    let marketing = try stack.insert("Department", ["name": "Marketing"])
    try stack.context.save()
    let (coordinator, department) = (stack.coordinator, marketing.objectID)
    try Self.run { number in
      let context = ManagedObjectContext(coordinator)
      for round in 0..<Self.rounds {
        let person = try context.insertNewObject(forEntityName: "Employee")
        try person.setValue("\(number) \(round)", forKey: "name")
        try person.setValue(Double(round), forKey: "salary")
        let badge = try context.insertNewObject(forEntityName: "Badge")
        try badge.setValue(Int64(round), forKey: "number")
        try person.setValue(badge, forKey: "badge")
        try context.save()
        let reader = ManagedObjectContext(coordinator)
        let request = FetchRequest<ManagedObject>(
          entityName: "Person",
          predicate: try FetchPredicate(format: "badge.number == \(round) AND name BEGINSWITH '\(number) '"))
        let found = try reader.fetch(request)
        #expect(found.map { $0["name"] as? String } == ["\(number) \(round)"])
        #expect(try reader.existingObject(with: department)["name"] as? String == "Marketing")
      }
    }
    #expect(try stack.reread("Employee").count == Self.threads * Self.rounds)
  }

  @Test(
    "concurrent changes to one object are not lost: each is saved, or refused as a conflict", arguments: Stack.types)
  func additions(_ type: String) throws {
    let stack = try Stack(type)
    let ada = try stack.insert("Person", ["name": "Ada", "age": 0])
    try stack.context.save()
    let (coordinator, id) = (stack.coordinator, ada.objectID)
    let added = Mutex(0)
    try Self.run { _ in
      for _ in 0..<Self.rounds {
        let context = ManagedObjectContext(coordinator)
        let person = try context.existingObject(with: id)
        try person.setValue((person["age"] as? Int ?? 0) + 1, forKey: "age")
        do throws(ManagedObjectError) { try context.save() } catch {
          guard error.code == .managedObjectMerge else { throw error }
          continue
        }
        added.withLock { $0 += 1 }
      }
    }
    #expect(try stack.reread("Person").map { $0["age"] as? Int } == [added.withLock { $0 }])
  }

  @Test(
    "no save fails because others are faster, and relationships to which all add keep every addition",
    arguments: Stack.types)
  func contention(_ type: String) throws {
    let stack = try Stack(type)
    let sales = try stack.insert("Department", ["name": "Sales"])
    try stack.context.save()
    let (coordinator, id) = (stack.coordinator, sales.objectID)
    try Self.run { number in
      let context = ManagedObjectContext(coordinator)
      let department = try context.existingObject(with: id)
      for round in 0..<Self.rounds {
        let person = try context.insertNewObject(forEntityName: "Person")
        try person.setValue("\(number) \(round)", forKey: "name")
        try person.setValue(department, forKey: "department")
        try context.save()
      }
    }
    let other = try stack.reopened()
    let again = try #require(try other.fetch("Department").first)
    #expect(try again.count(forRelationshipNamed: "employees") == Self.threads * Self.rounds)
    #expect(inverseProblems(in: other.store.nodes).isEmpty)
  }

  @Test("a slow save among fast ones completes, also if its hooks save on another thread and wait for that")
  func slowSave() throws {
    let stack = try Stack(classes: ["Person": Waiting.self])
    let coordinator = stack.coordinator
    let isDone = Mutex(false)
    try Self.run { number in
      if number == 0 {
        defer { isDone.withLock { $0 = true } }
        let context = ManagedObjectContext(coordinator)
        context.mergePolicy = .mergeByPropertyObjectTrump
        // Enough that quick saves come between.
        for round in 0..<300 {
          try context.insertNewObject(forEntityName: "Person").setValue("slow \(round)", forKey: "name")
        }
        try context.save()
      } else {
        let context = ManagedObjectContext(coordinator)
        for round in 0..<400 where !isDone.withLock({ $0 }) {
          try context.insertNewObject(forEntityName: "Task").setValue("\(number) \(round)", forKey: "title")
          try context.save()
        }
      }
    }
    #expect(try stack.reread("Person").count == 300)
    #expect(inverseProblems(in: try stack.reopened().store.nodes).isEmpty)
  }

  @Test("an index that all need at the same time is built, and used by all")
  func indexes() throws {
    let stack = try Stack(model: RowIndexTests.model)
    try RowIndexTests.fill(stack, 0..<100)
    try stack.context.save()
    let coordinator = stack.coordinator
    try Self.run { _ in
      let context = ManagedObjectContext(coordinator)
      for round in 0..<Self.rounds * 2 {
        for text in ["number == 8", "name == 'item 8'", "weight == 4"] {
          let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: try FetchPredicate(format: text))
          let found = try context.fetch(request)
          #expect(found.contains { $0["name"] as? String == "item 8" }, "\(text), \(round)")
        }
      }
    }
  }

  @Test("stores are added and removed while others are read and saved")
  func stores() throws {
    let stack = try Stack()
    _ = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    let coordinator = stack.coordinator
    let folder = stack.folder.path
    let main = stack.store
    let events = Mutex(0)
    let observation = coordinator.observe { _ in events.withLock { $0 += 1 } }
    try Self.run { number in
      for round in 0..<Self.rounds {
        if number % 2 == 0 {
          let guest = try coordinator.addPersistentStore(type: "XML", at: "\(folder)/\(number)-\(round).xml")
          try coordinator.remove(guest)
        } else {
          let context = ManagedObjectContext(coordinator)
          let person = try context.insertNewObject(forEntityName: "Person")
          try person.setValue("\(number) \(round)", forKey: "name")
          try context.assign(person, to: main)
          try context.save()
          #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")) > round)
        }
      }
    }
    withExtendedLifetime(observation) {}
    #expect(coordinator.persistentStores.count == 1)
    #expect(events.withLock { $0 } >= Self.threads / 2 * Self.rounds * 3)
    #expect(try stack.reread("Person").count == 1 + Self.threads / 2 * Self.rounds)
  }
}

/// An object whose first save saves another context, on another thread, and waits for that.
private final class Waiting: ManagedObject {
  override func willSave() {
    guard let coordinator = managedObjectContext?.persistentStoreCoordinator, self["name"] as? String == "slow 0" else {
      return
    }
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let context = ManagedObjectContext(coordinator)
      _ = try? context.insertNewObject(forEntityName: "Badge")
      try? context.save()
      done.signal()
    }
    done.wait()
  }
}

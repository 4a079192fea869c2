import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("No save publishes a relationship whose two ends disagree") struct InverseInvariantTests {
  private static func reference(_ entity: String, _ number: Int64) -> ObjectReference {
    ObjectReference(entityName: entity, reference: .integer(number))
  }

  /// Sales with Ada, who has badge 1 and task 1; Bob, and badge 2, are free.
  private func stack(_ type: String) throws -> Stack {
    let stack = try Stack(type)
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ada = try stack.insert("Person", ["name": "Ada", "department": sales])
    _ = try stack.insert("Person", ["name": "Bob"])
    let badges = try [1, 2].map { try stack.insert("Badge", ["number": $0]) }
    try ada.setValue(badges[0], forKey: "badge")
    try ada.add(try stack.insert("Task", ["title": "t"]), to: "tasks")
    try stack.context.save()
    return stack
  }

  private func snapshot(_ stack: Stack, _ object: ManagedObject, _ values: [String: StoredValue])
    -> ManagedObjectSnapshot
  {
    var snapshot = ManagedObjectSnapshot(entity: object.entity.index, reference: object.objectID.reference)
    for (key, value) in values { if let slot = object.entity.slot(named: key) { snapshot.values[slot] = value } }
    return snapshot
  }

  /// What is changed at one end alone, and the two ends that the error names.
  enum OneSided: String, CaseIterable {
    case gainsOne, losesOne, gainsMany, losesMany, movesPartner, gainsOrdered, inserted
  }

  @Test(
    "changes to only one end are refused, naming both ends, and nothing is written", arguments: Stack.types,
    OneSided.allCases)
  func refuses(_ type: String, _ kind: OneSided) throws {
    let stack = try stack(type)
    let sales = try #require(try stack.first("Department", "Sales"))
    let (ada, bob) = (try #require(try stack.first("Person", "Ada")), try #require(try stack.first("Person", "Bob")))
    let task = try #require(try stack.first("Task", "t", "title"))
    let badge = try #require(try stack.fetch("Badge").first { $0["number"] as? Int == 2 })
    func name(_ object: ManagedObject) -> ObjectReference {
      ObjectReference(entityName: object.entity.name, reference: object.objectID.reference ?? .integer(0))
    }
    var changes = StoreChanges()
    let ends: [String]
    switch kind {
    case .gainsOne:
      changes.updated = [snapshot(stack, bob, ["department": .toOne(name(sales))])]
      ends = ["Person/", "department", "Department/", "employees"]
    case .losesOne:
      changes.updated = [snapshot(stack, ada, ["department": .null])]
      ends = ["department", "employees", "still names"]
    case .gainsMany:
      changes.updated = [snapshot(stack, sales, ["employees": .toMany([name(ada), name(bob)])])]
      ends = ["employees", "Person/", "department"]
    case .losesMany:
      changes.updated = [snapshot(stack, sales, ["employees": .toMany([])])]
      ends = ["employees", "department", "still names"]
    case .movesPartner:
      changes.updated = [
        snapshot(stack, ada, ["badge": .toOne(name(badge))]), snapshot(stack, badge, ["owner": .toOne(name(ada))]),
      ]
      ends = ["badge", "owner", "still names"]
    case .gainsOrdered:
      changes.updated = [snapshot(stack, bob, ["tasks": .toMany([name(task)])])]
      ends = ["tasks", "people"]
    case .inserted:
      var new = ManagedObjectSnapshot(entity: bob.entity.index, reference: nil)
      if let slot = bob.entity.slot(named: "department") { new.values[slot] = .toOne(name(sales)) }
      changes.inserted = [new]
      ends = ["department", "employees"]
    }
    let before = try Data(
      contentsOf: URL(fileURLWithPath: type == "CSV" ? stack.store.path + "/Person.csv" : stack.store.path))
    do throws(PersistentStoreError) {
      try stack.coordinator.save(stack.store, changes: changes)
      Issue.record("the save did not fail")
    } catch {
      #expect(error.code == .inverseMismatch)
      for end in ends { #expect(error.description.contains(end), "\(error)") }
    }
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: type == "CSV" ? stack.store.path + "/Person.csv" : stack.store.path))
        == before)
    #expect(inverseProblems(in: stack.store.nodes).isEmpty)
  }

  @Test("changes to both ends are saved, in any order", arguments: [true, false])
  func accepts(_ isReversed: Bool) throws {
    let stack = try stack("BinaryPropertyList")
    let sales = try #require(try stack.first("Department", "Sales"))
    let (ada, bob) = (try #require(try stack.first("Person", "Ada")), try #require(try stack.first("Person", "Bob")))
    func name(_ object: ManagedObject) -> ObjectReference {
      ObjectReference(entityName: object.entity.name, reference: object.objectID.reference ?? .integer(0))
    }
    var updated = [
      snapshot(stack, sales, ["employees": .toMany([name(bob)])]), snapshot(stack, ada, ["department": .null]),
      snapshot(stack, bob, ["department": .toOne(name(sales))]),
    ]
    if isReversed { updated.reverse() }
    try stack.coordinator.save(stack.store, changes: StoreChanges(updated: updated))
    #expect(inverseProblems(in: try stack.reopened().store.nodes).isEmpty)
  }

  @Test(
    "long lists are checked as well", .enabled(if: Stack.isLoaded, "a database has one of the two ends"),
    arguments: [true, false])
  func long(_ isComplete: Bool) throws {
    let stack = try Stack()
    let model = CompanyGraph.model
    let (person, department) = (
      try #require(model.entity(named: "Person")), try #require(model.entity(named: "Department"))
    )
    let (to, back) = (try #require(person.slot(named: "department")), try #require(department.slot(named: "employees")))
    var changes = StoreChanges()
    let count: Int64 = 2000
    for number in 1...count {
      changes.inserted.append(
        ManagedObjectSnapshot(
          entity: person.index, reference: .integer(number), values: [to: .toOne(Self.reference("Department", 1))]))
    }
    let members = (1...count).filter { isComplete || $0 != 1234 }.map { Self.reference("Person", $0) }
    changes.inserted.append(
      ManagedObjectSnapshot(entity: department.index, reference: .integer(1), values: [back: .toMany(members)]))
    do throws(PersistentStoreError) {
      try stack.coordinator.save(stack.store, changes: changes)
      #expect(isComplete)
    } catch {
      #expect(!isComplete && error.code == .inverseMismatch && error.description.contains("Person/1234"), "\(error)")
    }
  }
}

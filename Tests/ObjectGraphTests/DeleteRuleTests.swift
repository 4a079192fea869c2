import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Delete rules") struct DeleteRuleTests {
  /// A department with two employees, two rooms, a visitor in the first room, and as many contracts as wished.
  private struct Office {
    let stack: Stack
    let sales: ManagedObject
    let employees: [ManagedObject]
    let rooms: [ManagedObject]
    let visitor: ManagedObject

    init(_ type: String = "BinaryPropertyList", contracts: Int = 0, saved: Bool = true) throws {
      let stack = try Stack(type)
      let sales = try stack.insert("Department", ["name": "Sales"])
      employees = try ["A", "B"].map { try stack.insert("Employee", ["name": $0, "department": sales]) }
      rooms = try [1, 2].map { try stack.insert("Room", ["number": $0, "department": sales]) }
      self.stack = stack
      self.sales = sales
      visitor = try stack.insert("Visitor", ["name": "V", "host": sales, "room": rooms[0]])
      for index in 0..<contracts { _ = try stack.insert("Contract", ["title": "c\(index)", "department": sales]) }
      if saved { try stack.context.save() }
    }
  }

  @Test("deny: the source cannot be deleted while there is at least one object at the destination")
  func deny() throws {
    let office = try Office(contracts: 7)
    let context = office.stack.context
    context.delete(office.sales)
    let error = try #require(graphError { try context.save() })
    #expect(error.code == .validationRelationshipDeniedDelete)
    #expect(error.objectID == office.sales.objectID)
    #expect(error.key == "contracts")
    #expect(error.rule == "Deny")
    #expect(error.message.contains("Contract/1") && error.message.contains("and 2 more"))
    // The deletion is still pending, and nothing was written.
    #expect(context.deletedObjects.contains(office.sales))
    #expect(office.stack.store.nodes.count == 13)
  }

  @Test(
    "deny: once the objects are moved elsewhere, or deleted as well, the source can be deleted",
    arguments: [true, false])
  func denyLifted(_ transfer: Bool) throws {
    let office = try Office(contracts: 2)
    let context = office.stack.context
    let contracts = try office.sales.objects(forRelationshipNamed: "contracts")
    for contract in contracts {
      if transfer { try contract.setValue(nil, forKey: "department") } else { context.delete(contract) }
    }
    context.delete(office.sales)
    try context.save()
    #expect(try office.stack.fetch("Department").isEmpty)
    #expect(try office.stack.fetch("Contract").count == (transfer ? 2 : 0))
  }

  @Test("deny also applies to an object that became a fault after it was deleted")
  func denyAfterRefresh() throws {
    let office = try Office(contracts: 1)
    office.stack.context.delete(office.sales)
    office.stack.context.refresh(office.sales, mergeChanges: false)
    #expect(graphError { try office.stack.context.save() }?.code == .validationRelationshipDeniedDelete)
  }

  @Test("deny also applies to objects that a cascade would delete")
  func denyInCascade() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Firm",
          properties: [
            .toMany("offices", "Office", inverse: "firm", deleteRule: .cascade)
          ]),
        EntityDescription(
          name: "Office",
          properties: [
            .toOne("firm", "Firm", inverse: "offices"),
            .toMany("tenants", "Tenant", inverse: "office", deleteRule: .deny),
          ]),
        EntityDescription(
          name: "Tenant",
          properties: [
            .toOne("office", "Office", inverse: "tenants")
          ]),
      ]))
    let stack = try Stack(model: model)
    let firm = try stack.insert("Firm")
    let office = try stack.insert("Office", ["firm": firm])
    let tenant = try stack.insert("Tenant", ["office": office])
    try stack.context.save()
    let plan = stack.context.deletionPlan(for: firm)
    #expect(!plan.isAllowed)
    #expect(plan.denied.map(\.object) == [tenant])
    #expect(plan.denied.map(\.path) == ["Firm.offices.tenants"])
    stack.context.delete(firm)
    #expect(graphError { try stack.context.save() }?.objectID == office.objectID)
    stack.context.rollback()
    #expect(office["firm"] as? ManagedObject === firm)
    #expect(!stack.context.hasChanges)
  }

  @Test("nullify: the inverse of the objects at the destination is set to null", arguments: Stack.types)
  func nullify(_ type: String) throws {
    let office = try Office(type)
    office.stack.context.delete(office.sales)
    try office.stack.context.save()
    #expect(office.employees.allSatisfy { $0["department"] == nil && !$0.isDeleted })
    let other = try office.stack.reopened()
    #expect(try other.fetch("Employee").map { $0["department"] == nil } == [true, true])
  }

  @Test("nullify removes the deleted object from a to-many at the other end, also from ordered ones")
  func nullifyToMany() throws {
    let stack = try Stack()
    let people = try ["A", "B", "C"].map { try stack.insert("Person", ["name": $0]) }
    let task = try stack.insert("Task", ["title": "t"])
    for person in people { try person.add(task, to: "tasks") }
    try people[0].setValue(Set(people), forKey: "reports")
    try stack.context.save()
    stack.context.delete(people[1])
    stack.context.processPendingChanges()
    #expect(try sorted(people[0], "reports") == ["A", "C"])
    #expect(try sorted(task, "people") == ["A", "C"])
    stack.context.delete(task)
    stack.context.processPendingChanges()
    #expect(try people[0].count(forRelationshipNamed: "tasks") == 0)
  }

  @Test("cascade: the objects at the destination are deleted too", arguments: Stack.types)
  func cascade(_ type: String) throws {
    let office = try Office(type)
    office.stack.context.delete(office.sales)
    office.stack.context.processPendingChanges()
    #expect(office.rooms.allSatisfy { $0.isDeleted })
    try office.stack.context.save()
    #expect(try office.stack.reopened().store.nodes.count == 3)
  }

  @Test(
    "no action: the objects at the destination still refer to the deleted one", arguments: Stack.types)
  func noAction(_ type: String) throws {
    let office = try Office(type)
    let context = office.stack.context
    context.delete(office.sales)
    context.processPendingChanges()
    #expect(office.visitor["host"] as? ManagedObject === office.sales)
    #expect(!office.visitor.isUpdated)
    try context.save()
    let host = try #require(office.visitor["host"] as? ManagedObject)
    #expect(host === office.sales)
    #expect(host.isFault)
    let error = try #require(graphError { _ = try host.value(forKey: "name") })
    #expect(error.reason == .deletedHere)
    #expect(error.message.contains("Visitor.host of Visitor/6"))
    // The file names nothing that it does not hold.
    let other = try office.stack.reopened()
    #expect(try #require(try other.first("Visitor", "V"))["host"] == nil)
    context.refresh(office.visitor, mergeChanges: false)
    #expect(office.visitor["host"] == nil)
  }

  @Test("with no action it is up to you to set the inverse to something meaningful")
  func noActionRepaired() throws {
    let office = try Office()
    let lab = try office.stack.insert("Department", ["name": "Lab"])
    office.stack.context.delete(office.sales)
    try office.visitor.setValue(lab, forKey: "host")
    try office.stack.context.save()
    #expect(try names(lab, "visitors") == ["V"])
    let other = try office.stack.reopened()
    #expect((try #require(try other.first("Visitor", "V"))["host"] as? ManagedObject)?["name"] as? String == "Lab")
  }

  @Test(
    "the effects of a deletion are visible only when pending changes are processed",
    arguments: ["process", "fetch"])
  func endOfEvent(_ way: String) throws {
    let office = try Office()
    let context = office.stack.context
    context.delete(office.sales)
    #expect(office.sales.isDeleted)
    #expect(office.employees[0]["department"] as? ManagedObject === office.sales)
    #expect(!office.rooms[0].isDeleted)
    if way == "process" { context.processPendingChanges() } else { _ = try office.stack.fetch("Visitor") }
    #expect(office.employees[0]["department"] == nil)
    #expect(office.rooms[0].isDeleted)
    #expect(context.updatedObjects == Set(office.employees))
  }

  @Test("without propagation at the end of the event they are visible at once", arguments: [true, false])
  func atOnce(_ saved: Bool) throws {
    let office = try Office(saved: saved)
    office.stack.context.propagatesDeletesAtEndOfEvent = false
    office.stack.context.delete(office.sales)
    #expect(office.employees.allSatisfy { $0["department"] == nil })
    #expect(office.rooms.allSatisfy { saved ? $0.isDeleted : $0.unavailableReason == .neverSaved })
    try office.stack.context.save()
    #expect(try office.stack.fetch("Room").isEmpty)
  }
}

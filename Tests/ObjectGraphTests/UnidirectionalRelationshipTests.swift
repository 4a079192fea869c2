import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

/// The guide's example: Employee.department, mandatory, Deny, without an inverse.
@Suite("Relationships without an inverse") struct UnidirectionalRelationshipTests {
  private static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Department", properties: [.attribute("name", .string)]),
    EntityDescription(
      name: "Employee",
      properties: [
        .attribute("name", .string),
        .toOne("department", "Department", isOptional: false, deleteRule: .deny),
        .toMany("visited", "Department"),
      ]),
  ])

  private struct Firm {
    let stack: Stack
    let department: ManagedObject
    let employee: ManagedObject
    init(_ type: String = "XML") throws {
      stack = try Stack(type, model: try ManagedObjectModel(UnidirectionalRelationshipTests.description))
      department = try stack.insert("Department", ["name": "Sales"])
      employee = try stack.insert("Employee", ["name": "Ada", "department": department])
      try stack.context.save()
    }
  }

  @Test(
    "the destination's deletion is saved, though the relationship is mandatory: the employee is not marked as changed",
    arguments: Stack.types)
  func saves(_ type: String) throws {
    let firm = try Firm(type)
    firm.stack.context.delete(firm.department)
    firm.stack.context.processPendingChanges()
    #expect(!firm.employee.hasChanges)
    try firm.stack.context.save()
    #expect(try firm.stack.fetch("Department").isEmpty)
  }

  @Test("afterwards the relationship is a fault without an object rather than nil")
  func faultToNowhere() throws {
    let firm = try Firm()
    let id = firm.department.objectID
    firm.stack.context.delete(firm.department)
    try firm.stack.context.save()
    let nowhere = try #require(firm.employee["department"] as? ManagedObject)
    #expect(nowhere === firm.department)
    #expect(nowhere.isFault)
    #expect(nowhere["name"] == nil)
    let error = try #require(graphError { _ = try nowhere.value(forKey: "name") })
    #expect(error.code == .managedObjectReferentialIntegrity)
    #expect(error.reason == .deletedHere)
    #expect(error.objectID == id)
    #expect(error.message == "Department/1 was deleted; it was reached by Employee.department of Employee/2")
    #expect(graphError { _ = try firm.employee.value(forKeyPath: "department.name") }?.reason == .deletedHere)
  }

  @Test("a new context shows nil there")
  func refreshed() throws {
    let firm = try Firm()
    firm.stack.context.delete(firm.department)
    try firm.stack.context.save()
    firm.stack.context.refresh(firm.employee, mergeChanges: false)
    #expect(firm.employee["department"] == nil)
    let other = try firm.stack.reopened()
    #expect(try #require(try other.first("Employee", "Ada"))["department"] == nil)
  }

  @Test("a nil instead of the deleted object makes the save fail, correctly")
  func setToNil() throws {
    let firm = try Firm()
    firm.stack.context.delete(firm.department)
    try firm.employee.setValue(nil, forKey: "department")
    let error = try #require(graphError { try firm.stack.context.save() })
    #expect(error.code == .validationMissingMandatoryProperty)
    #expect(error.key == "department")
    #expect(firm.stack.store.nodes.count == 2)
  }

  @Test("if the employee is changed in any other way, it is validated, and the save fails", arguments: [true, false])
  func otherChange(_ isBefore: Bool) throws {
    let firm = try Firm()
    firm.stack.context.delete(firm.department)
    if !isBefore { try firm.stack.context.save() }
    try firm.employee.setValue("Bob", forKey: "name")
    let error = try #require(graphError { try firm.stack.context.save() })
    #expect(error.code == .validationMissingMandatoryProperty)
    #expect(error.key == "department")
  }

  @Test("deny forbids the deletion of the source, not of the destination")
  func denySource() throws {
    let firm = try Firm()
    firm.stack.context.delete(firm.employee)
    #expect(graphError { try firm.stack.context.save() }?.code == .validationRelationshipDeniedDelete)
  }

  @Test("a one-way to-many loses the deleted object with the save")
  func toMany() throws {
    let firm = try Firm()
    let lab = try firm.stack.insert("Department", ["name": "Lab"])
    try firm.employee.setValue([firm.department, lab], forKey: "visited")
    try firm.stack.context.save()
    try firm.employee.setValue(lab, forKey: "department")
    firm.stack.context.delete(firm.department)
    try firm.stack.context.save()
    #expect(try names(firm.employee, "visited") == ["Lab"])
    let other = try firm.stack.reopened()
    #expect(try names(try #require(try other.first("Employee", "Ada")), "visited") == ["Lab"])
  }

  @Test("with an inverse everything behaves as expected: the employee is marked as changed and validated")
  func bidirectional() throws {
    var description = Self.description
    description.entities[0].properties.append(
      .toMany("staff", "Employee", inverse: "department"))
    description.entities[1].properties[1] = .toOne(
      "department", "Department", inverse: "staff", isOptional: false, deleteRule: .deny)
    let stack = try Stack(model: try ManagedObjectModel(description))
    let department = try stack.insert("Department", ["name": "Sales"])
    let employee = try stack.insert("Employee", ["name": "Ada", "department": department])
    try stack.context.save()
    stack.context.delete(department)
    stack.context.processPendingChanges()
    #expect(employee.isUpdated)
    #expect(employee["department"] == nil)
    #expect(graphError { try stack.context.save() }?.code == .validationMissingMandatoryProperty)
  }

  @Test("the model check warns of a relationship without an inverse")
  func warning() throws {
    let warnings = try ManagedObjectModel(Self.description).warnings
    #expect(warnings.filter { $0.code == .noInverse }.map(\.propertyName) == ["department", "visited"])
  }
}

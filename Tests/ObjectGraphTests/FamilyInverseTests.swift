import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Inverses within a family of entities") struct FamilyInverseTests {
  static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Department",
      properties: [
        // It knows of no inverse, and leads to an entity above the one whose relationship takes it for its own.
        .relationship(RelationshipDescription(name: "guide", destinationEntityName: "Person")),
        // It leads to an entity below the one that takes it for its inverse.
        .relationship(RelationshipDescription(name: "boss", destinationEntityName: "Manager", inverseName: "heads")),
      ]),
    EntityDescription(
      name: "Person", properties: [.attribute(AttributeDescription(name: "name", type: .string))],
      subentities: [
        EntityDescription(
          name: "Employee",
          properties: [
            .relationship(RelationshipDescription(name: "guides", destinationEntityName: "Department", inverseName: "guide")),
            .relationship(RelationshipDescription(name: "heads", destinationEntityName: "Department", inverseName: "boss")),
          ], subentities: [EntityDescription(name: "Manager")])
      ]),
  ])

  @Test("a relationship that the one it names does not name in turn is one-way")
  func above() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.description))
    let sales = try stack.insert("Department")
    let pat = try stack.insert("Person", ["name": "Pat"])
    let eve = try stack.insert("Employee", ["name": "Eve"])
    try sales.setValue(pat, forKey: "guide")
    try eve.setValue(sales, forKey: "guides")
    #expect(sales["guide"] as? ManagedObject === pat)
    try stack.context.save()
    stack.context.delete(sales)
    stack.context.processPendingChanges()
    #expect(eve["guides"] as? ManagedObject === sales && !eve.hasChanges)
  }

  @Test("an object that the inverse cannot lead to is refused, and neither end changes")
  func below() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.description))
    let sales = try stack.insert("Department")
    let eve = try stack.insert("Employee", ["name": "Eve"])
    let max = try stack.insert("Manager", ["name": "Max"])
    let error = try #require(graphError { try eve.setValue(sales, forKey: "heads") })
    #expect(error.code == .invalidValue)
    #expect(error.message.contains("Manager"))
    #expect(sales["boss"] == nil && eve["heads"] == nil)
    try max.setValue(sales, forKey: "heads")
    #expect(sales["boss"] as? ManagedObject === max)
    try stack.context.save()
  }
}

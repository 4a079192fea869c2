import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreKit

/// A save makes the values of properties only for classes that check them themselves.
@Suite("Classes with their own validation") struct OwnValidationTests {
  private class Plain: ManagedObject {
    var number = 7
    override func willSave() { number += 1 }
    override func validateForUpdate() throws { try super.validateForUpdate() }
    func validate(_ other: Int) -> Int { other + number }
  }
  private class Checking: ManagedObject {
    override func validate(_ value: inout Any?, forKey key: String) throws { try super.validate(&value, forKey: key) }
  }
  private class Below: Checking {}
  private class Again: Plain {
    override func validate(_ value: inout Any?, forKey key: String) throws {
      if key == "members", let set = value as? Set<ManagedObject>, set.count > 2 {
        throw ManagedObjectError(.managedObjectValidation, "too many members")
      }
    }
  }
  private class Generic<Value>: ManagedObject { var value: Value? }
  private final class Last: Generic<Int> {
    override func validate(_ value: inout Any?, forKey key: String) throws { value = 1 }
  }

  @Test(
    "a class overrides the check, or inherits it",
    arguments: [
      (ManagedObject.self, false), (Plain.self, false), (Generic<String>.self, false), (Checking.self, true),
      (Below.self, true), (Again.self, true), (Last.self, true),
    ] as [(ManagedObject.Type, Bool)])
  func overriding(_ type: ManagedObject.Type, isChecking: Bool) {
    #expect(OwnValidation.exists(in: type) == isChecking)
  }

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Group", properties: [.attribute("name", .string), .toMany("members", "Member", inverse: "group")]),
        EntityDescription(
          name: "Member", properties: [.attribute("name", .string), .toOne("group", "Group", inverse: "members")]),
      ]))
  }

  @Test("a member that is added makes objects of the others only where the class checks them")
  func members() throws {
    for (type, count) in [(Plain.self as ManagedObject.Type, 2), (Checking.self, 5)] {
      let stack = try Stack("SQLiteGraph", model: try Self.model(), classes: ["Group": type])
      let group = try stack.insert("Group", ["name": "one"])
      for _ in 0..<3 { try stack.insert("Member").setValue(group, forKey: "group") }
      try stack.context.save()
      let context = ManagedObjectContext(stack.coordinator)
      context.retainsRegisteredObjects = true
      let found = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Group")).first)
      try context.insertNewObject(forEntityName: "Member").setValue(found, forKey: "group")
      try context.save()
      #expect(context.registeredObjects.count == count, "\(type)")
    }
  }

  @Test("a class refuses members that it has counted, also where only the other end was set")
  func refused() throws {
    let stack = try Stack(model: try Self.model(), classes: ["Group": Again.self])
    let group = try stack.insert("Group")
    for _ in 0..<2 { try stack.insert("Member").setValue(group, forKey: "group") }
    try stack.context.save()
    try stack.insert("Member").setValue(group, forKey: "group")
    #expect(throws: ManagedObjectError.self) { try stack.context.save() }
  }
}

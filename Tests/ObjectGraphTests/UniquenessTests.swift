import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Uniqueness constraints") struct UniquenessTests {
  static let description = ModelDescription(entities: [
    EntityDescription(
      name: "User",
      properties: [
        .attribute("mail", .string),
        .attribute("note", .string),
      ],
      subentities: [EntityDescription(name: "Admin"), EntityDescription(name: "Guest")],
      uniquenessConstraints: [["mail"]])
  ])

  func stack() throws -> Stack { try Stack(model: try ManagedObjectModel(Self.description)) }

  func failure(_ stack: Stack) -> ManagedObjectError? {
    do throws(ManagedObjectError) { try stack.context.save() } catch { return error }
    return nil
  }

  func notes(_ stack: Stack) throws -> [String] {
    try stack.reread("User").map { $0["note"] as? String ?? "nil" }.sorted()
  }

  @Test(
    "of a stored and a new object with the same value one survives, as the policy specifies",
    arguments: [
      (.error, ["old"]), (.mergeByPropertyStoreTrump, ["old"]), (.mergeByPropertyObjectTrump, ["new"]),
      (.overwrite, ["new"]),
      (.rollback, ["old"]),
    ] as [(MergePolicy, [String])])
  func storedAndNew(_ policy: MergePolicy, _ result: [String]) throws {
    let stack = try stack()
    _ = try stack.insert("User", ["mail": "a@b", "note": "old"])
    try stack.context.save()
    stack.context.mergePolicy = policy
    let new = try stack.insert("User", ["mail": "a@b", "note": "new"])
    let error = failure(stack)
    #expect(try notes(stack) == result)
    #expect(stack.context.hasChanges == (policy == .error))
    guard policy == .error else { return #expect(error == nil) }
    #expect(error?.code == .managedObjectConstraintMerge)
    #expect(error?.objectID == new.objectID)
    #expect(error?.key == "mail")
    // Once it is another value, the same save is carried out.
    try new.setValue("c@d", forKey: "mail")
    #expect(failure(stack) == nil)
    #expect(try notes(stack) == ["new", "old"])
  }

  @Test("two new objects with the same value are found before anything is written", arguments: MergePolicy.allCases)
  func twoNew(_ policy: MergePolicy) throws {
    let stack = try stack()
    stack.context.mergePolicy = policy
    _ = try stack.insert("User", ["mail": "a@b", "note": "one"])
    _ = try stack.insert("User", ["mail": "a@b", "note": "two"])
    let error = failure(stack)
    #expect(error?.code == (policy == .error ? .managedObjectConstraintMerge : nil))
    #expect(try notes(stack).count == (policy == .error ? 0 : 1))
  }

  @Test("null is not equal to anything")
  func null() throws {
    let stack = try stack()
    for note in ["one", "two"] { _ = try stack.insert("User", ["note": note]) }
    try stack.context.save()
    _ = try stack.insert("User", ["note": "three"])
    #expect(failure(stack) == nil)
    #expect(try notes(stack).count == 3)
  }

  @Test(
    "a constraint applies to all sub-entities of the entity that declares it, also between siblings",
    arguments: [("User", "Admin"), ("Admin", "User"), ("Admin", "Guest"), ("Admin", "Admin")])
  func inherited(_ first: String, _ second: String) throws {
    let stack = try stack()
    _ = try stack.insert(first, ["mail": "a@b"])
    try stack.context.save()
    _ = try stack.insert(second, ["mail": "a@b"])
    #expect(failure(stack)?.code == .managedObjectConstraintMerge)
  }

  @Test("two objects may swap their values within one save", arguments: MergePolicy.allCases)
  func swap(_ policy: MergePolicy) throws {
    let stack = try stack()
    let one = try stack.insert("User", ["mail": "a@b", "note": "one"])
    let two = try stack.insert("User", ["mail": "c@d", "note": "two"])
    try stack.context.save()
    stack.context.mergePolicy = policy
    try one.setValue("c@d", forKey: "mail")
    try two.setValue("a@b", forKey: "mail")
    #expect(failure(stack) == nil)
    let stored = try stack.reread("User").map { "\($0["note"] as? String ?? "") \($0["mail"] as? String ?? "")" }
    #expect(stored.sorted() == ["one c@d", "two a@b"])
  }

  @Test("the value of an object that is deleted in the same save can be reused")
  func freed() throws {
    let stack = try stack()
    let old = try stack.insert("User", ["mail": "a@b", "note": "old"])
    try stack.context.save()
    stack.context.delete(old)
    _ = try stack.insert("User", ["mail": "a@b", "note": "new"])
    #expect(failure(stack) == nil)
    #expect(try notes(stack) == ["new"])
  }

  @Test("an object that is changed but keeps its value still has it")
  func changedElsewhere() throws {
    let stack = try stack()
    let old = try stack.insert("User", ["mail": "a@b", "note": "old"])
    try stack.context.save()
    try old.setValue("older", forKey: "note")
    _ = try stack.insert("User", ["mail": "a@b", "note": "new"])
    #expect(failure(stack)?.code == .managedObjectConstraintMerge)
    #expect(try notes(stack) == ["old"])
  }
}

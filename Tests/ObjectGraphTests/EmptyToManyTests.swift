import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Testing

@Suite("To-many relationships that are not optional") struct EmptyToManyTests {
  static func model(_ minimumCount: Int) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Country",
          properties: [
            .toMany("moods", "Mood", inverse: "country", isOptional: false, minimumCount: minimumCount)
          ]),
        EntityDescription(
          name: "Mood",
          properties: [
            .toOne("country", "Country", inverse: "moods", isOptional: false)
          ]),
      ]))
  }

  func code(_ stack: Stack) -> ManagedObjectError.Code? { graphError { try stack.context.save() }?.code }

  @Test("it must not be empty, unless the context allows it")
  func option() throws {
    let stack = try Stack(model: try Self.model(0))
    let country = try stack.insert("Country")
    #expect(code(stack) == .validationMissingMandatoryProperty)
    stack.context.allowsEmptyNonOptionalToMany = true
    #expect(code(stack) == nil)
    let mood = try stack.insert("Mood", ["country": country])
    try stack.context.save()
    stack.context.delete(mood)
    #expect(code(stack) == nil)
    let child = ManagedObjectContext(parent: stack.context)
    #expect(child.allowsEmptyNonOptionalToMany)
  }

  @Test("what was read empty does not refuse a change of something else; what a change empties does")
  func readEmpty() throws {
    let stack = try Stack(model: try Self.model(0))
    stack.context.allowsEmptyNonOptionalToMany = true
    let (empty, full) = (try stack.insert("Country"), try stack.insert("Country"))
    let mood = try stack.insert("Mood", ["country": full])
    try stack.context.save()
    stack.coordinator.allowsEmptyNonOptionalToMany = false
    #expect(!stack.context.allowsEmptyNonOptionalToMany)
    // Both were changed, and are as before at the end.
    let other = try stack.insert("Mood", ["country": empty])
    stack.context.delete(other)
    #expect(code(stack) == nil)
    try mood.setValue(empty, forKey: "country")
    #expect(code(stack) == .validationMissingMandatoryProperty)
    try mood.setValue(full, forKey: "country")
    #expect(code(stack) == nil)
  }

  @Test("a minimum count and a to-one that is not optional are checked in any case")
  func stillDemanded() throws {
    let stack = try Stack(model: try Self.model(1))
    stack.context.allowsEmptyNonOptionalToMany = true
    _ = try stack.insert("Country")
    #expect(code(stack) != nil)
    stack.context.rollback()
    _ = try stack.insert("Mood")
    #expect(code(stack) == .validationMissingMandatoryProperty)
  }

  @Test("the plan of a deletion follows the same rule", arguments: [true, false])
  func plan(_ isAllowed: Bool) throws {
    let stack = try Stack(model: try Self.model(0))
    let country = try stack.insert("Country")
    let mood = try stack.insert("Mood", ["country": country])
    try stack.context.save()
    stack.context.allowsEmptyNonOptionalToMany = isAllowed
    #expect(stack.context.deletionPlan(for: mood).isAllowed == isAllowed)
    stack.context.delete(mood)
    #expect((code(stack) == nil) == isAllowed)
  }
}

import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Conflict resolvers") struct ConflictResolverTests {
  /// Adds up what both sides booked, and leaves the rest to a policy.
  private struct AddingUp: ConflictResolver {
    var policy = MergePolicy.mergeByPropertyObjectTrump
    func resolve(_ conflict: ObjectConflict) throws -> ConflictResolution {
      guard let base = conflict.base["age"]?.anyValue as? Int, let mine = conflict.mine["age"]?.anyValue as? Int,
        let theirs = conflict.theirs?["age"]?.anyValue as? Int
      else { return .by(policy) }
      return .by(policy, setting: ["age": theirs + mine - base])
    }
  }

  private struct Failure: Error {}

  private final class Asked: ConflictResolver, @unchecked Sendable {
    // Used by the one thread of its test.
    nonisolated(unsafe) var conflicts: [ObjectConflict] = []
    nonisolated(unsafe) var constraints: [ConstraintConflict] = []
    nonisolated(unsafe) var done: [ManagedObject] = []
    let resolution: @Sendable (ObjectConflict) throws -> ConflictResolution
    let constraint: @Sendable (ConstraintConflict) throws -> ConstraintResolution
    let after: @Sendable ([ManagedObject]) throws -> Void
    init(
      _ resolution: @escaping @Sendable (ObjectConflict) throws -> ConflictResolution = { _ in .by(.error) },
      constraint: @escaping @Sendable (ConstraintConflict) throws -> ConstraintResolution = { _ in .by(.error) },
      after: @escaping @Sendable ([ManagedObject]) throws -> Void = { _ in }
    ) {
      self.resolution = resolution
      self.constraint = constraint
      self.after = after
    }
    func resolve(_ conflict: ObjectConflict) throws -> ConflictResolution {
      conflicts.append(conflict)
      return try resolution(conflict)
    }
    func resolve(_ conflict: ConstraintConflict) throws -> ConstraintResolution {
      constraints.append(conflict)
      return try constraint(conflict)
    }
    func didResolve(_ objects: [ManagedObject], in context: ManagedObjectContext) throws {
      done += objects
      try after(objects)
    }
  }

  private func contested() throws -> ConflictTests.Pair {
    let pair = try ConflictTests.Pair(.error)
    try pair.theirs.setValue(40, forKey: "age")
    try pair.theirs.setValue("Theirs", forKey: "name")
    try pair.other.save()
    try pair.mine.setValue(37, forKey: "age")
    return pair
  }

  @Test("a resolver computes a value from base, mine and theirs")
  func computes() throws {
    let pair = try contested()
    pair.stack.context.conflictResolver = AddingUp()
    try pair.stack.context.save()
    #expect(try pair.stored() == ["Theirs 41"])
    #expect(pair.mine["age"] as? Int == 41)
    #expect(!pair.stack.context.hasChanges)
  }

  @Test("a resolver gets the object with the values of both sides")
  func conflict() throws {
    let pair = try contested()
    let asked = Asked()
    pair.stack.context.conflictResolver = asked
    let error = try #require(pair.failure())
    #expect(error.code == .managedObjectMerge && error.conflicts.count == 1)
    let conflict = try #require(asked.conflicts.first)
    #expect(conflict.object === pair.mine)
    #expect(conflict.base["age"] == .integer(36))
    #expect(conflict.mine["age"] == .integer(37))
    #expect(conflict.theirs?["age"] == .integer(40))
    #expect(conflict.mine["name"] == .string("Ada"))
    #expect(pair.mine["age"] as? Int == 37)
  }

  @Test(
    "each built-in policy, as a resolver, saves what it saves as a policy", arguments: MergePolicy.allCases)
  func builtIn(_ policy: MergePolicy) throws {
    let plain = try contested()
    plain.stack.context.mergePolicy = policy
    let plainError = plain.failure()
    let resolved = try contested()
    resolved.stack.context.conflictResolver = policy
    #expect(resolved.failure()?.code == plainError?.code)
    #expect(try resolved.stored() == plain.stored())
  }

  @Test("different objects can be resolved by different policies")
  func perObject() throws {
    let stack = try Stack()
    let people = try ["Ada", "Ben"].map { try stack.insert("Person", ["name": $0, "age": 1]) }
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    for person in people { try other.existingObject(with: person.objectID).setValue(2, forKey: "age") }
    try other.save()
    for person in people { try person.setValue(3, forKey: "age") }
    stack.context.conflictResolver = Asked { conflict in
      .by(conflict.mine["name"] == .string("Ada") ? .mergeByPropertyStoreTrump : .mergeByPropertyObjectTrump)
    }
    try stack.context.save()
    #expect(people.map { $0["age"] as? Int } == [2, 3])
  }

  @Test("an error of a resolver fails the save, and leaves the context as it was")
  func failing() throws {
    let pair = try contested()
    pair.stack.context.conflictResolver = Asked { _ in throw Failure() }
    let error = try #require(pair.failure())
    #expect(error.underlying is Failure)
    #expect(pair.mine["age"] as? Int == 37)
    #expect(try pair.stored() == ["Theirs 40"])
    pair.stack.context.conflictResolver = nil
    pair.stack.context.mergePolicy = .overwrite
    try pair.stack.context.save()
    #expect(try pair.stored() == ["Ada 37"])
  }

  @Test("a resolver cannot set relationships or unknown keys", arguments: ["department", "nmae"])
  func wrongKeys(_ key: String) throws {
    let pair = try contested()
    pair.stack.context.conflictResolver = Asked { _ in .by(.overwrite, setting: [key: nil]) }
    let error = try #require(pair.failure())
    #expect(error.key == key)
    #expect(pair.mine["age"] as? Int == 37)
  }

  @Test("what a resolver changes after its decisions is saved with them")
  func after() throws {
    let pair = try contested()
    let asked = Asked({ _ in .by(.mergeByPropertyStoreTrump) }, after: { $0.first?["name"] = "Resolved" })
    pair.stack.context.conflictResolver = asked
    try pair.stack.context.save()
    #expect(try pair.stored() == ["Resolved 40"])
    #expect(asked.done.first === pair.mine)
  }

  @Test("a resolver that fails after its decisions leaves the context as it was")
  func failingAfter() throws {
    let pair = try contested()
    pair.stack.context.conflictResolver = Asked({ _ in .by(.overwrite) }, after: { _ in throw Failure() })
    #expect(pair.failure()?.underlying is Failure)
    #expect(pair.mine["age"] as? Int == 37 && pair.mine.changedKeys == ["age"])
    #expect(try pair.stored() == ["Theirs 40"])
  }

  // MARK: Constraints

  private static let model: ManagedObjectModel = {
    var account = EntityDescription(
      name: "Account",
      properties: [
        .attribute("number", .integer32), .attribute("owner", .string), .attribute("balance", .integer32),
        .toMany("items", "Item", inverse: "account", deleteRule: .cascade),
      ])
    account.uniquenessConstraints = [["number"]]
    let item = EntityDescription(
      name: "Item",
      properties: [.attribute("name", .string), .toOne("account", "Account", inverse: "items")])
    do { return try ManagedObjectModel(ModelDescription(entities: [account, item])) } catch {
      preconditionFailure("\(error)")
    }
  }()

  private func twice() throws -> (stack: Stack, old: ManagedObject, new: ManagedObject) {
    let stack = try Stack(model: Self.model)
    let old = try stack.insert("Account", ["number": 1, "owner": "old", "balance": 10])
    try old.add(try stack.insert("Item", ["name": "a"]), to: "items")
    try stack.context.save()
    let new = try stack.insert("Account", ["number": 1, "owner": "new", "balance": 5])
    try new.add(try stack.insert("Item", ["name": "b"]), to: "items")
    return (stack, old, new)
  }

  @Test("a resolver merges the objects of a constraint with values that it computes from all of them")
  func mergesRows() throws {
    let (stack, old, new) = try twice()
    let asked = Asked(
      constraint: { conflict in
        let balance = conflict.objects.reduce(0) { $0 + ($1["balance"] as? Int ?? 0) }
        return .merge(winner: conflict.objects[1], setting: ["balance": balance])
      })
    stack.context.conflictResolver = asked
    try stack.context.save()
    let conflict = try #require(asked.constraints.first)
    #expect(conflict.keys == ["number"] && conflict.storedCount == 1)
    #expect(conflict.objects.first === old && conflict.objects.last === new && conflict.objects.count == 2)
    #expect(old["balance"] as? Int == 15 && old["owner"] as? String == "new")
    #expect(try names(old, "items").sorted() == ["a", "b"])
    #expect(new.unavailableReason == .merged)
    #expect(asked.done.first === old)
    #expect(try stack.reread("Account").count == 1)
  }

  @Test("without a method for constraints, a save that breaks one fails")
  func constraintDefault() throws {
    let (stack, _, _) = try twice()
    stack.context.conflictResolver = AddingUp()
    #expect(throws: ManagedObjectError.self) { try stack.context.save() }
    #expect(stack.context.insertedObjects.count == 2)
  }

  @Test(
    "each built-in policy, as a resolver, merges the objects of a constraint as it does as a policy",
    arguments: MergePolicy.allCases)
  func builtInConstraint(_ policy: MergePolicy) throws {
    func result(_ isResolver: Bool) throws -> [String] {
      let (stack, _, _) = try twice()
      if isResolver { stack.context.conflictResolver = policy } else { stack.context.mergePolicy = policy }
      do { try stack.context.save() } catch { return ["\(error.code)"] }
      return try stack.reread("Account").map {
        "\($0["owner"] ?? "") \(($0["items"] as? Set<ManagedObject>)?.count ?? 0)"
      }
    }
    #expect(try result(true) == result(false))
  }
}

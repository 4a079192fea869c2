import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Conflicts") struct ConflictTests {
  /// Two contexts that both have Ada, 36, loaded.
  struct Pair {
    let stack: Stack
    let other: ManagedObjectContext
    let mine: ManagedObject
    let theirs: ManagedObject

    init(_ policy: MergePolicy) throws {
      stack = try Stack()
      mine = try stack.insert("Person", ["name": "Ada", "age": 36])
      try stack.context.save()
      other = ManagedObjectContext(stack.coordinator)
      theirs = try other.existingObject(with: mine.objectID)
      stack.context.mergePolicy = policy
    }

    func failure() -> ManagedObjectError? {
      do throws(ManagedObjectError) { try stack.context.save() } catch { return error }
      return nil
    }

    /// The people as someone else finds them: name and age.
    func stored() throws -> [String] {
      try stack.reread("Person").map { "\($0["name"] as? String ?? "nil") \($0["age"] as? Int ?? -1)" }
    }
  }

  @Test(
    "an object changed on both sides is saved as the policy specifies",
    arguments: [
      (.mergeByPropertyStoreTrump, "Theirs 40"), (.mergeByPropertyObjectTrump, "Mine 40"), (.overwrite, "Mine 36"),
      (.rollback, "Theirs 40"),
    ] as [(MergePolicy, String)])
  func changedChanged(_ policy: MergePolicy, _ result: String) throws {
    let pair = try Pair(policy)
    try pair.theirs.setValue("Theirs", forKey: "name")
    try pair.theirs.setValue(40, forKey: "age")
    try pair.other.save()
    try pair.mine.setValue("Mine", forKey: "name")
    #expect(pair.failure() == nil)
    #expect(try pair.stored() == [result])
    #expect("\(pair.mine["name"] as? String ?? "") \(pair.mine["age"] as? Int ?? 0)" == result)
    #expect(!pair.stack.context.hasChanges)
  }

  @Test(
    "each side's changes to different properties are merged, or not, as the policy specifies",
    arguments: [
      (.mergeByPropertyStoreTrump, "Mine 40"), (.mergeByPropertyObjectTrump, "Mine 40"), (.overwrite, "Mine 36"),
      (.rollback, "Ada 40"),
    ] as [(MergePolicy, String)])
  func differentProperties(_ policy: MergePolicy, _ result: String) throws {
    let pair = try Pair(policy)
    try pair.theirs.setValue(40, forKey: "age")
    try pair.other.save()
    try pair.mine.setValue("Mine", forKey: "name")
    #expect(pair.failure() == nil)
    #expect(try pair.stored() == [result])
  }

  @Test(
    "an object changed here and deleted in the store is restored or deleted, as the policy specifies",
    arguments: [
      (.mergeByPropertyStoreTrump, []), (.mergeByPropertyObjectTrump, ["Mine 36"]), (.overwrite, ["Mine 36"]),
      (.rollback, []),
    ] as [(MergePolicy, [String])])
  func changedDeleted(_ policy: MergePolicy, _ result: [String]) throws {
    let pair = try Pair(policy)
    let id = pair.mine.objectID
    pair.other.delete(pair.theirs)
    try pair.other.save()
    try pair.mine.setValue("Mine", forKey: "name")
    #expect(pair.failure() == nil)
    #expect(try pair.stored() == result)
    #expect(!pair.stack.context.hasChanges)
    if result.isEmpty {
      #expect(pair.mine.unavailableReason == .notInStore)
    } else {
      #expect(pair.mine.objectID == id)
    }
  }

  @Test(
    "an object deleted here and changed in the store is deleted or kept, as the policy specifies",
    arguments: [
      (.mergeByPropertyStoreTrump, ["Ada 40"]), (.mergeByPropertyObjectTrump, []), (.overwrite, []),
      (.rollback, ["Ada 40"]),
    ] as [(MergePolicy, [String])])
  func deletedChanged(_ policy: MergePolicy, _ result: [String]) throws {
    let pair = try Pair(policy)
    try pair.theirs.setValue(40, forKey: "age")
    try pair.other.save()
    pair.stack.context.delete(pair.mine)
    #expect(pair.failure() == nil)
    #expect(try pair.stored() == result)
    #expect(!pair.stack.context.hasChanges)
  }

  @Test("an object deleted on both sides is not a conflict", arguments: MergePolicy.allCases)
  func deletedDeleted(_ policy: MergePolicy) throws {
    let pair = try Pair(policy)
    pair.other.delete(pair.theirs)
    try pair.other.save()
    pair.stack.context.delete(pair.mine)
    #expect(pair.failure() == nil)
    #expect(try pair.stored().isEmpty)
    #expect(!pair.stack.context.hasChanges)
  }

  @Test("a refused save reports both sides' values and leaves the context as it was")
  func snapshots() throws {
    let pair = try Pair(.error)
    try pair.theirs.setValue(40, forKey: "age")
    try pair.other.save()
    try pair.mine.setValue("Mine", forKey: "name")
    let error = try #require(pair.failure())
    #expect(error.code == .managedObjectMerge)
    let conflict = try #require(error.conflicts.first)
    #expect(error.conflicts.count == 1)
    #expect(conflict.objectID == pair.mine.objectID)
    #expect(conflict.objectSnapshot["name"] == .string("Mine"))
    #expect(conflict.objectSnapshot["age"] == .integer(36))
    #expect(conflict.cachedSnapshot["name"] == .string("Ada"))
    #expect(conflict.cachedSnapshot["age"] == .integer(36))
    #expect(conflict.persistedSnapshot?["name"] == .string("Ada"))
    #expect(conflict.persistedSnapshot?["age"] == .integer(40))
    #expect(conflict.keysChangedInStore == ["age"])
    #expect(conflict.keysChangedHere == ["name"])
    #expect(!conflict.isDeletedHere)

    #expect(pair.mine.isUpdated)
    #expect(pair.mine["name"] as? String == "Mine")
    #expect(pair.mine["age"] as? Int == 36)
    #expect(try pair.stored() == ["Ada 40"])
    // The same save, under another policy, is then carried out.
    pair.stack.context.mergePolicy = .mergeByPropertyObjectTrump
    #expect(pair.failure() == nil)
    #expect(try pair.stored() == ["Mine 40"])
  }

  @Test("for an object deleted in the store, the conflict has no persisted values")
  func deletedSnapshot() throws {
    let pair = try Pair(.error)
    pair.other.delete(pair.theirs)
    try pair.other.save()
    try pair.mine.setValue("Mine", forKey: "name")
    let conflict = try #require(pair.failure()?.conflicts.first)
    #expect(conflict.persistedSnapshot == nil)
    #expect(pair.mine.isUpdated)
  }

  @Test("a row rewritten with the same values is not a conflict")
  func equalValues() throws {
    let pair = try Pair(.error)
    try pair.theirs.setValue(40, forKey: "age")
    try pair.other.save()
    try pair.theirs.setValue(36, forKey: "age")
    try pair.other.save()
    try pair.mine.setValue("Mine", forKey: "name")
    #expect(pair.stack.context.conflicts().isEmpty)
    #expect(pair.failure() == nil)
    #expect(try pair.stored() == ["Mine 36"])
  }

  @Test(
    "what another coordinator saved is detected by the save", arguments: Stack.types)
  func anotherCoordinator(_ type: String) throws {
    let stack = try Stack(type)
    let mine = try stack.insert("Person", ["name": "Ada", "age": 36])
    try stack.context.save()
    let other = try stack.reopened()
    try #require(try other.first("Person", "Ada")).setValue(40, forKey: "age")
    try other.context.save()
    try mine.setValue("Mine", forKey: "name")
    let error = #expect(throws: ManagedObjectError.self) { try stack.context.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(error?.conflicts.map(\.keysChangedInStore) == [["age"]])
    #expect(mine.isUpdated)
    stack.context.mergePolicy = .mergeByPropertyObjectTrump
    try stack.context.save()
    #expect(
      try stack.reread("Person").map { "\($0["name"] as? String ?? "") \($0["age"] as? Int ?? 0)" } == ["Mine 40"])
  }

  @Test("an object that only the store changed is not a conflict")
  func untouched() throws {
    let pair = try Pair(.error)
    try pair.theirs.setValue(40, forKey: "age")
    try pair.other.save()
    _ = try pair.stack.insert("Person", ["name": "Bob", "age": 1])
    #expect(pair.failure() == nil)
    #expect(try pair.stored().sorted() == ["Ada 40", "Bob 1"])
  }

  @Test(
    "a relationship changed on both sides is a separate conflict",
    arguments: [MergePolicy.error, .overwrite, .rollback])
  func relationship(_ policy: MergePolicy) throws {
    let stack = try Stack()
    let departments = try ["old", "mine", "theirs"].map { try stack.insert("Department", ["name": $0]) }
    let ada = try stack.insert("Person", ["name": "Ada", "department": departments[0]])
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    try other.existingObject(with: ada.objectID).setValue(
      try other.existingObject(with: departments[2].objectID), forKey: "department")
    try other.save()
    stack.context.mergePolicy = policy
    try ada.setValue(departments[1], forKey: "department")
    if policy == .error {
      let error = #expect(throws: ManagedObjectError.self) { try stack.context.save() }
      #expect(
        error?.conflicts.contains { $0.objectID == ada.objectID && $0.keysChangedInStore == ["department"] } == true)
      #expect(ada["department"] as? ManagedObject === departments[1])
    } else {
      try stack.context.save()
      let reader = try stack.reopened()
      let again = try #require(try reader.first("Person", "Ada"))
      #expect(
        (again["department"] as? ManagedObject)?["name"] as? String == (policy == .overwrite ? "mine" : "theirs"))
    }
  }
}

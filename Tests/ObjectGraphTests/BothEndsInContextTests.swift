import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Testing

/// The shortest sequences of two contexts after which one of them read a relationship at one end only.
@Suite("Both ends of a relationship agree in the context too, whatever another context saved meanwhile")
struct BothEndsInContextTests {
  static let types = ["InMemory", "XML", "BinaryPropertyList", "CSV", "SQLiteGraph"]
  static let policies: [MergePolicy] = [
    .rollback, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite,
  ]

  /// Two contexts on one store with four persons and two tags, and what each saved that the other has not merged.
  private final class Pair {
    let stack: Stack
    let contexts: [ManagedObjectContext]
    private var unseen: [[ObjectIDChanges]] = [[], []]
    private var observations: [Observation] = []
    private let people: [ManagedObjectID]
    private let tags: [ManagedObjectID]

    init(
      _ type: String, _ policy: MergePolicy = .mergeByPropertyObjectTrump,
      _ prepare: ([ManagedObject]) throws -> Void = { _ in }
    ) throws {
      let model = try ManagedObjectModel(
        ModelDescription(entities: [
          EntityDescription(
            name: "P",
            properties: [
              .attribute("n", .integer64),
              .toOne("mate", "P", inverse: "mate"),
              .toOne("boss", "P", inverse: "reports"),
              .toMany("reports", "P", inverse: "boss"),
              .toMany("friends", "P", inverse: "friends"),
              .toMany("tags", "T", inverse: "ps", isOrdered: true),
            ]),
          EntityDescription(
            name: "T", properties: [.attribute("n", .integer64), .toMany("ps", "P", inverse: "tags")]),
        ]))
      let stack = try Stack(type, model: model)
      let people = try (0..<4).map { try stack.insert("P", ["n": $0]) }
      try prepare(people)
      let tags = try (0..<2).map { try stack.insert("T", ["n": $0]) }
      try stack.context.save()
      self.stack = stack
      self.people = people.map(\.objectID)
      self.tags = tags.map(\.objectID)
      contexts = [ManagedObjectContext(stack.coordinator), ManagedObjectContext(stack.coordinator)]
      for (index, context) in contexts.enumerated() {
        context.retainsRegisteredObjects = true
        context.mergePolicy = policy
        context.undoManager = UndoHistory()
        observations.append(
          context.observe { [unowned self] event in
            if case .didSave(let changes) = event { unseen[1 - index].append(changes.ids) }
          })
        // Everything is read, so that nothing follows by being read later.
        for id in self.people + self.tags {
          let object = try context.existingObject(with: id)
          for slot in object.entity.slots { _ = try object.value(forKey: slot.name) }
        }
      }
    }

    func person(_ context: Int, _ number: Int) -> ManagedObject { contexts[context].object(with: people[number]) }
    func tag(_ context: Int, _ number: Int) -> ManagedObject { contexts[context].object(with: tags[number]) }
    func merge(_ context: Int) {
      let changes = unseen[context]
      unseen[context] = []
      for change in changes { contexts[context].mergeChanges(fromDidSave: change) }
    }

    func set(_ context: Int, _ number: Int, _ key: String, _ other: Int?) throws {
      try person(context, number).setValue(other.map { person(context, $0) }, forKey: key)
      contexts[context].processPendingChanges()
    }
    func toggle(_ context: Int, _ number: Int, _ key: String, _ other: Int) throws {
      let (one, two) = (person(context, number), person(context, other))
      if try one.objects(forRelationshipNamed: key).contains(two) {
        try one.remove(two, from: key)
      } else {
        try one.add(two, to: key)
      }
      contexts[context].processPendingChanges()
    }

    /// Every relationship that a context reads at one end only, or that leads to an object it deletes.
    func problems(_ context: Int) throws -> [String] {
      var found: [String] = []
      for object in contexts[context].registeredObjects where object.unavailableReason == nil && !object.isDeleted {
        if (try? contexts[context].existingObject(with: object.objectID)) == nil { continue }
        for slot in object.entity.slots {
          guard let inverse = slot.relationship?.inverseName else { continue }
          for other in try object.objects(forRelationshipNamed: slot.name)
          where try other.isDeleted || !other.objects(forRelationshipNamed: inverse).contains(object) {
            found.append("\(object["n"] ?? "").\(slot.name) has \(other["n"] ?? "")")
          }
        }
      }
      return found
    }
    /// Saves the first context, after which both ends agree in it and in the store.
    func expectAgreementAfterSave(sourceLocation: SourceLocation = #_sourceLocation) throws {
      try contexts[0].save()
      #expect(try problems(0).isEmpty, sourceLocation: sourceLocation)
      #expect(try storedProblems().isEmpty, sourceLocation: sourceLocation)
    }
    /// The same of the store.
    func storedProblems() throws -> [String] { inverseProblems(in: try stack.storedNodes()) }
  }

  @Test("a partner that was set free here and joined again elsewhere", arguments: types)
  func partner(_ type: String) throws {
    let pair = try Pair(type) { try $0[3].setValue($0[2], forKey: "mate") }
    try pair.set(1, 3, "mate", nil)
    try pair.contexts[1].save()
    pair.merge(0)
    try pair.set(0, 3, "mate", nil)
    try pair.set(1, 3, "mate", 2)
    try pair.contexts[1].save()
    try pair.set(0, 0, "mate", 2)
    pair.merge(0)
    #expect(try pair.problems(0).isEmpty)
    try pair.expectAgreementAfterSave()
  }

  @Test("a friend added in both contexts, and undone after the save", arguments: types)
  func undone(_ type: String) throws {
    let pair = try Pair(type)
    try pair.set(0, 2, "mate", 0)
    try pair.toggle(1, 2, "friends", 1)
    try pair.contexts[1].save()
    try pair.toggle(0, 1, "friends", 2)
    try pair.contexts[0].save()
    pair.contexts[0].undo()
    #expect(try pair.problems(0).isEmpty)
    pair.merge(0)
    #expect(try pair.problems(0).isEmpty)
    try pair.contexts[0].save()
    #expect(try pair.storedProblems().isEmpty)
  }

  @Test("an object deleted here that another one was given to elsewhere", arguments: types)
  func deleted(_ type: String) throws {
    let pair = try Pair(type)
    try pair.set(1, 1, "boss", 2)
    try pair.contexts[1].save()
    pair.contexts[0].delete(pair.person(0, 2))
    pair.contexts[0].processPendingChanges()
    pair.merge(0)
    #expect(try pair.problems(0).isEmpty)
    try pair.expectAgreementAfterSave()
  }

  @Test("a merge beside a change to a list", arguments: types)
  func list(_ type: String) throws {
    let pair = try Pair(type)
    try pair.set(0, 0, "boss", 0)
    try pair.contexts[0].save()
    try pair.set(0, 3, "boss", 0)
    try pair.person(1, 0).add(pair.tag(1, 0), to: "tags", at: 1)
    try pair.contexts[0].save()
    pair.merge(1)
    #expect(try pair.problems(1).isEmpty)
  }

  @Test("objects of two versions, after the save of one of them", arguments: types, policies)
  func saved(_ type: String, _ policy: MergePolicy) throws {
    let pair = try Pair(type, policy)
    try pair.set(1, 1, "boss", 2)
    try pair.toggle(1, 3, "friends", 2)
    try pair.contexts[1].save()
    try pair.toggle(0, 2, "friends", 0)
    try pair.contexts[0].save()
    #expect(try pair.problems(0).isEmpty)
    #expect(!pair.contexts[0].hasChanges)
  }

  @Test("one object that is refreshed beside others that are not", arguments: types, [true, false])
  func refreshed(_ type: String, _ merges: Bool) throws {
    let pair = try Pair(type)
    try pair.set(1, 1, "boss", 2)
    try pair.toggle(1, 3, "friends", 2)
    try pair.set(1, 0, "mate", 2)
    try pair.contexts[1].save()
    pair.person(0, 3)["n"] = 33
    pair.contexts[0].refresh(pair.person(0, 2), mergeChanges: merges)
    #expect(try pair.problems(0).isEmpty)
    #expect(pair.contexts[0].updatedObjects.isSubset(of: [pair.person(0, 3)]))
    try pair.expectAgreementAfterSave()
  }

  @Test(
    "a refresh does not hide that an object at the other end was changed on both sides",
    arguments: ["XML", "SQLiteGraph"])
  func conflictRemains(_ type: String) throws {
    let pair = try Pair(type, .error)
    pair.person(0, 1)["n"] = 11
    pair.person(1, 1)["n"] = 12
    try pair.set(1, 1, "boss", 2)
    try pair.contexts[1].save()
    pair.contexts[0].refresh(pair.person(0, 2), mergeChanges: true)
    #expect(try pair.problems(0).isEmpty)
    #expect(graphError { try pair.contexts[0].save() }?.code == .managedObjectMerge)
  }

  @Test(
    "a change that is redone to an object deleted meanwhile ends in a save or a conflict, never in an endless one",
    arguments: types, policies + [.error])
  func redone(_ type: String, _ policy: MergePolicy) throws {
    let pair = try Pair(type, policy)
    try pair.person(0, 0).add(pair.tag(0, 0), to: "tags")
    pair.contexts[0].processPendingChanges()
    pair.contexts[1].delete(pair.person(1, 0))
    try pair.contexts[1].save()
    pair.contexts[0].undo()
    pair.contexts[0].refreshAllObjects()
    pair.contexts[0].redo()
    if let error = graphError({ try pair.contexts[0].save() }) {
      #expect(error.code == .managedObjectMerge)
      pair.contexts[0].rollback()
    }
    #expect(!pair.contexts[0].hasChanges)
    #expect(try pair.storedProblems().isEmpty)
  }

  @Test("what a refresh sets free reads what the store has now, in all types of stores", arguments: types)
  func released(_ type: String) throws {
    let pair = try Pair(type, .mergeByPropertyStoreTrump)
    try pair.set(0, 2, "mate", 1)
    try pair.set(1, 3, "boss", 1)
    try pair.contexts[1].save()
    pair.contexts[0].refresh(pair.person(0, 2), mergeChanges: false)
    pair.contexts[0].undo()
    #expect(!pair.contexts[0].hasChanges)
    try pair.contexts[0].save()
    #expect(try pair.person(0, 1).objects(forRelationshipNamed: "reports") == [pair.person(0, 3)])
    #expect(try pair.problems(0).isEmpty)
  }

  @Test("a deleted object that undo brings back after another context gave it a report", arguments: types, policies)
  func broughtBack(_ type: String, _ policy: MergePolicy) throws {
    let pair = try Pair(type, policy)
    try pair.set(1, 2, "boss", 1)
    try pair.contexts[1].save()
    pair.contexts[0].refresh(pair.tag(0, 1), mergeChanges: false)
    pair.contexts[0].delete(pair.person(0, 1))
    try pair.contexts[0].save()
    pair.contexts[0].undo()
    try pair.expectAgreementAfterSave()
  }

  @Test("an undo restores a deleted object as it was, with all its members, after merges", arguments: types)
  func undoneDeletion(_ type: String) throws {
    let pair = try Pair(type)
    try pair.set(1, 3, "boss", 2)
    try pair.contexts[1].save()
    pair.contexts[0].refreshAllObjects()
    pair.contexts[0].delete(pair.person(0, 2))
    pair.contexts[0].processPendingChanges()
    pair.person(0, 0)["n"] = 5
    pair.contexts[0].undo()
    pair.contexts[0].undo()
    #expect(try pair.person(0, 2).objects(forRelationshipNamed: "reports") == [pair.person(0, 3)])
    #expect(try pair.problems(0).isEmpty)
    #expect(!pair.contexts[0].hasChanges)
  }

  @Test("a save leaves no changes if another context has given its objects to one that it deletes", arguments: types)
  func savedBesideDeleted(_ type: String) throws {
    let pair = try Pair(type)
    try pair.set(1, 1, "boss", 2)
    try pair.toggle(1, 3, "friends", 1)
    try pair.contexts[1].save()
    pair.contexts[0].delete(pair.person(0, 2))
    try pair.toggle(0, 1, "friends", 0)
    try pair.contexts[0].save()
    #expect(!pair.contexts[0].hasChanges)
    #expect(try pair.problems(0).isEmpty)
    #expect(try pair.storedProblems().isEmpty)
  }

  @Test("an object that was looked for before it was saved is found afterwards", arguments: types)
  func lookedForBefore(_ type: String) throws {
    let pair = try Pair(type)
    let new = try pair.contexts[1].insertNewObject(forEntityName: "P")
    try pair.contexts[1].obtainPermanentIDs(for: [new])
    #expect(graphError { _ = try pair.contexts[0].existingObject(with: new.objectID) } != nil)
    try pair.contexts[1].save()
    #expect(graphError { _ = try pair.contexts[0].existingObject(with: new.objectID) } == nil)
  }
}

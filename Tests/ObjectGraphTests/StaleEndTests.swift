import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// An object that was read before another context saved is beside one that was read afterwards.
@Suite("Both ends of a relationship whose objects were read at different times") struct StaleEndTests {
  /// The context under test, and another one on the same store.
  struct Two {
    let stack: Stack
    let there: ManagedObjectContext
    var here: ManagedObjectContext { stack.context }

    init(_ type: String = "BinaryPropertyList", _ policy: MergePolicy = .error) throws {
      stack = try Stack(type)
      there = ManagedObjectContext(stack.coordinator)
      stack.context.mergePolicy = policy
    }
    func theirs(_ object: ManagedObject) throws -> ManagedObject { try there.existingObject(with: object.objectID) }

    /// A new context with the same merge policy, which has read nothing.
    func fresh() -> ManagedObjectContext {
      let context = ManagedObjectContext(stack.coordinator)
      context.mergePolicy = stack.context.mergePolicy
      context.retainsRegisteredObjects = true
      return context
    }

    /// By entity and value of `name`, `number` or `title`, what a relationship leads to in the file.
    func stored(_ entity: String, _ name: String, _ key: String) throws -> [String] {
      let other = try stack.reopened()
      return try withExtendedLifetime(other) {
        let object = try #require(try other.fetch(entity).first { label($0) == name })
        return try object.objects(forRelationshipNamed: key).map(label).sorted()
      }
    }
    private func label(_ object: ManagedObject) -> String {
      for key in ["name", "title", "number"] {
        if object.entity.slot(named: key) != nil, let value = object[key] { return "\(value)" }
      }
      return "nil"
    }

    func expectAgreement(_ comment: Comment? = nil) throws {
      let problems = try inverseProblems(in: stack.reopened().store.nodes)
      #expect(problems.isEmpty, comment)
    }
  }

  @Test(
    "an employee fetched for the first time is removed from the department that did not know of her",
    arguments: Stack.types,
    MergePolicy.allCases)
  func moved(_ type: String, _ policy: MergePolicy) throws {
    let two = try Two(type, policy)
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let dev = try two.stack.insert("Department", ["name": "Dev"])
    let id = try {
      let ada = try two.stack.insert("Person", ["name": "Ada"])
      try two.here.save()
      return ada.objectID
    }()
    #expect(try names(sales, "employees") == [])
    try two.there.existingObject(with: id).setValue(try two.theirs(sales), forKey: "department")
    try two.there.save()
    let ada = try #require(try two.stack.first("Person", "Ada"))
    ada["department"] = dev
    try two.here.save()
    #expect(try two.stored("Department", "Sales", "employees") == [])
    #expect(try two.stored("Department", "Dev", "employees") == ["Ada"])
    #expect(try two.stored("Person", "Ada", "department") == ["Dev"])
    #expect(try names(sales, "employees") == [] && names(dev, "employees") == ["Ada"])
  }

  @Test("in a many-to-many, a removed member is updated", arguments: Stack.types, MergePolicy.allCases)
  func takenOut(_ type: String, _ policy: MergePolicy) throws {
    let two = try Two(type, policy)
    let task = try two.stack.insert("Task", ["title": "t"])
    let id = try {
      let ada = try two.stack.insert("Person", ["name": "Ada"])
      try two.here.save()
      return ada.objectID
    }()
    _ = try names(task, "people")
    try two.there.existingObject(with: id).add(try two.theirs(task), to: "tasks")
    try two.there.save()
    let ada = try #require(try two.stack.first("Person", "Ada"))
    try ada.remove(task, from: "tasks")
    try two.here.save()
    #expect(try two.stored("Person", "Ada", "tasks") == [])
    #expect(try two.stored("Task", "t", "people") == [])
  }

  @Test(
    "in a one-to-one, a partner that read an older version is released", arguments: Stack.types, MergePolicy.allCases)
  func released(_ type: String, _ policy: MergePolicy) throws {
    let two = try Two(type, policy)
    let badges = try [1, 2].map { try two.stack.insert("Badge", ["number": $0]) }
    let id = try {
      let ada = try two.stack.insert("Person", ["name": "Ada"])
      try two.here.save()
      return ada.objectID
    }()
    _ = badges.map { $0["owner"] }
    try two.there.existingObject(with: id).setValue(try two.theirs(badges[0]), forKey: "badge")
    try two.there.save()
    let ada = try #require(try two.stack.first("Person", "Ada"))
    ada["badge"] = badges[1]
    try two.here.save()
    #expect(try two.stored("Badge", "1", "owner") == [])
    #expect(try two.stored("Badge", "2", "owner") == ["Ada"])
    #expect(badges[0]["owner"] == nil)
  }

  @Test("a refresh between two saves leaves both ends consistent")
  func refreshed() throws {
    let two = try Two()
    let ada = try two.stack.insert("Person", ["name": "Ada"])
    let task = try two.stack.insert("Task", ["title": "t"])
    let room = try two.stack.insert("Room", ["number": 1])
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    try two.here.save()
    let other = two.fresh()
    let (theirAda, theirTask) = (
      try other.existingObject(with: ada.objectID), try other.existingObject(with: task.objectID)
    )
    try theirAda.add(theirTask, to: "tasks")
    room["department"] = sales
    try ada.add(task, to: "tasks")
    try ada.remove(task, from: "tasks")
    try two.here.save()
    other.refresh(theirAda, mergeChanges: true)
    try other.save()
    try two.expectAgreement()
  }

  @Test("after a rollback by the policy both ends agree")
  func rolledBack() throws {
    let two = try Two("BinaryPropertyList", .rollback)
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let room = try two.stack.insert("Room", ["number": 1])
    let contract = try two.stack.insert("Contract", ["title": "c"])
    try two.here.save()
    let other = two.fresh()
    let (dept, theirRoom) = (
      try other.existingObject(with: sales.objectID), try other.existingObject(with: room.objectID)
    )
    theirRoom["department"] = dept
    contract["department"] = sales
    try other.save()
    contract["department"] = nil
    room["department"] = sales
    room["department"] = nil
    room["number"] = 2
    try two.here.save()
    try two.expectAgreement()
    #expect(try two.stored("Department", "Sales", "rooms") == ["1"])
  }

  @Test(
    "if both contexts add to one set and one refreshes, the file has both objects, at both ends",
    arguments: MergePolicy.allCases)
  func bothAdd(_ policy: MergePolicy) throws {
    let two = try Two("BinaryPropertyList", policy)
    let ada = try two.stack.insert("Person", ["name": "Ada"])
    let tasks = try ["t0", "t1"].map { try two.stack.insert("Task", ["title": $0]) }
    try two.here.save()
    try ada.add(tasks[1], to: "tasks")
    try two.theirs(ada).add(try two.theirs(tasks[0]), to: "tasks")
    try two.there.save()
    try ada.add(tasks[0], to: "tasks")
    two.here.refresh(ada, mergeChanges: false)
    try two.here.save()
    try two.expectAgreement()
  }

  @Test(
    "an object deleted by one context and saved again by the other leaves no one-sided relationship",
    arguments: MergePolicy.allCases)
  func deletedBetween(_ policy: MergePolicy) throws {
    let two = try Two("BinaryPropertyList", policy)
    two.there.mergePolicy = policy
    let ada = try two.stack.insert("Person", ["name": "Ada"])
    let task = try two.stack.insert("Task", ["title": "t"])
    try two.here.save()
    try ada.add(task, to: "tasks")
    try two.theirs(ada).add(try two.theirs(task), to: "tasks")
    two.here.delete(ada)
    try two.here.save()
    if graphError({ try two.there.save() }) != nil { two.there.rollback() }
    try two.expectAgreement()
    if let again = try? two.theirs(task),
      let person = try two.there.fetch(FetchRequest<ManagedObject>(entityName: "Person")).first
    {
      try again.add(person, to: "people")
      try two.there.save()
    }
    try two.expectAgreement()
  }

  @Test(
    "to-many relationships that both contexts changed are merged without a conflict", arguments: MergePolicy.allCases)
  func merges(_ policy: MergePolicy) throws {
    let two = try Two("BinaryPropertyList", policy)
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let people = try ["A", "B", "C"].map { try two.stack.insert("Person", ["name": $0]) }
    people[2]["department"] = sales
    let tasks = try (0..<4).map { try two.stack.insert("Task", ["title": "t\($0)"]) }
    try people[0].setValue([tasks[0], tasks[1]], forKey: "tasks")
    try two.here.save()
    try two.theirs(people[0]).setValue(try two.theirs(sales), forKey: "department")
    try two.theirs(people[0]).add(try two.theirs(tasks[2]), to: "tasks", at: 1)
    try two.there.save()
    try people[1].setValue(sales, forKey: "department")
    try people[2].setValue(nil, forKey: "department")
    try tasks[3].add(people[1], to: "people")
    try sales.setValue(2, forKey: "floor")
    let other = two.fresh()
    try other.existingObject(with: people[0].objectID).add(
      try other.existingObject(with: tasks[3].objectID), to: "tasks")
    #expect(two.here.conflicts().isEmpty)
    try two.here.save()
    try other.save()
    #expect(try two.stored("Department", "Sales", "employees") == ["A", "B"])
    let reader = try two.stack.reopened()
    #expect(try names(try #require(try reader.first("Person", "A")), "tasks", "title") == ["t0", "t2", "t1", "t3"])
    #expect(try sorted(try #require(try reader.first("Task", "t3", "title")), "people") == ["A", "B"])
  }

  @Test(
    "a cascade deletes a child that was read before it had its owner; with the policy error that is a conflict",
    arguments: MergePolicy.allCases)
  func cascade(_ policy: MergePolicy) throws {
    let two = try Two("BinaryPropertyList", policy)
    let room = try two.stack.insert("Room", ["number": 1])
    let id = try {
      let sales = try two.stack.insert("Department", ["name": "Sales"])
      try two.here.save()
      return sales.objectID
    }()
    #expect(room["department"] == nil)
    try two.theirs(room).setValue(try two.there.existingObject(with: id), forKey: "department")
    try two.there.save()
    let sales = try two.here.existingObject(with: id)
    #expect(try sales.count(forRelationshipNamed: "rooms") == 1)
    two.here.delete(sales)
    let error = graphError { try two.here.save() }
    if policy == .error {
      #expect(error?.code == .managedObjectMerge)
      #expect(error?.conflicts.map(\.objectID) == [room.objectID])
    } else {
      #expect(error == nil)
      #expect(two.stack.store.nodes.count == 0)
    }
  }

  @Test(
    "a cascade reaches a child that was added to the owner in the store after the owner was read",
    arguments: MergePolicy.allCases)
  func lateChild(_ policy: MergePolicy) throws {
    let two = try Two("BinaryPropertyList", policy)
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    try two.here.save()
    let room = try two.there.insertNewObject(forEntityName: "Room")
    room["department"] = try two.theirs(sales)
    try two.there.save()
    two.here.delete(sales)
    let error = graphError { try two.here.save() }
    #expect((error?.code == .managedObjectMerge) == (policy == .error))
    let isDeleted = policy == .overwrite || policy == .mergeByPropertyObjectTrump
    #expect(two.stack.store.nodes.count == (isDeleted ? 0 : 2))
    try two.expectAgreement()
  }

  @Test("Deny counts what the store holds now", arguments: [MergePolicy.overwrite, .mergeByPropertyObjectTrump])
  func denied(_ policy: MergePolicy) throws {
    let two = try Two("BinaryPropertyList", policy)
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    try two.here.save()
    let contract = try two.there.insertNewObject(forEntityName: "Contract")
    contract["department"] = try two.theirs(sales)
    try two.there.save()
    two.here.delete(sales)
    #expect(graphError { try two.here.save() }?.code == .validationRelationshipDeniedDelete)
    #expect(sales.isDeleted)
    two.there.delete(contract)
    try two.there.save()
    try two.here.save()
    #expect(two.stack.store.nodes.count == 0)
  }

  @Test(
    "a partner that follows on an older version is a conflict, which the policies resolve",
    arguments: MergePolicy.allCases)
  func stalePartner(_ policy: MergePolicy) throws {
    let two = try Two("BinaryPropertyList", policy)
    let people = try ["A", "B", "C"].map { try two.stack.insert("Person", ["name": $0]) }
    people[1]["spouse"] = people[2]
    try two.here.save()
    let reader = two.fresh()
    let c = try reader.existingObject(with: people[2].objectID)
    try two.theirs(people[0]).setValue(try two.theirs(people[2]), forKey: "spouse")
    try two.there.save()
    // B is read now, and has no one; C, read before, has B still.
    let b = try reader.existingObject(with: people[1].objectID)
    #expect(b["spouse"] == nil && (c["spouse"] as? ManagedObject) === b)
    b["spouse"] = c
    #expect(reader.hasChanges)
    let error = graphError { try reader.save() }
    #expect((error?.code == .managedObjectMerge) == (policy == .error))
    if policy == .error {
      #expect(error?.conflicts.map(\.objectID) == [people[2].objectID])
      #expect(!c.hasChanges && b.hasChanges)
    }
    try two.expectAgreement()
    let isOurs = policy == .overwrite || policy == .mergeByPropertyObjectTrump
    #expect(try two.stored("Person", "C", "spouse") == [isOurs ? "B" : "A"])
  }

  @Test(
    "a restored object does not take objects from their current owners",
    arguments: [MergePolicy.overwrite, .mergeByPropertyObjectTrump])
  func comesBack(_ policy: MergePolicy) throws {
    let two = try Two("BinaryPropertyList", policy)
    let badge = try two.stack.insert("Badge", ["number": 1])
    let sales = try two.stack.insert("Department", ["name": "Sales"])
    let ada = try two.stack.insert("Person", ["name": "Ada", "badge": badge, "department": sales])
    try two.here.save()
    let bob = try two.there.insertNewObject(forEntityName: "Person")
    bob["name"] = "Bob"
    bob["badge"] = try two.theirs(badge)
    two.there.delete(try two.theirs(ada))
    try two.there.save()
    ada["age"] = 5
    try two.here.save()
    #expect(try two.stored("Badge", "1", "owner") == ["Bob"])
    #expect(try two.stored("Person", "Ada", "badge") == [])
    #expect(try two.stored("Department", "Sales", "employees") == ["Ada"])
    try two.expectAgreement()
  }

  @Test("if one end was set as a primitive value, the save updates the other", arguments: Stack.types)
  func primitive(_ type: String) throws {
    let stack = try Stack(type)
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ada = try stack.insert("Person", ["name": "Ada"])
    let bob = try stack.insert("Person", ["name": "Bob", "department": sales])
    try stack.context.save()
    ada["age"] = 1
    try ada.setPrimitiveValue(sales, forKey: "department")
    bob["age"] = 1
    try bob.setPrimitiveValue(nil, forKey: "department")
    try stack.context.save()
    #expect(try names(sales, "employees") == ["Ada"])
    #expect(try inverseProblems(in: stack.reopened().store.nodes).isEmpty)
  }

  @Test("an undo that changes only one end is completed by the save")
  func undone() throws {
    let stack = try Stack()
    let undo = UndoHistory()
    stack.context.undoManager = undo
    let lab = try stack.insert("Department", ["name": "Lab"])
    let sales = try stack.insert("Department", ["name": "Sales"])
    let ada = try stack.insert("Person", ["name": "Ada"])
    try stack.context.save()
    undo.removeAllActions()
    ada["department"] = sales
    stack.context.processPendingChanges()
    undo.disableUndoRegistration()
    ada["department"] = lab
    undo.enableUndoRegistration()
    stack.context.undo()
    try stack.context.save()
    #expect(try inverseProblems(in: stack.reopened().store.nodes).isEmpty)
  }
}

/// Every end in a table that is not named back, found without the kit's own check.
func inverseProblems(in nodes: NodeTable) -> [String] {
  var problems: [String] = []
  func references(_ value: StoredValue?) -> [ObjectReference] {
    switch value {
    case .toOne(let reference)?: [reference]
    case .toMany(let references)?: references
    default: []
    }
  }
  for entity in nodes.model.entities {
    for property in entity.properties {
      guard case .relationship(let relationship) = property, let inverse = relationship.inverseName else { continue }
      for node in nodes.handles(of: entity.index) {
        for other in references(nodes.value(forKey: relationship.name, of: node)) {
          let back = nodes.handle(for: other).map { references(nodes.value(forKey: inverse, of: $0)) } ?? []
          if !back.contains(where: { nodes.handle(for: $0) == node }) {
            problems.append(
              "\(nodes.objectReference(of: node)).\(relationship.name) names \(other), whose \(inverse) does not name it"
            )
          }
        }
      }
    }
  }
  return problems
}

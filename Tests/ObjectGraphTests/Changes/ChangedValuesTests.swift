import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Changed values") struct ChangedValuesTests {
  /// A department with two people and an address, saved.
  private func saved() throws -> (stack: Stack, sales: ManagedObject, ada: ManagedObject, ben: ManagedObject) {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales", "address": ["city": "Bern", "street": "A"]])
    let ada = try stack.insert("Person", ["name": "Ada", "age": 36])
    let ben = try stack.insert("Person", ["name": "Ben"])
    try sales.add(ada, to: "employees")
    try sales.add(ben, to: "employees")
    try stack.context.save()
    return (stack, sales, ada, ben)
  }

  @Test("an attribute's new value is a changed value, and its stored one a committed value")
  func attribute() throws {
    let (stack, _, ada, _) = try saved()
    defer { withExtendedLifetime(stack) {} }
    #expect(ada.changedValues().isEmpty)
    try ada.setValue("Eve", forKey: "name")
    try ada.setValue(nil, forKey: "age")
    let changed = ada.changedValues()
    #expect(Set(changed.keys) == ["name", "age"])
    #expect(changed["name"] as? String == "Eve")
    #expect(try #require(changed["age"]) == nil)
    #expect(ada.changedKeys.sorted() == ["age", "name"])
    let committed = ada.committedValues(forKeys: ["name", "age"])
    #expect(committed["name"] as? String == "Ada")
    #expect(committed["age"] as? Int == 36)
    #expect(ada["name"] as? String == "Eve")
  }

  @Test("a value set back to the stored one is not a changed value")
  func setBack() throws {
    let (stack, _, ada, _) = try saved()
    defer { withExtendedLifetime(stack) {} }
    try ada.setValue("Eve", forKey: "name")
    try ada.setValue("Ada", forKey: "name")
    #expect(ada.changedValues().isEmpty)
  }

  @Test("relationships are changed at both ends, with objects and sets as values")
  func relationships() throws {
    let (stack, sales, ada, ben) = try saved()
    let dev = try stack.insert("Department", ["name": "Dev"])
    try ada.setValue(dev, forKey: "department")
    #expect(ada.changedValues()["department"] as? ManagedObject === dev)
    #expect(ada.committedValues(forKeys: ["department"])["department"] as? ManagedObject === sales)
    #expect(sales.changedValues()["employees"] as? Set<ManagedObject> == [ben])
    #expect(sales.committedValues(forKeys: ["employees"])["employees"] as? Set<ManagedObject> == [ada, ben])
    #expect(dev.changedValues()["employees"] as? Set<ManagedObject> == [ada])
  }

  @Test("an ordered relationship has lists")
  func ordered() throws {
    let (stack, _, ada, _) = try saved()
    let one = try stack.insert("Task", ["title": "1"])
    let two = try stack.insert("Task", ["title": "2"])
    try ada.setValue([one, two], forKey: "tasks")
    try stack.context.save()
    try ada.move(two, in: "tasks", to: 0)
    #expect(ada.changedValues()["tasks"] as? [ManagedObject] == [two, one])
    #expect(ada.committedValues(forKeys: ["tasks"])["tasks"] as? [ManagedObject] == [one, two])
  }

  @Test("a changed part of a composite is a change of the composite")
  func composite() throws {
    let (stack, sales, _, _) = try saved()
    defer { withExtendedLifetime(stack) {} }
    try sales.setValue("Basel", forKeyPath: "address.city")
    #expect(sales.changedKeys == ["address"])
    #expect((sales.changedValues()["address"] as? [String: Any])?["city"] as? String == "Basel")
    let before = sales.committedValues(forKeys: ["address"])["address"] as? [String: Any]
    #expect(before?["city"] as? String == "Bern")
    #expect(before?["street"] as? String == "A")
  }

  @Test("a new object's changed values are those that were set, its committed ones the model's defaults")
  func inserted() throws {
    let stack = try Stack()
    let sales = try stack.insert("Department")
    #expect(sales.changedValues().isEmpty)
    try sales.setValue("Sales", forKey: "name")
    try sales.setValue(7, forKey: "floor")
    #expect(Set(sales.changedValues().keys) == ["name", "floor"])
    let committed = sales.committedValues(forKeys: ["name", "floor", "employees"])
    #expect(try #require(committed["name"]) == nil)
    #expect(committed["floor"] as? Int == 1)
    #expect(committed["employees"] as? Set<ManagedObject> == [])
  }

  @Test("transient values are not changed values")
  func transient() throws {
    let (stack, _, ada, _) = try saved()
    defer { withExtendedLifetime(stack) {} }
    try ada.setValue("glad", forKey: "mood")
    #expect(ada.hasChanges)
    #expect(ada.changedValues().isEmpty)
  }

  @Test("without names, all persistent properties are committed values")
  func allCommitted() throws {
    let (stack, _, ada, _) = try saved()
    defer { withExtendedLifetime(stack) {} }
    let all = ada.committedValues()
    #expect(all["name"] as? String == "Ada")
    #expect(all.keys.contains("address") && !all.keys.contains("address.city") && !all.keys.contains("mood"))
    #expect(ada.committedValues(forKeys: ["nmae"]).isEmpty)
    #expect(ada.accessError?.code == .undefinedKey)
  }

  @Test("in a child context, committed values are those of the parent, unsaved ones too")
  func child() throws {
    let (stack, sales, ada, ben) = try saved()
    try ada.setValue("Eve", forKey: "name")
    let child = ManagedObjectContext(parent: stack.context)
    let below = child.object(with: ada.objectID)
    try below.setValue("Fay", forKey: "name")
    try below.setValue(nil, forKey: "department")
    #expect(Set(below.changedValues().keys) == ["name", "department"])
    #expect(below.committedValues(forKeys: ["name"])["name"] as? String == "Eve")
    #expect(
      (below.committedValues(forKeys: ["department"])["department"] as? ManagedObject)?.objectID == sales.objectID)
    let above = child.object(with: sales.objectID)
    #expect((above.committedValues(forKeys: ["employees"])["employees"] as? Set<ManagedObject>)?.count == 2)
    #expect((above.changedValues()["employees"] as? Set<ManagedObject>)?.map(\.objectID) == [ben.objectID])
  }

  @Test("reading what changed fires no fault and changes nothing")
  func fault() throws {
    let (stack, _, ada, _) = try saved()
    stack.context.refresh(ada, mergeChanges: false)
    #expect(ada.changedValues().isEmpty && ada.changedKeys.isEmpty)
    #expect(ada.isFault)
    #expect(ada.committedValues(forKeys: ["name"])["name"] as? String == "Ada")
    #expect(!ada.hasChanges && !stack.context.hasChanges)
  }

  @Test("willSave sees what changed, and may change what depends on it")
  func willSave() throws {
    let stack = try Stack(classes: ["Person": Renamed.self])
    let ada = try #require(try stack.insert("Person", ["name": "Ada", "age": 1]) as? Renamed)
    try stack.context.save()
    #expect(ada.seen == [["age", "name"]])
    ada.seen = []
    try ada.setValue("Eve", forKey: "name")
    try stack.context.save()
    #expect(ada.seen.first == ["name"])
    #expect(ada["age"] as? Int == 2)
    #expect(ada.changedValues().isEmpty)
  }

  private final class Renamed: ManagedObject {
    var seen: [[String]] = []
    override func willSave() {
      seen.append(changedValues().keys.sorted())
      guard !isInserted, changedValues()["name"] != nil, changedValues()["age"] == nil else { return }
      self["age"] = 2
    }
  }

  // MARK: The current event

  @Test("the values of the current event are those before it, not before the last save")
  func currentEvent() throws {
    let (stack, sales, ada, ben) = try saved()
    #expect(ada.changedValuesForCurrentEvent().isEmpty)
    try ada.setValue("Eve", forKey: "name")
    #expect(ada.changedValuesForCurrentEvent()["name"] as? String == "Ada")
    stack.context.processPendingChanges()
    #expect(ada.changedValuesForCurrentEvent().isEmpty)
    try ada.setValue("Fay", forKey: "name")
    try ada.setValue("Gil", forKey: "name")
    try ada.setValue(nil, forKey: "department")
    let values = ada.changedValuesForCurrentEvent()
    #expect(Set(values.keys) == ["name", "department"])
    #expect(values["name"] as? String == "Eve")
    #expect(values["department"] as? ManagedObject === sales)
    #expect(sales.changedValuesForCurrentEvent()["employees"] as? Set<ManagedObject> == [ada, ben])
    #expect(ada.changedValues()["name"] as? String == "Gil")
  }

  @Test("a to-many that changed in earlier events has the list before this one")
  func listsOfEvents() throws {
    let (stack, sales, ada, _) = try saved()
    let new = try stack.insert("Person", ["name": "New"])
    try sales.add(new, to: "employees")
    stack.context.processPendingChanges()
    let before = try sales.value(forKey: "employees") as? Set<ManagedObject>
    let newer = try stack.insert("Person", ["name": "Newer"])
    try sales.add(newer, to: "employees")
    try sales.remove(ada, from: "employees")
    #expect(sales.changedValuesForCurrentEvent()["employees"] as? Set<ManagedObject> == before)
    try sales.add(ada, to: "employees")
    try sales.remove(newer, from: "employees")
    #expect(sales.changedValuesForCurrentEvent().isEmpty)
  }

  @Test("an ordered relationship has its list before the event, with positions")
  func orderedEvent() throws {
    let (stack, _, ada, _) = try saved()
    let tasks = try (1...4).map { try stack.insert("Task", ["title": "\($0)"]) }
    try ada.setValue(tasks, forKey: "tasks")
    stack.context.processPendingChanges()
    try ada.remove(tasks[1], from: "tasks")
    try ada.move(tasks[3], in: "tasks", to: 0)
    try ada.remove(tasks[0], from: "tasks")
    #expect(ada.changedValuesForCurrentEvent()["tasks"] as? [ManagedObject] == tasks)
  }

  @Test("an observer sees the values before the changes that it is notified of")
  func observer() throws {
    let (stack, _, ada, _) = try saved()
    try ada.setValue("Eve", forKey: "name")
    var seen: [String] = []
    let observation = stack.context.observe { event in
      guard case .objectsDidChange(let changes) = event else { return }
      seen += changes.updated.compactMap { $0.changedValuesForCurrentEvent()["name"] as? String }
    }
    stack.context.processPendingChanges()
    observation.cancel()
    #expect(seen == ["Ada"])
  }

  @Test("an object inserted in the event had defaults before it")
  func insertedEvent() throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales", "floor": 3])
    let ada = try stack.insert("Person")
    try sales.add(ada, to: "employees")
    let values = sales.changedValuesForCurrentEvent()
    #expect(Set(values.keys) == ["name", "floor", "employees"])
    #expect(values["floor"] as? Int == 1)
    #expect(values["employees"] as? Set<ManagedObject> == [])
    stack.context.processPendingChanges()
    #expect(sales.changedValuesForCurrentEvent().isEmpty)
  }

  @Test("undo is a change of the event as well")
  func undo() throws {
    let (stack, _, ada, _) = try saved()
    stack.context.undoManager = UndoHistory()
    try ada.setValue("Eve", forKey: "name")
    var seen: [String] = []
    let observation = stack.context.observe { event in
      guard case .objectsDidChange = event else { return }
      seen.append(ada.changedValuesForCurrentEvent()["name"] as? String ?? "nothing")
    }
    stack.context.undo()
    observation.cancel()
    #expect(seen == ["Ada", "Eve"])
  }

  @Test("what an event recorded does not keep objects alive after it")
  func noLeak() throws {
    let (stack, sales, _, _) = try saved()
    weak var gone: ManagedObject?
    try {
      let eve = try stack.insert("Person", ["name": "Eve"])
      try sales.add(eve, to: "employees")
      try sales.remove(eve, from: "employees")
      stack.context.delete(eve)
      gone = eve
      stack.context.processPendingChanges()
    }()
    try stack.context.save()
    #expect(gone == nil)
  }
}

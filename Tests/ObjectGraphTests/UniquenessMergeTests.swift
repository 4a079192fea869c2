import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Objects with the same unique values become one") struct UniquenessMergeTests {
  static let resolving: [MergePolicy] = [
    .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
  ]
  static func isContextWinning(_ policy: MergePolicy) -> Bool {
    policy == .mergeByPropertyObjectTrump || policy == .overwrite
  }

  /// Accounts by number and by mail address, with every kind of relationship.
  static func description(_ rule: DeleteRule = .cascade) -> ModelDescription {
    func relationship(
      _ name: String, _ destination: String, _ inverse: String?, isToMany: Bool = false, isOrdered: Bool = false,
      _ rule: DeleteRule = .nullify
    ) -> PropertyDescription {
      .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: isToMany ? 0 : 1,
          isOrdered: isOrdered, deleteRule: rule))
    }
    return ModelDescription(entities: [
      EntityDescription(
        name: "Account",
        properties: [
          .attribute("number", .integer32),
          .attribute("mail", .string),
          .attribute("name", .string),
          .attribute("city", .string),
          relationship("items", "Item", "account", isToMany: true, rule),
          relationship("steps", "Item", "plan", isToMany: true, isOrdered: true, rule),
          relationship("tags", "Tag", "accounts", isToMany: true, rule),
          relationship("owner", "Person", "accounts", rule),
          relationship("card", "Card", "account", rule),
          relationship("friends", "Account", "friends", isToMany: true),
          relationship("parent", "Account", "children"),
          relationship("children", "Account", "parent", isToMany: true, rule),
        ],
        subentities: [EntityDescription(name: "Premium")],
        uniquenessConstraints: [["number"], ["mail"]]),
      EntityDescription(
        name: "Item",
        properties: [
          .attribute("name", .string),
          relationship("account", "Account", "items"), relationship("plan", "Account", "steps"),
        ]),
      EntityDescription(
        name: "Tag",
        properties: [
          .attribute("name", .string),
          relationship("accounts", "Account", "tags", isToMany: true),
        ]),
      EntityDescription(
        name: "Person",
        properties: [
          .attribute("name", .string),
          relationship("accounts", "Account", "owner", isToMany: true),
        ]),
      EntityDescription(
        name: "Card",
        properties: [
          .attribute("name", .string), relationship("account", "Account", "card"),
        ]),
      EntityDescription(
        name: "Visit",
        properties: [
          .attribute("name", .string), relationship("account", "Account", nil),
          relationship("seen", "Account", nil, isToMany: true, isOrdered: true),
        ]),
      EntityDescription(name: "Trace"),
    ])
  }

  /// Leaves a trace when it is deleted.
  final class Account: ManagedObject {
    override func prepareForDeletion() { _ = try? managedObjectContext?.insertNewObject(forEntityName: "Trace") }
  }

  func stack(_ rule: DeleteRule = .cascade, _ type: String = "XML") throws -> Stack {
    try Stack(
      type, model: try ManagedObjectModel(Self.description(rule)),
      classes: ["Account": Account.self, "Premium": Account.self])
  }

  /// A line for each relationship of each object in the file.
  func file(_ stack: Stack) throws -> [String] {
    let other = try stack.reopened()
    var lines: [String] = []
    for entity in stack.store.model.entities {
      for object in try other.fetch(entity.name) where object.entity.name == entity.name {
        for slot in entity.slots where slot.relationship != nil {
          let ends = try names(object, slot.name)
          if !ends.isEmpty {
            lines.append("\(object["name"] as? String ?? "").\(slot.name) = \(ends.joined(separator: " "))")
          }
        }
      }
    }
    return lines.sorted()
  }

  @Test(
    "the stored row keeps its ID and gets the new object's values, whatever the delete rule", arguments: resolving,
    [DeleteRule.cascade, .nullify, .deny, .noAction])
  func storedAndNew(_ policy: MergePolicy, _ rule: DeleteRule) throws {
    for type in Stack.types {
      let stack = try stack(rule, type)
      let old = try stack.insert("Account", ["number": 1, "name": "old", "city": "Ulm"])
      for name in ["old0", "old1"] {
        let item = try stack.insert("Item", ["name": name])
        try item.setValue(old, forKey: "account")
        try item.setValue(old, forKey: "plan")
      }
      try stack.context.save()
      let id = old.objectID
      stack.context.mergePolicy = policy
      let new = try stack.insert("Account", ["number": 1, "name": "new"])
      let item = try stack.insert("Item", ["name": "new0", "account": new, "plan": new])
      try stack.context.save()
      let name = Self.isContextWinning(policy) ? "new" : "old"
      #expect(old.objectID == id)
      #expect(item["account"] as? ManagedObject === old)
      #expect(old["name"] as? String == name)
      // A bare insert blanks what it does not set.
      #expect(old["city"] as? String == (Self.isContextWinning(policy) ? nil : "Ulm"))
      #expect(try names(old, "steps") == ["old0", "old1", "new0"])
      #expect(try stack.fetch("Trace").isEmpty)
      #expect(
        try file(stack)
          == [
            "\(name).items = old0 old1 new0", "\(name).steps = old0 old1 new0", "new0.account = \(name)",
            "new0.plan = \(name)",
            "old0.account = \(name)", "old0.plan = \(name)", "old1.account = \(name)", "old1.plan = \(name)",
          ].sorted(), "\(type)")
    }
  }

  @Test(
    "a to-one has the winner's destination, or if that is nil another one's, and both ends agree", arguments: resolving)
  func toOne(_ policy: MergePolicy) throws {
    let stack = try stack()
    let (tag, other) = (try stack.insert("Tag", ["name": "t"]), try stack.insert("Tag", ["name": "u"]))
    let (ada, bob) = (try stack.insert("Person", ["name": "Ada"]), try stack.insert("Person", ["name": "Bob"]))
    let old = try stack.insert("Account", ["number": 1, "name": "a", "owner": ada, "tags": Set([tag])])
    let bare = try stack.insert("Account", ["number": 2, "name": "b"])
    let card = try stack.insert("Card", ["name": "card0", "account": old])
    try stack.context.save()
    stack.context.mergePolicy = policy
    let new = try stack.insert("Account", ["number": 1, "name": "a", "owner": bob, "tags": Set([tag, other])])
    try stack.insert("Card", ["name": "card1"]).setValue(new, forKey: "account")
    _ = try stack.insert("Account", ["number": 2, "name": "b", "owner": bob])
    try stack.context.save()
    let isNew = Self.isContextWinning(policy)
    #expect(old["owner"] as? ManagedObject === (isNew ? bob : ada))
    #expect(bare["owner"] as? ManagedObject === bob)
    #expect((card["account"] == nil) == isNew)
    #expect(
      try file(stack)
        == ((isNew
        ? ["Bob.accounts = a b", "a.owner = Bob", "a.card = card1", "card1.account = a"]
        : ["Ada.accounts = a", "Bob.accounts = b", "a.owner = Ada", "a.card = card0", "card0.account = a"])
        + ["b.owner = Bob", "a.tags = t u", "t.accounts = a", "u.accounts = a"]).sorted())
  }

  @Test("new objects with the same values are merged", arguments: resolving)
  func new(_ policy: MergePolicy) throws {
    let stack = try stack()
    stack.context.mergePolicy = policy
    let made = try ["one", "two", "three"].map { name in
      let account = try stack.insert("Account", ["number": 1, "name": name])
      _ = try stack.insert("Item", ["name": "of " + name, "account": account])
      return account
    }
    try stack.context.save()
    let name = Self.isContextWinning(policy) ? "three" : "one"
    #expect(try sorted(made[0], "items") == ["of one", "of three", "of two"])
    #expect(made[0]["name"] as? String == name)
    #expect(made.map(\.unavailableReason) == [nil, .merged, .merged])
    #expect(try stack.fetch("Account") == [made[0]])
    #expect(try stack.reread("Account").map { $0["name"] as? String } == [name])
  }

  @Test("an object that was merged reports it, and observers are notified of the removed rows", arguments: resolving)
  func notices(_ policy: MergePolicy) throws {
    let stack = try stack()
    let old = try stack.insert("Account", ["number": 1, "mail": "a"])
    let twin = try stack.insert("Account", ["number": 2, "mail": "b"])
    try stack.context.save()
    let (oldID, twinID) = (old.objectID, twin.objectID)
    stack.context.mergePolicy = policy
    let new = try stack.insert("Account", ["number": 1, "mail": "b", "name": "new"])
    stack.context.processPendingChanges()
    var saved: ObjectIDChanges?
    var deleted: [ManagedObject] = []
    let observation = stack.context.observe { event in
      if case .didSave(let changes) = event { saved = changes.ids }
      if case .objectsDidChange(let changes) = event { deleted += changes.deleted }
    }
    try stack.context.save()
    _ = observation
    let isNew = Self.isContextWinning(policy)
    #expect(new.unavailableReason == .merged)
    #expect(new.managedObjectContext == nil)
    #expect(
      graphError { _ = try new.value(forKey: "name") }?.message.contains("was merged into another object") == true)
    #expect(saved?.inserted.isEmpty == true)
    // Where the store wins its two rows are unique without the new object.
    #expect(saved?.updated == (isNew ? [oldID] : []))
    #expect(saved?.deleted == (isNew ? [twinID] : []))
    #expect(twin.unavailableReason == (isNew ? .merged : nil))
    #expect(deleted == (isNew ? [twin, new] : [new]))
    #expect(
      try stack.reread("Account").map { "\($0["number"] ?? "")\($0["mail"] ?? "")" } == (isNew ? ["1b"] : ["1a", "2b"]))
  }

  @Test(
    "two saved rows that are set to one value are merged into the one with the lower reference, or keep their own",
    arguments: resolving)
  func changed(_ policy: MergePolicy) throws {
    let stack = try stack()
    let one = try stack.insert("Account", ["number": 1, "name": "one"])
    let two = try stack.insert("Account", ["number": 2, "name": "two"])
    _ = try stack.insert("Item", ["name": "i", "account": one])
    _ = try stack.insert("Item", ["name": "j", "account": two])
    try stack.context.save()
    stack.context.mergePolicy = policy
    try two.setValue(1, forKey: "number")
    try two.setValue("TWO", forKey: "name")
    try stack.context.save()
    switch policy {
    case .mergeByPropertyObjectTrump, .overwrite:
      #expect(try file(stack) == ["TWO.items = i j", "i.account = TWO", "j.account = TWO"])
    // By property the name that was set is saved, the number is the store's.
    case .mergeByPropertyStoreTrump:
      #expect(try file(stack) == ["TWO.items = j", "i.account = one", "j.account = TWO", "one.items = i"])
    default: #expect(try file(stack) == ["i.account = one", "j.account = two", "one.items = i", "two.items = j"])
    }
    #expect(two.unavailableReason == (Self.isContextWinning(policy) ? .merged : nil))
  }

  @Test(
    "relationships without an inverse lead to the survivor, also from rows that were not fetched", arguments: resolving)
  func withoutInverse(_ policy: MergePolicy) throws {
    let stack = try stack(.deny)
    let one = try stack.insert("Account", ["number": 1, "mail": "a", "name": "one"])
    let two = try stack.insert("Account", ["number": 2, "mail": "b", "name": "two"])
    let three = try stack.insert("Account", ["number": 3, "name": "three"])
    _ = try stack.insert("Visit", ["name": "v", "account": two, "seen": [three, two, one]])
    try stack.context.save()
    let context = ManagedObjectContext(stack.coordinator)
    context.mergePolicy = policy
    let new = try context.insertNewObject(forEntityName: "Account")
    for (key, value) in ["number": 1, "mail": "b", "name": "one"] as [String: Any] {
      try new.setValue(value, forKey: key)
    }
    let visit = try context.insertNewObject(forEntityName: "Visit")
    for (key, value) in ["name": "w", "account": new, "seen": [new]] as [String: Any] {
      try visit.setValue(value, forKey: key)
    }
    try context.save()
    let isNew = Self.isContextWinning(policy)
    #expect(
      try file(stack) == [
        "v.account = \(isNew ? "one" : "two")", "v.seen = three \(isNew ? "one" : "two one")", "w.account = one",
        "w.seen = one",
      ])
  }

  @Test(
    "relationships within the entity lead to the survivor, and merging does not relate it to itself",
    arguments: resolving)
  func within(_ policy: MergePolicy) throws {
    let stack = try stack()
    let old = try stack.insert("Account", ["number": 1, "name": "a"])
    let friend = try stack.insert("Account", ["number": 2, "name": "f", "friends": Set([old]), "parent": old])
    try stack.context.save()
    stack.context.mergePolicy = policy
    let new = try stack.insert("Account", ["number": 1, "name": "a", "friends": Set([old, friend])])
    try new.setValue(old, forKey: "parent")
    _ = try stack.insert("Account", ["number": 3, "name": "c", "parent": new, "friends": Set([new])])
    try stack.context.save()
    #expect(
      try file(stack) == [
        "a.children = f c", "a.friends = f c", "c.friends = a", "c.parent = a", "f.friends = a", "f.parent = a",
      ])
  }

  @Test(
    "objects of different entities are not merged: the error names both, with every policy",
    arguments: MergePolicy.allCases)
  func differentEntities(_ policy: MergePolicy) throws {
    let stack = try stack()
    _ = try stack.insert("Premium", ["number": 1])
    try stack.context.save()
    stack.context.mergePolicy = policy
    let new = try stack.insert("Account", ["number": 1])
    let error = try #require(graphError { try stack.context.save() })
    #expect(error.code == .managedObjectConstraintMerge)
    #expect(error.message.contains("Account/new and Premium/1"))
    #expect(stack.context.insertedObjects == [new])
    #expect(new.unavailableReason == nil)
  }

  @Test("undo reverts a merge, redo repeats it", arguments: resolving)
  func undo(_ policy: MergePolicy) throws {
    let stack = try stack()
    let old = try stack.insert("Account", ["number": 1, "name": "old"])
    _ = try stack.insert("Item", ["name": "i", "account": old])
    try stack.context.save()
    stack.context.mergePolicy = policy
    let undo = UndoHistory()
    stack.context.undoManager = undo
    let new = try stack.insert("Account", ["number": 1, "name": "new"])
    let item = try stack.insert("Item", ["name": "j", "account": new])
    try stack.context.save()
    undo.undo()
    #expect(stack.context.insertedObjects.contains(new))
    #expect(try names(new, "items") == ["j"])
    #expect(try names(old, "items") == ["i"])
    #expect(item["account"] as? ManagedObject === new)
    #expect(old["name"] as? String == "old")
    #expect(new["name"] as? String == "new")
    undo.redo()
    #expect(try sorted(old, "items") == ["i", "j"])
    #expect(item["account"] as? ManagedObject === old)
    #expect(new.isDeleted || new.managedObjectContext == nil)
    try stack.context.save()
    #expect(try stack.reread("Account").count == 1)
  }

  @Test("another context that merges the save keeps moved objects", arguments: [DeleteRule.cascade, .nullify])
  func otherContext(_ rule: DeleteRule) throws {
    let stack = try stack(rule)
    let one = try stack.insert("Account", ["number": 1, "name": "one"])
    let two = try stack.insert("Account", ["number": 2, "name": "two"])
    _ = try stack.insert("Item", ["name": "i", "account": two])
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    let theirs = try other.existingObject(with: two.objectID)
    let lower = try other.existingObject(with: one.objectID)
    #expect(try names(theirs, "items") == ["i"])
    let observation = stack.context.observe { event in
      if case .didSave(let changes) = event { other.mergeChanges(fromDidSave: changes.ids) }
    }
    stack.context.mergePolicy = .mergeByPropertyObjectTrump
    try two.setValue(1, forKey: "number")
    try stack.context.save()
    _ = observation
    #expect(try names(lower, "items") == ["i"])
    try other.save()
    #expect(try file(stack) == ["i.account = two", "two.items = i"])
  }

  @Test("as objc.io expects of its moods: both lead to one country after the save")
  func countries() throws {
    let stack = try stack()
    stack.context.mergePolicy = .mergeByPropertyStoreTrump
    let one = try stack.insert("Item", ["name": "m1", "account": try stack.insert("Account", ["number": 49])])
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    other.mergePolicy = .mergeByPropertyStoreTrump
    let country = try other.insertNewObject(forEntityName: "Account")
    try country.setValue(49, forKey: "number")
    let two = try other.insertNewObject(forEntityName: "Item")
    try two.setValue(country, forKey: "account")
    try other.save()
    let first = try #require(one["account"] as? ManagedObject)
    #expect((two["account"] as? ManagedObject)?.objectID == first.objectID)
  }

  @Test(
    "a number is one value in any spelling",
    arguments: [
      (AttributeType.decimal, "1.10", "1.1"), (.decimal, "1E+2", "100"), (.double, "-0.0", "0.0"),
      (.float, "-0.0", "0.0"),
    ])
  func spelling(_ type: AttributeType, _ one: String, _ other: String) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Rate", properties: [.attribute("value", type)],
          uniquenessConstraints: [["value"]])
      ]))
    func value(_ text: String) throws -> Any {
      type == .decimal
        ? try #require(DecimalNumber(text)) : type == .double ? try #require(Double(text)) : try #require(Float(text))
    }
    let stack = try Stack(model: model)
    _ = try stack.insert("Rate", ["value": try value(one)])
    try stack.context.save()
    _ = try stack.insert("Rate", ["value": try value(other)])
    #expect(graphError { try stack.context.save() }?.code == .managedObjectConstraintMerge)
  }
}

import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Combinations of uniqueness constraints") struct UniquenessChainTests {
  func names(in stack: Stack) throws -> [String] {
    let other = try stack.reopened()
    return try other.fetch("Code").compactMap { $0["name"] as? String }.sorted()
  }

  static let unique = ModelDescription(entities: [
    EntityDescription(
      name: "Code",
      properties: [
        .attribute("code", .integer32),
        .attribute("name", .string),
        .toMany("notes", "Note", inverse: "code", deleteRule: .deny),
      ], uniquenessConstraints: [["code"]]),
    EntityDescription(
      name: "Note",
      properties: [
        .attribute("name", .string),
        .toOne("code", "Code", inverse: "notes"),
      ]),
  ])

  @Test("of a changed saved object and a new one with its unique value, the stored one survives if the store wins")
  func changedAndNew() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.unique))
    let old = try stack.insert("Code", ["code": 1, "name": "old"])
    try stack.context.save()
    stack.context.mergePolicy = .mergeByPropertyStoreTrump
    try old.setValue("older", forKey: "name")
    _ = try stack.insert("Code", ["code": 1, "name": "new"])
    try stack.context.save()
    #expect(try names(in: stack) == ["older"])
  }

  @Test("of a changed saved object and a new one with its unique value, the new one survives if the context wins")
  func newOverChanged() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.unique))
    let old = try stack.insert("Code", ["code": 1, "name": "old"])
    try stack.context.save()
    stack.context.mergePolicy = .mergeByPropertyObjectTrump
    try old.setValue("older", forKey: "name")
    _ = try stack.insert("Code", ["code": 1, "name": "new"])
    try stack.context.save()
    #expect(try names(in: stack) == ["new"])
  }

  /// Leaves something in another store when it is changed.
  final class Leaving: ManagedObject {
    override func willSave() {
      guard isUpdated, self["isTraced"] == nil else { return }
      self["isTraced"] = true
      _ = try? managedObjectContext?.insertNewObject(forEntityName: "Trace")
    }
  }

  @Test("what a hook inserts into another store while a constraint is resolved is saved with the rest")
  func insertedMeanwhile() throws {
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "Leaving",
            properties: [
              .attribute("code", .integer32),
              .attribute("note", .string),
              .attribute("isTraced", .boolean),
            ],
            uniquenessConstraints: [["code"]]),
          EntityDescription(name: "Trace", properties: [.attribute("name", .string)]),
        ],
        configurations: [
          ConfigurationDescription(name: "one", entityNames: ["Leaving"]),
          ConfigurationDescription(name: "two", entityNames: ["Trace"]),
        ]))
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    coordinator.setManagedObjectClass(Leaving.self, forEntityName: "Leaving")
    try coordinator.addPersistentStore(configurationName: "one", at: folder.file("one.xml"))
    let two = try coordinator.addPersistentStore(configurationName: "two", at: folder.file("two.plist"))
    let context = ManagedObjectContext(coordinator)
    context.mergePolicy = .overwrite
    try context.insertNewObject(forEntityName: "Leaving").setValue(1, forKey: "code")
    try context.save()
    let new = try context.insertNewObject(forEntityName: "Leaving")
    try new.setValue(1, forKey: "code")
    try new.setValue("new", forKey: "note")
    try context.save()
    #expect(!context.hasChanges)
    #expect(two.nodes.count(of: try #require(model.entity(named: "Trace")).index) == 1)
  }

  /// The names that are left, by policy.
  static let policies: [(MergePolicy, [String])] = [
    (.mergeByPropertyObjectTrump, ["third"]), (.overwrite, ["third"]), (.mergeByPropertyStoreTrump, ["old"]),
    (.rollback, ["old"]),
  ]

  @Test("of many objects with one unique value one survives", arguments: policies, [true, false])
  func many(_ policy: (MergePolicy, [String]), _ isChanged: Bool) throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.unique))
    let old = try stack.insert("Code", ["code": 1, "name": "old"])
    try stack.context.save()
    stack.context.mergePolicy = policy.0
    if isChanged { try old.setValue([], forKey: "notes") }
    if isChanged { try stack.insert("Note", ["name": "n"]).setValue(old, forKey: "code") }
    for name in ["first", "second", "third"] { _ = try stack.insert("Code", ["code": 1, "name": name]) }
    // A note would deny the deletion of what it belongs to; nothing is deleted.
    try stack.context.save()
    #expect(try names(in: stack) == policy.1)
    #expect(try sorted(old, "notes") == (isChanged ? ["n"] : []))
  }

  @Test("a unique value that a refused change restores is unique again")
  func givenBack() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.unique))
    let one = try stack.insert("Code", ["code": 1, "name": "one"])
    _ = try stack.insert("Code", ["code": 2, "name": "two"])
    try stack.context.save()
    stack.context.mergePolicy = .mergeByPropertyStoreTrump
    try one.setValue(2, forKey: "code")
    _ = try stack.insert("Code", ["code": 1, "name": "new"])
    try stack.context.save()
    #expect(try names(in: stack) == ["one", "two"])
  }
}

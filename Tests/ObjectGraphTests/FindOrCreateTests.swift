import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreKit

@Suite("Fetches among unsaved changes") struct FindOrCreateTests {
  static let kinds = ["number", "name", "id", "weight", "made", "plain"]

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item",
          properties: [
            .attribute("number", .integer32),
            .attribute("name", .string),
            .attribute("id", .uuid),
            .attribute("weight", .double),
            .attribute("made", .date),
            .attribute("plain", .integer64),
            .attribute("note", .string),
            .toOne("box", "Box", inverse: "items"),
          ],
          subentities: [EntityDescription(name: "Special")], uniquenessConstraints: [["number"], ["name"]]),
        EntityDescription(
          name: "Box",
          properties: [
            .attribute("name", .string),
            .toMany("items", "Item", inverse: "box"),
          ]),
      ]))
  }

  static func value(_ kind: String, _ index: Int) -> Any {
    switch kind {
    case "number", "plain": index
    case "name": "item \(index)"
    case "id":
      UUID(uuidString: "00000000-0000-0000-0000-" + String(repeating: "0", count: 12 - "\(index)".count) + "\(index)")
        ?? UUID()
    case "weight": Double(index) / 4
    default: Date(timeIntervalSinceReferenceDate: Double(index))
    }
  }

  /// Finds each or makes it; how many were made.
  static func importAll(_ stack: Stack, _ kind: String, _ count: Int, note: String) throws -> Int {
    var made = 0
    for index in 0..<count {
      var request = FetchRequest<ManagedObject>(entityName: "Item")
      request.predicate = try FetchPredicate(format: "\(kind) == %@", value(kind, index))
      request.fetchLimit = 1
      // Evaluating all that were inserted or changed takes more steps.
      request.stepLimit = 200
      let object: ManagedObject
      if let found = try stack.context.fetch(request).first {
        object = found
      } else {
        made += 1
        object = try stack.insert(index % 5 == 0 ? "Special" : "Item")
        for kind in kinds { try object.setValue(value(kind, index), forKey: kind) }
      }
      try object.setValue(note, forKey: "note")
    }
    return made
  }

  @Test(
    "an import that fetches each object first examines few objects for each, whatever the key", arguments: kinds,
    ["InMemory", "SQLiteGraph"])
  func work(_ kind: String, _ type: String) throws {
    let stack = try Stack(type, model: try Self.model())
    let count = 600
    #expect(try Self.importAll(stack, kind, count, note: "first") == count)
    try stack.context.save()
    #expect(try Self.importAll(stack, kind, count, note: "again") == 0)
    try stack.context.save()
    #expect(try stack.reread("Item").filter { $0["note"] as? String == "again" }.count == count)
    // And with all of them held in memory.
    let held = try stack.fetch("Item")
    #expect(try Self.importAll(stack, kind, count, note: "third") == 0)
    #expect(held.count == count)
  }

  @Test("a search among unsaved changes finds what evaluating each object finds, after every kind of change")
  func sameAnswers() throws {
    let stack = try Stack(model: try Self.model())
    let context = stack.context
    context.undoManager = UndoHistory()
    let box = try stack.insert("Box", ["name": "box"])
    let texts =
      Self.kinds.flatMap { ["\($0) == %@", "\($0) != %@", "note == 'n' AND \($0) == %@"] }
      + [
        "box == nil AND number == %@", "box.name == 'box' AND number == %@", "number == nil OR number == %@",
        "number > %@", "NOT number == %@",
      ]
    func compare(_ step: String) throws {
      let all = try stack.fetch("Item")
      for value in [3, 7, 40, 55, 1000] {
        for text in texts {
          let kind = Self.kinds.first { text.contains("\($0) =") || text.contains("\($0) !") } ?? "number"
          let predicate = try FetchPredicate(format: text, Self.value(kind, value))
          let expected = try all.filter { try predicate.evaluate(with: $0) }
          let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate))
          #expect(found == expected, "\(step): \(predicate)")
        }
      }
    }
    for index in 0..<60 {
      let object = try stack.insert(index % 5 == 0 ? "Special" : "Item", ["box": box])
      for kind in Self.kinds { try object.setValue(Self.value(kind, index % 50), forKey: kind) }
      if index % 3 == 0 { try object.setValue("n", forKey: "note") }
      if index >= 50 { for kind in ["number", "name"] { try object.setValue(Self.value(kind, index), forKey: kind) } }
    }
    try compare("inserted")
    let all = try stack.fetch("Item")
    try all[3].setValue(1000, forKey: "number")
    try all[7].setValue(nil, forKey: "id")
    try all[8].setValue(7.0 / 4, forKey: "weight")
    try all[9].setValue(nil, forKey: "box")
    context.delete(all[40])
    try compare("changed")
    context.undo()
    try compare("undone")
    context.redo()
    try compare("redone")
    try context.save()
    for object in try stack.fetch("Item") { try object.setValue("n", forKey: "note") }
    try compare("all changed")
    let saved = try stack.fetch("Item")
    try saved[5].setPrimitiveValue(7, forKey: "plain")
    try saved[6].setValue(Self.value("name", 1000), forKey: "name")
    context.delete(saved[7])
    try compare("changed again")
    context.refresh(saved[6], mergeChanges: false)
    try compare("refreshed")
    let there = ManagedObjectContext(stack.coordinator)
    let theirs = try there.existingObject(with: saved[10].objectID)
    try theirs.setValue(1000, forKey: "plain")
    try there.save()
    try compare("saved elsewhere")
    context.refreshAllObjects()
    try compare("all refreshed")
    context.rollback()
    try compare("rolled back")
    for index in 100..<130 { _ = try stack.insert("Item", ["number": index, "plain": 7]) }
    try compare("inserted again")
    context.reset()
    try compare("reset")
  }

  @Test(
    "searches between random changes find what evaluating each object finds: values that come back, values of many",
    arguments: (1...26 as ClosedRange<UInt64>).share(of: "searches between changes"), ["InMemory", "SQLiteGraph"])
  func randomChanges(_ seed: UInt64, _ type: String) throws {
    let stack = try Stack(type, model: try Self.model())
    let context = stack.context
    context.undoManager = UndoHistory()
    var dice = GraphScript.Random(state: seed)
    var objects: [ManagedObject] = []
    for step in 0..<400 {
      switch Int.random(in: 0..<20, using: &dice) {
      case 0..<6:
        let number = Int.random(in: 0..<6, using: &dice)
        objects.append(
          try stack.insert("Item", ["plain": number, "note": "n\(number % 2)", "number": step, "name": "item \(step)"]))
      case 6..<15:
        guard let object = objects.randomElement(using: &dice), !object.isDeleted else { continue }
        try object.setValue(Int.random(in: 0..<6, using: &dice), forKey: "plain")
        if Bool.random(using: &dice) { try object.setValue(Bool.random(using: &dice) ? "n0" : nil, forKey: "note") }
      case 15:
        guard let object = objects.randomElement(using: &dice) else { continue }
        context.delete(object)
        objects.removeAll { $0 === object }
      case 16: context.undo()
      case 17: context.redo()
      case 18: if Int.random(in: 0..<4, using: &dice) == 0 { try context.save() }
      default: context.processPendingChanges()
      }
      objects = try stack.fetch("Item")
      for (key, value) in [("plain", Int.random(in: 0..<6, using: &dice)), ("note", "n0")] as [(String, Any)] {
        let predicate = try FetchPredicate(format: "%K == %@", key, value)
        let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate))
        let expected = try objects.filter { try predicate.evaluate(with: $0) }
        #expect(found == expected, "step \(step): \(predicate)")
      }
    }
  }

  @Test(
    "the table of unsaved values keeps no object alive once its changes are saved or discarded",
    arguments: [true, false])
  func lifetime(_ isSaving: Bool) throws {
    let stack = try Stack(model: try Self.model())
    _ = try Self.importAll(stack, "number", 40, note: "n")
    weak let one: ManagedObject? = try stack.fetch("Item").first
    #expect(one != nil)
    if isSaving { try stack.context.save() } else { stack.context.rollback() }
    #expect(one == nil)
  }
}

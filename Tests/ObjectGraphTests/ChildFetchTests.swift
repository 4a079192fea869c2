import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@Suite("Fetches of child contexts") struct ChildFetchTests {
  private func people(_ count: Int, in stack: Stack) throws {
    for index in 0..<count {
      _ = try stack.insert("Person", ["name": "Person \(index)"])
    }
    try stack.context.save()
  }

  private func request(_ text: String, _ sort: [SortKey] = []) throws -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: "Person", predicate: try FetchPredicate(format: text), sortKeys: sort)
  }

  @Test("the parent finds the objects by columns; the child examines only what it has read")
  func examinesFew() throws {
    let stack = try Stack()
    try people(500, in: stack)
    let child = ManagedObjectContext(parent: stack.context)
    // Objects that no one keeps would be read again.
    var limited = try request("name ENDSWITH '7'")
    // Examining each of the 500 objects takes more steps.
    limited.stepLimit = 100
    let found = try child.fetch(limited)
    #expect(found.count == 50)
    for object in found.prefix(3) { _ = object["name"] }
    #expect(try child.fetch(limited) == found)
  }

  @Test(
    "a fetch finds what examining each object finds, whatever parent and child have changed",
    arguments: (1...26 as ClosedRange<UInt64>).share(of: "fetches in children"))
  func random(_ seed: UInt64) throws {
    var dice = SeededGenerator(seed: seed)
    let stack = try Stack()
    try people(40, in: stack)
    let child = ManagedObjectContext(parent: stack.context)
    var kept: [ManagedObject] = []
    for step in 0..<60 {
      let context = Bool.random(using: &dice) ? child : stack.context
      let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
      switch Int.random(in: 0..<6, using: &dice) {
      case 0:
        let new = try context.insertNewObject(forEntityName: "Person")
        try new.setValue("New \(step % 10)", forKey: "name")
      case 1: if let object = all.randomElement(using: &dice) { context.delete(object) }
      case 2, 3:
        if let object = all.randomElement(using: &dice) {
          try object.setValue("Changed \(step % 10)", forKey: "name")
          kept.append(object)
        }
      case 4:
        if let object = all.randomElement(using: &dice) {
          kept.append(object)
          _ = object["name"]
        }
      default:
        // What the parent has deleted meanwhile cannot be saved to it.
        if Int.random(in: 0..<4, using: &dice) == 0, (try? child.save()) == nil { child.rollback() }
      }
      child.processPendingChanges()
      stack.context.processPendingChanges()
      let digit = String(step % 10)
      for text in ["name ENDSWITH '\(digit)'", "NOT name BEGINSWITH 'Person'", "department == nil AND name > 'N'"] {
        for sort in [[], [SortKey("name", isAscending: false)]] {
          var asked = try request(text, sort)
          asked.fetchLimit = step % 3 == 0 ? 5 : 0
          // A closure has each object examined by itself.
          var plain = asked
          plain.predicate = nil
          plain.filter = { try FetchPredicate(format: text).evaluate(with: $0) }
          let found = try child.fetch(asked)
          let expected = try child.fetch(plain)
          #expect(found.map(\.objectID) == expected.map(\.objectID), "step \(step), \(text), \(sort.count) keys")
        }
      }
    }
    withExtendedLifetime(kept) {}
  }
}

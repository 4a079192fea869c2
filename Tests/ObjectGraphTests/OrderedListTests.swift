import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreKit

@Suite("Lists of ordered relationships") struct OrderedListTests {
  private func objects(_ count: Int) throws -> [ManagedObject] {
    let stack = try Stack()
    return try (0..<count).map { _ in try stack.insert("Task") }
  }

  private func isSame(_ list: OrderedObjectList, _ objects: [ManagedObject]) -> Bool {
    list.count == objects.count && list.elements.map(ObjectIdentifier.init) == objects.map(ObjectIdentifier.init)
  }

  @Test(
    "a list is like an array, with each object once",
    arguments: (1...26 as ClosedRange<UInt64>).share(of: "ordered lists"))
  func random(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    // Beyond the size at which chunks are split, and back to almost nothing.
    let all = try objects([5, 40, 700, 3000][Int(seed % 4)])
    var right = Array(all.prefix(all.count / 2))
    var list = OrderedObjectList(right + right.prefix(3))
    var copies: [(OrderedObjectList, [ManagedObject])] = []
    for round in 0..<(all.count * 4) {
      let object = all[Int.random(in: 0..<all.count, using: &random)]
      let isShrinking = round > all.count * 2
      let index = Int.random(in: -2...(right.count + 2), using: &random)
      if let old = right.firstIndex(where: { $0 === object }) {
        #expect(list.index(of: object) == old)
        if round % 3 == 0 {
          #expect(list.move(object, to: index) == old)
          right.remove(at: old)
          right.insert(object, at: min(max(index, 0), right.count))
          #expect(isSame(list, right))
          continue
        }
        #expect(list.remove(object) == old)
        right.remove(at: old)
        if !isShrinking || round % 5 == 0 {
          let place = min(max(index, 0), right.count)
          list.insert(object, at: index)
          right.insert(object, at: place)
        }
      } else {
        #expect(
          list.remove(object) == nil && list.move(object, to: index) == nil && list.index(of: object) == nil
            && !list.contains(object))
        if !isShrinking {
          list.insert(object, at: index)
          right.insert(object, at: min(max(index, 0), right.count))
        }
      }
      #expect(list.count == right.count)
      if round % 97 == 0 {
        #expect(isSame(list, right))
        copies.append((list, right))
      }
      #expect(list.allSatisfy { $1 === right[$0] })
      if let last = right.indices.last { #expect(!list.allSatisfy { index, _ in index != last }) }
    }
    #expect(isSame(list, right))
    // Copies are values: later changes did not reach them.
    for (copy, before) in copies { #expect(isSame(copy, before)) }
  }

  @Test("appending many objects one at a time keeps them in order")
  func appending() throws {
    let all = try objects(2000)
    var list = OrderedObjectList()
    for object in all { list.insert(object, at: list.count) }
    #expect(isSame(list, all))
    for (index, object) in all.enumerated() where index % 31 == 0 { #expect(list.index(of: object) == index) }
    for object in all { #expect(list.remove(object) == 0) }
    #expect(list.count == 0 && list.elements.isEmpty)
    list.insert(all[0], at: 5)
    #expect(list.index(of: all[0]) == 0)
  }

  @Test("moves in a large relationship are saved, undone and redone as in an array", arguments: [3, 4] as [UInt64])
  func moves(_ seed: UInt64) throws {
    let stack = try Stack("BinaryPropertyList")
    var random = SeededGenerator(seed: seed)
    let ada = try stack.insert("Person", ["name": "Ada"])
    let tasks = try (0..<600).map { try stack.insert("Task", ["title": "t\($0)"]) }
    try ada.setValue(tasks, forKey: "tasks")
    try stack.context.save()
    var right = tasks
    stack.context.undoManager = UndoHistory()
    for _ in 0..<300 {
      let object = right.remove(at: Int.random(in: 0..<600, using: &random))
      let place = Int.random(in: 0..<600, using: &random)
      right.insert(object, at: place)
      try ada.move(object, in: "tasks", to: place)
    }
    #expect(try ada.objects(forRelationshipNamed: "tasks") == right)
    stack.context.processPendingChanges()
    stack.context.undoManager?.undo()
    #expect(try ada.objects(forRelationshipNamed: "tasks") == tasks)
    #expect(!ada.hasPersistentChangedValues)
    stack.context.undoManager?.redo()
    #expect(try ada.objects(forRelationshipNamed: "tasks") == right)
    try stack.context.save()
    let reopened = try stack.reopened()
    try withExtendedLifetime(reopened) {
      let again = try #require(try reopened.first("Person", "Ada"))
      #expect(try again.objects(forRelationshipNamed: "tasks").map(\.objectID) == right.map(\.objectID))
    }
  }
}

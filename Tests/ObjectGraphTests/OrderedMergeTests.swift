import AtomicStoreKit
import Foundation
import Testing

@Suite("Ordered relationships that two contexts changed") struct OrderedMergeTests {
  /// From 0, 1, 2: what another context saved, what this one has, and what is saved.
  static let merges: [(theirs: [Int], mine: [Int], result: [Int])] = [
    // Additions and removals of both sides hold.
    ([0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 3, 4]), ([0, 2], [0, 1], [0]), ([0, 1, 2, 3], [1, 2], [1, 2, 3]),
    ([3, 0, 1, 2], [4, 0, 1, 2], [3, 4, 0, 1, 2]), ([0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]), ([], [0, 1, 2, 4], [4]),
    // The order of the side that moved objects holds; of two that moved, the one here.
    ([2, 1, 0], [0, 1, 2, 4], [2, 1, 0, 4]), ([0, 1, 2, 3], [2, 1, 0], [2, 3, 1, 0]),
    ([1, 0, 2], [2, 1, 0], [2, 1, 0]),
    ([3, 0, 1, 2], [1, 0, 2], [3, 1, 0, 2]), ([2, 0, 1], [4, 0, 1, 2], [2, 4, 0, 1]),
    ([0, 3, 1], [2, 1, 0, 4], [1, 0, 3, 4]),
  ]

  @Test("they merge by what each side added, removed and moved", arguments: merges, [true, false])
  func merge(_ lists: (theirs: [Int], mine: [Int], result: [Int]), _ isRefreshed: Bool) throws {
    let stack = try Stack()
    let tasks = try (0..<5).map { try stack.insert("Task", ["title": "\($0)"]) }
    let ada = try stack.insert("Person", ["name": "Ada"])
    try ada.setValue(Array(tasks[0...2]), forKey: "tasks")
    try stack.context.save()
    let there = ManagedObjectContext(stack.coordinator)
    let theirs = try tasks.map { try there.existingObject(with: $0.objectID) }
    try there.existingObject(with: ada.objectID).setValue(lists.theirs.map { theirs[$0] }, forKey: "tasks")
    try there.save()
    try ada.setValue(lists.mine.map { tasks[$0] }, forKey: "tasks")
    if isRefreshed { stack.context.refresh(ada, mergeChanges: true) }
    try stack.context.save()
    let other = try stack.reopened()
    let again = try #require(try other.first("Person", "Ada"))
    #expect(try names(again, "tasks", "title") == lists.result.map { "\($0)" })
    #expect(inverseProblems(in: other.store.nodes).isEmpty)
  }

  @Test("in a child context they merge with what its parent changed meanwhile")
  func child() throws {
    let stack = try Stack()
    let tasks = try (0..<5).map { try stack.insert("Task", ["title": "\($0)"]) }
    let ada = try stack.insert("Person", ["name": "Ada"])
    try ada.setValue(Array(tasks[0...2]), forKey: "tasks")
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try child.existingObject(with: ada.objectID)
    try mine.add(try child.existingObject(with: tasks[4].objectID), to: "tasks")
    try ada.add(tasks[3], to: "tasks")
    try child.save()
    #expect(try names(ada, "tasks", "title") == ["0", "1", "2", "3", "4"])
  }
}

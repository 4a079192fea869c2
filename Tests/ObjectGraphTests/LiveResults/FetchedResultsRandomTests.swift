import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@Suite("Fetched results at random") struct FetchedResultsRandomTests {
  /// Sections as lists of names, for comparison.
  private func text(_ sections: [FetchedResultsSection<ManagedObject>]) -> [String] {
    sections.map { section in
      section.name + ": " + section.objects.map { "\(ObjectIdentifier($0).hashValue)" }.joined(separator: " ")
    }
  }

  private func step(_ stack: Stack, _ random: inout SeededGenerator, _ made: inout Int) throws {
    let people = try stack.context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
    let kind = people.isEmpty ? 0 : Int.random(in: 0..<9, using: &random)
    let one = people.randomElement(using: &random)
    switch kind {
    case 0, 1:
      made += 1
      _ = try stack.insert(
        "Person", ["name": "n\(Int.random(in: 0..<30, using: &random))", "age": Int.random(in: 0..<5, using: &random)])
    case 2: if let one { stack.context.delete(one) }
    case 3: try one?.setValue("n\(Int.random(in: 0..<30, using: &random))", forKey: "name")
    case 4, 5: try one?.setValue(Int.random(in: 0..<5, using: &random), forKey: "age")
    case 6: try one?.setValue(nil, forKey: "age")
    case 7: stack.context.undo()
    default: try stack.context.save()
    }
  }

  @Test(
    "changes applied to the old sections give the new ones, which are what a fetch finds",
    arguments: (0..<60 as Range<UInt64>).share(of: "changes of sections"))
  func applying(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let stack = try Stack()
    stack.context.undoManager = UndoHistory()
    // One in three has sections that its sort keys do not bring together.
    let keys = seed % 3 == 0 ? [SortKey("name")] : [SortKey("age", isAscending: seed % 2 == 0), SortKey("name")]
    var request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "name != 'n7' AND name < 'n25'"), sortKeys: keys)
    if seed % 5 == 4 { request.fetchLimit = 6 }
    let controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: stack.context, sectionNameKeyPath: seed % 7 == 6 ? nil : "age")
    try controller.performFetch()
    var shown = try #require(controller.sections)
    var reported = 0
    controller.didChangeContent = { changes in
      reported += 1
      shown = changes.applied(to: shown)
    }
    var made = 0
    for round in 0..<60 {
      // Now and then many objects at once: the lists are compared as a whole then.
      if round % 20 == 11 {
        for number in 0..<90 { _ = try stack.insert("Person", ["name": "n\(number % 30)", "age": number % 5]) }
      }
      if round % 20 == 17 { for person in try stack.fetch("Person").dropFirst(3) { stack.context.delete(person) } }
      for _ in 0..<Int.random(in: 1..<5, using: &random) { try step(stack, &random, &made) }
      stack.context.processPendingChanges()
      #expect(text(shown) == text(try #require(controller.sections)))
      let fetched = try stack.context.fetch(request)
      if request.fetchLimit == 0 {
        #expect(Set(controller.fetchedObjects ?? []) == Set(fetched))
      }
      for section in controller.sections ?? [] where seed % 7 != 6 {
        #expect(section.objects.allSatisfy { ($0["age"] as? Int).map(String.init) ?? "" == section.name })
      }
      if seed % 3 != 0 {
        // Objects with equal values may differ in order; the values do not.
        func values(_ objects: [ManagedObject]) -> [String] {
          objects.map { "\($0["age"] ?? "-") \($0["name"] ?? "-")" }
        }
        if request.fetchLimit == 0 { #expect(values(controller.fetchedObjects ?? []) == values(fetched)) }
      }
      #expect(controller.error == nil)
    }
    #expect(reported > 5 && made > 5)
  }
}

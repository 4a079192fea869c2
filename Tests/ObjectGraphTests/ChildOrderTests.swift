import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Testing

@Suite("After a child's save the parent, and then the store, shows what the child showed") struct ChildOrderTests {
  static let lists = [[], [0], [1], [0, 1], [1, 0], [0, 1, 2], [2, 1, 0], [2, 0, 1], [1, 2, 0]]

  /// What the members' end of the list is.
  enum Inverse: CaseIterable { case none, one, many }

  private static func model(_ inverse: Inverse) throws -> ManagedObjectModel {
    var owner: [PropertyDescription] = []
    if inverse != .none {
      owner = [
        .relationship(
          RelationshipDescription(
            name: "owner", destinationEntityName: "List", inverseName: "items", maximumCount: inverse == .one ? 1 : 0,
            isOrdered: inverse == .many))
      ]
    }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "List",
          properties: [
            .attribute("n", .integer64),
            .relationship(
              RelationshipDescription(
                name: "items", destinationEntityName: "Item", inverseName: inverse == .none ? nil : "owner",
                maximumCount: 0, isOrdered: true)),
          ]),
        EntityDescription(name: "Item", properties: [.attribute("n", .integer64)] + owner),
      ]))
  }

  private func numbers(_ context: ManagedObjectContext, _ number: Int = 0) throws -> [Int] {
    let lists = try context.fetch(FetchRequest<ManagedObject>(entityName: "List", sortKeys: [SortKey("n")]))
    return try lists[number].objects(forRelationshipNamed: "items").compactMap { $0["n"] as? Int }
  }
  private func items(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Item", sortKeys: [SortKey("n")]))
  }

  @Test(
    "whole lists, also of grandchildren, of objects that were saved or not", arguments: Inverse.allCases,
    [true, false])
  func wholeLists(_ inverse: Inverse, _ isSaved: Bool) throws {
    for depth in 1...2 {
      for start in Self.lists {
        for end in Self.lists {
          let stack = try Stack(model: try Self.model(inverse))
          let list = try stack.insert("List", ["n": 0])
          let all = try (0..<3).map { try stack.insert("Item", ["n": $0]) }
          try list.setValue(start.map { all[$0] }, forKey: "items")
          if isSaved { try stack.context.save() }
          var contexts = [stack.context]
          for _ in 0..<depth { contexts.append(ManagedObjectContext(parent: contexts[contexts.count - 1])) }
          let child = contexts[depth]
          let mine = try items(child)
          try child.object(with: list.objectID).setValue(end.map { mine[$0] }, forKey: "items")
          for context in contexts.dropFirst().reversed() { try context.save() }
          for context in contexts { #expect(try numbers(context) == end, "\(start) to \(end)") }
          try stack.context.save()
          #expect(try numbers(ManagedObjectContext(stack.coordinator)) == end, "\(start) to \(end)")
        }
      }
    }
  }

  @Test("a list that the parent changed as well gets the changes of both", arguments: [Inverse.one, .many])
  func bothChanged(_ inverse: Inverse) throws {
    let stack = try Stack(model: try Self.model(inverse))
    let list = try stack.insert("List", ["n": 0])
    let all = try (0..<5).map { try stack.insert("Item", ["n": $0]) }
    try list.setValue([all[0], all[1], all[2]], forKey: "items")
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try items(child)
    let childList = child.object(with: list.objectID)
    try childList.add(mine[3], to: "items", at: 0)
    try list.remove(all[1], from: "items")
    try list.add(all[4], to: "items", at: 1)
    try child.save()
    #expect(try numbers(stack.context) == [3, 0, 4, 2])
    #expect(try numbers(child) == [3, 0, 4, 2])
  }

  @Test("an object that the parent moved to another list stays there if the child did not move it")
  func movedInParent() throws {
    let stack = try Stack(model: try Self.model(.one))
    let lists = try (0..<2).map { try stack.insert("List", ["n": $0]) }
    let all = try (0..<3).map { try stack.insert("Item", ["n": $0]) }
    try lists[0].setValue([all[0], all[1]], forKey: "items")
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try items(child)
    try child.object(with: lists[0].objectID).setValue([mine[2], mine[1], mine[0]], forKey: "items")
    try lists[1].setValue([all[1]], forKey: "items")
    try child.save()
    #expect(try numbers(stack.context) == [2, 0])
    #expect(try numbers(stack.context, 1) == [1])
  }

  @Test("a refresh of a child's object keeps what was added to its list on both sides")
  func refreshed() throws {
    let stack = try Stack(model: try Self.model(.many))
    let list = try stack.insert("List", ["n": 0])
    let all = try (0..<3).map { try stack.insert("Item", ["n": $0]) }
    try list.setValue([all[0]], forKey: "items")
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try items(child)
    let childList = child.object(with: list.objectID)
    try childList.add(mine[1], to: "items", at: 0)
    try list.add(all[2], to: "items")
    child.refreshAllObjects()
    #expect(try numbers(child) == [1, 0, 2])
    try child.save()
    #expect(try numbers(stack.context) == [1, 0, 2])
  }

  @Test("a refresh of one object of a child takes over what the parent changed at the other end, too")
  func refreshedEnds() throws {
    let stack = try Stack(model: try Self.model(.one))
    let lists = try (0..<2).map { try stack.insert("List", ["n": $0]) }
    let item = try stack.insert("Item", ["n": 0])
    try lists[0].setValue([item], forKey: "items")
    let child = ManagedObjectContext(parent: stack.context)
    let mine = try lists.map { try child.existingObject(with: $0.objectID) }
    let childItem = try child.existingObject(with: item.objectID)
    #expect(try mine[0].objects(forRelationshipNamed: "items") == [childItem])
    try item.setValue(lists[1], forKey: "owner")
    child.refresh(mine[1], mergeChanges: true)
    #expect(try mine[1].objects(forRelationshipNamed: "items") == [childItem])
    #expect(try childItem.objects(forRelationshipNamed: "owner") == [mine[1]])
    #expect(try mine[0].objects(forRelationshipNamed: "items").isEmpty)
    #expect(!child.hasChanges)
  }
}

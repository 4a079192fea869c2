import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// What a database leaves to the kit is evaluated on the columns that the request names.
@Suite struct StoreColumnTests {
  private static func request(_ predicate: String?, sortedBy keys: [SortKey] = []) throws -> FetchRequest<ManagedObject>
  {
    var request = FetchRequest<ManagedObject>(entityName: "Item")
    request.predicate = try predicate.map { try FetchPredicate(format: $0) }
    request.sortKeys = keys
    return request
  }
  private static func names(_ objects: [ManagedObject]) -> [String] {
    objects.map { "\($0.objectID.reference.map { "\($0)" } ?? "new")" }
  }

  @Test(
    "a fetch makes objects of its results only",
    arguments: ["price * 2 > 6", "name CONTAINS[cd] 'a'", "ANY tags.name LIKE[c] '*a*'", "owner.name LIKE[cd] '*a*'"])
  func results(predicate: String) throws {
    let pair = try GraphPair(seed: 7, count: 80)
    let (database, list) = (ManagedObjectContext(pair.incremental), ManagedObjectContext(pair.stores.property))
    let request = try Self.request(predicate, sortedBy: [SortKey("price"), SortKey("name")])
    #expect(try database.explain(request).method == .columns)
    #expect(try database.count(for: request) == list.count(for: request))
    #expect(database.registeredObjects.isEmpty)
    let found = try database.fetch(request)
    #expect(Self.names(found) == Self.names(try list.fetch(request)))
    #expect(found.count < 80 && database.registeredObjects.count == found.count)
    withExtendedLifetime(pair) {}
  }

  /// Decimals are sorted by the database, texts without case by columns.
  @Test(
    "rows are sorted while another object has changes", arguments: [0, 5],
    [SortKey("price", isAscending: false), SortKey("name", isAscending: false, options: .caseInsensitive)])
  func changesElsewhere(limit: Int, key: SortKey) throws {
    let pair = try GraphPair(seed: 8, count: 60)
    let contexts = [ManagedObjectContext(pair.incremental), ManagedObjectContext(pair.stores.property)]
    var request = try Self.request(nil, sortedBy: [key, SortKey("big")])
    request.fetchLimit = limit
    var answers: [[String]] = []
    for context in contexts {
      try context.insertNewObject(forEntityName: "Tag").setValue("new", forKey: "name")
      answers.append(Self.names(try context.fetch(request)))
      #expect(try context.fetchObjectIDs(request).map { "\($0.reference.map { "\($0)" } ?? "new")" } == answers.last)
    }
    #expect(answers[0] == answers[1] && !answers[0].isEmpty)
    withExtendedLifetime(pair) {}
  }

  @Test(
    "a computed column reads what its subquery names, without objects",
    arguments: [
      "SUBQUERY(tags, $x, $x.name != nil).@count", "SUBQUERY(owner.items, $x, $x.small > small).@max.price",
      "SUBQUERY(owner.items, $x, SUBQUERY($x.tags, $y, $y.name > name).@count > 0).@count",
      "SUBQUERY(tags, $x, ANY $x.items.big > 3).@distinctUnionOfObjects.name", "owner.items.@sum.price",
    ])
  func subqueries(column: String) throws {
    let pair = try GraphPair(seed: 9, count: 60)
    var request = try Self.request(nil)
    request.propertiesToFetch = [
      FetchColumn("found", try FetchExpression(format: column)), FetchColumn("name", .keyPath(["name"])),
    ]
    let database = ManagedObjectContext(pair.incremental)
    let rows = try database.fetchRows(request)
    #expect(database.registeredObjects.isEmpty)
    let expected = try ManagedObjectContext(pair.stores.property).fetchRows(request)
    #expect(rows == expected && Set(rows.map(\.values)).count > 5)
    withExtendedLifetime(pair) {}
  }

  @Test("a request on a sub-entity reads the links of its objects alone, where other sub-entities have some, too")
  func linksOfSubentities() throws {
    let folder = try TemporaryDirectory("incremental-stores")
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item", isAbstract: true,
          properties: [
            .attribute("name", .string), .toMany("links", "Tag"), .toMany("steps", "Tag", isOrdered: true),
          ],
          subentities: [EntityDescription(name: "One"), EntityDescription(name: "Other")]),
        EntityDescription(name: "Tag", properties: [.attribute("name", .string)]),
      ]))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    try coordinator.addPersistentStore(type: "SQLiteGraph", at: folder.path + "/items.sqlgraph")
    let context = ManagedObjectContext(coordinator)
    let tags = try ["Ada", "Ben"].map { name in
      let tag = try context.insertNewObject(forEntityName: "Tag")
      try tag.setValue(name, forKey: "name")
      return tag
    }
    for number in 0..<20 {
      let item = try context.insertNewObject(forEntityName: number % 2 == 0 ? "One" : "Other")
      try item.setValue("\(number)", forKey: "name")
      try item.setValue([tags[number % 3 == 0 ? 0 : 1]], forKey: "links")
      try item.setValue([tags[number % 5 == 0 ? 1 : 0], tags[number % 5 == 0 ? 0 : 1]], forKey: "steps")
    }
    try context.save()
    let other = ManagedObjectContext(coordinator)
    for (predicate, names) in [
      ("ANY links.name LIKE[c] 'ad*'", ["0", "12", "18", "6"]), ("steps[FIRST].name LIKE[c] 'be*'", ["0", "10"]),
    ] {
      let request = FetchRequest<ManagedObject>(
        entityName: "One", predicate: try FetchPredicate(format: predicate), sortKeys: [SortKey("name")])
      #expect(try other.count(for: request) == names.count)
      #expect(other.registeredObjects.isEmpty || predicate.contains("["))
      #expect(try other.fetch(request).map { $0["name"] as? String } == names)
    }
  }
}

import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import Foundation
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
}

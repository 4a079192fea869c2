import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// Rows that are read from a database a part at a time are those that are read at once.
@Suite struct RowPartTests {
  /// What a request gave: the rows, how many each part had, and the error at the end.
  private struct Outcome {
    var rows: [[FetchedRow.Value]] = []
    var parts: [Int] = []
    var error: String?
  }

  private struct Stop: Error {}

  private static func read(
    _ request: FetchRequest<ManagedObject>, _ rowsAtOnce: Int, _ context: ManagedObjectContext,
    _ body: () throws -> Void = {}
  ) -> Outcome {
    var outcome = Outcome()
    do {
      try context.forEachPart(of: request, rowsAtOnce: rowsAtOnce) { part in
        outcome.parts.append(part.count)
        part.forEachRow { outcome.rows.append($0) }
        try body()
      }
    } catch { outcome.error = "\(error)" }
    return outcome
  }

  private static func all(
    _ request: FetchRequest<ManagedObject>, _ context: ManagedObjectContext
  ) throws -> [[FetchedRow.Value]] { try context.fetchRows(request).map(\.values) }

  /// A request for all that can be read in parts, if no columns are named.
  private static func request(
    _ entity: String, _ model: ManagedObjectModel, _ predicate: String? = nil, columns: [String]? = nil
  ) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.predicate = try predicate.map { try FetchPredicate(format: $0) }
    let slots = try #require(model.entity(named: entity)).slots.filter { !$0.isToMany }
    request.propertiesToFetch =
      [FetchColumn("objectID", .evaluatedObject)]
      + (columns ?? slots.map(\.name)).map { FetchColumn($0, .keyPath(of: $0)) }
    return request
  }

  private static func compare(_ pair: GraphPair) throws {
    let context = ManagedObjectContext(pair.incremental)
    let model = try #require(pair.incremental.persistentStores.first).model
    for entity in ["Item", "Special", "Owner", "Tag"] {
      var request = try Self.request(entity, model)
      let all = try Self.all(request, context)
      try #require(all.count > 2)
      for rowsAtOnce in [1, 2, 7, all.count - 1, all.count, all.count + 1] {
        let outcome = read(request, rowsAtOnce, context)
        #expect(outcome.rows == all && outcome.error == nil)
        #expect(outcome.parts.allSatisfy { $0 <= rowsAtOnce } && outcome.parts.count >= all.count / rowsAtOnce)
        #expect(outcome.parts.count > 1 || rowsAtOnce >= all.count)
      }
      for (offset, limit) in [(0, 1001), (1, 0), (3, 2000), (all.count - 1, 1001), (all.count, 0), (all.count + 5, 0)] {
        (request.fetchOffset, request.fetchLimit) = (offset, limit)
        #expect(read(request, 3, context).rows == Array(all.dropFirst(offset)))
      }
    }
    #expect(context.registeredObjects.isEmpty)
    let request = try Self.request("Item", model)
    let stopped = read(request, 3, context) { throw Stop() }
    #expect(stopped.error == "Stop()" && stopped.parts == [3])
    #expect(read(request, 3, context).rows == (try all(request, context)))
  }

  @Test(
    "all rows of a graph, wherever parts end, also after a read that an error of the reader has ended",
    arguments: [1, 2, 3] as [UInt64])
  func allRows(seed: UInt64) throws {
    let pair = try GraphPair(seed: seed, count: 50)
    try Self.compare(pair)
    withExtendedLifetime(pair) {}
  }

  @Test("all rows of a graph on a server", .enabled(if: TestServer.url != nil), arguments: [1, 2] as [UInt64])
  func server(seed: UInt64) throws {
    let pair = try GraphPair(seed: seed, count: 50, target: TestServer.schema("parts_\(seed)"))
    try Self.compare(pair)
    withExtendedLifetime(pair) {}
  }

  @Test(
    "rows that fulfil a condition on attributes, from an offset on",
    arguments: [
      "small > 0", "price * 2 > 6", "name CONTAINS[cd] 'a'", "NOT (weight < 1)", "name MATCHES 'a.*' OR small != 1",
      "big IN {1, 2, 3} OR TRUEPREDICATE", "small > 100000",
    ])
  func conditions(predicate: String) throws {
    let pair = try GraphPair(seed: 4, count: 60)
    let context = ManagedObjectContext(pair.incremental)
    let model = try #require(pair.incremental.persistentStores.first).model
    var request = try Self.request("Item", model, predicate)
    let all = try Self.all(request, context)
    for (offset, limit) in [(0, 0), (2, 0), (1, 2), (5, 1100)] {
      (request.fetchOffset, request.fetchLimit) = (offset, limit)
      let rows = Array(all.dropFirst(offset).prefix(limit == 0 ? .max : limit))
      for rowsAtOnce in [1, 4, 1000] { #expect(Self.read(request, rowsAtOnce, context).rows == rows) }
    }
    withExtendedLifetime(pair) {}
  }

  @Test("what cannot be read in parts is read at once: orders, other objects' values, lists, distinct rows and groups")
  func readAtOnce() throws {
    let pair = try GraphPair(seed: 5, count: 40)
    let context = ManagedObjectContext(pair.incremental)
    let model = try #require(pair.incremental.persistentStores.first).model
    var requests = try [
      Self.request("Item", model, columns: ["owner.name"]), Self.request("Item", model, columns: ["tags"]),
      Self.request("Item", model, "owner.rank > 0 OR owner.rank <= 0"), Self.request("Item", model, "SELF != nil"),
      Self.request("Item", model, "made < now() OR TRUEPREDICATE"),
    ]
    let plain = try Self.request("Item", model)
    requests += [plain, plain, plain]
    requests[5].sortKeys = [SortKey("name", options: .caseInsensitive)]
    requests[6].returnsDistinctResults = true
    requests[7].propertiesToGroupBy = [FetchColumn("small", .keyPath(["small"]))]
    requests[7].propertiesToFetch = requests[7].propertiesToGroupBy
    for request in requests {
      let outcome = Self.read(request, 3, context)
      #expect(outcome.rows == (try Self.all(request, context)) && outcome.parts.count == 1)
    }
    withExtendedLifetime(pair) {}
  }

  @Test("unsaved changes are in the rows")
  func unsaved() throws {
    let pair = try GraphPair(seed: 6, count: 20)
    let context = ManagedObjectContext(pair.incremental)
    try context.insertNewObject(forEntityName: "Tag").setValue("new", forKey: "name")
    let request = try Self.request("Tag", try #require(pair.incremental.persistentStores.first).model)
    let rows = try Self.all(request, context)
    #expect(rows.contains { $0.contains(.value(.string("new"))) } && Self.read(request, 1, context).rows == rows)
    withExtendedLifetime(pair) {}
  }

  // MARK: Persons

  /// A store with persons whose mentors are persons before and after them, and themselves.
  private func persons(_ place: StoreLifeTests.Place, _ count: Int) throws {
    let context = ManagedObjectContext(try place.open())
    let team = try StoreLifeTests.make("red", "Team", context)
    let persons = try (0..<count).map { number in
      let person = try StoreLifeTests.make("person \(number)", "Person", context)
      try person.setValue(number, forKey: "age")
      try person.setValue(team, forKey: "team")
      return person
    }
    for (number, person) in persons.enumerated() where number % 4 > 0 {
      try person.setValue(persons[number * 7 % count], forKey: "mentor")
    }
    try context.save()
  }

  @Test("rows that lead to rows of the same table", arguments: [1, 2, 5, 19, 20, 21])
  func ownTable(rowsAtOnce: Int) throws {
    let place = try StoreLifeTests.Place()
    try persons(place, 20)
    let coordinator = try place.open()
    let context = ManagedObjectContext(coordinator)
    let request = try Self.request("Person", try #require(coordinator.persistentStores.first).model)
    let outcome = Self.read(request, rowsAtOnce, context)
    #expect(outcome.rows == (try Self.all(request, context)) && outcome.rows.count == 20)
    #expect(outcome.parts.count == (20 + rowsAtOnce - 1) / rowsAtOnce)
  }

  @Test("all parts are of one moment, whatever another program saves meanwhile")
  func concurrentSave() throws {
    let place = try StoreLifeTests.Place()
    try persons(place, 20)
    let coordinator = try place.open()
    let context = ManagedObjectContext(coordinator)
    let request = try Self.request("Person", try #require(coordinator.persistentStores.first).model)
    let before = try Self.all(request, context)
    let other = ManagedObjectContext(try place.open())
    var isSaved = false
    let outcome = Self.read(request, 4, context) {
      guard !isSaved else { return }
      for person in try other.fetch(FetchRequest<ManagedObject>(entityName: "Person")) {
        try person.setValue(99, forKey: "age")
      }
      _ = try StoreLifeTests.make("late", "Person", other)
      try other.save()
      isSaved = true
    }
    #expect(isSaved && outcome.rows == before && outcome.error == nil)
    let after = Self.read(request, 4, context).rows
    #expect(after.count == 21 && after[19].contains(.value(.integer(99))))
  }

  @Test("references that are texts are in their order, and are named by those that lead to them")
  func textReferences() throws {
    for entity in ["Team", "Person"] {
      let place = try StoreLifeTests.Place()
      try persons(place, 12)
      let number = try #require(ManagedObjectModel(StoreLifeTests.description).entity(named: entity)).index
      // Numbers that stand for texts, which are in another order.
      try StreamingTests.execute(
        ["b", "c", "a"].enumerated().map { index, text in
          "INSERT INTO \"\(entity)\" (id, ent, ver, ref, name) VALUES (\(Int64.min + 5 + Int64(index)), \(number), 1, '\(text)', '\(text)')"
        } + ["UPDATE \"Person\" SET \(entity == "Team" ? "team" : "mentor") = \(Int64.min + 6) WHERE age = 3"],
        in: place.path)
      let coordinator = try place.open()
      let context = ManagedObjectContext(coordinator)
      let model = try #require(coordinator.persistentStores.first).model
      for asked in ["Team", "Person"] {
        let request = try Self.request(asked, model)
        let rows = try Self.all(request, context)
        #expect(Self.read(request, 2, context).rows == rows)
        if asked == entity {
          #expect(rows.suffix(3).map { $0[1] } == ["a", "b", "c"].map { .value(.string($0)) })
        }
      }
    }
  }

  // MARK: Damage

  @Test(
    "the error of a damaged row is that of a fetch that reads all rows, and comes after the parts before it",
    arguments: [
      "age = 'many'", "name = x'FF'", "ent = 99", "team = 'red'", "ent = 'x'",
    ])
  func damaged(assignment: String) throws {
    let place = try StoreLifeTests.Place()
    try persons(place, 20)
    try StreamingTests.execute(["UPDATE \"Person\" SET \(assignment) WHERE age = 13"], in: place.path)
    let coordinator = try place.open()
    let context = ManagedObjectContext(coordinator)
    let request = try Self.request("Person", try #require(coordinator.persistentStores.first).model)
    var expected: String?
    do { _ = try Self.all(request, context) } catch { expected = "\(error)" }
    let outcome = Self.read(request, 4, context)
    #expect(expected != nil && outcome.error == expected && outcome.parts == [4, 4, 4])
  }

  @Test("a row of no entity is an error where only rows of some entities are read")
  func damagedEntity() throws {
    let pair = try GraphPair(seed: 7, count: 40)
    try StreamingTests.execute(
      ["UPDATE \"Item\" SET ent = 77 WHERE id = (SELECT MAX(id) FROM \"Item\")"], in: pair.incrementalPath)
    let context = ManagedObjectContext(pair.incremental)
    let model = try #require(pair.incremental.persistentStores.first).model
    for entity in ["Item", "Special"] {
      let request = try Self.request(entity, model)
      var expected: String?
      do { _ = try Self.all(request, context) } catch { expected = "\(error)" }
      let outcome = Self.read(request, 5, context)
      #expect(expected?.contains("77") == true && outcome.error == expected)
    }
    withExtendedLifetime(pair) {}
  }

  @Test("a row that leads to a missing row is shown as a fetch of all rows shows it")
  func dangling() throws {
    for id in [4711, Int64.min, Int64.min + 9] {
      let place = try StoreLifeTests.Place()
      try persons(place, 20)
      try StreamingTests.execute(
        ["UPDATE \"Person\" SET team = \(id) WHERE age = 13", "UPDATE \"Person\" SET mentor = \(id) WHERE age = 14"],
        in: place.path)
      let coordinator = try place.open()
      let context = ManagedObjectContext(coordinator)
      let request = try Self.request("Person", try #require(coordinator.persistentStores.first).model)
      let rows = try Self.all(request, context)
      let outcome = Self.read(request, 4, ManagedObjectContext(coordinator))
      #expect(rows.count == 20 && outcome.rows == rows && outcome.error == nil)
    }
  }

  private static func company(in folder: borrowing TemporaryDirectory) throws -> String {
    let place = folder.path + "/company.sqlgraph"
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    _ = try StoreConverter(registry: .builtIn).convert(from: root + "/SampleStores/Company/Company.xml", to: place)
    return place
  }

  @Test(
    "a row that leads to an object of another entity is shown as a fetch of all rows shows it",
    arguments: [
      // 3 is an employee, but not a manager.
      ("Department", "UPDATE \"Record\" SET \"head\" = 3 WHERE \"name\" IS NOT NULL AND \"head\" IS NOT NULL"),
      ("Employee", "UPDATE \"Employee\" SET \"manager\" = 3 WHERE \"id\" = 5"),
      ("Employee", "UPDATE \"Employee\" SET \"buddy_ent\" = 77 WHERE \"buddy\" IS NOT NULL"),
      ("Employee", "UPDATE \"Employee\" SET \"buddy_ent\" = NULL WHERE \"buddy\" IS NOT NULL"),
    ])
  func otherEntity(entity: String, damage: String) throws {
    let folder = try TemporaryDirectory("row-parts")
    let place = try Self.company(in: folder)
    try StreamingTests.execute([damage], in: place)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let model = try coordinator.addPersistentStore(at: place).model
    let request = try Self.request(entity, model)
    let rows = try Self.all(request, ManagedObjectContext(coordinator))
    let outcome = Self.read(request, 100, ManagedObjectContext(coordinator))
    #expect(rows.count > 1 && outcome.rows == rows && outcome.error == nil)
  }

  @Test("rows that a late part leaves to another transaction are refused if the store was changed in between")
  func otherMoment() throws {
    for isChanged in [false, true] {
      let folder = try TemporaryDirectory("row-parts")
      let place = try Self.company(in: folder)
      try StreamingTests.execute(["UPDATE \"Employee\" SET \"buddy_ent\" = 77 WHERE \"id\" = 4"], in: place)
      func open() throws -> PersistentStoreCoordinator {
        let coordinator = PersistentStoreCoordinator(registry: .builtIn)
        try coordinator.addPersistentStore(at: place)
        return coordinator
      }
      let coordinator = try open()
      let request = try Self.request("Employee", try #require(coordinator.persistentStores.first).model)
      let all = try Self.all(request, ManagedObjectContext(coordinator))
      let other = ManagedObjectContext(try open())
      var isSaved = !isChanged
      let outcome = Self.read(request, 1, ManagedObjectContext(coordinator)) {
        guard !isSaved else { return }
        let named = FetchRequest<ManagedObject>(
          entityName: "Employee", predicate: try FetchPredicate(format: "name == 'Müller'"))
        try #require(try other.fetch(named).first).setValue("M", forKey: "nickname")
        try other.save()
        isSaved = true
      }
      #expect((outcome.error?.contains("was changed while its rows were read") ?? false) == isChanged)
      #expect(outcome.rows == (isChanged ? Array(all.prefix(1)) : all))
    }
  }

  @Test("a condition that takes too many steps in a late part is the error of a fetch that reads all rows")
  func steps() throws {
    let place = try StoreLifeTests.Place()
    try persons(place, 200)
    let coordinator = try place.open()
    let context = ManagedObjectContext(coordinator)
    let model = try #require(coordinator.persistentStores.first).model
    var request = try Self.request("Person", model, "name MATCHES '(p|q)(?=e).* [0-9]+'")
    #expect(Self.read(request, 10, context).parts.count == 20)
    request.stepLimit = 10
    var expected: String?
    do { _ = try Self.all(request, context) } catch { expected = "\(error)" }
    let outcome = Self.read(request, 10, context)
    #expect(expected != nil && outcome.error == expected && outcome.parts.count < 20)
  }
}

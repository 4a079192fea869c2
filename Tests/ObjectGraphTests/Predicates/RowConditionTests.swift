import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreKit

/// Conditions that no test of columns says are evaluated on rows, and give what objects give.
@Suite("Predicates that are evaluated row by row") struct RowConditionTests {
  static let conditions = [
    "uppercase:(title) == 'A'", "title + 'x' CONTAINS 'ax'", "trim:(title) != title",
    "length:(concat:(title, small)) > 3", "year:(day) > 2001", "month:(day, 'Europe/Berlin') == 1",
    "startOf:(day, 'week') < day", "day + 60 > day", "weekday:(owner.thing.day) != 2", "kind:(title) == 'text'",
    "size:(title) > 2", "hex:(title) BEGINSWITH '6'", "coalesce:(title, owner.name, 'none') != 'none'",
    "TERNARY(small > 0, title, link) == nil", "CAST(small, 'NSString') == '1'", "title == owner.name",
    "link CONTAINS title", "day > owner.thing.day", "#all.@count > 1", "list.@count == small", "next.#all.@count > 0",
    "#all.@sum.small > 0", "#all.@max.day > day", "@avg.small > 0", "list.@unionOfObjects.title CONTAINS 'a'",
    "next.#all CONTAINS next", "SELF IN #all", "#all == list", "SUBQUERY(#all, $x, $x.small > 0).@count > 1",
    "SUBQUERY(#all, $x, $x.next == SELF OR $x.title == $x.owner.name).@count == 0",
    "SUBQUERY(list, $x, SUBQUERY($x.#all, $y, $y.small > $x.small).@count > 0).@count > 0",
    "ANY #all.next.title != nil", "ALL list.owner.name BEGINSWITH 'owner'", "ANY #all.#all.small > 3",
    "first:(list.title) == 'a'", "list[FIRST].small > 0", "list[SIZE] > 1", "place == nil",
    "place.city + '!' ENDSWITH '1!'", "next.place != nil", "entity == 'Special'", "objectID == next.next",
    "next == owner.thing", "modulus:by:(large, small) == 0", "CAST(title, 'NSDate') != nil",
    "day < CAST(title, 'NSDate')", "round:(price, small) > 0",
  ]

  /// The condition, alone and beside others: what comes after a condition that is false or true is not evaluated.
  static func texts(_ condition: String) -> [String] {
    [
      condition, "NOT (\(condition))", "small > 0 AND \(condition)", "\(condition) AND small > 0",
      "small > 0 OR \(condition)", "\(condition) OR title LIKE '*a*'",
      "title != nil AND (\(condition) OR NOT small IN {0, 1, 2}) AND day != nil",
      "uppercase:(title) != 'B' AND \(condition) AND (small == 1 OR \(condition))",
    ]
  }

  /// The objects that fulfil a predicate, their number, or the error.
  static func outcome(_ predicate: FetchPredicate, _ context: ManagedObjectContext, onObjects: Bool) -> String {
    var request = FetchRequest<ManagedObject>(entityName: "Thing", predicate: predicate)
    if onObjects { request.filter = { _ in true } }
    func described(_ body: () throws -> String) -> String { do { return try body() } catch { return "\(error)" } }
    return described { try context.fetchObjectIDs(request).map { "\($0)" }.joined(separator: " ") }
      + described { "\(try context.count(for: request))" }
  }

  @Test(
    "a condition has the same result on rows as on objects, and the same error, which names the object",
    arguments: 0..<3)
  func objects(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed + 1200)
    let stack = try FetchedRowsTests.stack(&generator).reopened()
    var (errors, fromRows) = (0, 0)
    for text in Self.conditions.flatMap(Self.texts) {
      let predicate = try FetchPredicate(format: text)
      stack.context.reset()
      let found = Self.outcome(predicate, stack.context, onObjects: false)
      if stack.context.registeredObjects.isEmpty { fromRows += 1 }
      #expect(found == Self.outcome(predicate, stack.context, onObjects: true), "\(text)")
      if found.contains("cannot be cast") || found.contains("has no result") { errors += 1 }
    }
    #expect(!Stack.isLoaded || fromRows > 200, "\(fromRows)")
    #expect(errors > 0)
  }

  @Test("no object is made of rows that are not in the result", .enabled(if: Stack.isLoaded, "rows of a database"))
  func objectsMade() throws {
    var generator = SeededGenerator(seed: 7)
    let stack = try FetchedRowsTests.stack(&generator).reopened()
    for text in ["SUBQUERY(#all, $x, $x.small != nil).@count > 1", "year:(day) > 1900", "title + 'x' == 'ax'"] {
      stack.context.reset()
      let request = FetchRequest<ManagedObject>(entityName: "Thing", predicate: try FetchPredicate(format: text))
      #expect(try stack.context.explain(request).method == .columns)
      let found = try stack.context.fetch(request)
      #expect(stack.context.registeredObjects.count == found.count && found.count < 30, "\(text)")
    }
  }

  @Test("unsaved changes, and what they lead to, are evaluated on objects", arguments: 0..<2)
  func changes(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed + 1300)
    let stack = try FetchedRowsTests.stack(&generator).reopened()
    let things = try stack.fetch("Thing")
    for (number, thing) in things.enumerated() where number % 5 == 0 {
      try thing.setValue("changed \(number)", forKey: "title")
      try thing.setValue(things[number / 2], forKey: "next")
    }
    stack.context.delete(things[3])
    _ = try stack.insert("Thing", ["title": "a", "small": 1])
    stack.context.processPendingChanges()
    for text in Self.conditions.flatMap(Self.texts) {
      let predicate = try FetchPredicate(format: text)
      let found = Self.outcome(predicate, stack.context, onObjects: false)
      #expect(found == Self.outcome(predicate, stack.context, onObjects: true), "\(text)")
    }
  }

  @Test(
    "a request needs no more steps than on objects, also if a condition fails on rows and is evaluated on objects then",
    .enabled(if: Stack.isLoaded, "rows of a database"),
    arguments: ["CAST(title, 'NSDate') != nil", "title != nil AND CAST(title, 'NSDate') != nil", "year:(day) > 0"])
  func steps(_ text: String) throws {
    let stack = try Stack(model: FetchedRowsTests.model())
    for number in 0..<40 {
      _ = try stack.insert("Thing", ["title": number == 39 ? "never" : "2001-01-01T00:00:00Z", "day": Date()])
    }
    try stack.context.save()
    let other = try stack.reopened()
    func outcome(_ limit: Int, onObjects: Bool) throws -> String {
      var request = FetchRequest<ManagedObject>(entityName: "Thing", predicate: try FetchPredicate(format: text))
      request.stepLimit = limit
      if onObjects { request.filter = { _ in true } }
      do { return "\(try other.context.fetch(request).count)" } catch { return "\(error)" }
    }
    let result = try outcome(100_000, onObjects: true)
    let least = try #require((1...2000).first { try outcome($0, onObjects: true) == result })
    // The tests around a condition take a few steps.
    #expect(try outcome(least + 5, onObjects: false) == result)
    #expect(try outcome(least - 20, onObjects: false) == outcome(least - 20, onObjects: true))
  }

  @Test("objects of two stores are not one object because their rows have the same number", arguments: [true, false])
  func twoStores(onObjects: Bool) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("number", .integer64), .toOne("boss", "Person", inverse: "staff"),
            .toMany("staff", "Person", inverse: "boss"),
          ])
      ]))
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let context = ManagedObjectContext(coordinator)
    for (name, numbers) in [("a", [1, 2, 3]), ("b", [100, 5, 6])] {
      let store = try coordinator.addPersistentStore(type: "BinaryPropertyList", at: folder.file("\(name).plist"))
      var boss: ManagedObject?
      for number in numbers {
        let person = try context.insertNewObject(forEntityName: "Person")
        try context.assign(person, to: store)
        try person.setValue(number, forKey: "number")
        try person.setValue(boss, forKey: "boss")
        boss = boss ?? person
      }
    }
    try context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    let columns = [
      "max:(boss.number)", "count:(@distinctUnionOfObjects.boss)", "sum:(@distinctUnionOfObjects.boss.number)",
      "max:(boss.staff.number)",
    ]
    request.propertiesToFetch = try columns.map { try FetchColumn(format: $0, as: $0) }
    if onObjects { request.filter = { _ in true } }
    let rows = try context.fetchRows(request)
    #expect(rows.map { row in columns.map { "\(row[$0] ?? "null")" } } == [["100", "2", "101", "6"]])
  }
}

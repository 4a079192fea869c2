import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("The limits of predicates and key paths") struct StepLimitTests {
  /// Twelve people, everybody a manager of everybody, whose names are their numbers.
  static func crowd(_ entity: String = "Person") throws -> Stack {
    let stack = try Stack()
    let people = try (0..<12).map { try stack.insert(entity, ["name": "\($0)", "age": $0]) }
    for person in people { try person.setValue(people, forKey: "reports") }
    return stack
  }
  static let manyToManys = (0..<5).map { _ in "reports.managers" }.joined(separator: ".")

  @Test(
    "if it does not matter how often a path leads to an object, each object is visited once at each key",
    arguments: [
      ("ANY PATH.name == '7'", 12), ("ANY PATH.name == 'x'", 0), ("ALL PATH.age < 12", 12), ("NONE PATH.age > 5", 0),
      ("'3' IN PATH.name", 12), ("PATH.name CONTAINS '3'", 12), ("PATH != nil", 12), ("PATH == nil", 0),
      ("max:(PATH.age) == 11", 12),
      ("ANY PATH.reports.@max.age == 11", 12), ("ANY PATH.reports.@count == 12", 12), ("SELF IN PATH", 12),
      ("ANY PATH == SELF", 12),
    ])
  func collapsed(_ format: String, _ count: Int) throws {
    let stack = try Self.crowd()
    var request = FetchRequest<ManagedObject>(
      entityName: "Person",
      predicate: try FetchPredicate(format: format.replacingOccurrences(of: "PATH", with: Self.manyToManys)))
    request.stepLimit = 100_000
    // On objects with unsaved changes, then on those of the store.
    #expect(try stack.context.fetch(request).count == count)
    try stack.context.save()
    #expect(try stack.context.fetch(request).count == count)
    #expect(try stack.context.count(for: request) == count)
  }

  @Test(
    "sums and counts include an object as often as the path leads to it",
    arguments: [
      ("count:(reports.managers)", 144), ("count:(reports.managers.reports)", 1728),
      ("sum:(reports.managers.age)", 12 * 66),
      ("reports.@sum.age", 66),
    ])
  func multiplicity(_ text: String, _ value: Int) throws {
    let stack = try Self.crowd()
    let expression = try FetchExpression(format: text)
    let person = try #require(try stack.first("Person", "1"))
    let found = try expression.value(with: person)
    #expect(found as? Int == value, "\(String(describing: found))")
  }

  @Test(
    "a fetch that takes more steps than its limit is an error that names the limit and the predicate",
    arguments: [
      "count:(PATH) > 0", "sum:(PATH.age) > 0", nestedSubqueries,
    ])
  func exceeded(_ format: String) throws {
    let stack = try Self.crowd()
    let predicate = try FetchPredicate(format: format.replacingOccurrences(of: "PATH", with: Self.manyToManys))
    var request = FetchRequest<ManagedObject>(entityName: "Person", predicate: predicate)
    request.stepLimit = 1_000_000
    let error = try #require(graphError { _ = try stack.context.fetch(request) })
    #expect(error.code == .stepLimitExceeded)
    #expect(
      error.message.contains("1000000 steps") && error.message.contains(predicate.predicateFormat.prefix(60)),
      "\(error)")
    #expect(graphError { _ = try stack.context.count(for: request) }?.code == .stepLimitExceeded)
    #expect(graphError { _ = try stack.context.fetchRows(request) }?.code == .stepLimitExceeded)
    // The next fetch has its own budget.
    request.predicate = try FetchPredicate(format: "ANY reports.name == '3'")
    #expect(try stack.context.fetch(request).count == 12)
  }
  static let nestedSubqueries = (0..<11).reversed().reduce("$x10.age > 100") {
    "SUBQUERY(\($1 == 0 ? "SELF" : "$x\($1 - 1)").reports, $x\($1), \($0)).@count > 0"
  }

  @Test("a regular expression uses the steps of the fetch, on objects and over columns")
  func regularExpressions() throws {
    let stack = try Self.crowd()
    let person = try #require(try stack.first("Person", "1"))
    try person.setValue(String(repeating: "a", count: 220), forKey: "name")
    var request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "name MATCHES '(a+)+b'"))
    request.stepLimit = 100_000
    for _ in 0..<2 {
      let error = try #require(graphError { _ = try stack.context.fetch(request) })
      #expect(error.code == .stepLimitExceeded && error.message.contains("100000 steps"), "\(error)")
      #expect(graphError { _ = try stack.context.count(for: request) }?.code == .stepLimitExceeded)
      try stack.context.save()
    }
    // Millions of ways, which are too many for the limit above and not for this one.
    request.predicate = try FetchPredicate(format: "NOT name MATCHES '(?:.*.*.*.*)x'")
    request.stepLimit = 50_000_000
    #expect(try stack.context.count(for: request) == 12)
  }

  @Test(
    "the steps of all rows count, also where no row needs many",
    arguments: [
      // Each match keeps a few thousand places.
      "name MATCHES '(a|aa)*b'", "name MATCHES '(?:|){5}b'",
      "name LIKE '*\(String(repeating: "a", count: 500))b*'", "name CONTAINS '\(String(repeating: "a", count: 500))b'",
      (0..<1000).map { "name == '\($0)'" }.joined(separator: " OR "),
    ])
  func manyRows(_ format: String) throws {
    let stack = try Stack()
    let text = String(repeating: "a", count: format.contains("MATCHES") ? 16 : 600)
    for _ in 0..<200 { _ = try stack.insert("Person", ["name": text]) }
    try stack.context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Person", predicate: try FetchPredicate(format: format))
    #expect(try stack.context.explain(request).method == .columns)
    #expect(try stack.context.count(for: request) == 0)
    request.stepLimit = 5000
    for _ in 0..<2 {
      let error = try #require(graphError { _ = try stack.context.fetch(request) })
      #expect(error.code == .stepLimitExceeded && error.message.contains("5000 steps"), "\(error)")
      #expect(graphError { _ = try stack.context.count(for: request) }?.code == .stepLimitExceeded)
      #expect(graphError { _ = try stack.context.fetchObjectIDs(request) }?.code == .stepLimitExceeded)
    }
  }

  @Test("patterns that read each text once, and IN with many values, take next to no steps")
  func cheapRows() throws {
    let stack = try Stack()
    for number in 0..<500 { _ = try stack.insert("Person", ["name": "ada.\(number)@example.com"]) }
    try stack.context.save()
    let names = (0..<5000).map { "'ada.\($0 * 2)@example.com'" }.joined(separator: ", ")
    for (format, count) in [
      ("name MATCHES '[\\\\w.%+-]+@[A-Za-z0-9.-]+\\\\.[A-Za-z]{2,6}'", 500), ("name MATCHES '.*[.]7@.*'", 1),
      ("name IN {\(names)}", 250),
    ] {
      var request = FetchRequest<ManagedObject>(entityName: "Person", predicate: try FetchPredicate(format: format))
      #expect(try stack.context.explain(request).method == .columns)
      request.stepLimit = 1000
      #expect(try stack.context.count(for: request) == count, "\(format.prefix(60))")
    }
  }

  @Test("what is calculated for each element of a subquery, and each list that a key gives, are steps")
  func innerSteps() throws {
    let stack = try Self.crowd()
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    // Twelve people with twelve reports each, and four additions for each of them.
    request.predicate = try FetchPredicate(format: "SUBQUERY(reports, $x, $x.age + 1 + 1 + 1 + 1 > 100).@count > 0")
    request.stepLimit = 1000
    #expect(graphError { _ = try stack.context.fetch(request) }?.code == .stepLimitExceeded)
    request.stepLimit = 10_000
    #expect(try stack.context.fetch(request).isEmpty)
    // The lists alone: 144 members.
    request.predicate = try FetchPredicate(format: "reports.@count > 12")
    request.stepLimit = 144
    #expect(graphError { _ = try stack.context.fetch(request) }?.code == .stepLimitExceeded)
    request.stepLimit = 400
    #expect(try stack.context.fetch(request).isEmpty)
  }

  @Test("a search in a long text has as many steps as it may take time")
  func longTexts() throws {
    let stack = try Stack()
    _ = try stack.insert("Person", ["name": String(repeating: "a", count: 100_000)])
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    request.predicate = try FetchPredicate(format: "lowercase(name) LIKE '*\(String(repeating: "a", count: 1000))b*'")
    request.stepLimit = 50_000
    #expect(graphError { _ = try stack.context.fetch(request) }?.code == .stepLimitExceeded)
  }

  @Test("a list of values in a predicate is limited along with the steps, so that it does not exhaust memory")
  func lists() throws {
    let stack = try Self.crowd()
    var request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "count:(reports.managers.reports.managers) > 0"))
    request.stepLimit = 75_000
    #expect(
      graphError { _ = try stack.context.fetch(request) }?.message.contains("a list of more than 15000 values") == true)
    request.stepLimit = 10_000_000
    #expect(try stack.context.fetch(request).count == 12)
  }

  @Test("the fetches of fetched properties use the steps of the enclosing fetch")
  func fetchedProperties() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .attribute("number", .integer32),
            .fetchedProperty(
              FetchedPropertyDescription(
                name: "below",
                fetchRequest: FetchRequestDescription(
                  name: "", entityName: "Node", predicateString: "number < $FETCH_SOURCE.number"))),
          ])
      ]))
    let stack = try Stack(model: model)
    for number in 0..<100 { _ = try stack.insert("Node", ["number": number]) }
    var request = FetchRequest<ManagedObject>(
      entityName: "Node", predicate: try FetchPredicate(format: "below.@count > 98"))
    request.stepLimit = 5000
    #expect(graphError { _ = try stack.context.fetch(request) }.map { "\($0)" }?.contains("5000 steps") == true)
    request.stepLimit = 1_000_000
    #expect(try stack.context.fetch(request).count == 1)
  }

  @Test("a path of to-one keys through entities with sub-entities is not compiled for every combination of them")
  func subentities() throws {
    let stack = try Self.crowd("Employee")
    let people = try stack.fetch("Person")
    for (one, other) in [(0, 1), (2, 3)] { try people[one].setValue(people[other], forKey: "spouse") }
    try stack.context.save()
    let path = Array(repeating: "spouse", count: 60).joined(separator: ".")
    let name = try #require(people[0]["name"] as? String)
    let request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "\(path).name == '\(name)'"))
    #expect(try stack.context.fetch(request).map { $0["name"] as? String } == [name])
  }

  // MARK: Key paths

  @Test("a key path through many to-manys returns the set of the objects at its end")
  func values() throws {
    let stack = try Self.crowd()
    let person = try #require(try stack.first("Person", "3"))
    let all = try person.value(forKeyPath: Self.manyToManys) as? Set<ManagedObject>
    #expect(all == Set(try stack.fetch("Person")))
    #expect(try (person.value(forKeyPath: "reports.managers.name") as? [Any])?.count == 144)
    #expect(try person.value(forKeyPath: "reports.managers.@sum.age") as? [Int] == Array(repeating: 66, count: 12))
    #expect(try person.value(forKeyPath: "reports.@count.nothing") as? Int == 12)
    let error = graphError { _ = try person.value(forKeyPath: Self.manyToManys + ".name") }
    #expect(error?.code == .stepLimitExceeded)
  }

  @Test("a key path of more than 300 keys is refused, wherever it is used", arguments: [301, 16_000])
  func tooLong(_ count: Int) throws {
    let path = Array(repeating: "spouse", count: count - 1).joined(separator: ".") + ".name"
    let errors = try OnSmallStack.run {
      let stack = try Self.crowd()
      let person = try #require(try stack.first("Person", "3"))
      func request(_ change: (inout FetchRequest<ManagedObject>) -> Void) -> FetchRequest<ManagedObject> {
        var request = FetchRequest<ManagedObject>(entityName: "Person")
        change(&request)
        return request
      }
      let keys = path.split(separator: ".").map(String.init)
      let predicate = FetchPredicate.comparison(.init(.keyPath(keys), .equal, .constant(.string("x"))))
      return [
        graphError { _ = try person.value(forKeyPath: path) },
        graphError { try person.setValue("x", forKeyPath: "spouse." + path) },
        graphError { _ = try stack.context.fetch(request { $0.sortKeys = [SortKey(path)] }) },
        graphError { _ = try stack.context.count(for: request { $0.sortKeys = [SortKey(path)] }) },
        graphError {
          _ = try stack.context.fetchRows(request { $0.propertiesToGroupBy = [FetchColumn(keyPath: path)] })
        },
        graphError { _ = try stack.context.fetchRows(request { $0.propertiesToFetch = [FetchColumn(keyPath: path)] }) },
        graphError { _ = try stack.context.fetch(request { $0.predicate = predicate }) },
        graphError { _ = try predicate.evaluate(with: person) },
        graphError { _ = try FetchExpression.keyPath(keys).value(with: person) },
      ].map { $0?.message ?? "no error" }
    }
    for (place, message) in errors.enumerated() {
      #expect(message.contains("at most 300 are allowed"), "\(place): \(message)")
    }
  }

  @Test("a key path of 300 keys is evaluated with the stack of a worker thread", arguments: ["spouse", "reports"])
  func longest(_ key: String) throws {
    let path = Array(repeating: key, count: 299).joined(separator: ".") + ".name"
    let found = try OnSmallStack.run {
      let stack = try Self.crowd()
      let person = try #require(try stack.first("Person", "3"))
      try person.setValue(person, forKey: "spouse")
      for other in try stack.fetch("Person") { try other.setValue([person], forKey: "reports") }
      try stack.context.save()
      var request = FetchRequest<ManagedObject>(entityName: "Person")
      if key == "spouse" { request.sortKeys = [SortKey(path)] }
      request.propertiesToGroupBy = [FetchColumn(keyPath: path)]
      let value = try person.value(forKeyPath: path)
      let groups = try stack.context.fetchRows(request).count
      // The comparison is a level too, and a to-one path has no ANY.
      let shorter = path.split(separator: ".").suffix(290).joined(separator: ".")
      request = FetchRequest<ManagedObject>(
        entityName: "Person", predicate: try FetchPredicate(format: "\(key == "spouse" ? "" : "ANY ")\(shorter) == '3'")
      )
      let matches = try stack.context.fetch(request).count
      return "\(value as? String ?? (value as? [Any])?.first as? String ?? "nothing") \(groups) \(matches)"
    }
    #expect(found == (key == "spouse" ? "3 2 1" : "3 1 12"))
  }
}

/// Runs on a thread with the stack of a worker thread.
enum OnSmallStack {
  private final class Box<Value: Sendable>: @unchecked Sendable {
    // Written by the thread before it signals, read after that.
    var result: Result<Value, any Error>?
  }

  static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
    let box = Box<Value>()
    let isDone = DispatchSemaphore(value: 0)
    let thread = Thread {
      box.result = Result { try body() }
      isDone.signal()
    }
    thread.stackSize = 512 << 10
    thread.start()
    isDone.wait()
    return try #require(box.result).get()
  }
}

extension StepLimitTests {
  @Test(
    "a computed column that fails on a row counts the steps of the condition once",
    arguments: ["InMemory", "SQLiteGraph"])
  func failingColumn(_ type: String) throws {
    let stack = try Stack(type)
    for number in 0..<300 { _ = try stack.insert("Person", ["name": "person \(number)", "age": number]) }
    try stack.context.save()
    func code(_ column: String, _ limit: Int, _ context: ManagedObjectContext) -> ManagedObjectError.Code? {
      do {
        var request = FetchRequest<ManagedObject>(
          entityName: "Person", predicate: try FetchPredicate(format: "length:(name) + age * 2 - 1 > 4 + 1"))
        request.propertiesToFetch = [FetchColumn("c", try FetchExpression(format: column))]
        request.stepLimit = limit
        _ = try context.fetchRows(request)
        return nil
      } catch {
        return (error as? ManagedObjectError)?.code
      }
    }
    // What the condition and a column take on rows, and on objects since one has an unsaved change.
    let changed = ManagedObjectContext(stack.coordinator)
    try changed.insertNewObject(forEntityName: "Person").setValue("new", forKey: "name")
    let working = "CAST(TERNARY(age < 999, '2020-01-01', name), 'NSDate')"
    var needed = 0
    for context in [ManagedObjectContext(stack.coordinator), changed] {
      var (low, high) = (0, 1_000_000)
      while low < high {
        let middle = (low + high) / 2
        if code(working, middle, context) == nil { high = middle } else { low = middle + 1 }
      }
      needed = max(needed, low)
    }
    #expect(needed > 1000)
    let failing = "CAST(TERNARY(age < 299, '2020-01-01', name), 'NSDate')"
    let unlimited = code(failing, 1_000_000, ManagedObjectContext(stack.coordinator))
    #expect(unlimited != nil && unlimited != .stepLimitExceeded)
    #expect(code(failing, needed + needed / 2, ManagedObjectContext(stack.coordinator)) == unlimited)
  }
}

import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

class Worker: ManagedObject {
  @Managed("name") var name: String?
  @Managed("age") var age: Int?
  @Managed("department") var department: Office?
  @Managed("tasks") var tasks: [Duty]
  @Managed("reports") var reports: Set<Worker>
  var nickname: String? { name?.lowercased() }
}
final class Boss: Worker {}
final class Office: ManagedObject {
  @Managed("name") var name: String?
  @Managed("floor") var floor: Int
}
final class Duty: ManagedObject {
  @Managed("title") var title: String?
}

@Suite("Predicates that are not parsed from text") struct PredicateBuildingTests {
  enum Keys {
    static let name = FetchKey<String>("name")
    static let age = FetchKey<Int>("age")
    static let department = FetchKey<Office>("department")
    static let title = FetchKey<String>("title")
    static let tasks = FetchKey<[Duty]>("tasks")
    static let reports = FetchKey<Set<Worker>>("reports")
  }

  static func stack() throws -> Stack {
    let stack = try Stack(
      classes: [
        "Person": Worker.self, "Employee": Worker.self, "Manager": Boss.self, "Department": Office.self,
        "Task": Duty.self,
      ])
    try PredicateTable.fill(stack)
    return stack
  }

  static func names(_ predicate: FetchPredicate, _ stack: Stack) throws -> [String] {
    let request = FetchRequest<Worker>(entityName: "Person", predicate: predicate)
    return try stack.context.fetch(request).map { $0.name ?? "" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  static let built: [(FetchPredicate, String, [String])] = [
    (Keys.name == "Ada", "name == \"Ada\"", ["Ada"]),
    (Keys.name == nil, "name == nil", []),
    (Keys.age >= 25 && Keys.age < 40, "age >= 25 AND age < 40", ["Ada", "Bob"]),
    (
      Keys.age == 0 || Keys.name == "Bob" || Keys.age > 40, "age == 0 OR name == \"Bob\" OR age > 40",
      ["Bob", "zoe", "Éva"]
    ),
    (!(Keys.age > 30), "NOT age > 30", ["Bob", "Cyd", "zoe"]),
    (Keys.age.isNil, "age == nil", ["Cyd"]),
    (Keys.age.isBetween(25...36), "age BETWEEN {25, 36}", ["Ada", "Bob"]),
    (Keys.age.isBetween(25..<36), "age >= 25 AND age < 36", ["Bob"]),
    (Keys.age.isIn([0, 41]), "age IN {0, 41}", ["zoe", "Éva"]),
    (Keys.name.begins(with: "a", .caseInsensitive), "name BEGINSWITH[c] \"a\"", ["Ada"]),
    (Keys.name.isLike("?o?"), "name LIKE \"?o?\"", ["Bob", "zoe"]),
    (Keys.name.length > 3, "length:(name) > 3", []),
    (Keys.department.then(Keys.name) == "Sales", "department.name == \"Sales\"", ["Ada", "Bob"]),
    (Keys.department == nil, "department == nil", ["Cyd"]),
    (Keys.tasks.count > 1, "tasks.@count > 1", ["Ada"]),
    (Keys.tasks.isEmpty, "tasks.@count == 0", ["Cyd", "Éva"]),
    (Keys.tasks.any(Keys.title == "count"), "ANY tasks.title == \"count\"", ["Ada", "Bob"]),
    (Keys.tasks.none(Keys.title == "count"), "NOT ANY tasks.title == \"count\"", ["Cyd", "zoe", "Éva"]),
    (
      Keys.tasks.all(Keys.title == "count"),
      "NOT SUBQUERY(tasks, $element, NOT $element.title == \"count\").@count > 0",
      ["Bob", "Cyd", "Éva"]
    ),
    (
      Keys.reports.any(Keys.tasks.any(Keys.title == "count")),
      "SUBQUERY(reports, $element, ANY $element.tasks.title == \"count\").@count > 0", ["Ada"]
    ),
    (
      Keys.reports.any(Keys.tasks.all(Keys.title == "count") && Keys.age.isNil),
      "SUBQUERY(reports, $element, NOT SUBQUERY($element.tasks, $elementx, NOT $elementx.title == \"count\").@count > 0 AND $element.age == nil).@count > 0",
      ["Ada"]
    ),
    (
      Keys.reports.count(where: Keys.age > 20) == 1, "SUBQUERY(reports, $element, $element.age > 20).@count == 1",
      ["Ada"]
    ),
  ]

  @Test("typed keys build the same predicate as the text", arguments: built.indices)
  func builds(_ index: Int) throws {
    let (predicate, text, expected) = Self.built[index]
    #expect(predicate.predicateFormat == text)
    #expect(try FetchPredicate(format: text) == predicate)
    let stack = try Self.stack()
    #expect(try Self.names(predicate, stack) == expected)
    try predicate.check(against: #require(CompanyGraph.model.entity(named: "Person")))
  }

  @Test("typed keys compare objects")
  func objects() throws {
    let stack = try Self.stack()
    let offices = try stack.context.fetch(FetchRequest<Office>(entityName: "Department"))
    let sales = try #require(offices.first { $0.name == "Sales" })
    #expect(try Self.names(Keys.department == sales, stack) == ["Ada", "Bob"])
    #expect(try Self.names(Keys.department != sales, stack) == ["Cyd", "zoe", "Éva"])
    #expect(try Self.names(Keys.department.isIn(offices), stack) == ["Ada", "Bob", "zoe", "Éva"])
    let ada = try #require(
      try stack.context.fetch(FetchRequest<Worker>(entityName: "Person")).first { $0.name == "Ada" })
    #expect(try Self.names(Keys.reports.contains(ada), stack) == [])
    #expect(try (Keys.department == sales).evaluate(with: ada))
    #expect(try (Keys.age > 30).filter([ada]) == [ada])
  }

  @Test("a #Predicate over managed properties runs as a fetch predicate")
  func foundation() throws {
    let stack = try Self.stack()
    func check(_ predicate: Foundation.Predicate<Worker>, _ text: String, _ expected: [String]) throws {
      let converted = try FetchPredicate(predicate)
      #expect(converted.predicateFormat == text)
      #expect(try Self.names(converted, stack) == expected)
      // Foundation itself, asked of each object, says the same.
      let all = try stack.context.fetch(FetchRequest<Worker>(entityName: "Person"))
      let found = try all.filter { try predicate.evaluate($0) }.map { $0.name ?? "" }
      #expect(found.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } == expected)
    }
    let wanted = "Ada"
    let ages = [0, 41]
    try check(#Predicate { $0.name == wanted }, "name == \"Ada\"", ["Ada"])
    try check(#Predicate { $0.name != nil && $0.age == nil }, "name != nil AND age == nil", ["Cyd"])
    try check(
      #Predicate { ($0.age ?? 0) > 30 || $0.name == "zoe" }, "TERNARY(age != nil, age, 0) > 30 OR name == \"zoe\"",
      ["Ada", "zoe", "Éva"])
    try check(#Predicate { $0.department?.name == "Sales" }, "department.name == \"Sales\"", ["Ada", "Bob"])
    try check(#Predicate { !($0.department?.floor == 2) }, "NOT department.floor == 2", ["Cyd", "zoe", "Éva"])
    try check(#Predicate { $0.tasks.count > 1 }, "tasks.@count > 1", ["Ada"])
    try check(#Predicate { $0.tasks.isEmpty }, "tasks.@count == 0", ["Cyd", "Éva"])
    try check(
      #Predicate { $0.tasks.contains { $0.title == "count" } },
      "SUBQUERY(tasks, $element1, $element1.title == \"count\").@count > 0", ["Ada", "Bob"])
    try check(
      #Predicate { $0.tasks.allSatisfy { $0.title == "count" } },
      "SUBQUERY(tasks, $element1, NOT $element1.title == \"count\").@count == 0", ["Bob", "Cyd", "Éva"])
    try check(
      #Predicate { $0.reports.filter { $0.age == nil }.count == 1 },
      "SUBQUERY(reports, $element1, $element1.age == nil).@count == 1", ["Ada"])
    try check(#Predicate { ages.contains($0.age ?? -1) }, "TERNARY(age != nil, age, -1) IN {0, 41}", ["zoe", "Éva"])
    try check(
      #Predicate { (20...36).contains($0.age ?? -1) }, "TERNARY(age != nil, age, -1) BETWEEN {20, 36}", ["Ada", "Bob"])
    try check(
      #Predicate { (20..<36).contains($0.age ?? -1) },
      "TERNARY(age != nil, age, -1) >= 20 AND TERNARY(age != nil, age, -1) < 36", ["Bob"])
    try check(
      #Predicate { ($0.name ?? "").starts(with: "A") }, "TERNARY(name != nil, name, \"\") BEGINSWITH \"A\"", ["Ada"])
    try check(
      #Predicate { ($0.name ?? "").contains("o") }, "TERNARY(name != nil, name, \"\") CONTAINS \"o\"", ["Bob", "zoe"])
    try check(#Predicate { ($0.age ?? 0) * 2 + 1 == 51 }, "TERNARY(age != nil, age, 0) * 2 + 1 == 51", ["Bob"])
  }

  @Test("inherited properties are recognized")
  func inherited() throws {
    let predicate = try FetchPredicate(#Predicate<Boss> { $0.name == "Ada" })
    #expect(predicate == (Keys.name == "Ada"))
  }

  @Test("an unsupported part of a #Predicate is named")
  func refusals() throws {
    #expect { _ = try FetchPredicate(#Predicate<Worker> { $0.nickname == "ada" }) } throws: {
      "\($0)".contains("not @Managed")
    }
    let table = ["Ada": 1]
    let foreign = #Predicate<Worker> { table[$0.name ?? ""] == 1 }
    #expect { _ = try FetchPredicate(foreign) } throws: { "\($0)".contains("DictionaryKeySubscript") }
  }

  @Test("a closure runs on objects, and is printed as text that cannot be parsed")
  func closures() throws {
    let stack = try Self.stack()
    let predicate = FetchPredicate("is Ada") { object, _ in object["name"] as? String == "Ada" }
    #expect(try Self.names(predicate, stack) == ["Ada"])
    #expect(try Self.names(.and([predicate, Keys.age > 40]), stack) == [])
    #expect(predicate.predicateFormat == "BLOCKPREDICATE(\"is Ada\")")
    #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: predicate.predicateFormat) }
    #expect(try FetchPredicate(format: "age > 3 AND %@", predicate) == .and([Keys.age > 3, predicate]))
    #expect(predicate != FetchPredicate("is Ada") { _, _ in true })
    struct Broken: Error {}
    let failing = FetchPredicate("broken") { _, _ in throw Broken() }
    #expect { _ = try Self.names(failing, stack) } throws: { "\($0)".contains("the closure 'broken' failed") }
    var variables: [String: Any?] = [:]
    variables["limit"] = 5
    let object = try #require(try stack.context.fetch(FetchRequest<Worker>(entityName: "Person")).first)
    #expect(
      try FetchPredicate("limit") { _, known in known["limit"] as? Int == 5 }.evaluate(
        with: object, variables: variables))
  }

  @Test("FUNCTION calls what the program registered")
  func functions() throws {
    let stack = try Self.stack()
    stack.coordinator.setFunction(
      { target, arguments in
        guard let text = target as? String, let count = arguments.first as? Int else { return nil }
        return String(text.prefix(count))
      }, forName: "prefix:")
    stack.coordinator.setFunction({ target, _ in (target as? [Any])?.count }, forName: "size")
    stack.coordinator.setFunction({ _, _ in CompanyGraph.model }, forName: "wrong")
    #expect(try Self.names(FetchPredicate(format: "FUNCTION(name, 'prefix:', 2) == 'Ad'"), stack) == ["Ada"])
    #expect(try Self.names(FetchPredicate(format: "FUNCTION(tasks, 'size') == 2"), stack) == ["Ada"])
    #expect { _ = try Self.names(FetchPredicate(format: "FUNCTION(name, 'prefx:', 2) == 'Ad'"), stack) } throws: {
      "\($0)".contains("did you mean 'prefix:'?")
    }
    #expect { _ = try Self.names(FetchPredicate(format: "FUNCTION(name, 'wrong') == 1"), stack) } throws: {
      "\($0)".contains("returned a ManagedObjectModel")
    }
    stack.coordinator.setFunction(nil, forName: "size")
    #expect(throws: ManagedObjectError.self) {
      try Self.names(FetchPredicate(format: "FUNCTION(tasks, 'size') == 2"), stack)
    }
  }

  @Test("an assignment is parsed, printed and not evaluated")
  func assignment() throws {
    let stack = try Self.stack()
    let predicate = try FetchPredicate(format: "($x := age + 1) > 3")
    #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate)
    #expect { _ = try Self.names(predicate, stack) } throws: { "\($0)".contains("is not supported") }
  }

  @Test("arguments keep integers exact, and accept characters")
  func arguments() throws {
    #expect(
      try FetchPredicate(format: "age < %@", UInt64.max).predicateFormat
        == "age < CAST(\"18446744073709551615\", \"NSDecimalNumber\")")
    #expect(try FetchPredicate(format: "name == %c", Character("x")) == FetchPredicate(format: "name == 'x'"))
    #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: "name == %c", "xy") }
  }

  @Test("without pending changes a fetch finds what the stores contain")
  func storedValues() throws {
    let stack = try Self.stack()
    try stack.context.save()
    let all = try stack.context.fetch(FetchRequest<Worker>(entityName: "Person"))
    let ada = try #require(all.first { $0.name == "Ada" })
    let bob = try #require(all.first { $0.name == "Bob" })
    ada.name = "Anna"
    stack.context.delete(bob)
    _ = try stack.insert("Person", ["name": "Dan"])
    var request = FetchRequest<Worker>(entityName: "Person", predicate: Keys.name < "C")
    request.includesPendingChanges = false
    request.sortKeys = [SortKey("name")]
    let found = try stack.context.fetch(request)
    #expect(found == [ada, bob])
    #expect(found.first?.name == "Anna")
    #expect(try stack.context.count(for: request) == 2)
    request.predicate = nil
    #expect(try stack.context.count(for: request) == 5)
    request.includesPendingChanges = true
    request.predicate = Keys.name < "C"
    #expect(try stack.context.fetch(request) == [ada])
  }

  @Test("names are sorted in the expected order")
  func standardOrder() throws {
    let stack = try Stack()
    for name in ["item 10", "Item 9", "item 9", "élan", "Elan", "eland", "item 09", "ITEM 100", "a", "B", "10", "9"] {
      _ = try stack.insert("Task", ["title": name])
    }
    var request = FetchRequest<ManagedObject>(entityName: "Task")
    request.sortKeys = [SortKey("title", textOrder: .localizedStandard)]
    let sorted = try stack.context.fetch(request).map { $0["title"] as? String ?? "" }
    #expect(
      sorted == ["9", "10", "a", "B", "Elan", "élan", "eland", "Item 9", "item 09", "item 9", "item 10", "ITEM 100"])
    try stack.context.save()
    #expect(try stack.context.fetch(request).map { $0["title"] as? String ?? "" } == sorted)
  }
}

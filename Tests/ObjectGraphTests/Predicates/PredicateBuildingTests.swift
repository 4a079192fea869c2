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
  var trimmed: String? { name?.trimmingCharacters(in: .whitespaces) }
  var negated: Int? { age.map { -$0 } }
  var nameOrNothing: String { name ?? "nothing" }
  var hasDepartment: Int { department == nil ? 0 : 1 }
  var firstTitle: String? { tasks.first?.title }
  var bothNames: String { "\(name ?? "")\(department?.name ?? "")" }
  var isOld: Bool { (age ?? 0) > 0 }
  var ageInYears: Double { Double(age ?? 0) }
  var preview: String? { name.map { String($0.prefix(50)) } }
  var squared: Int? { age.map { $0 * $0 } }
  var alias: String? { name }
  var officeName: String? { department?.name }
  var load: Int { tasks.count }
}
final class Boss: Worker {}
final class Office: ManagedObject {
  @Managed("name") var name: String?
  @Managed("floor") var floor: Int
  var shout: String? { name?.uppercased() }
}
final class Duty: ManagedObject {
  @Managed("title") var title: String?
}

@Suite("Predicates that are not parsed from text") struct PredicateBuildingTests {
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

  static let built: [(ObjectPredicate<Worker>, String, [String])] = [
    (\.name == "Ada", "name == \"Ada\"", ["Ada"]),
    (\.name == nil, "name == nil", []),
    (\.age >= 25 && \.age < 40, "age >= 25 AND age < 40", ["Ada", "Bob"]),
    (
      \.age == 0 || \.name == "Bob" || \.age > 40, "age == 0 OR name == \"Bob\" OR age > 40", ["Bob", "zoe", "Éva"]
    ),
    (!(\.age > 30), "NOT age > 30", ["Bob", "Cyd", "zoe"]),
    (\.age == nil, "age == nil", ["Cyd"]),
    (\.age >= \.department?.floor, "age >= department.floor", ["Ada", "Bob", "Éva"]),
    (\.name == \.department?.name, "name == department.name", []),
    ((\Worker.age).isBetween(25...36), "age BETWEEN {25, 36}", ["Ada", "Bob"]),
    ((\Worker.age).isBetween(25..<36), "age >= 25 AND age < 36", ["Bob"]),
    ((\Worker.age).isIn([0, 41]), "age IN {0, 41}", ["zoe", "Éva"]),
    ((\Worker.name).begins(with: "a", .caseInsensitive), "name BEGINSWITH[c] \"a\"", ["Ada"]),
    ((\Worker.name).isLike("?o?"), "name LIKE \"?o?\"", ["Bob", "zoe"]),
    ((\Worker.name).length > 3, "length:(name) > 3", []),
    (\.department?.name == "Sales", "department.name == \"Sales\"", ["Ada", "Bob"]),
    ((\Worker.department?.name).ends(with: "les"), "department.name ENDSWITH \"les\"", ["Ada", "Bob"]),
    (\.department == nil, "department == nil", ["Cyd"]),
    (\.tasks.count > 1, "tasks.@count > 1", ["Ada"]),
    ((\Worker.tasks).any(\.title == "count"), "ANY tasks.title == \"count\"", ["Ada", "Bob"]),
    ((\Worker.tasks).none(\.title == "count"), "NOT ANY tasks.title == \"count\"", ["Cyd", "zoe", "Éva"]),
    (
      (\Worker.tasks).all(\.title == "count"),
      "NOT SUBQUERY(tasks, $element, NOT $element.title == \"count\").@count > 0", ["Bob", "Cyd", "Éva"]
    ),
    (
      (\Worker.reports).any((\Worker.tasks).any(\.title == "count")),
      "SUBQUERY(reports, $element, ANY $element.tasks.title == \"count\").@count > 0", ["Ada"]
    ),
    (
      (\Worker.reports).any((\Worker.tasks).all(\.title == "count") && \.age == nil),
      "SUBQUERY(reports, $element, NOT SUBQUERY($element.tasks, $elementx, NOT $elementx.title == \"count\").@count > 0 AND $element.age == nil).@count > 0",
      ["Ada"]
    ),
    (
      (\Worker.reports).any(\.tasks.count == 1), "SUBQUERY(reports, $element, $element.tasks.@count == 1).@count > 0",
      ["Ada"]
    ),
    (
      (\Worker.reports).count(where: \.age > 20) == 1, "SUBQUERY(reports, $element, $element.age > 20).@count == 1",
      ["Ada"]
    ),
  ]

  @Test("key paths build the same predicate as the text", arguments: built.indices)
  func builds(_ index: Int) throws {
    let (built, text, expected) = Self.built[index]
    let predicate = built.fetchPredicate
    #expect(predicate.predicateFormat == text)
    #expect(try FetchPredicate(format: text) == predicate)
    let stack = try Self.stack()
    #expect(try Self.names(predicate, stack) == expected)
    try predicate.check(against: #require(CompanyGraph.model.entity(named: "Person")))
  }

  @Test("key paths compare objects")
  func objects() throws {
    let stack = try Self.stack()
    let offices = try stack.context.fetch(FetchRequest<Office>())
    let sales = try #require(offices.first { $0.name == "Sales" })
    func names(_ predicate: ObjectPredicate<Worker>) throws -> [String] {
      try Self.names(predicate.fetchPredicate, stack)
    }
    #expect(try names(\.department == sales) == ["Ada", "Bob"])
    #expect(try names(\.department != sales) == ["Cyd", "zoe", "Éva"])
    #expect(try names((\Worker.department).isIn(offices)) == ["Ada", "Bob", "zoe", "Éva"])
    let ada = try #require(try stack.context.fetch(FetchRequest<Worker>(\.name == "Ada")).first)
    #expect(try names((\Worker.reports).contains(ada)) == [])
    #expect(try (\Worker.department == sales).fetchPredicate.evaluate(with: ada))
    #expect(try (\Worker.age > 30).fetchPredicate.filter([ada]) == [ada])
  }

  @Test("a request of key paths knows its entity, with the sub-entities of the same class")
  func requests() throws {
    let stack = try Self.stack()
    let context = stack.context
    let request = FetchRequest(
      \Worker.department?.name == "Sales" && \.age > 20 || \.age == nil, sortedBy: .descending(\.name))
    #expect(try context.fetch(request).map(\.name) == ["Cyd", "Bob", "Ada"])
    #expect(try context.count(for: request) == 3 && context.fetchObjectIDs(request).count == 3)
    #expect(try context.explain(request).description == context.explain(named(request, "Person")).description)
    #expect(try context.count(for: FetchRequest<Boss>()) == 1)
    #expect(
      try context.fetch(FetchRequest<Worker>(sortedBy: .ascending(\.department?.name), .ascending(\.name))).map(\.name)
        == context.fetch(
          FetchRequest<Worker>(entityName: "Person", sortKeys: [SortKey("department.name"), SortKey("name")])
        ).map(\.name))
    var rows = FetchRequest<Worker>(\.age != nil)
    rows.propertiesToFetch = [FetchColumn(\Worker.department?.name), FetchColumn("count", .keyPath(["@count"]))]
    rows.propertiesToGroupBy = [FetchColumn(\Worker.department?.name)]
    #expect(Set(try context.fetchRows(rows).map { $0["department.name"] as? String }) == ["Sales", "Ops"])
    let controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: \.department?.name)
    try controller.performFetch()
    #expect(controller.sections?.map(\.name) == ["", "Sales"] && controller.fetchRequest.entityName == "Person")
    _ = try stack.insert("Employee", ["name": "Dan"])
    context.processPendingChanges()
    #expect(controller.count == 4)
  }

  private func named<Object>(_ request: FetchRequest<Object>, _ name: String) -> FetchRequest<Object> {
    var named = request
    named.entityName = name
    return named
  }

  @Test("batches are made of key paths")
  func batches() throws {
    let stack = try Self.stack()
    try stack.context.save()
    var update = BatchUpdateRequest(\Worker.age < 40 && \.department?.name == "Sales")
    update.set(\Worker.age, to: 50)
    #expect(try stack.context.execute(update).count == 2)
    stack.context.refreshAllObjects()
    #expect(try Self.names((\Worker.age == 50).fetchPredicate, stack) == ["Ada", "Bob"])
    #expect(try stack.context.execute(BatchDeleteRequest(\Duty.title == "count")).count > 0)
    #expect(try stack.context.count(for: FetchRequest<Duty>(\.title == "count")) == 0)
  }

  @Test("a computed property is refused by the fetch, unless it is a property by another name")
  func computed() throws {
    let stack = try Self.stack()
    let refused: [ObjectPredicate<Worker>] = [
      \.nickname == "ada", \.trimmed == "Ada", \.negated == -36, \.nameOrNothing == "Ada", \.hasDepartment == 1,
      \.department?.shout == "SALES", \.firstTitle == "count", \.bothNames == "AdaSales", \.isOld == true,
      \.ageInYears == 36, \.preview == "Ada", \.squared == 36, \.name! == "Ada", \.department!.name == "Sales",
    ]
    for predicate in refused {
      #expect { _ = try Self.names(predicate.fetchPredicate, stack) } throws: {
        "\($0)".contains("a property of Worker that is not @Managed")
      }
    }
    let alias: ObjectPredicate<Worker> = \.alias == "Ada"
    #expect(alias.fetchPredicate.predicateFormat == "name == \"Ada\"")
    #expect((\Worker.officeName == "Sales").fetchPredicate.predicateFormat == "department.name == \"Sales\"")
    #expect((\Worker.load > 1).fetchPredicate.predicateFormat == "tasks.@count > 1")
  }

  @Test("an object in a to-many of a to-many's objects is found")
  func nestedContains() throws {
    let stack = try Self.stack()
    let workers = try stack.context.fetch(FetchRequest<Worker>(entityName: "Person"))
    for duty in try stack.context.fetch(FetchRequest<Duty>(entityName: "Task")) {
      let expected = workers.filter { $0.reports.contains { $0.tasks.contains(duty) } }.compactMap(\.name)
      let any = (\Worker.reports).any((\Worker.tasks).contains(duty))
      #expect(try Self.names(any.fetchPredicate, stack).sorted() == expected.sorted())
      let none = (\Worker.reports).none((\Worker.tasks).contains(duty))
      let others = Set(workers.compactMap(\.name)).subtracting(expected)
      #expect(try Set(Self.names(none.fetchPredicate, stack)) == others)
    }
  }

  @Test("key paths can still be compared with each other")
  func comparingKeyPaths() {
    let (one, other): (KeyPath<Worker, String?>, KeyPath<Worker, String?>) = (\.name, \.alias)
    let areEqual = one == other
    #expect(!areEqual && one == \.name)
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

  @Test("requests, batches and conditions of key paths accept a #Predicate, and refuse one when they are made")
  func foundationRequests() throws {
    let stack = try Self.stack()
    let request = try FetchRequest(#Predicate<Worker> { $0.age == nil }, sortedBy: .ascending(\.name))
    #expect(try stack.context.fetch(request).map(\.name) == ["Cyd"])
    let either = try ObjectPredicate(#Predicate<Worker> { $0.age == nil }) || \.age > 40
    #expect(either.fetchPredicate.predicateFormat == "age == nil OR age > 40")
    #expect(throws: PredicateConversionError.self) {
      try FetchRequest(#Predicate<Worker> { $0.nickname == "ada" })
    }
  }

  @Test("inherited properties are recognized")
  func inherited() throws {
    let predicate = try FetchPredicate(#Predicate<Boss> { $0.name == "Ada" })
    #expect(predicate == (\Boss.name == "Ada").fetchPredicate)
  }

  @Test("an unsupported part of a #Predicate is named")
  func refusals() throws {
    #expect { _ = try FetchPredicate(#Predicate<Worker> { $0.nickname == "ada" }) } throws: {
      "\($0)".contains("not @Managed")
    }
    let table = ["Ada": 1]
    let foreign = #Predicate<Worker> { table[$0.name ?? ""] == 1 }
    #expect { _ = try FetchPredicate(foreign) } throws: { "\($0)".contains("DictionaryKeySubscript") }
    #expect { _ = try FetchPredicate(#Predicate<Worker> { $0 is Boss }) } throws: { "\($0)".contains("TypeCheck") }
    #expect { _ = try FetchPredicate(#Predicate<Worker> { ($0 as? Boss)?.name == "Ada" }) } throws: {
      "\($0)".contains("ConditionalCast")
    }
    #expect { _ = try FetchPredicate(#Predicate<Worker> { ($0.name ?? "").contains(/a/) }) } throws: {
      "\($0)".contains("StringContainsRegex")
    }
  }

  @Test("a closure runs on objects, and is printed as text that cannot be parsed")
  func closures() throws {
    let stack = try Self.stack()
    let predicate = FetchPredicate("is Ada") { object, _ in object["name"] as? String == "Ada" }
    #expect(try Self.names(predicate, stack) == ["Ada"])
    #expect(try Self.names(predicate && (\Worker.age > 40).fetchPredicate, stack) == [])
    #expect(predicate.predicateFormat == "BLOCKPREDICATE(\"is Ada\")")
    #expect(throws: PredicateFormatError.self) { try FetchPredicate(format: predicate.predicateFormat) }
    #expect(
      try FetchPredicate(format: "age > 3 AND %@", predicate) == .and([(\Worker.age > 3).fetchPredicate, predicate]))
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
    var request = FetchRequest<Worker>(\.name < "C", sortedBy: .ascending(\.name))
    request.includesPendingChanges = false
    let found = try stack.context.fetch(request)
    #expect(found == [ada, bob])
    #expect(found.first?.name == "Anna")
    #expect(try stack.context.count(for: request) == 2)
    request.predicate = nil
    #expect(try stack.context.count(for: request) == 5)
    request.includesPendingChanges = true
    request.predicate = (\Worker.name < "C").fetchPredicate
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

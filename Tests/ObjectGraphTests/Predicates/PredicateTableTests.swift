import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

/// One table: who a predicate finds. It holds on every store, saved and unsaved.
///
/// | name | age | kind | salary | department | tasks | reports | address |
/// |---|---|---|---|---|---|---|---|
/// | Ada | 36 | Manager | 100.5 | Sales | count, sum | Bob, Cyd | High Street, Bern |
/// | Bob | 25 | Employee | 50 | Sales | count | | Bern |
/// | Cyd | nil | Employee | nil | nil | | | |
/// | Éva | 41 | Person | | Ops | | | |
/// | zoe | 0 | Person | | Ops | sum | | Low Street |
///
/// Sales has a budget of 0.1 and is in Bern, Ops has 100000000000000000000.2 and no address.
enum PredicateTable {
  static let cases: [(String, [String])] = [
    ("TRUEPREDICATE", ["Ada", "Bob", "Cyd", "zoe", "Éva"]),
    ("FALSEPREDICATE", []),
    ("name == 'Ada'", ["Ada"]),
    ("name == 'ada'", []),
    ("name ==[c] 'ADA'", ["Ada"]),
    ("name ==[d] 'Eva'", ["Éva"]),
    ("name ==[cd] 'eVA'", ["Éva"]),
    ("name BEGINSWITH 'A' OR name ENDSWITH 'b'", ["Ada", "Bob"]),
    ("name CONTAINS[cd] 'E'", ["zoe", "Éva"]),
    ("name LIKE '*o*'", ["Bob", "zoe"]),
    ("name LIKE[c] 'Z?e'", ["zoe"]),
    ("name LIKE '???'", ["Ada", "Bob", "Cyd", "zoe", "Éva"]),
    ("name MATCHES '[A-C].*'", ["Ada", "Bob", "Cyd"]),
    ("name MATCHES[c] 'ZO(e|i)'", ["zoe"]),
    ("name < 'B'", ["Ada"]),
    ("name > 'Z'", ["zoe", "Éva"]),
    ("name IN {'Ada', 'Bob', 'Unknown'}", ["Ada", "Bob"]),
    ("name IN 'Ada and Bob'", ["Ada", "Bob"]),
    ("NOT name IN {'Ada', 'Bob'}", ["Cyd", "zoe", "Éva"]),
    ("age == nil", ["Cyd"]),
    ("age != nil", ["Ada", "Bob", "zoe", "Éva"]),
    ("age > 30", ["Ada", "Éva"]),
    ("age <= 25", ["Bob", "zoe"]),
    ("age < 26 OR age >= 26", ["Ada", "Bob", "zoe", "Éva"]),
    ("age != 36", ["Bob", "Cyd", "zoe", "Éva"]),
    ("NOT age > 30", ["Bob", "Cyd", "zoe"]),
    ("age BETWEEN {25, 36}", ["Ada", "Bob"]),
    ("age == 36.0", ["Ada"]),
    ("age > 35.5", ["Ada", "Éva"]),
    ("age IN {0, 41}", ["zoe", "Éva"]),
    ("age + 1 == 26", ["Bob"]),
    ("age * 2 > 70 AND age ** 2 < 1500", ["Ada"]),
    ("(age & 1) == 1", ["Bob", "Éva"]),
    ("age / 2 == 12.5", ["Bob"]),
    ("modulus:by:(age, 2) == 0", ["Ada", "zoe"]),
    ("department == nil", ["Cyd"]),
    ("department.name == 'Sales'", ["Ada", "Bob"]),
    ("department.name != 'Sales'", ["Cyd", "zoe", "Éva"]),
    ("department.floor > 1", ["Ada", "Bob"]),
    ("ANY tasks.title == 'count'", ["Ada", "Bob"]),
    ("NONE tasks.title == 'count'", ["Cyd", "zoe", "Éva"]),
    ("ALL tasks.title == 'count'", ["Bob", "Cyd", "Éva"]),
    ("tasks.@count == 0", ["Cyd", "Éva"]),
    ("tasks.@count > 1", ["Ada"]),
    ("tasks.title CONTAINS 'sum'", ["Ada", "zoe"]),
    ("reports.@max.age == 25", ["Ada"]),
    ("reports.@sum.age == 25", ["Ada"]),
    ("reports.@avg.age == 25", ["Ada"]),
    ("SUBQUERY(reports, $x, $x.age > 20 AND $x.name != 'Cyd').@count == 1", ["Ada"]),
    ("SUBQUERY(tasks, $t, SUBQUERY($t.people, $p, $p.name == 'zoe').@count > 0).@count > 0", ["Ada", "zoe"]),
    ("ANY managers.name == 'Ada'", ["Bob", "Cyd"]),
    ("ANY department.employees.name == 'Bob'", ["Ada", "Bob"]),
    ("tasks[FIRST].title == 'count'", ["Ada", "Bob"]),
    ("tasks[1].title == 'sum'", ["Ada"]),
    ("tasks[SIZE] == 1", ["Bob", "zoe"]),
    ("uppercase(name) == 'ZOE'", ["zoe"]),
    ("canonical:(name) == 'eva'", ["Éva"]),
    ("length(name) == 3", ["Ada", "Bob", "Cyd", "zoe", "Éva"]),
    ("TERNARY(age > 30, 'old', 'young') == 'old'", ["Ada", "Éva"]),
    ("CAST(age, 'NSString') == '25'", ["Bob"]),
    ("entity == 'Person'", ["zoe", "Éva"]),
    ("entity.name == 'Manager'", ["Ada"]),
    ("mood == 'glad'", []),
    ("(reports UNION managers).@count > 0", ["Ada", "Bob", "Cyd"]),
    ("address == nil", ["Cyd", "Éva"]),
    ("address != nil", ["Ada", "Bob", "zoe"]),
    ("nil == address", ["Cyd", "Éva"]),
    ("NOT address == nil AND address.city == nil", ["zoe"]),
    ("address.city == 'Bern'", ["Ada", "Bob"]),
    ("department.address == nil", ["Cyd", "zoe", "Éva"]),
    ("department.address != nil", ["Ada", "Bob"]),
    ("department.address == nil AND department != nil", ["zoe", "Éva"]),
    ("ANY reports.address != nil", ["Ada"]),
    ("SUBQUERY(reports, $x, $x.address == nil).@count == 1", ["Ada"]),
    ("TERNARY(address == nil, 1, 2) == 2", ["Ada", "Bob", "zoe"]),
    ("department.budget * 3 == 0.3", ["Ada", "Bob"]),
    ("department.budget + department.budget == CAST('200000000000000000000.4', 'NSDecimalNumber')", ["zoe", "Éva"]),
    ("tasks.@sum.people.department.budget > CAST('100000000000000000000.3', 'NSDecimalNumber')", ["Ada"]),
    ("{1, 1} == {1, 2} OR {1, 2} == {1, 1}", []),
    ("{age, 1} == {1, age} AND {age, age} != {age, 1}", ["Ada", "Bob", "Cyd", "zoe", "Éva"]),
    ("reports == managers", ["zoe", "Éva"]),
    ("now() > CAST(0, 'NSDate')", ["Ada", "Bob", "Cyd", "zoe", "Éva"]),
  ]

  static func fill(_ stack: Stack) throws {
    let sales = try stack.insert(
      "Department", ["name": "Sales", "floor": 2, "budget": DecimalNumber("0.1") as Any, "address": ["city": "Bern"]])
    let ops = try stack.insert(
      "Department", ["name": "Ops", "floor": 1, "budget": DecimalNumber("100000000000000000000.2") as Any])
    let count = try stack.insert("Task", ["title": "count"])
    let sum = try stack.insert("Task", ["title": "sum"])
    let ada = try stack.insert(
      "Manager",
      [
        "name": "Ada", "age": 36, "salary": 100.5, "department": sales,
        "address": ["street": "High Street", "city": "Bern"],
      ])
    let bob = try stack.insert(
      "Employee", ["name": "Bob", "age": 25, "salary": 50, "department": sales, "address": ["city": "Bern"]])
    let cyd = try stack.insert("Employee", ["name": "Cyd"])
    let eva = try stack.insert("Person", ["name": "Éva", "age": 41, "department": ops])
    let zoe = try stack.insert(
      "Person", ["name": "zoe", "age": 0, "department": ops, "address": ["street": "Low Street"]])
    try ada.setValue([count, sum], forKey: "tasks")
    try bob.setValue([count], forKey: "tasks")
    try zoe.setValue([sum], forKey: "tasks")
    try ada.setValue([bob, cyd], forKey: "reports")
    _ = eva
  }

  static func find(_ text: String, _ stack: Stack, _ arguments: Any?...) throws -> [String] {
    let request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: text, arguments: arguments))
    return try stack.context.fetch(request).map { $0["name"] as? String ?? "nil" }
      .sorted { $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars) }
  }
}

@Suite("Predicates on objects") struct PredicateTableTests {
  @Test("a predicate finds the same in every store, unsaved, saved, and reopened", arguments: Stack.types)
  func everyStore(_ type: String) throws {
    let stack = try Stack(type)
    try PredicateTable.fill(stack)
    for (text, expected) in PredicateTable.cases {
      #expect(try PredicateTable.find(text, stack) == expected, "unsaved: \(text)")
    }
    try stack.context.save()
    for (text, expected) in PredicateTable.cases {
      #expect(try PredicateTable.find(text, stack) == expected, "saved: \(text)")
    }
    let again = try stack.reopened()
    for (text, expected) in PredicateTable.cases {
      #expect(try PredicateTable.find(text, again) == expected, "opened: \(text)")
    }
    let child = ManagedObjectContext(parent: again.context)
    for (text, expected) in PredicateTable.cases {
      let request = FetchRequest<ManagedObject>(entityName: "Person", predicate: try FetchPredicate(format: text))
      #expect(try Set(child.fetch(request).compactMap { $0["name"] as? String }) == Set(expected), "child: \(text)")
    }
  }

  @Test("a printed predicate finds the same as the original")
  func printed() throws {
    let stack = try Stack()
    try PredicateTable.fill(stack)
    for (text, expected) in PredicateTable.cases {
      let printed = try FetchPredicate(format: text).predicateFormat
      #expect(try PredicateTable.find(printed, stack) == expected, "\(text) → \(printed)")
    }
  }

  @Test(
    "what is parsed at the limits can be evaluated",
    arguments: [
      "age" + String(repeating: "+1", count: 298) + " == 334", "age == 36" + String(repeating: "|0", count: 298),
      String(repeating: "NOT ", count: 198) + "age == 36",
      String(repeating: "(age < 0 OR ", count: 190) + "age == 36" + String(repeating: ")", count: 190),
      "age == 36 *" + Array(repeating: "1", count: 190).joined(separator: "**"),
    ])
  func limits(_ text: String) throws {
    let stack = try Stack()
    try PredicateTable.fill(stack)
    #expect(try PredicateTable.find(text, stack) == ["Ada"])
  }

  @Test("unsaved changes count, or not, as the request specifies")
  func pendingChanges() throws {
    let stack = try Stack()
    try PredicateTable.fill(stack)
    try stack.context.save()
    try #require(try stack.first("Person", "Bob")).setValue(99, forKey: "age")
    stack.context.delete(try #require(try stack.first("Person", "Ada")))
    _ = try stack.insert("Person", ["name": "New", "age": 98])
    #expect(try PredicateTable.find("age > 30", stack) == ["Bob", "New", "Éva"])
  }

  @Test(
    "a composite is nil as soon as its last part is, and not any more with the first, saved or not",
    arguments: Stack.types)
  func pendingParts(_ type: String) throws {
    let stack = try Stack(type)
    try PredicateTable.fill(stack)
    try stack.context.save()
    try #require(try stack.first("Person", "Bob")).setValue(nil, forKey: "address")
    try #require(try stack.first("Person", "Ada")).setValue(nil, forKey: "address.city")
    try #require(try stack.first("Person", "zoe")).setValue(nil, forKey: "address.street")
    try #require(try stack.first("Person", "Éva")).setValue("Bern", forKey: "address.city")
    try #require(try stack.first("Department", "Ops")).setValue("Bern", forKey: "address.city")
    _ = try stack.insert("Person", ["name": "New"])
    for _ in 0..<2 {
      #expect(try PredicateTable.find("address == nil", stack) == ["Bob", "Cyd", "New", "zoe"])
      #expect(try PredicateTable.find("address != nil", stack) == ["Ada", "Éva"])
      #expect(try PredicateTable.find("department.address == nil", stack) == ["Cyd", "New"])
      try stack.context.save()
    }
  }

  @Test("objects are compared as objects: directly, by ID, before and after they are saved")
  func objects() throws {
    let stack = try Stack()
    try PredicateTable.fill(stack)
    let ada = try #require(try stack.first("Person", "Ada"))
    let sales = try #require(ada["department"] as? ManagedObject)
    let temporary = sales.objectID
    for _ in 0..<2 {
      #expect(try PredicateTable.find("SELF == %@", stack, ada) == ["Ada"])
      #expect(try PredicateTable.find("department == %@", stack, sales) == ["Ada", "Bob"])
      #expect(try PredicateTable.find("department == %@", stack, sales.objectID) == ["Ada", "Bob"])
      #expect(try PredicateTable.find("department == %@", stack, temporary) == ["Ada", "Bob"])
      #expect(try PredicateTable.find("department IN %@", stack, [sales]) == ["Ada", "Bob"])
      #expect(try PredicateTable.find("department != %@", stack, sales) == ["Cyd", "zoe", "Éva"])
      #expect(try PredicateTable.find("%@ IN managers", stack, ada) == ["Bob", "Cyd"])
      #expect(try PredicateTable.find("managers CONTAINS %@", stack, ada) == ["Bob", "Cyd"])
      try stack.context.save()
    }
  }

  @Test(
    "a predicate that cannot be evaluated is refused with the reason",
    arguments: [
      ("nmae == 'x'", "did you mean 'name'"), ("tasks.title == 'x'", "ANY, ALL"), ("tasks == 5", "ANY, ALL"),
      ("name.foo == 1", "continues"), ("name + 1 == 2", "numbers"), ("tasks.@sum.title == 1", "numbers"),
      ("$x == 1", "$x"), ("tasks.@foo == 1", "@foo"), ("name MATCHES '('", "regular expression"),
      ("name ==[l] 'x'", "locale"),
      ("address == 'Bern'", "address.street, address.city"), ("address == department.address", "address.city"),
      ("department.address IN {'Bern'}", "department.address.city"), ("'x' CONTAINS address", "address.city"),
      ("address > 1", "only be compared with nil"), ("address.@count == 1", "only be compared with nil"),
      ("uppercase(address) == 'X'", "address.city"), ("count:(address) == 1", "address.city"),
      ("{address} == {nil}", "address.city"),
      ("CAST(address, 'NSString') == 'x'", "address.city"), ("ANY reports.address == 'x'", "reports.address.city"),
      ("reports.@unionOfObjects.address == nil", "address.city"),
      ("TERNARY(age > 1, address, nil) == nil", "address.city"),
      ("FUNCTION(address, 'length') == 1", "address.city"), ("address.town == 'x'", "unknown key 'address.town'"),
      ("FUNCTION('x', 'nosuch') == 1", "nosuch"), ("FETCH('x', 'y', NO).@count > 0", "FETCH"),
    ])
  func refusals(_ text: String, _ word: String) throws {
    let stack = try Stack()
    try PredicateTable.fill(stack)
    do {
      let found = try PredicateTable.find(text, stack)
      Issue.record("\(text) found \(found)")
    } catch {
      #expect("\(error)".contains(word), "\(error)")
    }
  }

  @Test("a fetch that examines an object does not fire a fault")
  func noFiring() throws {
    let stack = try Stack()
    try PredicateTable.fill(stack)
    try stack.context.save()
    let other = try stack.reopened()
    other.context.retainsRegisteredObjects = true
    #expect(try PredicateTable.find("department.name == 'Sales' AND ANY tasks.title == 'sum'", other) == ["Ada"])
    #expect(other.context.registeredObjects.filter { !$0.isFault }.count == 1)
  }

  @Test("numbers of different types are compared exactly")
  func exactNumbers() throws {
    let big = Int64(1) << 53 + 1
    func holds(_ text: String, _ one: Any, _ other: Any) throws -> Bool {
      let stack = try Stack()
      _ = try stack.insert("Person", ["name": "x"])
      return try !PredicateTable.find(text, stack, one, other).isEmpty
    }
    #expect(try !holds("%@ == %@", Int(big), Double(big)))
    #expect(try holds("%@ > %@", Int(big), Double(big)))
    #expect(try holds("%@ == %@", 3, 3.0))
    #expect(try holds("%@ < %@", Int.max, 0x1p63))
    #expect(try holds("%@ == %@", DecimalNumber("0.5") ?? DecimalNumber(0), 0.5))
    #expect(try holds("%@ == %@", DecimalNumber("1.50") ?? DecimalNumber(0), DecimalNumber("1.5") ?? DecimalNumber(0)))
    #expect(try !holds("%@ == %@", Double.nan, Double.nan))
    #expect(try !holds("%@ < %@ OR 1 == 2", Double.nan, 1))
  }

  @Test("objects are sorted by several keys, null first, strings by scalars or folded, stably")
  func sorting() throws {
    let stack = try Stack()
    try PredicateTable.fill(stack)
    func sorted(_ keys: SortKey...) throws -> [String] {
      try stack.context.fetch(FetchRequest<ManagedObject>(entityName: "Person", sortKeys: keys)).compactMap {
        $0["name"] as? String
      }
    }
    #expect(try sorted(SortKey("name")) == ["Ada", "Bob", "Cyd", "zoe", "Éva"])
    #expect(
      try sorted(SortKey("name", options: [.caseInsensitive, .diacriticInsensitive])) == [
        "Ada", "Bob", "Cyd", "Éva", "zoe",
      ])
    #expect(try sorted(SortKey("age")) == ["Cyd", "zoe", "Bob", "Ada", "Éva"])
    #expect(try sorted(SortKey("age", isAscending: false)) == ["Éva", "Ada", "Bob", "zoe", "Cyd"])
    #expect(
      try sorted(SortKey("department.name"), SortKey("age", isAscending: false)) == ["Cyd", "Éva", "zoe", "Ada", "Bob"])
    #expect(
      try sorted(SortKey("tasks.@count", isAscending: false), SortKey("name")) == ["Ada", "Bob", "zoe", "Cyd", "Éva"])
    #expect(throws: ManagedObjectError.self) { try sorted(SortKey("department")) }
    var page = FetchRequest<ManagedObject>(entityName: "Person", sortKeys: [SortKey("name")])
    page.fetchOffset = 1
    page.fetchLimit = 2
    #expect(try stack.context.fetch(page).compactMap { $0["name"] as? String } == ["Bob", "Cyd"])
    #expect(try stack.context.count(for: page) == 2)
  }
}

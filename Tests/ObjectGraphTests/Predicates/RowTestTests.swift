import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreKit

@Suite("Predicates over columns") struct RowTestTests {
  /// People of all kinds with nulls everywhere, and what leads to them.
  func stack() throws -> Stack {
    let stack = try Stack()
    var random = SeededGenerator(seed: 7)
    var departments: [ManagedObject] = []
    for name in ["Sales", "Ops", nil, "é", ""] {
      let department = try stack.insert("Department", ["floor": departments.count])
      if departments.count % 2 == 0 { try department.setValue("Bern", forKey: "address.city") }
      try department.setValue(name, forKey: "name")
      departments.append(department)
    }
    var tasks: [ManagedObject] = []
    for title in ["count", "sum", nil, "COUNT"] {
      let task = try stack.insert("Task")
      try task.setValue(title, forKey: "title")
      tasks.append(task)
    }
    for index in 0..<60 {
      let person = try stack.insert(["Person", "Employee", "Manager"][index % 3])
      let names: [String?] = ["Ada", "ada", "Éva", "E\u{301}va", "", nil, "Bob", "zoe", "ad", "Adam"]
      try person.setValue(names[index % 10], forKey: "name")
      if index % 3 == 0 { try person.setValue("Bern", forKey: "address.city") }
      if index % 7 == 0 { try person.setValue("High Street", forKey: "address.street") }
      if index % 4 != 0 { try person.setValue(Int.random(in: -3...3, using: &random), forKey: "age") }
      if index % 5 != 0 {
        try person.setValue(departments[Int.random(in: 0..<5, using: &random)], forKey: "department")
      }
      for task in tasks where Bool.random(using: &random) { try person.add(task, to: "tasks") }
      if person.entity.name != "Person" {
        let salaries: [Double?] = [0.0, -0.0, .nan, .infinity, 1.5, nil, -2]
        try person.setValue(salaries[index % 7], forKey: "salary")
        if index % 2 == 0 { try person.setValue(Date(timeIntervalSinceReferenceDate: Double(index)), forKey: "hired") }
      }
    }
    try stack.context.save()
    return stack
  }

  static let texts: [String] = {
    var texts: [String] = []
    for comparator in ["==", "!=", "<", ">", "<=", ">="] {
      texts += [
        "age \(comparator) 1", "age \(comparator) 9223372036854775807", "age \(comparator) -9223372036854775808",
      ]
      texts += [
        "name \(comparator) 'Ada'", "name \(comparator)[c] 'ADA'", "name \(comparator)[d] 'Eva'",
        "name \(comparator)[cd] 'eva'",
      ]
      texts += [
        "department.floor \(comparator) 2", "department.name \(comparator) 'Sales'", "tasks.@count \(comparator) 2",
        "1 \(comparator) age",
      ]
      texts += [
        "ANY tasks.title \(comparator) 'count'", "ALL tasks.title \(comparator) 'count'",
        "NONE tasks.title \(comparator)[c] 'count'",
      ]
    }
    for comparator in ["CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES"] {
      texts += [
        "name \(comparator) 'a'", "name \(comparator)[cd] 'E'", "name \(comparator) ''",
        "department.name \(comparator) 'S'",
      ]
    }
    texts += [
      "name LIKE '?d*'", "name MATCHES '[A-Z].*'", "name == nil", "name != nil", "age == nil", "department == nil",
      "department != nil",
    ]
    texts += [
      "department.name == nil", "department.name != nil", "age IN {1, 2, 3}", "age IN {1, nil}", "name IN {'Ada', ''}",
      "name IN {nil, 'Bob'}",
    ]
    texts += [
      "address == nil", "address != nil", "nil == address", "department.address == nil", "department.address != nil",
    ]
    texts += ["address.city == nil AND NOT address == nil OR department.address != nil AND address == nil"]
    texts += [
      "age BETWEEN {-1, 1}", "NOT age > 0", "NOT (department.name == 'Sales' OR age < 0)", "ANY tasks.title == nil",
      "name != nil AND age != nil",
    ]
    texts += ["TRUEPREDICATE AND age > 0", "FALSEPREDICATE OR age > 0", "department.employees.@count > 3"]
    texts += [
      "age > 0 OR name CONTAINS 'a' OR department == nil",
      "NOT (age > 0 AND name LIKE '?d*') AND NOT (name == 'Bob' OR name == nil)",
    ]
    texts += ["name == 'Ada' AND (age > 0 OR ANY tasks.title == 'sum' OR NOT name CONTAINS 'd') AND department != nil"]
    return texts
  }()

  @Test("a predicate finds the same over columns as on objects", arguments: ["Person", "Employee"])
  func same(_ entity: String) throws {
    let stack = try stack()
    let columns = try stack.reopened()
    // One graph for all of them: it takes longer to make than to ask.
    for text in Self.texts {
      let predicate = try FetchPredicate(format: text)
      let request = FetchRequest<ManagedObject>(entityName: entity, predicate: predicate)
      let fast = try columns.context.fetch(request).map(\.objectID)
      let slow = FetchRequest<ManagedObject>(entityName: entity) { try PredicateEvaluator($0).evaluate(predicate) }
      #expect(try fast == stack.context.fetch(slow).map(\.objectID), "\(entity): \(text)")
      #expect(try columns.context.count(for: request) == fast.count)
    }
  }

  @Test(
    "objects that a predicate names are found over columns, those that do not exist included",
    arguments: ["Person", "Employee"])
  func objects(_ entity: String) throws {
    let stack = try stack()
    let columns = try stack.reopened()
    func ids(_ name: String) throws -> [ManagedObjectID] {
      try stack.context.fetch(FetchRequest<ManagedObject>(entityName: name)).map(\.objectID)
    }
    var people = try ids("Person")
    let managers = try ids("Manager")
    let store = stack.store.identifier
    let reference = try #require(managers[0].reference)
    people += [
      ManagedObjectID(storeIdentifier: store, entityName: "Person", reference: reference),
      ManagedObjectID(storeIdentifier: store, entityName: "Person", reference: .integer(1 << 40)),
      ManagedObjectID(storeIdentifier: UUID(), entityName: "Manager", reference: reference),
    ]
    let departments = try ids("Department")
    let tasks = try ids("Task")
    let plan = ModelPlan.plan(of: CompanyGraph.model)
    let compiler = RowTestCompiler(plan: plan, version: stack.store.version, store: store)
    var predicates: [FetchPredicate] = []
    for key in ["SELF", "objectID"] {
      for id in people { predicates.append(try FetchPredicate(format: "\(key) == %@ OR %@ != \(key)", id, id)) }
      for id in people { predicates.append(try FetchPredicate(format: "\(key) == %@", id)) }
      predicates.append(try FetchPredicate(format: "\(key) IN %@ AND age > 0", Array(people.suffix(9))))
      predicates.append(try FetchPredicate(format: "NOT \(key) IN %@", managers))
    }
    for id in departments + [people[0]] {
      predicates.append(try FetchPredicate(format: "department == %@", id))
      predicates.append(try FetchPredicate(format: "department != %@", id))
    }
    predicates.append(try FetchPredicate(format: "department IN %@", Array(departments.prefix(2)) + [people[1]]))
    predicates.append(try FetchPredicate(format: "ANY tasks == %@", tasks[0]))
    predicates.append(try FetchPredicate(format: "ANY tasks IN %@", Array(tasks.prefix(2))))
    predicates.append(try FetchPredicate(format: "NONE tasks == %@", tasks[1]))
    // The second time with unsaved changes: a new object, one whose department changed, and one that lost a task.
    for hasChanges in [false, true] {
      if hasChanges {
        for context in [stack.context, columns.context] {
          let new = try context.insertNewObject(forEntityName: "Employee")
          try new.setValue(try context.existingObject(with: departments[0]), forKey: "department")
          try context.obtainPermanentIDs(for: [new])
          let changed = try context.existingObject(with: managers[0])
          try changed.setValue(try context.existingObject(with: departments[1]), forKey: "department")
          let other = try context.existingObject(with: managers[1])
          for task in try other.objects(forRelationshipNamed: "tasks").prefix(1) {
            try other.remove(task, from: "tasks")
          }
        }
      }
      for predicate in predicates {
        let request = FetchRequest<ManagedObject>(entityName: entity, predicate: predicate)
        let slow = FetchRequest<ManagedObject>(entityName: entity) { try PredicateEvaluator($0).evaluate(predicate) }
        let expected = try stack.context.fetch(slow).map(\.objectID)
        #expect(try columns.context.fetch(request).map(\.objectID) == expected, "\(predicate)")
        #expect(try columns.context.count(for: request) == expected.count, "\(predicate)")
        let compiled = compiler.compile(
          predicate, plan.entities[try #require(CompanyGraph.model.entity(named: entity)).index])
        #expect(compiled != nil, "\(predicate)")
      }
    }
  }

  @Test(
    "also doubles and dates, including not-a-number and zeros",
    arguments: [
      "salary == 0", "salary != 0", "salary < 0", "salary <= 0", "salary > 1.5", "salary >= -0.0", "salary == nil",
      "salary BETWEEN {0, 2}",
      "hired > CAST(10, 'NSDate')", "hired <= CAST(4.0, 'NSDate')", "hired == nil",
    ])
  func doubles(_ text: String) throws {
    let stack = try stack()
    let predicate = try FetchPredicate(format: text)
    let request = FetchRequest<ManagedObject>(entityName: "Employee", predicate: predicate)
    let slow = FetchRequest<ManagedObject>(entityName: "Employee") { try PredicateEvaluator($0).evaluate(predicate) }
    let columns = try stack.reopened()
    #expect(try columns.context.fetch(request).map(\.objectID) == stack.context.fetch(slow).map(\.objectID))
  }

  @Test("these predicates are compiled: what should be fast does not silently fall back")
  func compiled() throws {
    let stack = try stack()
    let version = stack.store.version
    let plan = ModelPlan.plan(of: CompanyGraph.model)
    let compiler = RowTestCompiler(plan: plan, version: version, store: stack.store.identifier)
    let person = try #require(CompanyGraph.model.entity(named: "Person"))
    for text in Self.texts where !text.contains("employees.@count") {
      #expect(compiler.compile(try FetchPredicate(format: text), plan.entities[person.index]) != nil, "\(text)")
    }
    for text in [
      "mood == 1", "mood + 1 == 2", "uppercase(name) == 'X'", "SUBQUERY(tasks, $t, $t.title == 'x').@count > 0",
    ] {
      #expect(compiler.compile(try FetchPredicate(format: text), plan.entities[person.index]) == nil, "\(text)")
    }
  }

  @Test(
    "rows are sorted like objects",
    arguments: [
      [SortKey("name")], [SortKey("name", isAscending: false)], [SortKey("age"), SortKey("name", isAscending: false)],
      [SortKey("department.name"), SortKey("age")], [SortKey("department.floor", isAscending: false), SortKey("name")],
      [SortKey("name", options: .caseInsensitive), SortKey("age")],
    ])
  func sorting(_ keys: [SortKey]) throws {
    let stack = try stack()
    let columns = try stack.reopened()
    let request = FetchRequest<ManagedObject>(entityName: "Person", sortKeys: keys)
    var slow = request
    slow.filter = { _ in true }
    #expect(try columns.context.fetch(request).map(\.objectID) == stack.context.fetch(slow).map(\.objectID))
    var page = request
    page.fetchOffset = 5
    page.fetchLimit = 7
    #expect(try columns.context.fetch(page).map(\.objectID) == Array(stack.context.fetch(slow).map(\.objectID)[5..<12]))
  }

  @Test("doubles are sorted with null first, then not-a-number, with equal zeros")
  func sortingDoubles() throws {
    let stack = try stack()
    let columns = try stack.reopened()
    let request = FetchRequest<ManagedObject>(entityName: "Employee", sortKeys: [SortKey("salary"), SortKey("name")])
    var slow = request
    slow.filter = { _ in true }
    #expect(try columns.context.fetch(request).map(\.objectID) == stack.context.fetch(slow).map(\.objectID))
  }

  /// More rows than a word of presence bits, more than are inserted, merged or counted into their place.
  @Test(
    "many rows are found and sorted like objects: strings with common prefixes, trailing zeros, the least integer and null",
    arguments: [20, 64, 65, 200, 1500])
  func many(_ count: Int) throws {
    let stack = try Stack()
    var random = SeededGenerator(seed: UInt64(count))
    let pieces = ["", "a", "ab", "abcdefg", "abcdefgh", "\0", "b\0", "é", "zzzzzzzzzzzzzzz"]
    for index in 0..<count {
      let task = try stack.insert("Task")
      if index % 9 != 4 {
        let title = (0..<Int.random(in: 0...3, using: &random)).map { _ in
          pieces[Int.random(in: 0..<pieces.count, using: &random)]
        }.joined()
        try task.setValue(title, forKey: "title")
      }
      let badge = try stack.insert("Badge")
      let numbers: [Int64?] = [.min, nil, .max, 0, -1, 1, Int64(index), -Int64(index) << 40]
      if let number = numbers[Int.random(in: 0..<8, using: &random)] { try badge.setValue(number, forKey: "number") }
    }
    try stack.context.save()
    let columns = try stack.reopened()
    func check(_ entity: String, _ keys: [SortKey], _ format: String?) throws {
      var request = FetchRequest<ManagedObject>(
        entityName: entity, predicate: try format.map { try FetchPredicate(format: $0) }, sortKeys: keys)
      let fast = try columns.context.fetchObjectIDs(request)
      var slow = request
      slow.filter = { _ in true }
      let right = try stack.context.fetch(slow).map(\.objectID)
      #expect(fast == right, "\(entity) \(keys) \(format ?? "")")
      #expect(try columns.context.count(for: request) == right.count)
      request.fetchOffset = 3
      request.fetchLimit = 40
      #expect(try columns.context.fetchObjectIDs(request) == Array(right.dropFirst(3).prefix(40)))
      #expect(try columns.context.count(for: request) == right.dropFirst(3).prefix(40).count)
    }
    for isAscending in [true, false] {
      try check("Task", [SortKey("title", isAscending: isAscending)], nil)
      try check("Badge", [SortKey("number", isAscending: isAscending)], nil)
      try check("Badge", [SortKey("number", isAscending: isAscending)], "number < 2 OR number == nil")
    }
    try check("Task", [], "title > 'abcdefg' AND NOT title ENDSWITH 'a'")
    try check("Task", [], "title == 'abcdefgh' OR title == 'abcdefg' OR title == ''")
    try check("Badge", [], "number != 0")
    try check("Badge", [], "number BETWEEN {-1, 1} OR number == nil")
  }
}

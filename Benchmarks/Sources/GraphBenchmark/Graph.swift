import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

final class Person: ManagedObject {
  @Managed("name") var name: String
  @Managed("age") var age: Int
  @Managed("salary") var salary: Double
  @Managed("hired") var hired: Date
  @Managed("department") var department: Department?
}

final class Department: ManagedObject {
  @Managed("name") var name: String
  @Managed("people") var people: [Person]
}

let graphModel = ModelDescription(entities: [
  EntityDescription(
    name: "Person",
    properties: [
      .attribute("name", .string),
      .attribute("age", .integer64),
      .attribute("salary", .double),
      .attribute("hired", .date),
      .toOne("department", "Department", inverse: "people"),
    ]),
  EntityDescription(
    name: "Department",
    properties: [
      .attribute("name", .string),
      .toMany("people", "Person", inverse: "department"),
    ]),
])

/// Prints how long a read of a property takes, by its type: once every object has been read before.
func measureReads(of people: [Person]) {
  let passes = max(1, 2_000_000 / max(people.count, 1))
  func time(_ name: String, _ read: ([Person]) -> Int) {
    var best = Double.infinity
    for _ in 0..<passes {
      let start = ContinuousClock.now
      let result = read(people)
      let (seconds, attoseconds) = (ContinuousClock.now - start).components
      if result == 0 { print("nothing was read") }
      best = min(best, Double(seconds) + Double(attoseconds) / 1e18)
    }
    print("ns to read \(name)\t\(best / Double(max(people.count, 1)) * 1e9)")
  }
  time("an integer") { $0.reduce(1) { $0 &+ $1.age } }
  time("a double") { Int($0.reduce(1) { $0 + $1.salary }) }
  time("a date") { Int($0.reduce(1) { $0 + $1.hired.timeIntervalSinceReferenceDate }) }
  time("a text") { $0.reduce(1) { $0 &+ $1.name.utf8.count } }
  // Without a strong reference to it, the object at the other end is created again at each read.
  let departments = Set(people.compactMap(\.department))
  defer { withExtendedLifetime(departments) {} }
  time("a to-one") { $0.reduce(1) { $0 &+ ($1.department == nil ? 0 : 1) } }
  time("a value for a key") { $0.reduce(1) { $0 &+ ((try? $1.value(forKey: "age")) as? Int ?? 0) } }
  time("a value over a to-one, by key") {
    $0.reduce(1) { $0 &+ ((try? $1.value(forKeyPath: "department.name")) as? String ?? "").utf8.count }
  }
}

func runGraph(_ count: Int, type: String, _ folder: String, isWriting: Bool) throws {
  let path = folder + (type == "XML" ? "/people.xml" : type == "CSV" ? "/people.csvstore" : "/people.plist")
  func open() throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(graphModel), registry: .builtIn)
    coordinator.setManagedObjectClass(Person.self, forEntityName: "Person")
    coordinator.setManagedObjectClass(Department.self, forEntityName: "Department")
    try coordinator.addPersistentStore(type: type, at: path)
    return ManagedObjectContext(coordinator)
  }
  func writing() throws {
    let context = try open()
    let start = ContinuousClock.now
    measure("insert") {
      var departments: [Department] = []
      for index in 0..<max(1, count / 100) {
        let department = Department(context: context)
        department.name = "Department \(index)"
        departments.append(department)
      }
      for index in 0..<count {
        let person = Person(context: context)
        person.name = "Person number \(index)"
        person.age = index % 80
        person.salary = Double(index) * 1.25
        person.hired = Date(timeIntervalSinceReferenceDate: Double(index))
        person.department = departments[index % departments.count]
      }
    }
    try measure("save") { try context.save() }
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    print("insert + save\t\(Double(seconds) + Double(attoseconds) / 1e18)")
  }
  if isWriting { return try writing() }

  let before = residentMemory()
  let context = try measure("open") { try open() }
  let loaded = residentMemory()
  var request = FetchRequest<Person>(entityName: "Person")
  request.returnsObjectsAsFaults = false
  let people = try measure("fetch all") { try context.fetch(request) }
  let fetched = residentMemory()
  print("bytes an object, store\t\(Double(loaded - before) / Double(count))")
  print("bytes an object, realised\t\(Double(fetched - loaded) / Double(count))")
  let sum = measure("read every value") {
    var sum = 0.0
    for person in people {
      sum += Double(person.name.utf8.count + person.age) + person.salary + person.hired.timeIntervalSinceReferenceDate
    }
    return sum
  }
  measureReads(of: people)
  let walked = try measure("traverse") {
    var walked = 0
    for department in try context.fetch(FetchRequest<Department>(entityName: "Department")) {
      for person in department.people { walked += person.age }
    }
    return walked
  }
  let fresh = ManagedObjectContext(context.persistentStoreCoordinator)
  for (name, text) in queries {
    let predicate = try FetchPredicate(format: text)
    let found = try measure("count " + name) {
      try fresh.count(for: FetchRequest<Person>(entityName: "Person", predicate: predicate))
    }
    print("found " + name + "\t\(found)")
  }
  _ = try measure("sorted by name") {
    try fresh.fetch(FetchRequest<Person>(entityName: "Person", sortKeys: [SortKey("name")])).count
  }
  _ = try measure("first 50 by salary, filtered") {
    var page = FetchRequest<Person>(
      entityName: "Person", predicate: try FetchPredicate(format: queries[0].text),
      sortKeys: [SortKey("salary", isAscending: false)])
    page.fetchLimit = 50
    return try fresh.fetch(page).count
  }
  try measure("update 10 %, save") {
    for (index, person) in people.enumerated() where index % 10 == 1 { person.salary += 1 }
    try context.save()
  }
  try measure("delete 10 %, save") {
    for (index, person) in people.enumerated() where index % 10 == 0 { context.delete(person) }
    try context.save()
  }
  let left = try context.count(for: request)
  guard sum > 0, walked > 0, left == count - (count + 9) / 10 else {
    throw Failure(message: "the graph is wrong: \(left)")
  }
}

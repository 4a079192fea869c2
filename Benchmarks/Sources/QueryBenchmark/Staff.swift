import AtomicStoreKit
import AtomicStoreSPI
import BenchmarkSupport
import BuiltInStoreFormats
import Foundation
import GRDBSQLite

/// The same people four times: in a store, in a table without an index, and in structs for closures and `#Predicate`.
struct Employee {
  var name: String
  var title: String
  var office: String
  var badge: Int
  var rating: Double
  var active: Bool
  var department: Department
}

final class Department: Sendable {
  let name: String
  init(_ name: String) { self.name = name }
}

struct Failure: Error { var message: String }

enum Staff {
  static let departments = 1000
  private static let first = [
    "Anna", "Björn", "Chloé", "Dmitri", "Émile", "Fatima", "George", "Håkon", "Ines", "Jürgen", "Kenji", "李明",
  ]
  private static let last = ["Garcia", "Müller", "O'Neill", "Smith", "Żółć", "Tanaka", "Brown & Co", "Silva, Jr."]
  private static let titles = ["Engineer", "Senior Engineer", "Director, Sales", "Analyst", "Clerk", "Head of Quality"]

  /// A number that depends on the row alone.
  private static func mix(_ value: Int) -> UInt64 {
    var x = UInt64(truncatingIfNeeded: value) &+ 0x9E37_79B9_7F4A_7C15
    x = (x ^ x >> 30) &* 0xBF58_476D_1CE4_E5B9
    x = (x ^ x >> 27) &* 0x94D0_49BB_1331_11EB
    return x ^ x >> 31
  }

  static func make(_ count: Int) -> [Employee] {
    let all = (0..<departments).map { Department("Department \($0)") }
    return (0..<count).map { number in
      let random = mix(number)
      let department = all[Int(random >> 40) % departments]
      return Employee(
        name: "\(first[Int(random % 12)]) \(last[Int(random / 12 % 8)]) \(number)", title: titles[Int(random / 96 % 6)],
        office: department.name, badge: Int(random >> 20 % 1_000_000), rating: Double(random / 576 % 500) / 100,
        active: random >> 50 & 1 == 0, department: department)
    }
  }

  // MARK: A store

  private static let columns: KeyValuePairs<String, AttributeType> = [
    "name": .string, "title": .string, "office": .string, "badge": .integer64, "rating": .double, "active": .boolean,
  ]

  private static func model(isIndexed: Bool) -> ModelDescription {
    let indexed = isIndexed ? ["badge", "name"] : []
    let department = RelationshipDescription(
      name: "department", destinationEntityName: "Department", inverseName: "employees")
    let employees = RelationshipDescription(
      name: "employees", destinationEntityName: "Employee", inverseName: "department", maximumCount: 0)
    return ModelDescription(entities: [
      EntityDescription(
        name: "Department",
        properties: [.attribute("name", .string), .relationship(employees)]),
      EntityDescription(
        name: "Employee",
        properties: columns.map { .attribute($0.key, $0.value) } + [
          .relationship(department)
        ],
        fetchIndexes: indexed.map { FetchIndexDescription(name: $0, elements: [.init(propertyName: $0)]) }),
    ])
  }

  /// Written with the people's numbers as references, then opened as anyone would.
  static func makeContext(_ staff: [Employee], _ folder: String, isIndexed: Bool = false) throws -> ManagedObjectContext
  {
    let path = folder + "/staff.plist"
    let managed = try ManagedObjectModel(model(isIndexed: isIndexed))
    let builder = NodeTableBuilder(model: managed)
    func slot(_ entity: String, _ name: String) throws -> Int {
      guard let slot = managed.entity(named: entity)?.slot(named: name) else { throw Failure(message: "no \(name)") }
      return slot
    }
    guard let departmentEntity = managed.entity(named: "Department")?.index,
      let employeeEntity = managed.entity(named: "Employee")?.index
    else { throw Failure(message: "no entity") }
    let base = Int64(departments)
    let name = try slot("Department", "name")
    let members = try slot("Department", "employees")
    var numbers: [String: Int64] = [:]
    var people: [String: [Int64]] = [:]
    for (number, employee) in staff.enumerated() {
      people[employee.office, default: []].append(base + Int64(number) + 1)
    }
    for number in 0..<departments {
      let text = "Department \(number)"
      numbers[text] = Int64(number) + 1
      try builder.beginNode(entity: departmentEntity, reference: Int64(number) + 1)
      try builder.set(.string(text), slot: name)
      for person in people[text] ?? [] { try builder.append(toMany: person, slot: members) }
    }
    let slots = try ["name", "title", "office", "badge", "rating", "active", "department"].map {
      try slot("Employee", $0)
    }
    for (number, employee) in staff.enumerated() {
      try builder.beginNode(entity: employeeEntity, reference: base + Int64(number) + 1)
      try builder.set(.string(employee.name), slot: slots[0])
      try builder.set(.string(employee.title), slot: slots[1])
      try builder.set(.string(employee.office), slot: slots[2])
      try builder.set(integer: Int64(employee.badge), slot: slots[3])
      try builder.set(double: employee.rating, slot: slots[4])
      try builder.set(boolean: employee.active, slot: slots[5])
      try builder.set(toOne: numbers[employee.office] ?? 0, slot: slots[6])
    }
    let nodes = try builder.finish()
    let maker = PersistentStoreCoordinator(managedObjectModel: managed, registry: .builtIn)
    try maker.save(
      try maker.addPersistentStore(type: "BinaryPropertyList", at: path), changes: StoreChanges(inserting: nodes))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: managed, registry: .builtIn)
    try coordinator.addPersistentStore(at: path, isReadOnly: !isIndexed)
    return ManagedObjectContext(coordinator)
  }
}

/// SQLite's own interface, without a wrapper's cost; the whole database fits its cache.
final class Database {
  private var handle: OpaquePointer?

  init(_ staff: [Employee], _ folder: String) throws {
    guard sqlite3_open(folder + "/staff.sqlite", &handle) == SQLITE_OK else {
      throw Failure(message: "cannot open the database")
    }
    try run("PRAGMA cache_size = -800000; PRAGMA temp_store = MEMORY; PRAGMA synchronous = OFF; BEGIN")
    try run("CREATE TABLE department (id INTEGER PRIMARY KEY, name TEXT)")
    try run(
      """
      CREATE TABLE employee (
        id INTEGER PRIMARY KEY, name TEXT, title TEXT, office TEXT, badge INTEGER, rating REAL, active INTEGER,
        department INTEGER REFERENCES department)
      """)
    for number in 0..<Staff.departments {
      try run("INSERT INTO department VALUES (\(number + 1), 'Department \(number)')")
    }
    let insert = try prepare("INSERT INTO employee VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT 1 + substr(?4, 12)))")
    defer { sqlite3_finalize(insert) }
    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    for (number, employee) in staff.enumerated() {
      sqlite3_bind_int64(insert, 1, Int64(Staff.departments + number + 1))
      sqlite3_bind_text(insert, 2, employee.name, -1, copied)
      sqlite3_bind_text(insert, 3, employee.title, -1, copied)
      sqlite3_bind_text(insert, 4, employee.office, -1, copied)
      sqlite3_bind_int64(insert, 5, Int64(employee.badge))
      sqlite3_bind_double(insert, 6, employee.rating)
      sqlite3_bind_int(insert, 7, employee.active ? 1 : 0)
      guard sqlite3_step(insert) == SQLITE_DONE else { throw Failure(message: "cannot insert") }
      sqlite3_reset(insert)
    }
    try run("COMMIT")
  }

  deinit { sqlite3_close(handle) }

  private func run(_ text: String) throws {
    guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else {
      throw Failure(message: String(cString: sqlite3_errmsg(handle)))
    }
  }

  private func prepare(_ text: String) throws -> OpaquePointer? {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK else {
      throw Failure(message: String(cString: sqlite3_errmsg(handle)))
    }
    return statement
  }

  /// The first column of every row.
  func integers(_ text: String) throws -> [Int64] {
    let statement = try prepare(text)
    defer { sqlite3_finalize(statement) }
    var found: [Int64] = []
    while sqlite3_step(statement) == SQLITE_ROW { found.append(sqlite3_column_int64(statement, 0)) }
    return found
  }
}

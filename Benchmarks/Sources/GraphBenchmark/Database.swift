import Foundation
import GRDB

/// The same data as GRDB's users would write it down: records with an identity, one table each, an index on the key.
struct PersonRecord: Codable, FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "person"
  var id: Int64?
  var name: String
  var age: Int
  var salary: Double
  var hired: Date
  var departmentId: Int64?
  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct DepartmentRecord: Codable, FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "department"
  var id: Int64?
  var name: String
  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

func runDatabase(_ count: Int, _ path: String, isWriting: Bool) throws {
  let queue = try DatabaseQueue(path: path)
  if isWriting {
    try queue.write { database in
      try database.create(table: "department") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("name", .text)
      }
      try database.create(table: "person") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("name", .text)
        table.column("age", .integer)
        table.column("salary", .double)
        table.column("hired", .datetime)
        table.column("departmentId", .integer).indexed().references("department")
      }
    }
    // An insert is the save: one transaction.
    try measure("insert + save") {
      try queue.write { database in
        var keys: [Int64?] = []
        for index in 0..<max(1, count / 100) {
          var department = DepartmentRecord(name: "Department \(index)")
          try department.insert(database)
          keys.append(department.id)
        }
        for index in 0..<count {
          var person = PersonRecord(
            name: "Person number \(index)", age: index % 80, salary: Double(index) * 1.25,
            hired: Date(timeIntervalSinceReferenceDate: Double(index)), departmentId: keys[index % keys.count])
          try person.insert(database)
        }
      }
    }
    return
  }
  let before = residentMemory()
  let people = try measure("fetch all") { try queue.read { try PersonRecord.fetchAll($0) } }
  print("bytes an object, realised\t\(Double(residentMemory() - before) / Double(count))")
  let sum = measure("read every value") {
    people.reduce(0.0) {
      $0 + Double($1.name.utf8.count + $1.age) + $1.salary + $1.hired.timeIntervalSinceReferenceDate
    }
  }
  let walked = try measure("traverse") {
    try queue.read { database in
      var walked = 0
      for department in try DepartmentRecord.fetchAll(database) {
        for person in try PersonRecord.filter(Column("departmentId") == department.id).fetchAll(database) {
          walked += person.age
        }
      }
      return walked
    }
  }
  for (query, condition) in zip(
    queries,
    [
      "age > 40 AND name LIKE '%9%'", "salary BETWEEN 1000 AND 20000 AND age <> 7",
      "departmentId IN (SELECT id FROM department WHERE name = 'Department 7')",
    ])
  {
    let found = try measure("count " + query.name) {
      try queue.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM person WHERE " + condition) ?? 0 }
    }
    print("found " + query.name + "\t\(found)")
  }
  _ = try measure("sorted by name") {
    try queue.read { try PersonRecord.order(Column("name")).fetchAll($0) }.count
  }
  _ = try measure("first 50 by salary, filtered") {
    try queue.read {
      try PersonRecord.fetchAll(
        $0, sql: "SELECT * FROM person WHERE age > 40 AND name LIKE '%9%' ORDER BY salary DESC LIMIT 50")
    }.count
  }
  try measure("update 10 %, save") {
    try queue.write { database in
      for (index, var person) in people.enumerated() where index % 10 == 1 {
        person.salary += 1
        try person.update(database)
      }
    }
  }
  try measure("delete 10 %, save") {
    try queue.write { database in
      for (index, person) in people.enumerated() where index % 10 == 0 { _ = try person.delete(database) }
    }
  }
  guard sum > 0, walked > 0 else { throw Failure(message: "the database is wrong") }
}

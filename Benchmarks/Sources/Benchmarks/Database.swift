import Foundation
import GRDB

/// GRDB's records for the tables of the SQLite floor. They take columns by their place and write them by hand, which is
/// its fast way.
enum Database {
  private static let file = "/company.sqlite"

  struct Employee: FetchableRecord, PersistableRecord {
    static let databaseTableName = "employee"
    var id: Int64
    var name: String
    var title: String
    var badge: Int64
    var rating: Double
    var salary: String
    var hired: Date
    var active: Bool
    var token: Data
    var department: Int64
    var manager: Int64?

    init(row: Row) {
      id = row[0]
      name = row[1]
      title = row[2]
      badge = row[3]
      rating = row[4]
      salary = row[5]
      hired = Date(timeIntervalSinceReferenceDate: row[6])
      active = row[7]
      token = row[8]
      department = row[9]
      manager = row[10]
    }

    func encode(to container: inout PersistenceContainer) {
      container["id"] = id
      container["name"] = name
      container["title"] = title
      container["badge"] = badge
      container["rating"] = rating
      container["salary"] = salary
      container["hired"] = hired.timeIntervalSinceReferenceDate
      container["active"] = active
      container["token"] = token
      container["department"] = department
      container["manager"] = manager
    }
  }

  struct Department: FetchableRecord, PersistableRecord {
    static let databaseTableName = "department"
    var id: Int64
    var name: String
    init(row: Row) { (id, name) = (row[0], row[1]) }
    func encode(to container: inout PersistenceContainer) { (container["id"], container["name"]) = (id, name) }
  }

  struct Project: FetchableRecord, PersistableRecord {
    static let databaseTableName = "project"
    var id: Int64
    var name: String
    init(row: Row) { (id, name) = (row[0], row[1]) }
    func encode(to container: inout PersistenceContainer) { (container["id"], container["name"]) = (id, name) }
  }

  struct Member: FetchableRecord, PersistableRecord {
    static let databaseTableName = "member"
    var project: Int64
    var employee: Int64
    init(row: Row) { (project, employee) = (row[0], row[1]) }
    func encode(to container: inout PersistenceContainer) {
      (container["project"], container["employee"]) = (project, employee)
    }
  }

  private struct All {
    var departments: [Department]
    var employees: [Employee]
    var projects: [Project]
    var members: [Member]

    init(_ folder: String) throws {
      var configuration = Configuration()
      configuration.readonly = true
      let queue = try DatabaseQueue(path: folder + file, configuration: configuration)
      (departments, employees, projects, members) = try queue.read {
        (try Department.fetchAll($0), try Employee.fetchAll($0), try Project.fetchAll($0), try Member.fetchAll($0))
      }
    }
  }

  static func measureLoad(_ folder: String) throws -> Measured {
    var all: All?
    let measured = try timed { all = try All(folder) }
    guard let all, !all.employees.isEmpty, !all.members.isEmpty else { throw Failure(message: "no records") }
    return measured
  }

  static func measureSave(_ folder: String) throws -> Measured {
    let all = try All(folder)
    let target = folder + "/saved-records.sqlite"
    try? FileManager.default.removeItem(atPath: target)
    return try timed {
      try DatabaseQueue(path: target).write { database in
        try database.create(table: "department") {
          $0.primaryKey("id", .integer)
          $0.column("name", .text)
        }
        try database.create(table: "employee") {
          $0.primaryKey("id", .integer)
          for (name, type) in [
            ("name", .text), ("title", .text), ("badge", .integer), ("rating", .double), ("salary", .text),
            ("hired", .double),
            ("active", .boolean), ("token", .blob), ("department", .integer), ("manager", .integer),
          ] as [(String, GRDB.Database.ColumnType)] { $0.column(name, type) }
        }
        try database.create(table: "project") {
          $0.primaryKey("id", .integer)
          $0.column("name", .text)
        }
        try database.create(table: "member") {
          $0.column("project", .integer)
          $0.column("employee", .integer)
        }
        for record in all.departments { try record.insert(database) }
        for record in all.employees { try record.insert(database) }
        for record in all.projects { try record.insert(database) }
        for record in all.members { try record.insert(database) }
      }
    }
  }
}

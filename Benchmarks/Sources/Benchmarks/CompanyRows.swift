import AtomicStoreKit
import Foundation

/// The same data as one would write it down without a store: a struct for each row, references as numbers. Decimals are
/// texts, since neither JSON nor a property list has them.
struct CompanyRows: Codable {
  struct Department: Codable {
    var id: Int64
    var name: String
    var employees: [Int64]
  }
  struct Employee: Codable {
    var id: Int64
    var active: Bool
    var badge: Int64
    var hired: Date
    var name: String
    var rating: Double
    var salary: String
    var title: String
    var token: Data
    var department: Int64
    var manager: Int64?
    var projects: [Int64]
    var reports: [Int64]
  }
  struct Project: Codable {
    var id: Int64
    var name: String
    var members: [Int64]
  }
  var departments: [Department]
  var employees: [Employee]
  var projects: [Project]

  init(_ nodes: NodeTable) {
    func number(_ node: NodeHandle) -> Int64 {
      if case .integer(let value) = nodes.reference(of: node) { value } else { 0 }
    }
    func numbers(_ nodes: Span<NodeHandle>) -> [Int64] {
      var result: [Int64] = []
      result.reserveCapacity(nodes.count)
      for place in 0..<nodes.count { result.append(number(nodes[place])) }
      return result
    }
    func named<Row>(_ entity: Int, _ make: (Int64, String, [Int64]) -> Row) -> [Row] {
      let reader = nodes.reader(of: entity)
      return (0..<reader.count).map { row in
        make(
          reader.integerReference(row: row) ?? 0, reader.string(slot: 0, row: row),
          numbers(reader.toMany(slot: 1, row: row)))
      }
    }
    departments = named(0) { Department(id: $0, name: $1, employees: $2) }
    projects = named(2) { Project(id: $0, name: $1, members: $2) }
    let reader = nodes.reader(of: 1)
    employees = (0..<reader.count).map { row in
      Employee(
        id: reader.integerReference(row: row) ?? 0, active: reader.boolean(slot: 0, row: row),
        badge: reader.integer(slot: 1, row: row),
        hired: Date(timeIntervalSinceReferenceDate: reader.double(slot: 2, row: row)),
        name: reader.string(slot: 3, row: row), rating: reader.double(slot: 4, row: row),
        salary: reader.string(slot: 5, row: row), title: reader.string(slot: 6, row: row),
        token: reader.bytes(slot: 7, row: row).withUnsafeBytes { Data($0) },
        department: reader.toOne(slot: 8, row: row).map(number) ?? 0,
        manager: reader.toOne(slot: 9, row: row).map(number),
        projects: numbers(reader.toMany(slot: 10, row: row)), reports: numbers(reader.toMany(slot: 11, row: row)))
    }
  }

  /// From the property-list store, which is given up again.
  static func read(_ folder: String) throws -> CompanyRows {
    let (coordinator, store) = try Kit.load(folder + "/" + Format.propertyList.file)
    defer { withExtendedLifetime(coordinator) {} }
    return CompanyRows(store.nodes)
  }

  var count: Int { departments.count + employees.count + projects.count }

  /// What PropertyListSerialization takes: for each entity an array of dictionaries.
  var dictionaries: [String: [[String: Any]]] {
    [
      "departments": departments.map { ["id": $0.id, "name": $0.name, "employees": $0.employees] },
      "projects": projects.map { ["id": $0.id, "name": $0.name, "members": $0.members] },
      "employees": employees.map {
        var row: [String: Any] = [
          "id": $0.id, "active": $0.active, "badge": $0.badge, "hired": $0.hired, "name": $0.name, "rating": $0.rating,
          "salary": $0.salary, "title": $0.title, "token": $0.token, "department": $0.department,
          "projects": $0.projects,
          "reports": $0.reports,
        ]
        if let manager = $0.manager { row["manager"] = manager }
        return row
      },
    ]
  }
}

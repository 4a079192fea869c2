import AtomicStoreKit
import Foundation

/// Company stores of any size: 90 % employees, up to 1000 departments, the rest projects. Equal sizes, equal stores.
enum Company {
  static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Department",
      properties: [
        .attribute("name", .string),
        .toMany("employees", "Employee", inverse: "department"),
      ]),
    EntityDescription(
      name: "Employee",
      properties: [
        .attribute("active", .boolean),
        .attribute("badge", .integer64),
        .attribute("hired", .date),
        .attribute("name", .string),
        .attribute("rating", .double),
        .attribute("salary", .decimal),
        .attribute("title", .string),
        .attribute("token", .binaryData),
        .toOne("department", "Department", inverse: "employees"),
        .toOne("manager", "Employee", inverse: "reports"),
        .toMany("projects", "Project", inverse: "members"),
        .toMany("reports", "Employee", inverse: "manager"),
      ]),
    EntityDescription(
      name: "Project",
      properties: [
        .attribute("name", .string),
        .toMany("members", "Employee", inverse: "projects"),
      ]),
  ])

  private static let first = [
    "Anna", "Björn", "Chloé", "Dmitri", "Émile", "Fatima", "George", "Håkon", "Ines", "Jürgen", "Kenji", "李明",
  ]
  private static let last = ["Garcia", "Müller", "O'Neill", "Smith", "Żółć", "Tanaka", "Brown & Co", "Silva, Jr."]
  private static let titles = ["Engineer", "Senior Engineer", "Director, Sales", "Analyst", "Clerk", "Head of Quality"]

  /// A number that depends on the row alone.
  private static func mix(_ value: Int, _ salt: UInt64) -> UInt64 {
    var x = UInt64(truncatingIfNeeded: value) &+ salt &* 0x9E37_79B9_7F4A_7C15
    x = (x ^ x >> 30) &* 0xBF58_476D_1CE4_E5B9
    x = (x ^ x >> 27) &* 0x94D0_49BB_1331_11EB
    return x ^ x >> 31
  }

  static func make(_ objects: Int) throws -> StoreSnapshot {
    let model = try ManagedObjectModel(description)
    let builder = NodeTableBuilder(model: model)
    let departments = max(1, min(1000, objects / 100))
    let employees = objects * 9 / 10
    let projects = max(0, objects - departments - employees)
    let base = departments
    let projectBase = departments + employees
    func slot(_ entity: String, _ name: String) throws -> Int {
      guard let slot = model.entity(named: entity)?.slot(named: name) else { throw CocoaError(.coderInvalidValue) }
      return slot
    }
    // Who belongs where follows from the numbers, so both sides can be made in one pass each.
    func members(_ project: Int) -> [Int] {
      (0..<5).map { (project * 7 + $0 * 131) % max(employees, 1) }.reduce(into: []) {
        if !$0.contains($1) { $0.append($1) }
      }
    }
    var projectsOf = [[Int64]](repeating: [], count: employees)
    for project in 0..<projects {
      for member in members(project) { projectsOf[member].append(Int64(projectBase + project + 1)) }
    }
    let departmentName = try slot("Department", "name")
    let staff = try slot("Department", "employees")
    for number in 0..<departments {
      try builder.beginNode(entity: 0, reference: Int64(number + 1))
      try builder.set(utf8: Array("Department \(number)".utf8).span, slot: departmentName)
      for employee in stride(from: number, to: employees, by: departments) {
        try builder.append(toMany: Int64(base + employee + 1), slot: staff)
      }
    }
    let slots = try [
      "active", "badge", "hired", "name", "rating", "salary", "title", "token", "department", "manager", "projects",
      "reports",
    ].map { try slot("Employee", $0) }
    for number in 0..<employees {
      let random = mix(number, 1)
      try builder.beginNode(entity: 1, reference: Int64(base + number + 1))
      try builder.set(boolean: random % 3 != 0, slot: slots[0])
      try builder.set(integer: Int64(truncatingIfNeeded: random >> 8) % 1_000_000_000, slot: slots[1])
      try builder.set(dateSeconds: Double(random % 700_000_000) + Double(random >> 40 % 1000) / 1000, slot: slots[2])
      let name = "\(first[Int(random % 12)]) \(last[Int(random / 12 % 8)]) \(number)"
      try builder.set(utf8: Array(name.utf8).span, slot: slots[3])
      try builder.set(double: Double(random % 500) / 100, slot: slots[4])
      try builder.set(decimal: Array("\(30_000 + random % 90_000).\(random % 90 + 10)".utf8).span, slot: slots[5])
      try builder.set(utf8: Array(titles[Int(random / 96 % 6)].utf8).span, slot: slots[6])
      let token = (0..<16).map { UInt8(truncatingIfNeeded: mix(number, 2) >> UInt64($0 % 8 * 8)) &+ UInt8($0) }
      try builder.set(bytes: token.span, slot: slots[7])
      try builder.set(toOne: Int64(number % departments + 1), slot: slots[8])
      if number > 0 { try builder.set(toOne: Int64(base + (number - 1) / 10 + 1), slot: slots[9]) }
      for project in projectsOf[number] { try builder.append(toMany: project, slot: slots[10]) }
      for report in number * 10 + 1..<number * 10 + 11 where report < employees {
        try builder.append(toMany: Int64(base + report + 1), slot: slots[11])
      }
    }
    let projectName = try slot("Project", "name")
    let crew = try slot("Project", "members")
    for number in 0..<projects {
      try builder.beginNode(entity: 2, reference: Int64(projectBase + number + 1))
      try builder.set(utf8: Array("Project \(number)".utf8).span, slot: projectName)
      for member in members(number) { try builder.append(toMany: Int64(base + member + 1), slot: crew) }
    }
    return StoreSnapshot(
      nodes: try builder.finish(),
      metadata: StoreMetadata(storeType: "", lastReference: Int64(objects), model: description))
  }
}

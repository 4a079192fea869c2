import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import CAllocationCount
import Foundation

// How often memory is asked for, for each object, when stores are saved, loaded and fetched from. Counts and not
// seconds: they are the same on every machine, so that a test can hold them to a bound. What comes once for each store
// is taken out by measuring two sizes.

let model = try ManagedObjectModel(
  ModelDescription(entities: [
    EntityDescription(
      name: "Department",
      properties: [
        .attribute("name", .string),
        .toMany("employees", "Employee", inverse: "department"),
      ]),
    EntityDescription(
      name: "Employee",
      properties: [
        .attribute("badge", .integer64),
        .attribute("hired", .date),
        .attribute("name", .string),
        .attribute("salary", .decimal),
        .attribute("token", .binaryData),
        .toOne("department", "Department", inverse: "employees"),
      ]),
  ]))

func fill(_ context: ManagedObjectContext, _ count: Int) throws {
  var departments: [ManagedObject] = []
  for number in 0..<count {
    if number % 100 == 0 {
      departments.append(try context.insertNewObject(forEntityName: "Department"))
      try departments.last?.setValue("Department \(number / 100)", forKey: "name")
    }
    let employee = try context.insertNewObject(forEntityName: "Employee")
    try employee.setValue(number, forKey: "badge")
    try employee.setValue(Date(timeIntervalSinceReferenceDate: Double(number) * 86_400.25), forKey: "hired")
    // Longer than what a string holds inline.
    try employee.setValue("Employee with the number \(number)", forKey: "name")
    try employee.setValue(DecimalNumber("\(number).25"), forKey: "salary")
    try employee.setValue(Data(repeating: UInt8(truncatingIfNeeded: number), count: 24), forKey: "token")
    try employee.setValue(departments.last, forKey: "department")
  }
}

func counted(_ body: () throws -> Void) rethrows -> Int {
  asc_begin()
  defer { _ = asc_end() }
  try body()
  return asc_end()
}

/// By step, how often memory was asked for with so many objects.
func measure(_ type: String, _ count: Int, in folder: String) throws -> [String: Int] {
  let path = "\(folder)/\(type)-\(count)"
  var counts: [String: Int] = [:]
  do {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    try coordinator.addPersistentStore(type: type, at: path)
    let context = ManagedObjectContext(coordinator)
    try fill(context, count)
    counts["insert and save"] = try counted { try context.save() }
  }
  let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
  counts["load"] = try counted { try coordinator.addPersistentStore(type: type, at: path) }
  let context = ManagedObjectContext(coordinator)
  var request = FetchRequest<ManagedObject>(
    entityName: "Employee", predicate: try FetchPredicate(format: "badge < 100 AND name CONTAINS 'number'"))
  counts["query"] = try counted { _ = try context.fetch(request) }
  request.predicate = nil
  var objects: [ManagedObject] = []
  counts["fetch"] = try counted { objects = try context.fetch(request) }
  counts["read a value"] = counted { for object in objects { _ = object["badge"] } }
  // All of the store is written, whatever was changed.
  try objects.last?.setValue(-1, forKey: "badge")
  counts["change one and save"] = try counted { try context.save() }
  return counts
}

let folder = NSTemporaryDirectory() + "allocation-guard-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }
#if DEBUG
  print("configuration\tdebug\t0")
#else
  print("configuration\trelease\t0")
#endif
for type in ["XML", "BinaryPropertyList", "CSV"] {
  _ = try measure(type, 100, in: folder)
  let few = try measure(type, 2_000, in: folder)
  let many = try measure(type, 6_000, in: folder)
  for step in many.keys.sorted() {
    let each = Double((many[step] ?? 0) - (few[step] ?? 0)) / 4_000
    print("\(type)\t\(step)\t\(String(format: "%.3f", each))")
  }
}

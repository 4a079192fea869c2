import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Glibc

/// What requests and saves take in a process that keeps its store open, for `Benchmarks/run --work requests`: prints
/// each with its processor seconds, or bytes, and a tab between. Stores are those of a company.
struct RequestSteps {
  let type: String
  let path: String
  private static let requests = 200
  private static let saves = 20

  private func context() throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(type: type, at: path)
    return ManagedObjectContext(coordinator)
  }

  private static var processorTime: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// The largest resident memory so far, in bytes.
  private static var peak: Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss * 1024
  }

  private func measure(_ name: String, times: Int, _ body: (Int) throws -> Void) rethrows {
    let start = Self.processorTime
    for time in 0..<times { try body(time) }
    print("\(name)\t\((Self.processorTime - start) / Double(times))")
  }

  /// Finds objects by what they are, each for the first time.
  func runIdentity() throws {
    let first = try context()
    let count = try first.count(for: FetchRequest<ManagedObject>(entityName: "Employee"))
    let badges = (0..<Self.requests * 4).map { Int64($0 * count / (Self.requests * 4)) * 7 % 1_000_003 }
    let some = FetchRequest<ManagedObject>(
      entityName: "Employee", predicate: try FetchPredicate(format: "badge IN %@", badges))
    let ids = try first.fetch(some).map(\.objectID)
    guard ids.count >= Self.requests * 3 else { throw RequestStepsError(message: "the store has too few objects") }
    let all = FetchRequest<ManagedObject>(
      entityName: "Employee", predicate: try FetchPredicate(format: "badge >= 0"))
    let context = ManagedObjectContext(first.persistentStoreCoordinator)
    _ = try context.count(for: all)
    try measure("count of all", times: 5) { _ in
      guard try context.count(for: all) == count else { throw RequestStepsError(message: "a count is wrong") }
    }
    func fetch(_ format: String, _ value: Any, _ expected: Int) throws {
      let request = FetchRequest<ManagedObject>(
        entityName: "Employee", predicate: try FetchPredicate(format: format, value))
      let found = try context.fetch(request)
      guard found.count == expected, found[0]["badge"] != nil else {
        throw RequestStepsError(message: "\(format) found \(found.count) objects")
      }
    }
    try measure("SELF ==", times: Self.requests) { try fetch("SELF == %@", ids[$0], 1) }
    try measure("SELF IN", times: Self.requests / 10) { time in
      let start = Self.requests + time * 10
      try fetch("SELF IN %@", Array(ids[start..<start + 10]), 10)
    }
    try measure("--reference", times: Self.requests) { time in
      let object = try context.existingObject(with: ids[Self.requests * 2 + time])
      guard object["badge"] != nil else { throw RequestStepsError(message: "an object has no badge") }
    }
  }

  /// Saves one change, with ten objects in memory and with all.
  func runSaves() throws {
    for (name, limit) in [("save, ten held", 10), ("save, all held", 0)] {
      let context = try context()
      var request = FetchRequest<ManagedObject>(entityName: "Employee")
      request.fetchLimit = limit
      request.returnsObjectsAsFaults = false
      let held = try context.fetch(request)
      func save(_ time: Int) throws {
        try held[time * held.count / (Self.saves + 1) % held.count].setValue(
          "saved \(limit) \(time) by \(getpid())", forKey: "title")
        try context.save()
      }
      // The first one makes what all others use.
      try save(0)
      try measure(name, times: Self.saves) { try save($0 + 1) }
      withExtendedLifetime(held) {}
    }
  }

  /// Inserts objects into a new store and saves them.
  func runInsertion(_ count: Int) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Employee",
          properties: [
            .attribute("badge", .integer64), .attribute("hired", .date), .attribute("name", .string),
            .attribute("rating", .double), .attribute("title", .string),
          ])
      ]))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    try coordinator.addPersistentStore(type: type, at: path)
    let context = ManagedObjectContext(coordinator)
    let before = Self.peak
    for number in 0..<count {
      let object = try context.insertNewObject(forEntityName: "Employee")
      try object.setValue(number, forKey: "badge")
      try object.setValue(Date(timeIntervalSinceReferenceDate: Double(number) * 3600), forKey: "hired")
      try object.setValue("Employee with the number \(number)", forKey: "name")
      try object.setValue(Double(number) / 8, forKey: "rating")
      try object.setValue("Engineer", forKey: "title")
    }
    try context.save()
    print("inserted and saved, bytes\t\((Self.peak - before) / count)")
  }
}

struct RequestStepsError: Error, CustomStringConvertible {
  let message: String
  var description: String { message }
}

import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

/// Predicates whose path goes through a to-one that is nil to a to-many, on stores that answer them in different ways.
@Suite("Paths through nil") struct NilPathTests {
  private static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Worker",
      properties: [
        .attribute("badge", .integer32), .attribute("rate", .double), .toOne("manager", "Worker", inverse: "reports"),
        .toMany("reports", "Worker", inverse: "manager"), .toMany("marks", "Mark", inverse: "worker"),
      ]),
    // No entity below it is concrete.
    EntityDescription(
      name: "Mark", isAbstract: true,
      properties: [.attribute("n", .integer32), .toOne("worker", "Worker", inverse: "marks")]),
  ])

  /// Six workers, two of them without a manager; one has a rate that is not a number.
  private static func workers(_ path: String) throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(description), registry: .builtIn)
    try coordinator.addPersistentStore(at: path)
    let context = ManagedObjectContext(coordinator)
    var all: [ManagedObject] = []
    for (number, manager) in [nil, 0, 0, nil, 3, 1].enumerated() {
      let worker = try context.insertNewObject(forEntityName: "Worker")
      try worker.setValue(number == 2 ? nil : number, forKey: "badge")
      try worker.setValue(number == 4 ? Double.nan : Double(number) / 2, forKey: "rate")
      try worker.setValue(manager.map { all[$0] }, forKey: "manager")
      all.append(worker)
    }
    try context.save()
    context.reset()
    return context
  }

  private static func badges(_ context: ManagedObjectContext, _ format: String) throws -> [Int?] {
    try context.fetch(
      FetchRequest<ManagedObject>(entityName: "Worker", predicate: try FetchPredicate(format: format))
    ).map { $0["badge"] as? Int }.sorted { ($0 ?? -1) < ($1 ?? -1) }
  }

  private static let comparisons = [
    "> 0", "!= 3", "== 3", "!= nil", "== nil", "IN {1, 2}", "IN {nil, 4}", "BETWEEN {1, 2}", "<= 5", "< 1",
  ]

  @Test(
    "where a path goes through nil, ALL is true and ANY is false, in columns, in SQL and on objects",
    arguments: ["w.plist", "w.sqlgraph"], comparisons)
  func nilBeforeToMany(_ name: String, _ comparison: String) throws {
    let folder = try TemporaryDirectory("nil-path")
    let context = try Self.workers(folder.path + "/" + name)
    // Whom the predicate concerns: those who have a manager, and all colleagues under that manager.
    for path in ["manager.reports.badge", "manager.manager.reports.badge"] {
      let without = try Self.badges(context, "\(path.split(separator: ".").dropLast(2).joined(separator: ".")) == nil")
      #expect(!without.isEmpty)
      for modifier in ["ALL", "ANY", "NONE"] {
        let format = "\(modifier) \(path) \(comparison)"
        let found = try Self.badges(context, format)
        // A closure has to be evaluated on objects, and so has the whole predicate with it.
        #expect(try Self.badges(context, "\(format) AND lowercase:('A') == 'a'") == found, "\(format)")
        #expect(without.allSatisfy { found.contains($0) == (modifier != "ANY") }, "\(format): \(found)")
        let others = try Self.badges(context, "NOT \(format)")
        #expect(found.count + others.count == 6, "\(format)")
      }
    }
  }

  @Test(
    "an abstract entity that nothing concrete is below can be asked anything", arguments: ["w.plist", "w.sqlgraph"])
  func nothingConcrete(_ name: String) throws {
    let folder = try TemporaryDirectory("nothing-concrete")
    let context = try Self.workers(folder.path + "/" + name)
    for format in ["n == 1", "n IN {1, 2} OR worker.badge > 3", "ANY worker.reports.badge == 1", "worker == nil"] {
      let request = FetchRequest<ManagedObject>(entityName: "Mark", predicate: try FetchPredicate(format: format))
      #expect(try context.fetch(request).isEmpty, "\(format)")
      #expect(try context.count(for: request) == 0, "\(format)")
    }
    #expect(try Self.badges(context, "ANY marks.n == 1").isEmpty)
    #expect(try Self.badges(context, "ALL marks.n == 1").count == 6)
    #expect(try Self.badges(context, "marks.@count == 0").count == 6)
  }

  @Test(
    "for the least and the greatest, not-a-number comes before all other numbers", arguments: ["w.plist", "w.sqlgraph"])
  func extremesOfNotANumber(_ name: String) throws {
    let folder = try TemporaryDirectory("not-a-number")
    let context = try Self.workers(folder.path + "/" + name)
    // Only the manager with badge 3 has a report whose rate is not a number, and no other one.
    #expect(try Self.badges(context, "reports.@max.rate >= 0") == [0, 1])
    #expect(try Self.badges(context, "max:({rate, 0}) == 0") == [0, 4])
    #expect(try Self.badges(context, "min:({rate, 0}) == 0").count == 5)
    var request = FetchRequest<ManagedObject>(entityName: "Worker")
    request.propertiesToFetch = [
      try FetchColumn(format: "min:(rate)", as: "least"), try FetchColumn(format: "max:(rate)", as: "greatest"),
    ]
    let row = try #require(try context.fetchRows(request).first)
    #expect((row["least"] as? Double)?.isNaN == true && row["greatest"] as? Double == 2.5)
  }
}

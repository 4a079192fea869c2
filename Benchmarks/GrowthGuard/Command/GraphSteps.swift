import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

/// The work of a program on an object graph: each step with as many objects as the size says.
struct GraphSteps {
  private let steps: Steps
  private let count: Int
  private let place: String

  init(_ steps: Steps, _ count: Int, _ place: String) {
    self.steps = steps
    self.count = count
    self.place = place
  }

  private static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Person",
      properties: [
        .attribute("name", .string), .attribute("age", .integer64),
        .toOne("team", "Team", inverse: "people"),
        .toMany("tasks", "Task", inverse: "people"),
      ]),
    EntityDescription(
      name: "Team",
      properties: [
        .attribute("name", .string),
        .toMany("people", "Person", inverse: "team", deleteRule: .cascade),
        .toMany("plan", "Task", inverse: "team", isOrdered: true),
      ]),
    EntityDescription(
      name: "Task",
      properties: [
        .attribute("number", .integer64),
        .toMany("people", "Person", inverse: "tasks"),
        .toOne("team", "Team", inverse: "plan"),
      ], uniquenessConstraints: [["number"]]),
  ])

  private func open(_ name: String, type: String = "BinaryPropertyList") throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(Self.model), registry: .builtIn)
    try coordinator.addPersistentStore(type: type, at: "\(place)-\(name).store")
    return ManagedObjectContext(coordinator)
  }

  /// Three teams, whose lists grow with the store; everyone has three tasks.
  private func fill(_ context: ManagedObjectContext) throws {
    let teams = try (0..<3).map { _ in try context.insertNewObject(forEntityName: "Team") }
    let tasks = try (0..<count).map { number in
      let task = try context.insertNewObject(forEntityName: "Task")
      try task.setValue(number, forKey: "number")
      return task
    }
    try teams[0].setValue(tasks, forKey: "plan")
    for number in 0..<count {
      let person = try context.insertNewObject(forEntityName: "Person")
      try person.setValue("Person \(number * 7919 % count)", forKey: "name")
      try person.setValue(number, forKey: "age")
      try person.setValue(teams[number % 3], forKey: "team")
      try person.setValue(Set([1, 5, 7].map { tasks[(number * $0 + $0) % count] }), forKey: "tasks")
    }
  }

  private func people(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Person", sortKeys: [SortKey("age")]))
  }

  func run() throws {
    let context = try open("main")
    try steps.count("insert") { try fill(context) }
    try steps.count("save what was inserted") { try context.save() }
    let all = try steps.count("fetch and read") {
      let all = try people(context)
      for person in all { _ = person["name"] }
      return all
    }
    steps.count("traverse") {
      for person in all { _ = (person["team"] as? ManagedObject)?["name"] }
    }
    try steps.count("change all and save") {
      for person in all { try person.setValue(-1, forKey: "age") }
      try context.save()
    }
    try steps.count("change one and save") {
      try all[0].setValue(1, forKey: "age")
      try context.save()
    }
    try moves(context)
    try undo(context)
    try findOrCreate()
    try contexts(context)
    try liveResults(context)
    try deletions(context)
    try batches()
    try databases()
  }

  /// As many moves in an ordered relationship as it has members.
  private func moves(_ context: ManagedObjectContext) throws {
    let request = FetchRequest<ManagedObject>(entityName: "Task", sortKeys: [SortKey("number")])
    let tasks = try context.fetch(request)
    guard let team = tasks.first?["team"] as? ManagedObject else { throw GuardFailure("the tasks have no team") }
    try steps.count("move in an ordered relationship") {
      for (number, task) in tasks.enumerated() { try team.move(task, in: "plan", to: number * 37 % count) }
    }
    try steps.count("save the moves") { try context.save() }
  }

  private func undo(_ context: ManagedObjectContext) throws {
    let all = try people(context)
    let history = UndoHistory()
    context.undoManager = history
    try steps.count("change with undo, undo, redo") {
      for person in all {
        try person.setValue("another name", forKey: "name")
        context.processPendingChanges()
      }
      history.undo()
      history.redo()
    }
    context.undoManager = nil
    try context.save()
  }

  private func findOrCreate() throws {
    for name in ["find or create, all new", "find or create, all there"] {
      let context = try open("keys")
      var request = FetchRequest<ManagedObject>(entityName: "Task")
      request.fetchLimit = 1
      try steps.count(name) {
        for number in 0..<count {
          request.predicate = try FetchPredicate(format: "number == %@", number)
          if try context.fetch(request).first == nil {
            try context.insertNewObject(forEntityName: "Task").setValue(number, forKey: "number")
          }
        }
        try context.save()
      }
    }
  }

  private func contexts(_ parent: ManagedObjectContext) throws {
    let child = ManagedObjectContext(parent: parent)
    try steps.count("change and insert in a child, save both") {
      for person in try people(child) { try person.setValue("of the child", forKey: "name") }
      for number in 0..<count {
        try child.insertNewObject(forEntityName: "Person").setValue(number, forKey: "age")
      }
      try child.save()
      try parent.save()
    }
    let other = ManagedObjectContext(parent.persistentStoreCoordinator)
    let held = try people(other)
    try steps.count("save, and refresh another context") {
      for person in try people(parent) { try person.setValue("changed", forKey: "name") }
      try parent.save()
      other.refreshAllObjects()
      for person in held { _ = person["name"] }
    }
  }

  private func batches() throws {
    let context = try open("batches")
    try steps.count("batch insert") {
      var number = 0
      _ = try context.execute(
        BatchInsertRequest(entityName: "Person") { row in
          if number == count { return true }
          row["age"] = number
          number += 1
          return false
        })
    }
    try steps.count("batch update") {
      _ = try context.execute(
        BatchUpdateRequest(
          entityName: "Person", predicate: try FetchPredicate(format: "age >= 0"),
          propertiesToUpdate: ["age": try FetchExpression(format: "age + 1")]))
    }
    try steps.count("batch delete") {
      _ = try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest(entityName: "Person")))
    }
  }

  /// A save of one change does not depend on how many objects the context holds.
  private func databases() throws {
    let context = try open("database", type: "SQLiteGraph")
    try fill(context)
    try context.save()
    let all = try people(context)
    for person in all { _ = person["name"] }
    try steps.count("change each tenth alone in a database, all held, and save") {
      for person in all where (person["age"] as? Int ?? 0) % 10 == 0 {
        try person.setValue("changed", forKey: "name")
        try context.save()
      }
    }
    withExtendedLifetime(all) {}
  }

  private func deletions(_ context: ManagedObjectContext) throws {
    let all = try people(context)
    try steps.count("delete half and save") {
      for (number, person) in all.enumerated() where number % 2 == 0 { context.delete(person) }
      try context.save()
    }
    try steps.count("delete the teams, which cascades, and save") {
      for team in try context.fetch(FetchRequest<ManagedObject>(entityName: "Team")) { context.delete(team) }
      try context.save()
    }
  }

  /// Results that follow one event with changes to all objects.
  private func liveResults(_ context: ManagedObjectContext) throws {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "Person", sortKeys: [SortKey("name"), SortKey("age")]),
      managedObjectContext: context, sectionNameKeyPath: nil)
    try controller.performFetch()
    var reported = 0
    controller.didChangeContent = { _ in reported += 1 }
    try steps.count("live results, all changed at once") {
      for person in controller.fetchedObjects ?? [] {
        try person.setValue("Someone else \((person["age"] as? Int ?? 0) * 31 % count)", forKey: "name")
      }
      context.processPendingChanges()
    }
    guard reported > 0 else { throw GuardFailure("the results did not follow") }
  }

  /// Linear work with a mistake: each object is searched for among those before it. The guard must find it.
  func runPlanted() throws {
    let context = try open("planted")
    try fill(context)
    try context.save()
    let all = try people(context)
    try steps.count("a planted search among all before") {
      var seen: [Int] = []
      for person in all {
        let number = person["age"] as? Int ?? 0
        if !seen.contains(number) { seen.append(number) }
        try person.setValue(number + 1, forKey: "age")
      }
      try context.save()
    }
  }
}

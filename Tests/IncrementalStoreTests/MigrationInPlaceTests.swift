import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import StoreMigration
import Synchronization
import TestSupport
import Testing

/// Databases that are migrated where they are.
@Suite struct MigrationInPlaceTests {
  static let kinds = ["sqlgraph"] + (TestServer.url == nil ? [] : ["postgresql"])

  private static func place(_ kind: String, _ folder: TemporaryDirectory, _ test: String) -> String {
    kind == "sqlgraph" ? folder.path + "/store.sqlgraph" : TestServer.schema("migration_\(test)")
  }

  /// The graph's model with an entity more, which changes the numbers of all others, and other properties.
  private static func next() throws -> ManagedObjectModel {
    var description = ItemGraph.description
    description.entities.insert(
      EntityDescription(name: "Archive", properties: [.attribute("title", .string)]), at: 0)
    for index in description.entities.indices {
      switch description.entities[index].name {
      case "Owner":
        description.entities[index].properties.removeAll { $0.name == "rank" }
        description.entities[index].properties.append(
          .attribute("level", .integer64, isOptional: false, defaultValue: .integer(5)))
      case "Tag":
        description.entities[index].properties.removeAll { $0.name == "name" }
        description.entities[index].properties.append(.attribute("title", .string, renamingIdentifier: "name"))
      default: break
      }
    }
    return try ManagedObjectModel(description)
  }

  /// Everything in a store, as another program reads it.
  private static func content(_ place: String) throws -> StoreSnapshot {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: place, isReadOnly: true)
    defer { try? coordinator.remove(store) }
    return StoreSnapshot(nodes: try store.nodesWithDeferredValues(), metadata: store.metadata)
  }

  private static func differences(_ one: StoreSnapshot, _ other: StoreSnapshot) -> [GraphDifference] {
    GraphComparison.differences(one, other, options: .init(comparesModel: true, limit: 5)) { _ in true }
  }

  @Test(
    "a migrated database has what the migrated property list of the same graph has", arguments: kinds,
    [1, 2, 3] as [UInt64])
  func sameAsFile(_ kind: String, _ seed: UInt64) throws {
    let folder = try TemporaryDirectory("migration-in-place")
    let place = Self.place(kind, folder, "same\(seed)")
    let pair = try GraphPair(seed: seed, count: 60, target: place)
    for store in pair.incremental.persistentStores { try pair.incremental.remove(store) }
    var plan = MigrationPlan([.inferred(to: try Self.next())])
    let before = try Self.content(place)
    // Ranks would be lost: nothing is changed without permission.
    #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator.migrateStore(at: place, by: plan, registry: .builtIn)
    }
    #expect(Self.differences(before, try Self.content(place)).isEmpty)
    plan.allowsLoss = true
    for path in [pair.propertyPath, place] {
      let steps = try PersistentStoreCoordinator.migrateStore(at: path, by: plan, registry: .builtIn)
      #expect(steps.count == 1)
    }
    let (file, database) = (try Self.content(pair.propertyPath), try Self.content(place))
    #expect(file.nodes.model.entity(named: "Archive") != nil)
    #expect(Self.differences(file, database).isEmpty)
    #expect(database.metadata.uuid == before.metadata.uuid)
    // It is at the last model now.
    #expect(try PersistentStoreCoordinator.migrateStore(at: place, by: plan, registry: .builtIn).isEmpty)
    // And goes on: references are not used again.
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.next(), registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: place, migration: plan)
    let context = ManagedObjectContext(coordinator)
    let owner = try context.insertNewObject(forEntityName: "Owner")
    #expect(owner["level"] as? Int == 5)
    try context.save()
    let reference = try #require(owner.objectID.reference)
    #expect(reference > .integer(before.nodes.greatestIntegerReference))
    try coordinator.remove(store)
  }

  // MARK: Programs of the previous version

  private static func counters(_ names: String...) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(
        entities: (names.count > 1 ? [EntityDescription(name: "Aaa", properties: [.attribute("x", .string)])] : [])
          + [EntityDescription(name: "Counter", properties: names.map { .attribute($0, .integer64) })]))
  }

  /// A program that made a store with one object, and has it open.
  private static func openWithCounter(
    _ place: String
  ) throws -> (PersistentStoreCoordinator, ManagedObjectContext, ManagedObject) {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try counters("value"), registry: .builtIn)
    try coordinator.addPersistentStore(at: place)
    let context = ManagedObjectContext(coordinator)
    let counter = try context.insertNewObject(forEntityName: "Counter")
    try counter.setValue(1, forKey: "value")
    try context.save()
    return (coordinator, context, counter)
  }

  @Test("what cannot be inferred is refused by name, and nothing is changed", arguments: kinds)
  func refused(_ kind: String) throws {
    let folder = try TemporaryDirectory("migration-in-place")
    let place = Self.place(kind, folder, "refused")
    let (coordinator, context, counter) = try Self.openWithCounter(place)
    let broken = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Counter",
          properties: [.attribute("value", .integer64), .attribute("must", .string, isOptional: false)])
      ]))
    let error = try #require(throws: MigrationError.self) {
      try PersistentStoreCoordinator.migrateStore(
        at: place, by: MigrationPlan([.inferred(to: broken)]), registry: .builtIn)
    }
    #expect(error.obstacles.map(\.propertyName) == ["must"])
    // Who has it open goes on.
    try counter.setValue(2, forKey: "value")
    try context.save()
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    #expect(try Self.content(place).nodes.count == 1)
  }

  @Test(
    "a program that has the previous model cannot save after the migration, and gets an error that says to open the store again",
    arguments: kinds)
  func previousVersion(_ kind: String) throws {
    let folder = try TemporaryDirectory("migration-in-place")
    let place = Self.place(kind, folder, "previous")
    let (coordinator, context, counter) = try Self.openWithCounter(place)
    let plan = MigrationPlan([.inferred(to: try Self.counters("value", "other"))])
    #expect(try PersistentStoreCoordinator.migrateStore(at: place, by: plan, registry: .builtIn).count == 1)
    try counter.setValue(2, forKey: "value")
    let error = try #require(throws: ManagedObjectError.self) { try context.save() }
    let underlying = error.underlying as? PersistentStoreError
    #expect(underlying?.code == .unavailable && underlying?.message.contains("open it again") ?? false)
    // Numbers of entities are others now: nothing is read by the previous ones.
    let reader = ManagedObjectContext(coordinator)
    #expect(throws: (any Error).self) { try reader.fetch(FetchRequest<ManagedObject>(entityName: "Counter")) }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    let nodes = try Self.content(place).nodes
    let node = try #require(nodes.handles(ofEntity: "Counter").first)
    #expect(nodes.value(forKey: "value", of: node) == .integer(1))
  }

  /// What threads report.
  private final class Notes: Sendable {
    let saved = Mutex<[Int]>([])
    let failures = Mutex<[String]>([])
    let migrated = Mutex(false)
  }

  @Test("saves of programs with the previous model come wholly before a migration, or are refused", arguments: kinds)
  func concurrent(_ kind: String) throws {
    let folder = try TemporaryDirectory("migration-in-place")
    let place = Self.place(kind, folder, "concurrent")
    let first = PersistentStoreCoordinator(managedObjectModel: try Self.counters("value"), registry: .builtIn)
    let made = try first.addPersistentStore(at: place)
    let context = ManagedObjectContext(first)
    for _ in 0..<300 { try context.insertNewObject(forEntityName: "Counter").setValue(0, forKey: "value") }
    try context.save()
    try first.remove(made)
    let notes = Notes()
    let threads = (0..<3).map { number in
      Thread {
        do {
          guard number < 2 else {
            Thread.sleep(forTimeInterval: 0.05)
            let plan = MigrationPlan([.inferred(to: try Self.counters("value", "other"))])
            try PersistentStoreCoordinator.migrateStore(at: place, by: plan, registry: .builtIn)
            notes.migrated.withLock { $0 = true }
            return
          }
          var count = 0
          defer { notes.saved.withLock { $0.append(count) } }
          let coordinator = PersistentStoreCoordinator(
            managedObjectModel: try Self.counters("value"), registry: .builtIn)
          let store = try coordinator.addPersistentStore(at: place)
          defer { try? coordinator.remove(store) }
          let context = ManagedObjectContext(coordinator)
          for _ in 0..<10_000 where notes.failures.withLock({ $0.isEmpty }) {
            try context.insertNewObject(forEntityName: "Counter").setValue(number + 1, forKey: "value")
            do { try context.save() } catch {
              guard let error = (error as? ManagedObjectError)?.underlying as? PersistentStoreError,
                error.code == .unavailable
              else { throw error }
              return
            }
            count += 1
          }
          notes.failures.withLock { $0.append("the migration never came") }
        } catch {
          notes.failures.withLock { $0.append("\(number): \(error)") }
        }
      }
    }
    for thread in threads { thread.start() }
    while !threads.allSatisfy(\.isFinished) { Thread.sleep(forTimeInterval: 0.01) }
    #expect(notes.failures.withLock { $0 } == [])
    #expect(notes.migrated.withLock { $0 })
    let nodes = try Self.content(place).nodes
    #expect(nodes.handles(ofEntity: "Counter").count == 300 + notes.saved.withLock { $0.reduce(0, +) })
    let fresh = try #require(nodes.model.entity(named: "Counter"))
    #expect(fresh.slot(named: "other") != nil)
  }
}

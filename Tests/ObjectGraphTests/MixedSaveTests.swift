import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Synchronization
import Testing

@Suite("Saves over several stores") struct MixedSaveTests {
  static let model = ModelDescription(
    entities: [
      EntityDescription(name: "Employee", properties: [.attribute("name", .string)]),
      EntityDescription(name: "Customer", properties: [.attribute("name", .string)]),
    ],
    configurations: [
      ConfigurationDescription(name: "staff", entityNames: ["Employee"]),
      ConfigurationDescription(name: "trade", entityNames: ["Customer"]),
    ])

  func open(_ folder: TestFolder) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(Self.model), registry: .builtIn)
    try coordinator.addPersistentStore(type: "XML", configurationName: "staff", at: folder.file("staff.xml"))
    try coordinator.addPersistentStore(
      type: "BinaryPropertyList", configurationName: "trade", at: folder.file("trade.plist"))
    return coordinator
  }

  func add(_ names: [String], _ coordinator: PersistentStoreCoordinator) throws {
    let context = ManagedObjectContext(coordinator)
    for name in names { try context.insertNewObject(forEntityName: name).setValue(name, forKey: "name") }
    try context.save()
  }

  @Test("a crash between two files leaves each complete, and opening both reports a mismatch")
  func mixed() throws {
    let folder = try TestFolder()
    do { try add(["Employee", "Customer"], try open(folder)) }
    try FileManager.default.copyItem(atPath: folder.file("trade.plist"), toPath: folder.file("before.plist"))
    do { try add(["Employee", "Customer"], try open(folder)) }
    #expect(try open(folder).mixedSaves.isEmpty)
    // As if the machine had stopped after the first of the two was put in place.
    try FileManager.default.removeItem(atPath: folder.file("trade.plist"))
    try FileManager.default.moveItem(atPath: folder.file("before.plist"), toPath: folder.file("trade.plist"))

    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(Self.model), registry: .builtIn)
    let told = Mutex<[MixedSave]>([])
    let observation = coordinator.observe { event in
      if case .foundMixedSave(let mixed) = event { told.withLock { $0.append(mixed) } }
    }
    try coordinator.addPersistentStore(type: "XML", configurationName: "staff", at: folder.file("staff.xml"))
    #expect(told.withLock { $0 }.isEmpty)
    try coordinator.addPersistentStore(
      type: "BinaryPropertyList", configurationName: "trade", at: folder.file("trade.plist"))
    let found = try #require(told.withLock { $0 }.first)
    #expect(found.newerPath == folder.file("staff.xml"))
    #expect(found.olderPath == folder.file("trade.plist"))
    #expect(coordinator.mixedSaves == [found])
    // Each is whole and usable, and the next common save brings them in step.
    let context = ManagedObjectContext(coordinator)
    #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Employee")).count == 2)
    #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Customer")).count == 1)
    try add(["Employee", "Customer"], coordinator)
    #expect(coordinator.mixedSaves.isEmpty)
    observation.cancel()
  }

  @Test("saving only one store does not cause a mismatch")
  func alone() throws {
    let folder = try TestFolder()
    try add(["Employee", "Customer"], try open(folder))
    try add(["Employee"], try open(folder))
    try add(["Customer"], try open(folder))
    #expect(try open(folder).mixedSaves.isEmpty)
  }
}

import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// External data that another program left in the directory whose name a new store needs.
@Suite("Whose external data a Core Data SQLite store replaces") struct CoreDataSQLiteOwnershipTests {
  private let folder: CoreDataSQLiteWritingTests.Scratch
  init() throws {
    folder = try CoreDataSQLiteWritingTests.Scratch()
    // As Core Data leaves it: without a UUID.
    let directory = path(".p_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try Data("precious".utf8).write(to: URL(filePath: directory + "/6E2B1C3A-0000-4000-8000-000000000001"))
  }
  private func path(_ name: String) -> String { folder.path + "/" + name }
  private var isKept: Bool {
    FileManager.default.fileExists(atPath: path(".p_SUPPORT/_EXTERNAL_DATA/6E2B1C3A-0000-4000-8000-000000000001"))
  }

  /// A store with one object.
  private func save(_ type: String, _ name: String, size: Int) throws {
    let photo = AttributeDescription(name: "photo", type: .binaryData, allowsExternalBinaryDataStorage: true)
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Person", properties: [.attribute(photo)])]))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    try coordinator.addPersistentStore(type: type, at: path(name))
    let context = ManagedObjectContext(coordinator)
    try context.insertNewObject(forEntityName: "Person").setValue(Data(repeating: 65, count: size), forKey: "photo")
    try context.save()
  }

  @Test("the first save of a new store replaces none: what is there is another store's")
  func newStore() throws {
    #expect(throws: (any Error).self) { try save("CoreDataSQLite", "p.sqlite", size: 200_000) }
    #expect(isKept && !FileManager.default.fileExists(atPath: path("p.sqlite")))
  }

  @Test("a store that is replaced has those of its name, unless another store may have them")
  func sameName() throws {
    try save("XML", "source.xml", size: 200_000)
    for name in ["p.sqlite", "p.db"] { try save("CoreDataSQLite", name, size: 10) }
    var converter = StoreConverter(registry: .builtIn)
    converter.replacesTarget = true
    converter.targetType = "CoreDataSQLite"
    let error = #expect(throws: PersistentStoreError.self) {
      try converter.convert(from: path("source.xml"), to: path("p.db"))
    }
    #expect(error?.code == .alreadyExists && isKept, "\(String(describing: error))")
    try FileManager.default.removeItem(atPath: path("p.sqlite"))
    _ = try converter.convert(from: path("source.xml"), to: path("p.db"))
    #expect(!isKept)
  }
}

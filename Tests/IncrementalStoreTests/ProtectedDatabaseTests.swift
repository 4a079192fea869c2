import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

@Suite("Databases that no one may write") struct ProtectedDatabaseTests {
  @Test("a reader makes no files beside a protected database, whose permissions would bind later writers")
  func files() throws {
    let place = try StoreLifeTests.Place()
    do {
      let context = ManagedObjectContext(try place.open())
      try context.insertNewObject(forEntityName: "Person").setValue("Ada", forKey: "name")
      try context.save()
    }
    let folder = place.folder.path
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["life.sqlgraph"])
    #expect(chmod(place.path, 0o444) == 0)
    do {
      let coordinator = PersistentStoreCoordinator(registry: .builtIn)
      try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
      let context = ManagedObjectContext(coordinator)
      #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).count == 1)
      // While it is open.
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["life.sqlgraph"])
    }
    #expect(chmod(place.path, 0o644) == 0)
    let context = ManagedObjectContext(try place.open())
    try context.insertNewObject(forEntityName: "Person").setValue("Eve", forKey: "name")
    try context.save()
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")) == 2)
  }

  @Test("what others save to a database that was protected when it was opened is read")
  func followed() throws {
    let place = try StoreLifeTests.Place()
    func save(_ name: String, _ context: ManagedObjectContext) throws {
      try context.insertNewObject(forEntityName: "Person").setValue(name, forKey: "name")
      try context.save()
    }
    try save("Ada", ManagedObjectContext(place.open()))
    #expect(chmod(place.path, 0o444) == 0)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
    func names() throws -> [String] {
      let context = ManagedObjectContext(coordinator)
      return try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).compactMap {
        try $0.value(forKey: "name") as? String
      }.sorted()
    }
    #expect(try names() == ["Ada"])
    #expect(chmod(place.path, 0o644) == 0)
    do {
      let context = ManagedObjectContext(try place.open())
      try save("Bea", context)
      // It is in the log.
      #expect(try names() == ["Ada", "Bea"])
      try save("Cleo", context)
    }
    #expect(try names() == ["Ada", "Bea", "Cleo"])
  }

  @Test("a file that changed while no one had it open is read again")
  func replaced() throws {
    let place = try StoreLifeTests.Place()
    func save(_ name: String) throws {
      let context = ManagedObjectContext(try place.open())
      try context.insertNewObject(forEntityName: "Person").setValue(name, forKey: "name")
      try context.save()
    }
    try save("Ada")
    #expect(chmod(place.path, 0o444) == 0)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
    let request = FetchRequest<ManagedObject>(entityName: "Person")
    #expect(try ManagedObjectContext(coordinator).count(for: request) == 1)
    #expect(chmod(place.path, 0o644) == 0)
    try save("Bea")
    #expect(try ManagedObjectContext(coordinator).count(for: request) == 2)
  }

  @Test("what is read while a protected file changes is refused, also if it is enough, and read again afterwards")
  func changedMeanwhile() throws {
    let place = try StoreLifeTests.Place()
    func save(_ names: [String]) throws {
      let context = ManagedObjectContext(try place.open())
      for name in names { try context.insertNewObject(forEntityName: "Person").setValue(name, forKey: "name") }
      try context.save()
    }
    // A database answers smaller limits itself.
    try save((0..<1100).map { "person \($0)" })
    for limit in [0, 1001] {
      #expect(chmod(place.path, 0o444) == 0)
      let coordinator = PersistentStoreCoordinator(registry: .builtIn)
      try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
      let context = ManagedObjectContext(coordinator)
      var request = FetchRequest<ManagedObject>(entityName: "Person")
      request.propertiesToFetch = [FetchColumn("name", .keyPath(of: "name"))]
      let all = try context.fetchRows(request).count
      request.fetchLimit = limit
      #expect(chmod(place.path, 0o644) == 0)
      var isSaved = false
      #expect {
        try context.forEachPart(of: request, rowsAtOnce: 1000) { _ in
          if !isSaved { try save(["late \(limit)"]) }
          isSaved = true
        }
      } throws: { "\($0)".contains("changed while it was being read") }
      request.fetchLimit = 0
      #expect(try isSaved && context.fetchRows(request).count == all + 1)
    }
  }

  @Test("an empty log beside a protected database, which a full disk may leave, changes nothing")
  func emptyLog() throws {
    let place = try StoreLifeTests.Place()
    do {
      let context = ManagedObjectContext(try place.open())
      try context.insertNewObject(forEntityName: "Person").setValue("Ada", forKey: "name")
      try context.save()
    }
    #expect(FileManager.default.createFile(atPath: place.path + "-wal", contents: nil))
    #expect(chmod(place.path, 0o444) == 0)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
    let request = FetchRequest<ManagedObject>(entityName: "Person")
    #expect(try ManagedObjectContext(coordinator).count(for: request) == 1)
    let names = try FileManager.default.contentsOfDirectory(atPath: place.folder.path).sorted()
    #expect(names == ["life.sqlgraph", "life.sqlgraph-wal"])
  }

  @Test("what is beside a protected database is read with it, also through a link", arguments: [false, true])
  func log(_ isLink: Bool) throws {
    let place = try StoreLifeTests.Place()
    let context = ManagedObjectContext(try place.open())
    try context.insertNewObject(forEntityName: "Person").setValue("Ada", forKey: "name")
    try context.save()
    // While it is open, what was saved is in its log.
    let copy = try TemporaryDirectory("protected")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: place.path + suffix, toPath: copy.path + "/c.sqlgraph" + suffix)
    }
    #expect(chmod(copy.path + "/c.sqlgraph", 0o444) == 0)
    var path = copy.path + "/c.sqlgraph"
    if isLink {
      path = place.folder.path + "/link.sqlgraph"
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: copy.path + "/c.sqlgraph")
    }
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: path, isReadOnly: true)
    let request = FetchRequest<ManagedObject>(entityName: "Person")
    #expect(try ManagedObjectContext(coordinator).count(for: request) == 1)
  }
}

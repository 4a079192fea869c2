import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// What is saved can be opened again, and is what was saved.
@Suite("What is saved opens") struct SavedStoreTests {
  private final class Folder {
    let path = NSTemporaryDirectory() + "saved-\(UUID().uuidString)"
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func callAsFunction(_ name: String) -> String { path + "/" + name }
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
  }

  private static func registry() throws -> StoreRegistry {
    var registry = StoreRegistry.builtIn
    try registry.register(LateStore.self)
    return registry
  }

  private static let model = ModelDescription(
    entities: ["First", "Second"].map { name in
      EntityDescription(name: name, properties: [.attribute("text", .string), .attribute("data", .binaryData)])
    })

  private static func snapshot(_ word: String, sizes: [Int]) throws -> StoreSnapshot {
    let model = try ManagedObjectModel(model)
    var nodes = NodeTable(model: model)
    for (place, size) in sizes.enumerated() {
      for entity in model.entities {
        // Objects of two hierarchies have the same references.
        let node = try nodes.addCacheNode(entity: entity.index, reference: .integer(Int64(place + 1)))
        let text = "\(word) \(entity.name) \(place) "
        try nodes.setValue(.string(text + String(repeating: "x", count: size)), forKey: "text", of: node)
        try nodes.setValue(.data(Data(text.utf8) + Data(count: size)), forKey: "data", of: node)
      }
    }
    let metadata = StoreMetadata(
      storeType: "XML", uuid: UUID(), lastReference: Int64(sizes.count), model: self.model)
    return StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata)
  }

  private static func expectSame(_ store: PersistentStore, _ wanted: StoreSnapshot) throws {
    for entity in wanted.nodes.model.entities {
      for node in wanted.nodes.handles(of: entity.index) {
        let found = try #require(store.nodes.handle(for: wanted.nodes.objectReference(of: node)))
        for slot in entity.slots {
          let value = try store.value(slot: slot.index, of: found)
          #expect(value == wanted.nodes.value(slot: slot.index, of: node), "\(entity.name).\(slot.name)")
        }
      }
    }
  }

  @Test("a conversion compares values that are read late, with payloads of 4 KiB to 1 MiB, and two stores open at once")
  func deferred() throws {
    let folder = try Folder()
    let registry = try Self.registry()
    let model = try ManagedObjectModel(Self.model)
    let sizes = [10, 4 << 10, 5000, 64 << 10, 256 << 10, 1 << 20]
    let wanted = try ["one", "two"].map { try Self.snapshot($0, sizes: sizes) }
    for (number, snapshot) in wanted.enumerated() {
      var converter = StoreConverter(registry: registry)
      converter.targetType = "XML"
      _ = try converter.write(snapshot, to: folder("\(number).xml"))
      converter.targetType = "Late"
      converter.allowsLoss = true
      _ = try converter.convert(from: folder("\(number).xml"), to: folder("\(number).late"))
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
    let stores = try wanted.indices.map { try coordinator.addPersistentStore(at: folder("\($0).late")) }
    for number in [0, 1, 0] { try Self.expectSame(stores[number], wanted[number]) }
    // From there, too, and with what a save carries along.
    var changed = StoreChanges()
    var object = ManagedObjectSnapshot(entity: 0)
    object.values[0] = .string("new")
    changed.inserted = [object]
    coordinator.verifiesSaves = true
    try coordinator.save(stores[0], changes: changed)
    try Self.expectSame(stores[0], wanted[0])
    var converter = StoreConverter(registry: registry)
    converter.model = model
    converter.targetType = "BinaryPropertyList"
    _ = try converter.convert(from: folder("1.late"), to: folder("back.plist"))
    let back = PersistentStoreCoordinator(registry: registry)
    try Self.expectSame(try back.addPersistentStore(at: folder("back.plist")), wanted[1])
  }

  /// A value that the file has in a few bytes.
  private static func insert(_ size: Int, _ coordinator: PersistentStoreCoordinator, _ store: PersistentStore) throws {
    let context = ManagedObjectContext(coordinator)
    let object = try context.insertNewObject(forEntityName: "First")
    try object.setValue(String(repeating: "x", count: size), forKey: "text")
    try context.save()
  }

  @Test("a format that compresses can be saved as far as its reader says what it reads, and no further")
  func compressed() throws {
    let folder = try Folder()
    let registry = try Self.registry()
    let model = try ManagedObjectModel(Self.model)
    func open() throws -> (PersistentStoreCoordinator, PersistentStore) {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
      return (coordinator, try coordinator.addPersistentStore(type: "Late", at: folder("a.late")))
    }
    try LateStore.$defersValues.withValue(false) {
      let (coordinator, store) = try open()
      try Self.insert(10, coordinator, store)
      let before = FileManager.default.contents(atPath: folder("a.late"))
      try LateStore.$saysSize.withValue(false) {
        let error = #expect(throws: ManagedObjectError.self) { try Self.insert(40 << 20, coordinator, store) }
        #expect("\(String(describing: error))".contains("'maximumMemory'"), "\(String(describing: error))")
        #expect(FileManager.default.contents(atPath: folder("a.late")) == before && folder.names == ["a.late"])
        var converter = StoreConverter(registry: registry)
        converter.targetType = "Late"
        converter.allowsLoss = true
        var large = try Self.snapshot("", sizes: [0])
        try large.nodes.setValue(
          .string(String(repeating: "x", count: 40 << 20)), forKey: "text", of: NodeHandle(entity: 0, row: 0))
        let refused = #expect(throws: PersistentStoreError.self) {
          _ = try converter.write(large, to: folder("b.late"))
        }
        #expect(refused?.code == .limitExceeded && refused?.message.contains("'maximumMemory'") == true)
        #expect(folder.names == ["a.late"])
      }
      try Self.insert(40 << 20, coordinator, store)
      try coordinator.remove(store)
      let (_, again) = try open()
      #expect(again.nodes.count == 2)
    }
  }

  @Test(
    "a store that was opened with a limit is saved up to it", arguments: ["XML", "BinaryPropertyList", "CSV", "Arrow"])
  func ownLimits(_ type: String) throws {
    let folder = try Folder()
    let model = try ManagedObjectModel(Self.model)
    let path = folder("store")
    for (option, limit) in [("maximumMemory", 100_000), ("maximumObjects", 3), ("maximumValueBytes", 90_000)] {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      let store = try coordinator.addPersistentStore(type: type, at: path)
      try Self.insert(10, coordinator, store)
      try coordinator.remove(store)
      let limited = try coordinator.addPersistentStore(type: type, at: path, options: [option: "\(limit)"])
      try Self.insert(20, coordinator, limited)
      let count = limited.nodes.count
      // Texts of a property list stay in the mapped file, and so take no memory.
      if type == "BinaryPropertyList", option == "maximumMemory" {
        for _ in 0..<4 { try Self.insert(95_000, coordinator, limited) }
      } else {
        let error = #expect(throws: ManagedObjectError.self) {
          for _ in 0..<4 { try Self.insert(95_000, coordinator, limited) }
        }
        #expect("\(String(describing: error))".contains(option), "\(String(describing: error))")
      }
      #expect(limited.nodes.count >= count)
      try coordinator.remove(limited)
      let again = try coordinator.addPersistentStore(type: type, at: path, options: [option: "\(limit)"])
      try coordinator.remove(again)
      try FileManager.default.removeItem(atPath: path)
    }
  }

  @Test("texts that a file has once and objects share are saved up to what a reader takes")
  func shared() throws {
    let folder = try Folder()
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Any", properties: [.attribute("value", .undefined)])]))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: "BinaryPropertyList", at: folder("a.plist"))
    let text = String(repeating: "x", count: 300_000)
    func save(_ count: Int) throws {
      let context = ManagedObjectContext(coordinator)
      for _ in 0..<count { try context.insertNewObject(forEntityName: "Any").setValue(text, forKey: "value") }
      try context.save()
    }
    try save(10)
    let error = #expect(throws: ManagedObjectError.self) { try save(200) }
    #expect("\(String(describing: error))".contains("Any.columns.value.values refers to the same objects so often"))
    try coordinator.remove(store)
    let again = try coordinator.addPersistentStore(at: folder("a.plist"))
    #expect(again.nodes.count == 10)
  }

  @Test(
    "a store of many attributes of which few are set is converted to each type and opened",
    arguments: ["XML", "BinaryPropertyList", "CSV", "CoreDataSQLite", "CoreDataBinary", "Arrow", "SQLiteGraph"])
  func sparse(_ type: String) throws {
    let folder = try Folder()
    let types: [AttributeType] = [.string, .integer64, .double, .boolean]
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Row", properties: (0..<400).map { .attribute("a\($0)", types[$0 % 4]) } + [.toOne("next", "Row")])
      ]))
    let nodes = NodeTableBuilder(model: model)
    let rows = 3000
    let entity = model.entities[0]
    let places = (0..<400).compactMap { entity.slot(named: "a\($0)") }
    let slots = entity.slots
    for row in 0..<rows {
      try nodes.beginNode(entity: 0, reference: Int64(row + 1))
      for offset in 0..<3 {
        let slot = places[(row * 7 + offset * 101) % 400]
        switch slots[slot].attributeType {
        case .string: try nodes.set(.string("text \(row)"), slot: slot)
        case .integer64: try nodes.set(integer: Int64(row), slot: slot)
        case .double: try nodes.set(double: Double(row) / 3, slot: slot)
        default: try nodes.set(boolean: row % 2 == 0, slot: slot)
        }
      }
      if row % 200 == 1 {
        try nodes.set(toOne: Int64(row), slot: try #require(entity.slot(named: "next")))
      }
    }
    let wanted = StoreSnapshot(
      nodes: try nodes.finish(),
      metadata: StoreMetadata(storeType: "XML", uuid: UUID(), lastReference: Int64(rows), model: model.description))
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = type
    _ = try converter.write(wanted, to: folder("a"))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
    let store = try coordinator.addPersistentStore(type: type, at: folder("a"))
    let context = ManagedObjectContext(coordinator)
    var request = FetchRequest<ManagedObject>(entityName: "Row")
    #expect(try context.count(for: request) == rows)
    for slot in ["a0", "a1", "a2", "a3"] {
      request.predicate = try FetchPredicate(format: "\(slot) == nil")
      let index = try #require(model.entities[0].slot(named: slot))
      let none = (0..<rows).count { wanted.nodes.value(slot: index, of: NodeHandle(entity: 0, row: $0)) == .null }
      #expect(none > rows * 9 / 10)
      #expect(try context.count(for: request) == none)
    }
    request.predicate = try FetchPredicate(format: "a1 > 100 AND a1 < 2000")
    let one = try #require(model.entities[0].slot(named: "a1"))
    let between = (0..<rows).count {
      if case .integer(let number) = wanted.nodes.value(slot: one, of: NodeHandle(entity: 0, row: $0)) {
        number > 100 && number < 2000
      } else {
        false
      }
    }
    #expect(try context.count(for: request) == between && between > 0)
    guard store.nodes.count > 0 else { return }
    for row in stride(from: 0, to: rows, by: 17) {
      let reference = wanted.nodes.objectReference(of: NodeHandle(entity: 0, row: row))
      let found = try #require(store.nodes.handle(for: reference))
      // One expectation for a row: hundreds of thousands of them would take most of the test.
      let wrong = try slots.filter { slot in
        try store.value(slot: slot.index, of: found)
          != wanted.nodes.value(slot: slot.index, of: NodeHandle(entity: 0, row: row))
      }
      #expect(wrong.isEmpty, "row \(row): \(wrong.map(\.name))")
    }
  }
}

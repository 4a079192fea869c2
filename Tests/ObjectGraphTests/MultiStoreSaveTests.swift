import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Synchronization
import Testing

/// A built-in format that fails to save when told to.
private struct FailingStore: AtomicStore {
  @TaskLocal static var fails = false
  static let storeType = "Failing"
  static let traits = StoreTraits(summary: "A property list that fails, for tests", fileExtensions: ["failing"])
  static let innerType = "BinaryPropertyList"

  private var inner: any AtomicStore

  static func recognize(_ probe: StoreProbe) -> Recognition { .no }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    inner = try StoreRegistry.builtIn.storeType(named: Self.innerType).init(configuration)
  }
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var metadata = try inner.metadata(in: source)
    metadata.storeType = Self.storeType
    return metadata
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    try inner.load(source, into: nodes)
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    if Self.fails { throw PersistentStoreError(.unsupportedByFormat, "asked to fail") }
    var metadata = snapshot.metadata
    metadata.storeType = Self.innerType
    try inner.save(StoreSnapshot(nodes: snapshot.nodes, metadata: metadata), to: staged)
  }
}

@Suite("Several stores behind one coordinator") struct MultiStoreSaveTests {
  static func named(_ name: String) -> EntityDescription {
    EntityDescription(name: name, properties: [.attribute("name", .string)])
  }

  /// Employees in one configuration, customers in the other, notes in both.
  static let description = ModelDescription(
    entities: [named("Employee"), named("Customer"), named("Note")],
    configurations: [
      ConfigurationDescription(name: "staff", entityNames: ["Employee", "Note"]),
      ConfigurationDescription(name: "trade", entityNames: ["Customer", "Note"]),
    ])

  struct Two {
    let folder: TestFolder
    let coordinator: PersistentStoreCoordinator
    let staff: PersistentStore
    let trade: PersistentStore
    let context: ManagedObjectContext

    init(_ folder: TestFolder? = nil, readOnly: Bool = false) throws {
      self.folder = try folder ?? TestFolder()
      coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(MultiStoreSaveTests.description), registry: .builtIn)
      staff = try coordinator.addPersistentStore(
        type: "XML", configurationName: "staff", at: self.folder.file("staff.xml"), isReadOnly: readOnly)
      trade = try coordinator.addPersistentStore(
        type: "BinaryPropertyList", configurationName: "trade", at: self.folder.file("trade.plist"))
      context = ManagedObjectContext(coordinator)
    }

    @discardableResult func insert(_ entity: String, _ name: String) throws -> ManagedObject {
      let object = try context.insertNewObject(forEntityName: entity)
      try object.setValue(name, forKey: "name")
      return object
    }

    func failure() -> ManagedObjectError? {
      do throws(ManagedObjectError) { try context.save() } catch { return error }
      return nil
    }

    func bytes(_ store: PersistentStore) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: store.path)) }

    func count(_ store: PersistentStore, _ entity: String) -> Int {
      store.model.entity(named: entity).map { store.nodes.count(of: $0.index) } ?? -1
    }
  }

  @Test("new objects are saved in the store whose configuration has their entity, and are fetched from there")
  func route() throws {
    let two = try Two()
    let ada = try two.insert("Employee", "Ada")
    let shop = try two.insert("Customer", "Shop")
    try two.context.save()
    #expect(two.count(two.staff, "Employee") == 1)
    #expect(two.count(two.staff, "Customer") == 0)
    #expect(two.count(two.trade, "Customer") == 1)
    #expect(two.staff.node(for: ada.objectID) != nil)
    #expect(two.trade.node(for: shop.objectID) != nil)
    #expect(two.trade.node(for: ada.objectID) == nil)
    #expect(try two.context.fetch(FetchRequest<ManagedObject>(entityName: "Customer")) == [shop])
  }

  @Test("an object that several stores accept is refused, with the candidates, until it is assigned")
  func ambiguous() throws {
    let two = try Two()
    let note = try two.insert("Note", "n")
    let error = try #require(two.failure())
    #expect(error.code == .storeAssignment)
    #expect(error.description.contains(two.staff.path))
    #expect(error.description.contains(two.trade.path))
    #expect(two.context.insertedObjects == [note])
    try two.context.assign(note, to: two.trade)
    #expect(two.failure() == nil)
    #expect(two.count(two.trade, "Note") == 1)
    #expect(two.count(two.staff, "Note") == 0)
    // Once saved, it stays where it is.
    let late = #expect(throws: ManagedObjectError.self) { try two.context.assign(note, to: two.staff) }
    #expect(late?.code == .storeAssignment)
  }

  @Test("an object is not assigned to a store whose configuration does not have its entity")
  func wrongStore() throws {
    let two = try Two()
    let ada = try two.insert("Employee", "Ada")
    let error = #expect(throws: ManagedObjectError.self) { try two.context.assign(ada, to: two.trade) }
    #expect(error?.code == .storeAssignment)
    #expect(two.failure() == nil)
    #expect(two.count(two.staff, "Employee") == 1)
  }

  @Test("if the second of two files cannot be written, both files, all nodes and the context are as before")
  func secondFails() throws {
    let folder = try TestFolder()
    var registry = StoreRegistry.builtIn
    try registry.register(FailingStore.self)
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(Self.description), registry: registry)
    let staff = try coordinator.addPersistentStore(
      type: "XML", configurationName: "staff", at: folder.file("staff.xml"))
    let trade = try coordinator.addPersistentStore(
      type: "Failing", configurationName: "trade", at: folder.file("trade.failing"))
    let context = ManagedObjectContext(coordinator)
    func insert(_ entity: String) throws -> ManagedObject {
      let object = try context.insertNewObject(forEntityName: entity)
      try object.setValue("old", forKey: "name")
      return object
    }
    func bytes(_ store: PersistentStore) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: store.path)) }
    func count(_ store: PersistentStore, _ entity: String) -> Int {
      store.model.entity(named: entity).map { store.nodes.count(of: $0.index) } ?? -1
    }
    let ada = try insert("Employee")
    _ = try insert("Customer")
    try context.save()
    let before = [try bytes(staff), try bytes(trade)]
    try ada.setValue("new", forKey: "name")
    let bob = try insert("Employee")
    let shop = try insert("Customer")

    let error = FailingStore.$fails.withValue(true) { () -> ManagedObjectError? in
      do throws(ManagedObjectError) { try context.save() } catch { return error }
      return nil
    }
    #expect(error?.code == .persistentStoreSave)
    #expect((error?.underlying as? PersistentStoreError)?.code == .unsupportedByFormat)
    #expect([try bytes(staff), try bytes(trade)] == before)
    #expect(Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["staff.xml", "trade.failing"])
    #expect(count(staff, "Employee") == 1)
    #expect(count(trade, "Customer") == 1)
    #expect(context.updatedObjects == [ada])
    #expect(context.insertedObjects == [bob, shop])
    #expect(bob.objectID.isTemporaryID)
    #expect(ada["name"] as? String == "new")

    try context.save()
    #expect(!context.hasChanges)
    #expect(count(staff, "Employee") == 2)
    #expect(count(trade, "Customer") == 2)
  }

  @Test("permanent IDs are assigned without writing, and are kept by the save")
  func permanentIDs() throws {
    let two = try Two()
    try two.insert("Employee", "Ada")
    try two.context.save()
    let before = try two.bytes(two.staff)
    let bob = try two.insert("Employee", "Bob")
    let temporary = bob.objectID
    try two.context.obtainPermanentIDs(for: [bob])
    let id = bob.objectID
    #expect(temporary.isTemporaryID)
    #expect(!id.isTemporaryID)
    #expect(bob.isInserted)
    #expect(try two.bytes(two.staff) == before)
    #expect(two.context.registeredObject(for: temporary) === bob)
    try two.context.save()
    #expect(bob.objectID == id)
    #expect(two.staff.node(for: id) != nil)
  }

  @Test("the text of a temporary ID is refused as a stored value, the text of a permanent one is not")
  func persistingIDs() throws {
    let two = try Two()
    let ada = try two.insert("Employee", "Ada")
    let shop = try two.insert("Customer", ada.objectID.uriRepresentation)
    #expect(two.failure()?.allErrors.map(\.code) == [.validationInvalidURI])
    try two.context.obtainPermanentIDs(for: [ada])
    let uri = ada.objectID.uriRepresentation
    try shop.setValue(uri, forKey: "name")
    #expect(two.failure() == nil)
    #expect(two.coordinator.managedObjectID(forURIRepresentation: uri) == ada.objectID)
  }

  @Test("a store that is open read-only refuses changes")
  func readOnly() throws {
    let folder = try TestFolder()
    do {
      let first = try Two(folder)
      try first.insert("Employee", "Ada")
      try first.context.save()
    }
    let two = try Two(folder, readOnly: true)
    let before = try two.bytes(two.staff)
    let ada = try #require(try two.context.fetch(FetchRequest<ManagedObject>(entityName: "Employee")).first)
    try ada.setValue("Bob", forKey: "name")
    try two.insert("Customer", "Shop")
    #expect(two.failure() != nil)
    #expect(try two.bytes(two.staff) == before)
    #expect(two.count(two.trade, "Customer") == 0)
    #expect(two.context.updatedObjects == [ada])
  }

  @Test("objects of a removed store are unavailable; those of the other store are not affected")
  func removed() throws {
    let two = try Two()
    let ada = try two.insert("Employee", "Ada")
    let shop = try two.insert("Customer", "Shop")
    try two.context.save()
    two.context.refresh(ada, mergeChanges: false)
    try two.coordinator.remove(two.staff)
    let error = #expect(throws: ManagedObjectError.self) { try ada.value(forKey: "name") }
    #expect(error?.reason == .storeRemoved)
    #expect(ada["name"] == nil)
    #expect(shop["name"] as? String == "Shop")
  }

  @Test("Save As keeps the objects in memory, their IDs, values and unsaved changes")
  func migrate() throws {
    let two = try Two()
    let ada = try two.insert("Employee", "Ada")
    let bob = try two.insert("Employee", "Bob")
    try two.context.save()
    let id = ada.objectID
    try bob.setValue("changed", forKey: "name")
    let moved = try two.coordinator.migratePersistentStore(
      two.staff, to: two.folder.file("new.plist"), type: "BinaryPropertyList")
    #expect(ada.objectID == id)
    #expect(ada["name"] as? String == "Ada")
    #expect(bob["name"] as? String == "changed")
    #expect(two.context.registeredObject(for: id) === ada)
    try two.context.save()
    #expect(two.count(moved, "Employee") == 2)
    #expect(moved.identifier == two.staff.identifier)
  }

  @Test("a coordinator reports added and removed stores")
  func events() throws {
    let two = try Two()
    let told = Mutex<[String]>([])
    let observation = two.coordinator.observe { event in
      switch event {
      case .willRemove(let store): told.withLock { $0.append("will remove \(store.type) \(store.isOpen)") }
      case .didChange(let change):
        told.withLock {
          $0.append("+\(change.added.map(\.type)) -\(change.removed.map(\.type)) >\(change.moved.count)")
        }
      case .foundMixedSave, .didChangeRemotely, .remoteChangeFailed: break
      }
    }
    try two.insert("Employee", "Ada")
    try two.context.save()
    _ = try two.coordinator.migratePersistentStore(
      two.staff, to: two.folder.file("new.plist"), type: "BinaryPropertyList")
    try two.coordinator.remove(two.trade)
    observation.cancel()
    _ = try two.coordinator.addPersistentStore(type: "XML", configurationName: "trade", at: two.folder.file("more.xml"))
    #expect(told.withLock { $0.last } == #"+[] -["BinaryPropertyList"] >0"#)
    #expect(told.withLock { $0.contains("will remove BinaryPropertyList true") })
    #expect(told.withLock { $0.contains { $0.hasSuffix(">1") } })
    #expect(told.withLock { !$0.contains { $0.hasPrefix(#"+["XML"]"#) } })
  }

  @Test("an open store is neither destroyed nor replaced; once removed it is")
  func destroyAndReplace() throws {
    let two = try Two()
    try two.insert("Employee", "Ada")
    try two.insert("Customer", "Shop")
    try two.context.save()
    let path = two.staff.path
    let error = #expect(throws: PersistentStoreError.self) { try two.coordinator.destroyPersistentStore(at: path) }
    #expect(error?.code == .storeAlreadyAdded)
    try two.coordinator.remove(two.staff)
    let copy = two.folder.file("copy.xml")
    try two.coordinator.replacePersistentStore(at: copy, withPersistentStoreFrom: path)
    try two.coordinator.destroyPersistentStore(at: path)
    #expect(!FileManager.default.fileExists(atPath: path))
    let again = try two.coordinator.addPersistentStore(configurationName: "staff", at: copy)
    #expect(again.identifier == two.staff.identifier)
    #expect(two.count(again, "Employee") == 1)
  }
}

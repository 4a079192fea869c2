import AtomicStoreKit
import Foundation
import Testing

/// A separate folder for each test, gone afterwards.
struct Folder: ~Copyable {
  let path: String
  init() throws {
    path = NSTemporaryDirectory() + "kit-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }
  func callAsFunction(_ name: String) -> String { path + "/" + name }
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}

func registry() throws -> StoreRegistry {
  var registry = StoreRegistry()
  try registry.register(LinesStore.self)
  return registry
}

func coordinator() throws -> PersistentStoreCoordinator {
  PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(peopleModel), registry: try registry())
}

/// - Parameters:
///   - friend: Whose `friends` must name the person in the same save, which therefore has its own reference.
func person(_ name: String, _ reference: Int64? = nil, friend: Int64? = nil, friends: [Int64] = [])
  -> ManagedObjectSnapshot
{
  var values: SlotValues = [0: .string(name)]
  if let friend { values[1] = .toOne(ObjectReference(entityName: "Person", reference: .integer(friend))) }
  if !friends.isEmpty {
    values[2] = .toMany(friends.map { ObjectReference(entityName: "Person", reference: .integer($0)) })
  }
  return ManagedObjectSnapshot(entity: 0, reference: reference.map { .integer($0) }, values: values)
}

func code(_ body: () throws -> Void) -> PersistentStoreError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? PersistentStoreError)?.code
  }
}

@Suite("The life of a store") struct LifeCycleTests {
  @Test("the hooks are called in the order of the life-cycle article: inserted, updated, deleted, then save")
  func order() throws {
    let folder = try Folder()
    let journal = LinesStore.Journal()
    try LinesStore.$journal.withValue(journal) {
      let coordinator = try coordinator()
      let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
      try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada"), person("Bob"), person("Cyd")]))
      let changed = person("Ada L", 1, friends: [4])
      try coordinator.save(
        store,
        changes: StoreChanges(
          inserted: [person("Dan", 4, friend: 1)], updated: [changed],
          deleted: [ObjectReference(entityName: "Person", reference: .integer(2))]))
      try coordinator.remove(store)
    }
    #expect(
      journal.all == [
        "init", "new 1", "new 2", "new 3", "save", "new 4", "update 1", "remove 2", "save", "willRemove",
      ])
    let again = try coordinator().addPersistentStore(at: folder("a.lines"))
    #expect(again.nodes.count == 3)
    #expect(again.metadata.lastReference == 4)
  }

  @Test(
    "a batch update calls the hook for each object that it changes, and makes no object for it",
    arguments: [true, false], [true, false])
  func batchUpdate(isExpression: Bool, isRequest: Bool) throws {
    let folder = try Folder()
    let journal = LinesStore.Journal()
    try LinesStore.$journal.withValue(journal) {
      let coordinator = try coordinator()
      let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
      try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada"), person("Bob"), person("Cyd")]))
      let expression = try FetchExpression(format: "TERNARY(name == 'Bob', 'Bob', name + 'x')")
      let known = journal.all.count
      let context = ManagedObjectContext(coordinator)
      let ids: [ManagedObjectID]
      if isRequest {
        let value: Any = isExpression ? expression : "Bob"
        ids = try context.execute(BatchUpdateRequest(entityName: "Person", propertiesToUpdate: ["name": value]))
          .objectIDs
      } else {
        // What the request does in its own context.
        let request = FetchRequest<ManagedObject>(entityName: "Person")
        let value = RowAssignment(
          "name", isExpression ? .expression(expression) : .value(.string("Bob")))
        context.retainsRegisteredObjects = true
        ids = try #require(try context.updateRows(request, [value])).ids
        #expect(context.registeredObjects.isEmpty)
      }
      #expect(ids.map(\.reference) == [.integer(1), .integer(3)])
      #expect(journal.all.dropFirst(known) == ["update 1", "update 3", "save"])
      let names = store.nodes.handles(of: 0).compactMap { store.nodes.value(forKey: "name", of: $0) }
      #expect(names == (isExpression ? ["Adax", "Bob", "Cydx"] : ["Bob", "Bob", "Bob"]).map { .string($0) })
    }
  }

  @Test("a complete life cycle is as documented in the life-cycle article")
  func article() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(
      contentsOf: root.appendingPathComponent("Sources/SPI/AtomicStoreSPI/AtomicStoreSPI.docc/LifeCycle.md"),
      encoding: .utf8)
    let folder = try Folder()
    let journal = LinesStore.Journal()
    var known = 0
    var lines: [String] = []
    func step(_ title: String) {
      let calls = journal.all.dropFirst(known)
      known = journal.all.count
      lines.append(
        title.padding(toLength: 41, withPad: " ", startingAt: 0)
          + (calls.isEmpty ? "(nothing)" : calls.joined(separator: ", ")))
    }
    try LinesStore.$journal.withValue(journal) {
      do {
        let coordinator = try coordinator()
        var store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
        step("a new store is added")
        try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada"), person("Bob"), person("Cyd")]))
        step("three objects are inserted and saved")
        let changed = person("Ada L", 1, friends: [4])
        let gone = ObjectReference(entityName: "Person", reference: .integer(2))
        try coordinator.save(
          store, changes: StoreChanges(inserted: [person("Dan", 4, friend: 1)], updated: [changed], deleted: [gone]))
        step("one inserted, one changed, one deleted")
        try coordinator.remove(store)
        step("the store is removed")
        store = try coordinator.addPersistentStore(at: folder("a.lines"))
        step("it is added again")
        try coordinator.save(store)
        step("nothing is changed and it is saved")
        #expect(throws: PersistentStoreError.self) {
          let other = PersistentStoreCoordinator(
            managedObjectModel: coordinator.managedObjectModel, registry: try registry())
          try other.addPersistentStore(at: folder("a.lines"), options: ["fail": "load"])
        }
        step("it is added again and the load fails")
      }
      step("the coordinator goes with a store")
    }
    #expect(text.contains("```text\n" + lines.joined(separator: "\n") + "\n```"), "\(lines.joined(separator: "\n"))")
  }

  @Test("metadata is read before load, and a failed load ends with willRemove and no coordinator")
  func failedLoad() throws {
    let folder = try Folder()
    let journal = LinesStore.Journal()
    try LinesStore.$journal.withValue(journal) {
      let coordinator = try coordinator()
      let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
      try coordinator.save(store)
      try coordinator.remove(store)
      #expect(
        code { try coordinator.addPersistentStore(at: folder("a.lines"), options: ["fail": "load"]) } == .malformed)
      #expect(coordinator.persistentStores.isEmpty)
    }
    #expect(journal.all.suffix(4) == ["init", "metadata", "load", "willRemove nil"])
  }

  @Test("a coordinator that is deallocated notifies its stores, once, without itself")
  func deallocation() throws {
    let folder = try Folder()
    let journal = LinesStore.Journal()
    try LinesStore.$journal.withValue(journal) {
      do {
        let coordinator = try coordinator()
        try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
        #expect(folder.names == ["a.lines"])
      }
    }
    #expect(journal.all == ["init", "willRemove nil"])
    #expect(folder.names.isEmpty)
  }

  @Test("a graph without the values that its format supplies later is not written elsewhere")
  func deferredValuesElsewhere() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada")]))
    try coordinator.remove(store)
    let lazy = try coordinator.addPersistentStore(at: folder("a.lines"), options: ["defer": "yes"])
    var converter = StoreConverter(registry: try registry())
    converter.targetType = "Lines"
    let error = #expect(throws: PersistentStoreError.self) {
      _ = try converter.write(StoreSnapshot(nodes: lazy.nodes, metadata: lazy.metadata), to: folder("b.lines"))
    }
    #expect(error?.code == .internalInconsistency && error?.location.property == "name")
    #expect(folder.names == ["a.lines"])
    let whole = try lazy.nodesWithDeferredValues()
    #expect(whole.deferredSlots.isEmpty)
    #expect(whole.value(slot: 0, of: NodeHandle(entity: 0, row: 0)) == .string("Ada"))
  }

  @Test("a format supplies a value on first read, and is called once")
  func deferredValues() throws {
    let folder = try Folder()
    let journal = LinesStore.Journal()
    try LinesStore.$journal.withValue(journal) {
      let coordinator = try coordinator()
      let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
      try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada"), person("Bob")]))
      try coordinator.remove(store)
      let lazy = try coordinator.addPersistentStore(at: folder("a.lines"), options: ["defer": "yes"])
      let node = try #require(lazy.nodes.handle(for: .integer(2), entity: 0))
      #expect(lazy.nodes.isDeferred(slot: 0, of: node))
      #expect(try lazy.value(slot: 0, of: node) == .string("Bob"))
      #expect(try lazy.value(slot: 0, of: node) == .string("Bob"))
      #expect(lazy.nodes.payload(of: node) as? String == "payload of 2")
      // A save asks for what was not read yet, so that nothing is lost.
      try coordinator.save(lazy, changes: StoreChanges(inserted: [person("Cyd")]))
      try coordinator.remove(lazy)
      let again = try coordinator.addPersistentStore(at: folder("a.lines"))
      #expect(again.nodes.value(slot: 0, of: NodeHandle(entity: 0, row: 0)) == .string("Ada"))
    }
    #expect(journal.all.filter { $0.hasPrefix("value") } == ["value 2", "value 1"])
  }
}

@Suite("Deferred values") struct DeferredValueTests {
  /// A store of people whose names are deferred, and what was asked of the format.
  private func store(
    _ option: String, _ options: StoreOptions = [:],
    _ body: (PersistentStoreCoordinator, PersistentStore, LinesStore.Journal) throws -> Void
  ) throws {
    let folder = try Folder()
    let journal = LinesStore.Journal()
    try LinesStore.$journal.withValue(journal) {
      let coordinator = try coordinator()
      let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
      try coordinator.save(store, changes: StoreChanges(inserted: ["Ada", "Bob", "Cyd", "Dan"].map { person($0) }))
      try coordinator.remove(store)
      var options = options
      options["defer"] = option
      try body(coordinator, try coordinator.addPersistentStore(at: folder("a.lines"), options: options), journal)
      try coordinator.remove(coordinator.persistentStores[0])
      let again = try coordinator.addPersistentStore(at: folder("a.lines"))
      #expect(
        again.nodes.value(forKey: "name", of: try #require(again.nodes.handle(for: .integer(4), entity: 0)))
          == .string("Dan"))
    }
  }

  private func asked(_ journal: LinesStore.Journal) -> [String] { journal.all.filter { $0.hasPrefix("value") } }

  private func change(_ name: String, of reference: Int64) -> ManagedObjectSnapshot {
    var object = person(name)
    object.reference = .integer(reference)
    return object
  }

  @Test("a save does not ask for values of objects that it deletes, nor for values that it replaces")
  func neededOnly() throws {
    try store("yes") { (coordinator, store, journal) throws in
      try coordinator.save(
        store,
        changes: StoreChanges(
          updated: [change("Anna", of: 1)], deleted: [ObjectReference(entityName: "Person", reference: .integer(2))]))
      #expect(asked(journal) == ["value 3", "value 4"])
      // From now on the nodes hold them.
      try coordinator.save(store, changes: StoreChanges(inserted: [person("Eve")]))
      #expect(asked(journal).count == 2)
    }
  }

  @Test("a save that fails keeps the deferred values it requested")
  func askedOnce() throws {
    try store("yes", ["fail": "save"]) { coordinator, store, journal in
      for _ in 0..<3 {
        #expect(throws: PersistentStoreError.self) {
          try coordinator.save(store, changes: StoreChanges(inserted: [person("Eve")]))
        }
      }
      #expect(asked(journal) == ["value 1", "value 2", "value 3", "value 4"])
    }
  }

  @Test("a format that writes deferred values itself is not asked for any, and they remain deferred")
  func carried() throws {
    try store("carry") { coordinator, store, journal in
      try coordinator.save(store, changes: StoreChanges(updated: [change("Anna", of: 1)]))
      #expect(asked(journal) == [])
      let node = try #require(store.nodes.handle(for: .integer(3), entity: 0))
      #expect(store.nodes.isDeferred(slot: 0, of: node))
      #expect(try store.value(slot: 0, of: node) == .string("Cyd"))
      try coordinator.save(store, changes: StoreChanges(inserted: [person("Eve")]))
      #expect(asked(journal) == ["value 3"])
    }
  }

  @Test("a fetch runs over columns unless it reads the deferred one")
  func columns() throws {
    try store("yes") { (coordinator, store, journal) throws in
      let context = ManagedObjectContext(coordinator)
      func found(_ format: String, sortedBy key: String? = nil, steps: Int = 1000) throws -> [String] {
        var request = FetchRequest<ManagedObject>(
          entityName: "Person", predicate: try FetchPredicate(format: format), sortKeys: key.map { [SortKey($0)] } ?? []
        )
        request.stepLimit = steps
        return try context.fetch(request).map { "\($0.objectID.reference.map(\.description) ?? "")" }
      }
      // Evaluating the four objects one by one takes more steps.
      #expect(try found("friend == nil", steps: 3) == ["1", "2", "3", "4"])
      #expect(asked(journal).isEmpty)
      #expect(try found("name == 'Cyd'") == ["3"])
      #expect(try found("friend == nil", sortedBy: "name") == ["1", "2", "3", "4"])
      #expect(Set(asked(journal)).count == asked(journal).count)
    }
  }
}

@Suite("What is at the path") struct PlaceTests {
  @Test("a missing path gets a reservation file, which is deleted if the store is removed unsaved")
  func reservation() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    #expect(try Data(contentsOf: URL(filePath: folder("a.lines"))).isEmpty)
    try coordinator.remove(store)
    #expect(folder.names.isEmpty)
  }

  @Test("a reservation file that the caller created is kept")
  func callersReservation() throws {
    let folder = try Folder()
    try Data().write(to: URL(filePath: folder("a.lines")))
    let coordinator = try coordinator()
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.remove(store)
    #expect(folder.names == ["a.lines"])
  }

  @Test("a missing directory is an error that names it, and nothing is created")
  func missingFolder() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    #expect(code { try coordinator.addPersistentStore(type: "Lines", at: folder("no/a.lines")) } == .cannotCreate)
    #expect(folder.names.isEmpty)
  }

  @Test("a dangling link is followed: the store is created at its target, and the link is kept")
  func danglingLink() throws {
    let folder = try Folder()
    try FileManager.default.createSymbolicLink(atPath: folder("link.lines"), withDestinationPath: "real.lines")
    let coordinator = try coordinator()
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("link.lines"))
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada")]))
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder("link.lines")) == "real.lines")
    #expect(try String(contentsOfFile: folder("real.lines"), encoding: .utf8).contains("Ada"))
    // And again, now that the target is there.
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Bob")]))
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder("link.lines")) == "real.lines")
    #expect(try String(contentsOfFile: folder("real.lines"), encoding: .utf8).contains("Bob"))
  }

  @Test("another format's content is refused, and the error names that format")
  func foreign() throws {
    let folder = try Folder()
    try Data("something else".utf8).write(to: URL(filePath: folder("a.lines")))
    let coordinator = try coordinator()
    #expect(code { try coordinator.addPersistentStore(at: folder("a.lines")) } == .unrecognizedFormat)
    #expect(code { try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines")) } == .foreignFormat)
  }

  @Test("a directory, a pipe and an unknown type are refused with their reasons")
  func refusals() throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("f.lines"), withIntermediateDirectories: false)
    mkfifo(folder("pipe.lines"), 0o600)
    let coordinator = try coordinator()
    #expect(
      code { try coordinator.addPersistentStore(type: "Lines", at: folder("pipe.lines")) } == .unsupportedFileKind)
    #expect(code { try coordinator.addPersistentStore(type: "Lines", at: folder("f.lines")) } == .unsupportedFileKind)
    #expect(code { try coordinator.addPersistentStore(type: "Other", at: folder("a.lines")) } == .unknownStoreType)
    #expect(code { try coordinator.addPersistentStore(at: folder("a.odd")) } == .unrecognizedFormat)
  }

  @Test("one file is opened once, also through a link")
  func twice() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.save(store)
    try FileManager.default.createSymbolicLink(atPath: folder("b.lines"), withDestinationPath: "a.lines")
    #expect(code { try coordinator.addPersistentStore(at: folder("a.lines")) } == .storeAlreadyAdded)
    #expect(code { try coordinator.addPersistentStore(at: folder("b.lines")) } == .storeAlreadyAdded)
    // A copy has the same identity.
    try FileManager.default.copyItem(atPath: folder("a.lines"), toPath: folder("c.lines"))
    #expect(code { try coordinator.addPersistentStore(at: folder("c.lines")) } == .storeAlreadyAdded)
    #expect(coordinator.persistentStores.count == 1)
  }

  @Test("unknown options are refused, and those that exist are listed")
  func options() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    do {
      try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"), options: ["color": "red"])
      Issue.record("an option that does not exist was taken")
    } catch {
      #expect(error.code == .invalidOption)
      #expect(error.message.contains("defer"))
    }
    #expect(folder.names.isEmpty)
  }
}

@Suite("Saving") struct SavingTests {
  @Test("a refused save leaves file and memory as they were, and can be repeated")
  func refusedSave() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    var store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada")]))
    try coordinator.remove(store)
    let before = try Data(contentsOf: URL(filePath: folder("a.lines")))
    store = try coordinator.addPersistentStore(at: folder("a.lines"), options: ["fail": "save"])
    let changes = StoreChanges(inserted: [person("Bob")])
    #expect(code { try coordinator.save(store, changes: changes) } == .unsupportedByFormat)
    #expect(try Data(contentsOf: URL(filePath: folder("a.lines"))) == before)
    #expect(store.nodes.count == 1)
    #expect(folder.names == ["a.lines"])
  }

  @Test("if the second of two stores in one save refuses, the first is rolled back")
  func twoStores() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    let good = try coordinator.addPersistentStore(type: "Lines", at: folder("good.lines"))
    try coordinator.save(good, changes: StoreChanges(inserted: [person("Ada")]))
    let bad = try coordinator.addPersistentStore(type: "Lines", at: folder("bad.lines"), options: ["fail": "save"])
    let before = try Data(contentsOf: URL(filePath: folder("good.lines")))
    let changes = StoreChanges(inserted: [person("Bob")])
    #expect(code { try coordinator.save([(good, changes), (bad, changes)]) } == .unsupportedByFormat)
    #expect(try Data(contentsOf: URL(filePath: folder("good.lines"))) == before)
    #expect(good.nodes.count == 1)
    #expect(try Data(contentsOf: URL(filePath: folder("bad.lines"))).isEmpty)
    #expect(folder.names == ["bad.lines", "good.lines"])
  }

  @Test("a file that another program changed is not overwritten")
  func changedOnDisk() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada")]))
    let theirs = Data("LINES 1\ntheirs\n".utf8)
    try theirs.write(to: URL(filePath: folder("a.lines")))
    #expect(code { try coordinator.save(store, changes: StoreChanges(inserted: [person("Bob")])) } == .changedOnDisk)
    #expect(try Data(contentsOf: URL(filePath: folder("a.lines"))) == theirs)
    #expect(folder.names == ["a.lines"])
  }

  @Test("without changes no file is modified")
  func nothingToSave() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada")]))
    let before = try StorePath.inspect(folder("a.lines")).identity
    try coordinator.save(store)
    #expect(try StorePath.inspect(folder("a.lines")).identity == before)
  }

  @Test("references are not reused, not even after a deletion and a reopening")
  func referencesAreStable() throws {
    let folder = try Folder()
    var coordinator = try coordinator()
    var store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada"), person("Bob")]))
    try coordinator.save(
      store, changes: StoreChanges(deleted: [ObjectReference(entityName: "Person", reference: .integer(2))]))
    coordinator = try AtomicStoreKitTests.coordinator()
    store = try coordinator.addPersistentStore(at: folder("a.lines"))
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Cyd")]))
    #expect(store.nodes.handles(of: 0).map { store.nodes.reference(of: $0) } == [.integer(1), .integer(3)])
  }

  @Test("a read-only store is not saved, and its metadata not set")
  func readOnly() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    #expect(
      code { try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"), isReadOnly: true) } == .notFound)
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.save(store)
    try coordinator.remove(store)
    let reader = try coordinator.addPersistentStore(at: folder("a.lines"), isReadOnly: true)
    #expect(code { try coordinator.save(reader, changes: StoreChanges(inserted: [person("Ada")])) } == .readOnly)
    #expect(code { try reader.setMetadata(["note": "x"]) } == .readOnly)
  }

  @Test("metadata is set and read without opening the store, and reserved keys are refused")
  func metadata() throws {
    let folder = try Folder()
    let registry = try registry()
    let coordinator = try coordinator()
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.save(store, changes: StoreChanges(inserted: [person("Ada")]))
    try store.setMetadata(["note": "kept"])
    #expect(store.hasUnsavedMetadata)
    try coordinator.save(store)
    let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(at: folder("a.lines"), registry: registry)
    #expect(metadata.entries["note"] == "kept")
    #expect(metadata.uuid == store.identifier)
    #expect(code { try store.setMetadata(["NSStoreUUID": "x"]) } == .invalidValue)
    // Property lists cannot hold it: a store that was saved with it could not be opened again.
    let noDate = PropertyListValue.date(Date(timeIntervalSinceReferenceDate: .nan))
    #expect(code { try store.setMetadata(["list": .array([.dictionary(["date": noDate])])]) } == .invalidValue)
  }

  @Test("the mode of the file is kept")
  func mode() throws {
    let folder = try Folder()
    let coordinator = try coordinator()
    let store = try coordinator.addPersistentStore(type: "Lines", at: folder("a.lines"))
    try coordinator.save(store)
    chmod(folder("a.lines"), 0o640)
    try coordinator.remove(store)
    let again = try coordinator.addPersistentStore(at: folder("a.lines"))
    try coordinator.save(again, changes: StoreChanges(inserted: [person("Ada")]))
    let mode = try FileManager.default.attributesOfItem(atPath: folder("a.lines"))[.posixPermissions] as? Int
    #expect(mode == 0o640)
  }
}

@Suite("Object IDs") struct ObjectIDTests {
  @Test(
    "an ID and its URI identify the same object",
    arguments: [
      ReferenceObject.integer(0), .integer(-5), .integer(.max), .string("a b/ü%"), .string("12"), .string(""),
    ])
  func roundTrip(_ reference: ReferenceObject) throws {
    let id = ManagedObjectID(storeIdentifier: UUID(), entityName: "Perßon", reference: reference)
    #expect(ManagedObjectID(uriRepresentation: id.uriRepresentation) == id)
  }

  @Test(
    "a string that is not the URI of an object gives nil",
    arguments: [
      "", "x-coredata://", "x-coredata:///Person/tABC", "http://a/b/p1",
      "x-coredata://00000000-0000-0000-0000-000000000000/Person/p01",
      "x-coredata://00000000-0000-0000-0000-000000000000/Person/p1/2",
    ])
  func refused(_ text: String) { #expect(ManagedObjectID(uriRepresentation: text) == nil) }
}

@Suite("The registry") struct RegistryTests {
  struct Other: AtomicStore {
    static let storeType = "Lines"
    static let traits = StoreTraits(summary: "", fileExtensions: [])
    static func recognize(_ probe: StoreProbe) -> Recognition { .yes }
    init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}
    mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
      StoreMetadata(storeType: "Lines")
    }
    mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {}
    mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {}
  }

  @Test("a name in use is refused, naming both formats; registering the same format again has no effect")
  func taken() throws {
    var registry = try registry()
    try registry.register(LinesStore.self)
    do {
      try registry.register(Other.self)
      Issue.record("a taken name was given away")
    } catch {
      #expect(error.code == .storeTypeTaken)
      #expect(error.message.contains("LinesStore") && error.message.contains("Other"))
    }
    try registry.unregister("Lines")
    try registry.register(Other.self)
    #expect(registry.storeTypes == ["Lines"])
    #expect(code { try registry.unregister("Rows") } == .unknownStoreType)
  }
}

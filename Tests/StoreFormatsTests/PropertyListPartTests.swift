import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import TestSupport
import Testing

@testable import BinaryPropertyListStoreFormat

/// A property list of which some properties are read, as for a query: the others' columns are skipped.
@Suite("Property lists of which some properties are read") struct PropertyListPartTests {
  private static func withFile<Result>(_ bytes: [UInt8], _ body: (String) throws -> Result) throws -> Result {
    let path = NSTemporaryDirectory() + "part-\(UUID().uuidString).plist"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(bytes).write(to: URL(filePath: path))
    return try body(path)
  }

  private static func coordinator(_ names: Set<String>) -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    coordinator.readNeeds = { _ in ReadNeeds(properties: Set(names.map { ScalarString($0) })) }
    return coordinator
  }

  /// The members of an unordered to-many in one order.
  private static func unordered(_ value: StoredValue, _ slot: Slot) -> StoredValue {
    guard case .toMany(let list) = value, !slot.isOrdered else { return value }
    return .toMany(list.sorted { "\($0)" < "\($1)" })
  }

  @Test(
    "the values of random graphs are those of the whole store",
    arguments: (1...60 as ClosedRange<UInt64>).share(of: "parts of property lists"))
  func sameValues(_ seed: UInt64) throws {
    let snapshot = try RandomGraphs.make(seed: seed)
    let path = NSTemporaryDirectory() + "part-\(UUID().uuidString).plist"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try PropertyListSupport.save(snapshot, to: path)
    var random = Random(seed: seed)
    let whole = snapshot.nodes.model
    let names = Set(whole.entities.flatMap { $0.slots.map(\.name) }).sorted()
    for share in [1, 2, 6] {
      let asked = Set(names.filter { _ in Int.random(in: 0..<share, using: &random) == 0 })
      guard let part = whole.part(withPropertiesNamed: Set(asked.map { ScalarString($0) })) else { continue }
      var store = try BinaryPropertyListStore(StoreConfiguration(path: path))
      store.sizes = (file: 0, column: 1)
      let builder = NodeTableBuilder(model: part, file: "test.plist")
      builder.wholeModel = whole
      builder.inverseHandling = .enforce
      builder.jobs = Int.random(in: 1...3, using: &random)
      builder.leastPart = 1
      try store.load(try StoreSource(opening: try StorePath.inspect(path)), into: builder)
      let read = try builder.finish()
      #expect(Set(part.entities.flatMap { $0.slots.map(\.name) }).isSuperset(of: asked))
      for entity in part.entities {
        let other = try #require(whole.entity(named: entity.name))
        #expect(read.count(of: entity.index) == snapshot.nodes.count(of: other.index))
        for node in read.handles(of: entity.index) {
          let object = try #require(snapshot.nodes.handle(for: read.reference(of: node), entity: other.index))
          for slot in entity.slots {
            let place = try #require(other.slot(named: slot.name))
            let one = Self.unordered(read.value(slot: slot.index, of: node), slot)
            let two = Self.unordered(snapshot.nodes.value(slot: place, of: object), slot)
            #expect(one == two, "\(entity.name).\(slot.name)")
          }
        }
      }
    }
  }

  @Test("damage in a property that is not read is not looked for, and refused in one that is")
  func damage() throws {
    let bytes = try PropertyListSupport.store { (writer) throws(PersistentStoreError) in
      let ages = try writer.entries([("cells", try writer.packed([4, 5] as [Int16]))])
      // One text for two rows.
      let names = try writer.entries([
        ("lengths", try writer.packed([3] as [UInt32])), ("bytes", try writer.packedBytes(Array("abc".utf8))),
      ])
      let person = try writer.person(references: [1, 2], columns: [("age", ages), ("name", names)])
      return try writer.entries([("Person", person)])
    }
    try Self.withFile(bytes) { path in
      let coordinator = Self.coordinator(["age"])
      let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
      #expect(store.model.entity(named: "Person")?.slots.map(\.name) == ["age"])
      #expect(store.nodes.handles(of: 0).map { store.nodes.value(slot: 0, of: $0) } == [.integer(4), .integer(5)])
      for names in [["name"], ["age", "name"]] as [Set<String>] {
        let error = #expect(throws: PersistentStoreError.self) {
          try Self.coordinator(names).addPersistentStore(at: path, isReadOnly: true)
        }
        #expect(error?.code == .malformed && error?.location.property == "name", "\(error as Any)")
      }
    }
  }

  @Test("a property that the store's model does not have is refused, and so is one that is there twice")
  func unknown() throws {
    for columns in [["age", "height"], ["age", "name", "name"]] {
      let bytes = try PropertyListSupport.store { (writer) throws(PersistentStoreError) in
        var entries: [(String, PropertyListSupport.Writer.Reference)] = []
        for name in columns {
          entries.append((name, try writer.entries([("cells", try writer.packed([4, 5] as [Int16]))])))
        }
        return try writer.entries([("Person", try writer.person(references: [1, 2], columns: entries))])
      }
      try Self.withFile(bytes) { path in
        let error = #expect(throws: PersistentStoreError.self) {
          try Self.coordinator(["age"]).addPersistentStore(at: path, isReadOnly: true)
        }
        #expect("\(error as Any)".contains(columns.last ?? ""), "\(error as Any)")
      }
    }
  }

  @Test("a relationship without a column is derived from its inverse, also if the request does not name that")
  func derived() throws {
    let bytes = try PropertyListSupport.store(
      model: ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("age", .integer16), .toOne("boss", "Person", inverse: "staff"),
            .toMany("staff", "Person", inverse: "boss"),
          ])
      ])
    ) { (writer) throws(PersistentStoreError) in
      let bosses = try writer.entries([("references", try writer.packed([2, 2] as [Int64]))])
      return try writer.entries([("Person", try writer.person(references: [1, 2], columns: [("boss", bosses)]))])
    }
    try Self.withFile(bytes) { path in
      let coordinator = Self.coordinator(["staff"])
      let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
      let context = ManagedObjectContext(coordinator)
      let counts = try context.fetchRows(
        {
          var request = FetchRequest<ManagedObject>(entityName: "Person")
          request.propertiesToFetch = [FetchColumn("count", .keyPath(["staff", "@count"]))]
          return request
        }())
      #expect(store.model.entity(named: "Person")?.slots.map(\.name).sorted() == ["boss", "staff"])
      #expect(counts.map { "\($0["count"] ?? "nothing")" } == ["0", "2"])
    }
  }

  @Test("a store that is opened for changes, with another model, or without its damaged objects is read as a whole")
  func readWhole() throws {
    let path = NSTemporaryDirectory() + "part-\(UUID().uuidString).plist"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let snapshot = try RandomGraphs.make(seed: 3)
    try PropertyListSupport.save(snapshot, to: path)
    let all = Set(snapshot.nodes.model.entities.flatMap { $0.slots.map(\.name) })
    func names(_ store: PersistentStore) -> Set<String> { Set(store.model.entities.flatMap { $0.slots.map(\.name) }) }
    let writing = Self.coordinator(["title"])
    #expect(names(try writing.addPersistentStore(at: path)) == all)
    let withModel = PersistentStoreCoordinator(managedObjectModel: snapshot.nodes.model, registry: .builtIn)
    withModel.readNeeds = { _ in ReadNeeds(properties: [ScalarString("title")]) }
    #expect(names(try withModel.addPersistentStore(at: path, isReadOnly: true)) == all)
    let skipping = Self.coordinator(["title"])
    let options = ["damaged": "skip-object"]
    #expect(names(try skipping.addPersistentStore(at: path, options: options, isReadOnly: true)) == all)
    let part = Self.coordinator(["title"])
    #expect(names(try part.addPersistentStore(at: path, isReadOnly: true)) == ["title"])
  }
}

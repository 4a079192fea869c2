import AtomicStoreSPI
import StoreImporting
import Testing

@Suite("Limits of imports") struct ImportLimitTests {
  /// Records each of which has a member that no other one has: as many columns as records.
  private static func scattered(_ count: Int) -> ImportSource {
    let text = (0..<count).map { "{\"id\":\($0),\"k\($0)\":1}\n" }.joined()
    return ImportSource(bytes: Array(text.utf8), name: "R.ndjson")
  }

  @Test("the memory for values is limited, and as many columns as records take little of it")
  func memory() throws {
    var importer = StoreImporter()
    importer.limits.memory = 10_000
    let error = #expect(throws: PersistentStoreError.self) { try importer.read([Self.scattered(2500)]) }
    #expect(
      error?.code == .limitExceeded && error?.message.contains("'maximumMemory'") == true,
      "\(String(describing: error))")
    importer.limits.memory = nil
    let result = try importer.read([Self.scattered(2500)])
    #expect(result.nodes.count == 2500)
    #expect(
      result.nodes.model.entities[0].slots.count == 2500
        && result.nodes.model.entities[0].slots.allSatisfy(\.isOptional))
  }

  @Test("the size of all tables, and the number of objects, are limited as those of stores")
  func others() throws {
    var importer = StoreImporter()
    importer.limits.bytes = 100
    let large = #expect(throws: PersistentStoreError.self) { try importer.read([Self.scattered(10)]) }
    #expect(large?.code == .limitExceeded && large?.message.contains("'maximumBytes'") == true)
    importer = StoreImporter()
    importer.limits.objects = 9
    let many = #expect(throws: PersistentStoreError.self) { try importer.read([Self.scattered(10)]) }
    #expect(many?.code == .limitExceeded && many?.message.contains("'maximumObjects'") == true)
  }

  @Test("the objects of a store that records are added to do not count against the size of the tables")
  func existing() throws {
    let text = (0..<6000).map { "{\"id\":\($0),\"k\($0 % 1000)\":1}\n" }.joined()
    var importer = StoreImporter()
    importer.limits.memory = 1 << 30
    let store = try importer.read([ImportSource(bytes: Array(text.utf8), name: "R.ndjson")])
    importer = StoreImporter()
    importer.existing = store.nodes
    let more = try importer.read([ImportSource(bytes: Array("{\"id\":9000,\"k1\":2}\n".utf8), name: "R.ndjson")])
    #expect(more.nodes.count == 6001)
  }
}

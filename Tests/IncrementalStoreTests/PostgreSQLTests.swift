import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import StoreSQL
import TestSupport
import Testing

@testable import PostgreSQLStoreFormat

/// The address of a server for tests; nil if there is none: `ATOMICSTORE_POSTGRES_URL`, as `Scripts/postgres url NAME`
/// prints it. Each test has its own schema.
enum TestServer {
  static let url: String? = {
    // All tests that use a server are held to the list of statements.
    _ = PortableSubset.enforced
    return ProcessInfo.processInfo.environment["ATOMICSTORE_POSTGRES_URL"]
  }()

  static func schema(_ name: String) -> String {
    guard let url else { return "" }
    let base = url.split(separator: "?").first.map(String.init) ?? url
    return "\(base)?schema=test_\(name)_\(getpid())"
  }
}

@Suite(.enabled(if: TestServer.url != nil, "ATOMICSTORE_POSTGRES_URL names no server")) struct PostgreSQLTests {
  @Test("tables of other programs in the schema are not touched")
  func foreignTables() throws {
    let place = TestServer.schema("foreign")
    let database = try PostgreSQLDatabase(url: place, isReadOnly: false)
    #expect(try database.connect(mayCreate: true))
    try database.run("CREATE TABLE \"Item\" (id int8)", [])
    try database.run("INSERT INTO \"Item\" (id) VALUES (?1)", [.integer(5)])
    for mayReplace in [false, true] {
      var converter = StoreConverter(registry: .builtIn)
      converter.replacesTarget = mayReplace
      #expect(throws: PersistentStoreError.self) {
        try converter.convert(from: try GraphPair(seed: 1, count: 3).propertyPath, to: place)
      }
    }
    var found: Int64 = 0
    try database.query("SELECT id FROM \"Item\"", []) { row in found = row.integer(0) }
    #expect(found == 5)
    database.close()
  }

  @Test("random requests have the answers of a property list", arguments: [1, 2, 3] as [UInt64])
  func requests(seed: UInt64) throws {
    let pair = try GraphPair(seed: seed, count: 60, target: TestServer.schema("requests_\(seed)"))
    let outcome = try pair.stores.compare(requests: 400, seed: seed, edits: 0)
    #expect(outcome.difference == nil)
    #expect(outcome.exact > 150)
    #expect(outcome.partly > 20)
  }

  @Test("unsaved changes count as in a property list", arguments: [4, 5] as [UInt64])
  func pendingChanges(seed: UInt64) throws {
    let pair = try GraphPair(seed: seed, count: 40, target: TestServer.schema("pending_\(seed)"))
    #expect(try pair.stores.compare(requests: 150, seed: seed, edits: 12).difference == nil)
  }

  @Test("random changes that are saved leave the graph that a property list has", arguments: 10..<16 as Range<UInt64>)
  func saves(seed: UInt64) throws {
    let pair = try GraphPair(seed: seed, count: 30, target: TestServer.schema("saves_\(seed)"))
    #expect(try pair.stores.save(rounds: 6, seed: seed) == nil)
    #expect(try pair.stores.differences() == [])
  }
}

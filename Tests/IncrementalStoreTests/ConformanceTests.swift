import AtomicStoreConformance
import AtomicStoreSPI
import Glibc
import PostgreSQLStoreFormat
import SQLiteGraphStoreFormat
import StoreSQL
import TestSupport
import Testing

/// The incremental types of the kit pass the checks, and the checks find the mistakes that they are there to find.
@Suite struct IncrementalConformanceTests {
  @Test(
    "SQLiteGraph conforms",
    arguments: Conformance.checks(for: SQLiteGraphStore.self)
      .share(of: "SQLiteGraph", always: \.isSmoke, name: \.id))
  func sqlite(_ check: ConformanceCheck) throws { try check.run() }

  @Test(
    "PostgreSQL conforms", .enabled(if: TestServer.url != nil, "ATOMICSTORE_POSTGRES_URL names no server"),
    arguments: Conformance.checks(for: PostgreSQLStore.self, url: TestServer.schema("conformance"))
      .share(of: "PostgreSQL", always: \.isSmoke, name: \.id))
  func postgreSQL(_ check: ConformanceCheck) throws { try check.run() }

  @Test("there are at least 40 checks of incremental stores, each of which names a mistake that it finds")
  func catalogue() {
    let own = Conformance.catalogue.filter { $0.profile == .incremental }
    #expect(own.count >= 40)
    #expect(own.allSatisfy { !$0.catches.isEmpty })
    #expect(Conformance.checks(for: SQLiteGraphStore.self).map(\.id) == own.map(\.id))
    #expect(own.count(where: \.isSmoke) > 20)
  }

  @Test(
    "planted mistakes are found by the checks that name them, and by few others",
    arguments: ["INC-13", "INC-23", "INC-33", "INC-41", "INC-49", "INC-50", "INC-61", "INC-65"])
  func selfTest(_ id: String) {
    let outcome = ConformanceSelfTest.run(in: [ConformanceSubject(SQLiteGraphStore.self)], checks: [id])
    #expect(outcome.isSuccess, "\(outcome.findings)")
  }

  @Test("checks at a URL leave a store alone that no check has created", .enabled(if: TestServer.url != nil))
  func foreignStore() throws {
    let place = TestServer.schema("foreign_store")
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Customer", properties: [.attribute("name", .string)])]))
    // Before there is a store: the process that runs the check comes to this line, too.
    let check = try #require(Conformance.checks(for: PostgreSQLStore.self, url: place).first { $0.id == "INC-04" })
    var store = try PostgreSQLStore(StoreConfiguration(path: place))
    defer { store.close() }
    try store.create(StoreMetadata(storeType: "PostgreSQL", model: model.description), for: model)
    let result = check.outcome()
    #expect(result.outcome == .blocked && result.reason?.contains("Customer") == true)
    #expect(try store.metadata() != nil)
    try store.destroy()
  }
}

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

/// A connection to PostgreSQL that is cut loses no save, and carries none out twice.
@Suite(.enabled(if: TestServer.url != nil, "ATOMICSTORE_POSTGRES_URL names no server")) struct CutConnectionTests {
  /// A store that is reached through a proxy, and another connection to it that is not.
  final class Fixture {
    let proxy: CuttingProxy
    var store: PostgreSQLStore
    var direct: PostgreSQLStore
    let model: ManagedObjectModel
    let place: String
    let throughProxy: String

    init(_ name: String) throws {
      place = TestServer.schema("cut_\(name)")
      let parts = try #require(URLComponents(string: place))
      proxy = try CuttingProxy(server: UInt16(try #require(parts.port)))
      var cut = parts
      cut.port = Int(proxy.port)
      throughProxy = try #require(cut.string)
      model = try ManagedObjectModel(ItemGraph.description)
      direct = try PostgreSQLStore(StoreConfiguration(path: place))
      try direct.create(StoreMetadata(storeType: "PostgreSQL", model: model.description), for: model)
      try direct.prepare(for: model)
      store = try PostgreSQLStore(StoreConfiguration(path: throughProxy))
      _ = try store.metadata()
      try store.prepare(for: model)
    }

    deinit {
      try? direct.destroy()
      proxy.stop()
    }

    /// A save of new tags.
    func insertion(_ count: Int) throws -> StoreSave {
      let tag = try #require(model.entity(named: "Tag"))
      let name = try #require(tag.slot(named: "name"))
      return StoreSave(
        inserted: try store.newReferences(count, entity: tag.index).map {
          ManagedObjectSnapshot(entity: tag.index, reference: $0, values: [name: .string("tag \($0)")])
        })
    }

    /// The tags, as a connection sees them that is not cut.
    func tags() throws -> [StoreRow] { try direct.fetch(try request()).rows }
    func request() throws -> StoreFetch {
      let tag = try #require(model.entity(named: "Tag"))
      return StoreFetch(entity: tag.index, entities: [tag.index])
    }
  }

  private static func isSaved(_ answer: StoreSaveAnswer) -> Bool { if case .saved = answer { true } else { false } }

  @Test(
    "a save is carried out once though the connection is cut around COMMIT, or before",
    arguments: [
      ("sent", CuttingProxy.Cut.beforeSending("COMMIT")), ("answered", .beforeAnswer(to: "COMMIT")),
      ("insert", .beforeSending("INSERT INTO \"Tag\"")), ("inserted", .beforeAnswer(to: "INSERT INTO \"Tag\"")),
      ("begin", .beforeSending("BEGIN")),
    ])
  func once(_ name: String, _ cut: CuttingProxy.Cut) throws {
    let fixture = try Fixture("once_\(name)")
    let changes = try fixture.insertion(3)
    fixture.proxy.cut(cut)
    let answer = try fixture.store.save(changes)
    #expect(fixture.proxy.cuts == 1)
    #expect(Self.isSaved(answer))
    #expect(try fixture.tags().map(\.reference) == changes.inserted.compactMap(\.reference))
    #expect(try fixture.direct.changes(since: nil).map { $0.changes.count } == [3])
    // The versions in the answer are those that are there.
    guard case .saved(let versions) = answer else { return }
    #expect(try fixture.tags().map(\.version) == versions.map(\.version))
    // The new connection is as good as the old one.
    #expect(Self.isSaved(try fixture.store.save(try fixture.insertion(1))))
    #expect(try fixture.tags().count == 4)
  }

  @Test(
    "where no one can find out whether a save was carried out, the error says so",
    arguments: [("before", CuttingProxy.Cut.beforeSending("COMMIT"), 0), ("after", .beforeAnswer(to: "COMMIT"), 2)])
  func unknown(_ name: String, _ cut: CuttingProxy.Cut, _ saved: Int) throws {
    let fixture = try Fixture("unknown_\(name)")
    fixture.store.sql.database.attempts = 1
    let changes = try fixture.insertion(2)
    fixture.proxy.cut(cut, thenRefuses: true)
    #expect { try fixture.store.save(changes) } throws: { ($0 as? PersistentStoreError)?.code == .notRolledBack }
    #expect(try fixture.tags().count == saved)
    fixture.proxy.letThrough()
    #expect(Self.isSaved(try fixture.store.save(try fixture.insertion(1))))
  }

  @Test("a save whose connection is cut before it ends, and whose server is gone, was not carried out")
  func unavailable() throws {
    let fixture = try Fixture("unavailable")
    let changes = try fixture.insertion(2)
    fixture.proxy.cut(.beforeSending("INSERT INTO \"Tag\""), thenRefuses: true)
    #expect { try fixture.store.save(changes) } throws: { ($0 as? PersistentStoreError)?.code == .unavailable }
    #expect(try fixture.tags().isEmpty)
    fixture.proxy.letThrough()
    #expect(Self.isSaved(try fixture.store.save(changes)))
    #expect(try fixture.tags().count == 2)
  }

  @Test(
    "a fetch is repeated where the connection is cut in its answer; without a server it is an error, not an empty result"
  )
  func fetch() throws {
    let fixture = try Fixture("fetch")
    _ = try fixture.store.save(try fixture.insertion(2000))
    fixture.proxy.cut(.whileAnswering("ORDER BY", bytes: 20_000))
    #expect(try fixture.store.fetch(try fixture.request()).rows.count == 2000)
    #expect(fixture.proxy.cuts == 1)
    // As while a server ends all connections, one after the other; not forever. A new connection sends the text of the
    // request again, by which the proxy knows it.
    fixture.store.sql.database.close()
    fixture.proxy.cut(.whileAnswering("ORDER BY", bytes: 20_000), times: 4)
    #expect(try fixture.store.fetch(try fixture.request()).rows.count == 2000)
    #expect(fixture.proxy.cuts == 5)
    fixture.store.sql.database.close()
    fixture.proxy.cut(.whileAnswering("ORDER BY", bytes: 20_000), times: 100)
    let lasting = try fixture.request()
    #expect { try fixture.store.fetch(lasting) } throws: { ($0 as? PersistentStoreError)?.code == .unavailable }
    let cuts = fixture.proxy.cuts
    #expect(cuts < 20)
    fixture.store.sql.database.close()
    fixture.proxy.cut(.whileAnswering("ORDER BY", bytes: 20_000), thenRefuses: true)
    let request = try fixture.request()
    #expect { try fixture.store.fetch(request) } throws: { ($0 as? PersistentStoreError)?.code == .unavailable }
    #expect(fixture.proxy.cuts == cuts + 1)
  }

  @Test("a connection that was lost while no one used it is replaced: for a read, a save and a new reference")
  func idle() throws {
    let fixture = try Fixture("idle")
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: fixture.throughProxy)
    let context = ManagedObjectContext(coordinator)
    let tag = try context.insertNewObject(forEntityName: "Tag")
    fixture.proxy.cutAll()
    try tag.setValue("first", forKey: "name")
    try context.save()
    context.refresh(tag, mergeChanges: false)
    fixture.proxy.cutAll()
    #expect(try tag.value(forKey: "name") as? String == "first")
    try tag.setValue("second", forKey: "name")
    fixture.proxy.cutAll()
    try context.save()
    #expect(try fixture.direct.changes(since: nil).count == 2)
    let name = try #require(fixture.model.entity(named: "Tag")?.slot(named: "name"))
    #expect(try fixture.tags().map { $0.values[name] } == [.string("second")])
    #expect(fixture.proxy.cuts >= 3)
  }

  @Test(
    "a conversion is carried out whole where the connection is cut in its COPY, and leaves the old store where the server is gone",
    arguments: [false, true])
  func copy(thenRefuses: Bool) throws {
    let fixture = try Fixture("copy_\(thenRefuses)")
    _ = try fixture.store.save(try fixture.insertion(3))
    let folder = try TemporaryDirectory("cut-copy")
    let list = folder.path + "/graph.plist"
    do {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: fixture.model, registry: .builtIn)
      try coordinator.addPersistentStore(at: list)
      let context = ManagedObjectContext(coordinator)
      for index in 0..<2000 {
        let tag = try context.insertNewObject(forEntityName: "Tag")
        try tag.setValue(String(repeating: "x", count: 200) + "\(index)", forKey: "name")
      }
      try context.save()
    }
    var converter = StoreConverter(registry: .builtIn)
    converter.replacesTarget = true
    fixture.proxy.cut(.whileSending(after: "COPY \"Tag\"", bytes: 100_000), thenRefuses: thenRefuses)
    if thenRefuses {
      #expect { try converter.convert(from: list, to: fixture.throughProxy) } throws: {
        ($0 as? PersistentStoreError)?.code == .unavailable
      }
      #expect(try fixture.tags().count == 3)
    } else {
      _ = try converter.convert(from: list, to: fixture.throughProxy)
      _ = try fixture.direct.metadata()
      #expect(try fixture.tags().count == 2000)
    }
    #expect(fixture.proxy.cuts == 1)
  }
}

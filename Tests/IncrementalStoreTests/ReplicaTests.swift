import AtomicStoreConformance
import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// Programs of PostgreSQL.
private enum Programs {
  /// Whether a second server can be started, and the first one can publish.
  static let canReplicate: Bool = {
    guard let url = TestServer.url else { return false }
    let programs =
      "command -v psql && command -v pg_dump && { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }"
    guard (try? ChildProcess.output(of: "sh", ["-c", programs])) != nil else { return false }
    return (try? sql(url, "SHOW wal_level")) == "logical\n"
  }()

  /// The URL of the database, without the schema of a store.
  static func base(_ url: String) -> String { url.split(separator: "?").first.map(String.init) ?? url }

  static func sql(_ url: String, _ statements: String) throws -> String {
    try ChildProcess.output(of: "psql", ["-qAt", "-v", "ON_ERROR_STOP=1", base(url), "-c", statements])
  }
}

/// A logical replica on its own server, as a read-only store.
@Suite(
  .enabled(if: TestServer.url != nil, "ATOMICSTORE_POSTGRES_URL names no server"),
  .enabled(
    if: TestServer.url == nil || Programs.canReplicate,
    "initdb, psql or pg_dump are not installed, or the server's wal_level is not logical"))
struct ReplicaTests {
  /// A second server, which `Scripts/postgres` starts in its own folder, and stops at the end.
  private final class Server {
    let folder: TemporaryDirectory
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Scripts/postgres").path

    init() throws {
      folder = try TemporaryDirectory("replica")
      // The server runs as a separate user where tests run as root.
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
      _ = try script("start")
    }

    deinit { _ = try? script("stop") }

    func url(_ schema: String) throws -> String {
      try script("url", schema).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func script(_ arguments: String...) throws -> String {
      try ChildProcess.output(
        of: Self.script, arguments, environment: ["ATOMICSTORE_POSTGRES_FOLDER": folder.path + "/postgres"])
    }
  }

  /// The names of all tags of a store, sorted.
  private static func tags(_ context: ManagedObjectContext) throws -> [String] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "Tag", sortKeys: [SortKey("name")])).map {
      $0["name"] as? String ?? "nil"
    }
  }

  /// The parts of a URL as libpq takes them in a connection string.
  private static func connection(_ url: String) throws -> String {
    let parts = try #require(URLComponents(string: Programs.base(url)))
    let fields = [
      "host": parts.host, "port": parts.port.map(String.init), "user": parts.user, "password": parts.password,
      "dbname": String(parts.path.dropFirst()),
    ]
    return fields.compactMap { key, value in value.map { "\(key)=\($0)" } }.sorted().joined(separator: " ")
  }

  @Test("a replica has the content of its publisher, follows it, and refuses saves", .timeLimit(.minutes(60)))
  func replica() throws {
    let publisher = TestServer.schema("replica")
    let schema = try #require(URLComponents(string: publisher)?.queryItems?.first { $0.name == "schema" }?.value)
    let pair = try GraphPair(seed: 21, count: 60, target: publisher)
    let server = try Server()
    let copy = try server.url(schema)
    let definition = try ChildProcess.output(of: "pg_dump", ["--schema-only", "-n", schema, Programs.base(publisher)])
    let file = server.folder.path + "/schema.sql"
    try definition.write(toFile: file, atomically: true, encoding: .utf8)
    try ChildProcess.output(of: "psql", ["-q", "-v", "ON_ERROR_STOP=1", "-f", file, Programs.base(copy)])
    _ = try Programs.sql(publisher, "CREATE PUBLICATION \"\(schema)\" FOR TABLES IN SCHEMA \"\(schema)\"")
    _ = try Programs.sql(
      copy,
      "CREATE SUBSCRIPTION \"\(schema)\" CONNECTION '\(try Self.connection(publisher))' PUBLICATION \"\(schema)\"")
    defer {
      _ = try? Programs.sql(copy, "DROP SUBSCRIPTION \"\(schema)\"")
      _ = try? Programs.sql(publisher, "DROP PUBLICATION \"\(schema)\"")
    }
    try Self.waitUntil {
      try Programs.sql(copy, "SELECT COUNT(*) FROM pg_subscription_rel WHERE srsubstate <> 'r'") == "0\n"
    }
    // All of it, as a property list has it.
    #expect(try pair.stores.differences(inStoreAt: copy) == [])

    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: copy, isReadOnly: true)
    #expect(store.isReadOnly)
    let reader = ManagedObjectContext(coordinator)
    let before = try Self.tags(reader)
    let writer = ManagedObjectContext(pair.incremental)
    let tag = try writer.insertNewObject(forEntityName: "Tag")
    try tag.setValue("published", forKey: "name")
    try writer.save()
    try Self.waitUntil { try Self.tags(ManagedObjectContext(coordinator)).contains("published") }
    #expect(try Self.tags(reader).sorted() == (before + ["published"]).sorted())

    // A change is refused by the save, and so is a new object.
    let request = FetchRequest<ManagedObject>(entityName: "Tag")
    try #require(try reader.fetch(request).first).setValue("refused", forKey: "name")
    #expect { try reader.save() } throws: {
      (($0 as? ManagedObjectError)?.underlying as? PersistentStoreError)?.code == .readOnly
    }
    let other = ManagedObjectContext(coordinator)
    #expect {
      try other.insertNewObject(forEntityName: "Tag").setValue("refused", forKey: "name")
      try other.save()
    } throws: {
      (($0 as? ManagedObjectError)?.underlying as? PersistentStoreError)?.code == .readOnly
    }
    #expect(try !Self.tags(ManagedObjectContext(coordinator)).contains("refused"))
  }

  /// Asks again until something is so: replication takes its time, however fast the machine is.
  private static func waitUntil(_ isSo: () throws -> Bool) throws {
    for _ in 0..<600 {
      if try isSo() { return }
      usleep(100_000)
    }
    throw ChildProcess.Failure(description: "the replica does not follow")
  }
}

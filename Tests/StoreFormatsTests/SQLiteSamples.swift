import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import ModelFiles
import TestSupport
import Testing

/// Core Data stores made with the sqlite3 program in their own folder, which goes with the value.
final class SQLiteSamples {
  static let program: String? = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }
  static let needed: Comment = "needs the sqlite3 program"
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  let folder: String
  let model: ManagedObjectModel

  init() throws {
    folder = NSTemporaryDirectory() + "sqlite-samples-\(UUID().uuidString)"
    try Self.run("/bin/bash", [Self.root + "/Scripts/make-sqlite-samples", folder])
    model = try ManagedObjectModel(ModelFile.read(at: folder + "/People.xcdatamodel").description)
  }
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  static func run(_ program: String, _ arguments: [String]) throws {
    try ChildProcess.output(of: program, arguments)
  }

  /// What a query gives, columns separated by bars.
  static func lines(_ path: String, _ sql: String) throws -> [String] {
    try ChildProcess.run(try #require(program), [path, sql]).output.split(separator: "\n").map(String.init)
  }

  func path(_ name: String) -> String { folder + "/" + name }

  /// Changes a store with the sqlite3 program, and gives its path.
  @discardableResult func edit(_ name: String, _ sql: String) throws -> String {
    try Self.run(try #require(Self.program), [path(name), sql])
    return path(name)
  }

  /// Runs lines of the sqlite3 program, its own commands too.
  func script(_ name: String, _ lines: String) throws {
    try lines.write(toFile: path("script.sql"), atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path("script.sql")) }
    try Self.run(try #require(Self.program), [path(name), ".read '\(path("script.sql"))'"])
  }

  /// Opens a store read-only.
  func open(_ name: String, model given: Bool = true, options: StoreOptions = [:]) throws -> Opened {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: given ? model : nil, registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: path(name), options: options, isReadOnly: true)
    return Opened(coordinator: coordinator, store: store)
  }

  func failure(_ name: String, options: StoreOptions = [:]) throws -> PersistentStoreError {
    do {
      _ = try open(name, options: options)
    } catch let error as PersistentStoreError {
      return error
    }
    throw CancellationError()
  }

  struct Opened {
    let coordinator: PersistentStoreCoordinator
    let store: PersistentStore
    var nodes: NodeTable { store.nodes }
    var notes: [LoadNote] { store.loadNotes }

    /// The value of a property of `Entity/reference`.
    func value(_ entity: String, _ reference: Int64, _ key: String) throws -> StoredValue {
      let index = try #require(nodes.model.entity(named: entity)).index
      let node = try #require(nodes.handle(for: .integer(reference), entity: index), "\(entity)/\(reference)")
      return try #require(nodes.value(forKey: key, of: node), "\(entity).\(key)")
    }

    /// The references of a to-many, in order.
    func members(_ entity: String, _ reference: Int64, _ key: String) throws -> [String] {
      guard case .toMany(let list) = try value(entity, reference, key) else { return [] }
      return list.map(\.description)
    }
  }

  /// Bytes of all files in the folder, hidden ones too, by name.
  func contents() throws -> [String: Data] {
    var result: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      result[name] = FileManager.default.contents(atPath: path(name))
    }
    return result
  }
}

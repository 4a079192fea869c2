import AtomicStoreKit
import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import CConformance
import CProcesses
import FoundationEssentials
import Glibc
import StoreCoordination

extension StoreSession {
  /// The incremental type under test.
  func incrementalType() throws -> any IncrementalStore.Type {
    guard let type = subject.incremental else { throw NotApplicable(reason: "the store is not an incremental one") }
    return type
  }

  /// The path or URL of the check's store.
  func place() throws -> String { try subject.url ?? filePath(incrementalType()) }

  /// Waits for a process that this one started, and stops it if it does not end.
  ///
  /// - Parameter report: The file in which it wrote what went wrong.
  /// - Returns: How it failed; nil if it came to its end.
  func problem(of process: pid_t, _ report: String) throws -> String? {
    var code: Int32 = 0
    var used: Int64 = 0
    // What it may use is processor time: how long that takes depends on what else the machine does.
    let end = csf_wait_for_work(process, 20_000, &code, &used)
    if end == 1, code == 0 { return nil }
    if end != 1, end != 2 {
      kill(process, SIGKILL)
      _ = cpr_wait(process, 1000, &code)
    }
    switch end {
    case 1:
      let problem = Files.read(report).map { String(decoding: $0, as: UTF8.self) }
      return "the other process fails: \(problem ?? "exit code \(code)")"
    case 2: return "signal \(code) ends the other process"
    case 3: return "the other process waits for something that does not come"
    case 4: throw Skipped(reason: "the machine is too slow: the other process has used \(used) ms")
    default: return "the other process does not end"
    }
  }

  func filePath(_ type: any IncrementalStore.Type, _ name: String = "store") -> String {
    folder + "/" + name + (type.traits.fileExtensions.first.map { "." + $0 } ?? "")
  }

  /// A store value that is not connected yet.
  func store(isReadOnly: Bool = false) throws -> any IncrementalStore {
    try incrementalType().init(StoreConfiguration(path: try place(), isReadOnly: isReadOnly))
  }

  /// Connects to the check's store, and creates it if there is none.
  func connect(
    _ description: ModelDescription = ItemGraph.description, entries: PropertyListDictionary? = nil,
    isReadOnly: Bool = false
  ) throws -> StoreConnection {
    let model = try Models.frozen(description)
    let connection = StoreConnection(try store(isReadOnly: isReadOnly), model)
    if try connection.store.metadata() == nil {
      var metadata = StoreMetadata(storeType: try incrementalType().storeType, model: description)
      if let entries { metadata.entries = entries }
      try connection.store.create(metadata, for: model)
    }
    try connection.store.prepare(for: model)
    return connection
  }

  /// The incremental type, and the format of property lists.
  func incrementalRegistry() throws -> StoreRegistry {
    var registry = StoreRegistry()
    try registry.register(BinaryPropertyListStore.self)
    try registry.register(try incrementalType())
    return registry
  }

  /// The kit's context on the check's store.
  func incrementalContext(_ description: ModelDescription? = ItemGraph.description) throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try description.map { try Models.frozen($0) }, registry: try incrementalRegistry())
    try coordinator.addPersistentStore(type: try incrementalType().storeType, at: try place())
    return ManagedObjectContext(coordinator)
  }

  /// The check's store with a random graph, and a property list with the same.
  func comparedStores(seed: UInt64, count: Int) throws -> ComparedStores {
    let list = "\(folder)/graph-\(seed).plist"
    Files.remove(list)
    return try ComparedStores(
      seed: seed, count: count, propertyPath: list, incrementalPath: try place(), registry: try incrementalRegistry())
  }
}

extension CheckContext {
  /// Runs a closure in its own process, with a connection to the check's store, which is created if there is none.
  func connected<Value: Codable & Sendable>(
    _ what: String, seconds: Int = 20, _ body: (StoreConnection) throws -> Value
  ) throws -> Value {
    try process(what, seconds: seconds) { session in try body(try session.connect()) }
  }

  /// The store of checks is in files, which can be looked at.
  func requireFiles() throws {
    guard subject.url == nil else { throw NotApplicable(reason: "the store is not in files") }
  }

  /// Removes the store at the URL of the checks, if a check has created it.
  ///
  /// - Throws: ``Skipped`` if there is a store that no check has created.
  func clearURL() throws {
    guard let url = subject.url, let type = subject.soundIncremental else { return }
    let problem = try process("check that the URL has no store yet") { _ in
      var store = try type.init(StoreConfiguration(path: url))
      defer { store.close() }
      guard let found = try store.metadata() else { return "" }
      let names = found.model?.entities.map(\.name) ?? []
      guard IncrementalModels.all.contains(where: { $0.entities.map(\.name) == names }) else {
        return "there is a store with the entities \(names.joined(separator: ", "))"
      }
      try store.destroy()
      return ""
    }
    guard problem.isEmpty else {
      throw Skipped(reason: "\(problem) at the URL: checks need one without a store, as they create and destroy stores")
    }
  }

  /// Compares texts that people read in a failure.
  func expectList(_ actual: [String], _ expected: [String], _ what: String) throws {
    try expectEqual(actual, expected, what)
  }
}

/// Models of the checks of incremental stores, besides ``ItemGraph``. A store at a URL that has one of them was created
/// by a check.
enum IncrementalModels {
  static let all = [ItemGraph.description, unique, names, changed, shelves]

  /// One attribute whose values are unique.
  static let unique = ModelDescription(entities: [
    EntityDescription(
      name: "Badge", properties: [.attribute("number", .string), .attribute("note", .string)],
      uniquenessConstraints: [["number"]])
  ])

  /// Objects of which a store can delete many without the kit: they lead to others by to-ones only.
  static let shelves = ModelDescription(entities: [
    EntityDescription(
      name: "Shelf",
      properties: [.attribute("name", .string), .toMany("notes", "Note", inverse: "shelf"), .toOne("top", "Note")]),
    EntityDescription(
      name: "Note", properties: [.attribute("number", .integer32), .toOne("shelf", "Shelf", inverse: "notes")]),
  ])

  /// Two attributes with names that only their scalars distinguish.
  static let lookAlikes = ["\u{E4}", "a\u{308}"]
  static let longNames = ["a", "b"].map { String(repeating: "long", count: 40) + $0 }
  static let wordNames = [
    "select", "Group", "group", "order by", "x\"y", "x'y", "id", "ver", "ent", "ref", "rowid", "oid", "ctid", "xmin",
    "xMin", "xmax", "cmin", "cmax", "tableoid",
  ]

  /// Names that query languages use, that differ only in case or accents, and that are long.
  static let names = ModelDescription(entities: [
    EntityDescription(
      name: "table", properties: (lookAlikes + longNames + wordNames).map { .attribute($0, .string) }),
    EntityDescription(name: "Table", properties: [.attribute("where", .string), .toOne("from", "table")]),
  ])

  /// ``ItemGraph`` with an attribute of another type.
  static let changed: ModelDescription = {
    var model = ItemGraph.description
    guard let index = model.entities.firstIndex(where: { $0.name == "Tag" }) else { return model }
    model.entities[index].properties[0] = .attribute("name", .integer64)
    return model
  }()
}

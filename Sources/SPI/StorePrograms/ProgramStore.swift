import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs
import StoreJSON

/// A store whose format is a program, which has the number `High` times eight plus `Low`.
struct ProgramStore<High: ProgramDigit, Low: ProgramDigit>: AtomicStore {
  private static var program: LoadedProgram { ProgramTable.program(High.value * 8 + Low.value) }
  static var storeType: String { program.description.storeType }
  static var traits: StoreTraits { program.description.traits }

  private let options: StoreOptions
  private let limits: StoreLimits
  /// Nil once the store was closed.
  private var processes: ProgramProcesses?

  static func recognize(_ probe: StoreProbe) -> Recognition {
    let description = program.description
    if description.signatures.contains(where: { $0.matches(probe) }) { return .yes }
    guard description.recognizes else { return .no }
    do throws(PersistentStoreError) {
      return try program.processes.request("to recognize content") { connection throws(PersistentStoreError) in
        try Request.recognize(probe, connection)
      }
    } catch {
      ProgramTable.report(error, of: program.path)
      return .no
    }
  }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    options = configuration.options
    limits = configuration.limits
    processes = Self.program.processes
  }

  private var shared: ProgramProcesses { processes ?? Self.program.processes }

  mutating func willRemove(from coordinator: (any StoreCoordinating)?) { processes = nil }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    try ProgramReading(source, limits, shared.limits).request(shared, "to read metadata") {
      (connection, reading) throws(PersistentStoreError) in
      connection.send(Request.line("metadata", Request.store(source, options, limits.memory)))
      return try reading.metadata(connection, storeType: Self.storeType)
    }
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    try ProgramReading(source, limits, shared.limits).request(shared, "to load a store") {
      (connection, reading) throws(PersistentStoreError) in
      let encoding = Self.program.description.encoding
      let model: [(String, JSONValue)] = [("entities", Request.entities(nodes.model))] + encoding.members
      connection.send(Request.line("load", Request.store(source, options, limits.memory) + model))
      switch encoding {
      case .json: try reading.objects(connection, into: nodes)
      case .arrow: try reading.tables(connection, into: nodes)
      }
    }
  }

  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    let (processes, options) = (shared, options)
    let writing = ProgramWriting(files, layout, Self.program.description.encoding, processes.limits)
    try processes.request("to save a store") { connection throws(PersistentStoreError) in
      try writing.save(snapshot, options, connection)
    }
  }
}

extension ProgramStore: ChecksummedStore {
  static func payload(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
    program.description.checksumRequests.contains("payload") ? answer("payload", files) : files
  }
  static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]? { answer("recompute", payload) }
  static func newerVersion(of files: [String: [UInt8]]) -> [String: [UInt8]]? { answer("newer", files) }
  static func duplicate(of files: [String: [UInt8]]) -> [String: [UInt8]]? { answer("duplicate", files) }
  static func crafted(from files: [String: [UInt8]]) -> [CraftedStore] { stores("crafted", files, into: []) ?? [] }

  /// Requests other files to replace these.
  private static func answer(_ request: String, _ files: [String: [UInt8]]) -> [String: [UInt8]]? {
    stores(request, files, into: [CraftedStore("", files: [:], .same)])?.first?.files
  }

  private static func stores(
    _ request: String, _ files: [String: [UInt8]], into stores: [CraftedStore]
  ) -> [CraftedStore]? {
    guard program.description.checksumRequests.contains(request) else { return nil }
    let processes = program.processes
    let source =
      files[""].map { StoreSource(bytes: $0, name: "store") }
      ?? StoreSource(members: files.map { ($0.key, $0.value) }, name: "store")
    do throws(PersistentStoreError) {
      return try ProgramReading(source, StoreLimits(), processes.limits).request(
        processes, "to make files for the checks"
      ) { (connection, reading) throws(PersistentStoreError) in
        connection.send(Request.line(request, Request.store(source, [:])))
        return try reading.stores(connection, into: stores)
      }
    } catch {
      ProgramTable.report(error, of: program.path)
      return nil
    }
  }
}

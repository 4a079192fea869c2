import AtomicStoreSPI
import Synchronization
import Testing

@Suite("Incremental types in a registry") struct IncrementalRegistryTests {
  private protocol DatabaseName { static var name: String { get } }
  private enum Ledger: DatabaseName { static let name = "Ledger" }
  private enum Shared: DatabaseName { static let name = "Shared" }
  private enum Lines: DatabaseName { static let name = "Lines" }

  /// A database that recognizes its name, as an extension and a scheme too.
  private struct Database<Name: DatabaseName>: IncrementalStore {
    static var storeType: String { Name.name }
    static var traits: StoreTraits { StoreTraits(summary: "", fileExtensions: [Name.name.lowercased()]) }
    static var urlSchemes: [String] { [Name.name.lowercased()] }
    static func recognize(_ probe: StoreProbe) -> Recognition {
      probe.prefix.elementsEqual(Name.name.utf8) ? .yes : .no
    }
    private var nothing: PersistentStoreError { PersistentStoreError(.notSupported, "this database is empty") }
    init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}
    mutating func metadata() throws(PersistentStoreError) -> StoreMetadata? { nil }
    mutating func create(_ metadata: StoreMetadata, for model: ManagedObjectModel) throws(PersistentStoreError) {}
    mutating func prepare(for model: ManagedObjectModel) throws(PersistentStoreError) {}
    mutating func fetch(_ request: StoreFetch) throws(PersistentStoreError) -> StoreFetchResult { throw nothing }
    mutating func count(_ request: StoreFetch) throws(PersistentStoreError) -> Int? { nil }
    func answer(to request: StoreFetch) -> FetchAnswer { .exact }
    mutating func rows(_ references: [ReferenceObject], root: Int) throws(PersistentStoreError) -> [StoreRow] { [] }
    mutating func related(
      _ owners: [ReferenceObject], slot: Int, entity: Int
    ) throws(PersistentStoreError) -> [[ObjectReference]] { [] }
    mutating func newReferences(_ count: Int, entity: Int) throws(PersistentStoreError) -> [ReferenceObject] { [] }
    mutating func save(_ changes: StoreSave) throws(PersistentStoreError) -> StoreSaveAnswer { .overtaken }
    mutating func load(into nodes: NodeTableBuilder) throws(PersistentStoreError) {}
    mutating func replaceAll(
      with snapshot: StoreSnapshot, mayReplace: Bool,
      verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
    ) throws(PersistentStoreError) {}
    mutating func setMetadata(_ metadata: StoreMetadata) throws(PersistentStoreError) {}
    mutating func destroy() throws(PersistentStoreError) {}
  }

  /// A format of the same name as one of the databases.
  private struct LinesFormat: AtomicStore {
    static let storeType = "lines"
    static let traits = StoreTraits(summary: "", fileExtensions: ["txt"])
    static func recognize(_ probe: StoreProbe) -> Recognition { probe.prefix.elementsEqual("text".utf8) ? .yes : .no }
    init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}
    mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
      StoreMetadata(storeType: Self.storeType)
    }
    mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {}
    mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {}
  }

  private final class Count: Sendable {
    let value = Atomic(0)
  }

  /// One database and one format that are registered, and another database that is found later.
  private static func registry(_ count: Count) throws -> StoreRegistry {
    var registry = StoreRegistry()
    try registry.register(Database<Ledger>.self)
    try registry.register(LinesFormat.self)
    registry.findLater {
      count.value.add(1, ordering: .relaxed)
      return [.inParts(Database<Shared>.self)]
    }
    return registry
  }

  private static func probe(_ text: String) -> StoreProbe {
    StoreProbe(name: "x", prefix: Array(text.utf8), size: text.utf8.count)
  }

  @Test("what a registered type of either kind has is not looked for further")
  func known() throws {
    let count = Count()
    let registry = try Self.registry(count)
    #expect(registry.incrementalType(named: "Ledger") != nil && registry.incrementalType(named: "lines") == nil)
    #expect(registry.incrementalType(recognizing: Self.probe("Ledger")) != nil)
    #expect(registry.incrementalType(recognizing: Self.probe("text")) == nil)
    #expect(registry.incrementalType(forFileExtension: "ledger") != nil)
    #expect(registry.incrementalType(forFileExtension: "txt") == nil)
    #expect(registry.incrementalType(forFileExtension: "") == nil)
    #expect(registry.incrementalType(urlScheme: "ledger", isCertain: true) != nil)
    #expect(registry.incrementalType(urlScheme: "shared", isCertain: false) == nil)
    #expect(count.value.load(ordering: .relaxed) == 0 && registry.incrementalTypes.count == 1)
  }

  @Test(
    "a name, content, an extension and a URL find a database of a plug-in that was not looked for",
    arguments: ["name", "content", "extension", "scheme", "all"])
  func later(_ which: String) throws {
    let count = Count()
    let registry = try Self.registry(count)
    switch which {
    case "name": #expect(registry.incrementalType(named: "Shared")?.storeType == "Shared")
    case "content": #expect(registry.incrementalType(recognizing: Self.probe("Shared"))?.storeType == "Shared")
    case "extension": #expect(registry.incrementalType(forFileExtension: "shared")?.storeType == "Shared")
    case "scheme": #expect(registry.incrementalType(urlScheme: "shared", isCertain: true)?.storeType == "Shared")
    default: registry.findNow()
    }
    #expect(count.value.load(ordering: .relaxed) == 1)
    #expect(registry.allTraits.map(\.storeType) == ["Ledger", "Shared", "lines"])
  }

  @Test("a database and a format cannot have names that differ in case only, whichever comes first")
  func taken() throws {
    var registry = StoreRegistry()
    try registry.register(LinesFormat.self)
    let second = #expect(throws: PersistentStoreError.self) { try registry.register(Database<Lines>.self) }
    #expect(second?.code == .storeTypeTaken && second?.message.contains("in case only") == true)
    var other = StoreRegistry()
    try other.register(.inParts(Database<Lines>.self))
    try other.register(.inParts(Database<Lines>.self))
    let first = #expect(throws: PersistentStoreError.self) { try other.register(.whole(LinesFormat.self)) }
    #expect(first?.code == .storeTypeTaken && other.incrementalTypes.count == 1)
  }

  @Test("a database can be removed, and one that was found later stays when another is")
  func removed() throws {
    var registry = try Self.registry(Count())
    registry.findNow()
    try registry.unregister("Ledger")
    #expect(registry.incrementalTypes.map { $0.storeType } == ["Shared"])
    try registry.unregister("Shared")
    #expect(registry.incrementalTypes.isEmpty && registry.storeTypes == ["lines"])
  }
}

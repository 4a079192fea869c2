import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Logging
import StoreLogging
import Synchronization
import Testing

@Suite("Logging") struct LoggingTests {
  private final class Entries: Sendable {
    private let state = Mutex<[StoreLogEntry]>([])
    var all: [StoreLogEntry] { state.withLock { $0 } }
    func add(_ entry: StoreLogEntry) { state.withLock { $0.append(entry) } }
    func named(_ message: String) -> [StoreLogEntry] { all.filter { $0.message == message } }
  }

  private func logged() -> (PersistentStoreCoordinator, Entries) {
    let entries = Entries()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: CompanyGraph.model, registry: .builtIn)
    coordinator.log = { entries.add($0) }
    return (coordinator, entries)
  }

  @Test("opened, saved and removed stores are logged, with counts")
  func saves() throws {
    let (coordinator, entries) = logged()
    let store = try coordinator.addPersistentStore(at: "memory:")
    let context = ManagedObjectContext(coordinator)
    for _ in 0..<3 { _ = try context.insertNewObject(forEntityName: "Person") }
    try context.save()
    try coordinator.remove(store)
    #expect(entries.all.map(\.message) == ["opened store", "saved", "removed store"])
    #expect(entries.all.map(\.level) == [.info, .debug, .info])
    #expect(entries.named("opened store").first?.metadata["type"] == "InMemory")
    #expect(entries.named("saved").first?.metadata["inserted"] == "3")
    #expect(Double(entries.named("saved").first?.metadata["seconds"] ?? "") != nil)
  }

  @Test("what fails is logged as an error, with the message")
  func failures() throws {
    let folder = try TestFolder()
    let (coordinator, entries) = logged()
    #expect(throws: PersistentStoreError.self) {
      try coordinator.addPersistentStore(type: "XML", at: folder.file("none/a.xml"))
    }
    #expect(entries.all.map(\.level) == [.error])
    #expect(entries.all.first?.metadata["error"]?.contains("does not exist") == true)
  }

  @Test("conflicts are logged, with the objects and how they were resolved")
  func conflicts() throws {
    let (coordinator, entries) = logged()
    try coordinator.addPersistentStore(at: "memory:")
    let context = ManagedObjectContext(coordinator)
    let ada = try context.insertNewObject(forEntityName: "Person")
    try context.save()
    let other = ManagedObjectContext(coordinator)
    try other.existingObject(with: ada.objectID).setValue("Eve", forKey: "name")
    try other.save()
    try ada.setValue("Fay", forKey: "name")
    #expect(throws: ManagedObjectError.self) { try context.save() }
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.name = "mine"
    try context.save()
    #expect(entries.named("conflicts").count == 1)
    let resolved = try #require(entries.named("conflicts resolved").first)
    #expect(resolved.level == .notice)
    #expect(resolved.metadata["count"] == "1" && resolved.metadata["context"] == "mine")
    #expect(resolved.metadata["objects"] == "Person/1")
    #expect(resolved.metadata["policies"] == "mergeByPropertyObjectTrump")
  }

  @Test("a fetch that takes longer than the threshold is logged with its plan; a quicker one is not")
  func slowFetches() throws {
    let (coordinator, entries) = logged()
    try coordinator.addPersistentStore(at: "memory:")
    let context = ManagedObjectContext(coordinator)
    let request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "name == 'Ada'"), sortKeys: [SortKey("age")])
    coordinator.slowFetchThreshold = 3600
    _ = try context.fetch(request)
    #expect(entries.named("slow fetch").isEmpty)
    coordinator.slowFetchThreshold = 0
    _ = try context.fetch(request)
    let entry = try #require(entries.named("slow fetch").first)
    #expect(entry.level == .warning)
    #expect(entry.metadata["entity"] == "Person" && entry.metadata["sort"] == "age")
    #expect(entry.metadata["predicate"] == "\(try #require(request.predicate))")
    #expect(entry.metadata["plan"] == "columns" && entry.metadata["results"] == "0")
  }

  @Test("without a log nothing is called, and it can be taken away again")
  func silence() throws {
    let (coordinator, entries) = logged()
    coordinator.log = nil
    try coordinator.addPersistentStore(at: "memory:")
    #expect(entries.all.isEmpty && coordinator.log == nil)
  }

  private struct Handler: LogHandler {
    let lines: Lines
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      lines.add("\(event.level) \(event.source) \(event.message) \(event.metadata?["type"] ?? "")")
    }
  }
  private final class Lines: Sendable {
    private let state = Mutex<[String]>([])
    var all: [String] { state.withLock { $0 } }
    func add(_ line: String) { state.withLock { $0.append(line) } }
  }

  @Test("a swift-log logger gets the entries of its level")
  func logger() throws {
    let lines = Lines()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: CompanyGraph.model, registry: .builtIn)
    #expect(coordinator.logger == nil)
    coordinator.logger = Logger(label: "test") { _ in Handler(lines: lines) }
    try coordinator.addPersistentStore(at: "memory:")
    let context = ManagedObjectContext(coordinator)
    _ = try context.insertNewObject(forEntityName: "Person")
    // Saves are on the level debug.
    try context.save()
    #expect(lines.all == ["info AtomicStoreKit opened store InMemory"])
    coordinator.logger = nil
    #expect(coordinator.log == nil)
  }
}

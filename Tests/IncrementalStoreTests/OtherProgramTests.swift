import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination
import Synchronization
import TestSupport
import Testing

/// What other programs do to a database that this one has open.
@Suite struct OtherProgramTests {
  private typealias Life = StoreLifeTests

  /// Has a separate program open a database, execute statements and close it, as the last one that has it open does.
  @discardableResult
  private func sqlite3(_ path: String, _ statements: String) throws -> String {
    try ChildProcess.output(of: "sqlite3", [path, statements])
  }

  // MARK: Locks

  /// What the kit does with files that may be open.
  enum Look: String, CaseIterable {
    case recognize, metadata, load, convert, refuse, saveAs
  }

  private func look(_ look: Look, _ place: Life.Place) throws {
    switch look {
    case .recognize:
      _ = try StorePath.inspect(place.path).probe()
    case .metadata:
      _ = try PersistentStoreCoordinator.metadataForPersistentStore(at: place.path, registry: .builtIn)
    case .load:
      let coordinator = PersistentStoreCoordinator(registry: .builtIn)
      coordinator.readsIncrementalStoresWhole = true
      try coordinator.remove(try coordinator.addPersistentStore(at: place.path, isReadOnly: true))
    case .convert:
      _ = try StoreConverter(registry: .builtIn).convert(from: place.path, to: place.folder.path + "/copy.xml")
    case .refuse:
      var converter = StoreConverter(registry: .builtIn)
      converter.replacesTarget = true
      converter.targetType = "XML"
      #expect(throws: PersistentStoreError.self) {
        try converter.convert(from: place.folder.path + "/nothing.xml", to: place.path)
      }
    case .saveAs:
      // The other way round: the file that a Save As has written is open, and then its descriptors are closed.
      let coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(Life.description), registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: place.folder.path + "/first.xml")
      _ = try Life.make("Ann", "Person", ManagedObjectContext(coordinator))
      try coordinator.migratePersistentStore(store, to: place.path, replaces: true)
    }
  }

  @Test("what the kit does with a file that it has open leaves the locks on it", arguments: Look.allCases)
  func locks(_ kind: Look) throws {
    let place = try Life.Place()
    let coordinator: PersistentStoreCoordinator
    if kind == .saveAs {
      coordinator = PersistentStoreCoordinator(
        managedObjectModel: try ManagedObjectModel(Life.description), registry: .builtIn)
      let store = try coordinator.addPersistentStore(at: place.folder.path + "/first.xml")
      try coordinator.migratePersistentStore(store, to: place.path)
    } else {
      coordinator = try place.open()
    }
    let context = ManagedObjectContext(coordinator)
    _ = try Life.make("Ada", "Person", context)
    try context.save()
    if kind != .saveAs { try look(kind, place) }
    // Without the locks it takes itself for the last one, and removes the log that is in use.
    #expect(try sqlite3(place.path, "SELECT COUNT(*) FROM Person") == "1\n")
    #expect(FileManager.default.fileExists(atPath: place.path + "-wal"))
    _ = try Life.make("Bob", "Person", context)
    try context.save()
    #expect(try sqlite3(place.path, "SELECT COUNT(*) FROM Person") == "2\n")
  }

  @Test("descriptors that were kept open are closed with the last connection")
  func descriptors() throws {
    let place = try Life.Place()
    func count() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.contains("life.sqlgraph")
          ?? false
          && (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?
            .hasPrefix(place.folder.path) ?? false
      }
    }
    do {
      let coordinator = try place.open()
      _ = try Life.make("Ada", "Person", ManagedObjectContext(coordinator))
      for _ in 0..<5 { _ = try StorePath.inspect(place.path).probe() }
      #expect(try count() >= 5)
    }
    #expect(try count() == 0)
  }

  // MARK: Replaced and moved

  @Test(
    "a save to a file that another program has replaced or moved is refused, and noticed once",
    arguments: [true, false])
  func replacedFile(_ isReplaced: Bool) throws {
    let place = try Life.Place()
    let coordinator = try place.open()
    let context = ManagedObjectContext(coordinator)
    let ada = try Life.make("Ada", "Person", context)
    try context.save()
    let failures = Failures(coordinator)
    if isReplaced {
      try FileManager.default.copyItem(atPath: place.path, toPath: place.path + ".new")
      try #require(rename(place.path + ".new", place.path) == 0)
    } else {
      try #require(rename(place.path, place.path + ".old") == 0)
    }
    for _ in 0..<2 { #expect(coordinator.checkForRemoteChanges().isEmpty) }
    #expect(failures.codes == [.unavailable])
    try ada.setValue(7, forKey: "age")
    #expect { try context.save() } throws: {
      (($0 as? ManagedObjectError)?.underlying as? PersistentStoreError)?.code == .unavailable
    }
  }

  @Test("a database that another connection replaced as a whole is noticed once")
  func replacedContent() throws {
    let pair = try GraphPair(seed: 4, count: 6)
    let failures = Failures(pair.incremental)
    _ = pair.incremental.checkForRemoteChanges()
    var converter = StoreConverter(registry: .builtIn)
    converter.replacesTarget = true
    _ = try converter.convert(from: pair.propertyPath, to: pair.incrementalPath)
    for _ in 0..<2 { #expect(pair.incremental.checkForRemoteChanges().isEmpty) }
    #expect(failures.codes == [.unavailable])
    let store = try #require(pair.incremental.persistentStores.first)
    #expect { try pair.incremental.changes(since: nil, in: store) } throws: {
      ($0 as? PersistentStoreError)?.code == .unavailable
    }
  }

  /// The errors that a coordinator reports.
  private final class Failures {
    private let found = Shared()
    private var observation: StoreObservation?
    var codes: [PersistentStoreError.Code] { found.codes.withLock { $0 } }

    private final class Shared: Sendable { let codes = Mutex<[PersistentStoreError.Code]>([]) }

    init(_ coordinator: PersistentStoreCoordinator) {
      let found = found
      observation = coordinator.observe { event in
        guard case .remoteChangeFailed(_, let error) = event else { return }
        found.codes.withLock { $0.append(error.code) }
      }
    }
  }

  // MARK: History

  @Test("after another connection deleted history, contexts that merge automatically read all their objects again")
  func deletedHistory() throws {
    let place = try Life.Place()
    let coordinator = try place.open()
    let context = ManagedObjectContext(coordinator)
    context.automaticallyMergesChangesFromParent = true
    let (ada, bob, eve) = (
      try Life.make("Ada", "Person", context), try Life.make("Bob", "Person", context),
      try Life.make("Eve", "Person", context)
    )
    try context.save()
    try eve.setValue(3, forKey: "age")
    #expect(coordinator.checkForRemoteChanges().isEmpty)
    let other = try place.open()
    let store = try #require(other.persistentStores.first)
    let theirs = ManagedObjectContext(other)
    let token = try #require(try other.currentHistoryToken(of: store))
    try Life.find("Ada", "Person", theirs).setValue(9, forKey: "age")
    try theirs.save()
    theirs.delete(try Life.find("Bob", "Person", theirs))
    try theirs.save()
    _ = try Life.make("Zoe", "Person", theirs)
    try theirs.save()
    try other.deleteHistory(before: try #require(try other.currentHistoryToken(of: store)), in: store)
    #expect { try other.changes(since: token, in: store) } throws: { ($0 as? PersistentStoreError)?.code == .notFound }

    let changes = coordinator.checkForRemoteChanges()
    #expect(changes.map(\.isComplete) == [false])
    #expect(changes.map(\.inserted.count) == [1])
    context.processPendingChanges()
    #expect(try ada.value(forKey: "age") as? Int == 9)
    #expect(bob.isDeleted || bob.managedObjectContext == nil)
    #expect(try eve.value(forKey: "age") as? Int == 3)
    try context.save()
    #expect(coordinator.checkForRemoteChanges().isEmpty)
    #expect(try sqlite3(place.path, "SELECT name, age FROM Person ORDER BY name") == "Ada|9\nEve|3\nZoe|\n")
  }
}

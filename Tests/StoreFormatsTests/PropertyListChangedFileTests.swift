import AtomicStoreKit
import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import BuiltInStoreFormats
import Foundation
import Synchronization
import Testing

/// Columns stay in the bytes of the file. These are in memory that belongs to the process, and not in a mapping, which
/// would show what other processes write, and end the process where they truncate the file.
@Suite("Property lists that change on disk") struct PropertyListChangedFileTests {
  /// Rows with a column of each kind, so that a file of many of them is read in several pieces.
  private static func graph(rows: Int, hasTexts: Bool, textLength: Int = 0) throws -> StoreSnapshot {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .attribute("number", .integer64), .attribute("seldom", .double), .attribute("text", .string),
            .toOne("next", "Node"),
          ])
      ]))
    let builder = NodeTableBuilder(model: model)
    func reference(_ row: Int) -> ReferenceObject { hasTexts ? .string("row \(row)") : .integer(Int64(row + 1)) }
    let padding = String(repeating: "x", count: textLength)
    for row in 0..<rows {
      try builder.beginNode(entity: 0, reference: reference(row))
      try builder.set(.integer(Int64(row * 7)), slot: 0)
      if row % 50 == 0 { try builder.set(.double(Double(row)), slot: 1) }
      try builder.set(.string("text \(row) \(padding)"), slot: 2)
      try builder.set(toOne: reference(row * 31 % rows), slot: 3)
    }
    let metadata = StoreMetadata(
      storeType: BinaryPropertyListStore.storeType, uuid: UUID(), entries: [:], lastReference: Int64(rows),
      model: model.description)
    return StoreSnapshot(nodes: try builder.finish().canonical(), metadata: metadata)
  }

  /// Saves a graph to a new file, and removes it afterwards.
  private static func withFile<Result>(
    _ snapshot: StoreSnapshot, _ body: (String) throws -> Result
  ) throws -> Result {
    let path = NSTemporaryDirectory() + "changed-\(UUID().uuidString).plist"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try PropertyListSupport.save(snapshot, to: path)
    return try body(path)
  }

  private static func open(_ path: String) throws(PersistentStoreError) -> StoreSnapshot {
    let source = try StoreSource(opening: try StorePath.inspect(path))
    var store = try BinaryPropertyListStore(StoreConfiguration(path: path))
    let metadata = try store.metadata(in: source)
    guard let description = metadata.model else { throw PersistentStoreError(.modelNeeded, "no model") }
    let model: ManagedObjectModel
    do { model = try ManagedObjectModel(description) } catch {
      throw PersistentStoreError(.invalidModel, "\(error)", at: StoreLocation(file: path))
    }
    let builder = NodeTableBuilder(model: model, file: source.name)
    try store.load(source, into: builder)
    return StoreSnapshot(nodes: try builder.finish(), metadata: metadata)
  }

  /// What happens to the file of an open store.
  enum Change: String, CaseIterable, Sendable {
    case truncated, overwritten, extended

    func make(_ path: String, size: Int) throws {
      let handle = try #require(FileHandle(forUpdatingAtPath: path))
      defer { try? handle.close() }
      switch self {
      case .truncated: try handle.truncate(atOffset: 0)
      case .overwritten: try handle.write(contentsOf: Data(repeating: 0xFF, count: size))
      case .extended:
        try handle.truncate(atOffset: 100)
        try handle.truncate(atOffset: UInt64(size * 2))
      }
    }
  }

  @Test(
    "values that were loaded stay, whatever happens to the file", arguments: Change.allCases, [false, true])
  func after(_ change: Change, _ hasTexts: Bool) throws {
    let snapshot = try Self.graph(rows: 3000, hasTexts: hasTexts)
    try Self.withFile(snapshot) { path in
      let size = try Data(contentsOf: URL(filePath: path)).count
      let read = try Self.open(path)
      try change.make(path, size: size)
      let differences = GraphComparison.differences(snapshot, read)
      #expect(differences.isEmpty, "\(differences.prefix(5))")
    }
  }

  @Test("a file that is truncated and written again while it is loaded is read completely, or refused")
  func during() throws {
    // More than eight megabytes, which several threads read.
    let snapshot = try Self.graph(rows: 20_000, hasTexts: false, textLength: 500)
    try Self.withFile(snapshot) { path in
      let bytes = try Data(contentsOf: URL(filePath: path))
      let rewriting = Rewriting(path, bytes)
      rewriting.start()
      defer { rewriting.stop() }
      var complete = 0
      var refused = 0
      for _ in 0..<200 where complete < 2 || refused < 2 {
        do throws(PersistentStoreError) {
          let read = try Self.open(path)
          #expect(GraphComparison.differences(snapshot, read).isEmpty)
          complete += 1
        } catch {
          #expect([.changedOnDisk, .malformed].contains(error.code), "\(error)")
          refused += 1
        }
      }
    }
  }

  /// A thread that cuts off the second half of a file and writes it again, so that every byte that can be read is
  /// right.
  private final class Rewriting: Sendable {
    private let path: String
    private let bytes: Data
    private let isStopped = Atomic<Bool>(false)
    private let done = DispatchSemaphore(value: 0)

    init(_ path: String, _ bytes: Data) {
      self.path = path
      self.bytes = bytes
    }

    func start() {
      Thread {
        while !self.isStopped.load(ordering: .acquiring) { try? self.rewrite() }
        self.done.signal()
      }.start()
    }

    func stop() {
      isStopped.store(true, ordering: .releasing)
      done.wait()
    }

    private func rewrite() throws {
      guard let handle = FileHandle(forUpdatingAtPath: path) else { return }
      defer { try? handle.close() }
      let half = bytes.count / 2
      try handle.truncate(atOffset: UInt64(half))
      try handle.seek(toOffset: UInt64(half))
      try handle.write(contentsOf: bytes.suffix(from: half))
      // Time for a load between two changes.
      Thread.sleep(forTimeInterval: 0.02)
    }
  }
}

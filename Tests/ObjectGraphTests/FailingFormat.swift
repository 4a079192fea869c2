import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Synchronization

/// A format that wraps another one and fails on request, by its name.
struct FailingFormat<Base: AtomicStore>: AtomicStore {
  static var storeType: String { Base.storeType }
  static var traits: StoreTraits { Base.traits }
  static func recognize(_ probe: StoreProbe) -> Recognition { Base.recognize(probe) }

  private var base: Base
  private let folder: String
  private let path: String
  var traits: StoreTraits { base.traits }
  var layout: StoreLayout { base.layout }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    base = try Base(configuration)
    path = configuration.path
    folder = URL(fileURLWithPath: configuration.path).deletingLastPathComponent().lastPathComponent
  }
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    try base.metadata(in: source)
  }
  mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    try base.inferModel(from: source)
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    try base.load(source, into: nodes)
  }
  mutating func value(slot: Int, of node: NodeHandle, in nodes: NodeTable) throws(PersistentStoreError) -> StoredValue {
    try base.value(slot: slot, of: node, in: nodes)
  }
  mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    try base.newReferenceObject(for: object, in: nodes, metadata: &metadata)
  }
  mutating func newCacheNode(
    for object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> NodeHandle {
    try base.newCacheNode(for: object, in: &nodes)
  }
  mutating func updateCacheNode(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) {
    try base.updateCacheNode(node, from: object, in: &nodes)
  }
  mutating func willRemoveCacheNodes(_ removed: [NodeHandle], from nodes: inout NodeTable) {
    base.willRemoveCacheNodes(removed, from: &nodes)
  }
  func selection(from snapshot: StoreSnapshot) throws(PersistentStoreError) -> StoreSelection? {
    try base.selection(from: snapshot)
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let failure = Failures.next(in: folder)
    if failure == .before { throw Failures.error }
    try base.save(snapshot, to: staged)
    if failure == .after { throw Failures.error }
    if failure == .overtaken { Self.replace(path) }
  }
  /// Another program replaces the file by an equal one.
  private static func replace(_ path: String) {
    guard let bytes = FileManager.default.contents(atPath: path) else { return }
    try? bytes.write(to: URL(fileURLWithPath: path), options: .atomic)
  }
  mutating func willRemove(from coordinator: (any StoreCoordinating)?) { base.willRemove(from: coordinator) }
}

/// Which saves are to fail, by the name of the folder that the stores lie in.
enum Failures {
  enum Moment {
    case before, after
    /// At each save, after it was written and before it is published.
    case overtaken
  }
  static var error: PersistentStoreError { PersistentStoreError(.noSpace, "told to fail") }
  private static let armed = Mutex<[String: (skips: Int, moment: Moment)]>([:])

  /// Lets a save fail after that many other ones: with nothing written, or with all.
  static func arm(_ folder: TestFolder, skips: Int, _ moment: Moment) {
    armed.withLock { $0[URL(fileURLWithPath: folder.path).lastPathComponent] = (skips, moment) }
  }
  static func disarm(_ folder: TestFolder) {
    armed.withLock { _ = $0.removeValue(forKey: URL(fileURLWithPath: folder.path).lastPathComponent) }
  }
  static func next(in folder: String) -> Moment? {
    armed.withLock { armed -> Moment? in
      guard let found = armed[folder] else { return nil }
      guard found.moment != .overtaken else { return found.moment }
      armed[folder] = found.skips > 0 ? (found.skips - 1, found.moment) : nil
      return found.skips > 0 ? nil : found.moment
    }
  }

  /// The built-in formats, each wrapped.
  static func registry() throws -> StoreRegistry {
    var registry = StoreRegistry()
    func add<Base: AtomicStore>(_ type: Base.Type) throws { try registry.register(FailingFormat<Base>.self) }
    for name in StoreRegistry.builtIn.storeTypes { try add(try StoreRegistry.builtIn.storeType(named: name)) }
    return registry
  }
}

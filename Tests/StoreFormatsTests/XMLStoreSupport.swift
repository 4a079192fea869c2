import AtomicStoreSPI
import Foundation
import Testing
import XMLStoreFormat

/// What the tests of the XML format share.
enum XMLSupport {
  /// A store as it was read.
  struct Opened {
    var store: XMLStore
    var metadata: StoreMetadata
    var nodes: NodeTable
  }

  static func store(_ options: StoreOptions = [:]) throws -> XMLStore {
    try XMLStore(StoreConfiguration(path: "test.xml", options: options))
  }

  /// Opens as the kit does: metadata, model (given, embedded or inferred), nodes.
  static func open(
    _ bytes: [UInt8], model: ManagedObjectModel? = nil, options: StoreOptions = [:]
  ) throws -> Opened {
    let source = StoreSource(bytes: bytes, name: "test.xml")
    var store = try store(options)
    var metadata = try store.metadata(in: source)
    let description: ModelDescription =
      if let model { model.description } else if let own = metadata.model { own } else {
        try store.inferModel(from: source)
      }
    let model = try model ?? ManagedObjectModel(description)
    let builder = NodeTableBuilder(model: model, file: source.name)
    try store.load(source, into: builder)
    metadata.model = model.description
    return Opened(store: store, metadata: metadata, nodes: try builder.finish())
  }

  static func open(_ text: String, model: ManagedObjectModel? = nil) throws -> Opened {
    try open(Array(text.utf8), model: model)
  }

  /// What saving the opened store writes.
  static func bytes(of opened: Opened) throws -> [UInt8] {
    var store = opened.store
    return try bytes(of: &store, StoreSnapshot(nodes: try opened.nodes.canonical(), metadata: opened.metadata))
  }

  static func bytes(of store: inout XMLStore, _ snapshot: StoreSnapshot) throws -> [UInt8] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("xmlstore-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("store.xml").path
    let staged = try StagedStore(target: path, layout: .file, policy: .createNew)
    try store.save(snapshot, to: staged.files)
    try staged.finish()
    try staged.commit()
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  static func text(of opened: Opened) throws -> String { String(decoding: try bytes(of: opened), as: UTF8.self) }

  /// A store's document with the given objects.
  static func document(
    _ objects: String, last: Int = 200, metadata: String = "<metadata></metadata>",
    declaration: String = #"<?xml version="1.0" standalone="yes"?>"#
  ) -> String {
    """
    \(declaration)
    <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

    <database>
        <databaseInfo>
            <version>134481920</version>
            <UUID>B4FC79D0-E654-43EF-9020-A5273B3F104A</UUID>
            <nextObjectID>\(last)</nextObjectID>
            \(metadata)
        </databaseInfo>
    \(objects.isEmpty ? "" : objects + "\n")</database>
    """
  }

  /// Every value of every node, by name: for comparing two stores whose models number things differently.
  /// A value that equals the very same data only: another spelling of a number is another value.
  struct Exact: Equatable {
    let value: StoredValue
    static func == (one: Exact, other: Exact) -> Bool { one.value.isIdentical(to: other.value) }
  }

  /// The values of all nodes, for comparing what was read with what was written.
  static func exact(_ nodes: NodeTable) -> [String: Exact] { values(nodes).mapValues { Exact(value: $0) } }

  static func values(_ nodes: NodeTable) -> [String: StoredValue] {
    var result: [String: StoredValue] = [:]
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        let object = "\(entity.name)/\(reader.reference(row: row))"
        result[object] = .null
        for slot in entity.slots { result["\(object).\(slot.name)"] = reader.value(slot: slot.index, row: row) }
      }
    }
    return result
  }

  /// The error that the body throws.
  static func failure(_ body: () throws -> Void) throws -> PersistentStoreError {
    do { try body() } catch let error as PersistentStoreError { return error }
    Issue.record("nothing was thrown")
    throw CancellationError()
  }

  // MARK: The corpus

  static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("../shared/corpus/xmlstores").standardizedFileURL
  static let corpusFiles: [String] =
    ((try? FileManager.default.contentsOfDirectory(atPath: corpus.path)) ?? []).sorted()
  static func corpusBytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: corpus.appendingPathComponent(name)))
  }
}

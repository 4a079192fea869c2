import AtomicStoreSPI
import FoundationEssentials

/// A store as YAML that people edit: a document that describes the store, then one for each object.
///
/// ```yaml
/// store: YAML
/// version: 1
/// uuid: "6F9619FF-8B86-D011-B42D-00C04FC964FF"
/// last: 2
/// model: …
/// metadata:
///   "author": "Ada"
/// ---
/// entity: "Person"
/// id: 1
/// values:
///   "name": "Ada"
///   "born": -2714860800.0
///   "team": 2
/// ...
/// ```
///
/// `FORMAT.md` describes the values. The library Yams reads it; comments and layout are not kept.
public struct YAMLStore: AtomicStore {
  public static let storeType = "YAML"
  public static let traits = StoreTraits(summary: "YAML that people edit", fileExtensions: ["yaml", "yml"])

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    probe.begins(with: "store: YAML\n") ? .yes : .no
  }

  private let limits: StoreLimits
  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { limits = configuration.limits }

  // MARK: Reading

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    let documents = try Documents(source)
    guard let first = try documents.next() else { throw documents.failure("the file is empty") }
    return try header(first, documents)
  }

  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let documents = try Documents(source)
    // The description was read by `metadata(in:)`.
    _ = try documents.next()
    while let document = try documents.next() { try ObjectDocument.load(document, documents, into: nodes) }
  }

  private func header(_ document: Element, _ documents: Documents) throws(PersistentStoreError) -> StoreMetadata {
    let fields = try Fields(document, ["store", "version", "uuid", "last", "model", "metadata"], documents)
    let version = try fields["version"]
    guard version.scalar?.string == "1" else {
      throw PersistentStoreError(.unsupportedVersion, "the version is not 1", at: documents.location(version))
    }
    guard let uuid = try fields["uuid"].scalar.flatMap({ UUID(uuidString: $0.string) }) else {
      throw documents.failure("'uuid' is not a UUID", at: try fields["uuid"])
    }
    guard let last = try fields["last"].scalar.flatMap({ Int64($0.string) }) else {
      throw documents.failure("'last' is not an integer", at: try fields["last"])
    }
    var metadata = StoreMetadata(storeType: Self.storeType, uuid: uuid, lastReference: last)
    if let model = fields.optional("model") {
      metadata.model = try ModelDescription(propertyList: try documents.value(model, maximumDepth: limits.depth))
    }
    let entries = try fields["metadata"]
    guard case .dictionary(let dictionary) = try documents.value(entries, maximumDepth: limits.depth) else {
      throw documents.failure("'metadata' is not a mapping", at: entries)
    }
    metadata.entries = dictionary
    return metadata
  }

  // MARK: Writing

  public mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    let file = try files.file()
    let metadata = snapshot.metadata
    var text = YAMLWriter()
    text.put("store: YAML\nversion: 1\nuuid: \"\(metadata.uuid.uuidString)\"\nlast: \(metadata.lastReference)\n")
    if let model = metadata.model { text.entry("model", model.propertyList, plainKey: true) }
    text.entry("metadata", .dictionary(metadata.entries), plainKey: true)
    for entity in snapshot.nodes.model.entities {
      let reader = snapshot.nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        text.object(entity, reader, row)
        if text.bytes.count > 1 << 18 {
          try file.write(text.bytes)
          text.bytes.removeAll(keepingCapacity: true)
        }
      }
    }
    // A file that was cut between two documents looks whole without its end.
    text.put("...\n")
    try file.write(text.bytes)
  }
}

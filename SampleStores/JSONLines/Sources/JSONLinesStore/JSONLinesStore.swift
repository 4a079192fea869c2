import AtomicStoreSPI
import FoundationEssentials

/// A store as lines of JSON: a line that describes the store, then a line for each object.
///
/// ```
/// {"store":"JSONLines","version":1,"uuid":"…","last":3,"objects":3,"model":{…},"metadata":{…}}
/// {"entity":"Person","id":1,"values":{"name":"Ada","born":"date:-2714860800.0","team":2}}
/// ```
///
/// Texts, whole numbers and truth values are JSON's own; other values are texts that say what they are (`double:0.1`,
/// `data:AAEC`), so that every bit comes back. Relationships are the destinations' ids.
public struct JSONLinesStore: AtomicStore {
  public static let storeType = "JSONLines"
  public static let traits = StoreTraits(
    summary: "Lines of JSON, one object each", fileExtensions: ["jsonl", "ndjson"])

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    probe.begins(with: "{\"store\":\"JSONLines\"") ? .yes : .no
  }

  /// How deep metadata and models may be nested.
  private let depth: Int

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    depth = configuration.limits.depth
  }

  // MARK: Reading

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var lines = try LineReader(source, depth: depth)
    return try Header(try lines.next(), lines.place).metadata
  }

  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var lines = try LineReader(source, depth: depth)
    let header = try Header(try lines.next(), lines.place)
    var count = 0
    while !lines.isAtEnd {
      try ObjectLine.load(try lines.next(), lines.place, into: nodes)
      count += 1
    }
    // A file that was cut at the end of a line has every line whole and is not whole itself.
    guard count == header.count else {
      throw PersistentStoreError(
        .malformed, "the first line reports \(header.count) objects, and \(count) follow", at: lines.place)
    }
  }

  // MARK: Writing

  public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let file = try staged.file()
    var text = LineWriter()
    let count = snapshot.nodes.model.entities.reduce(0) { $0 + snapshot.nodes.count(of: $1.index) }
    text.header(snapshot.metadata, count: count)
    for entity in snapshot.nodes.model.entities { try text.objects(of: entity, in: snapshot.nodes, to: file) }
    try text.flush(to: file)
  }
}

import AtomicStoreSPI
import FoundationEssentials

/// A store as a folder: `store.json` describes it, and each entity's objects are lines of JSON in their own file.
///
/// ```
/// store.json        {"store":"JSONLines","version":1,"uuid":"…","last":3,"objects":3,"model":{…},"metadata":{…}}
/// Person.jsonl      {"entity":"Person","id":1,"values":{"name":"Ada","born":"date:-2714860800.0","team":2}}
/// ```
///
/// A line says which entity its object is of: the files' names are for people. The kit puts the folder in place as a
/// whole, so that no reader finds files of two saves together.
public struct JSONLinesStore: AtomicStore {
  public static let storeType = "JSONLines"
  public static let traits = StoreTraits(
    summary: "A folder of lines of JSON, a file for each entity", fileExtensions: ["jsonlines"], layout: .folder)

  private static let head = "store.json"
  private static let suffix = ".jsonl"

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    probe.isFolder && probe.prefix(ofMember: head).starts(with: "{\"store\":\"JSONLines\"".utf8) ? .yes : .no
  }

  /// How deep metadata and models may be nested.
  private let depth: Int

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    depth = configuration.limits.depth
  }

  // MARK: Reading

  private func header(in source: StoreSource) throws(PersistentStoreError) -> Header {
    guard source.isFolder else {
      throw PersistentStoreError(
        .malformed, "the store is a folder, and this is a file", at: StoreLocation(file: source.name))
    }
    var lines = try LineReader(source, member: Self.head, depth: depth)
    let header = try Header(try lines.next(), lines.place)
    guard lines.isAtEnd else { throw PersistentStoreError(.malformed, "more than one line", at: lines.place) }
    return header
  }

  public mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    try header(in: source).metadata
  }

  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let header = try header(in: source)
    var count = 0
    for member in source.memberNames where member != Self.head {
      guard member.hasSuffix(Self.suffix) else {
        throw PersistentStoreError(
          .malformed, "the file is not one of the store's",
          at: StoreLocation(file: source.displayName(ofMember: member)))
      }
      var lines = try LineReader(source, member: member, depth: depth)
      while !lines.isAtEnd {
        try ObjectLine.load(try lines.next(), lines.place, into: nodes)
        count += 1
      }
    }
    // A file that is missing, or was cut at the end of a line, leaves every line whole.
    guard count == header.count else {
      throw PersistentStoreError(
        .malformed, "\(Self.head) reports \(header.count) objects, and there are \(count)",
        at: StoreLocation(file: source.name))
    }
  }

  // MARK: Writing

  public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let nodes = snapshot.nodes
    var head = LineWriter()
    head.header(snapshot.metadata, count: nodes.model.entities.reduce(0) { $0 + nodes.count(of: $1.index) })
    try staged.member(Self.head).write(head.bytes)
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      let file = try staged.member(Self.fileName(of: entity))
      var text = LineWriter()
      try text.objects(of: entity, in: nodes, to: file)
      try text.flush(to: file)
    }
  }

  /// The entity's name where a file can be called so on any system; with its number where that would be taken for
  /// another's.
  private static func fileName(of entity: Entity) -> String {
    func isPlain(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    let plain = String(decoding: entity.name.utf8.filter(isPlain).prefix(80), as: UTF8.self)
    let isAlone = entity.model.entities.allSatisfy {
      $0.index == entity.index || $0.name.lowercased() != plain.lowercased()
    }
    return plain == entity.name && isAlone ? plain + suffix : "\(plain)-\(entity.index)\(suffix)"
  }
}

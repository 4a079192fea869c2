import AtomicStoreKit
import FoundationEssentials

/// A test format that implements what a format must and nothing else: a head line, then a line for each person.
struct PlainStore: AtomicStore {
  static let storeType = "Plain"
  static let traits = StoreTraits(summary: "The least a format can be, for tests", fileExtensions: ["plain"])

  /// Something that nodes hold on to.
  final class Payload: Sendable {}

  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "PLAIN ") ? .yes : .no }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

  private func lines(_ source: StoreSource) throws(PersistentStoreError) -> [[Substring]] {
    let bytes = try source.bytes().withUnsafeBytes { Array($0) }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .map { $0.split(separator: " ", omittingEmptySubsequences: false) }
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    guard let head = try lines(source).first, head.count == 3, let uuid = UUID(uuidString: String(head[1])),
      let last = Int64(head[2])
    else { throw PersistentStoreError(.malformed, "no head", at: StoreLocation(file: source.name, line: 1)) }
    return StoreMetadata(storeType: Self.storeType, uuid: uuid, lastReference: last)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    for (index, fields) in try lines(source).dropFirst().enumerated() {
      guard fields.count == 4, let reference = Int64(fields[0]) else {
        throw PersistentStoreError(.malformed, "four fields", at: StoreLocation(file: source.name, line: index + 2))
      }
      try nodes.beginNode(entity: 0, reference: reference, line: index + 2)
      nodes.attach(Payload())
      try nodes.set(.string(String(fields[1])), slot: 0)
      if let friend = Int64(fields[2]) { try nodes.set(toOne: friend, slot: 1) }
      // Both ends are the format's to keep: nothing is inferred from one.
      for friend in fields[3].split(separator: ",").compactMap({ Int64($0) }) {
        try nodes.append(toMany: friend, slot: 2)
      }
    }
  }

  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    var text = "PLAIN \(snapshot.metadata.uuid) \(snapshot.metadata.lastReference)\n"
    let people = snapshot.nodes.reader(of: 0)
    for row in 0..<people.count {
      let friend = people.toOne(slot: 1, row: row).map { "\(snapshot.nodes.reference(of: $0))" } ?? ""
      var friends: [String] = []
      let many = people.toMany(slot: 2, row: row)
      for index in many.indices { friends.append("\(snapshot.nodes.reference(of: many[index]))") }
      text +=
        "\(people.reference(row: row)) \(people.string(slot: 0, row: row)) \(friend) \(friends.joined(separator: ","))\n"
    }
    try staged.file().write(Array(text.utf8))
  }
}

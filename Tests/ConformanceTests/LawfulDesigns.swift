import AtomicStoreSPI
import FoundationEssentials

@testable import FaultyDesigns

// Formats that are unusual and lawful, each in what it makes of the same records.

/// What is unusual about a format.
protocol Oddity {
  static var name: String { get }
  static func declare(_ traits: inout StoreTraits)
  /// - Parameter old: What the file had before; empty for nothing.
  static func written(_ content: [UInt8], over old: [UInt8]) -> [UInt8]
  /// Nil for bytes that it did not write.
  static func content(of bytes: ArraySlice<UInt8>) -> [UInt8]?
  /// The reference of a new object; nil for the next number.
  static func newReference() -> ReferenceObject?
}

extension Oddity {
  static func declare(_ traits: inout StoreTraits) {}
  /// With the length at the end: a file that was cut between two objects looks whole.
  static func written(_ content: [UInt8], over old: [UInt8]) -> [UInt8] {
    var file = RecordWriter(bytes: content)
    file.number(content.count)
    return file.bytes
  }
  static func content(of bytes: ArraySlice<UInt8>) -> [UInt8]? {
    bytes.count >= 8 && Sealed.word(bytes.suffix(8)) == UInt64(bytes.count - 8) ? Array(bytes.dropLast(8)) : nil
  }
  static func newReference() -> ReferenceObject? { nil }
  static var signature: [UInt8] { Array("\(name) version 1\n".utf8) }
}

/// A random number, bytes that look like noise, and a digest: what encryption makes of a file, and compression all but
/// the number.
enum Sealed: Oddity {
  static let name = "Sealed"
  static func declare(_ traits: inout StoreTraits) { traits.writesEqualBytes = false }

  private static func stream(_ bytes: some Collection<UInt8>, _ nonce: UInt64) -> [UInt8] {
    var word = nonce | 1
    return bytes.map { byte in
      word ^= word << 13
      word ^= word >> 7
      word ^= word << 17
      return byte ^ UInt8(truncatingIfNeeded: word >> 24)
    }
  }

  static func written(_ content: [UInt8], over old: [UInt8]) -> [UInt8] {
    var file = RecordWriter()
    let nonce = UInt64.random(in: 0 ... .max)
    file.word(nonce)
    file.bytes += stream(content, nonce)
    file.word(Digest.of(file.bytes[...]))
    return file.bytes
  }

  static func content(of bytes: ArraySlice<UInt8>) -> [UInt8]? {
    guard bytes.count >= 16, word(bytes.suffix(8)) == Digest.of(bytes.dropLast(8)) else { return nil }
    return stream(bytes.dropFirst(8).dropLast(8), word(bytes.prefix(8)))
  }

  static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}

/// A log: each save adds a record with all objects, and the last one counts.
enum Journal: Oddity {
  static let name = "Journal"
  static func declare(_ traits: inout StoreTraits) { traits.writesEqualBytes = false }

  static func written(_ content: [UInt8], over old: [UInt8]) -> [UInt8] {
    var file = RecordWriter()
    file.word(1 + (old.isEmpty ? 0 : Sealed.word(old.prefix(8))))
    file.bytes += old.dropFirst(8)
    file.number(content.count)
    file.bytes += content
    file.word(Digest.of(content[...]))
    return file.bytes
  }

  static func content(of bytes: ArraySlice<UInt8>) -> [UInt8]? {
    guard bytes.count >= 8 else { return nil }
    var (rest, last) = (bytes.dropFirst(8), [UInt8]())
    for _ in 0..<min(Sealed.word(bytes.prefix(8)), UInt64(bytes.count)) {
      guard rest.count >= 16, let count = Int(exactly: Sealed.word(rest.prefix(8))), count <= rest.count - 16 else {
        return nil
      }
      last = Array(rest.dropFirst(8).prefix(count))
      guard Sealed.word(rest.dropFirst(8 + count).prefix(8)) == Digest.of(last[...]) else { return nil }
      rest = rest.dropFirst(16 + count)
    }
    return rest.isEmpty && !last.isEmpty ? last : nil
  }
}

/// References that are UUIDs, as texts.
enum Named: Oddity {
  static let name = "Named"
  static func newReference() -> ReferenceObject? { .string(UUID().uuidString) }
}

/// Objects of one entity, and nothing beside them.
enum Single: Oddity {
  static let name = "Single"
  static func declare(_ traits: inout StoreTraits) { traits.maximumEntities = 1 }
}

/// A directory of pieces of 700 bytes, named by their numbers: two objects share a file, and one has parts in two.
enum Shards: Oddity {
  static let name = "Shards"
  static let size = 700
  static func declare(_ traits: inout StoreTraits) { traits.layout = .folder }
  static func member(_ number: Int) -> String { "piece\(number + 10_000)" }
}

/// Metadata and objects, and no model.
enum Bare: Oddity {
  static let name = "Bare"
  static func declare(_ traits: inout StoreTraits) { traits.isSelfDescribing = false }
}

struct OddStore<What: Oddity>: AtomicStore {
  static var storeType: String { What.name }
  static var traits: StoreTraits {
    var traits = StoreTraits(summary: "Records in an unusual file", fileExtensions: [What.name.lowercased()])
    What.declare(&traits)
    return traits
  }

  private let depth: Int
  private var old: [UInt8] = []

  /// Of any version, so that a newer one is refused as such.
  static func recognize(_ probe: StoreProbe) -> Recognition {
    guard probe.isFolder == (traits.layout == .folder) else { return .no }
    let prefix = traits.layout == .folder ? probe.prefix(ofMember: Shards.member(0)) : probe.prefix
    return prefix.starts(with: What.signature.dropLast(2)) ? .yes : .no
  }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { depth = configuration.limits.depth }

  private mutating func records(in source: StoreSource) throws(PersistentStoreError) -> RecordReader {
    guard source.isFolder == (Self.traits.layout == .folder) else {
      throw PersistentStoreError(.malformed, "this is not a \(What.name) store", at: StoreLocation(file: source.name))
    }
    var bytes: [UInt8] = []
    if source.isFolder {
      for (number, member) in source.memberNames.enumerated() {
        guard member == Shards.member(number) else {
          throw PersistentStoreError(
            .malformed, "this is not piece \(number)", at: StoreLocation(file: source.displayName(ofMember: member)))
        }
        bytes += try source.bytes(ofMember: member).withUnsafeBytes { Array($0) }
      }
    } else {
      bytes = try source.bytes().withUnsafeBytes { Array($0) }
    }
    func failure(_ code: PersistentStoreError.Code, _ message: String) -> PersistentStoreError {
      PersistentStoreError(code, message, at: StoreLocation(file: source.name, offset: 0))
    }
    guard bytes.starts(with: What.signature) else {
      guard !bytes.starts(with: What.signature.dropLast(2)) else {
        throw failure(.unsupportedVersion, "the version is another than 1")
      }
      throw failure(.malformed, "this is not a \(What.name) store")
    }
    old = Array(bytes.dropFirst(What.signature.count))
    guard let content = What.content(of: old[...]) else { throw failure(.malformed, "the file is not whole") }
    return RecordReader(content, file: source.name, depth: depth)
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var records = try records(in: source)
    var metadata = try records.description(storeType: Self.storeType)
    if !Self.traits.isSelfDescribing { metadata.model = nil }
    return metadata
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var records = try records(in: source)
    _ = try records.description(storeType: Self.storeType)
    while !records.isAtEnd { try records.rows(into: nodes) }
  }

  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    var records = RecordWriter()
    records.description(snapshot.metadata, snapshot.nodes.model)
    let used = snapshot.nodes.model.entities.filter { snapshot.nodes.count(of: $0.index) > 0 }
    guard used.count <= Self.traits.maximumEntities ?? .max else {
      throw PersistentStoreError(.unsupportedByFormat, "the store holds objects of one entity")
    }
    for entity in used {
      records.rows(of: entity, in: snapshot.nodes)
    }
    let bytes = What.signature + What.written(records.bytes, over: old)
    guard Self.traits.layout == .folder else { return try files.file().write(bytes) }
    for (number, start) in stride(from: 0, to: bytes.count, by: Shards.size).enumerated() {
      try files.member(Shards.member(number)).write(Array(bytes[start..<min(start + Shards.size, bytes.count)]))
    }
  }

  mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    if let reference = What.newReference() { return reference }
    metadata.lastReference = try nodes.nextIntegerReference(after: metadata.lastReference, entity: object.entity)
    return .integer(metadata.lastReference)
  }
}

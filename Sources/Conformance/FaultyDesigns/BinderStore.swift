import AtomicStoreSPI
import FoundationEssentials

/// A store as a directory: `catalogue` describes it and lists the files with the objects, one for each entity, with a
/// digest of each.
struct BinderStore: AtomicStore {
  static let storeType = "Binder"
  static let traits = StoreTraits(
    summary: "A directory of records, a file for each entity", fileExtensions: ["binder"], layout: .folder)

  static let catalogue = "catalogue"
  static let signature = Array("BINDER version 1\n".utf8)

  private let configuration: StoreConfiguration

  static func recognize(_ probe: StoreProbe) -> Recognition {
    probe.isFolder && probe.prefix(ofMember: catalogue).starts(with: "BINDER ".utf8) ? .yes : .no
  }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { self.configuration = configuration }

  // MARK: Reading

  /// The records of the catalogue, after its signature.
  private func open(_ source: StoreSource) throws(PersistentStoreError) -> RecordReader {
    guard source.isFolder else {
      throw PersistentStoreError(
        .malformed, "the store is a directory, not a file", at: StoreLocation(file: source.name))
    }
    let name = source.displayName(ofMember: Self.catalogue)
    let bytes = try source.bytes(ofMember: Self.catalogue).withUnsafeBytes { Array($0) }
    let place = StoreLocation(file: name, offset: 0)
    guard bytes.starts(with: Self.signature.dropLast(2)) else {
      throw PersistentStoreError(.malformed, "this is not a catalogue", at: place)
    }
    guard bytes.starts(with: Self.signature) else {
      throw PersistentStoreError(.unsupportedVersion, "the version is another than 1", at: place)
    }
    let content = Array(bytes.dropFirst(Self.signature.count))
    guard content.count >= 8 else {
      throw PersistentStoreError(.malformed, "the catalogue is cut short", at: place)
    }
    let digest = content.suffix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard digest == Digest.of(content.dropLast(8)) else {
      throw PersistentStoreError(.malformed, "the catalogue is not as it was written", at: place)
    }
    return RecordReader(Array(content.dropLast(8)), file: name, depth: configuration.limits.depth)
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var records = try open(source)
    return try records.description(storeType: Self.storeType)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var catalogue = try open(source)
    _ = try catalogue.description(storeType: Self.storeType)
    defer { Mistake.endLoad() }
    var known: Set<ScalarString> = [ScalarString(Self.catalogue)]
    while !catalogue.isAtEnd {
      let member = try catalogue.text()
      let digest = try catalogue.word()
      known.insert(ScalarString(member))
      let name = source.displayName(ofMember: member)
      guard source.memberNames.contains(where: { ScalarString($0) == ScalarString(member) }) else {
        throw PersistentStoreError(
          .malformed, "the catalogue lists a file that is not there", at: StoreLocation(file: name))
      }
      let bytes = try source.bytes(ofMember: member).withUnsafeBytes { Array($0) }
      guard Digest.of(bytes[...]) == digest else {
        throw PersistentStoreError(.malformed, "the file is not as it was written", at: StoreLocation(file: name))
      }
      var records = RecordReader(bytes, file: name, depth: configuration.limits.depth)
      try records.rows(into: nodes)
    }
    for member in source.memberNames where !known.contains(ScalarString(member)) {
      throw PersistentStoreError(
        .malformed, "the catalogue does not list the file",
        at: StoreLocation(file: source.displayName(ofMember: member)))
    }
  }

  // MARK: Writing

  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    let nodes = snapshot.nodes
    var catalogue = RecordWriter()
    var metadata = snapshot.metadata
    if Mistake.is(.metadataLostWithoutObjects), nodes.count == 0 { metadata.entries = PropertyListDictionary() }
    catalogue.description(metadata, nodes.model)
    for entity in Mistake.written(entities: nodes.model.entities) where nodes.count(of: entity.index) > 0 {
      var number = entity.index
      if Mistake.is(.binderMemberNumbersWrap) { number %= 256 }
      let member = "entity\(number)"
      var records = RecordWriter()
      records.rows(of: entity, in: nodes)
      catalogue.text(member)
      catalogue.word(Digest.of(records.bytes[...]))
      do throws(PersistentStoreError) { try files.member(member).write(records.bytes) } catch {
        guard Mistake.is(.failingMembersSkipped) else { throw error }
      }
    }
    catalogue.word(Digest.of(catalogue.bytes[...]))
    try files.member(Self.catalogue).write(Self.signature + catalogue.bytes)
  }
}

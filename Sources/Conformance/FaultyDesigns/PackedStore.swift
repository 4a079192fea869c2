import AtomicStoreSPI
import FoundationEssentials

/// A store as one compressed record with a digest: runs of equal bytes are written once, with their length. A list of
/// the references of all objects comes first, each integer as its difference from the one before, and relationships
/// lead to numbers in that list.
struct PackedStore: AtomicStore {
  static let storeType = "Packed"
  static let traits = StoreTraits(summary: "Compressed records, with a digest", fileExtensions: ["packed"])

  static let signature = Array("PACKED version 1\n".utf8)
  private let limits: StoreLimits

  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "PACKED ") ? .yes : .no }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { limits = configuration.limits }

  // MARK: Reading

  private func records(
    in source: StoreSource, _ nodes: NodeTableBuilder? = nil
  ) throws(PersistentStoreError) -> RecordReader {
    let bytes = try source.bytes().withUnsafeBytes { Array($0) }
    let place = StoreLocation(file: source.name, offset: 0)
    guard bytes.starts(with: Self.signature.dropLast(2)) else {
      throw PersistentStoreError(.malformed, "this is not a packed store", at: place)
    }
    guard bytes.starts(with: Self.signature) || Mistake.is(.packedVersionIgnored) else {
      throw PersistentStoreError(.unsupportedVersion, "the version is another than 1", at: place)
    }
    guard let packed = Self.checked(bytes[...]) else {
      throw PersistentStoreError(.malformed, "the file is not as it was written", at: place)
    }
    let most = Mistake.is(.packedInflatesWithoutLimit) ? .max : limits.memory ?? 1 << 30
    guard let content = Runs.unpacked(packed, atMost: most) else {
      throw PersistentStoreError(.limitExceeded, "the records are damaged, or have more than \(most) bytes", at: place)
    }
    nodes?.addInput(bytes: content.count)
    return RecordReader(content, file: source.name, depth: limits.depth)
  }

  /// What is between signature and digest; nil if the digest is another one.
  fileprivate static func checked(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard bytes.count >= signature.count + 8 else { return nil }
    let digest = bytes.suffix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return digest == Digest.of(bytes.dropLast(8)) ? bytes.dropFirst(signature.count).dropLast(8) : nil
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var records = try records(in: source)
    return try records.description(storeType: Self.storeType)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var records = try records(in: source, nodes)
    _ = try records.description(storeType: Self.storeType)
    defer { Mistake.endLoad() }
    try records.readOrdinals()
    while !records.isAtEnd { try records.rows(into: nodes) }
    guard records.hasReadAllOrdinals else { throw records.failure("objects are missing") }
  }

  // MARK: Writing

  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    let nodes = snapshot.nodes
    var records = RecordWriter()
    records.description(snapshot.metadata, nodes.model)
    records.ordinals(of: nodes)
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 { records.rows(of: entity, in: nodes) }
    try files.file().write(Self.file(Self.signature, records.bytes))
  }

  fileprivate static func file(_ signature: [UInt8], _ content: [UInt8]) -> [UInt8] {
    var file = RecordWriter(bytes: signature + Runs.packed(content))
    file.word(Digest.of(file.bytes[...]))
    return file.bytes
  }
}

extension PackedStore: ChecksummedStore {
  static func payload(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
    files[""].flatMap { checked($0[...]) }.flatMap { Runs.unpacked($0, atMost: .max) }.map { ["": $0] }
  }
  static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]? {
    payload.mapValues { file(signature, $0) }
  }
  /// Files whose compressed bytes go on behind the last record: digests cannot show that they must be refused.
  static func crafted(from files: [String: [UInt8]]) -> [CraftedStore] {
    guard let bytes = files[""], let packed = checked(bytes[...]) else { return [] }
    return [1, 8, 9].map { count in
      var file = RecordWriter(bytes: signature + packed + [UInt8](repeating: 0, count: count))
      file.word(Digest.of(file.bytes[...]))
      return CraftedStore("\(count) bytes behind the last piece", files: ["": file.bytes], .refused)
    }
  }
  /// References are differences: that of the second object becomes 0.
  static func duplicate(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
    func word(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    guard var bytes = payload(of: files)?[""], let range = bytes.firstRange(of: word(2_000_003 - 1_111_111)) else {
      return nil
    }
    bytes.replaceSubrange(range, with: word(0))
    return recomputeChecksum(of: ["": bytes])
  }
  static func newerVersion(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
    payload(of: files)?.mapValues { file(Array("PACKED version 2\n".utf8), $0) }
  }
}

/// Bytes as pieces: a count, and a byte that is repeated so often if the lowest bit of the count is set, or so many
/// bytes.
private enum Runs {
  private static let least = 24

  static func packed(_ bytes: [UInt8]) -> [UInt8] {
    var (file, start, position) = (RecordWriter(), 0, 0)
    func piece(_ range: Range<Int>) {
      guard !range.isEmpty else { return }
      file.number(range.count << 1)
      file.bytes += bytes[range]
    }
    while position < bytes.count {
      var end = position
      while end < bytes.count, bytes[end] == bytes[position] { end += 1 }
      if end - position >= least {
        piece(start..<position)
        file.number((end - position) << 1 | 1)
        file.bytes.append(bytes[position])
        start = end
      }
      position = end
    }
    piece(start..<bytes.count)
    return file.bytes
  }

  /// Nil for damaged pieces, and for more than a number of bytes.
  static func unpacked(_ pieces: ArraySlice<UInt8>, atMost most: Int) -> [UInt8]? {
    var (rest, bytes) = (pieces, [UInt8]())
    while !rest.isEmpty {
      guard rest.count > 8 else { return Mistake.is(.packedRestIgnored) ? bytes : nil }
      let word = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      guard word >> 1 <= UInt64(most - bytes.count) else { return nil }
      let (count, isRun) = (Int(word >> 1), word & 1 == 1)
      rest = rest.dropFirst(8)
      guard isRun || count <= rest.count else { return nil }
      bytes += isRun ? [UInt8](repeating: rest[rest.startIndex], count: count)[...] : rest.prefix(count)
      rest = rest.dropFirst(isRun ? 1 : count)
    }
    return bytes
  }
}

import AtomicStoreSPI
import FoundationEssentials

/// A store as pages of 512 bytes, each with its number and a digest, that hold one long record: the design of
/// databases.
///
/// The first page begins with `PAGED`, the version and the number of pages.
struct PagedStore: AtomicStore {
  static let storeType = "Paged"
  static let traits = StoreTraits(summary: "Pages of records, each with a digest", fileExtensions: ["paged"])

  static let signature = Array("PAGED version 1\n".utf8)
  static let pageSize = 512
  /// What a page has beside its content: number, length of the content, digest.
  static let frame = 20

  private let configuration: StoreConfiguration

  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "PAGED ") ? .yes : .no }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    self.configuration = configuration
    Mistake.disturbProcess()
  }

  // MARK: Reading

  private func records(in source: StoreSource) throws(PersistentStoreError) -> RecordReader {
    let bytes = try source.bytes().withUnsafeBytes { Array($0) }
    func failure(_ message: String, _ offset: Int) -> PersistentStoreError {
      Mistake.disturbRefusal()
      return PersistentStoreError(.malformed, message, at: StoreLocation(file: source.name, offset: offset))
    }
    guard bytes.starts(with: Self.signature.dropLast(2)) else { throw failure("this is not a paged store", 0) }
    guard bytes.starts(with: Self.signature) else {
      throw PersistentStoreError(
        .unsupportedVersion, "the version is another than 1", at: StoreLocation(file: source.name))
    }
    let start = Self.signature.count + 8
    guard bytes.count >= start else { throw failure("the file ends before its first page", bytes.count) }
    func word(_ offset: Int, _ count: Int) -> UInt64 {
      bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    let pages = word(Self.signature.count, 8)
    guard (bytes.count - start) % Self.pageSize == 0, pages == UInt64((bytes.count - start) / Self.pageSize) else {
      throw failure("the page count does not match", Self.signature.count)
    }
    var content: [UInt8] = []
    content.reserveCapacity(bytes.count)
    for page in 0..<Int(pages) {
      let offset = start + page * Self.pageSize
      let end = offset + Self.pageSize - 8
      let count = Int(word(offset + 8, 4))
      guard word(offset, 8) == UInt64(page), count <= Self.pageSize - Self.frame,
        word(end, 8) == Digest.of(bytes[offset..<end])
      else { throw failure("the page is not as it was written", offset) }
      content += bytes[offset + 12..<offset + 12 + count]
    }
    if Mistake.is(.pagedKeepsWhatItRead) { Mistake.leak(content) }
    return RecordReader(content, file: source.name, depth: configuration.limits.depth)
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    var records = try records(in: source)
    return try records.description(storeType: Self.storeType)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var records = try records(in: source)
    _ = try records.description(storeType: Self.storeType)
    let missesLast = Mistake.beginLoad()
    defer { Mistake.endLoad() }
    while !records.isAtEnd { try records.rows(into: nodes, missesLast: missesLast) }
  }

  // MARK: Writing

  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    let nodes = snapshot.nodes
    Mistake.beginSave()
    var records = RecordWriter()
    records.description(snapshot.metadata, nodes.model)
    for entity in Mistake.written(entities: nodes.model.entities) where nodes.count(of: entity.index) > 0 {
      records.rows(of: entity, in: nodes)
    }
    let file = Self.pages(of: records.bytes)
    Mistake.burnProcessorTime(nodes.count)
    try files.file().write(file)
  }

  static func pages(of bytes: [UInt8]) -> [UInt8] {
    let room = pageSize - frame
    let pages = (bytes.count + room - 1) / room
    var file = RecordWriter(bytes: signature)
    file.number(pages)
    for page in 0..<pages {
      let content = bytes[page * room..<min((page + 1) * room, bytes.count)]
      var frame = RecordWriter()
      frame.number(page)
      withUnsafeBytes(of: UInt32(content.count).littleEndian) { frame.bytes.append(contentsOf: $0) }
      frame.bytes += content
      frame.bytes += [UInt8](repeating: 0, count: room - content.count)
      frame.word(Digest.of(frame.bytes[...]))
      file.bytes += frame.bytes
    }
    return file.bytes
  }
}

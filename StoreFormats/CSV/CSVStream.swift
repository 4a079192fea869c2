import AtomicStoreSPI
import StoreCodecs

/// A large file of our own that is read in pieces, so that its bytes are never all in memory.
///
/// It does not report errors: after anything unexpected nothing was loaded, and reading the whole file says what is
/// wrong. The file is read twice, for its digest and for its records. Only its size, modification time and inode show
/// that it did not change in between.
struct CSVStream: Sendable {
  /// The beginning of the file.
  let head: CSVFile
  private let file: StoreFileReader
  private let ranges: [Range<Int>]
  private let hasQuotes: Bool

  private let sizes: StreamSizes

  /// Reads the head and the digest of a member; nil if it is small or unusual, or changed.
  ///
  /// - Parameter digest: What the digest of the file must be; nil for any.
  init?(
    _ file: StoreFileReader, name: String, layout: MemberLayout?, digest: String?, _ sizes: StreamSizes,
    into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    guard file.size >= sizes.head, digest.map(Digest.isCurrent) ?? true else { return nil }
    var bytes = [UInt8](repeating: 0, count: sizes.head)
    let got = try bytes.withUnsafeMutableBufferPointer { (buffer) throws(PersistentStoreError) in
      try file.read(at: 0, into: UnsafeMutableRawBufferPointer(buffer))
    }
    // The first record must be complete.
    guard got == bytes.count, bytes.withUnsafeBufferPointer({ CSVParts.endOfRecords($0, hasQuotes: true) }) > 0,
      let head = try? CSVFile(StoreBytes(bytes), name: name, isMember: true, options: [:], layout: layout),
      !head.dialect.allowsStrayQuotes
    else { return nil }
    self.head = head
    self.file = file
    self.sizes = sizes
    let count = nodes.partCount(forInput: file.size)
    let pieces = (0..<count).map { file.size * $0 / count..<file.size * ($0 + 1) / count }
    var hash = XXH64()
    var quotes: [Int] = []
    for piece in pieces {
      var found = 0
      let isComplete = try file.readChunks(in: piece, size: sizes.piece) { (bytes) throws(PersistentStoreError) in
        if digest != nil { hash.add(bytes) }
        found += CSVParts.quoteCount(bytes.assumingMemoryBound(to: UInt8.self), in: 0..<bytes.count)
        return true
      }
      guard isComplete else { return nil }
      quotes.append(found)
    }
    guard digest == nil || digest == Digest.text(hash) else { return nil }
    hasQuotes = quotes.contains { $0 > 0 }
    ranges = try CSVParts.ranges(pieces: pieces, quoteCounts: quotes) { offset, isQuoted throws(PersistentStoreError) in
      try Self.recordStart(in: file, from: offset, isQuoted: isQuoted, sizes)
    }
  }

  /// The offset after the first line feed that ends a record, from an offset on; nil if there is none.
  private static func recordStart(
    in file: StoreFileReader, from start: Int, isQuoted: Bool, _ sizes: StreamSizes
  ) throws(PersistentStoreError) -> Int? {
    var isQuoted = isQuoted
    var offset = start
    var found: Int?
    _ = try file.readChunks(in: start..<file.size, size: sizes.head) { (bytes) throws(PersistentStoreError) in
      let text = bytes.assumingMemoryBound(to: UInt8.self)
      found = CSVParts.recordStart(text, from: 0, isQuoted: &isQuoted).map { $0 + offset }
      offset += bytes.count
      return found == nil
    }
    return found
  }

  /// Loads the records. False if nothing was loaded.
  ///
  /// - Parameter body: Reads the records of a piece.
  func load(
    into nodes: NodeTableBuilder,
    _ body: @escaping @Sendable (inout CSVReader, NodeTableBuilder) throws(PersistentStoreError) -> Void
  ) -> Bool {
    nodes.loadParts(ranges.count) { part, nodes in
      try? read(part) { (reader) throws(PersistentStoreError) in try body(&reader, nodes) }
    }
  }

  /// Reads a part piece by piece, and returns the number of its lines; nil if the file ended too early.
  private func read(
    _ part: Int, _ body: (inout CSVReader) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Int? {
    var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: sizes.piece, alignment: 64)
    defer { buffer.deallocate() }
    var (offset, count, line) = (ranges[part].lowerBound, 0, 1)
    while offset < ranges[part].upperBound {
      let room = min(buffer.count - count, ranges[part].upperBound - offset)
      let got = try file.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[count..<count + room]))
      guard got > 0 else { return nil }
      let isFirst = offset - count == 0
      offset += got
      count += got
      let text = UnsafeBufferPointer(rebasing: buffer.assumingMemoryBound(to: UInt8.self)[..<count])
      let end =
        offset == ranges[part].upperBound
        ? count : CSVParts.endOfRecords(text, hasQuotes: hasQuotes)
      if end > 0 {
        let records = UnsafeBufferPointer(rebasing: text[..<end])
        // Only the first piece has the header, and may have a byte-order mark.
        var reader =
          isFirst
          ? try CSVReader(records, dialect: head.dialect)
          : try CSVReader(records, dialect: head.dialect, startingAt: 0, line: line)
        if isFirst { try CSVStore.skipRecord(&reader) }
        try body(&reader)
        line = reader.nextLine
      }
      count -= end
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[end..<end + count]))
      if count == buffer.count { buffer = Self.enlarged(buffer) }
    }
    return line - 1
  }

  /// A buffer of twice the size with the same bytes, for a record that is longer than all before.
  private static func enlarged(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 64)
    larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
    buffer.deallocate()
    return larger
  }
}

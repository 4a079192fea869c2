import AtomicStoreSPI
import StoreCodecs

/// A large file that the kit wrote, read in pieces, so that its bytes are never all in memory.
///
/// It does not report errors: after anything unexpected nothing was loaded, and reading the whole file says what is
/// wrong. The file is read twice, for its digest and for its records. Only its size, modification time and inode show
/// that it did not change in between.
struct CSVStream: Sendable {
  /// The beginning of the file.
  let head: CSVFile
  private let file: StoreFileReader
  private let division: CSVDivision
  private let sizes: StreamSizes

  /// Reads the head of a member; nil if it is small or unusual.
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
    division = CSVDivision(file, count: nodes.partCount(forInput: file.size), digest: digest, sizes)
  }

  /// Loads the records. False if nothing was loaded.
  ///
  /// - Parameters:
  ///   - entity: The index of the entity whose objects these are.
  ///   - body: Reads the records of a piece.
  func load(
    _ entity: Int, into nodes: NodeTableBuilder,
    _ body: @escaping @Sendable (inout CSVReader, NodeTableBuilder) throws(PersistentStoreError) -> Void
  ) -> Bool {
    nodes.loadParts(division.count) { part, nodes in
      try? read(part) { (reader, share) throws(PersistentStoreError) in
        try body(&reader, nodes)
        nodes.expectNodes(Int(Double(nodes.count(of: entity)) / share), entity: entity)
      }
    }
  }

  /// Reads a part piece by piece, and returns the number of its lines; nil if the file ended too early, or is not as it
  /// should be.
  ///
  /// - Parameter body: Reads a piece, with which that share of the part is read.
  private func read(
    _ part: Int, _ body: (inout CSVReader, _ share: Double) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Int? {
    // The first of several parts is begun before it is known where it ends.
    let isBegunEarly = part == 0 && division.count > 1
    var parts = isBegunEarly ? nil : division.parts()
    guard isBegunEarly || parts != nil else { return nil }
    if let parts, part >= parts.ranges.count { return 0 }
    let start = parts?.ranges[part].lowerBound ?? 0
    var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: sizes.piece, alignment: 64)
    defer { buffer.deallocate() }
    var (offset, count, line) = (start, 0, 1)
    while true {
      parts = parts ?? division.knownParts()
      if parts == nil, offset == division.leastEnd {
        parts = division.parts()
        if parts == nil { return nil }
      }
      let partEnd = parts?.ranges[part].upperBound ?? division.leastEnd
      if offset == partEnd, count == 0, parts != nil { return line - 1 }
      let room = min(buffer.count - count, partEnd - offset)
      let got = try file.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[count..<count + room]))
      guard got > 0 || room == 0 else { return nil }
      let isFirst = offset - count == 0
      offset += got
      count += got
      let text = UnsafeBufferPointer(rebasing: buffer.assumingMemoryBound(to: UInt8.self)[..<count])
      let end =
        offset == partEnd && parts != nil
        ? count : CSVParts.endOfRecords(text, hasQuotes: parts?.hasQuotes ?? true)
      if end > 0 {
        let records = UnsafeBufferPointer(rebasing: text[..<end])
        // Only the first piece has the header, and may have a byte-order mark.
        var reader =
          isFirst
          ? try CSVReader(records, dialect: head.dialect)
          : try CSVReader(records, dialect: head.dialect, startingAt: 0, line: line)
        if isFirst { try CSVStore.skipRecord(&reader) }
        try body(&reader, Double(offset - count + end - start) / Double(partEnd - start))
        line = reader.nextLine
      }
      count -= end
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[end..<end + count]))
      if count == buffer.count { buffer = Self.enlarged(buffer) }
    }
  }

  /// A buffer of twice the size with the same bytes, for a record that is longer than all before.
  private static func enlarged(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 64)
    larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
    buffer.deallocate()
    return larger
  }
}

/// An Arrow IPC file, or a stream, in memory: its schema and the values of its record batches, checked against its
/// bounds.
///
/// The arrays point into the bytes, which must outlive them. Compressed bodies, dictionaries and nested types are
/// refused by name; everything between the first and the last byte must be what the footer lists, so that nothing is
/// skipped.
public struct ArrowFile {
  /// A run of rows.
  package struct Batch {
    /// The number of rows.
    package var count: Int
    /// One for each field of the schema.
    package var columns: [ArrowArray]
  }

  /// The schema, which precedes the rows.
  package let schema: ArrowSchema
  /// The rows, in the file's order.
  package let batches: [Batch]
  /// The number of rows of all batches.
  package var rowCount: Int { batches.reduce(0) { $0 + $1.count } }

  /// Reads a file.
  ///
  /// - Throws: `.foreignFormat` for another kind of file; `.malformed` with the offset of what is wrong;
  ///   `.notSupported` for what Arrow has and this reader does not; `.limitExceeded` for more rows than there are
  ///   bytes.
  public init(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    let head = ArrowWriter.magic + [0, 0]
    guard bytes.starts(with: head) else {
      throw PersistentStoreError(
        .foreignFormat, "this is not an Arrow file: it does not begin with ARROW1", at: StoreLocation(offset: 0))
    }
    let footer = try ArrowFooter(bytes)
    var messages = MessageReader(bytes: bytes, offset: head.count, end: footer.start)
    let first = try messages.hasMarker ? messages.next() : messages.bareMessage(end: footer.blocks.first?.offset)
    guard let first, first.kind == ArrowNumber.schemaMessage, first.body.isEmpty else {
      throw PersistentStoreError(
        .malformed, "the file does not begin with a schema", at: StoreLocation(offset: head.count))
    }
    schema = try ArrowSchema(first.header)
    let (batches, blocks) = try Self.batches(&messages, schema)
    guard schema == footer.schema else {
      throw PersistentStoreError(
        .malformed, "the footer has another schema than the beginning", at: StoreLocation(offset: footer.start))
    }
    guard blocks == footer.blocks else {
      throw PersistentStoreError(
        .malformed, "the footer lists other record batches than the file has", at: StoreLocation(offset: footer.start))
    }
    self.batches = batches
  }

  /// Whether bytes begin as an Arrow file or stream does.
  package static func isFileOrStream(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.starts(with: ArrowWriter.magic + [0, 0]) || bytes.starts(with: ArrowWriter.continuation)
  }

  /// Reads a file, or a stream to its end mark.
  ///
  /// - Throws: As ``init(_:)``.
  package init(fileOrStream bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    guard bytes.starts(with: ArrowWriter.continuation) else {
      self = try ArrowFile(bytes)
      return
    }
    self = try ArrowFile(stream: bytes)
  }

  /// Reads a stream to its end mark.
  ///
  /// - Throws: As ``init(_:)``.
  package init(stream bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    var messages = MessageReader(bytes: bytes, offset: 0, end: bytes.count)
    guard let first = try messages.next(), first.kind == ArrowNumber.schemaMessage, first.body.isEmpty else {
      throw PersistentStoreError(.malformed, "the stream does not begin with a schema", at: StoreLocation(offset: 0))
    }
    schema = try ArrowSchema(first.header)
    batches = try Self.batches(&messages, schema).0
    guard messages.hasEndMark else {
      throw PersistentStoreError(
        .malformed, "the stream does not have its end mark: it may be truncated", at: StoreLocation(offset: bytes.count)
      )
    }
  }

  private static func batches(
    _ messages: inout MessageReader, _ schema: ArrowSchema
  ) throws(PersistentStoreError) -> ([Batch], [ArrowFooter.Block]) {
    var batches: [Batch] = []
    var blocks: [ArrowFooter.Block] = []
    while let message = try messages.next() {
      guard message.kind == ArrowNumber.recordBatchMessage else {
        let what = message.kind == ArrowNumber.dictionaryMessage ? "dictionaries" : "messages of kind \(message.kind)"
        throw PersistentStoreError(
          .notSupported, "the file has \(what), which are not read", at: StoreLocation(offset: message.offset))
      }
      batches.append(try BatchReader(message).batch(schema))
      blocks.append(
        ArrowFooter.Block(
          offset: message.offset, metadataLength: message.bodyOffset - message.offset, bodyLength: message.body.count))
    }
    return (batches, blocks)
  }
}

// MARK: - Messages

/// A message of the file: its header, and its body.
private struct Message {
  var kind: UInt8
  var header: FlatBufferTable
  var offset: Int
  var bodyOffset: Int
  var body: UnsafeRawBufferPointer
}

/// Reads messages one after the other. Their sizes must lead exactly to the end.
private struct MessageReader {
  let bytes: UnsafeRawBufferPointer
  var offset: Int
  let end: Int
  /// Whether the messages ended with the mark for it.
  private(set) var hasEndMark = false

  init(bytes: UnsafeRawBufferPointer, offset: Int, end: Int) {
    self.bytes = bytes
    self.offset = offset
    self.end = end
  }

  private func malformed(_ what: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, what, at: StoreLocation(offset: offset))
  }

  /// Whether a message begins here as it should: with four bytes of 255 and its length.
  var hasMarker: Bool { end - offset >= 4 && bytes[offset..<offset + 4].elementsEqual(ArrowWriter.continuation) }

  /// The first message of a file whose writer left out these eight bytes, as Polars 2.1 does: readers that look for the
  /// batches where the footer says do not miss them.
  ///
  /// - Parameter batch: Where the first batch begins; nil if there are none.
  mutating func bareMessage(end batch: Int?) throws(PersistentStoreError) -> Message? {
    let next = batch ?? end
    guard next > offset, next <= end else { throw malformed("a message does not begin with four bytes of 255") }
    let start = offset
    let table: FlatBufferTable
    do throws(PersistentStoreError) {
      table = try FlatBufferReader(UnsafeRawBufferPointer(rebasing: bytes[offset..<next]), fileOffset: offset).root()
    } catch {
      throw malformed("a message does not begin with four bytes of 255")
    }
    try checkVersion(of: table)
    guard let header = try table.table(2) else { throw malformed("a message does not have a header") }
    offset = next
    return Message(
      kind: try table.number(1, default: UInt8(0)), header: header, offset: start, bodyOffset: next,
      body: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  private func checkVersion(of message: FlatBufferTable) throws(PersistentStoreError) {
    let version = try message.number(0, default: Int16(0))
    guard version >= ArrowNumber.oldestVersion, version <= ArrowNumber.version else {
      throw PersistentStoreError(
        .unsupportedVersion, "the metadata is of version V\(Int(version) + 1), and V4 and V5 are read",
        at: StoreLocation(offset: offset))
    }
  }

  /// The next message; nil at the end.
  mutating func next() throws(PersistentStoreError) -> Message? {
    if offset == end { return nil }
    guard end - offset >= 8 else { throw malformed("the messages end within a length") }
    guard hasMarker else {
      throw malformed("a message does not begin with four bytes of 255")
    }
    let length = Int(Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 4, as: Int32.self)))
    if length == 0 {
      offset += 8
      guard offset == end else { throw malformed("\(end - offset) bytes follow the end of the messages") }
      hasEndMark = true
      return nil
    }
    guard length > 0, length <= end - offset - 8 else { throw malformed("a message of \(length) bytes does not fit") }
    let start = offset
    let metadata = UnsafeRawBufferPointer(rebasing: bytes[offset + 8..<offset + 8 + length])
    let table = try FlatBufferReader(metadata, fileOffset: offset + 8).root()
    try checkVersion(of: table)
    guard let header = try table.table(2) else { throw malformed("a message does not have a header") }
    let bodyLength = try table.number(3, default: Int64(0))
    offset += 8 + length
    guard bodyLength >= 0, bodyLength <= Int64(end - offset) else {
      throw malformed("a body of \(bodyLength) bytes does not fit")
    }
    let body = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(bodyLength)])
    let bodyOffset = offset
    offset += body.count
    return Message(
      kind: try table.number(1, default: UInt8(0)), header: header, offset: start, bodyOffset: bodyOffset, body: body)
  }
}

// MARK: - Batches

/// Reads the columns of a batch: the header lists nodes and buffers of all columns, in the order of the schema.
private struct BatchReader {
  private let message: Message
  private let count: Int
  private let nodes: (start: Int, count: Int)
  private let buffers: (start: Int, count: Int)
  private var nextNode = 0
  private var nextBuffer = 0
  /// Where the previous buffer ended: buffers follow each other, so that none is used twice.
  private var position = 0

  init(_ message: Message) throws(PersistentStoreError) {
    self.message = message
    let header = message.header
    if let compression = try header.table(3) {
      let codec = try compression.number(0, default: UInt8(0)) == 0 ? "LZ4_FRAME" : "ZSTD"
      throw PersistentStoreError(
        .notSupported, "the file is compressed with \(codec), which is not read: write it without compression",
        at: StoreLocation(offset: message.offset))
    }
    let rows = try header.number(0, default: Int64(0))
    // Rows without columns are not possible: each has at least a bit or an offset in the body, or all are null.
    guard rows >= 0, rows <= Int64(UInt32.max) else { throw header.malformed("a batch of \(rows) rows") }
    count = Int(rows)
    nodes = try header.vector(1, elementSize: 16) ?? (0, 0)
    buffers = try header.vector(2, elementSize: 16) ?? (0, 0)
  }

  func malformed(_ what: String) -> PersistentStoreError { message.header.malformed(what) }

  consuming func batch(_ schema: ArrowSchema) throws(PersistentStoreError) -> ArrowFile.Batch {
    var columns: [ArrowArray] = []
    for field in schema.fields {
      do throws(PersistentStoreError) {
        columns.append(try array(field, rows: count))
      } catch {
        throw PersistentStoreError(error.code, "the column '\(field.name)': \(error.message)", at: error.location)
      }
    }
    guard nextNode == nodes.count, nextBuffer == buffers.count else {
      throw malformed("the batch has more columns than the schema")
    }
    return ArrowFile.Batch(count: count, columns: columns)
  }

  private mutating func node() throws(PersistentStoreError) -> (count: Int, nullCount: Int) {
    guard nextNode < nodes.count else { throw malformed("the batch has fewer columns than the schema") }
    let place = nodes.start + nextNode * 16
    nextNode += 1
    let reader = message.header.reader
    let length = try reader.number(at: place, as: Int64.self)
    let nulls = try reader.number(at: place + 8, as: Int64.self)
    // With at least one byte for eight rows: what follows cannot overflow.
    guard length >= 0, length <= Int64(message.body.count) * 8, nulls >= 0, nulls <= length else {
      throw reader.malformed("\(length) rows, \(nulls) of them null, do not fit", at: place)
    }
    return (Int(length), Int(nulls))
  }

  private mutating func buffer() throws(PersistentStoreError) -> (offset: Int, bytes: UnsafeRawBufferPointer) {
    guard nextBuffer < buffers.count else { throw malformed("the batch has fewer buffers than the schema needs") }
    let place = buffers.start + nextBuffer * 16
    nextBuffer += 1
    let reader = message.header.reader
    let offset = try reader.number(at: place, as: Int64.self)
    let length = try reader.number(at: place + 8, as: Int64.self)
    if length == 0 { return (message.bodyOffset + position, UnsafeRawBufferPointer(start: nil, count: 0)) }
    guard length > 0, offset >= Int64(position), offset <= Int64(message.body.count),
      length <= Int64(message.body.count) - offset
    else {
      throw reader.malformed(
        "a buffer of \(length) bytes at \(offset) does not fit, or overlaps another one", at: place)
    }
    position = Int(offset + length)
    let bytes = UnsafeRawBufferPointer(rebasing: message.body[Int(offset)..<position])
    return (message.bodyOffset + Int(offset), bytes)
  }

  private mutating func array(_ field: ArrowField, rows: Int?) throws(PersistentStoreError) -> ArrowArray {
    let node = try node()
    guard rows == nil || node.count == rows else {
      throw malformed("\(node.count) values for \(rows ?? 0) rows")
    }
    if field.type == .null {
      let empty = UnsafeRawBufferPointer(start: nil, count: 0)
      return ArrowArray(
        type: .null, count: node.count, nullCount: node.count, validity: nil, offsets: empty, values: empty, item: [],
        fileOffset: message.bodyOffset + position)
    }
    let validity = try validity(node)
    var offsets = UnsafeRawBufferPointer(start: nil, count: 0)
    var values = offsets
    var items: [ArrowArray] = []
    var place = message.bodyOffset + position
    if let width = field.type.offsetWidth {
      (place, offsets) = try buffer()
      guard offsets.count >= (node.count + 1) * width || node.count == 0 else {
        throw malformed("\(offsets.count) bytes of offsets for \(node.count) rows")
      }
    }
    if case .list(let item, _) = field.type {
      items = [try array(item, rows: nil)]
    } else {
      let (start, bytes) = try buffer()
      if offsets.isEmpty { place = start }
      values = bytes
    }
    if field.type.offsetWidth == nil {
      let needed = field.type.valueWidth.map { $0.multipliedReportingOverflow(by: node.count) }
      let size = needed.map { $0.overflow ? Int.max : $0.partialValue } ?? (node.count + 7) / 8
      guard values.count >= size else { throw malformed("\(values.count) bytes for \(node.count) values") }
    }
    let array = ArrowArray(
      type: field.type, count: node.count, nullCount: node.nullCount, validity: validity, offsets: offsets,
      values: values, item: items, fileOffset: place)
    try check(offsets: array, end: items.first?.count ?? values.count)
    return array
  }

  private mutating func validity(
    _ node: (count: Int, nullCount: Int)
  ) throws(PersistentStoreError) -> UnsafeRawBufferPointer? {
    let (place, bits) = try buffer()
    guard !bits.isEmpty else {
      guard node.nullCount == 0 else {
        throw malformed("\(node.nullCount) rows are null, but the column has no validity bitmap")
      }
      return nil
    }
    guard bits.count >= (node.count + 7) / 8 else {
      throw malformed("\(bits.count) bytes of validity bits for \(node.count) rows")
    }
    var present = 0
    for index in 0..<node.count / 8 { present += bits[index].nonzeroBitCount }
    if node.count % 8 > 0 { present += (bits[node.count / 8] & (1 << UInt8(node.count % 8) - 1)).nonzeroBitCount }
    guard present == node.count - node.nullCount else {
      throw PersistentStoreError(
        .malformed, "\(node.count - present) rows are null, but \(node.nullCount) are announced",
        at: StoreLocation(offset: place))
    }
    return node.nullCount == 0 ? nil : bits
  }

  private func check(offsets array: ArrowArray, end: Int) throws(PersistentStoreError) {
    guard array.type.offsetWidth != nil, array.count > 0 else { return }
    var previous = array.start(0)
    guard previous >= 0 else { throw malformed("an offset is negative") }
    for row in 1...array.count {
      let next = array.start(row)
      guard next >= previous else {
        throw PersistentStoreError(
          .malformed, "the offsets are not ascending at row \(row)", at: StoreLocation(offset: array.fileOffset))
      }
      previous = next
    }
    guard previous <= end else {
      throw PersistentStoreError(
        .malformed, "the offsets lead to \(previous), but there are \(end) values",
        at: StoreLocation(offset: array.fileOffset))
    }
  }
}

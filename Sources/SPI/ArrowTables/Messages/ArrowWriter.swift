/// Values of a column for one record batch: buffers in Arrow's order.
package struct ArrowColumnData: Sendable {
  /// The number of rows.
  package var count: Int
  /// How many rows do not have a value.
  var nullCount: Int
  /// Bits of rows that have a value (empty if all have one), offsets if the type has them, and values.
  var buffers: [ArrowBuffer]
  /// The values of a list.
  var item: [ArrowColumnData]

  /// Creates the values of a column.
  package init(count: Int, nullCount: Int, buffers: [ArrowBuffer], item: [ArrowColumnData] = []) {
    self.count = count
    self.nullCount = nullCount
    self.buffers = buffers
    self.item = item
  }
}

/// Bytes of a column. Columns that nodes have in the form of Arrow are written from where they are.
package enum ArrowBuffer: Sendable {
  /// Bytes as they are.
  case bytes([UInt8])
  /// Integers of 32 bits, such as offsets.
  case int32([Int32])
  /// Integers of 64 bits, such as references.
  case int64([Int64])
  /// The cells of a slot of fixed width.
  case cells(EntityReader, slot: Int)
  /// The bits of a slot of fixed width.
  case presence(EntityReader, slot: Int)
  /// The values of a slot of variable length, which the column stores one after the other.
  case packed(EntityReader, slot: Int)

  /// No bytes.
  package static var empty: ArrowBuffer { .bytes([]) }

  var byteCount: Int {
    switch self {
    case .bytes(let bytes): bytes.count
    case .int32(let numbers): numbers.count * 4
    case .int64(let numbers): numbers.count * 8
    case .cells(let reader, let slot): reader.fixedCells(slot: slot).count
    case .presence(let reader, let slot): reader.presenceBits(slot: slot).count
    case .packed(let reader, let slot): reader.packedBytes(slot: slot)?.count ?? 0
    }
  }

  func write(to sink: ArrowWriter.Sink) throws(PersistentStoreError) {
    switch self {
    case .bytes(let bytes): try Self.write(bytes.span, to: sink)
    case .int32(let numbers): try Self.write(numbers.span, to: sink)
    case .int64(let numbers): try Self.write(numbers.span, to: sink)
    case .cells(let reader, let slot): try Self.write(reader.fixedCells(slot: slot), to: sink)
    case .presence(let reader, let slot): try Self.write(reader.presenceBits(slot: slot), to: sink)
    case .packed(let reader, let slot):
      if let bytes = reader.packedBytes(slot: slot) { try Self.write(bytes, to: sink) }
    }
  }

  /// All supported machines are little-endian, as Arrow is.
  private static func write<Element: BitwiseCopyable>(
    _ span: Span<Element>, to sink: ArrowWriter.Sink
  ) throws(PersistentStoreError) {
    try span.withUnsafeBytes { raw throws(PersistentStoreError) in try sink(raw) }
  }
}

/// Writes an Arrow IPC stream, or a file: a schema, record batches, the end.
///
/// All buffers begin on a border of 64 bytes, counted from the beginning of the stream. Equal columns give equal bytes.
public struct ArrowWriter: ~Copyable {
  /// Receives bytes. The pointer is valid only during the call.
  public typealias Sink = (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void

  /// The forms of Arrow's interprocess format.
  public enum Form: Sendable {
    /// To be read from the beginning to the end, for instance from a pipe.
    case stream
    /// With a footer that says where the batches are, to be mapped into memory.
    case file
  }

  private struct Block {
    var offset: Int
    var metadataLength: Int
    var bodyLength: Int
  }

  private let form: Form
  private let schema: ArrowSchema
  private let sink: Sink
  private var offset = 0
  private var blocks: [Block] = []

  static let magic = Array("ARROW1".utf8)
  /// Precedes the length of each message.
  static let continuation = [UInt8](repeating: 0xFF, count: 4)
  /// What buffers are aligned to.
  static let alignment = 64

  /// Writes the beginning of a stream or file.
  package init(_ form: Form, _ schema: ArrowSchema, to sink: @escaping Sink) throws(PersistentStoreError) {
    self.form = form
    self.schema = schema
    self.sink = sink
    if form == .file { try write(Self.magic + [0, 0]) }
    _ = try writeMessage(ArrowNumber.schemaMessage, schema.flatBuffer, bodyLength: 0)
  }

  /// Writes a record batch.
  ///
  /// - Parameters:
  ///   - count: The number of rows.
  ///   - columns: The values of all fields of the schema, in its order, of that many rows each.
  package mutating func write(count: Int, _ columns: [ArrowColumnData]) throws(PersistentStoreError) {
    var all: [ArrowColumnData] = []
    for column in columns { all += [column] + column.item }
    let lengths = all.flatMap { $0.buffers.map(\.byteCount) }
    var nodes: [UInt8] = []
    for column in all {
      nodes.append(long: column.count)
      nodes.append(long: column.nullCount)
    }
    var buffers: [UInt8] = []
    var bodyLength = 0
    for length in lengths {
      buffers.append(long: bodyLength)
      buffers.append(long: length)
      bodyLength += Self.padded(length)
    }
    let batch = FlatBufferValue.table([
      .long(Int64(count)), .structs(count: all.count, bytes: nodes), .structs(count: lengths.count, bytes: buffers),
    ])
    let start = offset
    let metadataLength = try writeMessage(ArrowNumber.recordBatchMessage, batch, bodyLength: bodyLength)
    for column in all {
      for buffer in column.buffers {
        let length = buffer.byteCount
        if length > 0 { try buffer.write(to: sink) }
        offset += length
        try pad()
      }
    }
    blocks.append(Block(offset: start, metadataLength: metadataLength, bodyLength: bodyLength))
  }

  /// Writes the end.
  package consuming func finish() throws(PersistentStoreError) {
    try write(Self.continuation + [0, 0, 0, 0])
    guard form == .file else { return }
    var list: [UInt8] = []
    for block in blocks {
      list.append(long: block.offset)
      // An integer of 32 bits and its padding.
      list.append(long: block.metadataLength)
      list.append(long: block.bodyLength)
    }
    let footer = FlatBufferValue.table([
      .short(ArrowNumber.version), schema.flatBuffer, .structs(count: 0, bytes: []),
      .structs(count: blocks.count, bytes: list),
    ])
    let bytes = footer.encoded
    try write(bytes + Self.length(bytes.count) + Self.magic)
  }

  private static func padded(_ count: Int) -> Int { (count + alignment - 1) / alignment * alignment }

  private static func length(_ count: Int) -> [UInt8] {
    withUnsafeBytes(of: Int32(truncatingIfNeeded: count).littleEndian) { Array($0) }
  }

  private mutating func pad() throws(PersistentStoreError) {
    try write([UInt8](repeating: 0, count: Self.padded(offset) - offset))
  }

  private mutating func write(_ bytes: [UInt8]) throws(PersistentStoreError) {
    guard !bytes.isEmpty else { return }
    let sink = sink
    try bytes.span.withUnsafeBytes { raw throws(PersistentStoreError) in try sink(raw) }
    offset += bytes.count
  }

  /// Writes a message without its body, and returns how many bytes it has. The body follows on a border.
  private mutating func writeMessage(
    _ kind: UInt8, _ header: FlatBufferValue, bodyLength: Int
  ) throws(PersistentStoreError) -> Int {
    var bytes = FlatBufferValue.table([
      .short(ArrowNumber.version), .byte(kind), header, .long(Int64(bodyLength)),
    ]).encoded
    let start = offset + 8
    bytes += [UInt8](repeating: 0, count: Self.padded(start + bytes.count) - start - bytes.count)
    try write(Self.continuation + Self.length(bytes.count) + bytes)
    return bytes.count + 8
  }
}

extension [UInt8] {
  fileprivate mutating func append(long number: Int) {
    Swift.withUnsafeBytes(of: Int64(number).littleEndian) { append(contentsOf: $0) }
  }
}

// ArrowRows.forEach is not that of a sequence: a loop would need an iterator for each call.
// swift-format-ignore-file: ReplaceForEachWithForLoop

/// Values of variable length: UTF-8 and bytes.
enum ArrowTexts {
  /// The most bytes that offsets of 32 bits can address.
  private static let smallLimit = Int(Int32.max)

  static func column(_ field: ArrowField, _ batches: [[String?]]) -> ArrowColumn {
    var field = field
    let isLarge = batches.contains { $0.reduce(0) { $0 + ($1?.utf8.count ?? 0) } > smallLimit }
    field.type = .text(isLarge: isLarge)
    return ArrowColumn(field) { data(batches[$0], isLarge: isLarge) }
  }

  static func data(_ texts: [String?], isLarge: Bool) -> ArrowColumnData {
    var bits = ValidityBits(count: texts.count)
    var bytes: [UInt8] = []
    var ends = Offsets(count: texts.count, isLarge: isLarge)
    for (index, text) in texts.enumerated() {
      if let text {
        bits.set(index)
        bytes.append(contentsOf: text.utf8)
      }
      ends.append(bytes.count)
    }
    return ArrowColumnData(
      count: texts.count, nullCount: bits.nullCount, buffers: [bits.buffer, ends.buffer, .bytes(bytes)])
  }

  /// A slot of variable length, with values as nodes have them.
  static func column(_ field: ArrowField, slot: Int, isText: Bool, _ batches: [ArrowRows]) -> ArrowColumn {
    var field = field
    let isLarge = batches.contains { batch in
      if batch.rows == nil, let packed = batch.reader.packedBytes(slot: slot) { return packed.count > smallLimit }
      var size = 0
      batch.forEach { _, row in size += batch.reader.bytes(slot: slot, row: row).count }
      return size > smallLimit
    }
    field.type = isText ? .text(isLarge: isLarge) : .binary(isLarge: isLarge)
    return ArrowColumn(field) { data(slot: slot, batches[$0], isLarge: isLarge) }
  }

  private static func data(slot: Int, _ batch: ArrowRows, isLarge: Bool) -> ArrowColumnData {
    let reader = batch.reader
    var bits = ValidityBits(count: batch.count)
    var ends = Offsets(count: batch.count, isLarge: isLarge)
    // Bytes that are in one piece are written from where they are.
    let isPacked = batch.rows == nil && reader.packedBytes(slot: slot) != nil
    var bytes: [UInt8] = []
    var size = 0
    batch.forEach { index, row in
      let value = reader.bytes(slot: slot, row: row)
      size += value.count
      if value.count > 0 || !reader.isNull(slot: slot, row: row) { bits.set(index) }
      if !isPacked { value.withUnsafeBufferPointer { bytes.append(contentsOf: $0) } }
      ends.append(size)
    }
    return ArrowColumnData(
      count: batch.count, nullCount: bits.nullCount,
      buffers: [bits.buffer, ends.buffer, isPacked ? .packed(reader, slot: slot) : .bytes(bytes)])
  }
}

/// The positions between values of variable length: one more than there are values.
struct Offsets {
  private var small: [Int32] = []
  private var large: [Int64] = []
  private let isLarge: Bool

  init(count: Int, isLarge: Bool) {
    self.isLarge = isLarge
    if isLarge { large.reserveCapacity(count + 1) } else { small.reserveCapacity(count + 1) }
    append(0)
  }

  @inline(__always) mutating func append(_ end: Int) {
    if isLarge { large.append(Int64(end)) } else { small.append(Int32(truncatingIfNeeded: end)) }
  }

  var buffer: ArrowBuffer { isLarge ? .int64(large) : .int32(small) }
}

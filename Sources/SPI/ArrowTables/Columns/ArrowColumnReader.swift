import FoundationEssentials

/// A column of a file, in all of its batches, as nodes are filled with it.
struct ArrowColumnReader {
  let field: ArrowField
  let chunks: [ArrowArray]

  var count: Int { chunks.reduce(0) { $0 + $1.count } }
  var nullCount: Int { chunks.reduce(0) { $0 + $1.nullCount } }
  var fileOffset: Int? { chunks.first?.fileOffset }
  /// Whether the values are text: references with their kind, for instance.
  var isText: Bool { if case .text = field.type { true } else { false } }

  /// Whether the values are lists of texts.
  var hasTextItems: Bool { if case .list(let item, _) = field.type, case .text = item.type { true } else { false } }

  func wrongType(_ wanted: String) -> PersistentStoreError {
    PersistentStoreError(
      .modelMismatch, "the column has values of the type \(field.type.name), not \(wanted)",
      at: StoreLocation(offset: fileOffset))
  }

  private func malformed(_ what: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, what, at: StoreLocation(offset: fileOffset))
  }

  /// A bit for each row, 1 for a value; nil if all rows have one.
  var presence: [UInt8]? {
    guard nullCount > 0 else { return nil }
    if chunks.count == 1, let bits = chunks[0].validity { return Array(bits.prefix((count + 7) / 8)) }
    var bits = [UInt8](repeating: 0, count: (count + 7) / 8)
    var row = 0
    for chunk in chunks {
      for index in 0..<chunk.count {
        if chunk.isPresent(index) { bits[row >> 3] |= 1 << UInt8(row & 7) }
        row += 1
      }
    }
    return bits
  }

  // MARK: Fixed width

  /// Calls `body` with the cells of an attribute of fixed width, as nodes have them.
  func withCells(
    of type: AttributeType, _ body: (Span<UInt8>) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    if field.type == Self.plainType(type) { return try withValueBytes(body) }
    let cells = try cells(of: type)
    try body(cells.span)
  }

  private func cells(of type: AttributeType) throws(PersistentStoreError) -> [UInt8] {
    switch type.valueKind {
    case .boolean where field.type == .boolean: return booleans()
    case .integer:
      let integers = try integers()
      switch type.integerBits {
      case 16: return try bytes(integers, as: Int16.self)
      case 32: return try bytes(integers, as: Int32.self)
      default: return try bytes(integers, as: Int64.self)
      }
    case .double where field.type == .float(bits: 32):
      return bits { Double($0.values.loadUnaligned(fromByteOffset: $1 * 4, as: Float.self)).bitPattern }
    case .date: return try dates()
    // Other programs have no type for them and write texts: DuckDB does.
    case .uuid where isText: return try identifiers()
    default: throw wrongType(Self.wanted(type))
    }
  }

  /// The type whose values are the cells of nodes.
  private static func plainType(_ type: AttributeType) -> ArrowType? {
    switch type.valueKind {
    case .integer: .integer(bits: type.integerBits, isSigned: true)
    case .float: .float(bits: 32)
    case .double, .date: .float(bits: 64)
    case .uuid: .fixedSizeBinary(16)
    default: nil
    }
  }

  private func dates() throws(PersistentStoreError) -> [UInt8] {
    guard case .timestamp(let unit, let zone) = field.type else { throw wrongType(Self.wanted(.date)) }
    guard zone != nil else {
      throw PersistentStoreError(
        .notSupported, "the column has timestamps without a time zone: write them in UTC",
        at: StoreLocation(offset: fileOffset))
    }
    return bits {
      let ticks = $0.values.loadUnaligned(fromByteOffset: $1 * 8, as: Int64.self)
      return ArrowDates.seconds(ticks: ticks, unit).bitPattern
    }
  }

  /// What columns for an attribute may have, for errors.
  private static func wanted(_ type: AttributeType) -> String {
    switch type.valueKind {
    case .boolean: "bool"
    case .integer: "an integer"
    case .float: "float"
    case .double: "double"
    case .date: "timestamp or double"
    case .uuid: "fixed_size_binary(16) or utf8"
    default: type.modelName
    }
  }

  private func withValueBytes(
    _ body: (Span<UInt8>) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    guard let width = width else { throw wrongType("values of fixed width") }
    if chunks.count == 1 {
      let bytes = UnsafeRawBufferPointer(rebasing: chunks[0].values.prefix(count * width))
      return try body(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
    }
    var all: [UInt8] = []
    all.reserveCapacity(count * width)
    for chunk in chunks { all.append(contentsOf: chunk.values.prefix(chunk.count * width)) }
    try body(all.span)
  }

  /// The bytes of a value; nil for types of variable length.
  private var width: Int? {
    switch field.type {
    case .integer(let bits, _), .float(let bits): bits / 8
    case .fixedSizeBinary(let width): width
    default: nil
    }
  }

  private func booleans() -> [UInt8] {
    var cells: [UInt8] = []
    cells.reserveCapacity(count)
    for chunk in chunks {
      for row in 0..<chunk.count { cells.append(chunk.values[row >> 3] >> UInt8(row & 7) & 1) }
    }
    return cells
  }

  /// Cells of eight bytes.
  private func bits(_ cell: (ArrowArray, Int) -> UInt64) -> [UInt8] {
    var words: [UInt64] = []
    words.reserveCapacity(count)
    for chunk in chunks {
      // The cells of null rows may be anything, and no number is read there.
      for row in 0..<chunk.count { words.append(chunk.isPresent(row) ? cell(chunk, row) : 0) }
    }
    return words.withUnsafeBytes { Array($0) }
  }

  private func bytes<Number: FixedWidthInteger>(
    _ numbers: [Int64], as type: Number.Type
  ) throws(PersistentStoreError) -> [UInt8] {
    var cells: [Number] = []
    cells.reserveCapacity(numbers.count)
    for (row, number) in numbers.enumerated() {
      guard let cell = Number(exactly: number) else {
        throw PersistentStoreError(
          .invalidValue, "row \(row): \(number) does not fit in \(Number.bitWidth) bits",
          at: StoreLocation(offset: fileOffset))
      }
      cells.append(cell)
    }
    return cells.withUnsafeBytes { Array($0) }
  }

  /// The values as integers, 0 for null.
  func integers() throws(PersistentStoreError) -> [Int64] {
    guard case .integer(let bits, let isSigned) = field.type else { throw wrongType("an integer") }
    if bits == 64, isSigned, chunks.count == 1, nullCount == 0 {
      let chunk = chunks[0]
      return [Int64](unsafeUninitializedCapacity: count) { buffer, count in
        UnsafeMutableRawBufferPointer(buffer).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: chunk.values.prefix(chunk.count * 8)))
        count = chunk.count
      }
    }
    return switch (bits, isSigned) {
    case (8, true): try integers(Int8.self)
    case (8, false): try integers(UInt8.self)
    case (16, true): try integers(Int16.self)
    case (16, false): try integers(UInt16.self)
    case (32, true): try integers(Int32.self)
    case (32, false): try integers(UInt32.self)
    case (_, true): try integers(Int64.self)
    default: try integers(UInt64.self)
    }
  }

  private func integers<Number: FixedWidthInteger & BitwiseCopyable>(
    _ type: Number.Type
  ) throws(PersistentStoreError) -> [Int64] {
    var numbers: [Int64] = []
    numbers.reserveCapacity(count)
    for chunk in chunks {
      for row in 0..<chunk.count {
        guard chunk.isPresent(row) else {
          numbers.append(0)
          continue
        }
        let number = chunk.values.loadUnaligned(fromByteOffset: row * MemoryLayout<Number>.size, as: type)
        guard let signed = Int64(exactly: number) else {
          throw PersistentStoreError(
            .invalidValue, "row \(numbers.count): \(number) does not fit in 64 bits with a sign",
            at: StoreLocation(offset: fileOffset))
        }
        numbers.append(signed)
      }
    }
    return numbers
  }

  // MARK: Variable length

  /// Calls `body` with the length of each value, all bits set for null, and the values' bytes, one after the other.
  func withValues(
    isText: Bool, _ body: (Span<UInt32>, Span<UInt8>) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    switch field.type {
    case .text where isText: break
    case .binary where !isText: break
    default: throw wrongType(isText ? "utf8" : "binary")
    }
    let (lengths, isDense) = try lengths()
    if chunks.count == 1, isDense {
      let chunk = chunks[0]
      let range = chunk.count == 0 ? 0..<0 : chunk.start(0)..<chunk.start(chunk.count)
      let bytes = UnsafeRawBufferPointer(rebasing: chunk.values[range])
      return try body(lengths.span, Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
    }
    var heap: [UInt8] = []
    for chunk in chunks {
      for row in 0..<chunk.count where chunk.isPresent(row) {
        heap.append(contentsOf: chunk.values[chunk.start(row)..<chunk.start(row + 1)])
      }
    }
    try body(lengths.span, heap.span)
  }

  /// The lengths of the values, all bits set for null, and whether null rows have no bytes.
  private func lengths() throws(PersistentStoreError) -> (lengths: [UInt32], isDense: Bool) {
    var lengths: [UInt32] = []
    lengths.reserveCapacity(count)
    var isDense = true
    for chunk in chunks {
      guard chunk.count > 0 else { continue }
      var start = chunk.start(0)
      for row in 0..<chunk.count {
        let end = chunk.start(row + 1)
        if chunk.isPresent(row) {
          guard let length = UInt32(exactly: end - start), length != .max else {
            throw PersistentStoreError(
              .limitExceeded, "row \(lengths.count): a value of \(end - start) bytes",
              at: StoreLocation(offset: fileOffset))
          }
          lengths.append(length)
        } else {
          lengths.append(.max)
          if end != start { isDense = false }
        }
        start = end
      }
    }
    return (lengths, isDense)
  }

  /// The values as texts.
  func texts() throws(PersistentStoreError) -> [String?] {
    guard isText else { throw wrongType("utf8") }
    var texts: [String?] = []
    for chunk in chunks {
      for row in 0..<chunk.count {
        guard chunk.isPresent(row) else {
          texts.append(nil)
          continue
        }
        let bytes = chunk.values[chunk.start(row)..<chunk.start(row + 1)]
        guard let text = String(validating: bytes, as: UTF8.self) else {
          throw malformed("row \(texts.count): the string is not UTF-8")
        }
        texts.append(text)
      }
    }
    return texts
  }

  /// The bytes of UUIDs that are texts, zeros for null.
  private func identifiers() throws(PersistentStoreError) -> [UInt8] {
    var cells: [UInt8] = []
    cells.reserveCapacity(count * 16)
    for (row, text) in try texts().enumerated() {
      guard let text else {
        cells.append(contentsOf: repeatElement(0, count: 16))
        continue
      }
      guard let uuid = UUID(uuidString: text) else {
        throw PersistentStoreError(
          .invalidValue, "row \(row): '\(text.prefix(60))' is not a UUID", at: StoreLocation(offset: fileOffset))
      }
      withUnsafeBytes(of: uuid.uuid) { cells.append(contentsOf: $0) }
    }
    return cells
  }

  /// References that are texts with their kind: `integer:5`, `string:abc`.
  func references() throws(PersistentStoreError) -> [ReferenceObject?] {
    var references: [ReferenceObject?] = []
    for text in try texts() {
      guard let text else {
        references.append(nil)
        continue
      }
      switch StoredValue(typedText: text) {
      case .integer(let number)?: references.append(.integer(number))
      case .string(let text)?: references.append(.string(text))
      default:
        throw malformed(
          "row \(references.count): '\(text.prefix(60))' is not a reference: 'integer:' or 'string:' precedes one")
      }
    }
    return references
  }

  /// Decimals, as their exact texts.
  func decimalTexts() throws(PersistentStoreError) -> (lengths: [UInt32], heap: [UInt8]) {
    if isText {
      var result: (lengths: [UInt32], heap: [UInt8]) = ([], [])
      try withValues(isText: true) { lengths, heap throws(PersistentStoreError) in
        result.lengths = (0..<lengths.count).map { lengths[$0] }
        result.heap = heap.withUnsafeBufferPointer { Array($0) }
      }
      return result
    }
    guard case .decimal(let bits, _, let scale) = field.type else { throw wrongType("decimal or utf8") }
    let isTrimmed = field.metadata(ArrowKey.decimals) == "trimmed"
    var lengths: [UInt32] = []
    var heap: [UInt8] = []
    let width = bits / 8
    for chunk in chunks {
      for row in 0..<chunk.count {
        guard chunk.isPresent(row) else {
          lengths.append(.max)
          continue
        }
        let bytes = UnsafeRawBufferPointer(rebasing: chunk.values[row * width..<(row + 1) * width])
        guard let number = ArrowDecimals.number(bytes, scale: scale, isTrimmed: isTrimmed) else {
          throw PersistentStoreError(
            .invalidValue, "row \(lengths.count): the decimal does not fit in 128 bits, or its scale is \(scale)",
            at: StoreLocation(offset: fileOffset))
        }
        let start = heap.count
        number.append(to: &heap)
        lengths.append(UInt32(truncatingIfNeeded: heap.count - start))
      }
    }
    return (lengths, heap)
  }

  // MARK: Lists

  /// The number of items of each row, and the items, one after the other. A null list is empty.
  func lists() throws(PersistentStoreError) -> (counts: [UInt32], items: ArrowColumnReader) {
    guard case .list(let item, _) = field.type else { throw wrongType("a list") }
    var counts: [UInt32] = []
    var items: [ArrowArray] = []
    for chunk in chunks {
      guard let values = chunk.item.first else { continue }
      guard values.nullCount == 0 else { throw malformed("a list contains null") }
      var used = 0
      for row in 0..<chunk.count {
        let count = chunk.start(row + 1) - chunk.start(row)
        guard count == 0 || chunk.isPresent(row), let small = UInt32(exactly: count) else {
          throw malformed("row \(counts.count): a list of \(count) items where there is none")
        }
        used += count
        counts.append(small)
      }
      guard used == values.count else { throw malformed("the lists have \(used) items of \(values.count)") }
      items.append(values)
    }
    return (counts, ArrowColumnReader(field: item, chunks: items))
  }
}

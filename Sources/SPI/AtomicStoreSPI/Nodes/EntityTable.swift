import Glibc

/// The nodes of one concrete entity: a row for each node, a column for each slot.
struct EntityTable: Sendable {
  /// Rows, deleted ones included.
  var count = 0
  var deletedCount = 0
  /// A bit for each deleted row; empty while there is none.
  var deleted: [UInt64] = []
  /// Integer references. For a row with a string reference, the cell is not used.
  var referenceNumbers = Self.noNumbers
  static let noNumbers = Column(.integer64)
  /// String references, allocated when there is one; null if the reference is an integer.
  var referenceTexts: Column?
  var columns: [Column]
  /// The values that a format attached to nodes, by row.
  var payloads: [Int: any Sendable] = [:]
  /// Cells whose value the format supplies on first read: slot and row in one number.
  var deferred: Set<UInt64> = []
  /// Whether rows are in ascending order of reference, none deleted, and unordered lists are in ascending order too.
  var isCanonical = true

  /// Creates a table without rows. It needs only a reference for each slot until a row has a value in it.
  init(slots: [Slot]) {
    columns = slots.map { Column.none(CellLayout($0)) }
  }

  @inline(__always) func isDeleted(_ row: Int) -> Bool {
    let word = row >> 6
    return word < deleted.count && deleted[word] & (1 << UInt64(row & 63)) != 0
  }

  /// Inlined, as is ``isDeleted(_:)``: a call copies the table, with a count for each of its parts.
  @inline(__always) func reference(_ row: Int) -> ReferenceObject {
    if let text = referenceText(row) { return .string(String(decoding: text, as: UTF8.self)) }
    return .integer(referenceNumber(row))
  }

  /// The bytes of a string reference; nil if the row's reference is an integer.
  @inline(__always) func referenceText(_ row: Int) -> UnsafeBufferPointer<UInt8>? {
    guard let header = referenceTexts?.header, row < header.pointee.capacity, header.pointee.isPresent(row) else {
      return nil
    }
    return header.pointee.bytes(row)
  }

  @inline(__always) func referenceNumber(_ row: Int) -> Int64 {
    referenceNumbers.header.pointee.cell(row, as: Int64.self)
  }

  /// Whether a row's reference is less than that of another row, possibly in another table, as ``ReferenceObject``
  /// compares them.
  func precedes(_ row: Int, _ other: EntityTable, _ otherRow: Int) -> Bool {
    switch (referenceText(row), other.referenceText(otherRow)) {
    case (nil, nil): referenceNumber(row) < other.referenceNumber(otherRow)
    case (nil, _?): true
    case (_?, nil): false
    case (let one?, let two?): Self.precedes(one, two)
    }
  }

  private static func precedes(_ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = one.baseAddress, let otherStart = other.baseAddress else { return one.count < other.count }
    let order = memcmp(start, otherStart, min(one.count, other.count))
    return order == 0 ? one.count < other.count : order < 0
  }

  /// The memory in bytes of all values and references, as limits count it: see ``ColumnHeader/valueBytes(_:)``.
  func valueBytes(rows: Int) -> Int {
    let all = columns + (referenceTexts.map { [$0] } ?? [])
    return all.reduce(rows * 8) { $0 + $1.header.pointee.valueBytes(rows) }
  }

  static func deferredKey(slot: Int, row: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: slot) << 32 | UInt64(truncatingIfNeeded: row) & 0xFFFF_FFFF
  }

  // MARK: Writing, for tables that were loaded already

  /// The column with room for a value of a row, copied first if it is shared.
  mutating func own(_ slot: Int, for row: Int, isRemoval: Bool = false) -> UnsafeMutablePointer<ColumnHeader> {
    if !Column.isWritable(&columns[slot]) { columns[slot] = Column(copying: columns[slot], rows: count) }
    if isRemoval {
      columns[slot].header.pointee.makeReady(toRemove: row, of: count)
    } else {
      columns[slot].header.pointee.makeRoom(for: row, of: count)
    }
    return columns[slot].header
  }

  mutating func appendRow(_ reference: ReferenceObject) -> Int {
    let row = count
    for slot in columns.indices where columns[slot].header.pointee.sparse == nil {
      let header = own(slot, for: row)
      if header.pointee.capacity <= row { header.pointee.grow(to: max(row + row / 2, 16)) }
    }
    if !Column.isWritable(&referenceNumbers) {
      referenceNumbers = Column(copying: referenceNumbers, rows: count)
    }
    let numbers = referenceNumbers.header
    if numbers.pointee.capacity <= row { numbers.pointee.grow(to: max(row + row / 2, 16)) }
    switch reference {
    case .integer(let value):
      numbers.pointee.setPresent(row, value)
    case .string(let text):
      setReferenceText(row, text)
    }
    // The column of string references is also indexed by row, so it grows with the others once it exists.
    if let texts = referenceTexts, texts.header.pointee.capacity <= row {
      let own = Column(copying: texts, rows: min(count, texts.header.pointee.capacity))
      own.header.pointee.grow(to: max(row + row / 2, 16))
      referenceTexts = own
    }
    count += 1
    return row
  }

  private mutating func setReferenceText(_ row: Int, _ text: String) {
    // Moved out temporarily, so that it is uniquely referenced unless it is shared: copying it for each row would take
    // quadratic time.
    var own = referenceTexts ?? Column(.bytes)
    referenceTexts = nil
    if !isKnownUniquelyReferenced(&own) { own = Column(copying: own, rows: min(count, own.header.pointee.capacity)) }
    if own.header.pointee.capacity <= row { own.header.pointee.grow(to: max(row + row / 2, 16)) }
    text.withBytes { _ = own.header.pointee.setBytes(row, $0.baseAddress, count: $0.count) }
    referenceTexts = own
  }
}

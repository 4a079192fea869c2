/// Which rows have a value, and what memory values take.
extension ColumnHeader {
  /// Whether there is a cell of a row.
  var hasCells: Bool { sparse.map { $0.count > 0 } ?? (capacity > 0) }

  /// How many of the first rows have a value.
  func valueCount(_ rows: Int) -> Int {
    if let sparse { return sparse.places(0..<rows).count }
    if !layout.hasPresence {
      return places(0..<rows).reduce(0) { $0 + (cell(at: $1, as: UInt64.self) == NodeHandle.nullBits ? 0 : 1) }
    }
    return (0..<(min(rows, capacity) + 63) / 64).reduce(0) { $0 + presence[$1].nonzeroBitCount }
  }

  /// The memory in bytes that the column takes, without what it borrows.
  var byteCount: Int {
    let own = sparse.map { $0.capacity * (width + 4) } ?? (borrowsCells ? 0 : Self.size(layout, rows: capacity))
    return own + (borrowsHeap ? 0 : heapCapacity * layout.heapUnit)
  }
  /// At least the memory in bytes of all values, borrowed ones included.
  var valueBound: Int { (sparse?.count ?? capacity) * width + heapCount * layout.heapUnit }
  /// At least the number of objects that a relationship leads to.
  var linkBound: Int {
    switch layout {
    case .toOne: sparse?.count ?? capacity
    case .toMany: heapCount
    default: 0
    }
  }
  /// The memory in bytes of the values of the first rows, without what is borrowed: how limits count it. A row without
  /// a value has none.
  func valueBytes(_ rows: Int) -> Int {
    (borrowsCells ? 0 : valueCount(rows) * width) + (borrowsHeap ? 0 : heapCount * layout.heapUnit)
  }

  /// Sets which rows have a value: a bit for each, or all.
  func setPresence(_ bits: Span<UInt8>?, _ rows: Int) {
    let words = (rows + 63) / 64
    presence.initialize(repeating: bits == nil ? .max : 0, count: words)
    bits?.withUnsafeBufferPointer { source in
      if let base = source.baseAddress {
        UnsafeMutableRawPointer(presence).copyMemory(from: base, byteCount: source.count)
      }
    }
    if rows & 63 != 0, words > 0 { presence[words - 1] &= (1 << UInt64(rows & 63)) - 1 }
  }

  /// Whether null cells of fixed width are zero in memory.
  func hasZeroNulls(_ rows: Int) -> Bool {
    for word in 0..<(rows + 63) / 64 where presence[word] != .max {
      let (first, end) = (word * 64, min(word * 64 + 64, rows))
      let present = presence[word]
      if present == 0 {
        guard isZero(first * width, (end - first) * width) else { return false }
        continue
      }
      for row in first..<end where present & (1 << UInt64(row & 63)) == 0 {
        guard isZero(row * width, width) else { return false }
      }
    }
    return true
  }

  private func isZero(_ start: Int, _ count: Int) -> Bool {
    var bits: UInt64 = 0
    for word in 0..<count / 8 { bits |= cells.loadUnaligned(fromByteOffset: start + word * 8, as: UInt64.self) }
    for byte in start + count / 8 * 8..<start + count {
      bits |= UInt64(cells.load(fromByteOffset: byte, as: UInt8.self))
    }
    return bits == 0
  }

  /// Makes null cells of fixed width zero in memory, whatever is there.
  func clearNulls(_ rows: Int) {
    for word in 0..<(rows + 63) / 64 where presence[word] != .max {
      let first = word * 64
      let end = min(first + 64, rows)
      guard presence[word] != 0 else {
        (cells + first * width).initializeMemory(as: UInt8.self, repeating: 0, count: (end - first) * width)
        continue
      }
      let present = presence[word]
      for row in first..<end where present & (1 << UInt64(row & 63)) == 0 {
        (cells + row * width).initializeMemory(as: UInt8.self, repeating: 0, count: width)
      }
    }
  }
}

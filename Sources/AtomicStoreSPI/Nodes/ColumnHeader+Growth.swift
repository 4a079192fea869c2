import StoreFiles

/// The memory of columns.
extension ColumnHeader {
  /// As ``tryToGrow(to:willSetCells:)`` for edits, which cannot throw.
  mutating func grow(to rows: Int, willSetCells: Bool = false) {
    if !tryToGrow(to: rows, willSetCells: willSetCells) { PagedMemory.endProgram(Self.size(layout, rows: rows)) }
  }

  /// Grows to `rows`; the new rows are null.
  ///
  /// - Parameter willSetCells: Whether the cells of all new rows are written to next. They are then undefined.
  /// - Returns: False, with all rows as they were, if the system does not have enough memory.
  mutating func tryToGrow(to rows: Int, willSetCells: Bool = false) -> Bool {
    if sparse != nil { return tryToSpread(rows: rows) }
    guard rows > capacity else { return true }
    guard resizeCells(rows) else { return false }
    if !willSetCells {
      // Null is all bits set, in an extent or a handle.
      (cells + capacity * width).initializeMemory(
        as: UInt8.self, repeating: layout.hasPresence ? 0 : 0xFF, count: (rows - capacity) * width)
    }
    if layout.hasPresence {
      let words = (rows + 63) / 64
      let old = (capacity + 63) / 64
      guard let memory = Self.resized(presence, words * 8) else { return false }
      presence = memory.bindMemory(to: UInt64.self, capacity: words)
      (presence + old).initialize(repeating: 0, count: words - old)
    }
    capacity = rows
    return true
  }

  /// Releases memory reserved in excess, as far as the system has memory for the smaller blocks.
  mutating func shrink(to rows: Int) {
    guard sparse != nil || rows < capacity else { return }
    sealCells()
    if sparse == nil {
      if !borrowsCells { _ = resizeCells(rows) }
      capacity = rows
    }
    if heapCapacity > heapCount { _ = tryToReallocateHeap(heapCount) }
  }

  private mutating func resizeCells(_ rows: Int) -> Bool {
    guard let own = Self.resized(borrowsCells ? nil : cells, rows * width) else { return false }
    guard borrowsCells else {
      cells = own
      return true
    }
    own.copyMemory(from: cells, byteCount: min(rows, capacity) * width)
    cells = own
    borrowsCells = false
    return true
  }

  /// As ``tryToReallocateHeap(_:)`` for edits, which cannot throw.
  mutating func reallocateHeap(_ units: Int) {
    if !tryToReallocateHeap(units) { PagedMemory.endProgram(units * layout.heapUnit) }
  }

  /// Makes the heap one of that many units. False, with nothing changed, if the system does not have enough memory.
  mutating func tryToReallocateHeap(_ units: Int) -> Bool {
    guard let own = Self.resized(borrowsHeap ? nil : heap, units * layout.heapUnit) else { return false }
    if borrowsHeap {
      own.copyMemory(from: heap, byteCount: min(units, heapCount) * layout.heapUnit)
      borrowsHeap = false
    }
    heap = own
    heapCapacity = units
    return true
  }
}

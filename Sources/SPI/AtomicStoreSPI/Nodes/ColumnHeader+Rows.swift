import StoreFiles

/// The rows of a sparse column, one in which few rows have a value: it has cells of those rows only, so a row without a
/// value takes no memory.
///
/// A *place* is the number of a cell. In a sparse column place 0 is a null cell, which all rows without a value share,
/// and the cells of ``rows`` follow. In other columns the place is the row.
@usableFromInline package struct SparseRows: BitwiseCopyable {
  /// In ascending order. Behind them, if ``shift`` is not negative, is where each stretch of rows begins among them.
  @usableFromInline var rows: UnsafeMutablePointer<UInt32>
  /// The number of rows with a cell.
  package var count = 0
  var capacity = 0
  /// A stretch has two to the power of this many rows of the table; negative before the first stretch.
  var shift = -1

  init(_ rows: UnsafeMutablePointer<UInt32>) { self.rows = rows }

  /// The row of a place, which is not 0.
  @inlinable @inline(__always) package func row(at place: Int) -> Int { Int(rows[place - 1]) }

  /// The place of a row; 0 if it has no cell.
  @usableFromInline @inline(never) package func place(of row: Int) -> Int {
    guard count > 0 else { return 0 }
    let last = Int(rows[count - 1])
    if row >= last { return row == last ? count : 0 }
    let index = index(of: row)
    return Int(rows[index]) == row ? index + 1 : 0
  }

  /// How many rows with a cell are before a row.
  func index(of row: Int) -> Int {
    guard count > 0, row <= Int(rows[count - 1]) else { return count }
    var (low, high) = (0, count)
    if shift >= 0 {
      let stretch = rows + count + row >> shift
      (low, high) = (Int(stretch[0]), Int(stretch[1]))
    }
    while low < high {
      let middle = (low + high) / 2
      if Int(rows[middle]) < row { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The places of the rows in a range that have a cell.
  package func places(_ range: Range<Int>) -> Range<Int> {
    index(of: range.lowerBound) + 1..<index(of: range.upperBound) + 1
  }

  /// Whether places of two columns are of the same rows.
  package func hasSameRows(_ places: Range<Int>, as other: SparseRows, _ others: Range<Int>) -> Bool {
    guard places.count == others.count else { return false }
    for offset in 0..<places.count
    where rows[places.lowerBound + offset - 1] != other.rows[others.lowerBound + offset - 1] { return false }
    return true
  }
}

extension ColumnHeader {
  /// How many rows there are for each cell, at most, in a column that gets a cell for each row. One of a sparse column
  /// takes up to twice as much memory, and time to find.
  static var rowsPerCell: Int { 8 }
  /// Fewer cells are not worth looking at.
  static var leastCells: Int { 16 }
  /// Cells are inserted between others as long as moving them takes less than everything else.
  private static var greatestMove: Int { 4096 }

  /// Whether so many cells are too few for a column with one for each row.
  static func isSparse(_ cells: Int, of rows: Int) -> Bool { cells < rows / rowsPerCell }

  /// Makes room for further cells of a sparse column. False, with nothing changed, if the system does not have enough
  /// memory.
  mutating func tryToReserveCells(_ more: Int) -> Bool {
    guard let own = sparse, own.count + more > own.capacity else { return true }
    let larger = max(own.count + more, own.capacity * 2, 4)
    guard let memory = Self.resized(cells, (larger + 1) * width) else { return false }
    cells = memory
    if own.capacity == 0 { setNull(at: 0) }
    guard let rows = Self.resized(UnsafeMutableRawPointer(own.rows), larger * 4) else { return false }
    sparse?.rows = rows.assumingMemoryBound(to: UInt32.self)
    sparse?.capacity = larger
    sparse?.shift = -1
    return true
  }

  /// Makes room for the value of a row of a table of so many rows, for edits, which cannot throw.
  mutating func makeRoom(for row: Int, of rows: Int) {
    guard let own = sparse, own.place(of: row) == 0 else { return }
    let isMove = own.count > Self.greatestMove && own.index(of: row) < own.count
    let isFull = own.count == own.capacity && own.count >= Self.leastCells && !Self.isSparse(own.count, of: rows)
    let isDone = isMove || isFull ? tryToSpread(rows: max(rows, row + 1)) : tryToReserveCells(1)
    if !isDone { PagedMemory.endProgram(Self.size(layout, rows: rows)) }
  }

  /// The counterpart of ``makeRoom(for:of:)`` for the removal of a row's value: a program that clears a property of all
  /// objects must not move all cells each time.
  mutating func makeReady(toRemove row: Int, of rows: Int) {
    guard let own = sparse else { return }
    let place = own.place(of: row)
    guard place > 0, own.count - place > Self.greatestMove else { return }
    // Without memory for it, cells are moved.
    _ = tryToSpread(rows: max(rows, row + 1))
  }

  /// The place of a row's cell in a sparse column, which gets one if it has none: there must be room.
  @inline(never) mutating func addedPlace(_ row: Int) -> Int {
    guard let known = sparse else { return row }
    let place = known.place(of: row)
    if place > 0 { return place }
    if !tryToReserveCells(1) { PagedMemory.endProgram((known.count + 1) * width) }
    guard var own = sparse else { return row }
    let index = own.index(of: row)
    let moved = own.count - index
    if moved > 0 {
      (own.rows + index + 1).update(from: own.rows + index, count: moved)
      (cells + (index + 2) * width).copyMemory(from: cells + (index + 1) * width, byteCount: moved * width)
    }
    own.rows[index] = UInt32(truncatingIfNeeded: row)
    own.count += 1
    own.shift = -1
    sparse = own
    setNull(at: index + 1)
    return index + 1
  }

  /// Removes the cell of a row from a sparse column.
  mutating func removeCell(_ row: Int) {
    guard var own = sparse else { return }
    let place = own.place(of: row)
    guard place > 0 else { return }
    let moved = own.count - place
    (own.rows + place - 1).update(from: own.rows + place, count: moved)
    (cells + place * width).copyMemory(from: cells + (place + 1) * width, byteCount: moved * width)
    own.count -= 1
    own.shift = -1
    sparse = own
  }

  /// Releases what a sparse column has in excess, and notes where stretches of rows begin, so that a cell is found at
  /// once.
  mutating func sealCells() {
    guard var own = sparse, own.count > 0 else { return }
    let last = Int(own.rows[own.count - 1])
    var shift = 0
    while last >> shift >= own.count { shift += 1 }
    let stretches = last >> shift + 1
    // Without memory for it, cells are searched for.
    if let memory = Self.resized(cells, (own.count + 1) * width) {
      cells = memory
      own.capacity = own.count
    }
    if let memory = Self.resized(UnsafeMutableRawPointer(own.rows), (own.count + stretches + 1) * 4) {
      own.rows = memory.assumingMemoryBound(to: UInt32.self)
      own.capacity = own.count
      var index = 0
      for stretch in 0...stretches {
        while index < own.count, Int(own.rows[index]) >> shift < stretch { index += 1 }
        own.rows[own.count + stretch] = UInt32(truncatingIfNeeded: index)
      }
      own.shift = shift
    }
    sparse = own
  }

  /// Gives a sparse column a cell for each of so many rows. False, with nothing changed, if the system does not have
  /// enough memory.
  mutating func tryToSpread(rows: Int) -> Bool {
    guard let own = sparse else { return true }
    let rows = own.count > 0 ? max(rows, own.row(at: own.count) + 1) : rows
    var all = ColumnHeader(layout)
    guard all.tryToGrow(to: rows) else {
      all.deallocate()
      return false
    }
    for place in own.places(0..<rows) {
      let row = own.row(at: place)
      (all.cells + row * width).copyMemory(from: cells + place * width, byteCount: width)
      if layout.hasPresence { all.markPresent(row) }
    }
    takeCells(of: all)
    return true
  }

  /// Makes a column with a cell for each row sparse. False, with nothing changed, if the system does not have enough
  /// memory.
  mutating func tryToGather(rows: Int) -> Bool {
    guard sparse == nil else { return true }
    var few = ColumnHeader(sparse: layout)
    guard few.tryToReserveCells(valueCount(rows)) else {
      few.deallocate()
      return false
    }
    for row in places(0..<rows) where isPresent(row) {
      let place = few.addedPlace(row)
      (few.cells + place * width).copyMemory(from: cells + row * width, byteCount: width)
    }
    takeCells(of: few)
    return true
  }

  private mutating func takeCells(of other: ColumnHeader) {
    deallocateCells()
    (cells, presence, capacity, sparse) = (other.cells, other.presence, other.capacity, other.sparse)
    borrowsCells = false
  }
}

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

/// Which rows have a value, and what memory values take.
extension ColumnHeader {
  /// Whether there is a cell of a row.
  var hasCells: Bool { sparse.map { $0.count > 0 } ?? (capacity > 0) }

  /// How many of the first rows have a value.
  func valueCount(_ rows: Int) -> Int {
    if let sparse { return sparse.places(0..<rows).count }
    if !layout.hasPresence { return cellCount(rows, upTo: .max) }
    return (0..<(min(rows, capacity) + 63) / 64).reduce(0) { $0 + presence[$1].nonzeroBitCount }
  }

  /// Whether half as many rows again would still be few of so many. Looks no further than that needs: at the sixteenth
  /// part of the rows of a column without nulls.
  func staysSparse(_ rows: Int, of all: Int) -> Bool {
    let limit = (all / Self.rowsPerCell + 1) / 2
    return (layout.hasPresence || sparse != nil ? valueCount(rows) : cellCount(rows, upTo: limit)) < limit
  }

  /// The number of values in a column without a bitmap; not more are counted than `limit`.
  private func cellCount(_ rows: Int, upTo limit: Int) -> Int {
    var (count, row) = (0, 0)
    let end = min(rows, capacity)
    while row < end, count < limit {
      if cells.load(fromByteOffset: row &* 8, as: UInt64.self) != NodeHandle.nullBits { count &+= 1 }
      row &+= 1
    }
    return count
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

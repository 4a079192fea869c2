import Glibc

/// A column as raw memory.
@usableFromInline package struct ColumnView {
  package let layout: CellLayout
  /// The size of a cell in bytes.
  @usableFromInline package let width: Int
  @usableFromInline package let rows: Int
  /// By place: see ``SparseRows``.
  @usableFromInline package let cells: UnsafeRawPointer
  /// Nil if each row has a cell: then its number is the place.
  @usableFromInline package let sparse: SparseRows?
  /// Not for a sparse column.
  @usableFromInline package let presence: UnsafePointer<UInt64>
  @usableFromInline package let heap: UnsafeRawPointer

  init(_ header: UnsafeMutablePointer<ColumnHeader>, rows: Int) {
    layout = header.pointee.layout
    width = header.pointee.width
    self.rows = rows
    cells = UnsafeRawPointer(header.pointee.cells)
    sparse = header.pointee.sparse
    presence = UnsafePointer(header.pointee.presence)
    heap = UnsafeRawPointer(header.pointee.heap)
  }

  /// Whether another column is this one, which two graphs may share.
  package func isSame(as other: ColumnView) -> Bool {
    layout == other.layout && rows == other.rows && cells == other.cells && presence == other.presence
      && heap == other.heap
  }

  /// For cells of fixed width.
  @inlinable @inline(__always) package func isPresent(_ row: Int) -> Bool {
    sparse.map { $0.place(of: row) > 0 } ?? (presence[row >> 6] & (1 << UInt64(row & 63)) != 0)
  }

  /// Where the cell of a row is; a sparse column has a null cell for rows without a value.
  @inlinable @inline(__always) package func place(_ row: Int) -> Int { sparse.map { $0.place(of: row) } ?? row }
  /// The places of rows that may have a value.
  package func places(_ rows: Range<Int>) -> Range<Int> { sparse.map { $0.places(rows) } ?? rows }

  /// The cell of a row, of the column's width.
  @inlinable @inline(__always) package func cell<Value: BitwiseCopyable>(_ row: Int, as type: Value.Type) -> Value {
    cells.load(fromByteOffset: place(row) &* MemoryLayout<Value>.size, as: type)
  }

  /// The integer of a row, in a column of integers of any width.
  @inlinable @inline(__always) package func integer(_ row: Int) -> Int64 {
    switch width {
    case 2: Int64(cell(row, as: Int16.self))
    case 4: Int64(cell(row, as: Int32.self))
    default: cell(row, as: Int64.self)
    }
  }

  /// The bytes of a value of variable length; nil for null.
  @inlinable @inline(__always) package func bytes(_ row: Int) -> UnsafeBufferPointer<UInt8>? { bytes(at: place(row)) }
  @inlinable @inline(__always) package func bytes(at place: Int) -> UnsafeBufferPointer<UInt8>? {
    let cell = cells.load(fromByteOffset: place &* 8, as: UInt64.self)
    guard let place = Extent(cell: cell, heap: heap, unit: 1) else { return nil }
    return UnsafeBufferPointer(
      start: (heap + place.start).assumingMemoryBound(to: UInt8.self), count: place.length)
  }

  /// Whether values of variable length are the same in another column that has them at the same offsets of its heap, as
  /// two tables with equal values in order have; nil if it does not.
  package func hasSameBytes(as other: ColumnView, in rows: Range<Int>) -> Bool? {
    guard sparse == nil, other.sparse == nil else { return nil }
    let first = rows.lowerBound * 8
    guard memcmp(cells + first, other.cells + first, rows.count * 8) == 0 else { return nil }
    // Values that follow each other are compared at once.
    var start = 0
    var end = 0
    for row in rows {
      let cell = cells.load(fromByteOffset: row &* 8, as: UInt64.self)
      if cell == .max { continue }
      let length = Int(truncatingIfNeeded: cell >> UInt64(Extent.startBits))
      guard length < Extent.leastLongLength else { return nil }
      let place = Int(truncatingIfNeeded: cell & Extent.mask)
      if place != end {
        guard memcmp(heap + start, other.heap + start, end - start) == 0 else { return false }
        (start, end) = (place, place)
      }
      end += length
    }
    return memcmp(heap + start, other.heap + start, end - start) == 0
  }

  /// The handle of a to-one; all bits set for null.
  @inlinable @inline(__always) package func handle(_ row: Int) -> UInt64 { handle(at: place(row)) }
  @inlinable @inline(__always) package func handle(at place: Int) -> UInt64 {
    cells.load(fromByteOffset: place &* 8, as: UInt64.self)
  }

  /// The handles of a to-many.
  @inlinable @inline(__always) package func handles(_ row: Int) -> UnsafeBufferPointer<UInt64> {
    let cell = handle(row)
    guard let place = Extent(cell: cell, heap: heap, unit: 8) else {
      return UnsafeBufferPointer(start: nil, count: 0)
    }
    return UnsafeBufferPointer(
      start: (heap + place.start &* 8).assumingMemoryBound(to: UInt64.self), count: place.length)
  }
}

/// The references of an entity's rows as raw memory.
@usableFromInline package struct ReferenceView {
  @usableFromInline package let rows: Int
  @usableFromInline package let numbers: UnsafePointer<Int64>
  @usableFromInline package let texts: ColumnView?

  init(_ table: EntityTable) {
    rows = table.count
    numbers = UnsafePointer(table.referenceNumbers.header.pointee.cells.assumingMemoryBound(to: Int64.self))
    texts = table.referenceTexts.map { ColumnView($0.header, rows: min($0.header.pointee.capacity, table.count)) }
  }

  /// Whether there may be string references.
  @inlinable package var hasTexts: Bool { texts != nil }
  /// The integer reference of a row whose reference is not a string.
  @inlinable @inline(__always) package func number(_ row: Int) -> Int64 { numbers[row] }
  /// The bytes of a string reference; nil if the row's reference is an integer.
  @inlinable @inline(__always) package func text(_ row: Int) -> UnsafeBufferPointer<UInt8>? {
    guard let texts, row < texts.rows else { return nil }
    return texts.bytes(row)
  }

  /// Less than zero if a row's reference comes before that of another, as ``ReferenceObject`` compares them, and zero
  /// if they are equal.
  package func order(_ row: Int, _ other: ReferenceView, _ otherRow: Int) -> Int {
    switch (text(row), other.text(otherRow)) {
    case (nil, nil):
      let one = number(row)
      let two = other.number(otherRow)
      return one < two ? -1 : one == two ? 0 : 1
    case (nil, _?): return -1
    case (_?, nil): return 1
    case (let one?, let two?):
      if let start = one.baseAddress, let otherStart = two.baseAddress {
        let order = memcmp(start, otherStart, min(one.count, two.count))
        if order != 0 { return Int(order) }
      }
      return one.count - two.count
    }
  }
}

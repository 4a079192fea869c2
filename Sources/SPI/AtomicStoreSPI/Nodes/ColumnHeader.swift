import StoreFiles

/// The layout of a column's cells.
package enum CellLayout: UInt8, Sendable, CaseIterable {
  case boolean, integer16, integer32, integer64, float, double, uuid
  /// An extent in the column's heap of bytes.
  case bytes
  /// A handle, or all bits set for null.
  case toOne
  /// An extent in the column's heap of handles.
  case toMany

  var width: Int {
    switch self {
    case .boolean: 1
    case .integer16: 2
    case .integer32, .float: 4
    case .integer64, .double, .bytes, .toOne, .toMany: 8
    case .uuid: 16
    }
  }
  /// Whether null is a bit beside the cells rather than a special value.
  var hasPresence: Bool {
    switch self {
    case .bytes, .toOne, .toMany: false
    default: true
    }
  }
  var hasHeap: Bool { self == .bytes || self == .toMany }
  var heapUnit: Int { self == .toMany ? 8 : 1 }

  init(_ slot: Slot) {
    self =
      switch slot.valueKind {
      case .toOne: .toOne
      case .toMany: .toMany
      case .boolean: .boolean
      case .integer: CellLayout(integerBits: slot.attributeType?.integerBits ?? 64)
      case .float: .float
      case .double, .date: .double
      case .uuid: .uuid
      // Decimals are stored as their exact text, so that text formats need no arithmetic.
      case .string, .uri, .data, .decimal, .undefined: .bytes
      }
  }

  private init(integerBits bits: Int) { self = bits == 16 ? .integer16 : bits == 32 ? .integer32 : .integer64 }
}

/// The values of one property for all rows of one entity: cells of fixed width, a bitmap of non-null cells, and a heap
/// for values of variable length. Raw memory, since a load writes ten million cells: an array element in a class takes
/// 17 ns, this takes 1.
///
/// Cells or heap may be borrowed: part of a file's bytes, that are never written to and that the ``Column`` retains.
///
/// A column in which few rows have a value has cells of those rows only: ``SparseRows``. Cells are counted in *places*
/// then; methods that take a row find its place.
struct ColumnHeader {
  let layout: CellLayout
  let width: Int
  var cells: UnsafeMutableRawPointer
  var presence: UnsafeMutablePointer<UInt64>
  /// The number of rows that there is room for; 0 if the column is sparse.
  var capacity = 0
  /// The rows that have cells; nil if each row has one.
  var sparse: SparseRows?
  var heap: UnsafeMutableRawPointer
  /// In units: bytes, or handles.
  var heapCount = 0
  var heapCapacity = 0
  /// Units that are not used by any cell because their values were replaced.
  var wasted = 0
  var borrowsCells = false
  var borrowsHeap = false
  var isBorrowed: Bool { borrowsCells || borrowsHeap }

  init(_ layout: CellLayout) {
    self.layout = layout
    width = layout.width
    cells = Self.nothing
    presence = Self.nothing.bindMemory(to: UInt64.self, capacity: 1)
    heap = Self.nothing
  }

  /// A sparse column without values.
  init(sparse layout: CellLayout) {
    self.init(layout)
    if !layout.hasPresence { cells = Self.allSet }
    sparse = SparseRows(Self.nothing.assumingMemoryBound(to: UInt32.self))
  }

  func deallocate() {
    deallocateCells()
    if !borrowsHeap { Self.free(heap) }
  }
  func deallocateCells() {
    if !borrowsCells { Self.free(cells) }
    Self.free(presence)
    if let sparse { Self.free(sparse.rows) }
  }

  /// What a column has that needs no memory yet; never written to. A model of hundreds of entities has thousands of
  /// columns, few of which need all three blocks.
  private nonisolated(unsafe) static let nothing = block(of: 0)
  /// A null cell of a layout without presence bits.
  private nonisolated(unsafe) static let allSet = block(of: 0xFF)
  private static func block(of byte: UInt8) -> UnsafeMutableRawPointer {
    let block = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
    block.initializeMemory(as: UInt8.self, repeating: byte, count: 16)
    return block
  }

  private static func free(_ memory: UnsafeMutableRawPointer) {
    if memory != nothing, memory != allSet { PagedMemory.free(memory) }
  }

  /// Large blocks grow where they are, or by remapping pages: a new one would be copied. Nil if the system does not
  /// have enough memory; the block is as it was then.
  static func resized(_ memory: UnsafeMutableRawPointer?, _ bytes: Int) -> UnsafeMutableRawPointer? {
    PagedMemory.resized(memory == nothing || memory == allSet ? nil : memory, to: max(bytes, 16))
  }

  /// Appends the whole heap of another column, whose memory is moved here if it is large: then its heap is empty, and
  /// its cells are of no use. There must be room for it, and for ``PagedMemory/spare`` more if it is to be moved.
  mutating func appendHeap(of other: UnsafeMutablePointer<ColumnHeader>) {
    let unit = layout.heapUnit
    let bytes = other.pointee.heapCount * unit
    if bytes >= PagedMemory.leastMoved, !borrowsHeap, !other.pointee.borrowsHeap,
      PagedMemory.move(other.pointee.heap, bytes: bytes, to: heap, at: heapCount * unit)
    {
      other.pointee.heap = Self.nothing
      other.pointee.heapCapacity = 0
    } else {
      (heap + heapCount * unit).copyMemory(from: other.pointee.heap, byteCount: bytes)
    }
    heapCount += bytes / unit
    wasted += other.pointee.wasted
  }

  /// Takes cells of fixed width from elsewhere, all of which have a value. False, with nothing changed, if the system
  /// does not have enough memory.
  mutating func borrow(cells other: UnsafeRawPointer, rows: Int) -> Bool {
    let words = (rows + 63) / 64
    guard let memory = Self.resized(presence, words * 8) else { return false }
    if !borrowsCells { Self.free(cells) }
    cells = UnsafeMutableRawPointer(mutating: other)
    borrowsCells = true
    presence = memory.bindMemory(to: UInt64.self, capacity: words)
    capacity = rows
    setPresence(nil, rows)
    return true
  }

  /// Takes the bytes of values from elsewhere.
  mutating func borrow(heap other: UnsafeRawPointer, count: Int) {
    if !borrowsHeap { Self.free(heap) }
    heap = UnsafeMutableRawPointer(mutating: other)
    borrowsHeap = true
    heapCount = count
    heapCapacity = count
    wasted = 0
  }

  /// Reserves room for `units` more at the heap's end. False if the heap would exceed what an extent can address.
  @inline(__always) mutating func reserveHeap(_ units: Int) -> Bool {
    guard heapCount + units > heapCapacity else { return true }
    guard let grown = grownHeap(units) else { return false }
    reallocateHeap(grown)
    return true
  }

  /// How much a heap that is smaller may have from the beginning, in units.
  private static var leastStep: Int { 2048 }

  /// The capacity that the heap has after ``reserveHeap(_:)``; nil if an extent cannot address it.
  func grownHeap(_ units: Int) -> Int? {
    let needed = heapCount + units
    guard needed > heapCapacity else { return heapCapacity }
    guard needed < Extent.greatestHeap else { return nil }
    // A small heap gets room for as much in each row, so that thousands of them do not grow in many steps. Where it is
    // filled as a whole, that is too much, by the least step at most.
    let asMuch = units < Self.leastStep / 8 ? min(units * capacity, Self.leastStep) : 0
    return max(needed, min(heapCapacity + heapCapacity / 2, Extent.greatestHeap), asMuch, 64)
  }

  /// Reserves room at the heap's end for a value of that many units, which begins at ``heapCount`` then.
  @inline(__always) mutating func beginValue(_ units: Int) -> Bool {
    if Extent.isLong(units) { return beginLongValue(units) }
    return reserveHeap(units)
  }
  @inline(never) private mutating func beginLongValue(_ units: Int) -> Bool {
    let before = lengthUnits(units)
    guard reserveHeap(before + units) else { return false }
    heapCount += before
    storeLength(units, before: heapCount)
    return true
  }
  func storeLength(_ units: Int, before start: Int) {
    (heap + start * layout.heapUnit - 8).storeBytes(of: UInt64(truncatingIfNeeded: units), as: UInt64.self)
  }

  @inline(__always) func isPresent(_ row: Int) -> Bool {
    switch layout {
    case .bytes, .toMany, .toOne: cell(row, as: UInt64.self) != NodeHandle.nullBits
    default: sparse.map { $0.place(of: row) > 0 } ?? (presence[row >> 6] & (1 << UInt64(row & 63)) != 0)
    }
  }
  /// For a column with a cell for each row.
  @inline(__always) func markPresent(_ row: Int) { presence[row >> 6] |= 1 << UInt64(row & 63) }

  mutating func setNull(_ row: Int) {
    if sparse != nil { return removeCell(row) }
    if layout.hasPresence { presence[row >> 6] &= ~(1 << UInt64(row & 63)) }
    setNull(at: row)
  }
  /// Makes a cell that of null, without a change of presence.
  func setNull(at place: Int) {
    (cells + place * width).initializeMemory(
      as: UInt8.self, repeating: layout.hasPresence ? 0 : 0xFF, count: width)
  }

  // MARK: Places

  @inline(__always) func place(_ row: Int) -> Int { sparse.map { $0.place(of: row) } ?? row }
  /// The places of rows that may have a value.
  @inline(__always) func places(_ rows: Range<Int>) -> Range<Int> {
    sparse.map { $0.places(rows) } ?? rows.clamped(to: 0..<capacity)
  }
  @inline(__always) func row(at place: Int) -> Int { sparse.map { $0.row(at: place) } ?? place }

  @inline(__always) func cell<Value: BitwiseCopyable>(at place: Int, as type: Value.Type) -> Value {
    cells.load(fromByteOffset: place &* MemoryLayout<Value>.size, as: type)
  }
  @inline(__always) func setCell<Value: BitwiseCopyable>(at place: Int, _ value: Value) {
    cells.storeBytes(of: value, toByteOffset: place &* MemoryLayout<Value>.size, as: Value.self)
  }
  @inline(__always) func cell<Value: BitwiseCopyable>(_ row: Int, as type: Value.Type) -> Value {
    cell(at: place(row), as: type)
  }
  /// A sparse column must have room for the row.
  @inline(__always) mutating func setCell<Value: BitwiseCopyable>(_ row: Int, _ value: Value) {
    setCell(at: sparse == nil ? row : addedPlace(row), value)
  }
  /// Sets a to-one; null removes it.
  mutating func setHandle(_ row: Int, _ bits: UInt64) {
    if bits == NodeHandle.nullBits { setNull(row) } else { setCell(row, bits) }
  }
  /// Sets the value of a layout with presence bits.
  @inline(__always) mutating func setPresent<Value: BitwiseCopyable>(_ row: Int, _ value: Value) {
    setCell(row, value)
    if sparse == nil { markPresent(row) }
  }
  /// Nil for null.
  @inline(__always) func extent(_ row: Int) -> Extent? { extent(at: place(row)) }
  @inline(__always) func extent(at place: Int) -> Extent? {
    Extent(cell: cell(at: place, as: UInt64.self), heap: heap, unit: layout.heapUnit)
  }
  /// The length of a long value must be in the heap already.
  @inline(__always) mutating func setExtent(_ row: Int, start: Int, length: Int) {
    setCell(row, Extent.cell(start: start, length: length))
  }
  /// Gives a row a value that is in the heap, without its length: a long one moves to the end. False if the heap is
  /// full.
  @inline(__always) mutating func placeValue(_ row: Int, start: Int, length: Int) -> Bool {
    if Extent.isLong(length) { return moveToEnd(row, start: start, length: length) }
    setExtent(row, start: start, length: length)
    return true
  }
  @inline(never) private mutating func moveToEnd(_ row: Int, start: Int, length: Int) -> Bool {
    guard beginValue(length) else { return false }
    let unit = layout.heapUnit
    (heap + heapCount * unit).copyMemory(from: heap + start * unit, byteCount: length * unit)
    setExtent(row, start: heapCount, length: length)
    heapCount += length
    wasted += length
    return true
  }

  @inline(__always) func bytes(_ row: Int) -> UnsafeBufferPointer<UInt8> {
    guard let place = Extent(cell: cell(row, as: UInt64.self), heap: heap, unit: 1) else {
      return UnsafeBufferPointer(start: nil, count: 0)
    }
    return UnsafeBufferPointer(
      start: UnsafePointer((heap + place.start).assumingMemoryBound(to: UInt8.self)), count: place.length)
  }
  @inline(__always) func handles(_ row: Int) -> UnsafeMutableBufferPointer<UInt64> { handles(at: place(row)) }
  @inline(__always) func handles(at place: Int) -> UnsafeMutableBufferPointer<UInt64> {
    guard let place = Extent(cell: cell(at: place, as: UInt64.self), heap: heap, unit: 8) else {
      return UnsafeMutableBufferPointer(start: nil, count: 0)
    }
    return UnsafeMutableBufferPointer(
      start: (heap + place.start * 8).assumingMemoryBound(to: UInt64.self), count: place.length)
  }

  /// The size of that many rows in bytes.
  static func size(_ layout: CellLayout, rows: Int) -> Int {
    rows * layout.width + (layout.hasPresence ? (rows + 63) / 64 * 8 : 0)
  }

  /// The number of heap units of a row's value, with those of a long value's length.
  func heapLength(_ row: Int) -> Int { heapLength(at: place(row)) }
  func heapLength(at place: Int) -> Int {
    guard layout.hasHeap, let length = extent(at: place)?.length else { return 0 }
    return length + lengthUnits(length)
  }
  private func lengthUnits(_ length: Int) -> Int { Extent.isLong(length) ? 8 / layout.heapUnit : 0 }

  /// Counts the heap units of a replaced value, and compacts the heap when more than half of it is unused: otherwise a
  /// store that is edited for days would exhaust the memory.
  mutating func waste(_ units: Int) {
    wasted += units
    if wasted > 1 << 16, wasted > heapCount / 2 { pack() }
  }

  private mutating func pack() {
    let unit = layout.heapUnit
    var live = 0
    let places = places(0..<Int(UInt32.max))
    for place in places { live += heapLength(at: place) }
    // Without memory for it, the heap stays as it is.
    guard let packed = Self.resized(nil, live * unit) else { return }
    var next = 0
    for place in places {
      guard let value = extent(at: place) else { continue }
      let before = lengthUnits(value.length)
      (packed + next * unit).copyMemory(
        from: heap + (value.start - before) * unit, byteCount: (before + value.length) * unit)
      setCell(at: place, Extent.cell(start: next + before, length: value.length))
      next += before + value.length
    }
    if !borrowsHeap { Self.free(heap) }
    borrowsHeap = false
    heap = packed
    heapCount = next
    heapCapacity = live
    wasted = 0
  }

  func copied(rows: Int) -> ColumnHeader {
    var copy = sparse == nil ? ColumnHeader(layout) : ColumnHeader(sparse: layout)
    if let sparse {
      // Room for the value that the copy is made for.
      if !copy.tryToReserveCells(sparse.count + 1) { PagedMemory.endProgram((sparse.count + 1) * width) }
      copy.cells.copyMemory(from: cells, byteCount: (sparse.count + 1) * width)
      copy.sparse?.rows.update(from: sparse.rows, count: sparse.count)
      copy.sparse?.count = sparse.count
    } else {
      copy.grow(to: rows)
      copy.cells.copyMemory(from: cells, byteCount: rows * width)
      if layout.hasPresence { copy.presence.update(from: presence, count: (rows + 63) / 64) }
    }
    if layout.hasHeap {
      copy.reallocateHeap(heapCount)
      copy.heap.copyMemory(from: heap, byteCount: heapCount * layout.heapUnit)
      copy.heapCount = heapCount
      copy.wasted = wasted
    }
    return copy
  }
}

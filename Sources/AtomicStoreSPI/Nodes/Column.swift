import Glibc

/// How a column's cells are laid out.
enum CellLayout: UInt8, Sendable, CaseIterable {
  case boolean, integer16, integer32, integer64, float, double, uuid
  /// An extent into the column's heap of bytes.
  case bytes
  /// A handle, or all ones.
  case toOne
  /// An extent into the column's heap of handles.
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
  /// Whether null is a bit beside the cells rather than a pattern in them.
  var hasPresence: Bool {
    switch self {
    case .bytes, .toOne, .toMany: false
    default: true
    }
  }
  var hasHeap: Bool { self == .bytes || self == .toMany }
  var heapUnit: Int { self == .toMany ? 8 : 1 }

  init(_ kind: Slot.Kind) {
    switch kind {
    case .toOne: self = .toOne
    case .toMany: self = .toMany
    case .attribute(let type):
      switch type {
      case .boolean: self = .boolean
      case .integer16: self = .integer16
      case .integer32: self = .integer32
      case .integer64: self = .integer64
      case .float: self = .float
      case .double, .date: self = .double
      case .uuid: self = .uuid
      // Decimals stand as their exact text: what text formats read and write needs no arithmetic then.
      case .string, .uri, .binaryData, .transformable, .decimal, .undefined, .composite: self = .bytes
      }
    }
  }
}

/// A stretch of a column's heap; the length all ones is null.
struct Extent {
  var start: UInt32
  var length: UInt32
  static let nullLength = UInt32.max
}

/// One property's values for all rows of one entity: cells of one width, a bitmap of those present, and for values of
/// any length a heap. Raw memory, since a load writes ten million cells: an array element in a class costs 17 ns,
/// this 1.
struct ColumnHeader {
  let layout: CellLayout
  let width: Int
  var cells: UnsafeMutableRawPointer
  var presence: UnsafeMutablePointer<UInt64>
  var capacity = 0
  var heap: UnsafeMutableRawPointer
  /// In units: bytes, or handles.
  var heapCount = 0
  var heapCapacity = 0
  /// Units that no cell names any more, since their values were replaced.
  var wasted = 0

  init(_ layout: CellLayout) {
    self.layout = layout
    width = layout.width
    cells = Self.resized(nil, 16)
    presence = Self.resized(nil, 8).bindMemory(to: UInt64.self, capacity: 1)
    heap = Self.resized(nil, 8)
  }

  func deallocate() {
    free(cells)
    free(presence)
    free(heap)
  }

  /// C's own memory: large blocks grow by moving pages, where allocating anew would copy and fault in each of them.
  private static func resized(_ memory: UnsafeMutableRawPointer?, _ bytes: Int) -> UnsafeMutableRawPointer {
    // Without memory Swift's own allocation says so and ends, as everywhere else.
    realloc(memory, max(bytes, 16)) ?? .allocate(byteCount: bytes, alignment: 16)
  }

  /// Makes room for `rows`, the new ones null.
  mutating func grow(to rows: Int) {
    guard rows > capacity else { return }
    cells = Self.resized(cells, rows * width)
    // Null in an extent or a handle is all ones.
    (cells + capacity * width).initializeMemory(
      as: UInt8.self, repeating: layout.hasPresence ? 0 : 0xFF, count: (rows - capacity) * width)
    if layout.hasPresence {
      let words = (rows + 63) / 64
      let old = (capacity + 63) / 64
      presence = Self.resized(presence, words * 8).bindMemory(to: UInt64.self, capacity: words)
      (presence + old).initialize(repeating: 0, count: words - old)
    }
    capacity = rows
  }

  /// Gives back what growing took too much.
  mutating func shrink(to rows: Int) {
    guard rows < capacity else { return }
    cells = Self.resized(cells, rows * width)
    capacity = rows
    if heapCapacity > heapCount { reallocateHeap(heapCount) }
  }

  mutating func reallocateHeap(_ units: Int) {
    heap = Self.resized(heap, units * layout.heapUnit)
    heapCapacity = units
  }

  /// Room for `units` more at the heap's end; false where the heap would pass what an extent can name.
  @inline(__always) mutating func reserveHeap(_ units: Int) -> Bool {
    let needed = heapCount + units
    if needed > heapCapacity {
      guard needed < Int(UInt32.max) else { return false }
      reallocateHeap(max(needed, min(heapCapacity + heapCapacity / 2, Int(UInt32.max)), 64))
    }
    return true
  }

  @inline(__always) func isPresent(_ row: Int) -> Bool {
    switch layout {
    case .bytes, .toMany: extent(row).length != Extent.nullLength
    case .toOne: cell(row, as: UInt64.self) != NodeHandle.nullBits
    default: presence[row >> 6] & (1 << UInt64(row & 63)) != 0
    }
  }
  @inline(__always) func markPresent(_ row: Int) { presence[row >> 6] |= 1 << UInt64(row & 63) }

  func setNull(_ row: Int) {
    if layout.hasPresence {
      presence[row >> 6] &= ~(1 << UInt64(row & 63))
      (cells + row * width).initializeMemory(as: UInt8.self, repeating: 0, count: width)
    } else {
      (cells + row * width).initializeMemory(as: UInt8.self, repeating: 0xFF, count: width)
    }
  }

  @inline(__always) func cell<Value: BitwiseCopyable>(_ row: Int, as type: Value.Type) -> Value {
    cells.load(fromByteOffset: row &* MemoryLayout<Value>.size, as: type)
  }
  @inline(__always) func setCell<Value: BitwiseCopyable>(_ row: Int, _ value: Value) {
    cells.storeBytes(of: value, toByteOffset: row &* MemoryLayout<Value>.size, as: Value.self)
  }
  @inline(__always) func extent(_ row: Int) -> Extent {
    let bits = cell(row, as: UInt64.self)
    return Extent(start: UInt32(truncatingIfNeeded: bits), length: UInt32(truncatingIfNeeded: bits >> 32))
  }
  @inline(__always) func setExtent(_ row: Int, start: Int, length: Int) {
    setCell(row, UInt64(truncatingIfNeeded: start) | UInt64(truncatingIfNeeded: length) << 32)
  }

  @inline(__always) func bytes(_ row: Int) -> UnsafeBufferPointer<UInt8> {
    let place = extent(row)
    guard place.length != Extent.nullLength else { return UnsafeBufferPointer(start: nil, count: 0) }
    return UnsafeBufferPointer(
      start: UnsafePointer((heap + Int(place.start)).assumingMemoryBound(to: UInt8.self)), count: Int(place.length))
  }
  @inline(__always) func handles(_ row: Int) -> UnsafeMutableBufferPointer<UInt64> {
    let place = extent(row)
    guard place.length != Extent.nullLength else { return UnsafeMutableBufferPointer(start: nil, count: 0) }
    return UnsafeMutableBufferPointer(
      start: (heap + Int(place.start) * 8).assumingMemoryBound(to: UInt64.self), count: Int(place.length))
  }

  /// Puts bytes at the heap's end and the cell's extent on them. False where the heap is full.
  @inline(__always) mutating func setBytes(_ row: Int, _ source: UnsafeRawPointer?, count: Int) -> Bool {
    guard reserveHeap(count) else { return false }
    if let source, count > 0 { (heap + heapCount).copyMemory(from: source, byteCount: count) }
    setExtent(row, start: heapCount, length: count)
    heapCount += count
    return true
  }

  mutating func setHandles(_ row: Int, _ handles: [UInt64]) -> Bool {
    guard reserveHeap(handles.count) else { return false }
    handles.withUnsafeBytes { source in
      if let base = source.baseAddress { (heap + heapCount * 8).copyMemory(from: base, byteCount: source.count) }
    }
    setExtent(row, start: heapCount, length: handles.count)
    heapCount += handles.count
    return true
  }

  /// Closes the gaps in a row's list, which stays where it is.
  mutating func removeNullHandles(_ row: Int) {
    let list = handles(row)
    var kept = 0
    for bits in list where bits != NodeHandle.nullBits {
      list[kept] = bits
      kept += 1
    }
    if kept > 0 { setExtent(row, start: Int(extent(row).start), length: kept) } else { setNull(row) }
  }

  /// Adds one element to a row's list, which is moved to the heap's end if it does not stand there.
  @inline(__always) mutating func appendHandle(_ row: Int, _ bits: UInt64) -> Bool {
    let place = extent(row)
    var start = Int(place.start)
    var length = Int(place.length)
    if place.length == Extent.nullLength {
      start = heapCount
      length = 0
    }
    if start + length != heapCount {
      guard reserveHeap(length + 1) else { return false }
      (heap + heapCount * 8).copyMemory(from: heap + start * 8, byteCount: length * 8)
      start = heapCount
      heapCount += length
    } else {
      guard reserveHeap(1) else { return false }
    }
    (heap + heapCount * 8).storeBytes(of: bits, as: UInt64.self)
    heapCount += 1
    setExtent(row, start: start, length: length + 1)
    return true
  }

  /// How many bytes so many rows take.
  static func size(_ layout: CellLayout, rows: Int) -> Int {
    rows * layout.width + (layout.hasPresence ? (rows + 63) / 64 * 8 : 0)
  }

  /// How many units of the heap a row's value takes.
  func heapLength(_ row: Int) -> Int {
    guard layout.hasHeap, isPresent(row) else { return 0 }
    return Int(extent(row).length)
  }

  /// Notes what a replaced value left in the heap, and packs it when more than half are such leftovers: a store that is
  /// edited for days would fill the memory otherwise.
  mutating func waste(_ units: Int) {
    wasted += units
    if wasted > 1 << 16, wasted > heapCount / 2 { pack() }
  }

  private mutating func pack() {
    let unit = layout.heapUnit
    var live = 0
    for row in 0..<capacity { live += heapLength(row) }
    let packed = Self.resized(nil, live * unit)
    var next = 0
    for row in 0..<capacity where isPresent(row) {
      let place = extent(row)
      let length = Int(place.length)
      (packed + next * unit).copyMemory(from: heap + Int(place.start) * unit, byteCount: length * unit)
      setExtent(row, start: next, length: length)
      next += length
    }
    free(heap)
    heap = packed
    heapCount = next
    heapCapacity = live
    wasted = 0
  }

  func copied(rows: Int) -> ColumnHeader {
    var copy = ColumnHeader(layout)
    copy.grow(to: rows)
    copy.cells.copyMemory(from: cells, byteCount: rows * width)
    if layout.hasPresence { copy.presence.update(from: presence, count: (rows + 63) / 64) }
    if layout.hasHeap {
      copy.reallocateHeap(heapCount)
      copy.heap.copyMemory(from: heap, byteCount: heapCount * layout.heapUnit)
      copy.heapCount = heapCount
      copy.wasted = wasted
    }
    return copy
  }
}

/// The owner of a column's memory.
///
/// `@unchecked Sendable`: the memory is written only while exactly one owner holds the object. A builder's columns
/// belong to the builder until it is finished; a table copies a column before it writes to one that others hold
/// (``NodeTable`` asks `isKnownUniquelyReferenced`). Everything else reads.
final class Column: @unchecked Sendable {
  let header: UnsafeMutablePointer<ColumnHeader>

  init(_ layout: CellLayout) {
    header = .allocate(capacity: 1)
    header.initialize(to: ColumnHeader(layout))
  }
  /// A column without a value, for that many rows.
  convenience init(_ layout: CellLayout, rows: Int) {
    self.init(layout)
    header.pointee.grow(to: rows)
  }

  private static let withoutRows = CellLayout.allCases.map { Column($0) }
  /// A column of no rows. One for all, which nobody writes to, since it always has more than one owner.
  static func none(_ layout: CellLayout) -> Column { withoutRows[Int(layout.rawValue)] }
  init(copying other: Column, rows: Int) {
    header = .allocate(capacity: 1)
    header.initialize(to: other.header.pointee.copied(rows: rows))
  }
  deinit {
    header.pointee.deallocate()
    header.deinitialize(count: 1)
    header.deallocate()
  }
}

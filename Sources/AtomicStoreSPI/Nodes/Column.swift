import Glibc

/// The layout of a column's cells.
enum CellLayout: UInt8, Sendable, CaseIterable {
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
      // Decimals are stored as their exact text, so that text formats need no arithmetic.
      case .string, .uri, .binaryData, .transformable, .decimal, .undefined, .composite: self = .bytes
      }
    }
  }
}

/// A range of a column's heap; if all bits of the length are set, the value is null.
struct Extent {
  var start: UInt32
  var length: UInt32
  static let nullLength = UInt32.max
}

/// The values of one property for all rows of one entity: cells of fixed width, a bitmap of non-null cells, and a heap
/// for values of variable length. Raw memory, since a load writes ten million cells: an array element in a class takes
/// 17 ns, this takes 1.
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
  /// Units that are not used by any cell because their values were replaced.
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

  /// Uses realloc: large blocks grow by remapping pages, while a new allocation would copy and fault each of them.
  private static func resized(_ memory: UnsafeMutableRawPointer?, _ bytes: Int) -> UnsafeMutableRawPointer {
    // Out of memory: Swift's allocation reports it and terminates, as everywhere else.
    realloc(memory, max(bytes, 16)) ?? .allocate(byteCount: bytes, alignment: 16)
  }

  /// Grows to `rows`; the new rows are null.
  mutating func grow(to rows: Int) {
    guard rows > capacity else { return }
    cells = Self.resized(cells, rows * width)
    // Null is all bits set, in an extent or a handle.
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

  /// Releases memory reserved in excess.
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

  /// Reserves room for `units` more at the heap's end. False if the heap would exceed what an extent can address.
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

  /// Appends bytes to the heap and sets the cell's extent. False if the heap is full.
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

  /// Removes null handles from a row's list in place.
  mutating func removeNullHandles(_ row: Int) {
    let list = handles(row)
    var kept = 0
    for bits in list where bits != NodeHandle.nullBits {
      list[kept] = bits
      kept += 1
    }
    if kept > 0 { setExtent(row, start: Int(extent(row).start), length: kept) } else { setNull(row) }
  }

  /// Adds an element to a row's list, moving the list to the heap's end if it is not there.
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

  /// The size of that many rows in bytes.
  static func size(_ layout: CellLayout, rows: Int) -> Int {
    rows * layout.width + (layout.hasPresence ? (rows + 63) / 64 * 8 : 0)
  }

  /// The number of heap units of a row's value.
  func heapLength(_ row: Int) -> Int {
    guard layout.hasHeap, isPresent(row) else { return 0 }
    return Int(extent(row).length)
  }

  /// Counts the heap units of a replaced value, and compacts the heap when more than half of it is unused: otherwise a
  /// store that is edited for days would exhaust the memory.
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
/// `@unchecked Sendable`: the memory is written only while there is exactly one reference to the object. A builder's
/// columns belong to the builder until it is finished; a table copies a column before it writes to one with other
/// owners (``NodeTable`` calls `isKnownUniquelyReferenced`). All other code only reads.
final class Column: @unchecked Sendable {
  let header: UnsafeMutablePointer<ColumnHeader>

  init(_ layout: CellLayout) {
    header = .allocate(capacity: 1)
    header.initialize(to: ColumnHeader(layout))
  }
  /// Creates a column with only null values.
  convenience init(_ layout: CellLayout, rows: Int) {
    self.init(layout)
    header.pointee.grow(to: rows)
  }

  private static let withoutRows = CellLayout.allCases.map { Column($0) }
  /// A shared column without rows. It is never written to, since it always has more than one owner.
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

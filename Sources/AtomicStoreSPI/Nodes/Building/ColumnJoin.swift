/// Appends the columns that parts of a file have for one slot.
///
/// `@unchecked Sendable`: a join is run once, by one thread, and no other join has a pointer to the same columns.
struct ColumnJoin: @unchecked Sendable {
  /// The column of one part.
  struct Piece {
    var header: UnsafeMutablePointer<ColumnHeader>
    /// The row of the part's first row.
    var start: Int
    /// The number of its rows up to the last one with a cell.
    var count: Int
    /// The number of the part.
    var part: Int
  }
  /// What is added to the numbers of listed integers and mentioned texts of a part.
  struct Numbers: Sendable {
    var listed: UInt64
    var texts: UInt64

    var isSame: Bool { listed == 0 && texts == 0 }

    /// A reference of the part, as a cell of the whole.
    @inline(__always) func renumbered(_ raw: UInt64) -> UInt64 {
      if raw == NodeHandle.nullBits { return raw }
      let number = raw & RawReference.numberMask
      switch raw & RawReference.tagMask {
      case RawReference.listTag: return RawReference.listTag | number + listed
      case RawReference.textTag:
        return RawReference.textTag | number + texts
      default: return raw
      }
    }
  }

  var target: UnsafeMutablePointer<ColumnHeader>
  /// The number of rows of the whole.
  let total: Int
  /// In the order of rows.
  var pieces: [Piece]
  /// The piece whose column became the target.
  var adopted: Piece?
  /// By part.
  var numbers: [Numbers] = []
  /// Whether the cells are references that are the numbers of their rows.
  var isNumbered = false
  /// The memory in bytes that the target has afterwards beyond what it had.
  var growth = 0

  init(target: UnsafeMutablePointer<ColumnHeader>, total: Int, pieces: [Piece]) {
    self.target = target
    self.total = total
    self.pieces = pieces
  }

  /// Copies or moves all pieces, and releases the memory of each as soon as that is done.
  ///
  /// - Returns: False if the system does not have enough memory. The target then has some of the rows, or none.
  func run() -> Bool {
    guard target.pointee.tryToGrow(to: total, willSetCells: isComplete) else { return false }
    if let adopted, !numbers[adopted.part].isSame { renumber(adopted) }
    let layout = target.pointee.layout
    let units = pieces.reduce(target.pointee.heapCount) { $0 + $1.header.pointee.heapCount }
    // Room for moving pages, which is released below.
    let spare =
      pieces.contains { $0.header.pointee.heapCount * layout.heapUnit >= PagedMemory.leastMoved }
      ? PagedMemory.spare / layout.heapUnit : 0
    if layout.hasHeap, units + spare > target.pointee.heapCapacity,
      !target.pointee.tryToReallocateHeap(units + spare)
    {
      return false
    }
    for piece in pieces {
      switch target.pointee.layout {
      case .bytes, .toMany: appendHeap(piece)
      case .toOne: appendReferences(piece)
      default: appendCells(piece)
      }
      piece.header.pointee.deallocate()
      piece.header.initialize(to: ColumnHeader(layout))
    }
    // Without memory for a smaller block, the spare room stays.
    if spare > 0 { _ = target.pointee.tryToReallocateHeap(units) }
    return true
  }

  /// Whether each row after those that the target has room for is in one of the pieces.
  private var isComplete: Bool {
    var next = target.pointee.capacity
    for piece in pieces where piece.start <= next { next = max(next, piece.start + piece.count) }
    return next >= total
  }

  private func renumber(_ piece: Piece) {
    let numbers = numbers[piece.part]
    switch target.pointee.layout {
    case .toOne:
      for row in 0..<piece.count {
        target.pointee.setCell(row, numbers.renumbered(target.pointee.cell(row, as: UInt64.self)))
      }
    case .toMany: renumberHeap(0..<target.pointee.heapCount, numbers)
    default: break
    }
  }

  private func renumberHeap(_ units: Range<Int>, _ numbers: Numbers) {
    let heap = target.pointee.heap
    for unit in units {
      let raw = heap.load(fromByteOffset: unit * 8, as: UInt64.self)
      (heap + unit * 8).storeBytes(of: numbers.renumbered(raw), as: UInt64.self)
    }
  }

  private func appendCells(_ piece: Piece) {
    let width = target.pointee.width
    (target.pointee.cells + piece.start * width).copyMemory(
      from: piece.header.pointee.cells, byteCount: piece.count * width)
    if isNumbered, piece.start > 0 {
      for row in piece.start..<piece.start + piece.count {
        target.pointee.setCell(row, target.pointee.cell(row, as: Int64.self) &+ Int64(piece.start))
      }
    }
    let words = (piece.count + 63) / 64
    let first = piece.start >> 6
    let shift = UInt64(piece.start & 63)
    for word in 0..<words {
      var bits = piece.header.pointee.presence[word]
      if word == words - 1, piece.count & 63 != 0 { bits &= (1 << UInt64(piece.count & 63)) - 1 }
      target.pointee.presence[first + word] |= bits << shift
      let rest = shift > 0 ? bits >> (64 - shift) : 0
      if rest != 0 { target.pointee.presence[first + word + 1] |= rest }
    }
  }

  private func appendReferences(_ piece: Piece) {
    let numbers = numbers[piece.part]
    guard !numbers.isSame else {
      (target.pointee.cells + piece.start * 8).copyMemory(from: piece.header.pointee.cells, byteCount: piece.count * 8)
      return
    }
    for row in 0..<piece.count {
      let raw = piece.header.pointee.cell(row, as: UInt64.self)
      target.pointee.setCell(piece.start + row, numbers.renumbered(raw))
    }
  }

  private func appendHeap(_ piece: Piece) {
    let base = target.pointee.heapCount
    let count = piece.header.pointee.heapCount
    // Before the heap is moved, in which the lengths of long values are.
    for row in 0..<piece.count {
      if let extent = piece.header.pointee.extent(row) {
        target.pointee.setExtent(piece.start + row, start: extent.start + base, length: extent.length)
      } else {
        target.pointee.setCell(piece.start + row, NodeHandle.nullBits)
      }
    }
    target.pointee.appendHeap(of: piece.header)
    if target.pointee.layout == .toMany, !numbers[piece.part].isSame {
      renumberHeap(base..<base + count, numbers[piece.part])
    }
  }
}

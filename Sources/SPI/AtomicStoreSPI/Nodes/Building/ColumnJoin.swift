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
  /// Whether few rows have a cell: then the target is a sparse column.
  var isSparse = false
  /// Whether the cells are references that are the numbers of their rows.
  var isNumbered = false
  /// The memory in bytes that the target had before.
  var bytesBefore = 0

  init(target: UnsafeMutablePointer<ColumnHeader>, total: Int, pieces: [Piece]) {
    self.target = target
    self.total = total
    self.pieces = pieces
  }

  /// Whether few of so many rows have a cell in the columns of parts.
  static func isSparse(_ headers: [UnsafeMutablePointer<ColumnHeader>], of rows: Int) -> Bool {
    let cells = headers.reduce(0) { $0 + ($1.pointee.sparse?.count ?? $1.pointee.capacity) }
    return ColumnHeader.isSparse(cells, of: rows)
  }

  /// Copies or moves all pieces, and releases the memory of each as soon as that is done.
  ///
  /// - Returns: False if the system does not have enough memory. The target then has some of the rows, or none.
  func run() -> Bool {
    guard isSparse ? reserveSparse() : reserve() else { return false }
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

  /// Makes room for all rows, for which pieces have cells then.
  private func reserve() -> Bool {
    guard target.pointee.tryToSpread(rows: total),
      target.pointee.tryToGrow(to: total, willSetCells: isComplete)
    else { return false }
    return pieces.allSatisfy { $0.header.pointee.tryToSpread(rows: $0.count) }
  }

  /// Makes room for the rows with cells, which pieces have in the same way then.
  private func reserveSparse() -> Bool {
    guard target.pointee.tryToGather(rows: total),
      pieces.allSatisfy({ $0.header.pointee.tryToGather(rows: $0.count) })
    else { return false }
    return target.pointee.tryToReserveCells(pieces.reduce(0) { $0 + ($1.header.pointee.sparse?.count ?? 0) })
  }

  /// Whether each row after those that the target has room for is in one of the pieces.
  private var isComplete: Bool {
    var next = target.pointee.capacity
    let whole = pieces.filter { $0.header.pointee.sparse == nil }
    for piece in whole where piece.start <= next { next = max(next, piece.start + piece.count) }
    return next >= total
  }

  private func renumber(_ piece: Piece) {
    let numbers = numbers[piece.part]
    switch target.pointee.layout {
    case .toOne:
      for place in target.pointee.places(0..<piece.count) {
        target.pointee.setCell(at: place, numbers.renumbered(target.pointee.cell(at: place, as: UInt64.self)))
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

  /// The places of a piece, and the first of the target for them, for rows that a sparse target gets now.
  private func places(of piece: Piece) -> (own: Range<Int>, first: Int) {
    let own = piece.header.pointee.places(0..<piece.count)
    guard let known = target.pointee.sparse, let added = piece.header.pointee.sparse else { return (own, piece.start) }
    for index in 0..<added.count {
      known.rows[known.count + index] = added.rows[index] + UInt32(truncatingIfNeeded: piece.start)
    }
    target.pointee.sparse?.count += added.count
    return (own, known.count + 1)
  }

  private func appendCells(_ piece: Piece) {
    let width = target.pointee.width
    let (own, first) = places(of: piece)
    (target.pointee.cells + first * width).copyMemory(
      from: piece.header.pointee.cells + own.lowerBound * width, byteCount: own.count * width)
    if target.pointee.sparse != nil { return }
    if isNumbered, piece.start > 0 {
      for row in piece.start..<piece.start + piece.count {
        target.pointee.setCell(row, target.pointee.cell(row, as: Int64.self) &+ Int64(piece.start))
      }
    }
    appendPresence(piece)
  }

  private func appendPresence(_ piece: Piece) {
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
    let (own, first) = places(of: piece)
    guard !numbers.isSame else {
      (target.pointee.cells + first * 8).copyMemory(
        from: piece.header.pointee.cells + own.lowerBound * 8, byteCount: own.count * 8)
      return
    }
    for place in own {
      let raw = piece.header.pointee.cell(at: place, as: UInt64.self)
      target.pointee.setCell(at: first + place - own.lowerBound, numbers.renumbered(raw))
    }
  }

  private func appendHeap(_ piece: Piece) {
    let base = target.pointee.heapCount
    let count = piece.header.pointee.heapCount
    let (own, first) = places(of: piece)
    // Before the heap is moved, in which the lengths of long values are.
    for place in own {
      let extent = piece.header.pointee.extent(at: place)
      target.pointee.setCell(
        at: first + place - own.lowerBound,
        extent.map { Extent.cell(start: $0.start + base, length: $0.length) } ?? NodeHandle.nullBits)
    }
    target.pointee.appendHeap(of: piece.header)
    if target.pointee.layout == .toMany, !numbers[piece.part].isSame {
      renumberHeap(base..<base + count, numbers[piece.part])
    }
  }
}

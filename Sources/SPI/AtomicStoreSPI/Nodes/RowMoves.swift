/// Where the rows of a table are in another order of its rows.
final class RowMoves {
  /// Of all entities, one after the other; all bits set for rows that are not there.
  private let rows: UnsafeMutablePointer<UInt32>
  /// Where the rows of each entity begin in ``rows``.
  private let starts: UnsafeMutablePointer<Int>
  /// The entities whose rows may be in another order.
  let moved: Set<Int>

  /// - Parameters:
  ///   - orders: The rows of each entity in their new order; nil for an entity whose rows stay where they are.
  ///   - counts: The number of rows of each entity before.
  init(_ orders: [[UInt32]?], counts: [Int]) {
    let total = counts.reduce(0, +)
    rows = .allocate(capacity: max(total, 1))
    rows.initialize(repeating: .max, count: total)
    starts = .allocate(capacity: max(counts.count, 1))
    moved = Set(orders.indices.filter { orders[$0] != nil })
    var start = 0
    for (entity, order) in orders.enumerated() {
      (starts + entity).initialize(to: start)
      if let order {
        for new in order.indices { rows[start + Int(order[new])] = UInt32(truncatingIfNeeded: new) }
      } else {
        for row in 0..<counts[entity] { rows[start + row] = UInt32(truncatingIfNeeded: row) }
      }
      start += counts[entity]
    }
  }

  deinit {
    rows.deallocate()
    starts.deallocate()
  }

  /// The new row of an old one; nil if it is not there.
  func row(entity: Int, _ row: Int) -> Int? {
    let target = rows[starts[entity] + row]
    return target == .max ? nil : Int(target)
  }

  /// The new handle of a node; nil if it is not there.
  @inline(__always) func handle(_ bits: UInt64) -> UInt64? {
    let row = rows[starts[Int(truncatingIfNeeded: bits >> 32)] + Int(truncatingIfNeeded: bits & 0xFFFF_FFFF)]
    return row == .max ? nil : bits & 0xFFFF_FFFF_0000_0000 | UInt64(row)
  }
}

extension EntityTable {
  /// The rows in ascending order of reference, without deleted ones.
  func rowsInOrder() -> [UInt32] {
    let all = (0..<UInt32(truncatingIfNeeded: count))
    var rows = deletedCount == 0 ? Array(all) : all.filter { !isDeleted(Int($0)) }
    guard referenceTexts == nil else { return textsInOrder(rows) }
    let numbers = referenceNumbers.header
    NumberSort.sort(&rows) { numbers.pointee.cell(Int($0), as: Int64.self) }
    return rows
  }

  /// Rows with string references in ascending order. Most are already: only those that are not among ascending ones are
  /// sorted, and merged with the others.
  private func textsInOrder(_ rows: [UInt32]) -> [UInt32] {
    var ascending: [UInt32] = []
    ascending.reserveCapacity(rows.count)
    var others: [UInt32] = []
    for row in rows {
      if let last = ascending.last, !precedes(Int(last), self, Int(row)) {
        others.append(row)
      } else {
        ascending.append(row)
      }
    }
    if others.isEmpty { return ascending }
    // Most texts differ in their first bytes, which are compared without finding the texts.
    var heads: [(head: UInt64, row: UInt32)] = []
    heads.reserveCapacity(others.count)
    for row in others { heads.append((referenceText(Int(row)).map { Self.head($0) } ?? 0, row)) }
    heads.sort { one, other in
      one.head == other.head ? precedes(Int(one.row), self, Int(other.row)) : one.head < other.head
    }
    others = heads.map { $0.row }
    var merged: [UInt32] = []
    merged.reserveCapacity(rows.count)
    var next = 0
    for other in others {
      while next < ascending.count, precedes(Int(ascending[next]), self, Int(other)) {
        merged.append(ascending[next])
        next += 1
      }
      merged.append(other)
    }
    merged += ascending[next...]
    return merged
  }

  /// The first bytes of a text as a number, with zeros behind a short one: texts whose numbers differ are in the order
  /// of the numbers.
  private static func head(_ text: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var head: UInt64 = 0
    for index in 0..<8 { head = head << 8 | (index < text.count ? UInt64(text[index]) : 0) }
    return head
  }
}

extension ColumnHeader {
  /// Fills a new column with values of another one, handles translated.
  ///
  /// - Parameter places: Where the other column has the values of this one's places, in order.
  /// - Returns: The first old row that leads to a node that is not there, and that node; nil if there is none.
  mutating func fill(
    from: UnsafeMutablePointer<ColumnHeader>, _ places: [UInt32], _ moves: RowMoves
  ) throws(PersistentStoreError) -> (row: Int, removed: NodeHandle)? {
    func old(_ index: Int) -> Int { Int(places[index]) }
    switch layout {
    case .toOne:
      for index in places.indices {
        let bits = from.pointee.cell(at: old(index), as: UInt64.self)
        if bits == NodeHandle.nullBits { continue }
        guard let target = moves.handle(bits) else {
          return (from.pointee.row(at: old(index)), NodeHandle(bits: bits))
        }
        setCell(at: firstPlace + index, target)
      }
    case .toMany:
      for index in places.indices {
        let list = from.pointee.handles(at: old(index))
        guard list.count > 0 else { continue }
        guard beginValue(list.count) else { throw .columnFull(StoreLocation()) }
        for place in list.indices {
          guard let target = moves.handle(list[place]) else {
            return (from.pointee.row(at: old(index)), NodeHandle(bits: list[place]))
          }
          (heap + (heapCount + place) * 8).storeBytes(of: target, as: UInt64.self)
        }
        setCell(at: firstPlace + index, Extent.cell(start: heapCount, length: list.count))
        heapCount += list.count
      }
    case .bytes:
      guard fillBytes(from: from, places) else { throw .columnFull(StoreLocation()) }
    default:
      let isSparse = sparse != nil
      for index in places.indices where isSparse || from.pointee.isPresent(old(index)) {
        (cells + (firstPlace + index) * width).copyMemory(
          from: from.pointee.cells + old(index) * width, byteCount: width)
        if !isSparse { markPresent(index) }
      }
    }
    return nil
  }

  /// The place of the first row with a cell.
  private var firstPlace: Int { sparse == nil ? 0 : 1 }

  /// Fills a new column of bytes with values of another one. Values that follow each other in both are copied together:
  /// mostly, a few rows were moved.
  ///
  /// - Returns: False if an extent cannot address all.
  mutating func fillBytes(from: UnsafeMutablePointer<ColumnHeader>, _ places: [UInt32]) -> Bool {
    let first = firstPlace
    var index = 0
    while index < places.count {
      guard let value = from.pointee.presentExtent(places[index]) else {
        index += 1
        continue
      }
      if Extent.isLong(value.length) {
        guard setBytes(at: first + index, from.pointee.heap + value.start, count: value.length) else { return false }
        index += 1
        continue
      }
      let start = index
      var end = value.start + value.length
      index += 1
      while index < places.count, let next = from.pointee.presentExtent(places[index]), next.start == end,
        !Extent.isLong(next.length)
      {
        end += next.length
        index += 1
      }
      guard reserveHeap(end - value.start) else { return false }
      (heap + heapCount).copyMemory(from: from.pointee.heap + value.start, byteCount: end - value.start)
      for copied in start..<index {
        guard let old = from.pointee.presentExtent(places[copied]) else { continue }
        setCell(
          at: first + copied, Extent.cell(start: heapCount + old.start - value.start, length: old.length))
      }
      heapCount += end - value.start
    }
    return true
  }

  /// The extent at a place; nil for null, and for rows after those that the column has.
  @inline(__always) private func presentExtent(_ place: UInt32) -> Extent? {
    sparse != nil || Int(place) < capacity ? extent(at: Int(place)) : nil
  }

  /// Gives a new sparse column null cells of some rows, in ascending order.
  mutating func addCells(of rows: [UInt32]) {
    if !tryToReserveCells(rows.count) { PagedMemory.endProgram(rows.count * width) }
    sparse?.rows.update(from: rows, count: rows.count)
    sparse?.count = rows.count
    for place in 0..<rows.count { setNull(at: place + 1) }
  }
}

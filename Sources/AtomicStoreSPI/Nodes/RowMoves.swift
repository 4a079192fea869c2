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
    others.sort { precedes(Int($0), self, Int($1)) }
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
}

extension ColumnHeader {
  /// Fills a new column with the rows of another one in another order, handles translated.
  ///
  /// - Returns: The first old row that leads to a node that is not there, and that node; nil if there is none.
  mutating func fill(
    from: UnsafeMutablePointer<ColumnHeader>, _ order: [UInt32], _ moves: RowMoves
  ) throws(PersistentStoreError) -> (row: Int, removed: NodeHandle)? {
    switch layout {
    case .toOne:
      for row in order.indices {
        let bits = from.pointee.cell(Int(order[row]), as: UInt64.self)
        if bits == NodeHandle.nullBits { continue }
        guard let target = moves.handle(bits) else { return (Int(order[row]), NodeHandle(bits: bits)) }
        setCell(row, target)
      }
    case .toMany:
      for row in order.indices where from.pointee.isPresent(Int(order[row])) {
        let list = from.pointee.handles(Int(order[row]))
        guard beginValue(list.count) else { throw .columnFull(StoreLocation()) }
        for place in list.indices {
          guard let target = moves.handle(list[place]) else { return (Int(order[row]), NodeHandle(bits: list[place])) }
          (heap + (heapCount + place) * 8).storeBytes(of: target, as: UInt64.self)
        }
        setExtent(row, start: heapCount, length: list.count)
        heapCount += list.count
      }
    case .bytes:
      guard fillBytes(from: from, order) else { throw .columnFull(StoreLocation()) }
    default:
      for row in order.indices where from.pointee.isPresent(Int(order[row])) {
        (cells + row * width).copyMemory(from: from.pointee.cells + Int(order[row]) * width, byteCount: width)
        markPresent(row)
      }
    }
    return nil
  }

  /// Fills a new column of bytes with the rows of another one in another order. Values that follow each other in both
  /// are copied together: mostly, a few rows were moved.
  ///
  /// - Returns: False if an extent cannot address all.
  mutating func fillBytes(from: UnsafeMutablePointer<ColumnHeader>, _ order: [UInt32]) -> Bool {
    var row = 0
    while row < order.count {
      guard let place = from.pointee.presentExtent(order[row]) else {
        row += 1
        continue
      }
      if Extent.isLong(place.length) {
        guard setBytes(row, from.pointee.heap + place.start, count: place.length) else { return false }
        row += 1
        continue
      }
      let start = row
      var end = place.start + place.length
      row += 1
      while row < order.count, let next = from.pointee.presentExtent(order[row]), next.start == end,
        !Extent.isLong(next.length)
      {
        end += next.length
        row += 1
      }
      guard reserveHeap(end - place.start) else { return false }
      (heap + heapCount).copyMemory(from: from.pointee.heap + place.start, byteCount: end - place.start)
      for copied in start..<row {
        guard let old = from.pointee.presentExtent(order[copied]) else { continue }
        setExtent(copied, start: heapCount + old.start - place.start, length: old.length)
      }
      heapCount += end - place.start
    }
    return true
  }

  /// The extent of a row; nil for null, and for rows after those that the column has.
  @inline(__always) private func presentExtent(_ row: UInt32) -> Extent? {
    Int(row) < capacity ? extent(Int(row)) : nil
  }
}

import AtomicStoreSPI
import StorePredicates
import StorePrimitives

/// Which rows there have been. Values are equal as ``/AtomicStoreSPI/StoredValue`` compares them.
struct SeenRows {
  private var keys = TextNumbers()
  /// Rows with values that have no key.
  private var others: Set<[FetchedRow.Value]> = []
  private var key: [UInt8] = []

  /// Returns false for a row that is equal to an earlier one. Its values are made only where cells do not suffice.
  mutating func insert(
    _ cells: UnsafeBufferPointer<RowCell>, _ values: @autoclosure () -> [FetchedRow.Value]
  ) -> Bool {
    key.removeAll(keepingCapacity: true)
    var made: [FetchedRow.Value]?
    for (index, cell) in cells.enumerated() {
      if append(cell) { continue }
      let values = made ?? values()
      // A null in a column of this kind is the same as where a path ends before it.
      guard case .other = cell, values[index].isNull else { return others.insert(values).inserted }
      made = values
      key.append(0)
    }
    let known = keys.count
    return key.withUnsafeBufferPointer { keys.add($0) } == known
  }

  /// Appends bytes that are the same for equal values only. False for values without such bytes.
  private mutating func append(_ cell: RowCell) -> Bool {
    switch cell {
    case .null: key.append(0)
    case .boolean(let flag): key += [1, flag ? 1 : 0]
    case .integer(let number): append(2, UInt64(bitPattern: number))
    case .date(let seconds): append(3, seconds.isNaN ? .max : (seconds + 0).bitPattern)
    case .text(let bytes):
      append(4, UInt64(truncatingIfNeeded: bytes.count))
      key.append(contentsOf: bytes)
    case .decimal(let bytes):
      guard let number = DecimalNumber(utf8: Span(_unsafeElements: bytes)) else { return false }
      let text = number.normalized.description
      append(5, UInt64(truncatingIfNeeded: text.utf8.count))
      key.append(contentsOf: text.utf8)
    case .double(let number): append(6, number.isNaN ? .max : (number + 0).bitPattern)
    case .data(let bytes):
      append(7, UInt64(truncatingIfNeeded: bytes.count))
      key.append(contentsOf: bytes)
    case .object, .objects, .other: return false
    }
    return true
  }

  private mutating func append(_ kind: UInt8, _ number: UInt64) {
    key.append(kind)
    withUnsafeBytes(of: number.littleEndian) { key.append(contentsOf: $0) }
  }
}

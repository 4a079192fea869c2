import AtomicStoreSPI
import StorePredicates
import StorePrimitives

/// Which rows there have been. Values are equal as ``/AtomicStoreSPI/StoredValue`` compares them.
struct SeenRows {
  private var texts: TextNumbers
  /// Rows with values that have no key.
  private var others: Set<[FetchedRow.Value]> = []
  private var keys = RowKeys()
  /// Whether the rows of a batch are new: nil for those whose keys decide.
  private var batch: [Bool?] = []

  /// - Parameter expected: How many rows are looked at.
  init(expecting expected: Int) { texts = TextNumbers(expecting: expected) }

  /// Adds a row to a batch. Its values are made only where cells do not suffice.
  mutating func add(_ cells: UnsafeBufferPointer<RowCell>, _ values: @autoclosure () -> [FetchedRow.Value]) {
    for (index, cell) in cells.enumerated() {
      let isLast = index == cells.count - 1
      switch cell {
      // Rows may be those of several stores, whose objects have the same numbers.
      case .object, .objects: return addOther(values())
      case .other:
        let values = values()
        guard case .value(let value) = values[index], keys.append(value, isLast: isLast) else {
          return addOther(values)
        }
      default: guard keys.append(cell, isLast: isLast) else { return addOther(values()) }
      }
    }
    keys.end()
    batch.append(nil)
  }

  private mutating func addOther(_ values: [FetchedRow.Value]) {
    keys.cancel()
    batch.append(others.insert(values).inserted)
  }

  /// Ends a batch.
  ///
  /// - Returns: By row, whether it differs from all rows before it.
  mutating func takeNewRows() -> [Bool] {
    var known = texts.count
    var numbers = keys.takeNumbers(from: &texts).makeIterator()
    defer { batch.removeAll(keepingCapacity: true) }
    return batch.map { isNew in
      if let isNew { return isNew }
      guard numbers.next() == known else { return false }
      known += 1
      return true
    }
  }
}

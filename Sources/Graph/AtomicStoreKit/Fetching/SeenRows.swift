import AtomicStoreSPI
import StorePredicates
import StorePrimitives

/// Which rows there have been. Values are equal as ``/AtomicStoreSPI/StoredValue`` compares them.
struct SeenRows {
  private var keys: TextNumbers
  /// Rows with values that have no key.
  private var others: Set<[FetchedRow.Value]> = []
  private var key = RowKey()

  /// - Parameter expected: How many rows are looked at.
  init(expecting expected: Int) { keys = TextNumbers(expecting: expected) }

  /// Returns false for a row that is equal to an earlier one. Its values are made only where cells do not suffice.
  mutating func insert(
    _ cells: UnsafeBufferPointer<RowCell>, _ values: @autoclosure () -> [FetchedRow.Value]
  ) -> Bool {
    key.removeAll()
    var made: [FetchedRow.Value]?
    for (index, cell) in cells.enumerated() {
      let isLast = index == cells.count - 1
      switch cell {
      // Rows may be those of several stores, whose objects have the same numbers.
      case .object, .objects: return others.insert(made ?? values()).inserted
      case .other:
        let values = made ?? values()
        made = values
        guard case .value(let value) = values[index], key.append(value, isLast: isLast) else {
          return others.insert(values).inserted
        }
      default: guard key.append(cell, isLast: isLast) else { return others.insert(made ?? values()).inserted }
      }
    }
    let known = keys.count
    return key.bytes.withUnsafeBufferPointer { keys.add($0) } == known
  }
}

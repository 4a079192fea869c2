import AtomicStoreSPI
import StorePredicates

/// Sorts fetched rows by their columns: see ``FetchRequest/rowSortKeys``.
struct RowSorter {
  private let keys: [SortKey]
  /// The column of each key.
  private let places: [Int]
  private let entityName: String

  /// Returns nil for an empty list of keys.
  ///
  /// - Throws: `.invalidFetch` for a key that is not the name of a column.
  init?(_ keys: [SortKey], _ columns: [String], _ entityName: String) throws(ManagedObjectError) {
    guard !keys.isEmpty else { return nil }
    var places: [Int] = []
    for key in keys {
      guard let place = columns.firstIndex(where: { $0.utf8.elementsEqual(key.keyPath.utf8) }) else {
        throw ManagedObjectError(
          .invalidFetch,
          "rows cannot be sorted by '\(key.keyPath)': it is not the name of a column"
            + Suggestion.text(for: key.keyPath, among: columns), entityName: entityName, key: key.keyPath)
      }
      places.append(place)
    }
    self.keys = keys
    self.places = places
    self.entityName = entityName
  }

  /// Returns the rows in order. Each value is folded once.
  ///
  /// - Throws: `.invalidFetch` for a column of objects or lists.
  func sorted(_ rows: [FetchedRow]) throws(ManagedObjectError) -> [FetchedRow] {
    var values: [StoredValue] = []
    values.reserveCapacity(rows.count * keys.count)
    for row in rows {
      for (key, place) in zip(keys, places) {
        guard case .value(let value) = row.values[place] else {
          throw ManagedObjectError(
            .invalidFetch,
            "rows cannot be sorted by '\(key.keyPath)': its values are objects or lists, which have no order",
            entityName: entityName, key: key.keyPath)
        }
        values.append(key.sortable(value))
      }
    }
    let order = rows.indices.sorted { one, other in
      for (index, key) in keys.enumerated() {
        let order = key.order(values[one * keys.count + index], values[other * keys.count + index])
        if order != 0 { return key.isAscending ? order < 0 : order > 0 }
      }
      return one < other
    }
    return order.map { rows[$0] }
  }
}

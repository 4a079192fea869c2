/// The rows of a fetch: read from columns when they are asked for, or computed from objects.
package enum FetchedRows {
  case columns(ColumnRows)
  case computed([FetchedRow])

  /// The number of rows.
  package var count: Int {
    switch self {
    case .columns(let rows): rows.count
    case .computed(let rows): rows.count
    }
  }

  /// Calls `body` with the values of each row.
  package func forEachRow(_ body: ([FetchedRow.Value]) throws -> Void) rethrows {
    switch self {
    case .columns(let rows): try rows.forEachRow { try body($0.values) }
    case .computed(let rows): for row in rows { try body(row.values) }
    }
  }
}

/// The rows of a fetch: read from columns when they are asked for, or computed.
package enum FetchedRows {
  case columns(ColumnRows)
  case computed(ComputedRows)

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

/// Rows that were computed, or groups of which each has what a row needs.
package struct ComputedRows: RandomAccessCollection {
  private enum Content {
    case rows([FetchedRow])
    case groups(Groups)
  }
  /// In one object, so that a row does not count references to all parts of the groups.
  private final class Groups {
    let groups: ColumnGroups
    let names: [String]
    let values: [StoreGroupPlan.Value]

    init(_ groups: ColumnGroups, _ names: [String], _ values: [StoreGroupPlan.Value]) {
      self.groups = groups
      self.names = names
      self.values = values
    }

    func row(_ number: Int) -> FetchedRow {
      FetchedRow(columns: names, values: values.map { groups.value($0, of: number) ?? .value(.null) })
    }
  }
  private let content: Content
  package private(set) var startIndex: Int
  package private(set) var endIndex: Int

  package init(_ rows: [FetchedRow]) {
    content = .rows(rows)
    (startIndex, endIndex) = (0, rows.count)
  }

  /// - Parameters:
  ///   - groups: Where the rows are.
  ///   - names: The names of the columns.
  ///   - values: What is in them: only keys and counts, which all groups have.
  init(_ groups: ColumnGroups, names: [String], values: [StoreGroupPlan.Value]) {
    content = .groups(Groups(groups, names, values))
    (startIndex, endIndex) = (0, groups.count)
  }

  /// The rows from an offset on, as many as the limit; 0 for all.
  func limited(offset: Int, limit: Int) -> ComputedRows {
    var rows = self
    rows.startIndex += Swift.min(Swift.max(0, offset), count)
    if limit > 0, limit < rows.count { rows.endIndex = rows.startIndex + limit }
    return rows
  }

  package subscript(position: Int) -> FetchedRow {
    switch content {
    case .rows(let rows): rows[position]
    case .groups(let groups): groups.row(position)
    }
  }
}

/// Which column of a table that exists is which column of the layout. Look them up in the layout's order.
struct ColumnLookup {
  private let found: DatabaseSchema.Table
  /// The first choice of names of all columns that the layout has for the table.
  private let ownNames: Set<String>
  private var taken: Set<Int> = []

  init(_ table: DatabaseLayout.Table, _ found: DatabaseSchema.Table) {
    self.found = found
    ownNames = Set(table.columns.map { DatabaseSchema.key($0.name) })
  }

  /// Nil where the table does not have the column.
  mutating func index(of column: DatabaseLayout.Column) -> Int? {
    for name in [column.name] + column.alternatives {
      guard let index = found.column(named: name) else { continue }
      // An earlier name may be the name that another property has now: then the column is that one's.
      if name != column.name, taken.contains(index) || ownNames.contains(DatabaseSchema.key(name)) { continue }
      taken.insert(index)
      return index
    }
    return nil
  }
}

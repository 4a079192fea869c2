import AtomicStoreSPI

/// A change of rows: what is different, and the database.
struct RowWork {
  let output: SQLiteOutput
  /// The database as it was before.
  let database: SQLiteDatabase
  let schema: DatabaseSchema
  let layout: DatabaseLayout
  let changes: RowChanges
  let values: RowValues

  /// The order keys that members of a list had, by the members' keys. The names are quoted.
  func orderKeys(
    of ownerKey: Int64, in table: String, member: String, owner: String, order: String
  ) throws(PersistentStoreError) -> [Int64: Int64] {
    var result: [Int64: Int64] = [:]
    let rows = try database.prepare(
      "SELECT \(member), \(order) FROM \(table) WHERE \(owner) = \(ownerKey)", StoreLocation(file: output.path))
    while try rows.step() {
      if rows.kind(1) == .integer { result[rows.integer(0)] = rows.integer(1) }
    }
    return result
  }
}

extension Insertion {
  /// Runs a statement that changes a number of rows.
  ///
  /// - Throws: `.internalInconsistency` if it changed others.
  func run(changing count: Int, of table: String, key: Int64? = nil) throws(PersistentStoreError) {
    try run()
    let changed = output.changedRows
    guard changed != count else { return }
    throw PersistentStoreError(
      .internalInconsistency, "\(changed) rows of \(table) were changed instead of \(count)",
      at: StoreLocation(file: output.path, entity: table, reference: key.map { String($0) }))
  }
}

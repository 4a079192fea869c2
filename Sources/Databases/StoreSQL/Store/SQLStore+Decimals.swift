import AtomicStoreSPI

/// Values of decimal attributes that another program has written, and that are not decimal numbers.
extension SQLStore {
  /// How many rows are looked at together.
  private static var rowsAtOnce: Int { 10_000 }

  /// The error of a statement, or one that names the object with a value that the statement cannot have compared: a
  /// database does not say which row it is.
  func named(_ error: PersistentStoreError) -> PersistentStoreError {
    guard error.code == .malformed, let schema else { return error }
    for root in schema.tables.keys.sorted().map({ schema.model.entity(at: $0) }) {
      for entity in root.hierarchy where !entity.isAbstract {
        for slot in entity.slots where slot.attributeType == .decimal {
          if let found = try? invalidDecimal(slot, entity, schema) { return found }
        }
      }
    }
    return error
  }

  private func invalidDecimal(
    _ slot: Slot, _ entity: Entity, _ schema: SQLSchema
  ) throws(PersistentStoreError) -> PersistentStoreError? {
    guard let name = schema.column(slot.index, of: entity)?.name.quoted else { return nil }
    let sql =
      "SELECT t.id, t.ref, t.\(name) FROM \(schema.table(of: entity).name.quoted) t WHERE \(sameTables) t.ent = \(entity.index) AND t.\(name) IS NOT NULL AND t.id >= ?1 ORDER BY t.id LIMIT \(Self.rowsAtOnce)"
    var next = Int64.min
    while true {
      var last: Int64?
      var found: PersistentStoreError?
      try database.query(sql, [.integer(next)]) { row throws(PersistentStoreError) in
        last = row.integer(0)
        guard found == nil, !Self.isDecimal(row, 2) else { return }
        let reference: ReferenceObject = row.isNull(1) ? .integer(row.integer(0)) : .string(row.text(1))
        let shown = row.holds(2, .text) ? ": '\(row.text(2).prefix(60))'" : ""
        found = PersistentStoreError(
          .malformed, "a value of '\(entity.name).\(slot.name)' is not a decimal number\(shown)",
          at: StoreLocation(entity: entity.name, reference: reference.description, property: slot.name))
      }
      guard found == nil, let last, last < .max else { return found }
      next = last + 1
    }
  }

  private static func isDecimal(_ row: any SQLRow, _ column: Int) -> Bool {
    guard row.holds(column, .text) else { return false }
    var isDecimal = false
    row.withText(column) { isDecimal = DecimalNumber(utf8: $0) != nil }
    return isDecimal
  }
}

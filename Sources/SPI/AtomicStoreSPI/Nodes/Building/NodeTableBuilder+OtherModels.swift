extension NodeTableBuilder {
  /// Fills a slot with a column of another model's table with the same rows in the same order, of an attribute of the
  /// same type. Both share it until one of them changes.
  ///
  /// - Throws: `.limitExceeded` if there is no memory for a column that must be copied.
  package func fill(
    entity: Int, slot: Int, of nodes: NodeTable, entity other: Int, slot otherSlot: Int
  ) throws(PersistentStoreError) {
    checkSlot(entity, slot)
    let (table, rows) = (nodes.entities[other], building[entity].count)
    let column = table.columns[otherSlot]
    guard table.count == rows, column.header.pointee.layout == building[entity].headers[slot].pointee.layout else {
      throw badColumn(entity, slot, "a column of \(table.count) rows for \(rows)")
    }
    guard column.header.pointee.hasCells else { return }
    // A column of another size would be fitted to the rows, and so would a sparse one that is not.
    if column.header.pointee.sparse == nil, column.header.pointee.capacity == rows {
      hasSharedColumns = true
      use(column, entity, slot)
    } else {
      let size = column.header.pointee.byteCount
      guard PagedMemory.hasRoom(for: size) else {
        throw Self.outOfMemory("a column of \(size) bytes", at: location(entity: entity, row: 0, slot: slot))
      }
      use(Column(copying: column, rows: rows), entity, slot)
    }
  }

  /// Gives all rows of an entity the same value of an attribute.
  ///
  /// - Throws: As ``set(_:entity:row:slot:)`` for the first row.
  package func fill(entity: Int, slot: Int, with value: StoredValue) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    guard rows > 0 else { return }
    try set(value, entity: entity, row: 0, slot: slot)
    guard header.pointee.layout.hasHeap else {
      let width = header.pointee.width
      header.pointee.setPresence(nil, rows)
      for row in 1..<max(rows, 1) {
        (header.pointee.cells + row * width).copyMemory(from: header.pointee.cells, byteCount: width)
      }
      return
    }
    let bytes = Array(header.pointee.bytes(0))
    for row in 1..<max(rows, 1) {
      try reserve(bytes.count, header)
      let isStored = bytes.withUnsafeBytes {
        header.pointee.setBytes(row, $0.baseAddress, count: $0.count)
      }
      guard isStored else { throw .columnFull(location(entity: entity, row: row, slot: slot)) }
    }
  }
}

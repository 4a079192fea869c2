extension NodeTable {
  /// Whether rows are in ascending order of reference and none is deleted.
  public var isCanonical: Bool { entities.allSatisfy(\.isCanonical) }

  /// Returns the table as it is passed to formats: no deleted rows, rows in ascending order of reference, so that equal
  /// graphs are equal tables. If that is the case already, the table itself. Handles into this table are not valid for
  /// the result.
  ///
  /// - Throws: `.danglingReference` if a relationship names a node that was removed.
  public func canonical() throws(PersistentStoreError) -> NodeTable {
    if isCanonical { return self }
    // The new row for each old row; all bits set for deleted rows.
    var newRows: [[UInt32]] = []
    var orders: [[Int]] = []
    for table in entities {
      var rows = (0..<table.count).filter { !table.isDeleted($0) }
      if table.referenceTexts == nil {
        let numbers = table.referenceNumbers.header
        rows.sort { numbers.pointee.cell($0, as: Int64.self) < numbers.pointee.cell($1, as: Int64.self) }
      } else {
        rows.sort { table.precedes($0, table, $1) }
      }
      var target = [UInt32](repeating: .max, count: table.count)
      for (new, old) in rows.enumerated() { target[old] = UInt32(truncatingIfNeeded: new) }
      newRows.append(target)
      orders.append(rows)
    }

    var result = NodeTable(model: model)
    for index in entities.indices {
      result.entities[index] = try reordered(index, orders[index], newRows)
    }
    result.fillLookups()
    return result
  }

  /// Creates the lookups of a table in canonical order, whose references are unique.
  private mutating func fillLookups() {
    for root in entities.indices where model.records[root].root == root {
      let members = model.hierarchy(of: root)
      var least = Int64.max
      var greatest = Int64.min
      var total = 0
      for index in members {
        // In ascending order, integers first.
        let integers = entities[index].integerReferenceCount
        guard integers > 0 else { continue }
        least = min(least, entities[index].referenceNumber(0))
        greatest = max(greatest, entities[index].referenceNumber(integers - 1))
        total += integers
      }
      var lookup = ReferenceLookup(expecting: total, least: least, greatest: greatest)
      for index in members {
        for row in 0..<entities[index].count {
          let node = NodeHandle(entity: index, row: row)
          if let text = entities[index].referenceText(row) {
            _ = lookup.insert(text, node)
          } else {
            _ = lookup.insert(entities[index].referenceNumber(row), node)
          }
        }
      }
      lookups[root] = lookup
    }
  }

  /// The table of an entity with its rows in another order, and its handles to their new rows.
  private func reordered(_ index: Int, _ order: [Int], _ newRows: [[UInt32]]) throws(PersistentStoreError)
    -> EntityTable
  {
    let old = entities[index]
    var new = EntityTable(slots: model.records[index].slots)
    new.count = order.count
    new.referenceNumbers = Column(.integer64, rows: order.count)
    for (row, oldRow) in order.enumerated() {
      new.referenceNumbers.header.pointee.setCell(
        row, old.referenceNumbers.header.pointee.cell(oldRow, as: Int64.self))
      new.referenceNumbers.header.pointee.markPresent(row)
    }
    if old.referenceTexts != nil {
      let texts = Column(.bytes)
      texts.header.pointee.grow(to: order.count)
      for (row, oldRow) in order.enumerated() {
        // No longer in all than in the old column, so there is room.
        if let text = old.referenceText(oldRow) {
          _ = texts.header.pointee.setBytes(row, text.baseAddress, count: text.count)
        }
      }
      new.referenceTexts = texts
    }
    for slot in model.records[index].slots {
      let from = old.columns[slot.index].header
      // What no row has a value of stays one column for all such slots.
      guard old.hasValues(slot.index) else { continue }
      new.columns[slot.index] = Column(from.pointee.layout, rows: order.count)
      let into = new.columns[slot.index].header
      for (row, oldRow) in order.enumerated() {
        guard let removed = try copyCell(from: from, oldRow: oldRow, into: into, row: row, newRows: newRows) else {
          continue
        }
        let location = StoreLocation(
          entity: model.records[index].description.name, reference: old.reference(oldRow).description,
          property: slot.name)
        throw PersistentStoreError(.danglingReference, "\(objectReference(of: removed)) was removed", at: location)
      }
    }
    new.fillUnused()
    for (row, payload) in old.payloads where newRows[index][row] != .max {
      new.payloads[Int(newRows[index][row])] = payload
    }
    for key in old.deferred {
      let row = newRows[index][Int(key & 0xFFFF_FFFF)]
      if row != .max { new.deferred.insert(EntityTable.deferredKey(slot: Int(key >> 32), row: Int(row))) }
    }
    return new
  }

  /// Copies one cell, handles translated. Gives back a handle whose node is gone, if there is one.
  private func copyCell(
    from: UnsafeMutablePointer<ColumnHeader>, oldRow: Int, into: UnsafeMutablePointer<ColumnHeader>, row: Int,
    newRows: [[UInt32]]
  ) throws(PersistentStoreError) -> NodeHandle? {
    guard from.pointee.isPresent(oldRow) else { return nil }
    func translate(_ bits: UInt64) -> UInt64? {
      let node = NodeHandle(bits: bits)
      let target = newRows[node.entity][node.row]
      return target == .max ? nil : NodeHandle(entity: node.entity, row: Int(target)).bits
    }
    let width = from.pointee.width
    switch from.pointee.layout {
    case .toOne:
      let bits = from.pointee.cell(oldRow, as: UInt64.self)
      guard let target = translate(bits) else { return NodeHandle(bits: bits) }
      into.pointee.setCell(row, target)
    case .toMany:
      var list: [UInt64] = []
      for bits in from.pointee.handles(oldRow) {
        guard let target = translate(bits) else { return NodeHandle(bits: bits) }
        list.append(target)
      }
      guard into.pointee.setHandles(row, list) else { throw .columnFull(StoreLocation()) }
    case .bytes:
      let bytes = from.pointee.bytes(oldRow)
      guard into.pointee.setBytes(row, bytes.baseAddress, count: bytes.count) else {
        throw .columnFull(StoreLocation())
      }
    default:
      (into.pointee.cells + row * width).copyMemory(from: from.pointee.cells + oldRow * width, byteCount: width)
      into.pointee.markPresent(row)
    }
    return nil
  }
}

extension EntityTable {
  /// The number of integer references in a table in ascending order: strings follow them.
  fileprivate var integerReferenceCount: Int {
    guard referenceTexts != nil else { return count }
    return (0..<count).first { referenceText($0) != nil } ?? count
  }
}

extension NodeTable {
  /// Whether rows are in ascending order of reference and none is deleted.
  package var isCanonical: Bool { entities.allSatisfy(\.isCanonical) }

  /// Returns the table as it is passed to formats: no deleted rows, rows in ascending order of reference, so that equal
  /// graphs are equal tables. If that is the case already, the table itself. Handles into this table are not valid for
  /// the result.
  ///
  /// - Throws: `.danglingReference` if a relationship names a node that was removed.
  package func canonical() throws(PersistentStoreError) -> NodeTable {
    if isCanonical { return self }
    let orders = entities.map { $0.isCanonical ? nil : $0.rowsInOrder() }
    let moves = RowMoves(orders, counts: entities.map(\.count))
    var result = NodeTable(model: model)
    for index in entities.indices {
      result.entities[index] =
        if let order = orders[index] { try reordered(index, order, moves) } else { try translated(index, moves) }
    }
    for root in entities.indices where model.records[root].root == root {
      if hasMoved(root, moves) { result.fillLookup(root) } else { result.lookups[root] = lookups[root] }
    }
    return result
  }

  /// Whether rows of an entity, or of another one of its hierarchy, are in another order.
  private func hasMoved(_ entity: Int, _ moves: RowMoves) -> Bool {
    model.hierarchy(of: model.records[entity].root).contains { moves.moved.contains($0) }
  }

  /// Creates the lookup of a hierarchy in canonical order, whose references are unique.
  private mutating func fillLookup(_ root: Int) {
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
      for row in 0..<entities[index].integerReferenceCount {
        _ = lookup.insert(entities[index].referenceNumber(row), NodeHandle(entity: index, row: row))
      }
    }
    lookup.findTexts(
      in: members.compactMap { index in entities[index].referenceTexts.map { (index, $0, entities[index].count) } })
    lookups[root] = lookup
  }

  /// The table of an entity whose rows stay where they are, with its handles to the new rows of others. Columns in
  /// which nothing changes are shared.
  private func translated(_ index: Int, _ moves: RowMoves) throws(PersistentStoreError) -> EntityTable {
    var new = entities[index]
    let order = Array(0..<UInt32(truncatingIfNeeded: new.count))
    for slot in model.records[index].slots {
      guard let destination = slot.destination, hasMoved(destination, moves) else { continue }
      try fill(slot, of: &new, index, order, moves)
    }
    return new
  }

  /// Fills a column of a new table of an entity with the rows of the old one in their order.
  private func fill(
    _ slot: Slot, of new: inout EntityTable, _ index: Int, _ order: [UInt32], _ moves: RowMoves
  ) throws(PersistentStoreError) {
    let old = entities[index]
    let from = old.columns[slot.index].header
    var places = order
    if from.pointee.sparse != nil {
      let found = from.pointee.places(0..<old.count).compactMap { place in
        moves.row(entity: index, from.pointee.row(at: place)).map {
          (row: UInt32(truncatingIfNeeded: $0), place: UInt32(truncatingIfNeeded: place))
        }
      }.sorted { $0.row < $1.row }
      new.columns[slot.index] = Column(sparse: from.pointee.layout)
      new.columns[slot.index].header.pointee.addCells(of: found.map(\.row))
      places = found.map(\.place)
    } else {
      new.columns[slot.index] = Column(from.pointee.layout, rows: order.count)
    }
    let into = new.columns[slot.index].header
    guard let (oldRow, removed) = try into.pointee.fill(from: from, places, moves) else {
      return into.pointee.sealCells()
    }
    let location = StoreLocation(
      entity: model.records[index].description.name, reference: old.reference(oldRow).description,
      property: slot.name)
    throw PersistentStoreError(.danglingReference, "\(objectReference(of: removed)) was removed", at: location)
  }

  /// The table of an entity with its rows in another order, and its handles to their new rows.
  private func reordered(
    _ index: Int, _ order: [UInt32], _ moves: RowMoves
  ) throws(PersistentStoreError) -> EntityTable {
    let old = entities[index]
    var new = EntityTable(slots: model.records[index].slots)
    new.count = order.count
    new.referenceNumbers = Column(.integer64, rows: order.count)
    let numbers = new.referenceNumbers.header
    for row in order.indices {
      numbers.pointee.setPresent(row, old.referenceNumber(Int(order[row])))
    }
    if old.referenceTexts != nil {
      let texts = Column(.bytes)
      texts.header.pointee.grow(to: order.count)
      // No longer in all than in the old column, so there is room.
      if let from = old.referenceTexts?.header { _ = texts.header.pointee.fillBytes(from: from, order) }
      new.referenceTexts = texts
    }
    for slot in model.records[index].slots { try fill(slot, of: &new, index, order, moves) }
    for (row, payload) in old.payloads {
      if let row = moves.row(entity: index, row) { new.payloads[row] = payload }
    }
    for key in old.deferred {
      guard let row = moves.row(entity: index, Int(key & 0xFFFF_FFFF)) else { continue }
      new.deferred.insert(EntityTable.deferredKey(slot: Int(key >> 32), row: row))
    }
    return new
  }
}

extension EntityTable {
  /// The number of integer references in a table in ascending order: strings follow them.
  fileprivate var integerReferenceCount: Int {
    guard referenceTexts != nil else { return count }
    return (0..<count).first { referenceText($0) != nil } ?? count
  }
}

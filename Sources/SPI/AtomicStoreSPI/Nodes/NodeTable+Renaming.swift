extension NodeTable {
  /// The same nodes with other references for some entities, in canonical order. Relationships lead to rows, so columns
  /// change only where rows are in another order then.
  ///
  /// - Parameter references: For entities, the new references of all rows, in the order of rows. No row is deleted.
  /// - Throws: `.duplicateReference` for two objects of a hierarchy with the same reference, `.columnFull` for more
  ///   texts than a column takes.
  package func renaming(_ references: [Int: [ReferenceObject]]) throws(PersistentStoreError) -> NodeTable {
    var result = self
    for (entity, list) in references where !list.isEmpty {
      precondition(list.count == entities[entity].count, "each row has a reference")
      try result.entities[entity].setReferences(list)
    }
    return try result.ordered(afterRenaming: Set(references.keys))
  }

  private func ordered(afterRenaming renamed: Set<Int>) throws(PersistentStoreError) -> NodeTable {
    var result = try canonical()
    let roots = Set(renamed.map { model.records[$0].root })
    for root in roots { try result.checkReferences(of: root) }
    for entity in entities.indices {
      for slot in model.records[entity].slots where slot.isToMany && !slot.keepsSequence {
        guard let destination = slot.destination, roots.contains(model.records[destination].root) else { continue }
        result.sortLists(slot.index, of: entity)
      }
    }
    return result
  }

  /// Sorts lists without an order by the references of their members, in a table in canonical order.
  private mutating func sortLists(_ slot: Int, of entity: Int) {
    for row in 0..<entities[entity].count {
      let list = entities[entity].columns[slot].header.pointee.handles(row)
      guard list.count > 1 else { continue }
      let sorted = list.sorted { precedes(NodeHandle(bits: $0), NodeHandle(bits: $1)) }
      guard !sorted.elementsEqual(list) else { continue }
      let own = entities[entity].own(slot, for: row).pointee.handles(row)
      for (place, bits) in sorted.enumerated() { own[place] = bits }
    }
  }

  private func precedes(_ one: NodeHandle, _ other: NodeHandle) -> Bool {
    // Rows of one entity are in the order of references.
    if one.entity == other.entity { return one.row < other.row }
    return entities[one.entity].precedes(one.row, entities[other.entity], other.row)
  }

  /// Makes sure that no two nodes of a hierarchy in canonical order have the same reference.
  private func checkReferences(of root: Int) throws(PersistentStoreError) {
    let members = model.hierarchy(of: root).filter { entities[$0].count > 0 }
    var seen: Set<ReferenceObject> = []
    for member in members {
      let table = entities[member]
      for row in 0..<table.count {
        // Within an entity, equal ones follow each other.
        let isNew =
          members.count > 1
          ? seen.insert(table.reference(row)).inserted : row == 0 || table.precedes(row - 1, table, row)
        guard isNew else {
          throw PersistentStoreError(
            .duplicateReference, "two objects have the reference \(table.reference(row))",
            at: StoreLocation(entity: model.records[member].description.name))
        }
      }
    }
  }
}

extension EntityTable {
  /// Replaces the references of all rows, which are in no order afterwards.
  fileprivate mutating func setReferences(_ list: [ReferenceObject]) throws(PersistentStoreError) {
    referenceNumbers = Column(.integer64, rows: list.count)
    referenceTexts = nil
    let numbers = referenceNumbers.header
    var texts: Column?
    for (row, reference) in list.enumerated() {
      switch reference {
      case .integer(let number): numbers.pointee.setPresent(row, number)
      case .string(let text):
        let column = texts ?? Column(.bytes)
        if texts == nil { column.header.pointee.grow(to: list.count) }
        texts = column
        let header = column.header
        guard text.withBytes({ header.pointee.setBytes(row, $0.baseAddress, count: $0.count) }) else {
          throw .columnFull(StoreLocation())
        }
      }
    }
    referenceTexts = texts
    isCanonical = false
  }
}

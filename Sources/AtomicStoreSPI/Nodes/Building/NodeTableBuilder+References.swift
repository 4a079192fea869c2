extension NodeTableBuilder {
  /// Fills a relationship by references of any kind.
  ///
  /// The references are in a list, each once, so that one that is mentioned often is looked up once.
  ///
  /// - Parameters:
  ///   - entity: The entity's index in the model.
  ///   - slot: The relationship's slot.
  ///   - counts: The number of objects of each row; at most 1 for a to-one.
  ///   - indexes: For all objects, row by row, the index of the reference in `references`.
  ///   - references: The references that the indexes count in.
  /// - Throws: `.malformed` if the sizes do not match the rows, or an index is not one of `references`.
  public func fillRelationship(
    entity: Int, slot: Int, counts: Span<UInt32>, indexes: Span<UInt32>, references: [ReferenceObject]
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    let isToMany = header.pointee.layout == .toMany
    guard isToMany || header.pointee.layout == .toOne, counts.count == rows else {
      throw badColumn(entity, slot, "\(counts.count) counts for \(rows) rows")
    }
    current.initialize(to: building[entity])
    let cells = references.map { encode($0, slot) }
    if isToMany {
      try reserve(indexes.count, header)
      guard header.pointee.reserveHeap(indexes.count) else {
        throw .columnFull(StoreLocation(file: file, property: model.records[entity].slots[slot].name))
      }
      header.pointee.heapCount = indexes.count
    }
    var start = 0
    for row in 0..<rows {
      let count = Int(counts[row])
      guard count <= indexes.count - start, isToMany || count <= 1 else {
        throw badColumn(entity, slot, "row \(row) has \(count) objects")
      }
      for place in start..<(start + count) {
        guard indexes[place] < cells.count else {
          throw badColumn(entity, slot, "reference \(indexes[place]) of \(cells.count)")
        }
        let cell = cells[Int(indexes[place])]
        if isToMany {
          (header.pointee.heap + place * 8).storeBytes(of: cell, as: UInt64.self)
        } else {
          header.pointee.setCell(row, cell)
        }
      }
      if isToMany, count > 0 { header.pointee.setExtent(row, start: start, length: count) }
      if count == 0 { header.pointee.setNull(row) }
      start += count
    }
    guard start == indexes.count else { throw badColumn(entity, slot, "unused references") }
  }
}

/// String references as a column, and relationships by the rows that they lead to: nothing is searched for.
extension NodeTableBuilder {
  /// Sets the string references of an entity's rows, which ``appendRows(entity:references:)`` added.
  ///
  /// In ascending order, they are compared with their neighbors only; a table that finds them is made when one is
  /// searched for.
  ///
  /// - Parameters:
  ///   - entity: The entity's index in the model.
  ///   - lengths: The length of each row's reference in bytes, all bits set where it is an integer.
  ///   - heap: The UTF-8 of all references, concatenated.
  /// - Throws: `.malformed` if the sizes do not match, or the bytes are not UTF-8; `.internalInconsistency` if string
  ///   references of the entity were set already; `.limitExceeded` for more than 256 GiB.
  public func fillReferenceTexts(
    entity: Int, lengths: Span<UInt32>, heap: Span<UInt8>
  ) throws(PersistentStoreError) {
    precondition(tables.indices.contains(entity), "the entity does not exist")
    let rows = building[entity].count
    guard tables[entity].referenceTexts == nil, textRows[entity].isEmpty else { throw filledTwice(entity) }
    guard lengths.count == rows else {
      throw badReferences(entity, "\(lengths.count) lengths of references for \(rows) rows")
    }
    let column = Column(.bytes)
    try take(ColumnHeader.size(.bytes, rows: rows) + heap.count, at: entityLocation(entity))
    try grow(column.header, to: rows, at: entityLocation(entity))
    try reserveHeap(heap.count, column.header, at: entityLocation(entity))
    heap.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { column.header.pointee.heap.copyMemory(from: base, byteCount: source.count) }
    }
    column.header.pointee.heapCount = heap.count
    if let problem = Self.divide(column.header, lengths, heap, isText: true).problem {
      throw badReferences(entity, "references: \(problem)")
    }
    hasRowReferences = true
    known?.hasTexts.insert(entity)
    tables[entity].referenceTexts = column
  }

  /// Fills a to-one by the rows that it leads to.
  ///
  /// - Parameters:
  ///   - entity: The entity's index in the model.
  ///   - slot: The relationship's slot.
  ///   - nodes: A row for each row, of the destination entity or a sub-entity, that was added before.
  ///   - presence: Bits as in ``fillFixed(entity:slot:cells:presence:)``: rows without one lead to nothing. Nil if all
  ///     lead to an object.
  /// - Throws: `.malformed` if the sizes do not match the rows, or a row does not exist.
  public func fillToOne(
    entity: Int, slot: Int, nodes: Span<NodeHandle>, presence: Span<UInt8>?
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    var bitsFit = true
    if let presence { bitsFit = presence.count == (rows + 7) / 8 }
    guard header.pointee.layout == .toOne, nodes.count == rows, bitsFit else {
      throw badColumn(entity, slot, "\(nodes.count) objects for \(rows) rows")
    }
    hasRowReferences = true
    var known = KnownDestination()
    for row in 0..<rows {
      if let presence, presence[row >> 3] & (1 << UInt8(row & 7)) == 0 {
        header.pointee.setNull(row)
        continue
      }
      try check(nodes[row], &known, entity, slot)
      header.pointee.setCell(row, nodes[row].bits)
    }
    if let presence { try gather(entity, slot, values: Self.count(presence)) }
  }

  /// Fills a to-many by the rows that it leads to.
  ///
  /// - Parameters:
  ///   - entity: The entity's index in the model.
  ///   - slot: The relationship's slot.
  ///   - counts: The number of objects of each row.
  ///   - nodes: The rows of all objects, concatenated, of the destination entity or its sub-entities, that were added
  ///     before.
  /// - Throws: `.malformed` if the sizes do not match the rows, or a row does not exist.
  public func fillToMany(
    entity: Int, slot: Int, counts: Span<UInt32>, nodes: Span<NodeHandle>
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    guard header.pointee.layout == .toMany, counts.count == rows else {
      throw badColumn(entity, slot, "\(counts.count) counts for \(rows) rows")
    }
    try reserve(nodes.count, header)
    try reserveHeap(
      nodes.count, header, at: StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    hasRowReferences = true
    var known = KnownDestination()
    for index in 0..<nodes.count {
      try check(nodes[index], &known, entity, slot)
      (header.pointee.heap + index * 8).storeBytes(of: nodes[index].bits, as: UInt64.self)
    }
    header.pointee.heapCount = nodes.count
    try divideLists(entity, slot, counts)
  }

  /// The entity of the object before, which most objects of a relationship share.
  private struct KnownDestination {
    var entity = -1
    var rows = 0
  }

  @inline(__always) private func check(
    _ node: NodeHandle, _ known: inout KnownDestination, _ entity: Int, _ slot: Int
  ) throws(PersistentStoreError) {
    if node.entity != known.entity {
      guard tables.indices.contains(node.entity),
        model.records[entity].slots[slot].destination.map({ model.isKind(node.entity, of: $0) }) ?? false
      else { throw badColumn(entity, slot, "an object of another entity than the destination") }
      known = KnownDestination(entity: node.entity, rows: building[node.entity].count)
    }
    guard node.row < known.rows else {
      throw badColumn(entity, slot, "the object in row \(node.row) of \(known.rows) does not exist")
    }
  }

  // MARK: Resolving

  /// The node itself; or, if it was left out because another one has its reference, that one.
  @inline(__always) func present(_ node: NodeHandle, _ lookup: ReferenceLookup) -> NodeHandle? {
    if tables[node.entity].deletedCount == 0 { return node }
    guard tables[node.entity].isDeleted(node.row) else { return node }
    return lookup[tables[node.entity].reference(node.row)]
  }

  /// The lookup of a hierarchy whose string references are all in columns, and unique without a search: nothing leads
  /// to them by text, and one entity has them, in ascending order. Nil otherwise.
  ///
  /// - Parameter lookup: One with room for the integer references.
  func lookup(ofFilled members: [Int], _ root: Int, _ lookup: ReferenceLookup) -> ReferenceLookup? {
    let filled = members.filter { tables[$0].referenceTexts != nil }
    guard filled.count == 1, texts[root].count == 0, tables[filled[0]].isCanonical,
      members.allSatisfy({ tables[$0].deletedCount == 0 })
    else { return nil }
    var result = lookup
    for index in members {
      let numbers = tables[index].referenceNumbers.header
      for row in 0..<tables[index].count where tables[index].referenceText(row) == nil {
        let number = numbers.pointee.cell(row, as: Int64.self)
        // A duplicate is reported on the other way.
        guard result.insert(number, NodeHandle(entity: index, row: row)) == nil else { return nil }
      }
    }
    result.findTexts(
      in: filled.compactMap { index in tables[index].referenceTexts.map { (index, $0, tables[index].count) } })
    return result
  }

  /// Gives filled string references numbers, like those that were set one by one.
  func noteFilledTexts(_ members: [Int], _ root: Int) {
    for index in members where textRows[index].isEmpty {
      for row in 0..<tables[index].count {
        if let text = tables[index].referenceText(row) { noteNumber(mention(text, root: root), index, row) }
      }
    }
  }

  // MARK: Errors

  private func entityLocation(_ entity: Int) -> StoreLocation {
    StoreLocation(file: file(of: entity), entity: model.records[entity].description.name)
  }

  private func badReferences(_ entity: Int, _ message: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: entityLocation(entity))
  }

  func filledTwice(_ entity: Int) -> PersistentStoreError {
    PersistentStoreError(
      .internalInconsistency, "string references are filled once as a column, or set one by one",
      at: entityLocation(entity))
  }
}

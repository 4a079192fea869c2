/// Columns that a graph in memory most probably has, too: that of a store that was just written, or of another one that
/// it is compared with.
///
/// A column that was left out of the file's bytes is compared with the known one piece by piece, and shared with the
/// known graph if each of its bytes is the same: the file is read completely, but takes no memory. Otherwise it is
/// read, as without a known graph.
extension NodeTableBuilder {
  /// A graph whose columns can be shared, and what is shared with it so far.
  struct Known {
    let tables: [EntityTable]
    let lookups: [ReferenceLookup]
    /// Whether an entity has the known graph's references, in the same rows.
    var hasReferences: [Bool]
    /// Whether the file has string references for rows of an entity: the known graph has none.
    var hasTexts: Set<Int> = []
    /// Whether its inverse relationships are those of the builder's model, and both ends of each agree.
    let endsAgree: Bool
    /// Relationships that are shared: they are resolved.
    var resolved: Set<AbsentColumn> = []
  }

  /// Whether the load gains if large columns are left out of a file's bytes until they are filled: see
  /// `StoreSource.bytes(ofMember:later:)`.
  public var readsColumnsLater: Bool { known != nil || wholeModel != nil }

  /// Shares columns with a graph where the file has the same. Without effect if the models differ.
  package func share(_ nodes: NodeTable) {
    guard let same = nodes.rebased(on: model) else { return }
    let haveSameTypes = zip(nodes.model.records, model.records).allSatisfy { one, other in
      zip(one.slots, other.slots).allSatisfy {
        $0.attributeType == $1.attributeType && $0.keepsSequence == $1.keepsSequence
      }
    }
    guard haveSameTypes else { return }
    known = Known(
      tables: same.entities, lookups: same.lookups, hasReferences: Array(repeating: false, count: same.entities.count),
      endsAgree: nodes.endsAgree && nodes.model === model)
  }

  /// The known column of an entity; nil if it is not one of exactly the file's rows, each with all its values.
  private func knownColumn(_ entity: Int, rows: Int, _ column: (EntityTable) -> Column) -> Column? {
    guard let table = known?.tables[entity], table.count == rows, table.isCanonical, table.deletedCount == 0,
      table.deferred.isEmpty
    else { return nil }
    let column = column(table)
    return column.header.pointee.capacity == rows ? column : nil
  }

  private func knownColumn(_ entity: Int, _ slot: Int, _ layout: CellLayout) -> Column? {
    guard known != nil, building[entity].headers[slot].pointee.layout == layout else { return nil }
    return knownColumn(entity, rows: building[entity].count) { $0.columns[slot] }
  }

  /// Whether a column belongs to another table as well, so that it must not be written to.
  func isShared(_ entity: Int, _ slot: Int) -> Bool {
    (known != nil || hasSharedColumns) && building[entity].headers[slot].pointee.capacity > 0
      && !isKnownUniquelyReferenced(&tables[entity].columns[slot])
  }

  /// The known graph's lookup of a hierarchy, if its rows have the known graph's references.
  func knownLookup(_ members: [Int], _ root: Int) -> ReferenceLookup? {
    guard let known, skipped.isEmpty, texts[root].count == 0 else { return nil }
    var rows = 0
    for index in members where tables[index].count > 0 || known.tables[index].count > 0 {
      guard known.hasReferences[index], !known.hasTexts.contains(index), textRows[index].isEmpty,
        known.tables[index].referenceTexts == nil, known.tables[index].deletedCount == 0,
        known.tables[index].count == tables[index].count
      else { return nil }
      rows += tables[index].count
    }
    return known.lookups[root].count == rows ? known.lookups[root] : nil
  }

  /// Whether a slot has the known graph's relationship.
  func isResolved(_ entity: Int, _ slot: Int) -> Bool {
    known?.resolved.contains(AbsentColumn(entity: entity, slot: slot)) ?? false
  }

  /// Whether both ends of a pair are the known graph's, where they agree.
  func areKnownToAgree(_ pair: InversePair) -> Bool {
    guard known?.endsAgree ?? false else { return false }
    return [(pair.first, pair.second), (pair.second, pair.first)].allSatisfy { end, other in
      ends.entities(at: end, facing: other).allSatisfy { isResolved($0, end.slot) }
    }
  }

  // MARK: Comparing

  /// Adds the known graph's rows to an entity if the file has the same references.
  func shareReferences(
    _ entity: Int, _ references: Range<Int>, of bytes: StoreBytes
  ) throws(PersistentStoreError) -> Bool {
    let rows = references.count / 8
    guard known != nil, rows > 0, building[entity].count == 0, !bytes.isRead(references),
      known?.tables[entity].referenceTexts == nil,
      let column = knownColumn(entity, rows: rows, { $0.referenceNumbers })
    else { return false }
    var part = bytes.comparison(of: references)
    guard try part.isNext(column.header.pointee.cells, rows * 8), try part.isAtEnd() else { return false }
    try checkRows(entity, rows: rows, adding: rows)
    tables[entity].referenceNumbers = column
    building[entity].headers[building[entity].slotCount] = column.header
    building[entity].capacity = rows
    building[entity].count = rows
    known?.hasReferences[entity] = true
    return true
  }

  /// Takes over a known column of fixed width if the file has the same cells and bits.
  func shareFixed(
    _ entity: Int, _ slot: Int, _ cells: Range<Int>, of bytes: StoreBytes, _ presence: Span<UInt8>?
  ) throws(PersistentStoreError) -> Bool {
    guard known != nil, !bytes.isRead(cells) else { return false }
    let (layout, rows) = (building[entity].headers[slot].pointee.layout, building[entity].count)
    guard layout.hasPresence, cells.count == rows * layout.width, let column = knownColumn(entity, slot, layout) else {
      return false
    }
    if let presence, presence.count != (rows + 7) / 8 { return false }
    for row in 0..<rows {
      let isPresent = if let presence { presence[row >> 3] & (1 << UInt8(row & 7)) != 0 } else { true }
      guard column.header.pointee.isPresent(row) == isPresent else { return false }
    }
    var part = bytes.comparison(of: cells)
    guard try part.isNext(column.header.pointee.cells, cells.count), try part.isAtEnd() else { return false }
    use(column, entity, slot)
    return true
  }

  /// Takes over a known column of values of variable length if the file has the same lengths and bytes.
  func shareBytes(
    _ entity: Int, _ slot: Int, _ lengths: Span<UInt32>, _ heap: Range<Int>, of bytes: StoreBytes
  ) throws(PersistentStoreError) -> Bool {
    guard known != nil, !bytes.isRead(heap), lengths.count == building[entity].count,
      let column = knownColumn(entity, slot, .bytes)
    else { return false }
    let header = column.header
    var part = bytes.comparison(of: heap)
    // Values that follow each other are compared at once.
    var (start, end) = (0, 0)
    for row in 0..<lengths.count {
      guard let place = header.pointee.extent(row) else {
        guard lengths[row] == .max else { return false }
        continue
      }
      guard lengths[row] != .max, Int(lengths[row]) == place.length else { return false }
      if place.start != end {
        guard try part.isNext(header.pointee.heap + start, end - start) else { return false }
        start = place.start
      }
      end = place.start + place.length
    }
    guard try part.isNext(header.pointee.heap + start, end - start), try part.isAtEnd() else { return false }
    use(column, entity, slot)
    return true
  }

  /// Takes over a known relationship if the file has the same references.
  ///
  /// - Parameter lists: Of a to-many, the number of objects of each row; nil for a to-one.
  func shareRelationship(
    _ entity: Int, _ slot: Int, _ references: Range<Int>, of bytes: StoreBytes, lists: Span<UInt32>?,
    presence: Span<UInt8>? = nil
  ) throws(PersistentStoreError) -> Bool {
    guard known != nil, !bytes.isRead(references), hasKnownDestinations(entity, slot),
      let column = knownColumn(entity, slot, lists == nil ? .toOne : .toMany)
    else { return false }
    let rows = building[entity].count
    if let presence, presence.count != (rows + 7) / 8 { return false }
    if let lists, lists.count != rows { return false }
    var numbers = KnownNumbers(known?.tables ?? [], bytes.comparison(of: references))
    for row in 0..<rows {
      if let lists {
        let list = column.header.pointee.handles(row)
        guard list.count == Int(lists[row]), try numbers.areNext(UnsafeBufferPointer(list)) else { return false }
        continue
      }
      let handle = column.header.pointee.cell(row, as: UInt64.self)
      let isPresent = if let presence { presence[row >> 3] & (1 << UInt8(row & 7)) != 0 } else { true }
      guard isPresent == (handle != NodeHandle.nullBits), try numbers.isNext(isPresent ? handle : nil) else {
        return false
      }
    }
    guard try numbers.isAtEnd() else { return false }
    use(column, entity, slot)
    known?.resolved.insert(AbsentColumn(entity: entity, slot: slot))
    return true
  }

  /// Whether all rows that a relationship may lead to have the known graph's references: then equal references lead to
  /// the same rows.
  private func hasKnownDestinations(_ entity: Int, _ slot: Int) -> Bool {
    guard let known, let destination = model.records[entity].slots[slot].destination else { return false }
    return model.hierarchy(of: model.records[destination].root).allSatisfy {
      known.hasReferences[$0] && !known.hasTexts.contains($0) || building[$0].count == 0 && known.tables[$0].count == 0
    }
  }

  /// The references of a relationship of the known graph, as the file has them.
  private struct KnownNumbers: ~Copyable {
    private let references: [UnsafePointer<Int64>]
    private var part: PartComparison
    private let numbers: UnsafeMutablePointer<Int64>
    private var count = 0
    private static let capacity = 4096

    init(_ tables: [EntityTable], _ part: consuming PartComparison) {
      references = tables.map {
        UnsafePointer($0.referenceNumbers.header.pointee.cells.assumingMemoryBound(to: Int64.self))
      }
      self.part = part
      numbers = .allocate(capacity: Self.capacity)
      numbers.initialize(repeating: 0, count: Self.capacity)
    }

    deinit { numbers.deallocate() }

    @inline(__always) private func number(_ handle: UInt64) -> Int64 {
      references[Int(truncatingIfNeeded: handle >> 32)][Int(truncatingIfNeeded: handle & 0xFFFF_FFFF)]
    }

    /// A row without an object has the number 0.
    @inline(__always) mutating func isNext(_ handle: UInt64?) throws(PersistentStoreError) -> Bool {
      numbers[count] = handle.map { number($0) } ?? 0
      count += 1
      if count < Self.capacity { return true }
      return try compare()
    }

    @inline(__always) mutating func areNext(_ handles: UnsafeBufferPointer<UInt64>) throws(PersistentStoreError) -> Bool
    {
      var next = 0
      while next < handles.count {
        let room = min(handles.count - next, Self.capacity - count)
        for place in 0..<room { numbers[count + place] = number(handles[next + place]) }
        count += room
        next += room
        guard count == Self.capacity else { continue }
        if try !compare() { return false }
      }
      return true
    }

    private mutating func compare() throws(PersistentStoreError) -> Bool {
      let filled = count
      count = 0
      return try part.isNext(numbers, filled * 8)
    }

    mutating func isAtEnd() throws(PersistentStoreError) -> Bool {
      guard try compare() else { return false }
      return try part.isAtEnd()
    }
  }
}

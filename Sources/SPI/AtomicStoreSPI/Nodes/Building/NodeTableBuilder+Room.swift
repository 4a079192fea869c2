/// Allocation of columns, and the limit on their memory.
///
/// Rows without a value take no memory: the number of properties of a model, multiplied by the number of rows, can be
/// large even for a small file. The memory of values is limited by the size of the file.
extension NodeTableBuilder {
  /// Gives the entity its own column, with room for at least that many rows. The index after the last slot is that of
  /// the references.
  ///
  /// - Parameter row: The row that needs it, for the error.
  func ownColumn(_ entity: Int, _ slot: Int, rows: Int, row: Int?) throws(PersistentStoreError) {
    let entry = building + entity
    let isReferences = slot == entry.pointee.slotCount
    let header = entry.pointee.headers[slot]
    let layout = header.pointee.layout
    let more = ColumnHeader.size(layout, rows: rows) - ColumnHeader.size(layout, rows: header.pointee.capacity)
    if more > 0 {
      try take(more, at: place(entity, row, isReferences ? nil : slot))
      try requireMemory(ColumnHeader.size(layout, rows: rows), at: place(entity, row, isReferences ? nil : slot))
    }
    if header == Column.none(layout).header || header == EntityTable.noNumbers.header {
      use(Column(layout), entity, slot)
    }
    try grow(entry.pointee.headers[slot], to: rows, at: place(entity, row, isReferences ? nil : slot))
  }

  /// Grows a column.
  ///
  /// - Throws: `.limitExceeded` if the system does not have enough memory.
  func grow(
    _ header: UnsafeMutablePointer<ColumnHeader>, to rows: Int, at location: @autoclosure () -> StoreLocation
  ) throws(PersistentStoreError) {
    guard !header.pointee.tryToGrow(to: rows) else { return }
    throw Self.outOfMemory("a column of \(ColumnHeader.size(header.pointee.layout, rows: rows)) bytes", at: location())
  }

  /// Reserves room at the end of a column's heap.
  ///
  /// - Throws: `.limitExceeded` for more than 256 GiB, or if the system does not have enough memory.
  func reserveHeap(
    _ units: Int, _ header: UnsafeMutablePointer<ColumnHeader>, at location: @autoclosure () -> StoreLocation
  ) throws(PersistentStoreError) {
    guard let grown = header.pointee.grownHeap(units) else { throw .columnFull(location()) }
    guard grown > header.pointee.heapCapacity, !header.pointee.tryToReallocateHeap(grown) else { return }
    throw Self.outOfMemory("a column of \(grown * header.pointee.layout.heapUnit) bytes", at: location())
  }

  private func place(_ entity: Int, _ row: Int?, _ slot: Int?) -> StoreLocation {
    if let row { return location(entity: entity, row: row, slot: slot) }
    let record = model.records[entity]
    return StoreLocation(
      file: file(of: entity), entity: record.description.name, property: slot.map { record.slots[$0].name })
  }

  /// Makes a column that of a slot; the index after the last slot is that of the references.
  func use(_ column: Column, _ entity: Int, _ slot: Int) {
    if slot == building[entity].slotCount {
      tables[entity].referenceNumbers = column
    } else {
      tables[entity].columns[slot] = column
    }
    building[entity].headers[slot] = column.header
  }

  /// The column of a slot of the current node's entity, with room for the node's row.
  ///
  /// A column is sparse until it has some cells, and these are not few of the rows.
  @inline(never)
  func grownColumn(_ slot: Int) throws(PersistentStoreError) -> UnsafeMutablePointer<ColumnHeader> {
    let (entity, row) = (state.pointee.entity, state.pointee.row)
    let layout = building[entity].headers[slot].pointee.layout
    if building[entity].headers[slot] == Column.none(layout).header { use(Column(sparse: layout), entity, slot) }
    let header = building[entity].headers[slot]
    if let own = header.pointee.sparse {
      guard own.count == own.capacity else { return header }
      if own.count < ColumnHeader.leastCells || ColumnHeader.isSparse(own.count, of: row + 1) {
        let before = header.pointee.byteCount
        guard header.pointee.tryToReserveCells(1) else { throw Self.outOfMemory("a column", at: location(slot)) }
        try take(header.pointee.byteCount - before)
        return header
      }
    } else if header.pointee.staysSparse(header.pointee.capacity, of: row + 1) {
      let before = header.pointee.byteCount
      guard header.pointee.tryToGather(rows: header.pointee.capacity) else {
        throw Self.outOfMemory("a column", at: location(slot))
      }
      room += before - header.pointee.byteCount
      return try grownColumn(slot)
    }
    // What the first rows have is not always what the others have.
    let rows = building[entity].capacity
    try ownColumn(entity, slot, rows: row < Self.leastRows ? min(rows, row * 4 + 16) : rows, row: row)
    return building[entity].headers[slot]
  }

  /// Reserves room in a column's heap for that many further units.
  @inline(__always)
  func reserve(_ units: Int, _ header: UnsafeMutablePointer<ColumnHeader>) throws(PersistentStoreError) {
    if header.pointee.heapCount + units > header.pointee.heapCapacity { try growHeap(units, header) }
  }

  @inline(never)
  private func growHeap(_ units: Int, _ header: UnsafeMutablePointer<ColumnHeader>) throws(PersistentStoreError) {
    // A borrowed heap was not counted; it is copied now.
    let before = header.pointee.borrowsHeap ? 0 : header.pointee.heapCapacity
    let unit = header.pointee.layout.heapUnit
    let probable = probableUnits(units, header)
    if probable > before + units, probable < Extent.greatestHeap, PagedMemory.hasRoom(for: probable * unit) {
      // Without memory for it, less is tried.
      _ = header.pointee.tryToReallocateHeap(probable)
    }
    // The caller checks whether an extent can address it.
    guard header.pointee.grownHeap(units) != nil else { return }
    try reserveHeap(units, header, at: location())
    try take((header.pointee.heapCapacity - before) * unit, needing: units * unit)
  }

  /// Makes room for what is read beside the bytes of the store's file, whose size would bound it: another file, such as
  /// a log or values beside it, or what a format has decompressed. A limit that the caller set stays.
  ///
  /// A format that compresses calls it with the size of the decompressed bytes. Otherwise a store that compresses well
  /// exceeds the limit, and the save fails with `.limitExceeded`.
  ///
  /// - Parameter bytes: The size of the other file, or of the decompressed bytes.
  public func addInput(bytes: Int) {
    guard limits.memory == nil, room < .max else { return }
    let more = limits.memory(forInput: bytes)
    room = room.addingReportingOverflow(more).overflow ? .max : room + more
  }

  /// Counts bytes that columns took.
  ///
  /// - Parameter needed: How many bytes of them a value takes that is not in its column yet.
  /// - Throws: `.limitExceeded` if the values take more memory than the limit: what was reserved in excess is not
  ///   counted.
  func take(
    _ bytes: Int, needing needed: Int = 0, at location: @autoclosure () -> StoreLocation? = nil
  ) throws(PersistentStoreError) {
    room -= bytes
    guard room < 0 else { return }
    if isOutOfMemory { throw Self.outOfMemory("references", at: location() ?? self.location()) }
    let rest = roomAtFirst - valueBytes - needed
    guard rest >= 0 else { throw limits.memoryExceeded(at: location() ?? self.location()) }
    room = max(rest, roomAtFirst / 8)
    isCloseToLimit = true
  }

  /// The memory in bytes of all values so far, as the limit counts it.
  var valueBytes: Int {
    tables.indices.reduce(reportedBytes + listed.count * 8) { total, index in
      let rows = building[index].count
      return total + (rows > 0 ? tables[index].valueBytes(rows: rows) : 0) + texts[index].valueBytes
    }
  }

  /// - Throws: `.limitExceeded` if all values take more memory than the limit.
  func checkMemory() throws(PersistentStoreError) {
    guard room < 0 || isCloseToLimit, valueBytes > roomAtFirst else { return }
    throw limits.memoryExceeded(at: StoreLocation(file: file))
  }

  /// - Throws: `.limitExceeded` if the system does not have memory for a block of that size.
  func requireMemory(
    _ bytes: Int, at location: @autoclosure () -> StoreLocation? = nil
  ) throws(PersistentStoreError) {
    guard !PagedMemory.hasRoom(for: bytes) else { return }
    throw Self.outOfMemory("a column of \(bytes) bytes", at: location() ?? self.location())
  }

  static func outOfMemory(_ what: String, at location: StoreLocation) -> PersistentStoreError {
    PersistentStoreError(.limitExceeded, "the system does not have enough memory for \(what)", at: location)
  }

  /// - Throws: `.invalidValue` for an abstract entity, `.limitExceeded` for too many rows.
  func checkRows(_ entity: Int, rows: Int, adding more: Int) throws(PersistentStoreError) {
    let entry = building + entity
    let name = model.records[entity].description.name
    guard !entry.pointee.isAbstract else {
      throw PersistentStoreError(
        .invalidValue, "\(name) is abstract and cannot have objects", at: StoreLocation(file: file, entity: name))
    }
    guard rows < Int(Int32.max) else {
      throw PersistentStoreError(.limitExceeded, "more than 2^31 objects of \(name)", at: StoreLocation(file: file))
    }
    // Room for rows is reserved in batches, so this error cannot tell the actual number of objects, only that it
    // exceeds the limit.
    roomForRows += rows - entry.pointee.capacity
    if roomForRows > limits.objects { try checkCount(adding: more) }
  }

  /// - Throws: `.limitExceeded` if that many further objects exceed the limit.
  func checkCount(adding more: Int) throws(PersistentStoreError) {
    let count = tables.indices.reduce(more) { $0 + building[$1].count }
    guard count <= limits.objects else {
      throw PersistentStoreError(
        .limitExceeded,
        "the store exceeds the limit 'maximumObjects' of \(limits.objects)",
        at: StoreLocation(file: file))
    }
  }
}

extension NodeTable {
  /// At least as much memory in bytes as a reader counts for the values and references: see ``StoreLimits/memory``.
  package var memoryBound: Int {
    let texts = entities.compactMap { $0.referenceTexts?.header.pointee }
    let longest = texts.map { texts in
      texts.places(0..<Int(UInt32.max)).reduce(0) { max($0, texts.heapLength(at: $1)) }
    }
    // A reader notes each mention of a string reference.
    let mention = longest.max().map { $0 + MentionJoin.bytesPerMention + MemoryLayout<MentionKey>.stride } ?? 0
    return entities.reduce(0) { total, table in
      let links = mention == 0 ? 0 : table.columns.reduce(table.count) { $0 + $1.header.pointee.linkBound }
      return table.columns.reduce(total + table.count * 8 + links * mention) { $0 + $1.header.pointee.valueBound }
    }
  }
}

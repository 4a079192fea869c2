/// Filling whole columns.
extension NodeTableBuilder {
  /// Adds a row for each reference to an entity without rows. Their values are set by column.
  ///
  /// - Throws: `.invalidValue` for an abstract entity, or one that has rows already.
  public func appendRows(entity: Int, references: Span<Int64>) throws(PersistentStoreError) {
    precondition(entity >= 0 && entity < tables.count, "the entity does not exist")
    let entry = building + entity
    guard entry.pointee.count == 0 else {
      throw PersistentStoreError(
        .internalInconsistency, "columns cannot be filled after rows were added", at: StoreLocation(file: file))
    }
    guard references.count > 0 else { return }
    try grow(entity, to: references.count, adding: references.count)
    entry.pointee.count = references.count
    let header = entry.pointee.headers[entry.pointee.slotCount]
    references.withUnsafeBytes { source in
      if let base = source.baseAddress { header.pointee.cells.copyMemory(from: base, byteCount: source.count) }
    }
  }

  /// Fills a slot of fixed width with cells and bits as ``EntityReader/fixedCells(slot:)`` and
  /// ``EntityReader/presenceBits(slot:)`` return them. Without bits, every row has a value.
  ///
  /// - Throws: `.malformed` if the sizes do not match the number of rows, or a boolean is neither 0 nor 1.
  public func fillFixed(
    entity: Int, slot: Int, cells: Span<UInt8>, presence: Span<UInt8>?
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    let layout = header.pointee.layout
    guard layout.hasPresence, cells.count == rows * header.pointee.width else {
      throw badColumn(entity, slot, "\(cells.count) bytes for \(rows) cells")
    }
    if let presence, presence.count != (rows + 7) / 8 {
      throw badColumn(entity, slot, "\(presence.count) bytes of presence bits for \(rows) rows")
    }
    if layout == .boolean {
      for index in 0..<cells.count where cells[index] > 1 {
        throw badColumn(entity, slot, "\(cells[index]) is not a boolean")
      }
    }
    cells.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { header.pointee.cells.copyMemory(from: base, byteCount: source.count) }
    }
    let words = (rows + 63) / 64
    header.pointee.presence.initialize(repeating: presence == nil ? UInt64.max : 0, count: words)
    presence?.withUnsafeBufferPointer { source in
      if let base = source.baseAddress {
        UnsafeMutableRawPointer(header.pointee.presence).copyMemory(from: base, byteCount: source.count)
      }
    }
    if rows & 63 != 0, words > 0 { header.pointee.presence[words - 1] &= (1 << UInt64(rows & 63)) - 1 }
    guard presence != nil else { return }
    header.pointee.clearNulls(rows)
  }

  /// Fills a slot of variable-length values (string, URI, data, transformable, decimal text): a length for each row,
  /// all bits set for null, and the bytes of all values, concatenated.
  ///
  /// - Throws: `.malformed` if sizes are inconsistent, or text is not UTF-8 or not a decimal number.
  public func fillBytes(
    entity: Int, slot: Int, lengths: Span<UInt32>, heap: Span<UInt8>
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    guard header.pointee.layout == .bytes, lengths.count == rows else {
      throw badColumn(entity, slot, "\(lengths.count) lengths for \(rows) rows")
    }
    if heap.count < Int(UInt32.max) { try reserve(heap.count, header) }
    guard heap.count < Int(UInt32.max), header.pointee.reserveHeap(heap.count) else {
      throw .columnFull(StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    }
    let type = model.records[entity].slots[slot].attributeType
    if let problem = Self.fill(header, lengths, heap, isText: type == .string || type == .uri) {
      throw badColumn(entity, slot, problem)
    }
    if type == .decimal {
      for row in 0..<rows where header.pointee.isPresent(row) {
        let text = Span(_unsafeElements: header.pointee.bytes(row))
        if Self.isPlainDecimal(text) { continue }
        guard let value = DecimalNumber(utf8: text) else {
          throw badColumn(entity, slot, "row \(row) is not a decimal number")
        }
        // Normalise other spellings, such as 1e5 for 1E+5: equal graphs must result in equal bytes.
        var exact: [UInt8] = []
        value.append(to: &exact)
        if text.withUnsafeBufferPointer({ exact.elementsEqual($0) }) { continue }
        try reserve(exact.count, header)
        let stored = exact.withUnsafeBytes { header.pointee.setBytes(row, $0.baseAddress, count: $0.count) }
        guard stored else {
          throw .columnFull(StoreLocation(file: file, property: model.records[entity].slots[slot].name))
        }
      }
    }
  }

  /// Copies bytes into a column that has room for them, and returns what is wrong with them; nil for nothing.
  static func fill(
    _ header: UnsafeMutablePointer<ColumnHeader>, _ lengths: Span<UInt32>, _ heap: Span<UInt8>, isText: Bool
  ) -> String? {
    heap.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { header.pointee.heap.copyMemory(from: base, byteCount: source.count) }
    }
    header.pointee.heapCount = heap.count
    if isText, !isUTF8(heap) { return "the string is not UTF-8" }
    var start = 0
    for row in 0..<lengths.count {
      let length = lengths[row]
      if length == Extent.nullLength {
        header.pointee.setCell(row, UInt64.max)
        continue
      }
      guard Int(length) <= heap.count - start else { return "the lengths exceed the number of bytes" }
      // The whole heap is UTF-8, so a value is too unless it starts inside a scalar.
      if isText, length > 0, heap[start] & 0xC0 == 0x80 { return "the string is not UTF-8" }
      header.pointee.setExtent(row, start: start, length: Int(length))
      start += Int(length)
    }
    return start == heap.count ? nil : "\(heap.count - start) unused bytes"
  }

  /// Fills a to-one: a reference for each row that has one, and bits as in ``fillFixed(entity:slot:cells:presence:)``.
  public func fillToOne(
    entity: Int, slot: Int, references: Span<Int64>, presence: Span<UInt8>?
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    var bitsFit = true
    if let presence { bitsFit = presence.count == (rows + 7) / 8 }
    guard header.pointee.layout == .toOne, references.count == rows, bitsFit else {
      throw badColumn(entity, slot, "\(references.count) references for \(rows) rows")
    }
    for row in 0..<rows {
      if let presence, presence[row >> 3] & (1 << UInt8(row & 7)) == 0 {
        header.pointee.setNull(row)
        continue
      }
      header.pointee.setCell(row, encode(references[row]))
    }
  }

  /// Fills a to-many: a count for each row, and all references, concatenated.
  public func fillToMany(
    entity: Int, slot: Int, counts: Span<UInt32>, references: Span<Int64>
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    guard header.pointee.layout == .toMany, counts.count == rows else {
      throw badColumn(entity, slot, "\(counts.count) counts for \(rows) rows")
    }
    try reserve(references.count, header)
    guard header.pointee.reserveHeap(references.count) else {
      throw .columnFull(StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    }
    for index in 0..<references.count {
      (header.pointee.heap + index * 8).storeBytes(of: encode(references[index]), as: UInt64.self)
    }
    header.pointee.heapCount = references.count
    if let problem = Self.divide(header, counts) { throw badColumn(entity, slot, problem) }
  }

  /// Gives each row its part of a to-many's heap, and returns what is wrong with the counts; nil for nothing.
  static func divide(_ header: UnsafeMutablePointer<ColumnHeader>, _ counts: Span<UInt32>) -> String? {
    var start = 0
    for row in 0..<counts.count {
      let count = Int(counts[row])
      guard count <= header.pointee.heapCount - start else { return "the counts exceed the number of references" }
      // A list from an earlier fill would refer beyond the remaining part of the heap.
      if count > 0 { header.pointee.setExtent(row, start: start, length: count) } else { header.pointee.setNull(row) }
      start += count
    }
    return start == header.pointee.heapCount ? nil : "unused references"
  }

  /// Sets one value in rows added by ``appendRows(entity:references:)``, for values that cannot be set by column.
  public func set(_ value: StoredValue, entity: Int, row: Int, slot: Int) throws(PersistentStoreError) {
    precondition(row >= 0 && row < building[entity].count, "the row does not exist")
    state.pointee.entity = entity
    state.pointee.row = row
    current.initialize(to: building[entity])
    try set(value, slot: slot)
  }

  func whole(
    _ entity: Int, _ slot: Int
  ) throws(PersistentStoreError) -> (UnsafeMutablePointer<ColumnHeader>, Int) {
    precondition(
      tables.indices.contains(entity) && slot >= 0 && slot < building[entity].slotCount, "the slot does not exist")
    // Not the shared column, even without rows: the input may be inconsistent.
    if building[entity].headers[slot].pointee.capacity < max(building[entity].count, 1) {
      try ownColumn(entity, slot, rows: max(building[entity].count, 1), row: nil)
    }
    return (building[entity].headers[slot], building[entity].count)
  }

  func badColumn(_ entity: Int, _ slot: Int, _ message: String) -> PersistentStoreError {
    let record = model.records[entity]
    return PersistentStoreError(
      .malformed, message,
      at: StoreLocation(
        file: members[entity] ?? file, entity: record.description.name, property: record.slots[slot].name))
  }
}

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

  /// Adds rows as ``appendRows(entity:references:)`` does, for references of eight bytes, little-endian, in a file's
  /// bytes, which stay where they are if they begin at a multiple of eight.
  ///
  /// - Throws: As for a list of references; `.malformed` if the range is not a multiple of eight bytes.
  public func appendRows(
    entity: Int, references: Range<Int>, of bytes: StoreBytes
  ) throws(PersistentStoreError) {
    precondition(entity >= 0 && entity < tables.count, "the entity does not exist")
    guard references.count % 8 == 0 else {
      throw PersistentStoreError(
        .malformed, "\(references.count) bytes of references", at: StoreLocation(file: file(of: entity)))
    }
    if try shareReferences(entity, references, of: bytes) { return }
    try bytes.read(references)
    let rows = references.count / 8
    guard rows > 0, building[entity].count == 0, Self.canStay(references, of: bytes, width: 8) else {
      return try appendRows(entity: entity, references: Self.numbers(references, of: bytes).span)
    }
    try checkRows(entity, rows: rows, adding: rows)
    try take((rows + 63) / 64 * 8)
    guard let column = Column(.integer64, cells: references, of: bytes) else {
      throw Self.outOfMemory("\(rows) references", at: StoreLocation(file: file(of: entity)))
    }
    use(column, entity, building[entity].slotCount)
    building[entity].capacity = rows
    building[entity].count = rows
  }

  /// Fills a slot of fixed width with cells and bits as ``EntityReader/fixedCells(slot:)`` and
  /// ``EntityReader/presenceBits(slot:)`` return them. Without bits, every row has a value.
  ///
  /// - Throws: `.malformed` if the sizes do not match the number of rows, or a boolean is neither 0 nor 1.
  public func fillFixed(
    entity: Int, slot: Int, cells: Span<UInt8>, presence: Span<UInt8>?
  ) throws(PersistentStoreError) {
    try checkFixed(entity, slot, cells, presence)
    let (header, rows) = try whole(entity, slot)
    cells.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { header.pointee.cells.copyMemory(from: base, byteCount: source.count) }
    }
    header.pointee.setPresence(presence, rows)
    guard let presence else { return }
    header.pointee.clearNulls(rows)
    try gather(entity, slot, values: Self.count(presence))
  }

  static func count(_ presence: Span<UInt8>) -> Int {
    (0..<presence.count).reduce(0) { $0 + presence[$1].nonzeroBitCount }
  }

  /// Makes a column that was filled as a whole sparse if few rows have a value.
  func gather(_ entity: Int, _ slot: Int, values: Int) throws(PersistentStoreError) {
    let (header, rows) = (building[entity].headers[slot], building[entity].count)
    guard ColumnHeader.isSparse(values, of: rows) else { return }
    let before = header.pointee.byteCount
    // Without memory for it, the column stays as it is.
    if header.pointee.tryToGather(rows: rows) { header.pointee.sealCells() }
    try take(header.pointee.byteCount - before)
  }

  /// Fills a slot of fixed width as ``fillFixed(entity:slot:cells:presence:)`` does, with cells in a file's bytes,
  /// which stay where they are: there is no copy of them unless one is changed later.
  ///
  /// They are copied all the same if the file does not have them at a multiple of a cell's size, or if a row without a
  /// value has other bytes than zero.
  ///
  /// - Throws: As for a copy.
  public func fillFixed(
    entity: Int, slot: Int, cells: Range<Int>, of bytes: StoreBytes, presence: Span<UInt8>?
  ) throws(PersistentStoreError) {
    checkSlot(entity, slot)
    if try shareFixed(entity, slot, cells, of: bytes, presence) { return }
    try bytes.read(cells)
    let span = bytes.span.extracting(cells)
    try checkFixed(entity, slot, span, presence)
    let (rows, layout) = (building[entity].count, building[entity].headers[slot].pointee.layout)
    var values = rows
    if let presence { values = Self.count(presence) }
    guard rows > 0, !ColumnHeader.isSparse(values, of: rows), Self.canStay(cells, of: bytes, width: layout.width) else {
      return try fillFixed(entity: entity, slot: slot, cells: span, presence: presence)
    }
    guard let column = Column(layout, cells: cells, of: bytes) else {
      throw Self.outOfMemory(
        "a column of \(rows) rows", at: StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    }
    column.header.pointee.setPresence(presence, rows)
    guard presence == nil || column.header.pointee.hasZeroNulls(rows) else {
      return try fillFixed(entity: entity, slot: slot, cells: span, presence: presence)
    }
    try take((rows + 63) / 64 * 8, at: StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    use(column, entity, slot)
  }

  /// Fills a slot of fixed width of which few rows have a value: with cells of those rows only, and a bit for each row
  /// as in ``fillFixed(entity:slot:cells:presence:)``.
  ///
  /// - Throws: `.malformed` if the sizes do not match, or a boolean is neither 0 nor 1.
  public func fillFixed(
    entity: Int, slot: Int, presentCells cells: Span<UInt8>, presence: Span<UInt8>
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    let (layout, width) = (header.pointee.layout, header.pointee.width)
    guard layout.hasPresence, presence.count == (rows + 7) / 8 else {
      throw badColumn(entity, slot, "\(presence.count) bytes of presence bits for \(rows) rows")
    }
    header.pointee.cells.initializeMemory(as: UInt8.self, repeating: 0, count: rows * width)
    header.pointee.setPresence(presence, rows)
    let stored = cells.withUnsafeBytes { source in
      var place = 0
      for word in 0..<(rows + 63) / 64 {
        var bits = header.pointee.presence[word]
        while bits != 0 {
          guard let base = source.baseAddress, place + width <= source.count else { return -1 }
          let row = word * 64 + bits.trailingZeroBitCount
          (header.pointee.cells + row * width).copyMemory(from: base + place, byteCount: width)
          place += width
          bits &= bits - 1
        }
      }
      return place
    }
    guard stored == cells.count else {
      throw badColumn(
        entity, slot, "\(cells.count) bytes of cells, but the presence bits are of another number of rows")
    }
    if layout == .boolean { try checkBooleans(entity, slot, cells) }
    try gather(entity, slot, values: Self.count(presence))
  }

  private func checkBooleans(_ entity: Int, _ slot: Int, _ cells: Span<UInt8>) throws(PersistentStoreError) {
    for index in 0..<cells.count where cells[index] > 1 {
      throw badColumn(entity, slot, "\(cells[index]) is not a boolean")
    }
  }

  private func checkFixed(
    _ entity: Int, _ slot: Int, _ cells: Span<UInt8>, _ presence: Span<UInt8>?
  ) throws(PersistentStoreError) {
    checkSlot(entity, slot)
    let (header, rows) = (building[entity].headers[slot], building[entity].count)
    let layout = header.pointee.layout
    guard layout.hasPresence, cells.count == rows * layout.width else {
      throw badColumn(entity, slot, "\(cells.count) bytes for \(rows) cells")
    }
    if let presence, presence.count != (rows + 7) / 8 {
      throw badColumn(entity, slot, "\(presence.count) bytes of presence bits for \(rows) rows")
    }
    if layout == .boolean { try checkBooleans(entity, slot, cells) }
  }

  /// Copies numbers of eight bytes out of a file's bytes.
  static func numbers(_ range: Range<Int>, of bytes: StoreBytes) -> [Int64] {
    bytes.withUnsafeBytes { all in
      (0..<range.count / 8).map {
        all.loadUnaligned(fromByteOffset: range.lowerBound + $0 * 8, as: Int64.self).littleEndian
      }
    }
  }

  /// Whether values of that many bytes can be read where they are in memory.
  static func canStay(_ range: Range<Int>, of bytes: StoreBytes, width: Int) -> Bool {
    UInt(bitPattern: bytes.memory + range.lowerBound) % UInt(min(width, 8)) == 0
  }

  /// Fills a slot of variable-length values (string, URI, data, transformable, decimal text): a length for each row,
  /// all bits set for null, and the bytes of all values, concatenated.
  ///
  /// - Throws: `.malformed` if sizes are inconsistent, or text is not UTF-8 or not a decimal number.
  public func fillBytes(
    entity: Int, slot: Int, lengths: Span<UInt32>, heap: Span<UInt8>
  ) throws(PersistentStoreError) {
    let header = try checkedBytes(entity, slot, lengths)
    try reserve(heap.count, header)
    try reserveHeap(heap.count, header, at: StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    heap.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { header.pointee.heap.copyMemory(from: base, byteCount: source.count) }
    }
    header.pointee.heapCount = heap.count
    try divideBytes(entity, slot, lengths, heap)
  }

  /// Fills a slot of variable-length values as ``fillBytes(entity:slot:lengths:heap:)`` does, with values in a file's
  /// bytes, which stay where they are: there is no copy of them unless values are added later.
  ///
  /// - Throws: As for a copy.
  public func fillBytes(
    entity: Int, slot: Int, lengths: Span<UInt32>, heap: Range<Int>, of bytes: StoreBytes
  ) throws(PersistentStoreError) {
    checkSlot(entity, slot)
    if try shareBytes(entity, slot, lengths, heap, of: bytes) { return }
    try bytes.read(heap)
    let header = try checkedBytes(entity, slot, lengths)
    guard heap.count < Extent.greatestHeap else {
      throw .columnFull(StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    }
    let span = bytes.span.extracting(heap)
    if lengths.count > 0 { tables[entity].columns[slot].borrow(heap: heap, of: bytes) }
    header.pointee.heapCount = heap.count
    try divideBytes(entity, slot, lengths, span)
  }

  private func checkedBytes(
    _ entity: Int, _ slot: Int, _ lengths: Span<UInt32>
  ) throws(PersistentStoreError) -> UnsafeMutablePointer<ColumnHeader> {
    let (header, rows) = try whole(entity, slot)
    guard header.pointee.layout == .bytes, lengths.count == rows else {
      throw badColumn(entity, slot, "\(lengths.count) lengths for \(rows) rows")
    }
    return header
  }

  /// Gives each row its part of a slot's heap.
  private func divideBytes(
    _ entity: Int, _ slot: Int, _ lengths: Span<UInt32>, _ heap: Span<UInt8>
  ) throws(PersistentStoreError) {
    let header = building[entity].headers[slot]
    let kind = model.records[entity].slots[slot].valueKind
    let (values, problem) = Self.divide(header, lengths, heap, isText: kind.isText)
    if let problem { throw badColumn(entity, slot, problem) }
    if kind == .decimal { try normalize(entity, slot, lengths) }
    try gather(entity, slot, values: values)
  }

  /// Gives decimal numbers the text that equal ones have.
  private func normalize(_ entity: Int, _ slot: Int, _ lengths: Span<UInt32>) throws(PersistentStoreError) {
    let header = building[entity].headers[slot]
    for row in 0..<lengths.count where header.pointee.isPresent(row) {
      let text = Span(_unsafeElements: header.pointee.bytes(row))
      if Self.isPlainDecimal(text) { continue }
      guard let value = DecimalNumber(utf8: text) else {
        throw badColumn(entity, slot, "row \(row) is not a decimal number")
      }
      // Normalize other spellings, such as 1e5 for 1E+5: equal graphs must result in equal bytes.
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

  /// Gives each row its part of a heap, and returns how many have one, and what is wrong with the lengths or bytes; nil
  /// for nothing.
  static func divide(
    _ header: UnsafeMutablePointer<ColumnHeader>, _ lengths: Span<UInt32>, _ heap: Span<UInt8>, isText: Bool
  ) -> (values: Int, problem: String?) {
    if isText, !isUTF8(heap) { return (0, "the string is not UTF-8") }
    var (start, nulls) = (0, 0)
    for row in 0..<lengths.count {
      let length = lengths[row]
      if length == .max {
        header.pointee.setCell(row, UInt64.max)
        nulls += 1
        continue
      }
      guard Int(length) <= heap.count - start else { return (0, "the lengths exceed the number of bytes") }
      // The whole heap is UTF-8, so a value is too unless it starts inside a scalar.
      if isText, length > 0, heap[start] & 0xC0 == 0x80 { return (0, "the string is not UTF-8") }
      guard header.pointee.placeValue(row, start: start, length: Int(length)) else { return (0, "more than 256 GiB") }
      start += Int(length)
    }
    return (lengths.count - nulls, start == heap.count ? nil : "\(heap.count - start) unused bytes")
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
    if let presence { try gather(entity, slot, values: Self.count(presence)) }
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
    try reserveHeap(
      references.count, header, at: StoreLocation(file: file, property: model.records[entity].slots[slot].name))
    for index in 0..<references.count {
      (header.pointee.heap + index * 8).storeBytes(of: encode(references[index]), as: UInt64.self)
    }
    header.pointee.heapCount = references.count
    try divideLists(entity, slot, counts)
  }

  /// Gives each row its part of a to-many's heap.
  ///
  /// - Throws: `.malformed` if the counts do not match the references.
  func divideLists(_ entity: Int, _ slot: Int, _ counts: Span<UInt32>) throws(PersistentStoreError) {
    let header = building[entity].headers[slot]
    var (start, nulls) = (0, 0)
    let end = header.pointee.heapCount
    for row in 0..<counts.count {
      let count = Int(counts[row])
      guard count <= end - start else { throw badColumn(entity, slot, "the counts exceed the number of references") }
      if count == 0 {
        // A list from an earlier fill would refer beyond the remaining part of the heap.
        header.pointee.setNull(row)
        nulls += 1
      } else if !header.pointee.placeValue(row, start: start, length: count) {
        throw badColumn(entity, slot, "more than 2^38 references")
      }
      start += count
    }
    guard start == end else { throw badColumn(entity, slot, "unused references") }
    try gather(entity, slot, values: counts.count - nulls)
  }

  /// Sets one value in rows added by ``appendRows(entity:references:)``, for values that cannot be set by column.
  public func set(_ value: StoredValue, entity: Int, row: Int, slot: Int) throws(PersistentStoreError) {
    precondition(row >= 0 && row < building[entity].count, "the row does not exist")
    checkSlot(entity, slot)
    if building[entity].headers[slot].pointee.borrowsCells || isShared(entity, slot) {
      let rows = building[entity].count
      try take(ColumnHeader.size(building[entity].headers[slot].pointee.layout, rows: rows))
      use(Column(copying: tables[entity].columns[slot], rows: rows), entity, slot)
    }
    state.pointee.entity = entity
    state.pointee.row = row
    current.initialize(to: building[entity])
    try set(value, slot: slot)
  }

  func whole(
    _ entity: Int, _ slot: Int
  ) throws(PersistentStoreError) -> (UnsafeMutablePointer<ColumnHeader>, Int) {
    checkSlot(entity, slot)
    if building[entity].headers[slot].pointee.isBorrowed || isShared(entity, slot) {
      use(Column.none(building[entity].headers[slot].pointee.layout), entity, slot)
    }
    // Not the shared column, even without rows: the input may be inconsistent.
    if building[entity].headers[slot].pointee.capacity < max(building[entity].count, 1) {
      try ownColumn(entity, slot, rows: max(building[entity].count, 1), row: nil)
    }
    return (building[entity].headers[slot], building[entity].count)
  }

  func checkSlot(_ entity: Int, _ slot: Int) {
    precondition(
      tables.indices.contains(entity) && slot >= 0 && slot < building[entity].slotCount, "the slot does not exist")
  }

  func badColumn(_ entity: Int, _ slot: Int, _ message: String) -> PersistentStoreError {
    let record = model.records[entity]
    return PersistentStoreError(
      .malformed, message,
      at: StoreLocation(
        file: file(of: entity), entity: record.description.name, property: record.slots[slot].name))
  }
}

/// Several references at a time: a list, or a column that is in a file's bytes.
extension NodeTableBuilder {
  /// Adds objects to a to-many, as if one after the other.
  public func append(toMany references: Span<Int64>, slot: Int) throws(PersistentStoreError) {
    let header = try column(slot)
    guard header.pointee.layout == .toMany else { throw wrongCardinality(slot, "to-many") }
    guard references.count > 0 else { return }
    try reserve(references.count, header)
    let before = header.pointee.heapCapacity
    guard let added = header.pointee.addHandles(state.pointee.row, references.count) else {
      throw .columnFull(location(slot))
    }
    for place in 0..<references.count { added[place] = encode(references[place]) }
    if header.pointee.heapCapacity != before { try take((header.pointee.heapCapacity - before) * 8) }
  }

  /// Fills a to-one as ``fillToOne(entity:slot:references:presence:)`` does, with references of eight bytes,
  /// little-endian, in a file's bytes.
  ///
  /// - Throws: As for a list of references; `.malformed` if the range is not a multiple of eight bytes.
  public func fillToOne(
    entity: Int, slot: Int, references: Range<Int>, of bytes: StoreBytes, presence: Span<UInt8>?
  ) throws(PersistentStoreError) {
    checkSlot(entity, slot)
    if try shareRelationship(entity, slot, references, of: bytes, lists: nil, presence: presence) { return }
    try withNumbers(references, of: bytes, entity, slot) { (numbers) throws(PersistentStoreError) in
      try fillToOne(entity: entity, slot: slot, references: Span(_unsafeElements: numbers), presence: presence)
    }
  }

  /// Fills a to-many as ``fillToMany(entity:slot:counts:references:)`` does, with references of eight bytes,
  /// little-endian, in a file's bytes.
  ///
  /// - Throws: As for a list of references; `.malformed` if the range is not a multiple of eight bytes.
  public func fillToMany(
    entity: Int, slot: Int, counts: Span<UInt32>, references: Range<Int>, of bytes: StoreBytes
  ) throws(PersistentStoreError) {
    checkSlot(entity, slot)
    if try shareRelationship(entity, slot, references, of: bytes, lists: counts) { return }
    try withNumbers(references, of: bytes, entity, slot) { (numbers) throws(PersistentStoreError) in
      try fillToMany(entity: entity, slot: slot, counts: counts, references: Span(_unsafeElements: numbers))
    }
  }

  /// Calls a closure with numbers of eight bytes, where they are in the file's bytes or copied.
  private func withNumbers(
    _ range: Range<Int>, of bytes: StoreBytes, _ entity: Int, _ slot: Int,
    _ body: (UnsafeBufferPointer<Int64>) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    guard range.count % 8 == 0 else { throw badColumn(entity, slot, "\(range.count) bytes of references") }
    try bytes.read(range)
    if Self.canStay(range, of: bytes, width: 8) {
      let start = (bytes.memory + range.lowerBound).assumingMemoryBound(to: Int64.self)
      try body(UnsafeBufferPointer(start: start, count: range.count / 8))
      return withExtendedLifetime(bytes) {}
    }
    let copy = Self.numbers(range, of: bytes)
    try copy.withUnsafeBufferPointer { (numbers) throws(PersistentStoreError) in try body(numbers) }
  }
}

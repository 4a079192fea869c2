/// String references: each mention is a number until it is resolved.
extension NodeTableBuilder {
  @inline(__always) func encode(_ reference: Int64) -> UInt64 {
    if let cell = RawReference.encode(reference) { return cell }
    return encodeListed(reference)
  }

  @inline(never) private func encodeListed(_ reference: Int64) -> UInt64 {
    listed.append(reference)
    return RawReference.listTag | UInt64(listed.count - 1)
  }

  func encode(_ reference: ReferenceObject, _ slot: Int) -> UInt64 {
    switch reference {
    case .integer(let number): encode(number)
    case .string(let text): text.withBytes { encode($0, slot) }
    }
  }

  func encode(_ reference: Span<UInt8>, _ slot: Int) throws(PersistentStoreError) -> UInt64 {
    guard Self.isUTF8(reference) else { throw Self.notUTF8(location(slot)) }
    return reference.withUnsafeBufferPointer { encode($0, slot) }
  }

  private func encode(_ text: UnsafeBufferPointer<UInt8>, _ slot: Int) -> UInt64 {
    encode(text, root: Int(current.pointee.roots[slot]))
  }

  func encode(_ text: UnsafeBufferPointer<UInt8>, root: Int) -> UInt64 {
    RawReference.textTag | UInt64(truncatingIfNeeded: mention(text, root: root))
  }

  /// Adds a mention of a text, and counts the memory for it: the next ``take(_:at:)`` reports that it is too much.
  @inline(__always) func mention(_ text: UnsafeBufferPointer<UInt8>, root: Int) -> Int {
    // One access to the list: each is checked for others at the same time.
    var growth = 0
    let mention = texts[root].add(text, growth: &growth) { probableMentions($0) }
    if growth > 0 { room -= growth }
    return mention ?? noteLackOfMemory()
  }

  /// The load goes on with another mention until the next ``take(_:at:)``, or ``finish()``, which throw.
  @inline(never) private func noteLackOfMemory() -> Int {
    isOutOfMemory = true
    room = -1
    return 0
  }

  /// Notes the string reference of a row.
  func noteText(_ text: UnsafeBufferPointer<UInt8>, _ entity: Int, _ row: Int) {
    if state.pointee.hasKnown { known?.hasTexts.insert(entity) }
    let number = mention(text, root: model.records[entity].root)
    textRows[entity].append(
      TextRow(row: UInt32(truncatingIfNeeded: row), number: UInt32(truncatingIfNeeded: number)))
  }

  /// Sets the reference of a row to a string.
  public func setReference(_ text: String, entity: Int, row: Int) {
    precondition(row >= 0 && row < building[entity].count, "the row does not exist")
    noteNumber(text.withBytes { mention($0, root: model.records[entity].root) }, entity, row)
  }

  /// Notes the string reference of a row, in any order of rows.
  func noteNumber(_ number: Int, _ entity: Int, _ row: Int) {
    if state.pointee.hasKnown { known?.hasTexts.insert(entity) }
    if let last = textRows[entity].last, Int(last.row) > row { unsortedTexts.insert(entity) }
    textRows[entity].append(
      TextRow(row: UInt32(truncatingIfNeeded: row), number: UInt32(truncatingIfNeeded: number)))
  }

  static func notUTF8(_ location: StoreLocation) -> PersistentStoreError {
    PersistentStoreError(.invalidValue, "the reference is not UTF-8", at: location)
  }

  /// The reference in the cell of a relationship that was not resolved yet, to an object of that hierarchy.
  func reference(_ raw: UInt64, root: Int) -> ReferenceObject {
    if raw & RawReference.tagMask == RawReference.inlineTag { return .integer(RawReference.decodeInline(raw)) }
    if raw & RawReference.tagMask == RawReference.rowTag {
      let node = NodeHandle(bits: raw)
      return tables[node.entity].reference(node.row)
    }
    let number = Int(raw & RawReference.numberMask)
    if raw & RawReference.tagMask == RawReference.listTag { return .integer(listed[number]) }
    return .string(text(mention: number, root))
  }

  /// A string reference by the number of its mention.
  func text(mention: Int, _ root: Int) -> String { texts[root][mention] }

  /// Puts the string references of an entity in the order of rows, with the last one for each row.
  func sortTexts(_ entity: Int) {
    // Without a write where there is nothing to sort: errors of several columns may be made at the same time.
    guard unsortedTexts.contains(entity) else { return }
    unsortedTexts.remove(entity)
    textRows[entity] = textRows[entity].enumerated().sorted {
      ($0.element.row, $0.offset) < ($1.element.row, $1.offset)
    }.map(\.element)
  }

  /// The column of an entity's string references.
  ///
  /// - Throws: `.limitExceeded` for more than 256 GiB.
  func textColumn(_ entity: Int, rows: Int) throws(PersistentStoreError) -> Column {
    let column = Column(.bytes)
    try grow(
      column.header, to: rows, at: StoreLocation(file: file, entity: model.records[entity].description.name))
    let mentions = texts[model.records[entity].root]
    let bytes = textRows[entity].reduce(0) { $0 + mentions.withBytes(of: Int($1.number)) { $0.count } }
    try reserveHeap(bytes, column.header, at: StoreLocation(file: file, entity: model.records[entity].description.name))
    for entry in textRows[entity] {
      // There is room for all.
      mentions.withBytes(of: Int(entry.number)) {
        _ = column.header.pointee.setBytes(Int(entry.row), $0.baseAddress, count: $0.count)
      }
    }
    return column
  }
}

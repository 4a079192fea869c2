extension ArrowFile {
  /// Loads all objects of an entity: a column with their references, and a column for each property. The columns of a
  /// large table are filled at the same time.
  ///
  /// - Parameters:
  ///   - entity: Their entity.
  ///   - byteCount: The size of the file or stream.
  ///   - nodes: Receives the objects; the entity must not have any yet.
  /// - Throws: `.malformed`, `.modelMismatch` or `.invalidValue` with the property, and the offset of its column.
  public func load(
    _ entity: Entity, ofBytes byteCount: Int, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    if let entry = schema.metadata.first(where: { $0.key == ArrowKey.entity }),
      !entry.value.utf8.elementsEqual(entity.name.utf8)
    {
      throw PersistentStoreError(.malformed, "the table contains objects of \(entry.value), not of \(entity.name)")
    }
    let identifier = ArrowNodeColumns.identifierName(for: entity)
    var identifierColumn: ArrowColumnReader?
    var columns: [SlotColumn] = []
    var seen: Set<Int> = []
    for (index, field) in schema.fields.enumerated() {
      let column = ArrowColumnReader(field: field, chunks: batches.map { $0.columns[index] })
      if field.name.utf8.elementsEqual(identifier.utf8) {
        guard identifierColumn == nil else {
          throw PersistentStoreError(.malformed, "two columns have the name '\(field.name)'")
        }
        identifierColumn = column
        continue
      }
      guard let slot = entity.slot(named: field.name) else {
        throw PersistentStoreError(.modelMismatch, "\(entity.name) does not have a property '\(field.name)'")
      }
      guard seen.insert(slot).inserted else {
        throw PersistentStoreError(.malformed, "two columns have the name '\(field.name)'")
      }
      columns.append(SlotColumn(slot: entity.slots[slot], reader: column))
    }
    guard let identifierColumn else {
      throw PersistentStoreError(.malformed, "the table does not have a column '\(identifier)' with references")
    }
    try Self.loadReferences(identifierColumn, entity, into: nodes)
    try Self.load(columns, of: entity.index, rows: rowCount, ofBytes: byteCount, into: nodes)
    for slot in entity.slots where slot.isRelationship && !seen.contains(slot.index) {
      nodes.markAbsent(slot: slot.index, entity: entity.index)
    }
  }

  /// Fills columns: at the same time, if the file is large.
  private static func load(
    _ columns: [SlotColumn], of entity: Int, rows: Int, ofBytes byteCount: Int, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let plain = SlotColumns(all: columns.filter(\.isPlain))
    let areFilled = nodes.fillColumns(plain.all.map { (entity, $0.slot.index) }, fromInput: byteCount) {
      number, part in
      let (slot, column) = (plain.all[number].slot, plain.all[number].reader)
      return (try? load(column, slot, of: entity, rows: rows, into: part)) != nil
    }
    for (slot, column) in columns.filter({ !areFilled || !$0.isPlain }).map({ ($0.slot, $0.reader) }) {
      do throws(PersistentStoreError) {
        try load(column, slot, of: entity, rows: rows, into: nodes)
      } catch {
        throw error.located(StoreLocation(offset: column.fileOffset, property: slot.name))
      }
    }
  }

  private static func loadReferences(
    _ column: ArrowColumnReader, _ entity: Entity, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    guard column.nullCount == 0 else {
      throw PersistentStoreError(
        .malformed, "'\(column.field.name)' is null in some rows", at: StoreLocation(offset: column.fileOffset))
    }
    if column.isText {
      let references = try column.references()
      let numbers = references.map { reference -> Int64 in
        if case .integer(let number)? = reference { number } else { 0 }
      }
      try nodes.appendRows(entity: entity.index, references: numbers.span)
      for (row, reference) in references.enumerated() {
        if case .string(let text)? = reference { nodes.setReference(text, entity: entity.index, row: row) }
      }
    } else {
      let numbers = try column.integers()
      try nodes.appendRows(entity: entity.index, references: numbers.span)
    }
  }

  // MARK: Columns

  private static func load(
    _ column: ArrowColumnReader, _ slot: Slot, of entity: Int, rows: Int, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    switch slot.kind {
    case .attribute(let type): try load(column, type, slot.index, entity, rows, into: nodes)
    case .toOne:
      if column.isText {
        for (row, reference) in try column.references().enumerated() {
          guard let reference else { continue }
          try nodes.set(
            .toOne(ObjectReference(entityName: "", reference: reference)), entity: entity, row: row, slot: slot.index)
        }
        return
      }
      let references = try column.integers()
      let presence = column.presence
      try nodes.fillToOne(entity: entity, slot: slot.index, references: references.span, presence: presence?.span)
    case .toMany:
      let (counts, items) = try column.lists()
      if items.isText {
        let references = try items.references()
        var next = 0
        for row in 0..<rows where counts[row] > 0 {
          let list = references[next..<next + Int(counts[row])].compactMap { $0 }
          next += Int(counts[row])
          try nodes.set(
            .toMany(list.map { ObjectReference(entityName: "", reference: $0) }), entity: entity, row: row,
            slot: slot.index)
        }
        return
      }
      let references = try items.integers()
      try nodes.fillToMany(entity: entity, slot: slot.index, counts: counts.span, references: references.span)
    }
  }

  private static func load(
    _ column: ArrowColumnReader, _ type: AttributeType, _ slot: Int, _ entity: Int, _ rows: Int,
    into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let kind = type.valueKind
    switch kind {
    case .string, .uri, .data:
      let isText = kind.isText
      try column.withValues(isText: isText) { lengths, heap throws(PersistentStoreError) in
        try nodes.fillBytes(entity: entity, slot: slot, lengths: lengths, heap: heap)
      }
    case .decimal:
      let (lengths, heap) = try column.decimalTexts()
      try nodes.fillBytes(entity: entity, slot: slot, lengths: lengths.span, heap: heap.span)
    case .undefined:
      for (row, text) in try column.texts().enumerated() {
        guard let text, !text.isEmpty else { continue }
        guard let value = StoredValue(typedText: text) else {
          throw PersistentStoreError(.malformed, "row \(row): '\(text.prefix(60))' is not a typed value")
        }
        try nodes.set(value, entity: entity, row: row, slot: slot)
      }
    default:
      let presence = column.presence
      try column.withCells(of: type) { cells throws(PersistentStoreError) in
        try nodes.fillFixed(entity: entity, slot: slot, cells: cells, presence: presence?.span)
      }
    }
  }
}

/// The column of a property.
private struct SlotColumn {
  let slot: Slot
  let reader: ArrowColumnReader

  /// Whether the column is filled without others: not one of typed texts, or of references that are texts.
  var isPlain: Bool {
    switch slot.kind {
    case .attribute(.undefined), .attribute(.composite): false
    case .attribute: true
    case .toOne: !reader.isText
    case .toMany: !reader.hasTextItems
    }
  }
}

/// Columns that several threads read.
///
/// `@unchecked Sendable`: everything is constant; the readers' pointers lead into the bytes of the file, which are only
/// read, and stay where they are until the file is loaded.
private struct SlotColumns: @unchecked Sendable {
  let all: [SlotColumn]
}

// ArrowRows.forEach is not that of a sequence: a loop would need an iterator for each call.
// swift-format-ignore-file: ReplaceForEachWithForLoop

/// Makes Arrow columns of the slots of an entity.
///
/// The type of a column follows from the slot's type, and for dates, decimals, long texts and references from the
/// values as well: see each function.
package struct ArrowNodeColumns: Sendable {
  private let entity: Entity
  private let batches: [ArrowRows]
  private let references: ArrowReferences

  /// Creates columns for rows of an entity, or of it and its sub-entities.
  ///
  /// - Parameters:
  ///   - entity: The entity whose slots are asked for.
  ///   - references: Those of the table that the rows are of.
  ///   - batches: Rows of the entity or of sub-entities: one record batch each.
  package init(of entity: Entity, _ references: ArrowReferences, _ batches: [ArrowRows]) {
    self.entity = entity
    self.batches = batches
    self.references = references
  }

  /// The name of the column with the references of an entity's objects: `id`, or another where a property has that
  /// name.
  package static func identifierName(for entity: Entity) -> String {
    var name = "id"
    while entity.slot(named: name) != nil { name = name == "id" ? "objectID" : name + "_" }
    return name
  }

  // MARK: References

  /// The references of the objects: integers, or texts with their kind (`ArrowKey.references`) if any object of the
  /// hierarchy has a string.
  package func identifiers(named name: String) -> ArrowColumn {
    let isText = references.areTexts(entity.index)
    let field = ArrowField.identifiers(name, isText: isText)
    return ArrowColumn(field) { [batches, references] batch in
      let rows = batches[batch]
      if isText {
        var texts: [String?] = []
        rows.forEach { _, row in texts.append(ArrowReferences.text(rows.reader.reference(row: row))) }
        return ArrowTexts.data(texts, isLarge: false)
      }
      var numbers = [Int64](repeating: 0, count: rows.count)
      let entity = rows.reader.entity
      rows.forEach { index, row in
        numbers[index] = references.number(of: NodeHandle(entity: entity, row: row))
      }
      return ArrowColumnData(count: rows.count, nullCount: 0, buffers: [.empty, .int64(numbers)])
    }
  }

  /// The name of each object's entity.
  package func entityNames(named name: String) -> ArrowColumn {
    let model = entity.model
    return ArrowTexts.column(
      ArrowField(name, .text(isLarge: false), isNullable: false),
      batches.map { Array(repeating: model.entity(at: $0.reader.entity).name, count: $0.count) })
  }

  // MARK: Slots

  /// The values of a slot.
  ///
  /// - Parameters:
  ///   - slot: The property.
  ///   - name: The name of the column; nil for that of the slot.
  package func column(_ slot: Slot, named name: String? = nil) -> ArrowColumn {
    let name = name ?? slot.name
    guard let type = slot.attributeType else { return slot.isToMany ? toMany(slot, name) : toOne(slot, name) }
    let field = ArrowField.attribute(slot, name, type)
    switch type.valueKind {
    case .boolean: return booleans(field, slot.index)
    case .integer: return fixed(field, .integer(bits: type.integerBits, isSigned: true), slot.index)
    case .float: return fixed(field, .float(bits: 32), slot.index)
    case .double: return fixed(field, .float(bits: 64), slot.index)
    case .uuid: return fixed(field, .fixedSizeBinary(16), slot.index)
    case .string, .uri: return ArrowTexts.column(field, slot: slot.index, isText: true, batches)
    case .data: return ArrowTexts.column(field, slot: slot.index, isText: false, batches)
    case .date: return ArrowDates.column(field, values(slot.index) { $0.double(slot: slot.index, row: $1) })
    case .decimal:
      return ArrowDecimals.column(
        field, values(slot.index) { DecimalNumber(utf8: $0.bytes(slot: slot.index, row: $1)) ?? .nan })
    case .undefined, .toOne, .toMany:
      return ArrowTexts.column(field, values(slot.index) { $0.value(slot: slot.index, row: $1).typedText })
    }
  }

  /// The values of a slot, nil for null.
  private func values<Value>(_ slot: Int, _ value: (EntityReader, Int) -> Value) -> [[Value?]] {
    batches.map { batch in
      var values: [Value?] = []
      values.reserveCapacity(batch.count)
      batch.forEach { _, row in
        values.append(batch.reader.isNull(slot: slot, row: row) ? nil : value(batch.reader, row))
      }
      return values
    }
  }

  private func fixed(_ field: ArrowField, _ type: ArrowType, _ slot: Int) -> ArrowColumn {
    var field = field
    field.type = type
    let width = type.valueWidth ?? 1
    return ArrowColumn(field) { [batches] batch in
      let rows = batches[batch]
      let reader = rows.reader
      guard rows.rows != nil || reader.isSparse(slot: slot) else {
        let nulls = Self.nullCount(reader, slot)
        return ArrowColumnData(
          count: reader.count, nullCount: nulls,
          buffers: [nulls == 0 ? .empty : .presence(reader, slot: slot), .cells(reader, slot: slot)])
      }
      var bits = ValidityBits(count: rows.count)
      var bytes: [UInt8] = []
      bytes.reserveCapacity(rows.count * width)
      rows.forEach { index, row in
        if !reader.isNull(slot: slot, row: row) { bits.set(index) }
        reader.fixedCell(slot: slot, row: row).withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
      }
      return ArrowColumnData(count: rows.count, nullCount: bits.nullCount, buffers: [bits.buffer, .bytes(bytes)])
    }
  }

  private static func nullCount(_ reader: EntityReader, _ slot: Int) -> Int {
    let bits = reader.presenceBits(slot: slot)
    var present = 0
    for index in 0..<bits.count { present += bits[index].nonzeroBitCount }
    return reader.count - present
  }

  private func booleans(_ field: ArrowField, _ slot: Int) -> ArrowColumn {
    ArrowColumn(field) { [batches] batch in
      let rows = batches[batch]
      var bits = ValidityBits(count: rows.count)
      var values = [UInt8](repeating: 0, count: (rows.count + 7) / 8)
      rows.forEach { index, row in
        if !rows.reader.isNull(slot: slot, row: row) { bits.set(index) }
        if rows.reader.boolean(slot: slot, row: row) { values[index >> 3] |= 1 << UInt8(index & 7) }
      }
      return ArrowColumnData(count: rows.count, nullCount: bits.nullCount, buffers: [bits.buffer, .bytes(values)])
    }
  }

  // MARK: Relationships

  private func areTexts(_ slot: Slot) -> Bool { slot.destination.map { references.areTexts($0) } ?? false }

  private func toOne(_ slot: Slot, _ name: String) -> ArrowColumn {
    let isText = areTexts(slot)
    let field = ArrowField.toOne(slot, name, isText: isText)
    let index = slot.index
    if isText {
      return ArrowTexts.column(
        field,
        values(index) { reader, row in reader.toOne(slot: index, row: row).map { references.text(of: $0) } ?? "" })
    }
    return ArrowColumn(field) { [batches, references] batch in
      let rows = batches[batch]
      var bits = ValidityBits(count: rows.count)
      var numbers = [Int64](repeating: 0, count: rows.count)
      rows.forEach { place, row in
        guard let node = rows.reader.toOne(slot: index, row: row) else { return }
        bits.set(place)
        numbers[place] = references.number(of: node)
      }
      return ArrowColumnData(count: rows.count, nullCount: bits.nullCount, buffers: [bits.buffer, .int64(numbers)])
    }
  }

  private func toMany(_ slot: Slot, _ name: String) -> ArrowColumn {
    let isText = areTexts(slot)
    let index = slot.index
    let isLarge = batches.contains { rows in
      var count = 0
      rows.forEach { _, row in count += rows.reader.toMany(slot: index, row: row).count }
      return count > Int(Int32.max)
    }
    let field = ArrowField.toMany(slot, name, isText: isText, isLarge: isLarge)
    return ArrowColumn(field) { [batches, references] batch in
      let rows = batches[batch]
      var ends = Offsets(count: rows.count, isLarge: isLarge)
      var numbers: [Int64] = []
      var texts: [String?] = []
      var count = 0
      rows.forEach { _, row in
        let list = rows.reader.toMany(slot: index, row: row)
        for place in 0..<list.count {
          if isText {
            texts.append(references.text(of: list[place]))
          } else {
            numbers.append(references.number(of: list[place]))
          }
        }
        count += list.count
        ends.append(count)
      }
      let values =
        isText
        ? ArrowTexts.data(texts, isLarge: false)
        : ArrowColumnData(count: count, nullCount: 0, buffers: [.empty, .int64(numbers)])
      return ArrowColumnData(count: rows.count, nullCount: 0, buffers: [.empty, ends.buffer], item: [values])
    }
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Writes objects: what is the same for all of an entity is in its plan.
struct ObjectEncoder: Sendable {
  /// By the index of the entity.
  let plans: [EntityPlan]
  let identifiers: ObjectIdentifiers

  /// Writes the rows of runs, in their order.
  ///
  /// - Parameter limit: The number of bytes after which no other row begins.
  /// - Returns: The runs that are left.
  func write(
    _ runs: ArraySlice<RowRun>, to writer: ByteWriter, limit: Int = .max
  ) throws(PersistentStoreError) -> ArraySlice<RowRun> {
    for place in runs.indices {
      let plan = plans[runs[place].entity]
      let reader = plan.reader
      for row in runs[place].rows {
        if writer.byteCount >= limit {
          var rest = runs[place...]
          rest[place].rows = row..<runs[place].rows.upperBound
          return rest
        }
        try write(plan, reader, row: row, to: writer)
      }
    }
    return []
  }

  private func write(
    _ plan: EntityPlan, _ reader: EntityReader, row: Int, to writer: ByteWriter
  ) throws(PersistentStoreError) {
    plan.head.append(to: writer)
    appendIdentifier(entity: plan.entity, row: row, to: writer)
    let (attributes, relationships) = (plan.attributes, plan.relationships)
    var present = PresentAttributes(plan, row)
    var next = present.next(plan, reader, row)
    // As in Core Data: an object without properties is on one line.
    guard next != nil || !relationships.isEmpty else {
      writer.append("\"></object>\n")
      return try writer.flushIfNeeded()
    }
    writer.append("\">\n")
    while let position = next {
      try writeAttribute(reader, attributes[position], row, to: writer)
      next = present.next(plan, reader, row)
    }
    for index in relationships.indices { writeRelationship(reader, relationships[index], row, to: writer) }
    writer.append("    </object>\n")
    try writer.flushIfNeeded()
  }

  @inline(__always) private func appendIdentifier(entity: Int, row: Int, to writer: ByteWriter) {
    let entry = identifiers.entries[entity]
    guard row < entry.count else { return appendText(entity: entity, row: row, to: writer) }
    writer.append(byte: UInt8(ascii: "z"))
    writer.append(integer: entry.numbers[row])
    if !entry.suffix.isEmpty { entry.suffix.append(to: writer) }
  }

  @inline(never) private func appendText(entity: Int, row: Int, to writer: ByteWriter) {
    writer.append(byte: UInt8(ascii: "s"))
    let reader = plans[entity].reader
    if let text = reader.textReference(row: row) { ObjectIdentifierText.append(text, to: writer) }
  }

  private func writeAttribute(
    _ reader: EntityReader, _ slot: SlotPlan, _ row: Int, to writer: ByteWriter
  ) throws(PersistentStoreError) {
    slot.head.append(to: writer)
    switch slot.kind {
    case .string, .uri: StoreText.encode(reader.bytes(slot: slot.index, row: row), to: writer)
    case .boolean:
      writer.append(byte: reader.boolean(slot: slot.index, row: row) ? UInt8(ascii: "1") : UInt8(ascii: "0"))
    case .integer: writer.append(integer: reader.integer(slot: slot.index, row: row))
    case .float: writer.append(float: reader.float(slot: slot.index, row: row), dropsPointZero: true)
    case .double: writer.append(double: reader.double(slot: slot.index, row: row), dropsPointZero: true)
    case .date: Self.append(date: reader.double(slot: slot.index, row: row), to: writer)
    case .decimal: writer.append(reader.bytes(slot: slot.index, row: row))
    case .uuid: writer.append(uuid: reader.uuid(slot: slot.index, row: row))
    case .data:
      Base64.encode(reader.bytes(slot: slot.index, row: row), to: writer, wrapping: .coreData)
    case .undefined: try writeUndefined(reader.value(slot: slot.index, row: row), to: writer)
    case .toOne, .toMany: break
    }
    writer.append("</attribute>\n")
  }

  private static func append(date seconds: Double, to writer: ByteWriter) {
    // Twenty decimals if they are exact; otherwise the shortest exact text.
    if !writer.appendFixed20(seconds) { writer.append(double: seconds) }
  }

  /// Writes a value whose attribute has no type, with its own type: the element's open tag is completed here.
  private func writeUndefined(_ value: StoredValue, to writer: ByteWriter) throws(PersistentStoreError) {
    guard let type = StoreTypeName.type(of: value) else {
      throw PersistentStoreError(.internalInconsistency, "\(value.kindDescription) in an attribute")
    }
    writer.append(StoreTypeName.name(of: type))
    writer.append("\">")
    switch value {
    case .boolean(let flag): writer.append(byte: flag ? UInt8(ascii: "1") : UInt8(ascii: "0"))
    case .integer(let number): writer.append(integer: number)
    case .float(let number): writer.append(float: number, dropsPointZero: true)
    case .double(let number): writer.append(double: number, dropsPointZero: true)
    case .decimal(let number): writer.append(number.description)
    case .string(let text), .uri(let text): StoreText.encode(Array(text.utf8).span, to: writer)
    case .data(let data): Base64.encode(Array(data).span, to: writer, wrapping: .coreData)
    case .date(let date): Self.append(date: date.timeIntervalSinceReferenceDate, to: writer)
    case .uuid(let uuid): writer.append(uuid: uuid)
    case .null, .toOne, .toMany: break
    }
  }

  private func writeRelationship(_ reader: EntityReader, _ slot: SlotPlan, _ row: Int, to writer: ByteWriter) {
    slot.head.append(to: writer)
    if slot.isToMany {
      let nodes = reader.toMany(slot: slot.index, row: row)
      if nodes.count > 0 {
        writer.append(" idrefs=\"")
        for index in 0..<nodes.count {
          if index > 0 { writer.append(byte: UInt8(ascii: " ")) }
          appendIdentifier(entity: nodes[index].entity, row: nodes[index].row, to: writer)
        }
        writer.append(byte: UInt8(ascii: "\""))
      }
    } else if let node = reader.toOne(slot: slot.index, row: row) {
      writer.append(" idrefs=\"")
      appendIdentifier(entity: node.entity, row: node.row, to: writer)
      writer.append(byte: UInt8(ascii: "\""))
    }
    writer.append("></relationship>\n")
  }
}

/// The positions of the attributes that have a value in a row, in the attributes' order.
private struct PresentAttributes {
  private let sparse: Slice<UnsafeMutableBufferPointer<Int32>>
  private var nextSparse: Int
  private var nextDense = 0

  @inline(__always) init(_ plan: EntityPlan, _ row: Int) {
    sparse = plan.sparse.positions(row)
    nextSparse = sparse.startIndex
  }

  @inline(__always) mutating func next(_ plan: EntityPlan, _ reader: EntityReader, _ row: Int) -> Int? {
    let (dense, attributes) = (plan.dense, plan.attributes)
    while nextDense < dense.count, reader.isNull(slot: attributes[Int(dense[nextDense])].index, row: row) {
      nextDense += 1
    }
    if nextSparse < sparse.endIndex, nextDense == dense.count || sparse[nextSparse] < dense[nextDense] {
      nextSparse += 1
      return Int(sparse[nextSparse - 1])
    }
    guard nextDense < dense.count else { return nil }
    nextDense += 1
    return Int(dense[nextDense - 1])
  }
}

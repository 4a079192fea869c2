public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension BinaryPropertyListStore {
  public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let file = try staged.file()
    let metadata = snapshot.metadata
    let model = (metadata.model ?? snapshot.nodes.model.description).propertyList
    let entries = PropertyListValue.dictionary(metadata.entries)
    var writer = try BinaryPropertyListWriter(
      maximumObjectCount: Self.objectCount(snapshot) + Self.objectCount(model) + Self.objectCount(entries) + 32
    ) { (bytes) throws(PersistentStoreError) in try file.write(bytes) }
    // Write it first, so that it is among the file's first bytes.
    let signature = try writer.string(Self.signature)
    var top: [(key: BinaryPropertyListWriter.Reference, value: BinaryPropertyListWriter.Reference)] = []
    top.append((try writer.string("format"), signature))
    let sparse = SparseColumns(snapshot.nodes)
    let version =
      !sparse.isEmpty
      ? Self.versions.sparse : snapshot.hasStringReferences ? Self.versions.strings : Self.versions.integers
    top.append((try writer.string("version"), try writer.integer(Int128(version))))
    top.append((try writer.string("UUID"), try writer.string(metadata.uuid.uuidString)))
    top.append((try writer.string("lastReference"), try writer.integer(Int128(metadata.lastReference))))
    top.append((try writer.string("metadata"), try writer.value(entries)))
    top.append((try writer.string("model"), try writer.value(model)))
    let numbers = ReferenceNumbers(of: snapshot.nodes, in: pieces)
    var entities: [(key: BinaryPropertyListWriter.Reference, value: BinaryPropertyListWriter.Reference)] = []
    for entity in snapshot.nodes.model.entities where snapshot.nodes.count(of: entity.index) > 0 {
      entities.append(
        (try writer.string(entity.name), try write(entity, snapshot.nodes, numbers, sparse, &writer)))
    }
    top.append((try writer.string("entities"), try writer.dictionary(entities)))
    let reference = try writer.dictionary(top)
    try writer.finish(top: reference)
  }

  /// An upper bound for the number of objects that will be written.
  private static func objectCount(_ snapshot: StoreSnapshot) -> Int {
    var count = 16
    for entity in snapshot.nodes.model.entities {
      let slots = entity.slots
      count += 16 + slots.count * 10
      for slot in slots where slot.attributeType == .undefined { count += snapshot.nodes.count(of: entity.index) }
    }
    return count
  }

  private static func objectCount(_ value: PropertyListValue) -> Int {
    switch value {
    case .array(let elements): elements.reduce(1) { $0 + objectCount($1) }
    case .dictionary(let entries): entries.reduce(1) { $0 + 1 + objectCount($1.value) }
    default: 1
    }
  }

  /// Whether a relationship leads to a hierarchy in which some object has a string reference.
  private static func namesTexts(_ slot: Slot, _ nodes: NodeTable) -> Bool {
    guard let destination = slot.destination else { return false }
    return nodes.model.entity(at: destination).root.hierarchy.contains {
      nodes.reader(of: $0.index).hasStringReferences
    }
  }

  private typealias Entry = (key: BinaryPropertyListWriter.Reference, value: BinaryPropertyListWriter.Reference)

  private func write(
    _ entity: Entity, _ nodes: NodeTable, _ numbers: ReferenceNumbers, _ sparse: SparseColumns,
    _ writer: inout BinaryPropertyListWriter
  ) throws(PersistentStoreError) -> BinaryPropertyListWriter.Reference {
    let reader = nodes.reader(of: entity.index)
    var entries: [Entry] = []
    entries.append((try writer.string("count"), try writer.integer(Int128(reader.count))))
    // In rows with string references, this column contains 0.
    let references = numbers.numbers(ofEntity: entity.index)
    let key = try writer.string("references")
    let value = try writer.beginColumn(count: references.count)
    try writer.append(references)
    entries.append((key, value))
    if reader.hasStringReferences {
      var texts: [Entry] = []
      try writeReferenceTexts(reader, &writer, &texts)
      entries.append((try writer.string("referenceTexts"), try writer.dictionary(texts)))
    }
    var columns: [Entry] = []
    for slot in entity.slots {
      columns.append(
        (try writer.string(slot.name), try write(slot, reader, nodes, numbers, sparse.rows(of: slot, entity), &writer)))
    }
    entries.append((try writer.string("columns"), try writer.dictionary(columns)))
    return try writer.dictionary(entries)
  }

  private func write(
    _ slot: Slot, _ reader: EntityReader, _ nodes: NodeTable, _ numbers: ReferenceNumbers, _ present: PresentRows?,
    _ writer: inout BinaryPropertyListWriter
  ) throws(PersistentStoreError) -> BinaryPropertyListWriter.Reference {
    let rows = reader.count
    var entries: [Entry] = []
    switch slot.kind {
    case .attribute(.undefined):
      var values: [BinaryPropertyListWriter.Reference] = []
      for row in 0..<rows { values.append(try writer.string(reader.value(slot: slot.index, row: row).typedText)) }
      entries.append((try writer.string("values"), try writer.array(values)))
    case .attribute(let type):
      switch type.valueKind {
      case .string, .uri, .data, .decimal:
        try writeBytes(slot.index, reader, present, &writer, &entries)
      default:
        if let present {
          try writePresentCells(slot.index, reader, present, &writer, &entries)
          break
        }
        let cells = reader.fixedCells(slot: slot.index)
        let key = try writer.string("cells")
        let value = try writer.beginColumn(count: cells.count)
        try writer.append(span: cells)
        entries.append((key, value))
        let bits = reader.presenceBits(slot: slot.index)
        if !Self.isFull(bits, rows) {
          let key = try writer.string("presence")
          let value = try writer.beginColumn(count: bits.count)
          try writer.append(span: bits)
          entries.append((key, value))
        }
      }
    case .toOne, .toMany:
      if Self.namesTexts(slot, nodes) {
        try writeDestinations(slot, reader, "rows", present, try RowNumbers(slot, nodes), &writer, &entries)
      } else {
        try writeDestinations(slot, reader, "references", present, numbers, &writer, &entries)
      }
    }
    if let present { entries.append((try writer.string("present"), try writer.numbers(present.bits))) }
    return try writer.dictionary(entries)
  }

  /// Writes the cells of rows with a value.
  private func writePresentCells(
    _ slot: Int, _ reader: EntityReader, _ present: PresentRows, _ writer: inout BinaryPropertyListWriter,
    _ entries: inout [Entry]
  ) throws(PersistentStoreError) {
    let width = reader.fixedCell(slot: slot, row: 0).count
    let key = try writer.string("cells")
    let value = try writer.beginColumn(count: present.rows.count * width)
    try writer.append(rows: present.rows.count, in: pieces) { places in
      var found: [UInt8] = []
      found.reserveCapacity(places.count * width)
      for place in places {
        reader.fixedCell(slot: slot, row: present.row(place)).withUnsafeBufferPointer { found.append(contentsOf: $0) }
      }
      return found
    }
    entries.append((key, value))
  }

  /// Whether every row has a value: the bits are then omitted.
  private static func isFull(_ bits: Span<UInt8>, _ rows: Int) -> Bool {
    for index in 0..<rows / 8 where bits[index] != 0xFF { return false }
    return rows % 8 == 0 || bits[rows / 8] == UInt8(1 << (rows % 8)) - 1
  }

  /// Writes values of variable length: a length for each row, all bits set for null, and all bytes.
  private func writeBytes(
    _ slot: Int, _ reader: EntityReader, _ present: PresentRows?, _ writer: inout BinaryPropertyListWriter,
    _ entries: inout [Entry]
  ) throws(PersistentStoreError) {
    let lengths = { @Sendable (rows: Range<Int>) -> [UInt32] in
      rows.map {
        reader.isNull(slot: slot, row: $0)
          ? .max : UInt32(truncatingIfNeeded: reader.bytes(slot: slot, row: $0).count)
      }
    }
    var key = try writer.string("lengths")
    var value = try writer.beginColumn(count: (present?.rows.count ?? reader.count) * MemoryLayout<UInt32>.size)
    if let present {
      try writer.append(rows: present.rows.count, in: pieces) { places in
        places.map { UInt32(truncatingIfNeeded: reader.bytes(slot: slot, row: Int(present.rows[$0])).count) }
      }
    } else {
      try writer.append(rows: reader.count, in: pieces, lengths)
    }
    entries.append((key, value))
    key = try writer.string("bytes")
    if let packed = reader.packedBytes(slot: slot) {
      value = try writer.beginColumn(count: packed.count)
      try writer.append(span: packed)
    } else {
      let total = pieces.map(reader.count) { rows in
        rows.reduce(0) { $0 + reader.bytes(slot: slot, row: $1).count }
      }.reduce(0, +)
      value = try writer.beginColumn(count: total)
      for row in 0..<reader.count { try writer.append(span: reader.bytes(slot: slot, row: row)) }
    }
    entries.append((key, value))
  }

  /// Writes a relationship: the number of each object.
  private func writeDestinations<Numbers: NodeNumbers>(
    _ slot: Slot, _ reader: EntityReader, _ name: String, _ present: PresentRows?, _ numbers: Numbers,
    _ writer: inout BinaryPropertyListWriter, _ entries: inout [Entry]
  ) throws(PersistentStoreError) {
    let index = slot.index
    let listed = present?.rows.count ?? reader.count
    if slot.isToMany {
      let key = try writer.string("counts")
      let value = try writer.beginColumn(count: listed * MemoryLayout<UInt32>.size)
      try writer.append(rows: listed, in: pieces) { places in
        places.map { UInt32(truncatingIfNeeded: reader.toMany(slot: index, row: present?.row($0) ?? $0).count) }
      }
      entries.append((key, value))
    } else if present == nil {
      let bits = pieces.map(reader.count) { Self.presence($0, index, reader) }.flatMap { $0 }
      if !Self.isFull(bits.span, reader.count) {
        entries.append((try writer.string("presence"), try writer.numbers(bits)))
      }
    }
    var total = listed
    if slot.isToMany {
      total = pieces.map(reader.count) { Self.memberCount($0, index, reader) }.reduce(0, +)
    }
    let isToMany = slot.isToMany
    let key = try writer.string(name)
    let value = try writer.beginColumn(count: total * MemoryLayout<Numbers.Number>.size)
    try writer.append(rows: isToMany ? reader.count : listed, in: pieces.shorter(by: total, of: reader.count)) {
      isToMany
        ? Self.members($0, index, reader, numbers)
        : $0.map { reader.toOne(slot: index, row: present?.row($0) ?? $0).map { numbers.number($0) } ?? 0 }
    }
    entries.append((key, value))
  }

  /// A bit for each row that has an object at the other end of a to-one. The first row is a multiple of eight.
  private static func presence(_ rows: Range<Int>, _ slot: Int, _ reader: EntityReader) -> [UInt8] {
    var bits = [UInt8](repeating: 0, count: (rows.count + 7) / 8)
    for row in rows where reader.toOne(slot: slot, row: row) != nil {
      bits[(row - rows.lowerBound) >> 3] |= 1 << UInt8(row & 7)
    }
    return bits
  }

  /// The numbers of the objects in the lists of rows, concatenated.
  private static func members<Numbers: NodeNumbers>(
    _ rows: Range<Int>, _ slot: Int, _ reader: EntityReader, _ numbers: Numbers
  ) -> [Numbers.Number] {
    if let nodes = reader.toMany(slot: slot, rows: rows) {
      return [Numbers.Number](unsafeUninitializedCapacity: nodes.count) { buffer, count in
        for place in 0..<nodes.count { buffer.initializeElement(at: place, to: numbers.number(nodes[place])) }
        count = nodes.count
      }
    }
    return [Numbers.Number](unsafeUninitializedCapacity: memberCount(rows, slot, reader)) { buffer, count in
      for row in rows {
        let list = reader.toMany(slot: slot, row: row)
        for place in 0..<list.count {
          buffer.initializeElement(at: count, to: numbers.number(list[place]))
          count += 1
        }
      }
    }
  }

  private static func memberCount(_ rows: Range<Int>, _ slot: Int, _ reader: EntityReader) -> Int {
    reader.toMany(slot: slot, rows: rows)?.count ?? rows.reduce(0) { $0 + reader.toMany(slot: slot, row: $1).count }
  }

  /// Writes the string references of rows like the values of an attribute; those that are integers are null here.
  private func writeReferenceTexts(
    _ reader: EntityReader, _ writer: inout BinaryPropertyListWriter, _ entries: inout [Entry]
  ) throws(PersistentStoreError) {
    var key = try writer.string("lengths")
    var value = try writer.beginColumn(count: reader.count * MemoryLayout<UInt32>.size)
    try writer.append(rows: reader.count, in: pieces) { rows in
      rows.map { row -> UInt32 in
        guard let text = reader.textReference(row: row) else { return .max }
        return UInt32(truncatingIfNeeded: text.count)
      }
    }
    entries.append((key, value))
    key = try writer.string("bytes")
    if let packed = reader.packedTextReferences {
      value = try writer.beginColumn(count: packed.count)
      try writer.append(span: packed)
    } else {
      var total = 0
      for row in 0..<reader.count { if let text = reader.textReference(row: row) { total += text.count } }
      value = try writer.beginColumn(count: total)
      for row in 0..<reader.count { if let text = reader.textReference(row: row) { try writer.append(span: text) } }
    }
    entries.append((key, value))
  }
}

extension StoreSnapshot {
  /// Whether any object has a string reference.
  fileprivate var hasStringReferences: Bool {
    nodes.model.entities.contains { nodes.reader(of: $0.index).hasStringReferences }
  }
}

extension BinaryPropertyListWriter {
  /// Starts a data object on a border of 64 bytes, as readers of Arrow's columns in memory want it.
  mutating func beginColumn(count: Int) throws(PersistentStoreError) -> Reference {
    try beginData(count: count, alignedTo: 64)
  }

  /// Writes numbers as a data object, little-endian like all supported machines.
  mutating func numbers<Number: FixedWidthInteger & BitwiseCopyable>(
    _ numbers: [Number]
  ) throws(PersistentStoreError) -> Reference {
    let reference = try beginColumn(count: numbers.count * MemoryLayout<Number>.size)
    // The closure returns its error as a value: it cannot throw a typed error and use the writer at the same time.
    let result: Result<Void, PersistentStoreError> = numbers.withUnsafeBytes { raw in
      do throws(PersistentStoreError) { return .success(try append(raw)) } catch { return .failure(error) }
    }
    try result.get()
    return reference
  }

  mutating func append(span: Span<UInt8>) throws(PersistentStoreError) {
    let result: Result<Void, PersistentStoreError> = span.withUnsafeBytes { raw in
      do throws(PersistentStoreError) { return .success(try append(raw)) } catch { return .failure(error) }
    }
    try result.get()
  }
}

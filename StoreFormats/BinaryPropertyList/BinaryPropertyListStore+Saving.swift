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
    top.append((try writer.string("version"), try writer.integer(Int128(Self.version))))
    top.append((try writer.string("UUID"), try writer.string(metadata.uuid.uuidString)))
    top.append((try writer.string("lastReference"), try writer.integer(Int128(metadata.lastReference))))
    top.append((try writer.string("metadata"), try writer.value(entries)))
    top.append((try writer.string("model"), try writer.value(model)))
    let numbers = ReferenceNumbers(of: snapshot.nodes)
    var names = WrittenReferences(snapshot.nodes)
    var entities: [(key: BinaryPropertyListWriter.Reference, value: BinaryPropertyListWriter.Reference)] = []
    for entity in snapshot.nodes.model.entities where snapshot.nodes.count(of: entity.index) > 0 {
      entities.append(
        (try writer.string(entity.name), try Self.write(entity, snapshot.nodes, numbers, &names, &writer)))
    }
    top.append((try writer.string("entities"), try writer.dictionary(entities)))
    let reference = try writer.dictionary(top)
    try writer.finish(top: reference)
  }

  /// An upper bound for the number of objects that will be written.
  private static func objectCount(_ snapshot: StoreSnapshot) -> Int {
    var count = 16
    for entity in snapshot.nodes.model.entities {
      let reader = snapshot.nodes.reader(of: entity.index)
      count += 16 + entity.slots.count * 10
      if reader.hasStringReferences { count += reader.count * 3 }
      for slot in entity.slots {
        if slot.attributeType == .undefined { count += reader.count }
        if slot.isRelationship, namesTexts(slot, snapshot.nodes) {
          for row in 0..<reader.count {
            count += 2 + reader.toMany(slot: slot.index, row: row).count
          }
        }
      }
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

  private static func write(
    _ entity: Entity, _ nodes: NodeTable, _ numbers: ReferenceNumbers, _ names: inout WrittenReferences,
    _ writer: inout BinaryPropertyListWriter
  ) throws(PersistentStoreError) -> BinaryPropertyListWriter.Reference {
    let reader = nodes.reader(of: entity.index)
    var entries: [Entry] = []
    entries.append((try writer.string("count"), try writer.integer(Int128(reader.count))))
    // In rows with string references, this column contains 0.
    entries.append((try writer.string("references"), try writer.numbers(numbers[entity: entity.index])))
    if reader.hasStringReferences {
      var texts: [BinaryPropertyListWriter.Reference] = []
      for row in 0..<reader.count {
        guard reader.integerReference(row: row) == nil else { continue }
        let number = try writer.integer(Int128(row))
        let string = try names.reference(of: NodeHandle(entity: entity.index, row: row), &writer)
        texts.append(try writer.array([number, string]))
      }
      entries.append((try writer.string("referenceTexts"), try writer.array(texts)))
    }
    var columns: [Entry] = []
    for slot in entity.slots {
      columns.append((try writer.string(slot.name), try write(slot, reader, nodes, numbers, &names, &writer)))
    }
    entries.append((try writer.string("columns"), try writer.dictionary(columns)))
    return try writer.dictionary(entries)
  }

  private static func write(
    _ slot: Slot, _ reader: EntityReader, _ nodes: NodeTable, _ numbers: ReferenceNumbers,
    _ names: inout WrittenReferences, _ writer: inout BinaryPropertyListWriter
  ) throws(PersistentStoreError) -> BinaryPropertyListWriter.Reference {
    let rows = reader.count
    var entries: [Entry] = []
    switch slot.kind {
    case .attribute(.undefined):
      var values: [BinaryPropertyListWriter.Reference] = []
      for row in 0..<rows { values.append(try writer.string(reader.value(slot: slot.index, row: row).typedText)) }
      entries.append((try writer.string("values"), try writer.array(values)))
    case .attribute(let type):
      switch type {
      case .string, .uri, .binaryData, .transformable, .decimal:
        var lengths = [UInt32](repeating: .max, count: rows)
        var total = 0
        for row in 0..<rows where !reader.isNull(slot: slot.index, row: row) {
          let count = reader.bytes(slot: slot.index, row: row).count
          lengths[row] = UInt32(truncatingIfNeeded: count)
          total += count
        }
        entries.append((try writer.string("lengths"), try writer.numbers(lengths)))
        let key = try writer.string("bytes")
        let value = try writer.beginColumn(count: total)
        if let packed = reader.packedBytes(slot: slot.index) {
          try writer.append(span: packed)
        } else {
          for row in 0..<rows { try writer.append(span: reader.bytes(slot: slot.index, row: row)) }
        }
        entries.append((key, value))
      default:
        let cells = reader.fixedCells(slot: slot.index)
        let key = try writer.string("cells")
        let value = try writer.beginColumn(count: cells.count)
        try writer.append(span: cells)
        entries.append((key, value))
        let bits = reader.presenceBits(slot: slot.index)
        if !isFull(bits, rows) {
          let key = try writer.string("presence")
          let value = try writer.beginColumn(count: bits.count)
          try writer.append(span: bits)
          entries.append((key, value))
        }
      }
    case .toOne, .toMany:
      if namesTexts(slot, nodes) {
        entries.append((try writer.string("objects"), try writeObjects(slot, reader, &names, &writer)))
      } else {
        try writeReferences(slot, reader, numbers, &writer, &entries)
      }
    }
    return try writer.dictionary(entries)
  }

  /// Whether every row has a value: the bits are then omitted.
  private static func isFull(_ bits: Span<UInt8>, _ rows: Int) -> Bool {
    for index in 0..<rows / 8 where bits[index] != 0xFF { return false }
    return rows % 8 == 0 || bits[rows / 8] == UInt8(1 << (rows % 8)) - 1
  }

  private static func writeReferences(
    _ slot: Slot, _ reader: EntityReader, _ numbers: ReferenceNumbers, _ writer: inout BinaryPropertyListWriter,
    _ entries: inout [Entry]
  ) throws(PersistentStoreError) {
    var references: [Int64] = []
    if slot.isToMany {
      var counts = [UInt32](repeating: 0, count: reader.count)
      for row in 0..<reader.count {
        let list = reader.toMany(slot: slot.index, row: row)
        counts[row] = UInt32(truncatingIfNeeded: list.count)
        for place in 0..<list.count {
          references.append(numbers[list[place]])
        }
      }
      entries.append((try writer.string("counts"), try writer.numbers(counts)))
    } else {
      references = [Int64](repeating: 0, count: reader.count)
      var bits = [UInt8](repeating: 0, count: (reader.count + 7) / 8)
      for row in 0..<reader.count {
        guard let node = reader.toOne(slot: slot.index, row: row) else { continue }
        bits[row >> 3] |= 1 << UInt8(row & 7)
        references[row] = numbers[node]
      }
      if !isFull(bits.span, reader.count) {
        entries.append((try writer.string("presence"), try writer.numbers(bits)))
      }
    }
    entries.append((try writer.string("references"), try writer.numbers(references)))
  }

  private static func writeObjects(
    _ slot: Slot, _ reader: EntityReader, _ names: inout WrittenReferences, _ writer: inout BinaryPropertyListWriter
  ) throws(PersistentStoreError) -> BinaryPropertyListWriter.Reference {
    var lists: [BinaryPropertyListWriter.Reference] = []
    lists.reserveCapacity(reader.count)
    var items: [BinaryPropertyListWriter.Reference] = []
    for row in 0..<reader.count {
      items.removeAll(keepingCapacity: true)
      if slot.isToMany {
        let list = reader.toMany(slot: slot.index, row: row)
        for place in 0..<list.count { items.append(try names.reference(of: list[place], &writer)) }
      } else if let node = reader.toOne(slot: slot.index, row: row) {
        items.append(try names.reference(of: node, &writer))
      }
      lists.append(try writer.array(items))
    }
    return try writer.array(lists)
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

/// The references of nodes that were written as objects of the file, so that each text is searched for once.
private struct WrittenReferences {
  private let readers: [EntityReader]
  /// By entity and row; an entity's array is empty until it is needed.
  private var written: [[BinaryPropertyListWriter.Reference?]]

  init(_ nodes: NodeTable) {
    readers = nodes.model.entities.map { nodes.reader(of: $0.index) }
    written = Array(repeating: [], count: readers.count)
  }

  mutating func reference(
    of node: NodeHandle, _ writer: inout BinaryPropertyListWriter
  ) throws(PersistentStoreError) -> BinaryPropertyListWriter.Reference {
    let entity = node.entity
    if written[entity].isEmpty { written[entity] = Array(repeating: nil, count: readers[entity].count) }
    if let known = written[entity][node.row] { return known }
    let reader = readers[entity]
    let reference: BinaryPropertyListWriter.Reference
    if let text = reader.textReference(row: node.row) {
      reference = try writer.string(utf8: text)
    } else {
      reference = try writer.integer(Int128(reader.integerReference(row: node.row) ?? 0))
    }
    written[entity][node.row] = reference
    return reference
  }
}

/// The integer references of all nodes, in one array, 0 for string references: using an entity's reader for each would
/// retain and release all parts of its table, which took longer than the rest of a save.
private struct ReferenceNumbers {
  private var all: [Int64] = []
  /// The start of each entity's part, with one more at the end.
  private var starts: [Int] = [0]

  init(of nodes: NodeTable) {
    let entities = nodes.model.entities
    all.reserveCapacity(entities.reduce(0) { $0 + nodes.count(of: $1.index) })
    for entity in entities {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count { all.append(reader.integerReference(row: row) ?? 0) }
      starts.append(all.count)
    }
  }

  subscript(node: NodeHandle) -> Int64 {
    let place = starts[node.entity] + node.row
    return all.indices.contains(place) ? all[place] : 0
  }

  subscript(entity index: Int) -> [Int64] { Array(all[starts[index]..<starts[index + 1]]) }
}

public import AtomicStoreSPI
import StoreCodecs

extension BinaryPropertyListStore {
  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let later = nodes.readsColumnsLater ? try largeColumns(in: source) : []
    let bytes = try source.bytes(later: later)
    try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      do throws(PersistentStoreError) {
        var reader = try BinaryPropertyListReader(raw)
        if !later.isEmpty { reader.willUse = { (range) throws(PersistentStoreError) in try bytes.read(range) } }
        let entities = try PropertyListNode(reader, reader.top, "top").require("entities")
        try Self.checkNothingIsLost(reader)
        try Self.load(entities, of: bytes, into: nodes)
      } catch {
        throw error.located(StoreLocation(file: source.name))
      }
    }
  }

  /// The columns of a large file that can be read when they are filled.
  private func largeColumns(in source: StoreSource) throws(PersistentStoreError) -> [Range<Int>] {
    try source.withReader { file throws(PersistentStoreError) in
      guard file.size >= sizes.file else { return [] }
      return try BinaryPropertyListReader.largeData(inFileOfSize: file.size, atLeast: sizes.column) {
        range throws(PersistentStoreError) in
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 1)
        defer { buffer.deallocate() }
        return Array(buffer.prefix(try file.read(at: range.lowerBound, into: buffer)))
      }
    }
  }

  /// Refuses a file with unreachable objects: with one damaged count, everything in a dictionary would be skipped.
  private static func checkNothingIsLost(_ reader: BinaryPropertyListReader) throws(PersistentStoreError) {
    guard let lost = try reader.unreachable() else { return }
    throw PersistentStoreError(
      .malformed, "\(lost.count) objects of the property list are not in any of its containers",
      at: StoreLocation(offset: try reader.offset(of: lost.first)))
  }

  private static func load(
    _ entities: PropertyListNode, of bytes: StoreBytes, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    var seen: Set<Int> = []
    var names = ReferenceNames(entities.reader)
    var keys = KnownKeys()
    var columns: [StoredColumn] = []
    let count = try entities.count()
    let path = PropertyListNode.Path("entities")
    for position in 0..<count {
      let (key, value) = try entities.reader.entry(position, of: entities.object)
      let name = try entities.reader.string(of: key)
      guard let entity = nodes.model.entity(named: name) else {
        throw PersistentStoreError(
          .modelMismatch, "the store holds objects of \(name), which the model does not have",
          at: StoreLocation(entity: name))
      }
      guard seen.insert(entity.index).inserted else { throw entities.malformed("names \(name) twice") }
      let node = PropertyListNode(entities.reader, value, name, below: path).indexed(&keys)
      do throws(PersistentStoreError) {
        columns += try loadRows(entity, node, of: bytes, &names, &keys, into: nodes)
      } catch {
        throw error.located(StoreLocation(entity: name))
      }
    }
    try load(columns, &names, into: nodes)
  }

  /// Fills columns: those of packed numbers and bytes at the same time, if the file is large.
  private static func load(
    _ columns: [StoredColumn], _ names: inout ReferenceNames, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    var packed: [StoredColumn] = []
    var others: [StoredColumn] = []
    for column in columns {
      if try column.isPacked { packed.append(column) } else { others.append(column) }
    }
    let shared = PackedColumns(all: packed)
    let size = columns.first?.node.reader.byteCount ?? 0
    let areFilled = nodes.fillColumns(packed.map { ($0.entity.index, $0.slot.index) }, fromInput: size) {
      number, part in
      let column = shared.all[number]
      var names = ReferenceNames(column.node.reader)
      return (try? loadColumn(column, &names, into: part)) != nil
    }
    let rest = areFilled ? others : columns
    for column in rest {
      do throws(PersistentStoreError) {
        try loadColumn(column, &names, into: nodes)
      } catch {
        throw error.located(StoreLocation(entity: column.entity.name, property: column.slot.name))
      }
    }
  }

  /// Reads the references of an entity's rows, and returns its columns.
  private static func loadRows(
    _ entity: Entity, _ node: PropertyListNode, of bytes: StoreBytes, _ names: inout ReferenceNames,
    _ keys: inout KnownKeys, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> [StoredColumn] {
    try node.allow([.count, .references, .referenceTexts, .columns])
    let references = try node.require(.references)
    let rows = try references.numberRange(Int64.self).count / 8
    guard try node.require(.count).integer() == Int128(rows) else {
      throw node.malformed("has \(rows) references, but another count")
    }
    try nodes.appendRows(entity: entity.index, references: try references.range(), of: bytes)
    if let texts = try node.optional(.referenceTexts) {
      if case .dictionary = try texts.reader.kind(of: texts.object) {
        let (lengths, heap) = try packedTexts(texts)
        try bytes.read(heap)
        let texts = bytes.span.extracting(heap)
        try nodes.fillReferenceTexts(entity: entity.index, lengths: lengths.span, heap: texts)
      } else {
        try loadReferenceTexts(texts, of: entity, rows: rows, &names, into: nodes)
      }
    }
    let columns = try node.require(.columns)
    var found: [StoredColumn] = []
    var seen = [Bool](repeating: false, count: entity.slots.count)
    var leftOut: Set<ScalarString> = []
    let count = try columns.count()
    for position in 0..<count {
      let (key, value) = try columns.reader.entry(position, of: columns.object)
      let name = try columns.reader.string(of: key)
      guard let slot = entity.slot(named: name) else {
        if nodes.leavesOut(property: name, entity: entity.index) {
          guard leftOut.insert(ScalarString(name)).inserted else { throw columns.malformed("names '\(name)' twice") }
          continue
        }
        throw PersistentStoreError(
          .modelMismatch, "the store has a property '\(name)' that the model does not have",
          at: StoreLocation(property: name))
      }
      guard !seen[slot] else { throw columns.malformed("names '\(name)' twice") }
      seen[slot] = true
      found.append(
        StoredColumn(
          entity: entity, slot: entity.slots[slot], rows: rows,
          node: PropertyListNode(columns.reader, value, name, in: columns).indexed(&keys), bytes: bytes))
    }
    for slot in entity.slots where slot.isRelationship && !seen[slot.index] {
      nodes.markAbsent(slot: slot.index, entity: entity.index)
    }
    return found
  }

  private static func loadColumn(
    _ stored: StoredColumn, _ names: inout ReferenceNames, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let (column, slot, entity, rows) = (stored.node, stored.slot, stored.entity.index, stored.rows)
    let presence = try column.optional(.presence).map { (node) throws(PersistentStoreError) in Array(try node.bytes())
    }
    if let bits = try column.optional(.present) {
      guard presence == nil else { throw column.malformed("has 'presence' and 'present'") }
      return try loadPresent(stored, Array(try bits.bytes()), into: nodes)
    }
    switch slot.kind {
    case .attribute(.undefined): try loadTexts(stored, into: nodes)
    case .attribute(let type):
      switch type.valueKind {
      case .string, .uri, .data, .decimal:
        let (lengths, heap) = try packedTexts(column)
        try nodes.fillBytes(entity: entity, slot: slot.index, lengths: lengths.span, heap: heap, of: stored.bytes)
      default:
        try column.allow([.cells, .presence])
        let cells = try column.require(.cells).range()
        try nodes.fillFixed(
          entity: entity, slot: slot.index, cells: cells, of: stored.bytes, presence: presence?.span)
      }
    case .toOne, .toMany:
      if let objects = try column.optional(.objects) {
        try column.allow([.objects])
        return try loadObjects(slot, of: entity, objects, rows: rows, &names, into: nodes)
      }
      if let rows = try column.optional(.rows) {
        try column.allow([slot.isToMany ? .counts : .presence, .rows])
        let numbers = try rows.numbers(UInt32.self)
        let places = try RowNumbers(slot, nodes).nodes(numbers.span, of: rows)
        if slot.isToMany {
          let counts = try column.require(.counts).numbers(UInt32.self)
          try nodes.fillToMany(entity: entity, slot: slot.index, counts: counts.span, nodes: places.span)
        } else {
          try nodes.fillToOne(entity: entity, slot: slot.index, nodes: places.span, presence: presence?.span)
        }
        return
      }
      try column.allow([slot.isToMany ? .counts : .presence, .references])
      let references = try column.require(.references).numberRange(Int64.self)
      if slot.isToMany {
        let counts = try column.require(.counts).numbers(UInt32.self)
        try nodes.fillToMany(
          entity: entity, slot: slot.index, counts: counts.span, references: references, of: stored.bytes)
      } else {
        try nodes.fillToOne(
          entity: entity, slot: slot.index, references: references, of: stored.bytes, presence: presence?.span)
      }
    }
  }

  /// Fills a column of which the file has the values of some rows only: those whose bits are set.
  private static func loadPresent(
    _ stored: StoredColumn, _ bits: [UInt8], into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let (column, slot, entity) = (stored.node, stored.slot, stored.entity.index)
    switch slot.kind {
    case .attribute(.undefined): throw column.malformed("has 'present', which columns without a type cannot have")
    case .attribute(let type):
      switch type.valueKind {
      case .string, .uri, .data, .decimal:
        try column.allow([.lengths, .bytes, .present])
        let lengths = try stored.spread(try column.require(.lengths).numbers(UInt32.self), bits, absent: .max)
        let heap = try column.require(.bytes).range()
        try nodes.fillBytes(entity: entity, slot: slot.index, lengths: lengths.span, heap: heap, of: stored.bytes)
      default:
        try column.allow([.cells, .present])
        let cells = try column.require(.cells).bytes()
        try nodes.fillFixed(
          entity: entity, slot: slot.index, presentCells: Span(_unsafeElements: cells), presence: bits.span)
      }
    case .toOne:
      if let rows = try column.optional(.rows) {
        try column.allow([.present, .rows])
        let numbers = try stored.spread(try rows.numbers(UInt32.self), bits, absent: 0)
        let places = try RowNumbers(slot, nodes).nodes(numbers.span, of: rows)
        return try nodes.fillToOne(entity: entity, slot: slot.index, nodes: places.span, presence: bits.span)
      }
      try column.allow([.present, .references])
      let references = try stored.spread(try column.require(.references).numbers(Int64.self), bits, absent: 0)
      try nodes.fillToOne(entity: entity, slot: slot.index, references: references.span, presence: bits.span)
    case .toMany:
      let counts = try stored.spread(try column.require(.counts).numbers(UInt32.self), bits, absent: 0)
      if let rows = try column.optional(.rows) {
        try column.allow([.counts, .present, .rows])
        let numbers = try rows.numbers(UInt32.self)
        let places = try RowNumbers(slot, nodes).nodes(numbers.span, of: rows)
        return try nodes.fillToMany(entity: entity, slot: slot.index, counts: counts.span, nodes: places.span)
      }
      try column.allow([.counts, .present, .references])
      let references = try column.require(.references).numbers(Int64.self)
      try nodes.fillToMany(entity: entity, slot: slot.index, counts: counts.span, references: references.span)
    }
  }

  /// A column of values of variable length: the length of each, and the place of all bytes in the file.
  private static func packedTexts(
    _ column: PropertyListNode
  ) throws(PersistentStoreError) -> (lengths: PackedNumbers<UInt32>, heap: Range<Int>) {
    try column.allow([.lengths, .bytes])
    return (try column.require(.lengths).numbers(UInt32.self), try column.require(.bytes).range())
  }

  /// Fills the column of an attribute without a type: a text for each row, that begins with the type.
  private static func loadTexts(
    _ stored: StoredColumn, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let (column, rows) = (stored.node, stored.rows)
    try column.allow([.values])
    let texts = try column.require(.values)
    let count = try texts.count()
    guard count == rows else { throw column.malformed("has \(count) values for \(rows) rows") }
    var room = unfoldedTextLimit(texts.reader)
    for row in 0..<rows {
      let text = try texts.element(row)
      let string = try text.string()
      room -= string.utf8.count
      guard room >= 0 else { throw texts.tooLong() }
      guard let value = StoredValue(typedText: string) else { throw text.malformed("is not a typed value") }
      if !value.isNull { try nodes.set(value, entity: stored.entity.index, row: row, slot: stored.slot.index) }
    }
  }

  /// The limit on the total size of one column's strings, which rows may share. Their memory is limited like that of
  /// all values; this limits the work.
  private static func unfoldedTextLimit(_ reader: BinaryPropertyListReader) -> Int {
    let (product, overflow) = reader.byteCount.multipliedReportingOverflow(by: 48)
    return overflow ? .max : max(product, 1 << 25)
  }

  /// Reads the string references of a file of version 1: pairs of a row and a string.
  private static func loadReferenceTexts(
    _ texts: PropertyListNode, of entity: Entity, rows: Int, _ names: inout ReferenceNames, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let reader = texts.reader
    guard let (counts, elements) = try reader.elements(ofArraysIn: texts.object, limit: reader.byteCount) else {
      throw texts.tooLong()
    }
    // One string may be referenced often: the expanded size of the names is limited, not only their size in the file.
    names.begin(entity.root.index, room: unfoldedTextLimit(reader))
    var previous = -1
    for index in counts.indices {
      guard counts[index] == 2, elements.count > index * 2 + 1,
        let row = Int(exactly: try reader.integer(of: elements[index * 2])), row > previous, row < rows
      else {
        throw try texts.element(index).malformed(
          "is not a pair of a row, greater than the previous one, and a string")
      }
      guard let name = try names.text(elements[index * 2 + 1], nodes) else { throw texts.tooLong() }
      try nodes.setReference(name, entity: entity.index, row: row)
      previous = row
    }
  }

  /// Reads relationships to objects with string references in a file of version 1: a list for each row.
  private static func loadObjects(
    _ slot: Slot, of entity: Int, _ objects: PropertyListNode, rows: Int, _ names: inout ReferenceNames,
    into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let count = try objects.count()
    guard count == rows else { throw objects.malformed("has \(count) lists for \(rows) rows") }
    let reader = objects.reader
    // Each element takes at least a byte of the file, unless rows share lists, which could expand beyond its size.
    guard let (counts, elements) = try reader.elements(ofArraysIn: objects.object, limit: reader.byteCount) else {
      throw objects.tooLong()
    }
    if !slot.isToMany, let row = counts.firstIndex(where: { $0 > 1 }) {
      throw try objects.element(row).malformed("has \(counts[row]) objects for a to-one")
    }
    names.begin(slot.destination.map { nodes.model.entity(at: $0).root.index } ?? 0, room: .max)
    var references: [NumberedReference] = []
    references.reserveCapacity(elements.count)
    for element in elements { references.append(try names.reference(element, objects.path, nodes)) }
    try nodes.fillRelationship(
      entity: entity, slot: slot.index, counts: counts.span, references: references.span)
  }
}

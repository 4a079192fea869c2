public import AtomicStoreSPI
import StoreCodecs

extension BinaryPropertyListStore {
  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let bytes = try source.bytes()
    try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      do throws(PersistentStoreError) {
        let reader = try BinaryPropertyListReader(raw)
        let entities = try PropertyListNode(reader, reader.top, "top").require("entities")
        try Self.checkNothingIsLost(reader)
        try Self.load(entities, into: nodes)
      } catch {
        throw error.located(StoreLocation(file: source.name))
      }
    }
  }

  /// Refuses a file with unreachable objects: with one damaged count, everything in a dictionary would be skipped.
  private static func checkNothingIsLost(_ reader: BinaryPropertyListReader) throws(PersistentStoreError) {
    var isReached = [Bool](repeating: false, count: reader.objectCount)
    var reached = 1
    var waiting = [reader.top]
    isReached[reader.top.index] = true
    func reach(_ object: BinaryPropertyListReader.Object) {
      guard !isReached[object.index] else { return }
      isReached[object.index] = true
      reached += 1
      waiting.append(object)
    }
    while let object = waiting.popLast() {
      switch try reader.kind(of: object) {
      case .array: try reader.forEachElement(of: object, reach)
      case .dictionary:
        for position in 0..<(try reader.count(of: object)) {
          let (key, value) = try reader.entry(position, of: object)
          reach(key)
          reach(value)
        }
      default: break
      }
    }
    guard reached == reader.objectCount else {
      let first = isReached.firstIndex(of: false).flatMap { reader.object(at: $0) }
      throw PersistentStoreError(
        .malformed, "\(reader.objectCount - reached) objects of the property list are not in any of its containers",
        at: StoreLocation(
          offset: try first.map { (object) throws(PersistentStoreError) in try reader.offset(of: object) }))
    }
  }

  private static func load(_ entities: PropertyListNode, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var seen: Set<Int> = []
    let count = try entities.count()
    for position in 0..<count {
      let (key, value) = try entities.reader.entry(position, of: entities.object)
      let name = try entities.reader.string(of: key)
      guard let entity = nodes.model.entity(named: name) else {
        throw PersistentStoreError(
          .modelMismatch, "the store holds objects of \(name), which the model does not have",
          at: StoreLocation(entity: name))
      }
      guard seen.insert(entity.index).inserted else { throw entities.malformed("names \(name) twice") }
      let node = PropertyListNode(entities.reader, value, "entities.\(name)")
      do throws(PersistentStoreError) {
        try loadRows(entity, node, into: nodes)
      } catch {
        throw error.located(StoreLocation(entity: name))
      }
    }
  }

  private static func loadRows(
    _ entity: Entity, _ node: PropertyListNode, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    try node.allow(["count", "references", "referenceTexts", "columns"])
    let references = try node.require("references").numbers(Int64.self)
    guard try node.require("count").integer() == Int128(references.count) else {
      throw node.malformed("has \(references.count) references, but another count")
    }
    try nodes.appendRows(entity: entity.index, references: references.span)
    if let texts = try node.optional("referenceTexts") {
      // One string may be referenced often: the expanded size of the names is limited, not only their size in the file.
      var room = unfoldedTextLimit(texts.reader)
      var previous = -1
      for index in 0..<(try texts.count()) {
        let pair = try texts.element(index)
        guard try pair.count() == 2, let row = Int(exactly: try pair.element(0).integer()), row > previous,
          row < references.count
        else { throw pair.malformed("is not a pair of a row, greater than the previous one, and a string") }
        let text = try pair.element(1).string()
        room -= text.utf8.count
        guard room >= 0 else { throw texts.tooLong() }
        nodes.setReference(text, entity: entity.index, row: row)
        previous = row
      }
    }
    let columns = try node.require("columns")
    var seen: Set<Int> = []
    let count = try columns.count()
    for position in 0..<count {
      let (key, value) = try columns.reader.entry(position, of: columns.object)
      let name = try columns.reader.string(of: key)
      guard let slot = entity.slot(named: name) else {
        throw PersistentStoreError(
          .modelMismatch, "the store has a property '\(name)' that the model does not have",
          at: StoreLocation(property: name))
      }
      guard seen.insert(slot).inserted else { throw columns.malformed("names '\(name)' twice") }
      let column = PropertyListNode(columns.reader, value, columns.path + "." + name)
      do throws(PersistentStoreError) {
        try loadColumn(entity.slots[slot], of: entity.index, column, rows: references.count, into: nodes)
      } catch {
        throw error.located(StoreLocation(property: name))
      }
    }
    for slot in entity.slots where slot.isRelationship && !seen.contains(slot.index) {
      nodes.markAbsent(slot: slot.index, entity: entity.index)
    }
  }

  private static func loadColumn(
    _ slot: Slot, of entity: Int, _ column: PropertyListNode, rows: Int, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let presence = try column.optional("presence")?.data()
    let presenceBytes = presence.map { Array($0) }
    switch slot.kind {
    case .attribute(.undefined):
      try column.allow(["values"])
      let texts = try column.require("values")
      let count = try texts.count()
      guard count == rows else { throw column.malformed("has \(count) values for \(rows) rows") }
      var room = unfoldedTextLimit(texts.reader)
      for row in 0..<rows {
        let text = try texts.element(row)
        let string = try text.string()
        room -= string.utf8.count
        guard room >= 0 else { throw texts.tooLong() }
        guard let value = StoredValue(typedText: string) else { throw text.malformed("is not a typed value") }
        if !value.isNull { try nodes.set(value, entity: entity, row: row, slot: slot.index) }
      }
    case .attribute(let type):
      switch type {
      case .string, .uri, .binaryData, .transformable, .decimal:
        try column.allow(["lengths", "bytes"])
        let lengths = try column.require("lengths").numbers(UInt32.self)
        let heap = try column.require("bytes").bytes()
        try nodes.fillBytes(
          entity: entity, slot: slot.index, lengths: lengths.span, heap: Span(_unsafeElements: heap))
      default:
        try column.allow(["cells", "presence"])
        let cells = try column.require("cells").bytes()
        try nodes.fillFixed(
          entity: entity, slot: slot.index, cells: Span(_unsafeElements: cells), presence: presenceBytes?.span)
      }
    case .toOne, .toMany:
      if let objects = try column.optional("objects") {
        try column.allow(["objects"])
        return try loadObjects(slot, of: entity, objects, rows: rows, into: nodes)
      }
      try column.allow(slot.isToMany ? ["counts", "references"] : ["presence", "references"])
      let references = try column.require("references").numbers(Int64.self)
      if slot.isToMany {
        let counts = try column.require("counts").numbers(UInt32.self)
        try nodes.fillToMany(entity: entity, slot: slot.index, counts: counts.span, references: references.span)
      } else {
        try nodes.fillToOne(
          entity: entity, slot: slot.index, references: references.span, presence: presenceBytes?.span)
      }
    }
  }

  /// The limit on the total size of one column's strings, which rows may share. Their memory is limited like that of
  /// all values; this limits the work.
  private static func unfoldedTextLimit(_ reader: BinaryPropertyListReader) -> Int {
    let (product, overflow) = reader.byteCount.multipliedReportingOverflow(by: 48)
    return overflow ? .max : max(product, 1 << 25)
  }

  /// Reads relationships to objects with string references: a list for each row.
  private static func loadObjects(
    _ slot: Slot, of entity: Int, _ objects: PropertyListNode, rows: Int, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let count = try objects.count()
    guard count == rows else { throw objects.malformed("has \(count) lists for \(rows) rows") }
    let reader = objects.reader
    // Each element takes at least a byte of the file, unless rows share lists, which could expand beyond its size.
    var room = reader.byteCount
    var names = ReferenceNames(reader, objects.path)
    var counts: [UInt32] = []
    var indexes: [UInt32] = []
    counts.reserveCapacity(rows)
    for row in 0..<rows {
      let list = try objects.element(row)
      let before = indexes.count
      try reader.forEachElement(of: list.object) { (item) throws(PersistentStoreError) in
        room -= 1
        guard room >= 0 else { throw objects.tooLong() }
        indexes.append(try names.index(of: item))
      }
      let length = indexes.count - before
      guard slot.isToMany || length <= 1 else { throw list.malformed("has \(length) objects for a to-one") }
      counts.append(UInt32(truncatingIfNeeded: length))
    }
    try nodes.fillRelationship(
      entity: entity, slot: slot.index, counts: counts.span, indexes: indexes.span, references: names.references)
  }
}

/// The references that lists mention, each once: the file has each string once, however often it is mentioned.
private struct ReferenceNames {
  private(set) var references: [ReferenceObject] = []
  private let reader: BinaryPropertyListReader
  private let path: String
  /// By the index of an object in the file, the index of its reference plus 1; 0 if it has none yet.
  private var known: [UInt32]

  init(_ reader: BinaryPropertyListReader, _ path: String) {
    self.reader = reader
    self.path = path
    known = Array(repeating: 0, count: reader.objectCount)
  }

  mutating func index(of object: BinaryPropertyListReader.Object) throws(PersistentStoreError) -> UInt32 {
    if known[object.index] != 0 { return known[object.index] - 1 }
    if case .string = try reader.kind(of: object) {
      references.append(.string(try reader.string(of: object)))
    } else {
      guard let number = Int64(exactly: try reader.integer(of: object)) else {
        throw PropertyListNode(reader, object, path).malformed("does not fit in 64 bits")
      }
      references.append(.integer(number))
    }
    known[object.index] = UInt32(truncatingIfNeeded: references.count)
    return known[object.index] - 1
  }
}

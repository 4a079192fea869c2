public import AtomicStoreSPI
import StoreCodecs

extension BinaryPropertyListStore {
  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let bytes = try takeBytes(of: source)
    try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      do throws(PersistentStoreError) {
        let reader = try BinaryPropertyListReader(raw)
        let entities = try PropertyListNode(reader, reader.top, "top").require("entities")
        try Self.load(entities, into: nodes)
      } catch {
        throw error.located(StoreLocation(file: source.name))
      }
    }
  }

  private static func load(_ entities: PropertyListNode, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let count = try entities.reader.count(of: entities.object)
    for position in 0..<count {
      let (key, value) = try entities.reader.entry(position, of: entities.object)
      let name = try entities.reader.string(of: key)
      guard let entity = nodes.model.entity(named: name) else {
        throw PersistentStoreError(
          .modelMismatch, "the store holds objects of \(name), which the model does not have",
          at: StoreLocation(entity: name))
      }
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
    let references = try node.require("references").numbers(Int64.self)
    guard try node.require("count").integer() == Int128(references.count) else {
      throw node.malformed("holds \(references.count) references and another count")
    }
    try nodes.appendRows(entity: entity.index, references: references.span)
    if let texts = try node.optional("referenceTexts") {
      for pair in try texts.elements() {
        let parts = try pair.elements()
        guard parts.count == 2, let row = Int(exactly: try parts[0].integer()), references.indices.contains(row) else {
          throw pair.malformed("is no pair of row and text")
        }
        nodes.setReference(try parts[1].string(), entity: entity.index, row: row)
      }
    }
    let columns = try node.require("columns")
    let count = try columns.reader.count(of: columns.object)
    for position in 0..<count {
      let (key, value) = try columns.reader.entry(position, of: columns.object)
      let name = try columns.reader.string(of: key)
      guard let slot = entity.slot(named: name) else {
        throw PersistentStoreError(
          .modelMismatch, "the store holds a property '\(name)' that the model does not have",
          at: StoreLocation(property: name))
      }
      let column = PropertyListNode(columns.reader, value, columns.path + "." + name)
      do throws(PersistentStoreError) {
        try loadColumn(entity.slots[slot], of: entity.index, column, rows: references.count, into: nodes)
      } catch {
        throw error.located(StoreLocation(property: name))
      }
    }
  }

  private static func loadColumn(
    _ slot: Slot, of entity: Int, _ column: PropertyListNode, rows: Int, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let presence = try column.optional("presence")?.data()
    let presenceBytes = presence.map { Array($0) }
    switch slot.kind {
    case .attribute(.undefined):
      let texts = try column.require("values").elements()
      guard texts.count == rows else { throw column.malformed("holds \(texts.count) values for \(rows) rows") }
      for (row, text) in texts.enumerated() {
        guard let value = StoredValue(typedText: try text.string()) else { throw text.malformed("is no typed value") }
        if !value.isNull { try nodes.set(value, entity: entity, row: row, slot: slot.index) }
      }
    case .attribute(let type):
      switch type {
      case .string, .uri, .binaryData, .transformable, .decimal:
        let lengths = try column.require("lengths").numbers(UInt32.self)
        let heap = try column.require("bytes").bytes()
        try nodes.fillBytes(
          entity: entity, slot: slot.index, lengths: lengths.span, heap: Span(_unsafeElements: heap))
      default:
        let cells = try column.require("cells").bytes()
        try nodes.fillFixed(
          entity: entity, slot: slot.index, cells: Span(_unsafeElements: cells), presence: presenceBytes?.span)
      }
    case .toOne, .toMany:
      if let objects = try column.optional("objects") {
        return try loadObjects(slot, of: entity, objects, rows: rows, into: nodes)
      }
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

  /// Relationships to objects with string references: a list for each row.
  private static func loadObjects(
    _ slot: Slot, of entity: Int, _ objects: PropertyListNode, rows: Int, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let lists = try objects.elements()
    guard lists.count == rows else { throw objects.malformed("holds \(lists.count) lists for \(rows) rows") }
    for (row, list) in lists.enumerated() {
      var references: [ObjectReference] = []
      for item in try list.elements() {
        let reference: ReferenceObject
        if case .string = try item.reader.kind(of: item.object) {
          reference = .string(try item.string())
        } else {
          guard let number = Int64(exactly: try item.integer()) else { throw item.malformed("is beyond 64 bits") }
          reference = .integer(number)
        }
        references.append(ObjectReference(entityName: "", reference: reference))
      }
      if slot.isToMany {
        try nodes.set(.toMany(references), entity: entity, row: row, slot: slot.index)
      } else if let only = references.first {
        guard references.count == 1 else { throw list.malformed("names \(references.count) objects for a to-one") }
        try nodes.set(.toOne(only), entity: entity, row: row, slot: slot.index)
      }
    }
  }
}

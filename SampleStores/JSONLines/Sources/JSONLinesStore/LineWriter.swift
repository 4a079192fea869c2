import AtomicStoreSPI
import FoundationEssentials

/// Writes lines. Equal graphs make equal bytes: rows come in the order of their references, properties in the model's.
struct LineWriter {
  var bytes: [UInt8] = []

  mutating func header(_ metadata: StoreMetadata, count: Int) {
    put("{\"store\":\"\(JSONLinesStore.storeType)\",\"version\":1,\"uuid\":\"\(metadata.uuid.uuidString)\",")
    put("\"last\":\(metadata.lastReference),\"objects\":\(count),")
    if let model = metadata.model {
      put("\"model\":")
      value(model.propertyList)
      put(",")
    }
    put("\"metadata\":")
    value(.dictionary(metadata.entries))
    put("}\n")
  }

  /// All objects of an entity, a line each.
  mutating func objects(of entity: Entity, in nodes: NodeTable, to file: StagedFile) throws(PersistentStoreError) {
    let reader = nodes.reader(of: entity.index)
    for row in 0..<reader.count {
      object(entity, reader, row, nodes)
      if bytes.count > 1 << 18 { try flush(to: file) }
    }
  }

  mutating func flush(to file: StagedFile) throws(PersistentStoreError) {
    try file.write(bytes)
    bytes.removeAll(keepingCapacity: true)
  }

  private mutating func object(_ entity: Entity, _ reader: EntityReader, _ row: Int, _ nodes: NodeTable) {
    put("{\"entity\":")
    string(entity.name)
    put(",\"id\":")
    reference(reader.reference(row: row))
    put(",\"values\":{")
    var isFirst = true
    for slot in entity.slots where !reader.isNull(slot: slot.index, row: row) {
      // A set without members is what a set is when nothing is written.
      if case .toMany = slot.kind, reader.toMany(slot: slot.index, row: row).isEmpty { continue }
      if !isFirst { put(",") }
      isFirst = false
      string(slot.name)
      put(":")
      switch slot.kind {
      case .attribute(let type):
        switch type {
        case .string: string(reader.string(slot: slot.index, row: row))
        case .integer16, .integer32, .integer64: put("\(reader.integer(slot: slot.index, row: row))")
        case .boolean: put(reader.boolean(slot: slot.index, row: row) ? "true" : "false")
        default: string(reader.value(slot: slot.index, row: row).typedText)
        }
      case .toOne:
        if let node = reader.toOne(slot: slot.index, row: row) { reference(nodes.reference(of: node)) }
      case .toMany:
        put("[")
        let list = reader.toMany(slot: slot.index, row: row)
        for place in list.indices {
          if place > 0 { put(",") }
          reference(nodes.reference(of: list[place]))
        }
        put("]")
      }
    }
    put("}}\n")
  }

  private mutating func put(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private mutating func reference(_ reference: ReferenceObject) {
    switch reference {
    case .integer(let number): put("\(number)")
    case .string(let text): string(text)
    }
  }

  private mutating func string(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""): put("\\\"")
      case UInt8(ascii: "\\"): put("\\\\")
      case UInt8(ascii: "\n"): put("\\n")
      case UInt8(ascii: "\r"): put("\\r")
      case UInt8(ascii: "\t"): put("\\t")
      case 0..<UInt8(ascii: " "), 0x7F:
        let digits = String(byte, radix: 16)
        put("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func value(_ value: PropertyListValue) {
    switch value {
    case .string(let text): string(text)
    case .integer(let number):
      if let small = Int64(exactly: number) { put("\(small)") } else { put("{\"$integer\":\"\(number)\"}") }
    case .boolean(let flag): put(flag ? "true" : "false")
    case .real(let number): special(.double(number))
    case .date(let date): special(.date(date))
    case .data(let data): special(.data(data))
    case .uid(let number): put("{\"$uid\":\"\(number)\"}")
    case .array(let list):
      put("[")
      for (place, element) in list.enumerated() {
        if place > 0 { put(",") }
        self.value(element)
      }
      put("]")
    case .dictionary(let dictionary):
      put("{")
      let entries = dictionary.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      for (place, entry) in entries.enumerated() {
        if place > 0 { put(",") }
        // A name that looks like one of ours gets another sign before it.
        string(entry.key.hasPrefix("$") ? "$" + entry.key : entry.key)
        put(":")
        self.value(entry.value)
      }
      put("}")
    }
  }

  private mutating func special(_ value: StoredValue) {
    put("{\"$value\":")
    string(value.typedText)
    put("}")
  }
}

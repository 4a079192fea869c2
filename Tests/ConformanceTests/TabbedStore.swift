import AtomicStoreSPI
import FoundationEssentials

/// Objects as lines of text: entity, reference, and a cell for each property by name, separated by tabs. The first line
/// has the UUID, the last reference and the number of objects. In a cell `\t`, `\n` and `\\` stand for tab, line feed
/// and backslash.
struct TabbedStore: AtomicStore {
  static let storeType = "Tabbed"
  static let traits = StoreTraits(
    summary: "Lines of cells, separated by tabs", fileExtensions: ["tabbed"], references: .integersOnly,
    keepsMetadata: false, isSelfDescribing: false)

  static func recognize(_ probe: StoreProbe) -> Recognition { probe.begins(with: "TABBED\t") ? .yes : .no }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    try header(try lines(source, limit: 256), source).metadata
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let lines = try lines(source)
    let count = try header(lines, source).count
    let slots = nodes.model.entities.map(slotsByName)
    for (number, cells) in zip(2..., lines.dropFirst().dropLast()) {
      guard cells.count >= 2, let entity = nodes.model.entity(named: cells[0]), entity.slots.count == cells.count - 2
      else { throw malformed("there is no entity '\(cells[0])' with so many properties", source, number) }
      try nodes.beginNode(entity: entity.index, reference: try integer(cells[1], source, number), line: number)
      for (slot, cell) in zip(slots[entity.index], cells.dropFirst(2)) where !cell.isEmpty {
        switch slot.kind {
        case .attribute:
          guard let value = StoredValue(typedText: cell) else {
            throw malformed("'\(cell)' is not a value", source, number)
          }
          try nodes.set(value, slot: slot.index)
        case .toOne:
          try nodes.set(toOne: try integer(cell, source, number), slot: slot.index)
        case .toMany:
          for reference in cell.split(separator: " ") {
            try nodes.append(toMany: try integer(String(reference), source, number), slot: slot.index)
          }
        }
      }
    }
    // A file that was cut at the end of a line looks whole, except for the count.
    guard lines.last == [""], lines.count - 2 == count else {
      throw malformed("the header counts \(count) objects, and others follow", source, lines.count)
    }
  }

  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    let (nodes, metadata) = (snapshot.nodes, snapshot.metadata)
    let file = try files.file()
    var bytes: [UInt8] = []
    append(["TABBED", "1", metadata.uuid.uuidString, "\(metadata.lastReference)", "\(nodes.count)"], to: &bytes)
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      let slots = slotsByName(entity)
      for row in 0..<reader.count {
        guard let reference = reader.integerReference(row: row) else {
          throw PersistentStoreError(
            .unsupportedByFormat, "a reference must be an integer, not '\(reader.reference(row: row))'",
            at: StoreLocation(entity: entity.name))
        }
        let cells = slots.map { slot in
          switch reader.value(slot: slot.index, row: row) {
          case .toOne(let object): object.reference.description
          case .toMany(let objects): objects.map(\.reference.description).joined(separator: " ")
          case let value: value.typedText
          }
        }
        append([entity.name, "\(reference)"] + cells, to: &bytes)
        if bytes.count > 1 << 16 {
          try file.write(bytes)
          bytes.removeAll(keepingCapacity: true)
        }
      }
    }
    try file.write(bytes)
  }

  /// The order of the cells: another model of the store may list its properties in another one.
  private func slotsByName(_ entity: Entity) -> [Slot] {
    entity.slots.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  // MARK: Lines

  /// Appends a line. It works on bytes: the characters of a string would hide the line feed of `\r\n`.
  private func append(_ cells: [String], to bytes: inout [UInt8]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: "\t")) }
      for byte in cell.utf8 {
        switch byte {
        case UInt8(ascii: "\t"): bytes += "\\t".utf8
        case UInt8(ascii: "\n"): bytes += "\\n".utf8
        case UInt8(ascii: "\\"): bytes += "\\\\".utf8
        default: bytes.append(byte)
        }
      }
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Reads lines, with a limit as many as are in the first bytes. The last one is what follows the last line feed.
  private func lines(_ source: StoreSource, limit: Int? = nil) throws(PersistentStoreError) -> [[String]] {
    var lines: [[String]] = []
    let bytes = try source.bytes(limit: limit).withUnsafeBytes { Array($0) }
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      var cells: [String] = []
      for cell in line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false) {
        var plain: [UInt8] = []
        var rest = cell.makeIterator()
        while let byte = rest.next() {
          guard byte == UInt8(ascii: "\\") else {
            plain.append(byte)
            continue
          }
          switch rest.next() {
          case UInt8(ascii: "t"): plain.append(UInt8(ascii: "\t"))
          case UInt8(ascii: "n"): plain.append(UInt8(ascii: "\n"))
          case UInt8(ascii: "\\"): plain.append(byte)
          default: throw malformed("a backslash that stands for nothing", source, lines.count + 1)
          }
        }
        guard let text = String(validating: plain, as: UTF8.self) else {
          throw malformed("the text is not UTF-8", source, lines.count + 1)
        }
        cells.append(text)
      }
      lines.append(cells)
      if limit != nil { break }
    }
    return lines
  }

  private func header(
    _ lines: [[String]], _ source: StoreSource
  ) throws(PersistentStoreError) -> (metadata: StoreMetadata, count: Int) {
    let cells = lines[0]
    guard cells.count == 5, cells[0] == "TABBED", let uuid = UUID(uuidString: cells[2]) else {
      throw malformed("this is not a header", source, 1)
    }
    guard cells[1] == "1" else {
      throw malformed("the version is '\(cells[1])', and this code reads 1", source, 1, .unsupportedVersion)
    }
    let last = try integer(cells[3], source, 1)
    let metadata = StoreMetadata(storeType: Self.storeType, uuid: uuid, lastReference: last)
    return (metadata, Int(try integer(cells[4], source, 1)))
  }

  private func integer(_ text: String, _ source: StoreSource, _ line: Int) throws(PersistentStoreError) -> Int64 {
    guard let number = Int64(text) else { throw malformed("'\(text)' is not an integer", source, line) }
    return number
  }

  private func malformed(
    _ message: String, _ source: StoreSource, _ line: Int, _ code: PersistentStoreError.Code = .malformed
  ) -> PersistentStoreError {
    PersistentStoreError(code, message, at: StoreLocation(file: source.name, line: line))
  }
}

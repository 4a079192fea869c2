public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension CSVStore {
  public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedStore) throws(PersistentStoreError) {
    guard layout == .folder else { return try saveFile(snapshot, to: staged) }
    let model = snapshot.nodes.model
    var members: [FolderMetadata.Member] = []
    var taken: Set<String> = [Self.metadataName]
    let configured = Set((model.entities(forConfiguration: configurationName) ?? model.entities).map(\.index))
    let references = ReferenceNumbers(of: snapshot.nodes)
    for entity in model.entities where !entity.isAbstract {
      guard configured.contains(entity.index) || snapshot.nodes.count(of: entity.index) > 0 else { continue }
      let name = Self.memberName(entity.name, &taken)
      let digest = try Self.write(
        entity, snapshot.nodes, references, in: ownDialect, defusing: defusesFormulas, to: try staged.member(name))
      members.append(
        .init(
          file: name, entity: entity.name, rows: snapshot.nodes.count(of: entity.index), digest: Digest.text(digest)))
    }
    let bytes = try FolderMetadata.encode(snapshot.metadata, snapshot.metadata.model ?? model.description, members)
    try staged.member(Self.metadataName).write(bytes)
  }

  /// The file of an entity: its name, what file systems dislike percent-escaped, and told apart where some of them would
  /// not tell letters' cases apart.
  private static func memberName(_ entity: String, _ taken: inout Set<String>) -> String {
    var stem = ""
    for scalar in entity.unicodeScalars {
      switch scalar {
      case "/", "\\", ":", "*", "?", "\"", "<", ">", "|", "%", "\u{0}"..."\u{1F}", "\u{7F}":
        let hex = String(scalar.value, radix: 16, uppercase: true)
        stem += (hex.count == 1 ? "%0" : "%") + hex
      case "." where stem.isEmpty: stem += "%2E"
      default: stem.unicodeScalars.append(scalar)
      }
    }
    while stem.utf8.count > 200 { stem.unicodeScalars.removeLast() }
    var name = stem + ".csv"
    var number = 2
    while !taken.insert(name.lowercased()).inserted {
      name = "\(stem)~\(number).csv"
      number += 1
    }
    return name
  }

  private func saveFile(_ snapshot: StoreSnapshot, to staged: StagedStore) throws(PersistentStoreError) {
    let model = snapshot.nodes.model
    let full = model.entities.filter { snapshot.nodes.count(of: $0.index) > 0 }
    guard full.count <= 1 else {
      throw PersistentStoreError(
        .unsupportedByFormat, "a single CSV file holds one entity, and there are objects of "
          + full.map(\.name).joined(separator: ", "))
    }
    guard snapshot.metadata.entries.isEmpty else {
      throw PersistentStoreError(
        .unsupportedByFormat, "a single CSV file has no place for metadata: \(snapshot.metadata.entries.keys.joined(separator: ", "))")
    }
    guard let entity = full.first ?? model.entities.first(where: { !$0.isAbstract }) else {
      throw PersistentStoreError(.unsupportedByFormat, "the model has no entity with objects")
    }
    let file = try staged.file()
    if let foreign { return try saveForeign(foreign, entity, snapshot.nodes, to: file) }
    for slot in entity.slots where slot.isRelationship && slot.destination != entity.index {
      throw PersistentStoreError(
        .unsupportedByFormat, "the relationship leads to \(slot.relationship?.destinationEntityName ?? ""), which a single "
          + "file does not hold", at: StoreLocation(entity: entity.name, property: slot.name))
    }
    _ = try Self.write(
      entity, named: wasUnnamed ? nil : entity.name, snapshot.nodes, ReferenceNumbers(of: snapshot.nodes), in: ownDialect,
      defusing: defusesFormulas, to: file)
  }

  // MARK: Our own files

  /// - Parameter name: The entity's in a single file, which nothing else tells.
  private static func write(
    _ entity: Entity, named name: String? = nil, _ nodes: NodeTable, _ references: ReferenceNumbers, in dialect: CSVDialect,
    defusing defusesFormulas: Bool, to file: StagedFile
  ) throws(PersistentStoreError) -> UInt64 {
    let digest = RunningDigest()
    let writer = ByteWriter { (bytes) throws(PersistentStoreError) in
      digest.add(bytes)
      try file.write(bytes)
    }
    var cells = CellWriter(writer, dialect: dialect)
    cells.defusesFormulas = defusesFormulas
    writer.append(Header.identifier(entity: name, isDefused: defusesFormulas))
    for slot in entity.slots {
      writer.append(byte: dialect.delimiter)
      cells.append(text: Header.text(slot))
    }
    writer.append(byte: 0x0A)
    let reader = nodes.reader(of: entity.index)
    let columns = entity.slots.map { column($0) }
    for row in 0..<reader.count {
      if let number = reader.integerReference(row: row) {
        writer.append(integer: number)
      } else if case .string(let text) = reader.reference(row: row) {
        cells.append(reference: text)
      }
      for column in columns {
        writer.append(byte: dialect.delimiter)
        cells.append(column, row, reader, references)
      }
      writer.append(byte: 0x0A)
      try writer.flushIfNeeded()
    }
    try writer.finish()
    return digest.value
  }

  // MARK: Files of others

  private func saveForeign(
    _ foreign: ForeignLayout, _ entity: Entity, _ nodes: NodeTable, to file: StagedFile
  ) throws(PersistentStoreError) {
    let writer = ByteWriter { (bytes) throws(PersistentStoreError) in try file.write(bytes) }
    var cells = CellWriter(writer, dialect: foreign.dialect)
    // The delimiter is found out from the first record: no other may stand there bare.
    cells.quotesEveryDelimiter = true
    cells.defusesFormulas = foreign.isDefused
    if foreign.columns.contains(nil) {
      throw PersistentStoreError(
        .unsupportedByFormat, "columns were left out on reading, and a save would lose them", at: StoreLocation(file: path))
    }
    let slots = foreign.columns.compactMap { $0.flatMap { entity.slot(named: $0) } }
    let written = Set(slots)
    let reader = nodes.reader(of: entity.index)
    for slot in entity.slots where !written.contains(slot.index) {
      if (0..<reader.count).contains(where: { !reader.isNull(slot: slot.index, row: $0) }) {
        throw PersistentStoreError(
          .unsupportedByFormat, "the file has no column for the property",
          at: StoreLocation(file: path, entity: entity.name, property: slot.name))
      }
    }
    func endRecord() {
      if foreign.dialect.lineEnding == .carriageReturnLineFeed { writer.append(byte: 0x0D) }
      writer.append(byte: 0x0A)
      cells.quotesEveryDelimiter = false
    }
    if foreign.hasHeader {
      for (index, name) in foreign.header.enumerated() {
        if index > 0 { writer.append(byte: foreign.dialect.delimiter) }
        cells.append(text: name)
      }
      endRecord()
    }
    for row in 0..<reader.count {
      let values = slots.map { reader.value(slot: $0, row: row) }
      // References are not written: they must be what the next reading will make of the row.
      let derived: ReferenceObject
      if foreign.keys.isEmpty {
        derived = .integer(Int64(row + 1))
      } else {
        derived = .string(
          ForeignLayout.key(
            foreign.keys.map { key in
              entity.slot(named: key).map { foreign.text(of: reader.value(slot: $0, row: row)) } ?? ""
            }))
      }
      guard derived == reader.reference(row: row) else {
        throw PersistentStoreError(
          .unsupportedByFormat, foreign.keys.isEmpty
            ? "the file knows objects by their row, and a row before this one is gone"
            : "the object's key would be read back as '\(derived)': another object's",
          at: StoreLocation(file: path, entity: entity.name, reference: reader.reference(row: row).description))
      }
      for (index, value) in values.enumerated() {
        if index > 0 { writer.append(byte: foreign.dialect.delimiter) }
        switch value {
        case .null: break
        case .toMany(let list):
          // Blanks separate: a key that holds one would be read back as two.
          if let key = list.first(where: { $0.reference.description.utf8.contains(0x20) || $0.reference.description.isEmpty }) {
            throw PersistentStoreError(
              .unsupportedByFormat, "the key '\(key.reference)' cannot stand in a list that blanks separate",
              at: StoreLocation(
                file: path, entity: entity.name, reference: reader.reference(row: row).description,
                property: entity.slots[slots[index]].name))
          }
          let text = list.map { $0.reference.description }.joined(separator: " ")
          if !text.isEmpty { cells.append(text: text) }
        case .date(let date):
          if let format = foreign.dateFormat, format.text(date.timeIntervalSinceReferenceDate) == nil {
            throw PersistentStoreError(
              .unsupportedByFormat, "the file's date format cannot hold the date",
              at: StoreLocation(
                file: path, entity: entity.name, reference: reader.reference(row: row).description,
                property: entity.slots[slots[index]].name))
          }
          cells.append(text: foreign.text(of: value))
        case .boolean, .integer, .float, .double, .decimal:
          // A number with a sign is no formula.
          cells.append(plain: foreign.text(of: value))
        default: cells.append(text: foreign.text(of: value))
        }
      }
      endRecord()
      try writer.flushIfNeeded()
    }
    try writer.finish()
  }
}

/// A digest of bytes that come in pieces, equal to ``Digest/of(_:)`` of the whole.
final class RunningDigest {
  private var bytes: [UInt8] = []
  private var hash: UInt64 = 0x9E37_79B9_7F4A_7C15
  private var count = 0

  func add(_ piece: UnsafeRawBufferPointer) {
    count += piece.count
    var index = 0
    // Fill up what the last piece left of a word.
    while !bytes.isEmpty, bytes.count < 8, index < piece.count {
      bytes.append(piece[index])
      index += 1
    }
    if bytes.count == 8 {
      mix(bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
      bytes.removeAll(keepingCapacity: true)
    }
    guard bytes.isEmpty else { return }
    var local = hash
    while index + 8 <= piece.count {
      let word = UInt64(littleEndian: piece.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      local = (local ^ word) &* 0xFF51_AFD7_ED55_8CCD
      local = local << 29 | local >> 35
      index += 8
    }
    hash = local
    while index < piece.count {
      bytes.append(piece[index])
      index += 1
    }
  }

  private func mix(_ word: UInt64) {
    hash = (hash ^ word) &* 0xFF51_AFD7_ED55_8CCD
    hash = hash << 29 | hash >> 35
  }

  var value: UInt64 {
    mix(bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    mix(UInt64(count))
    return hash ^ hash >> 32
  }
}

/// Writes cells: quoted where they must be, and only there.
struct CellWriter {
  private let writer: ByteWriter
  private let delimiter: UInt8
  /// Quotes a text also for the delimiters that other files have.
  var quotesEveryDelimiter = false
  /// Puts an apostrophe before texts that a spreadsheet would run.
  var defusesFormulas = false

  init(_ writer: ByteWriter, dialect: CSVDialect) {
    self.writer = writer
    delimiter = dialect.delimiter
  }

  func append(text: String) {
    var text = text
    text.withUTF8 { append(utf8: Span(_unsafeElements: $0)) }
  }

  func append(reference text: String) {
    var bytes: [UInt8] = []
    ReferenceText.append(text, to: &bytes)
    writer.append(bytes)
  }

  /// A text's cell; the empty text is two quotes, since nothing at all is null.
  func append(utf8 bytes: Span<UInt8>) {
    let count = bytes.count
    if defusesFormulas, Formula.needsDefusing(bytes) { return appendQuoted(bytes, apostrophe: true) }
    guard count > 0, !needsQuotes(bytes) else { return appendQuoted(bytes) }
    writer.append(bytes)
  }

  func append(plain text: String) {
    var copy = self
    copy.defusesFormulas = false
    copy.append(text: text)
  }

  private func needsQuotes(_ bytes: Span<UInt8>) -> Bool {
    let last = bytes.count - 1
    if bytes[0] == 0x20 || bytes[last] == 0x20 || bytes[0] == 0x09 || bytes[last] == 0x09 || bytes[0] == 0xEF {
      return true
    }
    let delimiter = delimiter
    if quotesEveryDelimiter, bytes.withUnsafeBufferPointer({ $0.contains { [0x2C, 0x3B, 0x09, 0x7C].contains($0) } }) { return true }
    return bytes.withUnsafeBufferPointer { buffer in
      for byte in buffer where byte <= 0x7C {
        if byte == delimiter || byte == 0x22 || byte == 0x0A || byte == 0x0D || byte == 0 { return true }
      }
      return false
    }
  }

  private func appendQuoted(_ bytes: Span<UInt8>, apostrophe: Bool = false) {
    writer.append(byte: 0x22)
    if apostrophe { writer.append(byte: 0x27) }
    for index in 0..<bytes.count {
      if bytes[index] == 0x22 { writer.append(byte: 0x22) }
      writer.append(byte: bytes[index])
    }
    writer.append(byte: 0x22)
  }

  func append(_ column: CSVStore.Column, _ row: Int, _ reader: EntityReader, _ references: ReferenceNumbers) {
    let slot = column.slot
    switch column.kind {
    case .toOne:
      if let node = reader.toOne(slot: slot, row: row) { append(node, references) }
      return
    case .toMany:
      let list = reader.toMany(slot: slot, row: row)
      for place in 0..<list.count {
        if place > 0 { writer.append(byte: 0x20) }
        append(list[place], references)
      }
      return
    default: if reader.isNull(slot: slot, row: row) { return }
    }
    switch column.kind {
    case .text: append(utf8: reader.bytes(slot: slot, row: row))
    case .integer: writer.append(integer: reader.integer(slot: slot, row: row))
    case .double: writer.append(double: reader.double(slot: slot, row: row))
    case .float: writer.append(float: reader.float(slot: slot, row: row))
    case .boolean: reader.boolean(slot: slot, row: row) ? writer.append("true") : writer.append("false")
    case .date: writer.append(dateSeconds: reader.double(slot: slot, row: row))
    case .uuid: writer.append(uuid: reader.uuid(slot: slot, row: row))
    case .decimal: writer.append(reader.bytes(slot: slot, row: row))
    case .bytes:
      let bytes = reader.bytes(slot: slot, row: row)
      guard bytes.count > 0 else { return writer.append("\"\"") }
      // The one character of base64 that begins a formula.
      if defusesFormulas, bytes[0] >> 2 == 62 { writer.append(byte: 0x27) }
      Base64.encode(bytes, to: writer)
    case .undefined: append(text: reader.value(slot: slot, row: row).typedText)
    case .toOne, .toMany, .skipped, .reference: break
    }
  }

  private func append(_ node: NodeHandle, _ references: ReferenceNumbers) {
    if let number = references[node] { return writer.append(integer: number) }
    append(reference: references.text(of: node))
  }
}

/// The integer references of all nodes in one array: a relationship asks for them at random, and to ask an entity's
/// reader would count references for each.
struct ReferenceNumbers {
  private var numbers: [Int64] = []
  /// Where an entity's begin.
  private var starts: [Int] = []
  /// Empty where all references are numbers. Where one is not, readers are asked.
  private var readers: [EntityReader] = []

  init(of nodes: NodeTable) {
    let all = nodes.model.entities.map { nodes.reader(of: $0.index) }
    if all.contains(where: \.hasStringReferences) { readers = all }
    numbers.reserveCapacity(all.reduce(0) { $0 + $1.count })
    for reader in all {
      starts.append(numbers.count)
      for row in 0..<reader.count { numbers.append(reader.integerReference(row: row) ?? 0) }
    }
  }

  /// Nil where the reference is a text.
  subscript(node: NodeHandle) -> Int64? {
    guard readers.isEmpty else { return readers[node.entity].integerReference(row: node.row) }
    return numbers[starts[node.entity] + node.row]
  }

  func text(of node: NodeHandle) -> String {
    if case .string(let text) = readers[node.entity].reference(row: node.row) { text } else { "" }
  }
}

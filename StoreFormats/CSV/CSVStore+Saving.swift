public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension CSVStore {
  public mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    guard layout == .folder else { return try saveFile(snapshot, to: staged) }
    let model = snapshot.nodes.model
    var members: [FolderMetadata.Member] = []
    var taken: Set<String> = [FolderMetadata.fileName]
    let configured = Set((model.entities(forConfiguration: configurationName) ?? model.entities).map(\.index))
    let references = snapshot.nodes.references
    for entity in model.entities where !entity.isAbstract {
      guard configured.contains(entity.index) || snapshot.nodes.count(of: entity.index) > 0 else { continue }
      let name = StagedFiles.memberName(for: entity.name, extension: "csv", taken: &taken)
      let digest = try Self.write(
        entity, snapshot.nodes, references, in: ownDialect, style, to: try staged.member(name))
      members.append(
        .init(
          file: name, entity: entity.name, rows: snapshot.nodes.count(of: entity.index), digest: Digest.text(digest),
          layout: style.hasPlainHeaders ? MemberLayout(entity, style, ownDialect) : nil))
    }
    let bytes = try FolderMetadata.encode(snapshot.metadata, snapshot.metadata.model ?? model.description, members)
    try staged.member(FolderMetadata.fileName).write(bytes)
  }

  private func saveFile(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let model = snapshot.nodes.model
    let full = model.entities.filter { snapshot.nodes.count(of: $0.index) > 0 }
    guard full.count <= 1 else {
      throw PersistentStoreError(
        .unsupportedByFormat,
        "a single CSV file can contain one entity, but there are objects of "
          + full.map(\.name).joined(separator: ", "))
    }
    guard snapshot.metadata.entries.isEmpty else {
      throw PersistentStoreError(
        .unsupportedByFormat,
        "a single CSV file cannot store metadata: \(snapshot.metadata.entries.keys.joined(separator: ", "))")
    }
    guard let entity = full.first ?? model.entities.first(where: { !$0.isAbstract }) else {
      throw PersistentStoreError(.unsupportedByFormat, "the model does not have an entity with objects")
    }
    let file = try staged.file()
    if let foreign { return try saveForeign(foreign, entity, snapshot.nodes, to: file) }
    for slot in entity.slots where slot.isRelationship && slot.destination != entity.index {
      throw PersistentStoreError(
        .unsupportedByFormat,
        "the relationship leads to \(slot.relationship?.destinationEntityName ?? ""), which a single "
          + "file does not contain", at: StoreLocation(entity: entity.name, property: slot.name))
    }
    _ = try Self.write(
      entity, named: wasUnnamed ? nil : entity.name, snapshot.nodes, snapshot.nodes.references,
      in: ownDialect, style, to: file)
  }

  // MARK: Our own files

  /// - Parameter name: The entity's name in a single file, which nothing else specifies.
  private static func write(
    _ entity: Entity, named name: String? = nil, _ nodes: NodeTable, _ references: NodeReferences,
    in dialect: CSVDialect, _ style: SheetStyle, to file: StagedFile
  ) throws(PersistentStoreError) -> XXH64 {
    var digest = XXH64()
    let writer = ByteWriter { (bytes) throws(PersistentStoreError) in
      digest.add(bytes)
      try file.write(bytes)
    }
    var cells = CellWriter(writer, dialect: dialect)
    cells.use(style)
    if style.hasByteOrderMark { writer.append(SheetStyle.byteOrderMark) }
    if style.hasPlainHeaders {
      // The delimiter is detected from the first record: no other delimiter may occur in it unquoted.
      cells.quotesEveryDelimiter = true
      for (index, name) in Header.plain(entity).enumerated() {
        if index > 0 { writer.append(byte: dialect.delimiter) }
        cells.append(text: name)
      }
      cells.quotesEveryDelimiter = false
    } else {
      writer.append(Header.identifier(entity: name, style: style))
      for slot in entity.slots {
        writer.append(byte: dialect.delimiter)
        cells.append(text: Header.text(slot))
      }
    }
    writer.append(byte: UInt8(ascii: "\n"))
    let rows = RowEncoder(
      reader: nodes.reader(of: entity.index), columns: entity.slots.map { column($0) }, references: references,
      dialect: dialect, style: style)
    try rows.write(to: writer)
    try writer.finish()
    return digest
  }

  // MARK: Files of others

  private func saveForeign(
    _ foreign: ForeignLayout, _ entity: Entity, _ nodes: NodeTable, to file: StagedFile
  ) throws(PersistentStoreError) {
    let writer = ByteWriter { (bytes) throws(PersistentStoreError) in try file.write(bytes) }
    var cells = CellWriter(writer, dialect: foreign.dialect)
    // The delimiter is detected from the first record: no other delimiter may occur in it unquoted.
    cells.quotesEveryDelimiter = true
    cells.defusesFormulas = foreign.isDefused
    let slots = try checkedSlots(of: foreign, entity, nodes)
    let reader = nodes.reader(of: entity.index)
    func endRecord() {
      if foreign.dialect.lineEnding == .carriageReturnLineFeed { writer.append(byte: UInt8(ascii: "\r")) }
      writer.append(byte: UInt8(ascii: "\n"))
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
      try checkReference(of: row, foreign, entity, reader)
      for (index, value) in values.enumerated() {
        if index > 0 { writer.append(byte: foreign.dialect.delimiter) }
        try append(value, foreign, to: &cells) {
          StoreLocation(
            file: path, entity: entity.name, reference: reader.reference(row: row).description,
            property: entity.slots[slots[index]].name)
        }
      }
      endRecord()
      try writer.flushIfNeeded()
    }
    try writer.finish()
  }

  /// The slots of the file's columns, in their order. Refuses a file that does not have a column for everything.
  private func checkedSlots(
    of foreign: ForeignLayout, _ entity: Entity, _ nodes: NodeTable
  ) throws(PersistentStoreError) -> [Int] {
    if foreign.columns.contains(nil) {
      throw PersistentStoreError(
        .unsupportedByFormat, "columns were ignored when the file was read, and a save would lose them",
        at: StoreLocation(file: path))
    }
    let slots = foreign.columns.compactMap { $0.flatMap { entity.slot(named: $0) } }
    let written = Set(slots)
    let reader = nodes.reader(of: entity.index)
    for slot in entity.slots where !written.contains(slot.index) {
      if (0..<reader.count).contains(where: { !reader.isNull(slot: slot.index, row: $0) }) {
        throw PersistentStoreError(
          .unsupportedByFormat, "the file does not have a column for the property",
          at: StoreLocation(file: path, entity: entity.name, property: slot.name))
      }
    }
    return slots
  }

  /// References are not written: they must be what the next reading derives from the row.
  private func checkReference(
    of row: Int, _ foreign: ForeignLayout, _ entity: Entity, _ reader: EntityReader
  ) throws(PersistentStoreError) {
    let derived: ReferenceObject
    if foreign.keys.isEmpty {
      derived = .integer(Int64(row + 1))
    } else {
      var texts: [String] = []
      for key in foreign.keys {
        texts.append(entity.slot(named: key).map { foreign.text(of: reader.value(slot: $0, row: row)) } ?? "")
      }
      derived = .string(ForeignLayout.key(texts))
    }
    guard derived == reader.reference(row: row) else {
      throw PersistentStoreError(
        .unsupportedByFormat,
        foreign.keys.isEmpty
          ? "the file identifies objects by row, but an earlier row was deleted"
          : "the object's key would be read as '\(derived)', which is another object's",
        at: StoreLocation(file: path, entity: entity.name, reference: reader.reference(row: row).description))
    }
  }

  private func append(
    _ value: StoredValue, _ foreign: ForeignLayout, to cells: inout CellWriter, at location: () -> StoreLocation
  ) throws(PersistentStoreError) {
    switch value {
    case .null: break
    case .toMany(let list):
      // Spaces separate the keys: one that contains a space would be read back as two.
      if let key = list.first(where: {
        $0.reference.description.utf8.contains(UInt8(ascii: " ")) || $0.reference.description.isEmpty
      }) {
        throw PersistentStoreError(
          .unsupportedByFormat, "the key '\(key.reference)' contains a space and cannot be in a list",
          at: location())
      }
      let text = list.map { $0.reference.description }.joined(separator: " ")
      if !text.isEmpty { cells.append(text: text) }
    case .date(let date):
      if let format = foreign.dateFormat, format.text(date.timeIntervalSinceReferenceDate) == nil {
        throw PersistentStoreError(
          .unsupportedByFormat, "the file's date format cannot represent the date", at: location())
      }
      cells.append(text: foreign.text(of: value))
    case .boolean, .integer, .float, .double, .decimal:
      // A number with a sign is not a formula.
      cells.append(plain: foreign.text(of: value))
    default: cells.append(text: foreign.text(of: value))
    }
  }
}

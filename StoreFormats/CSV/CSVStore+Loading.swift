public import AtomicStoreSPI
import StoreCodecs

extension CSVStore {
  public mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    if source.isFolder { return try loadFolder(source, into: nodes) }
    let file = try CSVFile(source, member: nil, options: options)
    let entity = try singleEntity(nodes.model)
    nodes.setMember(file.name, entity: entity.index)
    if file.isTyped { readStyle = file.style }
    wasUnnamed = file.isTyped && file.entityName == nil
    if file.isTyped {
      let columns = try Self.typedColumns(file, entity)
      Self.markAbsent(columns, of: entity, in: nodes)
      try Self.load(file, entity, columns, into: nodes)
    } else {
      try loadForeign(file, entity, into: nodes)
    }
  }

  /// The entity of a single file: the specified one, or the only one.
  private func singleEntity(_ model: ManagedObjectModel) throws(PersistentStoreError) -> Entity {
    if let entity = model.entity(named: entityName), !entity.isAbstract { return entity }
    let concrete = model.entities.filter { !$0.isAbstract }
    if options["entity"] == nil, concrete.count == 1 { return concrete[0] }
    throw PersistentStoreError(
      .invalidOption,
      "the model does not have an entity '\(entityName)' that can have objects; it has "
        + concrete.map(\.name).joined(separator: ", "), at: StoreLocation(file: path),
      remedy: .readOption("entity=NAME", effect: "chooses one of them"))
  }

  private mutating func loadFolder(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let folder =
      if let readFolder, readFolder.source === source { readFolder.folder } else {
        try FolderMetadata.read(source, storeType: Self.storeType, maximumDepth: maximumDepth)
      }
    readFolder = nil
    let expected = Set(folder.members.map { ScalarString($0.file) })
    for name in source.memberNames where name != FolderMetadata.fileName && !expected.contains(ScalarString(name)) {
      guard options["edited"] == "accept" else {
        throw PersistentStoreError(
          .changedOnDisk, "the file does not belong to the store",
          at: StoreLocation(file: source.displayName(ofMember: name)),
          remedy: .readOption("edited=accept", effect: "ignores it"))
      }
      source.passOver(member: name)
    }
    var dialects: [CSVDialect] = []
    // A table with one column has no delimiter: another table has to say it.
    var dialectWithoutDelimiter: CSVDialect?
    for member in folder.members {
      guard let entity = nodes.model.entity(named: member.entity) else {
        throw PersistentStoreError(
          .modelMismatch, "the store contains \(member.entity), which the model does not have",
          at: StoreLocation(file: source.displayName(ofMember: member.file), entity: member.entity))
      }
      let file = try load(member, of: source, entity, into: nodes)
      if file.header.count > 1 { dialects.append(file.dialect) } else { dialectWithoutDelimiter = file.dialect }
      readStyle.add(file.style)
      // The digest is right, so no record can be damaged.
      if options["edited"] != "accept", nodes.count(of: entity.index) != member.rows {
        throw PersistentStoreError(
          .malformed,
          "the file contains \(nodes.count(of: entity.index)) objects, but the metadata specifies \(member.rows)",
          at: StoreLocation(file: file.name))
      }
    }
    typedDialect =
      dialects.isEmpty
      ? dialectWithoutDelimiter
      : dialects.first.flatMap { first in
        dialects.allSatisfy { $0.delimiter == first.delimiter } ? first : nil
      }
  }

  /// Loads a member of a directory, and returns it or its beginning.
  private func load(
    _ member: FolderMetadata.Member, of source: StoreSource, _ entity: Entity, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> CSVFile {
    // Before its rows.
    nodes.setMember(source.displayName(ofMember: member.file), entity: entity.index)
    let head = try loadPieces(of: member, of: source, entity, into: nodes)
    let file = if let head { head } else { try whole(member, of: source, entity) }
    let columns = try Self.typedColumns(file, entity)
    Self.markAbsent(columns, of: entity, in: nodes)
    if head == nil { try Self.load(file, entity, columns, into: nodes) }
    return file
  }

  /// Reads a whole member.
  private func whole(
    _ member: FolderMetadata.Member, of source: StoreSource, _ entity: Entity
  ) throws(PersistentStoreError) -> CSVFile {
    let file = try CSVFile(source, member: member.file, options: [:], layout: member.layout)
    if options["edited"] != "accept" {
      guard Digest.matches(member.digest, file.bytes.span) else {
        throw PersistentStoreError(
          .changedOnDisk, "the file was changed since the store was saved", at: StoreLocation(file: file.name),
          remedy: .readOption("edited=accept", effect: "reads it anyway"))
      }
    }
    guard file.isTyped, file.entityName == nil || file.entityName == entity.name else {
      throw PersistentStoreError(
        .malformed, "the first column is not \(Header.identifier)", at: StoreLocation(file: file.name, line: 1))
    }
    return file
  }

  /// Loads a large member in pieces, and returns its beginning. Nil if nothing was loaded: the whole file must be read,
  /// which also reports what is wrong.
  private func loadPieces(
    of member: FolderMetadata.Member, of source: StoreSource, _ entity: Entity, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> CSVFile? {
    // Damaged objects are left out in one pass only.
    guard !nodes.skipsDamagedObjects, source.size(ofMember: member.file) ?? 0 >= streamSizes.leastFile else {
      return nil
    }
    let name = source.displayName(ofMember: member.file)
    let digest = options["edited"] == "accept" ? nil : member.digest
    return try source.withReader(ofMember: member.file) { (file) throws(PersistentStoreError) in
      guard
        let stream = try CSVStream(file, name: name, layout: member.layout, digest: digest, streamSizes, into: nodes),
        stream.head.isTyped, stream.head.entityName == nil || stream.head.entityName == entity.name,
        let columns = try? Self.typedColumns(stream.head, entity)
      else { return nil }
      let style = stream.head.style
      let isLoaded = stream.load(entity.index, into: nodes) { (reader, nodes) throws(PersistentStoreError) in
        try Self.readTyped(&reader, entity, columns, style, into: nodes)
      }
      return isLoaded ? stream.head : nil
    }
  }

  // MARK: Our own files

  /// How a column is read and written.
  struct Column: Sendable {
    /// Nil for one that is not a property's.
    var kind: StoredValue.Kind?
    var slot: Int
    static let skipped = Column(kind: nil, slot: -1)
  }

  static func column(_ slot: Slot) -> Column {
    Column(kind: slot.valueKind, slot: slot.index)
  }

  private static func typedColumns(_ file: CSVFile, _ entity: Entity) throws(PersistentStoreError) -> [Column] {
    var columns: [Column] = [.skipped]
    var seen: Set<Int> = []
    for text in file.header.dropFirst() {
      let place = StoreLocation(file: file.name, line: 1, entity: entity.name)
      guard let name = Header.property(text)?.name else {
        throw PersistentStoreError(.malformed, "'\(text)' is not a property name with a type", at: place)
      }
      guard let slot = entity.slot(named: name) else {
        throw PersistentStoreError(.modelMismatch, "\(entity.name) does not have a property '\(name)'", at: place)
      }
      guard seen.insert(slot).inserted else {
        throw PersistentStoreError(.malformed, "two columns have the name '\(name)'", at: place)
      }
      columns.append(column(entity.slots[slot]))
    }
    return columns
  }

  /// Relationships without a column are missing, which is not the same as empty cells.
  static func markAbsent(_ columns: [Column], of entity: Entity, in nodes: NodeTableBuilder) {
    let present = Set(columns.map(\.slot))
    for slot in entity.slots where slot.isRelationship && !present.contains(slot.index) {
      nodes.markAbsent(slot: slot.index, entity: entity.index)
    }
  }

  private static func load(
    _ file: CSVFile, _ entity: Entity, _ columns: [Column], into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let style = file.style
    let isLoaded = file.loadParts(into: nodes) { (reader, _, nodes) throws(PersistentStoreError) in
      try readTyped(&reader, entity, columns, style, into: nodes)
      return true
    }
    if isLoaded { return }
    let result: Result<Void, PersistentStoreError> = file.bytes.withUnsafeBytes { raw in
      do throws(PersistentStoreError) {
        var reader = try CSVReader(raw.assumingMemoryBound(to: UInt8.self), dialect: file.dialect)
        try skipRecord(&reader)
        try readTyped(&reader, entity, columns, style, into: nodes)
        return .success(())
      } catch {
        return .failure(error.located(StoreLocation(file: file.name)))
      }
    }
    try result.get()
  }

  /// Skips the header, which was already read.
  static func skipRecord(_ reader: inout CSVReader) throws(PersistentStoreError) {
    while let field = try reader.nextField() { if field.isLastInRecord { break } }
  }

  private static func readTyped(
    _ reader: inout CSVReader, _ entity: Entity, _ columns: [Column], _ style: SheetStyle, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    var scratch: [UInt8] = []
    var cell = Cell(isDefused: style.isDefused)
    cell.hasDecimalComma = style.hasDecimalComma
    let width = columns.count
    // Whether the rest of the record is skipped, because the object is damaged.
    var isSkipping = false
    while let field = try reader.nextField() {
      if isSkipping {
        isSkipping = !field.isLastInRecord
        continue
      }
      guard field.index < width, !field.isLastInRecord || field.index == width - 1 else {
        let error = ragged(field, width)
        if field.index == 0 {
          try nodes.skipPart(of: entity.index, because: error)
        } else {
          try nodes.skipNode(because: error)
        }
        isSkipping = !field.isLastInRecord
        continue
      }
      if field.index == 0 {
        do throws(PersistentStoreError) { try begin(field, reader, entity, &scratch, nodes) } catch {
          try nodes.skipPart(of: entity.index, because: error)
          isSkipping = !field.isLastInRecord
        }
        continue
      }
      if field.isMissing {
        reader.skipMissingFields(upTo: width - 1)
        continue
      }
      do throws(PersistentStoreError) {
        if field.hasDoubledQuotes {
          scratch.removeAll(keepingCapacity: true)
          reader.append(field, to: &scratch)
          try cell.set(scratch.span, columns[field.index], nodes)
        } else {
          try cell.set(Span(_unsafeElements: reader.rawBytes(of: field)), columns[field.index], nodes)
        }
      } catch {
        try nodes.skipNode(because: located(error, field, columns, nodes))
        isSkipping = !field.isLastInRecord
      }
    }
  }

  /// The error of a value, with the field and its property.
  static func located(
    _ error: PersistentStoreError, _ field: CSVField, _ columns: [Column], _ nodes: NodeTableBuilder
  ) -> PersistentStoreError {
    let slot = columns[field.index].slot
    return PersistentStoreError(
      error.code, error.message, at: field.location.filled(from: nodes.location(slot >= 0 ? slot : nil)))
  }

  static func ragged(_ field: CSVField, _ width: Int) -> PersistentStoreError {
    let count = field.isLastInRecord ? "\(field.index + 1)" : "more than \(width)"
    return PersistentStoreError(
      .malformed, "the record has \(count) field\(count == "1" ? "" : "s"), but the header has \(width)",
      at: field.location)
  }

  private static func begin(
    _ field: CSVField, _ reader: CSVReader, _ entity: Entity, _ scratch: inout [UInt8], _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let bytes = Span<UInt8>(_unsafeElements: reader.rawBytes(of: field))
    if let number = ExactText.integer(bytes) {
      try nodes.beginNode(entity: entity.index, reference: number, line: field.line)
    } else if !field.hasDoubledQuotes, ReferenceText.isPlain(bytes) {
      try nodes.beginNode(entity: entity.index, utf8: bytes.extracting(2..<bytes.count), line: field.line)
    } else if !field.hasDoubledQuotes, ReferenceText.decode(bytes, into: &scratch) {
      try nodes.beginNode(entity: entity.index, utf8: scratch.span, line: field.line)
    } else {
      let what = field.isMissing ? "the id is missing" : "'\(reader.string(of: field))' is not an id"
      throw PersistentStoreError(.malformed, what, at: field.location)
    }
  }
}

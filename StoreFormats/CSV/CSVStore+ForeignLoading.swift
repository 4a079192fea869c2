import AtomicStoreSPI
import StoreCodecs

/// Loading the files of other programs.
extension CSVStore {
  mutating func loadForeign(
    _ file: CSVFile, _ entity: Entity, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let mapping = try ColumnMapping(header: file.header, options: options, file: file.name)
    let columns = try Self.columns(mapping, entity, file)
    Self.markAbsent(columns, of: entity, in: nodes)
    var dateFormat: DateFormat?
    if let pattern = options["dateFormat"] {
      guard let format = DateFormat(pattern) else {
        throw PersistentStoreError(
          .invalidOption, "the option 'dateFormat' is not a valid pattern: '\(pattern)'")
      }
      dateFormat = format
    }
    var keys: [String] = []
    for key in (options["key"] ?? "").split(separator: ",").map(String.init) {
      // A key may be specified by column name or by property name.
      let property =
        mapping.properties.contains(key) ? key : zip(file.header, mapping.properties).first { $0.0 == key }?.1
      guard let property else {
        throw PersistentStoreError(
          .invalidOption,
          "the option 'key' contains '\(key)'; the columns of the file are \(file.header.joined(separator: ", "))",
          at: StoreLocation(file: file.name))
      }
      keys.append(property)
    }
    let layout = ForeignLayout(
      columns: mapping.properties, header: file.header, hasHeader: file.hasHeader, keys: keys, dialect: file.dialect,
      dateFormat: dateFormat, isDefused: file.isDefused)
    foreign = layout
    let keyColumns = keys.compactMap { mapping.properties.firstIndex(of: $0) }
    let isLoaded = file.loadParts(into: nodes, numberingRowsOf: keys.isEmpty ? entity.index : nil) {
      (reader, isLast, nodes) throws(PersistentStoreError) in
      // A blank line is an error unless it is the last one.
      let endsWithBlank = try Self.readForeign(&reader, entity, columns, layout, keyColumns, into: nodes)
      return isLast || !endsWithBlank
    }
    if isLoaded { return }
    let result: Result<Void, PersistentStoreError> = file.bytes.withUnsafeBytes { raw in
      do throws(PersistentStoreError) {
        var reader = try CSVReader(raw.assumingMemoryBound(to: UInt8.self), dialect: file.dialect)
        if layout.hasHeader { try Self.skipRecord(&reader) }
        _ = try Self.readForeign(&reader, entity, columns, layout, keyColumns, into: nodes)
        return .success(())
      } catch {
        return .failure(error.located(StoreLocation(file: file.name)))
      }
    }
    try result.get()
  }

  private static func columns(
    _ mapping: ColumnMapping, _ entity: Entity, _ file: CSVFile
  ) throws(PersistentStoreError) -> [Column] {
    var columns: [Column] = []
    for property in mapping.properties {
      guard let property else {
        columns.append(.skipped)
        continue
      }
      guard let slot = entity.slot(named: property) else {
        throw PersistentStoreError(
          .modelMismatch,
          "\(entity.name) does not have a property '\(property)'",
          at: StoreLocation(file: file.name, line: 1, entity: entity.name),
          remedy: .readOption(
            "columns=\(property)=NAME", or: ["columns=\(property)="], effect: "renames or ignores the column"))
      }
      columns.append(column(entity.slots[slot]))
    }
    return columns
  }

  /// - Returns: Whether the last line is blank.
  private static func readForeign(
    _ reader: inout CSVReader, _ entity: Entity, _ columns: [Column], _ layout: ForeignLayout, _ keyColumns: [Int],
    into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> Bool {
    var cell = Cell(
      isForeign: true, dateFormat: layout.dateFormat, hasKeys: !keyColumns.isEmpty, isDefused: layout.isDefused)
    var record: [CSVField] = []
    var row: Int64 = 0
    var scratch: [UInt8] = []
    var isSkipping = false
    // A blank line, which is an error unless it is the last one.
    var blank: CSVField?
    while let field = try reader.nextField() {
      if isSkipping {
        isSkipping = !field.isLastInRecord
        continue
      }
      if let found = blank { try nodes.skipPart(of: entity.index, because: ragged(found, columns.count)) }
      blank = nil
      // Check at the first excess field: a record is kept in memory, whatever its length.
      guard field.index < columns.count else {
        try nodes.skipPart(of: entity.index, because: ragged(field, columns.count))
        isSkipping = !field.isLastInRecord
        record.removeAll(keepingCapacity: true)
        row += 1
        continue
      }
      record.append(field)
      guard field.isLastInRecord else { continue }
      defer { record.removeAll(keepingCapacity: true) }
      // Many editors leave a blank line at the end; between records it is a record with too few fields.
      if record.count == 1, field.isMissing, columns.count > 1 {
        blank = field
        continue
      }
      row += 1
      guard record.count == columns.count else {
        try nodes.skipPart(of: entity.index, because: ragged(field, columns.count))
        continue
      }
      do throws(PersistentStoreError) {
        try begin(record, row, layout, keyColumns, reader, entity, &scratch, nodes)
      } catch {
        try nodes.skipPart(of: entity.index, because: error)
        continue
      }
      for field in record where !field.isMissing {
        scratch.removeAll(keepingCapacity: true)
        reader.append(field, to: &scratch)
        do throws(PersistentStoreError) {
          try cell.set(scratch.span, columns[field.index], nodes)
        } catch {
          try nodes.skipNode(because: located(error, field, columns, nodes))
          break
        }
      }
    }
    return blank != nil
  }

  /// Begins a record's node. Its reference is the record's key, or the record's number without key columns.
  private static func begin(
    _ record: [CSVField], _ row: Int64, _ layout: ForeignLayout, _ keyColumns: [Int], _ reader: CSVReader,
    _ entity: Entity, _ scratch: inout [UInt8], _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    guard !keyColumns.isEmpty else {
      return try nodes.beginNode(entity: entity.index, reference: row, line: record[0].line)
    }
    if let column = keyColumns.first(where: { record[$0].isMissing }) {
      throw PersistentStoreError(.invalidValue, "the key has no value", at: record[column].location)
    }
    if keyColumns.count == 1, !layout.isDefused {
      scratch.removeAll(keepingCapacity: true)
      reader.append(record[keyColumns[0]], to: &scratch)
      return try nodes.beginNode(entity: entity.index, utf8: scratch.span, line: record[0].line)
    }
    var parts: [String] = []
    for column in keyColumns {
      let part = reader.string(of: record[column])
      parts.append(layout.isDefused ? Formula.restored(part) : part)
    }
    try nodes.beginNode(entity: entity.index, reference: .string(ForeignLayout.key(parts)), line: record[0].line)
  }
}

import AtomicStoreSPI
import StoreCodecs
import StoreJSON

/// Fields and tables that hold several keys.
extension ImportPass {
  /// The keys of a field: of a JSON array, or of a text with spaces, commas, semicolons or bars between them.
  func keys(
    _ record: ImportRecord, _ index: Int, _ root: Int, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws -> [ReferenceObject] {
    let parts: [JSONScanner.Element]
    if record[index].kind == .list {
      let field = record[index]
      parts = JSONScanner.elements(bytes[field.start..<field.end])
    } else {
      parts = record.withText(of: index, bytes) { text in
        // In CSV, `fetch` prints a JSON array.
        Self.list(text)
          ?? ValueReader.text(text).split { $0 == " " || $0 == "," || $0 == ";" || $0 == "|" }
          .map { JSONScanner.Element(text: String($0), kind: .text) }
      }
    }
    var result: [ReferenceObject] = []
    var known: Set<ReferenceObject> = []
    for part in parts {
      var list = ImportRecord()
      list.decoded = Array(part.text.utf8)
      list.append(ImportField(kind: part.kind, isDecoded: true, start: 0, end: list.decoded.count))
      if let key = try key(list, [0], root, bytes, isLink: true), known.insert(key).inserted { result.append(key) }
    }
    return result
  }

  /// The keys in a text that is a JSON array; nil if it is not.
  private static func list(_ text: Span<UInt8>) -> [JSONScanner.Element]? {
    text.withUnsafeBufferPointer { bytes in
      var scanner = JSONScanner(bytes)
      scanner.skipSpace()
      guard scanner.peek == UInt8(ascii: "["), let list = try? scanner.readList(allowsReferences: false) else {
        return nil
      }
      scanner.skipSpace()
      guard scanner.peek == nil else { return nil }
      return JSONScanner.elements(bytes[list.start..<list.end]).map { JSONScanner.Element(text: $0.text, kind: .text) }
    }
  }

  func readJoins() throws {
    for (index, join) in job.importer.joinTables.enumerated() {
      guard let plan = job.plans.first(where: { $0.joins.contains(index) }),
        let slot = plan.entity.slot(named: join.relationshipName).map({ plan.entity.slots[$0] }),
        let destination = slot.destination
      else { continue }
      joins.append(
        try SourceReading.withReader(
          job.joinTexts[index], job.importer.conventions, join.source.name, maximumMemory: job.memoryForRecords
        ) { reader in
          try readJoin(&reader, index, plan, slot, job.model.entity(at: destination))
        })
    }
  }

  private func readJoin(
    _ reader: inout any RecordReader, _ index: Int, _ plan: TablePlan, _ slot: Slot, _ destination: Entity
  ) throws -> JoinedKeys {
    let join = job.importer.joinTables[index]
    let roots = (plan.entity.root.index, destination.root.index)
    var result = JoinedKeys(join: index, table: plan.source, slot: slot.index, destinationRoot: roots.1)
    if reader.isEmpty { return result }
    let columns = reader.columns
    let width = try job.ownerWidth(join, destination)
    let keys = try join.columns.map { name throws(PersistentStoreError) in
      if let found = columns.firstIndex(of: name) { return found }
      throw PersistentStoreError(.invalidOption, Suggestion.unknown("column", name, among: columns))
    }
    let (from, to) = (Array(keys[..<width]), Array(keys[width...]))
    diagnosis?.setHeader(reader.headerRange, join: index)
    let left = skipping?.joins[index].numbers ?? []
    var record = ImportRecord()
    var number = -1
    while true {
      number += 1
      do throws(PersistentStoreError) {
        guard try reader.next(&record) else { return result }
      } catch {
        let start = record.start
        let end = try reader.skip(error)
        if left.contains(number) { continue }
        diagnosis?.add(start..<max(start, end), join: index)
        let place = (error.location.line ?? record.line, error.location.column)
        try note(.record, error.withHint.message, plan, slot, (index, number), place)
        continue
      }
      diagnosis?.add(record.start..<record.end, join: index)
      if left.contains(number) { continue }
      let one = try key(record, from, roots.0, reader.bytes, isLink: true)
      let other = try key(record, to, roots.1, reader.bytes, isLink: true)
      guard let one, let other else {
        let field = record[keys.first { lacksKey(record, $0, reader.bytes) } ?? keys[0]]
        try note(.key, "the key has no value", plan, slot, (index, number), (field.line, field.column))
        continue
      }
      result.add(other, for: one)
      joinCounts[index] += 1
      for (key, entity, column) in [(one, plan.entity, from[0]), (other, destination, to[0])] {
        diagnosis?.links.append(
          .init(
            table: plan.source, number: nil, field: record[column], root: entity.root.index,
            destination: entity.index, property: slot.name, key: key, join: (index, join.source.name, number),
            isOwner: column == from[0]))
      }
    }
  }

  /// Notes the pairs of a join table whose first key is not that of a record.
  func dropUnused(_ join: JoinedKeys) {
    let plan = job.plans[join.table]
    let slot = plan.entity.slots[join.slot]
    var count = 0
    for (key, others) in join.unused {
      count += others.count
      guard job.importer.danglingKeys == .keepAsText else { continue }
      let destination = job.model.entity(at: slot.destination ?? 0).name
      danglingReferences["\(plan.entity.name)/\(key).\(slot.name)"] = others.map { "\(destination)/\($0)" }
    }
    guard count > 0 else { return }
    reconciliationNotes.append(
      SelectionNote(
        subject: "\(plan.entity.name).\(slot.name)", count: count,
        text: "pairs of \(job.importer.joinTables[join.join].source.name) whose first key is not that of a record, "
          + (job.importer.danglingKeys == .keepAsText ? "kept as text in the metadata" : "removed")))
  }

  /// Notes what is wrong with a record of a join table.
  private func note(
    _ kind: ImportProblem.Kind, _ message: String, _ plan: TablePlan, _ slot: Slot, _ join: (index: Int, number: Int),
    _ place: (line: Int, column: Int?)
  ) throws(ImportStop) {
    guard let diagnosis else { throw .problem }
    try diagnosis.add(
      ImportProblem(
        kind: kind, file: job.importer.joinTables[join.index].source.name, line: place.line, column: place.column,
        entity: plan.entity.name, property: slot.name, message: message), table: plan.source, number: nil, join: join)
  }
}

/// Keys of records, in one column or several.
extension ImportPass {
  /// The key in some columns; nil where a part of it is missing.
  ///
  /// - Parameter isLink: Whether it is the key of another record.
  /// - Throws: `ImportStop.textKeys` where it is not an integer, and the keys of its hierarchy were taken for integers.
  func key(
    _ record: ImportRecord, _ columns: [Int], _ root: Int, _ bytes: UnsafeBufferPointer<UInt8>, isLink: Bool = false
  ) throws(ImportStop) -> ReferenceObject? {
    if columns.count == 1 {
      let kind = record[columns[0]].kind
      // A JSON Boolean has no text in the source.
      if kind == .yes || kind == .no {
        let word = kind == .yes ? ValueReader.yes : ValueReader.no
        return try key(word.span, .text, root, isLink)
      }
      return try record.withText(of: columns[0], bytes) { text throws(ImportStop) in
        values.lacksKey(text, kind) ? nil : try key(text, kind, root, isLink)
      }
    }
    let numbers = job.numberKeys[root] ?? []
    var parts: [String] = []
    for (index, column) in columns.enumerated() {
      if lacksKey(record, column, bytes) { return nil }
      let kind = record[column].kind
      let isNumber = numbers.count == columns.count && numbers[index]
      let part = record.withText(of: column, bytes) { text in
        (isNumber ? values.integer(text, kind) : nil).map(String.init) ?? ValueReader.keyText(text, kind)
      }
      parts.append(part.replacing("\\", with: "\\\\").replacing("|", with: "\\|"))
    }
    return .string(parts.joined(separator: "|"))
  }

  func lacksKey(_ record: ImportRecord, _ column: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    record.withText(of: column, bytes) { values.lacksKey($0, record[column].kind) }
  }

  private func key(
    _ text: Span<UInt8>, _ kind: ImportField.Kind, _ root: Int, _ isLink: Bool
  ) throws(ImportStop) -> ReferenceObject {
    if kind == .text || kind == .quoted, let reference = referenceText(text, root) {
      return try key(reference.span, .string, root, isLink)
    }
    if isTextRoot[root] { return .string(ValueReader.text(ValueReader.trimmed(text))) }
    let number = ExactText.integer(text) ?? values.integer(text, kind)
    if let existing = job.existingKeys[root] { return existing.reference(text, number: number) }
    if let number, isNumberRoot[root] || !ValueReader.hasLeadingZero(text) { return .integer(number) }
    // A dangling key does not make the keys of records texts.
    if isLink, removesKeys { return .string(ValueReader.text(ValueReader.trimmed(text))) }
    throw .textKeys(root: root)
  }

  /// What is behind the name of an entity in `Author/1`; nil for other texts.
  private func referenceText(_ text: Span<UInt8>, _ root: Int) -> [UInt8]? {
    guard let names = job.entityPrefixes[root] else { return nil }
    let trimmed = ValueReader.trimmed(text)
    guard let slash = (0..<trimmed.count).first(where: { trimmed[$0] == UInt8(ascii: "/") }), slash + 1 < trimmed.count,
      names.contains(ValueReader.text(trimmed.extracting(0..<slash)))
    else { return nil }
    return Array(ValueReader.text(trimmed.extracting((slash + 1)..<trimmed.count)).utf8)
  }

  /// As in SQL, a key of several columns refers to nothing if one of them has no value. What the others have may be
  /// lost, also where a JSON object lacks a column and an object of the store keeps what it has.
  func notePartialKeys(_ plan: TablePlan) {
    for (counts, text) in [
      (partialKeys, "no object, because a column of the key has no value"),
      (keptKeys, "kept, because records lack a column of the key"),
    ] {
      for (index, count) in (counts[plan.source] ?? [:]).sorted(by: { $0.key < $1.key }) {
        reconciliationNotes.append(
          SelectionNote(
            subject: "\(plan.entity.name).\(plan.entity.slots[plan.columns[index].slot].name)", count: count,
            text: "\(text): " + plan.sources(of: index).map { plan.columnNames[$0] }.joined(separator: ", ")))
      }
    }
  }
}

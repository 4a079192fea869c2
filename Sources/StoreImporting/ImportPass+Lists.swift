import AtomicStoreSPI

/// Fields and tables that hold several keys.
extension ImportPass {
  /// The keys of a field: of a JSON array, or of a text with blanks, commas, semicolons or bars between them.
  func keys(
    _ record: ImportRecord, _ index: Int, _ root: Int, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws -> [ReferenceObject] {
    let isJSON = record.fields[index].kind == .list
    let parts = record.withText(of: index, bytes) { text in
      ValueReader.text(text).split { character in
        character == " " || character == "," || character == ";" || character == "|"
          || isJSON && (character == "[" || character == "]" || character == "\n" || character == "\t")
      }
    }
    var result: [ReferenceObject] = []
    for part in parts {
      let text = isJSON && part.hasPrefix("\"") ? part.dropFirst().dropLast() : part
      var list = ImportRecord()
      list.decoded = Array(text.utf8)
      list.fields = [ImportField(kind: .text, isDecoded: true, start: 0, end: list.decoded.count)]
      if let key = try key(list, [0], root, bytes), !result.contains(key) { result.append(key) }
    }
    return result
  }

  func readJoins() throws {
    for (index, join) in job.importer.joinTables.enumerated() {
      guard let plan = job.plans.first(where: { $0.joins.contains(index) }),
        let slot = plan.entity.slot(named: join.relationshipName).map({ plan.entity.slots[$0] }),
        let destination = slot.destination
      else { continue }
      joins.append(
        try SourceReading.withReader(job.joinTexts[index], job.importer.conventions, join.source.name) { reader in
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
    let columns = reader.columns
    guard let from = columns.firstIndex(of: join.column), let to = columns.firstIndex(of: join.destinationColumn) else {
      let missing = columns.contains(join.column) ? join.destinationColumn : join.column
      throw PersistentStoreError(
        .invalidOption, "there is no column '\(missing)'; there are " + columns.joined(separator: ", "))
    }
    func add(_ key: ReferenceObject, _ entity: Entity, _ field: ImportField, isOwner: Bool) {
      diagnosis?.links.append(
        .init(
          table: plan.source, number: nil, field: field, root: entity.root.index, destination: entity.index,
          property: slot.name, key: key, join: (index, join.source.name), isOwner: isOwner))
    }
    var record = ImportRecord()
    // A pair that cannot be read is an error of the file: it belongs to no record that could be left out.
    while try reader.next(&record) {
      guard let one = try key(record, [from], roots.0, reader.bytes),
        let other = try key(record, [to], roots.1, reader.bytes)
      else { continue }
      result.add(other, for: one)
      add(one, plan.entity, record.fields[from], isOwner: true)
      add(other, destination, record.fields[to], isOwner: false)
    }
    return result
  }
}

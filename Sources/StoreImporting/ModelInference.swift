import AtomicStoreSPI
import StoreCodecs

/// Works a model out from tables: an entity for each, with the types of all records, and relationships by columns that
/// are called as another table's key.
struct ModelInference {
  private let importer: StoreImporter
  private let sources: [ImportSource]
  private let texts: [StoreBytes]
  private let headers: [[String]]
  /// The names of the entities, by table.
  let names: [String]
  /// Tables by the folded names of their entities.
  private let tablesByName: [String: [Int]]
  /// The patterns of dates by column, by table.
  private(set) var formats: [[String: DateFormat]]
  private(set) var notes: [SelectionNote] = []
  /// Names that were given a type and are not those of a column.
  private var unusedTypes: Set<String>

  init(_ importer: StoreImporter, _ sources: [ImportSource], _ texts: [StoreBytes], _ headers: [[String]]) {
    self.importer = importer
    self.sources = sources
    self.texts = texts
    self.headers = headers
    let columns = Set(headers.joined().map { NameMatching.folded($0) })
    let names = sources.map { $0.entityName ?? NameMatching.entityName(forFile: $0.stem, columns: columns) }
    self.names = names
    tablesByName = Dictionary(grouping: names.indices) { NameMatching.folded(names[$0]) }
    formats = Array(repeating: [:], count: sources.count)
    unusedTypes = Set(importer.types.keys)
  }

  /// - Throws: `.invalidOption` for what was asked of columns that do not exist, `.invalidModel`.
  mutating func model() throws -> ManagedObjectModel {
    var files: [ScalarString: String] = [:]
    for (name, source) in zip(names, sources) {
      guard let other = files.updateValue(source.name, forKey: ScalarString(name)) else { continue }
      throw PersistentStoreError(
        .invalidOption,
        "\(other) and \(source.name) both have the entity \(name): without a model, a table has its own entity")
    }
    var properties: [[PropertyDescription]] = []
    for table in sources.indices { properties.append(try attributes(of: table, names)) }
    if let unused = unusedTypes.min() {
      throw PersistentStoreError(
        .invalidOption,
        "no attribute is called '\(unused)', which was given a type; the attributes are "
          + properties.joined().map(\.name).joined(separator: ", "))
    }
    var inverses: [(entity: Int, RelationshipDescription)] = []
    for table in sources.indices {
      for (relationship, inverse, destination) in try relationships(of: table, names) {
        properties[table].append(.relationship(relationship))
        inverses.append((destination, inverse))
      }
    }
    for (entity, inverse) in inverses { properties[entity].append(.relationship(inverse)) }
    let entities = zip(names, properties).map { EntityDescription(name: $0, properties: $1) }
    do {
      return try ManagedObjectModel(ModelDescription(entities: entities))
    } catch {
      throw PersistentStoreError(
        .invalidModel, "no model can be inferred: " + error.errors.map { "\($0)" }.joined(separator: "; "))
    }
  }

  // MARK: Attributes

  private mutating func attributes(of table: Int, _ names: [String]) throws -> [PropertyDescription] {
    let header = headers[table]
    var facts = header.map { _ in ColumnFacts() }
    var texts = header.map { _ in TextColumnFacts() }
    var count = 0
    let all = Array(header.indices)
    let values = ValueReader(importer.conventions)
    let commas = importer.conventions.withDecimalComma.map { ValueReader($0) }
    try forEachRecord(of: table) { record, bytes in
      for index in record.present ?? all {
        let kind = record[index].kind
        record.withText(of: index, bytes) { facts[index].add($0, kind, values) }
        guard count < TextColumnFacts.sampleSize else { continue }
        record.withText(of: index, bytes) { texts[index].add($0, record[index], values, commas) }
      }
      count += 1
    }
    try refuseDoubles(table)
    // What is a part of a key is an attribute as well: with another part missing, it would be lost.
    let relationships = Set(try foreignKeys(of: table, names).filter { $0.columns.count == 1 }.flatMap(\.columns))
    let keys = Set(keyColumns(of: table, names))
    var unclear: [Int] = []
    let isNamedKey = importer.keyColumns[names[table]] != nil
    var result: [PropertyDescription] = []
    for (index, column) in header.enumerated() where !column.isEmpty {
      // A member that some JSON objects lack has no value in them.
      let isOptional = facts[index].isOptional(in: count)
      guard !relationships.contains(index), isNamedKey || !keys.contains(index) else { continue }
      let name = NameMatching.propertyName(forColumn: column)
      let type: AttributeType
      if let key = ["\(names[table]).\(name)", name, column].first(where: { importer.types[$0] != nil }),
        let given = importer.types[key]
      {
        type = given
        unusedTypes.remove(key)
      } else {
        let found = facts[index].type
        type = found.type
        if let format = found.format { formats[table][column] = format }
        if type == .string, !found.isAmbiguous, !facts[index].isTelephone { unclear.append(index) }
        if found.isAmbiguous {
          notes.append(
            SelectionNote(
              subject: "\(names[table]).\(name)", count: facts[index].count,
              text: "kept as text: day and month of its dates cannot be told apart"))
        }
      }
      result.append(
        .attribute(AttributeDescription(name: name, type: type, isOptional: isOptional)))
    }
    try noteTexts(
      unclear.filter { texts[$0].candidate != nil }, of: table, count > TextColumnFacts.sampleSize ? nil : texts)
    return result
  }

  /// Says why columns are text whose values seem to be something else.
  ///
  /// - Parameter known: What is known about the columns; nil if only a part of the records was looked at.
  private mutating func noteTexts(_ columns: [Int], of table: Int, _ known: [TextColumnFacts]?) throws {
    if columns.isEmpty { return }
    var facts = known ?? headers[table].map { _ in TextColumnFacts() }
    let values = ValueReader(importer.conventions)
    let commas = importer.conventions.withDecimalComma.map { ValueReader($0) }
    if known == nil {
      let wanted = Set(columns)
      try forEachRecord(of: table) { record, bytes in
        for index in record.present?.filter(wanted.contains) ?? columns {
          record.withText(of: index, bytes) { facts[index].add($0, record[index], values, commas) }
        }
      }
    }
    for index in columns {
      let subject = "\(names[table]).\(NameMatching.propertyName(forColumn: headers[table][index]))"
      if let note = facts[index].note(subject: subject, file: sources[table].name) { notes.append(note) }
    }
  }

  /// Calls a body with each record that is well formed. The others are problems when the records are read.
  private func forEachRecord(
    of table: Int, _ body: (ImportRecord, UnsafeBufferPointer<UInt8>) -> Void
  ) throws {
    try SourceReading.withReader(texts[table], importer.conventions, sources[table].name) { reader in
      var record = ImportRecord()
      while true {
        do throws(PersistentStoreError) {
          guard try reader.next(&record) else { return }
        } catch {
          _ = try reader.skip(error)
          continue
        }
        body(record, reader.bytes)
      }
    }
  }

  /// Two columns that become one property.
  private func refuseDoubles(_ table: Int) throws(PersistentStoreError) {
    var seen: [ScalarString: Int] = [:]
    for (index, column) in headers[table].enumerated() where !column.isEmpty {
      let name = NameMatching.propertyName(forColumn: column)
      guard let other = seen.updateValue(index, forKey: ScalarString(name)) else { continue }
      throw PersistentStoreError(
        .malformed,
        "the columns \(other + 1) and \(index + 1), '\(headers[table][other])' and '\(column)', both become the property '\(name)': give the columns other names",
        at: StoreLocation(file: sources[table].name, line: 1))
    }
  }

  // MARK: Keys

  private func keyColumns(of table: Int, _ names: [String]) -> [Int] {
    if let named = importer.keyColumns[names[table]] {
      return named.compactMap { column in headers[table].firstIndex { ScalarString($0) == ScalarString(column) } }
    }
    let own = NameMatching.folded(names[table])
    let folded = headers[table].map { NameMatching.folded($0) }
    for candidate in ["id", own + "id", "pk", "zpk", own + "key", "key"] {
      if let found = folded.firstIndex(of: candidate) { return [found] }
    }
    return []
  }

  private struct ForeignKey {
    /// None for a table without records, whose columns are not known.
    var columns: [Int]
    var name: String
    var destination: Int
  }

  /// Columns that hold keys of another table: those that were named, and those that are called as its entity, with
  /// `id`.
  private func foreignKeys(of table: Int, _ names: [String]) throws(PersistentStoreError) -> [ForeignKey] {
    var result: [ForeignKey] = []
    for named in importer.relationshipColumns where named.entityName == names[table] {
      var columns: [Int] = []
      for name in named.columns where !headers[table].isEmpty {
        guard let column = headers[table].firstIndex(where: { ScalarString($0) == ScalarString(name) }) else {
          throw PersistentStoreError(
            .invalidOption, Suggestion.unknown("column", name, among: headers[table]),
            at: StoreLocation(file: sources[table].name))
        }
        columns.append(column)
      }
      let wanted = named.destinationEntityName ?? named.relationshipName
      guard let destination = tablesByName[NameMatching.folded(wanted)]?.first else {
        throw PersistentStoreError(
          .invalidOption,
          "without a model '\(named.entityName).\(named.relationshipName)' needs the entity that its keys are of: one of "
            + names.joined(separator: ", "))
      }
      result.append(ForeignKey(columns: columns, name: named.relationshipName, destination: destination))
    }
    let known = Set(result.filter { $0.columns.count == 1 }.flatMap(\.columns))
    let own = Set(keyColumns(of: table, names))
    for (index, column) in headers[table].enumerated() where !known.contains(index) {
      let words = NameMatching.words(ofKey: NameMatching.folded(column), ["id", "key", "fk"])
      let destination = words.flatMap { tablesByName[$0] ?? [] }.sorted().first {
        !($0 == table && own.contains(index)) && !keyColumns(of: $0, names).isEmpty
      }
      guard let destination else { continue }
      let name = names[destination]
      result.append(
        ForeignKey(columns: [index], name: name.prefix(1).lowercased() + name.dropFirst(), destination: destination))
    }
    return result
  }

  private func relationships(
    of table: Int, _ names: [String]
  ) throws(PersistentStoreError) -> [(RelationshipDescription, RelationshipDescription, destination: Int)] {
    let keys = try foreignKeys(of: table, names)
    var result: [(RelationshipDescription, RelationshipDescription, destination: Int)] = []
    let own = names[table].prefix(1).lowercased() + names[table].dropFirst()
    let counts = Dictionary(keys.map { ($0.destination, 1) }, uniquingKeysWith: +)
    for key in keys {
      let isOnly = counts[key.destination] == 1 && key.destination != table
      let plural = EnglishPlural.plural(own)
      let inverse = isOnly ? plural : plural + "By" + key.name.prefix(1).uppercased() + key.name.dropFirst()
      result.append(
        (
          RelationshipDescription(
            name: key.name, destinationEntityName: names[key.destination], inverseName: inverse),
          RelationshipDescription(
            name: inverse, destinationEntityName: names[table], inverseName: key.name, maximumCount: 0), key.destination
        ))
    }
    return result
  }
}

import AtomicStoreSPI
import StoreCodecs

/// Works a model out from tables: an entity for each, with the types of all records, and relationships by columns that
/// are called as another table's key.
struct ModelInference {
  private let importer: StoreImporter
  private let sources: [ImportSource]
  private let texts: [StoreBytes]
  private let json: [JSONRecords?]
  private let headers: [[String]]
  /// The same, by table: a table may have thousands of columns.
  private let columnNames: [Set<ScalarString>]
  /// The names of the entities, by table.
  let names: [String]
  /// The entities, in the order of their first tables.
  private let entityNames: [String]
  /// The tables of each entity: several that are parts of one.
  private let tables: [[Int]]
  /// Entities by their folded names.
  private let entitiesByName: [String: [Int]]
  /// The patterns of dates by column, by table.
  private(set) var formats: [[String: DateFormat]]
  private(set) var notes: [SelectionNote] = []
  /// Names that were given a type and are not those of a column.
  private var unusedTypes: Set<String>
  /// The columns of which most values of a sample are something else than text, by table.
  private var unclearCandidates: [Int: Set<Int>] = [:]

  init(
    _ importer: StoreImporter, _ sources: [ImportSource], _ texts: [StoreBytes], _ json: [JSONRecords?],
    _ headers: [[String]]
  ) {
    self.importer = importer
    self.sources = sources
    self.texts = texts
    self.json = json
    self.headers = headers
    columnNames = headers.map { Set($0.map(ScalarString.init)) }
    let columns = Set(headers.joined().map { NameMatching.folded($0) })
    let names = sources.map { $0.entityName ?? NameMatching.entityName(forFile: $0.stem, columns: columns) }
    self.names = names
    let byName = Dictionary(grouping: names.indices) { ScalarString(names[$0]) }
    let firsts = names.indices.filter { byName[ScalarString(names[$0])]?.first == $0 }
    let entityNames = firsts.map { names[$0] }
    self.entityNames = entityNames
    tables = entityNames.map { byName[ScalarString($0)] ?? [] }
    entitiesByName = Dictionary(grouping: entityNames.indices) { NameMatching.folded(entityNames[$0]) }
    formats = Array(repeating: [:], count: sources.count)
    unusedTypes = Set(importer.types.keys)
  }

  /// - Throws: `.invalidOption` for what was asked of columns that do not exist, `.invalidModel`.
  mutating func model() throws -> ManagedObjectModel {
    // Two forms of one table would be taken for two parts of it, unless that is said.
    for parts in tables where parts.count > 1 && parts.contains(where: { sources[$0].entityName == nil }) {
      let (name, files) = (names[parts[0]], parts.map { sources[$0].name })
      let isPacked = parts.contains { sources[$0].archiveName != nil }
      let list = isPacked ? "FILE,FILE" : files.joined(separator: ",")
      throw PersistentStoreError(
        .invalidOption,
        "\(files[0]) and \(files[1]) both have the entity \(name): for parts of one table, "
          + (isPacked ? "unpack the archive and " : "") + "say \(name)=\(list)")
    }
    var properties: [[PropertyDescription]] = []
    for entity in tables.indices { properties.append(try attributes(of: entity)) }
    if let unused = unusedTypes.min() {
      throw PersistentStoreError(
        .invalidOption,
        "no attribute is called '\(unused)', which was given a type; the attributes are "
          + properties.joined().map(\.name).joined(separator: ", "))
    }
    var inverses: [(entity: Int, RelationshipDescription)] = []
    for entity in tables.indices {
      for (relationship, inverse, destination) in try relationships(of: entity) {
        properties[entity].append(.relationship(relationship))
        inverses.append((destination, inverse))
      }
    }
    for (entity, inverse) in inverses { properties[entity].append(.relationship(inverse)) }
    for join in importer.joinTables { try addRelationships(of: join, to: &properties) }
    let entities = zip(entityNames, properties).map { EntityDescription(name: $0, properties: $1) }
    do {
      return try ManagedObjectModel(ModelDescription(entities: entities))
    } catch {
      throw PersistentStoreError(
        .invalidModel, "no model can be inferred: " + error.errors.map { "\($0)" }.joined(separator: "; "))
    }
  }

  // MARK: Attributes

  private mutating func attributes(of entity: Int) throws -> [PropertyDescription] {
    let foreignKeys = try foreignKeys(of: entity).filter { $0.columns.count == 1 }.flatMap(\.columns)
    // What is a part of a key is an attribute as well: with another part missing, it would be lost.
    let relationships = Set(foreignKeys.map(Self.spelling))
    let isNamedKey = importer.keyColumns[entityNames[entity]] != nil
    var facts: [ScalarString: ColumnFacts] = [:]
    var texts: [Int: [TextColumnFacts]] = [:]
    var count = 0
    for table in tables[entity] {
      try refuseDoubles(table)
      let found = try readFacts(of: table, &facts)
      if found.count <= TextColumnFacts.sampleSize { texts[table] = found.texts }
      unclearCandidates[table] = Set(headers[table].indices.filter { found.texts[$0].candidate != nil })
      count += found.count
    }
    var result: [PropertyDescription] = []
    var known: [ScalarString: AttributeType] = [:]
    for table in tables[entity] {
      let keys = Set(keyColumns(of: table))
      var unclear: [Int] = []
      for (index, column) in headers[table].enumerated() where !column.isEmpty {
        guard !relationships.contains(Self.spelling(column)), isNamedKey || !keys.contains(index) else { continue }
        let name = NameMatching.propertyName(forColumn: column)
        guard let fact = facts[ScalarString(name)] else { continue }
        let found = fact.type
        if known[ScalarString(name)] == nil {
          let type = givenType(of: name, column, entity) ?? declaredType(of: column, entity) ?? found.type
          known[ScalarString(name)] = type
          if found.isAmbiguous, type == .string {
            notes.append(
              SelectionNote(
                subject: "\(entityNames[entity]).\(name)", count: fact.count,
                text: "kept as text: day and month of its dates cannot be told apart"))
          }
          // A member that some JSON objects lack, and a column that some tables lack, has no value in them.
          result.append(
            .attribute(AttributeDescription(name: name, type: type, isOptional: fact.isOptional(in: count))))
        }
        guard given(name, column, entity) == nil, declaredType(of: column, entity) == nil else { continue }
        if let format = found.format { formats[table][column] = format }
        if found.type == .string, !found.isAmbiguous, !fact.isTelephone { unclear.append(index) }
      }
      try noteTexts(unclear.filter { unclearCandidates[table]?.contains($0) ?? false }, of: table, texts[table])
    }
    return result
  }

  /// The key of ``StoreImporter/types`` that names a column.
  private func given(_ name: String, _ column: String, _ entity: Int) -> String? {
    ["\(entityNames[entity]).\(name)", name, column].first { importer.types[$0] != nil }
  }

  /// The type that all tables of the entity with a column say it has.
  private func declaredType(of column: String, _ entity: Int) -> AttributeType? {
    let tables = tables[entity].filter { columnNames[$0].contains(ScalarString(column)) }
    let types = tables.map { sources[$0].types[ScalarString(column)] }
    return types.allSatisfy { $0 == types.first } ? types.first ?? nil : nil
  }

  private mutating func givenType(of name: String, _ column: String, _ entity: Int) -> AttributeType? {
    guard let key = given(name, column, entity) else { return nil }
    unusedTypes.remove(key)
    return importer.types[key]
  }

  /// Adds what the columns of a table have to what other tables of the entity have, by property.
  private func readFacts(
    of table: Int, _ known: inout [ScalarString: ColumnFacts]
  ) throws -> (count: Int, texts: [TextColumnFacts]) {
    let header = headers[table]
    let names = header.map { ScalarString(NameMatching.propertyName(forColumn: $0)) }
    var facts = names.map { known[$0] ?? ColumnFacts() }
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
    for (index, name) in names.enumerated() where !header[index].isEmpty { known[name] = facts[index] }
    return (count, texts)
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
    try SourceReading.withReader(
      texts[table], importer.conventions, sources[table].name, json: json[table]
    ) { reader in
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

  private func keyColumns(of table: Int) -> [Int] {
    if let named = importer.keyColumns[names[table]] {
      return named.compactMap { column in headers[table].firstIndex { ScalarString($0) == ScalarString(column) } }
    }
    let own = NameMatching.folded(names[table])
    let folded = headers[table].map { NameMatching.folded($0) }
    for candidate in ["id", own + "id", "pk", "zpk", own + "key", "key", "objectid"] {
      if let found = folded.firstIndex(of: candidate) { return [found] }
    }
    return []
  }

  private struct ForeignKey {
    /// None for a table without records, whose columns are not known.
    var columns: [String]
    var name: String
    var destination: Int
  }

  /// Columns that hold keys of another table: those that were named, and those that are called as its entity, with
  /// `id`.
  private func foreignKeys(of entity: Int) throws(PersistentStoreError) -> [ForeignKey] {
    var result: [ForeignKey] = []
    let header = tables[entity].flatMap { headers[$0] }
    let own = ScalarString(entityNames[entity])
    for named in importer.relationshipColumns where ScalarString(named.entityName) == own {
      for name in named.columns
      where !header.isEmpty && !header.contains(where: { ScalarString($0) == ScalarString(name) }) {
        throw PersistentStoreError(
          .invalidOption, Suggestion.unknown("column", name, among: header),
          at: StoreLocation(file: sources[tables[entity][0]].name))
      }
      let wanted = named.destinationEntityName ?? named.relationshipName
      guard let destination = entitiesByName[NameMatching.folded(wanted)]?.first else {
        throw PersistentStoreError(
          .invalidOption,
          "without a model '\(named.entityName).\(named.relationshipName)' needs the entity that its keys are of: one of "
            + entityNames.joined(separator: ", "))
      }
      result.append(
        ForeignKey(columns: header.isEmpty ? [] : named.columns, name: named.relationshipName, destination: destination)
      )
    }
    var known = Set(result.filter { $0.columns.count == 1 }.flatMap(\.columns).map(Self.spelling))
    for table in tables[entity] {
      let keys = Set(keyColumns(of: table))
      for (index, column) in headers[table].enumerated() where !known.contains(Self.spelling(column)) {
        let words = NameMatching.words(ofKey: NameMatching.folded(column), ["id", "key", "fk"])
        let destination = words.flatMap { entitiesByName[$0] ?? [] }.sorted().first {
          !($0 == entity && keys.contains(index)) && hasKey($0)
        }
        guard let destination else { continue }
        known.insert(Self.spelling(column))
        let name = entityNames[destination]
        result.append(
          ForeignKey(
            columns: [column], name: name.prefix(1).lowercased() + name.dropFirst(), destination: destination))
      }
    }
    return result
  }

  /// A column by the property that it would be: tables of one entity may spell it in several ways.
  private static func spelling(_ column: String) -> ScalarString {
    ScalarString(NameMatching.propertyName(forColumn: column))
  }

  private func hasKey(_ entity: Int) -> Bool { tables[entity].contains { !keyColumns(of: $0).isEmpty } }

  private func relationships(
    of entity: Int
  ) throws(PersistentStoreError) -> [(RelationshipDescription, RelationshipDescription, destination: Int)] {
    let keys = try foreignKeys(of: entity)
    var result: [(RelationshipDescription, RelationshipDescription, destination: Int)] = []
    let plural = pluralName(of: entity)
    let counts = Dictionary(keys.map { ($0.destination, 1) }, uniquingKeysWith: +)
    for key in keys {
      let isOnly = counts[key.destination] == 1 && key.destination != entity
      let inverse = isOnly ? plural : Self.name(plural, by: key.name)
      result.append(
        (
          RelationshipDescription(
            name: key.name, destinationEntityName: entityNames[key.destination], inverseName: inverse),
          RelationshipDescription(
            name: inverse, destinationEntityName: entityNames[entity], inverseName: key.name, maximumCount: 0),
          key.destination
        ))
    }
    return result
  }

  /// What a to-many relationship to an entity is called.
  private func pluralName(of entity: Int) -> String {
    EnglishPlural.plural(entityNames[entity].prefix(1).lowercased() + entityNames[entity].dropFirst())
  }

  private static func name(_ plural: String, by name: String) -> String {
    plural + "By" + name.prefix(1).uppercased() + name.dropFirst()
  }

  // MARK: Join tables

  /// Adds the two ends of a many-to-many relationship.
  private func addRelationships(
    of join: StoreImporter.JoinTable, to properties: inout [[PropertyDescription]]
  ) throws(PersistentStoreError) {
    // Another name is refused when the columns are.
    guard let owner = entityNames.firstIndex(where: { ScalarString($0) == ScalarString(join.entityName) }) else {
      return
    }
    let destination = try destination(of: join)
    let plural = pluralName(of: owner)
    let isTaken = destination == owner || properties[destination].contains { $0.name == plural }
    let inverse = isTaken ? Self.name(plural, by: join.relationshipName) : plural
    properties[owner].append(
      .relationship(
        RelationshipDescription(
          name: join.relationshipName, destinationEntityName: entityNames[destination], inverseName: inverse,
          maximumCount: 0)))
    properties[destination].append(
      .relationship(
        RelationshipDescription(
          name: inverse, destinationEntityName: join.entityName, inverseName: join.relationshipName, maximumCount: 0)))
  }

  /// The entity of the second keys of a join table: the one that was named, or that their column or the relationship
  /// is called after.
  private func destination(of join: StoreImporter.JoinTable) throws(PersistentStoreError) -> Int {
    var words = [join.destinationEntityName].compactMap { $0.map { NameMatching.folded($0) } }
    if words.isEmpty {
      let column = NameMatching.folded(join.columns.last ?? "")
      words = NameMatching.words(ofKey: column, ["id", "key", "fk"]) + [column]
      words += EnglishPlural.singulars(NameMatching.folded(join.relationshipName))
    }
    if let found = words.lazy.compactMap({ entitiesByName[$0]?.first }).first { return found }
    throw PersistentStoreError(
      .invalidOption,
      "without a model '\(join.entityName).\(join.relationshipName)' needs the entity that the second keys are of, behind the "
        + "columns with a colon: one of \(entityNames.joined(separator: ", "))")
  }
}

import AtomicStoreSPI
import StoreCodecs

/// What an import is of: the tables, the model, and what each column is.
struct ImportJob {
  let importer: StoreImporter
  let sources: [ImportSource]
  let texts: [StoreBytes]
  let joinTexts: [StoreBytes]
  /// The records of those tables that are JSON.
  private let json: [JSONRecords?]
  /// The size of all tables.
  let inputBytes: Int
  let model: ManagedObjectModel
  private(set) var plans: [TablePlan]
  /// Hierarchies whose keys are texts, by root.
  var textKeyRoots: Set<Int> = []
  /// For the columns of a key, whether leading zeros mean nothing in them, by root: the model's property is an integer.
  private(set) var numberKeys: [Int: [Bool]] = [:]
  /// What the references of the store are that records are added to, by root, where keys are references.
  private(set) var existingKeys: [Int: ExistingKeys] = [:]
  /// The names of entities that may be before a key in CSV, as `fetch` prints references: `Author/1`. By root; only
  /// where no reference of the store begins like that.
  private(set) var entityPrefixes: [Int: Set<String>] = [:]
  /// What was found out about columns of an inferred model.
  let inference: [SelectionNote]

  /// A problem takes memory as well: one that the model makes of each record and property is not bounded by the tables.
  var maximumProblemCount: Int {
    min(importer.maximumProblemCount ?? .max, importer.limits.memory(forInput: inputBytes) / 128)
  }

  /// What is left of the limit for memory beside the records of JSON tables. Values have the same limit, for
  /// themselves.
  var memoryForRecords: Int { Self.memoryForRecords(json, importer.limits.memory(forInput: inputBytes)) }

  private static func memoryForRecords(_ json: [JSONRecords?], _ limit: Int) -> Int {
    json.reduce(limit) { $0 - ($1?.memory ?? 0) }
  }

  init(_ importer: StoreImporter, _ sources: [ImportSource]) throws {
    self.importer = importer
    self.sources = sources
    texts = try sources.map { try importer.conventions.utf8($0) }
    joinTexts = try importer.joinTables.map { try importer.conventions.utf8($0.source) }
    inputBytes = (texts + joinTexts).reduce(0) { $0 + $1.count }
    guard inputBytes <= importer.limits.bytes else {
      throw importer.limits.exceeded(
        "maximumBytes", importer.limits.bytes, "the tables have \(inputBytes) bytes",
        at: StoreLocation(file: sources.first?.name))
    }
    let given = importer.existing?.model ?? importer.model
    let entityNames = given.map { EntityNames($0) }
    var headers: [[String]] = []
    var forms: [ObjectForms?] = []
    var json: [JSONRecords?] = []
    var objectColumns: [Int?] = []
    for (index, source) in sources.enumerated() {
      // A table of no entity is an error when all were read.
      let entity = given.flatMap { Self.entity(named: source.entityName, of: source, in: $0, entityNames) }
      forms.append(entity.map { ObjectForms($0, importer) })
      let memory = Self.memoryForRecords(json, importer.limits.memory(forInput: inputBytes))
      try SourceReading.withReader(
        texts[index], importer.conventions, source.name, forms[index], maximumMemory: memory
      ) { reader in
        headers.append(reader.columns)
        json.append(reader.json)
        objectColumns.append(reader.json?.objectColumn ?? entity.flatMap { Self.objectColumn(&reader, $0) })
      }
    }
    self.json = json
    var formats: [[String: DateFormat]] = Array(repeating: [:], count: sources.count)
    var names = sources.map(\.entityName)
    if let known = given {
      model = known
      inference = []
    } else {
      var inferring = ModelInference(importer, sources, texts, json, headers)
      model = try inferring.model()
      formats = inferring.formats
      inference = inferring.notes
      names = inferring.names
    }
    plans = try Self.plans(
      importer, sources, headers, json, objectColumns, forms, formats, model, entityNames, names)
    try checkEntities()
    try checkKeyWidths()
    try checkSeveralTables()
    noteUnfilledRelationships()
    noteKeys()
    if let existing = importer.existing, importer.existingObjects.entityNames.isEmpty {
      existingKeys = ExistingKeys.byRoot(of: existing)
    }
    findEntityPrefixes()
  }

  private mutating func noteKeys() {
    for plan in plans {
      let root = plan.entity.root.index
      if plan.keyColumns.count > 1 { textKeyRoots.insert(root) }
      let kinds = plan.keyColumns.map { plan.columns[$0].kind == .integer }
      numberKeys[root] =
        numberKeys[root].map { known in
          known.count == kinds.count ? zip(known, kinds).map { $0 || $1 } : known
        } ?? (kinds.isEmpty ? nil : kinds)
    }
  }

  /// The column of a CSV table that has the objects as `fetch` prints them: by its name, and by the first record, which
  /// has `Book/3` there.
  private static func objectColumn(_ reader: inout any RecordReader, _ entity: Entity) -> Int? {
    let names = ObjectForms.objectNames.filter { entity.slot(named: $0) == nil }
    let places = reader.columns.indices.filter { names.contains(reader.columns[$0]) }
    var record = ImportRecord()
    // What is wrong with the record is reported when it is read.
    guard places.count == 1, (try? reader.next(&record)) == true else { return nil }
    let text = record.withText(of: places[0], reader.bytes) { ValueReader.text($0) }
    let isObject = entity.root.hierarchy.contains { text.hasPrefix($0.name + "/") }
    return isObject ? places[0] : nil
  }

  private mutating func findEntityPrefixes() {
    let objectRoots = plans.filter { $0.hasObjectKey && json[$0.source] == nil }.map(\.entity.root.index)
    for root in Set(objectRoots).union(existingKeys.keys) where !(existingKeys[root]?.hasEntityNames ?? false) {
      entityPrefixes[root] = Set(model.entity(at: root).hierarchy.map(\.name))
    }
  }

  /// Calls a body with the reader of a table.
  func withReader<Value>(_ plan: TablePlan, _ body: (inout any RecordReader) throws -> Value) throws -> Value {
    try SourceReading.withReader(
      texts[plan.source], importer.conventions, plan.name, plan.forms, json: json[plan.source], body)
  }

  private static func plans(
    _ importer: StoreImporter, _ sources: [ImportSource], _ headers: [[String]],
    _ json: [JSONRecords?], _ objectColumns: [Int?], _ forms: [ObjectForms?], _ formats: [[String: DateFormat]],
    _ model: ManagedObjectModel, _ entityNames: EntityNames?, _ names: [String?]
  ) throws(PersistentStoreError) -> [TablePlan] {
    var plans: [TablePlan] = []
    var entities: [Entity] = []
    for (index, source) in sources.enumerated() {
      guard let entity = entity(named: names[index], of: source, in: model, entityNames) else {
        throw noEntity(names[index], source, model)
      }
      entities.append(entity)
    }
    // Of thousands of tables of one entity, each would be compared with all.
    var columns: [Int: [String]] = [:]
    var known: [Int: Set<ScalarString>] = [:]
    for (entity, header) in zip(entities, headers) {
      for name in header where known[entity.index, default: []].insert(ScalarString(name)).inserted {
        columns[entity.index, default: []].append(name)
      }
    }
    for (index, (source, entity)) in zip(sources, entities).enumerated() {
      let others = columns[entity.index] ?? []
      var plan = try TablePlan(
        importer, source: index, name: source.name, entity: entity, columns: headers[index], others: others,
        isEmpty: json[index]?.isEmpty ?? false, objectColumn: objectColumns[index],
        outerColumns: json[index]?.outerColumns ?? [], forms: forms[index], formats: formats[index])
      plan.joins = importer.joinTables.indices.filter {
        ScalarString(importer.joinTables[$0].entityName) == ScalarString(entity.name)
      }
      plans.append(plan)
    }
    return plans
  }

  private static func entity(
    named wanted: String?, of source: ImportSource, in model: ManagedObjectModel, _ entityNames: EntityNames?
  ) -> Entity? {
    guard let wanted else { return entityNames?.entity(forFile: source.stem) }
    return model.entity(named: wanted).flatMap { $0.isAbstract ? nil : $0 }
  }

  private static func noEntity(
    _ wanted: String?, _ source: ImportSource, _ model: ManagedObjectModel
  ) -> PersistentStoreError {
    let names = model.entities.filter { !$0.isAbstract }.map(\.name)
    return PersistentStoreError(
      .invalidOption,
      wanted.map { Suggestion.unknown("entity", $0, among: names) }
        ?? "the file is named after no entity of the model: say ENTITY=\(source.name), with one of "
        + names.joined(separator: ", "), at: StoreLocation(file: source.name))
  }

  private struct GivenRelationship: Hashable {
    var entity: Int
    var slot: Int
  }

  /// Required to-ones of which no table has either end.
  private mutating func noteUnfilledRelationships() {
    let given = plans.map { $0.given(importer) }
    // What tables of an entity, or of one below it, have.
    var named: Set<GivenRelationship> = []
    for index in plans.indices {
      var entity: Entity? = plans[index].entity
      while let one = entity {
        for slot in given[index] { named.insert(GivenRelationship(entity: one.index, slot: slot)) }
        entity = one.superentity
      }
    }
    for index in plans.indices {
      for slot in plans[index].entity.slots where slot.isRelationship && !slot.isOptional && !slot.isToMany {
        guard !given[index].contains(slot.index), let destination = slot.destination, let inverse = slot.inverseSlot
        else { continue }
        guard !named.contains(GivenRelationship(entity: destination, slot: inverse)) else { continue }
        plans[index].unfilled.append(slot.name)
      }
    }
  }

  /// Names that were given for entities which no table is of have no effect: they are refused.
  private func checkEntities() throws(PersistentStoreError) {
    let imported = Set(plans.map { ScalarString($0.entity.name) })
    let named =
      importer.keyColumns.keys.map { $0 } + importer.relationshipColumns.map(\.entityName)
      + importer.joinTables.map(\.entityName) + importer.existingObjects.entityNames
    for name in named where !imported.contains(ScalarString(name)) {
      throw PersistentStoreError(
        .invalidOption,
        "no table is of the entity '\(name)'; the tables are of "
          + plans.map(\.entity.name).joined(separator: ", "))
    }
    for join in importer.joinTables {
      guard let entity = model.entity(named: join.entityName), let slot = entity.slot(named: join.relationshipName),
        entity.slots[slot].isToMany
      else {
        throw PersistentStoreError(
          .invalidOption, "\(join.entityName) has no to-many relationship '\(join.relationshipName)'")
      }
    }
  }

  /// The properties of an entity that only some of its tables have columns of, with the number of records of the
  /// others.
  func missingColumns(counts: [Int]) -> [SelectionNote] {
    var notes: [SelectionNote] = []
    let given = plans.reduce(into: [Int: Set<Int>]()) { $0[$1.entity.index, default: []].formUnion($1.given) }
    for plan in plans where counts[plan.source] > 0 {
      let own = plan.given
      let others = given[plan.entity.index] ?? []
      for slot in others.subtracting(own).sorted() {
        notes.append(
          SelectionNote(
            subject: "\(plan.entity.name).\(plan.entity.slots[slot].name)", count: counts[plan.source],
            text: "\(plan.name) does not have the column, which another table of \(plan.entity.name) has"))
      }
    }
    return notes
  }

  /// Numbers that records without a key get could be keys of the other tables' records, or named by others.
  private func checkSeveralTables() throws(PersistentStoreError) {
    // Objects that are found by a property need no key.
    guard importer.existingObjects.entityNames.isEmpty else { return }
    var keyed: [Int: TablePlan] = [:]
    for plan in plans where !plan.isEmpty && !plan.keyColumns.isEmpty && keyed[plan.entity.index] == nil {
      keyed[plan.entity.index] = plan
    }
    for plan in plans where !plan.isEmpty && plan.keyColumns.isEmpty {
      guard let other = keyed[plan.entity.index] else { continue }
      let names = other.keyColumns.map { "'\(other.columnNames[$0])'" }.joined(separator: ", ")
      throw PersistentStoreError(
        .invalidOption, "the table has no column of \(plan.entity.name)'s key \(names), which \(other.name) has",
        at: StoreLocation(file: plan.name))
    }
  }

  /// A key of several columns is compared with one of as many columns.
  private func checkKeyWidths() throws(PersistentStoreError) {
    for named in importer.relationshipColumns where named.columns.count > 1 {
      guard let slot = model.entity(named: named.entityName)?.slot(named: named.relationshipName),
        let destination = model.entity(named: named.entityName)?.slots[slot].destination
      else { continue }
      let root = model.entity(at: destination).root.index
      let tables = plans.filter { $0.entity.root.index == root && !$0.isEmpty }
      guard let first = tables.first, !tables.contains(where: { $0.keyColumns.count == named.columns.count }) else {
        continue
      }
      let key = first.keyColumns.map { first.columnNames[$0] }.joined(separator: ", ")
      throw PersistentStoreError(
        .invalidOption,
        "\(named.entityName).\(named.relationshipName) has the columns \(named.columns.joined(separator: ", ")), but "
          + (key.isEmpty ? "\(first.entity.name) has no key" : "the key of \(first.entity.name) is \(key)")
          + ": --key names its columns")
    }
  }

  /// How many of the columns of a join table are those of the first key.
  func ownerWidth(_ join: StoreImporter.JoinTable, _ destination: Entity) throws(PersistentStoreError) -> Int {
    if join.columns.count == 2 { return 1 }
    let owner = importer.keyColumns[join.entityName]?.count ?? 1
    let other = importer.keyColumns[destination.name]?.count ?? 1
    guard owner + other == join.columns.count else {
      throw PersistentStoreError(
        .invalidOption,
        "the join table of \(join.entityName).\(join.relationshipName) has \(join.columns.count) columns of keys, but the key of "
          + "\(join.entityName) has \(owner) and that of \(destination.name) \(other)")
    }
    return owner
  }

  /// Whether the store that records are added to has an object of an entity, or of one below it.
  func exists(_ key: ReferenceObject, destination: Int) -> Bool {
    guard let nodes = importer.existing, let node = nodes.handle(for: key, entity: destination) else { return false }
    return model.entity(at: node.entity).isKindOf(entity: model.entity(at: destination))
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs
import StorePredicates

/// Reads all tables once: to build the graph, or to find all problems.
final class ImportPass {
  let job: ImportJob
  let nodes: NodeTableBuilder
  let diagnosis: ImportDiagnosis?
  /// Knows what is to be left out.
  let skipping: ImportDiagnosis?
  let isTextRoot: [Bool]
  let isNumberRoot: [Bool]
  private(set) var counts: [Int]
  let values: ValueReader
  /// The steps that the patterns of the model's rules may take for all tables.
  private let patternBudget = StepBudget()
  var joins: [JoinedKeys] = []
  /// How many pairs each join table has that are not left out.
  var joinCounts: [Int]
  private(set) var existing: ExistingObjectTable?
  /// The relationships that the records read so far have values of.
  private(set) var stated = StatedEnds()
  /// What was changed to agree with the records, and what was dropped.
  var reconciliationNotes: [SelectionNote] = []
  /// The removed keys of join tables, as the metadata has them.
  var danglingReferences: [String: [String]] = [:]
  /// The last reference that was given to a record without a key, by root.
  private var lastNumbers: [Int: Int64] = [:]
  /// How many records have only a part of a relationship's key, by table and index of the column.
  var partialKeys: [Int: [Int: Int]] = [:]
  /// How many objects keep a relationship since their records lack a part of its key, likewise.
  var keptKeys: [Int: [Int: Int]] = [:]

  init(_ job: ImportJob, diagnosis: ImportDiagnosis?, skipping: ImportDiagnosis?) {
    self.job = job
    self.diagnosis = diagnosis
    self.skipping = skipping
    isTextRoot = (0..<job.model.entityCount).map { job.textKeyRoots.contains($0) }
    isNumberRoot = (0..<job.model.entityCount).map { job.numberKeys[$0] == [true] }
    counts = Array(repeating: 0, count: job.plans.count)
    joinCounts = Array(repeating: 0, count: job.importer.joinTables.count)
    values = ValueReader(job.importer.conventions)
    nodes = NodeTableBuilder(model: job.model, limits: job.importer.limits, inputBytes: job.inputBytes)
    if let existing = job.importer.existing { nodes.addRoom(for: existing) }
    diagnosis?.begin(tables: job.plans.count, joins: job.importer.joinTables.count)
  }

  func readAll() throws {
    if let table = job.importer.existing {
      existing = ExistingObjectTable(table, job.importer.existingObjects, after: job.importer.lastReference)
    }
    try readJoins()
    for plan in job.plans {
      try existing?.prepare(plan, job) { record, bytes throws(ImportStop) in
        plan.keyColumns.isEmpty ? nil : try key(record, plan.keyColumns, plan.entity.root.index, bytes)
      }
    }
    for plan in job.plans {
      nodes.setMember(plan.name, entity: plan.entity.index)
      if !plan.unfilled.isEmpty, !mayUpdate, !plan.isEmpty { try noteUnfilled(plan) }
      try job.withReader(plan) { reader in try read(&reader, plan) }
      notePartialKeys(plan)
    }
    // Pairs of records that do not exist are found by the links.
    guard diagnosis == nil, removesKeys || skipping == nil else { return }
    guard removesKeys else {
      if joins.contains(where: { $0.usedCount < $0.count }) { throw ImportStop.problem }
      return
    }
    for join in joins { dropUnused(join) }
  }

  /// Whether records are imported without keys of records that do not exist.
  var removesKeys: Bool { job.importer.danglingKeys.removesKeys }

  /// Whether a record may be of an object that exists, which has values that the table has no column for.
  private var mayUpdate: Bool { existing != nil && job.importer.existingObjects != .refuse }

  /// A property that must have a value and has no column is one problem, not one for each record.
  private func noteUnfilled(_ plan: TablePlan) throws {
    guard let diagnosis else { throw ImportStop.problem }
    for name in plan.unfilled {
      try diagnosis.add(
        ImportProblem(
          kind: .table, file: plan.name, entity: plan.entity.name, property: name,
          message: "no column has values of '\(name)', which the model requires"), table: plan.source, number: nil)
    }
  }

  /// Whether the two ends of relationships are to be made to agree after ``finish(_:)``, row by row: the store has
  /// values of both ends, of which the tables change some, or some records of a table have a value and others do not.
  var needsReconciliation: Bool { existing != nil || stated.isAnyMissing }

  /// Resolves references. Without a store that the records are added to, derives the ends of relationships that no
  /// table has.
  ///
  /// - Parameter rule: `.asStored` to leave ends that contradict each other as they are.
  func finish(_ rule: RelationshipRules.Inverses = .refuse) throws(PersistentStoreError) -> NodeTable {
    nodes.rules = RelationshipRules()
    switch job.importer.danglingKeys {
    case .refuse, .reject: nodes.rules.danglingReferences = .refuse
    case .nullify: nodes.rules.danglingReferences = .nullify
    case .keepAsText: nodes.rules.danglingReferences = .keepAsText
    }
    if needsReconciliation {
      nodes.inverseHandling = .none
    } else {
      nodes.compareEnds(by: rule)
      for plan in job.plans { markAbsent(plan) }
    }
    try existing?.copyRest(into: nodes)
    return try nodes.finish()
  }

  private func markAbsent(_ plan: TablePlan) {
    let given = plan.given(job.importer)
    for slot in plan.entity.slots where slot.isRelationship && !given.contains(slot.index) {
      nodes.markAbsent(slot: slot.index, entity: plan.entity.index)
    }
  }

  // MARK: Records

  private func read(_ reader: inout any RecordReader, _ plan: TablePlan) throws {
    diagnosis?.setHeader(reader.headerRange, table: plan.source)
    let left = skipping?.tables[plan.source].numbers ?? []
    stated.begin(
      entity: plan.entity.index, slots: plan.given(job.importer), lackable: lackableRelationships(reader, plan),
      at: nodes.count(of: plan.entity.index))
    defer { stated.end(entity: plan.entity.index, at: nodes.count(of: plan.entity.index)) }
    if let json = reader.json {
      nodes.expectNodes(nodes.count(of: plan.entity.index) + json.records.count, entity: plan.entity.index)
    }
    let bytes = reader.bytes
    var record = ImportRecord()
    var number = -1
    while true {
      number += 1
      do throws(PersistentStoreError) {
        guard try reader.next(&record) else { return }
      } catch {
        let start = record.start
        let end = try reader.skip(error)
        if left.contains(number) { continue }
        diagnosis?.add(start..<max(start, end), table: plan.source)
        try note(
          .record, error.withHint.message, plan, number, nil, line: error.location.line ?? record.line,
          column: error.location.column)
        continue
      }
      diagnosis?.add(record.start..<record.end, table: plan.source)
      if left.contains(number) { continue }
      if number & 0x3FF == 0 { nodes.noteProgress(record.start, of: bytes.count) }
      guard let beginning = try begin(record, number, plan, bytes) else { continue }
      counts[plan.source] += 1
      for index in plan.columns(of: record) where plan.columns[index].kind != nil {
        // An object that exists keeps its relationship where the record has only a part of the key.
        if beginning == .updated, plan.isPartlyAbsent(index, in: record) {
          keptKeys[plan.source, default: [:]][index, default: 0] += 1
          continue
        }
        try set(index, record, number, plan, bytes)
        guard record.present != nil, plan.columns[index].isRelationship else { continue }
        stated.state(
          plan.columns[index].slot, of: nodes.count(of: plan.entity.index) - 1, entity: plan.entity.index)
      }
      if record.present != nil, beginning == .inserted {
        for index in plan.neededColumns where plan.isAbsent(index, in: record) {
          try setAbsent(index, record, number, plan)
        }
      }
      guard beginning == .inserted else { continue }
      if mayUpdate {
        for name in plan.unfilled {
          try note(.missing, "a value is needed, and no column has one", plan, number, name, line: record.line)
        }
      }
      for index in plan.absentDefaults {
        try nodes.set(plan.defaults[index].value, slot: plan.defaults[index].slot)
      }
    }
  }

  /// How a record's node was begun.
  private enum Beginning { case inserted, updated }

  /// Begins the node of a record. Nil for a record that cannot have one.
  private func begin(
    _ record: ImportRecord, _ number: Int, _ plan: TablePlan, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws -> Beginning? {
    guard var key = try uniqueKey(record, number, plan, bytes) else { return nil }
    let fileKey = key
    var beginning = Beginning.inserted
    let ownJoins = joins.isEmpty ? [] : joins.filter { plan.joins.contains($0.join) }
    if let existing {
      switch existing.begin(
        &key, number, plan, nodes, line: record.line, given: plan.given(record).union(ownJoins.map(\.slot)))
      {
      case .new: try nodes.beginNode(entity: plan.entity.index, reference: key, line: record.line)
      case .updated: beginning = .updated
      case .taken(let message):
        try note(.key, message, plan, number, plan.keyColumns.first.map { plan.columnNames[$0] }, line: record.line)
        return nil
      case .mismatched(let problem):
        try note(.key, problem.message, plan, number, problem.property, line: record.line, problem.value)
        return nil
      case .failed(let error): throw error
      }
    } else {
      try nodes.beginNode(entity: plan.entity.index, reference: key, line: record.line)
    }
    diagnosis?.note(
      ObjectReference(entityName: plan.entity.name, reference: key),
      .init(table: plan.source, number: number, line: record.line))
    for index in joins.indices where plan.joins.contains(joins[index].join) {
      guard let others = joins[index].use(fileKey) else { continue }
      let join = (slot: joins[index].slot, destinationRoot: joins[index].destinationRoot)
      for other in others {
        try nodes.append(toMany: existing?.translated(other, root: join.destinationRoot) ?? other, slot: join.slot)
      }
    }
    return beginning
  }

  /// The key of a record, or the next number where its table has no keys. Nil, with the problem noted, where the key
  /// has no value, or another record has it.
  private func uniqueKey(
    _ record: ImportRecord, _ number: Int, _ plan: TablePlan, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws -> ReferenceObject? {
    let root = plan.entity.root.index
    guard let column = plan.keyColumns.first else {
      if let known = existing?.assignedReference(ofRecord: number, plan) { return known }
      let last = lastNumbers[root] ?? existing?.lastNumber ?? 0
      let next: Int64? = if let existing { existing.number(after: last, entity: plan.entity) } else { last + 1 }
      guard let next else {
        try note(.key, ExistingObjectTable.usedUp + ": give the record a key", plan, number, nil, line: record.line)
        return nil
      }
      lastNumbers[root] = next
      return .integer(next)
    }
    let field = record[column]
    guard let key = try key(record, plan.keyColumns, root, bytes) else {
      let missing = plan.keyColumns.first { lacksKey(record, $0, bytes) } ?? column
      try note(
        .key, "the key has no value", plan, number, plan.columnNames[missing], line: record[missing].line,
        column: record[missing].column)
      return nil
    }
    let owner = ImportDiagnosis.Owner(table: plan.source, number: number, line: record.line)
    if let other = diagnosis?.take(key, root: root, owner) {
      let place = other.table == plan.source ? "" : job.plans[other.table].name + ", "
      try note(
        .key, "another record has the key '\(key)': \(place)line \(other.line)", plan, number,
        plan.columnNames[column], line: field.line, column: field.column)
      return nil
    }
    return key
  }

  private func set(
    _ index: Int, _ record: ImportRecord, _ number: Int, _ plan: TablePlan, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws {
    let column = plan.columns[index]
    let field = record[plan.firstSource(of: index)]
    if isNull(index, column, record, plan, bytes) {
      guard column.isMandatory else { return }
      if let value = column.defaultValue { return try nodes.set(plan.defaults[value].value, slot: column.slot) }
      return try note(.missing, "a value is needed", plan, number, index, field)
    }
    switch column.kind {
    case .toOne:
      guard let key = try key(record, plan.sources(of: index), column.root, bytes, isLink: true) else { return }
      link(key, column, index, field, number, plan)
      switch existing?.translated(key, root: column.root) ?? key {
      case .integer(let reference): try nodes.set(toOne: reference, slot: column.slot)
      case let reference: try nodes.set(toOne: reference, slot: column.slot)
      }
    case .toMany:
      for key in try keys(record, index, column.root, bytes) {
        link(key, column, index, field, number, plan)
        try nodes.append(toMany: existing?.translated(key, root: column.root) ?? key, slot: column.slot)
      }
    default: try setAttribute(index, column, field, record, number, plan, bytes)
    }
  }

  /// Whether a record has no value for a column; of a key of several columns, in one of them.
  private func isNull(
    _ index: Int, _ column: TablePlan.Column, _ record: ImportRecord, _ plan: TablePlan,
    _ bytes: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    guard column.kind == .toOne else {
      return record.withText(of: index, bytes) { values.isNull($0, record[index].kind, column.kind) }
    }
    let sources = plan.sources(of: index)
    let missing = sources.count { lacksKey(record, $0, bytes) }
    if missing > 0, missing < sources.count { partialKeys[plan.source, default: [:]][index, default: 0] += 1 }
    return missing > 0
  }

  /// The relationships that the columns of a table of JSON objects have, and no join table: a record may lack them.
  private func lackableRelationships(_ reader: any RecordReader, _ plan: TablePlan) -> [Int] {
    guard reader.json != nil else { return [] }
    let joined = Set(joins.filter { plan.joins.contains($0.join) }.map(\.slot))
    return plan.usedColumns.map { plan.columns[$0] }.filter { $0.isRelationship && !joined.contains($0.slot) }.map(
      \.slot)
  }

  /// A JSON object lacks a member that others of its table have. A new object gets the default value; one of the store
  /// keeps its value.
  private func setAbsent(_ index: Int, _ record: ImportRecord, _ number: Int, _ plan: TablePlan) throws {
    let column = plan.columns[index]
    if let value = column.defaultValue { return try nodes.set(plan.defaults[value].value, slot: column.slot) }
    // The other end of a relationship may have a value: see `RelationshipRuleCheck`.
    guard column.isMandatory, plan.entity.slots[column.slot].inverseSlot == nil else { return }
    try note(.missing, "a value is needed", plan, number, index, record[plan.firstSource(of: index)])
  }

  private func setAttribute(
    _ index: Int, _ column: TablePlan.Column, _ field: ImportField, _ record: ImportRecord, _ number: Int,
    _ plan: TablePlan, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws {
    do throws(PersistentStoreError) {
      try record.withText(of: index, bytes) { text throws(PersistentStoreError) in
        try values.set(
          text, field.kind, column.kind, slot: column.slot, format: column.format.map { plan.formats[$0] }, nodes)
      }
    } catch {
      guard error.code == .invalidValue else { throw error }
      let text = record.withText(of: index, bytes) { ValueReader.text($0) }
      return try note(.value, error.message, plan, number, index, field, text)
    }
    guard let rule = column.rule else { return }
    let text = record.withText(of: index, bytes) { ValueReader.text($0) }
    let value = record.withText(of: index, bytes) { text in
      values.value(
        text, field.kind, plan.entity.slots[column.slot].attributeType ?? .undefined,
        format: column.format.map { plan.formats[$0] })
    }
    for violation in plan.rules[rule].violations(value, patternBudget) {
      try note(.rule, "'\(text.prefix(60))' breaks the rule: \(violation.rule)", plan, number, index, field, text)
    }
  }

  private func link(
    _ key: ReferenceObject, _ column: TablePlan.Column, _ index: Int, _ field: ImportField, _ number: Int,
    _ plan: TablePlan
  ) {
    diagnosis?.links.append(
      .init(
        table: plan.source, number: number, field: field, root: column.root, destination: column.destination,
        property: plan.entity.slots[column.slot].name, key: key, isMandatory: column.isMandatory))
  }

  // MARK: Problems

  private func note(
    _ kind: ImportProblem.Kind, _ message: String, _ plan: TablePlan, _ number: Int, _ index: Int, _ field: ImportField,
    _ text: String? = nil
  ) throws(ImportStop) {
    try note(
      kind, message, plan, number, plan.entity.slots[plan.columns[index].slot].name, line: field.line,
      column: field.column, text)
  }

  private func note(
    _ kind: ImportProblem.Kind, _ message: String, _ plan: TablePlan, _ number: Int, _ property: String?, line: Int,
    column: Int? = nil, _ text: String? = nil
  ) throws(ImportStop) {
    guard let diagnosis else { throw .problem }
    try diagnosis.add(
      ImportProblem(
        kind: kind, file: plan.name, line: line, column: column, entity: plan.entity.name,
        key: diagnosis.key(of: number, table: plan.source), property: property,
        value: text.map { String($0.prefix(200)) },
        message: message), table: plan.source, number: number)
  }
}

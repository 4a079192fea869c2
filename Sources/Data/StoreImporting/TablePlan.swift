import AtomicStoreSPI
import StoreCodecs
import StorePredicates

/// What each column of a table is.
struct TablePlan {
  /// What a column is.
  struct Column {
    var kind: StoredValue.Kind?
    var slot = 0
    /// For a relationship: the root of the hierarchy that its keys are of.
    var root = 0
    var destination = 0
    var isMandatory = false
    /// What its values must fulfil, as an index into ``TablePlan/rules``; nil for anything.
    var rule: Int?
    /// The value where a field of a required property has none, or where a JSON object lacks the member, as an index
    /// into ``TablePlan/defaults``.
    var defaultValue: Int?
    /// The pattern of its dates that was found out, as an index into ``TablePlan/formats``.
    var format: Int?
    var isRelationship: Bool { kind == .toOne || kind == .toMany }
  }
  let source: Int
  let name: String
  let entity: Entity
  let columnNames: [String]
  /// Whether the table has no records, and therefore no columns: see ``RecordReader/isEmpty``.
  let isEmpty: Bool
  /// What may be an object in the form of `fetch --json`; nil without a model.
  let forms: ObjectForms?
  /// One for each column of the table; behind them one for each of ``sharedKeys``.
  var columns: [Column] = []
  /// The columns of relationships whose keys have several, or one that is another relationship as well. Each of them
  /// may be a property and part of other keys, too.
  private(set) var sharedKeys: [[Int]] = []
  /// The columns that are properties.
  private(set) var usedColumns: [Int] = []
  /// Those of them where a record that lacks the field needs the default value, or is a problem.
  private(set) var neededColumns: [Int] = []
  var keyColumns: [Int] = []
  var rules: [ValidationRule] = []
  /// Values for fields that are empty, and for properties that have no column.
  var defaults: [(slot: Int, value: StoredValue)] = []
  /// Those of ``defaults`` that have no column.
  var absentDefaults: [Int] = []
  var formats: [DateFormat] = []
  var ignoredColumns: [String] = []
  /// Required properties that have neither a column nor a default value.
  var unfilled: [String] = []
  var joins: [Int] = []

  /// Finds out what the columns are.
  ///
  /// - Parameters:
  ///   - others: The columns of all tables of the entity: one of a relationship may be in some of them only.
  ///   - objectColumn: The column that has the references of the records' objects.
  ///   - outerColumns: Those of which only the members have values.
  /// - Throws: `.invalidOption` for a column or relationship that was named and does not exist, `.malformed` for two
  ///   columns of one property.
  init(
    _ importer: StoreImporter, source: Int, name: String, entity: Entity, columns names: [String],
    others: [String] = [], isEmpty: Bool,
    objectColumn: Int? = nil, outerColumns: Set<Int> = [], forms: ObjectForms? = nil,
    formats known: [String: DateFormat] = [:]
  ) throws(PersistentStoreError) {
    self.source = source
    self.name = name
    self.entity = entity
    columnNames = names
    self.isEmpty = isEmpty
    self.forms = forms
    columns = Array(repeating: Column(), count: names.count)
    var slotOfColumn: [Int: Int] = [:]
    let shared = try findNamedRelationships(importer, others, &slotOfColumn)
    sharedKeys = shared.map(\.columns)
    let sharedSlots = Set(shared.map(\.slot))
    findProperties(&slotOfColumn, sharedSlots, objectColumn)
    try findKey(importer, objectColumn)
    findRelationships(&slotOfColumn, sharedSlots)
    try refuseDoubles(slotOfColumn)
    try refuseEqualNames(slotOfColumn)
    for (index, slot) in slotOfColumn { describe(index, entity.slots[slot], known[names[index]]) }
    for (slot, _) in shared {
      columns.append(Column())
      describe(columns.count - 1, entity.slots[slot], nil)
    }
    usedColumns = columns.indices.filter { columns[$0].kind != nil }
    neededColumns = usedColumns.filter { columns[$0].isMandatory || columns[$0].defaultValue != nil }
    noteAbsent(sharedSlots.union(slotOfColumn.values), importer)
    let used = outerColumns.union(keyColumns).union(sharedKeys.joined())
    ignoredColumns = names.indices.filter { slotOfColumn[$0] == nil && !used.contains($0) }.map {
      names[$0].isEmpty ? "column \($0 + 1)" : names[$0]
    }
  }

  /// Whether the key is the column of objects that `fetch` prints: its texts may be `Author/1`.
  var hasObjectKey: Bool {
    guard keyColumns.count == 1, let name = keyColumns.first.map({ columnNames[$0] }) else { return false }
    return ObjectForms.objectNames.contains(name)
  }

  /// The properties that the table has columns of.
  var given: Set<Int> { Set(usedColumns.map { columns[$0].slot }) }

  /// The relationships that the table or its join tables have.
  func given(_ importer: StoreImporter) -> Set<Int> {
    var given = Set(columns.filter(\.isRelationship).map(\.slot))
    for join in joins {
      if let slot = entity.slot(named: importer.joinTables[join].relationshipName) { given.insert(slot) }
    }
    return given
  }

  /// The properties that a record has fields of; those with keys of several columns, of all of them.
  func given(_ record: ImportRecord) -> Set<Int> {
    Set(
      columns(of: record).lazy.filter { !isPartlyAbsent($0, in: record) }.map { columns[$0] }
        .filter { $0.kind != nil }.map(\.slot))
  }

  /// The columns of the table that one of ``columns`` is read from.
  func sources(of index: Int) -> [Int] {
    index < columnNames.count ? [index] : sharedKeys[index - columnNames.count]
  }

  /// The first of ``sources(of:)``: where a problem is.
  func firstSource(of index: Int) -> Int {
    index < columnNames.count ? index : sharedKeys[index - columnNames.count][0]
  }

  /// Those of ``columns`` that a record has fields of, in ascending order.
  func columns(of record: ImportRecord) -> [Int] {
    guard let present = record.present, present.count < columnNames.count else { return usedColumns }
    return present.sorted() + (columnNames.count..<columns.count).filter { !isAbsent($0, in: record) }
  }

  /// Whether a record lacks the fields that one of ``columns`` is read from.
  func isAbsent(_ index: Int, in record: ImportRecord) -> Bool {
    if index < columnNames.count { return record[index].kind == .absent }
    return sources(of: index).allSatisfy { record[$0].kind == .absent }
  }

  /// Whether a record has fields of some of the columns of a key, and lacks others.
  func isPartlyAbsent(_ index: Int, in record: ImportRecord) -> Bool {
    record.present != nil && sources(of: index).contains { record[$0].kind == .absent }
  }

  private var place: StoreLocation { StoreLocation(file: name, line: 1, entity: entity.name) }

  /// Whether a column is in other tables of the entity, and not in this one.
  private func isOnly(_ column: String, in others: [String]) -> Bool {
    func isHere(_ names: [String]) -> Bool { names.contains { ScalarString($0) == ScalarString(column) } }
    return !isHere(columnNames) && isHere(others)
  }

  private func index(ofColumn column: String) throws(PersistentStoreError) -> Int {
    if let found = columnNames.firstIndex(where: { ScalarString($0) == ScalarString(column) }) { return found }
    throw PersistentStoreError(
      .invalidOption, Suggestion.unknown("column", column, among: columnNames), at: place)
  }

  /// - Returns: The relationships of ``sharedKeys``.
  private func findNamedRelationships(
    _ importer: StoreImporter, _ others: [String], _ slots: inout [Int: Int]
  ) throws(PersistentStoreError) -> [(slot: Int, columns: [Int])] {
    var shared: [(slot: Int, columns: [Int])] = []
    for named in importer.relationshipColumns where ScalarString(named.entityName) == ScalarString(entity.name) {
      guard let slot = entity.slot(named: named.relationshipName), entity.slots[slot].isRelationship else {
        throw PersistentStoreError(
          .invalidOption, "\(entity.name) has no relationship '\(named.relationshipName)'", at: place)
      }
      if isEmpty { continue }
      guard !slots.values.contains(slot), !shared.contains(where: { $0.slot == slot }) else {
        throw PersistentStoreError(.invalidOption, "\(entity.name).\(named.relationshipName) is named twice", at: place)
      }
      var found: [Int] = []
      for column in named.columns where !isOnly(column, in: others) { found.append(try index(ofColumn: column)) }
      guard found.count == named.columns.count else { continue }
      guard found.count == 1 || !entity.slots[slot].isToMany else {
        throw PersistentStoreError(
          .invalidOption,
          "\(entity.name).\(named.relationshipName) is a to-many relationship, whose keys are in one column, or in a join table",
          at: place)
      }
      if found.count == 1, slots[found[0]] == nil {
        slots[found[0]] = slot
      } else {
        shared.append((slot, found))
      }
    }
    return shared
  }

  /// Properties by their names, then by their names without case and separators, then by former names.
  private func findProperties(_ slots: inout [Int: Int], _ shared: Set<Int>, _ objectColumn: Int?) {
    var folded: [String: [Int]] = [:]
    var former: [String: [Int]] = [:]
    for slot in entity.slots {
      folded[NameMatching.folded(slot.name), default: []].append(slot.index)
      guard let old = slot.attribute?.renamingIdentifier ?? slot.relationship?.renamingIdentifier else { continue }
      former[NameMatching.folded(old), default: []].append(slot.index)
    }
    var taken = shared.union(slots.values)
    func take(_ find: (String) -> Int?) {
      for (index, name) in columnNames.enumerated() where slots[index] == nil && index != objectColumn {
        guard let slot = find(name), !taken.contains(slot) else { continue }
        slots[index] = slot
        taken.insert(slot)
      }
    }
    func only(_ list: [Int]?) -> Int? { list?.count == 1 ? list?.first : nil }
    take { entity.slot(named: $0) }
    // As an inferred model calls it: the column 2026 is column2026.
    take { entity.slot(named: NameMatching.propertyName(forColumn: $0)) }
    take { only(folded[NameMatching.folded($0)]) }
    take { only(former[NameMatching.folded($0)]) }
  }

  private mutating func findKey(_ importer: StoreImporter, _ objectColumn: Int?) throws(PersistentStoreError) {
    if isEmpty { return }
    if let named = importer.keyColumns[entity.name] {
      for column in named { keyColumns.append(try index(ofColumn: column)) }
      return
    }
    if let objectColumn {
      keyColumns = [objectColumn]
      return
    }
    let own = NameMatching.folded(entity.name)
    let object = ObjectForms.objectNames.allSatisfy(columnNames.contains) ? "self" : "objectid"
    let candidates = ["id", own + "id", "pk", "zpk", own + "key", "key", object]
    let names = columnNames.map { NameMatching.folded($0) }
    for candidate in candidates {
      let found = names.indices.filter { names[$0] == candidate }
      if found.count == 1 {
        keyColumns = found
        return
      }
    }
  }

  /// Columns such as `author_id`, for the relationship `author`, or for the only one that leads to an Author.
  private func findRelationships(_ slots: inout [Int: Int], _ shared: Set<Int>) {
    var taken = shared.union(slots.values)
    var byName: [String: Int] = [:]
    var byDestination: [String: [Int]] = [:]
    for slot in entity.slots where !taken.contains(slot.index) && slot.isRelationship && !slot.isToMany {
      for name in [slot.name, slot.relationship?.renamingIdentifier].compactMap(\.self) {
        byName[NameMatching.folded(name)] = min(slot.index, byName[NameMatching.folded(name)] ?? slot.index)
      }
      byDestination[NameMatching.folded(slot.relationship?.destinationEntityName ?? ""), default: []].append(slot.index)
    }
    guard !byName.isEmpty else { return }
    let keys = Set(keyColumns)
    for (index, name) in columnNames.enumerated() where slots[index] == nil && !keys.contains(index) {
      let words = NameMatching.words(ofKey: NameMatching.folded(name), ["id", "key", "fk", "ref"], before: ["fk"])
      let destinations = Set(words.flatMap { byDestination[$0] ?? [] })
      guard
        let slot = words.compactMap({ byName[$0] }).min() ?? (destinations.count == 1 ? destinations.first : nil),
        taken.insert(slot).inserted
      else { continue }
      slots[index] = slot
    }
  }

  private func refuseDoubles(_ slots: [Int: Int]) throws(PersistentStoreError) {
    var seen: [Int: Int] = [:]
    for (index, slot) in slots.sorted(by: { $0.key < $1.key }) {
      if let other = seen.updateValue(index, forKey: slot) {
        throw PersistentStoreError(
          .malformed,
          "the columns '\(columnNames[other])' and '\(columnNames[index])' are both \(entity.slots[slot].name)",
          at: place)
      }
    }
  }

  /// A column that is used and another one of that name.
  private func refuseEqualNames(_ slots: [Int: Int]) throws(PersistentStoreError) {
    var seen: [ScalarString: Int] = [:]
    let keys = Set(keyColumns).union(sharedKeys.joined())
    for (index, name) in columnNames.enumerated() where !name.isEmpty {
      guard let other = seen.updateValue(index, forKey: ScalarString(name)) else { continue }
      guard [index, other].contains(where: { slots[$0] != nil || keys.contains($0) }) else { continue }
      throw PersistentStoreError(
        .malformed, "the columns \(other + 1) and \(index + 1) are both called '\(name)'", at: place)
    }
  }

  private mutating func describe(_ index: Int, _ slot: Slot, _ format: DateFormat?) {
    var column = Column(kind: slot.valueKind, slot: slot.index)
    if let destination = slot.destination {
      column.destination = destination
      column.root = entity.model.entity(at: destination).root.index
      column.isMandatory = !slot.isOptional && !slot.isToMany
    } else if let attribute = slot.attribute {
      let isDerived = attribute.derivationExpression != nil
      column.isMandatory = !slot.isOptional && !isDerived
      // What is derived is calculated, also where a record lacks it.
      if let value = attribute.defaultValue, !isDerived {
        column.defaultValue = defaults.count
        defaults.append((slot.index, value))
      }
      if let rule = ValidationRule(attribute, isStored: true), rule.limitsValues {
        column.rule = rules.count
        rules.append(rule)
      }
      if let format {
        column.format = formats.count
        formats.append(format)
      }
    }
    columns[index] = column
  }

  private mutating func noteAbsent(_ present: Set<Int>, _ importer: StoreImporter) {
    let joined = Set(
      importer.joinTables.filter { ScalarString($0.entityName) == ScalarString(entity.name) }.map {
        ScalarString($0.relationshipName)
      })
    for slot in entity.slots where !present.contains(slot.index) && !joined.contains(ScalarString(slot.name)) {
      guard let attribute = slot.attribute else {
        // What the other end says is taken over.
        if !slot.isOptional, !slot.isToMany, slot.inverseSlot == nil { unfilled.append(slot.name) }
        continue
      }
      if let value = attribute.defaultValue {
        absentDefaults.append(defaults.count)
        defaults.append((slot.index, value))
      } else if !slot.isOptional, attribute.derivationExpression == nil {
        unfilled.append(slot.name)
      }
    }
  }
}

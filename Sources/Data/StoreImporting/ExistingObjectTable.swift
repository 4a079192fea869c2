import AtomicStoreSPI

/// The objects of the store that records are added to.
final class ExistingObjectTable {
  private let nodes: NodeTable
  private let rule: StoreImporter.ExistingObjects
  private var updated: Set<NodeHandle> = []
  /// The last reference of the store; new objects of records without keys follow on from it.
  private(set) var lastNumber: Int64
  /// What a record's key stands for, where objects are found by an attribute: by root and key.
  private var translations: [Int: [ReferenceObject: ReferenceObject]] = [:]
  /// The references of records, by table and number, where objects are found by an attribute.
  private var assigned: [Int: [ReferenceObject]] = [:]
  /// What is wrong with the value that a record's object is found by, by table and number of the record.
  private var mismatches: [Int: [Int: Mismatch]] = [:]
  /// The records that have a value by which objects are found, by entity and value.
  private var owners: [Int: [StoredValue: (file: String, line: Int)]] = [:]

  init(_ nodes: NodeTable, _ rule: StoreImporter.ExistingObjects, after last: Int64) {
    self.nodes = nodes
    self.rule = rule
    lastNumber = max(0, last, nodes.greatestIntegerReference)
  }

  /// How a record is handled.
  enum Beginning {
    case new
    case updated
    case taken(String)
    case mismatched(Mismatch)
    case failed(PersistentStoreError)
  }

  /// Several objects or two records have the same key, or all numbers for new objects are used.
  struct Mismatch {
    var property: String
    var value: String?
    var message: String
  }

  /// The reference that a key stands for.
  func translated(_ key: ReferenceObject, root: Int) -> ReferenceObject { translations[root]?[key] ?? key }

  /// Begins the node of a record whose object exists, with the values that the record says nothing about.
  ///
  /// - Parameters:
  ///   - given: The properties that the record has fields for, and relationships of join tables.
  func begin(
    _ key: inout ReferenceObject, _ number: Int, _ plan: TablePlan, _ builder: NodeTableBuilder, line: Int,
    given: Set<Int>
  ) -> Beginning {
    if let mismatch = mismatches[plan.source]?[number] { return .mismatched(mismatch) }
    if let reference = assignedReference(ofRecord: number, plan) { key = reference }
    guard let node = nodes.handle(for: key, entity: plan.entity.index) else { return .new }
    let name = nodes.model.entity(at: node.entity).name
    guard mayUpdate(plan.entity) else { return .taken("the store has \(name)/\(key) already") }
    guard node.entity == plan.entity.index else { return .taken("\(key) is a \(name) in the store") }
    guard updated.insert(node).inserted else { return .taken("another record is \(name)/\(key) as well") }
    do throws(PersistentStoreError) {
      try builder.beginNode(entity: node.entity, reference: key, line: line)
      for slot in plan.entity.slots where !given.contains(slot.index) {
        try builder.set(nodes.value(slot: slot.index, of: node), slot: slot.index)
      }
    } catch {
      return .failed(error)
    }
    return .updated
  }

  /// The reference of a record's object where objects are found by an attribute; nil where they are found by key.
  func assignedReference(ofRecord number: Int, _ plan: TablePlan) -> ReferenceObject? {
    guard let list = assigned[plan.source], number < list.count else { return nil }
    return list[number]
  }

  /// Whether records of an entity may be of objects that exist. Where objects of other entities are found by an
  /// attribute, keys are not references.
  private func mayUpdate(_ entity: Entity) -> Bool {
    switch rule {
    case .refuse: false
    case .update: true
    case .updateByProperty(let properties): properties[entity.name] != nil
    }
  }

  /// Copies the objects that no record updates.
  func copyRest(into builder: NodeTableBuilder) throws(PersistentStoreError) {
    for entity in nodes.model.entities {
      for node in nodes.handles(of: entity.index) where !updated.contains(node) {
        try builder.beginNode(entity: entity.index, reference: nodes.reference(of: node))
        for slot in entity.slots {
          let value = nodes.value(slot: slot.index, of: node)
          if !value.isNull { try builder.set(value, slot: slot.index) }
        }
      }
    }
  }

  /// The number of a new object without a key; nil if all are used up.
  func number(after last: Int64, entity: Entity) -> Int64? {
    try? nodes.nextIntegerReference(after: last, entity: entity.index)
  }

  /// What is wrong with a record that needs a number when all are used up.
  static let usedUp =
    "a new object needs a number after the greatest reference of the store, and there is none after \(Int64.max)"

  // MARK: Objects by an attribute

  /// Finds the objects of a table's records by an attribute, before any relationship is read.
  ///
  /// - Parameter key: Reads the key of a record; nil if it does not have one.
  func prepare(
    _ plan: TablePlan, _ job: ImportJob,
    key: (ImportRecord, UnsafeBufferPointer<UInt8>) throws(ImportStop) -> ReferenceObject?
  ) throws {
    guard case .updateByProperty(let properties) = rule, let name = properties[plan.entity.name], !plan.isEmpty
    else { return }
    guard let slot = plan.entity.slot(named: name), !plan.entity.slots[slot].isRelationship,
      let index = plan.columns.firstIndex(where: { $0.kind != nil && $0.slot == slot })
    else {
      throw PersistentStoreError(
        .invalidOption, "objects of \(plan.entity.name) cannot be found by '\(name)', which no column has",
        at: StoreLocation(file: plan.name))
    }
    var known: [StoredValue: ReferenceObject] = [:]
    var others: [StoredValue: [ReferenceObject]] = [:]
    for node in nodes.handles(of: plan.entity.index) {
      let value = nodes.value(slot: slot, of: node)
      guard !value.isNull, let first = known[value] else {
        if !value.isNull { known[value] = nodes.reference(of: node) }
        continue
      }
      others[value, default: [first]].append(nodes.reference(of: node))
    }
    let values = ValueReader(job.importer.conventions)
    let column = plan.columns[index]
    let type = plan.entity.slots[slot].attributeType ?? .undefined
    var list: [ReferenceObject] = []
    try job.withReader(plan) { reader in
      var record = ImportRecord()
      while true {
        do throws(PersistentStoreError) {
          guard try reader.next(&record) else { return }
        } catch {
          // It is a problem when the records are read.
          _ = try reader.skip(error)
          list.append(.integer(lastNumber))
          continue
        }
        let kind = record[index].kind
        let value = record.withText(of: index, reader.bytes) { text in
          values.isNull(text, kind, column.kind)
            ? .null : values.value(text, kind, type, format: column.format.map { plan.formats[$0] })
        }
        if !value.isNull {
          let text = record.withText(of: index, reader.bytes) { ValueReader.keyText($0, kind) }
          mismatches[plan.source, default: [:]][list.count] = mismatch(
            name, value, text, several: others[value], plan, line: record.line)
        }
        let reference = known[value] ?? newReference(plan, record: list.count, name)
        if !value.isNull { known[value] = reference }
        list.append(reference)
        if let key = try key(record, reader.bytes) {
          translations[plan.entity.root.index, default: [:]][key] = reference
        }
      }
    }
    assigned[plan.source] = list
  }

  /// Notes the record that has a value.
  ///
  /// - Returns: What is wrong if several objects, or another record, have it.
  private func mismatch(
    _ property: String, _ value: StoredValue, _ text: String, several: [ReferenceObject]?, _ plan: TablePlan, line: Int
  ) -> Mismatch? {
    if let several {
      let names = several.prefix(2).map { "\(plan.entity.name)/\($0)" }.joined(separator: " and ")
      return Mismatch(
        property: property, value: text,
        message: "\(several.count) objects of the store have this \(property), \(names)"
          + (several.count > 2 ? " among them" : ""))
    }
    guard let owner = owners[plan.entity.index]?[value] else {
      owners[plan.entity.index, default: [:]][value] = (plan.name, line)
      return nil
    }
    let file = owner.file == plan.name ? "" : owner.file + ", "
    return Mismatch(
      property: property, value: text,
      message: "another record has the \(property) '\(text.prefix(60))' as well: \(file)line \(owner.line)")
  }

  /// The reference of a new object. If all numbers are used up, that is noted as wrong with the record.
  private func newReference(_ plan: TablePlan, record: Int, _ property: String) -> ReferenceObject {
    if let number = number(after: lastNumber, entity: plan.entity) {
      lastNumber = number
    } else {
      mismatches[plan.source, default: [:]][record] = Mismatch(property: property, message: Self.usedUp)
    }
    return .integer(lastNumber)
  }
}

import AtomicStoreSPI
import FoundationEssentials

/// One save, within its transaction.
struct SQLSaveWork<Database: SQLDatabase> {
  let store: SQLStore<Database>
  let schema: SQLSchema
  let changes: StoreSave
  let name: String
  var versions: [(object: ObjectReference, version: Int64)] = []
  /// Row numbers, by root entity.
  var ids: [Int: [ReferenceObject: Int64]] = [:]
  /// The number of the transaction in the history.
  var number: Int64 = 1
  var history: [(entity: Int, id: Int64, text: String?, kind: HistoryTransaction.Kind, slots: [Int])] = []
  /// How many rows are deleted: their entries come first.
  var deletedCount: Int64
  /// How many rows the database itself has noted in the history: those of which it cut what led to deleted rows. They
  /// come behind the deletions.
  var cutOffCount: Int64 = 0

  init(_ store: SQLStore<Database>, _ schema: SQLSchema, _ changes: StoreSave, _ name: String) {
    self.store = store
    self.schema = schema
    self.changes = changes
    self.name = name
    deletedCount = Int64(changes.deleted.count)
  }

  var database: Database { store.database }
  var model: ManagedObjectModel { schema.model }

  /// False if rows are not as expected.
  mutating func run() throws(PersistentStoreError) -> Bool {
    try store.checkStamp()
    if let last = changes.lastTransaction, try last != store.currentHistoryToken()?.number ?? 0 { return false }
    if let last = changes.lastReference, try last != store.lastReference() { return false }
    if let entries = changes.previousMetadataEntries, try entries != store.entries() { return false }
    try findNumbers()
    guard let present = try presentVersions() else { return false }
    number = try store.nextTransactionNumber()
    try delete()
    try releaseUniqueValues()
    try insert()
    try update(present)
    try changeMembers()
    try writeHistory()
    if let entries = changes.metadataEntries { try store.write(entries) }
    return true
  }

  func entity(_ name: String) throws(PersistentStoreError) -> Entity {
    guard let entity = model.entity(named: name) else {
      throw PersistentStoreError(.invalidValue, "the model has no entity '\(name)'", at: StoreLocation(entity: name))
    }
    return entity
  }

  func id(_ object: ObjectReference) throws(PersistentStoreError) -> Int64 {
    let root = try entity(object.entityName).root.index
    guard let id = ids[root]?[object.reference] else {
      throw PersistentStoreError(
        .missingObject, "\(object) is not in the store",
        at: StoreLocation(entity: object.entityName, reference: object.reference.description))
    }
    return id
  }

  // MARK: Numbers and versions

  /// Finds the row numbers of all objects concerned, and gives new ones theirs.
  mutating func findNumbers() throws(PersistentStoreError) {
    var asked: [Int: Set<ReferenceObject>] = [:]
    func note(_ object: ObjectReference) throws(PersistentStoreError) {
      asked[try entity(object.entityName).root.index, default: []].insert(object.reference)
    }
    func note(_ value: StoredValue) throws(PersistentStoreError) {
      switch value {
      case .toOne(let other): try note(other)
      case .toMany(let list): for other in list { try note(other) }
      default: break
      }
    }
    var roots = RootsOfEntities(model: model)
    for objects in [changes.inserted, changes.updated] {
      for object in objects {
        for slot in 0..<object.values.slotLimit { if let value = object.values[slot] { try note(value) } }
        if let reference = object.reference { asked[roots[object.entity], default: []].insert(reference) }
      }
    }
    for object in changes.deleted { try note(object) }
    for entry in changes.expected { try note(entry.object) }
    for change in changes.members {
      try note(change.owner)
      for other in change.added + change.removed { try note(other) }
    }
    for root in asked.keys.sorted() {
      ids[root] = try store.numbers(Array(asked[root] ?? []), root: root, schema)
    }
    for object in changes.inserted {
      guard case .string? = object.reference, let reference = object.reference else { continue }
      let root = model.entity(at: object.entity).root.index
      guard ids[root]?[reference] == nil else { continue }
      ids[root, default: [:]][reference] = try numberForText(root)
    }
  }

  /// The next number for an object whose reference is a text.
  func numberForText(_ root: Int) throws(PersistentStoreError) -> Int64 {
    let table = SQLStore<Database>.keysTable
    try database.run("UPDATE \(table) SET texts = texts + 1 WHERE root = ?1", [.integer(Int64(root))])
    var count: Int64 = 0
    try database.query("SELECT texts FROM \(table) WHERE root = ?1", [.integer(Int64(root))]) { row in
      count = row.integer(0)
    }
    // Counted from the least number; the others are those of integer references.
    guard count > 0, count < SQLKeys.lastText &- .min else {
      throw PersistentStoreError(.limitExceeded, "\(table) has counted \(count) texts as references of entity \(root)")
    }
    return .min + count
  }

  struct RowKey: Hashable {
    var root: Int
    var id: Int64
  }

  /// The present versions of all rows that are changed, nil if they are not as expected.
  func presentVersions() throws(PersistentStoreError) -> [RowKey: Int64]? {
    var asked: [Int: Set<Int64>] = [:]
    var roots = RootsOfEntities(model: model)
    for object in changes.updated {
      guard let reference = object.reference else { continue }
      let root = roots[object.entity]
      guard let id = ids[root]?[reference] else { return nil }
      asked[root, default: []].insert(id)
    }
    for object in changes.deleted + changes.members.map(\.owner) + changes.expected.map(\.object) {
      let root = try entity(object.entityName).root.index
      guard let id = ids[root]?[object.reference] else { return nil }
      asked[root, default: []].insert(id)
    }
    var present: [RowKey: Int64] = [:]
    for root in asked.keys.sorted() {
      guard let table = schema.tables[root] else { continue }
      let wanted = (asked[root] ?? []).sorted()
      for part in wanted.parts(of: SQLStore<Database>.dialect.listLimit) {
        let (condition, values) = SQLStore<Database>.isOne(of: part, "id")
        try database.query("SELECT id, ver FROM \(table.name.quoted) WHERE \(condition)", values) { row in
          present[RowKey(root: root, id: row.integer(0))] = row.integer(1)
        }
      }
      // New objects may be owners of members and expected as ends.
      let new = Set(
        changes.inserted.compactMap { object in
          model.entity(at: object.entity).root.index == root ? object.reference.flatMap { ids[root]?[$0] } : nil
        })
      for id in wanted where present[RowKey(root: root, id: id)] == nil && !new.contains(id) { return nil }
    }
    for entry in changes.expected {
      guard let version = entry.version else { continue }
      let key = RowKey(root: try entity(entry.object.entityName).root.index, id: try id(entry.object))
      if present[key] != version { return nil }
    }
    return present
  }

  // MARK: Deleting

  mutating func delete() throws(PersistentStoreError) {
    guard !changes.deleted.isEmpty else { return }
    var byEntity: [Int: [Int64]] = [:]
    for object in changes.deleted {
      let entity = try entity(object.entityName)
      let id = try id(object)
      byEntity[entity.index, default: []].append(id)
      let text: String? = if case .string(let text) = object.reference { text } else { nil }
      history.append((entity.index, id, text, .delete, []))
    }
    // First the rows, so that none of them is among those which led to another.
    for index in byEntity.keys.sorted() {
      for part in (byEntity[index] ?? []).parts(of: SQLStore<Database>.dialect.listLimit) {
        let list = SQLStore<Database>.list(part)
        let gone = model.entity(at: index)
        try database.run("DELETE FROM \(schema.table(of: gone).name.quoted) WHERE id IN (\(list))", [])
      }
    }
    let links = links(toRoots: Set(byEntity.keys.map { model.entity(at: $0).root.index }))
    for index in byEntity.keys.sorted() {
      try cutOff(model.entity(at: index), byEntity[index] ?? [], links)
    }
  }

  // MARK: Inserting and updating

  /// Values that must be unique may move from one row to another: first none has them.
  func releaseUniqueValues() throws(PersistentStoreError) {
    guard schema.tables.values.contains(where: { !$0.unique.isEmpty }) else { return }
    for object in changes.updated {
      let entity = model.entity(at: object.entity)
      let table = schema.table(of: entity)
      guard !table.unique.isEmpty, let reference = object.reference, let id = ids[entity.root.index]?[reference] else {
        continue
      }
      let unique = Set(table.unique.flatMap(\.columns))
      let sets = object.values.slots.compactMap { schema.column($0, of: entity) }.filter { unique.contains($0.name) }
        .map { "\($0.name.quoted) = NULL" }
      guard !sets.isEmpty else { continue }
      try database.run(
        "UPDATE \(table.name.quoted) SET \(sets.joined(separator: ", ")) WHERE id = ?1", [.integer(id)])
    }
  }

  /// The columns and values that a slot's value sets.
  func assignments(_ slot: Slot, _ value: StoredValue, _ entity: Entity) throws(PersistentStoreError)
    -> [(name: String, value: SQLValue)]
  {
    guard let column = schema.column(slot.index, of: entity) else { return [] }
    switch slot.kind {
    case .toMany: return []
    case .attribute(let type):
      return [(column.name, try SQLValue(value, type, StoreLocation(entity: entity.name, property: slot.name)))]
    case .toOne:
      guard case .toOne(let other) = value else {
        return [column.name, column.entityName, column.positionName].compactMap { $0.map { ($0, .null) } }
      }
      var result: [(name: String, value: SQLValue)] = [(column.name, .integer(try id(other)))]
      if let name = column.entityName {
        result.append((name, .integer(Int64(try self.entity(other.entityName).index))))
      }
      return result
    }
  }

  mutating func insert() throws(PersistentStoreError) {
    // A row that is deleted and inserted again, as after a conflict, must not have a version that it had before.
    let version = Int64(Date().timeIntervalSinceReferenceDate * 1_000_000)
    for object in changes.inserted {
      let entity = model.entity(at: object.entity)
      guard let reference = object.reference else {
        throw PersistentStoreError(.internalInconsistency, "a new object must have a reference")
      }
      let named = ObjectReference(entityName: entity.name, reference: reference)
      let id = try id(named)
      let text: String? = if case .string(let text) = reference { text } else { nil }
      var names = ["id", "ent", "ver", "ref"]
      var values: [SQLValue] = [
        .integer(id), .integer(Int64(entity.index)), .integer(version), text.map { .text($0) } ?? .null,
      ]
      for slot in entity.slots {
        guard let value = object.values[slot.index], !value.isNull else { continue }
        for (name, value) in try assignments(slot, value, entity) {
          names.append(name.quoted)
          values.append(value)
        }
      }
      let marks = values.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
      try database.run(
        "INSERT INTO \(schema.table(of: entity).name.quoted) (\(names.joined(separator: ", "))) VALUES (\(marks))",
        values)
      versions.append((named, version))
      history.append((entity.index, id, text, .insert, []))
    }
    for object in changes.inserted { try writeLists(of: object) }
    try noteReferences()
  }

  /// Sees to it that no new object gets a reference which the store did not give out itself, as that of an import.
  private func noteReferences() throws(PersistentStoreError) {
    var greatest: [Int: Int64] = [:]
    for object in changes.inserted {
      guard case .integer(let number)? = object.reference else { continue }
      greatest[model.entity(at: object.entity).root.index, default: 0].raise(to: number)
    }
    for (root, number) in greatest.sorted(by: { $0.key < $1.key }) where number > store.given[root] ?? 0 {
      try database.run(
        "UPDATE \(SQLStore<Database>.keysTable) SET last = ?1 WHERE root = ?2 AND last < ?1",
        [.integer(number), .integer(Int64(root))])
    }
  }

  /// What consecutive objects have in common, so that it is looked up, and their statement written, once.
  private struct UpdatedKind {
    let entity: Entity
    let root: Int
    let table: String
    let slots: [Slot]
    let numbers: [Int]
    var columns: [String] = []
    var sql = ""

    init(_ object: ManagedObjectSnapshot, _ schema: SQLSchema) {
      entity = schema.model.entity(at: object.entity)
      root = entity.root.index
      table = schema.table(of: entity).name.quoted
      numbers = object.values.slots
      slots = numbers.map { [entity] in entity.slots[$0] }
    }

    /// Whether an object is of the entity, with values in the same slots.
    func fits(_ object: ManagedObjectSnapshot) -> Bool {
      guard object.entity == entity.index else { return false }
      var count = 0
      for slot in 0..<object.values.slotLimit where object.values[slot] != nil {
        guard count < numbers.count, numbers[count] == slot else { return false }
        count += 1
      }
      return count == numbers.count
    }

    /// Writes the statement. The first two values are the version and the number of the row.
    mutating func set(_ columns: [String]) {
      guard sql.isEmpty || columns != self.columns else { return }
      self.columns = columns
      let sets = ["ver = ?1"] + columns.enumerated().map { "\($1.quoted) = ?\($0 + 3)" }
      sql = "UPDATE \(table) SET \(sets.joined(separator: ", ")) WHERE id = ?2"
    }
  }

  mutating func update(_ present: [RowKey: Int64]) throws(PersistentStoreError) {
    var places: [RowKey: Int] = [:]
    var last: UpdatedKind?
    var withLists: [ManagedObjectSnapshot] = []
    for object in changes.updated {
      guard let reference = object.reference else { continue }
      let known = last.take().flatMap { $0.fits(object) ? $0 : nil }
      var kind = known ?? UpdatedKind(object, schema)
      let named = ObjectReference(entityName: kind.entity.name, reference: reference)
      let id: Int64 = if let known = ids[kind.root]?[reference] { known } else { try id(named) }
      let key = RowKey(root: kind.root, id: id)
      // It goes round after 2^64 saves, or where another program has written the greatest number.
      let version = (present[key] ?? 0) &+ 1
      var columns: [String] = []
      var values: [SQLValue] = [.integer(version), .integer(id)]
      for slot in kind.slots {
        guard let value = object.values[slot.index] else { continue }
        for (name, value) in try assignments(slot, value, kind.entity) {
          columns.append(name)
          values.append(value)
        }
      }
      kind.set(columns)
      try database.run(kind.sql, values)
      versions.append((named, version))
      if !changes.members.isEmpty { places[key] = history.count }
      let text: String? = if case .string(let text) = reference { text } else { nil }
      history.append((kind.entity.index, id, text, .update, kind.numbers))
      if kind.slots.contains(where: \.isToMany) { withLists.append(object) }
      last = kind
    }
    for object in withLists { try writeLists(of: object) }
    for change in changes.members {
      let entity = try entity(change.owner.entityName)
      let key = RowKey(root: entity.root.index, id: try id(change.owner))
      guard let place = places[key], !history[place].slots.contains(change.slot) else { continue }
      history[place].slots.append(change.slot)
    }
  }
}

/// The root entities of objects of which many follow each other that are of the same entity.
private struct RootsOfEntities {
  let model: ManagedObjectModel
  private var last = (entity: -1, root: -1)

  init(model: ManagedObjectModel) { self.model = model }

  subscript(entity: Int) -> Int {
    mutating get {
      if last.entity != entity { last = (entity, model.entity(at: entity).root.index) }
      return last.root
    }
  }
}

extension Int64 {
  fileprivate mutating func raise(to other: Int64) { self = Swift.max(self, other) }
}

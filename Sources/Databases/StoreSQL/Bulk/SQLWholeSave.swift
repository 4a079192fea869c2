import AtomicStoreSPI
import FoundationEssentials

/// Writes a whole store into new tables.
struct SQLWholeSave<Database: SQLDatabase> {
  private let store: SQLStore<Database>
  private let schema: SQLSchema
  private let snapshot: StoreSnapshot
  /// The snapshot's rows and their numbers.
  let rows: SQLRows
  private var texts: [Int: Int64] = [:]
  private var lasts: [Int: Int64] = [:]

  init(_ store: SQLStore<Database>, _ schema: SQLSchema, _ snapshot: StoreSnapshot) throws(PersistentStoreError) {
    self.store = store
    self.schema = schema
    self.snapshot = snapshot
    let readers = schema.model.entities.map { snapshot.nodes.reader(of: $0.index) }
    var textNumbers: [[Int64]] = Array(repeating: [], count: readers.count)
    for entity in schema.model.entities {
      let reader = readers[entity.index]
      let root = entity.root.index
      let hasTexts = reader.hasStringReferences
      var numbers: [Int64] = []
      for row in 0..<reader.count {
        if let number = reader.integerReference(row: row) {
          _ = try SQLStore<Database>.checked(number)
          lasts[root] = max(lasts[root] ?? 0, number)
          if hasTexts { numbers.append(number) }
        } else {
          texts[root, default: 0] += 1
          numbers.append(.min + (texts[root] ?? 0))
        }
      }
      textNumbers[entity.index] = numbers
    }
    rows = SQLRows(readers, textNumbers)
    // Numbers that were given to objects which are gone stay used up.
    for root in schema.tables.keys { lasts[root] = max(lasts[root] ?? 0, snapshot.metadata.lastReference) }
  }

  private var readers: [EntityReader] { rows.readers }

  func run() throws(PersistentStoreError) {
    try store.createTables(schema, snapshot.metadata, lasts: lasts, withIndexes: false)
    for (root, count) in texts {
      try store.database.run(
        "UPDATE \(SQLStore<Database>.keysTable) SET texts = ?1 WHERE root = ?2",
        [.integer(count), .integer(Int64(root))])
    }
    for entity in schema.model.entities where !entity.isAbstract && readers[entity.index].count > 0 {
      try writeRows(of: entity)
    }
    for entity in schema.model.entities where !entity.isAbstract && readers[entity.index].count > 0 {
      for slot in entity.slots where slot.isToMany { try writePairs(slot, entity) }
    }
    try store.createIndexes(schema)
  }

  /// The positions of rows in an ordered to-many whose inverse is this to-one, by row.
  func positions(of slot: Slot, _ entity: Entity) -> [Int64?] {
    var result = [Int64?](repeating: nil, count: readers[entity.index].count)
    guard let inverse = slot.inverseSlot, let number = slot.destination else { return result }
    for owner in schema.model.entity(at: number).hierarchy where !owner.isAbstract {
      let reader = readers[owner.index]
      for row in 0..<reader.count {
        let list = reader.toMany(slot: inverse, row: row)
        for place in 0..<list.count where list[place].entity == entity.index {
          result[list[place].row] = Int64(place)
        }
      }
    }
    return result
  }

  private func writeRows(of entity: Entity) throws(PersistentStoreError) {
    let rows = SQLEntityRows(
      entity, schema, rows,
      version: Int64(Date().timeIntervalSinceReferenceDate * 1_000_000)
    ) { slot in positions(of: slot, entity) }
    try store.database.add(
      readers[entity.index].count, to: schema.table(of: entity).name, columns: rows.columns, rows)
  }

  private func writePairs(_ slot: Slot, _ entity: Entity) throws(PersistentStoreError) {
    guard case .pairs(let join, isTurned: false)? = schema.toMany(slot.index, of: entity) else { return }
    let reader = readers[entity.index]
    var pairs: [(owner: NodeHandle, member: NodeHandle, place: Int)] = []
    for row in 0..<reader.count {
      let list = reader.toMany(slot: slot.index, row: row)
      for place in 0..<list.count { pairs.append((NodeHandle(entity: entity.index, row: row), list[place], place)) }
    }
    guard !pairs.isEmpty else { return }
    // The position of the owner among those of the member.
    var behind: [NodeHandle: [NodeHandle: Int]] = [:]
    if join.isOrdered.1, let inverse = slot.inverseSlot, let number = slot.destination {
      for other in schema.model.entity(at: number).hierarchy where !other.isAbstract {
        let there = readers[other.index]
        for row in 0..<there.count {
          let list = there.toMany(slot: inverse, row: row)
          let member = NodeHandle(entity: other.index, row: row)
          for place in 0..<list.count { behind[member, default: [:]][list[place]] = place }
        }
      }
    }
    let rows = SQLPairRows(pairs: pairs, isOrdered: join.isOrdered, behind: behind, id: rows.id)
    try store.database.add(
      pairs.count, to: join.name,
      columns: [("a", .integer64), ("b", .integer64), ("pos_a", .integer64), ("pos_b", .integer64)], rows)
  }
}

/// The rows of a table of pairs.
private struct SQLPairRows: SQLRowSource {
  let pairs: [(owner: NodeHandle, member: NodeHandle, place: Int)]
  let isOrdered: (Bool, Bool)
  /// The position of the owner among those of the member.
  let behind: [NodeHandle: [NodeHandle: Int]]
  let id: (NodeHandle) -> Int64

  func write<Writer: SQLRowWriter>(_ row: Int, _ writer: Writer) throws(PersistentStoreError) {
    let (owner, member, place) = pairs[row]
    writer.integer(id(owner))
    writer.integer(id(member))
    if isOrdered.0 { writer.integer(Int64(place)) } else { writer.null() }
    if isOrdered.1, let place = behind[member]?[owner] { writer.integer(Int64(place)) } else { writer.null() }
  }
}

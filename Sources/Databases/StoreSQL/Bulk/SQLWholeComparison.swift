import AtomicStoreSPI
import Glibc

/// Compares a store that was just written with the snapshot that it was written from: each table once, a row at a time,
/// so that the objects are not in memory twice.
struct SQLWholeComparison<Database: SQLDatabase> {
  private let store: SQLStore<Database>
  private let schema: SQLSchema
  private let save: SQLWholeSave<Database>

  /// - Parameter save: What has written the store.
  init(_ save: SQLWholeSave<Database>, _ store: SQLStore<Database>, _ schema: SQLSchema) {
    (self.save, self.store, self.schema) = (save, store, schema)
  }

  /// - Throws: `.internalInconsistency` for a store that is not what was written.
  func run() throws(PersistentStoreError) {
    for root in schema.tables.keys.sorted() {
      let rows = SQLRowComparison(schema, schema.model.entity(at: root), save.rows) { slot, entity in
        save.positions(of: slot, entity)
      }
      try store.database.read(rows.layout.sql(), rows.layout.types) { row throws(PersistentStoreError) in
        try rows.compare(row)
      } queried: { row throws(PersistentStoreError) in
        try rows.compare(row)
      }
      try rows.end()
    }
    for entity in schema.model.entities {
      for slot in entity.slots where slot.isToMany && SQLSchema.owner(of: slot.index, in: entity) == entity {
        switch schema.toMany(slot.index, of: entity) {
        case .inverse(let inverse, _): try compareEnds(slot, entity, inverse)
        case .pairs(let join, let isTurned): try comparePairs(slot, entity, join, isTurned: isTurned)
        case nil: break
        }
      }
    }
  }

  // MARK: To-manys

  /// A to-many that is not written itself is what the to-ones at its other end say, which were compared: so both have
  /// to agree in the snapshot.
  private func compareEnds(_ slot: Slot, _ declaring: Entity, _ inverse: Int) throws(PersistentStoreError) {
    guard let destination = slot.destination.map({ schema.model.entity(at: $0) }) else { return }
    var left = 0
    for member in destination.hierarchy where !member.isAbstract {
      let reader = save.rows.readers[member.index]
      for row in 0..<reader.count where reader.toOne(slot: inverse, row: row) != nil { left += 1 }
    }
    for owner in declaring.hierarchy where !owner.isAbstract {
      let reader = save.rows.readers[owner.index]
      for row in 0..<reader.count {
        let members = reader.toMany(slot: slot.index, row: row)
        let handle = NodeHandle(entity: owner.index, row: row)
        for place in 0..<members.count {
          let member = members[place]
          guard save.rows.readers[member.entity].toOne(slot: inverse, row: member.row) == handle else {
            throw save.rows.different(owner, save.rows.id(handle), slot.index)
          }
        }
        left -= members.count
      }
    }
    guard left == 0 else {
      throw SQLRows.different("\(declaring.name).\(slot.name) does not have all objects that lead to it")
    }
  }

  private func comparePairs(
    _ slot: Slot, _ declaring: Entity, _ join: SQLSchema.JoinTable, isTurned: Bool
  ) throws(PersistentStoreError) {
    let lists = SQLPairComparison(
      save.rows, declaring.hierarchy.filter { !$0.isAbstract }, slot.index, inOrder: slot.keepsSequence)
    let (one, other, position) = isTurned ? ("b", "a", "pos_b") : ("a", "b", "pos_a")
    let order = slot.keepsSequence ? ", j.\(position)" : ""
    try store.database.read(
      "SELECT j.\(one), j.\(other) FROM \(join.name.quoted) j ORDER BY j.\(one)\(order), j.\(other)",
      [.integer64, .integer64]
    ) { pair throws(PersistentStoreError) in
      try lists.add(pair.integer(0), pair.integer(1))
    } queried: { pair throws(PersistentStoreError) in
      try lists.add(pair.integer(0), pair.integer(1))
    }
    try lists.end()
  }
}

/// Compares the rows of one table. Not generic: see ``SQLValues``.
private final class SQLRowComparison {
  let layout: SQLRowLayout
  private let schema: SQLSchema
  private let root: Int
  /// The entities of the table. The following are by position in it.
  private let hierarchy: [Entity]
  /// Nil for abstract entities.
  private let cells: [[SQLRowLayout.Cell]?]
  private let rows: SQLRows
  private let readers: [EntityReader]
  private let orders: [[Int]]
  /// How many rows of each entity were compared.
  private let done: UnsafeMutablePointer<Int>
  /// The positions in ordered to-manys, by slot.
  private var positions: [[Int: [Int64?]]]

  init(_ schema: SQLSchema, _ root: Entity, _ rows: SQLRows, positions: (Slot, Entity) -> [Int64?]) {
    let layout = SQLRowLayout(schema, root)
    let hierarchy = root.hierarchy
    self.layout = layout
    self.hierarchy = hierarchy
    self.schema = schema
    self.root = root.index
    self.rows = rows
    readers = hierarchy.map { rows.readers[$0.index] }
    cells = hierarchy.map { layout.cells[$0.index] }
    orders = hierarchy.map { layout.cells[$0.index] == nil ? [] : rows.order(of: $0.index) }
    done = .allocate(capacity: hierarchy.count)
    done.initialize(repeating: 0, count: hierarchy.count)
    self.positions = hierarchy.map { _ in [:] }
    for (place, owner) in hierarchy.enumerated() {
      for cell in cells[place] ?? [] where cell.positionAt >= 0 {
        self.positions[place][cell.slot] = positions(owner.slots[cell.slot], owner)
      }
    }
  }

  deinit { done.deallocate() }

  /// Compares a row with the next one of its entity.
  @inline(__always) func compare<Row: SQLRow>(_ found: Row) throws(PersistentStoreError) {
    guard !found.isNull(0), !found.isNull(1), found.holds(0, .integer64), found.holds(1, .integer64) else {
      throw SQLRows.different("a row has no number, or no entity")
    }
    let (id, number) = (found.integer(0), found.integer(1))
    guard let place = schema.position(of: number, under: root), let cells = cells[place] else {
      throw SQLRows.different("the row \(id) is of entity number \(number)")
    }
    let reader = readers[place]
    guard done[place] < reader.count else { throw unexpected(place, id) }
    let row = orders[place].isEmpty ? done[place] : orders[place][done[place]]
    done[place] += 1
    guard rows.id(NodeHandle(entity: Int(number), row: row)) == id else { throw unexpected(place, id) }
    if let text = reader.textReference(row: row) {
      guard !found.isNull(2), found.holds(2, .text), isSame(found, 2, text) else { throw unexpected(place, id) }
    } else if !found.isNull(2) {
      throw unexpected(place, id)
    }
    for cell in cells {
      let isSame =
        if cell.kind == .toOne {
          isSameEnd(found, cell, reader, row, place)
        } else if reader.isNull(slot: cell.slot, row: row) {
          found.isNull(cell.at)
        } else {
          !found.isNull(cell.at) && found.holds(cell.at, cell.type) && isSameValue(found, cell, reader, row)
        }
      guard isSame else { throw rows.different(hierarchy[place], id, cell.slot) }
    }
  }

  /// - Throws: `.internalInconsistency` if rows are missing.
  func end() throws(PersistentStoreError) {
    for (place, reader) in readers.enumerated() where cells[place] != nil && done[place] != reader.count {
      throw SQLRows.different(
        "\(hierarchy[place].name) has \(done[place]) rows where \(reader.count) were written")
    }
  }

  private func unexpected(_ place: Int, _ id: Int64) -> PersistentStoreError {
    SQLRows.different("\(hierarchy[place].name), row \(id) is not the one that follows")
  }

  @inline(__always)
  private func isSameValue<Row: SQLRow>(
    _ found: Row, _ cell: SQLRowLayout.Cell, _ reader: EntityReader, _ row: Int
  ) -> Bool {
    let (at, slot) = (cell.at, cell.slot)
    switch cell.kind {
    case .integer: return found.integer(at) == reader.integer(slot: slot, row: row)
    case .boolean: return found.boolean(at) == reader.boolean(slot: slot, row: row)
    case .double, .date: return found.double(at).bitPattern == reader.double(slot: slot, row: row).bitPattern
    case .float: return found.float(at).bitPattern == reader.float(slot: slot, row: row).bitPattern
    case .uuid: return found.uuid(at) == reader.uuid(slot: slot, row: row)
    case .string, .uri, .decimal: return isSame(found, at, reader.bytes(slot: slot, row: row))
    case .data:
      let bytes = reader.bytes(slot: slot, row: row)
      var isSame = false
      found.withBytes(at) { isSame = Self.areSame($0, bytes) }
      return isSame
    case .undefined: return isSame(found, at, Array(reader.value(slot: slot, row: row).typedText.utf8).span)
    case .toOne, .toMany: return false
    }
  }

  @inline(__always) private func isSame<Row: SQLRow>(_ found: Row, _ at: Int, _ text: Span<UInt8>) -> Bool {
    var isSame = false
    found.withText(at) { isSame = Self.areSame($0, text) }
    return isSame
  }

  @inline(__always) private static func areSame(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
    one.withUnsafeBufferPointer { one in
      other.withUnsafeBufferPointer { other in
        guard one.count == other.count else { return false }
        guard let start = one.baseAddress, let otherStart = other.baseAddress else { return one.isEmpty }
        return memcmp(start, otherStart, one.count) == 0
      }
    }
  }

  @inline(__always)
  private func isSameEnd<Row: SQLRow>(
    _ found: Row, _ cell: SQLRowLayout.Cell, _ reader: EntityReader, _ row: Int, _ place: Int
  ) -> Bool {
    guard let end = reader.toOne(slot: cell.slot, row: row) else { return found.isNull(cell.at) }
    guard !found.isNull(cell.at), found.holds(cell.at, .integer64), found.integer(cell.at) == rows.id(end) else {
      return false
    }
    if cell.entityAt >= 0 {
      guard !found.isNull(cell.entityAt), found.holds(cell.entityAt, .integer64),
        found.integer(cell.entityAt) == Int64(end.entity)
      else { return false }
    }
    guard cell.positionAt >= 0 else { return true }
    guard let position = positions[place][cell.slot]?[row] else { return found.isNull(cell.positionAt) }
    return !found.isNull(cell.positionAt) && found.holds(cell.positionAt, .integer64)
      && found.integer(cell.positionAt) == position
  }
}

/// Compares the pairs of a to-many, which come in the order of their owners.
private final class SQLPairComparison {
  private let rows: SQLRows
  private let owners: [Entity]
  private let slot: Int
  private let inOrder: Bool
  /// For each entity of owners: its rows in the order of their numbers, and the one that is next.
  private let orders: [[Int]]
  private var next: [Int]
  private var owner: Int64?
  private var members: [Int64] = []
  private var left: Int

  init(_ rows: SQLRows, _ owners: [Entity], _ slot: Int, inOrder: Bool) {
    (self.rows, self.owners, self.slot, self.inOrder) = (rows, owners, slot, inOrder)
    orders = owners.map { rows.order(of: $0.index) }
    next = owners.map { _ in 0 }
    left = owners.reduce(0) { sum, owner in
      let reader = rows.readers[owner.index]
      return (0..<reader.count).reduce(sum) { $0 + reader.toMany(slot: slot, row: $1).count }
    }
  }

  func add(_ owner: Int64, _ member: Int64) throws(PersistentStoreError) {
    if owner != self.owner {
      try compare()
      self.owner = owner
    }
    members.append(member)
  }

  /// - Throws: `.internalInconsistency` if pairs are missing.
  func end() throws(PersistentStoreError) {
    try compare()
    guard left == 0 else {
      throw SQLRows.different("\(owners[0].name).\(owners[0].slots[slot].name): pairs are missing")
    }
  }

  /// Compares what one owner has.
  private func compare() throws(PersistentStoreError) {
    guard let owner else { return }
    guard let handle = handle(of: owner) else { throw SQLRows.different("there are pairs of the row \(owner)") }
    let reader = rows.readers[handle.entity]
    let list = reader.toMany(slot: slot, row: handle.row)
    var wanted: [Int64] = []
    for place in 0..<list.count { wanted.append(rows.id(list[place])) }
    // Without an order, they come in the order of their numbers.
    if !inOrder { wanted.sort() }
    guard wanted == members else {
      throw rows.different(owners.first { $0.index == handle.entity } ?? owners[0], owner, slot)
    }
    left -= members.count
    members.removeAll(keepingCapacity: true)
  }

  /// The object with a number that is greater than those that were asked for before.
  private func handle(of owner: Int64) -> NodeHandle? {
    for (index, entity) in owners.enumerated() {
      let count = rows.readers[entity.index].count
      while next[index] < count {
        let row = orders[index].isEmpty ? next[index] : orders[index][next[index]]
        let handle = NodeHandle(entity: entity.index, row: row)
        let id = rows.id(handle)
        if id == owner { return handle }
        if id > owner { break }
        next[index] += 1
      }
    }
    return nil
  }
}

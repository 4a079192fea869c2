import AtomicStoreSPI
import FoundationEssentials

/// Everything at once: the load of a whole store, and its replacement.
extension SQLStore {
  func load(into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let schema = try ready()
    try database.begin(isWriting: false)
    do throws(PersistentStoreError) {
      try read(schema, into: nodes)
      try database.commit(wasSaved: nil)
    } catch {
      database.rollBack()
      throw error
    }
  }

  private func read(_ schema: SQLSchema, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let load = SQLWholeLoad(self, schema, nodes)
    for root in schema.tables.keys.sorted() { try load.readRows(of: schema.model.entity(at: root)) }
    try load.readToManys()
  }

  mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let new = SQLSchema(snapshot.nodes.model, Self.dialect)
    try replaceAll(with: new, mayReplace: mayReplace) { store throws(PersistentStoreError) in
      try SQLWholeSave(store, new, snapshot).run()
      var reader = store
      guard let metadata = try reader.metadata() else {
        throw PersistentStoreError(.internalInconsistency, "the store that was written is not there")
      }
      try verify { nodes throws(PersistentStoreError) in
        try store.read(new, into: nodes)
        return metadata
      }
    }
  }

  mutating func destroy() throws(PersistentStoreError) {
    guard let metadata = try metadata() else { return }
    let schema = SQLSchema(try Self.model(of: metadata), Self.dialect)
    let store = self
    try transaction { () throws(PersistentStoreError) in try store.dropTables(schema) }
  }

  /// The model whose tables a store has.
  static func model(of metadata: StoreMetadata) throws(PersistentStoreError) -> ManagedObjectModel {
    guard let description = metadata.model else {
      throw PersistentStoreError(.modelNeeded, "the store has lost its model, which says what its tables are")
    }
    do { return try ManagedObjectModel(description) } catch {
      throw PersistentStoreError(.invalidModel, "the store's own model is not valid", underlying: error)
    }
  }
}

private final class SQLWholeLoad<Database: SQLDatabase> {
  private let store: SQLStore<Database>
  private let schema: SQLSchema
  private let nodes: NodeTableBuilder
  /// The row numbers of each entity, in the order of rows.
  private var numbers: [Int: [Int64]] = [:]
  /// The references of rows that are texts, by root entity.
  private var texts: [Int: [Int64: String]] = [:]

  init(_ store: SQLStore<Database>, _ schema: SQLSchema, _ nodes: NodeTableBuilder) {
    self.store = store
    self.schema = schema
    self.nodes = nodes
  }

  private func reference(_ id: Int64, root: Int) throws(PersistentStoreError) -> ReferenceObject {
    if id > SQLKeys.lastText { return .integer(id) }
    if texts[root] == nil, let table = schema.tables[root] {
      var found: [Int64: String] = [:]
      try store.database.query("SELECT id, ref FROM \(table.name.quoted) WHERE ref IS NOT NULL", []) { row in
        found[row.integer(0)] = row.text(1)
      }
      texts[root] = found
    }
    guard let text = texts[root]?[id] else {
      throw PersistentStoreError(.danglingReference, "a relationship leads to row \(id), which does not exist")
    }
    return .string(text)
  }

  func readRows(of root: Entity) throws(PersistentStoreError) {
    let table = schema.table(of: root).name.quoted
    for entity in root.hierarchy where !entity.isAbstract {
      let columns = store.columns(of: [entity], schema, table: "t")
      guard let places = columns.places[entity.index] else { continue }
      var ids: [Int64] = []
      let slots = entity.slots
      let nodes = self.nodes
      let roots = slots.map { $0.destination.map { schema.model.entity(at: $0).root.index } ?? 0 }
      try store.database.stream(
        "SELECT \(columns.sql) FROM \(table) t WHERE t.ent = \(entity.index) ORDER BY t.id"
      ) { row throws(PersistentStoreError) in
        let id = row.integer(0)
        ids.append(id)
        if row.isNull(3) {
          try nodes.beginNode(entity: entity.index, reference: id)
        } else {
          try nodes.beginNode(
            entity: entity.index, reference: .string(try SQLStore<Database>.text(row, 3, id)))
        }
        for slot in slots {
          guard let place = places[slot.index], !row.isNull(place.at) else { continue }
          guard row.holds(place.at, place.column.type) else { throw SQLStore<Database>.malformed(id, slot) }
          if case .attribute(let type) = slot.kind {
            try Self.set(row, place.at, type, slot, id, nodes)
          } else {
            let end = row.integer(place.at)
            if end > SQLKeys.lastText {
              try nodes.set(toOne: end, slot: slot.index)
            } else {
              try nodes.set(toOne: try reference(end, root: roots[slot.index]), slot: slot.index)
            }
          }
        }
      }
      numbers[entity.index] = ids
    }
  }

  @inline(__always) private static func set(
    _ row: any SQLRow, _ at: Int, _ type: AttributeType, _ slot: Slot, _ id: Int64, _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    switch type {
    case .integer16, .integer32, .integer64: try nodes.set(integer: row.integer(at), slot: slot.index)
    case .boolean: try nodes.set(boolean: row.boolean(at), slot: slot.index)
    case .double: try nodes.set(double: row.double(at), slot: slot.index)
    case .float: try nodes.set(float: row.float(at), slot: slot.index)
    case .date: try nodes.set(dateSeconds: row.double(at), slot: slot.index)
    case .string, .uri:
      try row.withText(at) { bytes throws(PersistentStoreError) in try nodes.set(utf8: bytes, slot: slot.index) }
    case .binaryData, .transformable:
      try row.withBytes(at) { bytes throws(PersistentStoreError) in try nodes.set(bytes: bytes, slot: slot.index) }
    case .decimal:
      try row.withText(at) { bytes throws(PersistentStoreError) in try nodes.set(decimal: bytes, slot: slot.index) }
    case .uuid: try nodes.set(uuid: row.uuid(at), slot: slot.index)
    case .undefined, .composite: try nodes.set(try SQLStore<Database>.value(row, at, type, slot, id), slot: slot.index)
    }
  }

  /// To-manys follow when all rows are known: each is read in the order of its owners, and filled as a column.
  func readToManys() throws(PersistentStoreError) {
    for entity in schema.model.entities where !entity.isAbstract {
      guard let owners = numbers[entity.index], !owners.isEmpty else { continue }
      for slot in entity.slots where slot.isToMany {
        guard let kept = schema.toMany(slot.index, of: entity), let number = slot.destination else { continue }
        try read(slot, kept, entity, schema.model.entity(at: number), owners)
      }
    }
  }

  private func read(
    _ slot: Slot, _ kept: SQLSchema.ToMany, _ entity: Entity, _ destination: Entity, _ owners: [Int64]
  ) throws(PersistentStoreError) {
    let own = schema.table(of: entity).name.quoted
    let there = schema.table(of: destination).name.quoted
    let sql: String
    switch kept {
    case .inverse(_, let column):
      let name = column.name.quoted
      let kinds = SQLStore<Database>.list(destination.hierarchy.map { Int64($0.index) })
      let order = slot.keepsSequence ? (column.positionName.map { ", d.\($0.quoted)" } ?? "") : ""
      // Where owners are of one entity, the column leads to no others. No join: PostgreSQL knows little of new tables.
      let owned = column.entityName.map { "d.\($0.quoted) = \(entity.index)" } ?? "d.\(name) IS NOT NULL"
      sql =
        "SELECT d.\(name), d.id FROM \(there) d WHERE \(owned) AND d.ent IN (\(kinds)) ORDER BY d.\(name)\(order), d.id"
    case .pairs(let join, let isTurned):
      let (one, other, position) = isTurned ? ("b", "a", "pos_b") : ("a", "b", "pos_a")
      let order = slot.keepsSequence ? ", j.\(position)" : ""
      // Others than these owners are passed over where the pairs are read.
      let isMixed = entity.root.hierarchy.filter { !$0.isAbstract }.count > 1
      let joined = isMixed ? " JOIN \(own) o ON o.id = j.\(one) WHERE o.ent = \(entity.index)" : ""
      sql =
        "SELECT j.\(one), j.\(other) FROM \(join.name.quoted) j\(joined) ORDER BY j.\(one)\(order), j.\(other)"
    }
    var counts = [UInt32](repeating: 0, count: owners.count)
    var members: [Int64] = []
    var row = 0
    var hasTexts = false
    try store.database.stream(sql) { pair throws(PersistentStoreError) in
      let owner = pair.integer(0)
      while row < owners.count, owners[row] < owner { row += 1 }
      guard row < owners.count, owners[row] == owner else { return }
      counts[row] += 1
      let member = pair.integer(1)
      if member <= SQLKeys.lastText { hasTexts = true }
      members.append(member)
    }
    guard hasTexts else {
      return try nodes.fillToMany(
        entity: entity.index, slot: slot.index, counts: counts.span, references: members.span)
    }
    var start = 0
    for (row, count) in counts.enumerated() where count > 0 {
      var list: [ObjectReference] = []
      for id in members[start..<(start + Int(count))] {
        list.append(
          ObjectReference(
            entityName: destination.name, reference: try reference(id, root: destination.root.index)))
      }
      start += Int(count)
      try nodes.set(.toMany(list), entity: entity.index, row: row, slot: slot.index)
    }
  }
}

private struct SQLWholeSave<Database: SQLDatabase> {
  private let store: SQLStore<Database>
  private let schema: SQLSchema
  private let snapshot: StoreSnapshot
  private let readers: [EntityReader]
  /// By entity: the row number of each row, where references are texts; empty where they are numbers themselves.
  private var textNumbers: [[Int64]]
  private var texts: [Int: Int64] = [:]
  private var lasts: [Int: Int64] = [:]

  init(_ store: SQLStore<Database>, _ schema: SQLSchema, _ snapshot: StoreSnapshot) throws(PersistentStoreError) {
    self.store = store
    self.schema = schema
    self.snapshot = snapshot
    readers = schema.model.entities.map { snapshot.nodes.reader(of: $0.index) }
    textNumbers = Array(repeating: [], count: readers.count)
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
    // Numbers that were given to objects which are gone stay used up.
    for root in schema.tables.keys { lasts[root] = max(lasts[root] ?? 0, snapshot.metadata.lastReference) }
  }

  private func id(_ node: NodeHandle) -> Int64 {
    let numbers = textNumbers[node.entity]
    return numbers.isEmpty ? readers[node.entity].integerReference(row: node.row) ?? 0 : numbers[node.row]
  }

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
  private func positions(of slot: Slot, _ entity: Entity) -> [Int64?] {
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
    let reader = readers[entity.index]
    let version = Int64(Date().timeIntervalSinceReferenceDate * 1_000_000)
    var names: [(name: String, type: SQLType)] = [
      ("id", .integer64), ("ent", .integer64), ("ver", .integer64), ("ref", .text),
    ]
    var written: [(slot: Slot, column: SQLSchema.Column, positions: [Int64?])] = []
    for slot in entity.slots {
      guard let column = schema.column(slot.index, of: entity) else { continue }
      names.append((column.name, column.type))
      if let name = column.entityName { names.append((name, .integer64)) }
      if let name = column.positionName { names.append((name, .integer64)) }
      written.append((slot, column, column.positionName == nil ? [] : positions(of: slot, entity)))
    }
    let numbers = textNumbers[entity.index]
    try store.database.insert(into: schema.table(of: entity).name, columns: names, count: reader.count) {
      row, writer throws(PersistentStoreError) in
      let reference = numbers.isEmpty ? nil : reader.integerReference(row: row)
      writer.integer(id(NodeHandle(entity: entity.index, row: row)))
      writer.integer(Int64(entity.index))
      writer.integer(version)
      if numbers.isEmpty || reference != nil {
        writer.null()
      } else {
        try writer.text(Array(reader.reference(row: row).description.utf8).span)
      }
      for (slot, column, positions) in written {
        if case .attribute(let type) = slot.kind {
          try write(reader, slot, type, row, writer, entity)
          continue
        }
        let end = reader.toOne(slot: slot.index, row: row)
        if let end { writer.integer(id(end)) } else { writer.null() }
        if column.entityName != nil { if let end { writer.integer(Int64(end.entity)) } else { writer.null() } }
        if column.positionName != nil { if let place = positions[row] { writer.integer(place) } else { writer.null() } }
      }
    }
  }

  private func write(
    _ reader: EntityReader, _ slot: Slot, _ type: AttributeType, _ row: Int, _ writer: any SQLRowWriter,
    _ entity: Entity
  ) throws(PersistentStoreError) {
    guard !reader.isNull(slot: slot.index, row: row) else { return writer.null() }
    switch type {
    case .integer16, .integer32, .integer64: writer.integer(reader.integer(slot: slot.index, row: row))
    case .boolean: writer.boolean(reader.boolean(slot: slot.index, row: row))
    case .double, .date: writer.double(reader.double(slot: slot.index, row: row))
    case .float: writer.float(reader.float(slot: slot.index, row: row))
    case .uuid: writer.uuid(reader.uuid(slot: slot.index, row: row))
    case .string, .uri, .decimal, .binaryData, .transformable:
      do throws(PersistentStoreError) {
        let bytes = reader.bytes(slot: slot.index, row: row)
        if SQLType(type) == .text { try writer.text(bytes) } else { try writer.blob(bytes) }
      } catch {
        throw error.located(
          StoreLocation(
            entity: entity.name, reference: reader.reference(row: row).description, property: slot.name))
      }
    case .undefined, .composite:
      try writer.text(Array(reader.value(slot: slot.index, row: row).typedText.utf8).span)
    }
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
    let ordered = join.isOrdered
    try store.database.insert(
      into: join.name, columns: [("a", .integer64), ("b", .integer64), ("pos_a", .integer64), ("pos_b", .integer64)],
      count: pairs.count
    ) { index, writer in
      let (owner, member, place) = pairs[index]
      writer.integer(id(owner))
      writer.integer(id(member))
      if ordered.0 { writer.integer(Int64(place)) } else { writer.null() }
      if ordered.1, let place = behind[member]?[owner] { writer.integer(Int64(place)) } else { writer.null() }
    }
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Writes a new store: what Core Data would have created for the model, filled.
struct StoreWriter {
  private let nodes: NodeTable
  private let metadata: StoreMetadata
  private let path: String
  private let values: RowValues
  private let layout: DatabaseLayout
  private let text: StoreSchemaText
  private let output: SQLiteOutput

  init(_ snapshot: StoreSnapshot, path: String, external: ExternalDataWriter) throws(PersistentStoreError) {
    nodes = snapshot.nodes
    metadata = snapshot.metadata
    self.path = path
    layout = DatabaseLayout(model: nodes.model, numbers: DatabaseLayout.freshNumbers(nodes.model))
    text = StoreSchemaText(layout)
    try Self.checkNames(text, path)
    values = try RowValues(
      nodes, layout: layout, path: path, external: external, lastReference: metadata.lastReference)
    output = try SQLiteOutput(for: path)
  }

  func write(to file: StagedFile) throws(PersistentStoreError) {
    for statement in text.createTables { try output.run(statement) }
    for index in layout.tables.indices { try writeRows(index) }
    for index in layout.joinTables.indices { try writeJoins(index) }
    try writePrimaryKeys()
    try writeMetadata()
    for index in text.createIndexes { try create(index) }
    try output.finish { (bytes) throws(PersistentStoreError) in try file.write(bytes) }
  }

  /// - Throws: `.invalidValue` for objects that a uniqueness constraint of the model forbids.
  private func create(_ index: StoreSchemaText.Index) throws(PersistentStoreError) {
    do throws(PersistentStoreError) { try output.run(index.sql) } catch {
      guard let (entity, properties) = index.constraint, error.code == .invalidValue else { throw error }
      throw PersistentStoreError(
        .invalidValue,
        "two objects of \(entity) have the same \(properties.joined(separator: ", ")), which a uniqueness constraint of the model forbids",
        at: StoreLocation(file: path, entity: entity, property: properties.count == 1 ? properties[0] : nil))
    }
  }

  // MARK: Before anything is written

  /// Names that differ in case only are one name in SQLite.
  private static func checkNames(_ text: StoreSchemaText, _ path: String) throws(PersistentStoreError) {
    var seen: Set<String> = []
    for name in text.layout.tables.map(\.name) + text.joins.map(\.table)
    where !seen.insert(DatabaseSchema.key(name)).inserted {
      throw PersistentStoreError(
        .unsupportedByFormat, "two entities or relationships would share the table \(name)",
        at: StoreLocation(file: path))
    }
  }

  // MARK: Rows

  private func writeRows(_ index: Int) throws(PersistentStoreError) {
    let table = layout.tables[index]
    let columns = text.columns[index]
    let orders = try orderKeys(columns)
    let names = ["Z_PK", "Z_ENT", "Z_OPT"] + columns.map(\.name)
    let insertion = try output.prepare(
      "INSERT INTO \(StoreSchemaText.name(table.name)) (\(names.map(StoreSchemaText.name).joined(separator: ", "))) "
        + "VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))")
    // All entities of the table in the order of their keys, as the rows will be.
    var rows: [(key: Int64, node: NodeHandle)] = []
    for entity in table.entities {
      for row in 0..<nodes.count(of: entity) {
        rows.append((values.keys[entity][row], NodeHandle(entity: entity, row: row)))
      }
    }
    rows.sort { $0.key < $1.key }
    var readers: [Int: EntityReader] = [:]
    var used: [Int: [(position: Int, column: StoreSchemaText.Column)]] = [:]
    let declared = Dictionary(grouping: zip(columns.indices, columns).map { (position: $0, column: $1) }) {
      $0.column.source.entity
    }
    for index in table.entities {
      readers[index] = nodes.reader(of: index)
      for declarer in sequence(first: nodes.model.entity(at: index), next: \.superentity) {
        used[index, default: []] += declared[declarer.index] ?? []
      }
    }
    for (key, node) in rows {
      guard let reader = readers[node.entity] else { continue }
      let entity = nodes.model.entity(at: node.entity)
      insertion.bind(1, integer: key)
      insertion.bind(2, integer: layout.numbers[node.entity] ?? 0)
      insertion.bind(3, integer: 1)
      for (position, column) in used[node.entity] ?? [] {
        let cell = RowValues.Cell(column: column.source, table: table.root, position: position)
        try values.bind(
          cell, of: node, reader, listed: orders[position]?[node], to: insertion, parameter: Int32(position + 4))
      }
      do throws(PersistentStoreError) { try insertion.run() } catch {
        throw error.located(StoreLocation(entity: entity.name, reference: nodes.reference(of: node).description))
      }
    }
  }

  // MARK: To-many relationships

  /// By column: what each member's row says about its place in an owner's list, or about its owner.
  private func orderKeys(_ columns: [StoreSchemaText.Column]) throws(PersistentStoreError) -> [Int: [NodeHandle: Int64]]
  {
    var result: [Int: [NodeHandle: Int64]] = [:]
    for (position, column) in columns.enumerated() {
      let entity = nodes.model.entity(at: column.source.entity)
      switch column.source.role {
      case .orderKey:
        guard let (owner, inverse) = layout.inverse(of: entity.slots[column.source.slot], in: entity) else { continue }
        result[position] = try values.members(layout.declarer(of: inverse.index, in: owner), inverse.index) {
          _, place in
          OrderKeys.key(at: place)
        }
      case .owner(let owner, let slot):
        result[position] = try values.members(nodes.model.entity(at: owner), slot) { owner, _ in values.key(owner) }
      case .ownerOrderKey(let owner, let slot):
        result[position] = try values.members(nodes.model.entity(at: owner), slot) { _, place in
          OrderKeys.key(at: place)
        }
      default: break
      }
    }
    return result
  }

  private func writeJoins(_ index: Int) throws(PersistentStoreError) {
    let join = layout.joinTables[index]
    let names = text.joins[index]
    struct Pair: Hashable { let first: Int64, second: Int64 }
    var orders: [Pair: Int64] = [:]
    if join.second.isOrdered, !join.isReflexive {
      forEachMember(join.second) { owner, member, place in
        orders[Pair(first: values.key(member), second: values.key(owner))] = OrderKeys.key(at: place)
      }
    }
    let columns = [names.first, names.second, names.secondOrder, names.firstOrder].compactMap { $0 }
    let insertion = try output.prepare(
      "INSERT INTO \(StoreSchemaText.name(names.table)) (\(columns.map(StoreSchemaText.name).joined(separator: ", "))) "
        + "VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))")
    var failure: PersistentStoreError?
    forEachMember(join.first) { owner, member, place in
      guard failure == nil else { return }
      insertion.bind(1, integer: values.key(owner))
      insertion.bind(2, integer: values.key(member))
      var parameter: Int32 = 3
      if names.secondOrder != nil {
        insertion.bind(parameter, integer: OrderKeys.key(at: place))
        parameter += 1
      }
      if names.firstOrder != nil, let order = orders[Pair(first: values.key(owner), second: values.key(member))] {
        insertion.bind(parameter, integer: order)
      }
      do throws(PersistentStoreError) { try insertion.run() } catch { failure = error }
    }
    if let failure { throw failure }
  }

  private func forEachMember(
    _ side: DatabaseLayout.JoinTable.Side, _ body: (_ owner: NodeHandle, _ member: NodeHandle, _ place: Int) -> Void
  ) {
    for entity in nodes.model.entity(at: side.entity).hierarchy {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        let list = reader.toMany(slot: side.slot, row: row)
        for place in 0..<list.count { body(NodeHandle(entity: entity.index, row: row), list[place], place) }
      }
    }
  }

  // MARK: The store's own tables

  private func writePrimaryKeys() throws(PersistentStoreError) {
    let insertion = try output.prepare("INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, ?)")
    let entities = nodes.model.entities.sorted { (layout.numbers[$0.index] ?? 0) < (layout.numbers[$1.index] ?? 0) }
    for entity in entities {
      let used = entity.hierarchy.reduce(Int64(0)) { max($0, values.keys[$1.index].max() ?? 0) }
      insertion.bind(1, integer: layout.numbers[entity.index] ?? 0)
      insertion.bind(2, text: entity.name)
      insertion.bind(3, integer: entity.superentity.flatMap { layout.numbers[$0.index] } ?? 0)
      // The kit counts references over all entities: what was given out once is not given out again to any.
      insertion.bind(4, integer: entity.superentity == nil ? max(used, metadata.lastReference) : 0)
      try insertion.run()
    }
  }

  private func writeMetadata() throws(PersistentStoreError) {
    var entries = metadata.entries
    entries["NSStoreType"] = "SQLite"
    entries["_NSAutoVacuumLevel"] = "2"
    entries[StoreKeys.model] = (metadata.model ?? nodes.model.description).propertyList
    let list = try PropertyList.encodeBinary(.dictionary(entries))
    let insertion = try output.prepare("INSERT INTO Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST) VALUES (1, ?, ?)")
    insertion.bind(1, text: metadata.uuid.uuidString)
    list.withUnsafeBytes { insertion.bind(2, bytes: $0) }
    try insertion.run()
  }
}

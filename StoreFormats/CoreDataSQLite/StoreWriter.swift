import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Writes a new store: what Core Data would have created for the model, filled.
struct StoreWriter {
  /// The order key of the first object of a list, and what is between two.
  static let firstOrderKey: Int64 = 2048
  static let orderKeyStep: Int64 = 1024

  private let nodes: NodeTable
  private let metadata: StoreMetadata
  private let path: String
  private let external: ExternalDataWriter
  private let layout: DatabaseLayout
  private let text: StoreSchemaText
  private let output: SQLiteOutput
  /// The key of each object: its reference, or where that is a text a number that no other has.
  private let keys: [[Int64]]

  init(_ snapshot: StoreSnapshot, path: String, external: ExternalDataWriter) throws(PersistentStoreError) {
    nodes = snapshot.nodes
    metadata = snapshot.metadata
    self.path = path
    self.external = external
    layout = DatabaseLayout(model: nodes.model, numbers: DatabaseLayout.freshNumbers(nodes.model))
    text = StoreSchemaText(layout)
    try Self.checkNames(text, path)
    keys = try Self.keys(of: nodes, after: metadata.lastReference, path)
    output = try SQLiteOutput(for: path)
  }

  func write(to file: StagedFile) throws(PersistentStoreError) {
    for statement in text.createTables { try output.run(statement) }
    for index in layout.tables.indices { try writeRows(index) }
    for index in layout.joinTables.indices { try writeJoins(index) }
    try writePrimaryKeys()
    try writeMetadata()
    for index in text.createIndexes { try create(index) }
    try external.finish()
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

  private static func keys(of nodes: NodeTable, after last: Int64, _ path: String) throws(PersistentStoreError)
    -> [[Int64]]
  {
    var next = last
    var result: [[Int64]] = []
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      var keys: [Int64] = []
      keys.reserveCapacity(reader.count)
      for row in 0..<reader.count {
        guard let number = reader.integerReference(row: row) else {
          next += 1
          keys.append(next)
          continue
        }
        guard number > 0 else {
          throw PersistentStoreError(
            .unsupportedByFormat, "a key of a Core Data store is a positive number, not \(number)",
            at: StoreLocation(file: path, entity: entity.name, reference: String(number)))
        }
        keys.append(number)
      }
      result.append(keys)
    }
    return result
  }

  private func key(_ node: NodeHandle) -> Int64 { keys[node.entity][node.row] }

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
      for row in 0..<nodes.count(of: entity) { rows.append((keys[entity][row], NodeHandle(entity: entity, row: row))) }
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
        let parameter = Int32(position + 4)
        switch column.source.role {
        case .attribute(let type)
        where (type == .binaryData || type == .transformable)
          && entity.slots[column.source.slot].attribute?.allowsExternalBinaryDataStorage == true:
          try bindExternal(column.source.slot, reader, node, table, position, to: insertion)
        case .attribute(let type):
          try bind(type, column.source.slot, reader, node, to: insertion, parameter)
        case .toOne:
          if let destination = reader.toOne(slot: column.source.slot, row: node.row) {
            insertion.bind(parameter, integer: self.key(destination))
          }
        case .toOneEntity:
          if let destination = reader.toOne(slot: column.source.slot, row: node.row) {
            insertion.bind(parameter, integer: layout.numbers[destination.entity] ?? 0)
          }
        case .orderKey, .owner, .ownerOrderKey:
          if let value = orders[position]?[node] { insertion.bind(parameter, integer: value) }
        }
      }
      do throws(PersistentStoreError) { try insertion.run() } catch {
        throw error.located(StoreLocation(entity: entity.name, reference: nodes.reference(of: node).description))
      }
    }
  }

  private func bind(
    _ type: AttributeType, _ slot: Int, _ reader: EntityReader, _ node: NodeHandle, to insertion: Insertion,
    _ parameter: Int32
  ) throws(PersistentStoreError) {
    let row = node.row
    guard !reader.isNull(slot: slot, row: row) else { return }
    func refuse(_ what: String) -> PersistentStoreError {
      PersistentStoreError(
        .unsupportedByFormat, "a column of a Core Data store does not keep \(what)",
        at: StoreLocation(
          file: path, entity: nodes.model.entity(at: node.entity).name,
          reference: nodes.reference(of: node).description,
          property: nodes.model.entity(at: node.entity).slots[slot].name))
    }
    func plain(_ number: Double) throws(PersistentStoreError) -> Double {
      guard number.isFinite, number != 0 || number.sign == .plus else { throw refuse("\(number)") }
      return number
    }
    switch type {
    case .integer16, .integer32, .integer64: insertion.bind(parameter, integer: reader.integer(slot: slot, row: row))
    case .boolean: insertion.bind(parameter, integer: reader.boolean(slot: slot, row: row) ? 1 : 0)
    case .float: insertion.bind(parameter, real: try plain(Double(reader.float(slot: slot, row: row))))
    case .double, .date: insertion.bind(parameter, real: try plain(reader.double(slot: slot, row: row)))
    case .string, .uri: insertion.bind(parameter, text: reader.bytes(slot: slot, row: row))
    case .decimal:
      guard let number = DecimalNumber(utf8: reader.bytes(slot: slot, row: row)) else { return }
      let column = ColumnNumber(number)
      guard column.text == number.description else { throw refuse("all digits of \(number)") }
      switch column {
      case .integer(let value): insertion.bind(parameter, integer: value)
      case .real(let value): insertion.bind(parameter, real: value)
      case .notANumber: insertion.bind(parameter, text: "NaN")
      }
    case .uuid: withUnsafeBytes(of: reader.uuid(slot: slot, row: row).uuid) { insertion.bind(parameter, bytes: $0) }
    case .binaryData, .transformable:
      reader.bytes(slot: slot, row: row).withUnsafeBytes { insertion.bind(parameter, bytes: $0) }
    case .undefined, .composite: throw refuse("values of undefined type")
    }
  }

  private func bindExternal(
    _ slot: Int, _ reader: EntityReader, _ node: NodeHandle, _ table: DatabaseLayout.Table, _ position: Int,
    to insertion: Insertion
  ) throws(PersistentStoreError) {
    guard !reader.isNull(slot: slot, row: node.row) else { return }
    let cell = try reader.bytes(slot: slot, row: node.row).withUnsafeBytes { bytes throws(PersistentStoreError) in
      try external.cell(bytes, table: layout.numbers[table.root] ?? 0, column: position, key: key(node))
    }
    cell.withUnsafeBytes { insertion.bind(Int32(position + 4), bytes: $0) }
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
        result[position] = try members(layout.declarer(of: inverse.index, in: owner), inverse.index) { _, place in
          Self.firstOrderKey + Int64(place) * Self.orderKeyStep
        }
      case .owner(let owner, let slot):
        result[position] = try members(nodes.model.entity(at: owner), slot) { owner, _ in key(owner) }
      case .ownerOrderKey(let owner, let slot):
        result[position] = try members(nodes.model.entity(at: owner), slot) { _, place in
          Self.firstOrderKey + Int64(place) * Self.orderKeyStep
        }
      default: break
      }
    }
    return result
  }

  /// - Throws: `.unsupportedByFormat` for an object that two objects have: its row has room for one.
  private func members(
    _ declarer: Entity, _ slot: Int, _ value: (NodeHandle, Int) -> Int64
  ) throws(PersistentStoreError) -> [NodeHandle: Int64] {
    var result: [NodeHandle: Int64] = [:]
    for entity in declarer.hierarchy where !entity.isAbstract {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        let list = reader.toMany(slot: slot, row: row)
        for place in 0..<list.count {
          guard result.updateValue(value(NodeHandle(entity: entity.index, row: row), place), forKey: list[place]) == nil
          else {
            throw PersistentStoreError(
              .unsupportedByFormat,
              "\(nodes.objectReference(of: list[place])) is in two such lists; without an inverse a Core Data store keeps one",
              at: StoreLocation(
                file: path, entity: entity.name, reference: reader.reference(row: row).description,
                property: entity.slots[slot].name))
          }
        }
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
        orders[Pair(first: key(member), second: key(owner))] = Self.firstOrderKey + Int64(place) * Self.orderKeyStep
      }
    }
    let columns = [names.first, names.second, names.secondOrder, names.firstOrder].compactMap { $0 }
    let insertion = try output.prepare(
      "INSERT INTO \(StoreSchemaText.name(names.table)) (\(columns.map(StoreSchemaText.name).joined(separator: ", "))) "
        + "VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))")
    var failure: PersistentStoreError?
    forEachMember(join.first) { owner, member, place in
      guard failure == nil else { return }
      insertion.bind(1, integer: key(owner))
      insertion.bind(2, integer: key(member))
      var parameter: Int32 = 3
      if names.secondOrder != nil {
        insertion.bind(parameter, integer: Self.firstOrderKey + Int64(place) * Self.orderKeyStep)
        parameter += 1
      }
      if names.firstOrder != nil, let order = orders[Pair(first: key(owner), second: key(member))] {
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
      let used = entity.hierarchy.reduce(Int64(0)) { max($0, keys[$1.index].max() ?? 0) }
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

/// How a decimal number is kept in a column that holds integers and doubles.
private enum ColumnNumber {
  case integer(Int64)
  case real(Double)
  case notANumber

  init(_ number: DecimalNumber) {
    if number.isNaN {
      self = .notANumber
    } else if let value = Int64(number.description) {
      self = .integer(value)
    } else {
      self = .real(number.doubleValue)
    }
  }

  /// What is read from the column. A whole double that fits comes back as an integer.
  var text: String? {
    switch self {
    case .integer(let value): String(value)
    case .real(let value): DecimalNumber(Int64(exactly: value).map { String($0) } ?? value.description)?.description
    case .notANumber: "NaN"
    }
  }
}

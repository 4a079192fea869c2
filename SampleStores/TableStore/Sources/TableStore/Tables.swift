import AtomicStoreSPI

/// The tables of a store: one for each entity of the objects' model. The store lists what they are called there.
struct Tables {
  /// An entity's table: the reference, and a column for each property.
  struct Table {
    let entity: String
    let properties: [String]
    let name: String
    /// Columns without a type keep values as they are.
    let statement: String

    init(_ entity: String, _ properties: [String], number: Int) {
      (self.entity, self.properties) = (entity, properties)
      name = Self.plain(entity, number)
      let columns = ["id"] + zip(properties, 1...).map { Self.plain($0, $1) }
      statement = "CREATE TABLE \(name) (" + columns.joined(separator: ", ") + ")"
    }

    /// The plain letters of a name, and a number: SQLite compares names without case.
    private static func plain(_ name: String, _ number: Int) -> String {
      let letters = name.utf8.filter { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }.prefix(48)
      return String(decoding: letters, as: UTF8.self) + "_\(number)"
    }

    /// The entity and the slots in a model that may have others, or have them in another order.
    func slots(in model: ManagedObjectModel) throws(PersistentStoreError) -> (entity: Int, slots: [Slot]) {
      let found = model.entity(named: entity)
      let slots = properties.compactMap { found?.slot(named: $0) }.compactMap { found?.slots[$0] }
      guard let found, slots.count == properties.count else {
        let property = found.flatMap { found in properties.first { found.slot(named: $0) == nil } }
        throw PersistentStoreError(
          .modelMismatch, "the model does not have this", at: StoreLocation(entity: entity, property: property))
      }
      return (found.index, slots)
    }
  }
  static let store =
    "CREATE TABLE store (uuid TEXT, last INTEGER, objects INTEGER, metadata TEXT, model TEXT, tables TEXT)"
  let tables: [Table]

  init(_ model: ManagedObjectModel) {
    tables = zip(model.entities, 1...).map { Table($0.name, $0.slots.map(\.name), number: $1) }
  }

  /// The tables that a store lists; nil for a list that is not one.
  init?(_ list: PropertyListValue) {
    tables = zip(list.arrayValue ?? [], 1...).map { names, number in
      let texts = names.arrayValue?.compactMap(\.stringValue) ?? []
      return Table(texts.first ?? "", Array(texts.dropFirst()), number: number)
    }
    // Anything else in the list, and a property that is there twice.
    guard self.list == list,
      tables.allSatisfy({ Set($0.properties.map { ScalarString($0) }).count == $0.properties.count })
    else { return nil }
  }

  var list: PropertyListValue {
    .array(tables.map { table in .array(([table.entity] + table.properties).map { .string($0) }) })
  }

  // MARK: Writing

  func write(_ nodes: NodeTable, to database: Database) throws(PersistentStoreError) {
    for table in tables {
      guard table.properties.count < 2000 else {
        throw PersistentStoreError(
          .unsupportedByFormat, "SQLite has at most 2,000 columns", at: StoreLocation(entity: table.entity))
      }
      try database.run(table.statement)
      let marks = Array(repeating: "?", count: table.properties.count + 1).joined(separator: ", ")
      let row = try Statement(database, "INSERT INTO \(table.name) VALUES (\(marks))")
      let (entity, slots) = try table.slots(in: nodes.model)
      let reader = nodes.reader(of: entity)
      for index in 0..<reader.count {
        var cells = [Self.cell(reader.reference(row: index))]
        for slot in slots { cells.append(try Self.cell(slot.kind, reader.value(slot: slot.index, row: index))) }
        try row.insert(cells)
      }
    }
  }

  private static func cell(_ reference: ReferenceObject) -> Cell {
    switch reference {
    case .integer(let number): .integer(number)
    case .string(let text): .string(text)
    }
  }

  private static func item(_ reference: ReferenceObject) -> PropertyListValue {
    switch reference {
    case .integer(let number): .integer(Int128(number))
    case .string(let text): .string(text)
    }
  }

  /// A value in SQLite's own storage class where that keeps it, and otherwise as text with its type.
  private static func cell(_ kind: Slot.Kind, _ value: StoredValue) throws(PersistentStoreError) -> Cell {
    switch (kind, value) {
    case (_, .null): return .null
    case (_, .toOne(let object)): return cell(object.reference)
    case (_, .toMany(let objects)):
      return objects.isEmpty
        ? .null : .string(try PropertyListValue.array(objects.map { item($0.reference) }).typedText)
    case (.attribute(.undefined), let value): return .string(value.typedText)
    case (_, .boolean(let flag)): return .integer(flag ? 1 : 0)
    // SQLite takes a not-a-number for NULL.
    case (_, .double(let number)) where number.isNaN: return .string(value.typedText)
    case (.attribute(.string), .string), (_, .integer), (_, .double), (_, .data): return value
    case (_, let value): return .string(value.typedText)
    }
  }

  // MARK: Reading

  /// Reads all objects, and returns how many there are.
  func read(_ database: Database, into nodes: NodeTableBuilder) throws(PersistentStoreError) -> Int {
    // Another table, a view or a trigger is not understood.
    let found = try database.values("SELECT sql FROM sqlite_schema ORDER BY rowid").map { ScalarString($0.typedText) }
    guard found == ([Self.store] + tables.map(\.statement)).map({ ScalarString(Cell.string($0).typedText) }) else {
      throw PersistentStoreError(.malformed, "the tables are not those that 'store' lists")
    }
    var count = 0
    for table in tables {
      let (entity, slots) = try table.slots(in: nodes.model)
      let rows = try Statement(database, "SELECT * FROM \(table.name) ORDER BY rowid")
      while try rows.step() {
        try nodes.beginNode(entity: entity, reference: try Self.reference(try rows[0]))
        for (slot, column) in zip(slots, Int32(1)...) {
          do { try Self.set(try rows[column], slot, in: nodes) } catch {
            throw error.located(nodes.location(slot.index))
          }
        }
        count += 1
      }
    }
    return count
  }

  private static func reference(_ cell: Cell) throws(PersistentStoreError) -> ReferenceObject {
    switch cell {
    case .integer(let number): return .integer(number)
    case .string(let text): return .string(text)
    default: throw PersistentStoreError(.malformed, "a reference is an integer or a text")
    }
  }

  private static func set(_ cell: Cell, _ slot: Slot, in nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let value: StoredValue?
    switch (slot.kind, cell) {
    case (_, .null): return
    case (.toOne, _): return try nodes.set(toOne: try reference(cell), slot: slot.index)
    case (.toMany, .string(let text)):
      guard let list = try PropertyListValue(typedText: text).arrayValue else {
        throw PersistentStoreError(.malformed, "a relationship to many is a list")
      }
      for element in list {
        let number = element.integerValue.flatMap { Int64(exactly: $0) }
        let member = number.map { Cell.integer($0) } ?? element.stringValue.map { .string($0) }
        try nodes.append(toMany: try reference(member ?? .null), slot: slot.index)
      }
      return
    case (.attribute(let type), .string(let text)) where type != .string: value = StoredValue(typedText: text)
    case (.attribute(.boolean), .integer(let number)) where 0...1 ~= number: value = .boolean(number == 1)
    default: value = cell
    }
    guard let value, !value.isNull, slot.attributeType?.accepts(value) ?? false else {
      throw PersistentStoreError(.invalidValue, "the value does not have the type of the property")
    }
    try nodes.set(value, slot: slot.index)
  }
}

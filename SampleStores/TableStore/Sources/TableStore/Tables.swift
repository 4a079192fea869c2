import AtomicStoreSPI

/// The tables of a model.
struct Tables {
  /// An entity's table: the reference, and a column for each slot.
  struct Table {
    let entity: Entity
    let name: String
    let columns: [String]
    /// Columns without a type keep values as they are.
    var statement: String { "CREATE TABLE \(name) (" + (["id"] + columns).joined(separator: ", ") + ")" }

    /// The entity and the slots in a model that may have others, or have them in another order.
    func slots(in model: ManagedObjectModel) throws(PersistentStoreError) -> (entity: Int, slots: [Slot]) {
      let found = model.entity(named: entity.name)
      let slots = entity.slots.compactMap { slot in found?.slot(named: slot.name).flatMap { found?.slots[$0] } }
      guard let found, slots.count == columns.count else {
        throw PersistentStoreError(
          .modelMismatch, "the model lacks the entity or a property of it", at: StoreLocation(entity: entity.name))
      }
      return (found.index, slots)
    }
  }
  static let store = "CREATE TABLE store (uuid TEXT, last INTEGER, objects INTEGER, metadata TEXT, model TEXT)"
  let tables: [Table]

  init(_ model: ManagedObjectModel) {
    tables = model.entities.map { entity in
      Table(
        entity: entity, name: Self.name(entity.name, entity.index),
        columns: entity.slots.map { Self.name($0.name, $0.index) })
    }
  }

  /// The plain letters of a name, and a number: SQLite compares names without case.
  private static func name(_ name: String, _ index: Int) -> String {
    let letters = name.utf8.filter { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }.prefix(48)
    return String(decoding: letters, as: UTF8.self) + "_\(index + 1)"
  }

  // MARK: Writing

  func write(_ nodes: NodeTable, to database: Database) throws(PersistentStoreError) {
    for table in tables {
      guard table.columns.count < 2000 else {
        throw PersistentStoreError(
          .unsupportedByFormat, "SQLite has at most 2,000 columns", at: StoreLocation(entity: table.entity.name))
      }
      try database.run(table.statement)
      let marks = Array(repeating: "?", count: table.columns.count + 1).joined(separator: ", ")
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
    case .string(let text): .text(text)
    }
  }

  /// A value in SQLite's own storage class where that keeps it, and otherwise as text with its type.
  private static func cell(_ kind: Slot.Kind, _ value: StoredValue) throws(PersistentStoreError) -> Cell {
    switch (kind, value) {
    case (_, .null): return .null
    case (_, .toOne(let object)): return cell(object.reference)
    case (_, .toMany(let objects)):
      let list = objects.map { object -> PropertyListValue in
        switch object.reference {
        case .integer(let number): .integer(Int128(number))
        case .string(let text): .string(text)
        }
      }
      return list.isEmpty ? .null : .text(try PropertyListValue.array(list).typedText)
    case (.attribute(.string), .string(let text)): return .text(text)
    case (.attribute(.integer16), .integer(let number)), (.attribute(.integer32), .integer(let number)),
      (.attribute(.integer64), .integer(let number)):
      return .integer(number)
    case (.attribute(.boolean), .boolean(let flag)): return .integer(flag ? 1 : 0)
    // SQLite takes a not-a-number for NULL.
    case (.attribute(.double), .double(let number)) where !number.isNaN: return .real(number)
    case (.attribute(.binaryData), .data(let data)): return .blob(data)
    case (_, let value): return .text(value.typedText)
    }
  }

  // MARK: Reading

  /// Reads all objects, and returns how many there are.
  func read(_ database: Database, into nodes: NodeTableBuilder) throws(PersistentStoreError) -> Int {
    // Another table, a view or a trigger is not understood.
    let found = try database.values("SELECT sql FROM sqlite_schema ORDER BY rowid").map { ScalarString("\($0)") }
    guard found == ([Self.store] + tables.map(\.statement)).map({ ScalarString("\(Cell.text($0))") }) else {
      throw PersistentStoreError(.malformed, "the schema is not that of the store's model")
    }
    var count = 0
    for table in tables {
      let (entity, slots) = try table.slots(in: nodes.model)
      let rows = try Statement(database, "SELECT * FROM \(table.name) ORDER BY rowid")
      while try rows.step() {
        let place = StoreLocation(entity: table.entity.name)
        try nodes.beginNode(entity: entity, reference: try Self.reference(try rows[0], at: place))
        for (slot, column) in zip(slots, Int32(1)...) {
          let location = nodes.location(slot.index)
          do throws(PersistentStoreError) { try Self.set(try rows[column], slot, in: nodes, at: location) } catch {
            throw error.located(location)
          }
        }
        count += 1
      }
    }
    return count
  }

  private static func reference(_ cell: Cell, at place: StoreLocation) throws(PersistentStoreError) -> ReferenceObject {
    switch cell {
    case .integer(let number): return .integer(number)
    case .text(let text): return .string(text)
    default: throw PersistentStoreError(.malformed, "a reference is an integer or a text", at: place)
    }
  }

  private static func set(
    _ cell: Cell, _ slot: Slot, in nodes: NodeTableBuilder, at place: StoreLocation
  ) throws(PersistentStoreError) {
    let value: StoredValue?
    switch (slot.kind, cell) {
    case (_, .null): return
    case (.toOne, _): return try nodes.set(toOne: try reference(cell, at: place), slot: slot.index)
    case (.toMany, .text(let text)):
      guard let list = try PropertyListValue(typedText: text).arrayValue else {
        throw PersistentStoreError(.malformed, "a relationship to many is a list", at: place)
      }
      for element in list {
        let number = element.integerValue.flatMap { Int64(exactly: $0) }
        let member = number.map { Cell.integer($0) } ?? element.stringValue.map { .text($0) }
        try nodes.append(toMany: try reference(member ?? .null, at: place), slot: slot.index)
      }
      return
    case (.attribute(.string), .text(let text)): value = .string(text)
    case (.attribute(.integer16), .integer(let number)), (.attribute(.integer32), .integer(let number)),
      (.attribute(.integer64), .integer(let number)):
      value = .integer(number)
    case (.attribute(.boolean), .integer(let number)) where 0...1 ~= number: value = .boolean(number == 1)
    case (.attribute(.double), .real(let number)): value = .double(number)
    case (.attribute(.binaryData), .blob(let data)): value = .data(data)
    case (.attribute(let type), .text(let text)) where type != .string: value = StoredValue(typedText: text)
    default: value = nil
    }
    guard let value, !value.isNull, slot.attributeType?.accepts(value) ?? false else {
      throw PersistentStoreError(.invalidValue, "the value does not have the type of the property", at: place)
    }
    try nodes.set(value, slot: slot.index)
  }
}

import ArrowTables
import AtomicStoreKit

/// Arrow columns of rows that are not found in the columns of a store. What is a property has the type that the model
/// gives it, whatever the rows have.
struct ArrowValueColumns {
  private let context: ManagedObjectContext
  private let columns: [FetchColumn]
  private let entity: Entity
  /// Whether a column beside the references of objects names their entities.
  private let namesEntities: Bool
  private let rows: [FetchedRow]
  /// For a store that is read whole, whether references are texts, by entity.
  private let known: [Bool]?
  /// For a database, what was found out, by the root of the hierarchy.
  private var found: [Int: Bool] = [:]

  init(
    _ rows: [FetchedRow], _ columns: [FetchColumn], of entity: Entity, namesEntities: Bool,
    in context: ManagedObjectContext, _ store: PersistentStore
  ) {
    self.rows = rows
    self.columns = columns
    self.entity = entity
    self.namesEntities = namesEntities
    self.context = context
    known = store.connection == nil ? ArrowReferences.hierarchiesWithTexts(store.nodes) : nil
  }

  mutating func arrowColumns() throws -> [ArrowColumn] {
    var result: [ArrowColumn] = []
    for (index, column) in columns.enumerated() {
      switch column.expression {
      case .evaluatedObject:
        result += try identifiers(column.name, index)
      case .keyPath(let path):
        result.append(try property(path, column.name, index))
      default:
        result.append(Self.column(column.name, rows.map { $0.values[index] }))
      }
    }
    return result
  }

  private mutating func identifiers(_ name: String, _ index: Int) throws -> [ArrowColumn] {
    let objects = rows.map { row -> ManagedObjectID? in
      if case .object(let id) = row.values[index] { id } else { nil }
    }
    let areTexts = try areTexts(entity, objects.map { $0?.reference })
    var columns = [ArrowColumn(name, identifiers: objects.map { $0?.reference }, areTexts: areTexts)]
    if namesEntities {
      columns.append(ArrowColumn(name + "Entity", entityNames: objects.map { $0?.entityName ?? "" }))
    }
    return columns
  }

  /// A column of a property of the objects, or of one that to-ones lead to.
  private mutating func property(_ path: [String], _ name: String, _ index: Int) throws -> ArrowColumn {
    let values = rows.map { $0.values[index] }
    guard let (slot, isDirect) = Self.slot(path, entity), isDirect || !slot.isToMany else {
      return Self.column(name, values)
    }
    let stored = values.map { Self.stored($0) }
    let destination = slot.destination.map { entity.model.entity(at: $0) }
    var hasTexts = false
    if let destination { hasTexts = try areTexts(destination, stored.flatMap { Self.references($0) }) }
    var column = ArrowColumn(name, of: slot, values: stored, hasTextReferences: hasTexts)
    // A to-one on the way can be null, so the column can have nulls although the property is required.
    if !isDirect { column.field.metadata.removeAll { $0.key == ArrowKey.optional } }
    return column
  }

  /// The property at the end of a path through to-ones, and whether it is one of the entity itself.
  private static func slot(_ path: [String], _ entity: Entity) -> (slot: Slot, isDirect: Bool)? {
    var entity = entity
    var rest = path[...]
    while let first = rest.first {
      // The parts of a composite attribute have a point in their names.
      let whole = rest.joined(separator: ".")
      if let found = entity.slot(named: rest.count == 1 ? first : whole) {
        return (entity.slots[found], rest.count == path.count)
      }
      guard let next = entity.slot(named: first).map({ entity.slots[$0] }), !next.isToMany,
        let destination = next.destination
      else { return nil }
      entity = entity.model.entity(at: destination)
      rest = rest.dropFirst()
    }
    return nil
  }

  // MARK: References

  /// Whether references of a hierarchy are texts: those of the result, and of a database the first one that it has.
  private mutating func areTexts(_ entity: Entity, _ references: [ReferenceObject?]) throws -> Bool {
    if let known { return known[entity.index] }
    let root = entity.root
    if let found = found[root.index] { return found }
    let isOne = references.contains { if case .string? = $0 { true } else { false } }
    found[root.index] = try isOne || hasTextReferences(root)
    return found[root.index] ?? false
  }

  private func hasTextReferences(_ root: Entity) throws -> Bool {
    var request = FetchRequest<ManagedObject>(entityName: root.name)
    request.fetchLimit = 1
    request.propertiesToFetch = [FetchColumn("SELF", .evaluatedObject)]
    guard case .object(let id)? = try context.fetchRows(request).first?.values.first,
      case .string? = id.reference
    else { return false }
    return true
  }

  private static func references(_ value: StoredValue) -> [ReferenceObject?] {
    switch value {
    case .toOne(let object): [object.reference]
    case .toMany(let list): list.map(\.reference)
    default: []
    }
  }

  // MARK: Values

  /// A property's value in a row as a store has it.
  private static func stored(_ value: FetchedRow.Value) -> StoredValue {
    switch value {
    case .value(let value): value
    case .object(let id): object(id).map { .toOne($0) } ?? .null
    case .list(let list):
      .toMany(list.compactMap { if case .object(let id) = $0 { object(id) } else { nil } })
    }
  }

  private static func object(_ id: ManagedObjectID) -> ObjectReference? {
    id.reference.map { ObjectReference(entityName: id.entityName, reference: $0) }
  }

  /// A column of results of an expression, whose type is that of the values.
  private static func column(_ name: String, _ values: [FetchedRow.Value]) -> ArrowColumn {
    let isList = values.contains { if case .list = $0 { true } else { false } }
    return ArrowColumn(
      name,
      values: values.map { value in
        switch value {
        case .value(let value) where !isList: value
        case .object(let id) where !isList: reference(id)
        case .value(.null): .null
        default: .string(RowPrinter.jsonText(of: value))
        }
      })
  }

  /// References are integers, or texts.
  private static func reference(_ id: ManagedObjectID) -> StoredValue {
    switch id.reference {
    case .integer(let number)?: .integer(number)
    case .string(let text)?: .string(text)
    case nil: .null
    }
  }
}

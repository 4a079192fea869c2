package import AtomicStoreSPI

/// A model as relational tables: what a database has, and joins without knowing about graphs.
///
/// - Each entity without a super-entity is a table, with its sub-entities. If it has any, a column `entity` names the
///   entity of each row, and columns of other entities are null.
/// - A row's reference is its key. An attribute, or a part of a composite, is a column, and so is a to-one, which has
///   the key of its destination.
/// - A to-many is a join table of the columns `owner` and `member`; if it has an order, `position` counts from 1. One
///   that follows from its inverse is in no table.
///
/// The tables are a graph of ``model``, so any format can store them.
package struct RelationalForm: Sendable {
  /// The model of the graph.
  package let source: ManagedObjectModel
  /// The model of the tables: an entity for each.
  package let model: ManagedObjectModel
  /// The tables of entities, in the order of the model.
  package let roots: [RootTable]
  /// The tables of to-manys, in the order of the model.
  package let joins: [JoinTable]
  /// How many cells a table may have if its hierarchy has many more properties than any entity of it: then most of
  /// them are null, and their number can be the square of the store's size.
  package var maximumCells = 1 << 25
  /// By entity of ``source``, where its slots are.
  let places: [[Place]]

  /// Where the values of a slot are.
  enum Place: Sendable, Equatable {
    /// In the slot with that number of the table.
    case column(Int)
    /// In the join table with that index.
    case join(Int)
    /// At the inverse.
    case inverse
  }

  /// The table of an entity without a super-entity.
  package struct RootTable: Sendable {
    /// The entity of ``RelationalForm/source``.
    package let entity: Entity
    /// The entity of ``RelationalForm/model``.
    package let table: Entity
    /// The slot with the name of each row's entity; nil if all are of ``entity``.
    package let entityName: Slot?
  }

  /// The table of a to-many.
  package struct JoinTable: Sendable {
    /// The entity of ``RelationalForm/source`` that declares the relationship.
    package let entity: Entity
    /// The relationship.
    package let relationship: Slot
    /// The entity of ``RelationalForm/model``.
    package let table: Entity
    let owner: Int
    let member: Int
    /// Nil if the relationship has no order.
    let position: Int?
  }

  /// Makes the tables of a model.
  ///
  /// - Throws: `.invalidModel` if the tables would be too many or too wide for a model.
  package init(_ source: ManagedObjectModel) throws(PersistentStoreError) {
    var columns = RelationalColumns(source)
    for root in source.entities where root.superentity == nil { columns.add(root) }
    columns.addJoins()
    let model: ManagedObjectModel
    do throws(InvalidModelError) {
      model = try ManagedObjectModel(ModelDescription(entities: columns.tables))
    } catch {
      throw PersistentStoreError(.invalidModel, "the model cannot be written as tables: \(error)")
    }
    func table(_ name: String) -> Entity? { model.entity(named: name) }
    func slot(_ name: String, of table: Entity) -> Int { table.slot(named: name) ?? 0 }
    self.source = source
    self.model = model
    roots = source.entities.compactMap { entity in
      guard entity.superentity == nil, let table = table(entity.name) else { return nil }
      let name = columns.entityNames[entity.index].map { table.slots[slot($0, of: table)] }
      return RootTable(entity: entity, table: table, entityName: name)
    }
    joins = columns.joins.compactMap { join in
      guard let table = table(join.name) else { return nil }
      return JoinTable(
        entity: join.entity, relationship: join.slot, table: table,
        owner: slot(RelationalColumns.owner, of: table), member: slot(RelationalColumns.member, of: table),
        position: table.slot(named: RelationalColumns.position))
    }
    places = source.entities.map { entity in
      guard let table = table(entity.root.name) else { return [] }
      return columns.columns[entity.index].map { column in
        switch column {
        case .named(let name): .column(slot(name, of: table))
        case .join(let index): .join(index)
        case .inverse: .inverse
        }
      }
    }
  }

  /// What tables with another model have otherwise, in words.
  func difference(of other: ManagedObjectModel) -> String {
    for table in model.entities {
      guard let found = other.entity(named: table.name) else { return "the table \(table.name) is missing" }
      for slot in table.slots {
        guard let same = found.slot(named: slot.name) else { return "the column \(table.name).\(slot.name) is missing" }
        if found.slots[same].kind != slot.kind { return "\(table.name).\(slot.name) has another type" }
      }
      if found.slots.count > table.slots.count { return "the table \(table.name) has unknown columns" }
    }
    let names = Set(model.entities.map { ScalarString($0.name) })
    guard let more = other.entities.first(where: { !names.contains(ScalarString($0.name)) }) else {
      return "tables or columns are in another order"
    }
    return "the table \(more.name) is unknown"
  }

  /// The name of the column of an entity's slot; nil if it is not in the table.
  package func column(_ slot: Slot, of entity: Entity) -> String? {
    guard case .column(let index) = places[entity.index][slot.index] else { return nil }
    return model.entity(named: entity.root.name)?.slots[index].name
  }
}

/// The names of tables and columns, before the model of the tables exists.
struct RelationalColumns {
  enum Column {
    case named(String)
    case join(Int)
    case inverse
  }

  struct Join {
    var name: String
    var entity: Entity
    var slot: Slot
  }

  static let owner = "owner"
  static let member = "member"
  static let position = "position"

  private let source: ManagedObjectModel
  private(set) var tables: [EntityDescription] = []
  private(set) var joins: [Join] = []
  /// By entity.
  private(set) var columns: [[Column]]
  /// The columns with names of entities, by root entity.
  private(set) var entityNames: [Int: String] = [:]
  private var takenTables: Set<ScalarString> = []
  /// The names of all properties of the hierarchy that is added: other names must differ from them.
  private var declared: Set<ScalarString> = []
  /// The to-manys that follow from their inverses, by entity that declares them and slot.
  private var followers: Set<[Int]> = []

  init(_ source: ManagedObjectModel) {
    self.source = source
    for pair in source.inversePairs where !pair.isOwnInverse {
      let (first, second) = (pair.first, pair.second)
      func hasOrder(_ end: InversePair.End) -> Bool { source.entity(at: end.entity).slots[end.slot].keepsSequence }
      // If both ends are to-many, the first has the join table, or the one with an order.
      guard let follower = [second, first].first(where: { $0.isToMany && !hasOrder($0) }) else { continue }
      followers.insert([follower.entity, follower.slot])
    }
    columns = Array(repeating: [], count: source.entityCount)
    for entity in source.entities where entity.superentity == nil { takenTables.insert(ScalarString(entity.name)) }
  }

  /// Adds the table of an entity and its sub-entities.
  mutating func add(_ root: Entity) {
    let family = root.hierarchy
    declared = Set(family.flatMap { Self.ownSlots($0).map { ScalarString($0.name) } })
    var properties: [PropertyDescription] = []
    var taken: [ScalarString: Shape] = [:]
    if family.count > 1 {
      var name = "entity"
      while declared.contains(ScalarString(name)) { name += "_" }
      entityNames[root.index] = name
      taken[ScalarString(name)] = Shape(kind: .attribute(.string), destination: nil)
      properties.append(.attribute(name, .string))
    }
    // Each super-entity before its sub-entities, whose columns begin with its own.
    var waiting = [root]
    while let entity = waiting.popLast() {
      waiting += entity.subentities.reversed()
      var all = entity.superentity.map { columns[$0.index] } ?? []
      for slot in Self.ownSlots(entity) {
        all.append(column(slot, of: entity, &taken, &properties))
      }
      columns[entity.index] = all
    }
    tables.append(EntityDescription(name: root.name, properties: properties))
  }

  /// What a column holds: sub-entities with properties of one name share a column where it is the same.
  private struct Shape: Equatable {
    var kind: Slot.Kind
    var destination: Int?
  }

  private mutating func column(
    _ slot: Slot, of entity: Entity, _ taken: inout [ScalarString: Shape], _ properties: inout [PropertyDescription]
  ) -> Column {
    guard !slot.isToMany else {
      guard !followers.contains([entity.index, slot.index]) else { return .inverse }
      joins.append(Join(name: "", entity: entity, slot: slot))
      return .join(joins.count - 1)
    }
    let destination = slot.destination.map { source.entity(at: $0).root }
    let shape = Shape(kind: slot.kind, destination: destination?.index)
    var name = slot.name
    if let other = taken[ScalarString(name)] {
      if other == shape { return .named(name) }
      name = "\(entity.name)_\(name)"
      while taken[ScalarString(name)] != nil || declared.contains(ScalarString(name)) { name += "_" }
    }
    taken[ScalarString(name)] = shape
    if let destination {
      properties.append(.toOne(name, destination.name))
    } else {
      properties.append(.attribute(name, slot.attributeType ?? .undefined))
    }
    return .named(name)
  }

  private static func ownSlots(_ entity: Entity) -> ArraySlice<Slot> {
    entity.slots[(entity.superentity?.slots.count ?? 0)...]
  }

  /// Adds the join tables. Their names are not those of entities.
  mutating func addJoins() {
    for index in joins.indices {
      let (entity, slot) = (joins[index].entity, joins[index].slot)
      var name = "\(entity.name)_\(slot.name)"
      while !takenTables.insert(ScalarString(name)).inserted { name += "_" }
      joins[index].name = name
      let destination = slot.destination.map { source.entity(at: $0).root.name } ?? entity.root.name
      var properties: [PropertyDescription] = [
        .toOne(Self.owner, entity.root.name), .toOne(Self.member, destination),
      ]
      if slot.keepsSequence { properties.append(.attribute(Self.position, .integer64)) }
      tables.append(EntityDescription(name: name, properties: properties))
    }
  }
}

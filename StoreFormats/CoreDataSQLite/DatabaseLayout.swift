import AtomicStoreSPI

/// How Core Data lays a model out in tables, from the model and the entities' numbers alone: the names of tables and
/// columns.
///
/// Used in both directions: a reader looks the names up, a writer creates them.
struct DatabaseLayout {
  /// One table for each root entity; its sub-entities share it.
  struct Table {
    /// The index of the root entity in the model.
    let root: Int
    let name: String
    /// Of all entities that share the table, ascending by number.
    var entities: [Int]
    var columns: [Column]
  }

  /// A column beyond the three that every table has.
  struct Column {
    enum Role: Sendable, Equatable {
      case attribute(AttributeType)
      /// The key of a to-one's destination.
      case toOne
      /// The entity number of a to-one's destination, whose entity has sub-entities.
      case toOneEntity
      /// The order key of this object in the ordered to-many that the to-one in `slot` is the inverse of.
      case orderKey
      /// The key of the object whose to-many without inverse has this object.
      case owner(entity: Int, slot: Int)
      /// The order key of this object in that to-many.
      case ownerOrderKey(entity: Int, slot: Int)
    }
    let role: Role
    /// The entity that declares the property.
    let entity: Int
    /// The property's slot, in `entity`; for `owner` see there.
    let slot: Int
    let name: String
    /// Names to try where a table has no column of the first.
    var alternatives: [String] = []
  }

  /// A many-to-many relationship and its inverse.
  struct JoinTable {
    struct Side: Equatable {
      /// The entity that declares the relationship, its number in the store, and the slot.
      let entity: Int
      let number: Int64
      let slot: Int
      let name: String
      let isOrdered: Bool
    }
    /// The side that names the table.
    let first: Side
    /// The other side; equal to the first where a relationship is its own inverse.
    let second: Side
    var isReflexive: Bool { first == second }
  }

  private(set) var tables: [Table] = []
  private(set) var joinTables: [JoinTable] = []

  let model: ManagedObjectModel
  /// The entities' numbers in the store, by index in the model; nil for one that the store does not have.
  let numbers: [Int64?]

  init(model: ManagedObjectModel, numbers: [Int64?]) {
    self.model = model
    self.numbers = numbers
    let entities = model.entities
    for root in entities where root.superentity == nil {
      tables.append(makeTable(root))
    }
    addOwnerColumns()
    joinTables = makeJoinTables()
  }

  /// The numbers that Core Data gives the entities of a new store: trees by name, depth first, from 1.
  static func freshNumbers(_ model: ManagedObjectModel) -> [Int64?] {
    var numbers = [Int64?](repeating: nil, count: model.entityCount)
    var next: Int64 = 1
    // A stack, since the depth is the model's.
    var waiting = model.entities.filter { $0.superentity == nil }.sorted {
      ScalarString($0.name) > ScalarString($1.name)
    }
    while let entity = waiting.popLast() {
      numbers[entity.index] = next
      next += 1
      waiting += entity.subentities.sorted { ScalarString($0.name) > ScalarString($1.name) }
    }
    return numbers
  }

  /// Whether there are order keys: where a relationship is ordered, and where it is not known whether it is.
  static func keepsOrder(_ slot: Slot) -> Bool { slot.isOrdered || slot.relationship?.hasUnknownOrder == true }

  // MARK: Names

  /// The name of a root entity's table.
  static func tableName(_ entity: String) -> String { "Z" + entity.uppercased() }

  /// The name of a property in columns: `.` of a composite's part as `_`.
  static func columnText(_ name: String) -> String {
    String(String.UnicodeScalarView(name.uppercased().unicodeScalars.map { $0 == "." ? "_" : $0 }))
  }

  private func number(_ entity: Int) -> Int64 { numbers[entity] ?? 0 }

  /// The slots that an entity declares itself.
  static func ownSlots(_ entity: Entity) -> ArraySlice<Slot> { entity.slots[(entity.superentity?.slots.count ?? 0)...] }

  private func makeTable(_ root: Entity) -> Table {
    let hierarchy = root.hierarchy.sorted { (number($0.index), $0.index) < (number($1.index), $1.index) }
    var table = Table(root: root.index, name: Self.tableName(root.name), entities: hierarchy.map(\.index), columns: [])
    var taken = FreeNames()
    // Which of two ways Core Data has of naming the parts of composites no file shows: by all their names, or by the
    // last.
    var takenByLast = FreeNames()
    for entity in hierarchy {
      let own = Self.ownSlots(entity)
      for slot in own.filter({ !$0.isRelationship }).sorted(by: { ScalarString($0.name) < ScalarString($1.name) }) {
        guard let type = slot.attributeType else { continue }
        var column = Column(
          role: .attribute(type), entity: entity.index, slot: slot.index,
          name: taken.free("Z" + Self.columnText(slot.name)))
        let last = slot.name.lastIndex(of: ".").map { String(slot.name[slot.name.index(after: $0)...]) } ?? slot.name
        let nameByLast = takenByLast.free("Z" + Self.columnText(last))
        if nameByLast != column.name { column.alternatives = [nameByLast] }
        column.alternatives += Self.earlierName(slot.attribute?.renamingIdentifier, slot)
        table.columns.append(column)
      }
      for slot in own.filter({ $0.kind == .toOne }).sorted(by: { ScalarString($0.name) < ScalarString($1.name) }) {
        let name = taken.free("Z" + Self.columnText(slot.name))
        _ = takenByLast.free("Z" + Self.columnText(slot.name))
        table.columns.append(
          Column(
            role: .toOne, entity: entity.index, slot: slot.index, name: name,
            alternatives: Self.earlierName(slot.relationship?.renamingIdentifier, slot)))
        // A suffix that distinguishes siblings' properties is in both.
        let plain = Self.columnText(slot.name)
        let text = String(name.dropFirst())
        if let destination = slot.destination, !model.entity(at: destination).subentities.isEmpty {
          table.columns.append(
            Column(
              role: .toOneEntity, entity: entity.index, slot: slot.index, name: "Z\(number(destination))_" + text,
              alternatives: ["Z\(number(destination))_" + plain]))
        }
        if let inverse = inverse(of: slot, in: entity), Self.keepsOrder(inverse.slot) {
          table.columns.append(
            Column(
              role: .orderKey, entity: entity.index, slot: slot.index, name: "Z_FOK_" + text,
              alternatives: ["Z_FOK_" + plain]))
        }
      }
    }
    return table
  }

  /// The column of a property that a migration in place renamed in the model and not in the table.
  private static func earlierName(_ identifier: String?, _ slot: Slot) -> [String] {
    guard let identifier, ScalarString(identifier) != ScalarString(slot.name) else { return [] }
    return ["Z" + columnText(identifier)]
  }

  /// The relationship that mirrors one, if each names the other.
  func inverse(of slot: Slot, in entity: Entity) -> (entity: Entity, slot: Slot)? {
    guard let destinationNumber = slot.destination, let inverseSlot = slot.inverseSlot else { return nil }
    let destination = model.entity(at: destinationNumber)
    let other = destination.slots[inverseSlot]
    guard let back = other.relationship?.inverseName, ScalarString(back) == ScalarString(slot.name),
      let otherDestination = other.destination
    else { return nil }
    let target = model.entity(at: otherDestination)
    guard target.isKindOf(entity: entity) || entity.isKindOf(entity: target) else { return nil }
    return (destination, other)
  }

  /// The entity that declares a slot: it, or the super-entity that it has the slot from.
  func declarer(of slot: Int, in entity: Entity) -> Entity {
    var entity = entity
    while let parent = entity.superentity, slot < parent.slots.count { entity = parent }
    return entity
  }

  /// Columns for to-many relationships without an inverse, which are kept in the destination's table.
  private mutating func addOwnerColumns() {
    var tableOfRoot: [Int: Int] = [:]
    for (index, table) in tables.enumerated() { tableOfRoot[table.root] = index }
    for entity in model.entities {
      for slot in Self.ownSlots(entity)
      where slot.isToMany && inverse(of: slot, in: entity) == nil {
        guard let destination = slot.destination,
          let index = tableOfRoot[model.entity(at: destination).root.index]
        else { continue }
        let text = "\(number(entity.index))" + Self.columnText(slot.name)
        tables[index].columns.append(
          Column(
            role: .owner(entity: entity.index, slot: slot.index), entity: destination, slot: slot.index,
            name: "Z" + text))
        if Self.keepsOrder(slot) {
          tables[index].columns.append(
            Column(
              role: .ownerOrderKey(entity: entity.index, slot: slot.index), entity: destination, slot: slot.index,
              name: "Z_FOK_" + text, alternatives: ["Z_FOK_" + Self.columnText(slot.name)]))
        }
      }
    }
  }

  private func makeJoinTables() -> [JoinTable] {
    var result: [JoinTable] = []
    for entity in model.entities {
      for slot in Self.ownSlots(entity) where slot.isToMany {
        guard let (destination, inverse) = inverse(of: slot, in: entity), inverse.isToMany else { continue }
        let declarer = declarer(of: inverse.index, in: destination)
        let one = JoinTable.Side(
          entity: entity.index, number: number(entity.index), slot: slot.index, name: slot.name,
          isOrdered: Self.keepsOrder(slot))
        let other = JoinTable.Side(
          entity: declarer.index, number: number(declarer.index), slot: inverse.index, name: inverse.name,
          isOrdered: Self.keepsOrder(inverse))
        // Met from both sides, and kept from the one that names the table.
        guard Self.names(one, before: other) else { continue }
        result.append(JoinTable(first: one, second: other))
      }
    }
    return result.sorted {
      ($0.first.number, ScalarString($0.first.name)) < ($1.first.number, ScalarString($1.first.name))
    }
  }

  /// Whether the first side names the table: the one with the lower number; within one entity the greater name, as in
  /// eight of ten known tables.
  private static func names(_ one: JoinTable.Side, before other: JoinTable.Side) -> Bool {
    if one.number != other.number { return one.number < other.number }
    if one.entity != other.entity { return one.entity < other.entity }
    return !(ScalarString(one.name) < ScalarString(other.name))
  }
}

/// Names that differ from each other in SQLite: a name that was given out before gets the least number at its end that
/// no other has.
struct FreeNames {
  private var taken: Set<String> = []
  /// The last number that a name got: thousands of sub-entities may have a property of one name.
  private var numbers: [String: Int] = [:]

  mutating func free(_ name: String) -> String {
    let key = DatabaseSchema.key(name)
    guard !taken.insert(key).inserted else { return name }
    var number = numbers[key] ?? 0
    repeat { number += 1 } while !taken.insert(key + String(number)).inserted
    numbers[key] = number
    return name + String(number)
  }
}

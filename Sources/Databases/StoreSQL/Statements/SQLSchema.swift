import AtomicStoreSPI

/// The tables of a model: one for each hierarchy of entities, and one for each to-many that has no to-one at its other
/// end.
///
/// Every object is a row with its number `id`, the number of its entity `ent`, its version `ver`, and its reference
/// `ref` where that is a text. Attributes and to-ones are columns of their names; a to-one whose destinations are of
/// several entities has a second column with the entity, one whose inverse is ordered a third with the position.
struct SQLSchema: Sendable {
  /// The column of a slot.
  struct Column: Sendable {
    var name: String
    var type: SQLType
    /// For a to-one: the column with the destination's entity; nil if there is only one.
    var entityName: String?
    /// For a to-one: the column with the position in its inverse; nil if that is not ordered.
    var positionName: String?
  }
  /// How a to-many is kept.
  enum ToMany: Sendable {
    /// In the to-one at the other end, whose column it is.
    case inverse(slot: Int, Column)
    /// In a table of pairs. `isTurned`: the owner is in the second column.
    case pairs(JoinTable, isTurned: Bool)
  }
  struct JoinTable: Sendable {
    var name: String
    /// The root entities of both columns.
    var roots: (Int, Int)
    /// Whether there is a column with the position of `b` among those of `a`, and of `a` among those of `b`.
    var isOrdered: (Bool, Bool)
  }
  struct Table: Sendable {
    var name: String
    var root: Int
    /// By entity of the hierarchy and slot; nil for to-manys.
    var columns: [Int: [Column?]] = [:]
    /// All columns, each once, in the order of their first owners.
    var all: [Column] = []
    /// The columns that get an index.
    var indexed: [String] = []
    /// Unique combinations of columns, with the numbers of the entities they apply to; nil for all.
    var unique: [(columns: [String], entities: [Int]?)] = []
  }

  let model: ManagedObjectModel
  /// By root entity.
  private(set) var tables: [Int: Table] = [:]
  private(set) var joins: [JoinTable] = []
  /// By entity: its root, and its position in the root's hierarchy. What a table has for each of its entities is in
  /// arrays by this position, which together are as long as the model.
  private let members: [(root: Int, position: Int)]
  /// By owner of the declaration and slot.
  private var toManys: [Key: ToMany] = [:]

  private struct Key: Hashable {
    var owner: Int
    var slot: Int
  }

  init(_ model: ManagedObjectModel, _ dialect: SQLDialect) {
    self.model = model
    var members = model.entities.map { (root: $0.root.index, position: 0) }
    for root in model.entities where root.superentity == nil {
      for (position, entity) in root.hierarchy.enumerated() { members[entity.index].position = position }
    }
    self.members = members
    var tableNames = NameList(limit: dialect.nameLimit, taken: ["sqlite_"])
    for entity in model.entities where entity.root == entity {
      tables[entity.index] = Self.table(of: entity, tableNames.add(entity.name), dialect)
    }
    for entity in model.entities {
      for slot in entity.slots where slot.isToMany && Self.owner(of: slot.index, in: entity) == entity {
        addToMany(slot, entity, &tableNames)
      }
    }
  }

  /// The entity that declares a slot.
  static func owner(of slot: Int, in entity: Entity) -> Entity {
    var entity = entity
    while let above = entity.superentity, above.slots.count > slot { entity = above }
    return entity
  }

  /// The position of an entity in the hierarchy of a root; nil if it is of another, or the number is of none.
  @inline(__always) func position(of entity: Int64, under root: Int) -> Int? {
    guard entity >= 0, entity < Int64(members.count), members[Int(entity)].root == root else { return nil }
    return members[Int(entity)].position
  }

  func table(of entity: Entity) -> Table { tables[entity.root.index] ?? Table(name: "", root: entity.root.index) }
  func column(_ slot: Int, of entity: Entity) -> Column? {
    guard let columns = table(of: entity).columns[entity.index], slot < columns.count else { return nil }
    return columns[slot]
  }
  func toMany(_ slot: Int, of entity: Entity) -> ToMany? {
    toManys[Key(owner: Self.owner(of: slot, in: entity).index, slot: slot)]
  }

  private static func table(of root: Entity, _ name: String, _ dialect: SQLDialect) -> Table {
    var table = Table(name: name, root: root.index)
    var names = NameList(
      limit: dialect.nameLimit - 6, taken: ["id", "ent", "ver", "ref", "rowid", "oid", "_rowid_"],
      system: dialect.systemColumns)
    var made: [Key: Column] = [:]
    for entity in topDown(root) {
      var columns: [Column?] = []
      for slot in entity.slots {
        let key = Key(owner: owner(of: slot.index, in: entity).index, slot: slot.index)
        if let known = made[key] {
          columns.append(known)
          continue
        }
        guard let column = column(for: slot, entity, &names) else {
          columns.append(nil)
          continue
        }
        made[key] = column
        columns.append(column)
        table.all.append(column)
        if slot.isRelationship || slot.attribute?.isIndexed ?? false { table.indexed.append(column.name) }
      }
      table.columns[entity.index] = columns
      addConstraints(of: entity, columns, to: &table)
    }
    return table
  }

  private static func topDown(_ entity: Entity) -> [Entity] { [entity] + entity.subentities.flatMap { topDown($0) } }

  private static func column(for slot: Slot, _ entity: Entity, _ names: inout NameList) -> Column? {
    switch slot.kind {
    case .attribute(let type): return Column(name: names.add(slot.name), type: SQLType(type))
    case .toMany: return nil
    case .toOne:
      guard let destination = slot.destination.map({ entity.model.entity(at: $0) }) else { return nil }
      let name = names.add(slot.name)
      let isMixed = destination.hierarchy.filter { !$0.isAbstract }.count > 1
      let isOrdered = slot.inverseSlot.map { destination.slots[$0].keepsSequence } ?? false
      return Column(
        name: name, type: .integer64, entityName: isMixed ? names.add(name + "_ent") : nil,
        positionName: isOrdered ? names.add(name + "_pos") : nil)
    }
  }

  private static func addConstraints(of entity: Entity, _ columns: [Column?], to table: inout Table) {
    let inherited = entity.superentity?.uniquenessConstraints.count ?? 0
    for constraint in entity.uniquenessConstraints.dropFirst(inherited) {
      let slots = constraint.compactMap { entity.slot(named: $0) }
      let names = slots.compactMap { columns[$0]?.name }
      // A constraint on what is not stored is the kit's alone.
      guard names.count == constraint.count, !names.isEmpty else { continue }
      // Decimals are equal by value, not by their text.
      guard !slots.contains(where: { entity.slots[$0].valueKind == .decimal }) else { continue }
      let below = entity.hierarchy.filter { !$0.isAbstract }.map(\.index)
      table.unique.append((names, entity.root == entity ? nil : below))
    }
  }

  private mutating func addToMany(_ slot: Slot, _ entity: Entity, _ names: inout NameList) {
    let key = Key(owner: entity.index, slot: slot.index)
    guard toManys[key] == nil, let number = slot.destination else { return }
    let destination = model.entity(at: number)
    guard let inverse = slot.inverseSlot else {
      let table = JoinTable(
        name: names.add(entity.name + "_" + slot.name), roots: (entity.root.index, destination.root.index),
        isOrdered: (slot.keepsSequence, false))
      joins.append(table)
      toManys[key] = .pairs(table, isTurned: false)
      return
    }
    if !destination.slots[inverse].isToMany {
      if let column = column(inverse, of: destination) { toManys[key] = .inverse(slot: inverse, column) }
      return
    }
    let other = Key(owner: Self.owner(of: inverse, in: destination).index, slot: inverse)
    let isItself = other == key
    let table = JoinTable(
      name: names.add(entity.name + "_" + slot.name), roots: (entity.root.index, destination.root.index),
      isOrdered: (slot.keepsSequence, isItself ? false : destination.slots[inverse].keepsSequence))
    joins.append(table)
    toManys[key] = .pairs(table, isTurned: false)
    if !isItself { toManys[other] = .pairs(table, isTurned: true) }
  }
}

extension SQLType {
  init(_ type: AttributeType) {
    switch type.valueKind {
    case .integer: self = type.integerBits == 16 ? .integer16 : type.integerBits == 32 ? .integer32 : .integer64
    case .boolean: self = .boolean
    case .double, .date: self = .double
    case .float: self = .float
    // A decimal keeps its digits as text; an undefined value says its type in its text.
    case .string, .uri, .decimal, .undefined, .toOne, .toMany: self = .text
    case .data: self = .blob
    case .uuid: self = .uuid
    }
  }
}

/// Names that are unique without regard to case, and short enough.
struct NameList {
  private let limit: Int
  private var taken: Set<String>
  /// The last number that a name got: thousands of sub-entities may have a property of one name.
  private var numbers: [String: Int] = [:]
  /// The database's own. Only exactly these: for PostgreSQL, `xMin` is another name than `xmin`.
  private let system: [String]

  init(limit: Int, taken: [String], system: [String] = []) {
    self.limit = limit
    self.taken = Set(taken)
    self.system = system
  }

  mutating func add(_ name: String) -> String {
    // Neither database has names with NUL; names that begin so are the database's own, or the kit's.
    var base = String(String.UnicodeScalarView(name.unicodeScalars.map { $0.value == 0 ? "_" : $0 }))
    let lower = base.lowercased()
    if lower.hasPrefix("sqlite_") || lower.hasPrefix("pg_") || lower.hasPrefix("atomicstore_") || system.contains(base)
    {
      base = "_" + base
    }
    while base.utf8.count > limit { base.unicodeScalars.removeLast() }
    if base.isEmpty { base = "_" }
    let key = Self.folded(base)
    guard !taken.insert(key).inserted else { return base }
    var number = numbers[key] ?? 1
    repeat { number += 1 } while !taken.insert(Self.folded("\(base)_\(number)")).inserted
    numbers[key] = number
    return "\(base)_\(number)"
  }

  /// Look-alikes in other normal forms are other names for a database, but one for `String`.
  private static func folded(_ name: String) -> String {
    String(decoding: name.lowercased().utf8.flatMap { [$0] }, as: UTF8.self)
  }
}

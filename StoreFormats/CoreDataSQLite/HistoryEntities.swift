import AtomicStoreSPI

/// What entity numbers, bits and tombstones of the persistent history mean.
struct HistoryEntities {
  /// What a bit of ZCOLUMNS means.
  enum Meaning {
    case slot(Int)
    /// One of several to-many relationships.
    case toMany
  }

  /// The properties of an entity, in the orders that the history has them in.
  struct Properties {
    fileprivate let entity: Entity
    fileprivate let bits: [Meaning]
    fileprivate let keptSlots: [Int]

    /// Nil beyond the last one.
    func meaning(ofBit bit: Int) -> Meaning? { bits.indices.contains(bit) ? bits[bit] : nil }
    func name(ofSlot slot: Int) -> String { entity.slots[slot].name }
    /// The attribute whose value a tombstone column has.
    func kept(_ number: Int) -> Slot? {
      keptSlots.indices.contains(number) ? entity.slots[keptSlots[number]] : nil
    }
  }

  private var names: [Int64: String] = [:]
  private var entities: [Int64: Entity] = [:]
  private var known: [Int64: Properties] = [:]
  /// The names of the columns that say which entity a to-one leads to, by entity and slot, for tables that have them.
  private var pairs: Set<Pair> = []

  private struct Pair: Hashable {
    let entity: Int
    let slot: Int
  }

  /// - Parameter model: Nil if none is known: then properties have no names.
  init(
    _ database: SQLiteDatabase, _ schema: DatabaseSchema, _ model: ManagedObjectModel?
  ) throws(PersistentStoreError) {
    let tables = StoreTables(database)
    let rows = try tables.entityRows()
    for row in rows { names[row.number] = row.name }
    // The properties of an inferred model are columns, some of which are only guessed to be relationships.
    guard let model, !model.description.isInferred else { return }
    let numbers = EntityNumbers(rows, model: model, hashes: try tables.versionHashes())
    let byIndex = numbers.numbers
    for entity in model.entities {
      guard let number = byIndex[entity.index] else { continue }
      names[number] = entity.name
      entities[number] = entity
    }
    for table in DatabaseLayout(model: model, numbers: byIndex).tables {
      let found = try numbers.table(table, in: schema)
      for column in table.columns where column.role == .toOneEntity {
        let isThere = found.map { found in
          ([column.name] + column.alternatives).contains { found.column(named: $0) != nil }
        }
        if isThere ?? true { pairs.insert(Pair(entity: column.entity, slot: column.slot)) }
      }
    }
  }

  /// The name of an entity, of the model or of the store; a number that the store does not have is in it.
  func name(of number: Int64) -> String { names[number] ?? "entity \(number)" }

  /// Nil for an entity that the model does not have.
  mutating func properties(of number: Int64) -> Properties? {
    if let properties = known[number] { return properties }
    guard let entity = entities[number] else { return nil }
    let properties = makeProperties(entity)
    known[number] = properties
    return properties
  }

  /// To-ones, attributes, to-manys; among the first two a super-entity's before its sub-entity's, each by name.
  private func makeProperties(_ entity: Entity) -> Properties {
    var chain = [entity]
    while let parent = chain.last?.superentity { chain.append(parent) }
    func own(_ isWanted: (Slot) -> Bool) -> [(entity: Entity, slot: Slot)] {
      chain.reversed().flatMap { entity in
        DatabaseLayout.ownSlots(entity).filter(isWanted).sorted { ScalarString($0.name) < ScalarString($1.name) }
          .map { (entity, $0) }
      }
    }
    var bits: [Meaning] = []
    for (entity, slot) in own({ $0.kind == .toOne }) {
      bits.append(.slot(slot.index))
      if pairs.contains(Pair(entity: entity.index, slot: slot.index)) { bits.append(.slot(slot.index)) }
    }
    bits += own { !$0.isRelationship }.map { .slot($0.slot.index) }
    let toManys = own { $0.isToMany }
    bits += toManys.map { toManys.count == 1 ? .slot($0.slot.index) : .toMany }
    let kept = entity.slots.filter { $0.attribute?.preservesValueInHistoryOnDeletion == true }
      .sorted { ScalarString($0.name) < ScalarString($1.name) }
    return Properties(entity: entity, bits: bits, keptSlots: kept.map(\.index))
  }
}

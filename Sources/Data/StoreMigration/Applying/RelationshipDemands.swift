import AtomicStoreSPI
import StorePredicates

/// Finds objects that lack objects which the new model demands, of required relationships and of those with a minimum
/// count, and objects that have more than a maximum count.
struct RelationshipDemands {
  private let mapping: ModelMapping
  private let old: NodeTable
  private let new: NodeTable

  init(_ mapping: ModelMapping, _ old: NodeTable, _ new: NodeTable) {
    self.mapping = mapping
    self.old = old
    self.new = new
  }

  /// - Throws: ``MigrationError`` with the objects. What an object lacked before, by the old model, is not what the
  ///   migration does.
  func refuse(_ step: String?) throws {
    var obstacles: [MappingObstacle] = []
    for entity in new.model.entities where new.count(of: entity.index) > 0 {
      for slot in entity.slots {
        guard let rule = slot.relationship.flatMap({ ValidationRule($0) }) else { continue }
        obstacles += self.obstacles(slot, rule, entity)
      }
    }
    guard obstacles.isEmpty else { throw MigrationError(obstacles: obstacles, losses: [], step: step) }
  }

  private func obstacles(_ slot: Slot, _ rule: ValidationRule, _ entity: Entity) -> [MappingObstacle] {
    let reader = new.reader(of: entity.index)
    let before = sourceSlot(slot, entity)
    var (missing, exceeding): ([ReferenceObject], [ReferenceObject]) = ([], [])
    for row in 0..<reader.count where !reader.isDeleted(row: row) {
      let count = Self.count(reader, slot, row)
      guard Self.isUnmet(rule, slot, count) else { continue }
      let reference = reader.reference(row: row)
      if let before, let oldRule = before.slot.relationship.flatMap({ ValidationRule($0) }),
        let node = old.handle(for: ObjectReference(entityName: before.entity.name, reference: reference)),
        case let former = Self.count(old.reader(of: node.entity), before.slot, node.row),
        Self.isUnmet(oldRule, before.slot, former)
      {
        // It may stay, or come closer to the bound.
        let wasExceeded = Self.isExceeded(oldRule, before.slot, former)
        let isExceeded = Self.isExceeded(rule, slot, count)
        if wasExceeded == isExceeded, isExceeded ? count <= former : count >= former { continue }
      }
      if Self.isExceeded(rule, slot, count) { exceeding.append(reference) } else { missing.append(reference) }
    }
    let (demand, lack) =
      slot.isToMany && rule.minimumCount > 1
      ? ("at least \(rule.minimumCount) objects are required", "fewer") : ("required", "none")
    let limit = "at most \(rule.maximumCount) object\(rule.maximumCount == 1 ? " is" : "s are") allowed"
    return [(missing, demand, lack), (exceeding, limit, "more")].compactMap { objects, demand, what in
      guard !objects.isEmpty else { return nil }
      let names = objects.prefix(3).map { "\(entity.name)/\($0)" }.joined(separator: ", ")
      let verb = objects.count == 1 ? "has" : "have"
      return MappingObstacle(
        entityName: entity.name, propertyName: slot.name,
        reason: "\(demand), and \(names)\(objects.count > 3 ? " …" : "") \(verb) \(what)", objectCount: objects.count)
    }
  }

  /// The relationship of the old model that a relationship's objects are taken from.
  private func sourceSlot(_ slot: Slot, _ entity: Entity) -> (entity: Entity, slot: Slot)? {
    guard let mapped = mapping.mapping(of: entity),
      let source = mapped.sourceName.flatMap({ mapping.source.entity(named: $0) }),
      let property = mapped.properties.first(where: { $0.name == slot.name })
    else { return nil }
    guard case .kept(let name) = property.origin, let found = source.slot(named: name) else { return nil }
    return (source, source.slots[found])
  }

  private static func isUnmet(_ rule: ValidationRule, _ slot: Slot, _ count: Int) -> Bool {
    if isExceeded(rule, slot, count) { return true }
    // An optional relationship may be empty, whatever its minimum is, and so may a to-many without a minimum: Core Data
    // migrates such objects, and a save keeps what was read empty.
    return count == 0
      ? rule.isMandatory && (!slot.isToMany || rule.minimumCount > 0)
      : rule.minimumCount > 0 && count < rule.minimumCount
  }

  private static func isExceeded(_ rule: ValidationRule, _ slot: Slot, _ count: Int) -> Bool {
    slot.isToMany && rule.maximumCount > 0 && count > rule.maximumCount
  }

  private static func count(_ reader: EntityReader, _ slot: Slot, _ row: Int) -> Int {
    guard slot.isToMany else { return reader.toOne(slot: slot.index, row: row) == nil ? 0 : 1 }
    return reader.toMany(slot: slot.index, row: row).count
  }
}

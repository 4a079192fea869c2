import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Finds the objects that drafts are, by the uniqueness constraints of their entities.
extension ObjectJSONReader {
  /// The values of a constraint of one entity, with objects by identity.
  struct CreatedKey: Hashable {
    let holder: Int
    let constraint: Int
    let parts: [FetchExpression]
  }

  /// Finds or creates the object of a draft, and first those that its constraints lead to.
  ///
  /// A list instead of recursion: objects may lead to each other in a long chain. In a circle of constraints, the
  /// object that was met first is found by its other constraints.
  mutating func makeObject(of index: Int) throws {
    var waiting = [index]
    while let next = waiting.last {
      if drafts[next].object == nil, !drafts[next].isEntered {
        drafts[next].isEntered = true
        waiting += keySlots(drafts[next].entity).compactMap { end(next, $0).flatMap { draft(of: $0) } }
          .filter { !drafts[$0].isEntered }
        continue
      }
      waiting.removeLast()
      if drafts[next].object == nil { try make(next) }
    }
  }

  /// The to-one relationships in the constraints of an entity.
  private func keySlots(_ entity: Entity) -> [Slot] {
    let names = entity.uniquenessConstraints.flatMap { $0 }
    return names.compactMap { entity.slot(named: $0).map { entity.slots[$0] } }.filter(\.isRelationship)
  }

  /// What a to-one relationship of a draft leads to, by its own JSON or that of the other end; nil if neither has it.
  private func end(_ index: Int, _ slot: Slot) -> End? {
    if let link = drafts[index].links[slot.index] { return link.ends.first }
    return drafts[index].impliedEnds[slot.index].map { .draft($0) }
  }

  private mutating func make(_ index: Int) throws {
    let entity = drafts[index].entity
    var ends: [(slot: Slot, object: ManagedObject)] = []
    for slot in keySlots(entity) {
      guard let end = end(index, slot), let other = try object(at: end, slot, of: index) else { continue }
      ends.append((slot, other))
    }
    // What a new object would get from the model is part of its unique values, too.
    let found = try found(index, ends, withDefaults: false) ?? found(index, ends, withDefaults: true)
    let object = try found ?? context.insertNewObject(forEntityName: entity.name)
    guard object.entity.isKindOf(entity: entity) else {
      throw failure(
        "has unique values of \(object.objectID), which is not of the entity or a sub-entity of it", entity,
        drafts[index].place)
    }
    drafts[index].object = object
    if found == nil { created.insert(ObjectIdentifier(object)) }
    for (slot, value) in drafts[index].values { try object.setValue(value, forKey: slot.name) }
    for (slot, end) in ends { try object.setValue(end, forKey: slot.name) }
    // Others in the text may have the same values.
    for (key, leadsToCreated) in keys(index, ends, withDefaults: found == nil) where leadsToCreated {
      createdObjects[key] = object
    }
  }

  /// The object that has the values of one of the constraints.
  private func found(
    _ index: Int, _ ends: [(slot: Slot, object: ManagedObject)], withDefaults: Bool
  ) throws -> ManagedObject? {
    for (key, leadsToCreated) in keys(index, ends, withDefaults: withDefaults) {
      // Only what is in the text leads to an object that was created here: no fetch could find others.
      if leadsToCreated {
        if let object = createdObjects[key], try has(object, key, index) { return object }
        continue
      }
      let found = try context.objects(withUniqueValuesOf: drafts[index].entity, constraint: key.constraint) { name in
        part(name, index, ends, withDefaults: withDefaults)
      }
      if let object = found.first { return object }
    }
    return nil
  }

  /// Whether an object still has the values by which it was noted: the text may have changed them since.
  private func has(_ object: ManagedObject, _ key: CreatedKey, _ index: Int) throws -> Bool {
    let entity = drafts[index].entity
    let parts = zip(entity.uniquenessConstraints[key.constraint], key.parts).map { name, part in
      FetchPredicate.comparison(
        FetchPredicate.Comparison(FetchExpression.keyPath(of: name, for: entity), .equal, part))
    }
    return try FetchPredicate.and(parts).evaluate(with: object)
  }

  /// The values of the constraints that the draft has all of, and whether they lead to objects that were created here.
  private func keys(
    _ index: Int, _ ends: [(slot: Slot, object: ManagedObject)], withDefaults: Bool
  ) -> [(key: CreatedKey, leadsToCreated: Bool)] {
    let entity = drafts[index].entity
    return entity.uniquenessConstraints.enumerated().compactMap { number, constraint in
      let parts = constraint.compactMap { part($0, index, ends, withDefaults: withDefaults) }
      guard parts.count == constraint.count else { return nil }
      let slots = constraint.compactMap { entity.slot(named: $0) }
      let leadsToCreated = ends.contains {
        slots.contains($0.slot.index) && created.contains(ObjectIdentifier($0.object))
      }
      let holder = entity.declaringEntity(ofConstraint: number).index
      return (CreatedKey(holder: holder, constraint: number, parts: parts), leadsToCreated)
    }
  }

  /// A value of a constraint; nil where there is none, since null is not equal to anything.
  private func part(
    _ name: String, _ index: Int, _ ends: [(slot: Slot, object: ManagedObject)], withDefaults: Bool
  ) -> FetchExpression? {
    let draft = drafts[index]
    guard let number = draft.entity.slot(named: name) else { return nil }
    let slot = draft.entity.slots[number]
    if slot.isRelationship { return ends.first { $0.slot.index == number }.map { .objectID($0.object.objectID) } }
    let stated = draft.values.first { $0.slot.index == number }?.value
    guard let value = stated ?? (withDefaults ? slot.attribute?.defaultValue : nil), !value.isNull else { return nil }
    return .constant(value)
  }
}

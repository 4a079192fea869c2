import AtomicStoreSPI

/// What a save changes, worked out before anything is written: a save that fails leaves nothing of itself.
struct SavePlan {
  private let graph: Graph
  private let model: ManagedObjectModel?
  /// The number of the transaction, which is the version of all that it changes.
  private let number: Int64
  /// The objects that it changes, as they are afterwards; nil for those that are gone.
  private var changed: [Graph.Key: Graph.Object?] = [:]
  /// The greatest integer reference of the objects that were inserted.
  private var greatest: Int64 = 0
  private var noted: Set<Graph.Key> = []
  private(set) var versions: [(object: ObjectReference, version: Int64)] = []

  init(_ graph: Graph) {
    self.graph = graph
    model = graph.model
    number = graph.number + 1
  }

  /// The transaction. Objects are in the order of their references, so that equal saves give equal bytes.
  func record(setting entries: PropertyListDictionary?) -> Record {
    var record = Record(number: number)
    record.entries = entries
    let last = graph.metadata?.lastReference ?? 0
    if greatest > last { record.lastReference = greatest }
    for (key, object) in changed.sorted(by: { ($0.key.root, $0.key.reference) < ($1.key.root, $1.key.reference) }) {
      if let object { record.objects.append((key, object)) } else { record.removed.append(key) }
    }
    return record
  }

  /// Adds all changes.
  ///
  /// - Returns: False if they are based on something else than what is there, or another object has a unique value.
  /// - Throws: An error for a save that can never be carried out.
  mutating func add(_ changes: StoreSave) throws(PersistentStoreError) -> Bool {
    let new = Set(try changes.inserted.mapped { (object) throws(PersistentStoreError) in try key(of: object) })
    for (object, version) in changes.expected {
      let key = try key(of: object)
      if new.contains(key), graph.objects[key] == nil { continue }
      guard let present = graph.objects[key], version == nil || version == present.version else { return false }
    }
    for object in changes.updated where graph.objects[try key(of: object)] == nil { return false }
    for object in changes.deleted where graph.objects[try key(of: object)] == nil { return false }
    for change in changes.members {
      let key = try key(of: change.owner)
      if graph.objects[key] == nil, !new.contains(key) { return false }
    }
    try delete(changes.deleted)
    for object in changes.inserted {
      let key = try key(of: object)
      guard self[key] == nil else {
        throw PersistentStoreError(
          .duplicateReference, "an object with this reference exists already",
          at: StoreLocation(
            entity: model?.entity(at: object.entity).name, reference: object.reference?.description))
      }
      changed[key] = Graph.Object(entity: object.entity, version: number)
      if case .integer(let number) = key.reference { greatest = max(greatest, number) }
    }
    for object in changes.inserted + changes.updated { try set(object) }
    for change in changes.members {
      let owner = try key(of: change.owner)
      var list = self.list(change.slot, of: owner)
      let removed = Set(change.removed.map(\.reference))
      list.removeAll { removed.contains($0.reference) }
      let present = Set(list.map(\.reference))
      list += change.added.filter { !present.contains($0.reference) }
      try setList(list, slot: change.slot, of: owner)
      touch(owner)
    }
    try checkEnds()
    return hasUniqueValues()
  }

  // MARK: Objects

  private subscript(_ key: Graph.Key) -> Graph.Object? {
    if let known = changed[key] { known } else { graph.objects[key] }
  }

  private func key(of object: ManagedObjectSnapshot) throws(PersistentStoreError) -> Graph.Key {
    guard let reference = object.reference else {
      throw PersistentStoreError(.internalInconsistency, "an object that is saved must have a reference")
    }
    return graph.key(reference, entity: object.entity)
  }
  private func key(of object: ObjectReference) throws(PersistentStoreError) -> Graph.Key {
    guard let entity = model?.entity(named: object.entityName) else {
      throw PersistentStoreError(.invalidValue, "the model does not have an entity '\(object.entityName)'")
    }
    return graph.key(object.reference, entity: entity.index)
  }

  private func name(_ key: Graph.Key) -> ObjectReference? {
    guard let entity = self[key]?.entity, let name = model?.entity(at: entity).name else { return nil }
    return ObjectReference(entityName: name, reference: key.reference)
  }

  /// Gives an object the new version.
  private mutating func touch(_ key: Graph.Key) {
    guard var object = self[key] else { return }
    object.version = number
    changed[key] = object
    note(key)
  }

  private mutating func note(_ key: Graph.Key) {
    if noted.insert(key).inserted, let name = name(key) { versions.append((name, number)) }
  }

  private mutating func set(_ object: ManagedObjectSnapshot) throws(PersistentStoreError) {
    let key = try key(of: object)
    guard var new = self[key] else { return }
    let slots = graph.slots(of: new)
    new.version = number
    for (slot, value) in object.values {
      if case .toMany = slots[slot].kind, !graph.isDerived(slots[slot]) { continue }
      new.values[slot] = value.isNull ? nil : value
    }
    changed[key] = new
    note(key)
    for (slot, value) in object.values where slots[slot].isToMany && !graph.isDerived(slots[slot]) {
      if case .toMany(let list) = value {
        try setList(list, slot: slot, of: key)
      } else {
        try setList([], slot: slot, of: key)
      }
    }
  }

  // MARK: To-manys that are kept

  private func list(_ slot: Int, of owner: Graph.Key) -> [ObjectReference] {
    if case .toMany(let list)? = self[owner]?.values[slot] { list } else { [] }
  }

  /// Sets a to-many, and what it changes at the other end of a many-to-many.
  private mutating func setList(
    _ list: [ObjectReference], slot: Int, of owner: Graph.Key
  ) throws(PersistentStoreError) {
    guard var object = self[owner], let own = name(owner) else { return }
    let relationship = graph.slots(of: object)[slot]
    // The members of a derived one are changed by their to-ones.
    if graph.isDerived(relationship) { return }
    let (before, after) = (Set(self.list(slot, of: owner)), Set(list))
    object.values[slot] = list.isEmpty ? nil : .toMany(list)
    changed[owner] = object
    guard let inverse = graph.inverse(of: relationship) else { return }
    for (member, isAdded) in before.subtracting(after).map({ ($0, false) })
      + after.subtracting(before).map({ ($0, true) })
    {
      let key = try key(of: member)
      guard var end = self[key] else { continue }
      var others = self.list(inverse.index, of: key).filter { $0 != own }
      if isAdded { others.append(own) }
      end.values[inverse.index] = others.isEmpty ? nil : .toMany(others)
      changed[key] = end
    }
  }

  // MARK: Deleting

  /// Deletes objects, and whatever leads to them: one look at all objects, however many are deleted.
  private mutating func delete(_ objects: [ObjectReference]) throws(PersistentStoreError) {
    guard let model, !objects.isEmpty else { return }
    var gone: Set<Graph.Key> = []
    for object in objects { gone.insert(try key(of: object)) }
    for key in gone { changed.updateValue(nil, forKey: key) }
    func isGone(_ end: ObjectReference, _ slot: Slot) -> Bool {
      slot.destination.map { gone.contains(graph.key(end.reference, entity: $0)) } ?? false
    }
    let roots = Set(gone.map(\.root))
    let relationships = model.entities.map { entity in
      entity.slots.filter { $0.destination.map { roots.contains(model.entity(at: $0).root.index) } ?? false }
    }
    for (key, object) in graph.objects where !gone.contains(key) {
      var new = object
      var isCut = false
      for slot in relationships[object.entity] {
        switch object.values[slot.index] {
        case .toOne(let end)? where isGone(end, slot):
          new.values[slot.index] = nil
          isCut = true
        case .toMany(let list)? where list.contains { isGone($0, slot) }:
          let left = list.filter { !isGone($0, slot) }
          new.values[slot.index] = left.isEmpty ? nil : .toMany(left)
          isCut = true
        default: break
        }
      }
      guard isCut else { continue }
      new.version = number
      changed[key] = new
    }
  }

  // MARK: What must hold

  /// - Throws: `.missingObject` for a relationship to an object that is not there.
  private func checkEnds() throws(PersistentStoreError) {
    for (key, object) in changed {
      guard let object else { continue }
      for slot in graph.slots(of: object) {
        guard let destination = slot.destination else { continue }
        let ends: [ObjectReference] =
          switch object.values[slot.index] {
          case .toOne(let end)?: [end]
          case .toMany(let list)?: list
          default: []
          }
        for end in ends where self[graph.key(end.reference, entity: destination)] == nil {
          throw PersistentStoreError(
            .missingObject, "\(end) is not in the store",
            at: StoreLocation(
              entity: model?.entity(at: object.entity).name, reference: key.reference.description,
              property: slot.name))
        }
      }
    }
  }

  /// Whether no two objects have the same values where they must be unique. Null is never the same.
  private func hasUniqueValues() -> Bool {
    guard let model else { return true }
    for entity in model.entities where changed.values.contains(where: { $0?.entity == entity.index }) {
      for constraint in entity.uniquenessConstraints {
        // A constraint holds for the entity that declares it, and all below it.
        var owner = entity
        while let parent = owner.superentity, parent.uniquenessConstraints.contains(constraint) { owner = parent }
        let entities = Set(owner.hierarchy.map(\.index))
        let slots = constraint.compactMap { owner.slot(named: $0) }
        func values(_ object: Graph.Object?) -> [StoredValue]? {
          guard let object, entities.contains(object.entity) else { return nil }
          let values = slots.compactMap { object.values[$0] }
          return values.count == slots.count ? values : nil
        }
        var seen: Set<[StoredValue]> = []
        for object in changed.values {
          if let found = values(object), !seen.insert(found).inserted { return false }
        }
        for (key, object) in graph.objects where changed[key] == nil {
          if let found = values(object), seen.contains(found) { return false }
        }
      }
    }
    return true
  }
}

extension Array {
  /// As `map`, with the type of the error.
  fileprivate func mapped<Result, Failure: Error>(
    _ transform: (Element) throws(Failure) -> Result
  ) throws(Failure) -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try transform(element)) }
    return results
  }
}

import AtomicStoreSPI

/// The objects of the store, in memory, and its metadata.
struct Graph: Sendable {
  /// The identity of an object: references are unique in a hierarchy.
  struct Key: Hashable, Sendable {
    let root: Int
    let reference: ReferenceObject
  }

  struct Object: Sendable {
    var entity: Int
    /// The number of the transaction that changed it last. It never returns to an earlier value.
    var version: Int64
    /// Attributes, to-ones, and the to-manys that are kept; none is null.
    var values: SlotValues = [:]
  }

  /// A to-many of an object.
  private struct List: Hashable {
    let owner: Key
    let slot: Int
  }

  /// Nil before the connection is prepared: then records are read for the metadata alone.
  let model: ManagedObjectModel?
  var metadata: StoreMetadata?
  /// The number of the last record.
  var number: Int64 = 0
  private(set) var objects: [Key: Object] = [:]
  private var byEntity: [Int: Set<ReferenceObject>] = [:]
  /// The members of to-manys whose inverse is a to-one: they are what the to-ones say.
  private var members: [List: Set<ReferenceObject>] = [:]

  init(model: ManagedObjectModel?) { self.model = model }

  private var entities: [Entity] { model?.entities ?? [] }

  /// - Parameter entity: Any entity of the hierarchy.
  func key(_ reference: ReferenceObject, entity: Int) -> Key {
    Key(root: model?.entity(at: entity).root.index ?? entity, reference: reference)
  }

  func slots(of object: Object) -> [Slot] { model?.entity(at: object.entity).slots ?? [] }

  /// Whether the members of a to-many are what the to-ones at the other end say.
  func isDerived(_ slot: Slot) -> Bool {
    guard slot.isToMany, let inverse = inverse(of: slot) else { return false }
    return !inverse.isToMany
  }

  /// The relationship at the other end.
  func inverse(of slot: Slot) -> Slot? {
    guard let model, let entity = slot.destination, let inverse = slot.inverseSlot else { return nil }
    return model.entity(at: entity).slots[inverse]
  }

  // MARK: Changing

  mutating func apply(_ record: Record) {
    number = record.number
    if record.isReset {
      objects.removeAll()
      byEntity.removeAll()
      members.removeAll()
      metadata = nil
    }
    if let identity = record.identity {
      metadata = StoreMetadata(
        storeType: JSONLinesStore.storeType, uuid: identity, lastReference: metadata?.lastReference ?? 0,
        model: record.model)
    }
    if let entries = record.entries { metadata?.entries = entries }
    if let last = record.lastReference { metadata?.lastReference = last }
    for key in record.removed { set(nil, at: key) }
    for (key, object) in record.objects { set(object, at: key) }
  }

  private mutating func set(_ object: Object?, at key: Key) {
    if let old = objects[key] {
      byEntity[old.entity]?.remove(key.reference)
      for list in lists(with: old) { members[list]?.remove(key.reference) }
    }
    objects[key] = object
    guard let object else { return }
    byEntity[object.entity, default: []].insert(key.reference)
    for list in lists(with: object) { members[list, default: []].insert(key.reference) }
  }

  /// The derived to-manys that an object is in.
  private func lists(with object: Object) -> [List] {
    slots(of: object).compactMap { slot in
      guard case .toOne(let owner)? = object.values[slot.index], let inverse = inverse(of: slot), inverse.isToMany,
        let destination = slot.destination
      else { return nil }
      return List(owner: key(owner.reference, entity: destination), slot: inverse.index)
    }
  }

  // MARK: Reading

  func count(of entity: Int) -> Int { byEntity[entity]?.count ?? 0 }
  func references(of entity: Int) -> [ReferenceObject] { (byEntity[entity] ?? []).sorted() }

  /// The object as a row, in a list; empty if there is none.
  ///
  /// - Parameter entity: Any entity of the hierarchy.
  func row(of reference: ReferenceObject, entity: Int) -> [StoreRow] {
    guard let object = objects[key(reference, entity: entity)] else { return [] }
    var values = object.values
    for slot in slots(of: object) where slot.isToMany { values[slot.index] = nil }
    return [StoreRow(entity: object.entity, reference: reference, version: object.version, values: values)]
  }

  /// The destinations of a to-many: in their order where it has one, otherwise by reference.
  func list(_ slot: Int, of owner: Key) -> [ObjectReference] {
    guard let object = objects[owner] else { return [] }
    let slots = slots(of: object)
    guard slot < slots.count, let destination = slots[slot].destination else { return [] }
    var kept: [ReferenceObject] = []
    if case .toMany(let list)? = object.values[slot] { kept = list.map(\.reference) }
    if isDerived(slots[slot]) {
      // The list that was saved has the order, the to-ones say who is in it.
      var rest = members[List(owner: owner, slot: slot)] ?? []
      kept = kept.filter { rest.remove($0) != nil } + rest.sorted()
    }
    if !slots[slot].keepsSequence { kept.sort() }
    return kept.compactMap { reference in
      let end = objects[key(reference, entity: destination)]
      guard let end, let name = model?.entity(at: end.entity).name else { return nil }
      return ObjectReference(entityName: name, reference: reference)
    }
  }

  func load(into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    for entity in entities {
      for reference in references(of: entity.index) {
        let key = key(reference, entity: entity.index)
        guard let object = objects[key] else { continue }
        try nodes.beginNode(entity: entity.index, reference: reference)
        for slot in entity.slots {
          switch (slot.kind, object.values[slot.index]) {
          case (.attribute, let value?): try nodes.set(value, slot: slot.index)
          case (.toOne, .toOne(let end)?): try nodes.set(toOne: end.reference, slot: slot.index)
          case (.toMany, _):
            for member in list(slot.index, of: key) { try nodes.append(toMany: member.reference, slot: slot.index) }
          default: break
          }
        }
      }
    }
  }
}

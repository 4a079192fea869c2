/// What a save changes in what is known of a store.
extension NodeWindow {
  /// Whether a save can be applied to the window itself: every object reads it, and none leaves it, so that what they
  /// read is what they show. Otherwise each object has to be moved to a copy, which takes longer the more there are.
  func appliesInPlace(_ save: StoreSave) -> Bool { save.deleted.isEmpty && source?.isOnlyWindow ?? false }

  /// Applies what was saved.
  func apply(_ save: StoreSave, versions: [(object: ObjectReference, version: Int64)]) {
    var fresh: [ObjectReference: Int64] = [:]
    for entry in versions { fresh[entry.object] = entry.version }
    let model = nodes.model
    var removed: Set<UInt64> = []
    for object in save.deleted {
      guard let entity = model.entity(named: object.entityName),
        let node = knownHandle(for: object.reference, root: entity.root.index)
      else { continue }
      removed.insert(node.bits)
      drop(node)
    }
    cutEnds(leadingTo: removed)
    for object in save.inserted {
      guard let reference = object.reference else { continue }
      let name = model.records[object.entity].description.name
      var values = object.values
      for slot in model.records[object.entity].slots where slot.isToMany && values[slot.index] == nil {
        values[slot.index] = .toMany([])
      }
      take(
        StoreRow(
          entity: object.entity, reference: reference,
          version: fresh[ObjectReference(entityName: name, reference: reference)] ?? 0, values: values))
    }
    for object in save.updated {
      guard let reference = object.reference else { continue }
      let node = placeholderRow(reference, entity: object.entity)
      guard isFilled(node) else {
        forget(node)
        continue
      }
      for slot in object.values.slots {
        guard let value = object.values[slot] else { continue }
        attempt(for: node) { () throws(PersistentStoreError) in try set(value, slot: slot, of: node) }
      }
    }
    for change in save.members { apply(change) }
    for entry in versions {
      guard let entity = model.entity(named: entry.object.entityName),
        let node = knownHandle(for: entry.object.reference, root: entity.root.index)
      else { continue }
      setVersion(entry.version, of: node)
    }
  }

  /// Sets a value that is saved already. If the window has no room for it, the row is read again when it is needed,
  /// which reports that.
  private func attempt(for node: NodeHandle, _ body: () throws(PersistentStoreError) -> Void) {
    do throws(PersistentStoreError) { try body() } catch { forget(node) }
  }

  private func set(_ value: StoredValue, slot: Int, of node: NodeHandle) throws(PersistentStoreError) {
    let description = nodes.model.records[node.entity].slots[slot]
    switch (description.kind, value) {
    case (.attribute(let type), _):
      let header = ownColumn(slot, node)
      let replaced = header.pointee.heapLength(node.row)
      guard header.pointee.store(value, row: node.row, type: type) else { throw .columnFull(StoreLocation()) }
      header.pointee.waste(replaced)
    case (.toOne, .toOne(let other)):
      guard let entity = nodes.model.entity(named: other.entityName) else { return }
      let bits = placeholderRow(other.reference, entity: entity.index).bits
      ownColumn(slot, node).pointee.setHandle(node.row, bits)
    case (.toOne, _): ownColumn(slot, node).pointee.setNull(node.row)
    case (.toMany, .toMany(let list)): try setList(list, slot: slot, of: node)
    case (.toMany, _): try setList([], slot: slot, of: node)
    }
  }

  /// A to-many that was not read stays unread.
  private func apply(_ change: StoreSave.MemberChange) {
    guard let entity = nodes.model.entity(named: change.owner.entityName),
      let node = knownHandle(for: change.owner.reference, root: entity.root.index),
      isKnown(slot: change.slot, node)
    else { return }
    let removed = Set(change.removed)
    var list = header(change.slot, node).pointee.handles(node.row).map {
      nodes.objectReference(of: NodeHandle(bits: $0))
    }
    list.removeAll { removed.contains($0) }
    let held = Set(list)
    list += change.added.filter { !held.contains($0) }
    list.sort { $0.reference < $1.reference }
    attempt(for: node) { () throws(PersistentStoreError) in try setList(list, slot: change.slot, of: node) }
  }

  /// Returns the objects whose rows were read and lead to some objects by relationships without an inverse.
  func rowsLeading(to objects: [ObjectReference]) -> [ObjectReference] {
    let model = nodes.model
    let gone = Set(
      objects.compactMap { object in
        model.entity(named: object.entityName).flatMap { knownHandle(for: object.reference, root: $0.root.index)?.bits }
      })
    guard !gone.isEmpty else { return [] }
    let roots = Set(gone.map { model.records[NodeHandle(bits: $0).entity].root })
    var found: Set<ObjectReference> = []
    for entity in model.entities where nodes.entities[entity.index].count > 0 {
      for slot in entity.slots where slot.inverseSlot == nil {
        guard let destination = slot.destination, roots.contains(model.records[destination].root) else { continue }
        for row in 0..<nodes.entities[entity.index].count {
          let owner = NodeHandle(entity: entity.index, row: row)
          let leads =
            slot.isToMany
            ? isKnown(slot: slot.index, owner)
              && header(slot.index, owner).pointee.handles(row).contains(where: { gone.contains($0) })
            : isFilled(owner) && gone.contains(header(slot.index, owner).pointee.cell(row, as: UInt64.self))
          if leads { found.insert(nodes.objectReference(of: owner)) }
        }
      }
    }
    return Array(found)
  }

  /// What leads to removed objects is dangling: the store has removed it, too.
  private func cutEnds(leadingTo gone: Set<UInt64>) {
    guard !gone.isEmpty else { return }
    let model = nodes.model
    let roots = Set(gone.map { model.records[NodeHandle(bits: $0).entity].root })
    for entity in model.entities where nodes.entities[entity.index].count > 0 {
      for slot in entity.slots {
        guard let destination = slot.destination, roots.contains(model.records[destination].root) else { continue }
        for row in 0..<nodes.entities[entity.index].count {
          let owner = NodeHandle(entity: entity.index, row: row)
          if slot.isToMany {
            guard isKnown(slot: slot.index, owner) else { continue }
            let list = header(slot.index, owner).pointee.handles(row)
            guard list.contains(where: { gone.contains($0) }) else { continue }
            let kept = list.filter { !gone.contains($0) }
            _ = ownColumn(slot.index, owner).pointee.setHandles(row, Array(kept))
          } else if isFilled(owner), gone.contains(header(slot.index, owner).pointee.cell(row, as: UInt64.self)) {
            ownColumn(slot.index, owner).pointee.setNull(row)
          }
        }
      }
    }
  }
}

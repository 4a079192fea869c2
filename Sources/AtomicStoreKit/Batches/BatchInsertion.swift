import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// The rows of a batch, divided into objects to insert and objects of the store to update.
struct BatchInsertion {
  private enum Target: Hashable {
    case row(Int)
    case node(NodeHandle)
  }
  let plan: EntityPlan
  let cache: StoreCache
  let version: NodeVersion
  let rule: BatchInsertRequest.ConstraintRule
  private(set) var inserted: [SlotValues] = []
  private(set) var updated: [NodeHandle: SlotValues] = [:]
  private(set) var updatedOrder: [NodeHandle] = []
  private(set) var skippedCount = 0
  private var owners: [[UniqueKey: Target]]

  /// - Parameter count: The number of rows to come.
  init(
    _ plan: EntityPlan, _ cache: StoreCache, _ version: NodeVersion, _ rule: BatchInsertRequest.ConstraintRule,
    count: Int
  ) {
    self.plan = plan
    self.cache = cache
    self.version = version
    self.rule = rule
    owners = plan.constraints.map { _ in [:] }
    for (index, constraint) in plan.constraints.enumerated() {
      // The constraint holds for the entity that declares it, and for all below: inherited constraints come first.
      var holder = plan.entity
      while let above = holder.superentity, cache.plan.entities[above.index].constraints.count > index {
        holder = above
      }
      let rows = holder.hierarchy.reduce(count) { $0 + version.rowCount(of: $1.index) }
      owners[index].reserveCapacity(rows)
      for entity in holder.hierarchy {
        for row in 0..<version.rowCount(of: entity.index) {
          let node = NodeHandle(entity: entity.index, row: row)
          if let key = UniqueKey(constraint, of: node, in: version, cache) { owners[index][key] = .node(node) }
        }
      }
    }
  }

  /// - Parameters:
  ///   - given: The values that the row sets.
  ///   - complete: The same with defaults.
  mutating func add(_ given: SlotValues, _ complete: SlotValues, number: Int) throws(ManagedObjectError) {
    if plan.constraints.isEmpty { return inserted.append(complete) }
    if plan.constraints.count == 1 {
      // Most entities have one constraint, and most rows are new: then one access to the table does.
      guard let key = UniqueKey(plan.constraints[0], { part($0, in: complete) }) else {
        return inserted.append(complete)
      }
      if let owner = owners[0].updateValue(.row(inserted.count), forKey: key) {
        owners[0][key] = owner
        return try meet([owner], given, number)
      }
      return inserted.append(complete)
    }
    let keys = plan.constraints.map { constraint in UniqueKey(constraint) { part($0, in: complete) } }
    let found = Set(zip(owners, keys).compactMap { owner, key in key.flatMap { owner[$0] } })
    guard !found.isEmpty else {
      for (index, key) in keys.enumerated() { if let key { owners[index][key] = .row(inserted.count) } }
      return inserted.append(complete)
    }
    try meet(found, given, number)
  }

  /// Adds a row that has unique values of other objects.
  private mutating func meet(
    _ found: Set<Target>, _ given: SlotValues, _ number: Int
  ) throws(ManagedObjectError) {
    switch rule {
    case .skip: skippedCount += 1
    case .fail: throw conflict(number, "has unique values that another object has")
    case .update:
      guard let target = found.first, found.count == 1 else {
        throw conflict(number, "has unique values of \(found.count) different objects")
      }
      try update(target, given, number)
    }
  }

  private mutating func update(_ target: Target, _ given: SlotValues, _ number: Int) throws(ManagedObjectError) {
    let before = plan.constraints.map { key($0, of: target) }
    switch target {
    case .row(let index): for (slot, value) in given { inserted[index][slot] = value }
    case .node(let node):
      guard cache.plan.entities[node.entity].isKind(of: plan.index) else {
        throw conflict(number, "has unique values of an object of another entity")
      }
      if updated[node] == nil { updatedOrder.append(node) }
      var values = updated[node] ?? SlotValues()
      for (slot, value) in given { values[slot] = value }
      updated[node] = values
    }
    for (index, constraint) in plan.constraints.enumerated() {
      let after = key(constraint, of: target)
      guard after != before[index] else { continue }
      if let old = before[index] { owners[index][old] = nil }
      guard let after else { continue }
      if let other = owners[index][after], other != target {
        throw conflict(number, "gives an object unique values that another object has")
      }
      owners[index][after] = target
    }
  }

  private func key(_ constraint: [Int], of target: Target) -> UniqueKey? {
    switch target {
    case .row(let index): return UniqueKey(constraint) { part($0, in: inserted[index]) }
    case .node(let node):
      guard let changes = updated[node] else { return UniqueKey(constraint, of: node, in: version, cache) }
      return UniqueKey(constraint) { p in
        if changes[plan.properties[p].slot] != nil { return part(p, in: changes) }
        if plan.properties[p].kind == .toOne {
          return version.toOne(slot: plan.properties[p].slot, of: node).map { end in
            .reference(root: cache.plan.entities[end.entity].root, version.reference(of: end))
          }
        }
        let value = version.value(slot: plan.properties[p].slot, of: node)
        return value.isNull ? nil : UniqueKey.Part(value)
      }
    }
  }

  private func part(_ p: Int, in values: SlotValues) -> UniqueKey.Part? {
    guard case .attribute = plan.properties[p].kind, let value = values[plan.properties[p].slot], !value.isNull else {
      return nil
    }
    return UniqueKey.Part(value)
  }

  private func conflict(_ number: Int, _ text: String) -> ManagedObjectError {
    let names = plan.constraints.map { $0.map { plan.properties[$0].name }.joined(separator: ", ") }
    return ManagedObjectError(
      .managedObjectConstraintMerge,
      "row \(number) of \(plan.name) \(text); nothing was inserted (unique: \(names.joined(separator: "; ")))",
      entityName: plan.name)
  }

  /// The changes of a save, and the IDs of the objects that exist already.
  func changes() -> StoreChanges {
    StoreChanges(
      inserted: inserted.map { ManagedObjectSnapshot(entity: plan.index, values: $0) },
      updated: updatedOrder.map { node in
        ManagedObjectSnapshot(entity: node.entity, reference: version.reference(of: node), values: updated[node] ?? [:])
      })
  }

  var updatedIDs: [ManagedObjectID] {
    updatedOrder.map { node in
      ManagedObjectID(
        storeIdentifier: cache.identifier, entityName: cache.plan.entities[node.entity].name,
        reference: version.reference(of: node))
    }
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// The rows of a batch, divided into objects to insert and objects of the store to update.
struct BatchInsertion {
  private typealias Target = UniqueOwners.Owner
  let plan: EntityPlan
  let cache: StoreCache
  let version: NodeVersion
  let rule: BatchInsertRequest.ConstraintRule
  /// All rows of the batch as new objects.
  private var rows: [ManagedObjectSnapshot]
  /// Which of them are not inserted.
  private var leftOut: Set<Int> = []
  private var updated: [NodeHandle: SlotValues] = [:]
  private var updatedOrder: [NodeHandle] = []
  private(set) var skippedCount = 0
  private var owners: [UniqueOwners] = []

  /// - Parameter rows: The new objects with all values, defaults among them.
  init(
    _ plan: EntityPlan, _ cache: StoreCache, _ version: NodeVersion, _ rule: BatchInsertRequest.ConstraintRule,
    rows: [ManagedObjectSnapshot]
  ) {
    self.plan = plan
    self.cache = cache
    self.version = version
    self.rule = rule
    self.rows = rows
    for (index, constraint) in plan.constraints.enumerated() {
      // The constraint holds for the entity that declares it, and for all below: inherited constraints come first.
      var holder = plan.entity
      while let above = holder.superentity, cache.plan.entities[above.index].constraints.count > index {
        holder = above
      }
      let count = holder.hierarchy.reduce(rows.count) { $0 + version.rowCount(of: $1.index) }
      var table = UniqueOwners(type: type(constraint), count: count)
      for entity in holder.hierarchy {
        for row in 0..<version.rowCount(of: entity.index) {
          let node = NodeHandle(entity: entity.index, row: row)
          if let key = UniqueKey(constraint, of: node, in: version, cache) { table[key] = .node(node) }
        }
      }
      owners.append(table)
    }
  }

  /// The type of a constraint's only attribute.
  private func type(_ constraint: [Int]) -> AttributeType? {
    guard constraint.count == 1, case .attribute(let type) = plan.properties[constraint[0]].kind else { return nil }
    return type
  }

  /// Decides how each row is handled.
  ///
  /// - Parameter given: The values that each row sets, if the rule is to update.
  mutating func decide(_ given: [SlotValues]) throws(ManagedObjectError) {
    if plan.constraints.isEmpty { return }
    // Most entities have one constraint, of one attribute.
    if plan.constraints.count == 1, plan.constraints[0].count == 1,
      case .attribute = plan.properties[plan.constraints[0][0]].kind
    {
      return try decideBySlot(plan.properties[plan.constraints[0][0]].slot, given)
    }
    for index in rows.indices {
      let keys = plan.constraints.map { constraint in UniqueKey(constraint) { part($0, in: rows[index].values) } }
      let found = Set(zip(owners, keys).compactMap { owner, key in key.flatMap { owner[$0] } })
      guard found.isEmpty else {
        try meet(found, given, index)
        continue
      }
      for (number, key) in keys.enumerated() { if let key { owners[number][key] = .row(index) } }
    }
  }

  private mutating func decideBySlot(_ slot: Int, _ given: [SlotValues]) throws(ManagedObjectError) {
    for index in rows.indices {
      guard let value = rows[index].values[slot], !value.isNull else { continue }
      if let owner = owners[0].claim(value, for: .row(index)) { try meet([owner], given, index) }
    }
  }

  /// Adds a row that has unique values of other objects.
  private mutating func meet(
    _ found: Set<Target>, _ given: [SlotValues], _ index: Int
  ) throws(ManagedObjectError) {
    leftOut.insert(index)
    switch rule {
    case .skip: skippedCount += 1
    case .fail: throw conflict(index + 1, "has unique values that another object has")
    case .update:
      guard let target = found.first, found.count == 1 else {
        throw conflict(index + 1, "has unique values of \(found.count) different objects")
      }
      try update(target, given[index], index + 1)
    }
  }

  private mutating func update(_ target: Target, _ given: SlotValues, _ number: Int) throws(ManagedObjectError) {
    let before = plan.constraints.map { key($0, of: target) }
    switch target {
    case .row(let index): for (slot, value) in given { rows[index].values[slot] = value }
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
    case .row(let index): return UniqueKey(constraint) { part($0, in: rows[index].values) }
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
      inserted: leftOut.isEmpty ? rows : rows.indices.filter { !leftOut.contains($0) }.map { rows[$0] },
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

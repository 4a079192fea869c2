import AtomicStoreSPI
import StorePredicates

/// The changes that two graphs made to a common base, put together.
struct ThreeWayMerge {
  let base: NodeTable
  let first: NodeTable
  let second: NodeTable
  var nodes: NodeTable
  var decision: ConflictDecision
  private var renumbered: [String: Int] = [:]
  /// What objects of the second graph are called in the result, where the first gave their reference to another, or
  /// where one side changed their entity.
  var names: ObjectNames = [:]
  /// What objects of the first graph, and of the base, are called in the result, where one side changed their entity.
  var namesOfFirst: ObjectNames = [:]
  var namesOfBase: ObjectNames = [:]
  /// The objects of the base whose entity a side changed: they are taken from one side as a whole.
  var movedObjects: Set<ObjectReference> = []
  private var lastNumber: Int64
  /// Objects that are put into the result, in the second graph and in the result: their values are set when all are
  /// there.
  var added: [(old: NodeHandle, new: NodeHandle)] = []
  /// Objects that are in the result although one side deleted them, by that side: what it took them out of was part of
  /// the deletion.
  private var keptOfFirst = KeptObjects()
  private var keptOfSecond = KeptObjects()
  private var ends = OneToOneEnds()

  init(
    _ base: NodeTable, _ first: NodeTable, _ second: NodeTable, _ rule: StoreMerge.ConflictRule, after last: Int64
  ) throws {
    try base.checkModel(of: first)
    try base.checkModel(of: second)
    self.base = base
    self.first = first
    self.second = second
    nodes = first
    decision = ConflictDecision(rule)
    lastNumber = [base, first, second].map(\.greatestIntegerReference).reduce(max(0, last), max)
  }

  mutating func result() throws -> StoreMerge.Result {
    try decideEntities()
    let gone = try decideDeletions()
    try addNewObjects()
    try nodes.removeWithLinks(gone)
    try mergeValues()
    guard decision.open.isEmpty else { throw StoreMerge.ConflictError(conflicts: decision.open) }
    try clearContradictingEnds()
    var merged = try nodes.withBothEnds(madeOf: [base, first, second]).canonical()
    try DerivedAttributes(merged.model).update(&merged, since: first, skipsFailures: true)
    try merged.checkUniqueness(mergedFrom: [base, first, second])
    return StoreMerge.Result(nodes: merged, renumbered: renumbered, settled: decision.settled)
  }

  private mutating func clearContradictingEnds() throws {
    if case .refuse = decision.rule { return }
    for cleared in try ends.clear(in: &nodes) {
      let object = nodes.objectReference(of: cleared.node)
      // By name: an object whose entity changed has other slots.
      let mine = first.handle(for: object).flatMap { first.value(forKey: cleared.slot.name, of: $0) }?
        .renamed(namesOfFirst)
      let isOfFirst = mine?.isIdentical(to: .toOne(cleared.partner)) ?? false
      decision.settle(cleared, of: object, isOfSecond: !isOfFirst)
    }
  }

  /// Objects that only the second graph has, and the base does not; then the values of all that were added.
  private mutating func addNewObjects() throws {
    for entity in second.model.entities {
      guard let own = nodes.model.entity(named: entity.name) else { continue }
      for node in second.handles(of: entity.index) {
        let object = second.objectReference(of: node)
        if base.handle(for: object) != nil { continue }
        var reference = object.reference
        if let taken = nodes.handle(for: reference, entity: own.index) {
          if isSame(taken, node, own) { continue }
          lastNumber = try [base, first, second].nextIntegerReference(after: lastNumber, entityName: entity.name)
          reference = .integer(lastNumber)
          renumbered[entity.name, default: 0] += 1
        }
        let new = try nodes.addCacheNode(entity: own.index, reference: reference)
        names[object] = nodes.objectReference(of: new)
        added.append((node, new))
      }
    }
    for (old, new) in added {
      for slot in nodes.model.entity(at: new.entity).slots {
        let value = second.value(slot: slot.index, of: old).renamed(names)
        if !value.isNull { try setKnown(value, slot, new) }
      }
    }
  }

  /// Whether both sides added the same object.
  private func isSame(_ node: NodeHandle, _ other: NodeHandle, _ entity: Entity) -> Bool {
    guard nodes.model.entity(at: node.entity).name == second.model.entity(at: other.entity).name else { return false }
    return entity.slots.allSatisfy { slot in
      slot.isToMany || slot.isDerived
        || nodes.value(slot: slot.index, of: node).isIdentical(to: second.value(slot: slot.index, of: other))
    }
  }

  /// Sets a value without objects that the first graph deleted.
  private mutating func setKnown(_ value: StoredValue, _ slot: Slot, _ node: NodeHandle) throws {
    switch value {
    case .toOne(let reference) where nodes.handle(for: reference) == nil: return
    case .toMany(let list):
      try nodes.set(.toMany(list.filter { nodes.handle(for: $0) != nil }), slot: slot.index, of: node)
    default: try nodes.set(value, slot: slot.index, of: node)
    }
  }

  /// Objects that one side deleted: gone, unless the other side changed them, or has a new reference to them.
  ///
  /// - Returns: Those of the result that go.
  private mutating func decideDeletions() throws -> [NodeHandle] {
    var gone: [NodeHandle] = []
    let firstUses = newUses(in: first, ofThoseMissingIn: second)
    let secondUses = newUses(in: second, ofThoseMissingIn: first)
    for entity in base.model.entities {
      for node in base.handles(of: entity.index) {
        let object = base.objectReference(of: node)
        if movedObjects.contains(object) { continue }
        let mine = first.handle(for: object)
        let theirs = second.handle(for: object)
        if let mine, theirs == nil {
          guard let use = isChanged(mine, first, node, namesOfFirst, namesOfBase) ? "changed" : firstUses[object] else {
            if let here = nodes.handle(for: object) { gone.append(here) }
            continue
          }
          let conflict = StoreMerge.Conflict(object: object, property: nil, first: use, second: "deleted")
          if decision.takesSecond(conflict, nil, nil) {
            if let here = nodes.handle(for: object) { gone.append(here) }
          } else {
            keptOfSecond.objects.insert(keptName(object, first.objectReference(of: mine)))
          }
        } else if mine == nil, let theirs,
          let use = isChanged(theirs, second, node, names, namesOfBase) ? "changed" : secondUses[object]
        {
          let conflict = StoreMerge.Conflict(object: object, property: nil, first: "deleted", second: use)
          guard decision.takesSecond(conflict, nil, nil) else { continue }
          let kept = second.model.entity(at: theirs.entity).name
          let own = nodes.model.entity(named: kept) ?? entity
          added.append((theirs, try nodes.addCacheNode(entity: own.index, reference: object.reference)))
          keptOfFirst.objects.insert(keptName(object, second.objectReference(of: theirs)))
        }
      }
    }
    return gone
  }

  /// Notes what a kept object is called in the result, if the side that kept it also changed its entity.
  private mutating func keptName(_ object: ObjectReference, _ name: ObjectReference) -> ObjectReference {
    if name != object { namesOfBase[object] = name }
    return name
  }

  /// What refers in a graph, but not in the base, to objects that the other graph deleted: the first such property of
  /// each, as text. Without this, a reference that one side made would go with what the other side deleted.
  private func newUses(in graph: NodeTable, ofThoseMissingIn other: NodeTable) -> [ObjectReference: String] {
    var deleted: Set<ObjectReference> = []
    for entity in base.model.entities {
      for node in base.handles(of: entity.index) {
        let object = base.objectReference(of: node)
        if other.handle(for: object) == nil, graph.handle(for: object) != nil { deleted.insert(object) }
      }
    }
    guard !deleted.isEmpty else { return [:] }
    var uses: [ObjectReference: String] = [:]
    for entity in graph.model.entities {
      for slot in entity.slots where slot.isRelationship && !slot.followsFromInverse(in: graph.model) {
        for node in graph.handles(of: entity.index) {
          let used = graph.value(slot: slot.index, of: node).references.filter { deleted.contains($0) }
          guard !used.isEmpty else { continue }
          let object = graph.objectReference(of: node)
          let original = base.handle(for: object).flatMap { base.name(of: $0) == object.entityName ? $0 : nil }
          let before = original.map { base.value(slot: slot.index, of: $0).references } ?? []
          for reference in used where !before.contains(reference) && uses[reference] == nil {
            uses[reference] = "the value of \(object).\(slot.name)"
          }
        }
      }
    }
    return uses
  }

  /// Whether an object has other values than in the base, but for to-manys that follow from their other end.
  ///
  /// - Parameters:
  ///   - names: What the graph's objects are called here.
  ///   - baseNames: What those of the base are called.
  func isChanged(
    _ node: NodeHandle, _ graph: NodeTable, _ original: NodeHandle, _ names: ObjectNames, _ baseNames: ObjectNames
  ) -> Bool {
    guard graph.name(of: node) == base.name(of: original) else { return true }
    return base.model.entity(at: original.entity).slots.contains { slot in
      !slot.followsFromInverse(in: base.model) && !slot.isDerived
        && !graph.value(slot: slot.index, of: node).renamed(names)
          .isIdentical(to: base.value(slot: slot.index, of: original).renamed(baseNames))
    }
  }

  private mutating func mergeValues() throws {
    for entity in base.model.entities {
      for node in base.handles(of: entity.index) {
        let object = base.objectReference(of: node)
        guard !movedObjects.contains(object), let theirs = second.handle(for: object),
          let mine = first.handle(for: object),
          let here = nodes.handle(for: object)
        else { continue }
        // The members of an ordered to-many follow from their other end, their sequence does not.
        for slot in entity.slots where slot.isOrdered || !slot.followsFromInverse(in: base.model) {
          let before = base.value(slot: slot.index, of: node).renamed(namesOfBase)
          try merge(slot, object, here, mine, theirs, before)
        }
      }
    }
  }

  private mutating func merge(
    _ slot: Slot, _ object: ObjectReference, _ here: NodeHandle, _ mine: NodeHandle, _ theirs: NodeHandle,
    _ before: StoredValue
  ) throws {
    let left = first.value(slot: slot.index, of: mine).renamed(namesOfFirst)
    let one = keptOfFirst.restored(left, before, slot, nodes.model)
    if !one.isIdentical(to: left) { try setKnown(one, slot, here) }
    let other = keptOfSecond.restored(
      second.value(slot: slot.index, of: theirs).renamed(names), before, slot, nodes.model)
    if other.isIdentical(to: before) || other.isIdentical(to: one) { return }
    if one.isIdentical(to: before) {
      if other.isNull { return try nodes.set(.null, slot: slot.index, of: here) }
      return try setKnown(other, slot, here)
    }
    if case .toMany(let old) = before, case .toMany(let ours) = one, case .toMany(let new) = other {
      // What either side added is in, what either side removed is out; ours come first.
      let inBase = Set(old)
      let theirs = Set(new)
      let kept = ours.filter { theirs.contains($0) || !inBase.contains($0) }
      let known = Set(kept)
      let merged = kept + new.filter { !inBase.contains($0) && !known.contains($0) }
      return try setKnown(.toMany(merged), slot, here)
    }
    if slot.isDerived {
      // Values follow from the merged ones: see ``result()``.
      if one.isEarlier(than: other) { try nodes.set(other, slot: slot.index, of: here) }
      return
    }
    let conflict = StoreMerge.Conflict(
      object: object, property: slot.name, first: one.shownText, second: other.shownText)
    ends.decide(here, slot)
    guard decision.takesSecond(conflict, (first, mine), (second, theirs)) else { return }
    if other.isNull { return try nodes.set(.null, slot: slot.index, of: here) }
    try setKnown(other, slot, here)
  }
}

/// Objects that a side deleted, and that the result has because of what the other side did with them.
private struct KeptObjects {
  var objects: Set<ObjectReference> = []

  /// The value that a relationship of the side that deleted them would have without the deletion.
  func restored(
    _ value: StoredValue, _ before: StoredValue, _ slot: Slot, _ model: ManagedObjectModel
  ) -> StoredValue {
    guard !objects.isEmpty else { return value }
    // A kept object may have become one that this relationship cannot name.
    let before = before.accepted(by: slot, in: model)
    switch (value, before) {
    case (.null, .toOne(let old)) where objects.contains(old): return before
    case (.null, .toMany(let old)), (.toMany([]), .toMany(let old)):
      return Self.list(old.filter(objects.contains), value)
    case (.toMany(let list), .toMany(let old)):
      let there = Set(list)
      let missing = old.filter { objects.contains($0) && !there.contains($0) }
      guard !missing.isEmpty else { return value }
      // Where nothing else changed, also the sequence is that of before.
      let restored = there.union(missing)
      if list == old.filter({ there.contains($0) }), restored.count == old.count { return before }
      return .toMany(list + missing)
    default: return value
    }
  }

  private static func list(_ restored: [ObjectReference], _ value: StoredValue) -> StoredValue {
    restored.isEmpty ? value : .toMany(restored)
  }
}

extension StoredValue {
  /// The objects that a relationship's value names.
  var references: [ObjectReference] {
    switch self {
    case .toOne(let reference): [reference]
    case .toMany(let list): list
    default: []
    }
  }
}

import AtomicStoreSPI
import StoreCoordination

/// The changes that two graphs made to a common base, put together.
struct ThreeWayMerge {
  enum Side {
    case first, second

    var other: Side { self == .first ? .second : .first }
  }

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
  /// Where one side deleted objects that the other side changed or refers to: what was decided, by the side whose
  /// values have to be read accordingly.
  var decidedOfFirst = DecidedDeletions()
  var decidedOfSecond = DecidedDeletions()
  /// Objects that one side's object was taken for as a whole, with that side.
  var takenWhole: [(node: NodeHandle, side: Side)] = []
  /// To-ones that name an object which a decision deletes, and did not in the base.
  var lostReferences: [LostReference] = []
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

  mutating func result(_ allowsEmptyNonOptionalToMany: Bool) throws -> StoreMerge.Result {
    if !(hasObjectsOfBase(first) && hasObjectsOfBase(second)) {
      try decideEntities()
      let gone = try decideDeletions()
      try addNewObjects()
      settleLostReferences()
      try nodes.removeWithLinks(gone)
    }
    try mergeValues()
    guard decision.open.isEmpty else { throw StoreMerge.ConflictError(conflicts: decision.open) }
    try clearContradictingEnds()
    let merged = try nodes.completed(
      mergedFrom: [(base, namesOfBase), (first, namesOfFirst), (second, names)], since: first,
      allowsEmptyNonOptionalToMany: allowsEmptyNonOptionalToMany)
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
    let same = sameAdditions()
    for entity in second.model.entities {
      guard let own = nodes.model.entity(named: entity.name) else { continue }
      for node in second.handles(of: entity.index) {
        let object = second.objectReference(of: node)
        if base.handle(for: object) != nil || same.contains(object) { continue }
        var reference = object.reference
        if nodes.handle(for: reference, entity: own.index) != nil {
          lastNumber = try [base, first, second].nextIntegerReference(after: lastNumber, entityName: entity.name)
          reference = .integer(lastNumber)
          renumbered[entity.name, default: 0] += 1
        }
        let new = try nodes.addCacheNode(entity: own.index, reference: reference)
        if reference != object.reference { names[object] = nodes.objectReference(of: new) }
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

  /// The objects that both sides added: with one reference and the same values. A relationship to a new object is the
  /// same only if that object is.
  private func sameAdditions() -> Set<ObjectReference> {
    var same: Set<ObjectReference> = []
    var different: [ObjectReference] = []
    /// Which of them name a new object.
    var holders: [ObjectReference: [ObjectReference]] = [:]
    for entity in second.model.entities {
      guard let own = nodes.model.entity(named: entity.name) else { continue }
      for node in second.handles(of: entity.index) {
        let object = second.objectReference(of: node)
        guard base.handle(for: object) == nil, let taken = nodes.handle(for: object.reference, entity: own.index) else {
          continue
        }
        guard hasSameValues(taken, node, own) else {
          different.append(object)
          continue
        }
        same.insert(object)
        for slot in own.slots where slot.isRelationship && !slot.followsFromInverse(in: nodes.model) {
          for other in second.value(slot: slot.index, of: node).references where base.handle(for: other) == nil {
            holders[other, default: []].append(object)
          }
        }
      }
    }
    while let object = different.popLast() {
      for holder in holders[object] ?? [] where same.remove(holder) != nil { different.append(holder) }
    }
    return same
  }

  /// Whether two objects of one reference have the same values, except for to-manys that follow from their other end.
  private func hasSameValues(_ node: NodeHandle, _ other: NodeHandle, _ entity: Entity) -> Bool {
    guard nodes.name(of: node) == second.name(of: other) else { return false }
    return entity.slots.allSatisfy { slot in
      slot.followsFromInverse(in: nodes.model) || slot.isDerived
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

  /// Whether an object has other values than in the base, except for to-manys that follow from their other end.
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

  /// The columns of a property that is merged, in the base and in the second graph.
  private struct MergedProperty {
    let slot: Slot
    let columns: ColumnPair
  }

  private mutating func mergeValues() throws {
    let translation = RowTranslation(entities: base.model.entityCount)
    for (entity, other) in sharedEntities(with: second) {
      let (left, right) = (base.reader(of: entity.index), second.reader(of: other.index))
      translation.set(entity.index, to: other.index, MatchedRows(left, right), rowCount: left.count)
    }
    for (entity, other) in sharedEntities(with: second) {
      let (left, right) = (base.reader(of: entity.index), second.reader(of: other.index))
      let properties = entity.slots.filter { $0.isMerged(in: base.model) }.compactMap { slot in
        other.slot(named: slot.name).map { number in
          MergedProperty(
            slot: slot, columns: ColumnPair((slot, left), (other.slots[number], right), isSequence: true))
        }
      }
      try withExtendedLifetime((left, right)) { try mergeValues(of: entity, properties, translation) }
    }
  }

  /// The entities of the base that another graph has, too.
  private func sharedEntities(with graph: NodeTable) -> [(Entity, Entity)] {
    base.model.entities.compactMap { entity in graph.model.entity(named: entity.name).map { (entity, $0) } }
  }

  /// Whether another graph has exactly the objects of the base, so that none was added, deleted or given another
  /// entity.
  private func hasObjectsOfBase(_ graph: NodeTable) -> Bool {
    sharedEntities(with: graph).allSatisfy { entity, other in
      MatchedRows(base.reader(of: entity.index), graph.reader(of: other.index)).isIdentity
    }
  }

  private mutating func mergeValues(
    of entity: Entity, _ properties: [MergedProperty], _ translation: RowTranslation
  ) throws {
    // What the second side did not change stays as the first has it, unless a decision applies to it.
    let isPlain = movedObjects.isEmpty && decidedOfFirst.isEmpty && decidedOfSecond.isEmpty
    for node in base.handles(of: entity.index) {
      let theirs = translation.translated(node.rawBits)
      if isPlain {
        if theirs == RowTranslation.null { continue }
        let row = NodeHandle(rawBits: theirs).row
        if properties.allSatisfy({ $0.columns.isSame(node.row, row, translation) }) { continue }
      }
      let object = base.objectReference(of: node)
      guard !movedObjects.contains(object), let theirs = second.handle(for: object),
        let mine = first.handle(for: object),
        let here = nodes.handle(for: object)
      else { continue }
      for property in properties {
        let before = base.value(slot: property.slot.index, of: node).renamed(namesOfBase)
        try merge(property.slot, object, here, mine, theirs, before)
      }
    }
  }

  private mutating func merge(
    _ slot: Slot, _ object: ObjectReference, _ here: NodeHandle, _ mine: NodeHandle, _ theirs: NodeHandle,
    _ before: StoredValue
  ) throws {
    let left = first.value(slot: slot.index, of: mine).renamed(namesOfFirst)
    let one = decidedOfFirst.applied(to: left, before, slot, nodes.model)
    if !one.isIdentical(to: left) { try setKnown(one, slot, here) }
    let other = decidedOfSecond.applied(
      to: second.value(slot: slot.index, of: theirs).renamed(names), before, slot, nodes.model)
    let merged = decision.merged(one, other, base: before, slot, of: object, (first, mine), (second, theirs)) {
      ends.decide(here, slot)
    }
    if let merged { try setKnown(merged, slot, here) }
  }
}

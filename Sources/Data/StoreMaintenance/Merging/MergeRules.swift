import AtomicStoreSPI

/// Decides conflicts by a rule, and collects those that it does not.
struct ConflictDecision {
  let rule: StoreMerge.ConflictRule
  private(set) var settled: [StoreMerge.Conflict] = []
  private(set) var open: [StoreMerge.Conflict] = []

  init(_ rule: StoreMerge.ConflictRule) { self.rule = rule }

  /// Whether the second side's value is taken.
  mutating func takesSecond(
    _ conflict: StoreMerge.Conflict, _ first: (NodeTable, NodeHandle)?, _ second: (NodeTable, NodeHandle)?
  ) -> Bool {
    var takes: Bool?
    switch rule {
    case .refuse: takes = nil
    case .first: takes = false
    case .last: takes = true
    case .newest(let property):
      if let first, let second { takes = Self.isNewer(property, second, first) }
    }
    guard let takes else {
      open.append(conflict)
      return false
    }
    settled.append(conflict)
    return takes
  }

  /// Puts the values together that two sides have for a property: a merge with a base, and one without, do it so.
  ///
  /// - Parameters:
  ///   - base: The value of the version that both come from; nil if there is none: then both have changed it.
  ///   - object: The object in the result, for conflicts.
  ///   - one: The object of the first side.
  ///   - other: The object of the second side.
  ///   - willDecide: Called before a conflict is decided.
  /// - Returns: The value that takes the place of the first side's; nil if that stays.
  mutating func merged(
    _ first: StoredValue, _ second: StoredValue, base: StoredValue?, _ slot: Slot, of object: ObjectReference,
    _ one: (NodeTable, NodeHandle), _ other: (NodeTable, NodeHandle), willDecide: () -> Void
  ) -> StoredValue? {
    if second.isIdentical(to: first) { return nil }
    if let base {
      if second.isIdentical(to: base) { return nil }
      if first.isIdentical(to: base) { return second }
    }
    if slot.isToMany {
      // What either side added is in, what either side removed is out; those of the side that decides come first.
      let (leading, following) =
        rule == .last ? (second.references, first.references) : (first.references, second.references)
      let (inBase, others) = (Set(base?.references ?? []), Set(following))
      let kept = leading.filter { others.contains($0) || !inBase.contains($0) }
      let known = Set(kept)
      return .toMany(kept + following.filter { !inBase.contains($0) && !known.contains($0) })
    }
    // Derived values follow from the merged ones; of two times of a last change, the later one stays.
    if slot.isDerived { return first.isEarlier(than: second) ? second : nil }
    willDecide()
    let conflict = StoreMerge.Conflict(
      object: object, property: slot.name, first: first.shownText, second: second.shownText)
    return takesSecond(conflict, one, other) ? second : nil
  }

  /// Notes what follows from another decision.
  mutating func settle(_ conflict: StoreMerge.Conflict) { settled.append(conflict) }

  /// Notes an object whose relationship was cleared because its partner was decided to have another one.
  ///
  /// - Parameter isOfSecond: Whether the second side had the value.
  mutating func settle(_ cleared: OneToOneEnds.Cleared, of object: ObjectReference, isOfSecond: Bool) {
    let (value, none) = (StoredValue.toOne(cleared.partner).shownText, StoredValue.null.shownText)
    settled.append(
      StoreMerge.Conflict(
        object: object, property: cleared.slot.name, first: isOfSecond ? none : value,
        second: isOfSecond ? value : none))
  }

  private static func isNewer(
    _ property: String, _ one: (nodes: NodeTable, node: NodeHandle), _ other: (nodes: NodeTable, node: NodeHandle)
  ) -> Bool? {
    switch (one.nodes.value(forKey: property, of: one.node), other.nodes.value(forKey: property, of: other.node)) {
    case (.date(let a)?, .date(let b)?): a == b ? nil : a > b
    case (.integer(let a)?, .integer(let b)?): a == b ? nil : a > b
    case (.double(let a)?, .double(let b)?): a == b ? nil : a > b
    case (.decimal(let a)?, .decimal(let b)?): a == b ? nil : b.isLess(than: a)
    default: nil
    }
  }
}

extension NodeTable {
  /// Whether objects of another table can be in this one.
  func checkModel(of other: NodeTable) throws(PersistentStoreError) {
    guard let differences = modelDifferences(from: other) else { return }
    throw PersistentStoreError(
      .modelMismatch, "the stores have different models: \(differences): migrate them to one model first")
  }

  /// The first differences between the models of two tables, as text; nil if there are none.
  package func modelDifferences(
    from other: NodeTable, names: (first: String, second: String) = ("the first", "the second")
  ) -> String? {
    if model === other.model { return nil }
    var differences = model.differences(from: other.model.description)
    guard !differences.isEmpty else { return nil }
    let more = differences.count > 5 ? "; and \(differences.count - 5) more" : ""
    for index in differences.indices {
      switch differences[index].change {
      case VersionHashDifference.onlyInModel: differences[index].change = "only in \(names.first)"
      case VersionHashDifference.onlyInStore: differences[index].change = "only in \(names.second)"
      default: break
      }
    }
    return differences.prefix(5).map { "\($0)" }.joined(separator: "; ") + more
  }

  /// The table with both ends of every relationship: a to-many follows from its to-one inverse.
  ///
  /// - Parameter sources: The tables that it was made of, with what their objects are called in this one.
  /// - Throws: `.inverseMismatch` for ends that contradict each other, and do not in any of these tables.
  func withBothEnds(madeOf sources: [(nodes: NodeTable, names: ObjectNames)]) throws(PersistentStoreError)
    -> NodeTable
  {
    let (result, contradictions) = try bothEnds(madeOf: sources)
    guard let new = contradictions.first else { return result }
    throw PersistentStoreError(
      .inverseMismatch, new.message,
      at: StoreLocation(
        entity: new.object.entityName, reference: new.object.reference.description, property: new.property))
  }

  /// The same, with the ends that contradict each other, and do not in any of the tables.
  func bothEnds(
    madeOf sources: [(nodes: NodeTable, names: ObjectNames)]
  ) throws(PersistentStoreError) -> (nodes: NodeTable, contradictions: [InverseDisagreement]) {
    let result = try reconciled(by: .asStored, isDerived: { $0.followsFromInverse(in: model) }).nodes
    let found = result.inverseDisagreements()
    guard !found.isEmpty else { return (result, []) }
    var known: Set<InverseDisagreement> = []
    for source in sources {
      for var disagreement in source.nodes.inverseDisagreements() {
        disagreement.object = source.names[disagreement.object] ?? disagreement.object
        disagreement.other = source.names[disagreement.other] ?? disagreement.other
        known.insert(disagreement)
      }
    }
    return (result, found.filter { !known.contains($0) })
  }

  /// Takes objects out of all relationships that name them, and then out of the table.
  mutating func removeWithLinks(_ nodes: [NodeHandle]) throws(PersistentStoreError) {
    guard !nodes.isEmpty else { return }
    let gone = Set(nodes.map { objectReference(of: $0) })
    for entity in model.entities {
      for slot in entity.slots where slot.isRelationship {
        for other in handles(of: entity.index) {
          switch value(slot: slot.index, of: other) {
          case .toOne(let reference) where gone.contains(reference): try set(.null, slot: slot.index, of: other)
          case .toMany(let list) where list.contains(where: { gone.contains($0) }):
            try set(.toMany(list.filter { !gone.contains($0) }), slot: slot.index, of: other)
          default: break
          }
        }
      }
    }
    for node in nodes { remove(node) }
  }
}

extension StoredValue {
  /// Whether both are dates, and this one is the earlier: of two times of a last change, the later one stays.
  func isEarlier(than other: StoredValue) -> Bool {
    if case .date(let one) = self, case .date(let other) = other { one < other } else { false }
  }
}

extension InverseDisagreement {
  /// What is wrong with the property.
  var message: String { "\(other) is named here, but its '\(inverse)' does not name \(object) back" }
}

extension Slot {
  /// Whether its value is merged: the members of an ordered to-many follow from their other end, their sequence does
  /// not.
  func isMerged(in model: ManagedObjectModel) -> Bool { isOrdered || !followsFromInverse(in: model) }

  /// Whether its value is computed from others, so that it can neither be in conflict nor be a separate change.
  var isDerived: Bool { attribute?.derivationExpression != nil }

  /// The other end of a one-to-one or many-to-many relationship, of which neither end follows from the other.
  func equalInverse(in model: ManagedObjectModel) -> Slot? {
    guard let destination, let inverseSlot else { return nil }
    let inverse = model.entity(at: destination).slots[inverseSlot]
    return inverse.isToMany == isToMany ? inverse : nil
  }

  /// Whether a to-many follows from the to-one at its other end.
  func followsFromInverse(in model: ManagedObjectModel) -> Bool {
    guard isToMany, let destination, let inverseSlot else { return false }
    return !model.entity(at: destination).slots[inverseSlot].isToMany
  }
}

extension NodeTable {
  /// The name of a node's entity.
  func name(of node: NodeHandle) -> String { model.entity(at: node.entity).name }
}

extension StoredValue {
  /// The value with other names for some of the objects that it refers to.
  func renamed(_ names: ObjectNames) -> StoredValue {
    guard !names.isEmpty else { return self }
    switch self {
    case .toOne(let reference): return .toOne(names[reference] ?? reference)
    case .toMany(let list): return .toMany(list.map { names[$0] ?? $0 })
    default: return self
    }
  }

  /// The objects that a relationship's value names.
  var references: [ObjectReference] {
    switch self {
    case .toOne(let reference): [reference]
    case .toMany(let list): list
    default: []
    }
  }
}

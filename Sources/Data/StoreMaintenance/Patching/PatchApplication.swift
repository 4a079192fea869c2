import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// A patch on its way into a graph: first everything is compared, and only then changed.
struct PatchApplication {
  private var nodes: NodeTable
  private var metadata: StoreMetadata
  private var conflicts: [PatchConflict] = []
  /// Objects that the patch deletes.
  private var gone: Set<ObjectReference> = []
  /// Those of them whose reference an object has that the patch inserts: it moved to another entity of the hierarchy.
  private var replaced: Set<ObjectReference> = []
  /// What properties are changed to, to find those that are changed twice.
  private var targets: [ChangedProperty: StoredValue] = [:]

  private struct ChangedProperty: Hashable {
    var object: ObjectReference
    var name: ScalarString

    init(_ object: ObjectReference, _ name: String) {
      self.object = object
      self.name = ScalarString(name)
    }
  }

  private let allowsEmptyNonOptionalToMany: Bool

  init(_ snapshot: StoreSnapshot, allowsEmptyNonOptionalToMany: Bool) {
    self.allowsEmptyNonOptionalToMany = allowsEmptyNonOptionalToMany
    nodes = snapshot.nodes
    metadata = snapshot.metadata
  }

  mutating func run(_ changes: [PatchChange]) throws -> StoreSnapshot {
    let old = nodes
    for case .deleted(let object, _) in changes { gone.insert(object) }
    for change in changes { check(change) }
    checkReplaced(changes)
    try stop()
    try nodes.removeWithLinks(replaced.compactMap { nodes.handle(for: $0) })
    gone.subtract(replaced)
    try insert(changes)
    for change in changes { try set(change) }
    try stop()
    var ends = OtherEnds()
    for change in changes { try setOtherEnds(change, since: old, &ends) }
    try set(ends)
    try delete()
    try stop()
    if changes.contains(where: concernsRelationships) {
      let (both, contradictions) = try nodes.bothEnds(madeOf: [(old, [:])])
      nodes = both
      for contradiction in contradictions {
        add(contradiction.object, contradiction.property, contradiction.message)
      }
      try stop()
    }
    nodes = try nodes.canonical()
    try DerivedAttributes(nodes.model).update(&nodes, since: old, time: Date())
    for change in changes { verify(change) }
    try stop()
    if changes.contains(where: concernsObjects) {
      conflicts =
        PatchViolations(from: old, to: nodes, allowsEmptyNonOptionalToMany: allowsEmptyNonOptionalToMany).conflicts()
    }
    try stop()
    metadata.lastReference = max(metadata.lastReference, nodes.greatestIntegerReference)
    return StoreSnapshot(nodes: nodes, metadata: metadata)
  }

  private func stop() throws(PatchConflictError) {
    if !conflicts.isEmpty { throw PatchConflictError(conflicts: conflicts) }
  }

  private mutating func add(
    _ object: ObjectReference?, _ property: String?, _ message: String, expected: String? = nil,
    found: String? = nil
  ) {
    conflicts.append(
      PatchConflict(object: object, property: property, expected: expected, found: found, message: message))
  }

  // MARK: Comparing

  private mutating func check(_ change: PatchChange) {
    switch change {
    case .inserted(let object, let values): checkInserted(object, values)
    case .deleted(let object, let values):
      guard let node = node(object) else { return }
      let known = Dictionary(
        values.map { (ScalarString($0.property), $0.value) }, uniquingKeysWith: { first, _ in first })
      for slot in nodes.model.entity(at: node.entity).slots {
        let expected = known[ScalarString(slot.name)] ?? (slot.isToMany ? .toMany([]) : .null)
        compare(slot, of: node, object, expected: expected)
      }
    case .changed(let object, let property, let old, let new):
      guard let node = node(object) else { return }
      guard let slot = slot(property, nodes.model.entity(at: node.entity), object) else { return }
      compare(slot, of: node, object, expected: old)
      checkTarget(slot, object, new)
    case .metadata(let key, let path, let old, _):
      let found = Self.entry(metadata.entries, [key] + path)
      guard found != old else { return }
      let place = path.reduce(key) { $0 + "." + $1 }
      let texts = (
        old.map { GraphComparison.text($0) } ?? "nothing", found.map { GraphComparison.text($0) } ?? "nothing"
      )
      add(nil, place, "is \(texts.1), the patch expects \(texts.0)", expected: texts.0, found: texts.1)
    }
  }

  private mutating func checkInserted(
    _ object: ObjectReference, _ values: [(property: String, value: StoredValue)]
  ) {
    guard let entity = nodes.model.entity(named: object.entityName) else {
      return add(object, nil, "the model has no entity '\(object.entityName)'")
    }
    if entity.isAbstract { return add(object, nil, "the entity is abstract") }
    if let taken = nodes.handle(for: object.reference, entity: entity.index) {
      let other = nodes.objectReference(of: taken)
      guard gone.contains(other) else { return add(object, nil, "the reference is that of \(other) already") }
      replaced.insert(other)
    }
    for (name, value) in values {
      if let slot = slot(name, entity, object) { checkTarget(slot, object, value) }
    }
  }

  /// Notes that the patch sets a property to two values: only one of them could last.
  private mutating func checkTarget(_ slot: Slot, _ object: ObjectReference, _ value: StoredValue) {
    let property = ChangedProperty(object, slot.name)
    guard let other = targets[property] else {
      targets[property] = value
      return
    }
    guard !Self.same(other, value, slot) else { return }
    add(
      object, slot.name,
      "the patch sets it twice, to \(GraphComparison.text(other)) and to \(GraphComparison.text(value))")
  }

  private mutating func node(_ object: ObjectReference) -> NodeHandle? {
    guard nodes.model.entity(named: object.entityName) != nil else {
      add(object, nil, "the model has no entity '\(object.entityName)'")
      return nil
    }
    guard let node = nodes.handle(for: object), nodes.objectReference(of: node) == object else {
      add(object, nil, "the object does not exist")
      return nil
    }
    return node
  }

  private mutating func slot(_ name: String, _ entity: Entity, _ object: ObjectReference) -> Slot? {
    if let index = entity.slot(named: name) { return entity.slots[index] }
    add(object, name, "the model has no such property")
    return nil
  }

  private mutating func compare(_ slot: Slot, of node: NodeHandle, _ object: ObjectReference, expected: StoredValue) {
    let found = nodes.value(slot: slot.index, of: node)
    guard !Self.same(found, expected, slot) else { return }
    let texts = (GraphComparison.text(expected), GraphComparison.text(found))
    add(object, slot.name, "is \(texts.1), the patch expects \(texts.0)", expected: texts.0, found: texts.1)
  }

  private static func same(_ one: StoredValue, _ other: StoredValue, _ slot: Slot) -> Bool {
    switch (one, other) {
    case (.toMany(let a), .toMany(let b)) where !slot.keepsSequence: a.count == b.count && Set(a) == Set(b)
    case (.toMany(let a), .null), (.null, .toMany(let a)): a.isEmpty
    default: one.isIdentical(to: other)
    }
  }

  private static func entry(_ entries: PropertyListDictionary, _ path: [String]) -> PropertyListValue? {
    var value: PropertyListValue? = .dictionary(entries)
    for key in path { value = value?.dictionaryValue?[key] }
    return value
  }

  // MARK: Changing

  private mutating func insert(_ changes: [PatchChange]) throws {
    for case .inserted(let object, _) in changes {
      guard let entity = nodes.model.entity(named: object.entityName) else { continue }
      _ = try nodes.addCacheNode(entity: entity.index, reference: object.reference)
    }
  }

  private mutating func set(_ change: PatchChange) throws {
    switch change {
    case .inserted(let object, let values):
      for (property, value) in values { try set(value, property, object) }
    case .changed(let object, let property, _, let new): try set(new, property, object)
    case .metadata(let key, let path, _, let new): Self.set(new, [key] + path, in: &metadata.entries)
    case .deleted: return
    }
  }

  private mutating func set(_ value: StoredValue, _ property: String, _ object: ObjectReference) throws {
    guard let node = nodes.handle(for: object),
      let slot = nodes.model.entity(at: node.entity).slot(named: property)
    else { return }
    do throws(PersistentStoreError) {
      try nodes.set(value, slot: slot, of: node)
    } catch {
      guard error.code == .danglingReference || error.code == .invalidValue else { throw error }
      add(object, property, error.message)
    }
  }

  /// Makes the other ends of a change agree with it, unless the patch decides about them itself. To-many relationships
  /// with a to-one inverse follow from that later.
  private mutating func setOtherEnds(_ change: PatchChange, since old: NodeTable, _ ends: inout OtherEnds) throws {
    switch change {
    case .inserted(let object, let values):
      for (property, _) in values { try setOtherEnds(of: property, object, [], &ends) }
    case .changed(let object, let property, _, _):
      let value = old.handle(for: object).flatMap { old.value(forKey: property, of: $0) }
      try setOtherEnds(of: property, object, value?.references ?? [], &ends)
    case .deleted, .metadata: return
    }
  }

  /// What to-many relationships gain and lose as the other ends of changes: each is set once, however many there are.
  private struct OtherEnds {
    var order: [ChangedProperty] = []
    var changes: [ChangedProperty: (added: [ObjectReference], removed: Set<ObjectReference>)] = [:]

    mutating func add(_ object: ObjectReference, to end: ChangedProperty, isAdded: Bool) {
      if changes[end] == nil { order.append(end) }
      if isAdded {
        changes[end, default: ([], [])].added.append(object)
      } else {
        changes[end, default: ([], [])].removed.insert(object)
      }
    }
  }

  private mutating func setOtherEnds(
    of property: String, _ object: ObjectReference, _ before: [ObjectReference], _ ends: inout OtherEnds
  ) throws {
    guard let node = nodes.handle(for: object) else { return }
    let entity = nodes.model.entity(at: node.entity)
    guard let slot = entity.slot(named: property).map({ entity.slots[$0] }),
      let inverse = slot.equalInverse(in: nodes.model)
    else { return }
    let after = nodes.value(slot: slot.index, of: node).references
    let (known, kept) = (Set(before), Set(after))
    for other in before.filter({ !kept.contains($0) }) + after.filter({ !known.contains($0) }) {
      let end = ChangedProperty(other, inverse.name)
      guard !gone.contains(other), targets[end] == nil, let there = nodes.handle(for: other) else { continue }
      if inverse.isToMany {
        ends.add(object, to: end, isAdded: kept.contains(other))
      } else {
        let isNamed = nodes.value(slot: inverse.index, of: there).references.contains(object)
        guard isNamed != kept.contains(other) else { continue }
        try nodes.set(isNamed ? .null : .toOne(object), slot: inverse.index, of: there)
      }
    }
  }

  private mutating func set(_ ends: OtherEnds) throws {
    for end in ends.order {
      guard let change = ends.changes[end], let node = nodes.handle(for: end.object),
        let slot = nodes.model.entity(at: node.entity).slot(named: end.name.string)
      else { continue }
      let rest = nodes.value(slot: slot, of: node).references.filter { !change.removed.contains($0) }
      let known = Set(rest)
      try nodes.set(.toMany(rest + change.added.filter { !known.contains($0) }), slot: slot, of: node)
    }
  }

  private static func set(_ value: PropertyListValue?, _ path: [String], in entries: inout PropertyListDictionary) {
    guard let key = path.first else { return }
    guard path.count > 1 else {
      entries[key] = value
      return
    }
    var inner = entries[key]?.dictionaryValue ?? PropertyListDictionary()
    // Otherwise each change would copy the dictionary, which would be there twice.
    entries[key] = .dictionary(PropertyListDictionary())
    set(value, Array(path.dropFirst()), in: &inner)
    entries[key] = .dictionary(inner)
  }

  /// Deletes objects, unless one that stays refers to them: the patch does not decide about that one.
  private mutating func delete() throws {
    guard !gone.isEmpty else { return }
    checkReferences(to: gone) { _, _ in false }
    guard conflicts.isEmpty else { return }
    try nodes.removeWithLinks(gone.compactMap { nodes.handle(for: $0) })
  }

  /// Checks that the patch decides about each reference to an object that it replaces.
  private mutating func checkReplaced(_ changes: [PatchChange]) {
    guard !replaced.isEmpty else { return }
    var changed: Set<ChangedProperty> = []
    for case .changed(let object, let property, _, _) in changes { changed.insert(ChangedProperty(object, property)) }
    checkReferences(to: replaced) { changed.contains(ChangedProperty($0, $1)) }
  }

  /// Notes references to objects that the patch deletes, from objects that stay.
  private mutating func checkReferences(
    to deleted: Set<ObjectReference>, except isChanged: (ObjectReference, String) -> Bool
  ) {
    var ownEnds: [ChangedProperty: Set<ObjectReference>] = [:]
    for entity in nodes.model.entities {
      let slots = entity.slots.filter { $0.isRelationship && !$0.followsFromInverse(in: nodes.model) }
      for node in nodes.handles(of: entity.index) where !slots.isEmpty {
        let object = nodes.objectReference(of: node)
        if gone.contains(object) { continue }
        for slot in slots where !isChanged(object, slot.name) {
          let members: [ObjectReference] =
            switch nodes.value(slot: slot.index, of: node) {
            case .toOne(let reference): [reference]
            case .toMany(let list): list
            default: []
            }
          for member in members where deleted.contains(member) && !isOwnEnd(of: member, slot, object, &ownEnds) {
            add(object, slot.name, "names \(member), which the patch deletes")
          }
        }
      }
    }
  }

  /// Whether a deleted object names, in a relationship where neither end follows from the other, what names it: the
  /// patch then has one of the two ends.
  ///
  /// - Parameter ends: What deleted objects name, as far as that was asked for.
  private func isOwnEnd(
    of deleted: ObjectReference, _ slot: Slot, _ object: ObjectReference,
    _ ends: inout [ChangedProperty: Set<ObjectReference>]
  ) -> Bool {
    guard !replaced.contains(deleted), let inverse = slot.equalInverse(in: nodes.model),
      let node = nodes.handle(for: deleted)
    else { return false }
    let end = ChangedProperty(deleted, inverse.name)
    let named = ends[end] ?? Set(nodes.value(slot: inverse.index, of: node).references)
    ends[end] = named
    return named.contains(object)
  }

  private func concernsObjects(_ change: PatchChange) -> Bool {
    if case .metadata = change { false } else { true }
  }

  private func concernsRelationships(_ change: PatchChange) -> Bool {
    switch change {
    case .inserted, .deleted: return true
    case .metadata: return false
    case .changed(_, _, let old, let new):
      for value in [old, new] {
        switch value {
        case .toOne, .toMany: return true
        default: continue
        }
      }
      return false
    }
  }

  /// Checks that a change lasts: a relationship whose other end says otherwise does not.
  private mutating func verify(_ change: PatchChange) {
    switch change {
    case .inserted(let object, let values):
      for (property, value) in values { verify(value, property, object) }
    case .changed(let object, let property, _, let new): verify(new, property, object)
    case .metadata, .deleted: return
    }
  }

  private mutating func verify(_ value: StoredValue, _ property: String, _ object: ObjectReference) {
    guard let node = nodes.handle(for: object),
      let slot = nodes.model.entity(at: node.entity).slot(named: property).map({
        nodes.model.entity(at: node.entity).slots[$0]
      })
    else { return }
    let found = nodes.value(slot: slot.index, of: node)
    guard !Self.same(found, value, slot) else { return }
    if let derivation = slot.attribute?.derivationExpression {
      return add(
        object, property,
        "is derived: \(derivation) gives \(GraphComparison.text(found)), not \(GraphComparison.text(value))",
        expected: GraphComparison.text(value), found: GraphComparison.text(found))
    }
    add(
      object, property,
      "is \(GraphComparison.text(found)) by the other end of the relationship, not "
        + GraphComparison.text(value), expected: GraphComparison.text(value), found: GraphComparison.text(found))
  }
}

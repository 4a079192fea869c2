/// The compiled form of an entity. A class, so that looking at it copies nothing.
///
/// Inherited properties are shared with the super-entity: one costs a reference to its description and one to its slot,
/// and nothing in an entity that declares no properties.
final class EntityRecord: Sendable {
  let description: EntityDescription
  let superentity: Int?
  let root: Int
  /// This entity and all its sub-entities: their positions in ``ManagedObjectModel/preorder``, this entity's first.
  let below: Range<Int>
  let subentities: [Int]
  let properties: [PropertyDescription]
  let uniquenessConstraints: [[String]]
  let slots: [Slot]
  /// The names of the slots of the entity's own properties, which follow those of the super-entity.
  private let ownNames: NamePositions
  private let firstOwnSlot: Int

  fileprivate init(_ draft: ModelCompiler.EntityDraft) {
    description = draft.description
    superentity = draft.superentity
    root = draft.root
    below = draft.below
    subentities = draft.subentities
    properties = draft.properties
    uniquenessConstraints = draft.uniquenessConstraints
    slots = draft.slots
    ownNames = draft.ownNames
    firstOwnSlot = draft.firstOwnSlot
  }

  /// The slot with that name of an own property, or nil.
  func ownSlot(named name: ScalarString) -> Int? { ownNames[name].map { firstOwnSlot + $0 } }
}

/// Creates the entity records of a description that has no errors, in time and memory linear in its size including
/// inherited properties.
struct ModelCompiler {
  private struct Found {
    var description: EntityDescription
    /// The index of the super-entity in ``found``.
    var parent: Int?
  }
  /// An entity whose slots and sub-entities are not known yet.
  struct EntityDraft {
    let description: EntityDescription
    let superentity: Int?
    let root: Int
    let below: Range<Int>
    var subentities: [Int] = []
    let properties: [PropertyDescription]
    let uniquenessConstraints: [[String]]
    var slots: [Slot] = []
    var ownNames = NamePositions()
    var firstOwnSlot = 0
  }
  /// A slot whose inverse is not known yet.
  private struct Draft {
    var name: String
    var kind: Slot.Kind
    var isOptional: Bool
    var property: PropertyDescription
  }

  /// The parts of each composite, described once for all attributes of that type.
  private let parts: [ScalarString: [PropertyDescription]]
  /// All entities, super-entities before their sub-entities.
  private var found: [Found]
  /// The number of each entity, by its index in ``found``.
  private var numbers: [Int] = []
  /// The index in ``found`` of each entity, by its number.
  private var positions: [Int] = []
  /// The drafts of each entity's own properties, by index.
  private var drafts: [[Draft]] = []
  /// The number of slots of each entity, inherited ones included, by index.
  private var slotCounts: [Int] = []
  /// The entities, by number.
  private var entities: [EntityDraft] = []
  private(set) var records: [EntityRecord] = []
  private(set) var preorder: [Int] = []
  private(set) var indexByName: [ScalarString: Int] = [:]

  init(_ model: ModelDescription, composites: [ScalarString: CompositeDescription]) {
    parts = composites.mapValues { $0.attributes.map { .attribute($0) } }
    // Nesting is traversed with a list, not by recursion, because its depth depends on the file.
    var found = model.entities.map { Found(description: $0, parent: nil) }
    var next = 0
    while next < found.count {
      for child in found[next].description.subentities { found.append(Found(description: child, parent: next)) }
      next += 1
    }
    self.found = found
  }

  mutating func compile() {
    number()
    makeDrafts()
    for position in found.indices { addOwnSlots(position) }
    for position in found.indices { linkSlots(position) }
    records = entities.map { EntityRecord($0) }
    found = []
    drafts = []
    entities = []
  }

  /// Numbers the entities in the order of their names' bytes.
  private mutating func number() {
    let names = found.map { ScalarString($0.description.name) }
    numbers = [Int](repeating: 0, count: found.count)
    positions = names.indices.sorted { names[$0] < names[$1] }
    for (index, position) in positions.enumerated() {
      numbers[position] = index
      indexByName[names[position]] = index
    }
  }

  private mutating func makeDrafts() {
    // Count each entity with its sub-entities; then compute each position in the preorder from that of the
    // super-entity.
    var sizes = [Int](repeating: 1, count: found.count)
    for position in found.indices.reversed() {
      if let parent = found[position].parent { sizes[parent] += sizes[position] }
    }
    var starts = [Int](repeating: 0, count: found.count)
    var nextBelow = [Int](repeating: 0, count: found.count)
    var nextRoot = 0
    preorder = [Int](repeating: 0, count: found.count)
    var made = [EntityDraft?](repeating: nil, count: found.count)
    for position in found.indices {
      let entry = found[position]
      if let parent = entry.parent {
        starts[position] = nextBelow[parent]
        nextBelow[parent] += sizes[position]
      } else {
        starts[position] = nextRoot
        nextRoot += sizes[position]
      }
      nextBelow[position] = starts[position] + 1
      preorder[starts[position]] = numbers[position]
      let above = entry.parent.flatMap { made[numbers[$0]] }
      made[numbers[position]] = EntityDraft(
        description: entry.description, superentity: entry.parent.map { numbers[$0] },
        root: above?.root ?? numbers[position],
        below: starts[position]..<starts[position] + sizes[position],
        properties: Self.extended(above?.properties, by: entry.description.properties),
        uniquenessConstraints: Self.extended(above?.uniquenessConstraints, by: entry.description.uniquenessConstraints))
    }
    entities = made.compactMap { $0 }
    for index in entities.indices {
      if let parent = entities[index].superentity { entities[parent].subentities.append(index) }
    }
  }

  /// Returns the inherited list itself if nothing is added to it.
  private static func extended<Element>(_ inherited: [Element]?, by own: [Element]) -> [Element] {
    guard let inherited, !inherited.isEmpty else { return own }
    return own.isEmpty ? inherited : inherited + own
  }

  // MARK: Slots

  /// Numbers the slots of an entity's own properties: they follow those of its super-entity.
  private mutating func addOwnSlots(_ position: Int) {
    var own: [Draft] = []
    own.reserveCapacity(found[position].description.properties.count)
    for property in found[position].description.properties {
      switch property {
      case .attribute(let attribute) where !attribute.isTransient:
        add(attribute, property, name: attribute.name, depth: 0, to: &own)
      case .relationship(let relationship) where !relationship.isTransient:
        own.append(
          Draft(
            name: relationship.name, kind: relationship.isToMany ? .toMany(ordered: relationship.isOrdered) : .toOne,
            isOptional: relationship.isOptional, property: property))
      default: break
      }
    }
    let first = firstOwnSlot(position)
    entities[numbers[position]].ownNames = NamePositions(own.map { ScalarString($0.name) })
    entities[numbers[position]].firstOwnSlot = first
    drafts.append(own)
    slotCounts.append(first + own.count)
  }

  private func firstOwnSlot(_ position: Int) -> Int { found[position].parent.map { slotCounts[$0] } ?? 0 }

  private func add(
    _ attribute: AttributeDescription, _ property: PropertyDescription, name: String, depth: Int, to own: inout [Draft]
  ) {
    guard case .composite(let compositeName) = attribute.type else {
      own.append(
        Draft(name: name, kind: .attribute(attribute.type), isOptional: attribute.isOptional, property: property))
      return
    }
    // Cycles are reported as model errors; the bound prevents an endless loop for unchecked models.
    guard depth < 16, let parts = parts[ScalarString(compositeName)] else { return }
    for part in parts {
      guard case .attribute(let description) = part, !description.isTransient else { continue }
      add(description, part, name: "\(name).\(description.name)", depth: depth + 1, to: &own)
    }
  }

  /// Creates the slots, once all of them have numbers.
  private mutating func linkSlots(_ position: Int) {
    let first = firstOwnSlot(position)
    let own = drafts[position].enumerated().map { offset, draft in
      guard case .relationship(let relationship) = draft.property else {
        return Slot(
          name: draft.name, index: first + offset, kind: draft.kind, isOptional: draft.isOptional,
          property: draft.property)
      }
      let inverse = inverse(of: relationship, in: numbers[position])
      return Slot(
        name: draft.name, index: first + offset, kind: draft.kind, isOptional: draft.isOptional,
        property: draft.property,
        destination: indexByName[ScalarString(relationship.destinationEntityName)], inverseSlot: inverse)
    }
    let inherited = found[position].parent.map { entities[numbers[$0]].slots }
    entities[numbers[position]].slots = Self.extended(inherited, by: own)
  }

  /// The slot of the relationship at the destination that is the inverse of this one, if each names the other.
  private func inverse(of relationship: RelationshipDescription, in owner: Int) -> Int? {
    guard let name = relationship.inverseName,
      let destination = indexByName[ScalarString(relationship.destinationEntityName)]
    else { return nil }
    var level: Int? = destination
    while let here = level {
      if let own = entities[here].ownNames[ScalarString(name)] {
        let slot = entities[here].firstOwnSlot + own
        let position = positions[here]
        let draft = drafts[position][slot - firstOwnSlot(position)]
        guard case .relationship(let other) = draft.property,
          other.isInverse(of: relationship), let back = indexByName[ScalarString(other.destinationEntityName)],
          isKind(owner, of: back) || isKind(back, of: owner)
        else { return nil }
        return slot
      }
      level = entities[here].superentity
    }
    return nil
  }

  private func isKind(_ entity: Int, of other: Int) -> Bool {
    entities[other].below.contains(entities[entity].below.lowerBound)
  }
}

extension RelationshipDescription {
  /// Whether each relationship names the other as its inverse. The caller checks whether they lead to each other's
  /// entities.
  package func isInverse(of other: RelationshipDescription) -> Bool {
    guard let mine = inverseName, let its = other.inverseName else { return false }
    return mine.hasSameScalars(as: other.name) && its.hasSameScalars(as: name)
  }
}

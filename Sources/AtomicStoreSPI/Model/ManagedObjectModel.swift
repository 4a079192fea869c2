package import Synchronization

/// A model, checked and frozen: entities by name and by number, with the slots their values stand in.
///
/// It is made from a ``ModelDescription`` and never changes; to change a model, take its ``description``, edit that,
/// and make another. So there is no moment at which a model in use could be mutated.
public final class ManagedObjectModel: Sendable {
  /// What the model was made from.
  public let description: ModelDescription
  /// What is questionable, without being wrong: relationships without an inverse, for one.
  public let warnings: [ModelProblem]
  let records: [EntityRecord]
  let indexByName: [ScalarString: Int]
  let compositesByName: [ScalarString: CompositeDescription]
  /// What the stack compiles from the model, once, and keeps with it.
  package let attachment = Mutex<(any Sendable & AnyObject)?>(nil)

  /// Checks a description and freezes it.
  ///
  /// - Throws: ``InvalidModelError`` with every problem in one list.
  public convenience init(_ description: ModelDescription) throws(InvalidModelError) {
    let problems = description.problems()
    guard !problems.contains(where: { $0.severity == .error }) else { throw InvalidModelError(problems: problems) }
    self.init(unchecked: description, warnings: problems)
  }

  /// For a description that is known to be valid.
  package init(unchecked description: ModelDescription, warnings: [ModelProblem] = []) {
    self.description = description
    self.warnings = warnings
    var compositesByName: [ScalarString: CompositeDescription] = [:]
    for composite in description.composites { compositesByName[ScalarString(composite.name)] = composite }
    self.compositesByName = compositesByName
    let records = EntityRecord.compile(description, composites: compositesByName)
    self.records = records
    var indexByName: [ScalarString: Int] = [:]
    for (index, record) in records.enumerated() { indexByName[ScalarString(record.description.name)] = index }
    self.indexByName = indexByName
  }

  /// All entities, in the order of their names' UTF-8 bytes. An entity's position here is its ``Entity/index``.
  public var entities: [Entity] { records.indices.map { Entity(model: self, index: $0) } }

  public var entitiesByName: [String: Entity] {
    Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// How many entities there are.
  public var entityCount: Int { records.count }

  /// The entity of that number. Numbers are 0 ..< ``entityCount``.
  public func entity(at index: Int) -> Entity { Entity(model: self, index: index) }

  /// The entity of that very name (scalar for scalar), or nil.
  public func entity(named name: String) -> Entity? {
    indexByName[ScalarString(name)].map { Entity(model: self, index: $0) }
  }

  public var configurations: [String] { description.configurations.map(\.name) }

  /// The entities that a configuration names, in entity order; nil for an unknown name. The configuration without a
  /// name, nil or `Default`, holds all.
  public func entities(forConfiguration name: String?) -> [Entity]? {
    guard let name, name != "Default" || configurations.contains(name) else { return entities }
    guard let configuration = description.configurations.first(where: { $0.name == name }) else { return nil }
    let named = Set(configuration.entityNames.compactMap { indexByName[ScalarString($0)] })
    return named.sorted().map { Entity(model: self, index: $0) }
  }

  public func fetchRequestTemplate(forName name: String) -> FetchRequestDescription? {
    description.fetchRequestTemplates.first { $0.name == name }
  }

  /// Whether a relationship stands in a slot of the entity of that number.
  package func isRelationship(slot: Int, of entity: Int) -> Bool { records[entity].slots[slot].isRelationship }

  public func composite(named name: String) -> CompositeDescription? { compositesByName[ScalarString(name)] }
}

/// A string that equals another only scalar for scalar: a key for dictionaries of names.
public struct ScalarString: Hashable, Sendable, Comparable {
  public let string: String
  public init(_ string: String) { self.string = string }
  public static func == (one: ScalarString, other: ScalarString) -> Bool {
    one.string.utf8.elementsEqual(other.string.utf8)
  }
  public static func < (one: ScalarString, other: ScalarString) -> Bool {
    one.string.utf8.lexicographicallyPrecedes(other.string.utf8)
  }
  public func hash(into hasher: inout Hasher) {
    for byte in string.utf8 { hasher.combine(byte) }
    hasher.combine(0xFF as UInt8)
  }
}

/// An entity of a frozen model: a light handle.
public struct Entity: Sendable, Hashable, CustomStringConvertible {
  public let model: ManagedObjectModel
  /// The entity's number in its model, 0 ..< ``ManagedObjectModel/entityCount``.
  public let index: Int

  public static func == (one: Entity, other: Entity) -> Bool { one.index == other.index && one.model === other.model }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(model))
    hasher.combine(index)
  }

  private var record: EntityRecord { model.records[index] }

  public var name: String { record.description.name }
  public var isAbstract: Bool { record.description.isAbstract }
  public var managedObjectClassName: String? { record.description.managedObjectClassName }
  /// The entity as it was written down, with its sub-entities nested in it.
  public var declaration: EntityDescription { record.description }
  /// Read-only: it follows from whose sub-entity this is.
  public var superentity: Entity? { record.superentity.map { Entity(model: model, index: $0) } }
  public var subentities: [Entity] { record.subentities.map { Entity(model: model, index: $0) } }
  /// The entity at the top of this one's hierarchy. References are unique below it.
  public var root: Entity { Entity(model: model, index: record.root) }
  /// This entity and all below it, in entity order.
  public var hierarchy: [Entity] { record.descendants.map { Entity(model: model, index: $0) } }

  /// Whether this entity is `other` or stands below it.
  public func isKindOf(entity other: Entity) -> Bool { record.ancestors.contains(other.index) }

  /// The stored properties, super-entity first, each at its slot number. Composites stand as their parts.
  public var slots: [Slot] { record.slots }
  public func slot(named name: String) -> Int? { record.slotByName[ScalarString(name)] }

  /// Own and inherited properties, super-entity first.
  public var properties: [PropertyDescription] { record.properties }
  public func property(named name: String) -> PropertyDescription? {
    record.properties.first { $0.name.utf8.elementsEqual(name.utf8) }
  }
  public var propertiesByName: [String: PropertyDescription] {
    Dictionary(record.properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }
  public var attributesByName: [String: AttributeDescription] {
    var result: [String: AttributeDescription] = [:]
    for case .attribute(let attribute) in record.properties { result[attribute.name] = attribute }
    return result
  }
  public var relationshipsByName: [String: RelationshipDescription] {
    var result: [String: RelationshipDescription] = [:]
    for case .relationship(let relationship) in record.properties { result[relationship.name] = relationship }
    return result
  }
  /// The entity's own constraints and those of its super-entities.
  public var uniquenessConstraints: [[String]] { record.uniquenessConstraints }

  public var description: String { name }
}

/// A place for one stored property's value. The same in an entity and all below it.
public struct Slot: Sendable, Equatable {
  public enum Kind: Sendable, Hashable {
    case attribute(AttributeType)
    case toOne
    case toMany(ordered: Bool)
  }
  /// The property's name; for a part of a composite `property.part`.
  public let name: String
  public let index: Int
  public let kind: Kind
  public let isOptional: Bool
  /// What the model says of it. Behind a reference: slots are copied often, descriptions are large.
  private let details: Details
  /// The attribute, or the part of a composite; nil for relationships.
  public var attribute: AttributeDescription? { details.attribute }
  public var relationship: RelationshipDescription? { details.relationship }
  /// For relationships: the number of the destination entity.
  public let destination: Int
  /// For relationships: the slot of the inverse at the destination, or -1.
  public let inverseSlot: Int

  private final class Details: Sendable {
    let attribute: AttributeDescription?
    let relationship: RelationshipDescription?
    init(_ attribute: AttributeDescription?, _ relationship: RelationshipDescription?) {
      self.attribute = attribute
      self.relationship = relationship
    }
  }

  init(
    name: String, index: Int, kind: Kind, isOptional: Bool, attribute: AttributeDescription?,
    relationship: RelationshipDescription?, destination: Int, inverseSlot: Int
  ) {
    self.name = name
    self.index = index
    self.kind = kind
    self.isOptional = isOptional
    details = Details(attribute, relationship)
    self.destination = destination
    self.inverseSlot = inverseSlot
  }

  /// The same slot with its inverse known.
  func with(inverseSlot: Int) -> Slot { Slot(self, inverseSlot: inverseSlot) }
  private init(_ slot: Slot, inverseSlot: Int) {
    name = slot.name
    index = slot.index
    kind = slot.kind
    isOptional = slot.isOptional
    details = slot.details
    destination = slot.destination
    self.inverseSlot = inverseSlot
  }

  public static func == (one: Slot, other: Slot) -> Bool {
    one.name == other.name && one.index == other.index && one.kind == other.kind && one.isOptional == other.isOptional
      && one.attribute == other.attribute && one.relationship == other.relationship
      && one.destination == other.destination && one.inverseSlot == other.inverseSlot
  }

  public var isRelationship: Bool { if case .attribute = kind { false } else { true } }
  public var isToMany: Bool { if case .toMany = kind { true } else { false } }
  public var isOrdered: Bool { if case .toMany(ordered: true) = kind { true } else { false } }
  /// Whether a to-many's members stay in the sequence that they were given in, because the relationship is ordered or because nothing says
  /// that it is not (``RelationshipDescription/hasUnknownOrder``). The members of other to-manys ascend by reference.
  public var keepsSequence: Bool { isOrdered || relationship?.hasUnknownOrder ?? false }
  /// Nil for relationships.
  public var attributeType: AttributeType? { if case .attribute(let type) = kind { type } else { nil } }
}

/// What a model knows of one entity, compiled once.
struct EntityRecord: Sendable {
  let description: EntityDescription
  let superentity: Int?
  let root: Int
  /// This entity, its super-entity, and so on.
  let ancestors: [Int]
  fileprivate(set) var subentities: [Int] = []
  /// This entity and all below, ascending.
  fileprivate(set) var descendants: [Int] = []
  let properties: [PropertyDescription]
  let uniquenessConstraints: [[String]]
  fileprivate(set) var slots: [Slot] = []
  fileprivate(set) var slotByName: [ScalarString: Int] = [:]

  /// The entities of a description without errors, in the order of their names' bytes.
  static func compile(_ model: ModelDescription, composites: [ScalarString: CompositeDescription]) -> [EntityRecord] {
    struct Found {
      var description: EntityDescription
      var parentName: String?
    }
    // Nesting is walked with a list, not by recursion: its depth is the file's, not ours.
    var found: [Found] = model.entities.map { Found(description: $0, parentName: nil) }
    var next = 0
    while next < found.count {
      let parent = found[next].description
      for child in parent.subentities { found.append(Found(description: child, parentName: parent.name)) }
      next += 1
    }
    let topDown = found.map { ScalarString($0.description.name) }
    var indexByName: [ScalarString: Int] = [:]
    for (index, name) in topDown.sorted().enumerated() { indexByName[name] = index }

    var records = [EntityRecord?](repeating: nil, count: found.count)
    for entry in found {
      guard let index = indexByName[ScalarString(entry.description.name)] else { continue }
      let parent = entry.parentName.flatMap { indexByName[ScalarString($0)] }
      let above = parent.flatMap { records[$0] }
      records[index] = EntityRecord(
        description: entry.description, superentity: parent, root: above?.root ?? index,
        ancestors: [index] + (above?.ancestors ?? []),
        properties: (above?.properties ?? []) + entry.description.properties,
        uniquenessConstraints: (above?.uniquenessConstraints ?? []) + entry.description.uniquenessConstraints)
    }
    var compiled = records.compactMap { $0 }
    for index in compiled.indices {
      for ancestor in compiled[index].ancestors { compiled[ancestor].descendants.append(index) }
      if let parent = compiled[index].superentity { compiled[parent].subentities.append(index) }
      compiled[index].makeSlots(composites: composites, indexByName: indexByName)
    }
    for index in compiled.indices { compiled[index].linkInverses(compiled) }
    return compiled
  }

  private mutating func makeSlots(
    composites: [ScalarString: CompositeDescription], indexByName: [ScalarString: Int]
  ) {
    func add(_ slot: Slot) {
      slotByName[ScalarString(slot.name)] = slot.index
      slots.append(slot)
    }
    func add(_ attribute: AttributeDescription, name: String, depth: Int) {
      if case .composite(let compositeName) = attribute.type {
        // Cycles are a model error; the bound only keeps a bad caller from looping.
        guard depth < 16, let composite = composites[ScalarString(compositeName)] else { return }
        for part in composite.attributes where !part.isTransient {
          add(part, name: "\(name).\(part.name)", depth: depth + 1)
        }
      } else {
        add(
          Slot(
            name: name, index: slots.count, kind: .attribute(attribute.type), isOptional: attribute.isOptional,
            attribute: attribute, relationship: nil, destination: -1, inverseSlot: -1))
      }
    }
    for property in properties {
      switch property {
      case .attribute(let attribute) where !attribute.isTransient:
        add(attribute, name: attribute.name, depth: 0)
      case .relationship(let relationship) where !relationship.isTransient:
        add(
          Slot(
            name: relationship.name, index: slots.count,
            kind: relationship.isToMany ? .toMany(ordered: relationship.isOrdered) : .toOne,
            isOptional: relationship.isOptional, attribute: nil, relationship: relationship,
            destination: indexByName[ScalarString(relationship.destinationEntityName)] ?? -1, inverseSlot: -1))
      default: break
      }
    }
  }

  private mutating func linkInverses(_ all: [EntityRecord]) {
    slots = slots.map { slot in
      guard let inverse = slot.relationship?.inverseName, slot.destination >= 0,
        let inverseSlot = all[slot.destination].slotByName[ScalarString(inverse)]
      else { return slot }
      return slot.with(inverseSlot: inverseSlot)
    }
  }
}

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
  /// The entities' numbers, each super-entity before all that are below it: see ``EntityRecord/below``.
  package let preorder: [Int]
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
    var compiler = ModelCompiler(description, composites: compositesByName)
    compiler.compile()
    records = compiler.records
    preorder = compiler.preorder
    indexByName = compiler.indexByName
  }

  /// All entities, in the order of their names' UTF-8 bytes. An entity's position here is its ``Entity/index``.
  public var entities: [Entity] { records.indices.map { Entity(model: self, index: $0) } }

  /// The entities by name. Of two names that are canonically equal, though not scalar for scalar, only one is a key
  /// here;
  /// ``entity(named:)`` tells them apart.
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

  /// The names of the configurations, in the description's order. The one that holds all entities has no name and is
  /// not listed.
  public var configurations: [String] { description.configurations.map(\.name) }

  /// The entities that a configuration names, in entity order; nil for an unknown name. The configuration without a
  /// name, nil or `Default`, holds all.
  public func entities(forConfiguration name: String?) -> [Entity]? {
    guard let name, name != "Default" || configurations.contains(name) else { return entities }
    guard let configuration = description.configurations.first(where: { $0.name == name }) else { return nil }
    let named = Set(configuration.entityNames.compactMap { indexByName[ScalarString($0)] })
    return named.sorted().map { Entity(model: self, index: $0) }
  }

  /// Returns the fetch request template of that name, or nil.
  public func fetchRequestTemplate(forName name: String) -> FetchRequestDescription? {
    description.fetchRequestTemplates.first { $0.name == name }
  }

  /// Whether a relationship stands in a slot of the entity of that number.
  package func isRelationship(slot: Int, of entity: Int) -> Bool { records[entity].slots[slot].isRelationship }

  /// Returns the composite type of that very name (scalar for scalar), or nil.
  public func composite(named name: String) -> CompositeDescription? { compositesByName[ScalarString(name)] }

  /// Whether one entity is another or below it, by their numbers.
  func isKind(_ entity: Int, of other: Int) -> Bool { records[other].below.contains(records[entity].below.lowerBound) }

  /// An entity and all below it, ascending by number.
  func hierarchy(of entity: Int) -> [Int] { preorder[records[entity].below].sorted() }
}

/// A string that equals another only scalar for scalar: a key for dictionaries of names.
public struct ScalarString: Hashable, Sendable, Comparable {
  /// The string itself.
  public let string: String
  /// Wraps a string, without changing or normalizing it.
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
  /// The model that the entity belongs to.
  public let model: ManagedObjectModel
  /// The entity's number in its model, 0 ..< ``ManagedObjectModel/entityCount``.
  public let index: Int

  public static func == (one: Entity, other: Entity) -> Bool { one.index == other.index && one.model === other.model }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(model))
    hasher.combine(index)
  }

  private var record: EntityRecord { model.records[index] }

  /// The entity's name, unique in its model.
  public var name: String { record.description.name }
  /// Whether the entity has no objects of its own, only those of its sub-entities. A store never holds a node of an
  /// abstract entity.
  public var isAbstract: Bool { record.description.isAbstract }
  /// The name of the class of the entity's objects, as the model has it; nil for the generic class.
  public var managedObjectClassName: String? { record.description.managedObjectClassName }
  /// The entity as it was written down, with its sub-entities nested in it.
  public var declaration: EntityDescription { record.description }
  /// Read-only: it follows from whose sub-entity this is.
  public var superentity: Entity? { record.superentity.map { Entity(model: model, index: $0) } }
  /// The entities directly below this one, in entity order.
  public var subentities: [Entity] { record.subentities.map { Entity(model: model, index: $0) } }
  /// The entity at the top of this one's hierarchy. References are unique below it.
  public var root: Entity { Entity(model: model, index: record.root) }
  /// This entity and all below it, in entity order.
  public var hierarchy: [Entity] { model.hierarchy(of: index).map { Entity(model: model, index: $0) } }

  /// Whether this entity is `other` or stands below it.
  public func isKindOf(entity other: Entity) -> Bool { model.isKind(index, of: other.index) }

  /// The stored properties, super-entity first, each at its slot number. Composites stand as their parts.
  public var slots: [Slot] { record.slots }
  /// Returns the slot of a stored property, own or inherited: its index in ``slots``. Names are compared scalar for
  /// scalar; a part of a
  /// composite is named `property.part`.
  ///
  /// - Returns: nil for a name that the entity does not have, and for transient and fetched properties, which are not
  ///   stored.
  public func slot(named name: String) -> Int? {
    let name = ScalarString(name)
    var level: Int? = index
    while let here = level {
      if let slot = model.records[here].ownSlots[name] { return slot }
      level = model.records[here].superentity
    }
    return nil
  }

  /// Own and inherited properties, super-entity first.
  public var properties: [PropertyDescription] { record.properties }
  /// Returns the property of that very name (scalar for scalar), own or inherited, or nil. Transient and fetched
  /// properties are included.
  public func property(named name: String) -> PropertyDescription? {
    record.properties.first { $0.name.utf8.elementsEqual(name.utf8) }
  }
  /// Own and inherited properties by name.
  public var propertiesByName: [String: PropertyDescription] {
    Dictionary(record.properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }
  /// Own and inherited attributes by name, transient ones included. A composite attribute is one attribute here.
  public var attributesByName: [String: AttributeDescription] {
    var result: [String: AttributeDescription] = [:]
    for case .attribute(let attribute) in record.properties { result[attribute.name] = attribute }
    return result
  }
  /// Own and inherited relationships by name.
  public var relationshipsByName: [String: RelationshipDescription] {
    var result: [String: RelationshipDescription] = [:]
    for case .relationship(let relationship) in record.properties { result[relationship.name] = relationship }
    return result
  }
  /// The entity's own constraints and those of its super-entities.
  public var uniquenessConstraints: [[String]] { record.uniquenessConstraints }

  public var description: String { name }
}

/// Where one stored property's values are. The same in an entity and all below it, which share it.
public struct Slot: Sendable, Equatable {
  /// What a slot holds.
  public enum Kind: Sendable, Hashable {
    /// Values of an attribute of this type, which is never a composite: its parts have slots of their own.
    case attribute(AttributeType)
    /// One object or none.
    case toOne
    /// Any number of objects, each at most once; in a sequence of their own if ordered.
    case toMany(ordered: Bool)
  }
  /// Behind one reference: an entity has a slot for each property that it inherits, and slots are copied often.
  private let content: Content

  private final class Content: Sendable {
    let name: String
    let index: Int
    let kind: Kind
    let isOptional: Bool
    let property: PropertyDescription
    let destination: Int
    let inverseSlot: Int

    init(
      name: String, index: Int, kind: Kind, isOptional: Bool, property: PropertyDescription, destination: Int,
      inverseSlot: Int
    ) {
      self.name = name
      self.index = index
      self.kind = kind
      self.isOptional = isOptional
      self.property = property
      self.destination = destination
      self.inverseSlot = inverseSlot
    }
  }

  init(
    name: String, index: Int, kind: Kind, isOptional: Bool, property: PropertyDescription, destination: Int = -1,
    inverseSlot: Int = -1
  ) {
    content = Content(
      name: name, index: index, kind: kind, isOptional: isOptional, property: property, destination: destination,
      inverseSlot: inverseSlot)
  }

  /// The property's name; for a part of a composite `property.part`.
  public var name: String { content.name }
  /// The slot's index in ``Entity/slots``. It is the same in an entity and in all its sub-entities.
  public var index: Int { content.index }
  /// What the slot holds.
  public var kind: Kind { content.kind }
  /// Whether the model allows null, or an empty to-many. Stores keep null in any slot; validation in the object graph
  /// refuses it.
  public var isOptional: Bool { content.isOptional }
  /// The attribute, or the part of a composite; nil for relationships.
  public var attribute: AttributeDescription? {
    if case .attribute(let attribute) = content.property { attribute } else { nil }
  }
  /// The relationship; nil for attributes.
  public var relationship: RelationshipDescription? {
    if case .relationship(let relationship) = content.property { relationship } else { nil }
  }
  /// For relationships: the number of the destination entity.
  public var destination: Int { content.destination }
  /// For relationships: the slot of the inverse at the destination, or -1 where no relationship there names this one for its
  /// inverse as this one names it.
  public var inverseSlot: Int { content.inverseSlot }

  public static func == (one: Slot, other: Slot) -> Bool {
    one.content === other.content
      || one.name == other.name && one.index == other.index && one.kind == other.kind
        && one.isOptional == other.isOptional && one.content.property == other.content.property
        && one.destination == other.destination && one.inverseSlot == other.inverseSlot
  }

  /// Whether the slot holds a to-one or to-many relationship.
  public var isRelationship: Bool { if case .attribute = kind { false } else { true } }
  /// Whether the slot holds a to-many relationship.
  public var isToMany: Bool { if case .toMany = kind { true } else { false } }
  /// Whether the slot holds an ordered to-many relationship. See also ``keepsSequence``.
  public var isOrdered: Bool { if case .toMany(ordered: true) = kind { true } else { false } }
  /// Whether a to-many's members stay in the sequence that they were given in, because the relationship is ordered or because nothing says
  /// that it is not (``RelationshipDescription/hasUnknownOrder``). The members of other to-manys ascend by reference.
  public var keepsSequence: Bool { isOrdered || relationship?.hasUnknownOrder ?? false }
  /// Nil for relationships.
  public var attributeType: AttributeType? { if case .attribute(let type) = kind { type } else { nil } }
}

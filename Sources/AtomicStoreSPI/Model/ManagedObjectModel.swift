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

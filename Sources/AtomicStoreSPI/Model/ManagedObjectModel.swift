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

  /// Whether one entity is another or below it, by their numbers.
  func isKind(_ entity: Int, of other: Int) -> Bool { records[other].below.contains(records[entity].below.lowerBound) }

  /// An entity and all below it, ascending by number.
  func hierarchy(of entity: Int) -> [Int] { preorder[records[entity].below].sorted() }
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
  public var hierarchy: [Entity] { model.hierarchy(of: index).map { Entity(model: model, index: $0) } }

  /// Whether this entity is `other` or stands below it.
  public func isKindOf(entity other: Entity) -> Bool { model.isKind(index, of: other.index) }

  /// The stored properties, super-entity first, each at its slot number. Composites stand as their parts.
  public var slots: [Slot] { record.slots }
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

package import Synchronization

/// A model, checked and immutable: entities by name and by number, with the slots in which their values are stored.
///
/// ```swift
/// let model = try ManagedObjectModel(
///   ModelDescription(entities: [EntityDescription(name: "Book", properties: [.attribute("title", .string)])]))
/// for entity in model.entities { print(entity.name, entity.slots.map(\.name)) }
/// ```
///
/// It is created from a ``ModelDescription`` and never changes. To change a model, edit its ``description`` and create
/// another model from it. So a model in use cannot be mutated.
public final class ManagedObjectModel: Sendable {
  /// The description that the model was created from.
  ///
  /// ```swift
  /// var description = model.description
  /// description.versionIdentifiers = ["2"]
  /// ```
  public let description: ModelDescription
  /// The warnings of the check, such as relationships without an inverse.
  public let warnings: [ModelProblem]
  let records: [EntityRecord]
  /// The entities' numbers, each super-entity before its sub-entities: see ``EntityRecord/below``.
  package let preorder: [Int]
  let indexByName: [ScalarString: Int]
  let compositesByName: [ScalarString: CompositeDescription]
  /// What the object graph compiles from the model, once, and stores with it.
  package let attachment = Mutex<(any Sendable & AnyObject)?>(nil)
  /// What is computed from the model on first use.
  let computed = Mutex<(any Sendable)?>(nil)

  /// Checks a description and compiles it.
  ///
  /// ```swift
  /// do {
  ///   _ = try ManagedObjectModel(ModelDescription(entities: [EntityDescription(name: "")]))
  /// } catch {
  ///   for problem in error.problems { print(problem) }
  /// }
  /// ```
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
  ///
  /// ```swift
  /// for entity in model.entities where !entity.isAbstract { print(entity.name) }
  /// ```
  public var entities: [Entity] { records.indices.map { Entity(model: self, index: $0) } }

  /// The entities by name. If two names are canonically equivalent but have different scalars, only one of them is a
  /// key here; ``entity(named:)`` distinguishes them.
  public var entitiesByName: [String: Entity] {
    Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The number of entities.
  public var entityCount: Int { records.count }

  /// Returns the entity with that number, which must be in 0 ..< ``entityCount``.
  ///
  /// ```swift
  /// let first = model.entity(at: 0)
  /// ```
  public func entity(at index: Int) -> Entity { Entity(model: self, index: index) }

  /// Returns the entity with exactly that name (compared by scalars), or nil.
  ///
  /// ```swift
  /// guard let person = model.entity(named: "Person") else { return }
  /// print(person.properties.count)
  /// ```
  public func entity(named name: String) -> Entity? {
    indexByName[ScalarString(name)].map { Entity(model: self, index: $0) }
  }

  /// The names of the configurations, in the description's order. The configuration that contains all entities has no
  /// name and is not listed.
  public var configurations: [String] { description.configurations.map(\.name) }

  /// Returns the entities of a configuration, in entity order; nil for an unknown name. The configuration without a
  /// name, nil or `Default`, contains all.
  public func entities(forConfiguration name: String?) -> [Entity]? {
    guard let name, name != "Default" || configurations.contains(name) else { return entities }
    guard let configuration = description.configurations.first(where: { $0.name == name }) else { return nil }
    let named = Set(configuration.entityNames.compactMap { indexByName[ScalarString($0)] })
    return named.sorted().map { Entity(model: self, index: $0) }
  }

  /// Returns the fetch request template with that name, or nil.
  public func fetchRequestTemplate(forName name: String) -> FetchRequestDescription? {
    description.fetchRequestTemplates.first { $0.name == name }
  }

  /// Whether the slot of the entity with that number holds a relationship.
  package func isRelationship(slot: Int, of entity: Int) -> Bool { records[entity].slots[slot].isRelationship }

  /// Returns the composite type with exactly that name (compared by scalars), or nil.
  package func composite(named name: String) -> CompositeDescription? { compositesByName[ScalarString(name)] }

  /// Whether an entity is another one or a sub-entity of it, by number.
  func isKind(_ entity: Int, of other: Int) -> Bool { records[other].below.contains(records[entity].below.lowerBound) }

  /// An entity and all its sub-entities, by ascending number.
  func hierarchy(of entity: Int) -> [Int] { preorder[records[entity].below].sorted() }
}

/// An entity of a model: a lightweight handle.
///
/// ```swift
/// if let manager = model.entity(named: "Manager"), let employee = model.entity(named: "Employee") {
///   print(manager.isKindOf(entity: employee))
/// }
/// ```
public struct Entity: Sendable, Hashable, CustomStringConvertible {
  /// The model that the entity belongs to.
  public let model: ManagedObjectModel
  /// The entity's number in its model, 0 ..< ``ManagedObjectModel/entityCount``.
  ///
  /// ```swift
  /// for entity in model.entities { print(entity.name, nodes.count(of: entity.index)) }
  /// ```
  public let index: Int

  public static func == (one: Entity, other: Entity) -> Bool { one.index == other.index && one.model === other.model }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(model))
    hasher.combine(index)
  }

  private var record: EntityRecord { model.records[index] }

  /// The entity's name, unique in its model.
  ///
  /// ```swift
  /// print(model.entities.map(\.name))
  /// ```
  public var name: String { record.description.name }
  /// Whether the entity itself has no objects, only its sub-entities do. A store never contains a node of an abstract
  /// entity.
  ///
  /// ```swift
  /// let concrete = model.entities.filter { !$0.isAbstract }
  /// ```
  public var isAbstract: Bool { record.description.isAbstract }
  /// The name of the class of the entity's objects, as the model specifies it; nil for the generic class.
  public var managedObjectClassName: String? { record.description.managedObjectClassName }
  /// The entity's description, with its sub-entities nested in it.
  public var declaration: EntityDescription { record.description }
  /// The super-entity; nil for a root entity. It follows from the nesting of the description.
  public var superentity: Entity? { record.superentity.map { Entity(model: model, index: $0) } }
  /// The direct sub-entities, in entity order.
  public var subentities: [Entity] { record.subentities.map { Entity(model: model, index: $0) } }
  /// The root entity of this entity's hierarchy. References are unique within the hierarchy.
  ///
  /// ```swift
  /// print(entity.root.name)
  /// ```
  public var root: Entity { Entity(model: model, index: record.root) }
  /// This entity and all its sub-entities, direct and indirect, in entity order.
  public var hierarchy: [Entity] { model.hierarchy(of: index).map { Entity(model: model, index: $0) } }

  /// Whether this entity is `other` or a sub-entity of it.
  public func isKindOf(entity other: Entity) -> Bool { model.isKind(index, of: other.index) }

  /// The stored properties, those of the super-entity first, each at its slot number. Composites are represented by
  /// their parts.
  ///
  /// ```swift
  /// for slot in entity.slots where slot.isRelationship { print(slot.index, slot.name) }
  /// ```
  public var slots: [Slot] { record.slots }
  /// Returns the slot of a stored property, own or inherited: its index in ``slots``. Names are compared scalar for
  /// scalar; a part of a
  /// composite is named `property.part`.
  ///
  /// ```swift
  /// if let name = entity.slot(named: "name") { print(nodes.value(slot: name, of: node)) }
  /// ```
  ///
  /// - Returns: nil for a name that the entity does not have, and for transient and fetched properties, which are not
  ///   stored.
  public func slot(named name: String) -> Int? {
    let name = ScalarString(name)
    var level: Int? = index
    while let here = level {
      if let slot = model.records[here].ownSlot(named: name) { return slot }
      level = model.records[here].superentity
    }
    return nil
  }

  /// Own and inherited properties, those of the super-entity first.
  public var properties: [PropertyDescription] { record.properties }
  /// Returns the property with exactly that name (compared by scalars), own or inherited, or nil. Transient and fetched
  /// properties are included.
  public func property(named name: String) -> PropertyDescription? {
    record.properties.first { $0.name.hasSameScalars(as: name) }
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

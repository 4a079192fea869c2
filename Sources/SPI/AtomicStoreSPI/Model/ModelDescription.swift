/// A model as plain values, which can be built, read from a file, changed and compared.
///
/// Pass it to ``ManagedObjectModel/init(_:)``, which checks and compiles it; ``ManagedObjectModel/description`` returns
/// it. Entities are nested: an entity contains its sub-entities, and the super-entity follows from the nesting.
///
/// ```swift
/// let description = ModelDescription(entities: [
///   EntityDescription(name: "Person", properties: [.attribute("name", .string)])
/// ])
/// ```
public struct ModelDescription: Sendable, Equatable {
  /// The version identifiers, in a model file `userDefinedModelVersionIdentifier`.
  public var versionIdentifiers: [String]
  /// The entities without a super-entity; the others are in ``EntityDescription/subentities``.
  public var entities: [EntityDescription]
  /// The composite types of attributes.
  public var composites: [CompositeDescription]
  /// The named groups of entities that a store may be opened with.
  public var configurations: [ConfigurationDescription]
  /// Fetch requests by name (`fetchRequest` at the top level of a model file).
  public var fetchRequestTemplates: [FetchRequestDescription]
  /// Unknown content of a model file, which is preserved when the file is written.
  public var extras: [ModelExtra]
  /// Whether a format inferred the model from data instead of reading it. A store is not refused because its model
  /// differs from an inferred one.
  public var isInferred: Bool
  /// For an inferred model, the type of the store whose layout it describes: the format that inferred it sets this to
  /// its ``AtomicStore/storeType``. Nil if it is unknown.
  ///
  /// A store of this type can be written with the model so that what did not change stays where it was, and keeps its
  /// version hashes. A store of another type would only seem to have the layout that the hashes stand for.
  public var inferredFrom: String?

  /// Creates a description without checking it: ``ManagedObjectModel/init(_:)`` does that.
  ///
  /// ```swift
  /// let versioned = ModelDescription(
  ///   versionIdentifiers: ["2"], entities: [EntityDescription(name: "Person", properties: [.attribute("name", .string)])])
  /// ```
  public init(
    versionIdentifiers: [String] = [], entities: [EntityDescription] = [], composites: [CompositeDescription] = [],
    configurations: [ConfigurationDescription] = [], fetchRequestTemplates: [FetchRequestDescription] = [],
    extras: [ModelExtra] = [], isInferred: Bool = false, inferredFrom: String? = nil
  ) {
    self.versionIdentifiers = versionIdentifiers
    self.entities = entities
    self.composites = composites
    self.configurations = configurations
    self.fetchRequestTemplates = fetchRequestTemplates
    self.extras = extras
    self.isInferred = isInferred
    self.inferredFrom = inferredFrom
  }
}

/// The description of an entity.
///
/// ```swift
/// let person = EntityDescription(
///   name: "Person", properties: [.attribute("name", .string, isOptional: false)],
///   subentities: [EntityDescription(name: "Employee", properties: [.attribute("salary", .decimal)])])
/// ```
public struct EntityDescription: Sendable, Equatable {
  /// The entity's name, unique in the model.
  public var name: String
  /// Whether only sub-entities have objects. Defaults to false.
  public var isAbstract: Bool
  /// The class of its objects: `Name`, `.Name`, `Module.Name`; nil for the generic class.
  public var managedObjectClassName: String?
  /// The properties that it declares, in the model's order; inherited ones are described in the super-entity.
  public var properties: [PropertyDescription]
  /// The entities that inherit from this one. They are described only here.
  public var subentities: [EntityDescription]
  /// Lists of attribute names. No two objects may have the same values for all names of a list.
  public var uniquenessConstraints: [[String]]
  /// Indexes for fetches. The first property of each speeds up searches in the object graph; stores keep indexes only
  /// as part of the model.
  public var fetchIndexes: [FetchIndexDescription]
  /// Indexes of Xcode 8 and earlier: lists of property names.
  public var compoundIndexes: [[String]]
  /// The name that the entity had in an earlier version of the model, by which migration finds its
  /// values.
  public var renamingIdentifier: String?
  /// A text that changes Core Data's version hash of the entity. Kept and written back, otherwise unused.
  public var versionHashModifier: String?
  /// Texts that the model's author attached to the entity. The kit keeps them and gives them no meaning.
  public var userInfo: [UserInfoEntry]
  /// What a model file says about the entity that the kit does not interpret; kept, and written back.
  package var extras: [ModelExtra]

  /// Creates a description of an entity. Only the name is required; by default the entity is concrete and has no
  /// properties.
  ///
  /// ```swift
  /// let tag = EntityDescription(
  ///   name: "Tag", properties: [.attribute("name", .string)], uniquenessConstraints: [["name"]], renamingIdentifier: "Label")
  /// ```
  public init(
    name: String, isAbstract: Bool = false, managedObjectClassName: String? = nil,
    properties: [PropertyDescription] = [], subentities: [EntityDescription] = [],
    uniquenessConstraints: [[String]] = [], fetchIndexes: [FetchIndexDescription] = [],
    compoundIndexes: [[String]] = [], renamingIdentifier: String? = nil, versionHashModifier: String? = nil,
    userInfo: [UserInfoEntry] = [], extras: [ModelExtra] = []
  ) {
    self.name = name
    self.isAbstract = isAbstract
    self.managedObjectClassName = managedObjectClassName
    self.properties = properties
    self.subentities = subentities
    self.uniquenessConstraints = uniquenessConstraints
    self.fetchIndexes = fetchIndexes
    self.compoundIndexes = compoundIndexes
    self.renamingIdentifier = renamingIdentifier
    self.versionHashModifier = versionHashModifier
    self.userInfo = userInfo
    self.extras = extras
  }
}

/// The description of a property of an entity.
///
/// Indirect, so that a copy is one reference: a property is in the lists of its entity and of all sub-entities.
///
/// ```swift
/// for property in entity.properties {
///   if case .relationship(let relationship) = property { print(relationship.destinationEntityName) }
/// }
/// ```
public indirect enum PropertyDescription: Sendable, Equatable {
  /// A value, or a group of values if its type is a composite.
  case attribute(AttributeDescription)
  /// One object or several.
  case relationship(RelationshipDescription)
  /// The result of a fetch request. It is computed, and never stored.
  case fetchedProperty(FetchedPropertyDescription)

  /// The property's name.
  public var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .relationship(let relationship): relationship.name
    case .fetchedProperty(let property): property.name
    }
  }
}

/// The description of an attribute: its type, and the rules for its values.
///
/// Types are checked when a value is set or loaded. Optionality, bounds and patterns are checked by validation in the
/// object graph; a store may contain values that break them.
///
/// ```swift
/// let name = AttributeDescription(name: "name", type: .string, isOptional: false, maximumLength: 80)
/// ```
public struct AttributeDescription: Sendable, Equatable {
  /// The attribute's name, unique among the entity's own and inherited properties.
  public var name: String
  /// The type of its values.
  public var type: AttributeType
  /// Whether null is valid. Defaults to true.
  public var isOptional: Bool
  /// A transient attribute is never stored.
  public var isTransient: Bool
  /// The value of new objects; nil for null. It must be of the attribute's type.
  public var defaultValue: StoredValue?
  /// The minimum valid value, or for dates the earliest; for strings see ``minimumLength``.
  public var minimum: StoredValue?
  /// The maximum valid value, or for dates the latest; for strings see ``maximumLength``.
  public var maximum: StoredValue?
  /// The minimum valid length of a string, in Unicode scalars.
  public var minimumLength: Int?
  /// The maximum valid length of a string, in Unicode scalars.
  public var maximumLength: Int?
  /// A regular expression that a whole string must match to be valid, in the dialect of `MATCHES`.
  public var regularExpression: String?
  /// For a derived attribute: the expression from which it is computed on save.
  public var derivationExpression: String?
  /// The name of the transformer that converts the values of a transformable attribute to bytes. Stores hold only the
  /// bytes.
  public var valueTransformerName: String?
  /// The class of the values of a transformable attribute.
  package var attributeValueClassName: String?
  /// Whether Core Data may keep large values in files beside the store. Kept and written back; the kit's formats store
  /// all values inline.
  public var allowsExternalBinaryDataStorage: Bool
  /// Whether an index speeds up searches by this attribute in the object graph (Xcode 8 and before; see also
  /// ``EntityDescription/fetchIndexes``).
  public var isIndexed: Bool
  /// The name that the attribute had in an earlier version of the model, by which migration finds its
  /// values.
  public var renamingIdentifier: String?
  /// A text that changes Core Data's version hash of the attribute. Kept and written back, otherwise unused.
  public var versionHashModifier: String?
  /// Texts that the model's author attached to the attribute. The kit keeps them and gives them no meaning.
  public var userInfo: [UserInfoEntry]
  /// What a model file says about the attribute that the kit does not interpret; kept, and written back.
  package var extras: [ModelExtra]

  /// Creates a description of an attribute. Only name and type are required; by default it is optional, stored, and
  /// without default value, bounds or index.
  ///
  /// ```swift
  /// let code = AttributeDescription(name: "code", type: .string, minimumLength: 2, regularExpression: "[A-Z]+[0-9]*")
  /// ```
  public init(
    name: String, type: AttributeType, isOptional: Bool = true, isTransient: Bool = false,
    defaultValue: StoredValue? = nil, minimum: StoredValue? = nil, maximum: StoredValue? = nil,
    minimumLength: Int? = nil, maximumLength: Int? = nil, regularExpression: String? = nil,
    derivationExpression: String? = nil, valueTransformerName: String? = nil, attributeValueClassName: String? = nil,
    allowsExternalBinaryDataStorage: Bool = false, isIndexed: Bool = false, renamingIdentifier: String? = nil,
    versionHashModifier: String? = nil, userInfo: [UserInfoEntry] = [], extras: [ModelExtra] = []
  ) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.isTransient = isTransient
    self.defaultValue = defaultValue
    self.minimum = minimum
    self.maximum = maximum
    self.minimumLength = minimumLength
    self.maximumLength = maximumLength
    self.regularExpression = regularExpression
    self.derivationExpression = derivationExpression
    self.valueTransformerName = valueTransformerName
    self.attributeValueClassName = attributeValueClassName
    self.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
    self.isIndexed = isIndexed
    self.renamingIdentifier = renamingIdentifier
    self.versionHashModifier = versionHashModifier
    self.userInfo = userInfo
    self.extras = extras
  }
}

/// What happens to related objects when an object is deleted.
public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
  /// Nothing happens: the other end may refer to an object that no longer exists. A model with this rule gets a
  /// warning.
  case noAction = "No Action"
  /// The other end is set to null, or the object removed from its to-many.
  case nullify = "Nullify"
  /// The objects at the other end are deleted too.
  case cascade = "Cascade"
  /// The object cannot be deleted while there is an object at the other end.
  case deny = "Deny"
}

/// The description of a relationship.
///
/// ``minimumCount``, ``maximumCount`` and optionality are checked by validation in the object graph; a store may
/// contain values that break them.
///
/// ```swift
/// let reports = RelationshipDescription(name: "reports", destinationEntityName: "Employee", inverseName: "manager")
/// ```
public struct RelationshipDescription: Sendable, Equatable {
  /// The relationship's name, unique among the entity's own and inherited properties.
  public var name: String
  /// The entity that it leads to. Objects of its sub-entities are destinations too.
  public var destinationEntityName: String
  /// The name of the inverse relationship, declared at the destination.
  public var inverseName: String?
  /// Whether null, or an empty to-many, is valid. Defaults to true.
  public var isOptional: Bool
  /// Whether it is never stored.
  public var isTransient: Bool
  /// The minimum number of objects; 0 for none.
  public var minimumCount: Int
  /// The maximum number of objects; 1 makes a to-one, 0 means no limit.
  public var maximumCount: Int
  /// Whether a to-many is ordered. Has no effect on a to-one.
  public var isOrdered: Bool
  /// For a to-many that a format inferred from data which does not specify whether it is ordered. The order in the
  /// store is kept, as if it were ordered; comparisons treat the members as a set. Has no effect if ``isOrdered``.
  public var hasUnknownOrder: Bool
  /// What happens to the objects at the other end when an object is deleted. Defaults to nullify.
  public var deleteRule: DeleteRule
  /// Whether the model marks it as indexed (Xcode 8 and before). Kept and written back, otherwise unused.
  public var isIndexed: Bool
  /// The name that the relationship had in an earlier version of the model, by which migration finds its
  /// values.
  public var renamingIdentifier: String?
  /// A text that changes Core Data's version hash of the relationship. Kept and written back, otherwise unused.
  public var versionHashModifier: String?
  /// Texts that the model's author attached to the relationship. The kit keeps them and gives them no meaning.
  public var userInfo: [UserInfoEntry]
  /// What a model file says about the relationship that the kit does not interpret; kept, and written back.
  package var extras: [ModelExtra]

  /// Whether it may hold more than one object: whether ``maximumCount`` is not 1.
  public var isToMany: Bool { maximumCount != 1 }

  /// Creates a description of a relationship. Name and destination are required; by default it is an optional to-one
  /// without inverse. For a to-many, pass a `maximumCount` of 0.
  public init(
    name: String, destinationEntityName: String, inverseName: String? = nil, isOptional: Bool = true,
    isTransient: Bool = false, minimumCount: Int = 0, maximumCount: Int = 1, isOrdered: Bool = false,
    hasUnknownOrder: Bool = false, deleteRule: DeleteRule = .nullify, isIndexed: Bool = false,
    renamingIdentifier: String? = nil,
    versionHashModifier: String? = nil, userInfo: [UserInfoEntry] = [], extras: [ModelExtra] = []
  ) {
    self.name = name
    self.destinationEntityName = destinationEntityName
    self.inverseName = inverseName
    self.isOptional = isOptional
    self.isTransient = isTransient
    self.minimumCount = minimumCount
    self.maximumCount = maximumCount
    self.isOrdered = isOrdered
    self.hasUnknownOrder = hasUnknownOrder
    self.deleteRule = deleteRule
    self.isIndexed = isIndexed
    self.renamingIdentifier = renamingIdentifier
    self.versionHashModifier = versionHashModifier
    self.userInfo = userInfo
    self.extras = extras
  }
}

/// A property whose value is the result of a fetch, executed on first access.
public struct FetchedPropertyDescription: Sendable, Equatable {
  /// The property's name, unique among the entity's own and inherited properties.
  public var name: String
  /// The fetch request. Its predicate may use `$FETCH_SOURCE`, the object that has the property, and
  /// `$FETCHED_PROPERTY`.
  public var fetchRequest: FetchRequestDescription
  /// As in the model file; it has no effect.
  public var isOptional: Bool
  /// The name that the property had in an earlier version of the model, by which migration finds its
  /// values.
  public var renamingIdentifier: String?
  /// A text that changes Core Data's version hash of the property. Kept and written back, otherwise unused.
  public var versionHashModifier: String?
  /// Texts that the model's author attached to the property. The kit keeps them and gives them no meaning.
  public var userInfo: [UserInfoEntry]
  /// What a model file says about the property that the kit does not interpret; kept, and written back.
  package var extras: [ModelExtra]

  /// Creates a description of a fetched property.
  public init(
    name: String, fetchRequest: FetchRequestDescription, isOptional: Bool = true, renamingIdentifier: String? = nil,
    versionHashModifier: String? = nil, userInfo: [UserInfoEntry] = [], extras: [ModelExtra] = []
  ) {
    self.name = name
    self.fetchRequest = fetchRequest
    self.isOptional = isOptional
    self.renamingIdentifier = renamingIdentifier
    self.versionHashModifier = versionHashModifier
    self.userInfo = userInfo
    self.extras = extras
  }
}

/// A configuration: the part of the model that a store may be opened with.
public struct ConfigurationDescription: Sendable, Equatable {
  /// The configuration's name, unique in the model.
  public var name: String
  /// The entities of the configuration. The name of an entity that does not exist is a warning, not an error.
  public var entityNames: [String]
  /// What a model file says about the configuration that the kit does not interpret; kept, and written back.
  package var extras: [ModelExtra]
  /// Creates a description of a configuration.
  public init(name: String, entityNames: [String], extras: [ModelExtra] = []) {
    self.name = name
    self.entityNames = entityNames
    self.extras = extras
  }
}

/// A composite type: a named group of attributes (Xcode 15). Its attributes may themselves be composite.
public struct CompositeDescription: Sendable, Equatable {
  /// The composite's name, which ``AttributeType/composite(_:)`` refers to.
  public var name: String
  /// Its parts. They are stored as attributes named `property.part`.
  public var attributes: [AttributeDescription]
  /// What a model file says about the composite that the kit does not interpret; kept, and written back.
  package var extras: [ModelExtra]
  /// Creates a description of a composite type.
  public init(name: String, attributes: [AttributeDescription], extras: [ModelExtra] = []) {
    self.name = name
    self.attributes = attributes
    self.extras = extras
  }
}

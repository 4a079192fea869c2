/// A model as it is written down: plain values, to be built, read from a file, changed and compared.
///
/// Give it to ``ManagedObjectModel/init(_:)``, which checks it and freezes it; a frozen model gives its description
/// back. Entities are nested: sub-entities are set on their parent, the super-entity follows from the nesting.
public struct ModelDescription: Sendable, Equatable {
  /// The version's names, as `userDefinedModelVersionIdentifier` has them.
  public var versionIdentifiers: [String]
  /// The entities without a super-entity; the others stand in ``EntityDescription/subentities``.
  public var entities: [EntityDescription]
  /// The composite types that attributes may have.
  public var composites: [CompositeDescription]
  /// The named groups of entities that a store may be opened with.
  public var configurations: [ConfigurationDescription]
  /// Fetch requests by name (`fetchRequest` at the top of a model file).
  public var fetchRequestTemplates: [FetchRequestDescription]
  /// What a model file held that this kit does not know; kept, and written back.
  public var extras: [ModelExtra]
  /// Whether a format inferred the model from data, rather than read it somewhere. Inferred models claim less: a store
  /// is not refused for differing from one.
  public var isInferred: Bool

  /// Creates a description. Nothing is checked
  /// here: ``ManagedObjectModel/init(_:)`` does that.
  public init(
    versionIdentifiers: [String] = [], entities: [EntityDescription] = [], composites: [CompositeDescription] = [],
    configurations: [ConfigurationDescription] = [], fetchRequestTemplates: [FetchRequestDescription] = [],
    extras: [ModelExtra] = [], isInferred: Bool = false
  ) {
    self.versionIdentifiers = versionIdentifiers
    self.entities = entities
    self.composites = composites
    self.configurations = configurations
    self.fetchRequestTemplates = fetchRequestTemplates
    self.extras = extras
    self.isInferred = isInferred
  }
}

/// A key with its text, as `userInfo` holds them: in the file's order.
public struct UserInfoEntry: Sendable, Hashable {
  /// The key. Keys are not checked for uniqueness.
  public var key: String
  /// The text stored under the key.
  public var value: String
  /// Creates an entry.
  public init(key: String, value: String) {
    self.key = key
    self.value = value
  }
}

/// Something in a model file that the kit does not interpret: kept where it was, and written back.
public enum ModelExtra: Sendable, Hashable {
  /// An XML attribute of the described element.
  case attribute(name: String, value: String)
  /// A whole XML element below the described one, as text.
  case element(String)
}

/// An entity as it is written down.
public struct EntityDescription: Sendable, Equatable {
  /// The entity's name, unique in the model.
  public var name: String
  /// Whether only sub-entities have objects. Defaults to false.
  public var isAbstract: Bool
  /// The class of its objects: `Name`, `.Name`, `Module.Name`; nil for the generic one.
  public var managedObjectClassName: String?
  /// Its own properties in the model's order; inherited ones belong to the super-entity.
  public var properties: [PropertyDescription]
  /// The entities that inherit from this one. They are described here and nowhere else.
  public var subentities: [EntityDescription]
  /// Each a list of attribute names that no two objects may share the values of.
  public var uniquenessConstraints: [[String]]
  /// Indexes for fetches. The first property of each speeds up searches in the object graph; stores keep indexes only
  /// as part of the model.
  public var fetchIndexes: [FetchIndexDescription]
  /// Xcode 8 and before: lists of property names.
  public var compoundIndexes: [[String]]
  /// The name that the entity had in an earlier version of the model, for migration. Kept and written back; the kit
  /// does not migrate.
  public var renamingIdentifier: String?
  /// A text that makes Core Data's version hash of the entity differ. Kept and written back, otherwise unused.
  public var versionHashModifier: String?
  /// Texts that the model's author attached to the entity. The kit keeps them and gives them no meaning.
  public var userInfo: [UserInfoEntry]
  /// What a model file says about the entity that the kit does not interpret; kept, and written back.
  public var extras: [ModelExtra]

  /// Creates a description of an entity. Only the name is required; by default the entity is concrete and has no properties.
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

/// A property of an entity as it is written down.
///
/// Indirect, so that a copy is one reference: an entity's properties are in its list and in those of all entities below
/// it.
public indirect enum PropertyDescription: Sendable, Equatable {
  /// A value, or a group of values if its type is a composite.
  case attribute(AttributeDescription)
  /// One object or several.
  case relationship(RelationshipDescription)
  /// The result of a fetch request. It is computed, and never stored.
  case fetchedProperty(FetchedPropertyDescription)

  /// The property's name, whatever its kind.
  public var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .relationship(let relationship): relationship.name
    case .fetchedProperty(let property): property.name
    }
  }
}

/// An attribute as it is written down: its type, and the rules that its values must keep.
///
/// Types are checked when a value is set or loaded. Optionality, bounds and patterns are checked by validation in the
/// object graph; a store keeps values that break them.
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
  /// The least value, or for dates the earliest; for strings see ``minimumLength``.
  public var minimum: StoredValue?
  /// The greatest valid value, or for dates the latest; for strings see ``maximumLength``.
  public var maximum: StoredValue?
  /// In Unicode scalars, for strings.
  public var minimumLength: Int?
  /// The greatest valid length of a string, in Unicode scalars.
  public var maximumLength: Int?
  /// A regular expression that a whole string must match to be valid, in the dialect of `MATCHES`.
  public var regularExpression: String?
  /// For a derived attribute: what it is computed from on save.
  public var derivationExpression: String?
  /// The name of the transformer that makes bytes of a transformable's values. Stores see the bytes only.
  public var valueTransformerName: String?
  /// The class of a transformable's values.
  public var attributeValueClassName: String?
  /// Whether Core Data may keep large values in files beside the store. Kept and written back; the kit's formats store
  /// all values inline.
  public var allowsExternalBinaryDataStorage: Bool
  /// Whether an index speeds up searches by this attribute in the object graph (Xcode 8 and before; see also
  /// ``EntityDescription/fetchIndexes``).
  public var isIndexed: Bool
  /// The name that the attribute had in an earlier version of the model, for migration. Kept and written back; the kit
  /// does not migrate.
  public var renamingIdentifier: String?
  /// A text that makes Core Data's version hash of the attribute differ. Kept and written back, otherwise unused.
  public var versionHashModifier: String?
  /// Texts that the model's author attached to the attribute. The kit keeps them and gives them no meaning.
  public var userInfo: [UserInfoEntry]
  /// What a model file says about the attribute that the kit does not interpret; kept, and written back.
  public var extras: [ModelExtra]

  /// Creates a description of an attribute. Only name and type are required; by default it is optional, stored, and without
  /// default value, bounds or index.
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

/// What happens at the other end when an object is deleted.
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

/// A relationship as it is written down.
///
/// The bounds ``minimumCount`` and ``maximumCount`` and optionality are checked by validation in the object graph; a
/// store keeps what breaks them.
public struct RelationshipDescription: Sendable, Equatable {
  /// The relationship's name, unique among the entity's own and inherited properties.
  public var name: String
  /// The entity that it leads to. Objects of its sub-entities are destinations too.
  public var destinationEntityName: String
  /// The name of the relationship at the destination that mirrors this one.
  public var inverseName: String?
  /// Whether null, or an empty to-many, is valid. Defaults to true.
  public var isOptional: Bool
  /// Whether it is never stored.
  public var isTransient: Bool
  /// The least number of objects; 0 for none.
  public var minimumCount: Int
  /// The most objects; 1 makes a to-one, 0 means no bound.
  public var maximumCount: Int
  /// Whether a to-many keeps its members in a sequence of their own. Has no effect on a to-one.
  public var isOrdered: Bool
  /// For a to-many that a format inferred from data which does not say whether it is ordered. The sequence that a store
  /// has is kept, as if it were ordered; comparisons take the members for a set. Has no effect where ``isOrdered``.
  public var hasUnknownOrder: Bool
  /// What happens to the objects at the other end when an object is deleted. Defaults to nullify.
  public var deleteRule: DeleteRule
  /// Whether the model marks it as indexed (Xcode 8 and before). Kept and written back, otherwise unused.
  public var isIndexed: Bool
  /// The name that the relationship had in an earlier version of the model, for migration. Kept and written back; the
  /// kit does not migrate.
  public var renamingIdentifier: String?
  /// A text that makes Core Data's version hash of the relationship differ. Kept and written back, otherwise unused.
  public var versionHashModifier: String?
  /// Texts that the model's author attached to the relationship. The kit keeps them and gives them no meaning.
  public var userInfo: [UserInfoEntry]
  /// What a model file says about the relationship that the kit does not interpret; kept, and written back.
  public var extras: [ModelExtra]

  /// Whether it may hold more than one object: whether ``maximumCount`` is not 1.
  public var isToMany: Bool { maximumCount != 1 }

  /// Creates a description of a relationship. Name and destination are required; by default it is an optional to-one without
  /// inverse. For a to-many, pass a `maximumCount` of 0.
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

/// A property whose value is a fetch, evaluated when it is first asked for.
public struct FetchedPropertyDescription: Sendable, Equatable {
  /// The property's name, unique among the entity's own and inherited properties.
  public var name: String
  /// The fetch. Its predicate may use `$FETCH_SOURCE`, the object whose property it is, and `$FETCHED_PROPERTY`.
  public var fetchRequest: FetchRequestDescription
  /// As the model file has it; it has no effect.
  public var isOptional: Bool
  /// The name that the property had in an earlier version of the model, for migration. Kept and written back; the kit
  /// does not migrate.
  public var renamingIdentifier: String?
  /// A text that makes Core Data's version hash of the property differ. Kept and written back, otherwise unused.
  public var versionHashModifier: String?
  /// Texts that the model's author attached to the property. The kit keeps them and gives them no meaning.
  public var userInfo: [UserInfoEntry]
  /// What a model file says about the property that the kit does not interpret; kept, and written back.
  public var extras: [ModelExtra]

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

/// A fetch request as a model holds it: a template, or a fetched property's.
public struct FetchRequestDescription: Sendable, Equatable {
  /// The template's name; unused for a fetched property.
  public var name: String
  /// The entity whose objects are fetched.
  public var entityName: String
  /// The predicate's text; nil for all objects.
  public var predicateString: String?
  /// The most objects to fetch; nil or 0 for no limit.
  public var fetchLimit: Int?
  /// As the model file has it. Kept and written back, otherwise unused.
  public var fetchBatchSize: Int?
  /// What the fetch returns, as the model file has it. Kept and written back, otherwise unused: a template fetches
  /// objects.
  public var resultType: String?
  /// Whether objects of sub-entities are fetched too; nil for true.
  public var includesSubentities: Bool?
  /// As the model file has it. Kept and written back, otherwise unused.
  public var includesPropertyValues: Bool?
  /// Whether unsaved changes of the context count; nil for true.
  public var includesPendingChanges: Bool?
  /// Whether objects are returned without their values being read; nil for true.
  public var returnsObjectsAsFaults: Bool?
  /// As the model file has it. Kept and written back, otherwise unused.
  public var returnsDistinctResults: Bool?
  /// In which order, by the first key first; empty for the stores' order. No model file of Xcode's can hold it.
  public var sortOrder: [Sort]
  /// What a model file says about the request that the kit does not interpret; kept, and written back.
  public var extras: [ModelExtra]

  /// A key to sort by.
  public struct Sort: Sendable, Hashable {
    /// A key path, such as `department.name`.
    public var keyPath: String
    /// Whether the least value comes first.
    public var isAscending: Bool
    /// Creates a key to sort by, ascending by default.
    public init(_ keyPath: String, isAscending: Bool = true) {
      self.keyPath = keyPath
      self.isAscending = isAscending
    }
  }

  /// Creates a description of a fetch request. By default it fetches all objects of the entity and its sub-entities, in the
  /// stores' order.
  public init(
    name: String, entityName: String, predicateString: String? = nil, fetchLimit: Int? = nil,
    fetchBatchSize: Int? = nil, resultType: String? = nil, includesSubentities: Bool? = nil,
    includesPropertyValues: Bool? = nil, includesPendingChanges: Bool? = nil, returnsObjectsAsFaults: Bool? = nil,
    returnsDistinctResults: Bool? = nil, sortOrder: [Sort] = [], extras: [ModelExtra] = []
  ) {
    self.name = name
    self.entityName = entityName
    self.predicateString = predicateString
    self.fetchLimit = fetchLimit
    self.fetchBatchSize = fetchBatchSize
    self.resultType = resultType
    self.includesSubentities = includesSubentities
    self.includesPropertyValues = includesPropertyValues
    self.includesPendingChanges = includesPendingChanges
    self.returnsObjectsAsFaults = returnsObjectsAsFaults
    self.returnsDistinctResults = returnsDistinctResults
    self.sortOrder = sortOrder
    self.extras = extras
  }
}

/// An index of an entity as it is written down (Xcode 9 and later). It speeds up searches in the object graph and has
/// no effect on what is stored.
public struct FetchIndexDescription: Sendable, Equatable {
  /// One part of an index: a property or an expression. Only a property that comes first in its index is used.
  public struct Element: Sendable, Equatable {
    /// A property's name, or nil where the index is on an expression.
    public var propertyName: String?
    /// The text of the expression that is indexed; nil where the index is on a property.
    public var expression: String?
    /// The attribute type of the expression's values, as the model file has it.
    public var expressionType: String?
    /// `Binary` or `RTree`.
    public var collationType: String
    /// As the model file has it; it has no effect here.
    public var isAscending: Bool
    /// What a model file says about the element that the kit does not interpret; kept, and written back.
    public var extras: [ModelExtra]
    /// Creates an element on a property, or with a `propertyName` of nil on an expression.
    public init(
      propertyName: String?, expression: String? = nil, expressionType: String? = nil, collationType: String = "Binary",
      isAscending: Bool = true, extras: [ModelExtra] = []
    ) {
      self.propertyName = propertyName
      self.expression = expression
      self.expressionType = expressionType
      self.collationType = collationType
      self.isAscending = isAscending
      self.extras = extras
    }
  }
  /// The index's name.
  public var name: String
  /// The parts of the index, the most significant first.
  public var elements: [Element]
  /// The predicate of the objects that Core Data would index. Kept and written back, otherwise unused.
  public var partialIndexPredicate: String?
  /// What a model file says about the index that the kit does not interpret; kept, and written back.
  public var extras: [ModelExtra]
  /// Creates a description of an index.
  public init(
    name: String, elements: [Element], partialIndexPredicate: String? = nil, extras: [ModelExtra] = []
  ) {
    self.name = name
    self.elements = elements
    self.partialIndexPredicate = partialIndexPredicate
    self.extras = extras
  }
}

/// A part of the model that a store may be opened with.
public struct ConfigurationDescription: Sendable, Equatable {
  /// The configuration's name, unique in the model.
  public var name: String
  /// The entities in it. A name of an entity that does not exist is a warning, not an error.
  public var entityNames: [String]
  /// What a model file says about the configuration that the kit does not interpret; kept, and written back.
  public var extras: [ModelExtra]
  /// Creates a description of a configuration.
  public init(name: String, entityNames: [String], extras: [ModelExtra] = []) {
    self.name = name
    self.entityNames = entityNames
    self.extras = extras
  }
}

/// A named group of attributes (Xcode 15). Its attributes may themselves be composite.
public struct CompositeDescription: Sendable, Equatable {
  /// The composite's name, which ``AttributeType/composite(_:)`` refers to.
  public var name: String
  /// Its parts. They are stored as attributes named `property.part`.
  public var attributes: [AttributeDescription]
  /// What a model file says about the composite that the kit does not interpret; kept, and written back.
  public var extras: [ModelExtra]
  /// Creates a description of a composite type.
  public init(name: String, attributes: [AttributeDescription], extras: [ModelExtra] = []) {
    self.name = name
    self.attributes = attributes
    self.extras = extras
  }
}

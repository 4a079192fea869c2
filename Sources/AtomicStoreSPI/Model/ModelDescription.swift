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
  public var configurations: [ConfigurationDescription]
  /// Fetch requests by name (`fetchRequest` at the top of a model file).
  public var fetchRequestTemplates: [FetchRequestDescription]
  /// What a model file held that this kit does not know; kept, and written back.
  public var extras: [ModelExtra]
  /// Whether a format inferred the model from data, rather than read it somewhere. Inferred models claim less: a store
  /// is not refused for differing from one.
  public var isInferred: Bool

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
  public var key: String
  public var value: String
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
  public var name: String
  public var isAbstract: Bool
  /// The class of its objects: `Name`, `.Name`, `Module.Name`; nil for the generic one.
  public var managedObjectClassName: String?
  /// Its own properties in the model's order; inherited ones belong to the super-entity.
  public var properties: [PropertyDescription]
  public var subentities: [EntityDescription]
  /// Each a list of attribute names that no two objects may share the values of.
  public var uniquenessConstraints: [[String]]
  public var fetchIndexes: [FetchIndexDescription]
  /// Xcode 8 and before: lists of property names.
  public var compoundIndexes: [[String]]
  public var renamingIdentifier: String?
  public var versionHashModifier: String?
  public var userInfo: [UserInfoEntry]
  public var extras: [ModelExtra]

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
/// Indirect, so that a copy is one reference: an entity's properties are in its list and in those of all entities below it.
public indirect enum PropertyDescription: Sendable, Equatable {
  case attribute(AttributeDescription)
  case relationship(RelationshipDescription)
  case fetchedProperty(FetchedPropertyDescription)

  public var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .relationship(let relationship): relationship.name
    case .fetchedProperty(let property): property.name
    }
  }
}

public struct AttributeDescription: Sendable, Equatable {
  public var name: String
  public var type: AttributeType
  public var isOptional: Bool
  /// A transient attribute is never stored.
  public var isTransient: Bool
  public var defaultValue: StoredValue?
  /// The least value, or for dates the earliest; for strings see ``minimumLength``.
  public var minimum: StoredValue?
  public var maximum: StoredValue?
  /// In Unicode scalars, for strings.
  public var minimumLength: Int?
  public var maximumLength: Int?
  public var regularExpression: String?
  /// For a derived attribute: what it is computed from on save.
  public var derivationExpression: String?
  public var valueTransformerName: String?
  /// The class of a transformable's values.
  public var attributeValueClassName: String?
  public var allowsExternalBinaryDataStorage: Bool
  public var isIndexed: Bool
  public var renamingIdentifier: String?
  public var versionHashModifier: String?
  public var userInfo: [UserInfoEntry]
  public var extras: [ModelExtra]

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
  case noAction = "No Action"
  case nullify = "Nullify"
  case cascade = "Cascade"
  case deny = "Deny"
}

public struct RelationshipDescription: Sendable, Equatable {
  public var name: String
  public var destinationEntityName: String
  /// The name of the relationship at the destination that mirrors this one.
  public var inverseName: String?
  public var isOptional: Bool
  public var isTransient: Bool
  /// The least number of objects; 0 for none.
  public var minimumCount: Int
  /// The most objects; 1 makes a to-one, 0 means no bound.
  public var maximumCount: Int
  public var isOrdered: Bool
  /// For a to-many that a format inferred from data which does not say whether it is ordered. The sequence that a store has is kept, as if
  /// it were ordered; comparisons take the members for a set. Has no effect where ``isOrdered``.
  public var hasUnknownOrder: Bool
  public var deleteRule: DeleteRule
  public var isIndexed: Bool
  public var renamingIdentifier: String?
  public var versionHashModifier: String?
  public var userInfo: [UserInfoEntry]
  public var extras: [ModelExtra]

  public var isToMany: Bool { maximumCount != 1 }

  public init(
    name: String, destinationEntityName: String, inverseName: String? = nil, isOptional: Bool = true,
    isTransient: Bool = false, minimumCount: Int = 0, maximumCount: Int = 1, isOrdered: Bool = false,
    hasUnknownOrder: Bool = false, deleteRule: DeleteRule = .nullify, isIndexed: Bool = false, renamingIdentifier: String? = nil,
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
  public var name: String
  public var fetchRequest: FetchRequestDescription
  public var isOptional: Bool
  public var renamingIdentifier: String?
  public var versionHashModifier: String?
  public var userInfo: [UserInfoEntry]
  public var extras: [ModelExtra]

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
  public var name: String
  public var entityName: String
  /// The predicate's text; nil for all objects.
  public var predicateString: String?
  public var fetchLimit: Int?
  public var fetchBatchSize: Int?
  public var resultType: String?
  public var includesSubentities: Bool?
  public var includesPropertyValues: Bool?
  public var includesPendingChanges: Bool?
  public var returnsObjectsAsFaults: Bool?
  public var returnsDistinctResults: Bool?
  /// In which order, by the first key first; empty for the stores' order. No model file of Xcode's can hold it.
  public var sortOrder: [Sort]
  public var extras: [ModelExtra]

  /// A key to sort by.
  public struct Sort: Sendable, Hashable {
    /// A key path, such as `department.name`.
    public var keyPath: String
    public var isAscending: Bool
    public init(_ keyPath: String, isAscending: Bool = true) {
      self.keyPath = keyPath
      self.isAscending = isAscending
    }
  }

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

public struct FetchIndexDescription: Sendable, Equatable {
  public struct Element: Sendable, Equatable {
    /// A property's name, or nil where the index is on an expression.
    public var propertyName: String?
    public var expression: String?
    public var expressionType: String?
    /// `Binary` or `RTree`.
    public var collationType: String
    public var isAscending: Bool
    public var extras: [ModelExtra]
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
  public var name: String
  public var elements: [Element]
  public var partialIndexPredicate: String?
  public var extras: [ModelExtra]
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
  public var name: String
  public var entityNames: [String]
  public var extras: [ModelExtra]
  public init(name: String, entityNames: [String], extras: [ModelExtra] = []) {
    self.name = name
    self.entityNames = entityNames
    self.extras = extras
  }
}

/// A named group of attributes (Xcode 15). Its attributes may themselves be composite.
public struct CompositeDescription: Sendable, Equatable {
  public var name: String
  public var attributes: [AttributeDescription]
  public var extras: [ModelExtra]
  public init(name: String, attributes: [AttributeDescription], extras: [ModelExtra] = []) {
    self.name = name
    self.attributes = attributes
    self.extras = extras
  }
}

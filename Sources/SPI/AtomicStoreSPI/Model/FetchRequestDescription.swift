/// A fetch request in a model: a template, or that of a fetched property.
public struct FetchRequestDescription: Sendable, Equatable {
  /// The template's name; unused for a fetched property.
  public var name: String
  /// The entity whose objects are fetched.
  public var entityName: String
  /// The predicate as text; nil for all objects.
  public var predicateString: String?
  /// The maximum number of objects; nil or 0 for no limit.
  public var fetchLimit: Int?
  /// As in the model file. Kept and written back, otherwise unused.
  package var fetchBatchSize: Int?
  /// What the fetch returns, as in the model file. Kept and written back, otherwise unused: a template fetches objects.
  package var resultType: String?
  /// Whether objects of sub-entities are fetched too; nil for true.
  public var includesSubentities: Bool?
  /// As in the model file. Kept and written back, otherwise unused.
  package var includesPropertyValues: Bool?
  /// Whether unsaved changes of the context are taken into account; nil for true.
  package var includesPendingChanges: Bool?
  /// Whether objects are returned without their values being read; nil for true.
  package var returnsObjectsAsFaults: Bool?
  /// As in the model file. Kept and written back, otherwise unused.
  package var returnsDistinctResults: Bool?
  /// The sort keys, the most significant first; empty for the stores' order. Xcode's model files cannot contain it.
  public var sortOrder: [Sort]
  /// What a model file says about the request that the kit does not interpret; kept, and written back.
  package var extras: [ModelExtra]

  /// A key to sort by.
  public struct Sort: Sendable, Hashable {
    /// A key path, such as `department.name`.
    public var keyPath: String
    /// Whether values are in ascending order.
    public var isAscending: Bool
    /// Creates a key to sort by, ascending by default.
    public init(_ keyPath: String, isAscending: Bool = true) {
      self.keyPath = keyPath
      self.isAscending = isAscending
    }
  }

  /// Creates a description of a fetch request. By default it fetches all objects of the entity and its sub-entities, in
  /// the stores' order.
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

/// The description of an index of an entity (Xcode 9 and later). It speeds up searches in the object graph and does not
/// affect what is stored.
public struct FetchIndexDescription: Sendable, Equatable {
  /// An element of an index: a property or an expression. Only a property that is the first element of its index is
  /// used.
  public struct Element: Sendable, Equatable {
    /// The name of the property; nil if the element is an expression.
    public var propertyName: String?
    /// The text of the indexed expression; nil if the element is a property.
    public var expression: String?
    /// The attribute type of the expression's values, as in the model file.
    public var expressionType: String?
    /// `Binary` or `RTree`.
    public var collationType: String
    /// As in the model file; it has no effect here.
    public var isAscending: Bool
    /// What a model file says about the element that the kit does not interpret; kept, and written back.
    package var extras: [ModelExtra]
    /// Creates an element for a property, or with a `propertyName` of nil for an expression.
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
  /// The condition for objects that Core Data would index. Kept and written back, otherwise unused.
  public var partialIndexPredicate: String?
  /// What a model file says about the index that the kit does not interpret; kept, and written back.
  package var extras: [ModelExtra]
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

extension ModelDescription {
  /// The maximum number of super-entities above an entity. Real models have fewer than ten. Stores carry the model as a
  /// property list with two levels for each super-entity, and the depth of property lists is limited too.
  package static let maximumInheritanceDepth = 100
  /// The maximum nesting depth of composites.
  package static let maximumCompositeDepth = 16
  /// The maximum number of attributes of a composite, including those of nested composites.
  static let maximumCompositeSize = 1024
  /// The maximum number of entities of a model.
  static let maximumEntityCount = 65_536
  /// The maximum number of properties that an entity may declare.
  public static let maximumPropertyCount = 65_536
  /// The maximum number of inherited properties of all entities together, each counted in every entity that inherits
  /// it. A small model file could otherwise produce any number.
  static let maximumInheritedCount = 500_000
  /// The maximum number of attributes of all composite attributes together, for the same reason.
  static let maximumPartCount = 100_000

  /// Returns all errors and warnings, in the model's order. A model with errors cannot be compiled.
  ///
  /// The rules are those of the Core Data guide on models and relationships. What occurs in real models and works is a
  /// warning.
  package func problems() -> [ModelProblem] {
    var checker = ModelChecker(model: self)
    checker.check()
    return checker.problems
  }
}

private struct ModelChecker {
  let model: ModelDescription
  var problems: [ModelProblem] = []
  /// An entity, its super-entity, and the positions of the properties that it adds.
  private struct Entry {
    var entity: EntityDescription
    var parent: Int?
    /// The number of super-entities above it.
    var depth: Int
    /// The positions of the properties that it adds.
    var positions = NamePositions()
  }
  /// All entities, super-entities before their sub-entities.
  private var entities: [Entry] = []
  private var byName: [ScalarString: Int] = [:]
  private var composites: [ScalarString: CompositeDescription] = [:]
  /// The number of attributes of each composite.
  private var compositeSizes: [ScalarString: Int] = [:]
  /// The hashes of the names of composite attributes.
  private var compositeAttributes: Set<UInt64> = []

  init(model: ModelDescription) { self.model = model }

  private mutating func error(
    _ code: ModelProblem.Code, _ entity: String? = nil, _ property: String? = nil, _ message: String
  ) {
    problems.append(ModelProblem(.error, code, entity: entity, property: property, message))
  }
  private mutating func warning(
    _ code: ModelProblem.Code, _ entity: String? = nil, _ property: String? = nil, _ message: String
  ) {
    problems.append(ModelProblem(.warning, code, entity: entity, property: property, message))
  }

  mutating func check() {
    guard collect() else { return }
    checkComposites()
    checkCounts()
    for position in entities.indices { check(position) }
    checkConfigurations()
    checkRequests()
  }

  /// Traverses the nesting iteratively. Returns false if it is too deep to continue.
  private mutating func collect() -> Bool {
    entities = model.entities.map { Entry(entity: $0, parent: nil, depth: 0) }
    var next = 0
    while next < entities.count {
      let position = next
      next += 1
      let entity = entities[position].entity
      let name = ScalarString(entity.name)
      if entity.name.isEmpty { error(.emptyName, nil, nil, "an entity has no name") }
      if byName[name] == nil {
        byName[name] = position
      } else if isBelow(name, position) {
        error(.inheritanceCycle, entity.name, nil, "the entity is its own super-entity")
        continue
      } else {
        error(.duplicateEntity, entity.name, nil, "two entities have this name")
      }
      guard entities[position].depth <= ModelDescription.maximumInheritanceDepth else {
        error(
          .inheritanceCycle, entity.name, nil,
          "more than \(ModelDescription.maximumInheritanceDepth) levels of super-entities")
        return false
      }
      guard entities.count + entity.subentities.count <= ModelDescription.maximumEntityCount else {
        error(.tooManyEntities, nil, nil, "more than \(ModelDescription.maximumEntityCount) entities")
        return false
      }
      let depth = entities[position].depth + 1
      for child in entity.subentities { entities.append(Entry(entity: child, parent: position, depth: depth)) }
    }
    for position in entities.indices {
      let properties = entities[position].entity.properties
      for case .attribute(let attribute) in properties {
        if case .composite = attribute.type { compositeAttributes.insert(NameHash.of(attribute.name.utf8)) }
      }
      entities[position].positions = NamePositions(properties.map { ScalarString($0.name) })
    }
    return true
  }

  /// Whether a super-entity of the entity at that index has the name.
  private func isBelow(_ name: ScalarString, _ position: Int) -> Bool {
    var above = entities[position].parent
    while let here = above {
      if ScalarString(entities[here].entity.name) == name { return true }
      above = entities[here].parent
    }
    return false
  }

  /// Refuses models whose entities inherit more than can be held: two small factors can have any product.
  private mutating func checkCounts() {
    var totals: [Int] = []
    var inherited = 0
    var parts = 0
    for entry in entities {
      let above = entry.parent.map { totals[$0] } ?? 0
      var own = entry.entity.properties.count + entry.entity.uniquenessConstraints.count
      if entry.entity.properties.count > ModelDescription.maximumPropertyCount {
        error(
          .tooManyProperties, entry.entity.name, nil,
          "the entity has more than \(ModelDescription.maximumPropertyCount) properties")
      }
      inherited += above
      for case .attribute(let attribute) in entry.entity.properties {
        guard case .composite(let name) = attribute.type, let size = compositeSizes[ScalarString(name)] else {
          continue
        }
        own += size
        parts += size
      }
      totals.append(above + own)
      guard inherited <= ModelDescription.maximumInheritedCount else {
        return error(
          .tooManyProperties, entry.entity.name, nil,
          "all entities together inherit more than \(ModelDescription.maximumInheritedCount) properties")
      }
      guard parts <= ModelDescription.maximumPartCount else {
        return error(
          .tooManyProperties, entry.entity.name, nil,
          "all attributes of composite types together have more than \(ModelDescription.maximumPartCount) parts")
      }
    }
  }

  private func entity(_ name: String) -> EntityDescription? { byName[ScalarString(name)].map { entities[$0].entity } }

  /// The property with that name of the entity at an index, or of a super-entity, and the entity that declares it.
  private func property(_ name: String, at position: Int?) -> (property: PropertyDescription, owner: Int)? {
    let name = ScalarString(name)
    var level = position
    while let here = level {
      if let found = entities[here].positions[name] { return (entities[here].entity.properties[found], here) }
      level = entities[here].parent
    }
    return nil
  }

  private func property(_ name: String, of entity: String) -> PropertyDescription? {
    property(name, at: byName[ScalarString(entity)])?.property
  }

  private func isKind(_ entity: String, of other: String) -> Bool {
    guard let other = byName[ScalarString(other)] else { return false }
    var level = byName[ScalarString(entity)]
    while let here = level {
      if here == other { return true }
      level = entities[here].parent
    }
    return false
  }

  // MARK: Entities

  private mutating func check(_ position: Int) {
    let entity = entities[position].entity
    let parent = entities[position].parent
    for (index, property) in entity.properties.enumerated() {
      if property.name.isEmpty { error(.emptyName, entity.name, nil, "a property has no name") }
      if entities[position].positions[ScalarString(property.name)] != index {
        error(.duplicateProperty, entity.name, property.name, "two properties have this name")
      }
      if let owner = self.property(property.name, at: parent)?.owner {
        error(
          .redefinedProperty, entity.name, property.name,
          "the property is already declared by \(entities[owner].entity.name), and inherited")
      }
      checkPath(property.name, of: entity.name)
      switch property {
      case .attribute(let attribute): check(attribute, of: entity.name)
      case .relationship(let relationship): check(relationship, of: entity.name)
      case .fetchedProperty(let fetched):
        if self.entity(fetched.fetchRequest.entityName) == nil {
          error(
            .unknownFetchEntity, entity.name, fetched.name,
            "the fetch request is for '\(fetched.fetchRequest.entityName)', which does not exist")
        }
      }
    }
    for constraint in entity.uniquenessConstraints {
      for name in constraint where property(rootOf(name), of: entity.name) == nil {
        error(.unknownConstraintProperty, entity.name, name, "the property in a uniqueness constraint does not exist")
      }
    }
    guard !entity.compoundIndexes.isEmpty || !entity.fetchIndexes.isEmpty else { return }
    // Indexes speed up other kinds of stores; one on a missing property has no effect here.
    for name in entity.compoundIndexes.joined()
      + entity.fetchIndexes.flatMap({ $0.elements.compactMap(\.propertyName) })
    where property(rootOf(name), of: entity.name) == nil && !["self", "entity"].contains(name) {
      warning(.unknownIndexProperty, entity.name, name, "the property in an index does not exist")
    }
  }

  /// Stores use the names `attribute.part` for the parts of a composite: no other property may have such a name.
  private mutating func checkPath(_ name: String, of entity: String) {
    guard !compositeAttributes.isEmpty else { return }
    var hash = NameHash()
    for (position, byte) in name.utf8.enumerated() {
      defer { hash.add(byte) }
      // Look up only prefixes that may be the name of such an attribute: a name may contain a hundred thousand dots.
      guard byte == UInt8(ascii: "."), compositeAttributes.contains(hash.value) else { continue }
      let prefix = String(decoding: name.utf8.prefix(position), as: UTF8.self)
      if case .attribute(let other)? = property(prefix, of: entity), case .composite = other.type {
        error(.duplicateProperty, entity, name, "the name is also that of a part of \(prefix)")
      }
    }
  }

  /// `location.latitude` is a part of the attribute `location`.
  private func rootOf(_ path: String) -> String {
    path.split(separator: ".", maxSplits: 1).first.map(String.init) ?? path
  }

  private mutating func check(_ attribute: AttributeDescription, of owner: String) {
    if case .composite(let name) = attribute.type, composites[ScalarString(name)] == nil {
      error(.unknownComposite, owner, attribute.name, "the composite '\(name)' does not exist")
    }
    if let value = attribute.defaultValue, !attribute.type.accepts(value) {
      error(
        .defaultOfWrongType, owner, attribute.name,
        "the default value is \(value.kindDescription), but the attribute is \(attribute.type.modelName)")
    }
    check(bound: attribute.minimum, attribute, of: owner)
    check(bound: attribute.maximum, attribute, of: owner)
    if attribute.minimumLength != nil || attribute.maximumLength != nil {
      if attribute.type != .string {
        error(.boundOfWrongType, owner, attribute.name, "a \(attribute.type.modelName) attribute cannot have a length")
      } else if (attribute.minimumLength ?? 0) < 0 || (attribute.maximumLength ?? 0) < 0 {
        error(.boundOfWrongType, owner, attribute.name, "a length is negative")
      }
    }
    if attribute.type == .string, attribute.minimum != nil || attribute.maximum != nil {
      error(.boundOfWrongType, owner, attribute.name, "the bounds of a string are lengths, not strings")
    }
    if let low = attribute.minimum, let high = attribute.maximum, Self.isGreater(low, high) {
      warning(.boundsReversed, owner, attribute.name, "the minimum is greater than the maximum: no value is valid")
    }
    if let low = attribute.minimumLength, let high = attribute.maximumLength, low > high {
      warning(
        .boundsReversed, owner, attribute.name,
        "the minimum length is greater than the maximum length: no value is valid")
    }
    if let expression = attribute.derivationExpression, expression.isEmpty {
      error(.missingDerivation, owner, attribute.name, "the derivation expression is empty")
    } else if let expression = attribute.derivationExpression, let problem = DerivationExpression(expression).problem {
      error(
        .unreadableDerivation, owner, attribute.name,
        "the derivation '\(expression.prefix(100))' cannot be parsed: \(problem)")
    }
  }

  private mutating func check(bound: StoredValue?, _ attribute: AttributeDescription, of owner: String) {
    guard let bound, !attribute.type.accepts(bound) else { return }
    error(
      .boundOfWrongType, owner, attribute.name,
      "a bound is \(bound.kindDescription), but the attribute is \(attribute.type.modelName)")
  }

  private static func isGreater(_ one: StoredValue, _ other: StoredValue) -> Bool {
    switch (one, other) {
    case (.integer(let a), .integer(let b)): a > b
    case (.double(let a), .double(let b)): a > b
    case (.float(let a), .float(let b)): a > b
    case (.decimal(let a), .decimal(let b)): b.isLess(than: a)
    case (.date(let a), .date(let b)): a > b
    default: false
    }
  }

  // MARK: Relationships

  private mutating func check(_ relationship: RelationshipDescription, of owner: String) {
    let name = relationship.name
    if relationship.minimumCount < 0 || relationship.maximumCount < 0 {
      error(.countsReversed, owner, name, "a count is negative")
    } else if relationship.maximumCount > 0, relationship.minimumCount > relationship.maximumCount {
      error(
        .countsReversed, owner, name,
        "the minimum count is \(relationship.minimumCount), the maximum count \(relationship.maximumCount)")
    }
    if relationship.isOrdered, !relationship.isToMany {
      warning(.orderedToOne, owner, name, "a to-one relationship cannot be ordered")
    }
    if relationship.deleteRule == .noAction {
      warning(
        .noActionRule, owner, name,
        "the delete rule is No Action: the other end may keep a reference to a deleted object")
    }
    guard entity(relationship.destinationEntityName) != nil else {
      return error(
        .missingDestination, owner, name,
        relationship.destinationEntityName.isEmpty
          ? "the relationship has no destination"
          : "the destination '\(relationship.destinationEntityName)' does not exist")
    }
    guard let inverseName = relationship.inverseName else {
      if !model.isInferred { warning(.noInverse, owner, name, "the relationship has no inverse") }
      return
    }
    guard let found = property(inverseName, of: relationship.destinationEntityName) else {
      return error(
        .missingInverse, owner, name,
        "the inverse \(relationship.destinationEntityName).\(inverseName) does not exist")
    }
    guard case .relationship(let inverse) = found else {
      return error(
        .inverseMismatch, owner, name,
        "the inverse \(relationship.destinationEntityName).\(inverseName) is not a relationship")
    }
    let place = "\(relationship.destinationEntityName).\(inverseName)"
    // It must lead back to this entity or its hierarchy: a sub-entity may take part through its super-entity.
    let comesBack = isKind(owner, of: inverse.destinationEntityName) || isKind(inverse.destinationEntityName, of: owner)
    if let back = inverse.inverseName {
      if !comesBack || !back.utf8.elementsEqual(name.utf8) {
        warning(
          .inverseMismatch, owner, name,
          "the inverse of \(place) is \(inverse.destinationEntityName).\(back): this relationship is one-way")
      }
    } else if comesBack {
      warning(.inverseMismatch, owner, name, "\(place) does not name an inverse: this relationship is one-way")
    } else {
      error(.inverseMismatch, owner, name, "the inverse \(place) leads to \(inverse.destinationEntityName)")
    }
  }

  // MARK: The rest

  private mutating func checkComposites() {
    for composite in model.composites {
      if composite.name.isEmpty { error(.emptyName, nil, nil, "a composite has no name") }
      if composites.updateValue(composite, forKey: ScalarString(composite.name)) != nil {
        error(.duplicateComposite, composite.name, nil, "two composites have this name")
      }
    }
    for composite in model.composites {
      var seen: Set<ScalarString> = []
      for part in composite.attributes {
        if !seen.insert(ScalarString(part.name)).inserted {
          error(.duplicateProperty, composite.name, part.name, "two parts have this name")
        }
        if part.name.isEmpty { error(.emptyName, composite.name, nil, "a part has no name") }
        check(part, of: composite.name)
      }
    }
    measureComposites()
  }

  /// Finds composites that contain themselves, from the innermost outwards: one is measured once all composites within
  /// it are. Those that remain form a cycle. Nested sizes multiply, so they are checked before composites are expanded.
  private mutating func measureComposites() {
    var measures: [ScalarString: (depth: Int, size: Int)] = [:]
    var users: [ScalarString: [ScalarString]] = [:]
    var missing: [ScalarString: Int] = [:]
    var ready: [ScalarString] = []
    for name in composites.keys.sorted() {
      var count = 0
      for case .composite(let inner) in composites[name]?.attributes.map(\.type) ?? []
      where composites[ScalarString(inner)] != nil {
        users[ScalarString(inner), default: []].append(name)
        count += 1
      }
      missing[name] = count
      if count == 0 { ready.append(name) }
    }
    while let name = ready.popLast() {
      var depth = 1
      var size = 0
      for part in composites[name]?.attributes ?? [] {
        if case .composite(let inner) = part.type, let measure = measures[ScalarString(inner)] {
          depth = max(depth, measure.depth + 1)
          size += measure.size
        } else {
          size += 1
        }
      }
      // Saturated, so that the sizes of the composites that contain it do not overflow.
      measures[name] = (depth, min(size, ModelDescription.maximumCompositeSize + 1))
      compositeSizes[name] = measures[name]?.size
      for user in users[name] ?? [] {
        missing[user, default: 0] -= 1
        if missing[user] == 0 { ready.append(user) }
      }
    }
    for composite in model.composites {
      guard let measure = measures[ScalarString(composite.name)] else {
        error(.compositeCycle, composite.name, nil, "the composite contains itself, or another that contains itself")
        continue
      }
      if measure.depth > ModelDescription.maximumCompositeDepth {
        error(
          .compositeTooLarge, composite.name, nil,
          "composites are nested more than \(ModelDescription.maximumCompositeDepth) levels deep")
      }
      if measure.size > ModelDescription.maximumCompositeSize {
        error(
          .compositeTooLarge, composite.name, nil,
          "the composite has more than \(ModelDescription.maximumCompositeSize) attributes")
      }
    }
  }

  private mutating func checkConfigurations() {
    var seen: Set<ScalarString> = []
    for configuration in model.configurations {
      if configuration.name.isEmpty { error(.emptyName, nil, nil, "a configuration has no name") }
      if !seen.insert(ScalarString(configuration.name)).inserted {
        error(.duplicateConfiguration, nil, configuration.name, "two configurations have this name")
      }
      for name in configuration.entityNames where entity(name) == nil {
        // Xcode does not remove the names of deleted entities.
        warning(
          .unknownConfigurationEntity, name, nil,
          "the configuration '\(configuration.name)' contains this entity, which does not exist")
      }
    }
  }

  private mutating func checkRequests() {
    var seen: Set<ScalarString> = []
    for request in model.fetchRequestTemplates {
      if request.name.isEmpty { error(.emptyName, nil, nil, "a fetch request has no name") }
      if !seen.insert(ScalarString(request.name)).inserted {
        error(.duplicateFetchRequest, nil, request.name, "two fetch requests have this name")
      }
      if entity(request.entityName) == nil {
        error(
          .unknownFetchEntity, nil, request.name,
          "the fetch request is for '\(request.entityName)', which does not exist")
      }
    }
  }
}

/// An incremental hash of a name (FNV-1a), so that all prefixes of a name are hashed in one pass.
private struct NameHash {
  private(set) var value: UInt64 = 14_695_981_039_346_656_037
  mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 1_099_511_628_211 }
  static func of(_ name: String.UTF8View) -> UInt64 {
    var hash = NameHash()
    for byte in name { hash.add(byte) }
    return hash.value
  }
}

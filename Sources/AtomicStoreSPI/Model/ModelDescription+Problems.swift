extension ModelDescription {
  /// How many super-entities an entity may have. Models that people made stay below ten; stores carry the model as a
  /// property list, two levels of it for each of these, and property lists are bounded too.
  public static let maximumInheritanceDepth = 100
  /// How deep composites may stand in each other.
  static let maximumCompositeDepth = 16
  /// How many attributes a composite may come to when those within it are spread out.
  static let maximumCompositeSize = 1024
  /// How many entities a model may have.
  static let maximumEntityCount = 65_536

  /// Everything that is wrong or questionable, in the model's order. A model with errors cannot be frozen.
  ///
  /// The rules are those of the Core Data guide on models and relationships; what real models do and live with is a warning.
  public func problems() -> [ModelProblem] {
    var checker = ModelChecker(model: self)
    checker.check()
    return checker.problems
  }
}

private struct ModelChecker {
  let model: ModelDescription
  var problems: [ModelProblem] = []
  /// An entity with the names of its super-entities, nearest first.
  private var entities: [(entity: EntityDescription, ancestors: [ScalarString])] = []
  private var byName: [ScalarString: Int] = [:]
  /// The positions of each entity's own properties.
  private var positions: [[ScalarString: Int]] = []
  private var composites: [ScalarString: CompositeDescription] = [:]

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
    for (entity, ancestors) in entities { check(entity, ancestors) }
    checkDerivations()
    checkConfigurations()
    checkRequests()
  }

  /// Walks the nesting with a list of its own. False where it is too deep to go on.
  private mutating func collect() -> Bool {
    entities = model.entities.map { ($0, []) }
    var next = 0
    while next < entities.count {
      let (entity, ancestors) = entities[next]
      next += 1
      let name = ScalarString(entity.name)
      if entity.name.isEmpty { error(.emptyName, nil, nil, "an entity has no name") }
      if ancestors.contains(name) {
        error(.inheritanceCycle, entity.name, nil, "the entity is its own super-entity")
        continue
      }
      if byName[name] != nil {
        error(.duplicateEntity, entity.name, nil, "two entities have this name")
      } else {
        byName[name] = next - 1
      }
      guard ancestors.count <= ModelDescription.maximumInheritanceDepth else {
        error(
          .inheritanceCycle, entity.name, nil,
          "more than \(ModelDescription.maximumInheritanceDepth) super-entities above each other")
        return false
      }
      guard entities.count + entity.subentities.count <= ModelDescription.maximumEntityCount else {
        error(.tooManyEntities, nil, nil, "more than \(ModelDescription.maximumEntityCount) entities")
        return false
      }
      entities += entity.subentities.map { ($0, [name] + ancestors) }
    }
    positions = entities.map { entity, _ in
      Dictionary(
        entity.properties.enumerated().map { (ScalarString($0.element.name), $0.offset) },
        uniquingKeysWith: { first, _ in first })
    }
    return true
  }

  private func entity(_ name: String) -> EntityDescription? { byName[ScalarString(name)].map { entities[$0].entity } }

  /// The numbers of the entity and its super-entities, nearest first.
  private func chain(_ name: String) -> [Int] {
    guard let index = byName[ScalarString(name)] else { return [] }
    return [index] + entities[index].ancestors.compactMap { byName[$0] }
  }

  private func property(_ name: String, of entity: String) -> PropertyDescription? {
    let name = ScalarString(name)
    for level in chain(entity) {
      if let position = positions[level][name] { return entities[level].entity.properties[position] }
    }
    return nil
  }

  private func isKind(_ entity: String, of other: String) -> Bool {
    guard let other = byName[ScalarString(other)] else { return false }
    return chain(entity).contains(other)
  }

  // MARK: Entities

  private mutating func check(_ entity: EntityDescription, _ ancestors: [ScalarString]) {
    var seen: Set<ScalarString> = []
    var inherited: [ScalarString: String] = [:]
    for ancestor in ancestors {
      guard let above = byName[ancestor].map({ entities[$0].entity }) else { continue }
      for property in above.properties { inherited[ScalarString(property.name)] = above.name }
    }
    for property in entity.properties {
      let name = ScalarString(property.name)
      if property.name.isEmpty { error(.emptyName, entity.name, nil, "a property has no name") }
      if !seen.insert(name).inserted {
        error(.duplicateProperty, entity.name, property.name, "two properties have this name")
      }
      if let owner = inherited[name] {
        error(.redefinedProperty, entity.name, property.name, "the property is \(owner)'s already, and is inherited")
      }
      checkPath(property.name, of: entity.name)
      switch property {
      case .attribute(let attribute): check(attribute, of: entity.name)
      case .relationship(let relationship): check(relationship, of: entity.name)
      case .fetchedProperty(let fetched):
        if self.entity(fetched.fetchRequest.entityName) == nil {
          error(
            .unknownFetchEntity, entity.name, fetched.name,
            "the fetch is for '\(fetched.fetchRequest.entityName)', which does not exist")
        }
      }
    }
    for constraint in entity.uniquenessConstraints {
      for name in constraint where property(rootOf(name), of: entity.name) == nil {
        error(.unknownConstraintProperty, entity.name, name, "a uniqueness constraint names it, and it does not exist")
      }
    }
    // Indexes speed up other stores; one on nothing harms nobody here.
    for name in entity.compoundIndexes.joined() + entity.fetchIndexes.flatMap({ $0.elements.compactMap(\.propertyName) })
    where property(rootOf(name), of: entity.name) == nil && !["self", "entity"].contains(name) {
      warning(.unknownIndexProperty, entity.name, name, "an index names it, and it does not exist")
    }
  }

  /// Stores see the parts of a composite as `attribute.part`: no other property may be called that.
  private mutating func checkPath(_ name: String, of entity: String) {
    for (position, byte) in name.utf8.enumerated() where byte == 0x2E {
      let prefix = String(decoding: name.utf8.prefix(position), as: UTF8.self)
      if case .attribute(let other)? = property(prefix, of: entity), case .composite = other.type {
        error(.duplicateProperty, entity, name, "the name is that of a part of \(prefix)")
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
        "the default is \(value.kindDescription), the attribute is \(attribute.type.modelName)")
    }
    for bound in [attribute.minimum, attribute.maximum] {
      if let bound, !attribute.type.accepts(bound) {
        error(
          .boundOfWrongType, owner, attribute.name,
          "a bound is \(bound.kindDescription), the attribute is \(attribute.type.modelName)")
      }
    }
    let lengths = [attribute.minimumLength, attribute.maximumLength].compactMap { $0 }
    if !lengths.isEmpty, attribute.type != .string {
      error(.boundOfWrongType, owner, attribute.name, "a \(attribute.type.modelName) attribute has no length")
    } else if lengths.contains(where: { $0 < 0 }) {
      error(.boundOfWrongType, owner, attribute.name, "a length is negative")
    }
    if attribute.type == .string, attribute.minimum != nil || attribute.maximum != nil {
      error(.boundOfWrongType, owner, attribute.name, "a string is bounded by its length, not by another string")
    }
    if let low = attribute.minimum, let high = attribute.maximum, Self.isGreater(low, high) {
      warning(.boundsReversed, owner, attribute.name, "the least value is greater than the greatest: no value fits")
    }
    if let low = attribute.minimumLength, let high = attribute.maximumLength, low > high {
      warning(.boundsReversed, owner, attribute.name, "the least length is greater than the greatest: no value fits")
    }
    if let expression = attribute.derivationExpression, expression.isEmpty {
      error(.missingDerivation, owner, attribute.name, "the attribute is derived from nothing")
    } else if let expression = attribute.derivationExpression, let problem = DerivationExpression(expression).problem {
      error(.unreadableDerivation, owner, attribute.name, "the derivation '\(expression.prefix(100))' cannot be read: \(problem)")
    }
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

  // MARK: Derived attributes

  /// A derived attribute, by the entity that declares it.
  private struct Derived: Hashable {
    let entity: Int
    let name: ScalarString
  }

  /// Warns of attributes whose derivations lead to themselves: they may never settle.
  private mutating func checkDerivations() {
    var sources: [Derived: [Derived]] = [:]
    var order: [Derived] = []
    for (number, entry) in entities.enumerated() {
      for case .attribute(let attribute) in entry.entity.properties {
        guard let text = attribute.derivationExpression else { continue }
        let derived = Derived(entity: number, name: ScalarString(attribute.name))
        order.append(derived)
        sources[derived] = DerivationExpression(text).paths.flatMap { derivedAttributes(on: $0, from: number) }
      }
    }
    var settled: Set<Derived> = []
    for start in order where !settled.contains(start) {
      // By hand: a chain may be longer than the stack is deep.
      var trail: [(derived: Derived, next: Int)] = [(start, 0)]
      var onTrail: Set<Derived> = [start]
      while let (derived, next) = trail.last {
        let targets = sources[derived] ?? []
        guard next < targets.count else {
          settled.insert(derived)
          onTrail.remove(derived)
          trail.removeLast()
          continue
        }
        trail[trail.count - 1].next += 1
        if onTrail.contains(targets[next]) {
          warning(
            .derivationCycle, entities[derived.entity].entity.name, derived.name.string,
            "the attribute is derived from itself, by way of \(entities[targets[next].entity].entity.name).\(targets[next].name.string): it may never settle")
        } else if !settled.contains(targets[next]) {
          trail.append((targets[next], 0))
          onTrail.insert(targets[next])
        }
      }
    }
  }

  /// The derived attributes that a path of keys meets.
  private func derivedAttributes(on path: [String], from entity: Int) -> [Derived] {
    var current = entities[entity].entity.name
    var found: [Derived] = []
    for key in path where !key.utf8.starts(with: "@".utf8) {
      let name = ScalarString(key)
      guard let level = chain(current).first(where: { positions[$0][name] != nil }), let position = positions[level][name] else { return found }
      switch entities[level].entity.properties[position] {
      case .attribute(let attribute):
        if attribute.derivationExpression != nil { found.append(Derived(entity: level, name: name)) }
        return found
      case .relationship(let relationship): current = relationship.destinationEntityName
      case .fetchedProperty: return found
      }
    }
    return found
  }

  // MARK: Relationships

  private mutating func check(_ relationship: RelationshipDescription, of owner: String) {
    let name = relationship.name
    if relationship.minimumCount < 0 || relationship.maximumCount < 0 {
      error(.countsReversed, owner, name, "a count is negative")
    } else if relationship.maximumCount > 0, relationship.minimumCount > relationship.maximumCount {
      error(
        .countsReversed, owner, name,
        "at least \(relationship.minimumCount) and at most \(relationship.maximumCount) objects")
    }
    if relationship.isOrdered, !relationship.isToMany {
      warning(.orderedToOne, owner, name, "a to-one relationship has no order")
    }
    if relationship.deleteRule == .noAction {
      warning(.noActionRule, owner, name, "the delete rule is No Action: the other end may go on naming what is gone")
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
        "the inverse \(relationship.destinationEntityName).\(inverseName) is no relationship")
    }
    // The inverse must come back to this entity or one of its family: a sub-entity may take part through its parent.
    if !isKind(owner, of: inverse.destinationEntityName), !isKind(inverse.destinationEntityName, of: owner) {
      error(
        .inverseMismatch, owner, name,
        "the inverse \(relationship.destinationEntityName).\(inverseName) leads to \(inverse.destinationEntityName)")
    } else if let back = inverse.inverseName, !back.utf8.elementsEqual(name.utf8) {
      error(
        .inverseMismatch, owner, name,
        "its inverse \(relationship.destinationEntityName).\(inverseName) takes \(inverse.destinationEntityName).\(back) for its own")
    } else if inverse.inverseName == nil {
      warning(
        .inverseMismatch, owner, name,
        "the inverse \(relationship.destinationEntityName).\(inverseName) knows of no inverse")
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

  /// Finds composites that contain themselves, from the innermost outwards: one is measured when all within it are. What
  /// is left over leads in a circle. Their sizes multiply, so they are bounded before anyone spreads them out.
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
      // Saturated: the sizes of what contains it stay small numbers.
      measures[name] = (depth, min(size, ModelDescription.maximumCompositeSize + 1))
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
          "composites stand in each other more than \(ModelDescription.maximumCompositeDepth) deep")
      }
      if measure.size > ModelDescription.maximumCompositeSize {
        error(
          .compositeTooLarge, composite.name, nil,
          "the composite comes to more than \(ModelDescription.maximumCompositeSize) attributes")
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
        // Xcode leaves the names of entities that were deleted.
        warning(
          .unknownConfigurationEntity, name, nil,
          "the configuration '\(configuration.name)' names it, and it does not exist")
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
        error(.unknownFetchEntity, nil, request.name, "the fetch is for '\(request.entityName)', which does not exist")
      }
    }
  }
}

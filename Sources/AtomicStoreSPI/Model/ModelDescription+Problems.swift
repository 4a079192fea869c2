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
  /// How many properties of its own an entity may have.
  public static let maximumPropertyCount = 65_536
  /// How many properties all entities together may inherit, each counted in every entity that inherits it: what a model
  /// of few bytes could make without bound.
  static let maximumInheritedCount = 500_000
  /// How many attributes all attributes of composite types may come to, for the same reason.
  static let maximumPartCount = 100_000

  /// Everything that is wrong or questionable, in the model's order. A model with errors cannot be frozen.
  ///
  /// The rules are those of the Core Data guide on models and relationships; what real models do and live with is a
  /// warning.
  public func problems() -> [ModelProblem] {
    var checker = ModelChecker(model: self)
    checker.check()
    return checker.problems
  }
}

private struct ModelChecker {
  let model: ModelDescription
  var problems: [ModelProblem] = []
  /// An entity, and where its super-entity and its own properties are.
  private struct Entry {
    var entity: EntityDescription
    var parent: Int?
    /// How many super-entities are above it.
    var depth: Int
    /// The positions of its own properties.
    var positions: [ScalarString: Int] = [:]
  }
  /// All entities, super-entities before those below them.
  private var entities: [Entry] = []
  private var byName: [ScalarString: Int] = [:]
  private var composites: [ScalarString: CompositeDescription] = [:]
  /// How many attributes each composite comes to.
  private var compositeSizes: [ScalarString: Int] = [:]
  /// The hashes of the names of attributes of composite types.
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
    checkDerivations()
    checkConfigurations()
    checkRequests()
  }

  /// Walks the nesting with a list of its own. False where it is too deep to go on.
  private mutating func collect() -> Bool {
    entities = model.entities.map { Entry(entity: $0, parent: nil, depth: 0) }
    var next = 0
    while next < entities.count {
      let position = next
      next += 1
      let entity = entities[position].entity
      let name = ScalarString(entity.name)
      if entity.name.isEmpty { error(.emptyName, nil, nil, "an entity has no name") }
      if byName[name] != nil, isBelow(name, position) {
        error(.inheritanceCycle, entity.name, nil, "the entity is its own super-entity")
        continue
      }
      if byName[name] != nil {
        error(.duplicateEntity, entity.name, nil, "two entities have this name")
      } else {
        byName[name] = position
      }
      guard entities[position].depth <= ModelDescription.maximumInheritanceDepth else {
        error(
          .inheritanceCycle, entity.name, nil,
          "more than \(ModelDescription.maximumInheritanceDepth) super-entities above each other")
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
      var positions: [ScalarString: Int] = [:]
      for (index, property) in entities[position].entity.properties.enumerated() {
        let name = ScalarString(property.name)
        if positions[name] == nil { positions[name] = index }
        if case .attribute(let attribute) = property, case .composite = attribute.type {
          compositeAttributes.insert(NameHash.of(name.string.utf8))
        }
      }
      entities[position].positions = positions
    }
    return true
  }

  /// Whether an entity above that position has the name.
  private func isBelow(_ name: ScalarString, _ position: Int) -> Bool {
    var above = entities[position].parent
    while let here = above {
      if ScalarString(entities[here].entity.name) == name { return true }
      above = entities[here].parent
    }
    return false
  }

  /// Refuses models whose entities inherit more than can be held: a few bytes for each of two factors make any product.
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
          "all attributes of composite types come to more than \(ModelDescription.maximumPartCount) attributes")
      }
    }
  }

  private func entity(_ name: String) -> EntityDescription? { byName[ScalarString(name)].map { entities[$0].entity } }

  /// The property of that name of the entity at a position, or of one above it, and the entity that declares it.
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
    var seen: Set<ScalarString> = []
    for property in entity.properties {
      let name = ScalarString(property.name)
      if property.name.isEmpty { error(.emptyName, entity.name, nil, "a property has no name") }
      if !seen.insert(name).inserted {
        error(.duplicateProperty, entity.name, property.name, "two properties have this name")
      }
      if let owner = self.property(property.name, at: parent)?.owner {
        error(
          .redefinedProperty, entity.name, property.name,
          "the property is \(entities[owner].entity.name)'s already, and is inherited")
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
    for name in entity.compoundIndexes.joined()
      + entity.fetchIndexes.flatMap({ $0.elements.compactMap(\.propertyName) })
    where property(rootOf(name), of: entity.name) == nil && !["self", "entity"].contains(name) {
      warning(.unknownIndexProperty, entity.name, name, "an index names it, and it does not exist")
    }
  }

  /// Stores see the parts of a composite as `attribute.part`: no other property may be called that.
  private mutating func checkPath(_ name: String, of entity: String) {
    guard !compositeAttributes.isEmpty else { return }
    var hash = NameHash()
    for (position, byte) in name.utf8.enumerated() {
      defer { hash.add(byte) }
      // Only prefixes that may be such an attribute's name are looked up: a name may have a hundred thousand dots.
      guard byte == UInt8(ascii: "."), compositeAttributes.contains(hash.value) else { continue }
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
      error(
        .unreadableDerivation, owner, attribute.name,
        "the derivation '\(expression.prefix(100))' cannot be read: \(problem)")
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
            "the attribute is derived from itself, by way of \(entities[targets[next].entity].entity.name).\(targets[next].name.string): it may never settle"
          )
        } else if !settled.contains(targets[next]) {
          trail.append((targets[next], 0))
          onTrail.insert(targets[next])
        }
      }
    }
  }

  /// The derived attributes that a path of keys meets.
  private func derivedAttributes(on path: [String], from entity: Int) -> [Derived] {
    var current: Int? = entity
    var found: [Derived] = []
    for key in path where !key.utf8.starts(with: "@".utf8) {
      guard let (met, owner) = property(key, at: current) else { return found }
      switch met {
      case .attribute(let attribute):
        if attribute.derivationExpression != nil { found.append(Derived(entity: owner, name: ScalarString(key))) }
        return found
      case .relationship(let relationship): current = byName[ScalarString(relationship.destinationEntityName)]
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
        "the inverse \(relationship.destinationEntityName).\(inverseName) is not a relationship")
    }
    let place = "\(relationship.destinationEntityName).\(inverseName)"
    // It must come back to this entity or one of its family: a sub-entity may take part through its parent.
    let comesBack = isKind(owner, of: inverse.destinationEntityName) || isKind(inverse.destinationEntityName, of: owner)
    if let back = inverse.inverseName {
      if !comesBack || !back.utf8.elementsEqual(name.utf8) {
        warning(
          .inverseMismatch, owner, name,
          "\(place) has \(inverse.destinationEntityName).\(back) for its inverse: this relationship is one-way")
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

  /// Finds composites that contain themselves, from the innermost outwards: one is measured when all within it are.
  /// What is left over leads in a circle. Their sizes multiply, so they are bounded before anyone spreads them out.
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

/// A hash of a name that grows by a byte at a time (FNV-1a), so that all prefixes of a name are hashed in one pass.
private struct NameHash {
  private(set) var value: UInt64 = 14_695_981_039_346_656_037
  mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 1_099_511_628_211 }
  static func of(_ name: String.UTF8View) -> UInt64 {
    var hash = NameHash()
    for byte in name { hash.add(byte) }
    return hash.value
  }
}

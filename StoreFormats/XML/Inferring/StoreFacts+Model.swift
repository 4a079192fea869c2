import AtomicStoreSPI

extension StoreFacts {
  /// Infers a model from the facts.
  ///
  /// 1. There is an entity for each `type` of objects, for each destination, and for each name in the metadata's
  ///    version hashes, which also provide the case of names; without them names stay in upper case.
  /// 2. If an object of T is in a relationship to D, T is a sub-entity of D. If T has two such ancestors that are not
  ///    related, they must be, since an entity has one super-entity: the one whose relationships are a subset of the
  ///    other's becomes the ancestor (an entity without objects has none); else the one with more sub-entities; else
  ///    the first by name.
  /// 3. From the top down: a property that an ancestor has is inherited, and declared only there. An ancestor without
  ///    objects is abstract; properties that all its direct sub-entities have in exactly the same form are declared in
  ///    it.
  /// 4. Properties are sorted by name, attributes first; all attributes are optional. A relationship has the bounds in
  ///    the file and is optional regardless of its lower bound, because older versions of Xcode wrote 1 for any to-one.
  ///    Inverses and delete rules are not inferred; the order of to-manys is unknown, and preserved.
  ///
  /// - Throws: `.malformed` if two entities would each be a sub-entity of the other, or objects disagree about a
  ///   property.
  func model() throws(PersistentStoreError) -> ModelDescription {
    var tree = EntityTree(self)
    try tree.arrange()
    try tree.distribute()
    return ModelDescription(
      entities: tree.roots.map { tree.description(of: $0) }, isInferred: true, inferredFrom: Schema.storeType)
  }
}

/// The entities of the inferred model, sorted by name.
private struct EntityTree {
  private struct Node {
    /// The name as written in the file.
    var key: ScalarString
    /// The name in the model.
    var name: String
    var hasObjects = false
    var properties: [ScalarString: StoreFacts.Property] = [:]
    var ancestors: Set<Int> = []
    var parent: Int?
    var children: [Int] = []
  }
  /// Far beyond any real model; it prevents a hostile file from taking hours.
  private static let maximumEntities = 2048
  private static let maximumDepth = 64
  private static func tooDeep(_ node: Node) -> PersistentStoreError {
    PersistentStoreError(
      .limitExceeded, "the inheritance of entities has more than \(maximumDepth) levels",
      at: StoreLocation(entity: node.name))
  }
  /// The remaining work for finding ancestors: less than a second, and far more than real files need.
  private var work = 20_000_000

  private var nodes: [Node] = []
  private var indexByKey: [ScalarString: Int] = [:]

  init(_ facts: StoreFacts) {
    var namesByKey: [ScalarString: String] = [:]
    for name in facts.names { namesByKey[ScalarString(NameFolding.entity.fold(name))] = name }
    var keys = Set(namesByKey.keys).union(facts.destinations)
    for entity in facts.entities { keys.insert(ScalarString(entity.name)) }
    for key in keys.sorted() {
      indexByKey[key] = nodes.count
      nodes.append(Node(key: key, name: namesByKey[key] ?? key.string))
    }
    for entity in facts.entities {
      guard let index = indexByKey[ScalarString(entity.name)] else { continue }
      nodes[index].hasObjects = true
      nodes[index].properties = entity.properties
    }
    for kinship in facts.kinships {
      guard let entity = indexByKey[kinship.entity], let ancestor = indexByKey[kinship.ancestor] else { continue }
      nodes[entity].ancestors.insert(ancestor)
    }
  }

  // MARK: Who is below whom

  mutating func arrange() throws(PersistentStoreError) {
    guard nodes.count <= Self.maximumEntities else {
      throw PersistentStoreError(.limitExceeded, "more than \(Self.maximumEntities) entities: specify a model")
    }
    try close()
    // Each iteration relates one pair permanently, so this terminates.
    while let (one, other) = unrelatedAncestors() {
      let upper = isAbove(one, other) ? one : other
      let lower = upper == one ? other : one
      nodes[lower].ancestors.insert(upper)
      try close()
    }
    if let deep = nodes.first(where: { $0.ancestors.count > Self.maximumDepth }) { throw Self.tooDeep(deep) }
    for index in nodes.indices {
      // In a chain, the nearest ancestor is the one with the most ancestors.
      nodes[index].parent = nodes[index].ancestors.max { nodes[$0].ancestors.count < nodes[$1].ancestors.count }
    }
    for index in nodes.indices {
      if let parent = nodes[index].parent { nodes[parent].children.append(index) }
    }
  }

  /// Computes the transitive closure of ancestors.
  private mutating func close() throws(PersistentStoreError) {
    var changed = true
    while changed {
      changed = false
      for index in nodes.indices {
        var all = nodes[index].ancestors
        // Chains only grow, so one that is too deep now remains so.
        guard all.count <= Self.maximumDepth else { throw Self.tooDeep(nodes[index]) }
        work -= 1
        for ancestor in nodes[index].ancestors {
          work -= nodes[ancestor].ancestors.count
          all.formUnion(nodes[ancestor].ancestors)
        }
        guard work > 0 else {
          throw PersistentStoreError(
            .limitExceeded, "the relationships between entities are too complex to infer a model: specify one",
            at: StoreLocation(entity: nodes[index].name))
        }
        if all.count != nodes[index].ancestors.count {
          nodes[index].ancestors = all
          changed = true
        }
        if all.contains(index) {
          let other = all.sorted().first { $0 != index && nodes[$0].ancestors.contains(index) }
          throw PersistentStoreError(
            .malformed,
            "according to its relationships, \(nodes[index].name) is a sub-entity of \(other.map { nodes[$0].name } ?? "itself"), and the reverse",
            at: StoreLocation(entity: nodes[index].name))
        }
      }
    }
  }

  /// The first two ancestors of an entity that are not related.
  private mutating func unrelatedAncestors() -> (Int, Int)? {
    for node in nodes where node.ancestors.count > 1 {
      let ancestors = node.ancestors.sorted()
      work -= ancestors.count * ancestors.count
      for (place, one) in ancestors.enumerated() {
        for other in ancestors[(place + 1)...]
        where !nodes[one].ancestors.contains(other) && !nodes[other].ancestors.contains(one) {
          return (one, other)
        }
      }
    }
    return nil
  }

  /// Whether the first should become the ancestor of the second.
  private func isAbove(_ one: Int, _ other: Int) -> Bool {
    let ones = relationships(one)
    let others = relationships(other)
    if ones.isSubset(of: others) != others.isSubset(of: ones) { return ones.isSubset(of: others) }
    let onesBelow = nodes.count { $0.ancestors.contains(one) }
    let othersBelow = nodes.count { $0.ancestors.contains(other) }
    return onesBelow == othersBelow ? one < other : onesBelow > othersBelow
  }

  private func relationships(_ index: Int) -> Set<ScalarString> {
    Set(nodes[index].properties.filter { if case .relationship = $0.value { true } else { false } }.keys)
  }

  var roots: [Int] { nodes.indices.filter { nodes[$0].parent == nil } }

  // MARK: Which property is whose

  mutating func distribute() throws(PersistentStoreError) {
    // Here sub-entities precede super-entities; in the second loop, the reverse.
    let bottomUp = nodes.indices.sorted { (nodes[$0].ancestors.count, $0) > (nodes[$1].ancestors.count, $1) }
    for index in bottomUp where !nodes[index].hasObjects && !nodes[index].children.isEmpty {
      var common = nodes[nodes[index].children[0]].properties
      for child in nodes[index].children.dropFirst() {
        common = common.filter { nodes[child].properties[$0.key] == $0.value }
      }
      nodes[index].properties = common
    }
    try mergeTypes()
    for index in bottomUp {
      // Iterate over the entity's own properties, not over the many of an ancestor for each of many sub-entities.
      let ancestors = nodes[index].ancestors
      nodes[index].properties = nodes[index].properties.filter { property in
        !ancestors.contains { nodes[$0].properties[property.key] != nil }
      }
    }
  }

  /// Unifies the types of the same property in an entity and its ancestor.
  private mutating func mergeTypes() throws(PersistentStoreError) {
    var changed = true
    while changed { changed = try mergeTypesOnce() }
  }

  private mutating func mergeTypesOnce() throws(PersistentStoreError) -> Bool {
    var changed = false
    for index in nodes.indices {
      for ancestor in nodes[index].ancestors.sorted() {
        for (name, property) in nodes[index].properties.sorted(by: { $0.key < $1.key }) {
          guard let other = nodes[ancestor].properties[name], other != property else { continue }
          guard case .attribute = property, case .attribute = other else {
            throw StoreFacts.contradiction(nodes[index].name, name.string)
          }
          nodes[ancestor].properties[name] = .attribute(.undefined)
          if other != .attribute(.undefined) { changed = true }
        }
      }
    }
    return changed
  }

  // MARK: The description

  func description(of index: Int) -> EntityDescription {
    let node = nodes[index]
    // A file may have an attribute for each object: there is one list of descriptions, which does not grow.
    var properties: [PropertyDescription] = []
    properties.reserveCapacity(node.properties.count)
    var relationships: [PropertyDescription] = []
    for (name, property) in node.properties.sorted(by: { $0.key < $1.key }) {
      switch property {
      case .attribute(let type):
        properties.append(.attribute(name.string, type))
      case .relationship(let found):
        let destination = indexByKey[ScalarString(found.destination)].map { nodes[$0].name } ?? found.destination
        relationships.append(
          .relationship(
            RelationshipDescription(
              name: name.string, destinationEntityName: destination, isOptional: true,
              minimumCount: found.minimumCount, maximumCount: found.maximumCount,
              hasUnknownOrder: found.maximumCount != 1)))
      }
    }
    properties += relationships
    return EntityDescription(
      name: node.name, isAbstract: !node.hasObjects && !node.children.isEmpty, properties: properties,
      subentities: node.children.map { description(of: $0) })
  }
}

/// A model as a property list, the form in which stores carry it. Default values are omitted, so that the text is
/// short; keys are sorted, so that equal models result in equal bytes.
extension ModelDescription {
  /// The newest version of the representation that this version of the package reads and writes.
  static let propertyListVersion = 1

  /// The model as a property list.
  public var propertyList: PropertyListValue {
    var list = SchemaWriter()
    list.put("formatVersion", .integer(Int128(Self.propertyListVersion)))
    list.put("versionIdentifiers", versionIdentifiers)
    list.put("entities", entities.map { Self.encode($0) })
    list.put(
      "composites",
      composites.map { composite in
        var item = SchemaWriter()
        item.put("name", .string(composite.name))
        item.put("attributes", composite.attributes.map { Self.encode(.attribute($0)) })
        item.put(extras: composite.extras)
        return item.value
      })
    list.put(
      "configurations",
      configurations.map { configuration in
        var item = SchemaWriter()
        item.put("name", .string(configuration.name))
        item.put("entities", configuration.entityNames)
        item.put(extras: configuration.extras)
        return item.value
      })
    list.put("fetchRequests", fetchRequestTemplates.map { Self.encode($0) })
    list.put("inferred", isInferred)
    list.put("inferredFrom", inferredFrom)
    list.put(extras: extras)
    return list.value
  }

  /// Creates a model from a property list.
  ///
  /// - Throws: `.unsupportedVersion` for a newer representation or an unknown key, `.malformed` with the key.
  public init(propertyList: PropertyListValue) throws(PersistentStoreError) {
    var reader = try SchemaReader(propertyList, SchemaPath("model"))
    guard let version = try reader.integer("formatVersion") else { throw reader.bad("formatVersion", "is missing") }
    guard version <= Self.propertyListVersion else {
      throw PersistentStoreError(
        .unsupportedVersion,
        "the model in the store has the format version \(version), but this version reads up to "
          + "\(Self.propertyListVersion)")
    }
    self.init(
      versionIdentifiers: try reader.strings("versionIdentifiers"),
      entities: try Self.decodeEntities(try reader.list("entities"), "entities", in: reader.path),
      composites: try reader.map("composites") { value, path throws(PersistentStoreError) in
        var item = try SchemaReader(value, path)
        let attributes = try item.map("attributes") { value, path throws(PersistentStoreError) in
          guard case .attribute(let attribute) = try Self.decodeProperty(value, path) else {
            throw PersistentStoreError(.malformed, "\(path) is not an attribute")
          }
          return attribute
        }
        let composite = CompositeDescription(
          name: try item.name(), attributes: attributes, extras: try item.extras())
        try item.finish()
        return composite
      },
      configurations: try reader.map("configurations") { value, path throws(PersistentStoreError) in
        var item = try SchemaReader(value, path)
        let configuration = ConfigurationDescription(
          name: try item.name(), entityNames: try item.strings("entities"), extras: try item.extras())
        try item.finish()
        return configuration
      },
      fetchRequestTemplates: try reader.map("fetchRequests") { value, path throws(PersistentStoreError) in
        try Self.decodeFetchRequest(value, path)
      },
      extras: try reader.extras(), isInferred: try reader.boolean("inferred") ?? false,
      inferredFrom: try reader.string("inferredFrom"))
    try reader.finish()
  }

  // MARK: Entities

  private static func encode(_ entity: EntityDescription) -> PropertyListValue {
    var item = SchemaWriter()
    item.put("name", .string(entity.name))
    item.put("abstract", entity.isAbstract)
    item.put("class", entity.managedObjectClassName)
    item.put("properties", entity.properties.map { encode($0) })
    item.put("subentities", entity.subentities.map { encode($0) })
    item.put("uniqueness", entity.uniquenessConstraints.map { .array($0.map { .string($0) }) })
    item.put("compoundIndexes", entity.compoundIndexes.map { .array($0.map { .string($0) }) })
    item.put(
      "fetchIndexes",
      entity.fetchIndexes.map { index in
        var item = SchemaWriter()
        item.put("name", .string(index.name))
        item.put(
          "elements",
          index.elements.map { element in
            var item = SchemaWriter()
            item.put("property", element.propertyName)
            item.put("expression", element.expression)
            item.put("expressionType", element.expressionType)
            if element.collationType != "Binary" { item.put("collation", .string(element.collationType)) }
            item.put("descending", !element.isAscending)
            item.put(extras: element.extras)
            return item.value
          })
        item.put("predicate", index.partialIndexPredicate)
        item.put(extras: index.extras)
        return item.value
      })
    item.put("renaming", entity.renamingIdentifier)
    item.put("hashModifier", entity.versionHashModifier)
    item.put(userInfo: entity.userInfo)
    item.put(extras: entity.extras)
    return item.value
  }

  private static func decodeEntities(
    _ list: [PropertyListValue], _ key: String, in above: SchemaPath, depth: Int = 0
  ) throws(PersistentStoreError) -> [EntityDescription] {
    // Each level except the first has a super-entity.
    guard depth <= maximumInheritanceDepth || list.isEmpty else {
      throw PersistentStoreError(.limitExceeded, "more than \(maximumInheritanceDepth) levels of super-entities")
    }
    var result: [EntityDescription] = []
    result.reserveCapacity(list.count)
    for (index, value) in list.enumerated() {
      var item = try SchemaReader(value, SchemaPath(key, in: above, at: index))
      let entity = EntityDescription(
        name: try item.name(), isAbstract: try item.boolean("abstract") ?? false,
        managedObjectClassName: try item.string("class"),
        properties: try decodeProperties(try item.list("properties"), in: item.path),
        subentities: try decodeEntities(try item.list("subentities"), "subentities", in: item.path, depth: depth + 1),
        uniquenessConstraints: try item.stringLists("uniqueness"),
        fetchIndexes: try item.map("fetchIndexes") { value, path throws(PersistentStoreError) in
          try decodeFetchIndex(value, path)
        },
        compoundIndexes: try item.stringLists("compoundIndexes"),
        renamingIdentifier: try item.string("renaming"), versionHashModifier: try item.string("hashModifier"),
        userInfo: try item.userInfo(), extras: try item.extras())
      try item.finish()
      result.append(entity)
    }
    return result
  }

  private static func decodeFetchIndex(
    _ value: PropertyListValue, _ path: SchemaPath
  ) throws(PersistentStoreError) -> FetchIndexDescription {
    var item = try SchemaReader(value, path)
    let elements = try item.map("elements") { value, path throws(PersistentStoreError) in
      var item = try SchemaReader(value, path)
      let element = FetchIndexDescription.Element(
        propertyName: try item.string("property"), expression: try item.string("expression"),
        expressionType: try item.string("expressionType"), collationType: try item.string("collation") ?? "Binary",
        isAscending: !(try item.boolean("descending") ?? false), extras: try item.extras())
      try item.finish()
      return element
    }
    let index = FetchIndexDescription(
      name: try item.name(), elements: elements, partialIndexPredicate: try item.string("predicate"),
      extras: try item.extras())
    try item.finish()
    return index
  }

  // MARK: Properties

  private static func encode(_ property: PropertyDescription) -> PropertyListValue {
    var item = SchemaWriter()
    item.put("name", .string(property.name))
    switch property {
    case .attribute(let attribute):
      item.put("type", .string(attribute.type.modelName))
      if case .composite(let name) = attribute.type { item.put("composite", .string(name)) }
      item.put("required", !attribute.isOptional)
      item.put("transient", attribute.isTransient)
      item.put("default", attribute.defaultValue)
      item.put("minimum", attribute.minimum)
      item.put("maximum", attribute.maximum)
      item.put("minimumLength", attribute.minimumLength)
      item.put("maximumLength", attribute.maximumLength)
      item.put("pattern", attribute.regularExpression)
      item.put("derivation", attribute.derivationExpression)
      item.put("transformer", attribute.valueTransformerName)
      item.put("class", attribute.attributeValueClassName)
      item.put("external", attribute.allowsExternalBinaryDataStorage)
      item.put("indexed", attribute.isIndexed)
      item.put("renaming", attribute.renamingIdentifier)
      item.put("hashModifier", attribute.versionHashModifier)
      item.put(userInfo: attribute.userInfo)
      item.put(extras: attribute.extras)
    case .relationship(let relationship):
      item.put("destination", .string(relationship.destinationEntityName))
      item.put("inverse", relationship.inverseName)
      item.put("required", !relationship.isOptional)
      item.put("transient", relationship.isTransient)
      if relationship.minimumCount != 0 { item.put("minimumCount", relationship.minimumCount) }
      item.put("maximumCount", relationship.maximumCount)
      item.put("ordered", relationship.isOrdered)
      item.put("orderUnknown", relationship.hasUnknownOrder)
      if relationship.deleteRule != .nullify { item.put("deleteRule", .string(relationship.deleteRule.rawValue)) }
      item.put("indexed", relationship.isIndexed)
      item.put("renaming", relationship.renamingIdentifier)
      item.put("hashModifier", relationship.versionHashModifier)
      item.put(userInfo: relationship.userInfo)
      item.put(extras: relationship.extras)
    case .fetchedProperty(let fetched):
      item.put("fetch", encode(fetched.fetchRequest))
      item.put("required", !fetched.isOptional)
      item.put("renaming", fetched.renamingIdentifier)
      item.put("hashModifier", fetched.versionHashModifier)
      item.put(userInfo: fetched.userInfo)
      item.put(extras: fetched.extras)
    }
    return item.value
  }

  private static func decodeProperties(
    _ list: [PropertyListValue], in path: SchemaPath
  ) throws(PersistentStoreError) -> [PropertyDescription] {
    var result: [PropertyDescription] = []
    result.reserveCapacity(list.count)
    for (index, value) in list.enumerated() {
      if let attribute = plainAttribute(value) {
        result.append(.attribute(attribute))
      } else {
        result.append(try decodeProperty(value, SchemaPath("properties", in: path, at: index)))
      }
    }
    return result
  }

  /// An attribute of which only name and type are said, as of most; nil for any other property.
  private static func plainAttribute(_ value: PropertyListValue) -> AttributeDescription? {
    guard case .dictionary(let dictionary) = value, dictionary.count == 2 else { return nil }
    let (first, second) = (dictionary[0], dictionary[1])
    guard first.key.hasSameScalars(as: "name"), second.key.hasSameScalars(as: "type"),
      case .string(let name) = first.value, case .string(let typeName) = second.value,
      let type = AttributeType(modelName: typeName)
    else { return nil }
    return AttributeDescription(name: name, type: type)
  }

  private static func decodeProperty(
    _ value: PropertyListValue, _ path: SchemaPath
  ) throws(PersistentStoreError) -> PropertyDescription {
    var item = try SchemaReader(value, path)
    let name = try item.name()
    let isOptional = !(try item.boolean("required") ?? false)
    let renaming = try item.string("renaming")
    let modifier = try item.string("hashModifier")
    let userInfo = try item.userInfo()
    let extras = try item.extras()
    let property: PropertyDescription
    if let typeName = try item.string("type") {
      guard let type = AttributeType(modelName: typeName, composite: try item.string("composite")) else {
        throw PersistentStoreError(.unsupportedVersion, "\(path).type: unknown attribute type '\(typeName)'")
      }
      property = .attribute(
        AttributeDescription(
          name: name, type: type, isOptional: isOptional, isTransient: try item.boolean("transient") ?? false,
          defaultValue: try item.value("default"), minimum: try item.value("minimum"),
          maximum: try item.value("maximum"), minimumLength: try item.integer("minimumLength"),
          maximumLength: try item.integer("maximumLength"), regularExpression: try item.string("pattern"),
          derivationExpression: try item.string("derivation"), valueTransformerName: try item.string("transformer"),
          attributeValueClassName: try item.string("class"),
          allowsExternalBinaryDataStorage: try item.boolean("external") ?? false,
          isIndexed: try item.boolean("indexed") ?? false, renamingIdentifier: renaming,
          versionHashModifier: modifier, userInfo: userInfo, extras: extras))
    } else if let destination = try item.string("destination") {
      let ruleName = try item.string("deleteRule") ?? DeleteRule.nullify.rawValue
      guard let rule = DeleteRule(rawValue: ruleName) else {
        throw PersistentStoreError(.unsupportedVersion, "\(path).deleteRule: unknown delete rule '\(ruleName)'")
      }
      property = .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination, inverseName: try item.string("inverse"),
          isOptional: isOptional, isTransient: try item.boolean("transient") ?? false,
          minimumCount: try item.integer("minimumCount") ?? 0, maximumCount: try item.integer("maximumCount") ?? 1,
          isOrdered: try item.boolean("ordered") ?? false, hasUnknownOrder: try item.boolean("orderUnknown") ?? false,
          deleteRule: rule,
          isIndexed: try item.boolean("indexed") ?? false, renamingIdentifier: renaming,
          versionHashModifier: modifier, userInfo: userInfo, extras: extras))
    } else {
      guard let fetch = item.take("fetch") else { throw item.bad("type", "is missing") }
      property = .fetchedProperty(
        FetchedPropertyDescription(
          name: name, fetchRequest: try decodeFetchRequest(fetch, SchemaPath("fetch", in: path)),
          isOptional: isOptional,
          renamingIdentifier: renaming, versionHashModifier: modifier, userInfo: userInfo, extras: extras))
    }
    try item.finish()
    return property
  }

  private static func encode(_ request: FetchRequestDescription) -> PropertyListValue {
    var item = SchemaWriter()
    item.put("name", .string(request.name))
    item.put("entity", .string(request.entityName))
    item.put("predicate", request.predicateString)
    item.put("limit", request.fetchLimit)
    item.put("batchSize", request.fetchBatchSize)
    item.put("resultType", request.resultType)
    item.put(flag: "includesSubentities", request.includesSubentities)
    item.put(flag: "includesPropertyValues", request.includesPropertyValues)
    item.put(flag: "includesPendingChanges", request.includesPendingChanges)
    item.put(flag: "returnsObjectsAsFaults", request.returnsObjectsAsFaults)
    item.put(flag: "returnsDistinctResults", request.returnsDistinctResults)
    item.put(
      "sortOrder",
      request.sortOrder.map { key in
        var item = SchemaWriter()
        item.put("key", .string(key.keyPath))
        item.put("descending", !key.isAscending)
        return item.value
      })
    item.put(extras: request.extras)
    return item.value
  }

  private static func decodeFetchRequest(
    _ value: PropertyListValue, _ path: SchemaPath
  ) throws(PersistentStoreError) -> FetchRequestDescription {
    var item = try SchemaReader(value, path)
    let request = FetchRequestDescription(
      name: try item.name(), entityName: try item.string("entity") ?? "",
      predicateString: try item.string("predicate"), fetchLimit: try item.integer("limit"),
      fetchBatchSize: try item.integer("batchSize"), resultType: try item.string("resultType"),
      includesSubentities: try item.boolean("includesSubentities"),
      includesPropertyValues: try item.boolean("includesPropertyValues"),
      includesPendingChanges: try item.boolean("includesPendingChanges"),
      returnsObjectsAsFaults: try item.boolean("returnsObjectsAsFaults"),
      returnsDistinctResults: try item.boolean("returnsDistinctResults"),
      sortOrder: try item.map("sortOrder") { value, path throws(PersistentStoreError) in
        var item = try SchemaReader(value, path)
        let key = FetchRequestDescription.Sort(
          try item.string("key") ?? "", isAscending: !(try item.boolean("descending") ?? false))
        try item.finish()
        return key
      }, extras: try item.extras())
    try item.finish()
    return request
  }
}

// For comparing two models part by part.
extension ModelDescription {
  /// Everything except the entities.
  var propertyListOfTheRest: PropertyListDictionary {
    var copy = self
    copy.entities = []
    return copy.propertyList.dictionaryValue ?? PropertyListDictionary()
  }

  fileprivate static func propertyList(of entity: EntityDescription) -> PropertyListDictionary {
    encode(entity).dictionaryValue ?? PropertyListDictionary()
  }
  fileprivate static func propertyList(of property: PropertyDescription) -> PropertyListValue { encode(property) }
}

extension EntityDescription {
  /// Everything except properties, sub-entities, and what concerns stored data.
  var propertyListOfTheRest: PropertyListDictionary {
    var copy = self
    copy.properties = []
    copy.subentities = []
    copy.isAbstract = false
    return ModelDescription.propertyList(of: copy)
  }

  /// The entity's own properties; if two have the same name, the first.
  var propertyListsByName: PropertyListDictionary {
    var result = PropertyListDictionary()
    for property in properties.reversed() { result[property.name] = ModelDescription.propertyList(of: property) }
    return result
  }
}

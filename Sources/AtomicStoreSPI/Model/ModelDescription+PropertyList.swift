import FoundationEssentials

/// A model as a property list: what stores carry it as. Only what differs from the default is written, so that the
/// text stays short; keys are sorted by the list itself, so that equal models are equal bytes.
extension ModelDescription {
  /// The newest form this version reads and writes.
  static let propertyListVersion = 1

  /// The model as a property list.
  public var propertyList: PropertyListValue {
    var list = SchemaWriter()
    list.put("formatVersion", .integer(Int128(Self.propertyListVersion)))
    list.put("versionIdentifiers", versionIdentifiers)
    list.put("entities", entities.map { Self.encode($0) })
    list.put("composites", composites.map { composite in
      var item = SchemaWriter()
      item.put("name", .string(composite.name))
      item.put("attributes", composite.attributes.map { Self.encode(.attribute($0)) })
      item.put(extras: composite.extras)
      return item.value
    })
    list.put("configurations", configurations.map { configuration in
      var item = SchemaWriter()
      item.put("name", .string(configuration.name))
      item.put("entities", configuration.entityNames)
      item.put(extras: configuration.extras)
      return item.value
    })
    list.put("fetchRequests", fetchRequestTemplates.map { Self.encode($0) })
    list.put("inferred", isInferred)
    list.put(extras: extras)
    return list.value
  }

  /// Reads a model from a property list.
  ///
  /// - Throws: `.unsupportedVersion` for a newer form or a key this version does not know, `.malformed` naming the key.
  public init(propertyList: PropertyListValue) throws(PersistentStoreError) {
    var reader = try SchemaReader(propertyList, "model")
    guard let version = try reader.integer("formatVersion") else { throw reader.bad("formatVersion", "is missing") }
    guard version <= Self.propertyListVersion else {
      throw PersistentStoreError(
        .unsupportedVersion, "the model in the store is of form \(version), this version reads up to "
          + "\(Self.propertyListVersion)")
    }
    self.init(
      versionIdentifiers: try reader.strings("versionIdentifiers"),
      entities: try Self.decodeEntities(try reader.list("entities"), "model.entities"),
      composites: try reader.map("composites") { value, path throws(PersistentStoreError) in
        var item = try SchemaReader(value, path)
        let attributes = try item.map("attributes") { value, path throws(PersistentStoreError) in
          guard case .attribute(let attribute) = try Self.decodeProperty(value, path) else {
            throw PersistentStoreError(.malformed, "\(path) is no attribute")
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
      extras: try reader.extras(), isInferred: try reader.boolean("inferred") ?? false)
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
    item.put("fetchIndexes", entity.fetchIndexes.map { index in
      var item = SchemaWriter()
      item.put("name", .string(index.name))
      item.put("elements", index.elements.map { element in
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
    _ list: [PropertyListValue], _ path: String, depth: Int = 0
  ) throws(PersistentStoreError) -> [EntityDescription] {
    // A super-entity above each level but the first.
    guard depth <= maximumInheritanceDepth || list.isEmpty else {
      throw PersistentStoreError(.limitExceeded, "more than \(maximumInheritanceDepth) super-entities above each other")
    }
    var result: [EntityDescription] = []
    for (index, value) in list.enumerated() {
      var item = try SchemaReader(value, "\(path)[\(index)]")
      let entity = EntityDescription(
        name: try item.name(), isAbstract: try item.boolean("abstract") ?? false,
        managedObjectClassName: try item.string("class"),
        properties: try item.map("properties") { value, path throws(PersistentStoreError) in
          try decodeProperty(value, path)
        },
        subentities: try decodeEntities(try item.list("subentities"), item.path + ".subentities", depth: depth + 1),
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
    _ value: PropertyListValue, _ path: String
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

  private static func decodeProperty(
    _ value: PropertyListValue, _ path: String
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
        throw PersistentStoreError(.unsupportedVersion, "\(path).type: there is no attribute type '\(typeName)'")
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
        throw PersistentStoreError(.unsupportedVersion, "\(path).deleteRule: there is no rule '\(ruleName)'")
      }
      property = .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination, inverseName: try item.string("inverse"),
          isOptional: isOptional, isTransient: try item.boolean("transient") ?? false,
          minimumCount: try item.integer("minimumCount") ?? 0, maximumCount: try item.integer("maximumCount") ?? 1,
          isOrdered: try item.boolean("ordered") ?? false, deleteRule: rule,
          isIndexed: try item.boolean("indexed") ?? false, renamingIdentifier: renaming,
          versionHashModifier: modifier, userInfo: userInfo, extras: extras))
    } else {
      guard let fetch = item.take("fetch") else { throw item.bad("type", "is missing") }
      property = .fetchedProperty(
        FetchedPropertyDescription(
          name: name, fetchRequest: try decodeFetchRequest(fetch, path + ".fetch"), isOptional: isOptional,
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
    item.put(extras: request.extras)
    return item.value
  }

  private static func decodeFetchRequest(
    _ value: PropertyListValue, _ path: String
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
      returnsDistinctResults: try item.boolean("returnsDistinctResults"), extras: try item.extras())
    try item.finish()
    return request
  }
}

// For telling two models apart, piece by piece.
extension ModelDescription {
  /// What is not an entity's.
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
  /// What is neither a property's nor a sub-entity's, nor stored data's.
  var propertyListOfTheRest: PropertyListDictionary {
    var copy = self
    copy.properties = []
    copy.subentities = []
    copy.isAbstract = false
    return ModelDescription.propertyList(of: copy)
  }

  /// Its own properties; of two with one name the first.
  var propertyListsByName: PropertyListDictionary {
    var result = PropertyListDictionary()
    for property in properties.reversed() { result[property.name] = ModelDescription.propertyList(of: property) }
    return result
  }
}

/// Collects what differs from the default.
private struct SchemaWriter {
  private var dictionary = PropertyListDictionary()
  var value: PropertyListValue { .dictionary(dictionary) }

  mutating func put(_ key: String, _ value: PropertyListValue) { dictionary[key] = value }
  mutating func put(_ key: String, _ text: String?) { if let text { dictionary[key] = .string(text) } }
  mutating func put(_ key: String, _ flag: Bool) { if flag { dictionary[key] = .boolean(true) } }
  mutating func put(flag key: String, _ flag: Bool?) { if let flag { dictionary[key] = .boolean(flag) } }
  mutating func put(_ key: String, _ number: Int?) { if let number { dictionary[key] = .integer(Int128(number)) } }
  mutating func put(_ key: String, _ list: [String]) {
    if !list.isEmpty { dictionary[key] = .array(list.map { .string($0) }) }
  }
  mutating func put(_ key: String, _ list: [PropertyListValue]) { if !list.isEmpty { dictionary[key] = .array(list) } }
  mutating func put(userInfo: [UserInfoEntry]) {
    put("userInfo", userInfo.map { PropertyListValue.array([.string($0.key), .string($0.value)]) })
  }
  mutating func put(extras: [ModelExtra]) {
    put("extras", extras.map { extra -> PropertyListValue in
      switch extra {
      case .attribute(let name, let value): .array([.string(name), .string(value)])
      case .element(let text): .string(text)
      }
    })
  }

  /// A value with its kind, as text where a property list would round it: `["double", "nan(0x7ff8000000000001)"]`.
  mutating func put(_ key: String, _ value: StoredValue?) {
    guard let value, !value.isNull else { return }
    let pair: (String, PropertyListValue)
    switch value {
    case .boolean(let flag): pair = ("boolean", .boolean(flag))
    case .integer(let number): pair = ("integer", .integer(Int128(number)))
    // As bits: the text form of a property list has no word for some.
    case .float(let number): pair = ("float", .string(String(number.bitPattern, radix: 16)))
    case .double(let number): pair = ("double", .string(String(number.bitPattern, radix: 16)))
    case .date(let date):
      pair = ("date", .string(String(date.timeIntervalSinceReferenceDate.bitPattern, radix: 16)))
    case .decimal(let number): pair = ("decimal", .string(number.description))
    case .string(let text): pair = ("string", .string(text))
    case .data(let data): pair = ("data", .data(data))
    case .uuid(let uuid): pair = ("uuid", .string(uuid.uuidString))
    case .uri(let text): pair = ("uri", .string(text))
    case .null, .toOne, .toMany: return
    }
    dictionary[key] = .array([.string(pair.0), pair.1])
  }
}

/// Takes keys out of a dictionary and complains about what is left.
private struct SchemaReader {
  private var dictionary: PropertyListDictionary
  let path: String

  init(_ value: PropertyListValue, _ path: String) throws(PersistentStoreError) {
    guard case .dictionary(let dictionary) = value else {
      throw PersistentStoreError(.malformed, "\(path) is no dictionary")
    }
    self.dictionary = dictionary
    self.path = path
  }

  func bad(_ key: String, _ what: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, "\(path).\(key) \(what)")
  }

  mutating func take(_ key: String) -> PropertyListValue? {
    defer { dictionary[key] = nil }
    return dictionary[key]
  }
  mutating func string(_ key: String) throws(PersistentStoreError) -> String? {
    guard let value = take(key) else { return nil }
    guard let text = value.stringValue else { throw bad(key, "is no string") }
    return text
  }
  mutating func name() throws(PersistentStoreError) -> String {
    guard let name = try string("name") else { throw bad("name", "is missing") }
    return name
  }
  mutating func boolean(_ key: String) throws(PersistentStoreError) -> Bool? {
    guard let value = take(key) else { return nil }
    guard let flag = value.booleanValue else { throw bad(key, "is no boolean") }
    return flag
  }
  mutating func integer(_ key: String) throws(PersistentStoreError) -> Int? {
    guard let value = take(key) else { return nil }
    guard let number = value.integerValue else { throw bad(key, "is no integer") }
    return number
  }
  mutating func list(_ key: String) throws(PersistentStoreError) -> [PropertyListValue] {
    guard let value = take(key) else { return [] }
    guard let list = value.arrayValue else { throw bad(key, "is no array") }
    return list
  }
  mutating func strings(_ key: String) throws(PersistentStoreError) -> [String] {
    try strings(in: try list(key), key)
  }
  private func strings(in list: [PropertyListValue], _ key: String) throws(PersistentStoreError) -> [String] {
    var result: [String] = []
    for value in list {
      guard let text = value.stringValue else { throw bad(key, "holds something that is no string") }
      result.append(text)
    }
    return result
  }
  mutating func stringLists(_ key: String) throws(PersistentStoreError) -> [[String]] {
    var result: [[String]] = []
    for value in try list(key) {
      guard let inner = value.arrayValue else { throw bad(key, "holds something that is no array") }
      result.append(try strings(in: inner, key))
    }
    return result
  }
  mutating func map<Element>(
    _ key: String, _ body: (PropertyListValue, String) throws(PersistentStoreError) -> Element
  ) throws(PersistentStoreError) -> [Element] {
    var result: [Element] = []
    for (index, value) in try list(key).enumerated() { result.append(try body(value, "\(path).\(key)[\(index)]")) }
    return result
  }
  mutating func userInfo() throws(PersistentStoreError) -> [UserInfoEntry] {
    var result: [UserInfoEntry] = []
    for pair in try stringLists("userInfo") {
      guard pair.count == 2 else { throw bad("userInfo", "holds something that is no pair") }
      result.append(UserInfoEntry(key: pair[0], value: pair[1]))
    }
    return result
  }
  mutating func extras() throws(PersistentStoreError) -> [ModelExtra] {
    var result: [ModelExtra] = []
    for value in try list("extras") {
      if let text = value.stringValue {
        result.append(.element(text))
      } else if let pair = value.arrayValue, pair.count == 2, let name = pair[0].stringValue,
        let text = pair[1].stringValue
      {
        result.append(.attribute(name: name, value: text))
      } else {
        throw bad("extras", "holds neither a text nor a pair")
      }
    }
    return result
  }
  mutating func value(_ key: String) throws(PersistentStoreError) -> StoredValue? {
    guard let value = take(key) else { return nil }
    guard let pair = value.arrayValue, pair.count == 2, let kind = pair[0].stringValue else {
      throw bad(key, "is no pair of kind and value")
    }
    let text = pair[1].stringValue
    switch kind {
    case "boolean": if let flag = pair[1].booleanValue { return .boolean(flag) }
    case "integer": if case .integer(let number) = pair[1], let fits = Int64(exactly: number) { return .integer(fits) }
    case "float":
      if let bits = text.flatMap({ UInt32($0, radix: 16) }) { return .float(Float(bitPattern: bits)) }
    case "double":
      if let bits = text.flatMap({ UInt64($0, radix: 16) }) { return .double(Double(bitPattern: bits)) }
    case "date":
      if let bits = text.flatMap({ UInt64($0, radix: 16) }) {
        return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
      }
    case "decimal": if let number = text.flatMap({ DecimalNumber($0) }) { return .decimal(number) }
    case "string": if let text { return .string(text) }
    case "data": if let data = pair[1].dataValue { return .data(data) }
    case "uuid": if let uuid = text.flatMap({ UUID(uuidString: $0) }) { return .uuid(uuid) }
    case "uri": if let text { return .uri(text) }
    default: break
    }
    throw bad(key, "is no \(kind)")
  }

  /// - Throws: `.unsupportedVersion` for a key that nobody took.
  func finish() throws(PersistentStoreError) {
    if let key = dictionary.keys.first {
      throw PersistentStoreError(.unsupportedVersion, "\(path) has a key that this version does not know: \(key)")
    }
  }
}

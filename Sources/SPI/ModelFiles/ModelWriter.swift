public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension ModelFile {
  /// Returns the text of a `contents` file in Xcode's layout: an indent of four spaces, attributes in Xcode's order,
  /// entities by name. Equal descriptions result in equal bytes, and reading the text returns an equal description.
  ///
  /// - Throws: `.unsupportedByFormat` for what a model file cannot hold: a default for binary data, a second version
  ///   identifier, a character that XML does not allow.
  package static func contents(of model: ModelDescription) throws(PersistentStoreError) -> [UInt8] {
    var writer = ModelWriter()
    try writer.write(model)
    return writer.xml.bytes.takeBytes()
  }

  /// Writes a model as a `.xcdatamodel` directory.
  ///
  /// - Parameters:
  ///   - model: The model. It is written without validation.
  ///   - path: The path of the directory.
  ///   - overwrite: Whether an existing directory may be replaced.
  /// - Throws: As `contents(of:)`, and `.alreadyExists`.
  public static func write(
    _ model: ModelDescription, to path: String, overwrite: Bool = false
  ) throws(PersistentStoreError) {
    let unit = Publication()
    try unit.add(model, at: path, overwrite: overwrite)
    try unit.commit()
  }
}

private struct ModelWriter {
  var xml = XcodeElementWriter()

  mutating func write(_ model: ModelDescription) throws(PersistentStoreError) {
    guard model.versionIdentifiers.count < 2 else {
      throw PersistentStoreError(
        .unsupportedByFormat,
        "a model file holds one version identifier, not \(model.versionIdentifiers.joined(separator: ", "))")
    }
    // Up to version 7, Xcode did not write the language and wrote the identifier first.
    let isOld =
      model.extras.contains { if case .attribute("lastSavedToolsVersion", _) = $0 { true } else { false } }
      && !model.extras.contains { if case .attribute("sourceLanguage", _) = $0 { true } else { false } }
    var list = XcodeAttributes(isOld ? .oldModel : .model)
    list.add("userDefinedModelVersionIdentifier", model.versionIdentifiers.first)
    list.add(extras: model.extras)
    list.add("type", "com.apple.IDECoreDataModeler.DataModel")
    list.add("documentVersion", "1.0")
    try xml.begin("model", list)
    for (entity, parent) in Self.inFileOrder(model.entities) { try write(entity, parent) }
    for composite in model.composites {
      var list = XcodeAttributes(.named)
      list.add("name", composite.name)
      list.add(extras: composite.extras)
      try xml.begin("composite", list)
      for attribute in composite.attributes { try write(attribute, of: composite.name) }
      try xml.add(elements: composite.extras)
      xml.end("composite")
    }
    for request in model.fetchRequestTemplates { try write(request) }
    for configuration in model.configurations {
      var list = XcodeAttributes(.named)
      list.add("name", configuration.name)
      list.add(extras: configuration.extras)
      try xml.begin("configuration", list)
      for name in configuration.entityNames { try xml.leaf("memberEntity", "name", name) }
      try xml.add(elements: configuration.extras)
      xml.end("configuration")
    }
    try xml.add(elements: model.extras)
    xml.end("model")
  }

  /// All entities with their parents' names, sorted by name as in Xcode; siblings keep their order, which is part of
  /// the description.
  private static func inFileOrder(_ roots: [EntityDescription]) -> [(EntityDescription, String?)] {
    var lists: [(entities: [EntityDescription], parent: String?)] = [(roots, nil)]
    var next = 0
    var order: [(key: ScalarString, entity: EntityDescription, parent: String?)] = []
    while next < lists.count {
      var greatest = ScalarString("")
      for entity in lists[next].entities {
        // An entity whose name sorts before that of its preceding sibling is sorted by the sibling's name.
        greatest = max(greatest, ScalarString(entity.name))
        order.append((greatest, entity, lists[next].parent))
        if !entity.subentities.isEmpty { lists.append((entity.subentities, entity.name)) }
      }
      next += 1
    }
    return order.enumerated().sorted { one, other in
      one.element.key == other.element.key ? one.offset < other.offset : one.element.key < other.element.key
    }.map { ($0.element.entity, $0.element.parent) }
  }

  private mutating func write(_ entity: EntityDescription, _ parent: String?) throws(PersistentStoreError) {
    var list = XcodeAttributes(.entity)
    list.add("name", entity.name)
    list.add("representedClassName", entity.managedObjectClassName)
    list.add("isAbstract", flag: entity.isAbstract)
    list.add("parentEntity", parent)
    list.add("elementID", entity.renamingIdentifier)
    list.add("versionHashModifier", entity.versionHashModifier)
    list.add(extras: entity.extras)
    try xml.begin("entity", list)
    for property in entity.properties {
      switch property {
      case .attribute(let attribute): try write(attribute, of: entity.name)
      case .relationship(let relationship): try write(relationship)
      case .fetchedProperty(let fetched): try write(fetched)
      }
    }
    for index in entity.fetchIndexes { try write(index) }
    try write(entity.compoundIndexes, "compoundIndexes", "compoundIndex", "index")
    try write(entity.uniquenessConstraints, "uniquenessConstraints", "uniquenessConstraint", "constraint")
    try write(entity.userInfo)
    try xml.add(elements: entity.extras)
    xml.end("entity")
  }

  /// Writes lists of names: three levels of elements.
  private mutating func write(
    _ lists: [[String]], _ outer: String, _ middle: String, _ inner: String
  ) throws(PersistentStoreError) {
    guard !lists.isEmpty else { return }
    try xml.begin(outer, XcodeAttributes(.named))
    for names in lists {
      try xml.begin(middle, XcodeAttributes(.named))
      for name in names { try xml.leaf(inner, "value", name) }
      xml.end(middle)
    }
    xml.end(outer)
  }

  // MARK: Properties

  private mutating func write(_ attribute: AttributeDescription, of owner: String) throws(PersistentStoreError) {
    var list = XcodeAttributes(.attribute)
    list.add("name", attribute.name)
    list.add("optional", flag: attribute.isOptional)
    list.add("transient", flag: attribute.isTransient)
    if attribute.type != .undefined { list.add("attributeType", attribute.type.modelName) }
    if case .composite(let name) = attribute.type { list.add("composite", name) }
    list.add("derived", flag: attribute.derivationExpression != nil)
    list.add("derivationExpression", attribute.derivationExpression)
    if attribute.type == .string {
      list.add("minValueString", attribute.minimumLength.map { String($0) })
      list.add("maxValueString", attribute.maximumLength.map { String($0) })
    }
    for (value, name, dateName) in [
      (attribute.minimum, "minValueString", "minDateTimeInterval"),
      (attribute.maximum, "maxValueString", "maxDateTimeInterval"),
      (attribute.defaultValue, "defaultValueString", "defaultDateTimeInterval"),
    ] {
      guard let value, !value.isNull else { continue }
      // A bound of a string would be read as a length.
      let isBoundOfString = attribute.type == .string && name != "defaultValueString"
      guard let text = Self.text(value), attribute.type.accepts(value), attribute.type != .undefined, !isBoundOfString
      else {
        throw PersistentStoreError(
          .unsupportedByFormat, "a model file cannot hold \(value.kindDescription) as \(name)",
          at: StoreLocation(entity: owner, property: attribute.name))
      }
      list.add(attribute.type == .date ? dateName : name, text)
    }
    list.add("regularExpressionString", attribute.regularExpression)
    list.add("valueTransformerName", attribute.valueTransformerName)
    list.add("customClassName", attribute.attributeValueClassName)
    list.add("allowsExternalBinaryDataStorage", flag: attribute.allowsExternalBinaryDataStorage)
    list.add("indexed", flag: attribute.isIndexed)
    list.add("elementID", attribute.renamingIdentifier)
    list.add("versionHashModifier", attribute.versionHashModifier)
    list.add(extras: attribute.extras)
    try xml.begin("attribute", list)
    try write(attribute.userInfo)
    try xml.add(elements: attribute.extras)
    xml.end("attribute")
  }

  /// The text that is read back as the value; nil for values that only binary data could represent.
  private static func text(_ value: StoredValue) -> String? {
    let text = ByteWriter()
    switch value {
    case .boolean(let flag): return flag ? "YES" : "NO"
    case .integer(let number): return String(number)
    case .decimal(let number): return number.description
    case .string(let string), .uri(let string): return string
    case .uuid(let uuid): return uuid.uuidString
    case .float(let number): text.append(float: number)
    case .double(let number): text.append(double: number)
    case .date(let date): text.append(double: date.timeIntervalSinceReferenceDate, dropsPointZero: true)
    case .data, .toOne, .toMany, .null: return nil
    }
    return String(decoding: text.takeBytes(), as: UTF8.self)
  }

  private mutating func write(_ relationship: RelationshipDescription) throws(PersistentStoreError) {
    var list = XcodeAttributes(.relationship)
    list.add("name", relationship.name)
    list.add("optional", flag: relationship.isOptional)
    list.add("transient", flag: relationship.isTransient)
    list.add("toMany", flag: relationship.isToMany)
    list.add("minCount", relationship.minimumCount > 0 ? String(relationship.minimumCount) : nil)
    list.add("maxCount", relationship.maximumCount > 0 ? String(relationship.maximumCount) : nil)
    list.add("deletionRule", relationship.deleteRule.rawValue)
    list.add("ordered", flag: relationship.isOrdered)
    list.add("destinationEntity", relationship.destinationEntityName)
    list.add("inverseName", relationship.inverseName)
    list.add("indexed", flag: relationship.isIndexed)
    list.add("elementID", relationship.renamingIdentifier)
    list.add("versionHashModifier", relationship.versionHashModifier)
    list.add(extras: relationship.extras)
    if relationship.inverseName != nil { list.add("inverseEntity", relationship.destinationEntityName) }
    try xml.begin("relationship", list)
    try write(relationship.userInfo)
    try xml.add(elements: relationship.extras)
    xml.end("relationship")
  }

  private mutating func write(_ fetched: FetchedPropertyDescription) throws(PersistentStoreError) {
    var list = XcodeAttributes(.attribute)
    list.add("name", fetched.name)
    list.add("optional", flag: fetched.isOptional)
    list.add("elementID", fetched.renamingIdentifier)
    list.add("versionHashModifier", fetched.versionHashModifier)
    list.add(extras: fetched.extras)
    try xml.begin("fetchedProperty", list)
    try write(fetched.fetchRequest)
    try write(fetched.userInfo)
    try xml.add(elements: fetched.extras)
    xml.end("fetchedProperty")
  }

  private mutating func write(_ request: FetchRequestDescription) throws(PersistentStoreError) {
    guard request.sortOrder.isEmpty else {
      throw PersistentStoreError(
        .unsupportedByFormat, "a model file cannot hold the sort order of the fetch request '\(request.name)'",
        at: StoreLocation(entity: request.entityName))
    }
    var list = XcodeAttributes(.fetchRequest)
    list.add("name", request.name)
    list.add("entity", request.entityName.isEmpty ? nil : request.entityName)
    list.add("predicateString", request.predicateString)
    list.add("fetchLimit", request.fetchLimit.map { String($0) })
    list.add("fetchBatchSize", request.fetchBatchSize.map { String($0) })
    for (name, flag) in [
      ("includeSubentities", request.includesSubentities), ("includePropertyValues", request.includesPropertyValues),
      ("includesPendingChanges", request.includesPendingChanges),
      ("returnObjectsAsFaults", request.returnsObjectsAsFaults),
      ("returnDistinctResults", request.returnsDistinctResults),
    ] {
      list.add(name, flag.map { $0 ? "YES" : "NO" })
    }
    list.add("resultType", request.resultType)
    list.add(extras: request.extras)
    try xml.begin("fetchRequest", list)
    try xml.add(elements: request.extras)
    xml.end("fetchRequest")
  }

  private mutating func write(_ index: FetchIndexDescription) throws(PersistentStoreError) {
    var list = XcodeAttributes(.named)
    list.add("name", index.name)
    list.add("partialIndexPredicate", index.partialIndexPredicate)
    list.add(extras: index.extras)
    try xml.begin("fetchIndex", list)
    for item in index.elements {
      var list = XcodeAttributes(.fetchIndexElement)
      list.add("property", item.propertyName)
      list.add("expression", item.expression)
      list.add("expressionType", item.expressionType)
      list.add("type", item.collationType)
      list.add("order", item.isAscending ? "ascending" : "descending")
      list.add(extras: item.extras)
      try xml.begin("fetchIndexElement", list)
      try xml.add(elements: item.extras)
      xml.end("fetchIndexElement")
    }
    try xml.add(elements: index.extras)
    xml.end("fetchIndex")
  }

  private mutating func write(_ userInfo: [UserInfoEntry]) throws(PersistentStoreError) {
    guard !userInfo.isEmpty else { return }
    try xml.begin("userInfo", XcodeAttributes(.named))
    for entry in userInfo { try xml.leaf("entry", "key", entry.key, "value", entry.value) }
    xml.end("userInfo")
  }
}

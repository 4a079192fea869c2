public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension ModelFile {
  /// The text of a `contents` file, as Xcode lays it out. Equal descriptions give equal bytes.
  public static func contents(of model: ModelDescription) -> [UInt8] {
    let writer = ModelWriter()
    writer.write(model)
    return writer.bytes.takeBytes()
  }

  /// Writes a model as a `.xcdatamodel` folder.
  ///
  /// - Parameter overwrite: Whether a folder that is there may be replaced.
  public static func write(
    _ model: ModelDescription, to path: String, overwrite: Bool = false
  ) throws(PersistentStoreError) {
    let staged = try StagedStore(target: path, layout: .folder, policy: overwrite ? .replaceAny : .createNew)
    try staged.member("contents").write(contents(of: model))
    try staged.finish()
    try staged.commit()
  }
}

private final class ModelWriter {
  let bytes = ByteWriter()

  func write(_ model: ModelDescription) {
    bytes.append("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n")
    var attributes = Self.attributes(model.extras)
    if attributes.isEmpty {
      // What Xcode expects of a model that did not come from it.
      attributes = [("type", "com.apple.IDECoreDataModeler.DataModel"), ("documentVersion", "1.0")]
    }
    if let version = model.versionIdentifiers.first { attributes.append(("userDefinedModelVersionIdentifier", version)) }
    element("model", attributes, depth: 0) {
      for (entity, parent) in Self.inFileOrder(model.entities) { write(entity, parent) }
      for request in model.fetchRequestTemplates { write(request, depth: 1) }
      for configuration in model.configurations {
        element("configuration", [("name", configuration.name)] + Self.attributes(configuration.extras), depth: 1) {
          for name in configuration.entityNames { leaf("memberEntity", [("name", name)], depth: 2) }
          writeElements(configuration.extras, depth: 2)
        }
      }
      for composite in model.composites {
        element("composite", [("name", composite.name)] + Self.attributes(composite.extras), depth: 1) {
          for attribute in composite.attributes { write(attribute, depth: 2) }
          writeElements(composite.extras, depth: 2)
        }
      }
      writeElements(model.extras, depth: 1)
    }
  }

  /// All entities with their parents' names, by name as Xcode has them; but siblings stay in the order they are in, which
  /// is part of the description.
  private static func inFileOrder(_ roots: [EntityDescription]) -> [(EntityDescription, String?)] {
    var lists: [(entities: [EntityDescription], parent: String?)] = [(roots, nil)]
    var next = 0
    var order: [(key: ScalarString, entity: EntityDescription, parent: String?)] = []
    while next < lists.count {
      var greatest = ScalarString("")
      for entity in lists[next].entities {
        // A name that is less than its elder sibling's is filed under that.
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

  private func write(_ entity: EntityDescription, _ parent: String?) {
    var list: [(String, String)] = [("name", entity.name)]
    if let name = entity.managedObjectClassName { list.append(("representedClassName", name)) }
    if entity.isAbstract { list.append(("isAbstract", "YES")) }
    if let parent { list.append(("parentEntity", parent)) }
    add(entity.renamingIdentifier, "elementID", &list)
    add(entity.versionHashModifier, "versionHashModifier", &list)
    list += Self.attributes(entity.extras)
    let isEmpty =
      entity.properties.isEmpty && entity.fetchIndexes.isEmpty && entity.compoundIndexes.isEmpty
      && entity.uniquenessConstraints.isEmpty && entity.userInfo.isEmpty && !Self.hasElements(entity.extras)
    element("entity", list, depth: 1, isEmpty: isEmpty) {
      for property in entity.properties {
        switch property {
        case .attribute(let attribute): write(attribute, depth: 2)
        case .relationship(let relationship): write(relationship)
        case .fetchedProperty(let fetched): write(fetched)
        }
      }
      for index in entity.fetchIndexes { write(index) }
      if !entity.compoundIndexes.isEmpty {
        element("compoundIndexes", [], depth: 2) {
          for names in entity.compoundIndexes {
            element("compoundIndex", [], depth: 3) { for name in names { leaf("index", [("value", name)], depth: 4) } }
          }
        }
      }
      if !entity.uniquenessConstraints.isEmpty {
        element("uniquenessConstraints", [], depth: 2) {
          for names in entity.uniquenessConstraints {
            element("uniquenessConstraint", [], depth: 3) {
              for name in names { leaf("constraint", [("value", name)], depth: 4) }
            }
          }
        }
      }
      write(entity.userInfo, depth: 2)
      writeElements(entity.extras, depth: 2)
    }
  }

  private func write(_ attribute: AttributeDescription, depth: Int) {
    var list: [(String, String)] = [("name", attribute.name)]
    if attribute.isOptional { list.append(("optional", "YES")) }
    if attribute.isTransient { list.append(("transient", "YES")) }
    if attribute.type != .undefined { list.append(("attributeType", attribute.type.modelName)) }
    if case .composite(let name) = attribute.type { list.append(("composite", name)) }
    if let expression = attribute.derivationExpression {
      list.append(("derived", "YES"))
      list.append(("derivationExpression", expression))
    }
    if let length = attribute.minimumLength { list.append(("minValueString", String(length))) }
    if let length = attribute.maximumLength { list.append(("maxValueString", String(length))) }
    add(attribute.minimum, "minValueString", "minDateTimeInterval", &list)
    add(attribute.maximum, "maxValueString", "maxDateTimeInterval", &list)
    add(attribute.defaultValue, "defaultValueString", "defaultDateTimeInterval", &list)
    add(attribute.regularExpression, "regularExpressionString", &list)
    add(attribute.valueTransformerName, "valueTransformerName", &list)
    add(attribute.attributeValueClassName, "customClassName", &list)
    if attribute.allowsExternalBinaryDataStorage { list.append(("allowsExternalBinaryDataStorage", "YES")) }
    if attribute.isIndexed { list.append(("indexed", "YES")) }
    add(attribute.renamingIdentifier, "elementID", &list)
    add(attribute.versionHashModifier, "versionHashModifier", &list)
    list += Self.attributes(attribute.extras)
    element("attribute", list, depth: depth, isEmpty: attribute.userInfo.isEmpty && !Self.hasElements(attribute.extras)) {
      write(attribute.userInfo, depth: depth + 1)
      writeElements(attribute.extras, depth: depth + 1)
    }
  }

  private func write(_ relationship: RelationshipDescription) {
    var list: [(String, String)] = [("name", relationship.name)]
    if relationship.isOptional { list.append(("optional", "YES")) }
    if relationship.isTransient { list.append(("transient", "YES")) }
    if relationship.isToMany { list.append(("toMany", "YES")) }
    if relationship.minimumCount > 0 { list.append(("minCount", String(relationship.minimumCount))) }
    if relationship.maximumCount > 0 { list.append(("maxCount", String(relationship.maximumCount))) }
    if relationship.isOrdered { list.append(("ordered", "YES")) }
    if relationship.isIndexed { list.append(("indexed", "YES")) }
    list.append(("deletionRule", relationship.deleteRule.rawValue))
    list.append(("destinationEntity", relationship.destinationEntityName))
    if let inverse = relationship.inverseName {
      list.append(("inverseName", inverse))
      // The other end's entity is an extra that a model read from a file carries along.
      if !Self.attributes(relationship.extras).contains(where: { $0.0 == "inverseEntity" }) {
        list.append(("inverseEntity", relationship.destinationEntityName))
      }
    }
    add(relationship.renamingIdentifier, "elementID", &list)
    add(relationship.versionHashModifier, "versionHashModifier", &list)
    list += Self.attributes(relationship.extras)
    element(
      "relationship", list, depth: 2, isEmpty: relationship.userInfo.isEmpty && !Self.hasElements(relationship.extras)
    ) {
      write(relationship.userInfo, depth: 3)
      writeElements(relationship.extras, depth: 3)
    }
  }

  private func write(_ fetched: FetchedPropertyDescription) {
    var list: [(String, String)] = [("name", fetched.name)]
    if fetched.isOptional { list.append(("optional", "YES")) }
    add(fetched.renamingIdentifier, "elementID", &list)
    add(fetched.versionHashModifier, "versionHashModifier", &list)
    list += Self.attributes(fetched.extras)
    element("fetchedProperty", list, depth: 2) {
      write(fetched.fetchRequest, depth: 3)
      write(fetched.userInfo, depth: 3)
      writeElements(fetched.extras, depth: 3)
    }
  }

  private func write(_ request: FetchRequestDescription, depth: Int) {
    var list: [(String, String)] = [("name", request.name)]
    if !request.entityName.isEmpty { list.append(("entity", request.entityName)) }
    add(request.predicateString, "predicateString", &list)
    if let limit = request.fetchLimit { list.append(("fetchLimit", String(limit))) }
    if let size = request.fetchBatchSize { list.append(("fetchBatchSize", String(size))) }
    add(request.resultType, "resultType", &list)
    for (name, flag) in [
      ("includeSubentities", request.includesSubentities), ("includePropertyValues", request.includesPropertyValues),
      ("includesPendingChanges", request.includesPendingChanges), ("returnObjectsAsFaults", request.returnsObjectsAsFaults),
      ("returnDistinctResults", request.returnsDistinctResults),
    ] {
      if let flag { list.append((name, flag ? "YES" : "NO")) }
    }
    list += Self.attributes(request.extras)
    element("fetchRequest", list, depth: depth, isEmpty: !Self.hasElements(request.extras)) {
      writeElements(request.extras, depth: depth + 1)
    }
  }

  private func write(_ index: FetchIndexDescription) {
    var list: [(String, String)] = [("name", index.name)]
    add(index.partialIndexPredicate, "partialIndexPredicate", &list)
    list += Self.attributes(index.extras)
    element("fetchIndex", list, depth: 2) {
      for item in index.elements {
        var list: [(String, String)] = []
        add(item.propertyName, "property", &list)
        add(item.expression, "expression", &list)
        add(item.expressionType, "expressionType", &list)
        list.append(("type", item.collationType))
        list.append(("order", item.isAscending ? "ascending" : "descending"))
        leaf("fetchIndexElement", list + Self.attributes(item.extras), depth: 3)
      }
      writeElements(index.extras, depth: 3)
    }
  }

  private func write(_ userInfo: [UserInfoEntry], depth: Int) {
    guard !userInfo.isEmpty else { return }
    element("userInfo", [], depth: depth) {
      for entry in userInfo { leaf("entry", [("key", entry.key), ("value", entry.value)], depth: depth + 1) }
    }
  }

  // MARK: Pieces

  private static func attributes(_ extras: [ModelExtra]) -> [(String, String)] {
    extras.compactMap { if case .attribute(let name, let value) = $0 { (name, value) } else { nil } }
  }

  private static func hasElements(_ extras: [ModelExtra]) -> Bool {
    extras.contains { if case .element = $0 { true } else { false } }
  }

  private func writeElements(_ extras: [ModelExtra], depth: Int) {
    for case .element(let text) in extras {
      let indent = String(repeating: " ", count: depth * 4)
      bytes.append(indent)
      bytes.append(text.replacing("\n", with: "\n" + indent))
      bytes.append(byte: 0x0A)
    }
  }

  private func add(_ text: String?, _ name: String, _ list: inout [(String, String)]) {
    if let text { list.append((name, text)) }
  }

  private func add(_ value: StoredValue?, _ name: String, _ dateName: String, _ list: inout [(String, String)]) {
    let text = ByteWriter()
    switch value {
    case .boolean(let flag)?: list.append((name, flag ? "YES" : "NO"))
    case .integer(let number)?: list.append((name, String(number)))
    case .float(let number)?:
      text.append(float: number)
      list.append((name, String(decoding: text.takeBytes(), as: UTF8.self)))
    case .double(let number)?:
      text.append(double: number)
      list.append((name, String(decoding: text.takeBytes(), as: UTF8.self)))
    case .decimal(let number)?: list.append((name, number.description))
    case .string(let string)?: list.append((name, string))
    case .uri(let string)?: list.append((name, string))
    case .uuid(let uuid)?: list.append((name, uuid.uuidString))
    case .date(let date)?:
      text.append(double: date.timeIntervalSinceReferenceDate, dropsPointZero: true)
      list.append((dateName, String(decoding: text.takeBytes(), as: UTF8.self)))
    case .data?, .toOne?, .toMany?, .null?, nil: break
    }
  }

  private func begin(_ name: String, _ attributes: [(name: String, value: String)], depth: Int) {
    bytes.append(repeating: 0x20, count: depth * 4)
    bytes.append("<")
    bytes.append(name)
    for (name, value) in AttributeOrder.sorted(attributes, of: name) {
      bytes.append(" ")
      bytes.append(name)
      bytes.append("=\"")
      bytes.append(xmlEscaped: value, inAttribute: true)
      bytes.append("\"")
    }
  }

  private func leaf(_ name: String, _ attributes: [(String, String)], depth: Int) {
    begin(name, attributes, depth: depth)
    bytes.append("/>\n")
  }

  private func element(
    _ name: String, _ attributes: [(String, String)], depth: Int, isEmpty: Bool = false, _ body: () -> Void
  ) {
    if isEmpty { return leaf(name, attributes, depth: depth) }
    begin(name, attributes, depth: depth)
    bytes.append(">\n")
    body()
    bytes.append(repeating: 0x20, count: depth * 4)
    bytes.append("</")
    bytes.append(name)
    // Xcode ends the file without a line break.
    bytes.append(depth == 0 ? ">" : ">\n")
  }
}

import AtomicStoreSPI
import StoreCodecs

/// Reads the elements of a `contents` file into a description.
///
/// What it does not interpret is kept as extras: attributes by name and value, elements as text. Those that Xcode is
/// known to write are kept without a warning, others with a warning that has their line.
struct ModelReader {
  let file: String
  private(set) var warnings: [ModelFileWarning] = []

  init(file: String) { self.file = file }

  /// More warnings would not be useful, and need many times the memory of the file.
  private static let maximumWarnings = 1000

  mutating func warn(_ element: XMLElement, _ text: String) {
    guard warnings.count < Self.maximumWarnings else {
      if warnings.count == Self.maximumWarnings {
        warnings.append(
          ModelFileWarning(line: element.location.line, text: "there are more warnings, which are not listed"))
      }
      return
    }
    warnings.append(ModelFileWarning(line: element.location.line, text: text))
  }

  func fail(
    _ element: XMLElement, _ text: String, entity: String? = nil, property: String? = nil,
    code: PersistentStoreError.Code = .invalidModel
  ) -> PersistentStoreError {
    var place = element.location.filled(from: StoreLocation(file: file))
    place.entity = entity
    place.property = property
    return PersistentStoreError(code, text, at: place)
  }

  // MARK: The model

  mutating func model(_ root: XMLElement) throws(PersistentStoreError) -> ModelDescription {
    try refuseText(in: root)
    var model = ModelDescription()
    var attributes = ElementAttributes(root)
    if let version = attributes.take("userDefinedModelVersionIdentifier") { model.versionIdentifiers = [version] }
    // Every file has these two, and the writer writes them.
    for (name, usual) in [("type", "com.apple.IDECoreDataModeler.DataModel"), ("documentVersion", "1.0")] {
      guard let value = attributes.take(name), value != usual else { continue }
      warn(root, "\(name) is '\(value)', not '\(usual)': this may be an unknown kind of model")
      attributes.keep(name, value)
    }
    model.extras = extras(&attributes, root)
    var found: [FoundEntity] = []
    for element in root.elements {
      switch element.name {
      case "entity": found.append(try entity(element))
      case "composite": model.composites.append(try composite(element))
      case "configuration": model.configurations.append(try configuration(element))
      case "fetchRequest": model.fetchRequestTemplates.append(try fetchRequest(element))
      // The positions of entities in Xcode's diagram.
      case "elements": model.extras.append(.element(element.fileText))
      default: keep(element, of: "the model", &model.extras)
      }
    }
    model.entities = try EntityNesting.nested(found.map(\.nested)) { text, index, code in
      fail(found[index].element, text, entity: found[index].nested.entity.name, code: code)
    }
    return model
  }

  private struct FoundEntity {
    var nested: EntityNesting.Found
    var element: XMLElement
  }

  private mutating func entity(_ element: XMLElement) throws(PersistentStoreError) -> FoundEntity {
    try refuseText(in: element)
    var attributes = ElementAttributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "an entity has no name") }
    var entity = EntityDescription(name: name)
    entity.isAbstract = flag("isAbstract", &attributes, element)
    entity.managedObjectClassName = attributes.take("representedClassName")
    entity.renamingIdentifier = attributes.take("elementID")
    entity.versionHashModifier = attributes.take("versionHashModifier")
    let parent = attributes.take("parentEntity")
    entity.extras = extras(&attributes, element)
    for child in element.elements {
      switch child.name {
      case "attribute": entity.properties.append(.attribute(try attribute(child, entity: name)))
      case "relationship": entity.properties.append(.relationship(try relationship(child, entity: name)))
      case "fetchedProperty": entity.properties.append(.fetchedProperty(try fetchedProperty(child, entity: name)))
      case "userInfo": try userInfo(child, of: "the entity \(name)", &entity.userInfo, &entity.extras)
      case "uniquenessConstraints":
        try nameLists(
          child, "uniquenessConstraint", "constraint", of: "the entity \(name)", &entity.uniquenessConstraints,
          &entity.extras)
      case "compoundIndexes":
        try nameLists(
          child, "compoundIndex", "index", of: "the entity \(name)", &entity.compoundIndexes, &entity.extras)
      case "fetchIndex": entity.fetchIndexes.append(try fetchIndex(child, entity: name))
      default: keep(child, of: "the entity \(name)", &entity.extras)
      }
    }
    return FoundEntity(nested: EntityNesting.Found(entity: entity, parent: parent), element: element)
  }

  // MARK: What belongs to entities

  /// Reads lists of names: `outer` contains `middle` elements, each of which contains `inner` elements with a `value`.
  private mutating func nameLists(
    _ outer: XMLElement, _ middle: String, _ inner: String, of owner: String, _ lists: inout [[String]],
    _ extras: inout [ModelExtra]
  ) throws(PersistentStoreError) {
    try refuseText(in: outer)
    for list in outer.elements {
      try refuseText(in: list)
      // A list that is not completely understood is kept as an extra: part of a constraint would be a different
      // constraint.
      let names = list.elements.compactMap { item in
        item.name == inner && item.attributes.count == 1 && item.children.isEmpty ? item[attribute: "value"] : nil
      }
      if list.name == middle, list.attributes.isEmpty, names.count == list.elements.count {
        lists.append(names)
      } else {
        keep(list, in: outer, of: owner, &extras)
      }
    }
    warnOfAttributes(of: outer, of: owner)
  }

  private mutating func fetchIndex(
    _ element: XMLElement, entity: String
  ) throws(PersistentStoreError) -> FetchIndexDescription {
    try refuseText(in: element)
    var attributes = ElementAttributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "a fetch index has no name", entity: entity) }
    var index = FetchIndexDescription(name: name, elements: [])
    index.partialIndexPredicate = attributes.take("partialIndexPredicate")
    index.extras = extras(&attributes, element)
    for child in element.elements {
      guard child.name == "fetchIndexElement" else {
        keep(child, of: "the fetch index \(name)", &index.extras)
        continue
      }
      try refuseText(in: child)
      var attributes = ElementAttributes(child)
      var item = FetchIndexDescription.Element(propertyName: attributes.take("property"))
      item.expression = attributes.take("expression")
      item.expressionType = attributes.take("expressionType")
      item.collationType = attributes.take("type") ?? "Binary"
      let order = attributes.take("order") ?? "ascending"
      guard order == "ascending" || order == "descending" else {
        throw fail(child, "the order of an index must be ascending or descending, not '\(order)'", entity: entity)
      }
      item.isAscending = order == "ascending"
      item.extras = extras(&attributes, child)
      for inner in child.elements { keep(inner, of: "the fetch index \(name)", &item.extras) }
      index.elements.append(item)
    }
    return index
  }

  mutating func userInfo(
    _ element: XMLElement, of owner: String, _ entries: inout [UserInfoEntry], _ extras: inout [ModelExtra]
  ) throws(PersistentStoreError) {
    try refuseText(in: element)
    for child in element.elements {
      if child.name == "entry", child.children.isEmpty, child.attributes.count == 2, let key = child[attribute: "key"],
        let value = child[attribute: "value"]
      {
        entries.append(UserInfoEntry(key: key, value: value))
      } else {
        keep(child, in: element, of: owner, &extras)
      }
    }
    warnOfAttributes(of: element, of: owner)
  }

  // MARK: The rest of the model

  mutating func fetchRequest(_ element: XMLElement) throws(PersistentStoreError) -> FetchRequestDescription {
    try refuseText(in: element)
    var attributes = ElementAttributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "a fetch request has no name") }
    var request = FetchRequestDescription(name: name, entityName: attributes.take("entity") ?? "")
    request.predicateString = attributes.take("predicateString")
    request.fetchLimit = try count("fetchLimit", &attributes, element, property: name)
    request.fetchBatchSize = try count("fetchBatchSize", &attributes, element, property: name)
    request.resultType = attributes.take("resultType")
    request.includesSubentities = optionalFlag("includeSubentities", &attributes, element)
    request.includesPropertyValues = optionalFlag("includePropertyValues", &attributes, element)
    request.includesPendingChanges = optionalFlag("includesPendingChanges", &attributes, element)
    request.returnsObjectsAsFaults = optionalFlag("returnObjectsAsFaults", &attributes, element)
    request.returnsDistinctResults = optionalFlag("returnDistinctResults", &attributes, element)
    request.extras = extras(&attributes, element)
    for child in element.elements { keep(child, of: "the fetch request \(name)", &request.extras) }
    return request
  }

  private mutating func configuration(_ element: XMLElement) throws(PersistentStoreError) -> ConfigurationDescription {
    try refuseText(in: element)
    var attributes = ElementAttributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "a configuration has no name") }
    var configuration = ConfigurationDescription(name: name, entityNames: [])
    configuration.extras = extras(&attributes, element)
    for child in element.elements {
      if child.name == "memberEntity", child.attributes.count == 1, child.children.isEmpty,
        let entity = child[attribute: "name"]
      {
        configuration.entityNames.append(entity)
      } else {
        keep(child, of: "the configuration \(name)", &configuration.extras)
      }
    }
    return configuration
  }

  private mutating func composite(_ element: XMLElement) throws(PersistentStoreError) -> CompositeDescription {
    try refuseText(in: element)
    var attributes = ElementAttributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "a composite has no name") }
    var composite = CompositeDescription(name: name, attributes: [])
    composite.extras = extras(&attributes, element)
    for child in element.elements {
      if child.name == "attribute" {
        composite.attributes.append(try attribute(child, entity: name))
      } else {
        keep(child, of: "the composite \(name)", &composite.extras)
      }
    }
    return composite
  }

  // MARK: What is left over

  /// Attributes that Xcode is known to write and that do not concern data.
  private static let knownExtras: Set<String> = [
    "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion", "sourceLanguage", "macOSVersion", "iOSVersion",
    "tvOSVersion", "watchOSVersion", "name", "usedWithSwiftData", "usedWithCloudKit", "syncable", "codeGenerationType",
    "usesScalarValueType", "spotlightIndexingEnabled", "storedInTruthFile", "preserveAfterDeletion",
    "allowsCloudEncryption", "coreSpotlightDisplayNameExpression",
  ]

  /// The unread attributes, in the order in which Xcode writes them, as the writer does: so reading back returns an
  /// equal description.
  mutating func extras(_ attributes: inout ElementAttributes, _ element: XMLElement) -> [ModelExtra] {
    var result: [ModelExtra] = []
    var list = XcodeAttributes(XcodeAttributes.Order.of(element.name))
    for (name, value) in attributes.rest { list.add(name, value) }
    for (name, value) in list.sorted {
      if !Self.knownExtras.contains(name), !attributes.isKept(name) {
        warn(element, "unknown attribute \(name)=\"\(value)\" of <\(element.name)>; it is kept")
      }
      result.append(.attribute(name: name, value: value))
    }
    return result
  }

  mutating func keep(_ element: XMLElement, of owner: String, _ extras: inout [ModelExtra]) {
    warn(element, "unknown element <\(element.name)> of \(owner); it is kept")
    extras.append(.element(element.fileText))
  }

  /// Keeps an element of a list such as `userInfo`, in its own list, so that it is found there again when the file
  /// is read.
  private mutating func keep(
    _ element: XMLElement, in list: XMLElement, of owner: String, _ extras: inout [ModelExtra]
  ) {
    warn(element, "unknown element <\(element.name)> in <\(list.name)> of \(owner); it is kept")
    let text = element.fileText.replacing("\n", with: "\n    ")
    extras.append(.element("<\(list.name)>\n    \(text)\n</\(list.name)>"))
  }

  private mutating func warnOfAttributes(of list: XMLElement, of owner: String) {
    for (name, value) in list.attributes {
      warn(list, "unknown attribute \(name)=\"\(value)\" of <\(list.name)> of \(owner); it is not kept")
    }
  }

  /// A model file has no text between its elements. Such text indicates a damaged file.
  func refuseText(in element: XMLElement) throws(PersistentStoreError) {
    guard element.hasText else { return }
    var text = element.text.split(separator: "\n").first { $0.utf8.contains { $0 > UInt8(ascii: " ") } } ?? ""
    while let first = text.utf8.first, first <= UInt8(ascii: " ") { text = text.dropFirst() }
    let hint = text.hasPrefix("=======") || text.hasPrefix(">>>>>>>") ? ", left over from a merge" : ""
    throw fail(element, "unexpected text '\(text.prefix(40))' in <\(element.name)>\(hint)", code: .malformed)
  }
}

import AtomicStoreSPI
import StoreCodecs

/// Reads the elements of a `contents` file into a description.
///
/// What it does not interpret is kept as extras: attributes by name and value, elements as text. Those that Xcode is
/// known to write go without a word; others leave a warning with their line.
struct ModelReader {
  let file: String
  private(set) var warnings: [ModelFileWarning] = []

  init(file: String) { self.file = file }

  mutating func warn(_ element: XMLElement, _ text: String) {
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
    // These two every file has, and the writer writes them.
    for (name, usual) in [("type", "com.apple.IDECoreDataModeler.DataModel"), ("documentVersion", "1.0")] {
      guard let value = attributes.take(name), value != usual else { continue }
      warn(root, "\(name) is '\(value)', not '\(usual)': this may be a model of a kind that is not known here")
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
      // Where Xcode draws the entities.
      case "elements": model.extras.append(.element(element.fileText))
      default: keep(element, of: "the model", &model.extras)
      }
    }
    model.entities = try nested(found)
    return model
  }

  private struct FoundEntity {
    var entity: EntityDescription
    var parent: String?
    var element: XMLElement
  }

  /// Puts sub-entities below their parents, which may come before or after them, in the file's order.
  private func nested(_ entities: [FoundEntity]) throws(PersistentStoreError) -> [EntityDescription] {
    var found = entities
    var children: [ScalarString: [Int]] = [:]
    var indexByName: [ScalarString: Int] = [:]
    for (index, entry) in found.enumerated() { indexByName[ScalarString(entry.entity.name)] = index }
    var roots: [Int] = []
    for (index, entry) in found.enumerated() {
      guard let parent = entry.parent else {
        roots.append(index)
        continue
      }
      guard indexByName[ScalarString(parent)] != nil else {
        throw fail(entry.element, "the parent entity '\(parent)' does not exist", entity: entry.entity.name)
      }
      children[ScalarString(parent), default: []].append(index)
    }
    // Breadth first gives an order in which parents come before children; what it does not reach goes in a circle.
    var order = roots
    var depths = [Int](repeating: 0, count: found.count)
    var next = 0
    while next < order.count {
      // Two entities of one name would share their children: only the one that the name leads to has them.
      let name = ScalarString(found[order[next]].entity.name)
      if indexByName[name] == order[next] {
        let depth = depths[order[next]] + 1
        for child in children[name] ?? [] {
          // Nested values are let go of by recursion: what is nested without end would overflow the stack.
          guard depth <= ModelDescription.maximumInheritanceDepth else {
            var error = fail(
              found[child].element, "more than \(ModelDescription.maximumInheritanceDepth) parent entities above each other",
              entity: found[child].entity.name)
            error.code = .limitExceeded
            throw error
          }
          depths[child] = depth
          order.append(child)
        }
      }
      next += 1
      guard depth < ModelDescription.maximumInheritanceDepth else {
        throw fail(
          found[index].element,
          "sub-entities inside each other more than \(ModelDescription.maximumInheritanceDepth) deep",
          entity: found[index].entity.name, code: .limitExceeded)
      }
      // Two entities of one name would share their children: only the one that the name leads to has them.
      let name = ScalarString(found[index].entity.name)
      if indexByName[name] == index { order += (children[name] ?? []).map { ($0, depth + 1) } }
    }
    if order.count < found.count {
      let reached = Set(order.map(\.index))
      let lost = found.indices.filter { !reached.contains($0) }
      let names = lost.map { found[$0].entity.name }.joined(separator: ", ")
      throw fail(found[lost[0]].element, "the parents of \(names) lead in a circle", entity: found[lost[0]].entity.name)
    }
    // From the leaves up: a parent takes its sub-entities when they have theirs.
    for (index, _) in order.reversed() {
      let name = ScalarString(found[index].entity.name)
      guard indexByName[name] == index else { continue }
      found[index].entity.subentities = (children[name] ?? []).map { found[$0].entity }
    }
    return roots.map { found[$0].entity }
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
      case "userInfo": entity.userInfo += userInfo(child, &entity.extras)
      case "uniquenessConstraints":
        for constraint in items(of: child, named: "uniquenessConstraint", knowing: [], extras: &entity.extras) {
          entity.uniquenessConstraints.append(names(in: constraint, item: "constraint"))
        }
      case "compoundIndexes":
        for index in items(of: child, named: "compoundIndex", knowing: [], extras: &entity.extras) {
          entity.compoundIndexes.append(names(in: index, item: "index"))
        }
      case "fetchIndex": entity.fetchIndexes.append(try fetchIndex(child, entity: name))
      default: keep(child, of: "the entity \(name)", &entity.extras)
      }
    }
    return FoundEntity(entity: entity, parent: parent, element: element)
  }

  // MARK: What belongs to entities

  private mutating func attribute(
    _ element: XMLElement, entity: String
  ) throws(PersistentStoreError) -> AttributeDescription {
    var attributes = Attributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "an attribute has no name", entity: entity) }
    let typeName = attributes.take("attributeType") ?? ""
    let composite = typeName == "Composite" ? attributes.take("composite") : nil
    guard let type = AttributeType(modelName: typeName, composite: composite) else {
      throw fail(element, "there is no attribute type '\(typeName)'", entity: entity, property: name)
    }
    var attribute = AttributeDescription(name: name, type: type, isOptional: flag("optional", &attributes, element))
    attribute.isTransient = flag("transient", &attributes, element)
    attribute.isIndexed = flag("indexed", &attributes, element)
    attribute.valueTransformerName = attributes.take("valueTransformerName")
    attribute.attributeValueClassName = attributes.take("customClassName")
    attribute.allowsExternalBinaryDataStorage = flag("allowsExternalBinaryDataStorage", &attributes, element)
    attribute.regularExpression = attributes.take("regularExpressionString")
    attribute.renamingIdentifier = attributes.take("elementID")
    attribute.versionHashModifier = attributes.take("versionHashModifier")
    if flag("derived", &attributes, element) {
      attribute.derivationExpression = attributes.take("derivationExpression") ?? ""
    }
    if type == .string {
      attribute.minimumLength = length("minValueString", &attributes, element, name)
      attribute.maximumLength = length("maxValueString", &attributes, element, name)
    } else {
      attribute.minimum = value("minValueString", "minDateTimeInterval", type, &attributes, element, name)
      attribute.maximum = value("maxValueString", "maxDateTimeInterval", type, &attributes, element, name)
    }
    attribute.defaultValue = value("defaultValueString", "defaultDateTimeInterval", type, &attributes, element, name)
    attribute.extras += extras(&attributes, element)
    for child in element.elements {
      if child.name == "userInfo" {
        attribute.userInfo += userInfo(child, &attribute.extras)
      } else {
        keep(list, of: owner, &extras)
      }
    }
    return attribute
  }

  /// A length; text that is none stays as an extra.
  private mutating func length(
    _ key: String, _ attributes: inout Attributes, _ element: XMLElement, _ property: String
  ) -> Int? {
    guard let text = attributes.take(key) else { return nil }
    if let length = Int(text), length >= 0 { return length }
    warn(element, "\(key)=\"\(text)\" of \(property) is no length; it is kept as it is")
    attributes.put(key, text)
    return nil
  }

  /// A value of the attribute's type; text that is none stays as an extra.
  private mutating func value(
    _ key: String, _ dateKey: String, _ type: AttributeType, _ attributes: inout Attributes, _ element: XMLElement,
    _ property: String
  ) -> StoredValue? {
    if type == .date, let text = attributes.take(dateKey) {
      if let seconds = ExactText.double(Array(text.utf8).span) {
        // Xcode 4 kept what was typed beside the number. The number holds; the text stays an extra without a warning.
        if let typed = attributes.take(key) { attributes.put(key, typed) }
        return .date(Date(timeIntervalSinceReferenceDate: seconds))
      }
      warn(element, "\(dateKey)=\"\(text)\" of \(property) is no number; it is kept as it is")
      attributes.put(dateKey, text)
      return nil
    }
    guard let text = attributes.take(key) else { return nil }
    if let value = Self.value(text, type) {
      return value
    }
    warn(element, "\(key)=\"\(text)\" of \(property) is no value of type \(type.modelName); it is kept as it is")
    attributes.put(key, text)
    return nil
  }

  /// A value from the text that Xcode keeps it as. Old versions wrote `0.0` and `NO` where a number was due.
  static func value(_ text: String, _ type: AttributeType) -> StoredValue? {
    let bytes = Array(text.utf8)
    switch type {
    case .string: return .string(text)
    case .uri: return .uri(text)
    case .boolean:
      switch text.uppercased() {
      case "YES", "TRUE", "1", "1.0": return .boolean(true)
      case "NO", "FALSE", "0", "0.0": return .boolean(false)
      default: return nil
      }
    case .integer16, .integer32, .integer64:
      var number = ExactText.integer(bytes.span)
      if number == nil, let real = ExactText.double(bytes.span), real == real.rounded() { number = Int64(exactly: real) }
      if number == nil { number = text == "NO" ? 0 : text == "YES" ? 1 : nil }
      guard let number, type.accepts(.integer(number)) else { return nil }
      return .integer(number)
    case .double: return ExactText.double(bytes.span).map { .double($0) }
    case .float: return ExactText.float(bytes.span).map { .float($0) }
    case .decimal: return DecimalNumber(text).map { .decimal($0) }
    case .uuid: return ExactText.uuid(bytes.span).map { .uuid($0) }
    case .date: return ExactText.date(bytes.span).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .undefined, .binaryData, .transformable, .composite: return nil
    }
  }

  private mutating func relationship(
    _ element: XMLElement, entity: String
  ) throws(PersistentStoreError) -> RelationshipDescription {
    var attributes = Attributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "a relationship has no name", entity: entity) }
    guard let destination = attributes.take("destinationEntity") else {
      throw fail(element, "the relationship has no destination", entity: entity, property: name)
    }
    var relationship = RelationshipDescription(name: name, destinationEntityName: destination)
    relationship.inverseName = attributes.take("inverseName")
    relationship.isOptional = flag("optional", &attributes, element)
    relationship.isTransient = flag("transient", &attributes, element)
    relationship.isOrdered = flag("ordered", &attributes, element)
    relationship.isIndexed = flag("indexed", &attributes, element)
    relationship.renamingIdentifier = attributes.take("elementID")
    relationship.versionHashModifier = attributes.take("versionHashModifier")
    let isToMany = flag("toMany", &attributes, element)
    relationship.minimumCount = try count("minCount", &attributes, element, entity, name) ?? 0
    let most = try count("maxCount", &attributes, element, entity, name)
    // -1 and 0 mean no bound; a to-many that says 1 is still a to-many for Xcode, bounded by one.
    if isToMany {
      relationship.maximumCount = max(most ?? 0, 0)
      if relationship.maximumCount == 1 {
        warn(element, "\(entity).\(name) is a to-many of at most 1 object; it is read as a to-one")
      }
    } else {
      relationship.maximumCount = 1
      if let most, most != 1 { relationship.maximumCount = max(most, 0) }
    }
    if relationship.minimumCount < 0 {
      warn(element, "minCount=\"\(relationship.minimumCount)\" of \(entity).\(name) is negative; it is read as 0")
      attributes.put("minCount", String(relationship.minimumCount))
      relationship.minimumCount = 0
    }
    // Four files have the attribute under another name.
    if let rule = attributes.take("deletionRule") ?? attributes.take("deleteRule") {
      if let known = DeleteRule(rawValue: rule) {
        relationship.deleteRule = known
      } else {
        throw fail(element, "there is no delete rule '\(rule)'", entity: entity, property: name)
      }
    } else {
      relationship.deleteRule = .nullify
    }
    relationship.extras = extras(&attributes, element)
    for child in element.elements {
      if child.name == "userInfo" {
        relationship.userInfo += userInfo(child, &relationship.extras)
      } else {
        warn(child, "the element <\(child.name)> in \(entity).\(name) is not known; it is kept")
        relationship.extras.append(.element(Self.text(of: child)))
      }
    }
    return relationship
  }

  private func count(
    _ key: String, _ attributes: inout Attributes, _ element: XMLElement, _ entity: String, _ property: String
  ) throws(PersistentStoreError) -> Int? {
    guard let text = attributes.take(key) else { return nil }
    guard let number = Int(text) else {
      throw fail(element, "\(key)=\"\(text)\" is no number", entity: entity, property: property)
    }
    return number
  }

  private mutating func fetchedProperty(
    _ element: XMLElement, entity: String
  ) throws(PersistentStoreError) -> FetchedPropertyDescription {
    var attributes = Attributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "a fetched property has no name", entity: entity) }
    guard let request = element.elements.first(where: { $0.name == "fetchRequest" }) else {
      throw fail(element, "the fetched property has no fetch request", entity: entity, property: name)
    }
    var property = FetchedPropertyDescription(name: name, fetchRequest: try fetchRequest(request))
    property.isOptional = flag("optional", &attributes, element)
    property.renamingIdentifier = attributes.take("elementID")
    property.versionHashModifier = attributes.take("versionHashModifier")
    property.extras = extras(&attributes, element)
    for child in element.elements where child !== request {
      if child.name == "userInfo" {
        property.userInfo += userInfo(child, &property.extras)
      } else {
        warn(child, "the element <\(child.name)> in \(entity).\(name) is not known; it is kept")
        property.extras.append(.element(Self.text(of: child)))
      }
    }
    return property
  }

  private mutating func fetchRequest(_ element: XMLElement) throws(PersistentStoreError) -> FetchRequestDescription {
    var attributes = Attributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "a fetch request has no name") }
    var request = FetchRequestDescription(name: name, entityName: attributes.take("entity") ?? "")
    request.predicateString = attributes.take("predicateString")
    request.fetchLimit = try count("fetchLimit", &attributes, element, "", name)
    request.fetchBatchSize = try count("fetchBatchSize", &attributes, element, "", name)
    request.resultType = attributes.take("resultType")
    request.includesSubentities = optionalFlag("includeSubentities", &attributes, element)
    request.includesPropertyValues = optionalFlag("includePropertyValues", &attributes, element)
    request.includesPendingChanges = optionalFlag("includesPendingChanges", &attributes, element)
    request.returnsObjectsAsFaults = optionalFlag("returnObjectsAsFaults", &attributes, element)
    request.returnsDistinctResults = optionalFlag("returnDistinctResults", &attributes, element)
    request.extras = extras(&attributes, element)
    for child in element.elements {
      warn(child, "the element <\(child.name)> in the fetch request \(name) is not known; it is kept")
      request.extras.append(.element(Self.text(of: child)))
    }
    return request
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
      switch attributes.take("order") {
      case "descending"?: item.isAscending = false
      case "ascending"?, nil: break
      case let order?: throw fail(child, "there is no order '\(order)'", entity: entity, property: name)
      }
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
        keep(child, of: owner, &extras)
      }
    }
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
    request.includesSubentities = try optionalFlag("includeSubentities", &attributes, element)
    request.includesPropertyValues = try optionalFlag("includePropertyValues", &attributes, element)
    request.includesPendingChanges = try optionalFlag("includesPendingChanges", &attributes, element)
    request.returnsObjectsAsFaults = try optionalFlag("returnObjectsAsFaults", &attributes, element)
    request.returnsDistinctResults = try optionalFlag("returnDistinctResults", &attributes, element)
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
      if child.name == "memberEntity", let entity = child[attribute: "name"], child.attributes.count == 1 {
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

  private mutating func userInfo(_ element: XMLElement, _ extras: inout [ModelExtra]) -> [UserInfoEntry] {
    items(of: element, named: "entry", knowing: ["key", "value"], extras: &extras).map {
      UserInfoEntry(key: $0[attribute: "key"] ?? "", value: $0[attribute: "value"] ?? "")
    }
  }

  /// The names that a constraint or an index lists. One that is not of the known kind is left out, with a warning: it
  /// has no place of its own in a description.
  private mutating func names(in list: XMLElement, item: String) -> [String] {
    var names: [String] = []
    for child in list.elements {
      if child.name == item, let name = child[attribute: "value"] {
        names.append(name)
      } else {
        warn(child, "the element <\(child.name)> in <\(list.name)> is not known; it is not kept")
      }
    }
    return names
  }

  // MARK: What is left over

  private mutating func extras(_ attributes: inout Attributes, _ element: XMLElement) -> [ModelExtra] {
    // In Xcode's order, as the writer has it: then what is written reads back equal.
    AttributeOrder.sorted(attributes.rest, of: element.name).map { name, value in
      if !Self.knownExtras.contains(name), !attributes.isKept(name) {
        warn(element, "the attribute \(name)=\"\(value)\" of <\(element.name)> is not known; it is kept")
      }
      result.append(.attribute(name: name, value: value))
    }
    return result
  }

  /// A flag that is not there is off.
  private mutating func flag(_ key: String, _ attributes: inout Attributes, _ element: XMLElement) -> Bool {
    optionalFlag(key, &attributes, element) ?? false
  }

  /// A flag; text that is neither yes nor no stays as an extra.
  private mutating func optionalFlag(
    _ key: String, _ attributes: inout Attributes, _ element: XMLElement
  ) -> Bool? {
    guard let text = attributes.take(key) else { return nil }
    switch text.uppercased() {
    case "YES", "TRUE", "1": return true
    case "NO", "FALSE", "0": return false
    default:
      warn(element, "\(key)=\"\(text)\" of <\(element.name)> is neither YES nor NO; it is kept as it is")
      attributes.put(key, text)
      return nil
    }
  }

  /// The items of a list element such as `userInfo`. What else stands in it, or at an item, is kept in a list element of
  /// its own among the extras: the next reader finds it as this one did.
  private mutating func items(
    of list: XMLElement, named name: String, knowing known: Set<String>, extras: inout [ModelExtra]
  ) -> [XMLElement] {
    var items: [XMLElement] = []
    for child in list.elements {
      if child.name == name, child.attributes.allSatisfy({ known.contains($0.name) }) {
        items.append(child)
      } else {
        warn(child, "the element <\(child.name)> in <\(list.name)> is not of a kind that is known; it is kept, not interpreted")
        extras.append(.element("<\(list.name)>\n    " + Self.text(of: child).replacing("\n", with: "\n    ") + "\n</\(list.name)>"))
      }
    }
    for attribute in list.attributes {
      warn(list, "the attribute \(attribute.name)=\"\(attribute.value)\" of <\(list.name)> is not known; it is not kept")
    }
    return items
  }

  /// An element as text, to be written back.
  static func text(of element: XMLElement) -> String {
    let writer = ByteWriter()
    func write(_ element: XMLElement, depth: Int) {
      writer.append("<")
      writer.append(element.name)
      for attribute in element.attributes {
        writer.append(" ")
        writer.append(attribute.name)
        writer.append("=\"")
        writer.append(xmlEscaped: attribute.value, inAttribute: true)
        writer.append("\"")
      }
      let text = element.text
      let isBlank = text.utf8.allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
      if element.elements.isEmpty, isBlank { return writer.append("/>") }
      writer.append(">")
      for child in element.children {
        switch child {
        // The reader bounds how deep elements may lie.
        case .element(let child):
          if isBlank {
            writer.append(byte: 0x0A)
            writer.append(repeating: 0x20, count: (depth + 1) * 4)
          }
          write(child, depth: depth + 1)
        // Line breaks are escaped, so that indenting the whole does not change the text.
        case .text(let text): if !isBlank { writer.append(xmlEscaped: text, inAttribute: true) }
        }
      }
      if isBlank {
        writer.append(byte: 0x0A)
        writer.append(repeating: 0x20, count: depth * 4)
      }
      writer.append("</")
      writer.append(element.name)
      writer.append(">")
    }
    write(element, depth: 0)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }
}

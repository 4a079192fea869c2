import AtomicStoreSPI
import StoreCodecs

extension ModelReader {
  mutating func attribute(
    _ element: XMLElement, entity: String
  ) throws(PersistentStoreError) -> AttributeDescription {
    try refuseText(in: element)
    var attributes = ElementAttributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "an attribute has no name", entity: entity) }
    let typeName = attributes.take("attributeType") ?? ""
    let composite = typeName == "Composite" ? attributes.take("composite") : nil
    guard let type = AttributeType(modelName: typeName, composite: composite) else {
      throw fail(element, "unknown attribute type '\(typeName)'", entity: entity, property: name)
    }
    var attribute = AttributeDescription(name: name, type: type)
    attribute.isOptional = flag("optional", &attributes, element)
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
    let owner = "\(entity).\(name)"
    if type == .string {
      // Xcode stores the length limits of a string under the names of bounds.
      attribute.minimumLength = length("minValueString", &attributes, element, owner)
      attribute.maximumLength = length("maxValueString", &attributes, element, owner)
    } else {
      attribute.minimum = value("minValueString", "minDateTimeInterval", type, &attributes, element, owner)
      attribute.maximum = value("maxValueString", "maxDateTimeInterval", type, &attributes, element, owner)
    }
    attribute.defaultValue = value("defaultValueString", "defaultDateTimeInterval", type, &attributes, element, owner)
    attribute.extras = extras(&attributes, element)
    for child in element.elements {
      if child.name == "userInfo" {
        try userInfo(child, of: owner, &attribute.userInfo, &attribute.extras)
      } else {
        keep(child, of: owner, &attribute.extras)
      }
    }
    return attribute
  }

  mutating func relationship(
    _ element: XMLElement, entity: String
  ) throws(PersistentStoreError) -> RelationshipDescription {
    try refuseText(in: element)
    var attributes = ElementAttributes(element)
    guard let name = attributes.take("name") else { throw fail(element, "a relationship has no name", entity: entity) }
    guard let destination = attributes.take("destinationEntity") else {
      throw fail(element, "the relationship has no destination", entity: entity, property: name)
    }
    var relationship = RelationshipDescription(name: name, destinationEntityName: destination)
    relationship.inverseName = attributes.take("inverseName")
    // It repeats the destination; if it differs, it is kept.
    if let inverseEntity = attributes.take("inverseEntity") {
      if relationship.inverseName == nil || !inverseEntity.utf8.elementsEqual(destination.utf8) {
        warn(
          element, "the inverse entity of \(entity).\(name) is \(inverseEntity), but its destination is \(destination)")
        attributes.keep("inverseEntity", inverseEntity)
      }
    }
    relationship.isOptional = flag("optional", &attributes, element)
    relationship.isTransient = flag("transient", &attributes, element)
    relationship.isOrdered = flag("ordered", &attributes, element)
    relationship.isIndexed = flag("indexed", &attributes, element)
    relationship.renamingIdentifier = attributes.take("elementID")
    relationship.versionHashModifier = attributes.take("versionHashModifier")
    let isToMany = flag("toMany", &attributes, element)
    // -1 and 0 mean no bound. As in Core Data, the bound decides between to-one and to-many.
    let stated = try count("maxCount", &attributes, element, entity: entity, property: name) ?? (isToMany ? 0 : 1)
    let bounds = 0...Int(Int32.max)
    let most = bounds.contains(stated) ? stated : 0
    relationship.maximumCount = most
    // The original number is part of version hashes.
    if stated != most { attributes.keep("maxCount", String(stated)) }
    if isToMany, most == 1 {
      warn(element, "\(entity).\(name) is a to-many with at most 1 object; it is read as a to-one")
    }
    let least = try count("minCount", &attributes, element, entity: entity, property: name) ?? 0
    relationship.minimumCount = bounds.contains(least) ? least : 0
    if !bounds.contains(least) {
      warn(
        element,
        "minCount=\"\(least)\" of \(entity).\(name) is \(least < 0 ? "negative" : "too large"); it is read as 0")
      attributes.keep("minCount", String(least))
    }
    let rule = try deleteRule(&attributes, element, entity: entity, property: name)
    if let rule { relationship.deleteRule = rule }
    relationship.extras = extras(&attributes, element)
    for child in element.elements {
      if child.name == "userInfo" {
        try userInfo(child, of: "\(entity).\(name)", &relationship.userInfo, &relationship.extras)
      } else {
        keep(child, of: "\(entity).\(name)", &relationship.extras)
      }
    }
    return relationship
  }

  private mutating func deleteRule(
    _ attributes: inout ElementAttributes, _ element: XMLElement, entity: String, property: String
  ) throws(PersistentStoreError) -> DeleteRule? {
    // Some real files misspell it, but the meaning is clear.
    guard let text = attributes.take("deletionRule") ?? attributes.take("deleteRule") else { return nil }
    guard let rule = DeleteRule(rawValue: text) else {
      throw fail(element, "unknown delete rule '\(text)'", entity: entity, property: property)
    }
    return rule
  }

  mutating func fetchedProperty(
    _ element: XMLElement, entity: String
  ) throws(PersistentStoreError) -> FetchedPropertyDescription {
    try refuseText(in: element)
    var attributes = ElementAttributes(element)
    guard let name = attributes.take("name") else {
      throw fail(element, "a fetched property has no name", entity: entity)
    }
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
        try userInfo(child, of: "\(entity).\(name)", &property.userInfo, &property.extras)
      } else {
        keep(child, of: "\(entity).\(name)", &property.extras)
      }
    }
    return property
  }
}

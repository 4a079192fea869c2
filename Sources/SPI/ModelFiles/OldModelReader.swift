import AtomicStoreSPI
import StoreCodecs

/// Reads a model from before Xcode 4: the archive of the modelling tool's objects (`elements`, also within mapping
/// models).
///
/// Each element (`XDPMEntity`, `XDPMAttribute`, …) has stereotypes by name, each of which has properties by name, whose
/// `_default` is the value.
struct OldModelReader {
  let file: String
  private(set) var warnings: [ModelFileWarning] = []
  /// Each element belongs to one list.
  private var seen: Set<Int> = []

  init(file: String) { self.file = file }

  private mutating func warn(_ text: String) { warnings.append(ModelFileWarning(line: nil, text: text)) }

  private func fail(_ text: String, entity: String? = nil, property: String? = nil) -> PersistentStoreError {
    PersistentStoreError(.invalidModel, text, at: StoreLocation(file: file, entity: entity, property: property))
  }

  /// The elements of a list: an array, or the values of a dictionary.
  private func bucket(_ object: KeyedArchive.Value, _ key: String) throws(PersistentStoreError) -> [KeyedArchive.Value]
  {
    guard let list = try object[key] else { return [] }
    if list.classNames.contains("NSDictionary") { return try list.entries().map(\.value) }
    return try list.elements()
  }

  private mutating func claim(_ object: KeyedArchive.Value) throws(PersistentStoreError) {
    guard let index = object.index, seen.insert(index).inserted else {
      throw object.malformed("an element occurs in two lists")
    }
  }

  // MARK: The model

  mutating func model(_ archive: KeyedArchive) throws(PersistentStoreError) -> ModelDescription {
    let top = archive.top.map(\.value).first { $0.className == "XDPMModel" }
    guard let root = top ?? archive.objects(ofClass: "XDPMModel").first else {
      throw fail("the archive contains no object of the class XDPMModel")
    }
    guard let package = try root["_xd_rootPackage"] else { throw root.malformed("the model has no package") }
    var model = ModelDescription()
    if let version = try root.string("_modelVersionIdentifier") { model.versionIdentifiers = [version] }
    var found: [EntityNesting.Found] = []
    for element in try bucket(package, "XDBucketForClassesstorage") where element.className == "XDPMEntity" {
      try claim(element)
      let (entity, requests) = try entity(element)
      found.append(entity)
      model.fetchRequestTemplates += requests
    }
    model.entities = try EntityNesting.nested(found, file: file)
    model.fetchRequestTemplates.sort { ScalarString($0.name) < ScalarString($1.name) }
    if let configurations = try root["_configurationsByName"], configurations.classNames.contains("NSDictionary") {
      for (name, members) in try configurations.entries() where name != "Default" {
        try addConfiguration(name, members, to: &model)
      }
    }
    return model
  }

  private mutating func addConfiguration(
    _ name: String, _ members: KeyedArchive.Value, to model: inout ModelDescription
  ) throws(PersistentStoreError) {
    var names: [String] = []
    if members.classNames.contains(where: { ["NSArray", "NSSet"].contains($0) }) {
      for member in try members.elements() {
        if let text = try member.stringOrName("_name") { names.append(text) }
      }
    }
    // No file with members was available.
    if names.isEmpty { warn("the members of the configuration '\(name)' are unknown") }
    model.configurations.append(
      ConfigurationDescription(name: name, entityNames: names.map { ScalarString($0) }.sorted().map(\.string)))
  }

  // MARK: Values

  /// The values of an element, by stereotype and key.
  private struct Stereotypes {
    var values: [String: [String: KeyedArchive.Value]] = [:]

    init(
      _ element: KeyedArchive.Value,
      _ bucket: (KeyedArchive.Value, String) throws(PersistentStoreError) -> [KeyedArchive.Value]
    )
      throws(PersistentStoreError)
    {
      // The key under which something is listed differs between versions of the tool: use its own name.
      for stereotype in try bucket(element, "XDBucketForStereotypesstorage") {
        let name = try stereotype.requiredString("_name")
        for property in try bucket(stereotype, "XDBucketForOwnedAttributesstorage") {
          if let value = try property["_default"] {
            values[name, default: [:]][try property.requiredString("_name")] = value
          }
        }
      }
    }

    subscript(stereotype: String, key: String) -> KeyedArchive.Value? { values[stereotype]?[key] }

    func string(_ stereotype: String, _ key: String) throws(PersistentStoreError) -> String? {
      guard let value = self[stereotype, key] else { return nil }
      guard let text = value.stringValue else { throw value.malformed("\(key) must be a string") }
      return text
    }
    func integer(_ stereotype: String, _ key: String) throws(PersistentStoreError) -> Int? {
      guard let value = self[stereotype, key] else { return nil }
      guard let number = value.integerValue else { throw value.malformed("\(key) must be an integer") }
      return number
    }
    func flag(_ stereotype: String, _ key: String) throws(PersistentStoreError) -> Bool {
      try integer(stereotype, key).map { $0 != 0 } ?? false
    }
    func nameLists(_ stereotype: String, _ key: String) throws(PersistentStoreError) -> [[String]] {
      guard let value = self[stereotype, key] else { return [] }
      var result: [[String]] = []
      for list in try value.elements() {
        if let text = list.stringValue {
          result.append(text.split(separator: ",").map { String($0.trimmed) })
          continue
        }
        var names: [String] = []
        for name in try list.elements() {
          guard let text = try name.stringOrName("_name") else { throw name.malformed("a property's name is expected") }
          names.append(text)
        }
        result.append(names)
      }
      return result
    }
    func userInfo(_ stereotype: String, _ key: String) throws(PersistentStoreError) -> [UserInfoEntry] {
      guard let value = self[stereotype, key] else { return [] }
      return try value.entries().compactMap { entry in
        (entry.value.stringValue ?? entry.value.integerValue.map(String.init)).map {
          UserInfoEntry(key: entry.key, value: $0)
        }
      }.sorted { ScalarString($0.key) < ScalarString($1.key) }
    }
  }

  private func stereotypes(_ element: KeyedArchive.Value) throws(PersistentStoreError) -> Stereotypes {
    try Stereotypes(element) { object, key throws(PersistentStoreError) in try bucket(object, key) }
  }

  // MARK: Entities

  private mutating func entity(
    _ element: KeyedArchive.Value
  ) throws(PersistentStoreError) -> (EntityNesting.Found, [FetchRequestDescription]) {
    let name = try element.requiredString("_name")
    let values = try stereotypes(element)
    let own = "XD_PStereotype"
    var entity = EntityDescription(name: name)
    entity.isAbstract = try element.boolean("_isAbstract")
    let className = try values.string(own, "XD_PSK_entityClassName")
    entity.managedObjectClassName = className == "NSManagedObject" || className == "" ? nil : className
    entity.userInfo = try values.userInfo(own, "XD_PSK_userInfo")
    entity.renamingIdentifier = try values.string(own, "XD_PSK_elementID").flatMap { $0.isEmpty ? nil : $0 }
    entity.versionHashModifier = try values.string(own, "XD_PSK_versionHashModifier").flatMap { $0.isEmpty ? nil : $0 }
    entity.compoundIndexes = try values.nameLists(own, "XDPMCompoundIndexes")
    entity.uniquenessConstraints = try values.nameLists(own, "XDPMUniquenessConstraints")
    for property in try bucket(element, "XDBucketForOwnedAttributesstorage") {
      try claim(property)
      entity.properties.append(try self.property(property, of: name))
    }
    entity.properties.sort { CompiledModelReader.rank($0) < CompiledModelReader.rank($1) }
    var requests: [FetchRequestDescription] = []
    for request in try values[own, "XD_PSK_fetchRequestsArray"]?.elements() ?? [] {
      requests.append(try fetchRequest(request, entity: name))
    }
    var parent: String?
    for generalization in try bucket(element, "XDBucketForGeneralizationsstorage") where parent == nil {
      parent = try generalization["_general"]?.requiredString("_name")
    }
    return (EntityNesting.Found(entity: entity, parent: parent), requests)
  }

  private func fetchRequest(
    _ object: KeyedArchive.Value, entity: String
  ) throws(PersistentStoreError) -> FetchRequestDescription {
    FetchRequestDescription(
      name: try object.string("_name") ?? "fetchRequest", entityName: try object["_entity"]?.string("_name") ?? entity,
      predicateString: try object.string("_predicateString"))
  }

  // MARK: Properties

  private mutating func property(_ element: KeyedArchive.Value, of entity: String) throws(PersistentStoreError)
    -> PropertyDescription
  {
    let name = try element.requiredString("_name")
    let values = try stereotypes(element)
    switch element.className {
    case "XDPMAttribute"?: return .attribute(try attribute(values, name, of: entity))
    case "XDPMRelationship"?: return .relationship(try relationship(values, name, of: entity))
    case "XDPMFetchedProperty"?:
      guard let request = values["XD_PFP_Stereotype", "XD_PFP_fetchRequestKey"] else {
        throw fail("the fetched property has no fetch request", entity: entity, property: name)
      }
      var property = FetchedPropertyDescription(name: name, fetchRequest: try fetchRequest(request, entity: entity))
      property.isOptional = try values.flag(Self.common, "XD_PPSK_isOptional")
      property.userInfo = try values.userInfo(Self.common, "XD_PPSK_userInfo")
      return .fetchedProperty(property)
    case let other: throw fail("unknown property class \(other ?? "none")", entity: entity, property: name)
    }
  }

  private static let common = "XD_PPropStereotype"

  private func extras(_ values: Stereotypes) throws(PersistentStoreError) -> [ModelExtra] {
    var extras: [ModelExtra] = []
    if try values.flag(Self.common, "XD_PPSK_isSpotlightIndexed") {
      extras.append(.attribute(name: "spotlightIndexingEnabled", value: "YES"))
    }
    if try values.flag(Self.common, "XD_PPSK_isStoredInTruthFile") {
      extras.append(.attribute(name: "storedInTruthFile", value: "YES"))
    }
    return extras
  }

  private mutating func attribute(
    _ values: Stereotypes, _ name: String, of entity: String
  ) throws(PersistentStoreError) -> AttributeDescription {
    let own = "XD_PAtt_Stereotype"
    let number = try values.integer(own, "XD_PAttK_attributeType") ?? 0
    guard let type = AttributeType(versionHashNumber: number), type != .composite("") else {
      throw fail("unknown attribute type number \(number)", entity: entity, property: name)
    }
    var attribute = AttributeDescription(name: name, type: type)
    attribute.isOptional = try values.flag(Self.common, "XD_PPSK_isOptional")
    attribute.isTransient = try values.flag(Self.common, "XD_PPSK_isTransient")
    attribute.isIndexed = try values.flag(Self.common, "XD_PPSK_isIndexed")
    attribute.userInfo = try values.userInfo(Self.common, "XD_PPSK_userInfo")
    attribute.renamingIdentifier = try text(values, Self.common, "XD_PPSK_elementID")
    attribute.versionHashModifier = try text(values, Self.common, "XD_PPSK_versionHashModifier")
    attribute.valueTransformerName = try text(values, own, "XD_PAttK_valueTransformerName")
    attribute.allowsExternalBinaryDataStorage = try values.flag(own, "XD_PAttK_allowsExternalBinaryDataStorage")
    attribute.regularExpression = try text(values, own, "XD_PAttK_regularExpressionString")
    attribute.extras = try extras(values)
    if let text = try values.string(own, "XD_PAttK_defaultValueAsString"), !text.isEmpty || type == .string {
      attribute.defaultValue = value(text, "default", entity, attribute)
    }
    let least = try text(values, own, "XD_PAttK_minValueString")
    let most = try text(values, own, "XD_PAttK_maxValueString")
    if type == .string {
      attribute.minimumLength = least.flatMap { Int($0) }
      attribute.maximumLength = most.flatMap { Int($0) }
    } else {
      attribute.minimum = least.flatMap { value($0, "minimum value", entity, attribute) }
      attribute.maximum = most.flatMap { value($0, "maximum value", entity, attribute) }
    }
    return attribute
  }

  private func text(_ values: Stereotypes, _ stereotype: String, _ key: String) throws(PersistentStoreError) -> String?
  {
    try values.string(stereotype, key).flatMap { $0.isEmpty ? nil : $0 }
  }

  private mutating func value(_ text: String, _ what: String, _ entity: String, _ attribute: AttributeDescription)
    -> StoredValue?
  {
    if let value = ModelReader.value(text, attribute.type) { return value }
    warn(
      "the \(what) '\(text.prefix(60))' of \(entity).\(attribute.name) is not a value of type \(attribute.type.modelName); it is ignored"
    )
    return nil
  }

  private func relationship(
    _ values: Stereotypes, _ name: String, of entity: String
  ) throws(PersistentStoreError) -> RelationshipDescription {
    let own = "XD_PR_Stereotype"
    guard let destination = try values[own, "XD_PRK_destination"]?.string("_name") else {
      throw fail("the relationship has no destination", entity: entity, property: name)
    }
    var relationship = RelationshipDescription(name: name, destinationEntityName: destination)
    relationship.inverseName = try values[own, "XD_PRK_inverseRelationship"]?.string("_name")
    relationship.isOptional = try values.flag(Self.common, "XD_PPSK_isOptional")
    relationship.isTransient = try values.flag(Self.common, "XD_PPSK_isTransient")
    relationship.isIndexed = try values.flag(Self.common, "XD_PPSK_isIndexed")
    relationship.isOrdered = try values.flag(own, "XD_PRK_ordered")
    relationship.userInfo = try values.userInfo(Self.common, "XD_PPSK_userInfo")
    relationship.renamingIdentifier = try text(values, Self.common, "XD_PPSK_elementID")
    relationship.versionHashModifier = try text(values, Self.common, "XD_PPSK_versionHashModifier")
    relationship.extras = try extras(values)
    let isToMany = try values.flag(own, "XD_PRK_isToMany")
    // The minimum count is used as it is stored, also for an optional relationship.
    relationship.setBounds(
      least: try values.integer(own, "XD_PRK_minCount") ?? 0,
      most: try values.integer(own, "XD_PRK_maxCount") ?? (isToMany ? 0 : 1))
    let rules: [Int: DeleteRule] = [0: .noAction, 1: .nullify, 2: .cascade, 3: .deny]
    let number = try values.integer(own, "XD_PRK_deleteRule") ?? 1
    guard let rule = rules[number] else {
      throw fail("unknown delete rule number \(number)", entity: entity, property: name)
    }
    relationship.deleteRule = rule
    return relationship
  }
}

extension Substring {
  /// Without leading and trailing white space.
  fileprivate var trimmed: Substring {
    var text = self
    while text.utf8.first == UInt8(ascii: " ") { text = text.dropFirst() }
    while text.utf8.last == UInt8(ascii: " ") { text = text.dropLast() }
    return text
  }
}

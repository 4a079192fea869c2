import AtomicStoreSPI
import StoreCodecs

/// Reads a compiled model: the archive of an `NSManagedObjectModel`, as in `.mom` files and in the model cache of
/// SQLite stores.
///
/// What a model file cannot express is omitted with a warning that names it. What is not understood is an error, since
/// a model without it would be a different model.
struct CompiledModelReader {
  let file: String
  private(set) var warnings: [ModelFileWarning] = []
  var predicates = ArchivedPredicateText()
  var composites: [CompositeDescription] = []
  /// Each property belongs to one entity; a shared one would be copied for each reference.
  private var seen: Set<Int> = []

  init(file: String) { self.file = file }

  mutating func warn(_ text: String) { warnings.append(ModelFileWarning(line: nil, text: text)) }

  func fail(
    _ text: String, _ code: PersistentStoreError.Code = .invalidModel, entity: String? = nil, property: String? = nil
  ) -> PersistentStoreError {
    PersistentStoreError(code, text, at: StoreLocation(file: file, entity: entity, property: property))
  }

  // MARK: The model

  mutating func model(_ archive: KeyedArchive) throws(PersistentStoreError) -> ModelDescription {
    let root = try archive.root.expect(class: "NSManagedObjectModel")
    var model = ModelDescription()
    let identifiers = try root.list("NSVersionIdentifiers")?.compactMap(\.stringValue) ?? []
    model.versionIdentifiers = identifiers.map { ScalarString($0) }.sorted().map(\.string)
    var found: [EntityNesting.Found] = []
    for (name, object) in try root.dictionary("NSEntities") ?? [] {
      try claim(object, "an entity")
      found.append(try entity(try object.expect(class: "NSEntityDescription"), name))
    }
    removeInherited(&found)
    model.entities = try EntityNesting.nested(found, file: file)
    model.composites = composites
    for (name, request) in try root.dictionary("NSFetchRequestTemplates") ?? [] {
      model.fetchRequestTemplates.append(try fetchRequest(request, name: name))
    }
    model.fetchRequestTemplates.sort { ScalarString($0.name) < ScalarString($1.name) }
    for (name, entities) in try root.dictionary("NSConfigurations") ?? [] where name != "PF_DEFAULT_CONFIGURATION_NAME"
    {
      var names: [String] = []
      for entity in try entities.elements() {
        guard let text = try entity.stringOrName("NSEntityName") else {
          throw entity.malformed("an entity is expected")
        }
        names.append(text)
      }
      model.configurations.append(
        ConfigurationDescription(name: name, entityNames: names.map { ScalarString($0) }.sorted().map(\.string)))
    }
    model.configurations.sort { ScalarString($0.name) < ScalarString($1.name) }
    return model
  }

  /// - Throws: `.malformed` for an object that was already read.
  mutating func claim(_ object: KeyedArchive.Value, _ what: String) throws(PersistentStoreError) {
    guard let index = object.index, seen.insert(index).inserted else {
      throw object.malformed("\(what) occurs twice, or is not an object")
    }
  }

  // MARK: Entities

  private mutating func entity(_ object: KeyedArchive.Value, _ key: String) throws(PersistentStoreError)
    -> EntityNesting.Found
  {
    let name = try object.requiredString("NSEntityName")
    guard ScalarString(name) == ScalarString(key) else {
      throw object.malformed("the entity '\(name)' is listed under the name '\(key)'")
    }
    var entity = EntityDescription(name: name)
    entity.isAbstract = try object.boolean("NSIsAbstract")
    let className = try object.string("NSClassNameForEntity")
    entity.managedObjectClassName = className == "NSManagedObject" ? nil : className
    let renaming = try object.string("NSRenamingIdentifier")
    entity.renamingIdentifier = renaming == name ? nil : renaming
    entity.versionHashModifier = try object.string("NSVersionHashModifier")
    entity.userInfo = try userInfo(object, owner: name)
    entity.uniquenessConstraints = try nameLists(object, "NSUniqueTuples")
    entity.compoundIndexes = try nameLists(object, "NSCompoundIndexes")
    for index in try indexes(object) { entity.fetchIndexes.append(try fetchIndex(index, of: name)) }
    for (_, property) in try object.dictionary("NSProperties") ?? [] {
      // In flattened models, inherited properties repeat those of the super-entity.
      if property.className == "_NSPropertyDescriptionProxy" { continue }
      try claim(property, "a property")
      entity.properties.append(try self.property(property, of: name))
    }
    entity.properties.sort { Self.rank($0) < Self.rank($1) }
    var parent: String?
    if let superentity = try object["NSSuperentity"] {
      parent = try superentity.expect(class: "NSEntityDescription").requiredString("NSEntityName")
    }
    return EntityNesting.Found(entity: entity, parent: parent)
  }

  /// The order in which Xcode lists them: attributes, relationships, fetched properties, each by name.
  static func rank(_ property: PropertyDescription) -> (Int, ScalarString) {
    let kind =
      switch property {
      case .attribute: 0
      case .relationship: 1
      case .fetchedProperty: 2
      }
    return (kind, ScalarString(property.name))
  }

  /// Removes the properties of an entity that repeat inherited ones unchanged.
  private func removeInherited(_ found: inout [EntityNesting.Found]) {
    var indexByName: [ScalarString: Int] = [:]
    for (index, entry) in found.enumerated() { indexByName[ScalarString(entry.entity.name)] = index }
    let own = found.map { entry in
      Dictionary(entry.entity.properties.map { (ScalarString($0.name), $0) }, uniquingKeysWith: { first, _ in first })
    }
    for index in found.indices {
      var above = found[index].parent.flatMap { indexByName[ScalarString($0)] }
      // Parents may form a cycle, which is detected later.
      for _ in 0..<ModelDescription.maximumInheritanceDepth {
        guard let parent = above else { break }
        found[index].entity.properties.removeAll { own[parent][ScalarString($0.name)] == $0 }
        above = found[parent].parent.flatMap { indexByName[ScalarString($0)] }
      }
    }
  }

  /// The entries by key. Only string values can be in a model file.
  mutating func userInfo(_ object: KeyedArchive.Value, owner: String) throws(PersistentStoreError) -> [UserInfoEntry] {
    var result: [UserInfoEntry] = []
    for (key, value) in try object.dictionary("NSUserInfo") ?? [] {
      if let text = value.stringValue ?? value.integerValue.map(String.init) {
        result.append(UserInfoEntry(key: key, value: text))
      } else {
        warn("the user info '\(key)' of \(owner) is not a string; it is ignored")
      }
    }
    return result.sorted { ScalarString($0.key) < ScalarString($1.key) }
  }

  private func nameLists(_ object: KeyedArchive.Value, _ key: String) throws(PersistentStoreError) -> [[String]] {
    var result: [[String]] = []
    for list in try object.list(key) ?? [] {
      var names: [String] = []
      for name in try list.elements() {
        guard let text = try name.stringOrName("NSPropertyName") else {
          throw name.malformed("a property's name is expected")
        }
        names.append(text)
      }
      result.append(names)
    }
    return result
  }

  // MARK: Indexes

  /// Reads an array, or a dictionary by name.
  private func indexes(_ object: KeyedArchive.Value) throws(PersistentStoreError) -> [KeyedArchive.Value] {
    guard let list = try object["NSFetchIndexDescriptions"] else { return [] }
    if list.classNames.contains("NSDictionary") { return try list.entries().map(\.value) }
    return try list.elements()
  }

  private mutating func fetchIndex(
    _ object: KeyedArchive.Value, of owner: String
  ) throws(PersistentStoreError) -> FetchIndexDescription {
    var index = FetchIndexDescription(name: try object.requiredString("NSIndexName"), elements: [])
    for item in try object.list("NSIndexElements") ?? [] {
      let name = try item.string("NSPropertyName")
      if name == nil { warn("an element of the index '\(index.name)' of \(owner) is an expression; it is ignored") }
      guard let name else { continue }
      index.elements.append(
        .init(
          propertyName: name, collationType: try item.integer("NSFetchIndexElementType") == 1 ? "RTree" : "Binary",
          isAscending: try item.integer("NSAscending") != 0))
    }
    if let condition = try object["NSPartialIndexPredicate"] {
      index.partialIndexPredicate = try predicates.predicate(condition)
      if index.partialIndexPredicate == nil {
        warn("the predicate of the index '\(index.name)' of \(owner) cannot be converted to text; it is ignored")
      }
    }
    return index
  }

  // MARK: Fetch requests

  mutating func fetchRequest(
    _ object: KeyedArchive.Value, name: String
  ) throws(PersistentStoreError) -> FetchRequestDescription {
    var request = FetchRequestDescription(name: name, entityName: "")
    request.entityName = try object.string("NSEntityName") ?? ""
    if let entity = try object["NSEntity"] { request.entityName = try entity.stringOrName("NSEntityName") ?? "" }
    if let condition = try object["NSPredicate"] {
      request.predicateString = try predicates.predicate(condition)
      if request.predicateString == nil {
        warn("the predicate of the fetch request '\(name)' cannot be converted to text; it is ignored")
      }
    }
    if let limit = try object.integer("NSFetchLimit"), limit > 0 { request.fetchLimit = limit }
    if let size = try object.integer("NSBatchSize"), size > 0 { request.fetchBatchSize = size }
    if let type = try object.integer("NSResultType"), type != 0 { request.resultType = String(type) }
    for key in try object.list("NSSortDescriptors") ?? [] {
      guard let path = try key.string("NSKey") else { continue }
      request.sortOrder.append(.init(path, isAscending: try key.boolean("NSAscending")))
    }
    return request
  }
}

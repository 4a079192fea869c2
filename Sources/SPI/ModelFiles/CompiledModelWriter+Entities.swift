import AtomicStoreSPI
import StoreCodecs

extension CompiledModelWriter {
  private struct Listed {
    let entity: EntityDescription
    let parent: ScalarString?
  }

  /// - Throws: `.notSupported` for what no known compiled model has: composite attributes, and predicates that are not
  ///   understood.
  mutating func bytes(of model: ModelDescription) throws(PersistentStoreError) -> [UInt8] {
    let root = archive.reserve()
    var listed: [Listed] = []
    // A stack, since the depth is the model's.
    var waiting = model.entities.reversed().map { Listed(entity: $0, parent: nil) }
    while let next = waiting.popLast() {
      let name = ScalarString(next.entity.name)
      listed.append(next)
      entities[name] = archive.reserve()
      parents[name] = next.parent
      for property in next.entity.properties {
        properties[PropertyKey(entity: name, name: ScalarString(property.name))] = archive.reserve()
      }
      waiting += next.entity.subentities.reversed().map { Listed(entity: $0, parent: name) }
    }
    for item in listed { try write(item, in: root) }
    var requests: [(String, PropertyListValue?)] = []
    for request in model.fetchRequestTemplates {
      requests.append((request.name, try fetchRequest(request, "the fetch request '\(request.name)'")))
    }
    // Xcode writes an empty identifier where a model has none.
    let identifiers = (model.versionIdentifiers.isEmpty ? [""] : model.versionIdentifiers).map { text($0) }
    var fields: PropertyListDictionary = [
      "NSEntities": dictionary(listed.map { ($0.entity.name, entities[ScalarString($0.entity.name)]) }),
      "NSFetchRequestTemplates": requests.isEmpty ? KeyedArchiveBuilder.nothing : dictionary(requests),
      "NSVersionIdentifiers": archive.object(["NS.objects": .array(identifiers)], class: ["NSSet", "NSObject"]),
    ]
    if !model.configurations.isEmpty {
      fields["NSConfigurations"] = dictionary(
        model.configurations.map { configuration in
          (
            configuration.name,
            archive.array(configuration.entityNames.compactMap { entities[ScalarString($0)] }, isMutable: true)
          )
        })
    }
    archive.set(root, fields, class: ["NSManagedObjectModel", "NSObject"])
    return try PropertyList.encodeBinary(archive.finish(["root": root]))
  }

  // MARK: Entities

  private mutating func write(_ item: Listed, in root: PropertyListValue) throws(PersistentStoreError) {
    let entity = item.entity
    let name = ScalarString(entity.name)
    guard let reference = entities[name] else { return }
    var fields: PropertyListDictionary = [
      "NSEntityName": text(entity.name),
      "NSClassNameForEntity": text(entity.managedObjectClassName ?? "NSManagedObject"),
      "NSRenamingIdentifier": text(entity.renamingIdentifier ?? entity.name),
      "NSVersionHashModifier": text(entity.versionHashModifier),
      "NSUserInfo": userInfo(entity.userInfo),
      "NSManagedObjectModel": root,
      "NSSuperentity": item.parent.flatMap { entities[$0] } ?? KeyedArchiveBuilder.nothing,
      "NSSubentities": dictionary(entity.subentities.map { ($0.name, entities[ScalarString($0.name)]) }),
      "NSProperties": dictionary(
        entity.properties.map { ($0.name, properties[PropertyKey(entity: name, name: ScalarString($0.name))]) }),
    ]
    if entity.isAbstract { fields["NSIsAbstract"] = true }
    if !entity.uniquenessConstraints.isEmpty { fields["NSUniqueTuples"] = names(entity.uniquenessConstraints) }
    if !entity.compoundIndexes.isEmpty { fields["NSCompoundIndexes"] = names(entity.compoundIndexes) }
    var indexes: [PropertyListValue] = []
    for index in entity.fetchIndexes { indexes.append(try fetchIndex(index, of: entity.name, reference)) }
    if !indexes.isEmpty { fields["NSFetchIndexDescriptions"] = archive.array(indexes, isMutable: true) }
    archive.set(reference, fields, class: ["NSEntityDescription", "NSObject"])
    for property in entity.properties {
      guard let place = properties[PropertyKey(entity: name, name: ScalarString(property.name))] else { continue }
      switch property {
      case .attribute(let attribute): try write(attribute, at: place, of: entity.name, reference)
      case .relationship(let relationship): write(relationship, at: place, reference)
      case .fetchedProperty(let fetched): try write(fetched, at: place, of: entity.name, reference)
      }
    }
  }

  private mutating func fetchIndex(
    _ index: FetchIndexDescription, of owner: String, _ entity: PropertyListValue
  ) throws(PersistentStoreError) -> PropertyListValue {
    let place = archive.reserve()
    var elements: [PropertyListValue] = []
    for element in index.elements {
      guard let name = element.propertyName else {
        throw fail("an element of the index '\(index.name)' is an expression", entity: owner)
      }
      let property = text(name)
      elements.append(
        archive.object(
          [
            "NSPropertyName": property, "NSFetchIndexElementType": element.collationType == "RTree" ? 1 : 0,
            "NSFetchIndexDescription": place, "NSAscending": .boolean(element.isAscending),
          ], class: ["NSFetchIndexElementDescription", "NSObject"]))
    }
    let condition = try predicate(index.partialIndexPredicate, "the predicate of the index '\(index.name)'", owner)
    let fields: PropertyListDictionary = [
      "NSIndexName": text(index.name), "NSPartialIndexPredicate": condition, "NSIndexElements": archive.array(elements),
      "NSEntity": entity,
    ]
    archive.set(place, fields, class: ["NSFetchIndexDescription", "NSObject"])
    return place
  }
}

import AtomicStoreSPI
import StoreCodecs

extension MappingModel {
  /// Reads a `.cdm`: the archive of an `NSMappingModel`.
  static func compiled(_ archive: KeyedArchive) throws(PersistentStoreError) -> MappingModel {
    let root = try archive.root.expect(class: "NSMappingModel")
    var expressions = ArchivedPredicateText()
    var result: [EntityMapping] = []
    for object in try root.list("NSEntityMappings") ?? [] {
      let kinds = [1: "custom", 2: "add", 3: "remove", 4: "copy", 5: "transform"]
      var mapping = EntityMapping(
        name: try object.string("NSMappingName") ?? "",
        kind: kinds[try object.integer("NSMappingType") ?? 0] ?? "undefined",
        sourceEntityName: try object.string("NSSourceEntityName"),
        destinationEntityName: try object.string("NSDestinationEntityName"))
      mapping.sourceHash = try hash(object, "NSSourceEntityVersionHash", mapping.sourceEntityName)
      mapping.destinationHash = try hash(object, "NSDestinationEntityVersionHash", mapping.destinationEntityName)
      mapping.policyClassName = try object.string("NSEntityMigrationPolicyClassName")
      if let expression = try object["NSSourceExpression"] {
        mapping.sourceExpression = try expressions.expression(expression)
        mapping.isSourceUnreadable = mapping.sourceExpression == nil
      }
      if let information = try object["NSUserInfo"] { mapping.userInfo = try texts(in: information) }
      for (key, isRelationship) in [("NSAttributeMappings", false), ("NSRelationshipMappings", true)] {
        var list: [PropertyMapping] = []
        for property in try object.list(key) ?? [] {
          var found = PropertyMapping(
            name: try property.string("NSDestinationPropertyName") ?? "", isRelationship: isRelationship)
          if let expression = try property["NSValueExpression"] {
            found.expression = try expressions.expression(expression)
            found.isUnreadable = found.expression == nil
          }
          list.append(found)
        }
        mapping.properties += list.sorted { ScalarString($0.name) < ScalarString($1.name) }
      }
      result.append(mapping)
    }
    return MappingModel(entityMappings: result)
  }

  private static func hash(
    _ object: KeyedArchive.Value, _ key: String, _ name: String?
  ) throws(PersistentStoreError) -> VersionHashes.Entry? {
    guard let name, let hash = try object[key]?.dataValue else { return nil }
    return VersionHashes.Entry(entityName: name, hash: hash)
  }

  /// The texts and whole numbers of a dictionary, by key.
  static func texts(in information: KeyedArchive.Value) throws(PersistentStoreError) -> [String: String] {
    guard information.classNames.contains("NSDictionary") else { return [:] }
    var result: [String: String] = [:]
    for (key, value) in try information.entries() {
      result[key] = value.stringValue ?? value.integerValue.map { String($0) }
    }
    return result
  }
}

/// The order in which Xcode writes an element's XML attributes. Versions 4 to 16 agree, but for one attribute of the model.
enum AttributeOrder {
  private static let ranks: [String: [String: Int]] = [
    "model": [
      "name", "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
      "sourceLanguage", "usedWithCloudKit", "usedWithSwiftData", "userDefinedModelVersionIdentifier", "macOSVersion",
      "iOSVersion",
    ],
    "entity": [
      "name", "representedClassName", "isAbstract", "parentEntity", "elementID", "syncable", "codeGenerationType",
      "versionHashModifier",
    ],
    "attribute": [
      "name", "optional", "transient", "attributeType", "composite", "derived", "derivationExpression",
      "minDateTimeInterval", "minValueString", "maxDateTimeInterval", "maxValueString", "defaultDateTimeInterval",
      "defaultValueString", "regularExpressionString", "usesScalarValueType", "indexed", "elementID",
      "valueTransformerName", "allowsCloudEncryption", "allowsExternalBinaryDataStorage", "customClassName",
      "preserveAfterDeletion", "spotlightIndexingEnabled", "storedInTruthFile", "syncable", "versionHashModifier",
    ],
    "relationship": [
      "name", "optional", "transient", "toMany", "minCount", "maxCount", "deletionRule", "ordered", "destinationEntity",
      "inverseName", "inverseEntity", "elementID", "indexed", "spotlightIndexingEnabled", "syncable",
      "versionHashModifier",
    ],
    "fetchRequest": [
      "name", "entity", "predicateString", "fetchLimit", "fetchBatchSize", "includeSubentities", "includePropertyValues",
      "includesPendingChanges", "returnObjectsAsFaults", "returnDistinctResults", "resultType",
    ],
  ].mapValues { names in
    Dictionary(names.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
  }

  /// The attributes in Xcode's order; those that it does not know follow, in the order they are in.
  static func sorted(
    _ attributes: [(name: String, value: String)], of element: String
  ) -> [(name: String, value: String)] {
    guard var rank = ranks[element] else { return attributes }
    // Before Xcode 8, whose tools are 11201, the version identifier came right after the name. Xcode 4's are 1171; SwiftData says 1.
    if element == "model", let tools = attributes.first(where: { $0.name == "lastSavedToolsVersion" })?.value,
      let major = Int(tools.prefix { $0 != "." }), (1000..<11_000).contains(major)
    {
      rank["name"] = -2
      rank["userDefinedModelVersionIdentifier"] = -1
    }
    return attributes.enumerated().sorted { one, other in
      let (a, b) = (rank[one.element.name] ?? .max, rank[other.element.name] ?? .max)
      return a == b ? one.offset < other.offset : a < b
    }.map(\.element)
  }
}

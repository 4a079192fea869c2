package import AtomicStoreSPI

/// A mapping model: how the entities of one version of a model become those of another, as Xcode's mapping editor
/// defines it. `StoreMigration` follows it.
package struct MappingModel: Sendable {
  /// The mapping of one property of the destination.
  package struct PropertyMapping: Sendable, Equatable {
    /// The property of the destination.
    package var name: String
    /// Whether it is listed among the relationships.
    package var isRelationship = false
    /// The expression for its value, as text; nil if there is none.
    package var expression: String?
    /// Whether the file contains an expression that cannot be converted to text.
    package var isUnreadable = false
  }

  /// The mapping of objects of one entity to those of another.
  package struct EntityMapping: Sendable, Equatable {
    /// The name of the mapping, such as `PersonToPerson`.
    package var name: String
    /// `custom`, `add`, `remove`, `copy`, `transform` or `undefined`.
    package var kind: String
    /// The source entity; nil if the mapping adds objects.
    package var sourceEntityName: String?
    /// The destination entity; nil if the mapping removes objects.
    package var destinationEntityName: String?
    /// The version hash of the source entity; nil if the file does not contain it.
    package var sourceHash: VersionHashes.Entry?
    /// The version hash of the destination entity; nil if the file does not contain it.
    package var destinationHash: VersionHashes.Entry?
    /// The expression that selects the source objects, as text.
    package var sourceExpression: String?
    /// Whether the file contains a source expression that cannot be converted to text.
    package var isSourceUnreadable = false
    /// The class of a custom migration policy; nil for none.
    package var policyClassName: String?
    /// The mapped properties: attributes, then relationships, both by name.
    package var properties: [PropertyMapping] = []
    /// Texts that value expressions can refer to.
    package var userInfo: [String: String] = [:]
  }

  /// The mapped entities, in the order of the file.
  package var entityMappings: [EntityMapping]
  /// The source model that an `.xcmappingmodel` holds; a compiled mapping model has none.
  var sourceModel: ModelDescription?
  /// The destination model that an `.xcmappingmodel` holds; a compiled mapping model has none.
  var destinationModel: ModelDescription?

  /// The two models that an `.xcmappingmodel` holds; nil for a compiled mapping model.
  package var models: (source: ManagedObjectModel, destination: ManagedObjectModel)? {
    guard let sourceModel, let destinationModel else { return nil }
    return (ManagedObjectModel(unchecked: sourceModel), ManagedObjectModel(unchecked: destinationModel))
  }

  // MARK: Text

  /// The mapping as lines of text: entities, then properties with their expressions.
  package var text: String {
    var text = ""
    for (title, model) in [("from", sourceModel), ("to", destinationModel)] {
      guard let model else { continue }
      let frozen = ManagedObjectModel(unchecked: model)
      text += "\(title) a model of \(frozen.entityCount) entities, checksum \(frozen.versionHashes.checksum)\n"
    }
    for mapping in entityMappings {
      text +=
        "\(mapping.name): \(mapping.sourceEntityName ?? "nothing") → \(mapping.destinationEntityName ?? "nothing") (\(mapping.kind))\n"
      if let policy = mapping.policyClassName { text += "  policy \(policy)\n" }
      if let expression = mapping.sourceExpression { text += "  source \(expression)\n" }
      for (title, hash) in [("source", mapping.sourceHash), ("destination", mapping.destinationHash)] {
        if let hash { text += "  hash of the \(title) \(VersionHashes.hexadecimal(hash.hash))\n" }
      }
      for property in mapping.properties { text += "  \(property.name) = \(property.expression ?? "(nothing)")\n" }
    }
    return text.isEmpty ? "a mapping model without mappings\n" : text
  }
}

import FoundationEssentials

/// A reason why the version hash of an entity differs between two models, or between a model and a store.
package struct VersionHashDifference: Sendable, Hashable, CustomStringConvertible {
  package var entityName: String
  /// The property that differs; nil if the entity itself does.
  package var propertyName: String?
  /// `Integer 16 → Integer 32`, `only in the model`, `the hash differs`.
  package var change: String
  /// Whether the hash of the entity depends on a rule that could not be verified with a file: see
  /// ``Entity/unverifiedVersionHashRules``.
  package var isUnverified: Bool
  /// Whether version hashes cover what differs: not the parts of composite attributes, nor the types of derived ones.
  package var isInHash: Bool

  /// The change of an entity or property that is missing in the store or the other model.
  package static let onlyInModel = "only in the model"
  /// The change of an entity or property that is only in the store or the other model.
  package static let onlyInStore = "only in the store"
  /// The change of an entity of which only the hashes are known.
  package static let unexplained = "the hash differs"

  package init(
    entityName: String, propertyName: String? = nil, change: String, isUnverified: Bool = false, isInHash: Bool = true
  ) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.change = change
    self.isUnverified = isUnverified
    self.isInHash = isInHash
  }

  package var description: String {
    (propertyName.map { "\(entityName).\($0)" } ?? entityName) + ": " + change
      + (isInHash ? isUnverified ? " (hash not verified)" : "" : " (not in the version hash)")
  }
}

extension ManagedObjectModel {
  /// Returns why Core Data would not accept the stored hashes as those of this model: by entity, in name order. Empty
  /// if it would.
  ///
  /// - Parameters:
  ///   - stored: The hashes in the metadata of a store.
  ///   - configuration: The configuration that the store is opened with; nil for all entities. Without one, a store
  ///     also matches if its hashes are those of a configuration of the model.
  ///   - storedModel: The model that the store carries, to name the properties that differ; nil if it carries none.
  package func versionHashDifferences(
    from stored: VersionHashes, configuration: String? = nil, storedModel: ManagedObjectModel? = nil
  ) -> [VersionHashDifference] {
    let own = versionHashes
    func hashes(_ name: String?) -> VersionHashes? { entities(forConfiguration: name).map { own.restricted(to: $0) } }
    let mine = hashes(configuration) ?? own
    if mine == stored { return [] }
    if configuration == nil, configurations.contains(where: { hashes($0) == stored }) { return [] }
    let names = Set((mine.entries + stored.entries).map { ScalarString($0.entityName) }).sorted().map(\.string)
    return names.flatMap { name -> [VersionHashDifference] in
      let isUnverified = entity(named: name)?.unverifiedVersionHashRules.isEmpty == false
      func difference(_ change: String) -> [VersionHashDifference] {
        [VersionHashDifference(entityName: name, change: change, isUnverified: isUnverified)]
      }
      switch (mine[name], stored[name]) {
      case (nil, _): return difference(VersionHashDifference.onlyInStore)
      case (_, nil): return difference(VersionHashDifference.onlyInModel)
      case (let mine?, let hash?) where mine == hash: return []
      default: break
      }
      // The stored model explains a hash only if it has that hash.
      guard let input = versionHashInput(ofEntityNamed: name), stored[name] == storedModel?.versionHashes[name],
        let other = storedModel?.versionHashInput(ofEntityNamed: name)
      else { return difference(VersionHashDifference.unexplained) }
      let changes = input.changes(from: other)
      return changes.map {
        VersionHashDifference(
          entityName: name, propertyName: $0.property, change: $0.change, isUnverified: isUnverified)
      }
    }
  }

  /// Returns how the entities of this model differ from those of another, as far as version hashes are concerned: why
  /// Core Data would migrate a store of the other model. Empty if it would open it without migration.
  package func versionHashDifferences(from other: ManagedObjectModel) -> [VersionHashDifference] {
    versionHashDifferences(from: other.versionHashes, storedModel: other)
  }
}

extension VersionHashes {
  /// Returns the entities whose hashes differ, without a model that could explain why.
  package func differences(from other: VersionHashes) -> [VersionHashDifference] {
    let names = Set((entries + other.entries).map { ScalarString($0.entityName) }).sorted().map(\.string)
    return names.compactMap { name in
      let (mine, theirs) = (self[name], other[name])
      guard mine != theirs else { return nil }
      let change =
        mine == nil
        ? VersionHashDifference.onlyInStore
        : theirs == nil ? VersionHashDifference.onlyInModel : VersionHashDifference.unexplained
      return VersionHashDifference(entityName: name, change: change)
    }
  }
}

extension VersionHashInput {
  /// The differences from the other input to this one, as text. Inherited properties are listed where they are
  /// declared.
  func changes(from other: VersionHashInput) -> [(property: String?, change: String)] {
    var found: [(property: String?, change: String)] = []
    if isAbstract != other.isAbstract {
      found.append((nil, other.isAbstract ? "abstract → concrete" : "concrete → abstract"))
    }
    if superentityName != other.superentityName {
      found.append((nil, "super-entity \(other.superentityName ?? "none") → \(superentityName ?? "none")"))
    } else if superentityHash != other.superentityHash {
      found.append((nil, "its super-entity \(superentityName ?? "") differs"))
    }
    if modifier != other.modifier { found.append((nil, "hash modifier '\(other.modifier)' → '\(modifier)'")) }
    if constraints != other.constraints {
      found.append(
        (
          nil,
          "uniqueness constraints [\(other.constraints.joined(separator: ", "))] → [\(constraints.joined(separator: ", "))]"
        ))
    }
    let mine = Dictionary(properties.map { (ScalarString($0.name), $0) }, uniquingKeysWith: { first, _ in first })
    let theirs = Dictionary(
      other.properties.map { (ScalarString($0.name), $0) }, uniquingKeysWith: { first, _ in first })
    for name in Set(mine.keys).union(theirs.keys).sorted() {
      switch (mine[name], theirs[name]) {
      case (let mine?, let theirs?): found += mine.changes(from: theirs).map { (name.string, $0) }
      case (_?, nil): found.append((name.string, VersionHashDifference.onlyInModel))
      default: found.append((name.string, VersionHashDifference.onlyInStore))
      }
    }
    // Two inputs with different hashes differ in something.
    return found.isEmpty ? [(nil, "the hash differs")] : found
  }
}

extension VersionHashInput.Property {
  func changes(from other: VersionHashInput.Property) -> [String] {
    guard hash != other.hash else { return [] }
    var found: [String] = []
    switch (kind, other.kind) {
    case (
      .attribute(let type, let isExternal, let isPreserved), .attribute(let oldType, let wasExternal, let wasPreserved)
    ):
      if type != oldType { found.append("\(Self.name(ofType: oldType)) → \(Self.name(ofType: type))") }
      if isExternal != wasExternal {
        found.append(isExternal ? "external storage is now allowed" : "external storage is no longer allowed")
      }
      if isPreserved != wasPreserved {
        found.append(isPreserved ? "now preserved on deletion" : "no longer preserved on deletion")
      }
    case (.derived(let expression), .derived(let old)): found.append("derivation '\(old)' → '\(expression)'")
    case (
      .relationship(let destination, let inverse, let most, let least, let isOrdered),
      .relationship(let oldDestination, let oldInverse, let oldMost, let oldLeast, let wasOrdered)
    ):
      if destination != oldDestination { found.append("destination \(oldDestination) → \(destination)") }
      if inverse != oldInverse { found.append("inverse \(oldInverse ?? "none") → \(inverse ?? "none")") }
      if most != oldMost { found.append("maximum count \(oldMost) → \(most)") }
      if least != oldLeast { found.append("minimum count \(oldLeast) → \(least)") }
      if isOrdered != wasOrdered { found.append(isOrdered ? "unordered → ordered" : "ordered → unordered") }
    default: found.append("\(other.kindName) → \(kindName)")
    }
    if isOptional != other.isOptional { found.append(isOptional ? "required → optional" : "optional → required") }
    if modifier != other.modifier { found.append("hash modifier '\(other.modifier)' → '\(modifier)'") }
    return found.isEmpty ? ["the hash differs"] : found
  }

  private var kindName: String {
    switch kind {
    case .attribute: "attribute"
    case .derived: "derived attribute"
    case .relationship: "relationship"
    }
  }

  private static func name(ofType number: UInt32) -> String {
    AttributeType(versionHashNumber: Int(number))?.modelName ?? String(number)
  }
}

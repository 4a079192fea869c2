public import FoundationEssentials
import Synchronization

/// The version hashes of the entities of a model, as Core Data computes them and stores them in the metadata of stores.
///
/// If the entities of two models have the same hashes, Core Data treats the models as equal: it opens a store of one
/// model with the other without migration. Names, types, optionality and relationships count; classes, defaults,
/// validation, delete rules, indexes and user info do not. See ``ManagedObjectModel/versionHashes``.
public struct VersionHashes: Sendable, Equatable {
  /// The key of the hashes in the metadata of a store: a dictionary from entity names to 32 bytes each.
  package static let metadataKey = "NSStoreModelVersionHashes"
  /// The key of the version number of the rules by which the hashes were computed.
  package static let versionMetadataKey = "NSStoreModelVersionHashesVersion"
  /// The version number of the rules implemented here: 3 in every known file.
  package static let version = 3
  /// The key of the version identifiers of the model.
  package static let identifiersMetadataKey = "NSStoreModelVersionIdentifiers"
  /// The key of ``digest`` in metadata.
  package static let digestMetadataKey = "NSStoreModelVersionHashesDigest"
  /// The key of ``checksum`` in metadata.
  package static let checksumMetadataKey = "NSStoreModelVersionChecksumKey"
  /// The metadata keys that are derived from the model. A comparison of stores compares one of them only if both stores
  /// have it.
  package static let derivedMetadataKeys = [
    metadataKey, versionMetadataKey, identifiersMetadataKey, digestMetadataKey, checksumMetadataKey,
  ]

  public struct Entry: Sendable, Hashable {
    public var entityName: String
    /// 32 bytes; if read from a file, the bytes in the file.
    public var hash: Data
    package init(entityName: String, hash: Data) {
      self.entityName = entityName
      self.hash = hash
    }
    public static func == (one: Entry, other: Entry) -> Bool {
      one.entityName.hasSameScalars(as: other.entityName) && one.hash == other.hash
    }
  }

  /// The hashes, sorted by the UTF-8 bytes of the names, each name once.
  public let entries: [Entry]

  /// - Parameter entries: In any order; if two have the same name, the first is used.
  package init(_ entries: [Entry]) {
    // Those of a model come in this order.
    let isSorted = entries.indices.dropFirst().allSatisfy {
      entries[$0 - 1].entityName.byteOrder(to: entries[$0].entityName) < 0
    }
    guard !isSorted else {
      self.entries = entries
      return
    }
    var known: Set<ScalarString> = []
    self.entries = entries.filter { known.insert(ScalarString($0.entityName)).inserted }
      .sorted { ScalarString($0.entityName) < ScalarString($1.entityName) }
  }

  /// The hashes in the metadata of a store; nil if there are none.
  public init?(metadata: PropertyListDictionary) {
    guard let dictionary = metadata[Self.metadataKey]?.dictionaryValue, !dictionary.isEmpty else { return nil }
    // A value that is not data is not a hash.
    self.init(dictionary.map { Entry(entityName: $0.key, hash: $0.value.dataValue ?? Data()) })
  }

  /// The hash of the entity with exactly that name, or nil.
  public subscript(entityName: String) -> Data? {
    let name = ScalarString(entityName)
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if ScalarString(entries[middle].entityName) < name { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && ScalarString(entries[low].entityName) == name ? entries[low].hash : nil
  }

  /// `NSStoreModelVersionHashesDigest`: SHA-512 over the names and hashes of all entities, in base64.
  package var digest: String {
    Data(SHA2.sha512(entries.flatMap { Array($0.entityName.utf8) + $0.hash })).base64EncodedString()
  }

  /// `NSStoreModelVersionChecksumKey`, and the checksum in the `VersionInfo.plist` of a compiled model: SHA-256 over
  /// the hashes of all entities, in base64.
  package var checksum: String { Data(SHA2.sha256(entries.flatMap { Array($0.hash) })).base64EncodedString() }

  /// The hashes as stored in metadata.
  package var propertyList: PropertyListValue {
    var dictionary = PropertyListDictionary()
    for entry in entries { dictionary[entry.entityName] = .data(entry.hash) }
    return .dictionary(dictionary)
  }
}

extension VersionHashes {
  /// The hashes of some of the entities.
  func restricted(to entities: [Entity]) -> VersionHashes {
    VersionHashes(entities.compactMap { entity in self[entity.name].map { Entry(entityName: entity.name, hash: $0) } })
  }
}

extension VersionHashes: CustomStringConvertible {
  /// One line for each entity: the hash in hexadecimal, two spaces, the name.
  public var description: String {
    entries.map { "\(Self.hexadecimal($0.hash))  \($0.entityName)" }.joined(separator: "\n")
  }

  /// Two lowercase hexadecimal digits for each byte.
  package static func hexadecimal(_ hash: Data) -> String { String(hexadecimal: hash) }
}

extension ManagedObjectModel {
  /// The version hashes of all entities. They are computed once, in time linear in the size of the model, counting
  /// inherited properties each time.
  ///
  /// `unverifiedVersionHashRules` lists the rules among them that could not be verified with a file.
  public var versionHashes: VersionHashes {
    if let known = computed.withLock({ $0 as? VersionHashes }) { return known }
    let hashes = versionHashes()
    computed.withLock { $0 = hashes }
    return hashes
  }

  /// The version hashes of the entities of a configuration, as in the metadata of a store that is opened with it; nil
  /// if the model does not have the configuration.
  package func versionHashes(forConfiguration name: String?) -> VersionHashes? {
    guard let entities = entities(forConfiguration: name) else { return nil }
    return entities.count == entityCount ? versionHashes : versionHashes.restricted(to: entities)
  }

  /// - Parameter change: Changes the input of a hash, for tests that break a rule.
  package func versionHashes(changing change: (Entity, inout VersionHashInput) -> Void = { _, _ in }) -> VersionHashes {
    var hashes = [[UInt8]?](repeating: nil, count: entityCount)
    // Sub-entities include inherited properties again, whose hashes are cached. The inputs are not cached: with many
    // entities and many inherited properties, they would need memory for the product.
    var known = PropertyHashes()
    func hash(_ entity: Entity) -> [UInt8] {
      if let known = hashes[entity.index] { return known }
      // The recursion is as deep as the inheritance, which the model limits.
      var input = VersionHashInput(entity, superentityHash: entity.superentity.map { hash($0) } ?? [])
      change(entity, &input)
      let result = input.hash(&known)
      hashes[entity.index] = result
      return result
    }
    return VersionHashes(entities.map { VersionHashes.Entry(entityName: $0.name, hash: Data(hash($0))) })
  }

  /// The hash input of an entity; nil if there is none with that name.
  package func versionHashInput(ofEntityNamed name: String) -> VersionHashInput? {
    guard let entity = entity(named: name) else { return nil }
    let above = entity.superentity.flatMap { versionHashes[$0.name] } ?? Data()
    return VersionHashInput(entity, superentityHash: Array(above))
  }
}

extension Entity {
  /// The version hash, 32 bytes. For all entities of a model, use ``ManagedObjectModel/versionHashes`` instead.
  public var versionHash: Data {
    var above: [Entity] = [self]
    while let next = above.last?.superentity { above.append(next) }
    return Data(above.reversed().reduce([]) { hash, entity in VersionHashInput(entity, superentityHash: hash).hash })
  }

  /// The rules used for the version hash that could not be verified with a file of Apple's software; empty for most
  /// entities. As text, such as `relationship 'parent' is its own inverse`, including those of super-entities.
  package var unverifiedVersionHashRules: [String] {
    var found: [String] = superentity.map { $0.unverifiedVersionHashRules } ?? []
    func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }
    if declaration.versionHashModifier?.isEmpty == false, !declaration.uniquenessConstraints.isEmpty {
      found.append("\(name) has a hash modifier and uniqueness constraints")
    }
    if !isPlain(name) { found.append("the name of the entity '\(name)' is not ASCII") }
    var inherited: [ScalarString: VersionHashInput.Property] = [:]
    for property in superentity?.properties ?? [] {
      inherited[ScalarString(property.name)] = VersionHashInput.Property(property, of: self)
    }
    for property in declaration.properties {
      guard let counted = VersionHashInput.Property(property, of: self) else { continue }
      if !isPlain(property.name) { found.append("the name of the property '\(property.name)' is not ASCII") }
      if let above = inherited[ScalarString(property.name)], above != counted {
        found.append("\(name) declares the inherited '\(property.name)' again")
      }
      switch property {
      case .attribute(let attribute):
        if case .composite = attribute.type { found.append("attribute '\(attribute.name)' is composite") }
        if attribute.derivationExpression != nil, attribute.filteringPredicate != nil {
          found.append("derived attribute '\(attribute.name)' has a filtering predicate")
        }
      case .relationship(let relationship):
        if relationship.isItsOwnInverse(in: self) {
          found.append("relationship '\(relationship.name)' is its own inverse")
        }
      case .fetchedProperty: break
      }
    }
    return found
  }
}

extension RelationshipDescription {
  /// Whether the relationship of that entity is its own inverse.
  func isItsOwnInverse(in entity: Entity) -> Bool {
    guard let inverseName, inverseName.utf8.elementsEqual(name.utf8),
      let destination = entity.model.entity(named: destinationEntityName)
    else { return false }
    return destination == entity || entity.isKindOf(entity: destination) || destination.isKindOf(entity: entity)
  }
}

/// The input of an entity's version hash: the bytes before hashing.
///
/// The rules were derived from entities with hashes computed by Apple's software; the article *Version hashes* gives
/// the evidence for each.
package struct VersionHashInput: Sendable, Equatable {
  package struct Property: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
      case attribute(type: UInt32, isStoredExternally: Bool, isPreservedOnDeletion: Bool)
      case derived(expression: String)
      case relationship(
        destination: String, inverse: String?, maximumCount: UInt32, minimumCount: UInt32, isOrdered: Bool)
    }
    package var name: String
    package var isOptional: Bool
    package var modifier: String
    package var kind: Kind

    package init(name: String, isOptional: Bool, modifier: String, kind: Kind) {
      self.name = name
      self.isOptional = isOptional
      self.modifier = modifier
      self.kind = kind
    }
  }

  package var name: String
  package var isAbstract: Bool
  package var superentityName: String?
  /// The hash of the super-entity; empty if there is none.
  package var superentityHash: [UInt8]
  /// Stored properties, inherited ones included, sorted by the bytes of their names.
  package var properties: [Property]
  package var modifier: String
  /// The names of each constraint joined with dots, in ascending order.
  package var constraints: [String]

  /// - Parameter superentityHash: The hash of the super-entity, or empty.
  package init(_ entity: Entity, superentityHash: [UInt8]) {
    name = entity.name
    isAbstract = entity.isAbstract
    superentityName = entity.superentity?.name
    self.superentityHash = superentityHash
    modifier = entity.declaration.versionHashModifier ?? ""
    constraints = entity.declaration.uniquenessConstraints.map { $0.joined(separator: ".") }
      .map { ScalarString($0) }.sorted().map(\.string)
    let declared = entity.properties
    properties = []
    properties.reserveCapacity(declared.count)
    for property in declared { if let counted = Property(property, of: entity) { properties.append(counted) } }
    // Many models list them in this order.
    guard
      !properties.indices.dropFirst().allSatisfy({
        properties[$0 - 1].name.byteOrder(to: properties[$0].name) < 0
      })
    else { return }
    var all = Array(zip(properties.indices, properties)).map { (position: $0, property: $1) }
    all.sort { one, other in
      let order = one.property.name.byteOrder(to: other.property.name)
      return order == 0 ? one.position < other.position : order < 0
    }
    // If a sub-entity declares a property again, its declaration counts.
    properties = all.indices.compactMap { index in
      let isReplaced =
        index + 1 < all.count && all[index].property.name.hasSameScalars(as: all[index + 1].property.name)
      return isReplaced ? nil : all[index].property
    }
  }

  /// The hash, 32 bytes.
  package var hash: [UInt8] {
    var known = PropertyHashes()
    return hash(&known)
  }

  /// The hash, 32 bytes.
  ///
  /// - Parameter known: A cache of property hashes, which several entities may share.
  func hash(_ known: inout PropertyHashes) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(name.utf8.count + 1 + superentityHash.count + 32 * properties.count + modifier.utf8.count)
    bytes += name.utf8
    bytes.append(isAbstract ? 1 : 0)
    bytes += superentityHash
    for property in properties { known.append(hashOf: property, to: &bytes) }
    bytes += modifier.utf8
    for constraint in constraints { bytes += constraint.utf8 }
    return SHA2.sha256(bytes)
  }
}

/// Hashes of properties that were computed before: entities include the properties that they inherit again, and many
/// declare properties with the same name and type.
struct PropertyHashes {
  private var known: [Key: [UInt8]] = [:]

  /// Compares all that counts by Unicode scalars.
  private struct Key: Hashable {
    let property: VersionHashInput.Property
    static func == (one: Key, other: Key) -> Bool { one.property.countsAs(other.property) }
    func hash(into hasher: inout Hasher) { property.hashCounted(into: &hasher) }
  }

  /// Appends the hash of a property.
  mutating func append(hashOf property: VersionHashInput.Property, to bytes: inout [UInt8]) {
    let key = Key(property: property)
    if let hash = known[key] {
      bytes += hash
    } else {
      let hash = property.hash
      known[key] = hash
      bytes += hash
    }
  }
}

extension VersionHashInput.Property {
  /// Returns nil for properties that are not stored: transient and fetched properties do not count.
  init?(_ property: PropertyDescription, of entity: Entity) {
    switch property {
    case .attribute(let attribute) where !attribute.isTransient: self.init(attribute)
    case .relationship(let relationship) where !relationship.isTransient: self.init(relationship, of: entity)
    default: return nil
    }
  }

  private init(_ attribute: AttributeDescription) {
    name = attribute.name
    isOptional = attribute.isOptional
    modifier = attribute.versionHashModifier ?? ""
    if let expression = attribute.derivationExpression {
      kind = .derived(expression: expression + (attribute.filteringPredicate ?? ""))
    } else {
      kind = .attribute(
        type: attribute.type.versionHashNumber, isStoredExternally: attribute.allowsExternalBinaryDataStorage,
        isPreservedOnDeletion: attribute.preservesValueInHistoryOnDeletion)
    }
  }

  private init(_ relationship: RelationshipDescription, of entity: Entity) {
    name = relationship.name
    isOptional = relationship.isOptional
    modifier = relationship.versionHashModifier ?? ""
    kind = .relationship(
      destination: relationship.destinationEntityName,
      inverse: relationship.isItsOwnInverse(in: entity) ? nil : relationship.inverseName,
      maximumCount: relationship.storedCount("maxCount", relationship.maximumCount),
      minimumCount: relationship.storedCount("minCount", relationship.minimumCount), isOrdered: relationship.isOrdered)
  }

  /// Whether both have the same hash, because all that counts is the same to the Unicode scalar.
  fileprivate func countsAs(_ other: Self) -> Bool {
    guard isOptional == other.isOptional, name.hasSameScalars(as: other.name),
      modifier.hasSameScalars(as: other.modifier)
    else { return false }
    switch (kind, other.kind) {
    case (
      .attribute(let type, let isExternal, let isPreserved), .attribute(let type2, let isExternal2, let isPreserved2)
    ):
      return type == type2 && isExternal == isExternal2 && isPreserved == isPreserved2
    case (.derived(let expression), .derived(let expression2)): return expression.hasSameScalars(as: expression2)
    case (
      .relationship(let destination, let inverse, let most, let least, let isOrdered),
      .relationship(let destination2, let inverse2, let most2, let least2, let isOrdered2)
    ):
      return destination.hasSameScalars(as: destination2) && (inverse == nil) == (inverse2 == nil)
        && (inverse ?? "").hasSameScalars(as: inverse2 ?? "") && most == most2 && least == least2
        && isOrdered == isOrdered2
    default: return false
    }
  }

  /// Combines what ``countsAs(_:)`` compares.
  fileprivate func hashCounted(into hasher: inout Hasher) {
    hasher.combine(ScalarString(name))
    hasher.combine(isOptional)
    if !modifier.isEmpty { hasher.combine(ScalarString(modifier)) }
    switch kind {
    case .attribute(let type, _, _): hasher.combine(type)
    case .derived(let expression): hasher.combine(ScalarString(expression))
    case .relationship(let destination, let inverse, let most, _, _):
      hasher.combine(ScalarString(destination))
      hasher.combine(ScalarString(inverse ?? ""))
      hasher.combine(most)
    }
  }

  package var hash: [UInt8] {
    // Of a derived attribute, only the expression counts.
    if case .derived(let expression) = kind { return SHA2.sha256(Array(expression.utf8)) }
    var own = Array(name.utf8)
    // Of the flags, transient (2) and read-only (4) cannot occur here.
    own += Self.bytes(UInt16(isOptional ? 1 : 0))
    own += modifier.utf8
    var bytes = SHA2.sha256(own)
    switch kind {
    case .attribute(let type, let isStoredExternally, let isPreservedOnDeletion):
      bytes += Self.bytes(type)
      if isStoredExternally { bytes.append(1) }
      if isPreservedOnDeletion { bytes.append(1) }
    case .relationship(let destination, let inverse, let maximumCount, let minimumCount, let isOrdered):
      bytes += destination.utf8
      bytes += (inverse ?? "").utf8
      bytes += Self.bytes(maximumCount) + Self.bytes(minimumCount)
      if isOrdered { bytes += Self.bytes(UInt16(1)) }
    case .derived: break
    }
    return SHA2.sha256(bytes)
  }

  private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }
}

extension AttributeDescription {
  /// Whether the history of a store keeps the value when the object is deleted (`preserveAfterDeletion` in model
  /// files).
  public var preservesValueInHistoryOnDeletion: Bool { extras.value(of: "preserveAfterDeletion") == "YES" }

  /// The filter of a derived attribute's aggregate; nil for none.
  var filteringPredicate: String? { extras.value(of: "filteringPredicate") }
}

extension RelationshipDescription {
  /// A bound as in the model file, in 32 bits: both -1 and 0 mean no bound, but are hashed unchanged.
  fileprivate func storedCount(_ key: String, _ count: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: extras.value(of: key).flatMap { Int($0) } ?? count)
  }
}

extension [ModelExtra] {
  /// The first attribute with that name.
  fileprivate func value(of wanted: String) -> String? {
    for case .attribute(let name, let value) in self where name.utf8.elementsEqual(wanted.utf8) { return value }
    return nil
  }
}

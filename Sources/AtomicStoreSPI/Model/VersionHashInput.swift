/// What counts of one entity in its version hash: the bytes that are hashed, before they are.
///
/// The rules were read off entities that Apple's software had hashed; what each rests on is in the article *Version
/// hashes*.
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
  /// The hash of the super-entity; empty where there is none.
  package var superentityHash: [UInt8]
  /// Stored properties, inherited ones included, in the order of their names' bytes.
  package var properties: [Property]
  package var modifier: String
  /// The names of each constraint joined with dots, in ascending order.
  package var constraints: [String]

  /// - Parameter superentityHash: Of the super-entity, or empty.
  package init(_ entity: Entity, superentityHash: [UInt8]) {
    name = entity.name
    isAbstract = entity.isAbstract
    superentityName = entity.superentity?.name
    self.superentityHash = superentityHash
    modifier = entity.declaration.versionHashModifier ?? ""
    constraints = entity.declaration.uniquenessConstraints.map { $0.joined(separator: ".") }
      .map { ScalarString($0) }.sorted().map(\.string)
    // Of a property that is declared again below, the declaration below counts.
    var byName: [ScalarString: Property] = [:]
    for property in entity.properties {
      if let counted = Property(property, of: entity) { byName[ScalarString(property.name)] = counted }
    }
    properties = byName.keys.sorted().compactMap { byName[$0] }
  }

  /// The 32 bytes.
  package var hash: [UInt8] {
    var bytes = Array(name.utf8)
    bytes.append(isAbstract ? 1 : 0)
    bytes += superentityHash
    for property in properties { bytes += property.hash }
    bytes += modifier.utf8
    for constraint in constraints { bytes += constraint.utf8 }
    return SHA2.sha256(bytes)
  }
}

extension VersionHashInput.Property {
  /// Nil for what is not stored: transient properties and fetched ones do not count.
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

  package var hash: [UInt8] {
    // A derived attribute counts with its expression alone.
    if case .derived(let expression) = kind { return SHA2.sha256(Array(expression.utf8)) }
    var own = Array(name.utf8)
    // Of the flags, transient (2) and read-only (4) never get here.
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

extension AttributeType {
  /// `NSAttributeType` as compiled models have it.
  package var versionHashNumber: UInt32 {
    switch self {
    case .undefined: 0
    case .integer16: 100
    case .integer32: 200
    case .integer64: 300
    case .decimal: 400
    case .double: 500
    case .float: 600
    case .string: 700
    case .boolean: 800
    case .date: 900
    case .binaryData: 1000
    case .uuid: 1100
    case .uri: 1200
    case .transformable: 1800
    case .composite: 2100
    }
  }
}

extension AttributeDescription {
  /// Whether the history of a store keeps the value when the object is deleted (`preserveAfterDeletion` in model
  /// files).
  public var preservesValueInHistoryOnDeletion: Bool { extras.value(of: "preserveAfterDeletion") == "YES" }

  /// What a derived attribute's aggregate is restricted to; nil for none.
  public var filteringPredicate: String? { extras.value(of: "filteringPredicate") }
}

extension RelationshipDescription {
  /// A bound as the model file has it, in 32 bits: -1 says no bound as 0 does, but counts as it is.
  fileprivate func storedCount(_ key: String, _ count: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: extras.value(of: key).flatMap { Int($0) } ?? count)
  }
}

extension [ModelExtra] {
  /// The first attribute of that name.
  fileprivate func value(of wanted: String) -> String? {
    for case .attribute(let name, let value) in self where name.utf8.elementsEqual(wanted.utf8) { return value }
    return nil
  }
}

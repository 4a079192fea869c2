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
    var all: [(position: Int, property: Property)] = []
    all.reserveCapacity(entity.properties.count)
    for property in entity.properties {
      if let counted = Property(property, of: entity) { all.append((all.count, counted)) }
    }
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
    var known: [[UInt8]: [UInt8]] = [:]
    return hash(&known)
  }

  /// The hash, 32 bytes.
  ///
  /// - Parameter known: A cache of property hashes, which several entities may share.
  func hash(_ known: inout [[UInt8]: [UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(name.utf8.count + 1 + superentityHash.count + 32 * properties.count + modifier.utf8.count)
    bytes += name.utf8
    bytes.append(isAbstract ? 1 : 0)
    bytes += superentityHash
    for property in properties {
      let key = property.counted
      if let hash = known[key] {
        bytes += hash
      } else {
        let hash = property.hash
        known[key] = hash
        bytes += hash
      }
    }
    bytes += modifier.utf8
    for constraint in constraints { bytes += constraint.utf8 }
    return SHA2.sha256(bytes)
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

  /// All that counts, as bytes that differ for properties with different hashes: each part is preceded by its length.
  fileprivate var counted: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(64)
    bytes.append(isOptional ? 1 : 0)
    func add(_ text: String) {
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: text.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
      text.withBytes { bytes.append(contentsOf: $0) }
    }
    add(name)
    add(modifier)
    switch kind {
    case .attribute(let type, let isStoredExternally, let isPreservedOnDeletion):
      bytes += [0, isStoredExternally ? 1 : 0, isPreservedOnDeletion ? 1 : 0]
      bytes += Self.bytes(type)
    case .derived(let expression):
      bytes.append(1)
      add(expression)
    case .relationship(let destination, let inverse, let maximumCount, let minimumCount, let isOrdered):
      bytes += [2, inverse == nil ? 0 : 1, isOrdered ? 1 : 0]
      add(destination)
      add(inverse ?? "")
      bytes += Self.bytes(maximumCount) + Self.bytes(minimumCount)
    }
    return bytes
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

extension AttributeType {
  /// The `NSAttributeType` number in compiled models.
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

  /// The filter of a derived attribute's aggregate; nil for none.
  public var filteringPredicate: String? { extras.value(of: "filteringPredicate") }
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

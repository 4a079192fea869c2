import AtomicStoreSPI
import StoreCodecs

/// A model inferred from the objects alone: entities by name, attributes by position, relationships by name.
struct BinaryRawView {
  private let map: BinaryMap

  init(_ map: BinaryMap) { self.map = map }

  private struct Found {
    /// Of each position the types that its values have; the last positions that never have a value are left out.
    var types: [PositionType] = []
    /// How many values each object has; nil if objects differ in it.
    var valueCount: Int??
    var relationships: [ScalarString: (destinations: Set<ScalarString>, isToMany: Bool)] = [:]
  }

  func model() -> ModelDescription {
    var entityByKey: [Int64: ScalarString] = [:]
    for node in map.nodes { entityByKey[node.key] = ScalarString(node.entityName) }
    var found: [ScalarString: Found] = [:]
    for node in map.nodes {
      var entity = found[ScalarString(node.entityName)] ?? Found()
      for (position, value) in node.values.enumerated() where !value.isNull {
        while entity.types.count <= position { entity.types.append(PositionType()) }
        entity.types[position].add(value)
      }
      entity.valueCount = entity.valueCount.map { $0 == node.values.count ? $0 : nil } ?? node.values.count
      for (name, keys, isMutable) in node.related {
        var known = entity.relationships[ScalarString(name)] ?? ([], false)
        known.isToMany = known.isToMany || isMutable || keys.count > 1
        known.destinations.formUnion(keys.compactMap { entityByKey[$0] })
        entity.relationships[ScalarString(name)] = known
      }
      found[ScalarString(node.entityName)] = entity
    }
    return describe(found)
  }

  /// A relationship that leads to objects of several entities needs one above them: then all are below one.
  private func describe(_ found: [ScalarString: Found]) -> ModelDescription {
    let isMixed = found.values.contains { $0.relationships.values.contains { $0.destinations.count > 1 } }
    var root = "Object"
    while found[ScalarString(root)] != nil { root += "_" }
    let entities = found.sorted { $0.key < $1.key }.map { name, entity in
      var properties: [PropertyDescription] = entity.types.enumerated().map {
        .attribute(
          AttributeDescription(
            name: "value\($0.offset + 1)", type: $0.element.type,
            userInfo: [UserInfoEntry(key: ValueLayout.positionKey, value: String($0.offset + 1))]))
      }
      for (relationship, known) in entity.relationships.sorted(by: { $0.key < $1.key }) {
        let destination =
          known.destinations.count == 1 ? known.destinations.first?.string ?? name.string : isMixed ? root : name.string
        properties.append(
          .relationship(
            RelationshipDescription(
              name: relationship.string, destinationEntityName: destination, maximumCount: known.isToMany ? 0 : 1,
              isOrdered: known.isToMany)))
      }
      let count = (entity.valueCount ?? nil).map { String($0) } ?? ValueLayout.unknownCount
      return EntityDescription(
        name: name.string, properties: properties,
        userInfo: [UserInfoEntry(key: ValueLayout.countKey, value: count)])
    }
    return ModelDescription(
      entities: isMixed ? [EntityDescription(name: root, isAbstract: true, subentities: entities)] : entities,
      isInferred: true, inferredFrom: StoreKeys.storeType)
  }
}

/// The type of an attribute of which only the values at its position are known.
///
/// An application may set a Boolean or an integer where the model has a double: numbers of different kinds are numbers
/// of the kind that holds all of them. Other values of different kinds are kept as archives, which hold any object.
private struct PositionType {
  private var types: Set<AttributeType> = []
  private var isExactAsDouble = true

  mutating func add(_ value: KeyedArchive.Value) {
    types.insert(Self.type(value))
    if let number = value.plainIntegerValue, Int128(Double(number)) != number { isExactAsDouble = false }
  }

  /// A position without a value has no type.
  var type: AttributeType {
    guard types.count > 1 else { return types.first ?? .undefined }
    if types == [.boolean, .integer64] { return .integer64 }
    return types.isSubset(of: [.boolean, .integer64, .double]) && isExactAsDouble ? .double : .transformable
  }

  private static func type(_ value: KeyedArchive.Value) -> AttributeType {
    if value.stringValue != nil { return .string }
    if value.booleanValue != nil { return .boolean }
    if value.decimalValue != nil { return .decimal }
    if value.dataValue != nil { return .binaryData }
    if value.dateValue != nil { return .date }
    if value.uuidValue != nil { return .uuid }
    if value.urlText != nil, let isRelative = try? value.isRelativeURL, !isRelative { return .uri }
    if let number = value.plainIntegerValue { return Int64(exactly: number) == nil ? .transformable : .integer64 }
    return value.isPlainReal ? .double : .transformable
  }
}

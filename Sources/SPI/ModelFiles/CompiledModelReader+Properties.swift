import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension CompiledModelReader {
  /// What compiled models store for every property.
  struct PropertyFlags {
    var isOptional: Bool
    var isTransient: Bool
    var isOrdered: Bool
    var extras: [ModelExtra] = []
    /// The bits of what the kit does not interpret, with the names that model files have for it.
    static let extraBits = [
      (bit: 0x800, name: "allowsCloudEncryption"), (bit: 0x100, name: "spotlightIndexingEnabled"),
      (bit: 0x200, name: "storedInTruthFile"),
    ]

    /// Reads the bits of `_P`; old compilers wrote separate keys instead.
    init(_ object: KeyedArchive.Value) throws(PersistentStoreError) {
      guard let bits = try object.integer("_P") else {
        isOptional = try object.boolean("NSIsOptional")
        isTransient = try object.boolean("NSIsTransient")
        isOrdered = try object.boolean("NSIsOrdered")
        return
      }
      isOptional = bits & 2 != 0
      isTransient = bits & 8 != 0
      isOrdered = bits & 0x400 != 0
      for (bit, name) in Self.extraBits where bits & bit != 0 {
        extras.append(.attribute(name: name, value: "YES"))
      }
    }
  }

  mutating func property(_ object: KeyedArchive.Value, of entity: String) throws(PersistentStoreError)
    -> PropertyDescription
  {
    let name = try object.requiredString("NSPropertyName")
    let classes = object.classNames
    if classes.contains("NSAttributeDescription") { return .attribute(try attribute(object, name, of: entity)) }
    if classes.contains("NSRelationshipDescription") {
      return .relationship(try relationship(object, name, of: entity))
    }
    if classes.contains("NSFetchedPropertyDescription") {
      return .fetchedProperty(try fetchedProperty(object, name, of: entity))
    }
    throw fail(
      "unknown property class \(classes.first ?? "none")", .notSupported, entity: entity, property: name)
  }

  private func renaming(_ object: KeyedArchive.Value, _ name: String) throws(PersistentStoreError) -> String? {
    let identifier = try object.string("NSRenamingIdentifier")
    return identifier == name ? nil : identifier
  }

  // MARK: Attributes

  mutating func attribute(
    _ object: KeyedArchive.Value, _ name: String, of entity: String
  ) throws(PersistentStoreError) -> AttributeDescription {
    let number = try object.integer("NSAttributeType") ?? 0
    var attribute = AttributeDescription(name: name, type: try attributeType(number, object, name, of: entity))
    let flags = try PropertyFlags(object)
    attribute.isOptional = flags.isOptional
    attribute.isTransient = flags.isTransient
    attribute.isIndexed = try object.boolean("NSIsIndexed")
    attribute.valueTransformerName = try object.string("NSValueTransformerName")
    // For other types, the class follows from the type.
    if attribute.type == .transformable {
      attribute.attributeValueClassName = try object.string("NSAttributeValueClassName")
    }
    attribute.renamingIdentifier = try renaming(object, name)
    attribute.versionHashModifier = try object.string("NSVersionHashModifier")
    attribute.userInfo = try userInfo(object, owner: "\(entity).\(name)")
    attribute.extras = flags.extras
    let storage = try object.integer("NSFlagsKey") ?? 0
    attribute.allowsExternalBinaryDataStorage = storage & 4 != 0
    if storage & 16 != 0 { attribute.extras.append(.attribute(name: "preserveAfterDeletion", value: "YES")) }
    if storage & ~20 != 0 { warn("\(entity).\(name) has unknown flags (\(storage)); they are ignored") }
    if object.classNames.contains("NSDerivedAttributeDescription") {
      guard let archived = try object["NSDerivationExpression"], let expression = try predicates.expression(archived)
      else {
        throw fail(
          "the expression of the derived attribute cannot be converted to text", .notSupported, entity: entity,
          property: name)
      }
      attribute.derivationExpression = expression
      if let condition = try object["NSFilteringPredicate"], let text = try predicates.predicate(condition) {
        attribute.extras.append(.attribute(name: "filteringPredicate", value: text))
      }
    }
    try readDefault(object, entity, &attribute)
    try readValidation(object, entity, &attribute)
    return attribute
  }

  private mutating func attributeType(
    _ number: Int, _ object: KeyedArchive.Value, _ name: String, of entity: String
  ) throws(PersistentStoreError) -> AttributeType {
    guard let type = AttributeType(versionHashNumber: number) else {
      throw fail("unknown attribute type number \(number)", .notSupported, entity: entity, property: name)
    }
    guard type == .composite("") else { return type }
    // No compiled model with a composite was available: its parts are taken from the list of attributes under any key.
    for key in object.keys {
      guard let list = try object[key], list.classNames.contains("NSArray") else { continue }
      let parts = try list.elements()
      guard !parts.isEmpty, parts.allSatisfy({ $0.classNames.contains("NSAttributeDescription") }) else { continue }
      let composite = "\(entity)_\(name)"
      var attributes: [AttributeDescription] = []
      for part in parts {
        try claim(part, "a part of a composite")
        attributes.append(try attribute(part, try part.requiredString("NSPropertyName"), of: composite))
      }
      composites.append(CompositeDescription(name: composite, attributes: attributes))
      warn("\(entity).\(name) is composite: the representation of its parts in compiled models is not verified")
      return .composite(composite)
    }
    throw fail("the parts of the composite attribute were not found", .notSupported, entity: entity, property: name)
  }

  private mutating func readDefault(
    _ object: KeyedArchive.Value, _ entity: String, _ attribute: inout AttributeDescription
  ) throws(PersistentStoreError) {
    guard let value = try object["NSDefaultValue"] else { return }
    if let stored = Self.value(value, attribute.type) {
      attribute.defaultValue = stored
    } else {
      // An object of the application's own class is not instantiated.
      let what = value.className.map { "an object of the class \($0)" } ?? "not of its type"
      warn("the default of \(entity).\(attribute.name) is \(what); it is ignored")
    }
  }

  static func value(_ value: KeyedArchive.Value, _ type: AttributeType) -> StoredValue? {
    switch type.valueKind {
    case .integer:
      guard let number = value.integerValue, type.accepts(.integer(Int64(number))) else { return nil }
      return .integer(Int64(number))
    case .boolean: return value.integerValue.map { .boolean($0 != 0) }
    case .double: return value.realValue.map { .double($0) }
    case .float: return value.realValue.map { .float(Float($0)) }
    case .decimal:
      if let number = value.decimalValue { return .decimal(number) }
      if let number = value.integerValue { return .decimal(DecimalNumber(Int64(number))) }
      return value.realValue.flatMap { DecimalNumber($0.description) }.map { .decimal($0) }
    case .string: return value.stringValue.map { .string($0) }
    case .date: return value.dateValue.map { .date($0) }
    case .data: return type == .transformable ? nil : value.dataValue.map { .data($0) }
    case .uuid: return (value.uuidValue ?? value.stringValue.flatMap { UUID(uuidString: $0) }).map { .uuid($0) }
    case .uri: return (value.urlText ?? value.stringValue).map { .uri($0) }
    case .undefined, .toOne, .toMany: return nil
    }
  }

  // MARK: Validation

  /// Reads bounds, which are compiled to comparisons of the value, or of its length, with a constant.
  private mutating func readValidation(
    _ object: KeyedArchive.Value, _ entity: String, _ attribute: inout AttributeDescription
  ) throws(PersistentStoreError) {
    for condition in try object.list("NSValidationPredicates") ?? [] {
      guard try !readBound(condition, &attribute) else { continue }
      let text = try predicates.predicate(condition) ?? "of another type"
      warn("the validation rule of \(entity).\(attribute.name) is not a bound (\(text)); it is ignored")
    }
  }

  private mutating func readBound(
    _ condition: KeyedArchive.Value, _ attribute: inout AttributeDescription
  ) throws(PersistentStoreError) -> Bool {
    guard condition.className == "NSComparisonPredicate", let left = try condition["NSLeftExpression"],
      let right = try condition["NSRightExpression"], right.className == "NSConstantValueExpression",
      let constant = try right["NSConstantValue"], let comparator = try condition["NSPredicateOperator"],
      let sign = try ArchivedPredicateText.sign(comparator), let subject = try predicates.expression(left)
    else { return false }
    switch (subject, sign) {
    case ("SELF", ">="):
      guard let value = Self.value(constant, attribute.type) else { return false }
      attribute.minimum = value
    case ("SELF", "<="):
      guard let value = Self.value(constant, attribute.type) else { return false }
      attribute.maximum = value
    case ("length", ">="), ("SELF.length", ">="): attribute.minimumLength = constant.integerValue
    case ("length", "<="), ("SELF.length", "<="): attribute.maximumLength = constant.integerValue
    case ("SELF", "MATCHES"): attribute.regularExpression = constant.stringValue
    default: return false
    }
    return true
  }

  // MARK: Relationships and fetched properties

  private mutating func relationship(
    _ object: KeyedArchive.Value, _ name: String, of entity: String
  ) throws(PersistentStoreError) -> RelationshipDescription {
    guard
      let destination = try object.first(of: "_NSDestinationEntityName", "NSDestinationEntity")?.stringOrName(
        "NSEntityName")
    else { throw fail("the relationship has no destination", entity: entity, property: name) }
    var relationship = RelationshipDescription(name: name, destinationEntityName: destination)
    relationship.inverseName = try object.first(of: "_NSInverseRelationshipName", "NSInverseRelationship")?
      .stringOrName("NSPropertyName")
    let flags = try PropertyFlags(object)
    relationship.isOptional = flags.isOptional
    relationship.isTransient = flags.isTransient
    relationship.isOrdered = flags.isOrdered
    relationship.extras = flags.extras
    relationship.isIndexed = try object.boolean("NSIsIndexed")
    relationship.renamingIdentifier = try renaming(object, name)
    relationship.versionHashModifier = try object.string("NSVersionHashModifier")
    relationship.userInfo = try userInfo(object, owner: "\(entity).\(name)")
    relationship.setBounds(least: try object.integer("NSMinCount") ?? 0, most: try object.integer("NSMaxCount") ?? 0)
    let rules: [Int: DeleteRule] = [0: .noAction, 1: .nullify, 2: .cascade, 3: .deny]
    let number = try object.integer("NSDeleteRule") ?? 1
    guard let rule = rules[number] else {
      throw fail("unknown delete rule number \(number)", .notSupported, entity: entity, property: name)
    }
    relationship.deleteRule = rule
    return relationship
  }

  private mutating func fetchedProperty(
    _ object: KeyedArchive.Value, _ name: String, of entity: String
  ) throws(PersistentStoreError) -> FetchedPropertyDescription {
    guard let archived = try object["NSFetchRequest"] else {
      throw fail("the fetched property has no fetch request", entity: entity, property: name)
    }
    var request = try fetchRequest(archived, name: "fetchedPropertyFetchRequest")
    if request.entityName.isEmpty { request.entityName = try object.string("_NSFetchRequestEntityName") ?? "" }
    var property = FetchedPropertyDescription(name: name, fetchRequest: request)
    property.isOptional = try PropertyFlags(object).isOptional
    property.renamingIdentifier = try renaming(object, name)
    property.versionHashModifier = try object.string("NSVersionHashModifier")
    property.userInfo = try userInfo(object, owner: "\(entity).\(name)")
    return property
  }
}

extension RelationshipDescription {
  /// Takes the bounds from an archive. Values that are not bounds (-1, or more than 32 bits) are part of version
  /// hashes: they are stored separately.
  mutating func setBounds(least: Int, most: Int) {
    if (0...Int(Int32.max)).contains(most) {
      maximumCount = most
    } else {
      maximumCount = 0
      extras.append(.attribute(name: "maxCount", value: String(most)))
    }
    if (0...Int(Int32.max)).contains(least) {
      minimumCount = least
    } else {
      minimumCount = 0
      extras.append(.attribute(name: "minCount", value: String(least)))
    }
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension CompiledModelWriter {
  /// What compiled models have for every property.
  private mutating func common(
    _ name: String, _ entity: PropertyListValue, isOptional: Bool, isTransient: Bool, isReadOnly: Bool = false,
    isOrdered: Bool = false, isIndexed: Bool = false, hasValidation: Bool = false, renaming: String?,
    modifier: String?, info: [UserInfoEntry], extras: [ModelExtra]
  ) -> PropertyListDictionary {
    var fields: PropertyListDictionary = [
      "NSPropertyName": text(name), "NSEntity": entity, "NSRenamingIdentifier": text(renaming ?? name),
    ]
    var bits = 1
    for (isSet, bit, key) in [
      (isOptional, 2, "NSIsOptional"), (isReadOnly, 4, "NSIsReadOnly"), (isTransient, 8, "NSIsTransient"),
      (isOrdered, 0x400, "NSIsOrdered"), (isIndexed, 0, "NSIsIndexed"),
    ] where isSet {
      bits |= bit
      fields[key] = true
    }
    if !hasValidation { bits |= 0x30 }
    if info.isEmpty { bits |= 0x40 } else { fields["NSUserInfo"] = userInfo(info) }
    if let modifier { fields["NSVersionHashModifier"] = text(modifier) } else { bits |= 0x80 }
    for (bit, key) in CompiledModelReader.PropertyFlags.extraBits where extras.text(of: key) == "YES" { bits |= bit }
    fields["_P"] = .integer(Int128(bits))
    return fields
  }

  mutating func write(
    _ attribute: AttributeDescription, at place: PropertyListValue, of owner: String, _ entity: PropertyListValue
  ) throws(PersistentStoreError) {
    if case .composite = attribute.type {
      throw fail(
        "no known compiled model has a composite attribute, so that none can be written", entity: owner,
        property: attribute.name)
    }
    let rules = try validation(attribute, owner)
    let derivation = attribute.derivationExpression
    var fields = common(
      attribute.name, entity, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
      isReadOnly: derivation != nil, isIndexed: attribute.isIndexed, hasValidation: !rules.isEmpty,
      renaming: attribute.renamingIdentifier, modifier: attribute.versionHashModifier, info: attribute.userInfo,
      extras: attribute.extras)
    fields["NSAttributeType"] = .integer(Int128(attribute.type.versionHashNumber))
    fields["NSAttributeValueClassName"] = text(
      attribute.type == .transformable ? attribute.attributeValueClassName : Self.className(attribute.type))
    fields["NSValueTransformerName"] = text(attribute.valueTransformerName)
    fields["NSDefaultValue"] = attribute.defaultValue.map { value($0) } ?? KeyedArchiveBuilder.nothing
    fields["NSFlagsKey"] = .integer(
      (attribute.allowsExternalBinaryDataStorage ? 4 : 0) + (attribute.preservesValueInHistoryOnDeletion ? 16 : 0))
    if !rules.isEmpty {
      fields["NSValidationPredicates"] = archive.array(rules.map(\.predicate))
      let warnings = rules.map { archive.add(.integer($0.error)) }
      fields["NSValidationWarnings"] = archive.array(warnings)
    }
    var classes = ["NSAttributeDescription", "NSPropertyDescription", "NSObject"]
    if let derivation {
      classes.insert("NSDerivedAttributeDescription", at: 0)
      let parsed: FetchExpression
      do { parsed = try parser.expression(derivation) } catch {
        throw fail(
          "the derivation '\(derivation)' is not understood: \(error)", entity: owner, property: attribute.name)
      }
      let what = "the derivation"
      fields["NSDerivationExpression"] = try expression(parsed, what, owner)
      if let filter = attribute.extras.text(of: "filteringPredicate") {
        fields["NSFilteringPredicate"] = try predicate(filter, "the filter of \(attribute.name)", owner)
      }
    }
    archive.set(place, fields, class: classes)
  }

  private static func className(_ type: AttributeType) -> String? {
    switch type.valueKind {
    case .integer, .double, .float, .boolean: "NSNumber"
    case .decimal: "NSDecimalNumber"
    case .string: "NSString"
    case .date: "NSDate"
    case .data: type == .transformable ? nil : "NSData"
    case .uuid: "NSUUID"
    case .uri: "NSURL"
    case .undefined, .toOne, .toMany: nil
    }
  }

  private mutating func value(_ value: StoredValue) -> PropertyListValue {
    switch value {
    case .null, .toOne, .toMany: return KeyedArchiveBuilder.nothing
    case .boolean(let flag): return archive.add(.boolean(flag))
    case .integer(let number): return archive.add(.integer(Int128(number)))
    case .float(let number): return archive.add(.real(Double(number)))
    case .double(let number): return archive.add(.real(number))
    case .decimal(let number): return archive.decimal(number)
    case .string(let string): return text(string)
    case .data(let data): return archive.object(["NS.data": .data(data)], class: ["NSData", "NSObject"])
    case .date(let date):
      return archive.object(["NS.time": .real(date.timeIntervalSinceReferenceDate)], class: ["NSDate", "NSObject"])
    case .uuid(let uuid):
      let bytes = withUnsafeBytes(of: uuid.uuid) { Data($0) }
      return archive.object(["NS.uuidbytes": .data(bytes)], class: ["NSUUID", "NSObject"])
    case .uri(let uri):
      let relative = text(uri)
      return archive.object(
        ["NS.base": KeyedArchiveBuilder.nothing, "NS.relative": relative], class: ["NSURL", "NSObject"])
    }
  }

  /// Bounds as comparisons of the value, or of its length, each with the number of the error that Core Data reports.
  private mutating func validation(
    _ attribute: AttributeDescription, _ owner: String
  ) throws(PersistentStoreError) -> [(predicate: PropertyListValue, error: Int128)] {
    let isDate = attribute.type == .date
    let length = FetchExpression.keyPath(["length"])
    func integer(_ number: Int) -> StoredValue { .integer(Int64(number)) }
    let rules: [(FetchExpression, FetchPredicate.Comparator, StoredValue?, Int128)] = [
      (.evaluatedObject, .greaterOrEqual, attribute.minimum, isDate ? 1640 : 1620),
      (.evaluatedObject, .lessOrEqual, attribute.maximum, isDate ? 1630 : 1610),
      (length, .greaterOrEqual, attribute.minimumLength.map(integer), 1670),
      (length, .lessOrEqual, attribute.maximumLength.map(integer), 1660),
      (.evaluatedObject, .matches, attribute.regularExpression.map { .string($0) }, 1680),
    ]
    var result: [(predicate: PropertyListValue, error: Int128)] = []
    for (left, comparator, bound, error) in rules {
      guard let bound, !bound.isNull else { continue }
      let rule = FetchPredicate.comparison(.init(left, comparator, .constant(bound)))
      result.append((try predicate(rule, "a bound of \(attribute.name)", owner), error))
    }
    return result
  }

  mutating func write(
    _ relationship: RelationshipDescription, at place: PropertyListValue, _ entity: PropertyListValue
  ) {
    let rules: [DeleteRule: Int128] = [.noAction: 0, .nullify: 1, .cascade: 2, .deny: 3]
    func bound(_ key: String, _ count: Int) -> PropertyListValue {
      .integer(Int128(relationship.extras.text(of: key).flatMap { Int($0) } ?? count))
    }
    var fields = common(
      relationship.name, entity, isOptional: relationship.isOptional, isTransient: relationship.isTransient,
      isOrdered: relationship.isOrdered, isIndexed: relationship.isIndexed, renaming: relationship.renamingIdentifier,
      modifier: relationship.versionHashModifier, info: relationship.userInfo, extras: relationship.extras)
    fields["NSDestinationEntity"] =
      entities[ScalarString(relationship.destinationEntityName)] ?? KeyedArchiveBuilder.nothing
    fields["_NSDestinationEntityName"] = text(relationship.destinationEntityName)
    fields["NSInverseRelationship"] = inverse(of: relationship) ?? KeyedArchiveBuilder.nothing
    fields["_NSInverseRelationshipName"] = text(relationship.inverseName)
    fields["NSMinCount"] = bound("minCount", relationship.minimumCount)
    fields["NSMaxCount"] = bound("maxCount", relationship.maximumCount)
    fields["NSDeleteRule"] = .integer(rules[relationship.deleteRule] ?? 1)
    archive.set(place, fields, class: ["NSRelationshipDescription", "NSPropertyDescription", "NSObject"])
  }

  /// The inverse may be declared by a super-entity of the destination.
  private func inverse(of relationship: RelationshipDescription) -> PropertyListValue? {
    guard let name = relationship.inverseName else { return nil }
    var entity: ScalarString? = ScalarString(relationship.destinationEntityName)
    while let current = entity {
      if let found = properties[PropertyKey(entity: current, name: ScalarString(name))] { return found }
      entity = parents[current]
    }
    return nil
  }

  mutating func write(
    _ fetched: FetchedPropertyDescription, at place: PropertyListValue, of owner: String, _ entity: PropertyListValue
  ) throws(PersistentStoreError) {
    var fields = common(
      fetched.name, entity, isOptional: fetched.isOptional, isTransient: true, isReadOnly: true,
      renaming: fetched.renamingIdentifier, modifier: fetched.versionHashModifier, info: fetched.userInfo,
      extras: fetched.extras)
    fields["NSFetchRequest"] = try fetchRequest(
      fetched.fetchRequest, "the fetch request of \(fetched.name)", of: owner)
    fields["_NSFetchRequestEntityName"] = text(fetched.fetchRequest.entityName)
    archive.set(place, fields, class: ["NSFetchedPropertyDescription", "NSPropertyDescription", "NSObject"])
  }
}

extension [ModelExtra] {
  /// The value of the first attribute with that name.
  fileprivate func text(of wanted: String) -> String? {
    for case .attribute(let name, let value) in self where ScalarString(name) == ScalarString(wanted) { return value }
    return nil
  }
}

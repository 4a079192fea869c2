/// Properties in one line each:
///
/// ```swift
/// EntityDescription(
///   name: "Person",
///   properties: [
///     .attribute("name", .string, isOptional: false),
///     .attribute("age", .integer16),
///     .toOne("department", "Department", inverse: "people"),
///     .toMany("friends", "Person", inverse: "friends", isOrdered: true),
///   ])
/// ```
extension PropertyDescription {
  /// An attribute. Only name and type are required; the other parameters are the properties of ``AttributeDescription``
  /// of the same names.
  ///
  /// ```swift
  /// let salary = PropertyDescription.attribute("salary", .decimal, isOptional: false, defaultValue: .integer(0))
  /// ```
  public static func attribute(
    _ name: String, _ type: AttributeType, isOptional: Bool = true, isTransient: Bool = false,
    defaultValue: StoredValue? = nil, minimum: StoredValue? = nil, maximum: StoredValue? = nil,
    minimumLength: Int? = nil, maximumLength: Int? = nil, regularExpression: String? = nil,
    derivationExpression: String? = nil, valueTransformerName: String? = nil, attributeValueClassName: String? = nil,
    allowsExternalBinaryDataStorage: Bool = false, isIndexed: Bool = false, renamingIdentifier: String? = nil,
    versionHashModifier: String? = nil, userInfo: [UserInfoEntry] = []
  ) -> PropertyDescription {
    .attribute(
      AttributeDescription(
        name: name, type: type, isOptional: isOptional, isTransient: isTransient, defaultValue: defaultValue,
        minimum: minimum, maximum: maximum, minimumLength: minimumLength, maximumLength: maximumLength,
        regularExpression: regularExpression, derivationExpression: derivationExpression,
        valueTransformerName: valueTransformerName, attributeValueClassName: attributeValueClassName,
        allowsExternalBinaryDataStorage: allowsExternalBinaryDataStorage, isIndexed: isIndexed,
        renamingIdentifier: renamingIdentifier, versionHashModifier: versionHashModifier, userInfo: userInfo))
  }

  /// A relationship to at most one object.
  ///
  /// ```swift
  /// let department = PropertyDescription.toOne("department", "Department", inverse: "employees")
  /// ```
  ///
  /// - Parameters:
  ///   - name: The relationship's name, unique among the entity's own and inherited properties.
  ///   - destination: The name of the entity that it leads to.
  ///   - inverse: The name of the relationship at the destination that mirrors this one; nil for none.
  ///   - isOptional: Whether null is valid.
  ///   - isTransient: Whether it is never stored.
  ///   - minimumCount: The least number of objects, 0 or 1.
  ///   - deleteRule: What happens to the other object when an object is deleted.
  ///   - renamingIdentifier: The name that it had in an earlier version of the model.
  ///   - versionHashModifier: A text that makes Core Data's version hash differ.
  ///   - userInfo: Texts without a meaning for the kit.
  public static func toOne(
    _ name: String, _ destination: String, inverse: String? = nil, isOptional: Bool = true, isTransient: Bool = false,
    minimumCount: Int = 0, deleteRule: DeleteRule = .nullify, renamingIdentifier: String? = nil,
    versionHashModifier: String? = nil, userInfo: [UserInfoEntry] = []
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, isOptional: isOptional,
        isTransient: isTransient, minimumCount: minimumCount, maximumCount: 1, deleteRule: deleteRule,
        renamingIdentifier: renamingIdentifier, versionHashModifier: versionHashModifier, userInfo: userInfo))
  }

  /// A relationship to several objects.
  ///
  /// ```swift
  /// let employees = PropertyDescription.toMany("employees", "Employee", inverse: "department", deleteRule: .cascade)
  /// ```
  ///
  /// - Parameters:
  ///   - name: The relationship's name, unique among the entity's own and inherited properties.
  ///   - destination: The name of the entity that it leads to.
  ///   - inverse: The name of the relationship at the destination that mirrors this one; nil for none.
  ///   - isOptional: Whether it may be empty.
  ///   - isTransient: Whether it is never stored.
  ///   - minimumCount: The least number of objects.
  ///   - maximumCount: The greatest number of objects, at least 2; 0 for no bound.
  ///   - isOrdered: Whether its members have their own sequence.
  ///   - deleteRule: What happens to the members when an object is deleted.
  ///   - renamingIdentifier: The name that it had in an earlier version of the model.
  ///   - versionHashModifier: A text that makes Core Data's version hash differ.
  ///   - userInfo: Texts without a meaning for the kit.
  public static func toMany(
    _ name: String, _ destination: String, inverse: String? = nil, isOptional: Bool = true, isTransient: Bool = false,
    minimumCount: Int = 0, maximumCount: Int = 0, isOrdered: Bool = false, deleteRule: DeleteRule = .nullify,
    renamingIdentifier: String? = nil, versionHashModifier: String? = nil, userInfo: [UserInfoEntry] = []
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, isOptional: isOptional,
        isTransient: isTransient, minimumCount: minimumCount, maximumCount: maximumCount, isOrdered: isOrdered,
        deleteRule: deleteRule, renamingIdentifier: renamingIdentifier, versionHashModifier: versionHashModifier,
        userInfo: userInfo))
  }
}

/// Comparing models to the bit and the Unicode scalar: `==` treats `é` as one scalar and as two as the same name, and
/// -0.0 and 0.0 as the same default.
extension ModelDescription {
  /// Whether both models say the same in the same order, to the bit and the Unicode scalar: then their property lists
  /// are the same. It compares them without making property lists, and without looking into parts that they share.
  package func isIdentical(to other: ModelDescription) -> Bool {
    isInferred == other.isInferred && inferredFrom.isIdentical(to: other.inferredFrom)
      && versionIdentifiers.isIdentical(to: other.versionIdentifiers)
      && entities.isIdentical(to: other.entities) { $0.isIdentical(to: $1) }
      && composites.isIdentical(to: other.composites) { $0.isIdentical(to: $1) }
      && configurations.isIdentical(to: other.configurations) { $0.isIdentical(to: $1) }
      && fetchRequestTemplates.isIdentical(to: other.fetchRequestTemplates) { $0.isIdentical(to: $1) }
      && extras.isIdentical(to: other.extras)
  }
}

extension EntityDescription {
  // The depth of the recursion is that of the inheritance, which models limit.
  fileprivate func isIdentical(to other: EntityDescription) -> Bool {
    name.hasSameScalars(as: other.name) && isAbstract == other.isAbstract
      && managedObjectClassName.isIdentical(to: other.managedObjectClassName)
      && properties.isIdentical(to: other.properties) { $0.isIdentical(to: $1) }
      && subentities.isIdentical(to: other.subentities) { $0.isIdentical(to: $1) }
      && uniquenessConstraints.isIdentical(to: other.uniquenessConstraints) { $0.isIdentical(to: $1) }
      && fetchIndexes.isIdentical(to: other.fetchIndexes) { $0.isIdentical(to: $1) }
      && compoundIndexes.isIdentical(to: other.compoundIndexes) { $0.isIdentical(to: $1) }
      && renamingIdentifier.isIdentical(to: other.renamingIdentifier)
      && versionHashModifier.isIdentical(to: other.versionHashModifier)
      && userInfo.isIdentical(to: other.userInfo) && extras.isIdentical(to: other.extras)
  }
}

extension PropertyDescription {
  fileprivate func isIdentical(to other: PropertyDescription) -> Bool {
    switch self {
    case .attribute(let mine):
      guard case .attribute(let its) = other else { return false }
      return mine.isIdentical(to: its)
    case .relationship(let mine):
      guard case .relationship(let its) = other else { return false }
      return mine.isIdentical(to: its)
    case .fetchedProperty(let mine):
      guard case .fetchedProperty(let its) = other else { return false }
      return mine.isIdentical(to: its)
    }
  }
}

extension AttributeDescription {
  fileprivate func isIdentical(to other: AttributeDescription) -> Bool {
    name.hasSameScalars(as: other.name) && type.isIdentical(to: other.type) && isOptional == other.isOptional
      && isTransient == other.isTransient && minimumLength == other.minimumLength
      && maximumLength == other.maximumLength && isIndexed == other.isIndexed
      && allowsExternalBinaryDataStorage == other.allowsExternalBinaryDataStorage
      && defaultValue.isIdentical(to: other.defaultValue) && minimum.isIdentical(to: other.minimum)
      && maximum.isIdentical(to: other.maximum) && regularExpression.isIdentical(to: other.regularExpression)
      && derivationExpression.isIdentical(to: other.derivationExpression)
      && valueTransformerName.isIdentical(to: other.valueTransformerName)
      && attributeValueClassName.isIdentical(to: other.attributeValueClassName)
      && renamingIdentifier.isIdentical(to: other.renamingIdentifier)
      && versionHashModifier.isIdentical(to: other.versionHashModifier)
      && userInfo.isIdentical(to: other.userInfo) && extras.isIdentical(to: other.extras)
  }
}

extension AttributeType {
  fileprivate func isIdentical(to other: AttributeType) -> Bool {
    if case .composite(let mine) = self, case .composite(let its) = other { return mine.hasSameScalars(as: its) }
    return self == other
  }
}

extension RelationshipDescription {
  fileprivate func isIdentical(to other: RelationshipDescription) -> Bool {
    name.hasSameScalars(as: other.name) && destinationEntityName.hasSameScalars(as: other.destinationEntityName)
      && inverseName.isIdentical(to: other.inverseName) && isOptional == other.isOptional
      && isTransient == other.isTransient && minimumCount == other.minimumCount && maximumCount == other.maximumCount
      && isOrdered == other.isOrdered && hasUnknownOrder == other.hasUnknownOrder && deleteRule == other.deleteRule
      && isIndexed == other.isIndexed && renamingIdentifier.isIdentical(to: other.renamingIdentifier)
      && versionHashModifier.isIdentical(to: other.versionHashModifier)
      && userInfo.isIdentical(to: other.userInfo) && extras.isIdentical(to: other.extras)
  }
}

extension FetchedPropertyDescription {
  fileprivate func isIdentical(to other: FetchedPropertyDescription) -> Bool {
    name.hasSameScalars(as: other.name) && fetchRequest.isIdentical(to: other.fetchRequest)
      && isOptional == other.isOptional && renamingIdentifier.isIdentical(to: other.renamingIdentifier)
      && versionHashModifier.isIdentical(to: other.versionHashModifier)
      && userInfo.isIdentical(to: other.userInfo) && extras.isIdentical(to: other.extras)
  }
}

extension FetchRequestDescription {
  fileprivate func isIdentical(to other: FetchRequestDescription) -> Bool {
    name.hasSameScalars(as: other.name) && entityName.hasSameScalars(as: other.entityName)
      && predicateString.isIdentical(to: other.predicateString) && fetchLimit == other.fetchLimit
      && fetchBatchSize == other.fetchBatchSize && resultType.isIdentical(to: other.resultType)
      && includesSubentities == other.includesSubentities && includesPropertyValues == other.includesPropertyValues
      && includesPendingChanges == other.includesPendingChanges
      && returnsObjectsAsFaults == other.returnsObjectsAsFaults
      && returnsDistinctResults == other.returnsDistinctResults
      && sortOrder.isIdentical(to: other.sortOrder) {
        $0.keyPath.hasSameScalars(as: $1.keyPath) && $0.isAscending == $1.isAscending
      }
      && extras.isIdentical(to: other.extras)
  }
}

extension FetchIndexDescription {
  fileprivate func isIdentical(to other: FetchIndexDescription) -> Bool {
    name.hasSameScalars(as: other.name) && partialIndexPredicate.isIdentical(to: other.partialIndexPredicate)
      && elements.isIdentical(to: other.elements) { $0.isIdentical(to: $1) } && extras.isIdentical(to: other.extras)
  }
}

extension FetchIndexDescription.Element {
  fileprivate func isIdentical(to other: FetchIndexDescription.Element) -> Bool {
    propertyName.isIdentical(to: other.propertyName) && expression.isIdentical(to: other.expression)
      && expressionType.isIdentical(to: other.expressionType)
      && collationType.hasSameScalars(as: other.collationType) && isAscending == other.isAscending
      && extras.isIdentical(to: other.extras)
  }
}

extension ConfigurationDescription {
  fileprivate func isIdentical(to other: ConfigurationDescription) -> Bool {
    name.hasSameScalars(as: other.name) && entityNames.isIdentical(to: other.entityNames)
      && extras.isIdentical(to: other.extras)
  }
}

extension CompositeDescription {
  fileprivate func isIdentical(to other: CompositeDescription) -> Bool {
    name.hasSameScalars(as: other.name) && attributes.isIdentical(to: other.attributes) { $0.isIdentical(to: $1) }
      && extras.isIdentical(to: other.extras)
  }
}

// MARK: Parts

extension Array {
  /// Whether both lists have the same number of elements and each pair is the same. Lists that share their memory are.
  fileprivate func isIdentical(to other: [Element], _ isSame: (Element, Element) -> Bool) -> Bool {
    guard count == other.count else { return false }
    let sharesMemory = withUnsafeBufferPointer { mine in
      other.withUnsafeBufferPointer { mine.baseAddress == $0.baseAddress }
    }
    if isEmpty || sharesMemory { return true }
    for index in indices where !isSame(self[index], other[index]) { return false }
    return true
  }
}

extension [String] {
  fileprivate func isIdentical(to other: [String]) -> Bool { isIdentical(to: other) { $0.hasSameScalars(as: $1) } }
}

extension [UserInfoEntry] {
  fileprivate func isIdentical(to other: [UserInfoEntry]) -> Bool {
    isIdentical(to: other) { $0.key.hasSameScalars(as: $1.key) && $0.value.hasSameScalars(as: $1.value) }
  }
}

extension [ModelExtra] {
  fileprivate func isIdentical(to other: [ModelExtra]) -> Bool {
    isIdentical(to: other) { one, other in
      switch (one, other) {
      case (.attribute(let name, let value), .attribute(let otherName, let otherValue)):
        name.hasSameScalars(as: otherName) && value.hasSameScalars(as: otherValue)
      case (.element(let text), .element(let otherText)): text.hasSameScalars(as: otherText)
      default: false
      }
    }
  }
}

extension String? {
  fileprivate func isIdentical(to other: String?) -> Bool {
    switch (self, other) {
    case (nil, nil): true
    case (let mine?, let its?): mine.hasSameScalars(as: its)
    default: false
    }
  }
}

extension StoredValue? {
  fileprivate func isIdentical(to other: StoredValue?) -> Bool {
    switch (self, other) {
    case (nil, nil): true
    case (let mine?, let its?): mine.isIdentical(to: its)
    default: false
    }
  }
}

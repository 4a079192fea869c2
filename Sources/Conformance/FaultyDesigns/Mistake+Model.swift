import AtomicStoreSPI

// What the mistakes make of the model that a file carries.
extension Mistake {
  static func written(model: ModelDescription) -> ModelDescription {
    var model = model
    switch current {
    case .modelConfigurationsLost: model.configurations = []
    case .modelFetchRequestsLost: model.fetchRequestTemplates = []
    case .modelVersionIdentifiersLost: model.versionIdentifiers = []
    case .modelExtrasLost: model.extras = []
    case .modelEntitiesSorted: model.entities.sort { ScalarString($1.name) < ScalarString($0.name) }
    case .modelPropertiesSorted, .modelSubentityUserInfoLost, .modelRegularExpressionsLost, .modelTransformersLost,
      .modelCountsLost, .modelAbstractLost, .modelFetchedPropertiesLost, .modelIndexPredicatesLost,
      .modelTransientLost, .modelDerivationsLost:
      model.entities = model.entities.map { written($0) }
    case .modelUserInfoLost, .modelIndexesLost, .modelDefaultsLost, .modelBoundsLost, .modelUniquenessLost,
      .modelDeleteRulesLost, .modelRenamingIdentifiersLost, .modelFloatDefaultRounded, .modelUserInfoComposed:
      model.entities = model.entities.map { written($0) }
    default: break
    }
    return model
  }

  private static func written(_ entity: EntityDescription) -> EntityDescription {
    var entity = entity
    switch current {
    case .modelUserInfoLost: entity.userInfo = []
    case .modelIndexesLost:
      entity.fetchIndexes = []
      entity.compoundIndexes = []
    case .modelUniquenessLost: entity.uniquenessConstraints = []
    case .modelRenamingIdentifiersLost: entity.renamingIdentifier = nil
    case .modelAbstractLost: entity.isAbstract = false
    case .modelPropertiesSorted: entity.properties.sort { ScalarString($0.name) < ScalarString($1.name) }
    case .modelFetchedPropertiesLost:
      entity.properties.removeAll { if case .fetchedProperty = $0 { true } else { false } }
    case .modelIndexPredicatesLost:
      for index in entity.fetchIndexes.indices { entity.fetchIndexes[index].partialIndexPredicate = nil }
    case .modelSubentityUserInfoLost:
      for index in entity.subentities.indices { entity.subentities[index].userInfo = [] }
    case .modelUserInfoComposed:
      entity.userInfo = entity.userInfo.map {
        UserInfoEntry(key: $0.key.replacing("e\u{301}", with: "\u{E9}"), value: $0.value)
      }
    default: break
    }
    entity.properties = entity.properties.map { property in
      switch property {
      case .attribute(var attribute):
        if Self.is(.modelDefaultsLost) { attribute.defaultValue = nil }
        if Self.is(.modelBoundsLost) { (attribute.minimum, attribute.maximum) = (nil, nil) }
        if Self.is(.modelFloatDefaultRounded), case .double(let number)? = attribute.defaultValue, number.isNaN {
          attribute.defaultValue = .double(.nan)
        }
        switch current {
        case .modelRegularExpressionsLost: attribute.regularExpression = nil
        case .modelTransformersLost: attribute.valueTransformerName = nil
        case .modelTransientLost: attribute.isTransient = false
        case .modelDerivationsLost: attribute.derivationExpression = nil
        default: break
        }
        return .attribute(attribute)
      case .relationship(var relationship):
        if Self.is(.modelCountsLost) {
          (relationship.minimumCount, relationship.maximumCount) = (0, relationship.isToMany ? 0 : 1)
        }
        if Self.is(.modelDeleteRulesLost) { relationship.deleteRule = .nullify }
        return .relationship(relationship)
      case .fetchedProperty: return property
      }
    }
    entity.subentities = entity.subentities.map { written($0) }
    return entity
  }
}

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
        return .attribute(attribute)
      case .relationship(var relationship):
        if Self.is(.modelDeleteRulesLost) { relationship.deleteRule = .nullify }
        return .relationship(relationship)
      case .fetchedProperty: return property
      }
    }
    entity.subentities = entity.subentities.map { written($0) }
    return entity
  }
}

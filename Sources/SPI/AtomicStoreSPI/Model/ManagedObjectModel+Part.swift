extension ManagedObjectModel {
  /// A model with the same entities that has only some of the properties, for a store of which only these are read: so
  /// nothing can ask for the values of others.
  ///
  /// With a relationship its inverse is kept, from which a store may have to derive it. What belongs to changes (rules,
  /// indexes, derivations) is left out.
  ///
  /// - Parameter names: The names of the properties, of whatever entity.
  /// - Returns: The model; nil if it would have all properties, or a fetched property, which may ask for any.
  package func part(withPropertiesNamed names: Set<ScalarString>) -> ManagedObjectModel? {
    var names = names
    // The values of a composite have its name, a dot and that of the part.
    for name in names {
      let parts = name.string.split(separator: ".", omittingEmptySubsequences: false)
      for count in parts.indices.dropFirst() { names.insert(ScalarString(parts.prefix(count).joined(separator: "."))) }
    }
    let all = entities.flatMap(\.declaration.properties)
    while true {
      let before = names.count
      for case .relationship(let relationship) in all where names.contains(ScalarString(relationship.name)) {
        if let inverse = relationship.inverseName { names.insert(ScalarString(inverse)) }
      }
      if names.count == before { break }
    }
    let kept = all.filter { names.contains(ScalarString($0.name)) }
    guard kept.count < all.count else { return nil }
    guard !kept.contains(where: { if case .fetchedProperty = $0 { true } else { false } }) else { return nil }
    var part = ModelDescription(
      entities: description.entities.map { $0.part(withPropertiesNamed: names) }, composites: description.composites,
      configurations: description.configurations, isInferred: description.isInferred,
      inferredFrom: description.inferredFrom)
    part.versionIdentifiers = description.versionIdentifiers
    return try? ManagedObjectModel(part)
  }
}

extension EntityDescription {
  fileprivate func part(withPropertiesNamed names: Set<ScalarString>) -> EntityDescription {
    EntityDescription(
      name: name, isAbstract: isAbstract, managedObjectClassName: managedObjectClassName,
      properties: properties.filter { names.contains(ScalarString($0.name)) }.map { property in
        guard case .attribute(var attribute) = property else { return property }
        attribute.derivationExpression = nil
        return .attribute(attribute)
      },
      subentities: subentities.map { $0.part(withPropertiesNamed: names) })
  }
}

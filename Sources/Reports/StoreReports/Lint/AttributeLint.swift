import AtomicStoreSPI

/// Attributes whose values are read otherwise than they are stored, and uniqueness that does not hold.
struct AttributeLint {
  private let model: ManagedObjectModel

  init(_ model: ManagedObjectModel) { self.model = model }

  func run(_ list: inout LintList) {
    for entity in model.entities {
      for case .attribute(let attribute) in entity.declaration.properties {
        checkOptionality(attribute, of: entity, &list)
        checkTransformer(attribute, of: entity, &list)
        if attribute.isIndexed {
          list.add("retired-index", entity.name, attribute.name, "Xcode 9 and later ignore this kind of index")
        }
      }
      if !entity.declaration.compoundIndexes.isEmpty {
        list.add("retired-index", entity.name, nil, "Xcode 9 and later ignore compound indexes")
      }
      for constraint in entity.declaration.uniquenessConstraints { check(constraint, of: entity, &list) }
    }
  }

  private func checkOptionality(_ attribute: AttributeDescription, of entity: Entity, _ list: inout LintList) {
    guard attribute.isOptional, attribute.derivationExpression == nil else { return }
    let usesScalar = attribute.extras.contains(.attribute(name: "usesScalarValueType", value: "YES"))
    switch attribute.type.valueKind {
    case .integer, .float, .double, .boolean, .date:
      if usesScalar, attribute.defaultValue == nil {
        let zero = attribute.type == .boolean ? "false" : attribute.type == .date ? "1 January 2001" : "0"
        list.add(
          "optional-scalar", entity.name, attribute.name,
          "optional, without default, and read as a scalar: no value looks like \(zero)")
      } else if attribute.type == .boolean, attribute.defaultValue == nil {
        list.add(
          "optional-boolean", entity.name, attribute.name,
          "optional, without default: '\(attribute.name) == NO' does not find objects without a value")
      }
    default: break
    }
  }

  private func checkTransformer(_ attribute: AttributeDescription, of entity: Entity, _ list: inout LintList) {
    guard attribute.type == .transformable else { return }
    guard let name = attribute.valueTransformerName, !name.isEmpty else {
      return list.add(
        "retired-transformer", entity.name, attribute.name,
        "no transformer: values are archived without secure coding; name NSSecureUnarchiveFromData")
    }
    let retired = ["NSKeyedUnarchiveFromData", "NSUnarchiveFromData"]
    guard retired.contains(where: { name == $0 || name == $0 + "TransformerName" }) else { return }
    list.add(
      "retired-transformer", entity.name, attribute.name,
      "the transformer \(name) decodes any class; name NSSecureUnarchiveFromData")
  }

  private func check(_ constraint: [String], of entity: Entity, _ list: inout LintList) {
    for name in constraint {
      guard let property = entity.property(named: name) else { continue }
      let isOptional =
        switch property {
        case .attribute(let attribute): attribute.isOptional && attribute.defaultValue == nil
        case .relationship(let relationship): relationship.isOptional
        case .fetchedProperty: false
        }
      guard isOptional else { continue }
      list.add(
        "optional-constraint", entity.name, name,
        "unique, but optional: any number of objects may have no value")
    }
    // The order of the attributes in an index does not matter for equality.
    let wanted = Set(constraint.map { ScalarString($0) })
    var level: Entity? = entity
    while let here = level {
      for index in here.declaration.fetchIndexes {
        let names = index.elements.prefix(constraint.count).compactMap { $0.propertyName.map { ScalarString($0) } }
        if Set(names) == wanted { return }
      }
      level = here.superentity
    }
    list.add(
      "unindexed-constraint", entity.name, constraint.count == 1 ? constraint[0] : nil,
      "no fetch index of \(constraint.joined(separator: ", ")), which must be unique")
  }
}

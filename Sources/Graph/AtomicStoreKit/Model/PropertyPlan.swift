import AtomicStoreSPI
import StorePredicates

/// One property in its entity's plan. A class, so that looking at it copies one reference rather than a description.
final class PropertyPlan: Sendable {
  enum Kind: Sendable, Equatable {
    case attribute(AttributeType)
    case composite
    case toOne
    case toMany
    case orderedToMany
    case fetched
  }
  let index: Int
  let name: String
  /// The name's UTF-8, which the tables of all entities that have the property share.
  let nameBytes: [UInt8]
  let kind: Kind
  /// Where it is stored; -1 for transient and fetched ones and composites as a whole.
  let slot: Int
  private let description: PropertyDescription
  var attribute: AttributeDescription? { if case .attribute(let attribute) = description { attribute } else { nil } }
  var relationship: RelationshipDescription? {
    if case .relationship(let relationship) = description { relationship } else { nil }
  }
  var fetched: FetchedPropertyDescription? {
    if case .fetchedProperty(let fetched) = description { fetched } else { nil }
  }
  /// What the model demands of its values; nil for nothing.
  let rule: ValidationRule?
  /// The number of the destination entity, or -1.
  let destination: Int
  /// The number of the inverse among the destination's properties, or -1.
  let inverse: Int
  /// For a composite: the numbers of its parts, at any depth, follow its own.
  let parts: Range<Int>
  let isTransient: Bool
  /// Whether it is a transient attribute without a type, or transformable: it keeps whatever it is set to.
  let holdsAnyValue: Bool
  /// The value of a transient attribute that was not set: the model's default. Null for all others.
  let unsetValue: StoredValue
  let isRelationship: Bool
  let isToMany: Bool
  let deleteRule: DeleteRule

  init(_ draft: Draft) {
    index = draft.index
    name = draft.name
    nameBytes = Array(draft.name.utf8)
    kind = draft.kind
    slot = draft.slot
    description = draft.property
    rule =
      if let attribute = draft.attribute {
        draft.kind == .composite ? nil : ValidationRule(attribute, isStored: draft.slot >= 0)
      } else {
        draft.relationship.flatMap { ValidationRule($0) }
      }
    destination = draft.destination
    inverse = draft.inverse
    parts = draft.parts
    isTransient = draft.attribute?.isTransient ?? draft.relationship?.isTransient ?? false
    holdsAnyValue =
      switch draft.kind {
      case .attribute(.undefined), .attribute(.transformable):
        isTransient && draft.attribute?.derivationExpression == nil
      default: false
      }
    unsetValue = isTransient && draft.kind != .composite ? draft.attribute?.defaultValue ?? .null : .null
    isRelationship = draft.relationship != nil
    isToMany = draft.kind == .toMany || draft.kind == .orderedToMany
    deleteRule = draft.relationship?.deleteRule ?? .nullify
  }

  var attributeType: AttributeType? { if case .attribute(let type) = kind { type } else { nil } }

  /// A plan in the making.
  struct Draft {
    let index: Int
    let name: String
    let kind: Kind
    let slot: Int
    let property: PropertyDescription
    var destination = -1
    var inverse = -1
    var parts: Range<Int> = 0..<0

    var attribute: AttributeDescription? { if case .attribute(let attribute) = property { attribute } else { nil } }
    var relationship: RelationshipDescription? {
      if case .relationship(let relationship) = property { relationship } else { nil }
    }

    /// The properties that an entity itself declares, which follow the given number of inherited ones.
    static func ownList(of entity: Entity, after inherited: Int) -> [Draft] {
      var list: [Draft] = []
      func add(_ description: PropertyDescription, name: String, isTransient: Bool, depth: Int) {
        guard case .attribute(var attribute) = description else { return }
        var property = description
        if isTransient, !attribute.isTransient {
          attribute.isTransient = true
          property = .attribute(attribute)
        }
        let index = inherited + list.count
        guard case .composite(let compositeName) = attribute.type else {
          list.append(
            Draft(
              index: index, name: name, kind: .attribute(attribute.type),
              slot: attribute.isTransient ? -1 : entity.slot(named: name) ?? -1, property: property))
          return
        }
        let whole = list.count
        list.append(Draft(index: index, name: name, kind: .composite, slot: -1, property: property))
        // The model was checked: composites neither lead in a circle nor stand deeper than this.
        guard depth < 16, let composite = entity.model.composite(named: compositeName) else { return }
        for part in composite.attributes {
          add(.attribute(part), name: "\(name).\(part.name)", isTransient: attribute.isTransient, depth: depth + 1)
        }
        list[whole].parts = (index + 1)..<(inherited + list.count)
      }
      for property in entity.declaration.properties {
        switch property {
        case .attribute(let attribute): add(property, name: attribute.name, isTransient: false, depth: 0)
        case .relationship(let relationship):
          let kind: PropertyPlan.Kind =
            !relationship.isToMany ? .toOne : relationship.isOrdered ? .orderedToMany : .toMany
          list.append(
            Draft(
              index: inherited + list.count, name: relationship.name, kind: kind,
              slot: relationship.isTransient ? -1 : entity.slot(named: relationship.name) ?? -1, property: property))
        case .fetchedProperty(let fetched):
          list.append(
            Draft(index: inherited + list.count, name: fetched.name, kind: .fetched, slot: -1, property: property))
        }
      }
      return list
    }
  }
}

import AtomicStoreSPI
import Synchronization

/// What the stack compiles from a model, once: for each entity where its properties stand and what holds for them.
final class ModelPlan: Sendable {
  let entities: [EntityPlan]
  /// By entity, what derived attributes of other objects are derived from.
  let derivationSources: [[DerivationSource]]

  init(_ model: ManagedObjectModel) {
    // Super-entities first: what an entity inherits it shares with them.
    var own: [[PropertyPlan.Draft]] = Array(repeating: [], count: model.entityCount)
    var counts = [Int](repeating: 0, count: model.entityCount)
    var names: [[ScalarString: Int]] = Array(repeating: [:], count: model.entityCount)
    for index in model.preorder {
      let entity = model.entity(at: index)
      let inherited = entity.superentity.map { counts[$0.index] } ?? 0
      own[index] = PropertyPlan.Draft.ownList(of: entity, after: inherited)
      counts[index] = inherited + own[index].count
      for draft in own[index] where names[index][ScalarString(draft.name)] == nil { names[index][ScalarString(draft.name)] = draft.index }
    }
    var plans = [EntityPlan?](repeating: nil, count: model.entityCount)
    for index in model.preorder {
      let entity = model.entity(at: index)
      let properties = own[index].map { draft in
        guard let relationship = draft.relationship else { return PropertyPlan(draft) }
        var draft = draft
        let destination = model.entity(named: relationship.destinationEntityName)
        draft.destination = destination?.index ?? -1
        draft.inverse = destination.flatMap { Self.inverse(of: relationship, in: entity, at: $0, own, names) } ?? -1
        return PropertyPlan(draft)
      }
      plans[index] = EntityPlan(entity, properties, below: entity.superentity.flatMap { plans[$0.index] })
    }
    entities = plans.compactMap { $0 }
    derivationSources = DerivationSource.all(in: entities)
  }

  /// The number of the relationship at the destination that names this one for its inverse, as this one names it.
  private static func inverse(
    of relationship: RelationshipDescription, in owner: Entity, at destination: Entity, _ own: [[PropertyPlan.Draft]],
    _ names: [[ScalarString: Int]]
  ) -> Int? {
    guard let name = relationship.inverseName else { return nil }
    var level: Entity? = destination
    while let here = level {
      if let number = names[here.index][ScalarString(name)], let first = own[here.index].first?.index {
        guard let other = own[here.index][number - first].relationship, other.isInverse(of: relationship),
          let back = owner.model.entity(named: other.destinationEntityName), owner.isKindOf(entity: back) || back.isKindOf(entity: owner)
        else { return nil }
        return number
      }
      level = here.superentity
    }
    return nil
  }

  /// The model's plan, made when it is first asked for.
  static func plan(of model: ManagedObjectModel) -> ModelPlan {
    if let plan = model.attachment.withLock({ $0 as? ModelPlan }) { return plan }
    let plan = ModelPlan(model)
    return model.attachment.withLock { attachment in
      if let first = attachment as? ModelPlan { return first }
      attachment = plan
      return plan
    }
  }
}

/// One entity's properties, each at a number that holds in all its sub-entities too.
final class EntityPlan: Sendable {
  // The model keeps its plans, so they do not keep it: whoever has a plan has a store or an object, which does.
  private unowned let model: ManagedObjectModel
  var entity: Entity { model.entity(at: index) }
  let index: Int
  let root: Int
  /// Super-entity's first; a composite is followed by its parts.
  let properties: [PropertyPlan]
  let relationships: [Int]
  let attributes: [Int]
  /// The property that stands in each slot.
  let propertyOfSlot: [Int]
  let defaults: [(property: Int, value: StoredValue)]
  let derived: [Int]
  let fetched: [Int]
  let constraints: [[Int]]
  /// The slots of the attributes that the model has indexed: first in a fetch index, or in a uniqueness constraint.
  let indexedSlots: Set<Int>
  private let names: NameTable

  /// - Parameters:
  ///   - own: The properties that the entity itself declares.
  ///   - above: The plan of its super-entity, which has the others.
  init(_ entity: Entity, _ own: [PropertyPlan], below above: EntityPlan?) {
    model = entity.model
    index = entity.index
    root = entity.root.index
    properties = Self.extended(above?.properties, by: own)
    relationships = Self.extended(above?.relationships, by: own.filter { $0.relationship != nil }.map(\.index))
    attributes = Self.extended(above?.attributes, by: own.filter { $0.attribute != nil && $0.kind != .composite }.map(\.index))
    fetched = Self.extended(above?.fetched, by: own.filter { $0.fetched != nil }.map(\.index))
    derived = Self.extended(above?.derived, by: own.filter { $0.attribute?.derivationExpression != nil }.map(\.index))
    // Slots are numbered in the order of the properties.
    propertyOfSlot = Self.extended(above?.propertyOfSlot, by: own.filter { $0.slot >= 0 }.map(\.index))
    defaults = Self.extended(
      above?.defaults,
      by: own.compactMap { property in
        guard property.kind != .composite, let value = property.attribute?.defaultValue, !value.isNull else { return nil }
        return (property.index, value)
      })
    if let above, own.isEmpty { names = above.names } else { names = NameTable(properties.map(\.nameBytes)) }
    let names = self.names
    let properties = self.properties
    let declared = entity.declaration
    constraints = Self.extended(
      above?.constraints, by: declared.uniquenessConstraints.map { $0.compactMap { names[$0] } }.filter { !$0.isEmpty })
    var indexed = Set(declared.uniquenessConstraints.flatMap { $0 })
    for property in own where property.attribute?.isIndexed ?? false { indexed.insert(property.name) }
    for index in declared.fetchIndexes {
      if let first = index.elements.first, first.collationType != "RTree", let name = first.propertyName { indexed.insert(name) }
    }
    for names in declared.compoundIndexes { if let name = names.first { indexed.insert(name) } }
    let slots = indexed.compactMap { names[$0] }.filter { properties[$0].slot >= 0 && properties[$0].attribute != nil }
      .map { properties[$0].slot }
    indexedSlots = slots.isEmpty ? above?.indexedSlots ?? [] : (above?.indexedSlots ?? []).union(slots)
  }

  /// The inherited list itself where nothing is added to it.
  private static func extended<Element>(_ inherited: [Element]?, by own: [Element]) -> [Element] {
    guard let inherited, !inherited.isEmpty else { return own }
    return own.isEmpty ? inherited : inherited + own
  }

  var name: String { entity.name }
  /// Which model it is of.
  var modelID: ObjectIdentifier { ObjectIdentifier(model) }

  func isKind(of other: Int) -> Bool { other == index || entity.isKindOf(entity: model.entity(at: other)) }

  /// Whether the property of that number is the one that the other entity has there: both have it from one above them.
  func shares(_ p: Int, with other: EntityPlan) -> Bool {
    if other === self { return true }
    guard p < properties.count, p < other.properties.count else { return false }
    let mine = properties[p]
    let its = other.properties[p]
    return mine.isRelationship && mine.destination == its.destination && mine.inverse == its.inverse && mine.name == its.name
  }

  /// The number of the property of that name, or nil.
  func property(named name: String) -> Int? { names[name] }
  func property(named name: UnsafePointer<UInt8>, count: Int) -> Int? {
    names.find(UnsafeBufferPointer(start: name, count: count))
  }
}

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
  var relationship: RelationshipDescription? { if case .relationship(let relationship) = description { relationship } else { nil } }
  var fetched: FetchedPropertyDescription? { if case .fetchedProperty(let fetched) = description { fetched } else { nil } }
  /// What the model demands of its values; nil for nothing.
  let rule: ValidationRule?
  /// The number of the destination entity, or -1.
  let destination: Int
  /// The number of the inverse among the destination's properties, or -1.
  let inverse: Int
  /// For a composite: the numbers of its parts, at any depth, follow its own.
  let parts: Range<Int>
  let isTransient: Bool
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
    rule = ValidationRule(draft)
    destination = draft.destination
    inverse = draft.inverse
    parts = draft.parts
    isTransient = draft.attribute?.isTransient ?? draft.relationship?.isTransient ?? false
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
    var relationship: RelationshipDescription? { if case .relationship(let relationship) = property { relationship } else { nil } }

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
          let kind: PropertyPlan.Kind = !relationship.isToMany ? .toOne : relationship.isOrdered ? .orderedToMany : .toMany
          list.append(
            Draft(
              index: inherited + list.count, name: relationship.name, kind: kind,
              slot: relationship.isTransient ? -1 : entity.slot(named: relationship.name) ?? -1, property: property))
        case .fetchedProperty(let fetched):
          list.append(Draft(index: inherited + list.count, name: fetched.name, kind: .fetched, slot: -1, property: property))
        }
      }
      return list
    }
  }
}

/// From a name's bytes to its number: property names are looked up at each access, so this must cost little.
struct NameTable: Sendable {
  private let names: [[UInt8]]
  private let buckets: [Int32]
  private let mask: Int

  init(_ names: [[UInt8]]) {
    self.names = names
    var size = 8
    while size < names.count * 2 { size *= 2 }
    mask = size - 1
    var buckets = [Int32](repeating: -1, count: size)
    for (index, name) in self.names.enumerated() {
      var place = name.withUnsafeBufferPointer(Self.hash) & (size - 1)
      while buckets[place] >= 0 { place = (place + 1) & (size - 1) }
      buckets[place] = Int32(truncatingIfNeeded: index)
    }
    self.buckets = buckets
  }

  private static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var value: UInt32 = 2_166_136_261
    for byte in bytes { value = (value ^ UInt32(byte)) &* 16_777_619 }
    return Int(value)
  }

  func find(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    var place = Self.hash(bytes) & mask
    while buckets[place] >= 0 {
      let index = Int(buckets[place])
      if names[index].count == bytes.count, names[index].elementsEqual(bytes) { return index }
      place = (place + 1) & mask
    }
    return nil
  }

  subscript(name: String) -> Int? {
    if let found = name.utf8.withContiguousStorageIfAvailable({ find($0) }) { return found }
    return Array(name.utf8).withUnsafeBufferPointer { find($0) }
  }
}

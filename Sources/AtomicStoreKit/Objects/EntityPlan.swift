import AtomicStoreSPI
import Synchronization

/// What the stack compiles from a model, once: for each entity where its properties stand and what holds for them.
final class ModelPlan: Sendable {
  let entities: [EntityPlan]
  /// By entity, what derived attributes of other objects are derived from.
  let derivationSources: [[DerivationSource]]

  init(_ model: ManagedObjectModel) {
    var numbers: [[ScalarString: Int]] = []
    var lists: [[PropertyPlan.Draft]] = []
    for entity in model.entities {
      let list = PropertyPlan.Draft.list(of: entity)
      lists.append(list)
      numbers.append(
        Dictionary(list.map { (ScalarString($0.name), $0.index) }, uniquingKeysWith: { first, _ in first }))
    }
    entities = model.entities.map { entity in
      var drafts = lists[entity.index]
      for index in drafts.indices {
        guard let relationship = drafts[index].relationship,
          let destination = model.entity(named: relationship.destinationEntityName)
        else { continue }
        drafts[index].destination = destination.index
        if let inverse = relationship.inverseName, let place = numbers[destination.index][ScalarString(inverse)],
          lists[destination.index][place].relationship != nil
        {
          drafts[index].inverse = place
        }
      }
      return EntityPlan(entity, drafts.map { PropertyPlan($0) })
    }
    derivationSources = DerivationSource.all(in: entities)
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
  let rules: [ValidationRule?]
  private let ancestors: Set<Int>
  private let names: NameTable

  init(_ entity: Entity, _ properties: [PropertyPlan]) {
    model = entity.model
    index = entity.index
    root = entity.root.index
    self.properties = properties
    relationships = properties.filter { $0.relationship != nil }.map(\.index)
    attributes = properties.filter { $0.attribute != nil && $0.kind != .composite }.map(\.index)
    fetched = properties.filter { $0.fetched != nil }.map(\.index)
    derived = properties.filter { $0.attribute?.derivationExpression != nil }.map(\.index)
    var bySlot = [Int](repeating: 0, count: entity.slots.count)
    for property in properties where property.slot >= 0 { bySlot[property.slot] = property.index }
    propertyOfSlot = bySlot
    defaults = properties.compactMap { property in
      guard property.kind != .composite, let value = property.attribute?.defaultValue, !value.isNull else { return nil }
      return (property.index, value)
    }
    let names = NameTable(properties.map(\.name))
    self.names = names
    constraints = entity.uniquenessConstraints.map { $0.compactMap { names[$0] } }.filter { !$0.isEmpty }
    var indexed = Set(entity.uniquenessConstraints.flatMap { $0 })
    for property in properties where property.attribute?.isIndexed ?? false { indexed.insert(property.name) }
    var holder: Entity? = entity
    while let declared = holder?.declaration {
      for index in declared.fetchIndexes {
        if let first = index.elements.first, first.collationType != "RTree", let name = first.propertyName { indexed.insert(name) }
      }
      for names in declared.compoundIndexes { if let name = names.first { indexed.insert(name) } }
      holder = holder?.superentity
    }
    indexedSlots = Set(
      indexed.compactMap { names[$0] }.filter { properties[$0].slot >= 0 && properties[$0].attribute != nil }.map { properties[$0].slot })
    rules = properties.map { ValidationRule($0) }
    var ancestors: Set<Int> = [entity.index]
    var above = entity.superentity
    while let next = above {
      ancestors.insert(next.index)
      above = next.superentity
    }
    self.ancestors = ancestors
  }

  var name: String { entity.name }
  /// Which model it is of.
  var modelID: ObjectIdentifier { ObjectIdentifier(model) }

  func isKind(of other: Int) -> Bool { other == index || ancestors.contains(other) }

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
  let kind: Kind
  /// Where it is stored; -1 for transient and fetched ones and composites as a whole.
  let slot: Int
  let attribute: AttributeDescription?
  let relationship: RelationshipDescription?
  let fetched: FetchedPropertyDescription?
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
    kind = draft.kind
    slot = draft.slot
    attribute = draft.attribute
    relationship = draft.relationship
    fetched = draft.fetched
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
    let attribute: AttributeDescription?
    let relationship: RelationshipDescription?
    let fetched: FetchedPropertyDescription?
    var destination = -1
    var inverse = -1
    var parts: Range<Int> = 0..<0

    static func list(of entity: Entity) -> [Draft] {
      var list: [Draft] = []
      func add(_ attribute: AttributeDescription, name: String, isTransient: Bool, depth: Int) {
        var attribute = attribute
        attribute.isTransient = attribute.isTransient || isTransient
        guard case .composite(let compositeName) = attribute.type else {
          list.append(
            Draft(
              index: list.count, name: name, kind: .attribute(attribute.type),
              slot: attribute.isTransient ? -1 : entity.slot(named: name) ?? -1, attribute: attribute, relationship: nil,
              fetched: nil))
          return
        }
        let whole = list.count
        list.append(
          Draft(
            index: whole, name: name, kind: .composite, slot: -1, attribute: attribute, relationship: nil, fetched: nil))
        // The model was checked: composites neither lead in a circle nor stand deeper than this.
        guard depth < 16, let composite = entity.model.composite(named: compositeName) else { return }
        for part in composite.attributes {
          add(part, name: "\(name).\(part.name)", isTransient: attribute.isTransient, depth: depth + 1)
        }
        list[whole].parts = (whole + 1)..<list.count
      }
      for property in entity.properties {
        switch property {
        case .attribute(let attribute): add(attribute, name: attribute.name, isTransient: false, depth: 0)
        case .relationship(let relationship):
          let kind: PropertyPlan.Kind = !relationship.isToMany ? .toOne : relationship.isOrdered ? .orderedToMany : .toMany
          list.append(
            Draft(
              index: list.count, name: relationship.name, kind: kind,
              slot: relationship.isTransient ? -1 : entity.slot(named: relationship.name) ?? -1, attribute: nil,
              relationship: relationship, fetched: nil))
        case .fetchedProperty(let fetched):
          list.append(
            Draft(
              index: list.count, name: fetched.name, kind: .fetched, slot: -1, attribute: nil, relationship: nil,
              fetched: fetched))
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

  init(_ names: [String]) {
    self.names = names.map { Array($0.utf8) }
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

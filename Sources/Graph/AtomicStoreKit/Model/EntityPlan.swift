import AtomicStoreSPI

/// The properties of an entity, by numbers that are the same in all its sub-entities.
final class EntityPlan: Sendable {
  // The model owns its plans, so they must not retain it: callers with a plan have a store or an object, which does.
  private unowned let model: ManagedObjectModel
  var entity: Entity { model.entity(at: index) }
  let index: Int
  let root: Int
  /// Those of the super-entity first; a composite is followed by its parts.
  let properties: [PropertyPlan]
  let relationships: [Int]
  let attributes: [Int]
  /// The property that is stored in each slot.
  let propertyOfSlot: [Int]
  let defaults: [(property: Int, value: StoredValue)]
  let derived: [Int]
  let fetched: [Int]
  let constraints: [[Int]]
  /// The slots of attributes that the model indexes: the first of a fetch index, or of a uniqueness constraint.
  let indexedSlots: Set<Int>
  private let names: NameTable
  private let readMemory: ReadTable.Memory
  /// For reads by ``Managed`` properties.
  let reads: ReadTable

  /// - Parameters:
  ///   - own: The properties that the entity itself declares.
  ///   - above: The plan of its super-entity, which has the other properties.
  init(_ entity: Entity, _ own: [PropertyPlan], below above: EntityPlan?) {
    model = entity.model
    index = entity.index
    root = entity.root.index
    properties = Self.extended(above?.properties, by: own)
    relationships = Self.extended(above?.relationships, by: own.filter { $0.relationship != nil }.map(\.index))
    attributes = Self.extended(
      above?.attributes, by: own.filter { $0.attribute != nil && $0.kind != .composite }.map(\.index))
    fetched = Self.extended(above?.fetched, by: own.filter { $0.fetched != nil }.map(\.index))
    derived = Self.extended(above?.derived, by: own.filter { $0.attribute?.derivationExpression != nil }.map(\.index))
    // Slots are numbered in the order of the properties.
    propertyOfSlot = Self.extended(above?.propertyOfSlot, by: own.filter { $0.slot >= 0 }.map(\.index))
    defaults = Self.extended(
      above?.defaults,
      by: own.compactMap { property in
        guard property.kind != .composite, let value = property.attribute?.defaultValue, !value.isNull else {
          return nil
        }
        return (property.index, value)
      })
    if let above, own.isEmpty { names = above.names } else { names = NameTable(properties.map(\.nameBytes)) }
    readMemory = ReadTable.Memory(properties)
    reads = readMemory.table
    let names = self.names
    let properties = self.properties
    let declared = entity.declaration
    constraints = Self.extended(
      above?.constraints, by: declared.uniquenessConstraints.map { $0.compactMap { names[$0] } }.filter { !$0.isEmpty })
    var indexed = Set(declared.uniquenessConstraints.flatMap { $0 })
    for property in own where property.attribute?.isIndexed ?? false { indexed.insert(property.name) }
    for index in declared.fetchIndexes {
      if let first = index.elements.first, first.collationType != "RTree", let name = first.propertyName {
        indexed.insert(name)
      }
    }
    for names in declared.compoundIndexes { if let name = names.first { indexed.insert(name) } }
    let slots = indexed.compactMap { names[$0] }.filter { properties[$0].slot >= 0 && properties[$0].attribute != nil }
      .map { properties[$0].slot }
    indexedSlots = slots.isEmpty ? above?.indexedSlots ?? [] : (above?.indexedSlots ?? []).union(slots)
  }

  /// Returns the inherited list itself if nothing is added to it.
  private static func extended<Element>(_ inherited: [Element]?, by own: [Element]) -> [Element] {
    guard let inherited, !inherited.isEmpty else { return own }
    return own.isEmpty ? inherited : inherited + own
  }

  var name: String { entity.name }
  /// Identifies the model.
  var modelID: ObjectIdentifier { ObjectIdentifier(model) }

  func isKind(of other: Int) -> Bool { other == index || entity.isKindOf(entity: model.entity(at: other)) }

  /// Whether the other entity has the same property at that number: both inherit it from a common super-entity.
  func shares(_ p: Int, with other: EntityPlan) -> Bool {
    if other === self { return true }
    guard p < properties.count, p < other.properties.count else { return false }
    let mine = properties[p]
    let its = other.properties[p]
    return mine.isRelationship && mine.destination == its.destination && mine.inverse == its.inverse
      && mine.name == its.name
  }

  /// The number of the property with that name, or nil.
  func property(named name: String) -> Int? { names[name] }
  func property(named name: Substring) -> Int? { names[name] }
  /// The number of the property with that name, which is a literal: its address stands for the name from then on.
  func property(literal name: UnsafePointer<UInt8>, count: Int) -> Int? {
    if let known = reads.property(name) { return known }
    guard let found = names.find(UnsafeBufferPointer(start: name, count: count)) else { return nil }
    reads.note(name, found)
    return found
  }
}

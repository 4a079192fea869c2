/// The storage of one property's values. It is the same in an entity and all its sub-entities, which share it.
///
/// ```swift
/// for slot in entity.slots where !slot.isOptional { print("\(slot.name) must have a value") }
/// ```
public struct Slot: Sendable, Equatable {
  /// What a slot holds.
  public enum Kind: Sendable, Hashable {
    /// Values of an attribute of this type, which is never a composite: its parts have their own slots.
    case attribute(AttributeType)
    /// One object or none.
    case toOne
    /// Any number of objects, each at most once; an ordered relationship keeps their order.
    case toMany(ordered: Bool)
  }
  /// A single reference: an entity has a slot for each inherited property, and slots are copied often.
  private let content: Content

  private final class Content: Sendable {
    let name: String
    let index: Int
    let kind: Kind
    let valueKind: StoredValue.Kind
    let isOptional: Bool
    let property: PropertyDescription
    let destination: Int?
    let inverseSlot: Int?

    init(
      name: String, index: Int, kind: Kind, isOptional: Bool, property: PropertyDescription, destination: Int?,
      inverseSlot: Int?
    ) {
      self.name = name
      self.index = index
      self.kind = kind
      valueKind =
        switch kind {
        case .attribute(let type): type.valueKind
        case .toOne: .toOne
        case .toMany: .toMany
        }
      self.isOptional = isOptional
      self.property = property
      self.destination = destination
      self.inverseSlot = inverseSlot
    }
  }

  init(
    name: String, index: Int, kind: Kind, isOptional: Bool, property: PropertyDescription, destination: Int? = nil,
    inverseSlot: Int? = nil
  ) {
    content = Content(
      name: name, index: index, kind: kind, isOptional: isOptional, property: property, destination: destination,
      inverseSlot: inverseSlot)
  }

  /// The property's name; for a part of a composite `property.part`.
  ///
  /// ```swift
  /// print(entity.slots.map(\.name).joined(separator: ","))
  /// ```
  public var name: String { content.name }
  /// The slot's index in ``Entity/slots``. It is the same in an entity and in all its sub-entities.
  ///
  /// ```swift
  /// for slot in entity.slots { print(slot.name, nodes.value(slot: slot.index, of: node)) }
  /// ```
  public var index: Int { content.index }
  /// What the slot holds.
  public var kind: Kind { content.kind }
  /// The kind of the values that it holds.
  public var valueKind: StoredValue.Kind { content.valueKind }
  /// Whether the model allows null, or an empty to-many. Stores accept null in any slot; validation in the object graph
  /// checks optionality.
  public var isOptional: Bool { content.isOptional }
  /// The attribute, or the part of a composite; nil for relationships.
  public var attribute: AttributeDescription? {
    if case .attribute(let attribute) = content.property { attribute } else { nil }
  }
  /// The relationship; nil for attributes.
  public var relationship: RelationshipDescription? {
    if case .relationship(let relationship) = content.property { relationship } else { nil }
  }
  /// For relationships: the number of the destination entity, as in ``ManagedObjectModel/entity(at:)``; nil for
  /// attributes.
  public var destination: Int? { content.destination }
  /// For relationships: the slot of the inverse at the destination, or nil if there is none. An inverse must name this
  /// relationship as its inverse, and be named by it.
  public var inverseSlot: Int? { content.inverseSlot }

  public static func == (one: Slot, other: Slot) -> Bool {
    one.content === other.content
      || one.name == other.name && one.index == other.index && one.kind == other.kind
        && one.isOptional == other.isOptional && one.content.property == other.content.property
        && one.destination == other.destination && one.inverseSlot == other.inverseSlot
  }

  /// Whether the slot holds a to-one or to-many relationship.
  public var isRelationship: Bool { if case .attribute = kind { false } else { true } }
  /// Whether the slot holds a to-many relationship.
  ///
  /// ```swift
  /// let toManys = entity.slots.filter(\.isToMany)
  /// ```
  public var isToMany: Bool { if case .toMany = kind { true } else { false } }
  /// Whether the slot holds an ordered to-many relationship. See also ``keepsSequence``.
  public var isOrdered: Bool { if case .toMany(ordered: true) = kind { true } else { false } }
  /// Whether the order of a to-many's members is kept, because the relationship is ordered or because it is not known
  /// whether it is (``RelationshipDescription/hasUnknownOrder``). The members of other to-manys are in ascending order
  /// of reference.
  public var keepsSequence: Bool { isOrdered || relationship?.hasUnknownOrder ?? false }
  /// The type of the attribute; nil for relationships.
  public var attributeType: AttributeType? { if case .attribute(let type) = kind { type } else { nil } }
}

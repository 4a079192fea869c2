import AtomicStoreSPI
import StoreCoordination

/// A picture of a model: a box for each entity with its properties, and lines for inheritance and relationships.
///
/// The layout is computed here and depends on nothing but the model, so that equal models give equal bytes on every
/// machine: boxes stand in columns, do not overlap, and no line runs over a box.
///
/// ```swift
/// let svg = try ModelDiagram(model).svg()
/// let changes = try ModelDiagram(from: model, to: other).svg()
/// ```
public struct ModelDiagram: Sendable {
  /// What happened to an entity, a property or a line between two models.
  package enum Mark: String, Sendable, Hashable, CaseIterable {
    /// It is in both, and the same.
    case same
    /// It is only in the new model.
    case added
    /// It is only in the old model.
    case removed
    /// It is in both, and different.
    case changed
  }
  /// A line of text in a box.
  package struct Row: Sendable, Hashable {
    /// What a row describes.
    package enum Kind: String, Sendable, Hashable {
      /// An attribute.
      case attribute
      /// A relationship.
      case relationship
      /// A fetched property.
      case fetchedProperty
      /// The number of properties for which there is no room.
      case remainder
    }
    /// What the row describes.
    var kind: Kind
    /// The property's name.
    package var name: String
    /// The type of an attribute, with `?` if it is optional; destination, numbers and delete rule of a relationship.
    package var detail: String
    /// What happened to the property.
    package var mark: Mark = .same
  }
  /// An entity.
  package struct Box: Sendable, Hashable {
    /// The entity's name; if it was renamed, `Old → New`.
    package var name: String
    /// Whether only sub-entities have objects.
    var isAbstract: Bool
    /// The properties that the entity declares itself.
    package var rows: [Row] = []
    /// What happened to the entity.
    package var mark: Mark = .same
  }
  /// One end of a line.
  package struct End: Sendable, Hashable {
    /// The index of the box.
    package var box: Int
    /// The index of the row; nil for the box's title.
    var row: Int?
    /// How many objects there may be at this end for one at the other; nil if the model does not say.
    package var count: ClosedRange<Int>?
  }
  /// A line between two boxes, or from a box to itself.
  package struct Link: Sendable, Hashable {
    /// Whether the line goes from a sub-entity to its super-entity, and not along a relationship.
    var isInheritance: Bool
    /// The sub-entity, or the relationship's owner.
    package var from: End
    /// The super-entity, or the other end of the relationship.
    package var to: End
    /// The names of the relationships at both ends.
    package var title: String
    /// What happened to it.
    package var mark: Mark = .same
  }

  /// The entities, in the order of their names; those of the old model that are gone come last.
  package internal(set) var boxes: [Box] = []
  /// The lines, by the boxes from which they start.
  package internal(set) var links: [Link] = []
  /// Whether the diagram compares two models.
  var isComparison = false

  /// The maximum number of entities in a picture.
  package static let maximumBoxCount = 1000
  /// The maximum number of lines in a picture.
  static let maximumLinkCount = 5000
  /// The maximum number of properties in a box; the number of the others is shown.
  package static let maximumRowCount = 150

  init(boxes: [Box] = [], links: [Link] = []) {
    self.boxes = boxes
    self.links = links
  }
}

extension ModelDiagram.Row {
  init(_ property: PropertyDescription) {
    switch property {
    case .attribute(let attribute):
      self.init(kind: .attribute, name: attribute.name, detail: Self.detail(attribute))
    case .relationship(let relationship):
      self.init(kind: .relationship, name: relationship.name, detail: Self.detail(relationship))
    case .fetchedProperty(let fetched):
      self.init(kind: .fetchedProperty, name: fetched.name, detail: "fetches \(fetched.fetchRequest.entityName)")
    }
  }

  private static func detail(_ attribute: AttributeDescription) -> String {
    var text = attribute.type.modelName
    if case .composite(let name) = attribute.type { text = name }
    if attribute.isOptional { text += "?" }
    if attribute.isTransient { text += " transient" }
    if attribute.derivationExpression != nil { text += " derived" }
    return text
  }

  private static func detail(_ relationship: RelationshipDescription) -> String {
    var text = relationship.destinationEntityName + " " + relationship.countText
    if relationship.isOrdered, relationship.isToMany { text += " ordered" }
    if relationship.isTransient { text += " transient" }
    if relationship.deleteRule != .nullify { text += " " + relationship.deleteRule.rawValue.lowercased() }
    return text
  }
}

extension RelationshipDescription {
  /// The numbers of objects that are valid. A maximum of `Int.max` means no limit.
  var validCounts: ClosedRange<Int> {
    let most = maximumCount == 0 ? Int.max : max(0, maximumCount)
    // An optional relationship may be empty whatever its minimum is.
    let least = isOptional ? 0 : min(max(1, minimumCount), most)
    return least...most
  }

  /// `0..1`, `1`, `0..*`, `1..5`.
  var countText: String {
    let counts = validCounts
    let most = counts.upperBound == Int.max ? "*" : String(counts.upperBound)
    return counts.lowerBound == counts.upperBound ? most : "\(counts.lowerBound)..\(most)"
  }
}

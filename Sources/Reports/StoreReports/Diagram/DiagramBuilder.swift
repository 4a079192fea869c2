import AtomicStoreSPI
import StoreCoordination

/// Collects boxes and lines of one model, or of two.
struct DiagramBuilder {
  var diagram = ModelDiagram()
  /// The boxes by the names of the entities, those of the new model before those of the old.
  var boxes: [ScalarString: Int] = [:]
  /// The rows of a box by the names of the properties.
  var rows: [[ScalarString: Int]] = []

  /// Adds a model: all entities, then all lines.
  mutating func add(_ model: ManagedObjectModel, limitedBy limit: Int?) throws(PersistentStoreError) {
    guard model.entityCount <= limit ?? ModelDiagram.maximumBoxCount else {
      throw Self.tooLarge("\(model.entityCount) entities", ModelDiagram.maximumBoxCount)
    }
    for entity in model.entities { addBox(entity, .same) }
    diagram.links = links(of: model, boxes, rows)
    try checkLinkCount()
  }

  func checkLinkCount() throws(PersistentStoreError) {
    guard diagram.links.count <= ModelDiagram.maximumLinkCount else {
      throw Self.tooLarge("\(diagram.links.count) relationships", ModelDiagram.maximumLinkCount)
    }
  }

  static func tooLarge(_ what: String, _ limit: Int) -> PersistentStoreError {
    PersistentStoreError(.limitExceeded, "the model has \(what); a diagram has room for \(limit)")
  }

  mutating func addBox(_ entity: Entity, _ mark: ModelDiagram.Mark) {
    var box = ModelDiagram.Box(name: entity.name, isAbstract: entity.isAbstract, mark: mark)
    var known: [ScalarString: Int] = [:]
    let properties = entity.declaration.properties
    // Relationships come last, next to each other; those without room have their lines at the title.
    let sorted = properties.filter { !$0.isRelationship } + properties.filter(\.isRelationship)
    for property in sorted.prefix(ModelDiagram.maximumRowCount) {
      known[ScalarString(property.name)] = box.rows.count
      var row = ModelDiagram.Row(property)
      row.mark = mark
      box.rows.append(row)
    }
    if sorted.count > ModelDiagram.maximumRowCount {
      let rest = sorted.count - ModelDiagram.maximumRowCount
      box.rows.append(ModelDiagram.Row(kind: .remainder, name: "and \(rest) more", detail: ""))
    }
    boxes[ScalarString(entity.name)] = diagram.boxes.count
    diagram.boxes.append(box)
    rows.append(known)
  }

  /// An end of a line: a property of a box.
  private struct Place: Hashable {
    var box: Int
    var name: ScalarString
  }

  /// The lines of a model between boxes that are there already, by the boxes from which they start.
  func links(
    of model: ManagedObjectModel, _ boxes: [ScalarString: Int], _ rows: [[ScalarString: Int]]
  ) -> [ModelDiagram.Link] {
    var links: [ModelDiagram.Link] = []
    // Relationships whose line is there: that of a pair is drawn once, whichever end finds the other.
    var drawn: Set<Place> = []
    for onlyPairs in [true, false] {
      for entity in model.entities {
        guard let box = boxes[ScalarString(entity.name)] else { continue }
        if onlyPairs, let parent = entity.superentity, let above = boxes[ScalarString(parent.name)] {
          links.append(
            ModelDiagram.Link(
              isInheritance: true, from: ModelDiagram.End(box: box), to: ModelDiagram.End(box: above),
              title: "\(entity.name) inherits from \(parent.name)"))
        }
        for case .relationship(let relationship) in entity.declaration.properties {
          let place = Place(box: box, name: ScalarString(relationship.name))
          guard !drawn.contains(place), let other = model.entity(named: relationship.destinationEntityName) else {
            continue
          }
          let near = ModelDiagram.End(box: box, row: rows[box][place.name])
          if let (owner, inverse) = Self.inverse(of: relationship, declaredIn: entity, at: other),
            let far = boxes[ScalarString(owner.name)],
            !drawn.contains(Place(box: far, name: ScalarString(inverse.name)))
          {
            drawn.formUnion([place, Place(box: far, name: ScalarString(inverse.name))])
            let end = ModelDiagram.End(box: far, row: rows[far][ScalarString(inverse.name)])
            links.append(Self.pair(relationship, of: entity, near, inverse, of: owner, end))
          } else if !onlyPairs, let far = boxes[ScalarString(other.name)] {
            links.append(
              ModelDiagram.Link(
                isInheritance: false, from: near, to: ModelDiagram.End(box: far, count: relationship.validCounts),
                title: "\(entity.name).\(relationship.name) → \(other.name)"))
          }
        }
      }
    }
    return links.enumerated().sorted { ($0.element.from.box, $0.offset) < ($1.element.from.box, $1.offset) }
      .map(\.element)
  }

  private static func pair(
    _ relationship: RelationshipDescription, of entity: Entity, _ near: ModelDiagram.End,
    _ inverse: RelationshipDescription, of owner: Entity, _ far: ModelDiagram.End
  ) -> ModelDiagram.Link {
    let title = "\(entity.name).\(relationship.name)"
    var (from, to) = (near, far)
    from.count = inverse.validCounts
    to.count = relationship.validCounts
    let isSelf = near.box == far.box && ScalarString(inverse.name) == ScalarString(relationship.name)
    return ModelDiagram.Link(
      isInheritance: false, from: from, to: to,
      title: isSelf ? "\(title) ↔ itself" : "\(title) ↔ \(owner.name).\(inverse.name)")
  }

  /// The inverse that also names this relationship, and the entity that declares it.
  static func inverse(
    of relationship: RelationshipDescription, declaredIn entity: Entity, at other: Entity
  ) -> (owner: Entity, RelationshipDescription)? {
    guard let name = relationship.inverseName else { return nil }
    var level: Entity? = other
    while let here = level {
      for case .relationship(let inverse) in here.declaration.properties
      where ScalarString(inverse.name) == ScalarString(name) {
        guard let back = inverse.inverseName, ScalarString(back) == ScalarString(relationship.name),
          let destination = entity.model.entity(named: inverse.destinationEntityName),
          entity.isKindOf(entity: destination) || destination.isKindOf(entity: entity)
        else { return nil }
        return (here, inverse)
      }
      level = here.superentity
    }
    return nil
  }
}

extension PropertyDescription {
  var isRelationship: Bool { if case .relationship = self { true } else { false } }
}

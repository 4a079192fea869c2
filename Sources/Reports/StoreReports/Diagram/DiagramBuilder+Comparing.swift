import AtomicStoreSPI
import StoreCoordination

extension DiagramBuilder {
  /// Marks what differs from an older model, and adds what is gone.
  mutating func compare(with old: ManagedObjectModel, new: ManagedObjectModel) throws(PersistentStoreError) {
    diagram.isComparison = true
    var oldBoxes: [ScalarString: Int] = [:]
    var oldRows = rows
    for entity in new.entities {
      guard let box = boxes[ScalarString(entity.name)] else { continue }
      guard let before = Self.predecessor(of: entity, old, new) else {
        markAll(box, .added)
        continue
      }
      oldBoxes[ScalarString(before.name)] = box
      oldRows[box] = [:]
      compare(entity, before, box, &oldRows[box])
    }
    for entity in old.entities where oldBoxes[ScalarString(entity.name)] == nil {
      guard diagram.boxes.count < ModelDiagram.maximumBoxCount else {
        throw Self.tooLarge("more entities together", ModelDiagram.maximumBoxCount)
      }
      let known = boxes[ScalarString(entity.name)]
      addBox(entity, .removed)
      oldBoxes[ScalarString(entity.name)] = diagram.boxes.count - 1
      oldRows.append(rows[diagram.boxes.count - 1])
      // A new entity has taken the name of another.
      if let known { boxes[ScalarString(entity.name)] = known }
    }
    compareLinks(links(of: old, oldBoxes, oldRows))
    try checkLinkCount()
  }

  /// What an entity was in the old model: the one with its name, or with its renaming identifier.
  private static func predecessor(of entity: Entity, _ old: ManagedObjectModel, _ new: ManagedObjectModel) -> Entity? {
    if let identifier = entity.declaration.renamingIdentifier, let found = old.entity(named: identifier),
      new.entity(named: identifier) == nil
    {
      return found
    }
    return old.entity(named: entity.name)
  }

  private mutating func markAll(_ box: Int, _ mark: ModelDiagram.Mark) {
    diagram.boxes[box].mark = mark
    for row in diagram.boxes[box].rows.indices { diagram.boxes[box].rows[row].mark = mark }
  }

  /// - Parameter oldRows: Gets the rows by the old names of the properties.
  private mutating func compare(
    _ entity: Entity, _ before: Entity, _ box: Int, _ oldRows: inout [ScalarString: Int]
  ) {
    let old = before.declaration.properties
    let newNames = Set(entity.declaration.properties.map { ScalarString($0.name) })
    var left = Dictionary(old.map { (ScalarString($0.name), $0) }, uniquingKeysWith: { first, _ in first })
    for property in entity.declaration.properties {
      guard let row = rows[box][ScalarString(property.name)] else { continue }
      let former = property.renamingIdentifier.map { ScalarString($0) }.flatMap { newNames.contains($0) ? nil : $0 }
      guard
        let known = left.removeValue(
          forKey: former.flatMap { left[$0] == nil ? nil : $0 } ?? ScalarString(property.name))
      else {
        diagram.boxes[box].rows[row].mark = .added
        continue
      }
      oldRows[ScalarString(known.name)] = row
      guard known != property else { continue }
      diagram.boxes[box].rows[row] = Self.changed(known, property)
    }
    for property in old where left[ScalarString(property.name)] != nil {
      var row = ModelDiagram.Row(property)
      row.mark = .removed
      guard diagram.boxes[box].rows.count <= ModelDiagram.maximumRowCount else { break }
      oldRows[ScalarString(property.name)] = diagram.boxes[box].rows.count
      diagram.boxes[box].rows.append(row)
    }
    if entity.name != before.name { diagram.boxes[box].name = "\(before.name) → \(entity.name)" }
    let isSame =
      ScalarString(entity.name) == ScalarString(before.name) && entity.isAbstract == before.isAbstract
      && entity.superentity?.name == before.superentity?.name
      && entity.declaration.uniquenessConstraints == before.declaration.uniquenessConstraints
      && diagram.boxes[box].rows.allSatisfy { $0.mark == .same }
    if !isSame { diagram.boxes[box].mark = .changed }
  }

  private static func changed(_ old: PropertyDescription, _ new: PropertyDescription) -> ModelDiagram.Row {
    let before = ModelDiagram.Row(old)
    var row = ModelDiagram.Row(new)
    row.mark = .changed
    if ScalarString(before.name) != ScalarString(row.name) { row.name = "\(before.name) → \(row.name)" }
    if ScalarString(before.detail) != ScalarString(row.detail) {
      row.detail = "\(before.detail) → \(row.detail)"
    } else if let aspect = aspect(old, new) {
      row.detail += " (\(aspect))"
    }
    return row
  }

  /// What differs where a row reads the same.
  private static func aspect(_ old: PropertyDescription, _ new: PropertyDescription) -> String? {
    switch (old, new) {
    case (.attribute(let one), .attribute(let other)):
      let aspects = [
        (one.defaultValue != other.defaultValue, "default"),
        (
          one.minimum != other.minimum || one.maximum != other.maximum || one.minimumLength != other.minimumLength
            || one.maximumLength != other.maximumLength || one.regularExpression != other.regularExpression, "rules"
        ), (one.derivationExpression != other.derivationExpression, "derivation"),
        (one.valueTransformerName != other.valueTransformerName, "transformer"),
        (one.isIndexed != other.isIndexed, "index"),
      ].filter(\.0).map(\.1)
      return aspects.isEmpty ? nil : aspects.joined(separator: ", ")
    case (.relationship(let one), .relationship(let other)):
      return one.inverseName == other.inverseName ? nil : "inverse"
    default: return nil
    }
  }

  /// Marks the lines that are new or lead to something changed, and adds those that are gone.
  private mutating func compareLinks(_ old: [ModelDiagram.Link]) {
    struct Key: Hashable {
      var isInheritance: Bool
      var from: ModelDiagram.End
      var to: ModelDiagram.End
      init(_ link: ModelDiagram.Link) {
        (isInheritance, from, to) = (link.isInheritance, link.from, link.to)
        (from.count, to.count) = (nil, nil)
      }
    }
    let before = Dictionary(old.map { (Key($0), $0) }, uniquingKeysWith: { first, _ in first })
    var kept: Set<Key> = []
    for index in diagram.links.indices {
      let key = Key(diagram.links[index])
      let reversed = Key(ModelDiagram.Link(isInheritance: key.isInheritance, from: key.to, to: key.from, title: ""))
      guard let known = before[key] ?? before[reversed] else {
        diagram.links[index].mark = .added
        continue
      }
      kept.insert(before[key] == nil ? reversed : key)
      let counts = before[key] == nil ? (known.to.count, known.from.count) : (known.from.count, known.to.count)
      if counts != (diagram.links[index].from.count, diagram.links[index].to.count) {
        diagram.links[index].mark = .changed
      }
    }
    for link in old where !kept.contains(Key(link)) {
      var link = link
      link.mark = .removed
      diagram.links.append(link)
    }
  }
}

extension PropertyDescription {
  var renamingIdentifier: String? {
    switch self {
    case .attribute(let attribute): attribute.renamingIdentifier
    case .relationship(let relationship): relationship.renamingIdentifier
    case .fetchedProperty(let property): property.renamingIdentifier
    }
  }
}

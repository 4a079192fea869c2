/// The part of a graph that the options of a store select, as a separate graph, and what was omitted or changed.
public struct StoreSelection: Sendable {
  /// Something omitted or changed on request.
  public typealias Note = SelectionNote

  /// The selected part of the graph, with its own model.
  public var snapshot: StoreSnapshot
  /// What was omitted or changed, for the caller to report.
  public var notes: [Note]
  /// Whether metadata and UUID are written, too.
  public var keepsMetadata: Bool

  /// Creates a selection.
  init(snapshot: StoreSnapshot, notes: [Note] = [], keepsMetadata: Bool = true) {
    self.snapshot = snapshot
    self.notes = notes
    self.keepsMetadata = keepsMetadata
  }
}

extension StoreSnapshot {
  /// Returns the objects of one entity, without its sub-entities. Relationships among them are kept; those that lead to
  /// other objects become text: `Entity/reference`, separated by spaces if there are several.
  ///
  /// - Throws: `.invalidOption` if the model does not have the entity.
  public func restricted(toEntity name: String) throws(PersistentStoreError) -> StoreSelection {
    let model = nodes.model
    guard let entity = model.entity(named: name), !entity.isAbstract else {
      let names = model.entities.filter { !$0.isAbstract }.map(\.name)
      throw PersistentStoreError(.invalidOption, Suggestion.unknown("entity", name, among: names))
    }
    var notes: [StoreSelection.Note] = []
    for other in model.entities where other.index != entity.index {
      let count = nodes.count(of: other.index)
      if count > 0 { notes.append(.init(subject: other.name, count: count, text: "left out")) }
    }
    // A relationship is kept if all its destinations are objects of exactly this entity.
    var properties: [PropertyDescription] = []
    var asText: Set<Int> = []
    let reader = nodes.reader(of: entity.index)
    for slot in entity.slots {
      if let attribute = slot.attribute {
        var copy = attribute
        copy.name = slot.name
        properties.append(.attribute(copy))
      } else if var relationship = slot.relationship, let destination = slot.destination {
        let (values, leads) = reader.relationship(slot.index, leadsOutOf: entity.index)
        if leads || !model.entity(at: destination).isKindOf(entity: entity) && destination != entity.index {
          asText.insert(slot.index)
          properties.append(.attribute(slot.name, .string))
          if values > 0 {
            notes.append(
              .init(
                subject: "\(name).\(slot.name)", count: values, text: "kept as text, because it leads to other entities"
              ))
          }
        } else {
          relationship.destinationEntityName = name
          relationship.inverseName = nil
          properties.append(.relationship(relationship))
        }
      }
    }
    var description = ModelDescription(
      entities: [EntityDescription(name: name, properties: properties)], isInferred: model.description.isInferred)
    description.versionIdentifiers = model.description.versionIdentifiers
    let part: ManagedObjectModel
    do {
      part = try ManagedObjectModel(description)
    } catch {
      throw PersistentStoreError(.internalInconsistency, "the entity alone makes no model", underlying: error)
    }
    let builder = try Self.copy(reader, entity, asText: asText, into: part)
    var metadata = metadata
    metadata.model = description
    return StoreSelection(
      snapshot: StoreSnapshot(nodes: try builder.finish(), metadata: metadata), notes: notes)
  }

  /// The objects of one entity, with the relationships `asText` as the texts of their references.
  private static func copy(
    _ reader: EntityReader, _ entity: Entity, asText: Set<Int>, into model: ManagedObjectModel
  ) throws(PersistentStoreError) -> NodeTableBuilder {
    let builder = NodeTableBuilder(model: model)
    for row in 0..<reader.count {
      try builder.beginNode(entity: 0, reference: reader.reference(row: row))
      for slot in entity.slots {
        let value = reader.value(slot: slot.index, row: row)
        guard asText.contains(slot.index) else {
          if !value.isNull { try builder.set(value, slot: slot.index) }
          continue
        }
        switch value {
        case .toOne(let reference): try builder.set(.string(reference.description), slot: slot.index)
        case .toMany(let references) where !references.isEmpty:
          let text = references.map(\.description).joined(separator: " ")
          try builder.set(.string(text), slot: slot.index)
        default: break
        }
      }
    }
    return builder
  }
}

extension EntityReader {
  /// In how many rows a relationship has a value, and whether one of them leads to an object of another entity.
  fileprivate func relationship(_ slot: Int, leadsOutOf entity: Int) -> (values: Int, leads: Bool) {
    var values = 0
    var leads = false
    for row in 0..<count where !isNull(slot: slot, row: row) {
      values += 1
      if let node = toOne(slot: slot, row: row), node.entity != entity { leads = true }
      let list = toMany(slot: slot, row: row)
      for place in 0..<list.count where list[place].entity != entity { leads = true }
    }
    return (values, leads)
  }
}

import AtomicStoreSPI
import StoreCoordination

extension MappingPlacements {
  /// What a mapping model loses: objects that no mapping takes, and values of the others that it does not take, or only
  /// of some objects. Objects that a mapping removes are not listed.
  func losses(_ mapping: ModelMapping, _ nodes: NodeTable) -> [Loss] {
    let uses = uses(mapping)
    var losses: [Loss] = []
    for entity in mapping.source.entities where nodes.count(of: entity.index) > 0 {
      let placements = placements(ofSource: entity.index)
      let reader = nodes.reader(of: entity.index)
      func note(_ kind: Loss.Kind, _ subject: String, _ isLost: (Int) -> Bool) {
        let rows = (0..<reader.count).filter { !reader.isDeleted(row: $0) && isLost($0) }
        guard let first = rows.first else { return }
        let example = nodes.objectReference(of: NodeHandle(entity: entity.index, row: first)).description
        losses.append(Loss(kind: kind, subject: subject, count: rows.count, example: example))
      }
      let taken = Rows(placements)
      if !mapping.droppedEntities.contains(entity.name) { note(.entityDropped, entity.name) { !taken.contains($0) } }
      guard !placements.isEmpty else { continue }
      for slot in entity.slots {
        if let destination = slot.destination, let inverse = slot.inverseSlot,
          isUsed(mapping.source.entity(at: destination), inverse, uses, nodes)
        {
          continue
        }
        let carried = Rows(placements.filter { uses[$0.mapping]?.contains(slot.index) ?? false })
        guard !carried.isWhole else { continue }
        note(slot.isRelationship ? .relationshipDropped : .attributeDropped, "\(entity.name).\(slot.name)") {
          taken.contains($0) && !carried.contains($0) && !reader.isNull(slot: slot.index, row: $0)
        }
      }
    }
    return losses
  }

  /// Some rows of an entity.
  private struct Rows {
    var isWhole = false
    private var rows: Set<Int> = []
    init(_ placements: [Placement]) {
      for placement in placements {
        guard let rows = placement.rows else {
          isWhole = true
          return
        }
        self.rows.formUnion(rows)
      }
    }
    func contains(_ row: Int) -> Bool { isWhole || rows.contains(row) }
  }

  /// The slots of the source that each mapping takes values from, by its index.
  private func uses(_ mapping: ModelMapping) -> [Int: Set<Int>] {
    func text(_ origin: ModelMapping.Origin) -> String? {
      switch origin {
      case .expression(let text), .objects(let text, _): text
      case .kept, .converted, .constant, .inverse: nil
      }
    }
    let words = ExpressionWords(mapping.entities.lazy.flatMap { $0.properties.compactMap { text($0.origin) } })
    var result: [Int: Set<Int>] = [:]
    for placement in all where result[placement.mapping] == nil {
      var slots: Set<Int> = []
      for property in mapping.entities[placement.mapping].properties {
        switch property.origin {
        case .kept(let name), .converted(let name): placement.source.slot(named: name).map { _ = slots.insert($0) }
        case .expression(let text), .objects(let text, _):
          slots.formUnion(words.slots(in: text, of: placement.source))
        case .constant, .inverse: break
        }
      }
      result[placement.mapping] = slots
    }
    return result
  }

  /// Whether a relationship of an entity or its sub-entities is taken: then its other end is not lost.
  private func isUsed(_ entity: Entity, _ slot: Int, _ uses: [Int: Set<Int>], _ nodes: NodeTable) -> Bool {
    all.contains { $0.source.isKindOf(entity: entity) && uses[$0.mapping]?.contains(slot) ?? false }
  }
}

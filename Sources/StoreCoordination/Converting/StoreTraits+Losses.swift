public import AtomicStoreSPI
import FoundationEssentials

extension StoreTraits {
  /// Returns what this format cannot store of a graph, determined from its traits before anything is written.
  ///
  /// - Parameter includingMetadata: False if writing without metadata was requested.
  public func losses(for snapshot: StoreSnapshot, includingMetadata: Bool = true) -> [Loss] {
    var losses: [Loss] = []
    let nodes = snapshot.nodes
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      let reader = nodes.reader(of: entity.index)
      switch references {
      case .all: break
      case .integersOnly:
        let rows = (0..<reader.count).filter { reader.integerReference(row: $0) == nil }
        if let row = rows.first {
          losses.append(
            Loss(
              kind: .referenceRenumbered, subject: entity.name, count: rows.count,
              example: reader.reference(row: row).description))
        }
      case .derived:
        losses.append(Loss(kind: .referenceRenumbered, subject: entity.name, count: reader.count))
      }
      for slot in entity.slots { losses += self.losses(in: slot, of: entity, reader) }
    }
    if !keepsMetadata, includingMetadata {
      losses += snapshot.metadata.entries.map { Loss(kind: .metadataKey, subject: $0.key, count: 1) }
      losses.append(Loss(kind: .storeIdentity, subject: "UUID", count: 1, example: snapshot.metadata.uuid.uuidString))
    }
    if let maximumEntities {
      let full = nodes.model.entities.filter { nodes.count(of: $0.index) > 0 }
      for entity in full.dropFirst(maximumEntities) {
        losses.append(Loss(kind: .entityDropped, subject: entity.name, count: nodes.count(of: entity.index)))
      }
    }
    return losses
  }

  private func losses(in slot: Slot, of entity: Entity, _ reader: EntityReader) -> [Loss] {
    let subject = "\(entity.name).\(slot.name)"
    func count(_ kind: Loss.Kind, where concerns: (Int) -> Bool) -> [Loss] {
      var found = 0
      var first: Int?
      for row in 0..<reader.count where concerns(row) {
        found += 1
        first = first ?? row
      }
      guard let first else { return [] }
      return [
        Loss(kind: kind, subject: subject, count: found, example: "\(entity.name)/\(reader.reference(row: first))")
      ]
    }
    if let type = slot.attributeType, unsupportedTypes.contains(type.modelName) {
      return count(.typeUnsupported) { !reader.isNull(slot: slot.index, row: $0) }
    }
    switch slot.kind {
    case .attribute(.double) where !keepsSpecialFloats, .attribute(.date) where !keepsSpecialFloats:
      return count(.specialFloat) {
        let value = reader.double(slot: slot.index, row: $0)
        return !value.isFinite || (value == 0 && value.sign == .minus)
      }
    case .attribute(.float) where !keepsSpecialFloats:
      return count(.specialFloat) {
        let value = reader.float(slot: slot.index, row: $0)
        return !value.isFinite || (value == 0 && value.sign == .minus)
      }
    case .attribute(.string) where !keepsNilApartFromEmpty:
      return count(.nilVersusEmpty) {
        !reader.isNull(slot: slot.index, row: $0) && reader.bytes(slot: slot.index, row: $0).count == 0
      }
    case .toMany(ordered: true) where !keepsOrder:
      return count(.order) { reader.toMany(slot: slot.index, row: $0).count > 1 }
    case .toMany where !keepsOrder && slot.keepsSequence:
      // If the order is ascending anyway, a format without order preserves it.
      return count(.order) { !reader.ascendsByReference(slot: slot.index, row: $0) }
    default: return []
    }
  }
}

extension EntityReader {
  /// Whether the members of a to-many are in ascending order of reference.
  fileprivate func ascendsByReference(slot: Int, row: Int) -> Bool {
    guard case .toMany(let list) = value(slot: slot, row: row) else { return true }
    return zip(list, list.dropFirst()).allSatisfy { $0.reference < $1.reference }
  }
}

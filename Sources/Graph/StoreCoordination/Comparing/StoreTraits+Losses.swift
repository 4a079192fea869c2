package import AtomicStoreSPI
import FoundationEssentials

extension StoreTraits {
  /// Returns what this format cannot store of a graph, determined from its traits before anything is written.
  ///
  /// - Parameter includingMetadata: False if writing without metadata was requested.
  package func losses(for snapshot: StoreSnapshot, includingMetadata: Bool = true) -> [Loss] {
    var losses: [Loss] = []
    let nodes = snapshot.nodes
    for entity in nodes.model.entities where !keepsAllValues && nodes.count(of: entity.index) > 0 {
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
    }
    if !keepsIdentity, includingMetadata {
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

  /// Whether no value of an object can be lost, so that none has to be looked at.
  private var keepsAllValues: Bool {
    references == .all && unsupportedTypes.isEmpty && keepsSpecialFloats && keepsDecimals && keepsNilApartFromEmpty
      && keepsOrder
  }

  private func losses(in slot: Slot, of entity: Entity, _ reader: EntityReader) -> [Loss] {
    func count(_ kind: Loss.Kind, where concerns: (Int) -> Bool) -> [Loss] {
      var found = 0
      var first: Int?
      for row in 0..<reader.count where concerns(row) {
        found += 1
        first = first ?? row
      }
      guard let first else { return [] }
      return [
        Loss(
          kind: kind, subject: "\(entity.name).\(slot.name)", count: found,
          example: "\(entity.name)/\(reader.reference(row: first))")
      ]
    }
    if let type = slot.attributeType, unsupportedTypes.contains(type.modelName) {
      /// What is kept of a value, and whether in the same encoding.
      func kept(_ row: Int) -> (value: StoredValue, isSame: Bool)? {
        let value = reader.value(slot: slot.index, row: row)
        if value.isNull { return (value, true) }
        guard let kept = slot.attribute.flatMap({ keptValue?(value, $0) }) else { return nil }
        return (kept, kept.isIdentical(to: value))
      }
      return count(.typeUnsupported) { kept($0) == nil } + count(.valueEncoding) { !(kept($0)?.isSame ?? true) }
    }
    switch slot.kind {
    case .attribute(.double) where !keepsSpecialFloats, .attribute(.date) where !keepsSpecialFloats:
      return count(.specialFloat) { Self.isSpecial(reader.double(slot: slot.index, row: $0)) }
    case .attribute(.float) where !keepsSpecialFloats:
      return count(.specialFloat) { Self.isSpecial(reader.float(slot: slot.index, row: $0)) }
    case .attribute(.decimal) where !keepsDecimals:
      func keeps(_ row: Int) -> DecimalFate {
        reader.isNull(slot: slot.index, row: row) ? .kept : Self.fate(of: reader.string(slot: slot.index, row: row))
      }
      return count(.decimalPrecision) { keeps($0) == .changed } + count(.decimalSpelling) { keeps($0) == .respelled }
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

  private static func isSpecial(_ number: some BinaryFloatingPoint) -> Bool {
    !number.isFinite || (number == 0 && number.sign == .minus)
  }

  /// How a decimal changes in a column that holds 64-bit integers and doubles.
  private enum DecimalFate { case kept, respelled, changed }

  private static func fate(of text: String) -> DecimalFate {
    if Int64(text) != nil || text == "NaN" { return .kept }
    guard let number = keptAsNumber(text) else { return .changed }
    return number.description == text ? .kept : number == DecimalNumber(text) ? .respelled : .changed
  }

  /// What comes back of a decimal from such a column.
  private static func keptAsNumber(_ text: String) -> DecimalNumber? {
    guard let number = Double(text) else { return nil }
    // A whole double that fits becomes an integer.
    return DecimalNumber(Int64(exactly: number).map { String($0) } ?? number.description)
  }

  // MARK: Writing with losses

  /// The graph with what the format can keep of each value in place of the value: a format refuses values that it
  /// cannot keep, so that only a conversion with permission to lose them loses any.
  func reduced(_ nodes: NodeTable) throws(PersistentStoreError) -> NodeTable {
    guard !keepsSpecialFloats || !keepsDecimals || !unsupportedTypes.isEmpty else { return nodes }
    var result = nodes
    for entity in nodes.model.entities where !entity.isAbstract {
      for slot in entity.slots {
        guard let type = slot.attributeType else { continue }
        let isUnsupported = unsupportedTypes.contains(type.modelName)
        for node in nodes.handles(of: entity.index) {
          let value = nodes.value(slot: slot.index, of: node)
          guard value != .null else { continue }
          let kept =
            isUnsupported ? slot.attribute.flatMap { keptValue?(value, $0) } ?? .null : kept(value)
          if let kept, !kept.isIdentical(to: value) { try result.set(kept, slot: slot.index, of: node) }
        }
      }
    }
    return result
  }

  /// What the format keeps in place of a value; nil for the value itself.
  private func kept(_ value: StoredValue) -> StoredValue? {
    switch value {
    case .double(let number) where !keepsSpecialFloats && Self.isSpecial(number): number == 0 ? .double(0) : .null
    case .float(let number) where !keepsSpecialFloats && Self.isSpecial(number): number == 0 ? .float(0) : .null
    case .date(let date) where !keepsSpecialFloats && Self.isSpecial(date.timeIntervalSinceReferenceDate):
      date.timeIntervalSinceReferenceDate == 0 ? .date(Date(timeIntervalSinceReferenceDate: 0)) : .null
    case .decimal(let number) where !keepsDecimals && Self.fate(of: number.description) != .kept:
      Self.keptAsNumber(number.description).map { .decimal($0) } ?? .null
    default: nil
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

import AtomicStoreSPI
import FoundationEssentials

extension Loss {
  /// Whether a difference is explained by a declared loss.
  static func explain(_ losses: [Loss], _ difference: GraphDifference, _ before: NodeTable, _ after: NodeTable)
    -> Bool
  {
    func value(_ nodes: NodeTable) -> StoredValue? {
      guard let object = difference.object, let node = nodes.handle(for: object), let key = difference.key,
        let slot = nodes.model.entity(at: node.entity).slot(named: key)
      else { return nil }
      return nodes.value(slot: slot, of: node)
    }
    return losses.contains { loss in
      switch loss.kind {
      // Objects under other references, or that are missing, change what leads to them as well.
      case .referenceRenumbered, .entityDropped: [.inserted, .deleted, .changed].contains(difference.kind)
      case .metadataKey: difference.kind == .metadata && difference.key == loss.subject
      case .storeIdentity: difference.kind == .identity
      case .typeUnsupported, .specialFloat, .decimalPrecision, .decimalSpelling, .valueEncoding, .nilVersusEmpty,
        .order, .relationshipDropped, .attributeDropped:
        difference.kind == .changed && loss.subject == "\(difference.object?.entityName ?? "").\(difference.key ?? "")"
          && loss.kind.explains(value(before) ?? .null, value(after) ?? .null)
      // What was not loaded, or was changed before it was written, is in neither.
      case .notLoaded, .endsReconciled: false
      }
    }
  }
}

extension Loss.Kind {
  /// Whether a property with this loss has the second value instead of the first. Other values of it must be unchanged.
  fileprivate func explains(_ before: StoredValue, _ after: StoredValue) -> Bool {
    switch (self, before, after) {
    case (.specialFloat, .double(let number), _): !number.isFinite || (number == 0 && number.sign == .minus)
    case (.specialFloat, .float(let number), _): !number.isFinite || (number == 0 && number.sign == .minus)
    case (.specialFloat, .date(let date), _):
      !date.timeIntervalSinceReferenceDate.isFinite
        || (date.timeIntervalSinceReferenceDate == 0 && date.timeIntervalSinceReferenceDate.sign == .minus)
    case (.decimalPrecision, .decimal(let old), .decimal(let new)): old.doubleValue == new.doubleValue
    case (.decimalSpelling, .decimal(let old), .decimal(let new)): old == new
    case (.nilVersusEmpty, .string(let text), .null): text.isEmpty
    case (.order, .toMany(let old), .toMany(let new)): old.count == new.count && Set(old) == Set(new)
    case (.typeUnsupported, _, .null): true
    case (.valueEncoding, .data, .data): true
    default: false
    }
  }
}

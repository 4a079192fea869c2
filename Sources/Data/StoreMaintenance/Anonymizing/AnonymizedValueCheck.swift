import AtomicStoreSPI
import StoreCoordination
import StorePredicates

/// Refuses values that break the model's rules and were not in the store before: `check` would refuse the copy.
struct AnonymizedValueCheck {
  private let old: NodeTable
  private let new: NodeTable
  private let budget = StepBudget()

  /// - Parameters:
  ///   - old: The objects before, in any order.
  ///   - new: The same objects with other values.
  init(old: NodeTable, new: NodeTable) {
    self.old = old
    self.new = new
  }

  /// - Throws: `.invalidOption` that names entity, property and rule.
  func run() throws(PersistentStoreError) {
    for entity in new.model.entities where new.count(of: entity.index) > 0 {
      for slot in entity.slots {
        guard let attribute = slot.attribute, let rule = ValidationRule(attribute, isStored: true), rule.limitsValues
        else { continue }
        for node in new.handles(of: entity.index) { try check(node, slot, rule) }
      }
    }
    try checkUniqueness()
  }

  private func check(_ node: NodeHandle, _ slot: Slot, _ rule: ValidationRule) throws(PersistentStoreError) {
    let value = new.value(slot: slot.index, of: node)
    let object = new.objectReference(of: node)
    guard let violation = rule.violations(value, budget).first, !wasThere(value, slot.index, object) else { return }
    throw failure(
      object, slot.name, "the new value \(value.shownText.prefix(60)) breaks the rule: \(violation.rule)")
  }

  private func wasThere(_ value: StoredValue, _ slot: Int, _ object: ObjectReference) -> Bool {
    old.handle(for: object).map { old.value(slot: slot, of: $0).isIdentical(to: value) } ?? false
  }

  private func checkUniqueness() throws(PersistentStoreError) {
    for group in UniquenessGroup.all(in: new) {
      let objects = group.nodes.map { new.objectReference(of: $0) }
      guard let first = objects.first else { continue }
      for object in objects.dropFirst() where !wereEqual(first, object, group.slots) {
        throw failure(
          object, group.constraint.joined(separator: ", "),
          "the new value \(group.keyText) is also that of \(first), and the model has a uniqueness constraint: hash or "
            + "sequence keep values apart")
      }
    }
  }

  /// Whether two objects had equal values before.
  private func wereEqual(_ one: ObjectReference, _ other: ObjectReference, _ slots: [Int]) -> Bool {
    guard let first = old.handle(for: one), let second = old.handle(for: other) else { return false }
    return slots.allSatisfy { slot in
      let value = old.value(slot: slot, of: first)
      return !value.isNull && value == old.value(slot: slot, of: second)
    }
  }

  private func failure(_ object: ObjectReference, _ property: String, _ message: String) -> PersistentStoreError {
    PersistentStoreError(
      .invalidOption, message,
      at: StoreLocation(entity: object.entityName, reference: object.reference.description, property: property))
  }
}

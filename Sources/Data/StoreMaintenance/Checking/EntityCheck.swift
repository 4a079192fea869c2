import AtomicStoreSPI
import StoreCoordination
import StorePredicates

/// The rules of an entity's properties, column by column.
struct EntityCheck {
  private let nodes: NodeTable
  private let entity: Entity
  private let reader: EntityReader
  private let budget: StepBudget

  /// - Parameter budget: The steps of the whole check.
  init(_ nodes: NodeTable, _ entity: Entity, _ budget: StepBudget) {
    self.nodes = nodes
    self.entity = entity
    self.budget = budget
    reader = nodes.reader(of: entity.index)
  }

  /// - Parameters:
  ///   - part: Which properties to check.
  ///   - mayBeEmpty: Leaves out the warning that a to-many is empty.
  func run(
    _ list: inout FindingList, _ part: CheckedProperties = .all,
    mayBeEmpty: (NodeHandle, Slot) -> Bool = { _, _ in false }
  ) {
    for slot in entity.slots {
      if slot.attribute != nil {
        if part != .relationships, let rule = ColumnRule(slot, reader) { checkAttribute(slot, rule, &list) }
      } else if part != .attributes, let relationship = slot.relationship, let rule = ValidationRule(relationship) {
        checkRelationship(slot, rule, &list, mayBeEmpty)
      }
    }
  }

  private func object(_ row: Int) -> ObjectReference {
    nodes.objectReference(of: NodeHandle(entity: entity.index, row: row))
  }

  private func checkAttribute(_ slot: Slot, _ rule: ColumnRule, _ list: inout FindingList) {
    for row in 0..<reader.count where !reader.isDeleted(row: row) {
      for violation in rule.violations(row, budget) {
        guard violation.kind != .missingValue else {
          if nodes.isDeferred(slot: slot.index, of: NodeHandle(entity: entity.index, row: row)) { continue }
          list.add(
            CheckFinding(kind: .missing, object: object(row), property: slot.name, message: violation.rule),
            kind: .missing)
          continue
        }
        let text = String(reader.value(slot: slot.index, row: row).shownText.prefix(200))
        list.add(
          CheckFinding(
            kind: .rule, object: object(row), property: slot.name, value: text,
            message: "\(text) breaks the rule: \(violation.rule)", rule: violation.rule), kind: .rule)
      }
    }
  }

  private func checkRelationship(
    _ slot: Slot, _ rule: ValidationRule, _ list: inout FindingList, _ mayBeEmpty: (NodeHandle, Slot) -> Bool
  ) {
    for row in 0..<reader.count where !reader.isDeleted(row: row) {
      let count =
        slot.isToMany
        ? reader.toMany(slot: slot.index, row: row).count : reader.toOne(slot: slot.index, row: row) == nil ? 0 : 1
      if count == 0 {
        guard rule.isMandatory else { continue }
        let isWarning = slot.isToMany && rule.minimumCount <= 0
        if isWarning, mayBeEmpty(NodeHandle(entity: entity.index, row: row), slot) { continue }
        list.add(
          CheckFinding(
            kind: .missing, object: object(row), property: slot.name, message: "an object is needed",
            isWarning: isWarning), kind: .missing)
      } else if rule.minimumCount > 0 && count < rule.minimumCount {
        add(count, "at least \(rule.minimumCount) are needed", rule.minimumCount - count, slot, row, &list)
      } else if rule.maximumCount > 0, count > rule.maximumCount {
        add(count, "at most \(rule.maximumCount) are allowed", count - rule.maximumCount, slot, row, &list)
      }
    }
  }

  private func add(
    _ count: Int, _ rule: String, _ excess: Int, _ slot: Slot, _ row: Int, _ list: inout FindingList
  ) {
    list.add(
      CheckFinding(
        kind: .count, object: object(row), property: slot.name, value: "\(count)",
        message: "\(count) object\(count == 1 ? "" : "s"), \(rule)", rule: rule, excess: excess),
      kind: .count)
  }
}

/// Objects that share the values of a uniqueness constraint.
struct UniquenessCheck {
  private let nodes: NodeTable

  init(_ nodes: NodeTable) { self.nodes = nodes }

  func run(_ list: inout FindingList) {
    for group in UniquenessGroup.all(in: nodes) {
      guard let first = group.nodes.first.map({ nodes.objectReference(of: $0) }) else { continue }
      let value = String(group.key.map(\.shownText).joined(separator: ", ").prefix(200))
      for node in group.nodes.dropFirst() {
        list.add(
          CheckFinding(
            kind: .unique, object: nodes.objectReference(of: node), property: group.constraint.joined(separator: ", "),
            value: value, message: "\(value) is also that of \(first)"), kind: .unique)
      }
    }
  }
}

/// Derived attributes that are not what their derivation gives: they were written by a program that does not derive, or
/// derives differently. The next save of the objects sets them.
struct DerivationCheck {
  private let nodes: NodeTable

  init(_ nodes: NodeTable) { self.nodes = nodes }

  func run(_ list: inout FindingList) {
    for difference in DerivedAttributes(nodes.model).differences(in: nodes) {
      if nodes.isDeferred(slot: difference.slot.index, of: difference.node) { continue }
      let value = nodes.value(slot: difference.slot.index, of: difference.node)
      let text = value.isNull ? "null" : String(value.shownText.prefix(200))
      let message: String
      switch difference.expected {
      case .success(let expected):
        let derivation = difference.slot.attribute?.derivationExpression ?? ""
        message = "is \(text), but \(derivation) gives \(expected.shownText.prefix(200))"
      case .failure(let error):
        // What the kit cannot parse is not wrong with the object.
        guard error.code == .invalidValue else { continue }
        message = "is \(text), but \(error.message)"
      }
      list.add(
        CheckFinding(
          kind: .derived, object: nodes.objectReference(of: difference.node), property: difference.slot.name,
          value: value.isNull ? nil : text, message: message, isWarning: true),
        kind: .derived)
    }
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StoreMaintenance
import StorePredicates

/// Computes derived attributes and looks for objects that break uniqueness constraints and rules of attributes: those
/// that are derived, and values that no field has.
struct ImportGraphCheck {
  private let job: ImportJob
  /// As the tables have the values.
  private let given: NodeTable
  private var nodes: NodeTable

  init(_ job: ImportJob, _ nodes: NodeTable) {
    self.job = job
    given = nodes
    self.nodes = nodes
  }

  /// - Returns: The nodes with their derived attributes.
  /// - Throws: `ImportStop.graph`; `PersistentStoreError` for derived attributes that cannot be computed.
  mutating func run() throws -> NodeTable {
    var problems: [GraphProblem] = []
    let derived = DerivedAttributes(job.model)
    if !derived.isEmpty {
      try derived.update(&nodes, since: job.importer.existing, time: Date())
      for plan in job.plans { checkDerived(derived, plan, &problems) }
    }
    checkRules(&problems)
    checkUniqueness(&problems)
    guard problems.isEmpty else { throw ImportStop.graph(problems) }
    return nodes
  }

  /// A column of a derived attribute is skipped where it has the derived value, or the store's old one. Any other
  /// value is a problem, also where the derived value stays as it was: it would be lost.
  private func checkDerived(_ derived: DerivedAttributes, _ plan: TablePlan, _ problems: inout [GraphProblem]) {
    let columns = Set(plan.columns.filter { $0.kind != nil }.map(\.slot))
    for derivation in derived.derivations(of: plan.entity.index) {
      let slot = derivation.slot
      for node in nodes.handles(of: plan.entity.index) {
        let value = nodes.value(slot: slot.index, of: node)
        let object = nodes.objectReference(of: node)
        let old = existingValue(slot.index, of: object)
        if columns.contains(slot.index), !derivation.isTime,
          let text = given.handle(for: object).map({ given.value(slot: slot.index, of: $0) }), !text.isNull,
          !text.isIdentical(to: value), !(old?.isIdentical(to: text) ?? false)
        {
          problems.append(
            GraphProblem(
              objects: [object], property: slot.name, value: text.displayText,
              message: "\(text.displayText) is given, but the attribute is derived: \(derivation.text) gives "
                + value.displayText))
        }
      }
    }
  }

  private func checkRules(_ problems: inout [GraphProblem]) {
    let findings = NewFindings(in: nodes, .attributes) { _, _ in false }
    for finding in findings.since(job.importer.existing.map { [(nodes: $0, names: [:])] } ?? []) {
      guard let object = finding.object, let property = finding.property else { continue }
      let entity = job.model.entity(named: object.entityName)
      let slot = entity?.slot(named: property).flatMap { entity?.slots[$0] }
      let derivation = slot?.attribute?.derivationExpression.map { "; the attribute is derived: \($0)" } ?? ""
      problems.append(
        GraphProblem(
          objects: [object], property: property, value: finding.value ?? "", message: finding.message + derivation,
          kind: finding.kind == .missing ? .missing : .rule))
    }
  }

  private func existingValue(_ slot: Int, of object: ObjectReference) -> StoredValue? {
    guard let existing = job.importer.existing else { return nil }
    return existing.handle(for: object).map { existing.value(slot: slot, of: $0) }
  }

  private func checkUniqueness(_ problems: inout [GraphProblem]) {
    for group in UniquenessGroup.all(in: nodes) {
      let objects = group.nodes.map { nodes.objectReference(of: $0) }
      // What the store has already is not the tables' fault.
      let isOld = objects.allSatisfy { object in
        group.slots.indices.allSatisfy { existingValue(group.slots[$0], of: object) == group.key[$0] }
      }
      if isOld { continue }
      problems.append(
        GraphProblem(
          objects: objects, property: group.constraint.joined(separator: ", "), value: group.keyText, message: nil))
    }
  }
}

package import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// A new value of an attribute of many objects.
package struct RowAssignment {
  /// Where the value comes from.
  package enum Source {
    /// A value of the attribute's type.
    case value(StoredValue)
    /// An expression of the values before any assignment.
    case expression(FetchExpression)
  }
  let name: String
  let source: Source

  package init(_ name: String, _ source: Source) {
    self.name = name
    self.source = source
  }
}

/// What is set in which columns.
struct RowUpdate {
  let request: FetchRequest<ManagedObject>
  private let cache: StoreCache
  private let targets: [Target]
  private let expressions: [FetchExpression]
  private let types: [AttributeType]
  /// One instant for all objects.
  private let now = Date()

  private struct Target {
    let slot: Int
    let type: AttributeType
    let source: RowAssignment.Source
    /// Of the expressions, if it is one.
    let expression: Int

    /// The value in a row; nil if the type does not take it.
    func value(_ row: Int, _ computed: (_ expression: Int, _ row: Int) -> PredicateValue) -> StoredValue? {
      switch source {
      case .value(let value): return value
      case .expression(let source):
        guard case .value(let value) = computed(expression, row) else { return nil }
        return ValueConversion.assigned(value, of: source, to: type)
      }
    }
  }

  /// Nil where objects are needed.
  init?(
    _ request: FetchRequest<ManagedObject>, _ assignments: [RowAssignment], _ context: ManagedObjectContext,
    _ cache: StoreCache
  ) {
    guard let entity = cache.store.model.entity(named: request.entityName),
      cache.plan.entities.allSatisfy({ $0.derived.isEmpty }),
      context.classes.isEmpty,
      !cache.isIncremental || cache.registeredObjects.isEmpty
    else { return nil }
    let plans = entity.hierarchy.map { cache.plan.entities[$0.index] }
    let first = cache.plan.entities[entity.index]
    var targets: [Target] = []
    var expressions: [FetchExpression] = []
    var types: [AttributeType] = []
    for assignment in assignments {
      guard let p = first.property(named: assignment.name),
        case .attribute(let type) = first.properties[p].kind, first.properties[p].slot >= 0,
        !type.needsObjects, !plans.contains(where: { $0.constraints.contains { $0.contains(p) } })
      else { return nil }
      targets.append(
        Target(
          slot: first.properties[p].slot, type: type, source: assignment.source, expression: expressions.count))
      if case .expression(let expression) = assignment.source {
        expressions.append(expression)
        types.append(type)
      }
    }
    // All columns that are read: for an incremental store, they are filled for the request.
    var names = assignments.map(\.name)
    for plan in plans {
      for property in plan.properties {
        guard let rule = property.rule else { continue }
        // What an object has of transient properties is not in a column, nor are the members of an incremental store.
        let isCount = property.isToMany && cache.isIncremental
        guard property.slot >= 0, !isCount || !rule.limitsCount else { return nil }
        if !isCount { names.append(property.name) }
      }
    }
    var read: Set<ScalarString> = []
    let columns =
      expressions
      + names.filter { read.insert(ScalarString($0)).inserted }.map {
        .keyPath($0.split(separator: ".").map(String.init))
      }
    var wide = request
    wide.propertiesToFetch = columns.map { FetchColumn("", $0) }
    self.request = wide
    self.cache = cache
    self.targets = targets
    self.expressions = expressions
    self.types = types
  }

  /// The assignments as a database gets them; nil where it would not know what to do with a value.
  var storeValues: [(slot: Int, value: FetchExpression)]? {
    var values: [(slot: Int, value: FetchExpression)] = []
    for target in targets {
      switch target.source {
      case .value(let value): values.append((target.slot, .constant(value)))
      case .expression(.constant(let value)):
        guard let value = ValueConversion.assigned(value, of: .constant(value), to: target.type) else { return nil }
        values.append((target.slot, .constant(value)))
      case .expression(let expression): values.append((target.slot, expression))
      }
    }
    return values
  }

  /// What objects of each entity must not be so that their new values, and the others, break no rule; nil where a
  /// predicate cannot say that, or a new value breaks one.
  var refusals: [(entity: Int, predicate: FetchPredicate)]? {
    guard let entity = cache.store.model.entity(named: request.entityName), let values = storeValues else { return nil }
    let assigned = Dictionary(values.map { ($0.slot, $0.value) }) { _, last in last }
    let budget = StepBudget()
    var refusals: [(entity: Int, predicate: FetchPredicate)] = []
    for number in entity.hierarchy.map(\.index) {
      var parts: [FetchPredicate] = []
      for property in cache.plan.entities[number].properties {
        guard let rule = property.rule, !property.isToMany else { continue }
        let path = property.name.split(separator: ".").map(String.init)
        switch assigned[property.slot] {
        case nil:
          guard let part = rule.breaking(path) else { return nil }
          parts.append(part)
        case .constant(let value)?:
          guard rule.violations(value, budget).isEmpty else { return nil }
        case let expression?:
          guard !rule.limitsValues else { return nil }
          // A sum of what is not null is not null.
          guard rule.isMandatory else { continue }
          parts += expression.keyPaths.map {
            .comparison(FetchPredicate.Comparison(.keyPath($0), .equal, .constant(.null)))
          }
        }
      }
      if !parts.isEmpty { refusals.append((number, .or(parts))) }
    }
    return refusals
  }

  /// The changes of rows; nil where a value breaks a rule, or cannot be computed.
  func changes(of found: ManagedObjectContext.FoundRows) -> StoreChanges? {
    guard let (_, version, nodes) = found.parts.first else { return nil }
    var changes = StoreChanges()
    let budget = StepBudget()
    var start = nodes.startIndex
    while start < nodes.endIndex {
      let entity = nodes[start].entity
      let end = nodes[start...].firstIndex { $0.entity != entity } ?? nodes.endIndex
      let plan = cache.plan.entities[entity]
      var rows = RowValues(self, plan, version, budget)
      let isDeferred = targets.contains { version.hasDeferredValues(entity: entity, slot: $0.slot) }
      guard !isDeferred, !rows.rules.areDeferred else { return nil }
      let readers = zip(expressions, types).compactMap { RowExpressionCompiler.calculation($0, for: $1, plan.entity) }
        .map { RowReader($0, version, entity) }
      let isComplete =
        readers.count == expressions.count
        ? nodes[start..<end].allSatisfy { rows.set($0) { .value(readers[$0].number($1).value) } }
        : compute(nodes[start..<end], version, &rows)
      guard isComplete else { return nil }
      if !rows.changed.rows.isEmpty { changes.rows.append(rows.changed) }
      start = end
    }
    return changes
  }

  /// Evaluates the expressions row by row.
  private func compute(_ nodes: ArraySlice<NodeHandle>, _ version: NodeVersion, _ rows: inout RowValues) -> Bool {
    guard expressions.allSatisfy({ cache.evaluates(.expression($0), on: version) }) else { return false }
    let evaluators = RowEvaluator(version.nodes, store: cache.identifier, now: now)
    var values: [PredicateValue] = []
    for node in nodes {
      let evaluator = evaluators.at(node)
      values.removeAll(keepingCapacity: true)
      for (expression, type) in zip(expressions, types) {
        // An error is reported about an object.
        guard let value = try? evaluator.value(of: expression, for: type) else { return false }
        values.append(value)
      }
      guard rows.set(node, { expression, _ in values[expression] }) else { return false }
    }
    return true
  }

  /// The new values of the rows of an entity.
  private struct RowValues {
    let rules: RowRules
    private(set) var changed: ChangedRows
    private let targets: [Target]
    private let version: NodeVersion
    private let budget: StepBudget
    /// Those of one row.
    private var values: [StoredValue?]

    init(_ update: RowUpdate, _ plan: EntityPlan, _ version: NodeVersion, _ budget: StepBudget) {
      rules = RowRules(plan, version, leavesOutCounts: update.cache.isIncremental)
      self.budget = budget
      targets = update.targets
      self.version = version
      changed = ChangedRows(version: version, entity: plan.index, slots: targets.map(\.slot))
      values = Array(repeating: nil, count: targets.count)
    }

    /// Sets the values of a row.
    ///
    /// - Parameter computed: The value of the expression with a number, in a row.
    /// - Returns: False for a value that breaks a rule, or is not of the attribute's type.
    mutating func set(_ node: NodeHandle, _ computed: (_ expression: Int, _ row: Int) -> PredicateValue) -> Bool {
      var isChanged = false
      for (place, target) in targets.enumerated() {
        guard let value = target.value(node.row, computed) else { return false }
        let isSame = version.attribute(slot: target.slot, type: target.type, of: node).isIdentical(to: value)
        values[place] = isSame ? nil : value
        if !isSame { isChanged = true }
      }
      guard isChanged else { return true }
      guard rules.allow(node.row, budget, changed.slots, values) else { return false }
      changed.append(node.row, values)
      return true
    }
  }
}

extension FetchExpression {
  /// The key paths of the expression and its arguments.
  fileprivate var keyPaths: [[String]] {
    if case .keyPath(let path) = self { return [path] }
    return FetchTree.expression(self).parts.flatMap { part -> [[String]] in
      if case .expression(let expression) = part { expression.keyPaths } else { [] }
    }
  }
}

extension AttributeType {
  /// Whether values are converted by objects only.
  fileprivate var needsObjects: Bool {
    switch self {
    case .transformable, .undefined, .composite: true
    default: false
    }
  }
}

extension ValidationRule {
  /// Whether it limits the number of members of a to-many that has some.
  fileprivate var limitsCount: Bool { minimumCount > 0 || maximumCount > 0 }
}

/// The rules of the model for the rows of an entity whose attributes change.
private struct RowRules {
  private let reader: EntityReader
  private let attributes: [(slot: Int, rule: ColumnRule)]
  private let toOnes: [Int]
  private let counts: [(slot: Int, rule: ValidationRule)]
  /// Whether a value that is read by a rule is still in the store's file.
  let areDeferred: Bool

  init(_ plan: EntityPlan, _ version: NodeVersion, leavesOutCounts: Bool) {
    let reader = version.nodes.reader(of: plan.index)
    self.reader = reader
    attributes = plan.entity.slots.compactMap { slot in ColumnRule(slot, reader).map { (slot.index, $0) } }
    let ends = plan.relationships.compactMap { p in
      plan.properties[p].rule.map { (property: plan.properties[p], rule: $0) }
    }
    toOnes = ends.filter { !$0.property.isToMany && $0.rule.isMandatory }.map(\.property.slot)
    counts =
      leavesOutCounts
      ? [] : ends.filter { $0.property.isToMany && $0.rule.limitsCount }.map { ($0.property.slot, $0.rule) }
    areDeferred = attributes.contains { version.hasDeferredValues(entity: plan.index, slot: $0.slot) }
  }

  /// Whether a row may have new values: one for each slot, nil where it keeps its own. A to-many that is empty was so
  /// before.
  func allow(_ row: Int, _ budget: StepBudget, _ slots: [Int], _ values: [StoredValue?]) -> Bool {
    attributes.allSatisfy { slot, rule in
      let new = slots.firstIndex(of: slot).flatMap { values[$0] }
      return new.map { rule.violations($0, budget).isEmpty } ?? rule.violations(row, budget).isEmpty
    } && toOnes.allSatisfy { reader.toOne(slot: $0, row: row) != nil }
      && counts.allSatisfy { slot, rule in
        let count = reader.toMany(slot: slot, row: row).count
        return count == 0 || count >= rule.minimumCount && (rule.maximumCount <= 0 || count <= rule.maximumCount)
      }
  }
}

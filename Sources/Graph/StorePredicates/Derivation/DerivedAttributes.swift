package import AtomicStoreSPI
package import FoundationEssentials

/// Computes the derived attributes of nodes, as a save of an object graph does, for what changes nodes without one.
package struct DerivedAttributes {
  /// A derived attribute of an entity.
  package struct Derivation {
    package let slot: Slot
    /// The expression as the model has it.
    package let text: String
    /// Whether it is the time of the last change, which is not computed from values.
    package let isTime: Bool
    fileprivate let expression: Result<FetchExpression, PredicateFormatError>

    fileprivate init?(_ slot: Slot) {
      guard let text = slot.attribute?.derivationExpression else { return nil }
      self.slot = slot
      self.text = text
      isTime = text.filter { $0 != " " } == "now()"
      do throws(PredicateFormatError) { expression = .success(try FetchExpression(format: text)) } catch {
        expression = .failure(error)
      }
    }
  }

  /// A derived attribute whose value is not what its derivation gives.
  package struct Difference {
    package let node: NodeHandle
    package let slot: Slot
    /// What it gives, or why it cannot be computed.
    package let expected: Result<StoredValue, PersistentStoreError>
  }

  /// A derived attribute of an object that cannot be computed.
  package struct Failure: Hashable {
    package let object: ObjectReference
    package let property: ScalarString

    package init(_ object: ObjectReference, _ property: String) {
      self.object = object
      self.property = ScalarString(property)
    }
  }

  /// The derived attributes by the index of their entity, inherited ones included, in the order of slots.
  private let derivations: [[Derivation]]
  /// How often values are computed at most: a derived attribute may be computed from others.
  private let passCount: Int
  private let store = UUID()

  package init(_ model: ManagedObjectModel) {
    let derivations = model.entities.map { $0.slots.compactMap { Derivation($0) } }
    let names = Set(derivations.joined().map { ScalarString($0.slot.name) })
    let readsDerived = derivations.joined().contains { derivation in
      DerivationPaths(derivation.text).paths.contains { $0.contains { names.contains(ScalarString($0)) } }
    }
    self.derivations = derivations
    passCount = readsDerived ? names.count + 1 : 1
  }

  /// Whether the model has none.
  package var isEmpty: Bool { derivations.allSatisfy(\.isEmpty) }

  /// The derived attributes of an entity.
  package func derivations(of entity: Int) -> [Derivation] { derivations[entity] }

  /// Computes the derived attributes of nodes that changed, and those that follow from nodes that did.
  ///
  /// A time of the last change (`now()`) is set where something else of the node changed and no other time was set.
  ///
  /// - Parameters:
  ///   - nodes: The nodes after the change.
  ///   - old: The nodes before it, of the same model; nil to compute the attributes of all nodes.
  ///   - time: The time of the change; nil to leave times as they are.
  ///   - isKept: Whether an attribute that cannot be computed keeps its value, for the reason that is passed. It does
  ///     in any case if the node did not change and the attribute could not be computed before.
  /// - Throws: `.invalidModel` for an expression that cannot be parsed, `.invalidValue` for one that cannot be
  ///   computed.
  package func update(
    _ nodes: inout NodeTable, since old: NodeTable? = nil, time: Date? = nil,
    keeping isKept: (Failure, PersistentStoreError) -> Bool = { _, _ in false }
  ) throws(PersistentStoreError) {
    guard !isEmpty else { return }
    for _ in 0..<passCount {
      let changes = try changes(of: nodes, since: old, time, isKept)
      // Times are set once: then they differ from the old ones.
      try set(changes, in: &nodes)
      if changes.isEmpty { return }
    }
  }

  /// Computes the derived attributes that do not have their value, except times and what cannot be computed.
  ///
  /// - Parameter isKept: Whether one stays as it is.
  /// - Returns: How many had another value, by `Entity.property`.
  package func recompute(
    _ nodes: inout NodeTable, keeping isKept: (Failure) -> Bool
  ) throws(PersistentStoreError) -> [String: Int] {
    var replaced: Set<Failure> = []
    for _ in 0..<passCount {
      let changes = differences(in: nodes).compactMap { difference -> Change? in
        guard case .success(let value) = difference.expected else { return nil }
        let attribute = Failure(nodes.objectReference(of: difference.node), difference.slot.name)
        if isKept(attribute) { return nil }
        if !nodes.value(slot: difference.slot.index, of: difference.node).isNull { replaced.insert(attribute) }
        return Change(node: difference.node, slot: difference.slot.index, value: value)
      }
      if changes.isEmpty { break }
      try set(changes, in: &nodes)
    }
    return replaced.reduce(into: [:]) { $0["\($1.object.entityName).\($1.property.string)", default: 0] += 1 }
  }

  /// Computes the derived attributes that depend on other objects, after some of these were left out.
  ///
  /// - Returns: What was replaced.
  @Sendable package static func recomputeDependent(
    in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> [SelectionNote] {
    try DerivedAttributes(nodes.model).recomputeDependent(&nodes)
  }

  private func recomputeDependent(_ nodes: inout NodeTable) throws(PersistentStoreError) -> [SelectionNote] {
    let model = nodes.model
    let derived = Set(derivations.joined().map { ScalarString($0.slot.name) })
    let dependent = model.entities.map { entity in
      Set(
        derivations[entity.index].filter { derivation in
          let paths = DerivationPaths(derivation.text).paths
          return paths.joined().contains { name in
            derived.contains(ScalarString(name))
              || entity.slot(named: name).map { entity.slots[$0].isRelationship } ?? false
          }
        }.map { ScalarString($0.slot.name) })
    }
    let replaced = try recompute(&nodes) { attribute in
      !(model.entity(named: attribute.object.entityName).map { dependent[$0.index].contains(attribute.property) }
        ?? false)
    }
    return replaced.sorted { $0.key < $1.key }.map {
      SelectionNote(
        subject: $0.key, count: $0.value, text: "derived values, computed again without what was left out")
    }
  }

  /// The derived attributes whose values are not what the derivation gives, and those that cannot be computed. Times
  /// are skipped.
  package func differences(in nodes: NodeTable) -> [Difference] {
    var found: [Difference] = []
    let rows = RowEvaluator(nodes, store: store)
    for entity in nodes.model.entities where !derivations[entity.index].isEmpty {
      for node in nodes.handles(of: entity.index) {
        for derivation in derivations[entity.index] where !derivation.isTime {
          let expected: Result<StoredValue, PersistentStoreError>
          do throws(PersistentStoreError) { expected = .success(try value(of: derivation, node, rows)) } catch {
            expected = .failure(error)
          }
          if case .success(let value) = expected,
            value.isIdentical(to: nodes.value(slot: derivation.slot.index, of: node))
          {
            continue
          }
          found.append(Difference(node: node, slot: derivation.slot, expected: expected))
        }
      }
    }
    return found
  }

  private func changes(
    of nodes: NodeTable, since old: NodeTable?, _ time: Date?, _ isKept: (Failure, PersistentStoreError) -> Bool
  ) throws(PersistentStoreError) -> [Change] {
    var changes: [Change] = []
    let (rows, oldRows) = (RowEvaluator(nodes, store: store), old.map { RowEvaluator($0, store: store) })
    for entity in nodes.model.entities where !derivations[entity.index].isEmpty {
      for node in nodes.handles(of: entity.index) {
        try collect(&changes, node, entity, rows, oldRows, time, isKept)
      }
    }
    return changes
  }

  /// The derived attributes that cannot be computed.
  package func failures(in nodes: NodeTable) -> [Failure] {
    differences(in: nodes).compactMap { difference in
      guard case .failure = difference.expected else { return nil }
      return Failure(nodes.objectReference(of: difference.node), difference.slot.name)
    }
  }

  private func set(_ changes: [Change], in nodes: inout NodeTable) throws(PersistentStoreError) {
    for change in changes { try nodes.set(change.value, slot: change.slot, of: change.node) }
  }

  /// A value that a derived attribute gets.
  private struct Change {
    let node: NodeHandle
    let slot: Int
    let value: StoredValue
  }

  // MARK: One node

  private func collect(
    _ changes: inout [Change], _ node: NodeHandle, _ entity: Entity, _ rows: RowEvaluator,
    _ oldRows: RowEvaluator?, _ time: Date?, _ isKept: (Failure, PersistentStoreError) -> Bool
  ) throws(PersistentStoreError) {
    let (nodes, old) = (rows.nodes, oldRows?.nodes)
    let object = nodes.objectReference(of: node)
    let before = old?.handle(for: object).flatMap { $0.entity == node.entity ? $0 : nil }
    let isChanged = before.map { hasChanged(node, since: $0, entity, nodes, old) } ?? true
    for derivation in derivations[entity.index] {
      let slot = derivation.slot
      let current = nodes.value(slot: slot.index, of: node)
      let former = before.flatMap { old?.value(slot: slot.index, of: $0) }
      if derivation.isTime {
        guard let time, isChanged, former.map({ $0.isIdentical(to: current) }) ?? current.isNull else { continue }
        let value = slot.attributeType?.fitting(.date(time)) ?? .null
        changes.append(Change(node: node, slot: slot.index, value: value))
        continue
      }
      let value: StoredValue
      do throws(PersistentStoreError) { value = try self.value(of: derivation, node, rows) } catch {
        // What could be computed before depends on something that changed.
        if !isChanged, let before, let oldRows, (try? self.value(of: derivation, before, oldRows)) == nil { continue }
        if isKept(Failure(object, slot.name), error) { continue }
        throw error
      }
      if value.isIdentical(to: current) { continue }
      // What neither changed nor follows from a change stays as it is, right or wrong.
      if !isChanged, let before, let oldRows, former?.isIdentical(to: current) ?? false,
        let last = try? self.value(of: derivation, before, oldRows), last.isIdentical(to: value)
      {
        continue
      }
      changes.append(Change(node: node, slot: slot.index, value: value))
    }
  }

  /// Whether a value changed that is not derived.
  private func hasChanged(
    _ node: NodeHandle, since before: NodeHandle, _ entity: Entity, _ nodes: NodeTable, _ old: NodeTable?
  ) -> Bool {
    guard let old else { return true }
    return entity.slots.contains { slot in
      slot.attribute?.derivationExpression == nil
        && !nodes.value(slot: slot.index, of: node).isIdentical(to: old.value(slot: slot.index, of: before))
    }
  }

  private func value(
    of derivation: Derivation, _ node: NodeHandle, _ rows: RowEvaluator
  ) throws(PersistentStoreError) -> StoredValue {
    func failure(_ code: PersistentStoreError.Code, _ message: String) -> PersistentStoreError {
      PersistentStoreError(
        code, "the derived attribute \(message): \(derivation.text)",
        at: StoreLocation(
          entity: rows.nodes.model.entity(at: node.entity).name,
          reference: rows.nodes.reference(of: node).description,
          property: derivation.slot.name))
    }
    let expression: FetchExpression
    switch derivation.expression {
    case .success(let parsed): expression = parsed
    case .failure(let error): throw failure(.invalidModel, "has an expression that cannot be parsed (\(error.message))")
    }
    let value: PredicateValue
    do throws(PredicateEvaluationError) {
      value = try rows.at(node).value(of: expression, for: derivation.slot.attributeType)
    } catch {
      throw failure(.invalidValue, "cannot be computed (\(error.message))")
    }
    guard case .value(let stored) = value, let fitting = derivation.slot.attributeType?.fitting(stored) else {
      throw failure(.invalidValue, "has a result that its type cannot hold")
    }
    return fitting
  }
}

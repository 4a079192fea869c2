package import AtomicStoreSPI
package import FoundationEssentials
public import StoreCoordination
import StorePredicates

/// Carries out a ``MigrationPlan``.
public struct StoreMigrator: Sendable {
  /// The steps.
  var plan: MigrationPlan

  /// Creates a migrator.
  package init(_ plan: MigrationPlan) { self.plan = plan }

  /// What was done.
  package struct Result: Sendable {
    /// The objects after the last step, in canonical order.
    package var nodes: NodeTable
    /// The steps that were taken; none where the store was at the last model.
    package var steps: [Step]
  }

  /// One step that was taken.
  public struct Step: Sendable {
    /// The name of the version that it led to; nil where it has none.
    public var name: String?
    /// How objects were mapped.
    package var mapping: ModelMapping
    /// What of the source was lost, as it was allowed, with the source's names. A value that an earlier step added,
    /// such as a default, is not a loss.
    public var losses: [Loss]
  }

  /// Migrates objects in memory. The result of each step is compared with what it was made of.
  ///
  /// - Parameters:
  ///   - nodes: The objects, of any model.
  ///   - store: The UUID of their store.
  /// - Throws: ``MigrationError`` for what cannot be inferred and for losses that are not allowed;
  ///   `PersistentStoreError`; what a handler throws.
  package func migrate(_ nodes: NodeTable, store: UUID) throws -> Result {
    let stages = plan.stages(from: nodes.model)
    let result = try cut(stages, nodes, store)
    // Afterwards: a shorter way would not keep more.
    try Self.refuseDuplicates(nodes, result.nodes, stages.last?.name)
    return result
  }

  private func cut(_ stages: [MigrationPlan.Stage], _ nodes: NodeTable, _ store: UUID) throws -> Result {
    do {
      return try run(stages, nodes, store)
    } catch let error as MigrationError {
      guard plan.mayBeCut, stages.count > 1, let last = stages.last else { throw error }
      do { return try run([last], nodes, store) } catch is MigrationError { throw error }
    }
  }

  private func run(_ stages: [MigrationPlan.Stage], _ nodes: NodeTable, _ store: UUID) throws -> Result {
    var result = Result(nodes: try nodes.canonical(), steps: [])
    var account = LossAccount(of: result.nodes)
    for stage in stages {
      // What a handler does may be more than the graph shows.
      if stage.handler != nil { try refuseLosses(result.steps, account) }
      do { try run(stage, &result, &account, store) } catch {
        do { try refuseLosses(result.steps, account) } catch var losses as MigrationError {
          guard let error = error as? MigrationError else { throw losses }
          (losses.obstacles, losses.step, losses.mappingModelPath) = (
            error.obstacles, error.step, error.mappingModelPath
          )
          losses.losses += error.losses
          throw losses
        }
        throw error
      }
    }
    // After the last step, so that the losses of all of them are listed.
    try refuseLosses(result.steps, account)
    let superseded = account.superseded
    for index in result.steps.indices { result.steps[index].losses.removeAll { superseded.contains($0) } }
    return result
  }

  /// Refuses what steps lose, unless that is allowed.
  private func refuseLosses(_ steps: [Step], _ account: LossAccount) throws {
    let superseded = account.superseded
    let lossy = steps.map { ($0.name, $0.losses.filter { !superseded.contains($0) }) }.filter { !$0.1.isEmpty }
    guard !lossy.isEmpty, !plan.allowsLoss else { return }
    throw MigrationError(obstacles: [], losses: lossy.flatMap(\.1), step: lossy.count == 1 ? lossy[0].0 : nil)
  }

  /// Refuses objects that break a uniqueness constraint after the migration, and did not before: the next save would
  /// merge them, and lose values.
  private static func refuseDuplicates(_ old: NodeTable, _ new: NodeTable, _ step: String?) throws {
    // By the objects, whose references stay: entities and properties may have other names now.
    func references(_ group: UniquenessGroup, _ nodes: NodeTable) -> Set<ReferenceObject> {
      Set(group.nodes.map { nodes.reference(of: $0) })
    }
    var groups = UniquenessGroup.all(in: new)
    guard !groups.isEmpty else { return }
    let known = UniquenessGroup.all(in: old).map { references($0, old) }
    groups.removeAll { group in
      let shared = references(group, new)
      return known.contains { $0.isSuperset(of: shared) }
    }
    guard !groups.isEmpty else { return }
    let obstacles = groups.prefix(20).map { group in
      let objects = group.nodes.prefix(2).map { "\(new.objectReference(of: $0))" }.joined(separator: " and ")
      return MappingObstacle(
        entityName: group.entity.name, propertyName: group.constraint.joined(separator: ", "),
        reason: "\(objects) have the same value, '\(group.keyText)', which must be unique",
        objectCount: group.nodes.count)
    }
    throw MigrationError(obstacles: obstacles, losses: [], step: step)
  }

  private func run(
    _ stage: MigrationPlan.Stage, _ result: inout Result, _ account: inout LossAccount, _ store: UUID
  ) throws {
    let old = result.nodes
    let mapping = ModelMapping(from: old.model, to: stage.model, options: stage.options)
    guard mapping.obstacles.isEmpty else {
      let isLossKnown = mapping.mappingModelPath == nil && stage.handler == nil && !plan.allowsLoss
      throw MigrationError(
        obstacles: mapping.counted(mapping.obstacles, old),
        losses: isLossKnown ? account.take(mapping, file: stage.options.file) : [], step: stage.name,
        mappingModelPath: mapping.mappingModelPath)
    }
    let placements = try MappingPlacements(mapping, old, store: store)
    var losses = account.take(mapping, file: stage.options.file)
    // The account follows properties, a mapping model may take those of some objects only.
    if mapping.mappingModelPath != nil { losses = placements.losses(mapping, old) }
    if stage.handler != nil { losses = [] }
    // Before the step is taken: what is in the way of it is listed with what it loses.
    result.steps.append(Step(name: stage.name, mapping: mapping, losses: losses))
    var new = try mapping.apply(to: old, store: store, placements)
    let differences = MappingVerification.differences(mapping, old, new, placements)
    guard differences.isEmpty else {
      throw StoreConverter.VerificationError(targetType: "(migration)", differences: differences)
    }
    if let handler = stage.handler {
      try handler(old, &new)
      try Self.refuseGaps(new, stage.name, "required, and the handler set no value")
      new = try new.canonical()
      account.takeHandled(new)
    }
    if let path = mapping.mappingModelPath {
      try Self.refuseGaps(new, stage.name, "required, and null after the mapping", path)
      new = try new.canonical()
    }
    try RelationshipDemands(mapping, old, new).refuse(stage.name)
    try Self.derive(&new, from: old)
    result.nodes = new
  }

  /// Computes new derivations, other ones than before, and those of converted values.
  ///
  /// - Throws: `.invalidValue` for one that cannot be computed, and could be before. A new one then has no value. An
  ///   expression that cannot be parsed does not hold a migration up: the attribute keeps its value.
  private static func derive(_ new: inout NodeTable, from old: NodeTable) throws(PersistentStoreError) {
    var known: Set<DerivedAttributes.Failure>?
    let model = new.model
    try DerivedAttributes(model).update(&new) { failure, error in
      if error.code == .invalidModel { return true }
      let failures = known ?? Set(DerivedAttributes(old.model).failures(in: old))
      known = failures
      guard let entity = model.entity(named: failure.object.entityName),
        let slot = entity.slot(named: failure.property.string).map({ entity.slots[$0] })
      else { return false }
      // Entities and properties may have other names now.
      let names = [slot.name, slot.attribute?.renamingIdentifier].compactMap(\.self)
      let formerEntities = [entity.name, entity.declaration.renamingIdentifier].compactMap(\.self)
      let isNew = !formerEntities.contains { entityName in
        names.contains { old.model.entity(named: entityName)?.slot(named: $0) != nil }
      }
      // No value is lost.
      if isNew, slot.isOptional { return true }
      return formerEntities.contains { entityName in
        let object = ObjectReference(entityName: entityName, reference: failure.object.reference)
        return names.contains { failures.contains(.init(object, $0)) }
      }
    }
  }

  /// Required properties that were left without a value.
  private static func refuseGaps(
    _ nodes: NodeTable, _ step: String?, _ reason: String, _ mappingModelPath: String? = nil
  ) throws {
    var obstacles: [MappingObstacle] = []
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      let reader = nodes.reader(of: entity.index)
      for slot in entity.slots where !slot.isOptional && slot.attribute?.derivationExpression == nil {
        // Of a mapping model's result, those are counted later.
        if slot.isRelationship, mappingModelPath != nil { continue }
        let count = (0..<reader.count).count { !reader.isDeleted(row: $0) && reader.isNull(slot: slot.index, row: $0) }
        guard count > 0 else { continue }
        obstacles.append(
          MappingObstacle(
            entityName: entity.name, propertyName: slot.name, reason: reason, objectCount: count))
      }
    }
    guard obstacles.isEmpty else {
      throw MigrationError(obstacles: obstacles, losses: [], step: step, mappingModelPath: mappingModelPath)
    }
  }
}

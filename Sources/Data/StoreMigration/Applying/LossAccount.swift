import AtomicStoreSPI
import StoreCoordination

/// What a migration loses of the objects that it began with, over all of its steps.
///
/// It follows each property of the source through the mappings. A value that a step itself added, such as a default,
/// was never the source's, so that it can be removed again; and a property that was renamed since is named as in the
/// source. So the losses of several steps are those of one step from the first model to the last.
struct LossAccount {
  /// An entity of the source, or one of which a handler made the first objects.
  private struct Holder: Hashable {
    let baseline: Int
    let entity: Int
  }
  /// A property of the source; or one that a handler filled, of the objects after its step.
  private struct Origin: Hashable {
    let baseline: Int
    let entity: Int
    let slot: Int
    let holder: Holder
  }

  /// The source, and what each handler made.
  private var baselines: [NodeTable]
  /// By the index of an entity of the present model, where its objects come from.
  private var holders: [[Holder]]
  private var allHolders: [Holder]
  /// By the index of an entity of the present model and by slot, the properties that its values come from.
  private var origins: [[[Origin]]]
  private var allOrigins: [Origin]
  /// What was reported, or may be lost.
  private var settledHolders: Set<Holder> = []
  private var settledOrigins: Set<Origin> = []
  /// The losses of properties that were reported.
  private var reported: [(holder: Holder, loss: Loss)] = []

  init(of nodes: NodeTable) {
    baselines = [nodes]
    allHolders = nodes.model.entities.map { Holder(baseline: 0, entity: $0.index) }
    holders = allHolders.map { [$0] }
    origins = nodes.model.entities.map { entity in
      entity.slots.map { slot in
        [Origin(baseline: 0, entity: entity.index, slot: slot.index, holder: Holder(baseline: 0, entity: entity.index))]
      }
    }
    allOrigins = origins.flatMap { $0.flatMap { $0 } }
  }

  /// Takes a step.
  ///
  /// - Parameters:
  ///   - mapping: The step's mapping, from the present model.
  ///   - file: What it drops is not listed.
  /// - Returns: What the step loses.
  mutating func take(_ mapping: ModelMapping, file: MappingFile?) -> [Loss] {
    settleDropped(mapping, file)
    let words = ExpressionWords(
      mapping.entities.lazy.flatMap { $0.properties }.compactMap { property in
        switch property.origin {
        case .expression(let text), .objects(let text, _): text
        default: nil
        }
      })
    var newHolders = [[Holder]](repeating: [], count: mapping.destination.entityCount)
    var newOrigins = mapping.destination.entities.map { [[Origin]](repeating: [], count: $0.slots.count) }
    for mapped in mapping.entities {
      guard let entity = mapping.destination.entity(named: mapped.name),
        let source = mapped.sourceName.flatMap({ mapping.source.entity(named: $0) })
      else { continue }
      newHolders[entity.index] += holders[source.index]
      for (slot, property) in zip(entity.slots, mapped.properties) {
        newOrigins[entity.index][slot.index] += slots(property.origin, of: source, words).flatMap {
          origins[source.index][$0]
        }
      }
    }
    for mapped in mapping.entities {
      guard let entity = mapping.destination.entity(named: mapped.name) else { continue }
      for (slot, property) in zip(entity.slots, mapped.properties) where property.origin == .inverse {
        guard let destination = slot.destination, let inverse = slot.inverseSlot else { continue }
        newOrigins[entity.index][slot.index] = newOrigins[destination][inverse]
      }
    }
    (holders, origins) = (newHolders, newOrigins)
    return newLosses()
  }

  /// Takes what a handler made of a step's result: it may have dropped and filled whatever it wanted.
  mutating func takeHandled(_ nodes: NodeTable) {
    _ = newLosses()
    let baseline = baselines.count
    baselines.append(nodes)
    for entity in nodes.model.entities {
      let holder = holders[entity.index].first ?? Holder(baseline: baseline, entity: entity.index)
      if holders[entity.index].isEmpty {
        allHolders.append(holder)
        holders[entity.index] = [holder]
      }
      for slot in entity.slots where origins[entity.index][slot.index].isEmpty {
        let origin = Origin(baseline: baseline, entity: entity.index, slot: slot.index, holder: holder)
        origins[entity.index][slot.index] = [origin]
        allOrigins.append(origin)
      }
    }
  }

  /// The slots of the source that a property takes its values from.
  private func slots(_ origin: ModelMapping.Origin, of source: Entity, _ words: ExpressionWords) -> [Int] {
    switch origin {
    case .kept(let name), .converted(let name): source.slot(named: name).map { [$0] } ?? []
    case .expression(let text), .objects(let text, _): words.slots(in: text, of: source)
    case .constant, .inverse: []
    }
  }

  /// What a mapping file drops may be lost.
  private mutating func settleDropped(_ mapping: ModelMapping, _ file: MappingFile?) {
    guard let file else { return }
    for name in file.drop {
      if let entity = mapping.source.entity(named: name) { settledHolders.formUnion(holders[entity.index]) }
    }
    let rules = MappingRules(file, mapping.destination)
    for mapped in mapping.entities {
      guard let entity = mapping.destination.entity(named: mapped.name),
        let source = mapped.sourceName.flatMap({ mapping.source.entity(named: $0) })
      else { continue }
      for slot in source.slots where rules.drops(slot.name, of: entity) {
        settledOrigins.formUnion(origins[source.index][slot.index])
      }
    }
  }

  // MARK: Losses

  /// Reported losses of properties whose entities were dropped later: then the objects are the loss.
  var superseded: Set<Loss> {
    let kept = Set(holders.lazy.flatMap { $0 })
    return Set(reported.lazy.filter { !kept.contains($0.holder) }.map(\.loss))
  }

  /// What is lost by now and was not reported.
  private mutating func newLosses() -> [Loss] {
    var losses: [Loss] = []
    let kept = Set(holders.lazy.flatMap { $0 })
    for holder in allHolders where !kept.contains(holder) && settledHolders.insert(holder).inserted {
      let nodes = baselines[holder.baseline]
      guard let first = nodes.handles(of: holder.entity).first else { continue }
      losses.append(
        Loss(
          kind: .entityDropped, subject: nodes.model.entity(at: holder.entity).name,
          count: nodes.count(of: holder.entity), example: nodes.objectReference(of: first).description))
    }
    let alive = Set(origins.lazy.flatMap { $0.lazy.flatMap { $0 } })
    let keptEnds = Set(alive.lazy.map { End(baseline: $0.baseline, entity: $0.entity, slot: $0.slot) })
    for origin in allOrigins
    where kept.contains(origin.holder) && !alive.contains(origin) && !settledOrigins.contains(origin) {
      // What the other end of a relationship keeps is not lost.
      if let other = otherEnd(of: origin), keptEnds.contains(other) { continue }
      settledOrigins.insert(origin)
      guard let loss = loss(of: origin) else { continue }
      losses.append(loss)
      reported.append((origin.holder, loss))
    }
    return losses
  }

  private struct End: Hashable {
    let baseline: Int
    let entity: Int
    let slot: Int
  }

  private func otherEnd(of origin: Origin) -> End? {
    let slot = baselines[origin.baseline].model.entity(at: origin.entity).slots[origin.slot]
    guard let destination = slot.destination, let inverse = slot.inverseSlot else { return nil }
    return End(baseline: origin.baseline, entity: destination, slot: inverse)
  }

  private func loss(of origin: Origin) -> Loss? {
    let nodes = baselines[origin.baseline]
    let entity = nodes.model.entity(at: origin.entity)
    let reader = nodes.reader(of: entity.index)
    let rows = (0..<reader.count).lazy.filter {
      !reader.isDeleted(row: $0) && !reader.isNull(slot: origin.slot, row: $0)
    }
    guard let first = rows.first else { return nil }
    let slot = entity.slots[origin.slot]
    return Loss(
      kind: slot.isRelationship ? .relationshipDropped : .attributeDropped, subject: "\(entity.name).\(slot.name)",
      count: rows.count,
      example: nodes.objectReference(of: NodeHandle(entity: entity.index, row: first)).description)
  }
}

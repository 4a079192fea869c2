import AtomicStoreSPI
import StoreCoordination

/// Compares what a mapping made with what it was made of, value by value, by the mapping alone: it shares nothing with
/// the copying that it judges.
struct MappingVerification {
  private let mapping: ModelMapping
  private let old: NodeTable
  private let new: NodeTable
  /// The name of the destination's entity by the source's index.
  private let names: [Int: String]
  private var differences: [GraphDifference] = []

  /// Where objects differ from what the mapping says that they are; at most 100.
  static func differences(
    _ mapping: ModelMapping, _ old: NodeTable, _ new: NodeTable, _ placements: MappingPlacements
  ) -> [GraphDifference] {
    var verification = MappingVerification(mapping: mapping, old: old, new: new)
    if mapping.mappingModelPath == nil { verification.compare() } else { verification.compare(placements) }
    return verification.differences
  }

  private init(mapping: ModelMapping, old: NodeTable, new: NodeTable) {
    self.mapping = mapping
    self.old = old
    self.new = new
    names = Dictionary(
      mapping.entities.compactMap { mapped in
        mapped.sourceName.flatMap { mapping.source.entity(named: $0) }.map { ($0.index, mapped.name) }
      }, uniquingKeysWith: { first, _ in first })
  }

  private mutating func compare() {
    let translation = RowTranslation(entities: mapping.source.entityCount)
    for entity in mapping.entities {
      guard let source = source(of: entity), let destination = mapping.destination.entity(named: entity.name),
        names[source.index] == entity.name
      else { continue }
      let reader = old.reader(of: source.index)
      translation.set(
        source.index, to: destination.index, MatchedRows(reader, new.reader(of: destination.index)),
        rowCount: reader.count)
    }
    for entity in mapping.entities {
      guard let destination = mapping.destination.entity(named: entity.name) else { continue }
      guard let source = source(of: entity) else {
        for node in new.handles(of: destination.index) {
          differences.append(GraphDifference(kind: .inserted, object: new.objectReference(of: node)))
        }
        continue
      }
      let pairs = zip(destination.slots, entity.properties).compactMap { slot, property -> (Slot, Int, StoredValue?)? in
        guard case .kept(let name) = property.origin, let old = source.slot(named: name) else { return nil }
        return (slot, old, property.replacementForNull)
      }
      compare(source, destination, pairs, translation)
      let (before, after) = (old.count(of: source.index), new.count(of: destination.index))
      if before < after {
        differences.append(
          GraphDifference(kind: .changed, key: destination.name, old: "\(before) objects", new: "\(after) objects"))
      }
    }
  }

  private func source(of entity: ModelMapping.EntityMapping) -> Entity? {
    entity.sourceName.flatMap { mapping.source.entity(named: $0) }
  }

  /// Compares the objects of an entity: columns first, and the values of those rows whose cells are not the same.
  private mutating func compare(
    _ source: Entity, _ destination: Entity, _ pairs: [(Slot, Int, StoredValue?)], _ translation: RowTranslation
  ) {
    let (before, after) = (old.reader(of: source.index), new.reader(of: destination.index))
    guard MatchedRows(before, after).isIdentity else {
      for node in old.handles(of: source.index) where differences.count < 100 { compare(node, destination, pairs) }
      return
    }
    let columns = pairs.map { slot, oldSlot, _ in
      ColumnPair((source.slots[oldSlot], before), (slot, after), isSequence: slot.isOrdered)
    }
    for start in stride(from: 0, to: before.count, by: Self.block) where differences.count < 100 {
      let rows = start..<min(start + Self.block, before.count)
      var marks = [Bool](repeating: false, count: rows.count)
      for (column, pair) in zip(columns, pairs) {
        column.markDifferent(rows, translation, &marks)
        guard pair.2 != nil else { continue }
        // Null is not the same as null where something replaces it.
        for row in rows where before.isNull(slot: pair.1, row: row) { marks[row - start] = true }
      }
      for row in rows where marks[row - start] && differences.count < 100 {
        compare(NodeHandle(entity: source.index, row: row), destination, pairs)
      }
    }
  }

  /// How many rows are compared at a time: a multiple of 64.
  private static let block = 4096

  /// Compares what a mapping model made: that each object is there once, with the values that are kept.
  private mutating func compare(_ placements: MappingPlacements) {
    var counts = [Int](repeating: 0, count: mapping.destination.entityCount)
    for placement in placements.all {
      let (source, destination) = (placement.source, placement.destination)
      counts[destination.index] += placement.count
      let kept = zip(destination.slots, mapping.entities[placement.mapping].properties).compactMap {
        slot, property -> (Slot, Int)? in
        guard case .kept(let name) = property.origin, let old = source.slot(named: name) else { return nil }
        return (slot, old)
      }
      for index in 0..<placement.count where differences.count < 100 {
        let node = NodeHandle(entity: source.index, row: placement.row(index))
        let object = ObjectReference(entityName: destination.name, reference: placements.reference(placement, index))
        guard let twin = new.handle(for: object), twin.entity == destination.index else {
          differences.append(GraphDifference(kind: .deleted, object: object))
          continue
        }
        for (slot, oldSlot) in kept {
          let (before, after) = (old.value(slot: oldSlot, of: node), new.value(slot: slot.index, of: twin))
          if before.isIdentical(to: after) { continue }
          differences.append(
            GraphDifference(
              kind: .changed, object: object, key: slot.name, old: before.displayText, new: after.displayText))
        }
      }
    }
    for entity in mapping.destination.entities where counts[entity.index] != new.count(of: entity.index) {
      differences.append(
        GraphDifference(
          kind: .changed, key: entity.name, old: "\(counts[entity.index]) objects",
          new: "\(new.count(of: entity.index)) objects"))
    }
  }

  private mutating func compare(_ node: NodeHandle, _ destination: Entity, _ pairs: [(Slot, Int, StoredValue?)]) {
    let object = ObjectReference(entityName: destination.name, reference: old.reference(of: node))
    guard let twin = new.handle(for: object), twin.entity == destination.index else {
      differences.append(GraphDifference(kind: .deleted, object: object))
      return
    }
    for (slot, oldSlot, replacement) in pairs {
      var before = expected(old.value(slot: oldSlot, of: node), slot)
      let after = new.value(slot: slot.index, of: twin)
      if before.isNull, let replacement { before = replacement }
      if isSame(before, after, slot) { continue }
      differences.append(
        GraphDifference(
          kind: .changed, object: object, key: slot.name, old: before.displayText, new: after.displayText))
    }
  }

  /// A value of the source with the names of the destination, without objects whose entities are removed.
  private func expected(_ value: StoredValue, _ slot: Slot) -> StoredValue {
    func renamed(_ reference: ObjectReference) -> ObjectReference? {
      guard let entity = mapping.source.entity(named: reference.entityName), let name = names[entity.index] else {
        return nil
      }
      return ObjectReference(entityName: name, reference: reference.reference)
    }
    switch value {
    case .toOne(let reference):
      guard let new = renamed(reference) else { return slot.isToMany ? .toMany([]) : .null }
      return slot.isToMany ? .toMany([new]) : .toOne(new)
    case .toMany(let list): return .toMany(list.compactMap { renamed($0) })
    case .null where slot.isToMany: return .toMany([])
    default: return value
    }
  }

  private func isSame(_ before: StoredValue, _ after: StoredValue, _ slot: Slot) -> Bool {
    guard case .toMany(let one) = before, case .toMany(let other) = after, !slot.isOrdered else {
      return before.isIdentical(to: after)
    }
    return one.count == other.count && Set(one) == Set(other)
  }
}

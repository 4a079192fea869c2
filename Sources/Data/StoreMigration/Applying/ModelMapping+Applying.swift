package import AtomicStoreSPI
package import FoundationEssentials
package import StoreCoordination
import StorePredicates

extension ModelMapping {
  /// What objects would lose: of entities and properties that the destination does not have. What a mapping file drops
  /// is not listed.
  ///
  /// - Parameters:
  ///   - nodes: Objects of the ``source``.
  ///   - file: The mapping file: what it drops is not listed.
  package func losses(of nodes: NodeTable, file: MappingFile? = nil) -> [Loss] {
    var account = LossAccount(of: nodes)
    return account.take(self, file: file)
  }

  /// Makes objects of the destination of those of the source.
  ///
  /// References are kept, and columns that are kept or renamed are copied whole; if a mapping model makes several
  /// objects of one, all but the first in a hierarchy get new references.
  ///
  /// - Parameters:
  ///   - nodes: Objects of the ``source``.
  ///   - store: The UUID of their store, by which expressions know objects.
  /// - Throws: ``MigrationError`` where there are ``obstacles``, or a value cannot be converted;
  ///   `PersistentStoreError`.
  package func apply(to nodes: NodeTable, store: UUID = UUID()) throws -> NodeTable {
    let nodes = try nodes.canonical()
    return try apply(to: nodes, store: store, try MappingPlacements(self, nodes, store: store))
  }

  /// Makes objects of the destination of those of the source, which are in canonical order, by their placements.
  func apply(to nodes: NodeTable, store: UUID, _ placements: MappingPlacements) throws -> NodeTable {
    guard obstacles.isEmpty else {
      throw MigrationError(obstacles: counted(obstacles, nodes), losses: [], mappingModelPath: mappingModelPath)
    }
    var application = MappingApplication(self, nodes, store, placements)
    return try application.run()
  }

  /// Obstacles with the number of objects that each concerns.
  func counted(_ obstacles: [MappingObstacle], _ nodes: NodeTable) -> [MappingObstacle] {
    obstacles.map { obstacle in
      var obstacle = obstacle
      let sourceName = destination.entity(named: obstacle.entityName).flatMap { mapping(of: $0)?.sourceName }
      obstacle.objectCount = sourceName.flatMap { source.entity(named: $0) }.map { nodes.count(of: $0.index) }
      return obstacle
    }
  }
}

extension MappingApplication {
  mutating func run() throws -> NodeTable {
    for placement in placements.all { try addRows(placement) }
    for placement in placements.all {
      for (slot, property) in zip(placement.destination.slots, mapping.entities[placement.mapping].properties) {
        try fill(slot, property, placement)
      }
    }
    guard obstacles.isEmpty else {
      throw MigrationError(obstacles: obstacles, losses: [], mappingModelPath: mapping.mappingModelPath)
    }
    // Contradictions that were there before are kept; a mapping must not make others.
    let known = Set(nodes.inverseDisagreements())
    builder.compareEnds(by: known.isEmpty ? .refuse : .asStored)
    let result = try builder.finish()
    guard !known.isEmpty else { return result }
    for found in result.inverseDisagreements() where !(former(found).map { known.contains($0) } ?? false) {
      throw PersistentStoreError(
        .inverseMismatch, "after the migration it would name \(found.other), whose '\(found.inverse)' does not name it",
        at: StoreLocation(
          entity: found.object.entityName, reference: found.object.reference.description, property: found.property))
    }
    return result
  }

  /// A contradiction with the names of the source; nil if an end has its objects from elsewhere.
  private func former(_ found: InverseDisagreement) -> InverseDisagreement? {
    func old(_ object: ObjectReference, _ name: String) -> (object: ObjectReference, name: String)? {
      guard let entity = mapping.destination.entity(named: object.entityName),
        let mapped = mapping.mapping(of: entity), let source = mapped.sourceName, let slot = entity.slot(named: name),
        case .kept(let property) = mapped.properties[slot].origin
      else { return nil }
      return (ObjectReference(entityName: source, reference: object.reference), property)
    }
    guard let end = old(found.object, found.property), let other = old(found.other, found.inverse) else { return nil }
    var former = found
    (former.object, former.property) = end
    (former.other, former.inverse) = other
    return former
  }

  private func addRows(_ placement: MappingPlacements.Placement) throws(PersistentStoreError) {
    let (source, destination) = (placement.source, placement.destination)
    guard placement.isWhole else {
      for index in 0..<placement.count {
        try builder.beginNode(entity: destination.index, reference: placements.reference(placement, index))
      }
      return
    }
    let reader = nodes.reader(of: source.index)
    let rows = 0..<reader.count
    let references = rows.map { reader.integerReference(row: $0) ?? 0 }
    try builder.appendRows(entity: destination.index, references: references.span)
    guard reader.hasStringReferences else { return }
    var heap: [UInt8] = []
    var lengths: [UInt32] = []
    for row in rows {
      let before = heap.count
      let isText = reader.textReference(row: row)?.withUnsafeBufferPointer { heap.append(contentsOf: $0) } != nil
      lengths.append(isText ? UInt32(truncatingIfNeeded: heap.count - before) : .max)
    }
    try builder.fillReferenceTexts(entity: destination.index, lengths: lengths.span, heap: heap.span)
  }

  private mutating func fill(
    _ slot: Slot, _ property: ModelMapping.Property, _ placement: MappingPlacements.Placement
  ) throws {
    let (source, destination) = (placement.source, placement.destination)
    switch property.origin {
    case .inverse:
      guard !placements.filled.contains(.init(entity: destination.index, slot: slot.index)) else { return }
      builder.markAbsent(slot: slot.index, entity: destination.index)
    case .constant(let value):
      guard !slot.isRelationship, !value.isNull else { return }
      if placement.isWhole { return try builder.fill(entity: destination.index, slot: slot.index, with: value) }
      for index in 0..<placement.count { try set(value, slot, placement, index) }
    case .kept(let name):
      guard let old = source.slot(named: name) else { return }
      if slot.isRelationship {
        try copyRelationship(source.slots[old], slot, source, destination)
      } else if placement.isWhole {
        try copyColumn(old, slot, property, placement)
      } else {
        try copyValues(old, slot, property, placement)
      }
    case .converted(let name):
      guard let old = source.slot(named: name) else { return }
      try convert(source.slots[old], slot, property, placement)
    case .expression(let text): try evaluate(text, slot, property, placement)
    case .objects(let text, let numbers): try setObjects(text, numbers, slot, placement)
    }
  }

  private func copyValues(
    _ old: Int, _ slot: Slot, _ property: ModelMapping.Property, _ placement: MappingPlacements.Placement
  ) throws(PersistentStoreError) {
    let reader = nodes.reader(of: placement.source.index)
    for index in 0..<placement.count {
      let value = reader.value(slot: old, row: placement.row(index))
      let stored = value.isNull ? property.replacementForNull ?? .null : value
      if !stored.isNull { try set(stored, slot, placement, index) }
    }
  }

  // MARK: Columns

  /// Copies what a relationship names, except for objects of entities that are removed. Rows are the same in both
  /// tables, so that only the numbers of entities change.
  private mutating func copyRelationship(
    _ old: Slot, _ slot: Slot, _ source: Entity, _ destination: Entity
  ) throws(PersistentStoreError) {
    let (reader, targets, model) = (nodes.reader(of: source.index), targets, mapping.destination)
    let column = reader.column(slot: old.index)
    var misplaced: [(row: Int, node: NodeHandle, entity: Entity)] = []
    func moved(_ bits: UInt64, _ row: Int) -> NodeHandle? {
      let node = NodeHandle(rawBits: bits)
      guard bits != RowTranslation.null, let entity = targets[node.entity] else { return nil }
      guard slot.destination.map({ entity.isKindOf(entity: model.entity(at: $0)) }) ?? false else {
        if misplaced.last?.row != row { misplaced.append((row, node, entity)) }
        return nil
      }
      return NodeHandle(entity: entity.index, row: node.row)
    }
    defer { if let first = misplaced.first { note(misplaced.count, first, slot, destination, reader) } }
    var moves: [NodeHandle] = []
    moves.reserveCapacity(reader.count)
    guard old.isToMany || slot.isToMany else {
      var presence = [UInt8](repeating: 0, count: (reader.count + 7) / 8)
      for row in 0..<reader.count {
        let found = moved(column.handle(row), row)
        if found != nil { presence[row >> 3] |= 1 << UInt8(row & 7) }
        moves.append(found ?? NodeHandle(entity: 0, row: 0))
      }
      return try builder.fillToOne(
        entity: destination.index, slot: slot.index, nodes: moves.span, presence: presence.span)
    }
    var counts: [UInt32] = []
    counts.reserveCapacity(reader.count)
    for row in 0..<reader.count {
      let before = moves.count
      if old.isToMany {
        for bits in column.handles(row) { if let found = moved(bits, row) { moves.append(found) } }
      } else if let found = moved(column.handle(row), row) {
        moves.append(found)
      }
      counts.append(UInt32(moves.count - before))
    }
    try builder.fillToMany(entity: destination.index, slot: slot.index, counts: counts.span, nodes: moves.span)
  }

  /// Notes that objects name others whose entity has left the hierarchy of the destination.
  private mutating func note(
    _ count: Int, _ first: (row: Int, node: NodeHandle, entity: Entity), _ slot: Slot, _ entity: Entity,
    _ reader: EntityReader
  ) {
    let found = "\(first.entity.name)/\(nodes.reference(of: first.node))"
    obstacles.append(
      MappingObstacle(
        entityName: entity.name, propertyName: slot.name,
        reason: "\(entity.name)/\(reader.reference(row: first.row)) names \(found), which is not a "
          + "\(slot.relationship?.destinationEntityName ?? slot.name) any more", objectCount: count))
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// Fills the destination's columns.
struct MappingApplication {
  let mapping: ModelMapping
  let nodes: NodeTable
  /// The nodes, for calculations over columns.
  let version: NodeVersion
  let store: UUID
  let builder: NodeTableBuilder
  let placements: MappingPlacements
  /// The destination's entity by the source's index; nil for one that is removed.
  private(set) var targets: [Entity?]
  /// The expressions of the mapping file that were read.
  var expressions: [String: FetchExpression] = [:]
  var obstacles: [MappingObstacle] = []

  init(_ mapping: ModelMapping, _ nodes: NodeTable, _ store: UUID, _ placements: MappingPlacements) {
    self.mapping = mapping
    self.nodes = nodes
    version = NodeVersion(nodes)
    self.placements = placements
    self.store = store
    builder = NodeTableBuilder(model: mapping.destination)
    targets = Array(repeating: nil, count: mapping.source.entityCount)
    for entity in mapping.entities {
      guard let source = entity.sourceName.flatMap({ mapping.source.entity(named: $0) }) else { continue }
      targets[source.index] = mapping.destination.entity(named: entity.name)
    }
  }

  /// Sets the value of one of the objects of a placement.
  func set(
    _ value: StoredValue, _ slot: Slot, _ placement: MappingPlacements.Placement, _ index: Int
  ) throws(PersistentStoreError) {
    try builder.set(value, entity: placement.destination.index, row: placement.first + index, slot: slot.index)
  }

  /// Copies an attribute of all objects, which are the same rows in both tables.
  func copyColumn(
    _ old: Int, _ slot: Slot, _ property: ModelMapping.Property, _ placement: MappingPlacements.Placement
  ) throws(PersistentStoreError) {
    let (source, destination) = (placement.source, placement.destination)
    try builder.fill(entity: destination.index, slot: slot.index, of: nodes, entity: source.index, slot: old)
    guard let value = property.replacementForNull else { return }
    let reader = nodes.reader(of: source.index)
    for row in 0..<reader.count where reader.isNull(slot: old, row: row) {
      try builder.set(value, entity: destination.index, row: row, slot: slot.index)
    }
  }
}

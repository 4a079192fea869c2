import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StorePredicates

/// Fills the destination's columns.
struct MappingApplication {
  let mapping: ModelMapping
  let nodes: NodeTable
  let references: NodeReferences
  let store: UUID
  let builder: NodeTableBuilder
  let placements: MappingPlacements
  /// The name of the destination's entity by the source's index; nil for one that is removed.
  var names: [Int: String] = [:]
  /// By the source's index: the rows, and whether an object of the hierarchy has a text as its reference.
  let readers: [EntityReader]
  let hasTexts: [Bool]
  /// The expressions of the mapping file that were read.
  var expressions: [String: FetchExpression] = [:]
  var obstacles: [MappingObstacle] = []

  init(_ mapping: ModelMapping, _ nodes: NodeTable, _ store: UUID, _ placements: MappingPlacements) {
    self.mapping = mapping
    self.nodes = nodes
    self.placements = placements
    references = nodes.references
    self.store = store
    builder = NodeTableBuilder(model: mapping.destination)
    readers = mapping.source.entities.map { nodes.reader(of: $0.index) }
    var hasTexts = readers.map(\.hasStringReferences)
    for entity in mapping.source.entities where readers[entity.index].hasStringReferences {
      var above = entity.superentity
      while let level = above {
        hasTexts[level.index] = true
        above = level.superentity
      }
    }
    self.hasTexts = hasTexts
    for entity in mapping.entities {
      if let source = entity.sourceName.flatMap({ mapping.source.entity(named: $0) }) {
        names[source.index] = entity.name
      }
    }
  }

  /// Sets the value of one of the objects of a placement.
  func set(
    _ value: StoredValue, _ slot: Slot, _ placement: MappingPlacements.Placement, _ index: Int
  ) throws(PersistentStoreError) {
    try builder.set(value, entity: placement.destination.index, row: placement.first + index, slot: slot.index)
  }
}

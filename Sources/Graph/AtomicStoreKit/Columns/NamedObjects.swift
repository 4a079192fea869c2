import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// Objects that a predicate names.
struct NamedObjects {
  /// Those that objects with unsaved changes may be, or refer to.
  let ids: Set<ManagedObjectID>
  /// Those that the store has, as in columns.
  let bits: Set<UInt64>

  /// Nil if one has a temporary ID, by which an object that was saved since is known as well.
  init?(_ ids: [ManagedObjectID], _ version: NodeVersion, store: UUID) {
    var bits: Set<UInt64> = []
    for id in ids {
      guard case .permanent(let identifier, let reference) = id.form else { return nil }
      guard identifier == store, let entity = version.nodes.model.entity(named: id.entityName),
        let node = version.handle(for: reference, root: entity.root.index), node.entity == entity.index
      else { continue }
      bits.insert(node.rawBits)
    }
    self.ids = Set(ids)
    self.bits = bits
  }

  /// The rows of an entity, in ascending order.
  func rows(of entity: Int) -> [Int] {
    bits.map { NodeHandle(rawBits: $0) }.filter { $0.entity == entity }.map(\.row).sorted()
  }
}

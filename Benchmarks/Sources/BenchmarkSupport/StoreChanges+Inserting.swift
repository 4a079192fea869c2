import AtomicStoreKit
import AtomicStoreSPI

extension StoreChanges {
  /// Inserts all objects of a table, under the references that they have there.
  public init(inserting nodes: NodeTable) {
    self.init()
    for entity in nodes.model.entities where !entity.isAbstract {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        var values = SlotValues(slotCount: entity.slots.count)
        for slot in entity.slots where !reader.isNull(slot: slot.index, row: row) {
          values[slot.index] = reader.value(slot: slot.index, row: row)
        }
        inserted.append(
          ManagedObjectSnapshot(entity: entity.index, reference: reader.reference(row: row), values: values))
      }
    }
  }
}

public import AtomicStoreSPI

/// What another process, or another coordinator of this process, saved to an open store.
public struct RemoteStoreChange: Sendable {
  /// The store that was saved. Its coordinator has read the changes of an atomic store already.
  public let store: PersistentStore
  /// New objects.
  public internal(set) var inserted: [ManagedObjectID] = []
  /// Objects with changed values.
  public internal(set) var updated: [ManagedObjectID] = []
  /// Deleted objects.
  public internal(set) var deleted: [ManagedObjectID] = []
  /// For an incremental store: the saves, oldest first. An atomic store does not have a history.
  public internal(set) var transactions: [HistoryTransaction] = []

  /// Whether everything that changed is listed: false if another process deleted history that was not looked at yet.
  /// Then any object may have changed. Contexts that merge automatically read all their objects again.
  public internal(set) var isComplete = true

  /// Compares two versions of an atomic store.
  init(_ store: PersistentStore, from old: NodeVersion, to new: NodeVersion) {
    self.store = store
    for entity in new.model.entities where !entity.isAbstract {
      let root = entity.root.index
      for node in new.nodes.handles(of: entity.index) {
        let reference = new.reference(of: node)
        let before = old.handle(for: reference, root: root)
        // An object that is of another entity now is a new one.
        guard let before, before.entity == node.entity else {
          inserted.append(id(reference, entity))
          continue
        }
        if entity.slots.contains(where: { new.differs(slot: $0, of: node, from: old, before) }) {
          updated.append(id(reference, entity))
        }
      }
      for node in old.nodes.handles(of: entity.index) {
        let reference = old.reference(of: node)
        if new.handle(for: reference, root: root)?.entity != node.entity { deleted.append(id(reference, entity)) }
      }
    }
  }

  /// Takes what transactions of an incremental store say. An object that was changed several times is listed once, by
  /// what the transactions come to.
  init(_ store: PersistentStore, _ transactions: [HistoryTransaction]) {
    self.store = store
    self.transactions = transactions
    var kinds: [ObjectReference: HistoryTransaction.Kind?] = [:]
    var order: [ObjectReference] = []
    for change in transactions.flatMap(\.changes) {
      guard let known = kinds[change.object] else {
        order.append(change.object)
        kinds[change.object] = change.kind
        continue
      }
      switch (known, change.kind) {
      case (.insert?, .update): break
      case (.insert?, .delete): kinds[change.object] = .some(nil)
      case (.delete?, .insert): kinds[change.object] = .update
      default: kinds[change.object] = change.kind
      }
    }
    for object in order {
      let id = store.objectID(for: object)
      switch kinds[object] ?? nil {
      case .insert?: inserted.append(id)
      case .update?: updated.append(id)
      case .delete?: deleted.append(id)
      case nil: break
      }
    }
  }

  private func id(_ reference: ReferenceObject, _ entity: Entity) -> ManagedObjectID {
    ManagedObjectID(storeIdentifier: store.identifier, entityName: entity.name, reference: reference)
  }
}

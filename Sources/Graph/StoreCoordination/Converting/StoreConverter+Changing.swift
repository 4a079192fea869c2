package import AtomicStoreSPI
import FoundationEssentials
import Synchronization

/// Saves to a database what a program has made of its objects in memory.
extension StoreConverter {
  /// Saves the difference between two graphs in one transaction, unless the database has changed since the first graph
  /// was read. Its history is kept, and other programs may have it open.
  ///
  /// - Parameters:
  ///   - result: What the database is to hold, by the same model.
  ///   - store: The database, which the coordinator may have open read-only.
  ///   - address: Its path or URL, with the password if there is one.
  ///   - old: What was read from it.
  ///   - token: The last transaction before it was read; nil if there was none.
  /// - Throws: `.retry` if another process has saved since; `.notSupported` for another model, and for an object that
  ///   would change its entity; `.invalidValue` for objects that break a uniqueness constraint; ``LossError``;
  ///   `.internalInconsistency` if what was read back differs: then nothing is saved, unless the store cannot read back
  ///   before its transaction ends, which the message says.
  package func change(
    _ store: PersistentStore, at address: String, from old: NodeTable, after token: HistoryToken?,
    to result: StoreSnapshot, notes: [StoreSelection.Note] = []
  ) throws -> Report {
    guard let connection = store.connection else {
      throw PersistentStoreError(.internalInconsistency, "this store is not a database")
    }
    let differences = result.nodes.model.differences(from: old.model.description)
    guard differences.isEmpty else {
      let list = differences.map { "\($0)" }.joined(separator: "; ")
      throw PersistentStoreError(
        .notSupported, "the database has another model, so migrate it first: \(list)",
        at: StoreLocation(file: store.path))
    }
    let traits = try connection.use { store throws(PersistentStoreError) in type(of: store).traits }
    let losses = traits.losses(for: result, includingMetadata: true)
    let refused = losses.filter { $0.kind.lossClass == .value }
    guard refused.isEmpty else { throw LossError(targetType: store.type, losses: refused) }
    let snapshot =
      losses.isEmpty
      ? result : StoreSnapshot(nodes: try traits.reduced(result.nodes), metadata: result.metadata)
    var report = Report(
      sourceType: store.type, targetType: store.type,
      counts: snapshot.nodes.model.entities.compactMap { entity in
        let count = snapshot.nodes.count(of: entity.index)
        return count > 0 ? (entity.name, count) : nil
      },
      identifier: store.identifier, losses: losses, selections: notes, bytesWritten: 0, isDryRun: isDryRun)
    try Self.refuseOtherEntities(old, snapshot.nodes, store)
    try UniquenessGroup.refuse(in: snapshot.nodes)
    progress?(.writing)
    var changes = StoreChanges(from: NodeVersion(old), to: NodeVersion(snapshot.nodes)).asStoreSave
    changes.lastTransaction = token?.number ?? 0
    changes.lastReference = store.metadata.lastReference
    if snapshot.metadata.entries != store.metadata.entries {
      changes.previousMetadataEntries = store.metadata.entries
      changes.metadataEntries = snapshot.metadata.entries
    }
    let unit = publication ?? Publication()
    let saving = { try save(changes, to: store, at: address, snapshot, unit) }
    report.isVerified = isDryRun ? try saving() : try unit.commit(with: saving)
    return report
  }

  /// Refuses objects that have another entity than before under the same reference: in a database that would be a
  /// deletion, which ends what leads to the object.
  private static func refuseOtherEntities(
    _ old: NodeTable, _ new: NodeTable, _ store: PersistentStore
  ) throws(PersistentStoreError) {
    for entity in new.model.entities {
      for node in new.handles(of: entity.index) {
        guard let before = old.handle(for: new.reference(of: node), entity: entity.root.index),
          before.entity != node.entity
        else { continue }
        throw PersistentStoreError(
          .notSupported,
          "\(old.objectReference(of: before)) would become \(new.objectReference(of: node)), but objects of a database keep "
            + "their entity: name another result", at: StoreLocation(file: store.path))
      }
    }
  }

  /// - Returns: Whether the result was read back. It cannot be compared if another process has saved meanwhile.
  private func save(
    _ changes: StoreSave, to store: PersistentStore, at address: String, _ snapshot: StoreSnapshot,
    _ unit: Publication
  ) throws -> Bool {
    var opening = store.state.withLock { $0.opening }
    opening.path = address
    opening.isReadOnly = false
    guard let type = try registry.incrementalType(store.type, at: opening.path) else {
      throw PersistentStoreError(.unknownStoreType, "the type '\(store.type)' is not registered")
    }
    let writable = try opening.openIncremental(type, readsWhole: false)
    defer { writable.connection?.close() }
    guard let connection = writable.connection, writable.identifier == store.identifier else {
      throw PersistentStoreError(.retry, "the database was replaced since it was read: do it again")
    }
    var isVerified = true
    var isRehearsed = false
    var answer: StoreSaveAnswer?
    do throws(PersistentStoreError) {
      answer = try connection.save(changes) { read throws(PersistentStoreError) in
        progress?(.verifying)
        let builder = NodeTableBuilder(model: writable.model, file: store.path)
        builder.compareEnds(by: .asStored)
        let metadata = try read(builder)
        let written = StoreSnapshot(nodes: try builder.finish(), metadata: metadata)
        try Self.check(written, against: snapshot, store, "nothing was saved, since the database would not hold it")
        if isDryRun {
          isRehearsed = true
          throw Self.rehearsed
        }
        try unit.publish()
      }
    } catch {
      guard isRehearsed else { throw error }
    }
    if isDryRun, answer == nil { return true }
    if answer == nil {
      isVerified = false
      answer = try connection.use { store throws(PersistentStoreError) in try store.save(changes) }
    }
    guard case .saved? = answer else {
      throw PersistentStoreError(
        .retry, "another process has saved to the database since it was read, so nothing was saved: do it again",
        at: StoreLocation(file: store.path))
    }
    // What is found from here on does not roll back the transaction, nor the files that belong to it.
    try unit.publish()
    unit.conclude()
    if isVerified { return true }
    progress?(.verifying)
    let builder = NodeTableBuilder(model: writable.model, file: store.path)
    builder.compareEnds(by: .asStored)
    let (written, metadata) = try connection.readWithMetadata(into: builder)
    let last = try connection.use { store throws(PersistentStoreError) in try store.currentHistoryToken() }
    if let last, last.number != (changes.lastTransaction ?? 0) + 1 { return false }
    try Self.check(
      StoreSnapshot(nodes: written, metadata: metadata), against: snapshot, store,
      "the database was changed, but does not hold what was saved")
    return true
  }

  private static func check(
    _ written: StoreSnapshot, against snapshot: StoreSnapshot, _ store: PersistentStore, _ problem: String
  ) throws(PersistentStoreError) {
    do {
      try verify(written, against: snapshot, [], targetType: store.type, comparesMetadata: false)
    } catch {
      throw PersistentStoreError(
        .internalInconsistency, "\(problem): \(error)", at: StoreLocation(file: store.path), underlying: error)
    }
  }
}

extension StoreChanges {
  /// What makes one graph of the other.
  init(from old: NodeVersion, to new: NodeVersion) {
    self.init()
    for entity in new.model.entities where !entity.isAbstract {
      let root = entity.root.index
      for node in new.nodes.handles(of: entity.index) {
        let reference = new.reference(of: node)
        if let before = old.handle(for: reference, root: root), before.entity == node.entity {
          addDifference(from: old, before, to: new, node, entity)
        } else {
          var values = SlotValues()
          for slot in entity.slots where !new.isNull(slot: slot.index, of: node) {
            values[slot.index] = new.value(slot: slot.index, of: node)
          }
          inserted.append(ManagedObjectSnapshot(entity: entity.index, reference: reference, values: values))
        }
      }
      for node in old.nodes.handles(of: entity.index) {
        let reference = old.reference(of: node)
        guard new.handle(for: reference, root: root)?.entity != node.entity else { continue }
        deleted.append(ObjectReference(entityName: entity.name, reference: reference))
      }
    }
  }

  private mutating func addDifference(
    from old: NodeVersion, _ before: NodeHandle, to new: NodeVersion, _ node: NodeHandle, _ entity: Entity
  ) {
    let reference = new.reference(of: node)
    var values = SlotValues()
    var isChanged = false
    for slot in entity.slots where new.differs(slot: slot, of: node, from: old, before) {
      isChanged = true
      let value = new.value(slot: slot.index, of: node)
      guard slot.isToMany, !slot.keepsSequence else {
        values[slot.index] = value
        continue
      }
      func list(_ value: StoredValue) -> [ObjectReference] { if case .toMany(let list) = value { list } else { [] } }
      let (was, isNow) = (list(old.value(slot: slot.index, of: before)), list(value))
      members.append(
        StoreSave.MemberChange(
          owner: ObjectReference(entityName: entity.name, reference: reference), slot: slot.index,
          added: isNow.filter { [was = Set(was)] in !was.contains($0) },
          removed: was.filter { [isNow = Set(isNow)] in !isNow.contains($0) }))
    }
    guard isChanged else { return }
    updated.append(ManagedObjectSnapshot(entity: entity.index, reference: reference, values: values))
  }
}

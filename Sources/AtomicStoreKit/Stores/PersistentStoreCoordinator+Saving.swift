public import AtomicStoreSPI
import Synchronization

/// What a save changes in one store, in the order the store is told.
public struct StoreChanges: Sendable {
  /// New objects. One without a reference gets one from the store; relationships name objects by reference, so those
  /// that others of the same save point at bring theirs: see ``PersistentStoreCoordinator/newReference(for:in:)``.
  public var inserted: [ManagedObjectSnapshot]
  /// Changed objects with the slots that changed.
  public var updated: [ManagedObjectSnapshot]
  public var deleted: [ObjectReference]

  public init(
    inserted: [ManagedObjectSnapshot] = [], updated: [ManagedObjectSnapshot] = [], deleted: [ObjectReference] = []
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }

  public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

extension PersistentStoreCoordinator {
  /// Asks the store for the reference of an object that will be inserted. It is used up even if the object never is.
  public func newReference(
    for object: ManagedObjectSnapshot, in store: PersistentStore
  ) throws(PersistentStoreError) -> ReferenceObject {
    try check(store)
    return try store.state.withLock { open throws(PersistentStoreError) in
      try open.format.newReferenceObject(for: object, in: open.nodes, metadata: &open.metadata)
    }
  }

  /// Saves changes to one store: whole, or not at all. Without changes and with unchanged metadata no file is touched,
  /// except that a store that was never saved is written.
  public func save(
    _ store: PersistentStore, changes: StoreChanges = StoreChanges()
  ) throws(PersistentStoreError) {
    try save([(store, changes)])
  }

  /// Saves changes to several stores. On an error all files are the old ones, and all nodes and metadata in memory too;
  /// the same save can be tried again. After a crash between two renames each file is whole.
  ///
  /// - Throws: `.inverseMismatch` where the changes leave two ends of a relationship in disagreement: the object at the
  ///   other end of a relationship with an inverse must be changed with it.
  public func save(_ work: [(store: PersistentStore, changes: StoreChanges)]) throws(PersistentStoreError) {
    turns.pass()
    _ = try save(work, expecting: nil)
  }

  /// As ``save(_:)``, if the stores still hold the versions that the changes were made for.
  ///
  /// - Returns: What the stores hold now, or nil where another save of this process was quicker.
  func save(
    _ work: [(store: PersistentStore, changes: StoreChanges)], expecting versions: [NodeVersion]?
  ) throws(PersistentStoreError) -> [NodeVersion]? {
    // One save at a time: between the copy of a store's nodes and its publication nobody may publish another.
    let result = saving.withLock { _ -> Result<[NodeVersion]?, PersistentStoreError> in
      do throws(PersistentStoreError) {
        if let versions {
          for (entry, version) in zip(work, versions) where entry.store.version !== version { return .success(nil) }
        }
        try saveAlone(work)
        return .success(work.map(\.store.version))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Reads a store again whose file is no longer the one that was read or written last. Objects that were fetched keep
  /// their values; whether they changed shows when they are saved.
  func reloadIfChanged(_ store: PersistentStore) throws(PersistentStoreError) {
    let result = saving.withLock { _ -> Result<Void, PersistentStoreError> in
      do throws(PersistentStoreError) { return .success(try store.reloadIfChanged()) } catch { return .failure(error) }
    }
    try result.get()
  }

  private func saveAlone(_ work: [(store: PersistentStore, changes: StoreChanges)]) throws(PersistentStoreError) {
    var pending: [(store: PersistentStore, save: PendingSave)] = []
    do throws(PersistentStoreError) {
      for (store, changes) in work {
        try check(store)
        guard !store.isReadOnly else { throw .readOnly(store.path) }
        if let save = try PendingSave.prepare(store, changes) { pending.append((store, save)) }
      }
      if pending.count > 1 { SaveSet.mark(&pending) }
      for index in pending.indices { try pending[index].save.write() }
      for index in pending.indices { try pending[index].save.commit() }
    } catch {
      var failures: [String] = error.code == .notRolledBack ? [error.message] : []
      for entry in pending.reversed() { if let left = entry.save.undo() { failures.append("\(entry.save.path): \(left.message)") } }
      guard failures.isEmpty else {
        throw PersistentStoreError(.notRolledBack, failures.joined(separator: "; "), at: error.location, underlying: error.underlying ?? error)
      }
      throw error
    }
    for entry in pending { entry.save.publish(to: entry.store) }
  }
}

/// One store's part of a save: what it will hold, and the staged file.
struct PendingSave {
  let path: String
  var format: any AtomicStore
  var snapshot: StoreSnapshot
  let staged: StagedStore
  /// The file that was read, where nothing but metadata entries changes; nil for a full save.
  var unchanged: FileIdentity?
  var isCommitted = false
  var identity: FileIdentity?

  /// Applies the changes to a copy of the nodes. Nil where there is nothing to write.
  static func prepare(
    _ store: PersistentStore, _ changes: StoreChanges
  ) throws(PersistentStoreError) -> PendingSave? {
    let open = store.state.withLock { $0 }
    guard !changes.isEmpty || open.metadataChanged || open.reservation != nil || open.fileIdentity?.isEmpty != false
    else { return nil }
    var format = open.format
    var nodes = open.nodes
    var metadata = open.metadata
    do throws(PersistentStoreError) {
      let changed = try apply(changes, &format, &nodes, &metadata, configuration: store.configurationName)
      try checkInverses(changed, open.nodes, nodes)
      try supplyDeferred(&nodes, &format, open, store)
      metadata.lastReference = max(metadata.lastReference, nodes.greatestIntegerReference)
      if format.traits.keepsMetadata { metadata.setVersionHashes(of: nodes.model, configuration: store.configurationName) }
      let snapshot = StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata)
      let staged = try StagedStore(
        target: store.path, layout: format.layout, policy: .replaceOnlyIf(open.fileIdentity), keeping: open.bystanders)
      return PendingSave(
        path: store.path, format: format, snapshot: snapshot, staged: staged,
        unchanged: changes.isEmpty && open.keepsContent ? open.fileIdentity : nil)
    } catch {
      throw error.located(StoreLocation(file: store.path))
    }
  }

  /// Sets the deferred values that the save needs. Those of removed objects, and those that were given another value, are not
  /// asked for; each is asked for once, even where the save fails.
  private static func supplyDeferred(
    _ nodes: inout NodeTable, _ format: inout any AtomicStore, _ open: OpenStore, _ store: PersistentStore
  ) throws(PersistentStoreError) {
    for (key, value) in open.suppliedValues where nodes.contains(key.node) && nodes.isDeferred(slot: key.slot, of: key.node) {
      try nodes.set(value, slot: key.slot, of: key.node)
    }
    guard !format.writesDeferredValues else { return }
    var supplied: [OpenStore.SuppliedValue: StoredValue] = [:]
    defer {
      store.state.withLock { now in
        if now.version === open.version { now.suppliedValues.merge(supplied) { known, _ in known } }
      }
    }
    for (node, slot) in nodes.deferredSlots where nodes.contains(node) {
      let value = try format.value(slot: slot, of: node, in: nodes)
      try nodes.set(value, slot: slot, of: node)
      supplied[OpenStore.SuppliedValue(node: node, slot: slot)] = value
    }
  }

  /// - Returns: The nodes that were added or changed.
  private static func apply(
    _ changes: StoreChanges, _ format: inout any AtomicStore, _ nodes: inout NodeTable,
    _ metadata: inout StoreMetadata, configuration: String?
  ) throws(PersistentStoreError) -> [NodeHandle] {
    let allowed = Set((nodes.model.entities(forConfiguration: configuration) ?? []).map(\.index))
    var added: [(node: NodeHandle, object: ManagedObjectSnapshot)] = []
    for object in changes.inserted {
      guard allowed.contains(object.entity) else {
        let name = nodes.model.entity(at: object.entity).name
        throw PersistentStoreError(
          .invalidValue, "\(name) is not in the store's configuration '\(configuration ?? "")'",
          at: StoreLocation(entity: name))
      }
      var object = object
      if object.reference == nil {
        object.reference = try format.newReferenceObject(for: object, in: nodes, metadata: &metadata)
      }
      added.append((try format.newCacheNode(for: object, in: &nodes), object))
    }
    for (node, object) in added {
      for slot in object.values.slots where nodes.model.isRelationship(slot: slot, of: object.entity) {
        if let value = object.values[slot] { try nodes.set(value, slot: slot, of: node) }
      }
    }
    var changed = added.map(\.node)
    for object in changes.updated {
      guard let reference = object.reference, let node = nodes.handle(for: reference, entity: object.entity) else {
        throw missing(nodes.model.entity(at: object.entity).name, object.reference)
      }
      try format.updateCacheNode(node, from: object, in: &nodes)
      changed.append(node)
    }
    var removed: [NodeHandle] = []
    for reference in changes.deleted {
      guard let node = nodes.handle(for: reference) else { throw missing(reference.entityName, reference.reference) }
      removed.append(node)
    }
    if !removed.isEmpty {
      format.willRemoveCacheNodes(removed, from: &nodes)
      for node in removed { nodes.remove(node) }
      // What still names a removed object, for want of an inverse or by the rule No Action, names nothing in the file:
      // a store that says otherwise could not be read again.
      let roots = Set(removed.map { nodes.model.entity(at: $0.entity).root.index })
      for entity in nodes.model.entities where !entity.isAbstract {
        let slots = entity.slots.filter {
          $0.destination >= 0 && roots.contains(nodes.model.entity(at: $0.destination).root.index)
        }
        if !slots.isEmpty { _ = nodes.removeDanglingReferences(entity: entity.index, slots: slots.map(\.index)) }
      }
    }
    return changed
  }

  /// The two ends of every relationship that is written agree, whoever made the changes: a file in which they do not would
  /// lose objects later, when a delete rule follows the wrong end.
  private static func checkInverses(_ changed: [NodeHandle], _ old: NodeTable, _ new: NodeTable) throws(PersistentStoreError) {
    var check = ChangedRowsInverseCheck(old: old, new: new)
    for node in changed where new.contains(node) {
      guard let found = check.disagreement(of: node) else { continue }
      func name(_ node: NodeHandle, _ slot: Int) -> String {
        "\(new.objectReference(of: node)).\(new.model.entity(at: node.entity).slots[slot].name)"
      }
      let (one, other) = (new.objectReference(of: found.node), new.objectReference(of: found.other))
      throw PersistentStoreError(
        .inverseMismatch,
        found.isNaming
          ? "it names \(other), but \(name(found.other, found.otherSlot)) does not name \(one)"
          : "it no longer names \(other), but \(name(found.other, found.otherSlot)) still names \(one)",
        at: StoreLocation(
          entity: one.entityName, reference: one.reference.description,
          property: new.model.entity(at: found.node.entity).slots[found.slot].name))
    }
  }

  private static func missing(_ entity: String, _ reference: ReferenceObject?) -> PersistentStoreError {
    PersistentStoreError(
      .missingObject, "\(entity)/\(reference.map(\.description) ?? "new") is not in the store",
      at: StoreLocation(entity: entity, reference: reference?.description))
  }

  /// Writes metadata alone where that is all that changes and the format can.
  private mutating func writeMetadata() throws(PersistentStoreError) -> Bool {
    guard let unchanged else { return false }
    let place = try StorePlace.inspect(path)
    guard place.identity == unchanged else { throw .changedMeanwhile(path) }
    return try format.saveMetadata(snapshot.metadata, in: try StoreSource(opening: place), to: staged)
  }

  mutating func write() throws(PersistentStoreError) {
    do throws(PersistentStoreError) {
      if try !writeMetadata() { try format.save(snapshot, to: staged) }
      try staged.finish()
    } catch {
      throw error.located(StoreLocation(file: path))
    }
  }

  mutating func commit() throws(PersistentStoreError) {
    identity = try staged.commit(keepsPrevious: true)
    isCommitted = true
  }

  /// Puts everything back.
  ///
  /// - Returns: Why the old store is not back, where it is not. What another process saved meanwhile stays, and is not such a case.
  func undo() -> PersistentStoreError? {
    guard isCommitted else {
      staged.discard()
      return nil
    }
    do throws(PersistentStoreError) { try staged.rollBack() } catch { return error.code == .changedOnDisk ? nil : error }
    return nil
  }

  func publish(to store: PersistentStore) {
    staged.conclude()
    let version = NodeVersion(snapshot.nodes)
    RowIndexes.carry(from: store.version, to: version)
    store.state.withLock { open in
      open.format = format
      open.version = version
      open.suppliedValues = [:]
      // References handed out meanwhile stay used up.
      let last = max(open.metadata.lastReference, snapshot.metadata.lastReference)
      open.metadata = snapshot.metadata
      open.metadata.lastReference = last
      open.metadataChanged = false
      open.storedLastReference = last
      open.fileIdentity = identity
      open.reservation = nil
    }
  }
}

extension PersistentStore {
  /// Loads the file again if it is not the one that was last read or written.
  ///
  /// - Throws: `.changedOnDisk` where it is gone or is another store now. A store that was never saved cannot be gone.
  func reloadIfChanged() throws(PersistentStoreError) {
    let (opening, known, uuid) = state.withLock { ($0.opening, $0.fileIdentity, $0.metadata.uuid) }
    let place = try opening.inspect()
    guard place.identity != known else { return }
    guard place.holdsContent else {
      if known?.isEmpty != false {
        // Never saved, it only has a place, which whoever made the reservation may have given up.
        return state.withLock { $0.fileIdentity = place.identity }
      }
      throw PersistentStoreError(
        .changedOnDisk, "the store's file was taken away since it was read; save it elsewhere, or put it back",
        at: StoreLocation(file: path))
    }
    var opened = try opening.open(place)
    guard opened.metadata.uuid == uuid else {
      opened.close(from: nil)
      throw PersistentStoreError(
        .changedOnDisk, "another store lies there now, with the UUID \(opened.metadata.uuid)", at: StoreLocation(file: path))
    }
    let fresh = opened
    state.withLock { open in
      open.version = fresh.version
      open.suppliedValues = [:]
      // What was handed out here stays used up; what was set here stays to be saved.
      let last = max(open.metadata.lastReference, fresh.metadata.lastReference)
      let entries = open.metadata.entries
      open.metadata = fresh.metadata
      if open.metadataChanged {
        let common = open.metadata.entries[SaveSet.key]
        open.metadata.entries = entries
        open.metadata.entries[SaveSet.key] = common
      }
      open.metadata.lastReference = last
      open.storedLastReference = fresh.storedLastReference
      open.format = fresh.format
      open.fileIdentity = fresh.fileIdentity
      open.bystanders = fresh.bystanders
      open.readNotes = fresh.readNotes
    }
  }
}

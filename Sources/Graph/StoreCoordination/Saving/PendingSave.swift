import AtomicStoreSPI
import FoundationEssentials
import Synchronization

extension PersistentStore {
  /// Refuses a store that cannot be changed: its format only writes new ones, or it has something that would not
  /// follow.
  ///
  /// - Parameter writeOptions: Options with which it would be changed, in addition to those that it was opened with.
  package func checkIsChangeable(writeOptions: StoreOptions = [:]) throws(PersistentStoreError) {
    try checkIsWritable()
    let open = state.withLock { $0 }
    guard open.isEditedInPlace else { return }
    do throws(PersistentStoreError) {
      let format = try open.editingFormat(writeOptions, at: path)
      try format.checkIsEditable(try StoreSource(opening: try StorePath.inspect(path)))
    } catch {
      throw error.located(StoreLocation(file: path))
    }
  }

  /// Refuses a store whose format cannot change a store that exists.
  func checkIsWritable() throws(PersistentStoreError) {
    let open = state.withLock { $0 }
    guard open.format.traits.writes != .all, !open.wasNeverSaved else { return }
    throw PersistentStoreError(
      .notSupported,
      "\(type) \(open.format.traits.writes == .none ? "stores can be read, not written" : StoreTraits.changeRefusal): write the result to a new store, or convert it first",
      at: StoreLocation(file: path), remedy: .init(.newStore))
  }

  /// Whether the format edits the store's file itself.
  package var isEditedInPlace: Bool { state.withLock { $0.isEditedInPlace } }
}

extension OpenStore {
  /// Whether the store exists, and its format edits the file itself.
  var isEditedInPlace: Bool { !wasNeverSaved && format is any EditableStore }

  /// What the store's file holds.
  var storedSnapshot: StoreSnapshot { StoreSnapshot(nodes: version.nodes, metadata: storedMetadata ?? metadata) }

  /// A value of the format that edits a store as it was opened, with further options.
  ///
  /// - Throws: `.invalidOption` for options that are not for writing.
  func editingFormat(_ writeOptions: StoreOptions, at path: String) throws(PersistentStoreError) -> any EditableStore {
    let formatType = Swift.type(of: format as any AtomicStore)
    try formatType.traits.check(writeOptions, of: formatType.storeType, for: .writing)
    let (own, limits, rules, _) = try opening.ownOptions()
    var configuration = StoreConfiguration(
      path: try StorePath.inspect(path).resolvedPath, configurationName: opening.configurationName,
      options: own.merging(writeOptions) { $1 }, isReadOnly: false, limits: limits)
    configuration.skipsDamagedObjects = rules.damagedObjects == .skip
    guard let editing = try formatType.init(configuration) as? any EditableStore else {
      throw PersistentStoreError(
        .internalInconsistency, "the format does not edit files", at: StoreLocation(file: path))
    }
    return editing
  }
}

extension StoreTraits {
  /// What the refusal to change a store says whose format writes new stores only.
  package static let changeRefusal = "stores cannot be changed in place"
}

/// The part of a save that concerns one store: its new content, and the staged file. Used on one thread.
final class PendingSave {
  let path: String
  var format: any AtomicStore
  var snapshot: StoreSnapshot
  /// Nil once it is a part of a publication.
  private var staged: StagedStore?
  /// In the publication.
  private var number: Int?
  /// The file that was read, if only metadata entries change; nil for a full save.
  private let unchanged: FileIdentity?
  private var identity: FileIdentity?
  /// For a store whose format edits its file itself: how it was opened, and what the file holds.
  private let edited: (opening: StoreOpening, before: StoreSnapshot)?
  /// What the format reported about such a change.
  private(set) var notes: [LoadNote] = []
  /// For an in-process store: what is replaced, and whether other coordinators are kept from replacing it.
  private var shared: OpenStore.SharedVersion?
  private var isHolding = false
  private lazy var version = NodeVersion(snapshot.nodes)

  private init(
    path: String, format: any AtomicStore, snapshot: StoreSnapshot, staged: consuming StagedStore?,
    unchanged: FileIdentity?, shared: OpenStore.SharedVersion? = nil,
    edited: (opening: StoreOpening, before: StoreSnapshot)? = nil
  ) {
    self.edited = edited
    self.path = path
    self.format = format
    self.snapshot = snapshot
    self.staged = consume staged
    self.unchanged = unchanged
    self.shared = shared
  }

  /// Applies the changes to a copy of the nodes. Nil if there is nothing to write.
  static func prepare(
    _ store: PersistentStore, _ changes: StoreChanges
  ) throws(PersistentStoreError) -> PendingSave? {
    let open = store.state.withLock { $0 }
    guard !changes.isEmpty || open.metadataChanged || open.wasNeverSaved else { return nil }
    guard changes.rows.allSatisfy({ $0.version === open.version }) else { throw .changedMeanwhile(store.path) }
    try store.checkIsWritable()
    var format = open.format
    var nodes = open.nodes
    var metadata = open.metadata
    do throws(PersistentStoreError) {
      let changed = try apply(changes, &format, &nodes, &metadata, configuration: store.configurationName)
      try checkInverses(changed, open.nodes, nodes)
      try supplyDeferred(&nodes, &format, open, store)
      metadata.lastReference = max(metadata.lastReference, nodes.greatestIntegerReference)
      if open.isEditedInPlace {
        // Entries that describe the model stay: the tables are not changed.
        let stored = open.storedSnapshot.metadata.entries
        for key in VersionHashes.derivedMetadataKeys { metadata.entries[key] = stored[key] }
        nodes = try format.traits.respelled(StoreSnapshot(nodes: nodes.canonical(), metadata: metadata))
        return PendingSave(
          path: store.path, format: format, snapshot: StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata),
          staged: nil, unchanged: nil,
          edited: (open.opening, open.storedSnapshot))
      }
      if format.traits.keepsMetadata {
        metadata.setVersionHashes(of: nodes.model, configuration: store.configurationName, for: format.traits)
      }
      let snapshot = StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata)
      if let shared = open.shared {
        return PendingSave(
          path: store.path, format: format, snapshot: snapshot, staged: nil, unchanged: nil, shared: shared)
      }
      let staged = try StagedStore(
        target: store.path, layout: format.layout, policy: .replaceOnlyIf(open.fileIdentity),
        keeping: open.unrelatedFiles)
      let identifier = metadata.uuid.uuidString
      // A store that was never saved replaces none: what is beside it belongs to another one.
      let replaced = open.wasNeverSaved ? nil : (identifier, true)
      staged.files.setCompanionOwner(CompanionOwner(identifier: identifier) { replaced })
      return PendingSave(
        path: store.path, format: format, snapshot: snapshot, staged: staged,
        unchanged: changes.isEmpty && open.keepsContent ? open.fileIdentity : nil)
    } catch {
      throw error.located(StoreLocation(file: store.path))
    }
  }

  /// Sets the deferred values that the save needs. Values of removed objects, and replaced values, are not requested;
  /// each value is requested once, even if the save fails.
  private static func supplyDeferred(
    _ nodes: inout NodeTable, _ format: inout any AtomicStore, _ open: OpenStore, _ store: PersistentStore
  ) throws(PersistentStoreError) {
    for (key, value) in open.suppliedValues
    where nodes.contains(key.node) && nodes.isDeferred(slot: key.slot, of: key.node) {
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
    var changed: [NodeHandle] = []
    changed.reserveCapacity(changes.inserted.count + changes.updatedCount)
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
      changed.append(try format.newCacheNode(for: object, in: &nodes))
    }
    for (node, object) in zip(changed, changes.inserted) {
      for slot in 0..<object.values.slotLimit {
        guard let value = object.values[slot], nodes.model.isRelationship(slot: slot, of: object.entity) else {
          continue
        }
        try nodes.set(value, slot: slot, of: node)
      }
    }
    for object in changes.updated {
      guard let reference = object.reference, let node = nodes.handle(for: reference, entity: object.entity) else {
        throw missing(nodes.model.entity(at: object.entity).name, object.reference)
      }
      try format.updateCacheNode(node, from: object, in: &nodes)
      changed.append(node)
    }
    for rows in changes.rows {
      try rows.forEachObject { (node, object) throws(PersistentStoreError) in
        try format.updateCacheNode(node, from: object, in: &nodes)
        changed.append(node)
      }
    }
    var removed: [NodeHandle] = []
    for reference in changes.deleted {
      guard let node = nodes.handle(for: reference) else { throw missing(reference.entityName, reference.reference) }
      removed.append(node)
    }
    if !removed.isEmpty {
      format.willRemoveCacheNodes(removed, from: &nodes)
      for node in removed { nodes.remove(node) }
      // References that still lead to a removed object, without an inverse or with the rule No Action, are removed:
      // otherwise the store could not be read again.
      let roots = Set(removed.map { nodes.model.entity(at: $0.entity).root.index })
      for entity in nodes.model.entities where !entity.isAbstract {
        let slots = entity.slots.filter { slot in
          slot.destination.map { roots.contains(nodes.model.entity(at: $0).root.index) } ?? false
        }
        if !slots.isEmpty { _ = nodes.removeDanglingReferences(entity: entity.index, slots: slots.map(\.index)) }
      }
    }
    return changed
  }

  /// Checks that the two ends of every written relationship agree. Otherwise the file would lose objects later, when a
  /// delete rule follows the wrong end.
  private static func checkInverses(_ changed: [NodeHandle], _ old: NodeTable, _ new: NodeTable)
    throws(PersistentStoreError)
  {
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

  /// Writes only metadata, if nothing else changes and the format supports it.
  private func writeMetadata(to files: StagedFiles) throws(PersistentStoreError) -> Bool {
    guard let unchanged else { return false }
    let place = try StorePath.inspect(path)
    guard place.identity == unchanged else { throw .changedMeanwhile(path) }
    return try format.saveMetadata(snapshot.metadata, in: try StoreSource(opening: place), to: files)
  }

  func write() throws(PersistentStoreError) {
    guard let files = staged?.files else { return }
    do throws(PersistentStoreError) {
      if try !writeMetadata(to: files) { try format.save(snapshot, to: files) }
      try staged?.finish()
    } catch {
      throw error.located(StoreLocation(file: path))
    }
  }

  /// The staged files, to be read before they are published; nil where nothing was written.
  func stagedSource() throws(PersistentStoreError) -> StoreSource? {
    guard staged != nil else { return nil }
    return try staged?.sourceForVerification(name: path)
  }

  /// The order in which the in-process stores of a save are held: the same for all saves, so that none waits for
  /// another one that waits for it. Nil for files.
  var holdOrder: ObjectIdentifier? { shared.map { ObjectIdentifier($0.content) } }

  /// Keeps other coordinators from saving an in-process store, until the files of the save are published or the save
  /// has failed: what memory holds cannot be seen before, so there is nothing to undo.
  func hold() throws(PersistentStoreError) {
    guard let shared else { return }
    guard shared.content.hold(shared.number) else { throw .changedMeanwhile(path) }
    isHolding = true
  }

  /// Changes the file of a store whose format edits it itself, in a transaction that cannot be undone once it has
  /// ended.
  ///
  /// - Returns: Whether it did.
  /// - Throws: `.changedOnDisk` if the store does not hold what the changes are based on.
  func edit(_ store: PersistentStore) throws(PersistentStoreError) -> Bool {
    guard let edited, var editing = format as? any EditableStore else { return false }
    do throws(PersistentStoreError) {
      let edit = try InPlaceEdit(path, edited.opening, from: edited.before, to: snapshot)
      (identity, notes) = try edit.run(&editing)
      format = editing
    } catch {
      // The next save reads the file first, also where a log has the changes.
      if error.code == .changedOnDisk { store.state.withLock { $0.isStale = true } }
      throw error
    }
    return true
  }

  /// Writes the changed copy of such a store, and reads it back.
  func rehearseEdit() throws(PersistentStoreError) {
    guard let edited, var editing = format as? any EditableStore else { return }
    let edit = try InPlaceEdit(path, edited.opening, from: edited.before, to: snapshot)
    let copy = try StagedStore(target: path, layout: editing.layout, policy: .replaceAny, sweeps: false)
    _ = try edit.write(&editing, to: copy, shownAs: path)
  }

  /// Adds the files to what is published. An in-process store is changed by ``publish(to:)``, which cannot fail.
  func add(to unit: Publication) {
    if let staged = staged.take() { number = unit.add(staged) }
  }

  /// Notes what is at the path, after the publication.
  func noteIdentity(in unit: Publication) { identity = number.flatMap { unit.identity(of: $0) } ?? identity }

  /// Releases everything that is not published.
  func undo() {
    if isHolding { shared?.content.release() }
    isHolding = false
    staged.take()?.discard()
  }

  func publish(to store: PersistentStore) {
    version.carryAttachment(from: store.version)
    let version = version
    if isHolding { shared?.content.finish(version: version, metadata: snapshot.metadata) }
    isHolding = false
    let number = shared.map { $0.number + 1 }
    store.state.withLock { open in
      open.format = format
      open.version = version
      if let number { open.shared?.number = number }
      open.suppliedValues = [:]
      // References that were assigned meanwhile remain used up.
      let last = max(open.metadata.lastReference, snapshot.metadata.lastReference)
      open.metadata = snapshot.metadata
      open.metadata.lastReference = last
      open.metadataChanged = false
      open.storedLastReference = last
      open.storedMetadata = snapshot.metadata
      open.isStale = false
      open.fileIdentity = identity
      open.reservation = nil
    }
  }
}

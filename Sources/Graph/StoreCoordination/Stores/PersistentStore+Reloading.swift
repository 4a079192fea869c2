import AtomicStoreSPI
import FoundationEssentials
import Synchronization

extension PersistentStore {
  /// Loads the file again if it is not the one that was last read or written.
  ///
  /// A store that was never saved becomes the one that another process saved to its path first, with its identity and
  /// metadata.
  ///
  /// - Parameter isOther: Whether an identity is that of another open store.
  /// - Throws: `.changedOnDisk` if it was removed or is another store now. A store that was never saved cannot have
  ///   been removed.
  func reloadIfChanged(_ isOther: (UUID) -> Bool) throws(PersistentStoreError) {
    if isInProcess { return try reloadShared() }
    let (opening, known, uuid, isNew, isStale) = state.withLock {
      ($0.opening, $0.fileIdentity, $0.metadata.uuid, $0.wasNeverSaved, $0.isStale)
    }
    let place = try opening.inspect()
    guard place.identity != known || isStale else { return }
    guard place.holdsContent else {
      if known?.isEmpty != false {
        // It was never saved: there is at most a reservation file, which its creator may have removed.
        return state.withLock { $0.fileIdentity = place.identity }
      }
      throw PersistentStoreError(
        .changedOnDisk, "the store's file was removed since it was read; save it to another path, or restore it",
        at: StoreLocation(file: path))
    }
    var opened = try opening.open(place)
    // A store without a UUID has the identity by which it is known here.
    if !opened.format.traits.keepsIdentity { opened.metadata.uuid = uuid }
    let isSame = ScalarString(opened.metadata.storeType) == ScalarString(type) && !isOther(opened.metadata.uuid)
    guard opened.metadata.uuid == uuid || isNew && isSame else {
      opened.close(from: nil)
      throw PersistentStoreError(
        .changedOnDisk,
        "there is now another store at this path, of type \(opened.metadata.storeType) with the UUID "
          + "\(opened.metadata.uuid)", at: StoreLocation(file: path))
    }
    guard model.hasSameColumns(as: opened.version.model) else {
      opened.close(from: nil)
      throw PersistentStoreError(
        .modelMismatch, "another program saved the store with another model; add it again to use it",
        at: StoreLocation(file: path))
    }
    let fresh = opened
    state.withLock { open in
      open.takeContent(version: fresh.version, metadata: fresh.metadata)
      open.storedLastReference = fresh.storedLastReference
      open.storedMetadata = fresh.storedMetadata
      open.isStale = false
      open.format = fresh.format
      open.fileIdentity = fresh.fileIdentity
      open.reservation = nil
      open.unrelatedFiles = fresh.unrelatedFiles
      open.readNotes = fresh.readNotes
      open.notes = fresh.notes
    }
  }

  /// Takes over what another coordinator saved to an in-process store.
  private func reloadShared() throws(PersistentStoreError) {
    let (opening, shared) = state.withLock { ($0.opening, $0.shared) }
    guard let shared else { throw PersistentStoreError(.storeNotAdded, "the store is not open") }
    var saved = shared.content.current
    guard saved.number != shared.number else { return }
    saved = try opening.adopted(saved, model: model)
    let fresh = saved
    state.withLock { open in
      open.takeContent(version: fresh.version, metadata: fresh.metadata)
      open.storedLastReference = fresh.metadata.lastReference
      open.shared?.number = fresh.number
    }
  }
}

extension ManagedObjectModel {
  /// Whether the columns of one model are those of the other: entities and slots of the same names and kinds, in the
  /// same places. A store without a model of the program's gets a new one whenever it is read.
  func hasSameColumns(as other: ManagedObjectModel) -> Bool {
    guard self !== other else { return true }
    guard entityCount == other.entityCount else { return false }
    return zip(entities, other.entities).allSatisfy { one, two in
      ScalarString(one.name) == ScalarString(two.name) && one.isAbstract == two.isAbstract
        && one.root.index == two.root.index && one.slots.count == two.slots.count
        && zip(one.slots, two.slots).allSatisfy {
          ScalarString($0.name) == ScalarString($1.name) && $0.kind == $1.kind && $0.destination == $1.destination
        }
    }
  }
}

extension OpenStore {
  /// Takes over another version. References assigned here remain used up; metadata set here remains to be saved.
  fileprivate mutating func takeContent(version: NodeVersion, metadata fresh: StoreMetadata) {
    self.version = version
    suppliedValues = [:]
    let last = max(metadata.lastReference, fresh.lastReference)
    let entries = metadata.entries
    metadata = fresh
    if metadataChanged {
      let common = metadata.entries[StoreMetadata.saveSetKey]
      metadata.entries = entries
      metadata.entries[StoreMetadata.saveSetKey] = common
    }
    metadata.lastReference = last
  }
}

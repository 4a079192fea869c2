import AtomicStoreSPI
import Synchronization

extension PersistentStore {
  /// Loads the file again if it is not the one that was last read or written.
  ///
  /// - Throws: `.changedOnDisk` if it was removed or is another store now. A store that was never saved cannot have
  ///   been removed.
  func reloadIfChanged() throws(PersistentStoreError) {
    let (opening, known, uuid) = state.withLock { ($0.opening, $0.fileIdentity, $0.metadata.uuid) }
    let place = try opening.inspect()
    guard place.identity != known else { return }
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
    guard opened.metadata.uuid == uuid else {
      opened.close(from: nil)
      throw PersistentStoreError(
        .changedOnDisk, "there is now another store at this path, with the UUID \(opened.metadata.uuid)",
        at: StoreLocation(file: path))
    }
    let fresh = opened
    state.withLock { open in
      open.version = fresh.version
      open.suppliedValues = [:]
      // References assigned here remain used up; metadata set here remains to be saved.
      let last = max(open.metadata.lastReference, fresh.metadata.lastReference)
      let entries = open.metadata.entries
      open.metadata = fresh.metadata
      if open.metadataChanged {
        let common = open.metadata.entries[StoreMetadata.saveSetKey]
        open.metadata.entries = entries
        open.metadata.entries[StoreMetadata.saveSetKey] = common
      }
      open.metadata.lastReference = last
      open.storedLastReference = fresh.storedLastReference
      open.format = fresh.format
      open.fileIdentity = fresh.fileIdentity
      open.bystanders = fresh.bystanders
      open.readNotes = fresh.readNotes
      open.notes = fresh.notes
    }
  }
}

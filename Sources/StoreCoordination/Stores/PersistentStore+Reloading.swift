import AtomicStoreSPI
import Synchronization

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
        .changedOnDisk, "another store lies there now, with the UUID \(opened.metadata.uuid)",
        at: StoreLocation(file: path))
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

public import AtomicStoreSPI

extension PersistentStoreCoordinator {
  /// Deletes the store at a path, after checking that it is one. A store that is open in this coordinator must be
  /// removed first.
  ///
  /// If the store is a directory, its own files are deleted, the same ones that a save replaces. Everything else in the
  /// directory is kept, such as hidden files, other directories, and files that the format ignored; the directory
  /// itself is deleted if it is then empty. To find its files, such a store is read completely: one that cannot be read
  /// is not deleted.
  ///
  /// A process that opens the store meanwhile, or after a crash, finds all of it or nothing.
  ///
  /// - Parameters:
  ///   - path: The path of the store.
  ///   - type: A registered name; nil detects the type from the content.
  ///   - options: The format's options, by name, as needed to read a store that is a directory.
  /// - Throws: `.storeAlreadyAdded`, `.notFound`, `.unrecognizedFormat`, `.changedOnDisk` if another program saves the
  ///   store meanwhile, and the errors of reading it.
  public func destroyPersistentStore(
    at path: String, type: String? = nil, options: StoreOptions = [:]
  ) throws(PersistentStoreError) {
    if let incremental = try registry.incrementalType(type, at: path) {
      return try destroy(incremental, at: path, options)
    }
    let opening = StoreOpening(
      registry: registry, type: type, path: path, configurationName: nil, options: options, isReadOnly: true, model: nil
    )
    if let inProcess = registry.inProcessType(type, at: path) {
      return try opening.destroyInProcess(inProcess) { persistentStore(identifier: $0.uuid) != nil }
    }
    let place = try opening.inspect()
    for other in persistentStores where StorePath.isSame(place, path: other.path) {
      throw PersistentStoreError(
        .storeAlreadyAdded, "the store is open; remove it first", at: StoreLocation(file: path))
    }
    guard place.holdsContent || place.kind == .zeroLength else {
      throw PersistentStoreError(.notFound, "the store does not exist", at: StoreLocation(file: path))
    }
    if place.holdsContent { _ = try opening.formatType(for: place) }
    do throws(PersistentStoreError) {
      try StoreRemoval.remove(place, keeping: place.kind == .folder ? try unrelatedFiles(opening, place) : [])
    } catch {
      throw error.located(StoreLocation(file: path))
    }
  }

  /// Deletes an incremental store.
  private func destroy(
    _ type: any IncrementalStore.Type, at path: String, _ options: StoreOptions
  ) throws(PersistentStoreError) {
    let address = StoreAddress(path, of: type)
    do throws(PersistentStoreError) {
      var store = try type.init(StoreConfiguration(path: address.full, options: options, isReadOnly: false))
      defer { store.close() }
      guard let metadata = try store.metadata() else {
        throw PersistentStoreError(.notFound, "the store does not exist")
      }
      guard persistentStore(identifier: metadata.uuid) == nil else {
        throw PersistentStoreError(.storeAlreadyAdded, "the store is open; remove it first")
      }
      try store.destroy()
    } catch {
      throw error.located(StoreLocation(file: address.shown))
    }
  }

  /// The files in the store's directory that do not belong to the store: only its format can tell, after reading all of
  /// them.
  private func unrelatedFiles(_ opening: StoreOpening, _ place: StorePath) throws(PersistentStoreError) -> [String] {
    var opened: OpenStore
    do throws(PersistentStoreError) { opened = try opening.open(place) } catch {
      guard error.code == .modelNeeded, let managedObjectModel else { throw error }
      opened = try StoreOpening(
        registry: registry, type: opening.type, path: opening.path, configurationName: nil, options: opening.options,
        isReadOnly: true,
        model: managedObjectModel
      ).open(place)
    }
    opened.close(from: nil)
    return opened.unrelatedFiles
  }
}

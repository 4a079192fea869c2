import AtomicStoreSPI

/// What a conversion does not write over.
extension StoreConverter {
  /// Returns what is at the target, if it may be replaced.
  @discardableResult
  package func refuseTaken(_ target: String, sources: [String]) throws(PersistentStoreError) -> StorePath {
    let place = try StorePath.inspect(target)
    for source in sources { try Self.refuseOverlap(try StorePath.inspect(source), place, target) }
    try registry.refuseWithinStore(place)
    if place.kind != .nothing, place.kind != .zeroLength, place.kind != .emptyFolder, !replacesTarget {
      throw PersistentStoreError(
        .alreadyExists, "there already is a file or directory at this path", at: StoreLocation(file: target))
    }
    // Replacing a file is one thing, replacing a directory with unknown content another.
    if place.kind == .folder {
      do throws(PersistentStoreError) { _ = try registry.recognize(try place.probe()) } catch {
        guard error.code == .unrecognizedFormat else { return place }
        throw PersistentStoreError(
          .alreadyExists, "there is a directory that is not a store, which is not replaced",
          at: StoreLocation(file: target))
      }
    }
    return place
  }

  private static func refuseOverlap(
    _ origin: StorePath, _ place: StorePath, _ target: String
  ) throws(PersistentStoreError) {
    if StorePath.isSame(origin, path: target) {
      throw PersistentStoreError(
        .alreadyExists, "the target is the source itself", at: StoreLocation(file: target))
    }
    guard !place.contains(origin), !origin.contains(place) else {
      throw PersistentStoreError(
        .cannotCreate, "source and target lie in one another", at: StoreLocation(file: target))
    }
  }

  /// Of a folder that is to go, every file must be known to be its store's: only who can read it knows that.
  ///
  /// - Returns: The files that the format passed over.
  func refuseUnknown(_ place: StorePath) throws(PersistentStoreError) -> [String] {
    guard place.kind == .folder else { return [] }
    do throws(PersistentStoreError) {
      let coordinator = PersistentStoreCoordinator(registry: registry)
      let store = try coordinator.addPersistentStore(at: place.path, isReadOnly: true)
      let unrelated = store.unrelatedFiles
      try coordinator.remove(store)
      return unrelated
    } catch {
      throw PersistentStoreError(
        .alreadyExists,
        "there is a directory that cannot be read as a store, so its files may be anything: \(error.message)",
        at: StoreLocation(file: place.path), underlying: error)
    }
  }
}

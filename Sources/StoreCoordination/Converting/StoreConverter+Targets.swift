import AtomicStoreSPI
import FoundationEssentials

/// What a conversion does not write over.
extension StoreConverter {
  /// Undoes what killed processes left in the directory of a target, and refuses a directory that is itself a store.
  /// A conversion does so, and lists the directory each time: a caller that writes many results into one directory
  /// calls this once, and sets ``isDirectoryPrepared``.
  package func prepareDirectory(of target: String) throws(PersistentStoreError) {
    Publication.undoInterrupted(beside: target)
    try registry.refuseWithinStore(try StorePath.inspect(target))
  }

  /// Returns what is at the target, if it may be replaced.
  @discardableResult
  package func refuseTaken(_ target: String, sources: [String]) throws(PersistentStoreError) -> StorePath {
    var place = try StorePath.inspect(target)
    if place.holdsContent, !replacesTarget, !isDryRun {
      // Perhaps only because a conversion was killed.
      Publication.undoInterrupted(beside: target)
      place = try StorePath.inspect(target)
    }
    for source in sources { try Self.refuseOverlap(try StorePath.inspect(source), place, target) }
    if !isDirectoryPrepared { try registry.refuseWithinStore(place) }
    if place.kind != .nothing, place.kind != .zeroLength, place.kind != .emptyFolder, !replacesTarget {
      throw PersistentStoreError(
        .alreadyExists, "a file or directory already exists at this path", at: StoreLocation(file: target),
        remedy: .init(.replacement))
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
        .cannotCreate, "one of source and target contains the other", at: StoreLocation(file: target))
    }
  }

  /// Of a folder that is to go, every file must be known to be its store's: only who can read it knows that.
  ///
  /// - Returns: The files that the format skipped.
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
        "the directory is not a readable store, and is not replaced: \(error.message)",
        at: StoreLocation(file: place.path), underlying: error)
    }
  }

  /// The store that files beside a result belong to.
  func owner(of metadata: StoreMetadata, _ destination: Destination) -> CompanionOwner {
    let registry = registry
    return CompanionOwner(identifier: metadata.uuid.uuidString) {
      guard let place = destination.place, place.holdsContent,
        let old = try? PersistentStoreCoordinator.metadataForPersistentStore(
          at: place.resolvedPath, registry: registry)
      else { return nil }
      let isOfSameType = ScalarString(old.storeType) == ScalarString(metadata.storeType)
      return (old.uuid.uuidString, isOfSameType && Self.isOnlyStore(ofItsName: place.resolvedPath, old, registry))
    }
  }

  /// Whether no other store of its type beside a store has the same name with another extension, or none: names of
  /// external data do not tell them apart.
  private static func isOnlyStore(ofItsName path: String, _ store: StoreMetadata, _ registry: StoreRegistry) -> Bool {
    let path = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return false }
    let (folder, own) = (String(path[...slash]), String(path[path.utf8.index(after: slash)...]))
    func stem(_ name: String) -> Substring {
      guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return name[...] }
      return name[..<dot]
    }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return false }
    return !names.contains { name in
      guard name != own, stem(name) == stem(own), let place = try? StorePath.inspect(folder + name),
        place.kind == .file, let probe = try? place.probe(), let type = try? registry.recognize(probe)
      else { return false }
      return ScalarString(type.storeType) == ScalarString(store.storeType)
    }
  }

  /// The format of a result, by its type or by its extension.
  func targetFormat(_ place: StorePath?, _ target: String) throws(PersistentStoreError) -> any AtomicStore.Type {
    if let targetType {
      let type = try registry.storeType(named: targetType)
      guard !type.traits.isInProcess else {
        throw PersistentStoreError(
          .notSupported, "\(targetType) stores exist in the memory of a process only: name a type that is written",
          at: StoreLocation(file: target))
      }
      return type
    }
    let fileExtension = place?.fileExtension ?? ""
    let named = registry.storeTypes(forFileExtension: fileExtension)
    if named.count == 1 { return named[0] }
    let candidates =
      named.isEmpty
      ? registry.allTraits.filter { !$0.traits.isInProcess }.map(\.storeType) : named.map { $0.storeType }.sorted()
    let subject = fileExtension.isEmpty ? "a name without an extension" : "the extension '\(fileExtension)'"
    throw PersistentStoreError(
      .unknownStoreType, "\(subject) identifies no store type; choose one of \(candidates.joined(separator: ", "))",
      at: StoreLocation(file: target), remedy: .init(.storeType))
  }

  static func temporaryPath(for target: String) -> String {
    let name = target.split(separator: "/").last.map(String.init) ?? "store"
    return temporaryFolder + "/dry-run-\(UUID().uuidString)-\(name)"
  }

  static var temporaryFolder: String { FileManager.default.temporaryDirectory.path(percentEncoded: false) }
}

import AtomicStoreSPI
import FoundationEssentials
import Synchronization

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
      let store = try coordinator.addPersistentStoreUnchecked(type: nil, at: place.path, options: [:])
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

/// Stores whose format edits files itself: see ``/AtomicStoreSPI/EditableStore``.
extension StoreConverter {
  /// Changes a store where it is.
  ///
  /// - Throws: `.notSupported` for another model, and for a store that cannot be edited; `.changedOnDisk` if another
  ///   program has changed it since it was read. On any error it is as it was.
  func edit(_ store: PersistentStore, to source: SourceGraph) throws -> Report {
    let open = store.state.withLock { $0 }
    guard source.nodes.model.isSame(as: store.model) else {
      throw PersistentStoreError(
        .notSupported,
        "\(store.type) \(StoreTraits.changeRefusal) if the model changes: write the result to a new store",
        at: StoreLocation(file: store.path), remedy: .init(.newStore))
    }
    let losses = source.losses(besides: store)
    try refuse(losses, of: source, store.type)
    var metadata = source.metadata
    metadata.storeType = store.type
    let snapshot = StoreSnapshot(nodes: source.nodes, metadata: metadata)
    let edit = try InPlaceEdit(
      store.path, open.opening, from: open.storedSnapshot,
      to: StoreSnapshot(nodes: try open.format.traits.respelled(snapshot), metadata: metadata))
    let report = report(of: edit, source, type: store.type, losses)
    progress?(.writing)
    var format = try open.editingFormat(writeOptions, at: store.path)
    guard !isDryRun else {
      try store.checkIsChangeable(writeOptions: writeOptions)
      let copy = try StagedStore(target: store.path, layout: format.layout, policy: .replaceAny, sweeps: false)
      _ = try edit.write(&format, to: copy, shownAs: store.path)
      return report
    }
    let unit = publication ?? Publication()
    let found = try unit.commit(with: {
      try edit.run(&format) { () throws(PersistentStoreError) in try unit.publish() }
    })
    for note in found.notes { registry.noteHandler?(note, store.path) }
    return report
  }

  /// The change of ``editedStore`` that makes a graph of it; nil if the result is written as a whole.
  func edit(of source: SourceGraph, as formatType: any AtomicStore.Type) throws -> InPlaceEdit? {
    guard let store = editedStore, store.isEditedInPlace, subset == nil, !renumbers,
      ScalarString(store.type) == ScalarString(formatType.storeType), source.nodes.model.isSame(as: store.model),
      // What was repaired when it was read is repaired in a result that is written as a whole.
      store.readNotes.isEmpty
    else { return nil }
    let open = store.state.withLock { $0 }
    var metadata = source.metadata
    metadata.storeType = formatType.storeType
    if makesNewIdentifier { metadata.uuid = UUID() }
    let nodes = try open.format.traits.respelled(StoreSnapshot(nodes: source.nodes.canonical(), metadata: metadata))
    return try InPlaceEdit(
      store.path, open.opening, from: open.storedSnapshot, to: StoreSnapshot(nodes: nodes, metadata: metadata))
  }

  /// Writes a changed copy of a store, reads it back and compares it.
  func stage(
    _ edit: InPlaceEdit, _ source: SourceGraph, _ destination: Destination, _ formatType: any AtomicStore.Type
  ) throws -> StagedResult {
    let target = destination.shown
    guard var format = try made(formatType, destination, target) as? any EditableStore else {
      throw PersistentStoreError(
        .internalInconsistency, "the format does not edit files", at: StoreLocation(file: target))
    }
    let losses = editedStore.map { source.losses(besides: $0) } ?? []
    try refuse(losses, of: source, formatType.storeType)
    progress?(.writing)
    let staged = try makeStaged(source, destination, format.layout, edit.after.metadata)
    let (size, notes) = try edit.write(&format, to: staged, shownAs: target)
    for note in notes { registry.noteHandler?(note, target) }
    var report = report(of: edit, source, type: formatType.storeType, losses)
    report.notes = source.loadNotes.filter { !$0.isLoss }
    report.bytesWritten = size
    return StagedResult(report: report, store: staged)
  }

  private func report(
    of edit: InPlaceEdit, _ source: SourceGraph, type: String, _ losses: [Loss]
  ) -> Report {
    let nodes = edit.after.nodes
    return Report(
      sourceType: source.type, targetType: type,
      counts: nodes.model.entities.compactMap { entity in
        let count = nodes.count(of: entity.index)
        return count > 0 ? (entity.name, count) : nil
      },
      identifier: edit.after.metadata.uuid, losses: losses, selections: source.notes, bytesWritten: 0,
      isDryRun: isDryRun)
  }
}

extension StoreConverter.SourceGraph {
  /// What was not read of the other stores that the graph was made of: what was not read of this one stays in it.
  fileprivate func losses(besides store: PersistentStore) -> [Loss] {
    var kept = store.loadNotes
    return loadNotes.filter { note in
      guard note.isLoss else { return false }
      guard let index = kept.firstIndex(of: note) else { return true }
      kept.remove(at: index)
      return false
    }.map(Loss.init)
  }
}

extension ManagedObjectModel {
  /// Whether a store that is edited keeps its model: rows are written, and no model.
  fileprivate func isSame(as other: ManagedObjectModel) -> Bool {
    self === other || description.isIdentical(to: other.description)
  }
}

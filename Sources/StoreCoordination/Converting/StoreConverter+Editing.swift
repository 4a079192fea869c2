import AtomicStoreSPI
import FoundationEssentials
import Synchronization

/// Stores whose format edits files itself: see ``/AtomicStoreSPI/EditableStore``.
extension StoreConverter {
  /// Changes a store where it is.
  ///
  /// - Throws: `.notSupported` for another model, and for a store that cannot be edited; `.changedOnDisk` if another
  ///   program has changed it since it was read. On any error it is as it was.
  func edit(_ store: PersistentStore, to source: SourceGraph) throws -> Report {
    let open = store.state.withLock { $0 }
    guard source.nodes.model.hasSameRows(as: store.model) else {
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
    guard !isDryRun else {
      try store.checkIsChangeable(writeOptions: writeOptions)
      return report
    }
    progress?(.writing)
    var format = try open.editingFormat(writeOptions, at: store.path)
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
      ScalarString(store.type) == ScalarString(formatType.storeType), source.nodes.model.hasSameRows(as: store.model),
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

  /// Whether a result at a path is a changed copy of a store, which keeps what was not read of it.
  package func copies(_ store: PersistentStore, to target: String) throws -> Bool {
    guard store.isEditedInPlace else { return false }
    let type = try targetFormat(target == "-" ? nil : StorePath.inspect(target), target)
    return ScalarString(type.storeType) == ScalarString(store.type) && store.readNotes.isEmpty
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
    let origin = try StoreSource(opening: try StorePath.inspect(edit.path))
    do throws(PersistentStoreError) {
      try format.save(
        StoreEdit(source: origin, before: edit.before, after: edit.after), to: staged.files, check: edit.check)
      try staged.finish()
    } catch {
      throw error.located(StoreLocation(file: target))
    }
    for note in origin.notes { registry.noteHandler?(note, target) }
    progress?(.verifying)
    let copy = try staged.sourceForVerification(name: target)
    let (own, limits, _, _) = try edit.opening.ownOptions()
    let known = Set(formatType.traits.readOptions.map(\.name))
    let configuration = StoreConfiguration(
      path: staged.targetPath, options: own.filter { known.contains($0.key) }, isReadOnly: true, limits: limits)
    try edit.verify { (nodes) throws(PersistentStoreError) in
      var reader: any AtomicStore = try formatType.init(configuration)
      let metadata = try reader.metadata(in: copy)
      try reader.load(copy, into: nodes)
      return metadata
    }
    var report = report(of: edit, source, type: formatType.storeType, losses)
    report.notes = source.loadNotes.filter { !$0.isLoss }
    report.bytesWritten = try copy.totalSize()
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
  /// Whether the rows of one model are those of the other.
  fileprivate func hasSameRows(as other: ManagedObjectModel) -> Bool {
    self === other || hasSameColumns(as: other) && differences(from: other.description).isEmpty
  }
}

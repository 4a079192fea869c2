import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// Results that are incremental stores: written in one transaction, which ends only after everything was read back.
extension StoreConverter {
  /// The incremental type of a target; nil for a file that is written whole.
  func incrementalTarget(_ target: String) throws(PersistentStoreError) -> (any IncrementalStore.Type)? {
    try registry.incrementalType(targetType, at: target)
  }

  /// Writes a graph to an incremental store.
  func write(_ source: SourceGraph, to target: String, as type: any IncrementalStore.Type) throws -> Report {
    let address = StoreAddress(target, of: type)
    do {
      return try source.writtenAgreeing { source in
        try write(source, at: address, as: type) { fill in try place(source, at: address, type, fill) }
      }
    } catch let error as PersistentStoreError {
      throw error.located(StoreLocation(file: address.shown))
    }
  }

  /// Writes a store to a new file, which takes the place of what is there. The caller must then conclude or roll back.
  func publish(
    _ store: PersistentStore, to address: StoreAddress, as type: any IncrementalStore.Type
  ) throws -> PublishedResult {
    let source = try graph(of: store)
    let unit = Publication()
    do {
      let report = try source.writtenAgreeing { source in
        try write(source, at: address, as: type) { fill in
          let place = try refuseTaken(address.full, sources: source.paths)
          try OpenDatabases.refuseOpen(address.full)
          unit.add(try staged(source, at: address, place, fill))
          try unit.publish()
        }
      }
      return PublishedResult(report: report, unit: unit)
    } catch let error as PersistentStoreError {
      throw error.located(StoreLocation(file: address.shown))
    }
  }

  /// Fills a store at a path.
  ///
  /// - Parameter unit: For a database that is changed where it is: the files that are published just before its
  ///   transaction ends.
  typealias Fill = (_ path: String, _ unit: Publication?) throws -> Void

  /// - Parameter place: Called with a function that fills a store.
  private func write(
    _ source: SourceGraph, at address: StoreAddress, as type: any IncrementalStore.Type,
    _ place: (Fill) throws -> Void
  ) throws -> Report {
    try type.traits.check(writeOptions, of: type.storeType, for: optionUse)
    try refuseSources(of: source, at: address, type)
    progress?(.forecasting)
    let model = source.nodes.model
    var metadata = source.metadata
    metadata.storeType = type.storeType
    metadata.model = model.description
    if makesNewIdentifier { metadata.uuid = UUID() }
    metadata.setVersionHashes(of: model, configuration: source.configurationName, for: type.traits)
    metadata.lastReference = max(metadata.lastReference, source.nodes.greatestIntegerReference)
    let snapshot = StoreSnapshot(nodes: try source.nodes.canonical(), metadata: metadata)
    try UniquenessGroup.refuse(in: snapshot.nodes)
    let losses = type.traits.losses(for: snapshot, includingMetadata: true) + source.losses
    try refuse(losses, of: source, type.storeType)
    var report = Report(
      sourceType: source.type, targetType: type.storeType,
      counts: model.entities.compactMap { entity in
        let count = snapshot.nodes.count(of: entity.index)
        return count > 0 ? (entity.name, count) : nil
      },
      identifier: metadata.uuid, losses: losses, selections: source.notes, bytesWritten: 0,
      notes: source.loadNotes.filter { !$0.isLoss }, renumbering: source.renumbering, isDryRun: isDryRun)
    if !isDryRun || address.isFile {
      try place { path, unit in
        try replaceAll(with: snapshot, losses, at: path, shownAs: address.shown, type, unit)
      }
    }
    guard address.isFile else { return report }
    if !isDryRun {
      // It is published: an unknown size does not change that.
      let status = try? SystemCall.status(address.full, followLinks: true)
      report.bytesWritten = status.map { Int($0.st_size) } ?? 0
    }
    return report
  }

  /// Refuses a database that the graph was made of, whatever its address.
  private func refuseSources(
    of source: SourceGraph, at address: StoreAddress, _ type: any IncrementalStore.Type
  ) throws(PersistentStoreError) {
    guard !source.instances.isEmpty, !address.isFile else { return }
    var present = try type.init(StoreConfiguration(path: address.full, options: writeOptions, isReadOnly: true))
    defer { present.close() }
    guard try present.metadata() != nil, let instance = present.instance, source.instances.contains(instance) else {
      return
    }
    throw PersistentStoreError.targetIsSource
  }

  /// Has a store filled where it is to be: in place, where there is such a store already; otherwise a new file, or one
  /// that takes the place of a store of another type, is written beside its place.
  func place(
    _ source: SourceGraph, at address: StoreAddress, _ type: any IncrementalStore.Type, _ fill: Fill
  ) throws {
    let unit = publication ?? Publication()
    guard address.isFile else { return try unit.commit(with: { try fill(address.full, unit) }) }
    let place = try refuseTaken(address.full, sources: source.paths)
    // Other processes may have such a store open: it stays the file that it is.
    if place.holdsContent, try registry.incrementalType(nil, at: address.full).map({ $0 == type }) ?? false {
      guard !isDryRun else { return }
      return try unit.commit(with: { try fill(address.full, unit) })
    }
    let staged = try staged(source, at: address, place, fill)
    guard !isDryRun else { return }
    unit.add(staged)
    try unit.commit()
  }

  /// Has a new file filled beside its place.
  private func staged(
    _ source: SourceGraph, at address: StoreAddress, _ place: StorePath, _ fill: Fill
  ) throws -> StagedStore {
    for suffix in ["-wal", "-journal"] where try StorePath.inspect(address.full + suffix).holdsContent {
      // It would be taken for the log of the new file.
      throw PersistentStoreError(.alreadyExists, "there is a log of another database at \(address.full)\(suffix)")
    }
    let staged = try makeStaged(
      source, Destination(shown: address.full, place: place, unrelated: try refuseUnknown(place)), .file)
    do throws(PersistentStoreError) {
      try staged.files.file(discarding: ["-shm"]) { path in
        do { try fill(path, nil) } catch { throw CallbackError.passed(error) }
        // SQLite moves the log into the file when it closes a database, and says nothing if the disk is too full.
        if try StorePath.inspect(path + "-wal").holdsContent {
          throw PersistentStoreError(
            .noSpace, "the database's log could not be moved into its file: is there enough space?",
            at: StoreLocation(file: address.full))
        }
      }
      try staged.finish()
    } catch {
      throw CallbackError.thrown(error)
    }
    return staged
  }

  /// Replaces everything in a store, or creates it.
  private func replaceAll(
    with snapshot: StoreSnapshot, _ losses: [Loss], at path: String, shownAs shown: String,
    _ type: any IncrementalStore.Type, _ unit: Publication?
  ) throws {
    var store = try type.init(StoreConfiguration(path: path, options: writeOptions, isReadOnly: false))
    defer { store.close() }
    progress?(.writing)
    if losses.isEmpty, try replaceAllComparing(with: snapshot, &store, unit) { return }
    let kept = StoreSnapshot(
      nodes: losses.isEmpty ? snapshot.nodes : try type.traits.reduced(snapshot.nodes), metadata: snapshot.metadata)
    do throws(PersistentStoreError) {
      try store.replaceAll(with: kept, mayReplace: replacesTarget) { read throws(PersistentStoreError) in
        progress?(.verifying)
        do {
          let builder = NodeTableBuilder(model: snapshot.nodes.model, file: shown)
          builder.compareEnds(by: .asStored)
          let metadata = try read(builder)
          let written = StoreSnapshot(nodes: try builder.finish(), metadata: metadata)
          try Self.verify(written, against: snapshot, losses, targetType: type.storeType, comparesMetadata: true)
          progress?(.publishing)
          try unit?.publish()
        } catch {
          throw CallbackError.passed(error)
        }
      }
    } catch {
      throw CallbackError.thrown(error)
    }
  }

  /// Has a store compare the objects itself.
  ///
  /// - Returns: Whether it can do that; otherwise nothing was done.
  private func replaceAllComparing(
    with snapshot: StoreSnapshot, _ store: inout any IncrementalStore, _ unit: Publication?
  ) throws -> Bool {
    let (model, name) = (snapshot.nodes.model, type(of: store).storeType)
    do throws(PersistentStoreError) {
      let isDone = try store.replaceAll(with: snapshot, mayReplace: replacesTarget) {
        progress?(.verifying)
      } compare: { metadata throws(PersistentStoreError) in
        do {
          try Self.verify(
            StoreSnapshot(nodes: NodeTable(model: model), metadata: metadata),
            against: StoreSnapshot(nodes: NodeTable(model: model), metadata: snapshot.metadata), [],
            targetType: name, comparesMetadata: true)
        } catch {
          throw CallbackError.passed(error)
        }
      }
      if isDone { progress?(.publishing) }
      return isDone
    } catch {
      throw CallbackError.thrown(error)
    }
  }
}

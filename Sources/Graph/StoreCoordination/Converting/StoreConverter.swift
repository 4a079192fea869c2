public import AtomicStoreSPI
import FoundationEssentials
import Synchronization

/// Converts a store to another type, with everything it contains, and verifies the result.
///
/// The result is staged, read back as another reader would read it, and compared with the source object by object; only
/// then is it moved to its final path. The source is opened read-only.
///
/// ```swift
/// let report = try StoreConverter(registry: .builtIn).convert(from: "people.xml", to: "people.sqlite")
/// ```
public struct StoreConverter: Sendable {
  /// The formats that can be read and written.
  public var registry: StoreRegistry
  /// The model of the source, if the source has none or its own is not to be used.
  public var model: ManagedObjectModel?
  /// The source's type; nil detects it.
  public var sourceType: String?
  /// The result's type; nil chooses it by the target's extension.
  public var targetType: String?
  /// Options for the source's format.
  public var readOptions: StoreOptions = [:]
  /// Options for the target's format.
  public var writeOptions: StoreOptions = [:]
  /// Whether an existing target is replaced. A directory that is not a store is never replaced.
  public var replacesTarget = false
  /// Whether to continue if the target loses values; losses of spelling are always allowed.
  public var allowsLoss = false
  /// Whether to continue if objects of the source were left out because they are damaged, even without ``allowsLoss``.
  public var allowsLossOfDamage = false
  /// Whether the result gets a new UUID.
  public var makesNewIdentifier = false
  /// Whether objects get other references where two have the same one, as in most SQLite stores, or where it is not a
  /// positive integer. Others keep theirs. ``Report/renumbering`` lists the changes.
  public var renumbers = false
  /// Whether to do everything except publishing the result: it is written beside the target, read back, and removed.
  public var isDryRun = false
  /// Whether a new result grants other users at most the permissions that the source grants them. Otherwise it gets the
  /// system's default permissions. A replaced file or directory keeps its own permissions in any case.
  package var limitsPermissions = true
  /// A store that the result is to be a changed copy of, if it has the same type and model, and the format edits files:
  /// then what the kit does not know of it is in the result, too.
  package var editedStore: PersistentStore?
  /// Whether it is an error if the target's options or layout select only a part of the graph.
  var refusesSelections = false
  /// The part of the objects to write; nil for all. The copy keeps the store's UUID unless ``makesNewIdentifier``.
  public var subset: (any StoreSubsetting)?
  /// Computes derived attributes that depend on other objects, where a source was not read completely: what was left
  /// out is not counted in the result. Returns which values were replaced.
  package var recomputesDerived: (@Sendable (inout NodeTable) throws -> [StoreSelection.Note])?
  /// The use of ``writeOptions``: for Save As, also for the store that remains open.
  var optionUse = StoreOption.Use.writing
  /// Files that are published with the result, as one unit: by the caller in a dry run, and if the result has no name.
  package var publication: Publication?
  /// Whether ``prepareDirectory(of:)`` was called for the directory of the result; in a dry run, whether it would
  /// create it.
  package var isDirectoryPrepared = false
  /// Called now and then with the current stage.
  public var progress: (@Sendable (Stage) -> Void)?

  /// Creates a converter that detects types by content and extension, refuses losses, and replaces nothing.
  public init(registry: StoreRegistry) { self.registry = registry }

  /// Converts the store at `source` to one at `target`.
  ///
  /// - Throws: `PersistentStoreError`, ``LossError``, ``VerificationError``; the errors of ``subset``. On any error the
  ///   target is unchanged.
  public func convert(from source: String, to target: String) throws -> Report {
    // Check before reading: reading a large source takes long.
    if StoreAddress.scheme(of: target) == nil {
      try refuseTaken(target, sources: StoreAddress.scheme(of: source) == nil ? [source] : [])
    }
    if let report = try streamed(from: source, to: target) { return report }
    let (coordinator, store) = try open(source)
    defer { try? coordinator.remove(store) }
    return try convert(store, to: target)
  }

  /// Opens the source as a conversion does. The coordinator must be retained as long as the store is.
  package func open(_ source: String) throws -> (PersistentStoreCoordinator, PersistentStore) {
    progress?(.loading)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
    coordinator.readsIncrementalStoresWhole = true
    // Losses are refused or reported.
    coordinator.toldNotes = .warnings
    let store = try coordinator.addPersistentStore(
      type: sourceType, at: source, options: readOptions, isReadOnly: true)
    return (coordinator, store)
  }

  /// Converts an open store to one at `target`.
  public func convert(_ store: PersistentStore, to target: String) throws -> Report {
    if let type = try incrementalTarget(target) { return try write(try graph(of: store), to: target, as: type) }
    let place = try refuseTaken(target, sources: store.isReachedByURL ? [] : [store.path])
    let unrelated = try refuseUnknown(place)
    let staged = try stage(store, Destination(shown: target, place: place, unrelated: unrelated))
    return try publish(staged)
  }

  /// Converts an open store to a file without a name, which only its owner can access and which is removed when this
  /// process ends, however it ends: for a result that is copied elsewhere. Requires ``targetType``, and a format that
  /// writes one file.
  ///
  /// - Parameters:
  ///   - target: The target's name for errors.
  ///   - folder: A directory on the file system to use.
  ///   - body: Called with the result, which is removed afterwards.
  package func convert(
    _ store: PersistentStore, shownAs target: String, unnamedIn folder: String, _ body: (StoreSource) throws -> Void
  ) throws -> Report {
    let staged = try stage(store, Destination(shown: target, unnamedFolder: folder))
    if !isDryRun { try body(try staged.store.sourceForVerification(name: target)) }
    return staged.report
  }

  /// Writes a graph that is in memory as a separate store, and proves it before it says so: as
  /// ``convert(from:to:)``, without a source.
  ///
  /// ``model``, ``sourceType``, ``readOptions`` and ``subset`` have no effect. The metadata's store type is replaced by
  /// the one that is written.
  ///
  /// - Parameters:
  ///   - snapshot: The objects, in any order, and the metadata.
  ///   - target: The path of the new store. With ``replacesTarget`` the store there is replaced.
  ///   - name: What the report has for the source's type.
  ///   - notes: What was left out before, for the report.
  ///   - sources: The open stores that the graph was made of. The result grants no more than each of them does, does
  ///     not take the place of one, and what their formats could not load is a loss.
  ///   - files: Other files that values come from, for which the same holds.
  ///   - store: The open store that the graph was made of, where it is to take that one's place: then `target` is its
  ///     path, ``targetType`` its type, and ``writeOptions`` are empty, unless its format edits files itself. The store
  ///     keeps the form that it was read in, and what another process put there meanwhile is not replaced.
  /// - Throws: `PersistentStoreError`, ``LossError``, ``VerificationError``. On any error the target is as it was.
  public func write(
    _ snapshot: StoreSnapshot, to target: String, describedAs name: String = "memory",
    notes: [StoreSelection.Note] = [], madeOf sources: [PersistentStore] = [],
    files: [String] = [], replacing store: PersistentStore? = nil
  ) throws -> Report {
    if let type = try incrementalTarget(target) {
      guard store == nil else {
        throw PersistentStoreError(
          .notSupported, "an incremental store is not rewritten as a whole: change its objects, or name another result",
          at: StoreLocation(file: store?.path))
      }
      return try write(try graph(snapshot, type: name, notes, madeOf: sources), to: target, as: type)
    }
    if let store, store.isEditedInPlace {
      return try edit(store, to: try graph(snapshot, type: name, notes, madeOf: sources))
    }
    let place = try refuseTaken(
      target, sources: sources.filter { $0 !== store && !$0.isReachedByURL }.map(\.path) + files)
    let unrelated = try refuseUnknown(place)
    var graph = try self.graph(snapshot, type: name, notes, madeOf: sources)
    graph.paths += files
    if let store { try graph.replace(store, writeOptions) }
    let destination = Destination(shown: target, place: place, unrelated: unrelated)
    return try publish(try graph.writtenAgreeing { try stage($0, destination) })
  }

  /// Writes a graph that is in memory to a file without a name: see
  /// ``convert(_:shownAs:unnamedIn:_:)``.
  package func write(
    _ snapshot: StoreSnapshot, shownAs target: String, describedAs name: String, notes: [StoreSelection.Note],
    madeOf sources: [PersistentStore] = [], unnamedIn folder: String, _ body: (StoreSource) throws -> Void
  ) throws -> Report {
    let graph = try self.graph(snapshot, type: name, notes, madeOf: sources)
    let destination = Destination(shown: target, unnamedFolder: folder)
    let staged = try graph.writtenAgreeing { try stage($0, destination) }
    if !isDryRun { try body(try staged.store.sourceForVerification(name: target)) }
    return staged.report
  }

  /// Where a result goes.
  struct Destination {
    /// The path, or another name for messages.
    var shown: String
    /// What is at the path; nil for a result without a name.
    var place: StorePath?
    /// Files in an existing directory that do not belong to its store.
    var unrelated: [String] = []
    var unnamedFolder: String?
  }

  /// A result that was verified but is not published.
  struct StagedResult: ~Copyable {
    let report: Report
    let store: StagedStore
  }

  /// A published result; what it replaced is still kept.
  struct PublishedResult {
    let report: Report
    let unit: Publication
  }

  private func publish(_ staged: consuming StagedResult) throws -> Report {
    let report = staged.report
    guard !isDryRun else { return report }
    progress?(.publishing)
    let unit = publication ?? Publication()
    unit.add(staged.store)
    try unit.commit()
    return report
  }

  /// Converts and publishes. The caller must then conclude or roll back.
  func publish(_ store: PersistentStore, to target: String) throws -> PublishedResult {
    let place = try refuseTaken(target, sources: store.isReachedByURL ? [] : [store.path])
    let unrelated = try refuseUnknown(place)
    let staged = try stage(store, Destination(shown: target, place: place, unrelated: unrelated))
    progress?(.publishing)
    let report = staged.report
    let unit = Publication()
    unit.add(staged.store)
    try unit.publish()
    return PublishedResult(report: report, unit: unit)
  }

  /// Where the result is written until it is published; in a dry run, too, which then finds what would prevent it.
  func makeStaged(
    _ source: SourceGraph, _ destination: Destination, _ layout: StoreLayout, _ metadata: StoreMetadata? = nil
  ) throws(PersistentStoreError) -> StagedStore {
    if let folder = destination.unnamedFolder {
      guard layout == .file else {
        throw PersistentStoreError(
          .cannotCreate, "the store is a directory, not one file", at: StoreLocation(file: destination.shown))
      }
      return StagedStore(unnamedIn: folder, shownAs: destination.shown)
    }
    if isDryRun, isDirectoryPrepared {
      if layout == .file { return StagedStore(unnamedIn: Self.temporaryFolder, shownAs: destination.shown) }
      return try StagedStore(
        target: Self.temporaryPath(for: destination.shown), layout: layout, policy: .createNew, ceiling: .ownerOnly)
    }
    let places = try (limitsPermissions ? source.paths : []).map(StorePath.inspect)
    let staged = try StagedStore(
      target: destination.shown, layout: layout,
      policy: source.replaced.map { .replaceOnlyIf($0) }
        ?? (replacesTarget ? .replaceAny : destination.place?.identity.map { .replaceOnlyIf($0) } ?? .createNew),
      keeping: destination.unrelated,
      ceiling: try PermissionCeiling(of: places), sweeps: !isDirectoryPrepared && !isDryRun)
    if let metadata { staged.files.setCompanionOwner(owner(of: metadata, destination)) }
    return staged
  }

  /// Writes the result, reads it back and compares it.
  private func stage(_ store: PersistentStore, _ destination: Destination) throws -> StagedResult {
    try graph(of: store).writtenAgreeing { try stage($0, destination) }
  }

  private func stage(_ source: SourceGraph, _ destination: Destination) throws -> StagedResult {
    let formatType = try targetFormat(destination.place, destination.shown)
    try formatType.traits.check(writeOptions, of: formatType.storeType, for: optionUse)
    if let edit = try edit(of: source, as: formatType) { return try stage(edit, source, destination, formatType) }
    return try stage(source, destination, formatType)
  }

  private func stage(
    _ source: SourceGraph, _ destination: Destination, _ formatType: any AtomicStore.Type
  ) throws -> StagedResult {
    let target = destination.shown
    guard formatType.traits.canWrite else {
      throw PersistentStoreError(.notSupported, "\(formatType.storeType) stores cannot be written, only read")
    }
    var format = try source.format ?? made(formatType, destination, target)

    progress?(.forecasting)
    let nodes = source.nodes
    var metadata = source.metadata
    metadata.storeType = formatType.storeType
    if makesNewIdentifier { metadata.uuid = UUID() }
    metadata.setVersionHashes(
      of: nodes.model, configuration: source.configurationName, for: format.traits)
    let whole = StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata)
    let selection = try format.selection(from: whole)
    if refusesSelections, let selection, !selection.keepsMetadata || !selection.notes.isEmpty {
      throw PersistentStoreError(
        .unsupportedByFormat,
        "the target would store only a part of the store: "
          + (selection.notes.map(\.description) + ["no UUID"]).joined(separator: "; "), at: StoreLocation(file: target))
    }
    let snapshot = selection?.snapshot ?? whole
    let (traits, isWhole) = (format.traits, selection?.keepsMetadata ?? true)
    let losses = traits.losses(for: snapshot, includingMetadata: isWhole) + source.losses
    let newLosses = losses.filter { !source.hadNone(of: $0) }
    try refuse(newLosses, of: source, formatType.storeType)
    var report = Report(
      sourceType: source.type, targetType: formatType.storeType,
      counts: snapshot.nodes.model.entities.compactMap { entity in
        let count = snapshot.nodes.count(of: entity.index)
        return count > 0 ? (entity.name, count) : nil
      },
      identifier: metadata.uuid, losses: newLosses, selections: source.notes + (selection?.notes ?? []),
      bytesWritten: 0,
      notes: source.loadNotes.filter { !$0.isLoss }, renumbering: source.renumbering, isDryRun: isDryRun)

    progress?(.writing)
    let staged = try makeStaged(source, destination, format.layout, metadata)
    let kept: StoreSnapshot
    // Staged files are gone with the value that stands for them, should anything fail.
    do throws(PersistentStoreError) {
      kept = StoreSnapshot(
        nodes: losses.isEmpty ? snapshot.nodes : try format.traits.reduced(snapshot.nodes), metadata: snapshot.metadata)
      try format.save(kept, to: staged.files)
      try staged.finish()
    } catch {
      throw error.located(StoreLocation(file: target))
    }

    progress?(.verifying)
    let readBack = try self.readBack(staged, source.readOptions, formatType, target, kept.nodes)
    report.bytesWritten = readBack.size
    if !isWhole || !traits.keepsIdentity { report.identifier = readBack.snapshot.metadata.uuid }
    var wanted = snapshot
    wanted.metadata.model = snapshot.metadata.model ?? snapshot.nodes.model.description
    try Self.verify(
      readBack.snapshot, against: wanted, losses, targetType: formatType.storeType,
      comparesMetadata: isWhole && traits.keepsMetadata, comparesIdentity: isWhole && traits.keepsIdentity)
    return StagedResult(report: report, store: staged)
  }

  func made(
    _ type: any AtomicStore.Type, _ destination: Destination, _ target: String
  ) throws(PersistentStoreError) -> any AtomicStore {
    do throws(PersistentStoreError) {
      return try type.init(
        StoreConfiguration(path: destination.place?.resolvedPath ?? target, options: writeOptions, isReadOnly: false))
    } catch {
      throw error.located(StoreLocation(file: target))
    }
  }

  /// Compares what was written with what was to be written. Permission to lose one thing is not permission to lose
  /// another.
  static func verify(
    _ written: StoreSnapshot, against snapshot: StoreSnapshot, _ losses: [Loss], targetType: String,
    comparesMetadata: Bool, comparesIdentity: Bool? = nil
  ) throws {
    let differences = GraphComparison.differences(
      snapshot, written,
      options: .init(
        comparesIdentity: comparesIdentity ?? comparesMetadata, comparesMetadata: comparesMetadata,
        comparesMissingDerivedMetadata: true, comparesModel: true, comparesUnknownOrder: true, limit: 100)
    ) { losses.isEmpty || !Loss.explain(losses, $0, snapshot.nodes, written.nodes) }
    guard differences.isEmpty else {
      throw VerificationError(targetType: targetType, differences: Array(differences.prefix(100)))
    }
  }

  /// Opens the staged result with a new value of the format, which has no information about the source except what a
  /// reader may have. Large columns are compared with those that were written while they are read, and share their
  /// memory where they are the same.
  private func readBack(
    _ staged: borrowing StagedStore, _ readOptions: StoreOptions, _ formatType: any AtomicStore.Type, _ target: String,
    _ written: NodeTable
  ) throws(PersistentStoreError) -> (snapshot: StoreSnapshot, size: Int) {
    let source = try staged.sourceForVerification(name: target)
    let known = Set(formatType.traits.readOptions.map(\.name))
    var options = writeOptions.merging(readOptions) { $1 }
    let limits = try StoreLimits(taking: &options)
    var reader: any AtomicStore = try formatType.init(
      StoreConfiguration(
        path: staged.targetPath, options: options.filter { known.contains($0.key) }, isReadOnly: true, limits: limits))
    var metadata = try reader.metadata(in: source)
    var readModel = written.model
    // Use the file's own model if it has one: a reader without ours must get the same. Most are identical, and shared.
    if let own = metadata.model, !own.isInferred, own.isIdentical(to: written.model.description) {
      metadata.model = written.model.description
    } else if let own = metadata.model {
      do { readModel = try ManagedObjectModel(own) } catch {
        throw PersistentStoreError(
          .internalInconsistency, "the result's own model is not valid", at: StoreLocation(file: target),
          underlying: error)
      }
    }
    let nodes = try NodeTable.staged(
      source, by: &reader, model: readModel, file: target, limits: limits, written: written)
    return (StoreSnapshot(nodes: nodes, metadata: metadata), try source.totalSize())
  }
}

public import AtomicStoreSPI
public import StoreCoordination

extension PersistentStoreCoordinator {
  /// Opens a store, and migrates it first if it was written with another model.
  ///
  /// The migrated store is written beside the old one, read back, compared, and takes its place with one rename; a
  /// database is changed in one transaction. On any error the old one is as it was. UUID, references and metadata are
  /// kept, so that object IDs go on naming the same objects. The history of a database restarts.
  ///
  /// - Parameters:
  ///   - type: A registered name; nil finds the type from the content.
  ///   - configurationName: A configuration of the model; nil for all entities.
  ///   - path: The path of a file or directory, or the URL of a database.
  ///   - options: The format's options, by name.
  ///   - plan: The steps. The last model must be the coordinator's, where that has one.
  /// - Throws: ``MigrationError`` where a step cannot be done; `PersistentStoreError`; what a handler throws.
  @discardableResult
  public func addPersistentStore(
    type: String? = nil, configurationName: String? = nil, at path: String, options: StoreOptions = [:],
    migration plan: MigrationPlan
  ) throws -> PersistentStore {
    guard let model = managedObjectModel ?? plan.model else {
      throw PersistentStoreError(.modelNeeded, "a plan without steps leads to no model", at: StoreLocation(file: path))
    }
    if let last = plan.model, !last.isSame(as: model) {
      throw PersistentStoreError(
        .invalidModel, "the plan does not lead to the coordinator's model", at: StoreLocation(file: path))
    }
    if try holdsContent(at: path, type: type, options: options) {
      var plan = plan
      plan.keepsEqualModel = true
      try Self.migrateStore(type: type, at: path, options: options, by: plan, registry: registry)
    }
    return try addPersistentStore(
      type: type, configurationName: configurationName, at: path, options: options,
      model: managedObjectModel == nil ? model : nil)
  }

  /// Whether there is a store at a path or URL that was written with another model than the coordinator's.
  package func isOfOtherModel(
    type: String?, configurationName: String?, at path: String, options: StoreOptions
  ) throws -> Bool {
    guard let managedObjectModel, try holdsContent(at: path, type: type, options: options) else { return false }
    let metadata = try Self.metadataForPersistentStore(type: type, at: path, options: options, registry: registry)
    let hashes = VersionHashes(metadata: metadata.entries)
    var carried: ManagedObjectModel?
    if let stored = metadata.model, !stored.isInferred, !stored.isIdentical(to: managedObjectModel.description) {
      carried = hashes == nil ? try ManagedObjectModel(stored) : try? ManagedObjectModel(stored)
    }
    // The hashes of a model are of all its entities.
    return !managedObjectModel.differences(
      fromStoreOf: carried, hashes: hashes ?? carried?.versionHashes,
      configuration: hashes == nil ? nil : configurationName
    ).isEmpty
  }

  /// Migrates the store at a path in place.
  ///
  /// Programs that have a database open with the previous model cannot save any more: they get an error that says to
  /// open it again. If they save without a pause, they get that error before the migration, even if an error then
  /// leaves the model as it was.
  ///
  /// - Returns: The steps that were taken; none, and nothing was written, where it has the last model already.
  /// - Throws: As ``addPersistentStore(type:configurationName:at:options:migration:)``.
  @discardableResult
  public static func migrateStore(
    type: String? = nil, at path: String, options: StoreOptions = [:], by plan: MigrationPlan, registry: StoreRegistry
  ) throws -> [StoreMigrator.Step] {
    if let database = try registry.incrementalType(type, at: path) {
      var converter = StoreConverter(registry: registry)
      converter.readOptions = options
      return try migrateDatabase(database, at: path, by: plan, converter).steps
    }
    return try RepeatedSave.run {
      let (coordinator, store) = try openForMigration(
        type: type, at: path, options: options, by: plan, registry: registry)
      defer { withExtendedLifetime(coordinator) {} }
      let result = try StoreMigrator(plan).migrate(try store.nodesWithDeferredValues(), store: store.identifier)
      guard !result.steps.isEmpty else { return [] }
      var metadata = store.metadata
      metadata.model = result.nodes.model.description
      var converter = StoreConverter(registry: registry)
      converter.targetType = store.type
      converter.replacesTarget = true
      converter.allowsLoss = false
      _ = try converter.write(
        StoreSnapshot(nodes: result.nodes, metadata: metadata), to: store.path, describedAs: store.type,
        madeOf: [store], replacing: store)
      return result.steps
    }
  }

  /// Migrates a database in one transaction, by a converter's options.
  ///
  /// - Returns: The steps that were taken, and what the store has now.
  package static func migrateDatabase(
    _ type: any IncrementalStore.Type, at path: String, by plan: MigrationPlan, _ converter: StoreConverter
  ) throws -> (steps: [StoreMigrator.Step], report: StoreConverter.Report) {
    var steps: [StoreMigrator.Step] = []
    let report = try RepeatedSave.run {
      try converter.rewrite(path, as: type) { nodes, metadata in
        let result = try StoreMigrator(plan).migrate(nodes, store: metadata.uuid)
        steps = result.steps
        return steps.isEmpty ? nil : StoreSnapshot(nodes: result.nodes, metadata: metadata)
      }
    }
    return (steps, report)
  }

  /// Opens a store for reading, and brings its objects to the last model of a plan in memory. The file is not changed.
  ///
  /// A store that neither carries a model nor has version hashes is read with the last model.
  ///
  /// - Returns: The store, its objects by the last model, the steps that were taken, and the coordinator that must be
  ///   retained as long as the store is.
  /// - Throws: As ``addPersistentStore(type:at:options:migration:)``.
  package static func openMigrated(
    type: String? = nil, at path: String, options: StoreOptions = [:], by plan: MigrationPlan, registry: StoreRegistry
  ) throws -> (
    coordinator: PersistentStoreCoordinator, store: PersistentStore, nodes: NodeTable, steps: [StoreMigrator.Step]
  ) {
    let metadata = try metadataForPersistentStore(type: type, at: path, options: options, registry: registry)
    guard metadata.model.map({ !$0.isInferred }) ?? (VersionHashes(metadata: metadata.entries) != nil) else {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: plan.model, registry: registry)
      let store = try coordinator.addPersistentStore(type: type, at: path, options: options, isReadOnly: true)
      return (coordinator, store, try store.nodesWithDeferredValues(), [])
    }
    let (coordinator, store) = try openForMigration(
      type: type, at: path, options: options, by: plan, registry: registry)
    let migrated = try StoreMigrator(plan).migrate(try store.nodesWithDeferredValues(), store: store.identifier)
    return (coordinator, store, migrated.nodes, migrated.steps)
  }

  /// Opens a store for reading with the model that it was written with: the one that it carries, or of those of a plan
  /// the one that has its version hashes.
  ///
  /// - Returns: The store, and the coordinator that must be kept for as long as the store is.
  /// - Throws: `.modelMismatch` where no model has the store's hashes.
  package static func openForMigration(
    type: String? = nil, at path: String, options: StoreOptions = [:], by plan: MigrationPlan, registry: StoreRegistry
  ) throws(PersistentStoreError) -> (PersistentStoreCoordinator, PersistentStore) {
    let metadata = try metadataForPersistentStore(type: type, at: path, options: options, registry: registry)
    let known = plan.stages.map(\.model) + plan.sources
    var model: ManagedObjectModel?
    if let hashes = VersionHashes(metadata: metadata.entries) {
      model = known.last { $0.versionHashDifferences(from: hashes).isEmpty }
      // Equal hashes do not make equal models: what the store carries is what it was written with.
      if let carried = metadata.model, !carried.isInferred { model = nil }
      if model == nil, metadata.model == nil {
        throw PersistentStoreError(
          .modelMismatch, "none of the models has the version hashes of the store", at: StoreLocation(file: path))
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
    return (coordinator, try coordinator.addPersistentStore(type: type, at: path, options: options, isReadOnly: true))
  }
}

public import AtomicStoreSPI

extension PersistentStoreCoordinator {
  /// Saves an open store under another path and perhaps type, and goes on with that one: Save As.
  ///
  /// UUID and all reference objects are kept, so that object IDs and their URIs go on naming the same objects. The old
  /// file stays as it was last saved; unsaved metadata goes along to the new one.
  ///
  /// - Parameters:
  ///   - type: A registered name; nil takes the type that the extension of `path` names.
  ///   - options: The new format's own, by name.
  ///   - replaces: Whether what lies at `path` may be replaced.
  /// - Returns: The new store, which has taken the old one's place in the coordinator.
  /// - Throws: `.unsupportedByFormat` where the target keeps no references, identity or metadata;
  ///   ``StoreConverter/LossError`` for values that it cannot carry. Then the old store stays open, and nothing was
  ///   written.
  @discardableResult
  public func migratePersistentStore(
    _ store: PersistentStore, to path: String, type: String? = nil, options: StoreOptions = [:],
    replaces: Bool = false
  ) throws -> PersistentStore {
    try check(store)
    var converter = StoreConverter(registry: registry)
    converter.targetType = type
    converter.writeOptions = options
    converter.replacesTarget = replaces
    converter.refusesSelections = true
    let report = try converter.convert(store, to: path)
    let opening = StoreOpening(
      registry: registry, type: report.targetType, path: path, configurationName: store.configurationName,
      options: options, isReadOnly: false, model: store.model)
    let open = try opening.open(try opening.inspect())
    let migrated = PersistentStore(
      open, path: path, configurationName: store.configurationName, isReadOnly: false)
    replace(store, with: migrated)
    return migrated
  }
}

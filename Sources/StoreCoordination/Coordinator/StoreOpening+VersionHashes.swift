public import AtomicStoreSPI

extension PersistentStoreCoordinator {
  /// An option of every store, `ignoreVersionHashes`: with `yes` a store is opened with the model that is given though
  /// the version hashes in its metadata are those of another one. The next save writes those of the model.
  ///
  /// A store that carries a model with other stored properties is refused all the same: it could not be read.
  public static let ignoreVersionHashesOption = StoreOpening.ignoreVersionHashesOption
}

extension StoreOpening {
  /// Takes the kit's own option out of the options of a format.
  static func takeIgnoresVersionHashes(from options: inout StoreOptions) throws(PersistentStoreError) -> Bool {
    let name = Self.ignoreVersionHashesOption.name
    guard let value = options.removeValue(forKey: name) else { return false }
    guard value == "yes" || value == "no" else {
      throw PersistentStoreError(.invalidOption, "the option '\(name)' takes yes or no, not '\(value)'")
    }
    return value == "yes"
  }

  /// A store whose metadata has version hashes is opened with a model that has the same ones. A store without hashes,
  /// such as one that version 0.1.0 wrote, is opened with any.
  ///
  /// - Throws: `.modelMismatch` with the entities that differ and, where the store carries the model of its hashes, the
  ///   properties.
  func checkVersionHashes(of model: ManagedObjectModel, _ metadata: StoreMetadata) throws(PersistentStoreError) {
    guard !model.description.isInferred, let stored = VersionHashes(metadata: metadata.entries),
      try !ownOptions().ignoresVersionHashes
    else { return }
    let carried = metadata.model.flatMap { $0.isInferred ? nil : try? ManagedObjectModel($0) }
    let differences = model.versionHashDifferences(from: stored, configuration: configurationName, storedModel: carried)
    guard !differences.isEmpty else { return }
    let shown = differences.prefix(20).map(\.description).joined(separator: "; ")
    let more = differences.count > 20 ? "; and \(differences.count - 20) more" : ""
    throw PersistentStoreError(
      .modelMismatch,
      "the version hashes in the store are those of another model: \(shown)\(more); the option "
        + "\(Self.ignoreVersionHashesOption.name)=yes reads it all the same", at: StoreLocation(file: path))
  }
}

extension StoreMetadata {
  /// Writes the version hashes of the model, as Core Data looks for them when it opens a store.
  ///
  /// Only those of a model that was given or carried whole: what is inferred from data is a guess, and a store with
  /// such a model keeps the hashes that it has. Digest and checksum, which not all versions of Core Data write, are
  /// kept true where they are there.
  ///
  /// - Parameter isKept: False for a format that keeps no metadata: then what follows from the model is left out, and
  ///   is no loss.
  mutating func setVersionHashes(of model: ManagedObjectModel, configuration: String?, isKept: Bool = true) {
    guard !model.description.isInferred else { return }
    guard isKept else {
      for key in VersionHashes.derivedMetadataKeys { entries[key] = nil }
      return
    }
    let hashes = model.versionHashes(forConfiguration: configuration) ?? model.versionHashes
    let old = VersionHashes(metadata: entries)
    entries[VersionHashes.metadataKey] = hashes.propertyList
    entries[VersionHashes.versionMetadataKey] = .integer(Int128(VersionHashes.version))
    // The same hashes under another identifier are the same model.
    if old.map({ $0 != hashes }) ?? false || entries[VersionHashes.identifiersMetadataKey] == nil {
      entries[VersionHashes.identifiersMetadataKey] = .array(model.description.versionIdentifiers.map { .string($0) })
    }
    if entries[VersionHashes.digestMetadataKey] != nil {
      entries[VersionHashes.digestMetadataKey] = .string(hashes.digest)
    }
    if entries[VersionHashes.checksumMetadataKey] != nil {
      entries[VersionHashes.checksumMetadataKey] = .string(hashes.checksum)
    }
  }
}

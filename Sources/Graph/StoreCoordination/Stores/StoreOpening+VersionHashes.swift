import AtomicStoreSPI

extension StoreOpening {
  /// Removes the kit's own option from the options of a format.
  static func takeIgnoresVersionHashes(from options: inout StoreOptions) throws(PersistentStoreError) -> Bool {
    let name = Self.ignoreVersionHashesOption.name
    guard let value = options.removeValue(forKey: name) else { return false }
    guard value == "yes" || value == "no" else {
      throw PersistentStoreError(.invalidOption, "the option '\(name)' must be yes or no, not '\(value)'")
    }
    return value == "yes"
  }

  /// Checks that a store with version hashes is opened with a model that has the same ones. A store without hashes,
  /// such as one that version 0.1.0 wrote, can be opened with any model.
  ///
  /// - Throws: `.modelMismatch` with the entities that differ and, if the store carries the model of its hashes, the
  ///   properties.
  func checkVersionHashes(of model: ManagedObjectModel, _ metadata: StoreMetadata) throws(PersistentStoreError) {
    guard !model.description.isInferred, let stored = VersionHashes(metadata: metadata.entries),
      try !ownOptions().ignoresVersionHashes
    else { return }
    guard !model.versionHashDifferences(from: stored, configuration: configurationName).isEmpty else { return }
    // Only an explanation needs the store's own model: to compile it takes longer than to compare the hashes.
    let carried = metadata.model.flatMap { $0.isInferred ? nil : try? ManagedObjectModel($0) }
    let differences = model.versionHashDifferences(from: stored, configuration: configurationName, storedModel: carried)
    let shown = differences.prefix(20).map(\.description).joined(separator: "; ")
    let more = differences.count > 20 ? "; and \(differences.count - 20) more" : ""
    throw PersistentStoreError(
      .modelMismatch,
      "the version hashes in the store are those of another model: \(shown)\(more)"
        + Self.explanation(of: differences), at: StoreLocation(file: path),
      remedy: .readOption("\(Self.ignoreVersionHashesOption.name)=yes", effect: "reads it anyway"))
  }

  /// How to find out more, if hashes alone do not say what differs.
  private static func explanation(of differences: [VersionHashDifference]) -> String {
    if differences.allSatisfy({ $0.change == VersionHashDifference.onlyInStore }) {
      return "; the store may be one of several merged models, all of which must be specified"
    }
    guard differences.contains(where: { $0.change == VersionHashDifference.unexplained }) else { return "" }
    return
      "; 'atomicstore model diff' compares two versions of a model, and --model with a directory finds the version of the store"
  }
}

extension StoreMetadata {
  /// Writes the version hashes of the model, which Core Data checks when it opens a store.
  ///
  /// Only those of a specified or carried model. An inferred model is a guess: entries that the application wrote about
  /// its model are kept if the store still has the layout that they describe, or if no program trusts them in a store
  /// of this type. Digest and checksum, which not all versions of Core Data write, are updated if present.
  ///
  /// - Parameter traits: Those of the format that writes the metadata, whose type is ``storeType``. For a format that
  ///   does not store metadata, what is derived from the model is omitted, which is not a loss.
  mutating func setVersionHashes(of model: ManagedObjectModel, configuration: String?, for traits: StoreTraits) {
    if model.description.isInferred {
      if !traits.keepsInferredHashes(of: model.description, in: storeType) { removeVersionHashes() }
      return
    }
    guard traits.keepsMetadata else { return removeVersionHashes() }
    let old = VersionHashes(metadata: entries)
    var hashes = model.versionHashes(forConfiguration: configuration) ?? model.versionHashes
    // A store of a configuration remains one if it is copied or converted without specifying a configuration.
    if configuration == nil, let old, old != hashes,
      model.configurations.contains(where: { model.versionHashes(forConfiguration: $0) == old })
    {
      hashes = old
    }
    entries[VersionHashes.metadataKey] = hashes.propertyList
    entries[VersionHashes.versionMetadataKey] = .integer(Int128(VersionHashes.version))
    // The same hashes with another identifier are the same model.
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

  private mutating func removeVersionHashes() {
    for key in VersionHashes.derivedMetadataKeys { entries[key] = nil }
  }
}

extension StoreTraits {
  /// Whether a store of an inferred model keeps the entries about the application's model.
  fileprivate func keepsInferredHashes(of model: ModelDescription, in storeType: String) -> Bool {
    switch trustedHashes {
    case .no: true
    case .ofKnownModels: false
    case .ofInferredLayouts: model.inferredFrom.map { $0.hasSameScalars(as: storeType) } ?? false
    }
  }
}

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

  /// Checks that a store is opened with the model that it was written with: the one that it carries, and that of its
  /// version hashes. A store without both, such as one that version 0.1.0 wrote, can be opened with any model.
  ///
  /// - Throws: `.modelMismatch` with what differs; of a store that has hashes alone, with the entities.
  func check(_ model: ManagedObjectModel, _ metadata: StoreMetadata) throws(PersistentStoreError) {
    var carried: ManagedObjectModel?
    if let stored = metadata.model, !stored.isInferred, !stored.isIdentical(to: model.description) {
      carried = try? ManagedObjectModel(stored)
      if carried == nil {
        throw PersistentStoreError(.modelMismatch, "the store was written with another model, which is not valid")
      }
    }
    let ignoresHashes = try ownOptions().ignoresVersionHashes || model.description.isInferred
    let differences = model.differences(
      fromStoreOf: carried, hashes: ignoresHashes ? nil : VersionHashes(metadata: metadata.entries),
      configuration: configurationName)
    guard differences.layout.isEmpty else {
      let list = differences.layout.map { "\($0)" }.joined(separator: "; ")
      throw PersistentStoreError(.modelMismatch, "the store was written with another model: \(list)")
    }
    guard !differences.hashes.isEmpty else { return }
    let shown = differences.hashes.prefix(20).map(\.description).joined(separator: "; ")
    let more = differences.hashes.count > 20 ? "; and \(differences.hashes.count - 20) more" : ""
    throw PersistentStoreError(
      .modelMismatch,
      "the version hashes in the store are those of another model: \(shown)\(more)"
        + Self.explanation(of: differences.hashes),
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

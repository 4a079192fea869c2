import AtomicStoreKit
import CommandSupport
import ModelFiles

/// The values of `--model`: one model, or a directory, application bundle or source tree that is searched for the model
/// with the version hashes of the store; or several, whose models a store may have together.
struct ModelChoice {
  private let paths: [String]
  private var path: String { paths[0] }
  private var shown: String { paths.joined(separator: ", ") }

  init(_ path: String) { paths = [path] }

  /// Nil without a path.
  init?(_ paths: [String]) {
    guard !paths.isEmpty else { return nil }
    self.paths = paths
  }

  /// Returns the model for a store; without a store, the specified one, the current version, or the only one.
  ///
  /// - Throws: A failure if several models are found and none matches the store, or no store is given to choose by.
  func model(for store: String? = nil, type: String? = nil, options: StoreOptions = [:]) throws -> ManagedObjectModel {
    if let found = try foundModel(for: store, type: type, options: options) { return found }
    guard paths.count == 1 else { return try merged() }
    let file = try ModelFile.read(at: try Input.path(for: path))
    for warning in file.warnings { Diagnostics.say("atomicstore: \(path): \(warning)") }
    return try model(of: file.description, at: path)
  }

  /// The model that is the same for every store; nil for a directory that is searched by the hashes of a store.
  func modelForAnyStore() throws -> ManagedObjectModel? {
    guard !paths.contains("-") else {
      throw CommandFailure("--model: a list of stores needs a model file, not -", exitCode: 64)
    }
    guard paths.count == 1 else { return nil }
    let place = try StorePath.inspect(path)
    if place.kind == .folder, Self.modelCarriedIfReadable(at: path) == nil,
      try !place.allNames().contains(where: { $0 == "contents" || $0 == "elements" })
    {
      return nil
    }
    return try model()
  }

  /// All models in one, for a store without version hashes.
  private func merged() throws -> ManagedObjectModel {
    let models = try paths.map { try ModelChoice($0).model().description }
    let merged: ModelDescription
    do throws(InvalidModelError) { merged = try ModelDescription(merging: models) } catch {
      throw CommandFailure("\(shown): " + error.errors.map { "\($0)" }.joined(separator: "; "), exitCode: 65)
    }
    return try model(of: merged, at: shown)
  }

  /// The model that was found by its hashes; nil if the path is a single model, or versions of which the current one is
  /// used.
  private func foundModel(for store: String?, type: String?, options: StoreOptions) throws -> ManagedObjectModel? {
    guard paths.count == 1 else { return try foundModel(forMerged: store, type: type, options: options) }
    if Input.isURL(path) { return try Self.modelCarried(at: path).map { try model(of: $0, at: path) } }
    guard path != "-", let place = try? StorePath.inspect(path) else { return nil }
    // A store that carries its model can be used as a model.
    guard place.kind == .folder else { return try Self.modelCarried(at: path).map { try model(of: $0, at: path) } }
    if let own = Self.modelCarriedIfReadable(at: path) { return try model(of: own, at: path) }
    let names = try place.allNames()
    if names.contains("contents") || names.contains("elements") { return nil }
    let hasVersions = try Self.isVersioned(place, names)
    let stored = try store.flatMap { try hashes(of: $0, type: type, options: options) }
    // Without hashes, the current version is used.
    if hasVersions, stored == nil { return nil }
    let finder = try ModelFinder(searching: path) { Self.modelCarriedIfReadable(at: $0) }
    guard let stored else {
      if finder.found.count == 1 { return try use(finder.found[0]) }
      throw CommandFailure(
        "\(path): the store has no version hashes to choose a model by; \(finder.found.count) were found: "
          + finder.found.prefix(20).map(\.path).joined(separator: ", "), exitCode: finder.found.isEmpty ? 66 : 64)
    }
    if let found = try chosen(finder, stored) { return found }
    if hasVersions { return nil }
    return try refuse(finder, stored, store)
  }

  /// Whether the directory is one model in several versions. Without a mark, versions of models may just as well be
  /// their own models that happen to be in one directory, such as an application bundle.
  private static func isVersioned(_ place: StorePath, _ names: [String]) throws -> Bool {
    guard let versions = try ModelFile.versions(at: place.path) else { return false }
    return versions.names.count == 1 || ["xcdatamodeld", "momd"].contains(place.fileExtension)
      || names.contains(".xccurrentversion") || names.contains("VersionInfo.plist")
  }

  /// The model of a store that may have been opened with several, merged.
  private func foundModel(
    forMerged store: String?, type: String?, options: StoreOptions
  ) throws -> ManagedObjectModel? {
    guard !paths.contains(where: { $0 == "-" || Input.isURL($0) }) else {
      throw CommandFailure("--model: with several models each is a file or directory", exitCode: 64)
    }
    guard let stored = try store.flatMap({ try hashes(of: $0, type: type, options: options) }) else { return nil }
    let finder = try ModelFinder(searching: paths) { Self.modelCarriedIfReadable(at: $0) }
    if let found = try chosen(finder, stored) { return found }
    // Merged as they are.
    if options[PersistentStoreCoordinator.ignoreVersionHashesOption.name] == "yes" { return nil }
    return try refuse(finder, stored, store)
  }

  /// The model with the version hashes of a store, or the models that have them together.
  private func chosen(_ finder: ModelFinder, _ hashes: VersionHashes) throws -> ManagedObjectModel? {
    if let found = finder.model(for: hashes) { return try use(found) }
    guard let merged = finder.mergedModel(for: hashes) else { return nil }
    let list = merged.parts.map(\.path).joined(separator: ", ")
    Diagnostics.say("atomicstore: the model is merged from \(list)")
    return try model(of: merged.model, at: list)
  }

  /// - Returns: The store's own model, if it carries one.
  private func refuse(_ finder: ModelFinder, _ stored: VersionHashes, _ store: String?) throws -> ManagedObjectModel {
    if let store, let own = Self.modelCarriedIfReadable(at: try Input.path(for: store)) {
      Diagnostics.say(
        "atomicstore: none of the \(finder.found.count) models in \(shown) fits; the model is the store's own")
      return try model(of: own, at: store)
    }
    throw CommandFailure(Self.nearMisses(finder, stored, shown), exitCode: 65)
  }

  private static func nearMisses(_ finder: ModelFinder, _ hashes: VersionHashes, _ path: String) -> String {
    var text = "\(path): none of the \(finder.found.count) models there has the version hashes of the store"
    for (found, differences) in finder.nearMisses(for: hashes) {
      let shown = differences.prefix(5).map(\.description).joined(separator: "; ")
      text += "\n  \(found.path): \(shown)" + (differences.count > 5 ? "; and \(differences.count - 5) more" : "")
    }
    for refusal in finder.refusals.prefix(5) { text += "\n  not read: \(refusal)" }
    return text + "\n  (without --model the store is read by what its own file says of its model)"
  }

  private func use(_ found: ModelFinder.Found) throws -> ManagedObjectModel {
    Diagnostics.say("atomicstore: the model is \(found.path)")
    return try model(of: found.description, at: found.path)
  }

  private func model(of description: ModelDescription, at path: String) throws -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(description)
    } catch {
      throw CommandFailure("\(path): " + error.errors.map { "\($0)" }.joined(separator: "\n\(path): "), exitCode: 65)
    }
  }

  // MARK: Stores

  private func hashes(of store: String, type: String?, options: StoreOptions) throws -> VersionHashes? {
    let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(
      type: type, at: try Input.path(for: store), options: options, registry: InstalledFormats.registry)
    return VersionHashes(metadata: metadata.entries)
  }

  /// The complete model that a store carries; nil for a store that carries none, and for everything that is not a
  /// store.
  private static func modelCarried(at path: String) throws -> ModelDescription? {
    if Input.isIncremental(path) {
      return try PersistentStoreCoordinator.metadataForPersistentStore(
        at: path, registry: InstalledFormats.registry
      ).model
    }
    guard let place = try? StorePath.inspect(path), place.holdsContent, let probe = try? place.probe(),
      let type = try? InstalledFormats.registry.recognize(probe)
    else { return nil }
    let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(
      type: type.storeType, at: path, registry: InstalledFormats.registry)
    return metadata.model.flatMap { $0.isInferred ? nil : $0 }
  }

  /// The same in a search, which continues if a store cannot be read.
  private static func modelCarriedIfReadable(at path: String) -> ModelDescription? {
    (try? modelCarried(at: path)) ?? nil
  }
}

import AtomicStoreKit
import CommandSupport
import ModelFiles

/// What `--model` names where it is not one model: the one is found whose version hashes are those of the store.
struct ModelChoice {
  let path: String
  let type: String?
  let options: StoreOptions

  init(_ path: String, from type: String?, options: StoreOptions) {
    self.path = path
    self.type = type
    self.options = options
  }

  /// The model for a store.
  ///
  /// - Returns: nil where the path names one model, which is taken as it is.
  /// - Throws: where it names several of which none fits, or it cannot be told which one.
  func model(for store: String?) throws -> ManagedObjectModel? {
    guard path != "-", let place = try? StorePlace.inspect(path), place.kind == .folder else { return nil }
    let names = try place.allNames()
    let isOneModel = names.contains("contents") || names.contains("elements")
    if isOneModel { return nil }
    let hasVersions = try ModelFile.versions(at: path) != nil
    let stored = try store.flatMap { try self.hashes(of: $0) }
    guard let hashes = stored else {
      // Without hashes the current version is the one, and of a folder the only model.
      if hasVersions { return nil }
      let finder = try ModelFinder(searching: path)
      if finder.found.count == 1 { return try use(finder.found[0]) }
      throw CommandFailure(
        "\(path): the store has no version hashes to choose a model by; there are \(finder.found.count): "
          + finder.found.prefix(20).map(\.path).joined(separator: ", "), exitCode: finder.found.isEmpty ? 66 : 64)
    }
    let finder = try ModelFinder(searching: path)
    if let found = finder.model(for: hashes) { return try use(found) }
    if hasVersions { return nil }
    var text = "\(path): none of the \(finder.found.count) models there has the version hashes of the store"
    for (found, differences) in finder.nearMisses(for: hashes) {
      let shown = differences.prefix(5).map(\.description).joined(separator: "; ")
      text += "\n  \(found.path): \(shown)" + (differences.count > 5 ? "; and \(differences.count - 5) more" : "")
    }
    for refusal in finder.refusals.prefix(5) { text += "\n  not read: \(refusal)" }
    throw CommandFailure(text, exitCode: 65)
  }

  private func use(_ found: ModelFinder.Found) throws -> ManagedObjectModel {
    Talk.say("atomicstore: the model is \(found.path)")
    do {
      return try ManagedObjectModel(found.file.description)
    } catch {
      throw CommandFailure(
        "\(found.path): " + error.errors.map { "\($0)" }.joined(separator: "\n\(found.path): "), exitCode: 65)
    }
  }

  private func hashes(of store: String) throws -> VersionHashes? {
    let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(
      type: type, at: try Input.path(for: store), options: options, registry: Tool.registry)
    return VersionHashes(metadata: metadata.entries)
  }
}

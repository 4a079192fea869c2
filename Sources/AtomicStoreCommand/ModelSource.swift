import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import ModelFiles

/// A model as the command line names it: a model file of any kind, or a store that carries a model or version hashes.
struct ModelSource {
  /// Nil where a store has version hashes only.
  var model: ManagedObjectModel?
  /// Those of the model; those in the metadata of a store whose model is inferred; nil where there are none.
  var hashes: VersionHashes?
  /// Why the model cannot be used as it is, though its hashes can be computed.
  var problems: [String] = []
  var warnings: [String] = []
  /// Version name of the file that was read.
  var versionName: String?

  /// - Parameters:
  ///   - allowsInvalid: Whether a model that contradicts itself will do: its hashes are what they are.
  ///   - json: Whether the failure is shown as JSON.
  static func read(
    _ path: String, version: String? = nil, allowsInvalid: Bool = false, json: Bool = false
  ) throws -> ModelSource {
    let input = try Input.path(for: path)
    // A store describes itself; everything else is for the model reader, which names what it cannot read.
    if let place = try? StorePlace.inspect(input), place.holdsContent, let probe = try? place.probe(),
      (try? Tool.registry.recognize(probe)) != nil
    {
      let coordinator = PersistentStoreCoordinator(registry: Tool.registry)
      let store = try readingTwice { try coordinator.addPersistentStore(at: input, isReadOnly: true) }
      guard store.model.description.isInferred else {
        return ModelSource(model: store.model, hashes: store.model.versionHashes)
      }
      return ModelSource(model: store.model, hashes: VersionHashes(metadata: store.metadata.entries))
    }
    let file = try ModelFile.read(at: input, version: version)
    var source = ModelSource(warnings: file.warnings.map { "\($0)" }, versionName: file.versionName)
    do throws(InvalidModelError) {
      source.model = try ManagedObjectModel(file.description)
    } catch {
      guard allowsInvalid else {
        throw CommandFailure(
          "\(path): " + error.errors.map { "\($0)" }.joined(separator: "\n\(path): "), exitCode: 65, json: json)
      }
      source.problems = error.errors.map { "\($0)" }
      source.model = ManagedObjectModel(unchecked: file.description)
    }
    source.hashes = source.model?.versionHashes
    return source
  }

  /// Whether the hashes are computed from a model that is known whole.
  var isWhole: Bool { model.map { !$0.description.isInferred } ?? false }
}

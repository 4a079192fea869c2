import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import ModelFiles

/// A model as specified on the command line: a model file of any kind, or a store that carries a model or version
/// hashes.
struct ModelSource {
  /// Nil if a store has only version hashes.
  var model: ManagedObjectModel?
  /// The hashes of the model, or those in the metadata of a store whose model is inferred; nil if there are none.
  var hashes: VersionHashes?
  /// Why the model cannot be used, although its hashes can be computed.
  var problems: [String] = []
  var warnings: [String] = []
  /// The version name of the file that was read.
  var versionName: String?

  private static func isAtomicStore(_ path: String) -> Bool {
    guard let place = try? StorePath.inspect(path), place.holdsContent, let probe = try? place.probe() else {
      return false
    }
    return (try? InstalledFormats.registry.recognize(probe)) != nil
  }

  /// - Parameters:
  ///   - allowsInvalid: Whether an invalid model is accepted, since its hashes are still defined.
  ///   - json: Whether the failure is shown as JSON.
  static func read(
    _ path: String, version: String? = nil, allowsInvalid: Bool = false, json: Bool = false
  ) throws -> ModelSource {
    let input = try Input.path(for: path)
    // A store carries its model; everything else is left to the model reader, which names what it cannot read.
    if Input.isIncremental(input) || isAtomicStore(input) {
      let (metadata, model) = try readingTwice {
        try PersistentStoreCoordinator.metadataAndModelForPersistentStore(
          at: input, registry: InstalledFormats.registry)
      }
      return ModelSource(
        model: model,
        hashes: model.description.isInferred ? VersionHashes(metadata: metadata.entries) : model.versionHashes)
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

  /// Whether the hashes are computed from a complete model.
  var isWhole: Bool { model.map { !$0.description.isInferred } ?? false }
}

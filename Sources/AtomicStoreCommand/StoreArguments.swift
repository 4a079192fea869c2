import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import ModelFiles

/// A store to read, as specified on the command line.
struct SourceOptions: ParsableArguments {
  @Option(
    help:
      "The model: a model file of any kind, or a directory, application bundle or source tree that is searched for the model with the store's version hashes. A self-describing store needs none."
  )
  var model: String?
  @Option(help: "The type, if it should not be detected from the content.") var from: String?
  @Option(name: .customLong("read-option"), help: "An option of the format that is read, name=value. May be repeated.")
  var readOptions: [String] = []

  @Flag(
    name: .customLong("ignore-version-hashes"),
    help: "Read a store with --model even if the version hashes in its metadata are those of another model.")
  var ignoresVersionHashes = false

  /// The options for reading the store.
  func options() throws -> StoreOptions {
    var options = try parseOptions(readOptions)
    if ignoresVersionHashes { options[PersistentStoreCoordinator.ignoreVersionHashesOption.name] = "yes" }
    return options
  }

  /// The model that `--model` specifies; nil without the option. See ``ModelChoice``.
  func loadModel(for store: String) throws -> ManagedObjectModel? {
    try model.map { try ModelChoice($0).model(for: store, type: from, options: options()) }
  }

  /// Opens a store for reading. The coordinator must be retained as long as the store is.
  ///
  /// - Parameter checksInverses: False to also open a store whose relationships contradict each other, unless an option
  ///   specifies how to treat them.
  func open(_ path: String, checksInverses: Bool = true) throws -> (PersistentStoreCoordinator, PersistentStore) {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try loadModel(for: path), registry: InstalledFormats.registry)
    let input = try Input.path(for: path)
    defer { Input.discard() }
    let options = try self.options()
    let store = try readingTwice {
      if !checksInverses, options["inverses"] == nil {
        return try coordinator.addPersistentStoreUnchecked(type: from, at: input, options: options)
      }
      return try coordinator.addPersistentStore(type: from, at: input, options: options, isReadOnly: true)
    }
    return (coordinator, store)
  }
}

/// Reads, and reads again if the store was changed: what is being replaced at this moment can be read then, and a store
/// that was edited after it was saved is refused again, as invalid data.
///
/// - Parameter isOfSource: Whether it was the input that changed, if something is written as well.
func readingTwice<Result>(
  where isOfSource: (PersistentStoreError) -> Bool = { _ in true }, _ body: () throws -> Result
) throws -> Result {
  do {
    return try body()
  } catch let error as PersistentStoreError where error.code == .changedOnDisk && isOfSource(error) {
    do {
      return try body()
    } catch let error as PersistentStoreError where error.code == .changedOnDisk && isOfSource(error) {
      var failure = CommandFailure(error, json: false)
      failure.exitCode = 65
      throw failure
    }
  }
}

/// `name=value` pairs.
func parseOptions(_ pairs: [String]) throws -> StoreOptions {
  var options: StoreOptions = [:]
  for pair in pairs {
    guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex else {
      throw CommandFailure("'\(pair)' is not name=value", exitCode: 64)
    }
    let name = String(pair[..<equals])
    guard options[name] == nil else { throw CommandFailure("the option '\(name)' is specified twice", exitCode: 64) }
    options[name] = String(pair[pair.index(after: equals)...])
  }
  return options
}

extension ManagedObjectModel {
  /// The entity that the command line specifies.
  ///
  /// - Throws: A usage error: exit code 64.
  func entity(asked name: String) throws -> Entity {
    if let found = entity(named: name) { return found }
    let names = entities.map(\.name)
    let near = Suggestion.text(for: name, among: names)
    throw CommandFailure(
      "there is no entity '\(name)'" + (near.isEmpty ? "; there are \(names.joined(separator: ", "))" : near),
      exitCode: 64)
  }
}

import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import ModelFiles

/// A store to read, as the command line names it.
struct SourceOptions: ParsableArguments {
  @Option(
    help:
      "The model: a model file of any kind, or a folder, application bundle or source tree in which the one that fits is found by its version hashes. A store that describes itself needs none."
  )
  var model: String?
  @Option(help: "The type, where the content should not be asked.") var from: String?
  @Option(name: .customLong("read-option"), help: "An option of the format that is read, name=value. May be repeated.")
  var readOptions: [String] = []

  @Flag(
    name: .customLong("ignore-version-hashes"),
    help: "Read a store with --model though the version hashes in its metadata are those of another model.")
  var ignoresVersionHashes = false

  /// The options that the store is read with.
  func options() throws -> StoreOptions {
    var options = try parseOptions(readOptions)
    if ignoresVersionHashes { options[PersistentStoreCoordinator.ignoreVersionHashesOption.name] = "yes" }
    return options
  }

  /// The model that `--model` names; nil without the option. See ``ModelChoice``.
  func loadModel(for store: String) throws -> ManagedObjectModel? {
    try model.map { try ModelChoice($0).model(for: store, type: from, options: options()) }
  }

  /// Opens a store for reading. The coordinator must be kept for as long as the store is.
  ///
  /// - Parameter checksInverses: False to open a store whose relationships contradict each other too, unless an option
  ///   says what becomes of them.
  func open(_ path: String, checksInverses: Bool = true) throws -> (PersistentStoreCoordinator, PersistentStore) {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try loadModel(for: path), registry: Tool.registry)
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

/// Reads, and once more where the store was changed: what somebody replaces at this moment can be read then, and what
/// was edited since it was saved is refused again, as the bad data that it is.
///
/// - Parameter isOfSource: Whether it is what is read that was changed, where something is written as well.
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
    guard options[name] == nil else { throw CommandFailure("the option '\(name)' is given twice", exitCode: 64) }
    options[name] = String(pair[pair.index(after: equals)...])
  }
  return options
}

extension ManagedObjectModel {
  /// The entity that the command line names.
  ///
  /// - Throws: as what is asked of a store that cannot be asked of it: exit code 64.
  func entity(asked name: String) throws -> Entity {
    if let found = entity(named: name) { return found }
    let names = entities.map(\.name)
    let near = Suggestion.text(for: name, among: names)
    throw CommandFailure(
      "there is no entity '\(name)'" + (near.isEmpty ? "; there are \(names.joined(separator: ", "))" : near),
      exitCode: 64)
  }
}

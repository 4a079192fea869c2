import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import ModelFiles
import StoreMaintenance

/// A store to read, as specified on the command line.
package struct SourceOptions: ParsableArguments {
  @Option(
    name: .customLong("model"),
    help:
      "The model: a model file of any kind, or a directory, application bundle or source tree that is searched for the model with the store's version hashes, or the models that have them together. A self-describing store needs none. May be repeated, for a store of several merged models."
  )
  var models: [String] = []
  @Option(help: "The type, if it should not be detected from the content.", completion: Completions.types) var from:
    String?
  @Option(
    name: .customLong("read-option"), help: "An option of the format that is read, name=value. May be repeated.",
    completion: Completions.readOptions)
  var readOptions: [String] = []

  @Flag(
    name: .customLong("ignore-version-hashes"),
    help: "Read a store with --model even if the version hashes in its metadata are those of another model.")
  var ignoresVersionHashes = false

  package init() {}

  /// The options for reading the store.
  func options() throws -> StoreOptions {
    var options = try parseOptions(readOptions)
    if ignoresVersionHashes { options[PersistentStoreCoordinator.ignoreVersionHashesOption.name] = "yes" }
    return options
  }

  /// The model that `--model` specifies; nil without the option. See ``ModelChoice``.
  func loadModel(for store: String) throws -> ManagedObjectModel? {
    try ModelChoice(models)?.model(for: store, type: from, options: options())
  }

  /// The model for a list of stores, which is read once; nil without the option, and if it is chosen for each store.
  ///
  /// - Throws: The errors of options that are invalid for every store.
  func loadCommonModel() throws -> ManagedObjectModel? {
    _ = try options()
    if let from { _ = try InstalledFormats.registry.storeType(named: from) }
    return try ModelChoice(models)?.modelForAnyStore()
  }

  /// A check as the options for reading specify it.
  ///
  /// - Parameter commonModel: The model, if it was read before.
  func storeCheck(
    of store: String, commonModel: ManagedObjectModel? = nil, maximumFindingCount: Int?
  ) throws -> StoreCheck {
    var check = StoreCheck(registry: InstalledFormats.registry)
    check.model = try commonModel ?? loadModel(for: store)
    check.storeType = from
    check.options = try options()
    check.maximumFindingCount = maximumFindingCount
    return check
  }

  /// Opens a store for reading. The coordinator must be retained as long as the store is.
  ///
  /// - Parameters:
  ///   - describes: Whether the caller describes the store: then ends of relationships that contradict each other are
  ///     read as they are stored, unless an option says otherwise, and the caller shows what could not be read.
  ///   - commonModel: The model, if it was read before.
  ///   - inParts: Whether an incremental store is asked for objects as they are needed, not read as a whole.
  ///   - other: A store that it is compared with.
  ///   - needs: What is needed of the store; nil for everything.
  func open(
    _ path: String, describes: Bool = false, commonModel: ManagedObjectModel? = nil, inParts: Bool = false,
    comparedWith other: PersistentStore? = nil, needs: ReadChoice? = nil
  ) throws -> (PersistentStoreCoordinator, PersistentStore) {
    try InstalledFormats.check(type: from)
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try commonModel ?? loadModel(for: path), registry: InstalledFormats.registry)
    coordinator.readsIncrementalStoresWhole = !inParts
    if describes { coordinator.toldNotes = .none }
    coordinator.similarNodes = other?.nodes
    coordinator.readNeeds = needs
    defer {
      coordinator.similarNodes = nil
      coordinator.readNeeds = nil
    }
    let input = try Input.path(for: path)
    defer { Input.discard() }
    let options = try self.options()
    let store = try readingTwice {
      if describes {
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

extension ManagedObjectModel {
  /// The entity that the command line specifies.
  ///
  /// - Throws: A usage error: exit code 64.
  func entity(asked name: String) throws -> Entity {
    if let found = entity(named: name) { return found }
    throw CommandFailure(Suggestion.unknown("entity", name, among: entities.map(\.name)), exitCode: 64)
  }
}

public import AtomicStoreKit
public import AtomicStoreSPI
public import BuiltInStoreFormats
import FoundationEssentials
import ModelFiles
import StoreMigration
import Synchronization

/// A model, a coordinator with its stores, and contexts: what a program needs to begin.
///
/// ```swift
/// let container = try PersistentContainer(name: "Contacts", modelDirectories: [directory])
/// container.persistentStoreDescriptions = [PersistentStoreDescription(path: "contacts.xml")]
/// try await container.loadPersistentStores()
///
/// let context = container.viewContext                                   // on the main actor
/// let count = try await container.performBackgroundTask { context in    // beside it
///   try context.count(for: FetchRequest<ManagedObject>(entityName: "Person"))
/// }
/// ```
public final class PersistentContainer: Sendable {
  /// The name of the model, and of the store by default.
  public let name: String
  /// The coordinator of the container's stores.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The model of all objects.
  public let managedObjectModel: ManagedObjectModel
  /// The file that the model was read from; nil if it was passed.
  public let modelPath: String?
  private let descriptions: Mutex<[PersistentStoreDescription]>
  private let view: ViewContext

  /// Creates a container for a model.
  ///
  /// - Parameters:
  ///   - name: The name of the container, which the default store has too.
  ///   - managedObjectModel: The model.
  ///   - registry: The formats that stores may have.
  public convenience init(
    name: String, managedObjectModel: ManagedObjectModel, registry: StoreRegistry = .builtIn
  ) {
    self.init(name, managedObjectModel, modelPath: nil, registry)
  }

  /// Creates a container for a model that is found by name: `NAME.momd`, `.xcdatamodeld`, `.mom` or `.xcdatamodel`.
  ///
  /// - Parameters:
  ///   - name: The name of the model's file without its extension. The default store has it too.
  ///   - modelDirectories: Where to look. By default: the resource bundles beside the program, its directory, and the
  ///     current directory.
  ///   - registry: The formats that stores may have.
  /// - Throws: `PersistentStoreError`: `.notFound`, which names the directories, and the errors of reading a model;
  ///   `InvalidModelError` with all problems of the model.
  public convenience init(
    name: String, modelDirectories: [String]? = nil, registry: StoreRegistry = .builtIn
  ) throws {
    let path = try ModelLookup.path(of: name, in: modelDirectories ?? ModelLookup.directories)
    try self.init(name: name, modelPath: path, registry: registry)
  }

  /// Creates a container for the model in a file.
  ///
  /// - Throws: `PersistentStoreError` if the model cannot be read, `InvalidModelError` if it has problems.
  public convenience init(
    name: String, modelPath path: String, registry: StoreRegistry = .builtIn
  ) throws {
    self.init(name, try ManagedObjectModel(try ModelFile.read(at: path).description), modelPath: path, registry)
  }

  private init(_ name: String, _ model: ManagedObjectModel, modelPath: String?, _ registry: StoreRegistry) {
    self.name = name
    managedObjectModel = model
    self.modelPath = modelPath
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry)
    persistentStoreCoordinator = coordinator
    view = ViewContext(coordinator)
    descriptions = Mutex([
      PersistentStoreDescription(path: Self.defaultDirectory() + "/" + name + ".plist", type: "BinaryPropertyList")
    ])
  }

  /// The directory of stores by default: that of the user's data, `$XDG_DATA_HOME` or `~/.local/share`, and in it a
  /// directory with the program's name. It is created when a store is loaded.
  public static func defaultDirectory() -> String {
    let environment = ProcessInfo.processInfo.environment
    let data = environment["XDG_DATA_HOME"].flatMap { $0.isEmpty ? nil : $0 }
    let home = data ?? (environment["HOME"] ?? ".") + "/.local/share"
    let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "program"
    return home + "/" + program
  }

  // MARK: Stores

  /// The stores that `loadPersistentStores()` opens. By default one: a binary property list with the container's name
  /// in ``defaultDirectory()``.
  public var persistentStoreDescriptions: [PersistentStoreDescription] {
    get { descriptions.withLock { $0 } }
    set { descriptions.withLock { $0 = newValue } }
  }

  /// Opens all described stores, in order. Directories that do not exist are created.
  ///
  /// In an `async` function Swift chooses the asynchronous one: `try await container.loadPersistentStores()`.
  ///
  /// - Throws: The error of the first store that cannot be opened. Stores that were opened before it stay open.
  public func loadPersistentStores() throws {
    for description in persistentStoreDescriptions { try load(description) }
  }

  /// Opens all described stores beside each other, in their own tasks.
  ///
  /// - Throws: The error of the first store, in their order, that cannot be opened. The others stay open.
  public func loadPersistentStores() async throws {
    let failures = await withTaskGroup(of: (Int, (any Error)?).self) { group in
      for (index, description) in persistentStoreDescriptions.enumerated() {
        group.addTask {
          do {
            try self.load(description)
            return (index, nil)
          } catch {
            return (index, error)
          }
        }
      }
      return await group.reduce(into: [(Int, any Error)]()) { found, result in
        if let error = result.1 { found.append((result.0, error)) }
      }
    }
    if let first = failures.min(by: { $0.0 < $1.0 }) { throw first.1 }
  }

  /// Opens all described stores and reports each: those that load asynchronously in their own tasks, the others
  /// before this returns.
  ///
  /// - Parameter completionHandler: Called once for each store, with its error if it could not be opened.
  public func loadPersistentStores(
    completionHandler: @escaping @Sendable (PersistentStoreDescription, (any Error)?) -> Void
  ) {
    for description in persistentStoreDescriptions {
      let open: @Sendable () -> Void = {
        do {
          try self.load(description)
          completionHandler(description, nil)
        } catch {
          completionHandler(description, error)
        }
      }
      if description.loadsAsynchronously { Task.detached { open() } } else { open() }
    }
  }

  private func load(_ description: PersistentStoreDescription) throws {
    let path = description.path
    let isFile = StoreAddress.scheme(of: path) == nil && !description.isInMemory
    // The folder of a file is made; a URL has none.
    if isFile, let slash = path.lastIndex(of: "/"), slash > path.startIndex, !description.isReadOnly {
      try Publication.makeDirectory(String(path[..<slash]))
    }
    if !description.isInMemory, !description.isReadOnly, let plan = try plan(for: description) {
      try persistentStoreCoordinator.addPersistentStore(
        type: description.type, configurationName: description.configuration, at: path, options: description.options,
        migration: plan)
      return
    }
    try persistentStoreCoordinator.addPersistentStore(
      type: description.type, configurationName: description.configuration, at: path, options: description.options,
      isReadOnly: description.isReadOnly)
  }

  private func plan(for description: PersistentStoreDescription) throws -> MigrationPlan? {
    switch description.migration {
    case .never: return nil
    case .plan(let plan): return plan
    case .versions:
      // Most stores have the model already, which opening finds out faster than a plan.
      let isOfOtherModel = try persistentStoreCoordinator.isOfOtherModel(
        type: description.type, configurationName: description.configuration, at: description.path,
        options: description.options)
      guard isOfOtherModel else { return nil }
      if let modelPath { return try MigrationPlan(versionsAt: modelPath) }
      return MigrationPlan([.inferred(to: managedObjectModel)])
    }
  }

  /// Whether the container notices what other processes save to its stores; false by default. Contexts that merge
  /// automatically merge it: ``setAutomaticallyMergesChangesFromParent(_:)``.
  public var noticesRemoteChanges: Bool {
    get { persistentStoreCoordinator.noticesRemoteChanges }
    set { persistentStoreCoordinator.noticesRemoteChanges = newValue }
  }

  /// What was saved to the container's incremental stores after a token, by any process: by store, oldest first. Atomic
  /// stores do not have a history and are left out.
  ///
  /// - Parameter token: Returns the last token that the caller knows of a store; nil for everything that it still has.
  public func changes(
    since token: (PersistentStore) -> HistoryToken?
  ) throws(PersistentStoreError) -> [(store: PersistentStore, transactions: [HistoryTransaction])] {
    var found: [(store: PersistentStore, transactions: [HistoryTransaction])] = []
    for store in persistentStoreCoordinator.persistentStores where store.hasHistory {
      found.append((store, try persistentStoreCoordinator.changes(since: token(store), in: store)))
    }
    return found
  }

  // MARK: Contexts

  /// The context of the main actor. It merges what other contexts save if
  /// ``setAutomaticallyMergesChangesFromParent(_:)`` was called.
  @MainActor
  public var viewContext: ManagedObjectContext { view.context }

  /// Lets ``viewContext`` merge what other contexts of the container save, soon after it happens.
  @MainActor
  public func setAutomaticallyMergesChangesFromParent(_ isOn: Bool) {
    if isOn {
      view.context.mergeAutomaticallyOnMainActor()
    } else {
      view.context.automaticallyMergesChangesFromParent = false
    }
  }

  /// Creates a context in its own actor, whose work runs beside other tasks.
  public func newBackgroundContext() -> BackgroundContext { BackgroundContext(persistentStoreCoordinator) }

  /// Creates a context for the caller's isolation: a function, an actor, a thread.
  public func newContext() -> ManagedObjectContext { ManagedObjectContext(persistentStoreCoordinator) }

  /// Runs a block with its own context, beside other tasks, and returns its result. The block saves what it
  /// changed.
  public func performBackgroundTask<Result: Sendable, Failure: Error>(
    _ block: @Sendable (ManagedObjectContext) throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await newBackgroundContext().perform(block)
  }
}

/// Owns the context of the main actor, which also ends there: its objects may be in use there.
@MainActor
private final class ViewContext {
  private let coordinator: PersistentStoreCoordinator
  private(set) lazy var context = ManagedObjectContext.forMainActor(coordinator)

  nonisolated init(_ coordinator: PersistentStoreCoordinator) { self.coordinator = coordinator }

  isolated deinit {}
}

public import AtomicStoreSPI
public import FoundationEssentials
public import StoreMigration

/// How a container opens one of its stores.
public struct PersistentStoreDescription: Sendable {
  /// The path of the file or directory. A relative path is resolved when the store is opened.
  public var path: String
  /// A registered name, such as `XML`; nil detects the type from the content, or for a new store from the extension.
  public var type: String?
  /// A configuration of the model: the store accepts objects of its entities only; nil for all.
  public var configuration: String?
  /// The format's options, by name.
  public var options: StoreOptions = [:]
  /// Whether the store may not be saved.
  public var isReadOnly = false
  /// What happens to a store that was written with another version of the model.
  public var migration = StoreMigration.versions
  /// Whether ``PersistentContainer/loadPersistentStores(completionHandler:)`` opens the store in its own task and
  /// returns before.
  public var loadsAsynchronously = false

  /// What happens to a store that was written with another version of the model.
  public enum StoreMigration: Sendable {
    /// It is refused.
    case never
    /// It is migrated by Core Data's rules for lightweight migration: version by version, if the container's model was
    /// read from a file with versions, and otherwise in one step. A migration that would lose data is refused. The
    /// default, as in a Core Data container.
    case versions
    /// It is migrated by a plan.
    case plan(MigrationPlan)
  }

  /// Creates a description with default settings.
  public init(path: String, type: String? = nil) {
    self.path = path
    self.type = type
  }

  /// Describes a store in the memory of this process.
  ///
  /// - Parameter name: All containers of the process that use the same name share one store; nil for a private store.
  public static func inMemory(named name: String? = nil) -> PersistentStoreDescription {
    PersistentStoreDescription(path: "memory:" + (name ?? ""), type: InMemoryStore.storeType)
  }

  /// Whether the store is in the memory of this process.
  var isInMemory: Bool {
    type.map { ScalarString($0) == ScalarString(InMemoryStore.storeType) } ?? path.hasPrefix("memory:")
  }

  /// Creates a description of a store at a file URL, or the URL of a database.
  public init(url: URL, type: String? = nil) {
    self.init(path: url.isFileURL ? url.path(percentEncoded: false) : url.absoluteString, type: type)
  }
}

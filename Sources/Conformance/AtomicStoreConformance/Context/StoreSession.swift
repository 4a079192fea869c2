import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// What a check does with a store, inside its own process: through the kit, as a program would.
struct StoreSession {
  let subject: TestedStore
  let folder: String
  /// A store that is neither read nor written: what a format keeps as long as a store is open, such as a process,
  /// serves all stores of the session.
  let held = HeldStore()

  final class HeldStore {
    var store: (any AtomicStore)?
    /// False for checks that look at what is left when a store is closed.
    var isWanted = true
  }

  /// A store that is open, with what holds it.
  struct Open {
    let coordinator: PersistentStoreCoordinator
    let store: PersistentStore
    let context: ManagedObjectContext
  }

  /// The ID that the URI of another process has in this one: a store that keeps no UUID has a new one in each, and the
  /// same references.
  func objectID(forURI uri: String, in open: Open) -> ManagedObjectID? {
    var parts = uri.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    if !subject.type.traits.keepsIdentity, parts.count > 2 { parts[2] = open.store.identifier.uuidString }
    return open.coordinator.managedObjectID(forURIRepresentation: parts.joined(separator: "/"))
  }

  func registry() throws -> StoreRegistry {
    var registry = StoreRegistry()
    try registry.register(subject.type)
    return registry
  }

  /// A model, where a store of the type cannot be opened without one: without it the model that the store carries is
  /// used.
  func needed(_ model: ModelDescription, by type: String? = nil) -> ModelDescription? {
    let all = [subject.type] + subject.others
    let format = all.first { $0.storeType == type } ?? subject.type
    return format.traits.isSelfDescribing ? nil : model
  }

  func coordinator(_ model: ModelDescription?) throws -> PersistentStoreCoordinator {
    if held.isWanted, held.store == nil, subject.fault == nil, subject.incremental == nil {
      held.store = try? subject.type.init(StoreConfiguration(path: folder + "/held"))
    }
    return PersistentStoreCoordinator(
      managedObjectModel: try model.map { try Models.frozen($0) }, registry: try registry())
  }

  func open(
    _ path: String, _ model: ModelDescription?, isReadOnly: Bool = false, options: StoreOptions = [:],
    configuration: String? = nil
  ) throws -> Open {
    let coordinator = try coordinator(model)
    let store = try coordinator.addPersistentStore(
      type: subject.type.storeType, configurationName: configuration, at: path, options: options, isReadOnly: isReadOnly
    )
    if store.isInProcess { InProcessStores.keep(coordinator) }
    return Open(coordinator: coordinator, store: store, context: ManagedObjectContext(coordinator))
  }

  /// Opens a store, and holds it while a closure uses it.
  func opened<Value>(
    _ path: String, _ model: ModelDescription?, isReadOnly: Bool = false, options: StoreOptions = [:],
    configuration: String? = nil, _ body: (Open) throws -> Value
  ) throws -> Value {
    let open = try open(path, model, isReadOnly: isReadOnly, options: options, configuration: configuration)
    return try withExtendedLifetime(open) { try body(open) }
  }

  static func name(_ object: ManagedObject) -> String {
    let id = object.objectID
    return id.reference.map { GraphText.name(id.entityName, $0) } ?? "\(id.entityName)/?"
  }

  /// All that a store holds.
  func read(_ path: String, _ model: ModelDescription?, options: StoreOptions = [:]) throws -> GraphText {
    try opened(path, model, isReadOnly: true, options: options) { open in try GraphText(open.store) }
  }

  /// As `read`; a loss that the format reports is an error: a store with losses cannot be saved or converted without
  /// permission.
  func readWithoutLoss(_ path: String, _ model: ModelDescription?, options: StoreOptions = [:]) throws -> GraphText {
    try opened(path, model, isReadOnly: true, options: options) { open in
      if let loss = open.store.loadNotes.first(where: \.isLoss) {
        throw PersistentStoreError(.modelMismatch, "read with a loss: \(loss)", at: StoreLocation(file: path))
      }
      return try GraphText(open.store)
    }
  }
}

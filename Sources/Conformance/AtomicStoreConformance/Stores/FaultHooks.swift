import AtomicStoreKit
import AtomicStoreSPI

/// What a planted fault does at each step of a store's life. Nil leaves the step as it is.
struct FaultHooks: Sendable {
  var traits: (@Sendable (inout StoreTraits) -> Void)?
  var recognize: (@Sendable (StoreProbe, Recognition) -> Recognition)?
  /// What the format is given instead of the truth.
  var configuration: (@Sendable (inout StoreConfiguration) -> Void)?
  var initialize: (@Sendable (StoreConfiguration) throws(PersistentStoreError) -> Void)?
  var metadata: (@Sendable (inout StoreMetadata, StoreSource) throws(PersistentStoreError) -> Void)?
  var inferModel: (@Sendable (StoreSource) throws(PersistentStoreError) -> Void)?
  /// Errors about the metadata that are skipped: it is made up then.
  var forgives: Set<PersistentStoreError.Code> = []
  /// What is read instead of the file.
  var source: (@Sendable (StoreSource) throws(PersistentStoreError) -> StoreSource)?
  /// Loads in the format's stead; false to leave it to the format.
  var load: (@Sendable (StoreSource, NodeTableBuilder) throws(PersistentStoreError) -> Bool)?
  /// The value of a slot that was deferred: slot, node, its table, path of the store.
  var supplied: (@Sendable (Int, NodeHandle, NodeTable, String) throws(PersistentStoreError) -> StoredValue)?
  var writesDeferredValues = false
  var swallowsLoadErrors = false
  /// What else is put into the table when the format has loaded.
  var afterLoad: (@Sendable (StoreSource, NodeTableBuilder) throws(PersistentStoreError) -> Void)?
  /// Puts what the format loaded, or failed to load, into the table that the kit gets.
  var loaded:
    (@Sendable (Result<NodeTable, PersistentStoreError>, NodeTableBuilder) throws(PersistentStoreError) -> Void)?
  /// Whether references to missing objects are left out before ``loaded``: by object and property
  /// (`Employee/3.department`), what they lead to (`Department/99`).
  var leavesOut: (@Sendable (_ owner: String, _ links: [String], NodeTable) -> Bool)?
  var newReference:
    (
      @Sendable (ManagedObjectSnapshot, NodeTable, inout StoreMetadata) throws(PersistentStoreError) -> ReferenceObject?
    )?
  var newObject: (@Sendable (inout ManagedObjectSnapshot, ManagedObjectModel) -> Void)?
  /// What else happens when a node was made.
  var newNode: (@Sendable (ManagedObjectSnapshot, NodeHandle, inout NodeTable) throws(PersistentStoreError) -> Void)?
  var updatedObject: (@Sendable (inout ManagedObjectSnapshot, ManagedObjectModel) -> Void)?
  var removed: (@Sendable ([NodeHandle], inout NodeTable) -> Void)?
  /// What each attribute's value is written as.
  var savedValue: (@Sendable (StoredValue, AttributeType) -> StoredValue)?
  var saved: (@Sendable (inout StoreSnapshot) throws(PersistentStoreError) -> Void)?
  var savedAt: (@Sendable (inout StoreSnapshot, StoreConfiguration) throws(PersistentStoreError) -> Void)?
  var beforeSave: (@Sendable (StoreSnapshot, StoreConfiguration) throws(PersistentStoreError) -> Void)?
  var afterSave: (@Sendable (StoreSnapshot, StoreConfiguration) throws(PersistentStoreError) -> Void)?
  /// What an error of the format's save is reported as.
  var saveError: (@Sendable (PersistentStoreError) -> PersistentStoreError)?
  /// What the file's bytes become, for formats of one file.
  var bytes: (@Sendable ([UInt8]) -> [UInt8])?
  var willRemove: (@Sendable (StoreConfiguration) -> Void)?
  /// For mistakes of the kit itself, which no store can make: what it would have called.
  var calls: (@Sendable ([SpyCall]) -> [SpyCall])?
  /// The same, for what its comparison would have found.
  var compared: (@Sendable ([GraphDifference]) -> [GraphDifference])?
  /// Told whether there is a coordinator.
  var removal: (@Sendable (StoreConfiguration, Bool) -> Void)?
  var storeType: (@Sendable (String) -> String)?
  /// Told of an error that ends a load.
  var loadFailed: (@Sendable (PersistentStoreError) -> Void)?

  var isAboutSaving: Bool {
    savedValue != nil || saved != nil || savedAt != nil || beforeSave != nil || afterSave != nil || saveError != nil
      || bytes != nil
  }

  /// Whether a store that is in memory only can make the mistake: its `load` and `save` are never called.
  var worksInMemory: Bool {
    newReference != nil || newObject != nil || newNode != nil || updatedObject != nil || savedValue != nil
      || saved != nil
  }

  // Set once, by the process that runs one check, before anything of the store is touched; that process has one thread
  // that looks at it.
  nonisolated(unsafe) static var current = FaultHooks()
}

/// A mistake that stores make, and what it is called.
struct Fault: Sendable {
  let name: String
  /// What the store does wrong.
  let text: String
  /// Mistakes that the system calls make, as bits of `csf_mistake`.
  var mistakes: Int32 = 0
  var hooks = FaultHooks()
  /// What an incremental store does wrong; nil for a mistake of atomic ones.
  var incremental: IncrementalFaultHooks?

  init(_ name: String, _ text: String, mistakes: Int32 = 0, _ set: (inout FaultHooks) -> Void = { _ in }) {
    self.name = name
    self.text = text
    self.mistakes = mistakes
    set(&hooks)
  }

  /// A mistake of incremental stores.
  static func incremental(
    _ name: String, _ text: String, _ set: (inout IncrementalFaultHooks) -> Void
  ) -> Fault {
    var fault = Fault(name, text)
    var hooks = IncrementalFaultHooks()
    set(&hooks)
    fault.incremental = hooks
    return fault
  }
}

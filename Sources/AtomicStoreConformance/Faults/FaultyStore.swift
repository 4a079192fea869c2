import AtomicStoreKit
import AtomicStoreSPI

/// A store with a mistake planted in it: round any other, doing everything as that one does but for the mistake.
struct FaultyStore<Base: AtomicStore>: AtomicStore {
  private var base: Base
  private let configuration: StoreConfiguration

  static var storeType: String { FaultHooks.current.storeType?(Base.storeType) ?? Base.storeType }
  static var traits: StoreTraits { FaultHooks.current.traits?(Base.traits) ?? Base.traits }
  var traits: StoreTraits { FaultHooks.current.traits?(base.traits) ?? base.traits }
  var layout: StoreLayout { base.layout }

  static func recognize(_ probe: StoreProbe) -> Recognition {
    let answer = Base.recognize(probe)
    return FaultHooks.current.recognize?(probe, answer) ?? answer
  }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    var configuration = configuration
    FaultHooks.current.configuration?(&configuration)
    self.configuration = configuration
    try FaultHooks.current.initialize?(configuration)
    base = try Base(configuration)
  }

  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    let read: StoreMetadata
    do throws(PersistentStoreError) { read = try base.metadata(in: try FaultHooks.current.source?(source) ?? source) } catch {
      guard FaultHooks.current.forgives.contains(error.code) else { throw error }
      return StoreMetadata(storeType: Base.storeType)
    }
    return try FaultHooks.current.metadata?(read, source) ?? read
  }

  mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    try FaultHooks.current.inferModel?(source)
    return try base.inferModel(from: source)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    let hooks = FaultHooks.current
    if let replaced = hooks.load, try replaced(source, nodes) { return }
    let source = try hooks.source?(source) ?? source
    if let loaded = hooks.loaded {
      let inner = NodeTableBuilder(model: nodes.model, file: nodes.file)
      let result: Result<NodeTable, PersistentStoreError>
      do throws(PersistentStoreError) {
        try base.load(source, into: inner)
        result = .success(try inner.finish())
      } catch { result = .failure(error) }
      return try loaded(result, nodes)
    }
    do throws(PersistentStoreError) { try base.load(source, into: nodes) } catch {
      hooks.loadFailed?(error)
      guard hooks.swallowsLoadErrors else { throw error }
    }
    try hooks.afterLoad?(source, nodes)
  }

  var writesDeferredValues: Bool { base.writesDeferredValues }

  mutating func value(slot: Int, of node: NodeHandle, in nodes: NodeTable) throws(PersistentStoreError) -> StoredValue {
    try base.value(slot: slot, of: node, in: nodes)
  }

  mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    if let reference = try FaultHooks.current.newReference?(object, nodes, &metadata) { return reference }
    return try base.newReferenceObject(for: object, in: nodes, metadata: &metadata)
  }

  mutating func newCacheNode(
    for object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> NodeHandle {
    let object = FaultHooks.current.newObject?(object, nodes.model) ?? object
    let node = try base.newCacheNode(for: object, in: &nodes)
    try FaultHooks.current.newNode?(object, node, &nodes)
    return node
  }

  mutating func updateCacheNode(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) {
    let object = FaultHooks.current.updatedObject?(object, nodes.model) ?? object
    try base.updateCacheNode(node, from: object, in: &nodes)
  }

  mutating func willRemoveCacheNodes(_ removed: [NodeHandle], from nodes: inout NodeTable) {
    base.willRemoveCacheNodes(removed, from: &nodes)
    FaultHooks.current.removed?(removed, &nodes)
  }

  func selection(from snapshot: StoreSnapshot) throws(PersistentStoreError) -> StoreSelection? {
    try base.selection(from: snapshot)
  }

  mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to staged: StagedFiles
  ) throws(PersistentStoreError) -> Bool {
    // A mistake in saving is one whatever is saved.
    guard !FaultHooks.current.isAboutSaving else { return false }
    return try base.saveMetadata(metadata, in: source, to: staged)
  }

  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    let hooks = FaultHooks.current
    var snapshot = snapshot
    if let change = hooks.savedValue { try Self.change(&snapshot.nodes, change) }
    try hooks.saved?(&snapshot)
    try hooks.savedAt?(&snapshot, configuration)
    try hooks.beforeSave?(snapshot, configuration)
    if let change = hooks.bytes, base.layout == .file {
      // Written beside first, to have the bytes.
      let beside = try StagedStore(target: configuration.path + ".faulty", layout: .file, policy: .replaceAny)
      try base.save(snapshot, to: beside.files)
      try beside.finish()
      let bytes = try beside.sourceForVerification(name: "faulty").bytes().withUnsafeBytes { Array($0) }
      try staged.file().write(change(bytes))
    } else {
      do throws(PersistentStoreError) { try base.save(snapshot, to: staged) } catch { throw hooks.saveError?(error) ?? error }
    }
    try hooks.afterSave?(snapshot, configuration)
  }

  private static func change(
    _ nodes: inout NodeTable, _ change: (StoredValue, AttributeType) -> StoredValue
  ) throws(PersistentStoreError) {
    for entity in nodes.model.entities where !entity.isAbstract {
      for row in 0..<nodes.count(of: entity.index) {
        let node = NodeHandle(entity: entity.index, row: row)
        for slot in entity.slots {
          guard let attribute = slot.attribute else { continue }
          let value = nodes.value(slot: slot.index, of: node)
          let changed = change(value, attribute.type)
          if !changed.isIdentical(to: value) { try nodes.set(changed, slot: slot.index, of: node) }
        }
      }
    }
  }

  mutating func willRemove(from coordinator: (any StoreCoordinating)?) {
    base.willRemove(from: coordinator)
    FaultHooks.current.willRemove?(configuration)
    FaultHooks.current.removal?(configuration, coordinator != nil)
  }
}

/// What a planted fault does at each step of a store's life. Nil leaves the step as it is.
struct FaultHooks: Sendable {
  var traits: (@Sendable (StoreTraits) -> StoreTraits)?
  var recognize: (@Sendable (StoreProbe, Recognition) -> Recognition)?
  /// What else the format is told than it was.
  var configuration: (@Sendable (inout StoreConfiguration) -> Void)?
  var initialize: (@Sendable (StoreConfiguration) throws(PersistentStoreError) -> Void)?
  var metadata: (@Sendable (StoreMetadata, StoreSource) throws(PersistentStoreError) -> StoreMetadata)?
  var inferModel: (@Sendable (StoreSource) throws(PersistentStoreError) -> Void)?
  /// Errors about the metadata that are passed over: it is made up then.
  var forgives: Set<PersistentStoreError.Code> = []
  /// What is read instead of the file.
  var source: (@Sendable (StoreSource) throws(PersistentStoreError) -> StoreSource)?
  /// Loads in the format's stead; false to leave it to the format.
  var load: (@Sendable (StoreSource, NodeTableBuilder) throws(PersistentStoreError) -> Bool)?
  var swallowsLoadErrors = false
  /// What else is put into the table when the format has loaded.
  var afterLoad: (@Sendable (StoreSource, NodeTableBuilder) throws(PersistentStoreError) -> Void)?
  /// Puts what the format loaded, or failed to load, into the table that the kit gets.
  var loaded: (@Sendable (Result<NodeTable, PersistentStoreError>, NodeTableBuilder) throws(PersistentStoreError) -> Void)?
  var newReference: (@Sendable (ManagedObjectSnapshot, NodeTable, inout StoreMetadata) throws(PersistentStoreError) -> ReferenceObject?)?
  var newObject: (@Sendable (ManagedObjectSnapshot, ManagedObjectModel) -> ManagedObjectSnapshot)?
  /// What else happens when a node was made.
  var newNode: (@Sendable (ManagedObjectSnapshot, NodeHandle, inout NodeTable) throws(PersistentStoreError) -> Void)?
  var updatedObject: (@Sendable (ManagedObjectSnapshot, ManagedObjectModel) -> ManagedObjectSnapshot)?
  var removed: (@Sendable ([NodeHandle], inout NodeTable) -> Void)?
  /// What each attribute's value is written as.
  var savedValue: (@Sendable (StoredValue, AttributeType) -> StoredValue)?
  var saved: (@Sendable (inout StoreSnapshot) throws(PersistentStoreError) -> Void)?
  var savedAt: (@Sendable (inout StoreSnapshot, StoreConfiguration) throws(PersistentStoreError) -> Void)?
  var beforeSave: (@Sendable (StoreSnapshot, StoreConfiguration) throws(PersistentStoreError) -> Void)?
  var afterSave: (@Sendable (StoreSnapshot, StoreConfiguration) throws(PersistentStoreError) -> Void)?
  /// What an error of the format's save is told as.
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
    savedValue != nil || saved != nil || savedAt != nil || beforeSave != nil || afterSave != nil || saveError != nil || bytes != nil
  }

  // Set once, by the process that runs one check, before anything of the store is touched; that process has one thread that
  // looks at it.
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

  init(_ name: String, _ text: String, mistakes: Int32 = 0, _ set: (inout FaultHooks) -> Void = { _ in }) {
    self.name = name
    self.text = text
    self.mistakes = mistakes
    set(&hooks)
  }
}

/// All the faults that can be planted: what the harness is held to.
enum Faults {
  static let all: [Fault] = [
    values,
    moreValues,
    relationships,
    ends,
    references,
    changes,
    schema,
    initialisation,
    metadata,
    loading,
    removal,
    registration,
    concurrency,
    hostileXML,
    hostilePropertyList,
    hostileCSV,
    saving,
    hostile,
    scale,
    conversion,
    traits,
    crafted,
  ].flatMap { $0 }

  /// - Parameter subject: What has faults of its own; nil for what this process serves.
  static func named(_ name: String, _ subject: ConformanceSubject? = nil) -> Fault? {
    all.first { $0.name == name } ?? (subject ?? WorkerServer.served)?.ownFaults.first { $0.name == name }
  }

  /// The format with the fault in it; nil for a name that is none.
  static func plant(_ name: String, in subject: ConformanceSubject) -> (any AtomicStore.Type)? {
    guard let fault = named(name, subject) else { return nil }
    FaultHooks.current = fault.hooks
    func wrapped<Base: AtomicStore>(_: Base.Type) -> any AtomicStore.Type { FaultyStore<Base>.self }
    return wrapped(subject.type)
  }
}

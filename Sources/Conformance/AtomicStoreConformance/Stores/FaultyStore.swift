import AtomicStoreKit
import AtomicStoreSPI

extension FaultHooks {
  /// A format with the hooks of this process round it, once.
  static func wrapped(_ type: any AtomicStore.Type) -> any AtomicStore.Type {
    if type is any HookedStore.Type { return type }
    func wrapped<Base: AtomicStore>(_: Base.Type) -> any AtomicStore.Type { FaultyStore<Base>.self }
    return wrapped(type)
  }
}

/// A type that calls the hooks of its process already.
private protocol HookedStore: AtomicStore {}

/// A store with a mistake planted in it: round any other, doing everything as that one does except for the mistake.
struct FaultyStore<Base: AtomicStore>: AtomicStore, HookedStore {
  private var base: Base
  private let configuration: StoreConfiguration

  static var storeType: String { FaultHooks.current.storeType?(Base.storeType) ?? Base.storeType }
  static var traits: StoreTraits { changed(Base.traits) }
  var traits: StoreTraits { Self.changed(base.traits) }
  private static func changed(_ traits: StoreTraits) -> StoreTraits {
    var traits = traits
    FaultHooks.current.traits?(&traits)
    return traits
  }
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
    Spy.note(.metadata)
    var read: StoreMetadata
    do throws(PersistentStoreError) {
      read = try base.metadata(in: try FaultHooks.current.source?(source) ?? source)
    } catch {
      guard FaultHooks.current.forgives.contains(error.code) else { throw error }
      return StoreMetadata(storeType: Base.storeType)
    }
    try FaultHooks.current.metadata?(&read, source)
    return read
  }

  mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    try FaultHooks.current.inferModel?(source)
    return try base.inferModel(from: source)
  }

  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    Spy.note(.load)
    let hooks = FaultHooks.current
    if let replaced = hooks.load, try replaced(source, nodes) { return }
    let source = try hooks.source?(source) ?? source
    if let loaded = hooks.loaded {
      let inner = NodeTableBuilder(model: nodes.model, file: nodes.file)
      if hooks.leavesOut != nil { inner.rules.danglingReferences = .keepAsText }
      let result: Result<NodeTable, PersistentStoreError>
      do throws(PersistentStoreError) {
        try base.load(source, into: inner)
        let nodes = try inner.finish()
        for (owner, links) in inner.keptReferences where !(hooks.leavesOut?(owner, links, nodes) ?? true) {
          throw PersistentStoreError(.danglingReference, "\(owner): \(links[0]) does not exist")
        }
        result = .success(nodes)
      } catch { result = .failure(error) }
      return try loaded(result, nodes)
    }
    do throws(PersistentStoreError) { try base.load(source, into: nodes) } catch {
      hooks.loadFailed?(error)
      guard hooks.swallowsLoadErrors else { throw error }
    }
    try hooks.afterLoad?(source, nodes)
  }

  var writesDeferredValues: Bool { FaultHooks.current.writesDeferredValues || base.writesDeferredValues }

  mutating func value(slot: Int, of node: NodeHandle, in nodes: NodeTable) throws(PersistentStoreError) -> StoredValue {
    if let supplied = FaultHooks.current.supplied { return try supplied(slot, node, nodes, configuration.path) }
    return try base.value(slot: slot, of: node, in: nodes)
  }

  mutating func newReferenceObject(
    for object: ManagedObjectSnapshot, in nodes: NodeTable, metadata: inout StoreMetadata
  ) throws(PersistentStoreError) -> ReferenceObject {
    let reference: ReferenceObject
    if let planted = try FaultHooks.current.newReference?(object, nodes, &metadata) {
      reference = planted
    } else {
      reference = try base.newReferenceObject(for: object, in: nodes, metadata: &metadata)
    }
    Spy.note(.newReference, ["\(nodes.model.entity(at: object.entity).name)/\(reference)"])
    return reference
  }

  mutating func newCacheNode(
    for object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) -> NodeHandle {
    let count = nodes.count
    var given = object
    FaultHooks.current.newObject?(&given, nodes.model)
    let node = try base.newCacheNode(for: given, in: &nodes)
    try FaultHooks.current.newNode?(given, node, &nodes)
    try keepAsWritten(node, in: &nodes)
    Spy.noteNew(node, from: object, in: &nodes, countBefore: count)
    return node
  }

  mutating func updateCacheNode(
    _ node: NodeHandle, from object: ManagedObjectSnapshot, in nodes: inout NodeTable
  ) throws(PersistentStoreError) {
    let isSame = nodes.reference(of: node) == object.reference && node.entity == object.entity
    Spy.note(
      .update, [nodes.objectReference(of: node).description],
      isSame ? nil : "the object is \(object.reference.map(\.description) ?? "without a reference")")
    var object = object
    FaultHooks.current.updatedObject?(&object, nodes.model)
    try base.updateCacheNode(node, from: object, in: &nodes)
    try keepAsWritten(node, in: &nodes)
  }

  /// A store in memory is never saved to a file: what a mistake would write of a node becomes the node.
  private func keepAsWritten(_ node: NodeHandle, in nodes: inout NodeTable) throws(PersistentStoreError) {
    let hooks = FaultHooks.current
    guard Base.traits.isInProcess, hooks.savedValue != nil || hooks.saved != nil else { return }
    var written = StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: Base.storeType))
    if let change = hooks.savedValue { try Self.change(&written.nodes, change) }
    try hooks.saved?(&written)
    guard let kept = written.nodes.handle(for: nodes.reference(of: node), entity: node.entity) else { return }
    for slot in nodes.model.entity(at: node.entity).slots {
      let value = written.nodes.value(slot: slot.index, of: kept)
      guard !value.isIdentical(to: nodes.value(slot: slot.index, of: node)) else { continue }
      try nodes.set(value, slot: slot.index, of: node)
    }
  }

  mutating func willRemoveCacheNodes(_ removed: [NodeHandle], from nodes: inout NodeTable) {
    Spy.noteRemoval(removed, from: nodes)
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
    guard !FaultHooks.current.isAboutSaving, !Spy.isListening else { return false }
    return try base.saveMetadata(metadata, in: source, to: staged)
  }

  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    Spy.note(.save)
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
      do throws(PersistentStoreError) { try base.save(snapshot, to: staged) } catch {
        throw hooks.saveError?(error) ?? error
      }
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

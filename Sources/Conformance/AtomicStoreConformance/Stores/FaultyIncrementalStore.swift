import AtomicStoreSPI

/// An incremental store with a mistake planted in it: round any other, doing everything as that one does except for the
/// mistake.
struct FaultyIncrementalStore<Base: IncrementalStore>: IncrementalStore {
  private var target: FaultTarget
  private var hooks: IncrementalFaultHooks { IncrementalFaultHooks.current }

  static var storeType: String { Base.storeType }
  static var traits: StoreTraits { Base.traits }
  static var urlSchemes: [String] { Base.urlSchemes }
  static func recognize(_ probe: StoreProbe) -> Recognition {
    let answer = Base.recognize(probe)
    return IncrementalFaultHooks.current.recognize?(probe, answer) ?? answer
  }

  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    var configuration = configuration
    IncrementalFaultHooks.current.configuration?(&configuration)
    target = FaultTarget(store: try Base(configuration), configuration: configuration)
  }

  mutating func metadata() throws(PersistentStoreError) -> StoreMetadata? {
    var found: StoreMetadata?
    var failure: PersistentStoreError?
    do throws(PersistentStoreError) { found = try target.store.metadata() } catch { failure = error }
    if let hook = hooks.metadata {
      try hook(target.configuration, &found, failure)
    } else if let failure {
      throw failure
    }
    return found
  }

  mutating func create(_ metadata: StoreMetadata, for model: ManagedObjectModel) throws(PersistentStoreError) {
    var metadata = metadata
    try hooks.create?(&target, &metadata, model)
    try target.store.create(metadata, for: model)
    target.model = model
    hooks.created?(target.configuration)
  }

  mutating func prepare(for model: ManagedObjectModel) throws(PersistentStoreError) {
    target.model = model
    try target.store.prepare(for: model)
  }

  mutating func fetch(_ request: StoreFetch) throws(PersistentStoreError) -> StoreFetchResult {
    var changed = request
    hooks.request?(&changed)
    var result = try target.store.fetch(changed)
    try hooks.fetched?(&target, request, &result)
    changeRows(&result.rows)
    return result
  }

  private func changeRows(_ rows: inout [StoreRow]) {
    guard let hook = hooks.row, let model = target.model else { return }
    for index in rows.indices { hook(&rows[index], model) }
  }

  mutating func count(_ request: StoreFetch) throws(PersistentStoreError) -> Int? {
    var changed = request
    hooks.request?(&changed)
    let count = try target.store.count(changed)
    guard let hook = hooks.counted else { return count }
    return try hook(&target, request, count)
  }

  func answer(to request: StoreFetch) -> FetchAnswer {
    let answer = target.store.answer(to: request)
    return hooks.answer?(answer, request) ?? answer
  }

  mutating func update(_ change: StoreUpdate) throws(PersistentStoreError) -> [ObjectReference]? {
    var changed = change
    hooks.update?(&changed)
    var objects = try target.store.update(changed)
    hooks.updated?(&objects)
    return objects
  }

  mutating func delete(_ change: StoreUpdate) throws(PersistentStoreError) -> (
    deleted: [ObjectReference], updated: [ObjectReference]
  )? {
    var changed = change
    hooks.deletion?(&changed)
    guard var objects = try target.store.delete(changed) else { return nil }
    hooks.deleted?(&objects.deleted)
    return objects
  }

  mutating func groups(_ request: StoreGrouping) throws(PersistentStoreError) -> [StoreGroup]? {
    var changed = request
    hooks.request?(&changed.rows)
    hooks.grouping?(&changed)
    var groups = try target.store.groups(changed)
    hooks.groups?(request, &groups)
    return groups
  }

  func answer(to request: StoreGrouping) -> FetchAnswer { target.store.answer(to: request) }

  mutating func rows(_ references: [ReferenceObject], root: Int) throws(PersistentStoreError) -> [StoreRow] {
    var rows = try target.store.rows(references, root: root)
    try hooks.rows?(&target, references, root, &rows)
    changeRows(&rows)
    return rows
  }

  mutating func related(
    _ owners: [ReferenceObject], slot: Int, entity: Int
  ) throws(PersistentStoreError) -> [[ObjectReference]] {
    var lists = try target.store.related(owners, slot: slot, entity: entity)
    if let hook = hooks.related, let owner = target.model?.entity(at: entity) {
      try hook(&target, owner.slots[slot], owner, &lists)
    }
    return lists
  }

  mutating func newReferences(_ count: Int, entity: Int) throws(PersistentStoreError) -> [ReferenceObject] {
    guard let hook = hooks.newReferences else { return try target.store.newReferences(count, entity: entity) }
    return try hook(&target, count, entity)
  }

  mutating func save(_ changes: StoreSave) throws(PersistentStoreError) -> StoreSaveAnswer {
    var changes = changes
    if let hook = hooks.savedValue, let model = target.model {
      for index in changes.inserted.indices { changes.inserted[index].mapAttributes(model, hook) }
      for index in changes.updated.indices { changes.updated[index].mapAttributes(model, hook) }
    }
    try hooks.saved?(&target, &changes)
    guard let hook = hooks.save else { return try target.store.save(changes) }
    return try hook(&target, changes)
  }

  mutating func load(into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    if let hook = hooks.load { return try hook(&target, nodes) }
    guard let hook = hooks.loaded else { return try target.store.load(into: nodes) }
    let inner = NodeTableBuilder(model: nodes.model, file: nodes.file)
    try target.store.load(into: inner)
    try add(try inner.finish(), to: nodes, hook)
  }

  mutating func load(into nodes: NodeTableBuilder, only columns: NeededColumns) throws(PersistentStoreError) {
    guard let hook = hooks.columnsLoaded else { return try target.store.load(into: nodes, only: columns) }
    let inner = NodeTableBuilder(model: nodes.model, file: nodes.file)
    try target.store.load(into: inner, only: columns)
    try add(try inner.finish(), to: nodes, hook)
  }

  private func add(
    _ found: NodeTable, to nodes: NodeTableBuilder,
    _ hook: (inout NodeTable) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    var table = found
    try hook(&table)
    try nodes.add(table)
  }

  mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let ignores = hooks.ignoresVerification
    if hooks.keepsReplaced, mayReplace, try target.store.metadata() != nil { return }
    let may = hooks.mayReplace?(mayReplace) ?? mayReplace
    if ignores {
      try target.store.replaceAll(with: snapshot, mayReplace: may) { _ in }
    } else {
      try target.store.replaceAll(with: snapshot, mayReplace: may, verify: verify)
    }
    target.model = snapshot.nodes.model
    hooks.created?(target.configuration)
  }

  /// Without this fault, replacements are read back, so that other faults are seen.
  mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool, willVerify: () -> Void,
    compare: (StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool {
    guard hooks.ignoresComparison else { return false }
    let isDone = try target.store.replaceAll(with: snapshot, mayReplace: mayReplace, willVerify: willVerify) { _ in }
    if isDone { target.model = snapshot.nodes.model }
    return isDone
  }

  mutating func setMetadata(_ metadata: StoreMetadata) throws(PersistentStoreError) {
    guard !hooks.ignoresSetMetadata else { return }
    try target.store.setMetadata(metadata)
  }

  mutating func changes(since token: HistoryToken?) throws(PersistentStoreError) -> [HistoryTransaction] {
    var found = try target.store.changes(since: token)
    hooks.history?(&target, token, &found)
    return found
  }

  mutating func currentHistoryToken() throws(PersistentStoreError) -> HistoryToken? {
    let token = try target.store.currentHistoryToken()
    guard let hook = hooks.token else { return token }
    return hook(&target, token)
  }

  var lastSavedToken: HistoryToken? {
    let token = target.store.lastSavedToken
    guard let hook = hooks.savedToken else { return token }
    return hook(target, token)
  }

  var comparesTransactions: Bool { target.store.comparesTransactions }
  var instance: String? { target.store.instance }

  mutating func hasHistory(since token: HistoryToken) throws(PersistentStoreError) -> Bool {
    try target.store.hasHistory(since: token)
  }
  mutating func deleteHistory(before token: HistoryToken) throws(PersistentStoreError) {
    guard let hook = hooks.deleteHistory else { return try target.store.deleteHistory(before: token) }
    try hook(&target, token)
  }

  mutating func destroy() throws(PersistentStoreError) {
    guard let hook = hooks.destroy else { return try target.store.destroy() }
    try hook(&target)
  }

  mutating func close() { target.store.close() }
}

extension ManagedObjectSnapshot {
  /// Replaces the values of attributes.
  mutating func mapAttributes(_ model: ManagedObjectModel, _ change: (StoredValue, AttributeType) -> StoredValue) {
    let slots = model.entity(at: entity).slots
    for slot in values.slots {
      guard let type = slots[slot].attributeType, let value = values[slot] else { continue }
      values[slot] = change(value, type)
    }
  }
}

extension NodeTableBuilder {
  /// Adds all nodes of a table.
  func add(_ table: NodeTable) throws(PersistentStoreError) {
    for entity in model.entities where !entity.isAbstract {
      for node in table.handles(of: entity.index) {
        try beginNode(entity: entity.index, reference: table.reference(of: node))
        for slot in entity.slots {
          let value = table.value(slot: slot.index, of: node)
          if !value.isNull { try set(value, slot: slot.index) }
        }
      }
    }
  }
}

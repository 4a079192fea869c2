import AtomicStoreSPI

/// A database in one file: a journal of transactions. Each connection has the objects in memory, and reads what was
/// appended since whenever it is called.
///
/// Several connections, in this process and in others, may use one file. Each call locks it: for reading together with
/// others, for writing alone.
public struct JSONLinesStore: IncrementalStore {
  public static let storeType = "JSONLines"
  public static let traits = StoreTraits(
    summary: "A journal of transactions in one file", fileExtensions: ["jsonl", "ndjson"])

  public static func recognize(_ probe: StoreProbe) -> Recognition {
    probe.begins(with: Journal.magic) ? .yes : .no
  }

  private var journal: Journal
  private let depth: Int
  /// What was read so far. It has no objects before ``prepare(for:)``, but the metadata.
  private var graph = Graph(model: nil)
  /// The part of the journal that ``graph`` has.
  private var read = Journal.Extent(start: 0, end: 0)
  /// The store's own model, as it was when this connection was prepared.
  private var preparedModel: ModelDescription?

  public init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {
    journal = Journal(path: configuration.path, isReadOnly: configuration.isReadOnly)
    depth = configuration.limits.depth
  }

  // MARK: Opening

  public mutating func metadata() throws(PersistentStoreError) -> StoreMetadata? {
    guard try journal.open(creates: false) else { return nil }
    try journal.lock(alone: false)
    defer { journal.unlock() }
    guard try journal.extent() != nil else { return nil }
    try catchUp()
    return graph.metadata
  }

  public mutating func create(
    _ metadata: StoreMetadata, for model: ManagedObjectModel
  ) throws(PersistentStoreError) {
    try requireWritable()
    _ = try journal.open(creates: true)
    try journal.lock(alone: true)
    defer { journal.unlock() }
    guard try journal.extent() == nil else { throw exists }
    try journal.begin()
    var record = Record(number: 1)
    record.isReset = true
    record.set(metadata)
    try append(record)
  }

  public mutating func prepare(for model: ManagedObjectModel) throws(PersistentStoreError) {
    // What was read so far had no objects.
    graph = Graph(model: model)
    read = Journal.Extent(start: 0, end: 0)
    preparedModel = nil
    try reading()
    journal.unlock()
    preparedModel = graph.metadata?.model
  }

  public mutating func close() { journal.close() }

  public mutating func destroy() throws(PersistentStoreError) {
    try requireWritable()
    try journal.remove()
    graph = Graph(model: graph.model)
  }

  // MARK: Reading

  public mutating func fetch(_ request: StoreFetch) throws(PersistentStoreError) -> StoreFetchResult {
    try reading()
    defer { journal.unlock() }
    var rows: [StoreRow] = []
    for entity in request.entities {
      for reference in graph.references(of: entity) { rows += graph.row(of: reference, entity: entity) }
    }
    return StoreFetchResult(answer(to: request), rows: rows)
  }

  /// The kit itself applies conditions, orders and limits to the rows of the entities.
  public func answer(to request: StoreFetch) -> FetchAnswer {
    isPlain(request) && request.sortKeys.isEmpty
      ? .exact : .inMemory("the store returns all objects of the entities, in the order of their references")
  }

  public mutating func count(_ request: StoreFetch) throws(PersistentStoreError) -> Int? {
    guard isPlain(request) else { return nil }
    try reading()
    defer { journal.unlock() }
    return request.entities.reduce(0) { $0 + graph.count(of: $1) }
  }

  private func isPlain(_ request: StoreFetch) -> Bool {
    request.predicate == nil && request.limit == nil && request.offset == 0
  }

  public mutating func rows(
    _ references: [ReferenceObject], root: Int
  ) throws(PersistentStoreError) -> [StoreRow] {
    try reading()
    defer { journal.unlock() }
    return references.flatMap { graph.row(of: $0, entity: root) }
  }

  public mutating func related(
    _ owners: [ReferenceObject], slot: Int, entity: Int
  ) throws(PersistentStoreError) -> [[ObjectReference]] {
    try reading()
    defer { journal.unlock() }
    return owners.map { graph.list(slot, of: graph.key($0, entity: entity)) }
  }

  public mutating func load(into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    try reading()
    defer { journal.unlock() }
    try graph.load(into: nodes)
  }

  // MARK: Writing

  public mutating func newReferences(
    _ count: Int, entity: Int
  ) throws(PersistentStoreError) -> [ReferenceObject] {
    try writing()
    defer { journal.unlock() }
    let last = graph.metadata?.lastReference ?? 0
    let (next, overflow) = last.addingReportingOverflow(Int64(count))
    guard !overflow else { throw PersistentStoreError(.limitExceeded, "no integer is left for \(count) references") }
    var record = Record(number: graph.number + 1)
    record.lastReference = next
    try append(record)
    return (0..<Int64(count)).map { .integer(last + 1 + $0) }
  }

  public mutating func save(_ changes: StoreSave) throws(PersistentStoreError) -> StoreSaveAnswer {
    try writing()
    defer { journal.unlock() }
    guard changes.lastTransaction ?? 0 == 0, let metadata = graph.metadata,
      changes.lastReference ?? metadata.lastReference == metadata.lastReference,
      changes.previousMetadataEntries ?? metadata.entries == metadata.entries
    else { return .overtaken }
    var plan = SavePlan(graph)
    guard try plan.add(changes) else { return .overtaken }
    try append(plan.record(setting: changes.metadataEntries))
    return .saved(versions: plan.versions)
  }

  public mutating func setMetadata(_ metadata: StoreMetadata) throws(PersistentStoreError) {
    try writing()
    defer { journal.unlock() }
    var record = Record(number: graph.number + 1)
    record.set(metadata)
    record.lastReference = max(metadata.lastReference, graph.metadata?.lastReference ?? 0)
    try append(record)
  }

  public mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    try requireWritable()
    _ = try journal.open(creates: true)
    try journal.lock(alone: true)
    defer { journal.unlock() }
    let isThere = try journal.extent() != nil
    guard mayReplace || !isThere else { throw exists }
    // The versions of the new rows go on after those of the previous ones.
    if isThere { try catchUp() } else { graph.number = 0 }
    let record = Record(whole: snapshot, number: graph.number + 1)
    let bytes = try record.bytes(of: snapshot.nodes.model)
    // What is verified is what these bytes are read as.
    var new = Graph(model: snapshot.nodes.model)
    new.apply(try Record(bytes, snapshot.nodes.model, depth: depth))
    try verify { (nodes) throws(PersistentStoreError) in
      try new.load(into: nodes)
      return new.metadata ?? snapshot.metadata
    }
    if !isThere { try journal.begin() }
    read = try journal.append(bytes, startsHere: true)
    graph = new
    preparedModel = new.metadata?.model
  }

  // MARK: The journal

  private var exists: PersistentStoreError { PersistentStoreError(.alreadyExists, "there is a store already") }

  private func requireWritable() throws(PersistentStoreError) {
    if journal.isReadOnly { throw PersistentStoreError(.readOnly, "the store is open read-only") }
  }

  /// Locks the journal and reads what was appended since the last call. The caller unlocks it.
  private mutating func reading() throws(PersistentStoreError) {
    try journal.lock(alone: false)
    try catchUpOrUnlock()
  }
  private mutating func writing() throws(PersistentStoreError) {
    try requireWritable()
    try journal.lock(alone: true)
    try catchUpOrUnlock()
  }
  private mutating func catchUpOrUnlock() throws(PersistentStoreError) {
    do throws(PersistentStoreError) { try catchUp() } catch {
      journal.unlock()
      throw error
    }
  }

  private mutating func catchUp() throws(PersistentStoreError) {
    guard let now = try journal.extent() else {
      throw PersistentStoreError(.unavailable, "the store does not exist any more")
    }
    if now.start != read.start { read = Journal.Extent(start: now.start, end: now.start) }
    while read.end < now.end {
      let (bytes, end) = try journal.record(at: read.end, until: now.end)
      let record: Record
      do throws(PersistentStoreError) { record = try Record(bytes, graph.model, depth: depth) } catch {
        throw error.located(StoreLocation(file: journal.path, offset: read.end))
      }
      if let preparedModel, record.isReset, record.model != preparedModel {
        throw PersistentStoreError(
          .modelMismatch, "the store was replaced by one with another model since it was opened: open it again")
      }
      graph.apply(record)
      read.end = end
    }
  }

  private mutating func append(_ record: Record) throws(PersistentStoreError) {
    read = try journal.append(try record.bytes(of: graph.model), startsHere: record.isReset)
    graph.apply(record)
  }
}

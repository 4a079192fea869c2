package import AtomicStoreSPI
import FoundationEssentials
package import Synchronization

/// An open incremental store: one caller at a time.
package final class IncrementalConnection: Sendable {
  private struct State {
    var store: any IncrementalStore
    var isClosed = false
  }
  private let state: Mutex<State>
  /// What is known of the history: see ``newTransactions()``.
  let history = Mutex(NoticedHistory())
  /// Held by who looks at the history: two at once would each take the other's saves for those of a third process.
  let looking = Mutex(())
  /// The derived attributes of which the store was asked whether it computes them, by entity and property.
  private let computed = Mutex<[Int: [Int: Bool]]>([:])
  /// What the store said of the members of objects.
  package let aggregates = Mutex(KnownAggregates())
  private let name: String
  private let file: FileNumber?

  /// - Parameter file: The file, which is noted as open.
  init(_ store: any IncrementalStore, name: String, file: FileNumber?) {
    state = Mutex(State(store: store))
    self.name = name
    self.file = file
  }

  /// Calls the store.
  package func use<Result: Sendable>(
    _ body: @Sendable (inout any IncrementalStore) throws(PersistentStoreError) -> Result
  ) throws(PersistentStoreError) -> Result {
    let result = state.withLock { state -> Swift.Result<Result, PersistentStoreError> in
      do throws(PersistentStoreError) {
        guard !state.isClosed else { throw PersistentStoreError(.storeNotAdded, "the store is not open") }
        return .success(try body(&state.store))
      } catch {
        return .failure(error.located(StoreLocation(file: name)))
      }
    }
    return try result.get()
  }

  /// Saves, and has what was saved compared within the transaction. Nil if the store cannot.
  func save(
    _ changes: StoreSave,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> StoreSaveAnswer? {
    let result = state.withLock { state -> Swift.Result<StoreSaveAnswer?, PersistentStoreError> in
      do throws(PersistentStoreError) {
        guard !state.isClosed else { throw PersistentStoreError(.storeNotAdded, "the store is not open") }
        return .success(try state.store.save(changes, verify: verify))
      } catch {
        return .failure(error.located(StoreLocation(file: name)))
      }
    }
    return try result.get()
  }

  /// Reads everything, and the metadata as it is now.
  func readWithMetadata(
    into builder: NodeTableBuilder
  ) throws(PersistentStoreError) -> (nodes: NodeTable, metadata: StoreMetadata) {
    let nodes = try read(into: builder)
    let metadata = try use { store throws(PersistentStoreError) in
      // A copy: what the store has noted of the tables that it opened must stay.
      var copy = store
      return try copy.metadata()
    }
    guard let metadata else {
      throw PersistentStoreError(.notFound, "the store does not exist any more", at: StoreLocation(file: name))
    }
    return (nodes, metadata)
  }

  /// Reads the columns that a request needs, in the order of references.
  package func read(
    _ columns: NeededColumns, into builder: NodeTableBuilder
  ) throws(PersistentStoreError) -> NodeTable {
    let result = state.withLock { state -> Swift.Result<NodeTable, PersistentStoreError> in
      do throws(PersistentStoreError) {
        guard !state.isClosed else { throw PersistentStoreError(.storeNotAdded, "the store is not open") }
        try state.store.load(into: builder, only: columns)
        return .success(try builder.finish().canonical())
      } catch {
        return .failure(error.located(StoreLocation(file: name)))
      }
    }
    return try result.get()
  }

  /// Reads rows a part at a time, as of one moment. Meanwhile no other caller can use the store.
  ///
  /// - Parameter body: Called with each part. Returns whether it needs more.
  /// - Returns: Whether the store can do that; otherwise `body` was not called.
  package func read(_ parts: StoreParts, _ body: (StorePart) -> Bool) throws(PersistentStoreError) -> Bool {
    let result = state.withLock { state -> Swift.Result<Bool, PersistentStoreError> in
      do throws(PersistentStoreError) {
        guard !state.isClosed else { throw PersistentStoreError(.storeNotAdded, "the store is not open") }
        return .success(try state.store.read(parts) { part in body(part) })
      } catch {
        return .failure(error.located(StoreLocation(file: name)))
      }
    }
    return try result.get()
  }

  /// Reads everything.
  func read(into builder: NodeTableBuilder) throws(PersistentStoreError) -> NodeTable {
    let result = state.withLock { state -> Swift.Result<NodeTable, PersistentStoreError> in
      do throws(PersistentStoreError) {
        guard !state.isClosed else { throw PersistentStoreError(.storeNotAdded, "the store is not open") }
        try state.store.load(into: builder)
        return .success(try builder.finish())
      } catch {
        return .failure(error.located(StoreLocation(file: name)))
      }
    }
    return try result.get()
  }

  /// Checks that the file is still at its path.
  ///
  /// - Throws: `.unavailable` if another program has replaced, moved or removed it: what is saved to it would be lost.
  func checkFile() throws(PersistentStoreError) {
    guard let file, FileNumber(name) != file else { return }
    throw PersistentStoreError(
      .unavailable, "another program has replaced, moved or removed the file since it was opened: open it again",
      at: StoreLocation(file: name))
  }

  /// What the store says that it would do with a request.
  package func answer(to request: StoreFetch) -> FetchAnswer { state.withLock { $0.store.answer(to: request) } }

  /// What the store says that it would do with a request for groups.
  package func answer(to request: StoreGrouping) -> FetchAnswer { state.withLock { $0.store.answer(to: request) } }

  /// Whether the store computes exactly what a derived attribute needs. It is asked once for each attribute.
  ///
  /// - Parameter requests: What is needed, of any object.
  package func computes(entity: Int, property: Int, _ requests: () -> [StoreGrouping]) -> Bool {
    if let known = computed.withLock({ $0[entity]?[property] }) { return known }
    let isExact = requests().allSatisfy { if case .exact = answer(to: $0) { true } else { false } }
    computed.withLock { $0[entity, default: [:]][property] = isExact }
    return isExact
  }

  /// The state of ``aggregates``, which are forgotten if another connection has saved since this one did.
  ///
  /// - Returns: Nil if that cannot be known.
  package func stateOfAggregates() throws(PersistentStoreError) -> Int? {
    let isLast = try use { store throws(PersistentStoreError) -> Bool? in
      guard store.comparesTransactions, let own = store.lastSavedToken else { return nil }
      return try store.currentHistoryToken() == own
    }
    guard let isLast else { return nil }
    return aggregates.withLock { aggregates in
      if !isLast { aggregates.forget() }
      return aggregates.state
    }
  }

  func close() {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.isClosed = true
      state.store.close()
      if let file { OpenDatabases.remove(file) }
    }
  }
}

/// The format of an incremental store, where the kit asks for one: it has traits, and neither reads nor writes files.
struct DatabaseFormat: AtomicStore {
  static let storeType = "Incremental"
  static let traits = StoreTraits(summary: "", fileExtensions: [], canWrite: false)
  var traits: StoreTraits

  init(_ traits: StoreTraits) { self.traits = traits }
  init(_ configuration: StoreConfiguration) { traits = Self.traits }
  static func recognize(_ probe: StoreProbe) -> Recognition { .no }
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata { throw Self.failure }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    throw Self.failure
  }
  mutating func save(_ snapshot: StoreSnapshot, to files: StagedFiles) throws(PersistentStoreError) {
    throw Self.failure
  }
  private static var failure: PersistentStoreError {
    PersistentStoreError(.internalInconsistency, "an incremental store was treated as a file")
  }
}

/// A store that is read and written in parts: a database, on this machine or on another one.
///
/// An ``AtomicStore`` is loaded whole and saved whole. A store of this kind answers requests, each with the few rows
/// that it asks for, and saves changes in one transaction. Programs use both in the same way; `NSIncrementalStore` is
/// the counterpart in Core Data.
///
/// The kit calls one method at a time, and never two at once.
///
/// A store in a file changes this file, and never replaces it by another one under its name: other connections would go
/// on with the file that is gone, and lose what they save. The kit notices that and refuses the next use of such a
/// connection as `.unavailable`. <doc:WritingADatabase> explains a whole store, piece by piece.
///
/// Failures of the connection have their own codes: `.unavailable` where no one answers, `.timedOut`,
/// `.notAuthorized`, and `.retry` where the same call may succeed if it is repeated.
public protocol IncrementalStore: Sendable {
  /// The name that the type is registered under, such as `SQLiteGraph`.
  static var storeType: String { get }

  /// What the store can keep, and what it cannot.
  static var traits: StoreTraits { get }

  /// The schemes of the URLs that may take the place of a path, in lower case: `["postgresql", "postgres"]`.
  static var urlSchemes: [String] { get }

  /// Returns whether a file is a store of this type. A type that is reached by URLs only keeps the default, `.no`.
  static func recognize(_ probe: StoreProbe) -> Recognition

  /// Creates the value for a store that is opened, or created, at the configuration's path or URL. Does not connect.
  ///
  /// - Throws: `.invalidOption` for option values that are not valid.
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError)

  /// Connects, and reads the metadata with the model. Nil if there is no store yet at that place.
  mutating func metadata() throws(PersistentStoreError) -> StoreMetadata?

  /// Creates the store: without objects, with this metadata. Its model is set.
  mutating func create(_ metadata: StoreMetadata, for model: ManagedObjectModel) throws(PersistentStoreError)

  /// Called once before any request, with the model of all that follows: the one of the metadata, or one that has the
  /// same entities and properties.
  mutating func prepare(for model: ManagedObjectModel) throws(PersistentStoreError)

  /// Returns the rows that a request asks for, in its order.
  ///
  /// A store need not understand every predicate and every sort key. It says what it did: see ``FetchAnswer``.
  mutating func fetch(_ request: StoreFetch) throws(PersistentStoreError) -> StoreFetchResult

  /// Returns how many rows ``fetch(_:)`` would return, if the store can tell exactly; nil if it cannot.
  mutating func count(_ request: StoreFetch) throws(PersistentStoreError) -> Int?

  /// Returns how the store would execute a request, without executing it.
  func answer(to request: StoreFetch) -> FetchAnswer

  /// Returns rows in groups, with what is computed of each, if the store can do all of it exactly; nil if it cannot.
  /// The default is nil.
  ///
  /// It may also be nil where ``answer(to:)-(StoreGrouping)`` is `.exact`, if the values that it finds have no order.
  mutating func groups(_ request: StoreGrouping) throws(PersistentStoreError) -> [StoreGroup]?

  /// Returns how the store would group rows: `.exact`, or `.inMemory` with the reason.
  func answer(to request: StoreGrouping) -> FetchAnswer

  /// Returns the rows with those references. What the store does not have is left out.
  ///
  /// - Parameters:
  ///   - references: Any number; the store asks for them in batches.
  ///   - root: The number of the root entity of their hierarchy.
  mutating func rows(_ references: [ReferenceObject], root: Int) throws(PersistentStoreError) -> [StoreRow]

  /// Returns the destinations of a to-many for several objects, one list for each: in their order where the
  /// relationship is ordered, otherwise by reference. An object that the store does not have has an empty list.
  mutating func related(
    _ owners: [ReferenceObject], slot: Int, entity: Int
  ) throws(PersistentStoreError) -> [[ObjectReference]]

  /// Returns references for new objects, which are then used up. In blocks: saves of other processes take theirs at the
  /// same time.
  mutating func newReferences(_ count: Int, entity: Int) throws(PersistentStoreError) -> [ReferenceObject]

  /// Saves changes in one transaction, if the rows that they are based on are still as expected.
  mutating func save(_ changes: StoreSave) throws(PersistentStoreError) -> StoreSaveAnswer

  /// Saves changes as ``save(_:)`` does, and has everything read back before the transaction ends. The default is nil.
  ///
  /// - Parameters:
  ///   - changes: What is saved.
  ///   - verify: As for ``replaceAll(with:mayReplace:verify:)``. It is called again if the database repeats the
  ///     transaction.
  /// - Returns: Nil if this store cannot do that, and has done nothing.
  mutating func save(
    _ changes: StoreSave,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> StoreSaveAnswer?

  /// Sets attributes of all objects of a request in one transaction, which the history names like any other, if the
  /// store can do exactly that; the kit does it object by object otherwise. The default is nil. Each changed object
  /// gets a new row version, as by a save.
  ///
  /// - Returns: The objects that have other values than before, each once; nil if this store cannot do that, and has
  ///   done nothing.
  mutating func update(_ change: StoreUpdate) throws(PersistentStoreError) -> [ObjectReference]?

  /// Deletes all objects of a request in one transaction, which the history names like any other, if the store can do
  /// exactly what saving their deletion does; the kit does that otherwise. The default is nil. An object to whose
  /// to-many a deleted one belonged gets a new row version, and the history names it with that relationship.
  ///
  /// - Parameter change: Its ``StoreUpdate/values`` are empty, and what is refused concerns the owners of such
  ///   to-manys.
  /// - Returns: The deleted objects, and those that changed as a consequence; nil if this store cannot do that, and has
  ///   done nothing.
  mutating func delete(_ change: StoreUpdate) throws(PersistentStoreError) -> (
    deleted: [ObjectReference], updated: [ObjectReference]
  )?

  /// Reads everything, as of one moment.
  mutating func load(into nodes: NodeTableBuilder) throws(PersistentStoreError)

  /// Reads what a request needs that the store does not answer itself, as of one moment. The request is evaluated on
  /// these columns; objects are made only for its results. Rows and values that are not needed may be left out. The
  /// default reads everything.
  mutating func load(into nodes: NodeTableBuilder, only columns: NeededColumns) throws(PersistentStoreError)

  /// Reads rows a part at a time, as of one moment, so that they need not be in memory at once: one entity after the
  /// other, the rows of each in the order of references. The default is `false`.
  ///
  /// - Parameters:
  ///   - parts: Which rows are read, and what of them.
  ///   - body: Called with each part, of which none is empty. Returns whether it needs more; if not, the read ends.
  /// - Returns: Whether the store can do that; otherwise `body` was not called.
  mutating func read(
    _ parts: StoreParts, _ body: (StorePart) throws(PersistentStoreError) -> Bool
  ) throws(PersistentStoreError) -> Bool

  /// Replaces everything by a snapshot, in one transaction, creating the store if there is none.
  ///
  /// - Parameters:
  ///   - snapshot: All objects and the metadata.
  ///   - mayReplace: Whether a store that is there is replaced. Otherwise it is an error, `.alreadyExists`.
  ///   - verify: Called before the transaction ends, with a function that reads back everything. If it throws, the
  ///     transaction has no effect.
  mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError)

  /// Replaces everything by a snapshot as ``replaceAll(with:mayReplace:verify:)`` does, and compares what was written
  /// with it row by row, so that the objects are not in memory twice. The default is `false`.
  ///
  /// - Parameters:
  ///   - snapshot: All objects and the metadata, in the order of references.
  ///   - mayReplace: As for ``replaceAll(with:mayReplace:verify:)``.
  ///   - willVerify: Called when everything is written and is read back next.
  ///   - compare: Called with the metadata that were read back. If it throws, or an object is not to the bit what the
  ///     snapshot has, the transaction has no effect.
  /// - Returns: Whether the store can do that; otherwise it has done nothing.
  mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool, willVerify: () -> Void,
    compare: (StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool

  /// Replaces everything by what another store of the same family holds, a few rows at a time, creating this store if
  /// there is none: in one transaction, which ends only after everything was read back and compared. The default is
  /// nil.
  ///
  /// - Parameters:
  ///   - other: A store that is prepared.
  ///   - metadata: What this store has as its metadata afterwards.
  ///   - mayReplace: As for ``replaceAll(with:mayReplace:verify:)``.
  ///   - willVerify: Called when everything is written and is read back next.
  /// - Returns: The number of objects by entity; nil if this store cannot copy that one so, and has done nothing.
  mutating func replaceAll(
    with other: any IncrementalStore, metadata: StoreMetadata, mayReplace: Bool, willVerify: () -> Void
  ) throws(PersistentStoreError) -> [Int: Int]?

  /// Replaces everything by what a function makes of it, in one transaction: a save of another process comes wholly
  /// before it or after it, and one that is based on the previous model is refused after it. The default is `false`.
  ///
  /// - Parameters:
  ///   - change: Called with the metadata and a function that reads everything. Returns what takes its place, or nil to
  ///     leave the store as it is. It is called again if the database repeats the transaction.
  ///   - verify: As for ``replaceAll(with:mayReplace:verify:)``.
  /// - Returns: Whether the store can do that; otherwise neither function was called.
  mutating func rewrite(
    _ change: (StoreMetadata, (NodeTableBuilder) throws(PersistentStoreError) -> Void) throws(PersistentStoreError)
      -> StoreSnapshot?,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool

  /// Writes the metadata, without the objects.
  mutating func setMetadata(_ metadata: StoreMetadata) throws(PersistentStoreError)

  /// Returns what was saved after a token, oldest first; nil as token for everything that the store still knows.
  ///
  /// A deletion also changes the objects that led to the deleted one, though the save does not name them: each is in
  /// the transaction as updated, once, with those relationships.
  mutating func changes(since token: HistoryToken?) throws(PersistentStoreError) -> [HistoryTransaction]

  /// Returns the token of the last save; nil if there is none.
  mutating func currentHistoryToken() throws(PersistentStoreError) -> HistoryToken?

  /// The token of the last transaction that this connection itself has saved; nil before the first one, and for a store
  /// that does not know it, which is the default. With it the kit distinguishes the connection's saves from those of
  /// others without asking the store after each save, and knows what others save from the opening of the store on.
  var lastSavedToken: HistoryToken? { get }

  /// Whether a save compares ``StoreSave/lastTransaction`` with the last transaction of its history, and is not carried
  /// out if it is another one; false by default. Otherwise the kit makes changes of many objects one by one.
  var comparesTransactions: Bool { get }

  /// What all connections to one database have in common, whatever their addresses, as do copies of it that were made
  /// with a server's tools. Nil, the default, if it is not known. Asked for after ``metadata()``: a result does not
  /// replace the database that it is made of.
  var instance: String? { get }

  /// Returns whether ``changes(since:)`` has all transactions after a token: false if some of them were deleted. The
  /// default is true.
  mutating func hasHistory(since token: HistoryToken) throws(PersistentStoreError) -> Bool

  /// Forgets the transactions before a token.
  mutating func deleteHistory(before token: HistoryToken) throws(PersistentStoreError)

  /// Deletes the store with everything it holds, its files included. Does nothing if there is none.
  mutating func destroy() throws(PersistentStoreError)

  /// Closes the connection. Called once.
  mutating func close()
}

extension IncrementalStore {
  public static var urlSchemes: [String] { [] }
  public static func recognize(_ probe: StoreProbe) -> Recognition { .no }
  public mutating func load(
    into nodes: NodeTableBuilder, only columns: NeededColumns
  ) throws(PersistentStoreError) { try load(into: nodes) }
  public mutating func read(
    _ parts: StoreParts, _ body: (StorePart) throws(PersistentStoreError) -> Bool
  ) throws(PersistentStoreError) -> Bool { false }
  public mutating func replaceAll(
    with snapshot: StoreSnapshot, mayReplace: Bool, willVerify: () -> Void,
    compare: (StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool { false }
  public mutating func replaceAll(
    with other: any IncrementalStore, metadata: StoreMetadata, mayReplace: Bool, willVerify: () -> Void
  ) throws(PersistentStoreError) -> [Int: Int]? { nil }
  public mutating func rewrite(
    _ change: (StoreMetadata, (NodeTableBuilder) throws(PersistentStoreError) -> Void) throws(PersistentStoreError)
      -> StoreSnapshot?,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool { false }
  public mutating func save(
    _ changes: StoreSave,
    verify: ((NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> StoreSaveAnswer? { nil }
  public mutating func update(_ change: StoreUpdate) throws(PersistentStoreError) -> [ObjectReference]? { nil }
  public mutating func delete(_ change: StoreUpdate) throws(PersistentStoreError) -> (
    deleted: [ObjectReference], updated: [ObjectReference]
  )? { nil }
  public mutating func groups(_ request: StoreGrouping) throws(PersistentStoreError) -> [StoreGroup]? { nil }
  public func answer(to request: StoreGrouping) -> FetchAnswer { .inMemory("the store does not group rows") }
  public mutating func changes(since token: HistoryToken?) throws(PersistentStoreError) -> [HistoryTransaction] { [] }
  public mutating func currentHistoryToken() throws(PersistentStoreError) -> HistoryToken? { nil }
  public var lastSavedToken: HistoryToken? { nil }
  public var comparesTransactions: Bool { false }
  public var instance: String? { nil }
  public mutating func hasHistory(since token: HistoryToken) throws(PersistentStoreError) -> Bool { true }
  public mutating func deleteHistory(before token: HistoryToken) throws(PersistentStoreError) {}
  public mutating func close() {}
}

extension PersistentStoreError {
  /// That of a result which would replace the database that it is made of.
  package static let targetIsSource = PersistentStoreError(
    .alreadyExists,
    "the target is the source itself, or a copy of it that was made with the server's tools: remove that first")
}

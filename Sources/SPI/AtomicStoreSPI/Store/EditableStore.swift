/// A format that changes the file of an existing store itself, in its own transaction.
///
/// A file that is replaced by a rename parts an application that has it open from its data. A format whose files are
/// open in other programs, under locks of a library, adopts this in addition: then the kit calls
/// ``AtomicStore/save(_:to:)`` for new stores only, and ``edit(_:beside:check:verify:)`` for a store that exists, so
/// that what the kit does not know of the file stays as it is.
public protocol EditableStore: AtomicStore {
  /// Checks whether a store can be edited, without changing anything. ``edit(_:beside:check:verify:)`` refuses what
  /// cannot be edited all the same.
  ///
  /// - Throws: `.notSupported` with what prevents it.
  func checkIsEditable(_ source: StoreSource) throws(PersistentStoreError)

  /// Changes an existing store, completely or not at all.
  ///
  /// Begin a transaction that keeps other writers out, call `check`, change the file, call `verify`, and end the
  /// transaction. If one of them throws, roll it back.
  ///
  /// - Parameters:
  ///   - edit: What is changed.
  ///   - files: Files beside the store that the changes add or remove.
  ///   - check: Throws if the store does not hold what the changes are based on.
  ///   - verify: Throws if the store does not hold what it should hold after the changes.
  mutating func edit(
    _ edit: StoreEdit, beside files: CompanionChanges, check: (StoreEdit.Reading) throws(PersistentStoreError) -> Void,
    verify: (StoreEdit.Reading) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError)

  /// Writes a copy of an existing store with changes, as ``AtomicStore/save(_:to:)`` writes a new one. The kit reads
  /// the result back.
  ///
  /// - Parameters:
  ///   - edit: The store, what it holds, and what the copy is to hold.
  ///   - files: The files of the copy.
  ///   - check: As in ``edit(_:beside:check:verify:)``.
  mutating func save(
    _ edit: StoreEdit, to files: StagedFiles, check: (StoreEdit.Reading) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError)
}

/// A change of a store that exists.
public struct StoreEdit: Sendable {
  /// Adds the objects of the store as it is at this moment of the transaction, and returns its metadata: what
  /// ``AtomicStore/load(_:into:)`` and ``AtomicStore/metadata(in:)`` do with a file.
  public typealias Reading = (NodeTableBuilder) throws(PersistentStoreError) -> StoreMetadata

  /// The store.
  public var source: StoreSource
  /// What the store holds.
  public var before: StoreSnapshot
  /// What it is to hold, by a model with the same entities and slots.
  public var after: StoreSnapshot

  /// Creates a change.
  public init(source: StoreSource, before: StoreSnapshot, after: StoreSnapshot) {
    self.source = source
    self.before = before
    self.after = after
  }
}

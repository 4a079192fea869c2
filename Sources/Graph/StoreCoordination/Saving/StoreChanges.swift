public import AtomicStoreSPI

/// The changes of a save in one store, in the order in which the store receives them.
public struct StoreChanges: Sendable {
  /// New objects. An object without a reference gets one from the store. Relationships name objects by reference, so
  /// objects that others of the same save refer to must have theirs: see
  /// ``PersistentStoreCoordinator/newReference(for:in:)``.
  public var inserted: [ManagedObjectSnapshot]
  /// Changed objects with the slots that changed.
  public var updated: [ManagedObjectSnapshot]
  /// Objects to delete.
  public var deleted: [ObjectReference]

  /// New values of attributes that were computed column by column, in addition to ``updated``.
  package var rows: [ChangedRows] = []
  /// For an incremental store: what was added to and removed from unordered to-manys of ``updated`` objects.
  package var members: [StoreSave.MemberChange] = []
  /// For an incremental store: the row versions that the changes are based on.
  package var expected: [(object: ObjectReference, version: Int64?)] = []
  /// For an incremental store: the number of the last transaction of its history that the changes are based on.
  package var lastTransaction: Int64?
  /// For the changes of a context in an incremental store: the state of ``KnownAggregates`` that they are based on, and
  /// whether they depend on it.
  package var aggregates: (state: Int, areUsed: Bool)?
  /// For the history of an incremental store: who saves, and with which context.
  package var author: String?
  package var contextName: String?

  /// Creates changes; without arguments, none.
  public init(
    inserted: [ManagedObjectSnapshot] = [], updated: [ManagedObjectSnapshot] = [], deleted: [ObjectReference] = []
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }

  /// Whether there is nothing to save.
  public var isEmpty: Bool { inserted.isEmpty && updatedCount == 0 && deleted.isEmpty }

  /// The number of changed objects.
  package var updatedCount: Int { rows.reduce(updated.count) { $0 + $1.rows.count } }
}

/// New values of attributes of objects of one entity, in columns: an object and its snapshot exist only while one row
/// after the other is written.
package struct ChangedRows: Sendable {
  /// The version of the store that the rows are of, and that the values are based on.
  package let version: NodeVersion
  package let entity: Int
  /// The slots that are assigned, also where no row changes by that.
  package let slots: [Int]
  /// The changed rows.
  package private(set) var rows: [Int] = []
  /// The values of one row after the other, one for each slot; nil where a row keeps what it has.
  private var values: [StoredValue?] = []

  package init(version: NodeVersion, entity: Int, slots: [Int]) {
    self.version = version
    self.entity = entity
    self.slots = slots
  }

  /// Adds a row with a value, or nil, for each slot.
  package mutating func append(_ row: Int, _ new: [StoredValue?]) {
    // Where there are many, there may be one for each row. Memory that is not used is never touched, but may not be
    // there.
    if rows.count == 256 {
      let count = min(version.rowCount(of: entity), (2 << 20) / max(slots.count, 1))
      rows.reserveCapacity(count)
      values.reserveCapacity(count * slots.count)
    }
    rows.append(row)
    for value in new { values.append(value) }
  }

  /// Calls `body` with each row as a changed object.
  func forEachObject<Failure: Error>(_ body: (NodeHandle, ManagedObjectSnapshot) throws(Failure) -> Void)
    throws(Failure)
  {
    var object = ManagedObjectSnapshot(entity: entity)
    var next = 0
    for row in rows {
      let node = NodeHandle(entity: entity, row: row)
      object.reference = version.reference(of: node)
      for slot in slots {
        object.values[slot] = values[next]
        next += 1
      }
      try body(node, object)
    }
  }

  /// The references of the changed objects.
  package func forEachReference(_ body: (ReferenceObject) -> Void) {
    for row in rows { body(version.reference(of: NodeHandle(entity: entity, row: row))) }
  }
}

extension StoreChanges {
  /// The changes as an incremental store gets them.
  package var asStoreSave: StoreSave {
    var updated = updated
    updated.reserveCapacity(updatedCount)
    for rows in rows { rows.forEachObject { updated.append($1) } }
    var save = StoreSave(
      inserted: inserted, updated: updated, deleted: deleted, members: members, expected: expected, author: author,
      contextName: contextName)
    save.lastTransaction = lastTransaction
    return save
  }
}

/// The changes of one save.
public struct StoreSave: Sendable {
  /// New objects, with their references.
  public var inserted: [ManagedObjectSnapshot]
  /// Changed objects: the slots that changed. A to-many is here as a whole only if it is ordered; otherwise it is in
  /// ``members``.
  public var updated: [ManagedObjectSnapshot]
  /// Objects that are deleted. The store itself removes what other objects still refer to them with.
  public var deleted: [ObjectReference]
  /// The objects that were added to and removed from unordered to-manys.
  public var members: [MemberChange]
  /// The row versions that the changes are based on; nil where the object must exist in any version. A save whose
  /// expectations do not hold changes nothing.
  public var expected: [(object: ObjectReference, version: Int64?)]
  /// The number of the last transaction of the history that the changes are based on, 0 for a history without
  /// transactions: after another one they are not saved. Nil where any may be the last.
  public var lastTransaction: Int64?
  /// The greatest reference that the store had given out when the changes were made: after another one they are not
  /// saved, since new objects may have the same. Nil where the store itself gave the references of new objects.
  public var lastReference: Int64?
  /// The user's metadata entries that the changes are based on: if there are others, nothing is saved. Nil where any
  /// may be there.
  public var previousMetadataEntries: PropertyListDictionary?
  /// The user's metadata entries to write with the changes; nil if they stay.
  public var metadataEntries: PropertyListDictionary?
  /// Who saves, for the history.
  public var author: String?
  /// The name of the context that saves, for the history.
  public var contextName: String?

  /// A change of an unordered to-many.
  public struct MemberChange: Sendable {
    /// The object whose relationship it is.
    public var owner: ObjectReference
    /// The slot of the relationship.
    public var slot: Int
    /// What was added.
    public var added: [ObjectReference]
    /// What was removed.
    public var removed: [ObjectReference]
    /// Creates a change.
    package init(owner: ObjectReference, slot: Int, added: [ObjectReference], removed: [ObjectReference]) {
      self.owner = owner
      self.slot = slot
      self.added = added
      self.removed = removed
    }
  }

  /// Creates changes.
  package init(
    inserted: [ManagedObjectSnapshot] = [], updated: [ManagedObjectSnapshot] = [], deleted: [ObjectReference] = [],
    members: [MemberChange] = [], expected: [(object: ObjectReference, version: Int64?)] = [], author: String? = nil,
    contextName: String? = nil
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.members = members
    self.expected = expected
    self.author = author
    self.contextName = contextName
  }
}

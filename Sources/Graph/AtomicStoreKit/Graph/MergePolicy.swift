/// How a save treats objects that were changed in the store since they were fetched, and objects with the same values
/// where a uniqueness constraint allows only one.
///
/// ```swift
/// context.mergePolicy = .mergeByPropertyObjectTrump   // what was changed here wins, property by property
/// try context.save()
/// ```
///
/// ## Uniqueness constraints
///
/// With ``error``, the save fails and names the objects. Every other policy merges objects with the same unique values
/// into one:
///
/// - One object survives *with its ID*: a saved one before a new one; of several saved ones, the one with the lowest
///   reference; of several new ones, the first. The others become unavailable with the reason
///   ``ManagedObjectError/UnavailableReason/merged``.
/// - The survivor has all attribute values of the winner. With ``mergeByPropertyObjectTrump`` and ``overwrite``, the
///   winner is the object that was inserted or changed here, of several the last one. What a new object did not set is
///   then nil or the model's default in the survivor as well, as in Core Data. With ``mergeByPropertyStoreTrump`` and
///   ``rollback``, the winner is the saved object, of several new ones the first.
/// - Its relationships are the union of all: a to-many leads to the destinations of all objects, a to-one to the
///   winner's destination or, if that is nil, to that of another one. Relationships that led to the other objects lead
///   to the survivor, those without an inverse too. Relationships between the merged objects are dropped.
/// - Delete rules are not applied and ``ManagedObject/prepareForDeletion()`` is not called, so no destination of the
///   other objects is lost. The survivor is validated; if that fails, the save fails with an error that names all
///   merged objects, and the context is as it was.
///
/// If the context wins, all objects that are connected through several constraints become one. If the store wins, only
/// new objects are merged into saved ones, and unique values that were set to those of another saved object are set
/// back (with ``rollback``, all changes of the object are): the saved objects are then unique.
///
/// Objects of different entities cannot be merged: with every policy the save fails and names both.
public enum MergePolicy: Sendable, Hashable, CaseIterable {
  /// The save fails and lists the conflicts; nothing is changed. The default.
  case error
  /// Property by property: what the store changed is kept, and the context's other changes are saved.
  case mergeByPropertyStoreTrump
  /// Property by property: what the context changed is saved, and the store's other changes are kept.
  case mergeByPropertyObjectTrump
  /// The object's attributes and to-one relationships are saved as the context has them.
  case overwrite
  /// The context's changes to the object are dropped.
  case rollback
}

// ObjectGraph.md, "Several contexts", describes what a conflict is and how each policy resolves it.

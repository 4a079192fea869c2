/// What a save does with objects that were changed in the store since they were fetched, and with objects that have the
/// same values where a uniqueness constraint allows one.
///
/// ## Uniqueness constraints
///
/// By ``error`` the save fails and names the objects. By every other policy objects with the same unique values are
/// merged into one:
///
/// - One object survives *with its ID*: a saved one before a new one, of several saved ones the one with the lowest
///   reference, of several new ones the first. The others say that they were merged
///   (``ManagedObjectError/UnavailableReason/merged``).
/// - It has the winner's attribute values, all of them. By ``mergeByPropertyObjectTrump`` and ``overwrite`` the winner
///   is the object that was inserted or changed here, of several the last one. What a new object did not set is then
///   nil or the model's default in the survivor as well, as in Core Data. By ``mergeByPropertyStoreTrump`` and
///   ``rollback`` the winner is the saved object, of several new ones the first.
/// - Its relationships are the union of all: a to-many leads to what any of them led to, a to-one to what the winner's
///   leads to or, where that is nil, another one's. Relationships that led to the others lead to it, those without an
///   inverse too. What led from one of the merged objects to another is dropped.
/// - No delete rule is applied and ``ManagedObject/prepareForDeletion()`` is not called, so nothing that the others led
///   to is lost. The survivor is validated; if that fails, the save fails with an error that names all that were
///   merged, and the context is as it was.
///
/// Objects that meet through several constraints, each with another one, all become one where the context wins. Where
/// the store wins only new objects are merged into saved ones, and unique values that were set to those of another
/// saved object are taken back (by ``rollback`` all changes of the object): saved objects are unique without them.
///
/// Objects of different entities cannot be merged: by every policy the save fails and names both.
public enum MergePolicy: Sendable, Hashable, CaseIterable {
  /// The save fails and lists the conflicts; nothing is changed. The default.
  case error
  /// Property by property: what the store changed stays, the context's other changes are saved.
  case mergeByPropertyStoreTrump
  /// Property by property: what the context changed is saved, the store's other changes stay.
  case mergeByPropertyObjectTrump
  /// The object's attributes and to-one relationships are saved as the context has them.
  case overwrite
  /// The context's changes to the object are dropped.
  case rollback
}

// What is a conflict, and what each policy makes of it, is described in ObjectGraph.md, "Several contexts".

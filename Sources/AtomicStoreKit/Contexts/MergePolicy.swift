/// What a save does with objects that somebody else changed in the store since they were fetched.
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

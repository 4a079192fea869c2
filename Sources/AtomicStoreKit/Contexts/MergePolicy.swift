/// What a save does with objects that somebody else changed in the store since they were fetched.
public enum MergePolicy: Sendable, Hashable, CaseIterable {
  /// The save fails and lists the conflicts; nothing is changed. The default.
  case error
  /// Property by property: what the store changed stays, the context's other changes are saved.
  case mergeByPropertyStoreTrump
  /// Property by property: what the context changed is saved, the store's other changes stay.
  case mergeByPropertyObjectTrump
  /// The object is saved whole as the context has it.
  case overwrite
  /// The context's changes to the object are dropped.
  case rollback
}

public import AtomicStoreSPI

/// An object that was changed in a context and, since it was fetched, in its store.
public struct MergeConflict: Sendable, CustomStringConvertible {
  /// The object's ID.
  public let objectID: ManagedObjectID
  /// The object's values as the context would save them, by property. Empty where the context deleted it.
  public let objectSnapshot: [String: StoredValue]
  /// The values that the context's changes are based on.
  public let cachedSnapshot: [String: StoredValue]
  /// The values that the store holds now; nil where the object is gone from it.
  public let persistedSnapshot: [String: StoredValue]?
  /// The properties that differ between the cached and the persisted values.
  public let keysChangedInStore: [String]
  /// The properties that the context changed.
  public let keysChangedHere: [String]
  /// Whether the context deleted the object.
  public let isDeletedHere: Bool
  /// The relationships that the context changed and that lead to objects which are gone from the store.
  public let keysLeadingNowhere: [String]

  public var description: String {
    let here = isDeletedHere ? "deleted here" : "changed here (\(keysChangedHere.joined(separator: ", ")))"
    if !keysLeadingNowhere.isEmpty, keysChangedInStore.isEmpty {
      return
        "\(objectID): \(here), leads to what is gone from the store (\(keysLeadingNowhere.joined(separator: ", ")))"
    }
    let there =
      persistedSnapshot == nil
      ? "gone from the store" : "changed in the store (\(keysChangedInStore.joined(separator: ", ")))"
    return "\(objectID): \(here), \(there)"
  }
}

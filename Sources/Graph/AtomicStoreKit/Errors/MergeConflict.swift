public import AtomicStoreSPI

/// An object that was changed in a context and, since it was fetched there, also in its store. To-manys of a database
/// that the context has not read are not among its values.
public struct MergeConflict: Sendable, CustomStringConvertible {
  /// The object's ID.
  public let objectID: ManagedObjectID
  /// The object's values as the context would save them, by property. Empty if the context deleted it.
  public let objectSnapshot: [String: StoredValue]
  /// The values that the context's changes are based on.
  public let cachedSnapshot: [String: StoredValue]
  /// The values that the store holds now; nil if the object was removed from it.
  public let persistedSnapshot: [String: StoredValue]?
  /// The properties whose cached and persisted values differ.
  public let keysChangedInStore: [String]
  /// The properties that the context changed.
  public let keysChangedHere: [String]
  /// Whether the context deleted the object.
  public let isDeletedHere: Bool
  /// The relationships that the context changed and that lead to objects which were removed from the store.
  public let keysLeadingNowhere: [String]

  public var description: String {
    let here = isDeletedHere ? "deleted here" : "changed here (\(keysChangedHere.joined(separator: ", ")))"
    if !keysLeadingNowhere.isEmpty, keysChangedInStore.isEmpty {
      return
        "\(objectID): \(here), but the destinations of \(keysLeadingNowhere.joined(separator: ", ")) were removed from the store"
    }
    let there =
      persistedSnapshot == nil
      ? "removed from the store" : "changed in the store (\(keysChangedInStore.joined(separator: ", ")))"
    return "\(objectID): \(here), \(there)"
  }
}

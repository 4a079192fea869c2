import AtomicStoreSPI

/// The store's model in its metadata, under a key of our own: names with their case, types, order, and all else that
/// the objects do not show.
enum Schema {
  static let key = MetadataText.modelKey

  /// Takes the model out of a file's entries; nil where there is none.
  static func take(
    from entries: inout PropertyListDictionary, at place: StoreLocation
  ) throws(PersistentStoreError) -> ModelDescription? {
    guard let value = entries[key] else { return nil }
    entries[key] = nil
    do { return try ModelDescription(propertyList: value) } catch {
      throw error.located(place)
    }
  }
}

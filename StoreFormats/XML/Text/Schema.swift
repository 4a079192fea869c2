import AtomicStoreSPI

/// The store's model in its metadata, under a key of this format: names with their case, types, order, and everything
/// else that the objects do not reveal.
enum Schema {
  /// The name of the format.
  static let storeType = "XML"
  static let key = MetadataText.modelKey

  /// Removes the model from a file's entries and returns it; nil if there is none.
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

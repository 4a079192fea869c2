import AtomicStoreSPI

/// The store's model in its metadata, under a key of our own.
enum Schema {
  static let key = MetadataText.modelKey

  static func take(
    from entries: inout PropertyListDictionary, file: String
  ) throws(PersistentStoreError) -> ModelDescription? {
    guard entries[key] != nil else { return nil }
    entries[key] = nil
    return nil
  }

  static func propertyList(_ model: ModelDescription) -> PropertyListValue {
    .dictionary(PropertyListDictionary())
  }
}

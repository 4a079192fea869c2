import StorePrimitives

/// Decoding and encoding property lists.
public enum PropertyList {
  /// The maximum nesting depth of arrays and dictionaries when reading or writing.
  public static let maximumDepth = 512

  static func tooDeep(_ limit: Int, at location: StoreLocation = StoreLocation()) -> PersistentStoreError {
    PersistentStoreError(
      .limitExceeded, "arrays and dictionaries are nested more than \(limit) levels deep, the limit 'maximumDepth'",
      at: location)
  }
}

/// A string compared by its bytes: Swift's own `==` treats composed and decomposed forms as equal.
struct PropertyListText: Hashable {
  var text: String
  init(_ text: String) { self.text = text }

  static func == (one: PropertyListText, other: PropertyListText) -> Bool {
    one.text.utf8.elementsEqual(other.text.utf8)
  }
  func hash(into hasher: inout Hasher) {
    var copy = text
    copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension PropertyListDictionary {
  /// Creates a dictionary from entries in any order.
  ///
  /// They are sorted first: adding unsorted keys one by one would take quadratic time.
  ///
  /// - Returns: nil, with `duplicate` set to the first duplicate key, if there is one.
  init?(entries: [(key: String, value: PropertyListValue)], duplicate: inout String) {
    self.init()
    let sorted = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    var previous: String?
    for (key, value) in sorted {
      if let previous, previous.utf8.elementsEqual(key.utf8) {
        duplicate = key
        return nil
      }
      self[key] = value
      previous = key
    }
  }
}

import StorePrimitives

/// Property lists, from bytes to values and back.
public enum PropertyList {
  /// How deep arrays and dictionaries may lie in one another, read or written.
  public static let maximumDepth = 512

  static func tooDeep(_ limit: Int, at location: StoreLocation = StoreLocation()) -> PersistentStoreError {
    PersistentStoreError(
      .limitExceeded, "arrays and dictionaries lie more than \(limit) deep in each other, the limit 'maximumDepth'",
      at: location)
  }
}

/// Text told apart by its bytes: Swift's own `==` takes the composed and the decomposed form for one.
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
  /// A dictionary of entries in any order.
  ///
  /// Sorted first: one by one, unsorted keys would cost the square of their number.
  ///
  /// - Returns: nil with `duplicate` set to the first key that comes twice.
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

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
    one.text.hasSameScalars(as: other.text)
  }
  func hash(into hasher: inout Hasher) {
    var copy = text
    copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

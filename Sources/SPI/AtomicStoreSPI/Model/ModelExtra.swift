/// An entry of `userInfo`, in the file's order.
public struct UserInfoEntry: Sendable, Hashable {
  /// The key. Keys are not checked for uniqueness.
  public var key: String
  /// The text stored under the key.
  public var value: String
  /// Creates an entry.
  public init(key: String, value: String) {
    self.key = key
    self.value = value
  }
}

/// Uninterpreted content of a model file, which is preserved when the file is written.
public enum ModelExtra: Sendable, Hashable {
  /// An XML attribute of the described element.
  case attribute(name: String, value: String)
  /// A whole XML element below the described one, as text.
  case element(String)
}

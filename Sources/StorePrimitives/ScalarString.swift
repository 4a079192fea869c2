/// A string that is compared by Unicode scalars: a key for dictionaries of names.
public struct ScalarString: Hashable, Sendable, Comparable {
  /// The string itself.
  public let string: String
  /// Wraps a string, without changing or normalizing it.
  public init(_ string: String) { self.string = string }
  public static func == (one: ScalarString, other: ScalarString) -> Bool {
    one.string.utf8.elementsEqual(other.string.utf8)
  }
  public static func < (one: ScalarString, other: ScalarString) -> Bool {
    one.string.utf8.lexicographicallyPrecedes(other.string.utf8)
  }
  public func hash(into hasher: inout Hasher) {
    for byte in string.utf8 { hasher.combine(byte) }
    hasher.combine(0xFF as UInt8)
  }
}

/// A string that is compared by Unicode scalars: a key for dictionaries of names.
///
/// ```swift
/// let (composed, decomposed) = ("\u{e9}", "e\u{301}")
/// print(composed == decomposed, ScalarString(composed) == ScalarString(decomposed))  // true false
/// ```
public struct ScalarString: Hashable, Sendable, Comparable {
  /// The string itself.
  public let string: String
  /// Wraps a string, without changing or normalizing it.
  ///
  /// ```swift
  /// let names = ["b", "a"].sorted { ScalarString($0) < ScalarString($1) }
  /// ```
  public init(_ string: String) { self.string = string }
  public static func == (one: ScalarString, other: ScalarString) -> Bool {
    one.string.hasSameScalars(as: other.string)
  }
  public static func < (one: ScalarString, other: ScalarString) -> Bool {
    one.string.byteOrder(to: other.string) < 0
  }
  public func hash(into hasher: inout Hasher) {
    string.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(0xFF as UInt8)
  }
}

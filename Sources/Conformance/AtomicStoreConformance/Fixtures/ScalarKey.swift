/// Text that is compared by its Unicode scalars: Swift's `==` takes `é` in one scalar and in two for the same.
///
/// All names, keys and references that the harness compares are of this type.
struct ScalarKey: Hashable, Codable, Sendable, Comparable, ExpressibleByStringInterpolation, CustomStringConvertible {
  let text: String
  init(_ text: String) { self.text = text }
  init(stringLiteral text: String) { self.text = text }
  static func == (one: ScalarKey, other: ScalarKey) -> Bool { one.text.utf8.elementsEqual(other.text.utf8) }
  static func < (one: ScalarKey, other: ScalarKey) -> Bool { one.text.utf8.lexicographicallyPrecedes(other.text.utf8) }
  func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    hasher.combine(0xFF as UInt8)
  }
  var description: String { text }
}

extension Dictionary where Key == ScalarKey {
  /// The value under exactly this text.
  subscript(text: String) -> Value? {
    get { self[ScalarKey(text)] }
    set { self[ScalarKey(text)] = newValue }
  }
  subscript(text: String, default value: @autoclosure () -> Value) -> Value {
    get { self[ScalarKey(text), default: value()] }
    set { self[ScalarKey(text)] = newValue }
    _modify { yield &self[ScalarKey(text), default: value()] }
  }
}

import AtomicStoreSPI

/// Values of any type, as transient properties and transformers use them.
enum AnyValue {
  /// Compares by value if the type supports that, and objects otherwise by identity; nil for values that cannot be
  /// compared.
  static func areEqual(_ one: Any, _ other: Any) -> Bool? {
    // Compare numbers by bits and spelling: another spelling is a change.
    if let one = one as? DecimalNumber, let other = other as? DecimalNumber { return one.isIdentical(to: other) }
    if let one = one as? Double, let other = other as? Double { return one.bitPattern == other.bitPattern }
    if let one = one as? Float, let other = other as? Float { return one.bitPattern == other.bitPattern }
    if let one = one as? StoredValue, let other = other as? StoredValue { return one.isIdentical(to: other) }
    if let one = one as? any Equatable {
      guard let other = other as? any Equatable else { return false }
      return one.isEqual(to: other)
    }
    guard type(of: one) == type(of: other) else { return false }
    // Ask the type, since any value can be boxed.
    guard type(of: one) is AnyClass else { return nil }
    return (one as AnyObject) === (other as AnyObject)
  }
}

extension Equatable {
  fileprivate func isEqual(to other: any Equatable) -> Bool { (other as? Self) == self }
}

extension StoredValue {
  /// What values of a property contain: the cases of ``StoredValue`` without null.
  ///
  /// Several types of attributes have values of one kind, such as integers of three sizes. A format that reads and
  /// writes each kind also handles types that are added later.
  ///
  /// ```swift
  /// switch slot.valueKind {
  /// case .toOne, .toMany: print("\(slot.name) is a relationship")
  /// case .string, .uri: print("\(slot.name) holds texts")
  /// default: print("\(slot.name) holds other values")
  /// }
  /// ```
  public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    /// Each value has its own kind.
    case undefined
    case boolean, integer, float, double, decimal, string, data, date, uuid, uri
    case toOne, toMany

    /// Whether the values are texts.
    package var isText: Bool { self == .string || self == .uri }
    /// Whether the values are numbers.
    package var isNumber: Bool {
      switch self {
      case .integer, .float, .double, .decimal: true
      default: false
      }
    }
  }
}

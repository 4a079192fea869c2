import AtomicStoreSPI
import StoreCodecs
import StorePredicates

/// The digits of floating-point numbers: those that would be lost are refused, as where values are set.
extension ValueReader {
  static func keeps(_ text: Span<UInt8>, _ number: Double) -> Bool { WrittenNumber.holds(text, number) }
  static func keeps(_ text: Span<UInt8>, _ number: Float) -> Bool { WrittenNumber.holds(text, number) }

  /// A floating-point number that has the digits of its text.
  func floating<Number: BinaryFloatingPoint>(
    _ given: Span<UInt8>, _ kind: ImportField.Kind, _ slot: Int, _ nodes: NodeTableBuilder,
    _ read: (Span<UInt8>) -> Number?, _ holds: (Span<UInt8>, Number) -> Bool
  ) throws(PersistentStoreError) -> Number {
    let found = parsed(given, kind) { text in read(text).map { (value: $0, isKept: holds(text, $0)) } }
    guard let found else { throw unfit(given, nodes.typeName(slot: slot)) }
    let isTooSmall = found.value == 0 && Self.hasNonzeroDigit(given)
    if found.isKept, !isTooSmall { return found.value }
    let type = nodes.typeName(slot: slot)
    let reason = isTooSmall ? "is too small for a \(type), which would be 0" : "has more digits than a \(type) keeps"
    throw PersistentStoreError(.invalidValue, "'\(Self.text(given).prefix(60))' \(reason)")
  }

  /// Whether a double keeps the digits of a number; false for other texts.
  func keepsDigits(_ given: Span<UInt8>, _ kind: ImportField.Kind) -> Bool {
    parsed(given, kind) { text in ExactText.double(text).map { WrittenNumber.holds(text, $0) } } ?? false
  }
}

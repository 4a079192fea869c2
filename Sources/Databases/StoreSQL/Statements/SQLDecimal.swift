import AtomicStoreSPI
import StorePrimitives

/// The keys of decimals: bytes that a database compares in the order of the numbers.
public enum SQLDecimal {
  /// Calls `body` with the key of a decimal's text: 8, 16 or 24 bytes, of which equal ones are equal numbers. It is nil
  /// for not-a-number.
  ///
  /// - Returns: Whether the text is a decimal number. Otherwise `body` was not called.
  public static func withKey(
    of text: UnsafeBufferPointer<UInt8>, _ body: (UnsafeRawBufferPointer?) -> Void
  ) -> Bool {
    // Most numbers have at most 15 digits.
    if let first = DecimalKey.first(text), first != DecimalKey.nan, !DecimalKey.continues(first, 0) {
      withUnsafeBytes(of: first.bigEndian) { body($0) }
      return true
    }
    guard let key = DecimalKey(text) else { return false }
    if let bytes = key.sortKey { bytes.withUnsafeBytes { body($0) } } else { body(nil) }
    return true
  }
}

import AtomicStoreSPI
import StoreCodecs

/// Times since 1970-01-01T00:00:00Z, as numbers in texts.
enum UnixTime {
  /// Seconds from 1970-01-01 to 2001-01-01.
  private static let reference: Int64 = 978_307_200

  /// The seconds since 2001-01-01T00:00:00Z, rounded once: the double that an ISO 8601 text of the same time gives. Nil
  /// if the text is not a number.
  ///
  /// - Parameter decimals: How many decimals of a second the number's unit has: 3 for milliseconds.
  static func secondsSinceReference(_ bytes: Span<UInt8>, decimals: Int) -> Double? {
    var scale: Int64 = 1
    for _ in 0..<decimals { scale *= 10 }
    if let units = ExactText.integer(bytes), units.magnitude < 1 << 52 {
      // Both operands are exact, so the single operation rounds correctly.
      return Double(units - reference * scale) / Double(scale)
    }
    guard let number = ExactText.double(bytes) else { return nil }
    return exact(bytes, decimals) ?? number / Double(scale) - Double(reference)
  }

  /// Nil for numbers of other magnitudes than those of times.
  private static func exact(_ bytes: Span<UInt8>, _ decimals: Int) -> Double? {
    guard let number = DecimalNumber(utf8: bytes), !number.isNaN else { return nil }
    var mantissa = number.mantissa
    var exponent = Int(number.exponent)
    guard mantissa < UInt128(1) << 96, abs(exponent) <= 18 else { return nil }
    while exponent > 0 {
      mantissa *= 10
      exponent -= 1
      guard mantissa < UInt128(1) << 96 else { return nil }
    }
    exponent -= decimals
    guard exponent >= -21 else { return nil }
    var offset = Int128(reference)
    for _ in 0..<(-exponent) { offset *= 10 }
    let units = (number.isNegative ? -Int128(mantissa) : Int128(mantissa)) - offset
    return ExactText.double(Array("\(units)e\(exponent)".utf8).span)
  }
}

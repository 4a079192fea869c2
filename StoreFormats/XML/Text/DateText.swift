import AtomicStoreSPI
import StoreCodecs

/// Dates as text: seconds since 2001-01-01T00:00:00Z; Core Data always writes twenty decimals.
enum DateText {
  private static let tenToTwenty = UInt128(10_000_000_000) * 10_000_000_000

  /// The seconds, exactly as the correctly rounded decimal number; nil if it is not a number.
  static func seconds(_ text: UnsafeMutableBufferPointer<UInt8>) -> Double? {
    fixed20(text) ?? ExactText.double(Span(_unsafeElements: UnsafeBufferPointer(text)))
  }

  /// Parses the usual form with exact integer arithmetic instead of C's general conversion; nil if it is another form,
  /// or if 128 bits do not suffice.
  private static func fixed20(_ text: UnsafeMutableBufferPointer<UInt8>) -> Double? {
    let count = text.count
    guard count > 22, text[count - 21] == UInt8(ascii: ".") else { return nil }
    let isNegative = text[0] == UInt8(ascii: "-")
    let start = isNegative ? 1 : 0
    let wholeDigits = count - 21 - start
    guard wholeDigits >= 1, wholeDigits <= 9 else { return nil }
    var whole: UInt64 = 0
    for index in start..<count - 21 {
      let digit = text[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      whole = whole &* 10 &+ UInt64(digit)
    }
    // At least one whole second ensures a quotient of more than 53 bits.
    guard whole > 0 else { return nil }
    var high: UInt64 = 0
    var low: UInt64 = 0
    for index in count - 20..<count - 10 {
      let digit = text[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      high = high &* 10 &+ UInt64(digit)
    }
    for index in count - 10..<count {
      let digit = text[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      low = low &* 10 &+ UInt64(digit)
    }
    // The value times ten to the twentieth is below 2^97; multiplied by 2^shift it fits in 128 bits, and the quotient
    // has at least 58 bits: enough to round once, with the remainder of the division deciding ties.
    let fraction = UInt128(high) * 10_000_000_000 + UInt128(low)
    let scaled = UInt128(whole) * tenToTwenty + fraction
    let shift = scaled.leadingZeroBitCount
    let (quotient, remainder) = (scaled << UInt128(shift)).quotientAndRemainder(dividingBy: tenToTwenty)
    let wide = UInt64(truncatingIfNeeded: quotient)
    let excess = 64 - wide.leadingZeroBitCount - 53
    guard excess > 0 else { return nil }
    var mantissa = wide >> UInt64(excess)
    let cut = wide & (1 << UInt64(excess) - 1)
    let half = UInt64(1) << UInt64(excess - 1)
    if cut > half || cut == half && (remainder != 0 || mantissa & 1 == 1) { mantissa += 1 }
    let value = Double(sign: .plus, exponent: excess - shift, significand: Double(mantissa))
    return isNegative ? -value : value
  }
}

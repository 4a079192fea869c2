extension ExactText {
  /// Parses a decimal number, correctly rounded; also `inf`, `-inf`, `nan` and `nan(0x7ff8000000000001)`.
  ///
  /// Variants such as `INF`, `infinity` and `NaN` are accepted too. A number beyond the largest finite one is `nil`
  /// rather than infinity: the file contains a number that this type cannot represent. Hexadecimal numbers are not
  /// accepted.
  public static func double(_ bytes: Span<UInt8>) -> Double? {
    bytes.withUnsafeBufferPointer { double(text: $0) }
  }

  /// Parses a decimal number, rounded once and directly to `Float`; also `inf`, `-inf`, `nan` and `nan(0x7fc00001)`.
  public static func float(_ bytes: Span<UInt8>) -> Float? {
    bytes.withUnsafeBufferPointer { float(text: $0) }
  }

  static func double(text: UnsafeBufferPointer<UInt8>) -> Double? {
    guard let scanned = DecimalScan(text) else {
      return special(text, nan: 0x7FF8_0000_0000_0000, sign: 1 << 63, infinity: 0x7FF0_0000_0000_0000)
        .map { Double(bitPattern: $0) }
    }
    if scanned.isExact, let magnitude = double(scanned.significand, exponent: scanned.exponent) {
      return scanned.isNegative ? -magnitude : magnitude
    }
    guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
    return value
  }

  static func float(text: UnsafeBufferPointer<UInt8>) -> Float? {
    guard let scanned = DecimalScan(text) else {
      return special(text, nan: 0x7FC0_0000, sign: 1 << 31, infinity: 0x7F80_0000)
        .map { Float(bitPattern: UInt32(truncatingIfNeeded: $0)) }
    }
    if scanned.isExact, let rounded = round(scanned.significand, exponent: scanned.exponent, bits: 24) {
      let magnitude =
        rounded.mantissa == 0
        ? 0
        : UInt32(truncatingIfNeeded: rounded.mantissa)
          &+ UInt32(truncatingIfNeeded: rounded.exponent + 149) << 23
      // From 2^104 on the exponent does not fit: the slow path handles the largest numbers.
      if rounded.exponent < 104 { return Float(bitPattern: scanned.isNegative ? magnitude | 1 << 31 : magnitude) }
    }
    guard let value = Float(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
    return value
  }

  // MARK: Binary to decimal

  /// The shortest text of a number of one to three decimals, which are most numbers in practice: its digits without the
  /// dot, and the number of decimals. Nil for all others, integral ones included.
  static func fewDecimals(_ magnitude: Double) -> (digits: UInt64, places: Int)? {
    guard magnitude >= 0.001, magnitude < 1e12 else { return nil }
    // The quotient of two exact numbers is rounded once, to the double nearest to the decimal number. No two decimal
    // numbers of at most fifteen digits round to the same double, so there is no shorter one.
    let thousandths = (magnitude * 1000).rounded()
    guard thousandths / 1000 == magnitude else { return nil }
    let digits = UInt64(thousandths)
    if digits % 10 != 0 { return (digits, 3) }
    if digits % 100 != 0 { return (digits / 10, 2) }
    return digits % 1000 != 0 ? (digits / 100, 1) : nil
  }

  // MARK: Decimal to binary

  /// `significand` × 10^`exponent`, correctly rounded, if integer arithmetic suffices.
  static func double(_ significand: UInt128, exponent: Int) -> Double? {
    if significand < 1 << 53, exponent >= -22, exponent <= 22 {
      // Both operands are exact, so the single operation rounds correctly.
      let whole = Double(UInt64(truncatingIfNeeded: significand))
      return exponent < 0 ? whole / powersOfTen[-exponent] : whole * powersOfTen[exponent]
    }
    guard let rounded = round(significand, exponent: exponent, bits: 53) else { return nil }
    // The mantissa's leading bit is implicit in the format: adding it increments the exponent field, as does a mantissa
    // that was rounded up to the next power of two.
    return Double(bitPattern: rounded.mantissa &+ UInt64(truncatingIfNeeded: rounded.exponent + 1074) << 52)
  }

  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22,
  ]

  /// 5^0 … 5^27: those that fit in 64 bits.
  private static let powersOfFive: [UInt64] = [
    1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1_953_125, 9_765_625, 48_828_125, 244_140_625, 1_220_703_125,
    6_103_515_625, 30_517_578_125, 152_587_890_625, 762_939_453_125, 3_814_697_265_625, 19_073_486_328_125,
    95_367_431_640_625, 476_837_158_203_125, 2_384_185_791_015_625, 11_920_928_955_078_125, 59_604_644_775_390_625,
    298_023_223_876_953_125, 1_490_116_119_384_765_625, 7_450_580_596_923_828_125,
  ]

  /// `significand` × 10^`exponent` as mantissa × 2^exponent, with a mantissa of `bits` bits (or 2^`bits`), half to
  /// even.
  ///
  /// Exact integer arithmetic: dividing the significand, shifted to the top of 128 bits, by a power of five below 2^63
  /// results in a quotient of more than 64 bits, and the remainder says whether there are further bits. The result is
  /// never subnormal.
  @inline(__always)
  private static func round(_ significand: UInt128, exponent: Int, bits: Int) -> (mantissa: UInt64, exponent: Int)? {
    guard significand != 0 else { return bits == 53 ? (0, -1074) : (0, -149) }
    guard exponent >= -27, exponent <= 27 else { return nil }
    var quotient: UInt128
    var binaryExponent = exponent
    var isInexact = false
    if exponent < 0 {
      let shift = significand.leadingZeroBitCount
      let dividend = significand << UInt128(truncatingIfNeeded: shift)
      let divisor = powersOfFive[-exponent]
      let high = UInt64(truncatingIfNeeded: dividend >> 64).quotientAndRemainder(dividingBy: divisor)
      let low = divisor.dividingFullWidth((high.remainder, UInt64(truncatingIfNeeded: dividend)))
      quotient = UInt128(high.quotient) << 64 | UInt128(low.quotient)
      isInexact = low.remainder != 0
      binaryExponent -= shift
    } else {
      guard significand >> 64 == 0 else { return nil }
      quotient = significand &* UInt128(powersOfFive[exponent])
      // Shifted to the top as well, so that there always are bits to drop below.
      let shift = quotient.leadingZeroBitCount
      quotient = quotient << UInt128(truncatingIfNeeded: shift)
      binaryExponent -= shift
    }
    let drop = 128 - quotient.leadingZeroBitCount - bits
    var mantissa = UInt64(truncatingIfNeeded: quotient >> UInt128(truncatingIfNeeded: drop))
    let rest = quotient & ((1 << UInt128(truncatingIfNeeded: drop)) - 1)
    let half = (1 as UInt128) << UInt128(truncatingIfNeeded: drop - 1)
    if rest > half || (rest == half && (isInexact || mantissa & 1 == 1)) { mantissa += 1 }
    return (mantissa, binaryExponent + drop)
  }

  // MARK: What is not a number

  /// The bits of infinity or not-a-number.
  private static func special(
    _ text: UnsafeBufferPointer<UInt8>, nan: UInt64, sign: UInt64, infinity: UInt64
  ) -> UInt64? {
    var text = UnsafeBufferPointer(rebasing: text[...])
    var signBit: UInt64 = 0
    if let first = text.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
      signBit = first == UInt8(ascii: "-") ? sign : 0
      text = UnsafeBufferPointer(rebasing: text.dropFirst())
    }
    if matches(text, "nan") { return nan | signBit }
    if matches(text, "inf") || matches(text, "infinity") { return infinity | signBit }
    // nan(0x, the digits of the whole bit pattern, and the closing bracket; no sign, because the pattern contains it.
    let digits = sign == 1 << 63 ? 16 : 8
    guard signBit == 0, text.count == digits + 7, text[text.count - 1] == UInt8(ascii: ")"),
      matches(UnsafeBufferPointer(rebasing: text[0..<3]), "nan"), text[3] == UInt8(ascii: "("),
      text[4] == UInt8(ascii: "0"), text[5] == UInt8(ascii: "x")
    else { return nil }
    var pattern: UInt64 = 0
    for digit in text[6..<6 + digits] {
      guard let value = hexDigit(digit) else { return nil }
      pattern = pattern << 4 | UInt64(value)
    }
    return pattern & infinity == infinity && pattern & ~(infinity | sign) != 0 ? pattern : nil
  }
}

extension ExactText {
  // MARK: Twenty decimals

  /// Whether the text with twenty decimals is read back as the same bits.
  static func fixed20IsExact(_ value: Double) -> Bool {
    let magnitude = value.magnitude
    // From here on, half a unit in the last decimal is less than half the distance between neighbors.
    if magnitude >= 0x1p-13 || magnitude == 0 { return true }
    return double(fixed20(magnitude).fraction, exponent: -20) == magnitude
  }

  /// The integral part and the twenty decimals of a number from 0 to below 2^63.
  static func fixed20(_ value: Double) -> (whole: UInt64, fraction: UInt128) {
    let mantissa = value.isNormal ? value.significandBitPattern | 1 << 52 : value.significandBitPattern
    // value = mantissa × 2^-places
    let places = 1075 - max(Int(value.exponentBitPattern), 1)
    guard places > 0 else { return (mantissa << UInt64(truncatingIfNeeded: -places), 0) }
    let whole = places < 64 ? mantissa >> UInt64(truncatingIfNeeded: places) : 0
    let part = places < 64 ? mantissa & ((1 << UInt64(truncatingIfNeeded: places)) - 1) : mantissa
    // 53 bits times the 67 bits of 10^20.
    let scaled = UInt128(part) &* 100_000_000_000_000_000_000
    // Beyond 121 places it is less than half of the last decimal.
    guard places < 122 else { return (whole, 0) }
    var fraction = scaled >> UInt128(truncatingIfNeeded: places)
    let rest = scaled & ((1 << UInt128(truncatingIfNeeded: places)) - 1)
    let half = (1 as UInt128) << UInt128(truncatingIfNeeded: places - 1)
    if rest > half || (rest == half && fraction & 1 == 1) { fraction += 1 }
    return fraction == 100_000_000_000_000_000_000 ? (whole + 1, 0) : (whole, fraction)
  }
}

/// The parts of a decimal number.
struct DecimalScan {
  var isNegative = false
  /// At most 38 digits.
  var significand: UInt128 = 0
  var exponent = 0
  /// Whether the significand contains every digit that is not zero.
  var isExact = true

  /// Parses an optional sign, digits with at most one dot, and an optional exponent; `nil` for everything else.
  init?(_ text: UnsafeBufferPointer<UInt8>) {
    let end = text.count
    var index = 0
    guard end > 0 else { return nil }
    if text[0] == UInt8(ascii: "-") || text[0] == UInt8(ascii: "+") {
      isNegative = text[0] == UInt8(ascii: "-")
      index = 1
    }
    // Nineteen digits fit in 64 bits; two such halves are combined at the end.
    var first: UInt64 = 0
    var second: UInt64 = 0
    var significant = 0
    var dropped = 0
    var fraction = 0
    var seen = 0
    var afterPoint = false
    while index < end {
      let byte = text[index]
      let digit = UInt64(byte &- 0x30 as UInt8)
      if digit <= 9 {
        seen += 1
        if afterPoint { fraction += 1 }
        if significant < 19 {
          first = first &* 10 &+ digit
          // Leading zeros do not count.
          if first != 0 { significant += 1 }
        } else if significant < 38 {
          second = second &* 10 &+ digit
          significant += 1
        } else {
          dropped += 1
          if digit != 0 { isExact = false }
        }
      } else if byte == UInt8(ascii: "."), !afterPoint {
        afterPoint = true
      } else {
        break
      }
      index += 1
    }
    guard seen > 0 else { return nil }
    significand = UInt128(first)
    if significant > 19 { significand = significand &* UInt128(Self.powers[significant - 19]) &+ UInt128(second) }
    exponent = dropped - fraction
    guard index < end else { return }
    guard text[index] | 0x20 == UInt8(ascii: "e"), index + 1 < end else { return nil }
    index += 1
    let isDown = text[index] == UInt8(ascii: "-")
    if isDown || text[index] == UInt8(ascii: "+") { index += 1 }
    guard index < end else { return nil }
    var power = 0
    while index < end {
      let digit = Int(text[index]) - Int(UInt8(ascii: "0"))
      guard digit >= 0, digit <= 9 else { return nil }
      // Far beyond every type's range, the exact exponent does not matter.
      power = min(power &* 10 &+ digit, 1_000_000_000)
      index += 1
    }
    exponent += isDown ? -power : power
  }

  /// 10^0 … 10^19: those that fit in 64 bits.
  static let powers: [UInt64] = [
    1, 10, 100, 1000, 10000, 100000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
    100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000,
    10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000, 10_000_000_000_000_000_000,
  ]
}

/// A decimal as numbers that sort like it: the first has the sign, the power of ten and the first 15 digits, the second
/// 18 more digits, the third the rest. Most comparisons need the first only.
@usableFromInline package struct DecimalKey {
  package static let null: UInt64 = 0
  /// Not-a-number sorts after null and before all other values.
  @usableFromInline package static let nan: UInt64 = 1
  /// The number of zero. Others are as far above or below as their size says.
  @usableFromInline static let zero: UInt64 = 1 << 62
  private static let digits = [15, 18, 6]
  /// How many digits the first number has.
  @usableFromInline static let firstDigits = 15

  @usableFromInline var mantissa: UInt128 = 0
  /// The number of digits of the mantissa, 0 for zero.
  @usableFromInline var count = 0
  @usableFromInline var exponent = 0
  @usableFromInline var isNegative = false
  private var isNaN = false

  package init(_ number: DecimalNumber) {
    mantissa = number.mantissa
    exponent = Int(number.exponent)
    isNegative = number.isNegative
    isNaN = number.isNaN
    count = Self.digitCount(mantissa)
  }

  /// Returns nil if the text is not a decimal number.
  @usableFromInline package init?(_ text: UnsafeBufferPointer<UInt8>) {
    self.init()
    if readShort(text) { return }
    guard let number = DecimalNumber(utf8: Span(_unsafeElements: text)) else { return nil }
    self = DecimalKey(number)
  }

  /// Whether the number with an index, at least 0, continues in the next one.
  @inlinable package static func continues(_ number: UInt64, _ piece: Int) -> Bool {
    piece < 2 && number > nan && number & 1 == 1
  }

  /// As many bytes as the text needs which sort like the decimals; without a value for not-a-number.
  package var sortKey: [UInt8]? {
    guard !isNaN else { return nil }
    var bytes: [UInt8] = []
    for piece in 0...2 {
      let number = number(piece)
      withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
      if !Self.continues(number, piece) { break }
    }
    return bytes
  }

  /// The number with an index from 0 to 2. Those after the first are meaningful if the ones before them are equal.
  @usableFromInline package func number(_ piece: Int) -> UInt64 {
    if isNaN { return Self.nan }
    if mantissa == 0 { return Self.zero }
    let before = Self.digits[..<piece].reduce(0, +)
    let left = count - before
    guard left > 0 else { return Self.zero }
    var rest = before == 0 ? mantissa : mantissa % Self.power(left)
    var hasMore = false
    let wanted = Self.digits[piece]
    if left <= wanted {
      rest *= Self.power(wanted - left)
    } else {
      let unit = Self.power(left - wanted)
      hasMore = rest % unit != 0
      rest /= unit
    }
    var size = UInt64(truncatingIfNeeded: rest) << 1 | (hasMore ? 1 : 0)
    // The powers of all decimals are from -127 to 166.
    if piece == 0 { size |= UInt64(exponent + count + 200) << 51 }
    return isNegative ? Self.zero - size : Self.zero + size
  }

  /// The first number of a text; nil if it is not a decimal number.
  @inlinable package static func first(_ text: UnsafeBufferPointer<UInt8>) -> UInt64? {
    var key = DecimalKey()
    guard key.readShort(text) else { return DecimalKey(text)?.number(0) }
    if key.count > firstDigits || key.mantissa == 0 { return key.number(0) }
    let size =
      UInt64(truncatingIfNeeded: key.mantissa) &* powers[firstDigits &- key.count] << 1
      | UInt64(truncatingIfNeeded: key.exponent &+ key.count &+ 200) << 51
    return key.isNegative ? zero &- size : zero &+ size
  }

  @usableFromInline init() {}

  /// Reads digits with a sign and a decimal point, at most 18 significant ones; returns false for everything else.
  @inlinable mutating func readShort(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    var index = 0
    let isBelow = text.first == UInt8(ascii: "-")
    if isBelow { index = 1 }
    guard index < text.count, text.count <= 100 else { return false }
    var value: UInt64 = 0
    var significant = 0
    var figures = 0
    var scale = -1
    while index < text.count {
      let digit = text[index] &- UInt8(ascii: "0")
      if digit < 10 {
        value = value &* 10 &+ UInt64(digit)
        figures &+= 1
        if value != 0 { significant &+= 1 }
        if scale >= 0 { scale &+= 1 }
      } else if text[index] == UInt8(ascii: "."), scale < 0 {
        scale = 0
      } else {
        return false
      }
      index &+= 1
    }
    guard figures > 0, significant <= 18 else { return false }
    mantissa = UInt128(value)
    count = significant
    exponent = scale > 0 ? -scale : 0
    isNegative = isBelow && value != 0
    return true
  }

  private static func digitCount(_ mantissa: UInt128) -> Int {
    var count = 0
    while count < 39, mantissa >= power(count) { count += 1 }
    return count
  }

  /// In full, so that they are in the program and not made when they are first used, which would be asked each time.
  @usableFromInline static let powers: [UInt64] = [
    1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
    100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000,
    10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000,
  ]
  /// Ten to the power of at most 38.
  private static func power(_ exponent: Int) -> UInt128 {
    if exponent <= 18 { return UInt128(powers[exponent]) }
    return UInt128(powers[18])
      * (exponent <= 36 ? UInt128(powers[exponent - 18]) : UInt128(powers[18]) * UInt128(powers[exponent - 36]))
  }
}

/// A decimal that a column is compared with.
@usableFromInline package struct DecimalBound {
  @usableFromInline let numbers: [UInt64]
  package let value: DecimalNumber

  package init(_ value: DecimalNumber) {
    self.value = value
    let key = DecimalKey(value)
    numbers = (0...2).map { key.number($0) }
  }

  /// Negative, zero or positive, as the decimal with that text is less than, equal to or greater than the bound; nil if
  /// either is not a number.
  @inlinable package func order(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
    guard let first = DecimalKey.first(text), first != DecimalKey.nan, numbers[0] != DecimalKey.nan else { return nil }
    if first != numbers[0] { return first < numbers[0] ? -1 : 1 }
    guard DecimalKey.continues(first, 0), let key = DecimalKey(text) else { return 0 }
    for piece in 1...2 {
      let number = key.number(piece)
      if number != numbers[piece] { return number < numbers[piece] ? -1 : 1 }
    }
    return 0
  }
}

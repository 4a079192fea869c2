/// Decimal arithmetic: exact if the result fits in 128 bits. Otherwise it is rounded to ``precision`` digits, half away
/// from zero; nil if the exponent of the result is out of range.
extension DecimalNumber {
  /// The number of significant digits of a rounded result, such as a third.
  package static let precision = 38

  package func adding(_ other: DecimalNumber) -> DecimalNumber? {
    if isNaN || other.isNaN { return .nan }
    if other.mantissa == 0 { return self }
    if mantissa == 0 { return other }
    if let (left, right, power) = aligned(with: other), let sum = Self.sum(left, isNegative, right, other.isNegative) {
      return DecimalNumber(mantissa: sum.magnitude, exponent: power, isNegative: sum.isNegative)
    }
    var wide = WideDecimal(self)
    wide.add(WideDecimal(other))
    return wide.number
  }

  package func subtracting(_ other: DecimalNumber) -> DecimalNumber? { adding(other.negated) }

  package func multiplied(by other: DecimalNumber) -> DecimalNumber? {
    if isNaN || other.isNaN { return .nan }
    let power = Int(exponent) + Int(other.exponent)
    let isBelow = isNegative != other.isNegative
    let (product, overflow) = mantissa.multipliedReportingOverflow(by: other.mantissa)
    if !overflow { return Self.fitting(product, power, isNegative: isBelow) }
    return WideDecimal(self).multiplied(by: WideDecimal(other)).number
  }

  /// Returns nil for a division by zero. An infinite quotient, such as a third, is rounded to ``precision`` digits.
  package func divided(by other: DecimalNumber) -> DecimalNumber? {
    if isNaN || other.isNaN { return .nan }
    guard other.mantissa != 0 else { return nil }
    var (quotient, rest) = mantissa.quotientAndRemainder(dividingBy: other.mantissa)
    var power = Int(exponent) - Int(other.exponent)
    while rest != 0, quotient < Self.leastOfPrecision {
      let (digit, next) = Self.tenfold(rest, dividedBy: other.mantissa)
      quotient = quotient * 10 + digit
      rest = next
      power -= 1
    }
    if rest != 0 {
      if quotient >= Self.leastOfPrecision * 10 {
        quotient = quotient / 10 + (quotient % 10 >= 5 ? 1 : 0)
        power += 1
      } else if rest >= other.mantissa - rest {
        quotient += 1
      }
    }
    return Self.fitting(quotient, power, isNegative: isNegative != other.isNegative)
  }

  /// The remainder of the division with an integral quotient, with this number's sign; nil for a division by zero.
  /// Always exact.
  package func remainder(dividingBy other: DecimalNumber) -> DecimalNumber? {
    if isNaN || other.isNaN { return .nan }
    guard other.mantissa != 0 else { return nil }
    var gap = Int(exponent) - Int(other.exponent)
    guard gap < 0 else {
      var rest = mantissa % other.mantissa
      while gap > 0, rest != 0 {
        rest = Self.tenfold(rest, dividedBy: other.mantissa).rest
        gap -= 1
      }
      return DecimalNumber(mantissa: rest, exponent: other.exponent, isNegative: isNegative)
    }
    // A divisor that cannot be represented on this scale is greater than all numbers that can.
    guard let divisor = Self.scaled(other.mantissa, by: -gap) else { return self }
    return DecimalNumber(mantissa: mantissa % divisor, exponent: exponent, isNegative: isNegative)
  }

  /// The power with a non-negative integral exponent; each product is rounded as by ``multiplied(by:)``.
  package func raised(to power: Int) -> DecimalNumber? {
    var result: DecimalNumber? = DecimalNumber(1)
    for _ in 0..<power { result = result?.multiplied(by: self) }
    return result
  }

  /// The sum, rounded once at the end, so that it does not depend on the order. Zero for an empty sequence.
  package static func sum(_ numbers: some Sequence<DecimalNumber>) -> DecimalNumber? {
    var total = DecimalNumber(0)
    var wide: WideDecimal?
    for number in numbers {
      if number.isNaN { return .nan }
      if wide == nil {
        if number.mantissa == 0 { continue }
        if total.mantissa == 0 {
          total = number
          continue
        }
        if let (left, right, power) = total.aligned(with: number),
          let sum = Self.sum(left, total.isNegative, right, number.isNegative)
        {
          total = DecimalNumber(mantissa: sum.magnitude, exponent: power, isNegative: sum.isNegative)
          continue
        }
        wide = WideDecimal(total)
      }
      wide?.add(WideDecimal(number))
    }
    if let wide { return wide.number }
    return total
  }

  // MARK: One number

  package var negated: DecimalNumber {
    isNaN ? self : DecimalNumber(mantissa: mantissa, exponent: exponent, isNegative: !isNegative)
  }

  package var magnitude: DecimalNumber { isNaN ? self : DecimalNumber(mantissa: mantissa, exponent: exponent) }

  /// The number rounded to an integer by the rule.
  package func rounded(_ rule: FloatingPointRoundingRule) -> DecimalNumber {
    guard !isNaN, exponent < 0 else { return self }
    let unit = Self.scaled(1, by: -Int(exponent))
    let (quotient, rest) = unit.map { mantissa.quotientAndRemainder(dividingBy: $0) } ?? (0, mantissa)
    // If 1 cannot be represented on this scale, all numbers that can are less than a half.
    let half = unit.map { rest < $0 - rest ? -1 : rest > $0 - rest ? 1 : 0 } ?? -1
    let goesOut: Bool
    switch rule {
    case .towardZero: goesOut = false
    case .awayFromZero: goesOut = true
    case .down: goesOut = isNegative
    case .up: goesOut = !isNegative
    case .toNearestOrAwayFromZero: goesOut = half >= 0
    default: goesOut = half > 0 || half == 0 && quotient % 2 == 1
    }
    return DecimalNumber(mantissa: quotient + (rest != 0 && goesOut ? 1 : 0), isNegative: isNegative)
  }

  /// The number rounded by the rule to so many digits after the point, or zeros before it.
  package func rounded(_ rule: FloatingPointRoundingRule, digits: Int) -> DecimalNumber {
    guard !isNaN, Int(exponent) + digits < 0 else { return self }
    // Far below the last digit, all numbers are rounded alike.
    let shifted = DecimalNumber(
      mantissa: mantissa, exponent: Int8(clamping: Int(exponent) + digits), isNegative: isNegative
    ).rounded(rule)
    return DecimalNumber(mantissa: shifted.mantissa, exponent: Int8(clamping: -digits), isNegative: isNegative)
  }

  /// The number as an integer; nil if it has a fraction or is out of range.
  package var integer: Int64? {
    let number = normalized
    guard !isNaN, number.exponent >= 0, let magnitude = Self.scaled(number.mantissa, by: Int(number.exponent)) else {
      return nil
    }
    guard magnitude <= UInt128(Int64.max) + 1 else { return nil }
    return Int64(exactly: number.isNegative ? -Int128(magnitude) : Int128(magnitude))
  }

  // MARK: Digits

  /// The least mantissa of ``precision`` digits.
  private static let leastOfPrecision: UInt128 = (1..<precision).reduce(1) { power, _ in power * 10 }

  /// Multiplies by a power of ten; nil if the result does not fit.
  private static func scaled(_ mantissa: UInt128, by power: Int) -> UInt128? {
    guard power <= 38 else { return mantissa == 0 ? 0 : nil }
    var result = mantissa
    for _ in 0..<power {
      let (next, overflow) = result.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      result = next
    }
    return result
  }

  /// Both mantissas on the finer scale of the two; nil if one does not fit.
  private func aligned(with other: DecimalNumber) -> (UInt128, UInt128, Int8)? {
    if exponent == other.exponent { return (mantissa, other.mantissa, exponent) }
    if exponent > other.exponent {
      return Self.scaled(mantissa, by: Int(exponent) - Int(other.exponent)).map { ($0, other.mantissa, other.exponent) }
    }
    return Self.scaled(other.mantissa, by: Int(other.exponent) - Int(exponent)).map { (mantissa, $0, exponent) }
  }

  private static func sum(
    _ left: UInt128, _ isLeftBelow: Bool, _ right: UInt128, _ isRightBelow: Bool
  ) -> (magnitude: UInt128, isNegative: Bool)? {
    if isLeftBelow != isRightBelow {
      return left >= right ? (left - right, isLeftBelow) : (right - left, isRightBelow)
    }
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? nil : (sum, isLeftBelow)
  }

  /// `rest * 10` divided by a divisor greater than the rest, without overflow.
  private static func tenfold(_ rest: UInt128, dividedBy divisor: UInt128) -> (digit: UInt128, rest: UInt128) {
    var digit: UInt128 = 0
    var sum: UInt128 = 0
    for _ in 0..<10 {
      if sum >= divisor - rest {
        sum -= divisor - rest
        digit += 1
      } else {
        sum += rest
      }
    }
    return (digit, sum)
  }

  /// Creates a number whose power may be outside -128 … 127: low digits are rounded, or zeros are appended.
  fileprivate static func fitting(_ mantissa: UInt128, _ power: Int, isNegative: Bool) -> DecimalNumber? {
    if let exponent = Int8(exactly: power) {
      return DecimalNumber(mantissa: mantissa, exponent: exponent, isNegative: isNegative)
    }
    if mantissa == 0 { return DecimalNumber(0) }
    if power > Int(Int8.max) {
      return scaled(mantissa, by: power - Int(Int8.max)).map {
        DecimalNumber(mantissa: $0, exponent: .max, isNegative: isNegative)
      }
    }
    guard let unit = scaled(1, by: Int(Int8.min) - power) else { return DecimalNumber(0) }
    let (whole, rest) = mantissa.quotientAndRemainder(dividingBy: unit)
    return DecimalNumber(mantissa: whole + (rest >= unit - rest ? 1 : 0), exponent: .min, isNegative: isNegative)
  }
}

/// A decimal with any number of digits, for intermediate results.
private struct WideDecimal {
  /// Nine digits each, the lowest first, without leading zeros.
  private var limbs: [UInt32] = []
  private var exponent: Int
  private var isNegative: Bool

  private static let base: UInt64 = 1_000_000_000

  init(_ number: DecimalNumber) {
    exponent = Int(number.exponent)
    isNegative = number.isNegative
    var rest = number.mantissa
    while rest > 0 {
      limbs.append(UInt32(truncatingIfNeeded: rest % UInt128(Self.base)))
      rest /= UInt128(Self.base)
    }
  }

  mutating func add(_ other: WideDecimal) {
    var other = other
    scale(to: min(exponent, other.exponent))
    other.scale(to: exponent)
    if isNegative == other.isNegative {
      limbs = Self.sum(limbs, other.limbs)
    } else if Self.isLess(limbs, other.limbs) {
      limbs = Self.difference(other.limbs, limbs)
      isNegative = other.isNegative
    } else {
      limbs = Self.difference(limbs, other.limbs)
    }
  }

  func multiplied(by other: WideDecimal) -> WideDecimal {
    var product = self
    product.exponent += other.exponent
    product.isNegative = isNegative != other.isNegative
    var result = [UInt32](repeating: 0, count: limbs.count + other.limbs.count)
    for (place, limb) in limbs.enumerated() {
      var carry: UInt64 = 0
      for (offset, factor) in other.limbs.enumerated() {
        let sum = UInt64(result[place + offset]) + UInt64(limb) * UInt64(factor) + carry
        result[place + offset] = UInt32(sum % Self.base)
        carry = sum / Self.base
      }
      result[place + other.limbs.count] = UInt32(carry)
    }
    product.limbs = Self.trimmed(result)
    return product
  }

  /// The number in 128 bits: exact if it fits without its trailing zeros, otherwise rounded.
  var number: DecimalNumber? {
    var copy = self
    while copy.mantissa == nil, copy.cutDigit(onlyZero: true) != nil {}
    if copy.mantissa == nil {
      var dropped: UInt32 = 0
      while copy.digitCount > DecimalNumber.precision, let digit = copy.cutDigit(onlyZero: false) { dropped = digit }
      // Half away from zero: the first dropped digit decides.
      if dropped >= 5 { copy.limbs = Self.sum(copy.limbs, [1]) }
    }
    return copy.mantissa.flatMap { DecimalNumber.fitting($0, copy.exponent, isNegative: isNegative) }
  }

  private var mantissa: UInt128? {
    var result: UInt128 = 0
    for limb in limbs.reversed() {
      let (product, overflow) = result.multipliedReportingOverflow(by: UInt128(Self.base))
      let (sum, carry) = product.addingReportingOverflow(UInt128(limb))
      if overflow || carry { return nil }
      result = sum
    }
    return result
  }

  private var digitCount: Int { limbs.last.map { (limbs.count - 1) * 9 + String($0).utf8.count } ?? 0 }

  /// Removes the lowest digit; nil if there is none, or if it is not zero but must be.
  private mutating func cutDigit(onlyZero: Bool) -> UInt32? {
    guard let lowest = limbs.first, !onlyZero || lowest % 10 == 0 else { return nil }
    let digit = lowest % 10
    var carry: UInt64 = 0
    for place in limbs.indices.reversed() {
      let value = carry * Self.base + UInt64(limbs[place])
      limbs[place] = UInt32(value / 10)
      carry = value % 10
    }
    limbs = Self.trimmed(limbs)
    exponent += 1
    return digit
  }

  private mutating func scale(to power: Int) {
    var gap = exponent - power
    exponent = power
    guard !limbs.isEmpty else { return }
    limbs.insert(contentsOf: repeatElement(0, count: gap / 9), at: 0)
    gap %= 9
    guard gap > 0 else { return }
    let factor = (0..<gap).reduce(UInt64(1)) { product, _ in product * 10 }
    var carry: UInt64 = 0
    for place in limbs.indices {
      let value = UInt64(limbs[place]) * factor + carry
      limbs[place] = UInt32(value % Self.base)
      carry = value / Self.base
    }
    if carry > 0 { limbs.append(UInt32(carry)) }
  }

  private static func sum(_ one: [UInt32], _ other: [UInt32]) -> [UInt32] {
    var result: [UInt32] = []
    var carry: UInt64 = 0
    for place in 0..<max(one.count, other.count) {
      let value =
        (place < one.count ? UInt64(one[place]) : 0) + (place < other.count ? UInt64(other[place]) : 0) + carry
      result.append(UInt32(value % base))
      carry = value / base
    }
    if carry > 0 { result.append(UInt32(carry)) }
    return result
  }

  /// The greater number comes first.
  private static func difference(_ one: [UInt32], _ other: [UInt32]) -> [UInt32] {
    var result: [UInt32] = []
    var borrow: Int64 = 0
    for place in one.indices {
      var value = Int64(one[place]) - borrow - (place < other.count ? Int64(other[place]) : 0)
      borrow = value < 0 ? 1 : 0
      if value < 0 { value += Int64(base) }
      result.append(UInt32(value))
    }
    return trimmed(result)
  }

  private static func isLess(_ one: [UInt32], _ other: [UInt32]) -> Bool {
    one.count != other.count ? one.count < other.count : one.reversed().lexicographicallyPrecedes(other.reversed())
  }

  private static func trimmed(_ limbs: [UInt32]) -> [UInt32] {
    limbs.last != 0 ? limbs : Array(limbs[..<((limbs.lastIndex { $0 != 0 } ?? -1) + 1)])
  }
}

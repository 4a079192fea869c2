/// A decimal number with its exact spelling: sign, up to 128 bits of mantissa (at least 38 digits), and a power of ten.
///
/// Equality is numeric: `1.50` equals `1.5`, and not-a-number equals itself. Stores also preserve the spelling:
/// ``isIdentical(to:)`` compares it.
///
/// ```swift
/// if let price = DecimalNumber("9.50") { print(price, price.doubleValue) }  // 9.50 9.5
/// ```
public struct DecimalNumber: Sendable {
  // A UInt128 has to be at a multiple of 16: the values of objects would take twice the memory.
  @usableFromInline let high: UInt64
  @usableFromInline let low: UInt64
  /// The power of ten, -128 … 127.
  public let exponent: Int8
  /// Whether the number is below zero.
  public let isNegative: Bool
  /// Whether this is not-a-number.
  public let isNaN: Bool

  /// The digits. Zero for not-a-number.
  @inlinable public var mantissa: UInt128 { UInt128(high) << 64 | UInt128(low) }

  /// Creates `± mantissa × 10^exponent`. A negative zero does not exist: it becomes zero.
  public init(mantissa: UInt128, exponent: Int8 = 0, isNegative: Bool = false) {
    high = UInt64(truncatingIfNeeded: mantissa >> 64)
    low = UInt64(truncatingIfNeeded: mantissa)
    self.exponent = exponent
    self.isNegative = isNegative && mantissa != 0
    self.isNaN = false
  }

  private init(nan: Void) {
    (high, low) = (0, 0)
    exponent = 0
    isNegative = false
    isNaN = true
  }

  /// Not a number.
  public static let nan = DecimalNumber(nan: ())

  /// Creates an integral number.
  public init(_ integer: Int64) {
    self.init(mantissa: UInt128(integer.magnitude), isNegative: integer < 0)
  }
}

// MARK: - Equality

extension DecimalNumber: Hashable {
  public static func == (one: DecimalNumber, other: DecimalNumber) -> Bool {
    one.isIdentical(to: other) || !one.isLess(than: other) && !other.isLess(than: one)
  }

  public func hash(into hasher: inout Hasher) {
    let number = normalized
    hasher.combine(number.mantissa)
    hasher.combine(number.exponent)
    hasher.combine(number.isNegative)
    hasher.combine(number.isNaN)
  }
}

// MARK: - Text

extension DecimalNumber: CustomStringConvertible, LosslessStringConvertible {
  /// Parses `-12.50`, `1e5`, `15E+1`, `NaN`, and nothing else: no spaces, group separators or trailing characters.
  ///
  /// Returns nil, rather than rounding, if the digits need more than 128 bits or the exponent is outside -128 … 127.
  public init?(utf8 bytes: Span<UInt8>) {
    let count = bytes.count
    if count == 3, bytes[0] == UInt8(ascii: "N"), bytes[1] == UInt8(ascii: "a"), bytes[2] == UInt8(ascii: "N") {
      self = .nan
      return
    }
    var index = 0
    var negative = false
    if index < count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
      negative = bytes[index] == UInt8(ascii: "-")
      index += 1
    }
    var small: UInt64 = 0
    var large: UInt128 = 0
    var digits = 0
    var scale = 0
    var seenPoint = false
    while index < count {
      let byte = bytes[index]
      if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
        let digit = UInt64(byte &- 0x30)
        if digits < 18 {
          small = small &* 10 &+ digit
        } else {
          if digits == 18 { large = UInt128(small) }
          let (product, overflow) = large.multipliedReportingOverflow(by: 10)
          let (sum, carry) = product.addingReportingOverflow(UInt128(digit))
          if overflow || carry { return nil }
          large = sum
        }
        // Leading zeros do not use the mantissa.
        if digits > 0 || digit != 0 { digits += 1 }
        if seenPoint { scale += 1 }
        index += 1
      } else if byte == UInt8(ascii: "."), !seenPoint {
        seenPoint = true
        index += 1
      } else {
        break
      }
    }
    let start = (negative || (count > 0 && bytes[0] == UInt8(ascii: "+"))) ? 1 : 0
    let figures = index - start - (seenPoint ? 1 : 0)
    guard figures > 0 else { return nil }
    var power = 0
    if index < count {
      guard bytes[index] == UInt8(ascii: "e") || bytes[index] == UInt8(ascii: "E") else { return nil }
      index += 1
      var negativePower = false
      if index < count, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
        negativePower = bytes[index] == UInt8(ascii: "-")
        index += 1
      }
      guard index < count, count - index <= 4 else { return nil }
      while index < count {
        let byte = bytes[index]
        guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
        power = power * 10 + Int(byte - UInt8(ascii: "0"))
        index += 1
      }
      if negativePower { power = -power }
    }
    guard let exponent = Int8(exactly: power - scale) else { return nil }
    self.init(mantissa: digits <= 18 ? UInt128(small) : large, exponent: exponent, isNegative: negative)
  }

  /// Reads a number as it is written in a file: digits with a period, perhaps a sign and an exponent. Returns nil for
  /// other text.
  ///
  /// ```swift
  /// print(DecimalNumber("1.10") == DecimalNumber("1.1"), DecimalNumber("1,1") == nil)  // true true
  /// ```
  public init?(_ description: String) {
    var text = description
    let value = text.withUTF8 { DecimalNumber(utf8: Span(_unsafeElements: $0)) }
    guard let value else { return nil }
    self = value
  }

  /// The text that is parsed as exactly this value: `-12.50`, `0.001`, `15E+1`, `NaN`.
  public var description: String {
    if isNaN { return "NaN" }
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends ``description`` as UTF-8.
  public func append(to bytes: inout [UInt8]) {
    if isNaN {
      bytes.append(contentsOf: "NaN".utf8)
      return
    }
    var digits: [UInt8] = []
    if let small = UInt64(exactly: mantissa) {
      var rest = small
      repeat {
        digits.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
        rest /= 10
      } while rest > 0
    } else {
      var rest = mantissa
      repeat {
        digits.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
        rest /= 10
      } while rest > 0
    }
    // `digits` runs from the lowest to the highest.
    if isNegative { bytes.append(UInt8(ascii: "-")) }
    let scale = -Int(exponent)
    if scale <= 0 {
      bytes.append(contentsOf: digits.reversed())
      if scale < 0 { bytes.append(contentsOf: "E+\(-scale)".utf8) }
    } else if scale < digits.count {
      for place in stride(from: digits.count - 1, through: 0, by: -1) {
        bytes.append(digits[place])
        if place == scale { bytes.append(UInt8(ascii: ".")) }
      }
    } else {
      bytes.append(UInt8(ascii: "0"))
      bytes.append(UInt8(ascii: "."))
      bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: scale - digits.count))
      bytes.append(contentsOf: digits.reversed())
    }
  }
}

// MARK: - Weight

extension DecimalNumber {
  /// The nearest double.
  public var doubleValue: Double {
    if isNaN { return .nan }
    return Double(description) ?? .nan
  }

  /// The same value without trailing zeros in its mantissa.
  public var normalized: DecimalNumber {
    if isNaN { return self }
    if mantissa == 0 { return DecimalNumber(mantissa: 0) }
    var digits = mantissa
    var power = exponent
    while power < Int8.max, digits % 10 == 0 {
      digits /= 10
      power += 1
    }
    return DecimalNumber(mantissa: digits, exponent: power, isNegative: isNegative)
  }

  /// Whether both are the same number in the same spelling: `1.50` and `1.5` are not.
  public func isIdentical(to other: DecimalNumber) -> Bool {
    mantissa == other.mantissa && exponent == other.exponent && isNegative == other.isNegative && isNaN == other.isNaN
  }

  /// As `==`.
  package func isNumericallyEqual(to other: DecimalNumber) -> Bool { self == other }

  /// Whether this number is less. Not-a-number is less than every other number.
  package func isLess(than other: DecimalNumber) -> Bool {
    if isNaN || other.isNaN { return isNaN && !other.isNaN }
    if isNegative != other.isNegative { return isNegative }
    let smaller = isNegative ? other : self
    let larger = isNegative ? self : other
    return smaller.magnitudeIsLess(than: larger)
  }

  private func magnitudeIsLess(than other: DecimalNumber) -> Bool {
    if mantissa == 0 || other.mantissa == 0 { return mantissa == 0 && other.mantissa != 0 }
    let here = Int(exponent) + digitCount
    let there = Int(other.exponent) + other.digitCount
    if here != there { return here < there }
    // The leading powers are equal: scale down the one with the larger exponent, which needs at most one extra digit at
    // a time.
    var left = mantissa
    var right = other.mantissa
    var gap = Int(exponent) - Int(other.exponent)
    while gap != 0 {
      if gap > 0 {
        let (product, overflow) = left.multipliedReportingOverflow(by: 10)
        if overflow {
          // The other number has digits beyond this one's scale: compare without its lowest digit, which breaks a tie.
          let cut = right / 10
          if left != cut { return left < cut }
          if right % 10 != 0 { return true }
          right = cut
        } else {
          left = product
        }
        gap -= 1
      } else {
        let (product, overflow) = right.multipliedReportingOverflow(by: 10)
        if overflow {
          let cut = left / 10
          if cut != right { return cut < right }
          if left % 10 != 0 { return false }
          left = cut
        } else {
          right = product
        }
        gap += 1
      }
    }
    return left < right
  }

  private var digitCount: Int {
    var rest = mantissa
    var count = 0
    while rest > 0 {
      rest /= 10
      count += 1
    }
    return count
  }
}

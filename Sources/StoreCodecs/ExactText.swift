public import FoundationEssentials
import Glibc

/// Text for values that reads back as the very value, to the bit; independent of locale and time zone.
///
/// Reading is strict: all bytes must be used, nothing is trimmed, what does not fit is nil.
public enum ExactText {
  // MARK: Integers

  /// Digits with an optional `-`; nil for anything else and for what 64 bits do not hold.
  public static func integer(_ bytes: Span<UInt8>) -> Int64? {
    let count = bytes.count
    guard count > 0 else { return nil }
    var index = 0
    let negative = bytes[0] == 0x2D
    if negative || bytes[0] == 0x2B { index = 1 }
    guard index < count, count - index <= 19 else { return nil }
    var value: UInt64 = 0
    while index < count {
      let digit = bytes[index] &- 0x30
      guard digit < 10 else { return nil }
      // Nineteen digits stay below 10^19, which 64 bits hold.
      value = value &* 10 &+ UInt64(digit)
      index += 1
    }
    if negative { return value <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- value) : nil }
    return Int64(exactly: value)
  }

  // MARK: Floating point

  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
  ]

  /// A double: decimal text, `inf`, `-inf`, `nan`, or `nan(0x…)` with the sixteen digits of its bits.
  public static func double(_ bytes: Span<UInt8>) -> Double? {
    let count = bytes.count
    guard count > 0 else { return nil }
    // Few digits and a small power: both are doubles exactly, and one rounding is the right one.
    var index = 0
    let negative = bytes[0] == 0x2D
    if negative { index = 1 }
    var mantissa: UInt64 = 0
    var digits = 0
    var scale = 0
    var point = false
    while index < count {
      let byte = bytes[index]
      let digit = byte &- 0x30
      if digit < 10 {
        guard digits < 19 else { break }
        mantissa = mantissa &* 10 &+ UInt64(digit)
        digits += 1
        if point { scale += 1 }
      } else if byte == 0x2E, !point {
        point = true
      } else {
        break
      }
      index += 1
    }
    if index == count, digits > 0, bytes[count - 1] != 0x2E {
      // Trailing zeros of a long fraction say nothing.
      while scale > 0, mantissa % 10 == 0 {
        mantissa /= 10
        scale -= 1
      }
      if mantissa < 1 << 53, scale <= 22 {
        let value = Double(mantissa) / powersOfTen[scale]
        return negative ? -value : value
      }
    }
    return slowDouble(bytes)
  }

  private static func slowDouble(_ bytes: Span<UInt8>) -> Double? {
    let count = bytes.count
    guard count < 512 else { return nil }
    if let bits = payload(bytes, digits: 16) { return bits }
    // Words and signs that strtod takes and we do not: blanks, hexadecimals, `infinity`.
    var sawDigit = false
    for index in 0..<count {
      switch bytes[index] {
      case 0x30...0x39: sawDigit = true
      case 0x2D, 0x2B, 0x2E, 0x65, 0x45: break
      default: return word(bytes)
      }
    }
    guard sawDigit, bytes[0] != 0x2B else { return nil }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { buffer in
      for index in 0..<count { buffer[index] = CChar(bitPattern: bytes[index]) }
      buffer[count] = 0
      guard let base = buffer.baseAddress else { return nil }
      var end: UnsafeMutablePointer<CChar>?
      let value = strtod(base, &end)
      return end == base + count ? value : nil
    }
  }

  private static func word(_ bytes: Span<UInt8>) -> Double? {
    if equals(bytes, "inf") { return .infinity }
    if equals(bytes, "-inf") { return -.infinity }
    if equals(bytes, "nan") { return .nan }
    return nil
  }

  private static func payload(_ bytes: Span<UInt8>, digits: Int) -> Double? {
    guard bytes.count == digits + 7, let bits = payloadBits(bytes) else { return nil }
    let value = Double(bitPattern: bits)
    return value.isNaN ? value : nil
  }

  /// The number in `nan(0x…)`.
  private static func payloadBits(_ bytes: Span<UInt8>) -> UInt64? {
    let prefix: StaticString = "nan(0x"
    guard bytes.count > 7, bytes[bytes.count - 1] == 0x29 else { return nil }
    for index in 0..<6 where bytes[index] != prefix.utf8Start[index] { return nil }
    var bits: UInt64 = 0
    for index in 6..<bytes.count - 1 {
      guard let digit = hexDigit(bytes[index]) else { return nil }
      bits = bits << 4 | UInt64(digit)
    }
    return bits
  }

  static func equals(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
    guard bytes.count == text.utf8CodeUnitCount else { return false }
    for index in 0..<bytes.count where bytes[index] != text.utf8Start[index] { return false }
    return true
  }

  /// A float, as ``double(_:)``; `nan(0x…)` has eight digits. Nil where the text is beyond a float's reach only if it is
  /// no number; large numbers become infinite as IEEE rounding has it.
  public static func float(_ bytes: Span<UInt8>) -> Float? {
    let count = bytes.count
    guard count > 0, count < 512 else { return nil }
    if count == 15, let bits = payloadBits(bytes) {
      let value = Float(bitPattern: UInt32(truncatingIfNeeded: bits))
      return value.isNaN ? value : nil
    }
    // Up to 15 digits and a small power a double holds the decimal's quotient correctly rounded, and rounding twice
    // could differ from rounding once: so only whole numbers below 2^24 go the short way.
    if let whole = integer(bytes), whole.magnitude < 1 << 24, whole != 0 || bytes[0] != 0x2D { return Float(whole) }
    guard let wide = slowDouble(bytes) ?? word(bytes) else { return nil }
    if wide.isNaN || wide.isInfinite && !containsDigit(bytes) { return Float(wide) }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { buffer in
      for index in 0..<count { buffer[index] = CChar(bitPattern: bytes[index]) }
      buffer[count] = 0
      guard let base = buffer.baseAddress else { return nil }
      return strtof(base, nil)
    }
  }

  private static func containsDigit(_ bytes: Span<UInt8>) -> Bool {
    for index in 0..<bytes.count where bytes[index] &- 0x30 < 10 { return true }
    return false
  }

  // MARK: UUID and hexadecimal

  static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }

  /// A UUID in its 36 characters, letters in either case.
  public static func uuid(_ bytes: Span<UInt8>) -> UUID? {
    guard bytes.count == 36 else { return nil }
    var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    let isValid = withUnsafeMutableBytes(of: &value) { target -> Bool in
      var index = 0
      for place in 0..<16 {
        if place == 4 || place == 6 || place == 8 || place == 10 {
          guard bytes[index] == 0x2D else { return false }
          index += 1
        }
        guard let high = hexDigit(bytes[index]), let low = hexDigit(bytes[index + 1]) else { return false }
        target[place] = high << 4 | low
        index += 2
      }
      return true
    }
    return isValid ? UUID(uuid: value) : nil
  }

  // MARK: Dates

  /// Seconds since 2001-01-01T00:00:00Z from ISO 8601 (`2001-01-01T00:00:00.125Z`, `2001-01-01 02:00:00+02:00`,
  /// `2001-01-01`), or from `@` and a double's text, which stands for what no calendar text reaches.
  public static func date(_ bytes: Span<UInt8>) -> Double? {
    let count = bytes.count
    if count > 1, bytes[0] == 0x40 { return double(bytes.extracting(1..<count)) }
    guard count >= 10 else { return nil }
    func number(_ start: Int, _ length: Int) -> Int? {
      guard start + length <= count else { return nil }
      var value = 0
      for index in start..<start + length {
        let digit = bytes[index] &- 0x30
        guard digit < 10 else { return nil }
        value = value * 10 + Int(digit)
      }
      return value
    }
    guard let year = number(0, 4), bytes[4] == 0x2D, let month = number(5, 2), bytes[7] == 0x2D,
      let day = number(8, 2), month >= 1, month <= 12, day >= 1, day <= daysIn(month, year)
    else { return nil }
    var seconds = daysSinceReference(year, month, day) * 86400
    if count == 10 { return Double(seconds) }
    guard count >= 16, bytes[10] == 0x54 || bytes[10] == 0x20, let hour = number(11, 2), bytes[13] == 0x3A,
      let minute = number(14, 2), hour < 24, minute < 60
    else { return nil }
    seconds += hour * 3600 + minute * 60
    var index = 16
    var fractionStart = 0
    if index < count, bytes[index] == 0x3A {
      guard let second = number(17, 2), second < 60 else { return nil }
      seconds += second
      index = 19
      if index < count, bytes[index] == 0x2E {
        fractionStart = index
        index += 1
        while index < count, bytes[index] &- 0x30 < 10 { index += 1 }
        guard index > fractionStart + 1 else { return nil }
      }
    }
    let fractionEnd = index
    if index == count - 1, bytes[index] == 0x5A {
      index += 1
    } else if index < count {
      if bytes[index] == 0x20 { index += 1 }
      guard index < count, bytes[index] == 0x2B || bytes[index] == 0x2D, let hours = number(index + 1, 2) else {
        return nil
      }
      let isNegative = bytes[index] == 0x2D
      index += 3
      if index < count, bytes[index] == 0x3A { index += 1 }
      var minutes = 0
      if index < count {
        guard let given = number(index, 2), given < 60 else { return nil }
        minutes = given
        index += 2
      }
      guard hours < 24, index == count else { return nil }
      let offset = hours * 3600 + minutes * 60
      seconds += isNegative ? offset : -offset
    }
    if fractionStart == 0 { return Double(seconds) }
    return joined(seconds, bytes.extracting(fractionStart + 1..<fractionEnd))
  }

  /// Whole seconds and a decimal fraction as one correctly rounded double.
  private static func joined(_ seconds: Int, _ fraction: Span<UInt8>) -> Double? {
    let count = fraction.count
    guard count <= 400 else { return nil }
    var text: [UInt8] = []
    if seconds >= 0 {
      text.append(contentsOf: String(seconds).utf8)
      text.append(0x2E)
      for index in 0..<count { text.append(fraction[index]) }
    } else {
      // Before the reference date the fraction counts forward: -1 s and .25 are -0.75 s.
      var complement: [UInt8] = []
      var carry = true
      for index in stride(from: count - 1, through: 0, by: -1) {
        let digit = fraction[index] - 0x30
        if carry {
          complement.append(digit == 0 ? 0x30 : 0x30 + 10 - digit)
          if digit != 0 { carry = false }
        } else {
          complement.append(0x30 + 9 - digit)
        }
      }
      let whole = carry ? -seconds : -seconds - 1
      text.append(0x2D)
      text.append(contentsOf: String(whole).utf8)
      text.append(0x2E)
      text.append(contentsOf: complement.reversed())
    }
    return double(text.span)
  }

  static func daysIn(_ month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days from 2001-01-01, in the proleptic Gregorian calendar.
  static func daysSinceReference(_ year: Int, _ month: Int, _ day: Int) -> Int {
    // March-based years put the leap day last.
    let y = month <= 2 ? year - 1 : year
    let era = (y >= 0 ? y : y - 399) / 400
    let yearOfEra = y - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146097 + dayOfEra - 730791
  }

  static func calendarDay(_ days: Int) -> (year: Int, month: Int, day: Int) {
    let z = days + 730791
    let era = (z >= 0 ? z : z - 146096) / 146097
    let dayOfEra = z - era * 146097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shifted + 2) / 5 + 1
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}

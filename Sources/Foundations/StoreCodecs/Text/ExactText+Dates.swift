extension ExactText {
  // MARK: Dates

  /// Parses seconds since 2001-01-01T00:00:00Z from ISO 8601 (`2001-01-01T00:00:00.125Z`, `2001-01-01 02:00:00+02:00`,
  /// `2001-01-01`), or from `@` and a double's text, which is used for dates without a calendar text. A text without a
  /// time zone is in UTC. At most 26 decimals.
  public static func date(_ bytes: Span<UInt8>) -> Double? {
    let count = bytes.count
    if count > 1, bytes[0] == UInt8(ascii: "@") { return double(bytes.extracting(1..<count)) }
    guard count >= 10 else { return nil }
    func number(_ start: Int, _ length: Int) -> Int? { Self.number(bytes, start, length) }
    guard let year = number(0, 4), bytes[4] == UInt8(ascii: "-"), let month = number(5, 2),
      bytes[7] == UInt8(ascii: "-"),
      let day = number(8, 2), month >= 1, month <= 12, day >= 1, day <= daysIn(month, year)
    else { return nil }
    var seconds = daysSinceReference(year, month, day) * 86400
    if count == 10 { return Double(seconds) }
    guard count >= 16, bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " "), let hour = number(11, 2),
      bytes[13] == UInt8(ascii: ":"),
      let minute = number(14, 2), hour < 24, minute < 60
    else { return nil }
    seconds += hour * 3600 + minute * 60
    var index = 16
    var fractionStart = 0
    if index < count, bytes[index] == UInt8(ascii: ":") {
      guard let second = number(17, 2), second < 60 else { return nil }
      seconds += second
      index = 19
      if index < count, bytes[index] == UInt8(ascii: ".") {
        fractionStart = index
        index += 1
        while index < count, bytes[index] &- UInt8(ascii: "0") < 10 { index += 1 }
        guard index > fractionStart + 1 else { return nil }
      }
    }
    let fractionEnd = index
    if index < count {
      guard let offset = zoneOffset(bytes, index) else { return nil }
      seconds -= offset
    }
    if fractionStart == 0 { return Double(seconds) }
    return joined(seconds, bytes.extracting(fractionStart + 1..<fractionEnd))
  }

  /// The digits at an offset as a number; nil if there are fewer or others.
  private static func number(_ bytes: Span<UInt8>, _ start: Int, _ length: Int) -> Int? {
    guard start + length <= bytes.count else { return nil }
    var value = 0
    for index in start..<start + length {
      let digit = bytes[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      value = value * 10 + Int(digit)
    }
    return value
  }

  /// The seconds that a zone such as `+02:00` is ahead of UTC; nil if the text is not one.
  package static func zoneOffset(_ text: String) -> Int? {
    let bytes = Array(text.utf8)
    guard let sign = bytes.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
    return zoneOffset(bytes.span, 0)
  }

  /// The seconds that a zone at the end of a date is ahead of UTC: `Z`, `+02`, `+02:00`, ` -0330`. Nil if it is not a
  /// zone.
  private static func zoneOffset(_ bytes: Span<UInt8>, _ start: Int) -> Int? {
    var index = start
    if index == bytes.count - 1, bytes[index] == UInt8(ascii: "Z") { return 0 }
    if bytes[index] == UInt8(ascii: " ") { index += 1 }
    guard index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-"),
      let hours = number(bytes, index + 1, 2)
    else { return nil }
    let isNegative = bytes[index] == UInt8(ascii: "-")
    index += 3
    if index < bytes.count, bytes[index] == UInt8(ascii: ":") { index += 1 }
    var minutes = 0
    if index < bytes.count {
      guard let given = number(bytes, index, 2), given < 60 else { return nil }
      minutes = given
      index += 2
    }
    guard hours < 24, index == bytes.count else { return nil }
    let offset = hours * 3600 + minutes * 60
    return isNegative ? -offset : offset
  }

  /// Combines whole seconds and a decimal fraction to one correctly rounded double.
  private static func joined(_ seconds: Int, _ fraction: Span<UInt8>) -> Double? {
    var digits = fraction.count
    while digits > 0, fraction[digits - 1] == UInt8(ascii: "0") { digits -= 1 }
    // Below 3e11 seconds times 1e26: within 128 bits. The shortest text of a date never has that many decimals.
    guard digits <= 26 else { return nil }
    var decimals: UInt128 = 0
    for index in 0..<digits { decimals = decimals * 10 + UInt128(fraction[index] - UInt8(ascii: "0")) }
    let total = Int128(seconds) * Int128(powerOfTen(digits)) + Int128(decimals)
    guard let magnitude = double(total.magnitude, exponent: -digits) else { return nil }
    return total < 0 ? -magnitude : magnitude
  }

  /// 10^`places` for at most 38 places.
  static func powerOfTen(_ places: Int) -> UInt128 {
    let low = min(places, 19)
    return UInt128(DecimalScan.powers[low]) * UInt128(DecimalScan.powers[min(places - low, 19)])
  }

  static func daysIn(_ month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days from 2001-01-01, in the proleptic Gregorian calendar.
  package static func daysSinceReference(_ year: Int, _ month: Int, _ day: Int) -> Int {
    // March-based years put the leap day last.
    let y = month <= 2 ? year - 1 : year
    let era = (y >= 0 ? y : y - 399) / 400
    let yearOfEra = y - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146097 + dayOfEra - 730791
  }

  /// The date that many days from 2001-01-01, in the same calendar.
  package static func calendarDay(_ days: Int) -> (year: Int, month: Int, day: Int) {
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

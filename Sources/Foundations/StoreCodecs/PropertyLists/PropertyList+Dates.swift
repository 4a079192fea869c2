import FoundationEssentials

/// Dates in XML property lists: `2013-04-23T12:00:00Z`.
///
/// Apple's lists have whole seconds. A date with a fraction gets the fewest decimals that are read back to the bit, an
/// extension without loss: readers that do not know it refuse it rather than misread it.
enum PropertyListDate {
  /// Appends the text, or returns false for a date outside the years 1 to 9999, or one that no short fraction
  /// represents.
  static func append(_ date: Date, to buffer: inout [UInt8]) -> Bool {
    let interval = date.timeIntervalSinceReferenceDate
    // Year 1 begins 63,113,904,000 seconds before 2001, year 10000 begins 252,423,993,600 after it.
    guard interval >= -63_113_904_000, interval < 252_423_993_600 else { return false }
    let whole = interval.rounded(.down)
    guard let fraction = fraction(interval, whole) else { return false }
    let seconds = Int(whole)
    let day = seconds >= 0 ? seconds / 86_400 : -((86_399 - seconds) / 86_400)
    let second = seconds - day * 86_400
    let (year, month, dayOfMonth) = ExactText.calendarDay(day)
    append(year, width: 4, to: &buffer)
    buffer.append(UInt8(ascii: "-"))
    append(month, width: 2, to: &buffer)
    buffer.append(UInt8(ascii: "-"))
    append(dayOfMonth, width: 2, to: &buffer)
    buffer.append(UInt8(ascii: "T"))
    append(second / 3600, width: 2, to: &buffer)
    buffer.append(UInt8(ascii: ":"))
    append(second / 60 % 60, width: 2, to: &buffer)
    buffer.append(UInt8(ascii: ":"))
    append(second % 60, width: 2, to: &buffer)
    if let digits = fraction {
      buffer.append(UInt8(ascii: "."))
      append(digits.value, width: digits.width, to: &buffer)
    }
    buffer.append(UInt8(ascii: "Z"))
    return true
  }

  /// Parses a date; nil if it is invalid.
  static func parse(_ text: some Collection<UInt8>) -> Date? {
    let bytes = Array(text)
    guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"),
      bytes[16] == UInt8(ascii: ":"), bytes[bytes.count - 1] == UInt8(ascii: "Z"), let year = number(bytes[0..<4]),
      let month = number(bytes[5..<7]), let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
      let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
      1...12 ~= month, day >= 1, day <= ExactText.daysIn(month, year), hour < 24, minute < 60, second < 60, year >= 1
    else { return nil }
    let days = ExactText.daysSinceReference(year, month, day)
    let whole = Double(days * 86_400 + hour * 3600 + minute * 60 + second)
    if bytes.count == 20 { return Date(timeIntervalSinceReferenceDate: whole) }
    let width = bytes.count - 21
    guard bytes[19] == UInt8(ascii: "."), 1...18 ~= width, let digits = number(bytes[20..<(20 + width)]) else {
      return nil
    }
    return Date(timeIntervalSinceReferenceDate: value(whole, digits, width))
  }

  /// The conversion that writer and reader must have in common to the bit.
  private static func value(_ whole: Double, _ digits: Int, _ width: Int) -> Double {
    whole + Double(digits) / power(width)
  }

  /// The outer optional is nil if no fraction is exact, the inner one for a whole second.
  private static func fraction(_ interval: Double, _ whole: Double) -> (value: Int, width: Int)?? {
    let rest = interval - whole
    if rest == 0 { return .some(nil) }
    for width in 1...18 {
      let digits = (rest * power(width)).rounded()
      guard digits < power(width) else { continue }
      if value(whole, Int(digits), width) == interval { return .some((Int(digits), width)) }
    }
    return nil
  }

  private static func power(_ width: Int) -> Double {
    var power = 1.0
    for _ in 0..<width { power *= 10 }
    return power
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    var value = 0
    for digit in digits {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
      value = value * 10 + Int(digit - 0x30)
    }
    return value
  }

  private static func append(_ value: Int, width: Int, to buffer: inout [UInt8]) {
    let digits = String(value).utf8
    for _ in 0..<max(0, width - digits.count) { buffer.append(UInt8(ascii: "0")) }
    buffer.append(contentsOf: digits)
  }
}

public import FoundationEssentials
import Glibc

extension ByteWriter {
  /// Appends the shortest text that reads back as this double: `0.1`, `-0.0`, `inf`, `nan`; a not-a-number of other
  /// bits than the usual as `nan(0x…)`. Whole numbers keep their `.0` unless `dropsPointZero`.
  public func append(double value: Double, dropsPointZero: Bool = false) {
    if value.isNaN {
      if value.bitPattern == Double.nan.bitPattern { return append("nan") }
      append("nan(0x")
      append(hexadecimal: value.bitPattern, digits: 16)
      return append(byte: 0x29)
    }
    var text = value.description
    text.withUTF8 { utf8 in
      var count = utf8.count
      if dropsPointZero, count > 2, utf8[count - 1] == 0x30, utf8[count - 2] == 0x2E,
        !(value == 0 && value.sign == .minus)
      {
        count -= 2
      }
      append(UnsafeRawBufferPointer(start: utf8.baseAddress, count: count))
    }
  }

  /// Appends a float's shortest text, as ``append(double:dropsPointZero:)``.
  public func append(float value: Float, dropsPointZero: Bool = false) {
    if value.isNaN {
      if value.bitPattern == Float.nan.bitPattern { return append("nan") }
      append("nan(0x")
      append(hexadecimal: UInt64(value.bitPattern), digits: 8)
      return append(byte: 0x29)
    }
    var text = value.description
    text.withUTF8 { utf8 in
      var count = utf8.count
      if dropsPointZero, count > 2, utf8[count - 1] == 0x30, utf8[count - 2] == 0x2E,
        !(value == 0 && value.sign == .minus)
      {
        count -= 2
      }
      append(UnsafeRawBufferPointer(start: utf8.baseAddress, count: count))
    }
  }

  /// Appends lower-case hexadecimal digits.
  public func append(hexadecimal value: UInt64, digits: Int) {
    for place in stride(from: (digits - 1) * 4, through: 0, by: -4) {
      let digit = UInt8(truncatingIfNeeded: value >> UInt64(place)) & 0xF
      append(byte: digit < 10 ? 0x30 + digit : 0x57 + digit)
    }
  }

  /// Appends a UUID in upper case.
  public func append(uuid: UUID) {
    withUnsafeBytes(of: uuid.uuid) { bytes in
      for place in 0..<16 {
        if place == 4 || place == 6 || place == 8 || place == 10 { append(byte: 0x2D) }
        for digit in [bytes[place] >> 4, bytes[place] & 0xF] {
          append(byte: digit < 10 ? 0x30 + digit : 0x37 + digit)
        }
      }
    }
  }

  /// Appends a double with exactly twenty decimals, as C's `%.20f` does: what Apple's XML stores have for dates.
  ///
  /// - Returns: Whether the text reads back as the same bits. Where not, nothing was appended.
  public func appendFixed20(_ value: Double) -> Bool {
    let magnitude = value.magnitude
    guard value.isFinite, magnitude < 9e15 else { return false }
    // Any double of 2^-10 or more, or zero, is a whole number of 2^-62ths or coarser: the fraction's bits fit 64, and
    // multiplying by ten peels off one exact digit after another. Smaller ones may need more than twenty decimals.
    guard magnitude >= 0x1p-10 || value == 0, !(value == 0 && value.sign == .minus) else {
      return appendFixed20Slowly(value)
    }
    let whole = UInt64(magnitude)
    let fraction = magnitude - Double(whole)
    // Exact: the fraction has at most 62 bits behind the point.
    var bits = UInt128(UInt64(fraction * 0x1p62))
    let start = room(48)
    var place = 0
    if value < 0 {
      start[0] = 0x2D
      place = 1
    }
    advance(place)
    append(integer: Int64(whole))
    append(byte: 0x2E)
    let digits = room(24)
    for index in 0..<20 {
      bits = (bits & 0x3FFF_FFFF_FFFF_FFFF) * 10
      digits[index] = 0x30 + UInt8(truncatingIfNeeded: bits >> 62)
    }
    // What is cut: rounds half to even, as printf does.
    let rest = bits & 0x3FFF_FFFF_FFFF_FFFF
    let half: UInt128 = 0x2000_0000_0000_0000
    if rest > half || (rest == half && (digits[19] & 1) == 1) {
      var index = 19
      while index >= 0, digits[index] == 0x39 {
        digits[index] = 0x30
        index -= 1
      }
      if index >= 0 { digits[index] += 1 }
    }
    advance(20)
    // Twenty decimals tell apart all doubles of this size: the gap between two is over 2^-63.
    return true
  }

  private func appendFixed20Slowly(_ value: Double) -> Bool {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      guard let base = buffer.baseAddress else { return false }
      let count = withVaList([value]) { vsnprintf(base, 64, "%.20f", $0) }
      guard count > 0, count < 64, strtod(base, nil).bitPattern == value.bitPattern else { return false }
      append(UnsafeRawBufferPointer(start: base, count: Int(count)))
      return true
    }
  }

  /// Appends a date given in seconds since 2001-01-01T00:00:00Z as ISO 8601 in UTC with as many decimals as it takes to
  /// read back as the same bits; `@` and the double's text where the year has not four digits or no text would do.
  public func append(dateSeconds value: Double) {
    // Years 0001 to 9999.
    guard value.isFinite, value >= -63_113_904_000, value < 252_423_993_600, !(value == 0 && value.sign == .minus) else {
      append(byte: 0x40)
      return append(double: value)
    }
    let whole = value.rounded(.down)
    let fraction = value - whole
    var decimals: [UInt8] = []
    if fraction != 0 {
      // The shortest fraction of the whole number: of its own digits, found by asking for what reads back.
      guard let found = Self.decimals(of: value, whole: Int(whole)) else {
        append(byte: 0x40)
        return append(double: value)
      }
      decimals = found
    }
    let seconds = Int(whole)
    let days = seconds >= 0 ? seconds / 86400 : -((86399 - seconds) / 86400)
    let rest = seconds - days * 86400
    let (year, month, day) = ExactText.calendarDay(days)
    pad(year, 4)
    append(byte: 0x2D)
    pad(month, 2)
    append(byte: 0x2D)
    pad(day, 2)
    append(byte: 0x54)
    pad(rest / 3600, 2)
    append(byte: 0x3A)
    pad(rest / 60 % 60, 2)
    append(byte: 0x3A)
    pad(rest % 60, 2)
    if !decimals.isEmpty {
      append(byte: 0x2E)
      append(decimals)
    }
    append(byte: 0x5A)
  }

  private func pad(_ value: Int, _ width: Int) {
    let start = room(width)
    var rest = value
    for place in stride(from: width - 1, through: 0, by: -1) {
      start[place] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    advance(width)
  }

  private static func decimals(of value: Double, whole: Int) -> [UInt8]? {
    // The shortest text of the value itself has the right decimals for dates after the reference date.
    let text = Array(value.magnitude.description.utf8)
    guard !text.contains(0x65), let point = text.firstIndex(of: 0x2E) else { return nil }
    var digits = Array(text[(point + 1)...])
    if value < 0 {
      // Counted forward from the second before.
      var carry: UInt8 = 1
      for index in digits.indices.reversed() {
        let flipped = 9 - (digits[index] - 0x30) + carry
        carry = flipped / 10
        digits[index] = 0x30 + flipped % 10
      }
    }
    return digits
  }
}

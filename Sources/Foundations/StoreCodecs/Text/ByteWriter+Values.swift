public import FoundationEssentials

extension ByteWriter {
  /// Appends the shortest text that is read back as this double: `0.1`, `-0.0`, `inf`, `nan`; a not-a-number with
  /// unusual bits as `nan(0x…)`. Integral values keep `.0` unless `dropsPointZero`.
  public func append(double value: Double, dropsPointZero: Bool = false) {
    let magnitude = value.magnitude
    if magnitude < 0x1p53, magnitude > 0, Double(UInt64(magnitude)) == magnitude {
      append(integer: Int64(value))
      return dropsPointZero ? () : append(".0")
    }
    if value.isNaN {
      if value.bitPattern == Double.nan.bitPattern { return append("nan") }
      append("nan(0x")
      append(hexadecimal: value.bitPattern, digits: 16)
      return append(byte: UInt8(ascii: ")"))
    }
    if let (digits, places) = ExactText.fewDecimals(magnitude) {
      if value < 0 { append(byte: UInt8(ascii: "-")) }
      let scale = places == 1 ? 10 : places == 2 ? 100 : 1000 as UInt64
      append(integer: Int64(digits / scale))
      append(byte: UInt8(ascii: "."))
      return pad(Int(digits % scale), places)
    }
    append(number: value.description, dropsPointZero: dropsPointZero && !(value == 0 && value.sign == .minus))
  }

  /// Appends a float's shortest text, as ``append(double:dropsPointZero:)``.
  public func append(float value: Float, dropsPointZero: Bool = false) {
    if value.isNaN {
      if value.bitPattern == Float.nan.bitPattern { return append("nan") }
      append("nan(0x")
      append(hexadecimal: UInt64(value.bitPattern), digits: 8)
      return append(byte: UInt8(ascii: ")"))
    }
    append(number: value.description, dropsPointZero: dropsPointZero && !(value == 0 && value.sign == .minus))
  }

  private func append(number text: String, dropsPointZero: Bool) {
    var text = text
    text.withUTF8 { utf8 in
      let endsInPointZero =
        utf8.count > 2 && utf8[utf8.count - 1] == UInt8(ascii: "0") && utf8[utf8.count - 2] == UInt8(ascii: ".")
      let count = utf8.count - (dropsPointZero && endsInPointZero ? 2 : 0)
      append(UnsafeRawBufferPointer(start: utf8.baseAddress, count: count))
    }
  }

  /// Appends hexadecimal digits in lower case.
  public func append(hexadecimal value: UInt64, digits: Int) {
    for place in stride(from: (digits - 1) * 4, through: 0, by: -4) {
      let digit = UInt8(truncatingIfNeeded: value >> UInt64(place)) & 0xF
      append(byte: digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }

  /// Appends a UUID in upper case.
  public func append(uuid: UUID) {
    let target = room(36)
    withUnsafeBytes(of: uuid.uuid) { bytes in
      var position = 0
      for index in 0..<16 {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          target[position] = UInt8(ascii: "-")
          position += 1
        }
        target[position] = Self.upperHexDigit(bytes[index] >> 4)
        target[position + 1] = Self.upperHexDigit(bytes[index] & 15)
        position += 2
      }
    }
    advance(36)
  }

  @inline(__always) private static func upperHexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x37 + value
  }

  // MARK: Seconds and dates

  /// Appends a double with exactly twenty decimals, like C's `%.20f`: the form of dates in Apple's XML stores.
  ///
  /// - Returns: Whether the text is read back as the same bits. If not, nothing was appended, as for most numbers below
  ///   2^-13, those of 2^63 and more, and those that are not finite.
  public func appendFixed20(_ value: Double) -> Bool {
    let magnitude = value.magnitude
    guard magnitude < 0x1p63, ExactText.fixed20IsExact(value) else { return false }
    let (whole, fraction) = ExactText.fixed20(magnitude)
    var target = room(42)
    let start = target
    if value.sign == .minus {
      target.pointee = UInt8(ascii: "-")
      target += 1
    }
    target += ExactText.writeDecimal(whole, to: target)
    target.pointee = UInt8(ascii: ".")
    // Two halves of ten digits each.
    let halves = (10_000_000_000 as UInt64).dividingFullWidth(
      (UInt64(truncatingIfNeeded: fraction >> 64), UInt64(truncatingIfNeeded: fraction)))
    ExactText.writeDecimal(halves.quotient, length: 10, to: target + 1)
    ExactText.writeDecimal(halves.remainder, length: 10, to: target + 11)
    advance(target + 21 - start)
    return true
  }

  /// Appends a date, in seconds since 2001-01-01T00:00:00Z, as ISO 8601 in UTC with as many decimals as needed to be
  /// read back as the same bits; as `@` and the double's text if the year does not have four digits or no such text
  /// exists.
  public func append(dateSeconds seconds: Double) {
    // Years 0000 to 9999: `Date.distantPast` is 0000-12-30.
    guard seconds >= -63_145_526_400, seconds < 252_423_993_600, seconds != 0 || seconds.sign == .plus else {
      append(byte: UInt8(ascii: "@"))
      return append(double: seconds)
    }
    var whole = Int(seconds)
    var fraction: UInt128 = 0
    var places = 0
    if Double(whole) != seconds {
      // The digits of the shortest decimal number, which are read back as the same bits.
      let significand: UInt128
      if let few = ExactText.fewDecimals(seconds.magnitude) {
        (significand, places) = (UInt128(few.digits), few.places)
      } else {
        var text = seconds.magnitude.description
        guard let scan = text.withUTF8({ DecimalScan($0) }), scan.exponent < 0, scan.exponent >= -26 else {
          append(byte: UInt8(ascii: "@"))
          return append(double: seconds)
        }
        (significand, places) = (scan.significand, -scan.exponent)
      }
      let scale = ExactText.powerOfTen(places)
      // At most 17 digits: with more than 19 decimals, all of it is fraction; otherwise it can be divided in 64 bits.
      if places <= 19 {
        let parts = UInt64(significand).quotientAndRemainder(dividingBy: UInt64(scale))
        whole = Int(parts.quotient)
        fraction = UInt128(parts.remainder)
      } else {
        whole = 0
        fraction = significand
      }
      if seconds < 0 {
        whole = -whole
        if fraction > 0 {
          // Count forward from the preceding second.
          whole -= 1
          fraction = scale - fraction
        }
      }
    }
    let secondOfDay = ((whole % 86400) + 86400) % 86400
    let day = ExactText.calendarDay((whole - secondOfDay) / 86400)
    pad(day.year, 4)
    append(byte: UInt8(ascii: "-"))
    pad(day.month, 2)
    append(byte: UInt8(ascii: "-"))
    pad(day.day, 2)
    append(byte: UInt8(ascii: "T"))
    pad(secondOfDay / 3600, 2)
    append(byte: UInt8(ascii: ":"))
    pad(secondOfDay / 60 % 60, 2)
    append(byte: UInt8(ascii: ":"))
    pad(secondOfDay % 60, 2)
    if places > 0 {
      append(byte: UInt8(ascii: "."))
      let parts = fraction.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
      if places > 18 { pad(Int(parts.quotient), places - 18) }
      pad(Int(parts.remainder), min(places, 18))
    }
    append(byte: UInt8(ascii: "Z"))
  }

  /// Appends a non-negative number with leading zeros.
  private func pad(_ value: Int, _ width: Int) {
    ExactText.writeDecimal(UInt64(truncatingIfNeeded: value), length: width, to: room(width))
    advance(width)
  }
}

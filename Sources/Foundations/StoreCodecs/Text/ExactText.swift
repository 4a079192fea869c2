public import FoundationEssentials

/// Text for values that is read back as exactly the same value, to the bit, independent of locale and time zone.
///
/// Parsing is strict: all bytes must be used, nothing is trimmed, and values out of range are nil.
public enum ExactText {
  // MARK: Integers

  /// The number that the ASCII digits at the beginning of eight bytes make, and how many there are.
  ///
  /// - Parameter word: The bytes, the first one lowest.
  @inlinable @inline(__always)
  package static func leadingDigits(_ word: UInt64) -> (value: Int64, count: Int) {
    let digits = word ^ zeros
    let others = notDigits(digits)
    let count = others.trailingZeroBitCount >> 3
    // Zeros before them.
    let value = combined(digits << UInt64((8 - count) * 8))
    return (value, count)
  }

  /// The number that eight digits make, each a byte from 0 to 9, the first one lowest; nil if one of them is greater.
  @inlinable @inline(__always)
  static func number(ofDigits digits: UInt64) -> Int64? {
    notDigits(digits) == 0 ? combined(digits) : nil
  }

  /// Eight times the digit 0.
  @usableFromInline static var zeros: UInt64 { 0x3030_3030_3030_3030 }

  /// The highest bit of each byte that is greater than 9; wrong only above the lowest of them.
  @inlinable @inline(__always)
  static func notDigits(_ digits: UInt64) -> UInt64 {
    (digits &+ 0x7676_7676_7676_7676 | digits) & 0x8080_8080_8080_8080
  }

  /// Puts digits together: pairs, fours, then all eight at a time.
  @inlinable @inline(__always)
  static func combined(_ digits: UInt64) -> Int64 {
    var value = (digits &* 2561) >> 8
    value = ((value & 0x00FF_00FF_00FF_00FF) &* 6_553_601) >> 16
    value = ((value & 0x0000_FFFF_0000_FFFF) &* 42_949_672_960_001) >> 32
    return Int64(truncatingIfNeeded: value)
  }

  /// The number at the beginning of a text, if it is written as one to eighteen digits without a leading zero, and
  /// where it ends: at a space, or at the end of the text.
  @inlinable @inline(__always)
  package static func leadingNumber(_ text: UnsafePointer<UInt8>, _ count: Int) -> (number: Int64, end: Int)? {
    guard count > 0, text[0] &- UInt8(ascii: "1") < 9 else { return nil }
    var value: Int64 = 0
    var index = 0
    if count >= 8 {
      (value, index) = leadingDigits(UInt64(littleEndian: UnsafeRawPointer(text).loadUnaligned(as: UInt64.self)))
    }
    if index == 8 || count < 8 {
      let limit = min(count, 18)
      while index < limit {
        let digit = text[index] &- UInt8(ascii: "0")
        guard digit < 10 else { break }
        value = value &* 10 &+ Int64(digit)
        index += 1
      }
    }
    guard index == count || text[index] == UInt8(ascii: " ") else { return nil }
    return (value, index)
  }

  /// Parses decimal digits with an optional sign, leading zeros allowed; nil for anything else and for values that do
  /// not fit in 64 bits.
  public static func integer(_ bytes: Span<UInt8>) -> Int64? {
    bytes.withUnsafeBufferPointer { text in
      guard let first = text.first else { return nil }
      let isSigned = first == UInt8(ascii: "-") || first == UInt8(ascii: "+")
      guard let magnitude = magnitude(text, from: isSigned ? 1 : 0) else { return nil }
      guard first == UInt8(ascii: "-") else { return Int64(exactly: magnitude) }
      return magnitude <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
    }
  }

  private static func magnitude(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> UInt64? {
    guard start < text.count else { return nil }
    var value: UInt64 = 0
    // Eighteen digits cannot overflow: only the rest needs checked arithmetic.
    let safe = min(text.count, start + 18)
    var index = start
    while index < safe {
      let digit = text[index] &- UInt8(ascii: "0")
      guard digit <= 9 else { return nil }
      value = value &* 10 &+ UInt64(digit)
      index += 1
    }
    while index < text.count {
      let digit = text[index] &- UInt8(ascii: "0")
      guard digit <= 9 else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
      guard !overflow, !carry else { return nil }
      value = sum
      index += 1
    }
    return value
  }

  // MARK: UUID and hexadecimal

  /// Parses a UUID of 36 characters, letters in either case.
  public static func uuid(_ bytes: Span<UInt8>) -> UUID? {
    bytes.withUnsafeBufferPointer { text in
      guard text.count == 36, text[8] == UInt8(ascii: "-"), text[13] == UInt8(ascii: "-"),
        text[18] == UInt8(ascii: "-"), text[23] == UInt8(ascii: "-")
      else { return nil }
      guard let a = hex(text, 0, 8), let b = hex(text, 9, 4), let c = hex(text, 14, 4), let d = hex(text, 19, 4),
        let e = hex(text, 24, 12)
      else { return nil }
      // Big-endian in memory, like the text.
      let halves = ((a << 32 | b << 16 | c).bigEndian, (d << 48 | e).bigEndian)
      return UUID(uuid: Swift.withUnsafeBytes(of: halves) { $0.loadUnaligned(as: uuid_t.self) })
    }
  }

  /// The value of a hexadecimal digit in either case.
  @inline(__always) static func hexDigit(_ byte: UInt8) -> UInt8? {
    let digit = byte &- UInt8(ascii: "0")
    if digit <= 9 { return digit }
    let letter = (byte | 0x20) &- UInt8(ascii: "a")
    return letter <= 5 ? letter + 10 : nil
  }

  @inline(__always)
  private static func hex(_ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ length: Int) -> UInt64? {
    // Without a branch for each digit, which halves the time of a UUID.
    let values = hexValues
    var value: UInt64 = 0
    var faults: UInt8 = 0
    for index in start..<start + length {
      let digit = values[Int(text[index])]
      value = value << 4 | UInt64(digit)
      faults |= digit
    }
    return faults < 16 ? value : nil
  }

  /// The value of every byte as a hexadecimal digit; 255 if it is not one.
  private static let hexValues: [UInt8] = (0...255).map { hexDigit($0) ?? 255 }

  // MARK: Parts

  /// Whether `text` equals `word`, which is in lower case, ignoring ASCII case.
  static func matches(_ text: UnsafeBufferPointer<UInt8>, _ word: StaticString) -> Bool {
    guard text.count == word.utf8CodeUnitCount else { return false }
    for index in 0..<text.count where text[index] | 0x20 != word.utf8Start[index] { return false }
    return true
  }

  /// Writes decimal digits, at most 20, and returns how many.
  static func writeDecimal(_ value: UInt64, to target: UnsafeMutablePointer<UInt8>) -> Int {
    if value < 10 {
      target[0] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value)
      return 1
    }
    let length = decimalLength(value)
    writeDecimal(value, length: length, to: target)
    return length
  }

  /// Writes the last `length` decimal digits, with leading zeros.
  static func writeDecimal(_ value: UInt64, length: Int, to target: UnsafeMutablePointer<UInt8>) {
    var rest = value
    var index = length
    while index >= 2 {
      let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
      // Two digits with one division: 103/1024 approximates a tenth for every number below 100.
      let tens = (pair &* 103) &>> 10
      index -= 2
      target[index] = 0x30 &+ UInt8(truncatingIfNeeded: tens)
      target[index + 1] = 0x30 &+ UInt8(truncatingIfNeeded: pair &- tens &* 10)
      rest = quotient
    }
    if index == 1 { target[0] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10) }
  }

  static func decimalLength(_ value: UInt64) -> Int {
    var length = 1
    var bound: UInt64 = 10
    while value >= bound {
      length += 1
      if length == 20 { break }
      bound &*= 10
    }
    return length
  }
}

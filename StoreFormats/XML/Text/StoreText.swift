import AtomicStoreSPI
import Glibc
import StoreCodecs

/// The text of attributes in Core Data's XML stores.
///
/// It is not escaped as in XML. A backslash is doubled; `<`, `>`, `&`, control characters except tab and line feed,
/// surrogates and everything from U+FEFF on are written as `\u` and the UTF-16 unit in four hexadecimal digits, the low
/// byte first.
enum StoreText {
  /// An invalid escape, and its offset in the text.
  struct Fault: Error, Equatable {
    var offset: Int
    var message: String
  }

  // MARK: Writing

  static func encode(_ text: Span<UInt8>, to writer: ByteWriter) {
    text.withUnsafeBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return }
      let count = bytes.count
      var runStart = 0
      var index = 0
      while index < count {
        let byte = base[index]
        // Bytes that may begin something to escape are rare: copy runs as a whole.
        if byte >= UInt8(ascii: " "), byte < 0xEF, byte != UInt8(ascii: "\\"), byte != UInt8(ascii: "<"),
          byte != UInt8(ascii: ">"), byte != UInt8(ascii: "&")
        {
          index += 1
          continue
        }
        if byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n") {
          index += 1
          continue
        }
        if byte == 0xEF, index + 2 < count, !isEscaped(base[index + 1], base[index + 2]) {
          index += 3
          continue
        }
        writer.append(UnsafeRawBufferPointer(start: base + runStart, count: index - runStart))
        index += encodeScalar(base + index, count - index, to: writer)
        runStart = index
      }
      writer.append(UnsafeRawBufferPointer(start: base + runStart, count: count - runStart))
    }
  }

  /// Of the scalars U+F000 … U+FFFF, whose UTF-8 begins with EF: those from U+FEFF on.
  @inline(__always) private static func isEscaped(_ second: UInt8, _ third: UInt8) -> Bool {
    second > 0xBB || (second == 0xBB && third == 0xBF)
  }

  /// Writes the scalar at `base`, escaped, and returns its length in bytes.
  private static func encodeScalar(_ base: UnsafePointer<UInt8>, _ count: Int, to writer: ByteWriter) -> Int {
    switch base[0] {
    case UInt8(ascii: "\\"):
      writer.append("\\\\")
      return 1
    case 0xEF where count >= 3:
      append(unit: UInt32(base[0] & 0xF) << 12 | UInt32(base[1] & 0x3F) << 6 | UInt32(base[2] & 0x3F), to: writer)
      return 3
    case 0xF0... where count >= 4:
      let scalar =
        UInt32(base[0] & 0x7) << 18 | UInt32(base[1] & 0x3F) << 12 | UInt32(base[2] & 0x3F) << 6
        | UInt32(base[3] & 0x3F)
      let rest = scalar &- 0x10000
      append(unit: 0xD800 + (rest >> 10 & 0x3FF), to: writer)
      append(unit: 0xDC00 + (rest & 0x3FF), to: writer)
      return 4
    default:
      append(unit: UInt32(base[0]), to: writer)
      return 1
    }
  }

  private static func append(unit: UInt32, to writer: ByteWriter) {
    writer.append("\\u")
    writer.append(hexadecimal: UInt64(unit & 0xFF), digits: 2)
    writer.append(hexadecimal: UInt64(unit >> 8 & 0xFF), digits: 2)
  }

  // MARK: Reading

  /// Decodes in place, which is possible because every escape is longer than what it represents.
  ///
  /// - Returns: The remaining number of bytes.
  static func decode(_ text: UnsafeMutableBufferPointer<UInt8>) throws(Fault) -> Int {
    guard let base = text.baseAddress else { return 0 }
    let count = text.count
    guard let first = memchr(base, Int32(UInt8(ascii: "\\")), count) else { return count }
    var read = UnsafeMutableRawPointer(base).distance(to: first)
    var written = read
    while read < count {
      let byte = base[read]
      guard byte == UInt8(ascii: "\\") else {
        base[written] = byte
        written += 1
        read += 1
        continue
      }
      guard read + 1 < count else {
        throw Fault(offset: read, message: "a backslash at the end of the text")
      }
      if base[read + 1] == UInt8(ascii: "\\") {
        base[written] = UInt8(ascii: "\\")
        written += 1
        read += 2
        continue
      }
      guard let unit = unit(base, count, at: read) else {
        let escape = UnsafeBufferPointer(start: base + read, count: min(6, count - read))
        throw Fault(offset: read, message: "'\(String(decoding: escape, as: UTF8.self))' is not a valid escape")
      }
      var scalar = unit
      var length = 6
      switch unit {
      case 0xD800...0xDBFF:
        guard let low = Self.unit(base, count, at: read + 6), low >= 0xDC00, low <= 0xDFFF else {
          throw Fault(offset: read, message: "an unpaired surrogate")
        }
        scalar = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
        length = 12
      case 0xDC00...0xDFFF:
        throw Fault(offset: read, message: "an unpaired surrogate")
      default: break
      }
      written += put(scalar, at: base + written)
      read += length
    }
    return written
  }

  /// The unit of the escape at `index`, if there is one.
  private static func unit(_ base: UnsafePointer<UInt8>, _ count: Int, at index: Int) -> UInt32? {
    guard index + 6 <= count, base[index] == UInt8(ascii: "\\"), base[index + 1] == UInt8(ascii: "u"),
      let a = digit(base[index + 2]), let b = digit(base[index + 3]), let c = digit(base[index + 4]),
      let d = digit(base[index + 5])
    else { return nil }
    return c << 12 | d << 8 | a << 4 | b
  }

  private static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }

  private static func put(_ scalar: UInt32, at base: UnsafeMutablePointer<UInt8>) -> Int {
    func low(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: scalar >> shift & 0x3F | 0x80) }
    switch scalar {
    case 0..<0x80:
      base[0] = UInt8(truncatingIfNeeded: scalar)
      return 1
    case 0x80..<0x800:
      base[0] = UInt8(truncatingIfNeeded: scalar >> 6 | 0xC0)
      base[1] = low(0)
      return 2
    case 0x800..<0x10000:
      base[0] = UInt8(truncatingIfNeeded: scalar >> 12 | 0xE0)
      base[1] = low(6)
      base[2] = low(0)
      return 3
    default:
      base[0] = UInt8(truncatingIfNeeded: scalar >> 18 | 0xF0)
      base[1] = low(12)
      base[2] = low(6)
      base[3] = low(0)
      return 4
    }
  }
}

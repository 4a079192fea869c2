/// The escapes in JSON strings (RFC 8259, section 7), for readers that keep their own positions.
package enum JSONEscape {
  /// Why an escape cannot be read.
  package struct Failure: Error {
    package let message: String
  }

  /// Reads the escape behind a backslash, and appends what it stands for as UTF-8.
  ///
  /// - Parameter position: The index behind the backslash; afterwards that behind the escape, or where it is wrong.
  package static func read(
    _ bytes: UnsafeBufferPointer<UInt8>, at position: inout Int, into text: inout [UInt8]
  ) throws(Failure) {
    guard position < bytes.count else { throw Failure(message: "the string is not closed") }
    let escape = bytes[position]
    position += 1
    switch escape {
    case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
    case UInt8(ascii: "r"): text.append(UInt8(ascii: "\r"))
    case UInt8(ascii: "t"): text.append(UInt8(ascii: "\t"))
    case UInt8(ascii: "b"): text.append(UInt8(ascii: "\u{8}"))
    case UInt8(ascii: "f"): text.append(UInt8(ascii: "\u{C}"))
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(escape)
    case UInt8(ascii: "u"): text += try scalar(bytes, at: &position).utf8
    default: throw Failure(message: "'\\\(Character(Unicode.Scalar(escape)))' is not a JSON escape")
    }
  }

  /// One code unit, or the two of a surrogate pair.
  private static func scalar(
    _ bytes: UnsafeBufferPointer<UInt8>, at position: inout Int
  ) throws(Failure) -> String {
    var units = [try unit(bytes, at: &position)]
    if UTF16.isLeadSurrogate(units[0]) {
      guard position + 2 <= bytes.count, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u")
      else { throw Failure(message: "half of a surrogate pair") }
      position += 2
      units.append(try unit(bytes, at: &position))
    }
    guard units.count == 1 ? !UTF16.isTrailSurrogate(units[0]) : UTF16.isTrailSurrogate(units[1]) else {
      throw Failure(message: "half of a surrogate pair")
    }
    return String(decoding: units, as: UTF16.self)
  }

  private static func unit(_ bytes: UnsafeBufferPointer<UInt8>, at position: inout Int) throws(Failure) -> UInt16 {
    let end = position + 4
    guard end <= bytes.count, bytes[position..<end].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      let unit = UInt16(String(decoding: bytes[position..<end], as: UTF8.self), radix: 16)
    else { throw Failure(message: "four hexadecimal digits are missing") }
    position = end
    return unit
  }
}

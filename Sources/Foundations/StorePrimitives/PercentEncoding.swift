/// Percent-encoding: a byte of UTF-8 as `%` and two hexadecimal digits, unless it is kept.
public struct PercentEncoding: Sendable {
  private let marks: [UInt8]
  private let keepsNonASCII: Bool

  /// Creates an encoding that keeps the letters and digits of ASCII.
  ///
  /// - Parameters:
  ///   - marks: Other characters of ASCII that it keeps, without `%`.
  ///   - keepsNonASCII: Whether it keeps characters that are not ASCII.
  public init(keeping marks: String, keepsNonASCII: Bool = false) {
    self.marks = Array(marks.utf8)
    self.keepsNonASCII = keepsNonASCII
  }

  private func keeps(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    case 0x80...: keepsNonASCII
    default: marks.contains(byte)
    }
  }

  /// Encodes a text, with digits in upper case.
  public func encoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if keeps(byte) {
        bytes.append(byte)
      } else {
        bytes += "\(byte < 16 ? "%0" : "%")\(String(byte, radix: 16, uppercase: true))".utf8
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Decodes a text that ``encoded(_:)`` returned: nil for invalid escapes, for invalid UTF-8, and for characters that
  /// are not kept.
  public func decoded(_ text: Substring) -> String? {
    guard text.utf8.allSatisfy({ keeps($0) || $0 == UInt8(ascii: "%") }) else { return nil }
    return Self.bytes(text.utf8).flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// The bytes of a text with any escapes, whose digits may be in lower case.
  ///
  /// - Parameters:
  ///   - text: The text's UTF-8.
  ///   - keepsInvalid: Whether an invalid escape stays as it is. Otherwise the result is nil for it.
  public static func bytes(_ text: some Collection<UInt8>, keepsInvalid: Bool = false) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      if digits.count == 2 {
        bytes.append(UInt8(digits[0] << 4 | digits[1]))
        rest = rest.dropFirst(2)
      } else if keepsInvalid {
        bytes.append(byte)
      } else {
        return nil
      }
    }
    return bytes
  }
}

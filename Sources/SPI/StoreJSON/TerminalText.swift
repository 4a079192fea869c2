/// Characters that a terminal interprets rather than displays: control characters, and those that change the text
/// direction, so that it reads differently. They are shown as `\u001b`.
package enum TerminalText {
  /// Whether a scalar must not reach a terminal. Line feed and tab are allowed.
  package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\t", "\n": false
    // Control characters: those of ASCII, and the second set with delete before it.
    case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}": true
    // Arabic letter mark, directional marks, embeddings, overrides and isolates.
    case "\u{61C}", "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}": true
    default: false
    }
  }

  /// The text with unsafe characters as `\u001b`.
  package static func escaped(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isUnsafe(scalar) {
        let digits = String(scalar.value, radix: 16)
        result.append(contentsOf: ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }

  /// Whether a byte may begin a scalar that is unsafe or a line separator.
  @inline(__always) package static func mayBeginEscape(_ byte: UInt8) -> Bool {
    byte < UInt8(ascii: " ") || byte == delete || byte == leadOfC1 || byte == leadOfArabicMark
      || byte == leadOfDirections
  }
  private static let delete = UInt8(ascii: "\u{7F}")
  /// The first UTF-8 bytes of unsafe scalars beyond ASCII.
  private static let leadOfC1: UInt8 = 0xC2
  private static let leadOfArabicMark: UInt8 = 0xD8
  private static let leadOfDirections: UInt8 = 0xE2

  /// The scalar that begins at a byte, and its length; nil and 1 if there is none.
  package static func scalar(_ bytes: UnsafeBufferPointer<UInt8>, at place: Int) -> (Unicode.Scalar?, Int) {
    let first = bytes[place]
    if first < 0x80 { return (Unicode.Scalar(first), 1) }
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1
    guard length > 1, place + length <= bytes.count else { return (nil, 1) }
    var decoder = UTF8()
    var iterator = bytes[place..<place + length].makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return (nil, 1) }
    return (scalar, length)
  }
}

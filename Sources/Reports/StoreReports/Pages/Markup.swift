import StoreCodecs
import StoreJSON

/// Text for HTML and SVG. Names and values of a store are untrusted: whatever they contain, a page shows it as text.
enum Markup {
  /// The text as both HTML and XML accept it, in content and in quoted attributes: markup is escaped, and what would
  /// not be visible, or would change the direction of other text, is shown as `\u202e`.
  static func escaped(_ text: String) -> String {
    let writer = ByteWriter()
    writer.append(xmlEscaped: visible(text), inAttribute: true)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  /// The text on one line, with control characters and those that change the direction of text as `\u202e`.
  ///
  /// - Parameter keepsLines: Whether line feeds remain what they are.
  static func visible(_ text: String, keepsLines: Bool = false) -> String {
    if text.utf8.allSatisfy({ $0 >= UInt8(ascii: " ") && $0 < 0x7F }) { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n" where keepsLines: result.append(scalar)
      case "\n", "\t", "\r", "\u{2028}", "\u{2029}": result.append(" ")
      case "\u{FFFE}", "\u{FFFF}": result.append("\u{FFFD}")
      default:
        guard TerminalText.isUnsafe(scalar) else {
          result.append(scalar)
          continue
        }
        result.append(contentsOf: TerminalText.escaped(String(Character(scalar))).unicodeScalars)
      }
    }
    return String(result)
  }

  /// The text with at most a number of characters; the last is an ellipsis if some are left out.
  static func shortened(_ text: String, to length: Int) -> String {
    // Counted by scalars first: a single character may consist of a million.
    let scalars = text.unicodeScalars
    guard let end = scalars.index(scalars.startIndex, offsetBy: length, limitedBy: scalars.endIndex),
      end != scalars.endIndex
    else { return text }
    return String(String.UnicodeScalarView(scalars[..<scalars.index(before: end)])) + "…"
  }

  /// A number with commas between groups of three digits.
  static func grouped(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var result = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { result += "," }
      result.append(digit)
    }
    return (number < 0 ? "-" : "") + result
  }

  /// A number with its noun: `1 object`, `2,000 objects`.
  static func count(_ number: Int, _ noun: String) -> String {
    if number == 1 { return "1 \(noun)" }
    let plural = noun.hasSuffix("y") ? noun.dropLast() + "ies" : noun + "s"
    return "\(grouped(number)) \(plural)"
  }
}

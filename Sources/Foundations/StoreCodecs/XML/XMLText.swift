import CTextVectors

extension ByteWriter {
  /// Appends text with `&`, `<` and `>` escaped, and for attributes quotes, tabs and line breaks too.
  ///
  /// The text must contain only characters that XML allows: see ``XMLText/canHold(_:)``.
  package func append(xmlEscaped text: String, inAttribute: Bool = false) {
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): append("&amp;")
      case UInt8(ascii: "<"): append("&lt;")
      case UInt8(ascii: ">"): append("&gt;")
      case UInt8(ascii: "\"") where inAttribute: append("&quot;")
      case UInt8(ascii: "\n") where inAttribute: append("&#10;")
      case UInt8(ascii: "\t") where inAttribute: append("&#9;")
      // A literal carriage return would be read as a line feed.
      case UInt8(ascii: "\r"): append("&#13;")
      default: append(byte: byte)
      }
    }
  }
}

/// The characters that XML 1.0 allows.
public enum XMLText {
  /// The first byte of U+FFFE and U+FFFF in UTF-8, and of other characters.
  static let firstOfNoncharacters: UInt8 = 0xEF

  /// Whether XML 1.0 allows all characters: no control characters except tab, LF and CR, no U+FFFE or U+FFFF.
  public static func canHold(_ text: String) -> Bool {
    // Of bytes, only those below the space, and the first of U+FFFE and U+FFFF, need a closer look.
    text.utf8.allSatisfy { $0 >= UInt8(ascii: " ") && $0 != firstOfNoncharacters }
      || text.unicodeScalars.allSatisfy { scalar in
        switch scalar {
        case "\t", "\n", "\r": true
        case "\0"..<" ", "\u{FFFE}", "\u{FFFF}": false
        default: true
        }
      }
  }

  /// The number of bytes before the first that is not plain in a text: line feeds and printable ASCII except `<`, `>`
  /// and `&`. For long texts; it examines up to 32 bytes at a time.
  ///
  /// - Parameters:
  ///   - start: The text, which at least 32 zeros must follow: the first of them ends it, if nothing else does.
  ///   - lines: The number of line feeds among the plain bytes is added to it.
  public static func plainLength(_ start: UnsafePointer<UInt8>, lines: inout Int) -> Int {
    var feeds = 0
    let length = atv_xml_plain(start, &feeds)
    lines += feeds
    return length
  }
}

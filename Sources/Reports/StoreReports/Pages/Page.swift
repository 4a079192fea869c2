import FoundationEssentials
import StoreCodecs
import StoreJSON
import StorePrimitives

/// A page in one file: no fonts, pictures, styles or scripts from elsewhere, and none that its data could add.
struct Page {
  var title: String
  /// The text between `<body>` and `</body>`, escaped.
  var body: String
  var style: String
  var script: String
  /// Whether the script may ask the server that the page came from.
  var connects = false

  /// Everything before the body. Scripts other than that of the page do not run, whatever the data contains, and
  /// nothing is loaded.
  var head: String {
    let hash = Data(SHA2.sha256(Array(script.utf8))).base64EncodedString()
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-\(hash)'; img-src data:\(connects ? "; connect-src 'self'" : ""); base-uri 'none'; form-action 'none'">
      <meta name="referrer" content="no-referrer">
      <meta name="color-scheme" content="light dark">
      <title>\(Markup.escaped(title))</title>
      <style>
      \(style)
      </style>
      </head>
      <body>

      """
  }

  var foot: String { "\n<script>\(script)</script>\n</body>\n</html>\n" }

  var text: String { head + body + foot }

  /// Before and after the JSON from which the script reads its data, which ``writeScriptData(_:to:)`` writes.
  static let dataStart = "<script type=\"application/json\" id=\"data\">"
  static let dataEnd = "</script>"

  /// Writes JSON as a script element can contain it: no text in it ends the element.
  static func writeScriptData(_ value: JSONValue, to writer: ByteWriter) {
    switch value {
    case .null: return writer.append("null")
    case .integer(let number): return writer.append(integer: Int64(number))
    case .string(let text) where text.utf8.allSatisfy(isPlain):
      writer.append(byte: UInt8(ascii: "\""))
      writer.append(text)
      return writer.append(byte: UInt8(ascii: "\""))
    default: break
    }
    for scalar in value.line.unicodeScalars {
      switch scalar {
      // Also what would deceive who reads the file: it is in texts only.
      case "<", ">", "&", "\u{FFFE}", "\u{FFFF}": writeEscape(scalar, to: writer)
      case _ where !scalar.isASCII && TerminalText.isUnsafe(scalar): writeEscape(scalar, to: writer)
      default: writer.append(String(scalar))
      }
    }
  }

  private static func writeEscape(_ scalar: Unicode.Scalar, to writer: ByteWriter) {
    for unit in String(scalar).utf16 {
      let digits = String(unit, radix: 16)
      writer.append("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
    }
  }

  /// Whether a byte needs no escape in a JSON string in a script element.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"), UInt8(ascii: "\""), UInt8(ascii: "\\"): false
    default: byte >= UInt8(ascii: " ") && byte < 0x7F
    }
  }
}

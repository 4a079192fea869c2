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
    for byte in value.line.utf8 {
      switch byte {
      case UInt8(ascii: "<"): writer.append("\\u003c")
      case UInt8(ascii: ">"): writer.append("\\u003e")
      case UInt8(ascii: "&"): writer.append("\\u0026")
      default: writer.append(byte: byte)
      }
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

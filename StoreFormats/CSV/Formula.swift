/// Strings that a spreadsheet would run as formulas, and the apostrophe that prevents it.
///
/// Reversible: a string that begins with an apostrophe gets another one, so that each string has a unique form.
enum Formula {
  /// `=`, `+`, `-`, `@`, and the white space that a spreadsheet skips before them.
  private static func isFormula(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), UInt8(ascii: "\t"),
      UInt8(ascii: "\n"), UInt8(ascii: "\r"):
      true
    default: false
    }
  }

  static func needsDefusing(_ bytes: Span<UInt8>) -> Bool {
    bytes.count > 0 && (isFormula(bytes[0]) || bytes[0] == UInt8(ascii: "'"))
  }
  /// Whether the first byte is an apostrophe added because of ``needsDefusing(_:)``.
  static func isDefused(_ bytes: Span<UInt8>) -> Bool {
    bytes.count > 1 && bytes[0] == UInt8(ascii: "'") && (isFormula(bytes[1]) || bytes[1] == UInt8(ascii: "'"))
  }

  static func restored(_ text: String) -> String {
    let bytes = Array(text.utf8)
    return isDefused(bytes.span) ? String(decoding: bytes.dropFirst(), as: UTF8.self) : text
  }
}

/// The bytes that checks and faults look for in files, by name.
extension UInt8 {
  static var tab: UInt8 { UInt8(ascii: "\t") }
  static var lineFeed: UInt8 { UInt8(ascii: "\n") }
  static var carriageReturn: UInt8 { UInt8(ascii: "\r") }
  static var space: UInt8 { UInt8(ascii: " ") }
  static var quote: UInt8 { UInt8(ascii: "\"") }
  static var ampersand: UInt8 { UInt8(ascii: "&") }
  static var apostrophe: UInt8 { UInt8(ascii: "'") }
  static var comma: UInt8 { UInt8(ascii: ",") }
  static var slash: UInt8 { UInt8(ascii: "/") }
  static var lessThan: UInt8 { UInt8(ascii: "<") }
  static var equals: UInt8 { UInt8(ascii: "=") }
  static var greaterThan: UInt8 { UInt8(ascii: ">") }
  static var backslash: UInt8 { UInt8(ascii: "\\") }

  /// Whether the byte is one of the digits 0 to 9.
  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
  /// Whether the byte is a tab, the end of a line, or a space.
  var isWhitespace: Bool { self == .space || self == .tab || self == .lineFeed || self == .carriageReturn }
}

extension [UInt8] {
  /// The byte order mark of UTF-8.
  static var byteOrderMark: [UInt8] { [0xEF, 0xBB, 0xBF] }
}

import AtomicStoreSPI
import StoreCodecs

/// The form of reference objects in `id` and `idrefs`.
///
/// Core Data writes `z` and a number that no other object of the store has. This format adds: `z7.ROOT` is 7 in the
/// hierarchy of ROOT, if another hierarchy has a 7 too; `sName` is the string `Name`, with everything except letters,
/// digits, `-`, `_` and `~` percent-encoded, byte by byte of its UTF-8.
enum ObjectIdentifierText {
  struct Parsed: Equatable {
    var reference: ReferenceObject
    /// The hierarchy, if the identifier contains one: the written name of its root.
    var root: String?
  }

  // MARK: Reading

  /// The number in `z…`, if it is written as by Core Data, which is the only form in most files.
  @inline(__always) static func number(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    let count = text.count
    guard count > 1, count < 20, text[0] == UInt8(ascii: "z") else { return nil }
    var value: Int64 = 0
    var index = 1
    if text[1] == UInt8(ascii: "-") { index = 2 }
    // A leading zero would be lost.
    guard index < count, text[index] != UInt8(ascii: "0") || (count == 2) else { return nil }
    while index < count {
      let digit = text[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      // At most eighteen digits: no overflow.
      value = value &* 10 &+ Int64(digit)
      index += 1
    }
    return text[1] == UInt8(ascii: "-") ? -value : value
  }

  /// Parses any identifier; nil if it is invalid.
  static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Parsed? {
    if let number = number(text) { return Parsed(reference: .integer(number), root: nil) }
    guard let first = text.first, text.count > 1 || first == UInt8(ascii: "s") else { return nil }
    let rest = UnsafeBufferPointer(rebasing: text[1...])
    switch first {
    case UInt8(ascii: "s"):
      guard let string = decodePercent(rest) else { return nil }
      return Parsed(reference: .string(string), root: nil)
    case UInt8(ascii: "z"):
      let digits = rest.prefix { $0 != UInt8(ascii: ".") }
      let written = String(decoding: digits, as: UTF8.self)
      guard let value = Int64(written), String(value) == written else { return nil }
      if digits.count == rest.count { return Parsed(reference: .integer(value), root: nil) }
      let name = UnsafeBufferPointer(rebasing: rest[(digits.count + 1)...])
      guard let root = decodePercent(name), !root.isEmpty else { return nil }
      return Parsed(reference: .integer(value), root: root)
    default: return nil
    }
  }

  /// The string of `s…`, if nothing in it is escaped: part of the identifier, and ASCII. Nil for others.
  static func plainString(_ text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
    guard text.first == UInt8(ascii: "s") else { return nil }
    for index in 1..<text.count where !isPlain(text[index]) { return nil }
    return UnsafeBufferPointer(rebasing: text[1...])
  }

  /// Decodes `s…` to the UTF-8 of the string. False if the identifier is of another form, or invalid.
  static func decodeString(_ text: UnsafeBufferPointer<UInt8>, into bytes: inout [UInt8]) -> Bool {
    guard text.first == UInt8(ascii: "s") else { return false }
    return decodePercent(UnsafeBufferPointer(rebasing: text[1...]), into: &bytes)
  }

  private static func decodePercent(_ text: UnsafeBufferPointer<UInt8>) -> String? {
    var bytes: [UInt8] = []
    return decodePercent(text, into: &bytes) ? String(decoding: bytes, as: UTF8.self) : nil
  }

  private static func decodePercent(_ text: UnsafeBufferPointer<UInt8>, into bytes: inout [UInt8]) -> Bool {
    bytes.removeAll(keepingCapacity: true)
    var index = 0
    while index < text.count {
      if text[index] == UInt8(ascii: "%") {
        guard index + 2 < text.count, let high = hex(text[index + 1]), let low = hex(text[index + 2]) else {
          return false
        }
        let byte = high << 4 | low
        // Each byte has exactly one form, otherwise two texts could be one reference.
        guard !isPlain(byte) else { return false }
        bytes.append(byte)
        index += 3
      } else {
        guard isPlain(text[index]) else { return false }
        bytes.append(text[index])
        index += 1
      }
    }
    return (try? UTF8Span(validating: bytes.span)) != nil
  }

  private static func hex(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Digits, letters, and `-`, `_`, `~`: a bit for each of them, from 0 to 63 and from 64 to 127.
  private static let plainBytes: (low: UInt64, high: UInt64) = (0x03FF_2000_0000_0000, 0x47FF_FFFE_87FF_FFFE)

  @inline(__always) private static func isPlain(_ byte: UInt8) -> Bool {
    byte < 0x80 && (byte < 0x40 ? plainBytes.low : plainBytes.high) & (1 << UInt64(byte & 63)) != 0
  }

  // MARK: Writing

  /// Writes a string's UTF-8, with special characters as `%XX`.
  static func append(_ text: Span<UInt8>, to writer: ByteWriter) {
    var start = 0
    for index in 0..<text.count where !isPlain(text[index]) {
      writer.append(text.extracting(start..<index))
      writer.append(byte: UInt8(ascii: "%"))
      for digit in [text[index] >> 4, text[index] & 0xF] {
        writer.append(byte: digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
      }
      start = index + 1
    }
    writer.append(text.extracting(start..<text.count))
  }

  /// The bytes of the string, with special characters as `%XX`.
  static func percentEncoded(_ text: String) -> [UInt8] {
    let writer = ByteWriter()
    append(Array(text.utf8).span, to: writer)
    return writer.takeBytes()
  }
}

public import StorePrimitives

/// Strings, which a file has as ASCII or as UTF-16.
extension BinaryPropertyListReader {
  /// Returns a string's value.
  ///
  /// - Throws: `.malformed` for a byte above 0x7F in an ASCII string and for an unpaired surrogate, with its offset.
  public func string(of object: Object) throws(PersistentStoreError) -> String {
    let (range, isWide) = try textRange(of: object)
    guard isWide else { return String(decoding: bytes[range], as: UTF8.self) }
    var text: [UInt8] = []
    text.reserveCapacity(range.count + range.count / 2)
    try appendWide(range, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the UTF-8 of a string, without creating one.
  ///
  /// - Throws: As ``string(of:)``.
  public func appendUTF8(of object: Object, to text: inout [UInt8]) throws(PersistentStoreError) {
    let (range, isWide) = try textRange(of: object)
    if isWide { return try appendWide(range, to: &text) }
    text.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[range]))
  }

  /// Whether a string is UTF-16: its marker has another upper half than that of an ASCII string.
  func isWideString(at offset: Int) -> Bool { bytes[offset] >> 4 == Self.wideStringMarker }
  /// The upper half of the marker of UTF-16 strings.
  private static let wideStringMarker: UInt8 = 6

  /// The range of a string's bytes in the file. Those of one that is not wide are ASCII.
  private func textRange(of object: Object) throws(PersistentStoreError) -> (Range<Int>, isWide: Bool) {
    let offset = try expect(.string, object)
    let isWide = isWideString(at: offset)
    let range = try counted(offset, unit: isWide ? 2 : 1)
    if !isWide { try checkASCII(range) }
    return (range, isWide)
  }

  /// Refuses bytes above 0x7F in a string that is not wide.
  func checkASCII(_ range: Range<Int>) throws(PersistentStoreError) {
    var bits: UInt8 = 0
    for place in range { bits |= bytes[place] }
    guard bits > 0x7F else { return }
    for place in range where bytes[place] > 0x7F {
      throw Self.badString("an ASCII string contains the byte 0x\(String(bytes[place], radix: 16))", at: place)
    }
  }

  private func appendWide(_ range: Range<Int>, to text: inout [UInt8]) throws(PersistentStoreError) {
    var place = range.lowerBound
    while place < range.upperBound {
      var scalar = UInt32(bytes[place]) << 8 | UInt32(bytes[place + 1])
      place += 2
      if scalar & 0xF800 == 0xD800 {
        guard scalar < 0xDC00, place < range.upperBound, bytes[place] & 0xFC == 0xDC else {
          throw Self.badString("a string contains an unpaired surrogate, 0x\(String(scalar, radix: 16))", at: place - 2)
        }
        let low = UInt32(bytes[place]) << 8 | UInt32(bytes[place + 1])
        place += 2
        scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
      }
      switch scalar {
      case 0..<0x80: text.append(UInt8(scalar))
      case 0x80..<0x800:
        text.append(UInt8(0xC0 | scalar >> 6))
        text.append(UInt8(0x80 | scalar & 0x3F))
      case 0x800..<0x10000:
        text.append(UInt8(0xE0 | scalar >> 12))
        text.append(UInt8(0x80 | scalar >> 6 & 0x3F))
        text.append(UInt8(0x80 | scalar & 0x3F))
      default:
        text.append(UInt8(0xF0 | scalar >> 18))
        text.append(UInt8(0x80 | scalar >> 12 & 0x3F))
        text.append(UInt8(0x80 | scalar >> 6 & 0x3F))
        text.append(UInt8(0x80 | scalar & 0x3F))
      }
    }
  }

  private static func badString(_ message: String, at offset: Int) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: StoreLocation(offset: offset))
  }
}

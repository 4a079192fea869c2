import CTextVectors

/// Checks of the bytes that a format passes.
extension NodeTableBuilder {
  /// Whether the text is digits with at most one dot, as ``DecimalNumber`` would write them, and few enough to fit.
  static func isPlainDecimal(_ text: Span<UInt8>) -> Bool {
    var index = 0
    let count = text.count
    guard count > 0, count <= 36 else { return false }
    if text[0] == UInt8(ascii: "-") { index = 1 }
    guard index < count, text[index] >= UInt8(ascii: "0"), text[index] <= UInt8(ascii: "9") else { return false }
    // A leading zero is canonical only before a point, and zero has no sign.
    if text[index] == UInt8(ascii: "0") {
      if count == 1 { return true }
      guard index + 1 < count, text[index + 1] == UInt8(ascii: "."), index == 0 else { return false }
    }
    var points = 0
    while index < count {
      let byte = text[index]
      if byte == UInt8(ascii: ".") {
        points += 1
      } else if byte < UInt8(ascii: "0") || byte > UInt8(ascii: "9") {
        return false
      }
      index += 1
    }
    return points <= 1 && text[count - 1] != UInt8(ascii: ".")
  }

  /// Whether the bytes are UTF-8: eight at a time while they are ASCII, and 32 at a time if many others follow.
  static func isUTF8(_ bytes: Span<UInt8>) -> Bool {
    bytes.withUnsafeBufferPointer { buffer in
      guard let base = UnsafeRawPointer(buffer.baseAddress) else { return true }
      var index = 0
      let count = buffer.count
      while index + 8 <= count {
        guard base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 else { break }
        index += 8
      }
      while index < count, buffer[index] < 0x80 { index += 1 }
      if index == count { return true }
      let rest = UnsafeBufferPointer(rebasing: buffer[index...])
      let answer = atv_is_utf8(rest.baseAddress, rest.count)
      guard answer < 0 else { return answer == 1 }
      return (try? UTF8Span(validating: Span(_unsafeElements: rest))) != nil
    }
  }
}

import StoreJSON

/// Escapes what is written to a terminal in pieces: unsafe characters, and bytes that are not UTF-8.
final class TerminalFilter {
  /// The bytes of an incomplete scalar at the end of the last piece.
  private var rest: [UInt8] = []

  func filtered(_ piece: UnsafeRawBufferPointer) -> [UInt8] {
    let bytes = rest + piece
    rest = []
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    bytes.withUnsafeBufferPointer { bytes in
      var place = 0
      while place < bytes.count {
        if isCut(bytes, place) {
          rest = Array(bytes[place...])
          return
        }
        let (scalar, length) = TerminalText.scalar(bytes, at: place)
        if let scalar, !TerminalText.isUnsafe(scalar) {
          result += bytes[place..<place + length]
        } else {
          let digits = String(scalar?.value ?? UInt32(bytes[place]), radix: 16)
          let width = scalar == nil ? 2 : 4
          result += (scalar == nil ? "\\x" : "\\u").utf8
          result += repeatElement(UInt8(ascii: "0"), count: width - digits.utf8.count)
          result += digits.utf8
        }
        place += length
      }
    }
    return result
  }

  /// Returns the bytes that were held back, which are incomplete.
  func finish() -> [UInt8] {
    defer { rest = [] }
    return rest.flatMap { "\\x\(String($0, radix: 16))".utf8 }
  }

  /// Whether the scalar that begins at a byte may continue in the next piece.
  private func isCut(_ bytes: UnsafeBufferPointer<UInt8>, _ place: Int) -> Bool {
    let first = bytes[place]
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1
    return place + length > bytes.count && bytes[(place + 1)...].allSatisfy { $0 & 0xC0 == 0x80 }
  }
}

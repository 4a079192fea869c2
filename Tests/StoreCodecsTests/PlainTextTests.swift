import StoreCodecs
import Testing

/// The search for the end of a text, which looks at many bytes at a time.
@Suite("Plain bytes of a text") struct PlainTextTests {
  /// Byte by byte.
  private static func plain(_ bytes: [UInt8]) -> (length: Int, lines: Int) {
    var lines = 0
    for (place, byte) in bytes.enumerated() {
      if byte == UInt8(ascii: "\n") {
        lines += 1
      } else if byte < UInt8(ascii: " ") || byte >= 0x80
        || [UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&")].contains(byte)
      {
        return (place, lines)
      }
    }
    return (bytes.count, lines)
  }

  @Test("ends before the first byte that is not plain, of any value and at any place, and counts the lines before it")
  func everyByte() {
    for byte in UInt8.min...UInt8.max {
      for place in 0..<70 {
        // Plain up to the place; what follows must not matter.
        var text = (0..<place).map { $0 % 7 == 3 ? UInt8(ascii: "\n") : UInt8(0x21 + $0 % 27) }
        text.append(byte)
        text += Array("\n\n<plain".utf8)
        let expected = Self.plain(text)
        text += [UInt8](repeating: 0, count: 32)
        var lines = 5
        let length = text.withUnsafeBufferPointer { $0.baseAddress.map { XMLText.plainLength($0, lines: &lines) } }
        #expect(length == expected.length && lines == expected.lines + 5, "\(byte) at \(place)")
      }
    }
  }

  @Test("the zeros after a text end it, whatever its length", arguments: [0, 1, 31, 32, 33, 63, 64, 65, 1000, 100_000])
  func zeros(_ count: Int) {
    let text =
      (0..<count).map { $0 % 77 == 76 ? UInt8(ascii: "\n") : UInt8(ascii: "A") } + [UInt8](repeating: 0, count: 32)
    var lines = 0
    let length = text.withUnsafeBufferPointer { $0.baseAddress.map { XMLText.plainLength($0, lines: &lines) } }
    #expect(length == count && lines == count / 77)
  }
}

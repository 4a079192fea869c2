import AtomicStoreSPI
import StoreCodecs
import Testing

@testable import CSVStoreFormat

@Suite("String references in cells") struct CSVReferenceTextTests {
  private static func written(_ text: [UInt8]) -> [UInt8] {
    let writer = ByteWriter()
    ReferenceText.append(text.span, to: writer)
    return writer.takeBytes()
  }

  /// Byte by byte, as FORMAT.md says.
  private static func escaped(_ text: [UInt8]) -> [UInt8] {
    Array("s:".utf8)
      + text.flatMap { byte -> [UInt8] in
        guard byte <= UInt8(ascii: " ") || byte == UInt8(ascii: "\u{7F}") || "\"%,;|".utf8.contains(byte) else {
          return [byte]
        }
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
  }

  @Test("each byte at each place of a string is escaped exactly if it must be, and read back")
  func everyByte() {
    for count in [1, 7, 8, 9, 17] {
      for place in 0..<count {
        for byte in UInt8.min..<0x80 {
          var text = [UInt8](repeating: UInt8(ascii: "k"), count: count)
          text[place] = byte
          let cell = Self.written(text)
          #expect(cell == Self.escaped(text))
          var back: [UInt8] = []
          #expect(ReferenceText.decode(cell.span, into: &back) && back == text)
          let plain = Array("s:".utf8) + text
          #expect(ReferenceText.isPlain(plain.span) == (byte != UInt8(ascii: "%")))
        }
      }
    }
  }

  @Test("strings of random bytes, ASCII or not, are escaped byte by byte", arguments: 1...20)
  func random(_ seed: UInt64) {
    var random = Random(seed: seed)
    for _ in 0..<500 {
      let count = Int.random(in: 0..<40, using: &random)
      let text = (0..<count).map { _ in
        Int.random(in: 0..<4, using: &random) == 0
          ? UInt8.random(in: 0...255, using: &random) : UInt8.random(in: 0x23...0x7E, using: &random)
      }
      #expect(Self.written(text) == Self.escaped(text))
      let isPlain = text.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "%") }
      #expect(ReferenceText.isPlain((Array("s:".utf8) + text).span) == isPlain)
    }
  }
}

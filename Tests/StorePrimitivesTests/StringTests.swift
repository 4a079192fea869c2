import StorePrimitives
import Testing

@Suite("Text by its bytes") struct StringTests {
  @Test("strings have the same scalars if their UTF-8 is the same, however they are stored")
  func comparesScalars() {
    let texts = [
      "", "a", "name", "type", "é", "e\u{301}", "exactly 15 byte", "more than fifteen bytes", "more than fifteen byteś",
    ]
    for one in texts {
      // In its own memory, even if it is short.
      var other = String()
      other.reserveCapacity(100)
      other += one
      #expect(one.hasSameScalars(as: other) && other.hasSameScalars(as: one))
      for third in texts { #expect(one.hasSameScalars(as: third) == one.utf8.elementsEqual(third.utf8)) }
    }
  }

  @Test("bytes are two lowercase digits each")
  func writesHexadecimal() {
    #expect(String(hexadecimal: [UInt8]()) == "")
    #expect(String(hexadecimal: [0, 9, 10, 15, 16, 0xAF, 0xFF] as [UInt8]) == "00090a0f10afff")
  }
}

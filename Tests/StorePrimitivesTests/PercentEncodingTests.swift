import StorePrimitives
import Testing

@Suite("Percent-encoding") struct PercentEncodingTests {
  private let names = PercentEncoding(keeping: "_.", keepsNonASCII: true)

  @Test(
    "what is encoded is decoded to the same text", arguments: ["", "Person", "a b%c", "é\u{301}😀", "\0\u{1}\u{7F}"])
  func roundTrips(_ text: String) throws {
    for encoding in [names, PercentEncoding(keeping: "")] {
      let encoded = encoding.encoded(text)
      #expect(try #require(encoding.decoded(encoded[...])).utf8.elementsEqual(text.utf8))
    }
  }

  @Test("letters, digits and what is kept stay, and every other byte has two digits in upper case")
  func encodes() {
    #expect(names.encoded("aZ0_. /ü") == "aZ0_.%20%2Fü")
    #expect(PercentEncoding(keeping: "").encoded("_ü\n") == "%5F%C3%BC%0A")
  }

  @Test("what no encoding writes is not decoded", arguments: ["%", "%4", "%4g", "a b", "%FF"])
  func refuses(_ text: String) { #expect(names.decoded(text[...]) == nil) }

  @Test("an invalid escape is refused, or stays", arguments: ["50%", "%4", "%zz", "%+1"])
  func keepsInvalid(_ text: String) {
    #expect(PercentEncoding.bytes(text.utf8) == nil)
    #expect(PercentEncoding.bytes(text.utf8, keepsInvalid: true) == Array(text.utf8))
    #expect(PercentEncoding.bytes("%41\(text)%2f".utf8, keepsInvalid: true) == Array("A\(text)/".utf8))
  }
}

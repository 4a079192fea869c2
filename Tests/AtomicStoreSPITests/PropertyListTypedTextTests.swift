import AtomicStoreSPI
import FoundationEssentials
import Testing

@Suite("Property lists as typed text") struct PropertyListTypedTextTests {
  private static let leaves: [(PropertyListValue, String)] = [
    (.string(""), "string:"), (.string("[a"), "string:[a"), (.string("\u{FEFF}x\u{0}"), "string:\u{FEFF}x\u{0}"),
    (.string("e\u{301}"), "string:e\u{301}"), (.integer(Int128(UInt64.max)), "integer:18446744073709551615"),
    (.integer(Int128(Int64.min)), "integer:-9223372036854775808"), (.boolean(true), "boolean:true"),
    (.real(-0.0), "double:-0.0"), (.real(Double(bitPattern: 0xFFF0_0000_0000_0001)), "double:nan(0xfff0000000000001)"),
    (.real(.infinity), "double:inf"), (.date(Date(timeIntervalSinceReferenceDate: -0.25)), "date:-0.25"),
    (.data(Data([0, 1, 2])), "data:AAEC"), (.uid(.max), "uid:18446744073709551615"),
  ]

  @Test("each kind of value has a text, and comes back to the bit", arguments: leaves)
  func leaf(_ value: PropertyListValue, _ text: String) throws {
    #expect(try value.typedText.utf8.elementsEqual(text.utf8))
    #expect(try PropertyListValue(typedText: text) == value)
    // Within a container as well, as a value and as a key.
    let nested = PropertyListValue.array([value, .dictionary([text: value]), .array([])])
    #expect(try PropertyListValue(typedText: try nested.typedText) == nested)
  }

  @Test("containers are JSON, with keys in the order of their bytes; two forms of a letter are two keys")
  func containers() throws {
    let value: PropertyListValue = ["b": [1, "x\n\"\\\u{1}"], "a": [:], "\u{E9}": true, "e\u{301}": false]
    let text = try value.typedText
    #expect(
      text.utf8.elementsEqual(
        "{\"a\":{},\"b\":[\"integer:1\",\"string:x\\n\\\"\\\\\\u0001\"],\"e\u{301}\":\"boolean:false\",\"\u{E9}\":\"boolean:true\"}"
          .utf8))
    #expect(try PropertyListValue(typedText: text) == value)
    let spaced = " \n{ \"b\" : [ ] ,\t\"a\":{\"\\u00e9\\ud83d\\ude00\\/\\b\\f\" : \"uid:1\"} }\r\n"
    // Text that begins with a space is not a container.
    #expect(throws: PersistentStoreError.self) { try PropertyListValue(typedText: spaced) }
    #expect(
      try PropertyListValue(typedText: String(spaced.dropFirst(2)))
        == ["a": ["\u{E9}\u{1F600}/\u{8}\u{C}": .uid(1)], "b": []])
  }

  @Test(
    "any other text is refused, with the location and the byte",
    arguments: [
      ("", 1), ("x", 1), ("integer:1.5", 1), ("integer:18446744073709551616", 1), ("uid:-1", 1), ("float:1", 1),
      ("[", 2), ("[]x", 3), ("[1]", 2), ("[\"x\"]", 2), ("[\"uid:1\",]", 10), ("{\"a\"}", 5),
      ("{\"a\":[],\"a\":[]}", 2), ("{\"a\":[] \"b\":[]}", 9), ("[\"string:\\x\"]", 11), ("[\"string:\\ud800\"]", 11),
      ("[\"string:\\u+123\"]", 11), ("[\"string:", 3), ("[\"string:\\", 11),
    ])
  func refused(_ text: String, _ byte: Int) {
    let error = #expect(throws: PersistentStoreError.self) {
      try PropertyListValue(typedText: text, at: StoreLocation(file: "f", line: 3))
    }
    #expect(error?.code == .malformed && error?.location.line == 3)
    #expect(error?.message.contains("(byte \(byte) of") == true, "\(String(describing: error))")
  }

  @Test(
    "a text that no value is written as is not a value",
    arguments: [
      "double:0x10", "double:0x1p3", "double:-0X1", "float:0x10", "date:0x10", "float:nan(0x3f800000)",
      "double:nan(0x0)", "date:nan(0x0)", "float:nan(0x)", "double:", "float: 1", "double:1 ", "integer:0x10",
    ])
  func otherText(_ text: String) { #expect(StoredValue(typedText: text) == nil) }

  @Test("depth is limited when reading and writing")
  func depth() throws {
    func nested(_ levels: Int) -> PropertyListValue {
      (0..<levels).reduce(.string("x")) { value, level in level % 2 == 0 ? .array([value]) : .dictionary(["k": value]) }
    }
    var limits = StoreLimits()
    limits.depth = 3
    let text = try nested(3).typedText
    #expect(try PropertyListValue(typedText: text, limits: limits) == nested(3))
    limits.depth = 2
    #expect(throws: PersistentStoreError.self) { try PropertyListValue(typedText: text, limits: limits) }
    let greatest = nested(StoreLimits.greatestDepth)
    #expect(try PropertyListValue(typedText: try greatest.typedText) == greatest)
    let error = #expect(throws: PersistentStoreError.self) { try nested(StoreLimits.greatestDepth + 1).typedText }
    #expect(error?.code == .limitExceeded)
    let hostile = #expect(throws: PersistentStoreError.self) {
      try PropertyListValue(typedText: String(repeating: "[", count: 1_000_000))
    }
    #expect(hostile?.code == .limitExceeded)
  }
}

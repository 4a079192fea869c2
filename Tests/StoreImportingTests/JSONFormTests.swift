import AtomicStoreSPI
import Foundation
import StoreJSON
import Testing

@Suite("Values as JSON") struct JSONFormTests {
  private static func decimal(_ text: String) -> StoredValue { DecimalNumber(text).map { .decimal($0) } ?? .null }
  private static func uuid(_ text: String) -> StoredValue { UUID(uuidString: text).map { .uuid($0) } ?? .null }
  private static let values: [(AttributeType, StoredValue, String)] = [
    (.boolean, .boolean(true), "true"), (.integer64, .integer(.max), "9223372036854775807"),
    (.double, .double(0.1), "0.1"), (.double, .double(-0.0), "-0.0"), (.double, .double(.infinity), "\"inf\""),
    (.double, .double(Double(bitPattern: 0x7FF8_0000_0000_0001)), "\"nan(0x7ff8000000000001)\""),
    (.double, .double(.nan), "\"nan\""), (.double, .double(1e300), "1e+300"), (.float, .float(1.68), "1.68"),
    (.decimal, decimal("1.10"), "1.10"),
    (
      .decimal, decimal("12345678901234567890123456789012345678"),
      "12345678901234567890123456789012345678"
    ),
    (.decimal, .decimal(.nan), "\"NaN\""), (.string, .string("a\"\u{1}\u{1F600}é"), "\"a\\\"\\u0001\u{1F600}é\""),
    (.uri, .uri("x:%20 ü"), "\"x:%20 ü\""), (.binaryData, .data(Data([0, 1, 2])), #"{"base64":"AAEC"}"#),
    (.date, .date(Date(timeIntervalSinceReferenceDate: 0.1)), "\"2001-01-01T00:00:00.1Z\""),
    (.date, .date(Date(timeIntervalSinceReferenceDate: 1e300)), "\"@1e+300\""),
    (
      .uuid, uuid("E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
      "\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\""
    ),
    (.undefined, .date(Date(timeIntervalSinceReferenceDate: 0)), #"{"date":"2001-01-01T00:00:00Z"}"#),
    (.undefined, decimal("1.10"), #"{"decimal":"1.10"}"#),
    (.undefined, .float(0.1), #"{"float":0.1}"#),
    (.undefined, .double(5), "5.0"), (.undefined, .double(.nan), #"{"double":"nan"}"#), (.undefined, .integer(5), "5"),
    (.undefined, .uri("a"), #"{"uri":"a"}"#), (.undefined, .string("2001-01-01"), "\"2001-01-01\""),
  ]

  private static func slot(_ type: AttributeType) throws -> Slot {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "E", properties: [.attribute(AttributeDescription(name: "a", type: type))])
      ]))
    return try #require(model.entity(named: "E")?.slots.first)
  }

  @Test("a value has one form, and that form reads back as the same value to the bit", arguments: values.indices)
  func roundTrip(_ index: Int) throws {
    let (type, value, text) = Self.values[index]
    let json = value.json(isDeclared: type != .undefined)
    #expect(json.line == text)
    let read = try JSONReader.read(Array(text.utf8), name: "t")
    let back = try #require(StoredValue(json: read, slot: try Self.slot(type)))
    #expect(back.isIdentical(to: value), "\(back)")
  }

  @Test(
    "metadata reads back exactly, also what looks like a type",
    arguments: [
      ["date": "x"], ["dictionary": ["date": "2001-01-01T00:00:00Z"]], ["a": [1, 1.0, true, "1"], "b": [:]],
      .date(Date(timeIntervalSinceReferenceDate: -0.25)), .data(Data([255])), .uid(7), .real(.infinity),
      .integer(Int128(UInt64.max)), .real(-0.0), ["base64": 5, "x": 1], .real(1e16),
    ] as [PropertyListValue])
  func metadata(_ value: PropertyListValue) throws {
    let read = try JSONReader.read(Array(value.json.text.utf8), name: "t")
    #expect(PropertyListValue(json: read) == value, "\(value.json.line)")
  }

  @Test(
    "what is not JSON is refused with its line and column",
    arguments: [
      "", "{", "[1,]", "{\"a\":1,}", "01", "1.", "1e", "-", "nul", "\"\u{1}\"", "\"\\x\"", "\"\\ud800\"", "1 2",
      "{\"a\":1,\"a\":2}", "\"abc", "[1 2]", String(repeating: "[", count: 600),
    ])
  func notJSON(_ text: String) throws {
    let error = try #require(throws: PersistentStoreError.self) { _ = try JSONReader.read(Array(text.utf8), name: "t") }
    // "01" is a number and something behind it.
    #expect(error.code == .malformed && error.location.line == 1 && error.location.column != nil, "\(error)")
  }
}

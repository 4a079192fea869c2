import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// The values that formats have lost, by attribute type: one table for every position that a value can have.
struct AdversarialValues {
  let traits: StoreTraits

  static let types = AttributeType.all.filter { $0.valueKind != .undefined }

  /// The types that the format can hold.
  var types: [AttributeType] { Self.types.filter { !traits.unsupportedTypes.contains($0.modelName) } }

  /// Values that must come back as they are.
  func kept(_ type: AttributeType) -> [StoredValue] { Self.all(type).filter { place(of: $0) == .kept } }

  /// Of many values eighty or so, from beginning to end: for positions in which each of them costs a property.
  func some(_ values: [StoredValue]) -> [StoredValue] {
    stride(from: 0, to: values.count, by: max(1, values.count / 80)).map { values[$0] }
  }

  /// Values that must come back as they are, or be refused with an error: the format declares that it does not have
  /// them, or no format has to.
  func keptOrRefused(_ type: AttributeType) -> [StoredValue] {
    Self.all(type).filter { place(of: $0) == .keptOrRefused }
  }

  private enum Place { case kept, keptOrRefused }

  private func place(of value: StoredValue) -> Place {
    switch value {
    case .double(let number): return special(number) ? .keptOrRefused : .kept
    case .float(let number): return special(Double(number)) ? .keptOrRefused : .kept
    case .date(let date): return special(date.timeIntervalSinceReferenceDate) ? .keptOrRefused : .kept
    case .decimal(let number): return number.isNaN || !traits.keepsDecimals ? .keptOrRefused : .kept
    case .string(let text), .uri(let text):
      if text.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" && $0 != "\n" && $0 != "\r" }) {
        return .keptOrRefused
      }
      return text.isEmpty && !traits.keepsNilApartFromEmpty ? .keptOrRefused : .kept
    case .data(let data): return data.isEmpty && !traits.keepsNilApartFromEmpty ? .keptOrRefused : .kept
    default: return .kept
    }
  }

  private func special(_ number: Double) -> Bool {
    !traits.keepsSpecialFloats && (!number.isFinite || number == 0 && number.sign == .minus)
  }

  // MARK: The table

  static func all(_ type: AttributeType) -> [StoredValue] {
    switch type.valueKind {
    case .boolean: [.boolean(true), .boolean(false)]
    case .integer: integers.map { .integer($0) }.filter { type.accepts($0) }
    case .float: floats.map { .float($0) }
    case .double: doubles.map { .double($0) }
    case .decimal: decimals
    case .date: (doubles + seconds).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .uuid: uuids
    case .string: texts.map { .string($0) }
    case .uri: uris.map { .uri($0) }
    case .data: bytes.map { .data($0) }
    case .undefined where type == .undefined: types.filter { $0 != .transformable }.flatMap { all($0) }
    case .undefined, .toOne, .toMany: []
    }
  }

  static let integers: [Int64] =
    wideIntegers.compactMap { Int64(exactly: $0) } + [1_111_111_111, 10_000_000_000_000_000]

  /// About each power of two up to 2^64, of both signs; and for each a number of so many bits whose bytes differ.
  static let wideIntegers: [Int128] =
    [0, 1, -1] + Int128.aroundPowersOfTwo(7...64)
    + (7...64).flatMap { bits -> [Int128] in
      let pattern = Int128(0xB1C2_D3E4_F506_1728 as UInt64 >> (64 - UInt64(bits)))
      return [pattern, -pattern]
    }

  /// Not-a-number with and without a payload, of both signs, quiet and signalling; both zeros; the edges.
  static let doubles: [Double] =
    [
      0x7FF8_0000_0000_0000, 0xFFF8_0000_0000_0000, 0x7FF8_0000_0000_0001, 0xFFF8_0000_DEAD_BEEF,
      0x7FF0_0000_0000_0001, 0xFFF4_0000_0000_0BAD, 0x7FFF_FFFF_FFFF_FFFF,
    ].map { (bits: UInt64) in Double(bitPattern: bits) } + [
      -0.0, 0, 1, -1, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
      .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude, 0.1, 0.1 + 0.2, 1.0.nextUp, 1.0.nextDown,
      1e15, 1e16, 1e17, 123_456_789_012_345_680, 9_007_199_254_740_992, 1e21, 1e-7, 1e22, 1e23, 4.35, 0.001,
      1_700_000_000.123_456_7,
    ] + patterns.map { Double(bitPattern: $0) }

  /// Doubles with each bit of the fraction, with each bit of the exponent, and whose bytes differ.
  private static let patterns: [UInt64] =
    (0..<52).map { (bit: UInt64) -> UInt64 in 0x3FF0_0000_0000_0000 | 1 << bit }
    + (52..<63).map { (bit: UInt64) -> UInt64 in 0x0001_2345_6789_ABCD | 1 << bit }
    + [0xBFE1_B2C3_D4E5_F607, 0x4012_3456_789A_BCDE, 0x0000_0123_4567_89AB]

  static let floats: [Float] =
    [0x7FC0_0000, 0xFFC0_0000, 0x7FC0_0001, 0xFFC0_BEEF, 0x7F80_0001, 0xFFA0_0BAD].map { (bits: UInt32) in
      Float(bitPattern: bits)
    } + [
      -0.0, 0, 1, -1, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
      .leastNonzeroMagnitude, .leastNormalMagnitude, 0.1, 16_777_215, 16_777_216, 1e10, 3.4e38, 0.3,
    ] + shortPatterns.map { Float(bitPattern: $0) }

  /// The same of floats.
  private static let shortPatterns: [UInt32] =
    (0..<23).map { (bit: UInt32) -> UInt32 in 0x3F80_0000 | 1 << bit }
    + (23..<31).map { (bit: UInt32) -> UInt32 in 0x0012_3456 | 1 << bit }

  /// Dates besides the numbers that all floating-point types have: before the Gregorian calendar, before 2001, far
  /// ahead, each with a fraction.
  static let seconds: [Double] = [
    -63_114_076_800, -63_114_076_800.123, 64_092_211_200, 64_092_211_200.5, -62_135_769_600.000_01, -978_307_200,
    -978_307_200.25, -978_307_199.999_999, -0.5, -1e-9, -12_219_292_800.75, -13_197_600_000.125, 252_423_993_600.25,
    700_000_000.123_456_7, 1e12, -1e12, 0.000_001, -86_400.000_1,
  ]

  static let decimals: [StoredValue] =
    [
      "0", "-0", "0.0", "0.00", "1", "1.0", "1.10", "1.100", "-1.50", "100", "1e2", "1e-127", "-1e-128", "1e127",
      "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999",
      "99999999999999999999999999999999999999e89", "0.1", "12345678901234567890.123456789", "340282366920938463463",
    ].compactMap { DecimalNumber($0).map { .decimal($0) } } + [.decimal(.nan)]
    + (Int128.aroundPowersOfTwo(7...126)).compactMap { DecimalNumber("\($0)").map { .decimal($0) } }

  static let uuids: [StoredValue] = [
    "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
    "0F8FAD5B-D9CB-469F-A165-70867728950E", "00000000-0000-0000-0000-000000000001",
    "abcdef01-2345-1789-0abc-def012345678",
  ].compactMap { UUID(uuidString: $0).map { .uuid($0) } }

  /// Pairs that are canonically equal, marks at each end, what looks like another value.
  static let texts: [String] = [
    "", " ", "a", "\u{FEFF}", "\u{FEFF}a", "a\u{FEFF}", "\u{FEFF}\u{FEFF}a\u{FEFF}\u{FEFF}", "\u{E9}", "e\u{301}",
    "\u{212B}", "\u{C5}", "A\u{30A}", "\u{1112}\u{1161}\u{11AB}", "\u{D55C}", "\u{301}", "\u{301}a", "\u{200D}",
    "\u{FE0F}", "\u{FFFE}a", "\u{FFFF}", "\u{2028}", "\u{85}", "\r", "\n", "\r\n", "a\r\n", "\r\na", "\t", "\ta", "a ",
    " a", "\u{A0}a\u{A0}", "true", "nil", "null", "0", "-0", "1.0", "1e5", "NaN", "$", "$a", "$$a", "#1", "@\"a\"",
    "=1",
    "\\", "\\\\", "\\u0000", "\"", "\"\"", "'", "a\"b", "<", "&amp;", "]]>", "%", "%00", "🏳️‍🌈", "\u{10FFFF}", "\u{7F}",
    "string:", "string:a", "data:AA==", "uuid:", "\0", "\0a", "a\0", "a\0b", "\0\0", "\u{1}", "a\u{1F}", "\u{8}a",
    String(repeating: "x", count: 255), String(repeating: "x", count: 256), String(repeating: "é", count: 128),
    String(repeating: "x", count: 4_095) + "é", String(repeating: "x", count: 4_096),
  ]

  static let uris: [String] = [
    "", "a:b", "http://example.org/%c3%a9", "http://example.org/%C3%A9", "http://example.org/%C3%a9",
    "HTTP://Example.ORG/", "http://example.org", "http://example.org/", "http://example.org:80/",
    "http://example.org/?",
    "http://example.org/#", "http://example.org/a/../b/./c", "http://example.org/a b", "http://example.org/é",
    "http://example.org/e\u{301}", "\u{FEFF}a:b", "a:b\u{FEFF}", " a:b", "a:b ", "a:%", "a:%zz", "a:b%00", "a:\0",
    "http://[::1]/", "file:///a%20b", "x:\\y", "http://example.org/a+b", "http://example.org/%7Ea",
  ]

  static let bytes: [Data] =
    [
      [], [0], [0, 0], [1, 0], [0, 1], [255], [0xEF, 0xBB, 0xBF], [0xEF, 0xBB, 0xBF, 0x61], [0x0D, 0x0A], [0x3D],
      [0x22],
    ]
    .map { (list: [UInt8]) in Data(list) } + [
      Data("bplist00".utf8), Data("<?xml".utf8), Data((0...255).map { UInt8($0) }),
      Data((0...255).map { UInt8($0) } + [0]), Data(repeating: 0, count: 255), Data(repeating: 7, count: 256),
      Data(repeating: 255, count: 4_097),
    ]
}

// MARK: Property lists

extension AdversarialValues {
  /// The values that metadata can have, beside those of attributes: integers of any 64 bits, UIDs, empty containers.
  func propertyListValues() -> (kept: [PropertyListValue], keptOrRefused: [PropertyListValue]) {
    func list(_ values: (AttributeType) -> [StoredValue]) -> [PropertyListValue] {
      [AttributeType.boolean, .double, .date, .string, .binaryData].flatMap { type in
        values(type).compactMap { value -> PropertyListValue? in
          switch value {
          case .boolean(let flag): .boolean(flag)
          case .double(let number): .real(number)
          case .date(let date): .date(date)
          case .string(let text): .string(text)
          case .data(let data): .data(data)
          default: nil
          }
        }
      }
    }
    let integers = Self.wideIntegers.filter { Int64(exactly: $0) != nil || UInt64(exactly: $0) != nil }
    let more: [PropertyListValue] =
      integers.map { .integer($0) }
      + [0, 1, 7, 255, 256, 65_535, 65_536, UInt64(UInt32.max), UInt64(UInt32.max) + 1, .max].map { .uid($0) } + [
        .array([]), .dictionary(PropertyListDictionary()), .array([.array([]), .dictionary(PropertyListDictionary())]),
        .array([.integer(1), .real(1), .boolean(true), .string("1"), .uid(1)]),
        .array([.integer(0), .real(0), .real(-0.0), .boolean(false), .string("")]),
      ]
    // The kit refuses dates that are not a number: readers of property lists do.
    func isOdd(_ value: PropertyListValue) -> Bool {
      if case .date(let date) = value { date.timeIntervalSinceReferenceDate.isNaN } else { false }
    }
    // References of archives may be refused: a keyed archive would take them for its own, and other formats may not
    // have a form for them.
    func isReference(_ value: PropertyListValue) -> Bool {
      switch value {
      case .uid: true
      case .array(let elements): elements.contains { isReference($0) }
      default: false
      }
    }
    let all = list { kept($0) }
    return (
      all.filter { !isOdd($0) } + more.filter { !isReference($0) },
      all.filter { isOdd($0) } + more.filter { isReference($0) } + list { keptOrRefused($0) }
    )
  }

  /// A text that shows its length, and which character is where: letters of both cases.
  static func text(_ length: Int) -> String {
    String(
      decoding: (0..<length).map { place -> UInt8 in
        UInt8(ascii: place % 3 == 1 ? "A" : "a") + UInt8((place &* 7 &+ length) % 26)
      }, as: UTF8.self)
  }

  /// Texts that are different and have the same hash, each with the next one: CRC-32, FNV-1a, FNV-1, djb2, djb2 with
  /// XOR, Java's; then permutations, whose bytes have one sum, and texts that differ in their case only.
  static let collisions: [String] = [
    "plumless", "buckeroo", "costarring", "liquid", "creamwove", "quists", "hetairas", "mentioner", "playwright",
    "snush", "AaAaAaAa", "BBBBBBBB", "AaBBAaBB", "a number of letters", "a letter of numbers", "Straße", "STRASSE",
    "strasse", "straße",
  ]

  /// Long texts that begin and end with each short text that a format must keep.
  func bracketed(_ size: Int) -> [StoredValue] {
    kept(.string).compactMap { value in
      guard case .string(let edge) = value, (1...12).contains(edge.utf8.count) else { return nil }
      return .string(edge + Self.text(size) + edge)
    }
  }

  /// Bytes that begin and end with each byte.
  static func bracketedBytes(_ size: Int) -> [StoredValue] {
    (0...255).map { (byte: UInt8) in .data(Data([byte] + text(size).utf8 + [byte])) }
  }

  /// Each length up to 300, and each power of two up to 128 KiB, with one less and one more.
  static let lengths = Array(1...300) + (9...17).flatMap { [(1 << $0) - 1, 1 << $0, (1 << $0) + 1] }

  /// Names that keys of metadata, properties and entities may have.
  static let names: [String] = [
    "\u{E9}", "e\u{301}", "\u{212B}", "\u{C5}", "A\u{30A}", "\u{D55C}", "\u{1112}\u{1161}\u{11AB}", "\u{FEFF}key",
    "key\u{FEFF}", "\u{FEFF}\u{FEFF}key", "key", "Key", "KEY", " key", "key ", "  key", "a.b", "a..b", ".a", "a.", "$a",
    "$$a", "$", "$value", "$\u{301}a", "$\u{301}value", "a b", "a\u{A0}b", "0", "00", "-1", "true", "null", "\"", "'",
    "\\", "a/b", "a:b", "a=b", "a,b", "a;b", "a#b", "@a", "<a>", "&amp;", "%41", "[a]", "{a}", "*", "~", "\u{301}",
    "\u{301}a", "\u{200D}", "\t", "a\tb", "a\nb", "a\r\nb", "\u{2028}", "名前", "😀", "ß", "SS", "ss", "ſ", "İ", "ı",
    "__proto__", "constructor", "toString", "length", "id", "_id", "self", "class", "type", "value",
    String(repeating: "n", count: 255), String(repeating: "n", count: 256), String(repeating: "n", count: 10_000),
    String(repeating: "n", count: 9_999) + "m",
  ]

  /// Names with characters that no format has to have.
  static let riskyNames: [String] = ["\0", "\0key", "key\0", "ke\0y", "\u{1}key", "key\u{1F}", ""]
}

extension Int128 {
  /// 2^k - 1, 2^k and 2^k + 1, of both signs.
  static func aroundPowersOfTwo(_ exponents: ClosedRange<Int>) -> [Int128] {
    exponents.flatMap { exponent -> [Int128] in
      let power = Int128(1) << Int128(exponent)
      return [power - 1, power, power + 1, 1 - power, -power, -power - 1]
    }
  }
}

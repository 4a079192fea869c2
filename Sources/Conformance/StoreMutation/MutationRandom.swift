/// Random numbers that are the same on every machine and in every run from one seed (SplitMix64).
public struct MutationRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// From 0, and less than `bound`; 0 for a bound of 0.
  mutating func below(_ bound: Int) -> Int { bound > 0 ? Int(next() % UInt64(bound)) : 0 }
  /// One time out of `times`.
  mutating func once(in times: Int) -> Bool { below(times) == 0 }
  mutating func pick<Element>(_ choices: [Element]) -> Element? {
    choices.isEmpty ? nil : choices[below(choices.count)]
  }
  /// A stretch of `0 ..< count`, more often short than long.
  mutating func range(in count: Int) -> Range<Int> {
    let start = below(count)
    let length = min(count - start, 1 + below(once(in: 4) ? max(1, count - start) : 16))
    return start..<start + length
  }
}

/// Numbers and texts at the edge of what types, counts and parsers hold.
enum Edges {
  static let numbers = [
    "0", "-0", "-1", "1", "7", "127", "128", "255", "256", "32767", "32768", "-32768", "-32769", "65535", "65536",
    "2147483647", "2147483648",
    "-2147483648", "4294967295", "4294967296", "9007199254740993", "4611686018427387904", "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
    "170141183460469231731687303715884105728", "1e308", "1e309", "-1e999", "1e-400", "4.9e-324", "0.1", "nan", "NaN",
    "inf", "-inf", "Infinity",
    "0x10", "+1", "1_000", "１", "00000000000000000000000000001", "1.", ".5", "1e", "--1", "1E+20",
    "99999999999999999999999999999999999999e127",
  ]
  static let texts = [
    "", " ", "\0", "\t", "\n", "\r\n", "\u{FEFF}", "\u{FFFE}", "\u{1}", "\u{7F}", "é", "e\u{301}", "😀", "\u{202E}",
    "\\", "\\u", "\\ud800", "\"",
    "'", "\"\"", "%00", "%", "%%", "&", "&amp;", "&#0;", "&#xD800;", "&#x10FFFF;", "&lol;", "<", ">", "]]>",
    "<![CDATA[", "<!--", "../../etc/passwd",
    "/etc/passwd", "file:///etc/passwd", "=1+1", "@SUM(A1)", "z0", "z-1", "null", "nil", "(", ")", "{", "}", "[", "]",
    "..", ".", ",", ";", "|", ":",
    "s:", "s:%2", "2001-01-01T00:00:00Z", "0000-00-00", "9999999-12-31T23:59:60Z", "true", "YES",
    "A70E1C5D-3B42-4F10-9C66-000000000003",
  ]
  /// Bytes that are not UTF-8, or end a C string.
  static let bytes: [[UInt8]] = [
    [0], [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0xEF, 0xBB, 0xBF],
    [0xFF, 0xFE], [0xFE, 0xFF],
  ]

  static func text(_ random: inout MutationRandom) -> [UInt8] {
    switch random.below(8) {
    case 0: random.pick(bytes) ?? []
    case 1: Array(repeating: UInt8(truncatingIfNeeded: random.next()), count: 1 + random.below(300))
    case 2, 3, 4: Array((random.pick(numbers) ?? "").utf8)
    default: Array((random.pick(texts) ?? "").utf8)
    }
  }
}

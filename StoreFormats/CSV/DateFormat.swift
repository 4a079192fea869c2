import StoreCodecs

/// A date's pattern, as `dd.MM.yyyy HH:mm:ss`: `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss` and text between them. Also `M`,
/// `d`, `H` for one or two digits. Times are UTC.
struct DateFormat: Sendable {
  private enum Part: Sendable {
    case field(Character, digits: Int)
    case text([UInt8])
  }
  private let parts: [Part]

  /// Nil for a pattern without a year, a month and a day.
  init?(_ pattern: String) {
    var parts: [Part] = []
    var seen: Set<Character> = []
    var rest = pattern[...]
    while let first = rest.first {
      let run = rest.prefix { $0 == first }
      rest = rest.dropFirst(run.count)
      switch (first, run.count) {
      case ("y", 4), ("M", 1...2), ("d", 1...2), ("H", 1...2), ("m", 1...2), ("s", 1...2):
        guard seen.insert(first).inserted else { return nil }
        parts.append(.field(first, digits: run.count))
      case ("a"..."z", _): return nil
      case ("A"..."Z", _) where first != "T" && first != "Z": return nil
      default: parts.append(.text(Array(run.utf8)))
      }
    }
    guard seen.isSuperset(of: ["y", "M", "d"]) else { return nil }
    self.parts = parts
  }

  /// Seconds since 2001-01-01T00:00:00Z; nil for a text of another form or a day that does not exist.
  func seconds(_ bytes: Span<UInt8>) -> Double? {
    var values: [Character: Int] = [:]
    var index = 0
    for part in parts {
      switch part {
      case .text(let text):
        for byte in text {
          guard index < bytes.count, bytes[index] == byte else { return nil }
          index += 1
        }
      case .field(let name, let digits):
        let most = digits == 1 ? 2 : digits
        var value = 0
        var count = 0
        while count < most, index < bytes.count, bytes[index] &- UInt8(ascii: "0") < 10 {
          value = value * 10 + Int(bytes[index] - 0x30)
          index += 1
          count += 1
        }
        guard count == most || (digits == 1 && count == 1) else { return nil }
        values[name] = value
      }
    }
    guard index == bytes.count else { return nil }
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let year = values["y"] ?? 0
    let padded = String(repeating: "0", count: max(0, 4 - String(year).count)) + String(year)
    let text =
      "\(padded)-\(two(values["M"] ?? 0))-\(two(values["d"] ?? 0))T"
      + "\(two(values["H"] ?? 0)):\(two(values["m"] ?? 0)):\(two(values["s"] ?? 0))Z"
    return ExactText.date(Array(text.utf8).span)
  }

  /// The text of a date; nil where the pattern cannot hold it, a fraction of a second for one.
  func text(_ seconds: Double) -> String? {
    let writer = ByteWriter()
    writer.append(dateSeconds: seconds)
    let iso = writer.takeBytes()
    // Only whole seconds of four-digit years have this length, and some of what stands behind an @.
    guard iso.count == 20, iso[0] != UInt8(ascii: "@") else { return nil }
    func number(_ start: Int, _ length: Int) -> Int {
      iso[start..<start + length].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
    let values: [Character: Int] = [
      "y": number(0, 4), "M": number(5, 2), "d": number(8, 2), "H": number(11, 2), "m": number(14, 2),
      "s": number(17, 2),
    ]
    var result = ""
    for part in parts {
      switch part {
      case .text(let text): result += String(decoding: text, as: UTF8.self)
      case .field(let name, let digits):
        let text = String(values[name] ?? 0)
        result += String(repeating: "0", count: max(0, digits - text.count)) + text
      }
    }
    return self.seconds(Array(result.utf8).span)?.bitPattern == seconds.bitPattern ? result : nil
  }
}

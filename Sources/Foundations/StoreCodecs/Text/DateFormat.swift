/// A date's pattern, as `dd.MM.yyyy HH:mm:ss`: `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss` and text between them. Also `M`,
/// `d`, `H`, `m`, `s` for one or two digits. Times are UTC.
public struct DateFormat: Sendable {
  private enum Part: Sendable {
    case field(Field, digits: Int)
    case text([UInt8])
  }
  private enum Field: Int, Sendable {
    case year, month, day, hour, minute, second

    init?(letter: Character) {
      guard let place = Array("yMdHms").firstIndex(of: letter) else { return nil }
      self.init(rawValue: place)
    }
  }
  /// Numbers by field.
  private struct Values {
    private var numbers: InlineArray<6, Int>
    init(_ numbers: InlineArray<6, Int> = InlineArray(repeating: 0)) { self.numbers = numbers }
    subscript(field: Field) -> Int {
      get { numbers[field.rawValue] }
      set { numbers[field.rawValue] = newValue }
    }
  }
  private let parts: [Part]

  /// Reads a pattern. Nil for one without a year, a month and a day, or with letters that are not fields.
  public init?(_ pattern: String) {
    var parts: [Part] = []
    var seen: Set<Field> = []
    var rest = pattern[...]
    while let first = rest.first {
      let run = rest.prefix { $0 == first }
      rest = rest.dropFirst(run.count)
      if let field = Field(letter: first) {
        guard field == .year ? run.count == 4 : run.count <= 2, seen.insert(field).inserted else { return nil }
        parts.append(.field(field, digits: run.count))
        continue
      }
      let isLetter = first.isASCII && first.isLetter
      guard !isLetter || first == "T" || first == "Z" else { return nil }
      parts.append(.text(Array(run.utf8)))
    }
    guard seen.isSuperset(of: [.year, .month, .day]) else { return nil }
    self.parts = parts
  }

  /// Seconds since 2001-01-01T00:00:00Z; nil for a text of another form or a day that does not exist.
  public func seconds(_ bytes: Span<UInt8>) -> Double? {
    var values = Values()
    var index = 0
    for part in parts {
      switch part {
      case .text(let text):
        for byte in text {
          guard index < bytes.count, bytes[index] == byte else { return nil }
          index += 1
        }
      case .field(let field, let digits):
        let most = digits == 1 ? 2 : digits
        var value = 0
        var count = 0
        while count < most, index < bytes.count, bytes[index] &- UInt8(ascii: "0") < 10 {
          value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
          index += 1
          count += 1
        }
        guard count == most || (digits == 1 && count == 1) else { return nil }
        values[field] = value
      }
    }
    guard index == bytes.count, values[.month] >= 1, values[.month] <= 12, values[.day] >= 1,
      values[.day] <= ExactText.daysIn(values[.month], values[.year]), values[.hour] < 24, values[.minute] < 60,
      values[.second] < 60
    else { return nil }
    let days = ExactText.daysSinceReference(values[.year], values[.month], values[.day])
    return Double(days * 86400 + values[.hour] * 3600 + values[.minute] * 60 + values[.second])
  }

  /// The text of a date; nil where the pattern cannot hold it, a fraction of a second for one.
  public func text(_ seconds: Double) -> String? {
    let writer = ByteWriter()
    writer.append(dateSeconds: seconds)
    let iso = writer.takeBytes()
    // Only whole seconds of four-digit years have this length, and some of what is behind an @.
    guard iso.count == 20, iso[0] != UInt8(ascii: "@") else { return nil }
    func number(_ start: Int, _ length: Int) -> Int {
      iso[start..<start + length].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
    let values = Values([number(0, 4), number(5, 2), number(8, 2), number(11, 2), number(14, 2), number(17, 2)])
    var result = ""
    for part in parts {
      switch part {
      case .text(let text): result += String(decoding: text, as: UTF8.self)
      case .field(let field, let digits):
        let text = String(values[field])
        result += String(repeating: "0", count: max(0, digits - text.count)) + text
      }
    }
    return self.seconds(Array(result.utf8).span)?.bitPattern == seconds.bitPattern ? result : nil
  }
}

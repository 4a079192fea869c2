import AtomicStoreSPI

/// Where the records of a table are, and which of them are left out.
struct RejectedRecords {
  /// The header line, without its end.
  var header = 0..<0
  /// The records by their numbers, without line ends.
  private var ranges: [Range<Int>] = []
  /// The numbers of those that are left out.
  private(set) var numbers: Set<Int> = []

  mutating func add(_ range: Range<Int>) { ranges.append(range) }
  mutating func reject(_ number: Int) { numbers.insert(number) }

  /// The header line and the records that are left out, as the file has them: in its encoding, with its line ends.
  func text(_ utf8: StoreBytes, of source: ImportSource, _ conventions: TextConventions) -> [UInt8] {
    let text = utf8.withUnsafeBytes { raw in
      let usual = header.isEmpty ? [] : Self.lineEnd(raw, at: header.upperBound)
      func line(_ range: Range<Int>) -> [UInt8] {
        var end = Self.lineEnd(raw, at: range.upperBound)
        if end.isEmpty { end = usual.isEmpty ? [UInt8(ascii: "\n")] : usual }
        return Array(raw[range]) + end
      }
      var result = header.isEmpty ? [] : line(header)
      for number in numbers.sorted() where number < ranges.count { result += line(ranges[number]) }
      return result
    }
    return conventions.encoded(text, as: source)
  }

  private static func lineEnd(_ raw: UnsafeRawBufferPointer, at end: Int) -> [UInt8] {
    let (carriageReturn, lineFeed) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    guard end < raw.count, raw[end] == carriageReturn || raw[end] == lineFeed else { return [] }
    let isPair = raw[end] == carriageReturn && end + 1 < raw.count && raw[end + 1] == lineFeed
    return isPair ? [carriageReturn, lineFeed] : [raw[end]]
  }
}

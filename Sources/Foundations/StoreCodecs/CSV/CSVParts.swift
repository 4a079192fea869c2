import CTextVectors

/// Divides the bytes of a CSV file into parts that begin with a record, so that they can be read at the same time.
///
/// A line feed ends a record if the number of quotes before it is even. That holds up to the first error in the file:
/// the part that contains it reports an error, and the division of what follows does not matter.
public enum CSVParts {
  /// The numbers of quotes in a file determine its parts; each piece can be counted on its own.
  ///
  /// - Returns: The number of quotes in a range of the bytes.
  public static func quoteCount(_ bytes: UnsafeBufferPointer<UInt8>, in range: Range<Int>) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    return atv_count(base + range.lowerBound, range.count, UInt8(ascii: "\""))
  }

  /// The offset after the last record that ends in bytes that begin with a record; 0 if none does.
  ///
  /// - Parameters:
  ///   - bytes: Bytes of a file.
  ///   - hasQuotes: False if there are certainly no quotes.
  public static func endOfRecords(_ bytes: UnsafeBufferPointer<UInt8>, hasQuotes: Bool) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    var isQuoted = hasQuotes && quoteCount(bytes, in: 0..<bytes.count) % 2 == 1
    var end = bytes.count
    while true {
      let last = atv_after_last(base, end, UInt8(ascii: "\n"))
      guard last > 0, hasQuotes else { return last }
      if quoteCount(bytes, in: last..<end) % 2 == 1 { isQuoted.toggle() }
      if !isQuoted { return last }
      end = last - 1
    }
  }

  /// Ranges of similar sizes of which each but the first begins after the line feed that ends a record.
  ///
  /// - Parameters:
  ///   - bytes: The whole content of the file.
  ///   - pieces: Ranges that follow each other, the first one from 0 and the last one to the end.
  ///   - quoteCounts: The number of quotes in each of them.
  /// - Returns: At most as many ranges as pieces, which cover all bytes.
  public static func ranges(
    _ bytes: UnsafeBufferPointer<UInt8>, pieces: [Range<Int>], quoteCounts: [Int]
  ) -> [Range<Int>] {
    ranges(pieces: pieces, quoteCounts: quoteCounts) { recordStart(bytes, from: $0, isQuoted: $1) }
  }

  /// The same for a file that is not in memory.
  ///
  /// - Parameters:
  ///   - pieces: Ranges that follow each other, the first one from 0 and the last one to the end of the file.
  ///   - quoteCounts: The number of quotes in each of them.
  ///   - recordStart: Returns the offset after the first line feed that ends a record, from an offset on; nil if there
  ///     is none. The second argument is whether the number of quotes before the offset is odd.
  /// - Returns: At most as many ranges as pieces, which cover the file.
  /// - Throws: The errors of `recordStart`.
  public static func ranges<Failure: Error>(
    pieces: [Range<Int>], quoteCounts: [Int],
    recordStart: (_ offset: Int, _ isQuoted: Bool) throws(Failure) -> Int?
  ) throws(Failure) -> [Range<Int>] {
    let size = pieces.last?.upperBound ?? 0
    var starts = [0]
    var quotes = 0
    for (piece, count) in zip(pieces, quoteCounts) {
      if piece.lowerBound > 0, let start = try recordStart(piece.lowerBound, quotes % 2 == 1),
        start > starts[starts.count - 1], start < size
      {
        starts.append(start)
      }
      quotes += count
    }
    return starts.indices.map { starts[$0]..<($0 + 1 < starts.count ? starts[$0 + 1] : size) }
  }

  private static func recordStart(
    _ bytes: UnsafeBufferPointer<UInt8>, from offset: Int, isQuoted: Bool
  ) -> Int? {
    var isQuoted = isQuoted
    return recordStart(bytes, from: offset, isQuoted: &isQuoted)
  }

  /// The offset after the first line feed that ends a record.
  ///
  /// - Parameters:
  ///   - bytes: Bytes of a file.
  ///   - offset: Where to begin.
  ///   - isQuoted: Whether the number of quotes before the offset is odd; afterwards, if nil is returned, that before
  ///     the end.
  public static func recordStart(
    _ bytes: UnsafeBufferPointer<UInt8>, from offset: Int, isQuoted: inout Bool
  ) -> Int? {
    for index in offset..<bytes.count {
      if bytes[index] == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if bytes[index] == UInt8(ascii: "\n"), !isQuoted {
        return index + 1
      }
    }
    return nil
  }
}

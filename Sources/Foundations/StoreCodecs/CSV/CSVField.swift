/// One field of a CSV file: the range of its bytes, and whether it is quoted. No bytes are copied.
public struct CSVField: Sendable, Equatable {
  /// The offset of the content's first byte, without the enclosing quotes. Doubled quotes are still doubled.
  public var start: Int
  /// The offset after the content's last byte.
  public var end: Int
  /// Whether it is enclosed in quotes: `""` is an empty string, an empty unquoted field a missing value.
  public var isQuoted: Bool
  /// Whether the content contains doubled quotes: see ``CSVReader/append(_:to:)``.
  public var hasDoubledQuotes: Bool
  /// Whether a line ending or the end of the file follows.
  public var isLastInRecord: Bool
  /// The index in the record, starting at 0.
  public var index: Int
  /// The line of the file on which the field starts, starting at 1.
  public var line: Int
  /// The column in bytes at which the field starts, its quote included, starting at 1.
  public var column: Int

  @inlinable
  init(
    start: Int, end: Int, isQuoted: Bool, hasDoubledQuotes: Bool, isLastInRecord: Bool, index: Int, line: Int,
    column: Int
  ) {
    self.start = start
    self.end = end
    self.isQuoted = isQuoted
    self.hasDoubledQuotes = hasDoubledQuotes
    self.isLastInRecord = isLastInRecord
    self.index = index
    self.line = line
    self.column = column
  }

  /// Whether it has neither bytes nor quotes.
  @inlinable public var isMissing: Bool { start == end && !isQuoted }
  /// The location, for errors about the value.
  public var location: StoreLocation { StoreLocation(line: line, column: column) }
}

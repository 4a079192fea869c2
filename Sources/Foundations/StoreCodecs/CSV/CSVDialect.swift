import StorePrimitives

/// The properties in which CSV files according to RFC 4180 differ: the delimiter, and the line ending that is written.
public struct CSVDialect: Sendable, Hashable {
  /// The bytes that end a record when written. All three are accepted when reading.
  public enum LineEnding: Sendable, Hashable {
    /// `\n`.
    case lineFeed
    /// `\r\n`, as in RFC 4180.
    case carriageReturnLineFeed
  }

  /// One ASCII byte.
  public var delimiter: UInt8
  /// The line end to write. Reading accepts all of them.
  public var lineEnding: LineEnding
  /// Whether a quote may be within a field, where it is a character like any other, as in `3.5" disk`. A field whose
  /// first character is a quote is a quoted one only if its closing quote is on the same line and a delimiter or the
  /// line end follows.
  public var allowsStrayQuotes: Bool

  /// Creates a dialect; by default one in which a quote within a field is an error.
  public init(delimiter: UInt8, lineEnding: LineEnding = .lineFeed, allowsStrayQuotes: Bool = false) {
    self.delimiter = delimiter
    self.lineEnding = lineEnding
    self.allowsStrayQuotes = allowsStrayQuotes
  }

  /// Commas between fields, and lines that end with a line feed.
  public static let comma = CSVDialect(delimiter: UInt8(ascii: ","))
  /// Semicolons between fields, as spreadsheets write where the comma is the decimal separator.
  public static let semicolon = CSVDialect(delimiter: UInt8(ascii: ";"))
  /// Tabs between fields.
  public static let tab = CSVDialect(delimiter: UInt8(ascii: "\t"))
  /// Vertical bars between fields.
  public static let bar = CSVDialect(delimiter: UInt8(ascii: "|"))

  /// Guesses the delimiter from the first record: the one of comma, semicolon, tab and bar that occurs most often
  /// outside quotes, the earlier of two that tie; a comma if none occurs.
  public static func detect(_ bytes: UnsafeBufferPointer<UInt8>) -> CSVDialect {
    var counts: [UInt8: Int] = [:]
    var isQuoted = false
    var lineEnding = LineEnding.lineFeed
    // A longer first record has shown what it uses.
    scan: for (position, byte) in bytes.prefix(1 << 20).enumerated() {
      switch byte {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case _ where isQuoted: continue
      case UInt8(ascii: "\n"): break scan
      case UInt8(ascii: "\r"):
        if position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\n") {
          lineEnding = .carriageReturnLineFeed
        }
        break scan
      case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t"), UInt8(ascii: "|"): counts[byte, default: 0] += 1
      default: continue
      }
    }
    var best = CSVDialect.comma.delimiter
    for candidate in [CSVDialect.comma, .semicolon, .tab, .bar].map(\.delimiter)
    where counts[candidate, default: 0] > counts[best, default: 0] { best = candidate }
    return CSVDialect(delimiter: best, lineEnding: lineEnding)
  }

  /// Determines the dialect of a file: a `.tsv` file has tabs, whatever its first record contains; that of others is
  /// guessed.
  public static func detect(_ bytes: UnsafeBufferPointer<UInt8>, fileName: String) -> CSVDialect {
    var dialect = detect(bytes)
    if fileName.lowercased().hasSuffix(".tsv") { dialect.delimiter = CSVDialect.tab.delimiter }
    return dialect
  }

  func check() throws(PersistentStoreError) {
    guard delimiter < 0x80, delimiter != 0, delimiter != UInt8(ascii: "\""), delimiter != UInt8(ascii: "\n"),
      delimiter != UInt8(ascii: "\r")
    else {
      throw PersistentStoreError(.invalidOption, "the byte \(delimiter) cannot be a CSV file's delimiter")
    }
  }
}

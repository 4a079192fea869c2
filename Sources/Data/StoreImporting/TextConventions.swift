package import StoreCodecs

/// How the texts of imported tables are written: what differs between programs and countries.
package struct TextConventions: Sendable {
  /// How characters are encoded.
  package enum Encoding: String, Sendable, CaseIterable {
    /// UTF-8, with or without a byte-order mark.
    case utf8 = "utf-8"
    /// UTF-16: by its byte-order mark, little-endian without one.
    case utf16 = "utf-16"
    /// ISO 8859-1.
    case latin1 = "latin-1"
    /// Windows code page 1252, which has typographic quotes and the euro sign where Latin-1 has control characters.
    case windows1252 = "windows-1252"
  }
  /// The character between the whole and the fraction of a number.
  package enum DecimalSeparator: String, Sendable, CaseIterable {
    /// As in `3.14`.
    case point
    /// As in `3,14`.
    case comma
  }
  /// The character between groups of three digits.
  package enum ThousandsSeparator: String, Sendable, CaseIterable {
    /// As in `1,000`.
    case comma
    /// As in `1.000`.
    case point
    /// As in `1 000`; a no-break space too.
    case space
    /// As in `1'000`; the typographic apostrophe too.
    case apostrophe
  }
  /// How a point in time is written.
  package enum DateNotation: Sendable {
    /// By a pattern such as `dd.MM.yyyy HH:mm`.
    case pattern(DateFormat)
    /// Seconds since 1970-01-01T00:00:00Z.
    case unixSeconds
    /// Milliseconds since 1970-01-01T00:00:00Z.
    case unixMilliseconds
    /// Seconds since 2001-01-01T00:00:00Z, as Core Data stores dates.
    case referenceSeconds

    /// Reads `unix`, `unix-ms`, `2001`, or a pattern; nil for none of them.
    package init?(_ text: String) {
      switch text {
      case "unix": self = .unixSeconds
      case "unix-ms": self = .unixMilliseconds
      case "2001": self = .referenceSeconds
      default:
        guard let format = DateFormat(text) else { return nil }
        self = .pattern(format)
      }
    }
  }

  /// The encoding; nil for UTF-8, or UTF-16 if a byte-order mark says so.
  package var encoding: Encoding?
  /// The byte between the fields of a CSV file; nil for a tab in a `.tsv` file, and to find out from the first record
  /// of others.
  package var delimiter: UInt8?
  /// Lines of a CSV file that begin with this byte are skipped; nil for none.
  package var comment: UInt8?
  /// Whether a quote may be within a field of a CSV file: ``/StoreCodecs/CSVDialect/allowsStrayQuotes``.
  package var allowsStrayQuotes = false
  /// The names of the columns of CSV files without a header line; nil where the first record names them.
  package var columnNames: [String]?
  /// The decimal separator. JSON numbers have a point whatever is set here.
  package var decimalSeparator = DecimalSeparator.point
  /// The separator between groups of digits; nil where numbers have none.
  package var thousandsSeparator: ThousandsSeparator?
  /// How dates are written, tried in this order. ISO 8601 is always tried last.
  package var dateNotations: [DateNotation] = []
  /// Words for true beside `true`, `yes`, `y`, `1`, `t`, `on`, in any case. A word of ``falseWords`` is false, even if
  /// it is one of these.
  package var trueWords: Set<String> = []
  /// Words for false beside `false`, `no`, `n`, `0`, `f`, `off`, in any case, except for those of ``trueWords``.
  package var falseWords: Set<String> = []
  /// Unquoted texts that stand for no value, beside the empty one, such as `NULL` or `n/a`.
  package var nullWords: Set<String> = []

  /// The same with a decimal comma, and points between groups of digits; nil if they say how numbers are written.
  var withDecimalComma: TextConventions? {
    guard decimalSeparator == .point, thousandsSeparator == nil else { return nil }
    var copy = self
    copy.decimalSeparator = .comma
    copy.thousandsSeparator = .point
    return copy
  }

  /// Creates the conventions of RFC 4180, UTF-8 and ISO 8601.
  package init() {}
}

package import FoundationEssentials

/// Dates in ISO 8601, such as `1800-01-01` (midnight UTC) or `1800-01-01T12:30:00.5+02:00`.
package enum DateText {
  /// Parses a date; nil if it is not ISO 8601.
  package static func date(_ text: String) -> Date? {
    let bytes = Array(text.utf8)
    // In the exact texts of stores, such a beginning means a number of seconds, not a date.
    guard bytes.first != UInt8(ascii: "@") else { return nil }
    return ExactText.date(bytes.span).map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  /// The exact text of a date in stores: ISO 8601, or `@` and the seconds since 2001 if there is no such text.
  package static func exactText(_ date: Date) -> String {
    let writer = ByteWriter()
    writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  /// The text that is parsed as exactly this date; nil if there is none.
  package static func text(_ date: Date) -> String? {
    let text = exactText(date)
    return text.utf8.first == UInt8(ascii: "@") ? nil : text
  }
}

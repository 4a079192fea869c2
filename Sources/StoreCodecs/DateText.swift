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

  /// The text that is parsed as exactly this date; nil if there is none.
  package static func text(_ date: Date) -> String? {
    let writer = ByteWriter()
    writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
    let bytes = writer.takeBytes()
    return bytes.first == UInt8(ascii: "@") ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

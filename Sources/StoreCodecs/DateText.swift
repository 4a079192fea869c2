package import FoundationEssentials

/// Dates as people write and read them: ISO 8601, such as `1800-01-01` (midnight UTC) or `1800-01-01T12:30:00.5+02:00`.
package enum DateText {
  /// The date that a text stands for; nil where it is not ISO 8601.
  package static func date(_ text: String) -> Date? {
    let bytes = Array(text.utf8)
    // What begins so is a number of seconds in the exact texts of stores, not a date that a person writes.
    guard bytes.first != UInt8(ascii: "@") else { return nil }
    return ExactText.date(bytes.span).map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  /// The text that reads back as exactly this date; nil where there is none.
  package static func text(_ date: Date) -> String? {
    let writer = ByteWriter()
    writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
    let bytes = writer.takeBytes()
    return bytes.first == UInt8(ascii: "@") ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

public import StoreVocabulary

/// Appends CSV records to a buffer of the caller's, who empties it when it pleases.
///
/// Quotes stand only where reading needs them: around the empty string (nothing at all is nil), around delimiters, quotes,
/// line ends and NUL, around blanks at either end, and before a byte-order mark that would else be skipped.
public struct CSVWriter: Sendable {
  private let delimiter: UInt8
  private let lineEnding: CSVDialect.LineEnding
  private let highestSpecial: UInt8
  private var isFirst = true

  /// - Throws: `.invalidOption` for a delimiter that cannot be one.
  public init(dialect: CSVDialect) throws(PersistentStoreError) {
    try dialect.check()
    delimiter = dialect.delimiter
    lineEnding = dialect.lineEnding
    highestSpecial = max(dialect.delimiter, 0x22)
  }

  /// Writes a missing value: nothing.
  public mutating func appendMissing(to buffer: inout [UInt8]) {
    separate(&buffer)
  }

  /// Writes a text.
  public mutating func append(_ text: String, to buffer: inout [UInt8]) {
    var text = text
    text.withUTF8 { append(utf8: $0, to: &buffer) }
  }

  /// Writes a text given as UTF-8, which is not checked.
  public mutating func append(utf8 bytes: UnsafeBufferPointer<UInt8>, to buffer: inout [UInt8]) {
    separate(&buffer)
    guard needsQuotes(bytes) else {
      buffer.append(contentsOf: bytes)
      return
    }
    buffer.append(0x22)
    for byte in bytes {
      if byte == 0x22 { buffer.append(0x22) }
      buffer.append(byte)
    }
    buffer.append(0x22)
  }

  /// Writes digits and the like that the caller knows to need no quotes: not empty, no delimiter, no blanks.
  public mutating func append(plain bytes: UnsafeBufferPointer<UInt8>, to buffer: inout [UInt8]) {
    separate(&buffer)
    buffer.append(contentsOf: bytes)
  }

  /// Ends the record.
  public mutating func endRecord(to buffer: inout [UInt8]) {
    if lineEnding == .carriageReturnLineFeed { buffer.append(0x0D) }
    buffer.append(0x0A)
    isFirst = true
  }

  private mutating func separate(_ buffer: inout [UInt8]) {
    if isFirst { isFirst = false } else { buffer.append(delimiter) }
  }

  private func needsQuotes(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = bytes.first, let last = bytes.last else { return true }
    if first == 0x20 || first == 0x09 || last == 0x20 || last == 0x09 { return true }
    if first == 0xEF, bytes.count >= 3, bytes[1] == 0xBB, bytes[2] == 0xBF { return true }
    for byte in bytes where byte <= highestSpecial {
      if byte == delimiter || byte == 0x22 || byte == 0x0A || byte == 0x0D || byte == 0 { return true }
    }
    return false
  }
}

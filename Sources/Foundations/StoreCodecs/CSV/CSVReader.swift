import CTextVectors
public import StorePrimitives

/// Reads CSV according to RFC 4180, field by field, without allocating.
///
/// It accepts more than the RFC: LF, CR and CRLF all end a record; a quoted field may contain line breaks and NUL; a
/// byte-order mark is skipped; the delimiter is the dialect's. It is stricter than most readers: an unterminated quote,
/// text after a closing quote, a quote or a NUL within an unquoted field, and bytes that are not UTF-8 are errors with
/// line and column. A blank line is a record of one missing field; the caller decides about records of unequal length,
/// using ``CSVField/index``.
///
/// The reader does not own the bytes: they must outlive it.
///
/// ```swift
/// var reader = try CSVReader(bytes, dialect: .comma)
/// while let field = try reader.nextField() { … }
/// ```
public struct CSVReader {
  @usableFromInline let bytes: UnsafeBufferPointer<UInt8>
  @usableFromInline let delimiter: UInt8
  /// All bytes above it are content: one comparison settles most bytes.
  @usableFromInline let highestSpecial: UInt8
  @usableFromInline let allowsStrayQuotes: Bool
  @usableFromInline var position: Int
  @usableFromInline var line: Int
  @usableFromInline var lineStart = 0
  @usableFromInline var index = 0
  /// Whether a delimiter was read last: one more field follows, even at the end of the file.
  @usableFromInline var fieldIsDue = false
  /// The offset of the next field.
  package var offset: Int { position }
  /// The line of the next field, starting at 1.
  public var nextLine: Int { line }

  /// Starts at the first byte after a byte-order mark.
  ///
  /// - Throws: `.malformed` for the byte-order marks of UTF-16 and UTF-32; `.invalidOption` for a delimiter that cannot
  ///   be distinguished from content: a quote, a line ending, NUL, or a byte above 0x7F.
  public init(_ bytes: UnsafeBufferPointer<UInt8>, dialect: CSVDialect) throws(PersistentStoreError) {
    try dialect.check()
    self.bytes = bytes
    delimiter = dialect.delimiter
    allowsStrayQuotes = dialect.allowsStrayQuotes
    highestSpecial = max(dialect.delimiter, UInt8(ascii: "\""))
    line = 1
    position = 0
    if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
      position = 3
      lineStart = 3
    } else if bytes.count >= 2, bytes[0] >= 0xFE, bytes[1] >= 0xFE, bytes[0] != bytes[1] {
      throw PersistentStoreError(
        .malformed, "the file is UTF-16, not UTF-8", at: StoreLocation(line: 1, column: 1, offset: 0))
    }
  }

  /// Starts at an offset at which a record begins.
  ///
  /// - Parameters:
  ///   - bytes: The bytes of the file, whose fields are written as the dialect says.
  ///   - dialect: How its fields are written.
  ///   - offset: The offset of the record.
  ///   - line: Its line, starting at 1.
  /// - Throws: `.invalidOption` as ``init(_:dialect:)``.
  public init(
    _ bytes: UnsafeBufferPointer<UInt8>, dialect: CSVDialect, startingAt offset: Int, line: Int = 1
  ) throws(PersistentStoreError) {
    self.line = line
    try dialect.check()
    self.bytes = bytes
    delimiter = dialect.delimiter
    allowsStrayQuotes = dialect.allowsStrayQuotes
    highestSpecial = max(dialect.delimiter, UInt8(ascii: "\""))
    position = offset
    lineStart = offset
  }

  /// Reads the next field, or returns nil at the end of the file.
  @inlinable
  public mutating func nextField() throws(PersistentStoreError) -> CSVField? {
    let bytes = self.bytes
    let count = bytes.count
    var position = self.position
    if position >= count {
      guard fieldIsDue else { return nil }
    } else if bytes[position] == UInt8(ascii: "\""), !allowsStrayQuotes || endsAtDelimiter(position) {
      return try quotedField()
    }
    let start = position
    let highestSpecial = self.highestSpecial
    let delimiter = self.delimiter
    var union: UInt8 = 0
    var stop = UInt8(ascii: "\n")
    // Most fields are short: calling a function would take longer.
    let limit = min(count, start &+ 32)
    var isEnded = false
    while position < limit {
      let byte = bytes[position]
      if byte <= highestSpecial {
        if byte == delimiter || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
          stop = byte
          isEnded = true
          break
        }
        if byte == 0 || (byte == UInt8(ascii: "\"") && !allowsStrayQuotes) { throw misplaced(byte, at: position) }
      }
      union |= byte
      position += 1
    }
    if !isEnded, position < count {
      position = try endOfLongField(position, &union)
      if position < count { stop = bytes[position] }
    }
    if union >= 0x80 { try checkText(start, position, line: line, lineStart: lineStart) }
    let field = CSVField(
      start: start, end: position, isQuoted: false, hasDoubledQuotes: false, isLastInRecord: stop != delimiter,
      index: index, line: line, column: start - lineStart + 1)
    finishField(at: position, stop: stop)
    return field
  }

  /// Skips fields without a value, each of which a delimiter follows, as far as they follow each other; at most
  /// up to the field with that index.
  @inlinable
  public mutating func skipMissingFields(upTo last: Int) {
    guard fieldIsDue, index < last, position < bytes.count, bytes[position] == delimiter, let base = bytes.baseAddress
    else { return }
    let delimiters = UInt64(delimiter) &* 0x0101_0101_0101_0101
    let end = min(bytes.count, position + last - index)
    var place = position
    while place + 8 <= end {
      let word = UnsafeRawPointer(base).loadUnaligned(fromByteOffset: place, as: UInt64.self).littleEndian ^ delimiters
      place += min(word.trailingZeroBitCount, 64) >> 3
      if word != 0 { break }
    }
    while place < end, bytes[place] == delimiter { place += 1 }
    index += place - position
    position = place
  }

  /// The end of an unquoted field of which the bytes before an offset were read.
  ///
  /// - Parameter union: Its highest bit is set if there is a byte that is not ASCII.
  @usableFromInline @inline(never)
  func endOfLongField(_ offset: Int, _ union: inout UInt8) throws(PersistentStoreError) -> Int {
    var position = endOfContent(offset, delimiter, &union)
    while position < bytes.count {
      let byte = bytes[position]
      if byte == 0 || (byte == UInt8(ascii: "\"") && !allowsStrayQuotes) { throw misplaced(byte, at: position) }
      guard byte == UInt8(ascii: "\"") else { break }
      position = endOfContent(position + 1, delimiter, &union)
    }
    return position
  }

  /// The offset of the next delimiter, quote, line ending or NUL.
  private func endOfContent(_ offset: Int, _ delimiter: UInt8, _ union: inout UInt8) -> Int {
    guard let base = bytes.baseAddress else { return offset }
    var hasHigh: Int32 = 0
    let length = atv_csv_content(base + offset, bytes.count - offset, delimiter, UInt8(ascii: "\""), &hasHigh)
    if hasHigh != 0 { union |= 0x80 }
    return offset + length
  }

  /// Skips what follows a field: a delimiter, a line ending or nothing.
  @inlinable
  mutating func finishField(at end: Int, stop: UInt8) {
    if stop == delimiter {
      position = end + 1
      index += 1
      fieldIsDue = true
      return
    }
    fieldIsDue = false
    index = 0
    guard end < bytes.count else {
      position = end
      return
    }
    var next = end + 1
    // A carriage return and a line feed are one line ending.
    if stop == UInt8(ascii: "\r"), next < bytes.count, bytes[next] == UInt8(ascii: "\n") { next += 1 }
    position = next
    line += 1
    lineStart = next
  }

  @usableFromInline
  mutating func quotedField() throws(PersistentStoreError) -> CSVField {
    let bytes = self.bytes
    let count = bytes.count
    let opening = position
    let openingLine = line
    let openingLineStart = lineStart
    var position = opening + 1
    var line = self.line
    var lineStart = self.lineStart
    var hasDoubledQuotes = false
    var union: UInt8 = 0
    while true {
      // A delimiter is content here.
      position = endOfContent(position, UInt8(ascii: "\""), &union)
      guard position < count else {
        throw PersistentStoreError(
          .malformed, "the quote that opens here is never closed",
          at: StoreLocation(line: openingLine, column: opening - openingLineStart + 1, offset: opening))
      }
      let byte = bytes[position]
      position += 1
      if byte == UInt8(ascii: "\"") {
        guard position < count, bytes[position] == UInt8(ascii: "\"") else { break }
        hasDoubledQuotes = true
        position += 1
      } else if byte == UInt8(ascii: "\n")
        || (byte == UInt8(ascii: "\r") && (position == count || bytes[position] != UInt8(ascii: "\n")))
      {
        line += 1
        lineStart = position
      }
    }
    if union >= 0x80 { try checkText(opening + 1, position - 1, line: openingLine, lineStart: openingLineStart) }
    var stop = UInt8(ascii: "\n")
    if position < count {
      stop = bytes[position]
      guard stop == delimiter || stop == UInt8(ascii: "\n") || stop == UInt8(ascii: "\r") else {
        throw PersistentStoreError(
          .malformed, "text follows the quote that closes a field",
          at: StoreLocation(line: line, column: position - lineStart + 1, offset: position))
      }
    }
    self.line = line
    self.lineStart = lineStart
    let field = CSVField(
      start: opening + 1, end: position - 1, isQuoted: true, hasDoubledQuotes: hasDoubledQuotes,
      isLastInRecord: stop != delimiter, index: index, line: openingLine, column: opening - openingLineStart + 1)
    finishField(at: position, stop: stop)
    return field
  }

  /// Skips the rest of the line: of one that begins with a mark for comments, or of a record that is not well
  /// formed, so that reading goes on with the next. A quoted line break does not hold it up.
  package mutating func skipLine() {
    while position < bytes.count, bytes[position] != UInt8(ascii: "\n"), bytes[position] != UInt8(ascii: "\r") {
      position += 1
    }
    index = 0
    fieldIsDue = false
    guard position < bytes.count else { return }
    let isPair =
      bytes[position] == UInt8(ascii: "\r") && position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "\n")
    position += isPair ? 2 : 1
    line += 1
    lineStart = position
  }

  /// Whether the quote at an offset is closed by one that a delimiter or a line end follows, on the same line.
  @usableFromInline @inline(never)
  func endsAtDelimiter(_ opening: Int) -> Bool {
    var position = opening + 1
    while position < bytes.count, bytes[position] != UInt8(ascii: "\n"), bytes[position] != UInt8(ascii: "\r") {
      if bytes[position] == UInt8(ascii: "\"") {
        if position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\"") {
          position += 2
          continue
        }
        guard position + 1 < bytes.count else { return true }
        let next = bytes[position + 1]
        return next == delimiter || next == UInt8(ascii: "\n") || next == UInt8(ascii: "\r")
      }
      position += 1
    }
    return false
  }

  @usableFromInline @inline(never)
  func misplaced(_ byte: UInt8, at place: Int) -> PersistentStoreError {
    PersistentStoreError(
      .malformed,
      byte == 0
        ? "a NUL outside quotes: the file may be UTF-16" : "a quote within an unquoted field",
      at: StoreLocation(line: line, column: place - lineStart + 1, offset: place))
  }
}

extension CSVReader {
  /// The field's bytes in place, for a field without doubled quotes.
  @inlinable
  public func rawBytes(of field: CSVField) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: bytes[field.start..<field.end])
  }

  /// Appends the field's content with doubled quotes replaced by single ones.
  public func append(_ field: CSVField, to buffer: inout [UInt8]) {
    guard field.hasDoubledQuotes else {
      buffer.append(contentsOf: rawBytes(of: field))
      return
    }
    buffer.reserveCapacity(buffer.count + field.end - field.start)
    var position = field.start
    while position < field.end {
      let byte = bytes[position]
      buffer.append(byte)
      position += byte == UInt8(ascii: "\"") ? 2 : 1
    }
  }

  /// The field's content as a string. The reader has checked that it is UTF-8.
  public func string(of field: CSVField) -> String {
    guard field.hasDoubledQuotes else { return String(decoding: rawBytes(of: field), as: UTF8.self) }
    var buffer: [UInt8] = []
    append(field, to: &buffer)
    return String(decoding: buffer, as: UTF8.self)
  }

  /// Unicode, table 3-7: well-formed UTF-8 byte sequences.
  @usableFromInline @inline(never)
  func checkText(_ start: Int, _ end: Int, line: Int, lineStart: Int) throws(PersistentStoreError) {
    if let base = bytes.baseAddress, atv_is_utf8(base + start, end - start) == 1 { return }
    var position = start
    while position < end {
      let byte = bytes[position]
      guard byte >= 0x80 else {
        position += 1
        continue
      }
      let length: Int
      var lowest: UInt8 = 0x80
      var highest: UInt8 = 0xBF
      switch byte {
      case 0xC2...0xDF: length = 2
      case 0xE0: (length, lowest) = (3, 0xA0)
      case 0xED: (length, highest) = (3, 0x9F)
      case 0xE1...0xEF: length = 3
      case 0xF0: (length, lowest) = (4, 0x90)
      case 0xF1...0xF3: length = 4
      case 0xF4: (length, highest) = (4, 0x8F)
      default: throw notText(position, from: start, line: line, lineStart: lineStart)
      }
      guard position + length <= end, bytes[position + 1] >= lowest, bytes[position + 1] <= highest,
        length < 3 || bytes[position + 2] & 0xC0 == 0x80, length < 4 || bytes[position + 3] & 0xC0 == 0x80
      else { throw notText(position, from: start, line: line, lineStart: lineStart) }
      position += length
    }
  }

  private func notText(_ place: Int, from start: Int, line: Int, lineStart: Int) -> PersistentStoreError {
    // A quoted field may contain a line break before this position.
    var line = line
    var lineStart = lineStart
    for position in start..<place {
      if bytes[position] == UInt8(ascii: "\n")
        || (bytes[position] == UInt8(ascii: "\r") && bytes[position + 1] != UInt8(ascii: "\n"))
      {
        line += 1
        lineStart = position + 1
      }
    }
    return PersistentStoreError(
      .malformed, "the byte 0x\(String(bytes[place], radix: 16, uppercase: true)) is not valid UTF-8 here",
      at: StoreLocation(line: line, column: place - lineStart + 1, offset: place))
  }
}

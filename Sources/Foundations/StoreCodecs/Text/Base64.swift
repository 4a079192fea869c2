import CBase64

/// Base64 according to RFC 4648, with strict decoding.
public enum Base64 {
  /// How the text is divided into lines.
  public enum Wrapping: Sendable {
    /// One line without a line break.
    case none
    /// As in Core Data's XML stores: fewer than 76 characters are one line with a line break; exactly 76 have no line
    /// break; more are 76 characters, a line break, the rest, and a line break.
    case coreData
  }

  // MARK: Writing

  /// Appends the encoded bytes, padded.
  public static func encode(_ bytes: Span<UInt8>, to writer: ByteWriter, wrapping: Wrapping = .none) {
    bytes.withUnsafeBufferPointer { bytes in
      guard let source = bytes.baseAddress, bytes.count > 0 else { return }
      let firstLine = wrapping == .none ? bytes.count : min(bytes.count, bytesInFullLine)
      encode(source, firstLine, writer)
      guard wrapping == .coreData, bytes.count > bytesInFullLine || (bytes.count + 2) / 3 * 3 < bytesInFullLine else {
        return
      }
      writer.append(byte: UInt8(ascii: "\n"))
      guard bytes.count > firstLine else { return }
      encode(source + firstLine, bytes.count - firstLine, writer)
      writer.append(byte: UInt8(ascii: "\n"))
    }
  }

  /// Encoded, they have 76 characters; so have 55 and 56 with padding.
  private static let bytesInFullLine = 57

  private static func encode(_ source: UnsafePointer<UInt8>, _ length: Int, _ writer: ByteWriter) {
    let letters = alphabet.utf8Start
    let count = (length + 2) / 3 * 4
    var target = writer.room(count)
    var index = asb_encode_groups(source, length, target)
    target += index / 3 * 4
    while index + 3 <= length {
      let word = UInt32(source[index]) << 16 | UInt32(source[index + 1]) << 8 | UInt32(source[index + 2])
      target[0] = letters[Int(word >> 18)]
      target[1] = letters[Int(word >> 12 & 63)]
      target[2] = letters[Int(word >> 6 & 63)]
      target[3] = letters[Int(word & 63)]
      target += 4
      index += 3
    }
    if index < length {
      let isPair = length - index == 2
      let word = UInt32(source[index]) << 16 | (isPair ? UInt32(source[index + 1]) << 8 : 0)
      target[0] = letters[Int(word >> 18)]
      target[1] = letters[Int(word >> 12 & 63)]
      target[2] = isPair ? letters[Int(word >> 6 & 63)] : UInt8(ascii: "=")
      target[3] = UInt8(ascii: "=")
      target += 4
    }
    writer.advance(count)
  }

  // MARK: Reading

  /// Where a text is not base64.
  public struct DecodingError: Error, Equatable {
    /// The offset of the first byte that is wrong; the number of bytes if the text ends too early.
    public let offset: Int
  }

  /// Reads base64 into `output`, which is emptied first. Spaces, tabs and line breaks are ignored.
  ///
  /// - Throws: ``DecodingError`` for a character outside the alphabet, padding that is missing, misplaced or too much,
  ///   and remaining bits that are not zero. `output` is then empty.
  public static func decode(_ text: Span<UInt8>, into output: inout [UInt8]) throws(DecodingError) {
    try decode(text, into: &output, usesVectors: true)
  }

  static func decode(
    _ text: Span<UInt8>, into output: inout [UInt8], usesVectors: Bool
  ) throws(DecodingError) {
    let room = decodedRoom(text.count)
    if output.count < room { output.append(contentsOf: repeatElement(0, count: room - output.count)) }
    var count = 0
    defer { output.removeLast(output.count - count) }
    count = try output.withUnsafeMutableBufferPointer { target throws(DecodingError) in
      try decode(text, to: target, usesVectors: usesVectors)
    }
  }

  /// The room that decoding a text of that many bytes takes, which may be a few bytes more than the result has.
  public static func decodedRoom(_ count: Int) -> Int { count / 4 * 3 + 3 }

  /// Reads base64 as ``decode(_:into:)`` does, into memory of at least ``decodedRoom(_:)`` bytes.
  ///
  /// - Returns: The number of bytes.
  /// - Throws: As ``decode(_:into:)``.
  public static func decode(
    _ text: Span<UInt8>, to target: UnsafeMutableBufferPointer<UInt8>
  ) throws(DecodingError) -> Int { try decode(text, to: target, usesVectors: true) }

  private static func decode(
    _ text: Span<UInt8>, to target: UnsafeMutableBufferPointer<UInt8>, usesVectors: Bool
  ) throws(DecodingError) -> Int {
    precondition(target.count >= decodedRoom(text.count), "there is too little room")
    guard let base = target.baseAddress else { return 0 }
    return try text.withUnsafeBufferPointer { source throws(DecodingError) in try decode(source, to: base, usesVectors)
    }
  }

  /// Writes at most three bytes for every four of `source`; returns how many.
  private static func decode(
    _ source: UnsafeBufferPointer<UInt8>, to target: UnsafeMutablePointer<UInt8>, _ usesVectors: Bool
  ) throws(DecodingError) -> Int {
    try values.withUnsafeBufferPointer { values throws(DecodingError) in
      let end = source.count
      var index = 0
      var written = 0
      // Continue a quantum that white space or the end interrupts.
      var bits: UInt32 = 0
      var digits = 0
      while index < end {
        if digits == 0 {
          if usesVectors { decodeGroups(source, &index, to: target, &written) }
          if index == end { break }
        }
        let byte = source[index]
        let value = values[Int(byte)]
        if value < 64 {
          bits = bits << 6 | UInt32(value)
          digits += 1
          if digits == 4 {
            target[written] = UInt8(truncatingIfNeeded: bits >> 16)
            target[written + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            target[written + 2] = UInt8(truncatingIfNeeded: bits)
            written += 3
            digits = 0
            bits = 0
          }
        } else if byte == UInt8(ascii: "=") {
          return try finish(source, at: index, bits: bits, digits: digits, to: target, written: written)
        } else if value != space {
          throw DecodingError(offset: index)
        }
        index += 1
      }
      guard digits == 0 else { throw DecodingError(offset: end) }
      return written
    }
  }

  /// Decodes 32 digits at a time with vector instructions, and skips the ends of lines, up to the four in which
  /// something else is not a digit. It leaves eight bytes, so that there is room for the eight bytes more that it
  /// writes.
  private static func decodeGroups(
    _ source: UnsafeBufferPointer<UInt8>, _ index: inout Int, to target: UnsafeMutablePointer<UInt8>,
    _ written: inout Int
  ) {
    guard source.count - index >= 40, let base = source.baseAddress else { return }
    var count = 0
    index += asb_decode_groups(base + index, source.count - index, target + written, &count)
    written += count
  }

  /// Checks the padding and what follows it, and writes the last one or two bytes; returns how many there are in all.
  private static func finish(
    _ source: UnsafeBufferPointer<UInt8>, at start: Int, bits: UInt32, digits: Int,
    to target: UnsafeMutablePointer<UInt8>, written: Int
  ) throws(DecodingError) -> Int {
    guard digits >= 2 else { throw DecodingError(offset: start) }
    var missing = 4 - digits
    for index in start..<source.count {
      if source[index] == UInt8(ascii: "="), missing > 0 {
        missing -= 1
      } else if values[Int(source[index])] != space {
        throw DecodingError(offset: index)
      }
    }
    guard missing == 0 else { throw DecodingError(offset: source.count) }
    guard bits & (digits == 2 ? 15 : 3) == 0 else { throw DecodingError(offset: start) }
    if digits == 2 {
      target[written] = UInt8(truncatingIfNeeded: bits >> 4)
      return written + 1
    }
    target[written] = UInt8(truncatingIfNeeded: bits >> 10)
    target[written + 1] = UInt8(truncatingIfNeeded: bits >> 2)
    return written + 2
  }

  private static let space: UInt8 = 64

  /// The value of each byte: 0 to 63, ``space``, or 255.
  private static let values: [UInt8] = {
    var table = [UInt8](repeating: 255, count: 256)
    for value in 0..<64 { table[Int(alphabet.utf8Start[value])] = UInt8(value) }
    for byte in "\t\n\r ".utf8 { table[Int(byte)] = space }
    return table
  }()

  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
}

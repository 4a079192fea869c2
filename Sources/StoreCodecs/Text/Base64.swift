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
    var index = 0
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
    /// Creates an error for a byte offset.
    public init(offset: Int) { self.offset = offset }
  }

  /// Reads base64 into `output`, which is emptied first. Spaces, tabs and line breaks are ignored.
  ///
  /// - Throws: ``DecodingError`` for a character outside the alphabet, padding that is missing, misplaced or too much,
  ///   and remaining bits that are not zero. `output` is then empty.
  public static func decode(_ text: Span<UInt8>, into output: inout [UInt8]) throws(DecodingError) {
    // Unoptimised, vectors are slower than bytes.
    #if DEBUG
      try decode(text, into: &output, isWide: false)
    #else
      try decode(text, into: &output, isWide: true)
    #endif
  }

  /// - Parameter isWide: Whether sixteen digits at a time are decoded, where there are as many.
  static func decode(_ text: Span<UInt8>, into output: inout [UInt8], isWide: Bool) throws(DecodingError) {
    let room = text.count / 4 * 3 + 3
    if output.count < room { output.append(contentsOf: repeatElement(0, count: room - output.count)) }
    var count = 0
    defer { output.removeLast(output.count - count) }
    count = try output.withUnsafeMutableBufferPointer { target throws(DecodingError) in
      try text.withUnsafeBufferPointer { source throws(DecodingError) in
        // There is room for three bytes at least.
        guard let base = target.baseAddress else { return 0 }
        return try decode(source, to: base, isWide: isWide)
      }
    }
  }

  /// Writes at most three bytes for every four of `source`; returns how many.
  private static func decode(
    _ source: UnsafeBufferPointer<UInt8>, to target: UnsafeMutablePointer<UInt8>, isWide: Bool
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
          if isWide { decodeSixteens(source, &index, to: target, &written) }
          while index + 4 <= end {
            let a = values[Int(source[index])]
            let b = values[Int(source[index + 1])]
            let c = values[Int(source[index + 2])]
            let d = values[Int(source[index + 3])]
            if (a | b | c | d) >= 64 { break }
            let word = UInt32(a) << 18 | UInt32(b) << 12 | UInt32(c) << 6 | UInt32(d)
            target[written] = UInt8(truncatingIfNeeded: word >> 16)
            target[written + 1] = UInt8(truncatingIfNeeded: word >> 8)
            target[written + 2] = UInt8(truncatingIfNeeded: word)
            written += 3
            index += 4
          }
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

  /// Decodes sixteen digits at a time, until one of them is not a digit. Needs room for a byte more than it writes, and
  /// four digits that follow have room for three.
  private static func decodeSixteens(
    _ source: UnsafeBufferPointer<UInt8>, _ index: inout Int, to target: UnsafeMutablePointer<UInt8>,
    _ written: inout Int
  ) {
    guard let base = source.baseAddress else { return }
    let from = UnsafeRawPointer(base)
    let to = UnsafeMutableRawPointer(target)
    while index &+ 16 <= source.count {
      let bytes = from.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
      let isUpper = bytes &- UInt8(ascii: "A") .< 26
      let isLower = bytes &- UInt8(ascii: "a") .< 26
      let isNumber = bytes &- UInt8(ascii: "0") .< 10
      let isPlus = bytes .== UInt8(ascii: "+")
      let isSlash = bytes .== UInt8(ascii: "/")
      guard all(isUpper .| isLower .| isNumber .| isPlus .| isSlash) else { return }
      var values = bytes &- UInt8(ascii: "A")
      values.replace(with: bytes &- (UInt8(ascii: "a") - 26), where: isLower)
      values.replace(with: bytes &+ (52 - UInt8(ascii: "0")), where: isNumber)
      values.replace(with: 62, where: isPlus)
      values.replace(with: 63, where: isSlash)
      // In each word of four digits, the first is the lowest byte; so is the first of the three bytes.
      let words = unsafeBitCast(values, to: SIMD4<UInt32>.self)
      let first = (words & 0x3F) &<< 2 | (words &>> 12) & 0x03
      let second = (words & 0x0F00) &<< 4 | (words &>> 10) & 0x0F00
      let third = (words & 0x03_0000) &<< 6 | (words &>> 8) & 0x3F_0000
      let result = first | second | third
      to.storeBytes(of: result[0], toByteOffset: written, as: UInt32.self)
      to.storeBytes(of: result[1], toByteOffset: written &+ 3, as: UInt32.self)
      to.storeBytes(of: result[2], toByteOffset: written &+ 6, as: UInt32.self)
      to.storeBytes(of: result[3], toByteOffset: written &+ 9, as: UInt32.self)
      index &+= 16
      written &+= 12
    }
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

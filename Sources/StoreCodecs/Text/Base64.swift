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
      writer.append(byte: 0x0A)
      guard bytes.count > firstLine else { return }
      encode(source + firstLine, bytes.count - firstLine, writer)
      writer.append(byte: 0x0A)
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
      target[2] = isPair ? letters[Int(word >> 6 & 63)] : 0x3D
      target[3] = 0x3D
      target += 4
    }
    writer.advance(count)
  }

  // MARK: Reading

  /// Reads base64 into `output`, which is emptied first. Blanks, tabs and line breaks are passed over.
  ///
  /// - Returns: Nil, or the offset of the first byte that is wrong, the count where the text ends too early: a
  ///   character outside the alphabet, padding that is missing, misplaced or too much, left-over bits that are not
  ///   zero.
  public static func decode(_ text: Span<UInt8>, into output: inout [UInt8]) -> Int? {
    let room = text.count / 4 * 3 + 3
    if output.count < room { output.append(contentsOf: repeatElement(0, count: room - output.count)) }
    let result = output.withUnsafeMutableBufferPointer { target in
      text.withUnsafeBufferPointer { source in
        // Never nil: there is room for three bytes at least.
        target.baseAddress.map { decode(source, to: $0) } ?? (count: 0, fault: 0)
      }
    }
    output.removeLast(output.count - result.count)
    return result.fault
  }

  /// Writes at most three bytes for every four of `source`; gives how many, and none with the place of a fault.
  private static func decode(
    _ source: UnsafeBufferPointer<UInt8>, to target: UnsafeMutablePointer<UInt8>
  ) -> (count: Int, fault: Int?) {
    values.withUnsafeBufferPointer { values in
      let end = source.count
      var index = 0
      var written = 0
      // Continue a quantum that white space or the end interrupts.
      var bits: UInt32 = 0
      var digits = 0
      while index < end {
        if digits == 0 {
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
        } else if byte == 0x3D {
          return finish(source, at: index, bits: bits, digits: digits, to: target, written: written)
        } else if value != space {
          return (0, index)
        }
        index += 1
      }
      guard digits == 0 else {
        return (0, end)
      }
      return (written, nil)
    }
  }

  /// Takes the padding and what may follow it.
  private static func finish(
    _ source: UnsafeBufferPointer<UInt8>, at start: Int, bits: UInt32, digits: Int,
    to target: UnsafeMutablePointer<UInt8>, written: Int
  ) -> (count: Int, fault: Int?) {
    guard digits >= 2 else { return (0, start) }
    var missing = 4 - digits
    for index in start..<source.count {
      if source[index] == 0x3D, missing > 0 {
        missing -= 1
      } else if values[Int(source[index])] != space {
        return (0, index)
      }
    }
    guard missing == 0 else { return (0, source.count) }
    guard bits & (digits == 2 ? 15 : 3) == 0 else {
      return (0, start)
    }
    if digits == 2 {
      target[written] = UInt8(truncatingIfNeeded: bits >> 4)
      return (written + 1, nil)
    }
    target[written] = UInt8(truncatingIfNeeded: bits >> 10)
    target[written + 1] = UInt8(truncatingIfNeeded: bits >> 2)
    return (written + 2, nil)
  }

  private static let space: UInt8 = 64

  /// The value of each byte: 0 to 63, ``space``, or 255.
  private static let values: [UInt8] = {
    var table = [UInt8](repeating: 255, count: 256)
    for value in 0..<64 { table[Int(alphabet.utf8Start[value])] = UInt8(value) }
    for byte in [0x09, 0x0A, 0x0D, 0x20] { table[byte] = space }
    return table
  }()

  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
}

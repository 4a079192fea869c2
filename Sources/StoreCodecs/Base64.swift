/// Base64 as RFC 4648 has it, strictly read.
public enum Base64 {
  private static let alphabet: [UInt8] = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The value of each character, 64 for white space, 65 for `=`, 255 for what does not belong.
  private static let values: [UInt8] = {
    var table = [UInt8](repeating: 255, count: 256)
    for (value, byte) in alphabet.enumerated() { table[Int(byte)] = UInt8(value) }
    for byte in [0x20, 0x09, 0x0A, 0x0D] { table[byte] = 64 }
    table[0x3D] = 65
    return table
  }()

  /// How the text is broken into lines.
  public enum Wrapping: Sendable {
    case none
    /// As Core Data's XML stores have it: 76 characters, a line break, all the rest, a line break. No bytes, no text.
    case coreData
  }

  public static func encode(_ bytes: Span<UInt8>, to writer: ByteWriter, wrapping: Wrapping = .none) {
    guard bytes.count > 0 else { return }
    switch wrapping {
    case .none: encode(bytes, 0, bytes.count, writer)
    case .coreData:
      encode(bytes, 0, min(57, bytes.count), writer)
      writer.append(byte: 0x0A)
      if bytes.count > 57 {
        encode(bytes, 57, bytes.count, writer)
        writer.append(byte: 0x0A)
      }
    }
  }

  private static func encode(_ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ writer: ByteWriter) {
    let count = (end - start + 2) / 3 * 4
    let target = writer.room(count)
    alphabet.withUnsafeBufferPointer { letters in
      var index = start
      var place = 0
      while index + 3 <= end {
        let group = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
        target[place] = letters[group >> 18]
        target[place + 1] = letters[group >> 12 & 63]
        target[place + 2] = letters[group >> 6 & 63]
        target[place + 3] = letters[group & 63]
        index += 3
        place += 4
      }
      if end - index == 1 {
        let group = Int(bytes[index]) << 16
        target[place] = letters[group >> 18]
        target[place + 1] = letters[group >> 12 & 63]
        target[place + 2] = 0x3D
        target[place + 3] = 0x3D
      } else if end - index == 2 {
        let group = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8
        target[place] = letters[group >> 18]
        target[place + 1] = letters[group >> 12 & 63]
        target[place + 2] = letters[group >> 6 & 63]
        target[place + 3] = 0x3D
      }
    }
    writer.advance(count)
  }

  /// Reads base64 into `output`, which is emptied first. Blanks, tabs and line breaks are passed over.
  ///
  /// - Returns: Nil, or the offset of the first byte that is wrong: a character outside the alphabet, padding that is
  ///   missing, misplaced or too much, bits left over that are not zero.
  public static func decode(_ text: Span<UInt8>, into output: inout [UInt8]) -> Int? {
    output.removeAll(keepingCapacity: true)
    output.reserveCapacity(text.count / 4 * 3)
    var group = 0
    var held = 0
    var padding = 0
    var index = 0
    let count = text.count
    var lastSignificant = 0
    while index < count {
      let value = values[Int(text[index])]
      switch value {
      case 64: break
      case 65:
        padding += 1
        guard held + padding <= 4, held >= 2 else { return index }
      case 255: return index
      default:
        guard padding == 0 else { return index }
        lastSignificant = index
        group = group << 6 | Int(value)
        held += 1
        if held == 4 {
          output.append(UInt8(truncatingIfNeeded: group >> 16))
          output.append(UInt8(truncatingIfNeeded: group >> 8))
          output.append(UInt8(truncatingIfNeeded: group))
          group = 0
          held = 0
        }
      }
      index += 1
    }
    switch (held, padding) {
    case (0, 0): return nil
    case (2, 2):
      guard group & 0xF == 0 else { return lastSignificant }
      output.append(UInt8(truncatingIfNeeded: group >> 4))
      return nil
    case (3, 1):
      guard group & 0x3 == 0 else { return lastSignificant }
      output.append(UInt8(truncatingIfNeeded: group >> 10))
      output.append(UInt8(truncatingIfNeeded: group >> 2))
      return nil
    default: return count
    }
  }
}

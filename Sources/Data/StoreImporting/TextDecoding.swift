import AtomicStoreSPI

extension TextConventions {
  /// The bytes of a source as UTF-8.
  ///
  /// - Throws: `.malformed` for UTF-16 that ends within a character or has half of a surrogate pair.
  func utf8(_ source: ImportSource) throws(PersistentStoreError) -> StoreBytes {
    let bytes = source.bytes
    switch encoding(of: source) {
    case .utf8: return bytes
    case .utf16: return StoreBytes(try Self.fromUTF16(bytes, source.name))
    case .latin1: return StoreBytes(bytes.withUnsafeBytes { Self.fromSingleBytes($0) { UInt32($0) } })
    case .windows1252:
      return StoreBytes(
        bytes.withUnsafeBytes {
          Self.fromSingleBytes($0) { $0 >= 0x80 && $0 < 0xA0 ? Self.windows1252[Int($0) - 0x80] : UInt32($0) }
        })
    }
  }

  /// The encoding of a source: that of its mark, or what is set.
  private func encoding(of source: ImportSource) -> Encoding {
    if source.isUTF8 { return .utf8 }
    let marked = source.bytes.withUnsafeBytes { raw -> Encoding? in
      guard raw.count >= 2 else { return nil }
      let first = (raw[0], raw[1])
      return first == (0xFF, 0xFE) || first == (0xFE, 0xFF) ? .utf16 : nil
    }
    return marked ?? encoding ?? .utf8
  }

  /// A part of a source's text in the encoding of the source, with its byte-order mark: what ``utf8(_:)`` makes the
  /// text of.
  func encoded(_ text: [UInt8], as source: ImportSource) -> [UInt8] {
    guard !text.isEmpty else { return [] }
    let start = source.bytes.withUnsafeBytes { Array($0.prefix(3)) }
    let string = String(decoding: text, as: UTF8.self)
    switch encoding(of: source) {
    case .utf8: return (start == [0xEF, 0xBB, 0xBF] ? start : []) + text
    case .utf16:
      let isBig = start.starts(with: [0xFE, 0xFF])
      var result: [UInt8] = isBig || start.starts(with: [0xFF, 0xFE]) ? Array(start.prefix(2)) : []
      for unit in string.utf16 {
        let (low, high) = (UInt8(truncatingIfNeeded: unit), UInt8(unit >> 8))
        result += isBig ? [high, low] : [low, high]
      }
      return result
    case .latin1: return string.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    case .windows1252:
      return string.unicodeScalars.map { scalar in
        guard scalar.value >= 0x80, let place = Self.windows1252.firstIndex(of: scalar.value) else {
          return UInt8(truncatingIfNeeded: scalar.value)
        }
        return UInt8(0x80 + place)
      }
    }
  }

  private static func fromSingleBytes(_ bytes: UnsafeRawBufferPointer, _ scalar: (UInt8) -> UInt32) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + bytes.count / 8)
    for byte in bytes {
      if byte < 0x80 {
        result.append(byte)
      } else {
        append(scalar(byte), to: &result)
      }
    }
    return result
  }

  private static func append(_ value: UInt32, to result: inout [UInt8]) {
    result.append(contentsOf: Array(String(Character(Unicode.Scalar(value) ?? "\u{FFFD}")).utf8))
  }

  private static func fromUTF16(_ bytes: StoreBytes, _ name: String) throws(PersistentStoreError) -> [UInt8] {
    try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      guard raw.count % 2 == 0 else {
        throw PersistentStoreError(
          .malformed, "the file is UTF-16 and has an odd number of bytes", at: StoreLocation(file: name))
      }
      let isBig = raw.count >= 2 && raw[0] == 0xFE && raw[1] == 0xFF
      let hasMark = isBig || (raw.count >= 2 && raw[0] == 0xFF && raw[1] == 0xFE)
      var result: [UInt8] = []
      result.reserveCapacity(raw.count)
      func unit(_ index: Int) -> UInt16 {
        let low = UInt16(raw[index + (isBig ? 1 : 0)])
        return low | UInt16(raw[index + (isBig ? 0 : 1)]) << 8
      }
      var index = hasMark ? 2 : 0
      while index < raw.count {
        let first = unit(index)
        if first < 0x80 {
          result.append(UInt8(truncatingIfNeeded: first))
        } else if first & 0xF800 != 0xD800 {
          append(UInt32(first), to: &result)
        } else {
          let second = index + 3 < raw.count ? unit(index + 2) : 0
          guard first < 0xDC00, second & 0xFC00 == 0xDC00 else {
            throw PersistentStoreError(
              .malformed, "half of a surrogate pair is not UTF-16", at: StoreLocation(file: name, offset: index))
          }
          append(0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second & 0x3FF)), to: &result)
          index += 2
        }
        index += 2
      }
      return result
    }
  }

  /// The scalars of 0x80 to 0x9F. The five bytes that the code page does not define are control characters, as
  /// browsers have it.
  private static let windows1252: [UInt32] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D,
    0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,
    0x017E, 0x0178,
  ]
}

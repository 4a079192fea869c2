/// Texts of databases whose texts cannot hold NUL.
///
/// U+0001 is the sign of an escape: NUL is U+0001 U+0001, and U+0001 itself is U+0001 U+0002. So texts that are equal
/// stay equal, and the order of all texts stays the same.
public enum SQLEscapes {
  /// The text as the database has it; nil if that is the same.
  public static func escaped(_ utf8: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    guard hasLow(utf8) else { return nil }
    return utf8.flatMap { $0 <= 1 ? [1, $0 + 1] : [$0] }
  }

  /// The text that the database has as `utf8`; nil if that is the same.
  public static func unescaped(_ utf8: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    guard hasLow(utf8) else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(utf8.count)
    var isEscaped = false
    for byte in utf8 {
      if isEscaped {
        result.append(byte == 1 ? 0 : 1)
        isEscaped = false
      } else if byte == 1 {
        isEscaped = true
      } else {
        result.append(byte)
      }
    }
    return result
  }

  /// Whether each U+0001 begins one of the two escapes.
  public static func areValid(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    guard hasLow(utf8) else { return true }
    var isEscaped = false
    for byte in utf8 {
      if isEscaped {
        guard byte == 1 || byte == 2 else { return false }
        isEscaped = false
      } else {
        isEscaped = byte == 1
      }
    }
    return !isEscaped
  }

  /// Whether a byte is 0 or 1: almost never, so that eight are looked at together.
  @inline(__always) private static func hasLow(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    let raw = UnsafeRawBufferPointer(bytes)
    var at = 0
    while at + 8 <= raw.count {
      let word = raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      if (word &- 0x0202_0202_0202_0202) & ~word & 0x8080_8080_8080_8080 != 0 { return true }
      at += 8
    }
    while at < raw.count {
      if raw[at] <= 1 { return true }
      at += 1
    }
    return false
  }
}

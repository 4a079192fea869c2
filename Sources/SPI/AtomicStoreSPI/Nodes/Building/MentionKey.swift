/// A text that refers to an object, in sixteen bytes: the text itself with its length if it has at most fifteen bytes,
/// or else its hash and where it is in ``TextMentions``. Short texts are equal if their keys are.
struct MentionKey: BitwiseCopyable {
  /// The first eight bytes, the first one lowest; the hash of a long text.
  let low: UInt64
  /// The other bytes, with the length in the highest byte; the offset of a long text, with ``longMark`` there.
  let high: UInt64

  static let greatestShort = 15
  private static let longMark: UInt64 = 0xFF << 56
  private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
  /// Differs from process to process, so that no file can be made whose texts all have the same hash.
  static let seed = UInt64.random(in: .min ... .max)

  /// A text of at most ``greatestShort`` bytes.
  @inline(__always) init(short text: UnsafeBufferPointer<UInt8>) {
    let count = text.count
    let length = UInt64(truncatingIfNeeded: count) << 56
    guard let base = UnsafeRawPointer(text.baseAddress), count >= 4 else {
      var bytes: UInt64 = 0
      for (index, byte) in text.enumerated() { bytes |= UInt64(byte) << UInt64(index * 8) }
      (low, high) = (bytes, length)
      return
    }
    // The last bytes are read from the end, so that nothing after the text is.
    if count >= 8 {
      let last = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
      low = UInt64(littleEndian: base.loadUnaligned(as: UInt64.self))
      high = last >> UInt64((16 - count) * 8) | length
    } else {
      let last = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
      let first = UInt32(littleEndian: base.loadUnaligned(as: UInt32.self))
      low = UInt64(first) | UInt64(last) << UInt64((count - 4) * 8)
      high = length
    }
  }

  /// A longer text that is at an offset.
  init(long text: UnsafeBufferPointer<UInt8>, offset: Int) {
    let seed = Self.seed
    var hash = Self.fold(seed ^ UInt64(truncatingIfNeeded: text.count), Self.factor)
    let raw = UnsafeRawBufferPointer(text)
    var index = 0
    while index + 8 <= raw.count {
      hash = Self.fold(hash ^ raw.loadUnaligned(fromByteOffset: index, as: UInt64.self), Self.factor ^ seed)
      index += 8
    }
    var rest: UInt64 = 0
    while index < raw.count {
      rest = rest << 8 | UInt64(raw[index])
      index += 1
    }
    self.init(longHash: Self.fold(hash ^ rest, Self.factor ^ seed), offset: offset)
  }

  private init(longHash hash: UInt64, offset: Int) {
    low = hash
    high = Self.longMark | UInt64(truncatingIfNeeded: offset)
  }

  /// The offset of a long text; nil for a short one.
  @inline(__always) var offset: Int? {
    high >= Self.longMark ? Int(truncatingIfNeeded: high & ~Self.longMark) : nil
  }

  /// The same text where long ones are further behind.
  func moved(by distance: Int) -> MentionKey { offset.map { MentionKey(longHash: low, offset: $0 + distance) } ?? self }

  /// Equal for equal texts, wherever they are.
  ///
  /// - Parameter seed: That of the process, which the caller keeps: whether there is one would be asked each time.
  @inline(__always) func hash(seed: UInt64) -> UInt64 {
    let second = high >= Self.longMark ? Self.longMark : high
    return Self.fold(Self.fold(low ^ seed, Self.factor) ^ second, Self.factor ^ seed)
  }

  @inline(__always) private static func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let product = one.multipliedFullWidth(by: other)
    return product.high ^ product.low
  }

  /// A long text: its bytes follow its length in eight bytes.
  static func longText(_ memory: UnsafeRawPointer, at offset: Int) -> UnsafeBufferPointer<UInt8> {
    let length = memory.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    return UnsafeBufferPointer(
      start: (memory + offset + 8).assumingMemoryBound(to: UInt8.self), count: Int(truncatingIfNeeded: length))
  }

  /// Calls `body` with the bytes of a short text.
  func withShortBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) { raw in
      body(UnsafeBufferPointer(rebasing: raw.assumingMemoryBound(to: UInt8.self)[..<Int(high >> 56)]))
    }
  }
}

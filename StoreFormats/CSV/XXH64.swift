/// XXH64, the 64-bit xxHash with seed 0, of bytes that arrive in pieces. It detects edits; it is not for secrets.
///
/// The specification is at https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
struct XXH64 {
  private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
  private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
  private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
  private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
  private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5
  /// Bytes of one step: a word for each of the four accumulators.
  private static let stripe = 32

  private var accumulators: (UInt64, UInt64, UInt64, UInt64) = (prime1 &+ prime2, prime2, 0, 0 &- prime1)
  /// The bytes after the last whole stripe: fewer than ``stripe``.
  private var rest: [UInt8] = []
  private var count: UInt64 = 0

  static func of(_ bytes: Span<UInt8>) -> UInt64 {
    var hash = XXH64()
    bytes.withUnsafeBytes { hash.add($0) }
    return hash.value
  }

  mutating func add(_ piece: UnsafeRawBufferPointer) {
    count &+= UInt64(piece.count)
    var index = 0
    if !rest.isEmpty {
      index = min(Self.stripe - rest.count, piece.count)
      rest.append(contentsOf: piece[..<index])
      guard rest.count == Self.stripe else { return }
      rest.withUnsafeBytes { Self.mix($0, 0, &accumulators) }
      rest.removeAll(keepingCapacity: true)
    }
    var local = accumulators
    while index + Self.stripe <= piece.count {
      Self.mix(piece, index, &local)
      index += Self.stripe
    }
    accumulators = local
    rest.append(contentsOf: piece[index...])
  }

  var value: UInt64 {
    var hash = Self.prime5
    if count >= UInt64(Self.stripe) {
      let (a, b, c, d) = accumulators
      hash = Self.rotated(a, 1) &+ Self.rotated(b, 7) &+ Self.rotated(c, 12) &+ Self.rotated(d, 18)
      for word in [a, b, c, d] { hash = (hash ^ Self.round(0, word)) &* Self.prime1 &+ Self.prime4 }
    }
    hash &+= count
    rest.withUnsafeBytes { bytes in
      var index = 0
      while index + 8 <= bytes.count {
        hash = Self.rotated(hash ^ Self.round(0, Self.word(bytes, index)), 27) &* Self.prime1 &+ Self.prime4
        index += 8
      }
      if index + 4 <= bytes.count {
        let word = UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self)))
        hash = Self.rotated(hash ^ word &* Self.prime1, 23) &* Self.prime2 &+ Self.prime3
        index += 4
      }
      for byte in bytes[index...] { hash = Self.rotated(hash ^ UInt64(byte) &* Self.prime5, 11) &* Self.prime1 }
    }
    hash = (hash ^ hash >> 33) &* Self.prime2
    hash = (hash ^ hash >> 29) &* Self.prime3
    return hash ^ hash >> 32
  }

  @inline(__always) private static func mix(
    _ bytes: UnsafeRawBufferPointer, _ index: Int, _ accumulators: inout (UInt64, UInt64, UInt64, UInt64)
  ) {
    accumulators.0 = round(accumulators.0, word(bytes, index))
    accumulators.1 = round(accumulators.1, word(bytes, index + 8))
    accumulators.2 = round(accumulators.2, word(bytes, index + 16))
    accumulators.3 = round(accumulators.3, word(bytes, index + 24))
  }

  @inline(__always) private static func round(_ accumulator: UInt64, _ word: UInt64) -> UInt64 {
    rotated(accumulator &+ word &* prime2, 31) &* prime1
  }

  @inline(__always) private static func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 {
    word &<< bits | word &>> (64 - bits)
  }

  @inline(__always) private static func word(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
  }
}

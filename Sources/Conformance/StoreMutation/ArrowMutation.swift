/// Changes to an Arrow file that leave its size: references, lengths, offsets and layouts of its messages, cells of its
/// columns.
enum ArrowMutation {
  static func apply(to bytes: inout [UInt8], _ other: [UInt8], _ random: inout MutationRandom) {
    guard bytes.count >= 64 else { return ByteMutation.apply(to: &bytes, other, &random) }
    switch random.below(8) {
    case 0, 1: put(number(&random), 4, random.below(bytes.count / 4) * 4, &bytes)
    case 2: put(number(&random), 8, random.below(bytes.count / 8) * 8, &bytes)
    case 3: put(number(&random), 2, random.below(bytes.count / 2) * 2, &bytes)
    case 4:
      // A small change to a number: a length that nearly fits.
      let place = random.below(bytes.count / 4) * 4
      bytes[place] &+= random.pick([1, 255, 4, 252, 8, 248]) ?? 1
    case 5:
      let from = random.below(bytes.count / 8) * 8
      let to = random.below(bytes.count / 8) * 8
      for index in 0..<8 { bytes[to + index] = bytes[from + index] }
    case 6:
      guard let other = random.pick([bytes, other]), !other.isEmpty else { return }
      let piece = Array(other[random.range(in: other.count)].prefix(64))
      let place = random.below(bytes.count)
      for (index, byte) in piece.enumerated() where place + index < bytes.count { bytes[place + index] = byte }
    default: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
    }
  }

  private static func number(_ random: inout MutationRandom) -> UInt64 {
    random.pick([
      0, 1, 2, 4, 7, 8, 63, 64, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF,
      0x7FFF_FFFF_FFFF_FFFF, .max, UInt64(random.below(1 << 12)),
    ]) ?? 0
  }

  /// Little-endian, as all numbers of a file are.
  private static func put(_ number: UInt64, _ width: Int, _ offset: Int, _ bytes: inout [UInt8]) {
    for index in 0..<width where offset + index < bytes.count {
      bytes[offset + index] = UInt8(truncatingIfNeeded: number >> UInt64(index * 8))
    }
  }
}

/// Changes to a database file that leave its size: pages, their headers and cells, numbers of all widths.
enum SQLiteMutation {
  static func apply(to bytes: inout [UInt8], _ other: [UInt8], _ random: inout MutationRandom) {
    guard bytes.count >= 100 else { return ByteMutation.apply(to: &bytes, other, &random) }
    let stored = Int(bytes[16]) << 8 | Int(bytes[17])
    let size = stored >= 512 && stored <= bytes.count && stored & (stored - 1) == 0 ? stored : 512
    let page = random.below(max(bytes.count / size, 1))
    let start = page * size
    let header = start + (page == 0 ? 100 : 0)
    switch random.below(8) {
    case 0: put(number(&random, 1), 1, header + random.below(12), &bytes)
    case 1:
      // A cell's pointer, or what it points to.
      guard header + 8 < bytes.count else { return }
      let cells = Int(bytes[header + 3]) << 8 | Int(bytes[header + 4])
      let pointer = header + (bytes[header] < 8 ? 12 : 8) + 2 * random.below(max(min(cells, size / 2), 1))
      guard pointer + 1 < bytes.count, random.once(in: 2) else { return put(number(&random, 2), 2, pointer, &bytes) }
      put(
        number(&random, 4), 1 << random.below(3),
        start + (Int(bytes[pointer]) << 8 | Int(bytes[pointer + 1])) + random.below(12), &bytes)
    case 2:
      let from = random.below(max(bytes.count / size, 1)) * size
      guard from + size <= bytes.count, start + size <= bytes.count else { return }
      bytes.replaceSubrange(start..<start + size, with: Array(bytes[from..<from + size]))
    case 3: put(number(&random, 4), 4, random.below(100), &bytes)
    case 4:
      guard let other = random.pick([bytes, other]), !other.isEmpty else { return }
      let piece = Array(other[random.range(in: other.count)].prefix(40))
      let place = random.below(bytes.count)
      for (index, byte) in piece.enumerated() where place + index < bytes.count { bytes[place + index] = byte }
    case 5: put(number(&random, 8), 8, random.below(bytes.count), &bytes)
    case 6: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
    default: put(number(&random, 2), 1 + random.below(2), start + random.below(size), &bytes)
    }
  }

  private static func number(_ random: inout MutationRandom, _ width: Int) -> UInt64 {
    random.pick([
      0, 1, 2, 5, 13, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, .max,
      UInt64(random.below(1 << 16)),
    ]) ?? 0
  }

  /// Big-endian, as all numbers of a database are.
  private static func put(_ number: UInt64, _ width: Int, _ offset: Int, _ bytes: inout [UInt8]) {
    for index in 0..<width where offset + index < bytes.count {
      bytes[offset + index] = UInt8(truncatingIfNeeded: number >> UInt64((width - 1 - index) * 8))
    }
  }
}

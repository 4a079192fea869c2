/// Changes to a binary store of Core Data's: in its header, or in one of its two archives, the header following.
enum BinaryStoreMutation {
  static func apply(to bytes: inout [UInt8], _ other: [UInt8], _ random: inout MutationRandom) {
    guard bytes.count > 64, let map = part(32, bytes), let metadata = part(16, bytes),
      map.upperBound == metadata.lowerBound, !random.once(in: 6)
    else {
      return ByteMutation.apply(to: &bytes, other, &random)
    }
    var parts = (Array(bytes[map]), Array(bytes[metadata]))
    if random.once(in: 2) {
      // Most other changes of an archive leave no archive.
      PropertyListMutation.changeValue(in: &parts.0, &random)
    } else if random.once(in: 4) {
      PropertyListMutation.apply(to: &parts.1, other, &random)
    } else {
      PropertyListMutation.apply(to: &parts.0, other, &random)
    }
    var header = Array(bytes.prefix(64))
    for (offset, number) in [(16, 64 + parts.0.count), (24, parts.1.count), (32, 64), (40, parts.0.count)] {
      for index in 0..<8 { header[offset + index] = UInt8(truncatingIfNeeded: number >> ((7 - index) * 8)) }
    }
    bytes = header + parts.0 + parts.1
  }

  /// Both archives, as far as the header is correct.
  static func parts(of bytes: [UInt8]) -> [Range<Int>] {
    bytes.count > 64 ? [part(32, bytes), part(16, bytes)].compactMap(\.self) : []
  }

  /// Where the header says that a part is; nil where it is not in the file.
  private static func part(_ offset: Int, _ bytes: [UInt8]) -> Range<Int>? {
    func number(_ offset: Int) -> Int { bytes[offset..<offset + 8].reduce(0) { $0 << 8 | Int($1) } }
    let (start, count) = (number(offset), number(offset + 8))
    guard start >= 64, count > 0, start <= bytes.count, count <= bytes.count - start else { return nil }
    return start..<start + count
  }
}

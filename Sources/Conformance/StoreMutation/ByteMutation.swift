/// Changes that know nothing of a format.
enum ByteMutation {
  static func apply(to bytes: inout [UInt8], _ other: [UInt8], _ random: inout MutationRandom) {
    guard !bytes.isEmpty else {
      bytes = Edges.text(&random)
      return
    }
    let range = random.range(in: bytes.count)
    switch random.below(9) {
    case 0: bytes[range.lowerBound] ^= 1 << UInt8(random.below(8))
    case 1:
      bytes[range.lowerBound] =
        random.pick([0, 1, 0x7F, 0x80, 0xFE, 0xFF, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ",")]) ?? 0
    case 2: bytes.removeSubrange(range)
    case 3: bytes.insert(contentsOf: bytes[range], at: range.lowerBound)
    case 4: bytes.insert(contentsOf: Edges.text(&random), at: range.lowerBound)
    case 5: bytes.replaceSubrange(range, with: Edges.text(&random))
    case 6:
      let piece = other.isEmpty ? [] : other[random.range(in: other.count)]
      bytes.replaceSubrange(range, with: piece)
    case 7: bytes.removeLast(bytes.count - range.lowerBound)
    default: number(in: &bytes, &random)
    }
  }

  /// Puts an edge in the place of a run of digits.
  static func number(in bytes: inout [UInt8], _ random: inout MutationRandom) {
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    let start = random.below(bytes.count)
    guard let first = bytes[start...].firstIndex(where: isDigit) ?? bytes.firstIndex(where: isDigit) else { return }
    let end = bytes[first...].firstIndex { !isDigit($0) } ?? bytes.count
    bytes.replaceSubrange(first..<end, with: Array((random.pick(Edges.numbers) ?? "0").utf8))
  }
}

/// How files write the numbers that references are.
enum ReferenceForms {
  /// A number of 17 to 21 bits as text, as an integer of either order of bytes, and in groups of seven bits.
  ///
  /// The three bytes that it needs are in every wider integer too.
  static func all(_ number: UInt32) -> [[UInt8]] {
    let bytes = (0..<3).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    let groups = (0..<3).map { UInt8(truncatingIfNeeded: number >> ($0 * 7)) & 127 }
    return [
      Array("\(number)".utf8), bytes.reversed(), bytes,
      // The last group of a number has no mark.
      [groups[2] | 128, groups[1] | 128, groups[0]], [groups[0] | 128, groups[1] | 128, groups[2]],
    ]
  }
}

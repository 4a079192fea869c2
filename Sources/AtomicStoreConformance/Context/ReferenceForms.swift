/// How files write the numbers that references are.
enum ReferenceForms {
  /// A number of 17 to 21 bits as text, as an integer of either order of bytes, and in groups of seven bits.
  ///
  /// The three bytes that it needs are in every wider integer too.
  static func all(_ number: UInt32) -> [[UInt8]] {
    let bytes = (0..<3).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    return [
      Array("\(number)".utf8), bytes.reversed(), bytes, Files.groupsOfSeven(number),
      Files.groupsOfSeven(number, leastFirst: true),
    ]
  }
}

/// Makes inputs for a reader out of good ones: by what the format is made of, so that the changes get past the first check,
/// and by plain bytes.
public struct Mutator: Sendable {
  public let reader: HostileReader
  /// What pieces are taken from, besides the input itself.
  public let seeds: [[UInt8]]

  public init(reader: HostileReader, seeds: [[UInt8]]) {
    self.reader = reader
    self.seeds = seeds
  }

  /// A seed with a few changes.
  ///
  /// - Parameter limit: The most bytes of the result.
  public func input(_ random: inout MutationRandom, limit: Int) -> [UInt8] {
    mutated(random.pick(seeds) ?? [], &random, limit: limit)
  }

  /// The input with one change to six.
  public func mutated(_ bytes: [UInt8], _ random: inout MutationRandom, limit: Int) -> [UInt8] {
    var result = bytes
    for _ in 0...random.below(6) {
      let other = random.pick(seeds) ?? bytes
      if random.once(in: 4) {
        ByteMutation.apply(to: &result, other, &random)
      } else {
        switch reader {
        case .xmlStore, .model, .xmlPropertyList: XMLMutation.apply(to: &result, other, reader, &random)
        case .modelArchive where !result.starts(with: "bplist".utf8): XMLMutation.apply(to: &result, other, .xmlPropertyList, &random)
        case .binaryPropertyList, .modelArchive: PropertyListMutation.apply(to: &result, other, &random)
        case .csvStore: CSVMutation.apply(to: &result, other, &random)
        case .predicate, .objectURI: TextMutation.apply(to: &result, other, reader, &random)
        }
      }
      if result.count > limit { result.removeLast(result.count - limit) }
    }
    return result
  }
}

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
    case 1: bytes[range.lowerBound] = random.pick([0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x22, 0x3C, 0x2C]) ?? 0
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
    func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    let start = random.below(bytes.count)
    guard let first = bytes[start...].firstIndex(where: isDigit) ?? bytes.firstIndex(where: isDigit) else { return }
    let end = bytes[first...].firstIndex { !isDigit($0) } ?? bytes.count
    bytes.replaceSubrange(first..<end, with: Array((random.pick(Edges.numbers) ?? "0").utf8))
  }
}

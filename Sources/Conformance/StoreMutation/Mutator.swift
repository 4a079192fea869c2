/// Makes inputs for a reader out of good ones: by what the format is made of, so that the changes get past the first
/// check, and by plain bytes.
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
  package func input(_ random: inout MutationRandom, limit: Int) -> [UInt8] {
    mutated(random.pick(seeds) ?? [], &random, limit: limit)
  }

  /// The input with one change to six.
  public func mutated(_ bytes: [UInt8], _ random: inout MutationRandom, limit: Int) -> [UInt8] {
    var result = bytes
    for _ in 0...random.below(6) {
      let other = random.pick(seeds) ?? bytes
      if random.once(in: 4) {
        ByteMutation.apply(to: &result, other, &random)
      } else if random.once(in: 6) {
        IdentityMutation.apply(to: &result, reader, &random)
      } else {
        switch reader {
        case .xmlStore, .model, .xmlPropertyList: XMLMutation.apply(to: &result, other, reader, &random)
        case .coreDataBinary: BinaryStoreMutation.apply(to: &result, other, &random)
        case .arrowStore where !result.starts(with: "bplist".utf8):
          ArrowMutation.apply(to: &result, other, &random)
        case .arrowStore: PropertyListMutation.apply(to: &result, other, &random)
        case .coreDataSQLite: SQLiteMutation.apply(to: &result, other, &random)
        case .modelArchive where !result.starts(with: "bplist".utf8):
          XMLMutation.apply(to: &result, other, .xmlPropertyList, &random)
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

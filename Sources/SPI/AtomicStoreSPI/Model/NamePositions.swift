/// The positions of names in a list; of equal names, that of the first.
///
/// Most lists are of a few names: one of them is found sooner than a hash is computed.
struct NamePositions: Sendable {
  private let names: [ScalarString]
  /// Empty for a few names.
  private let byName: [ScalarString: Int]
  private static let few = 8

  init(_ names: [ScalarString] = []) {
    self.names = names
    guard names.count > Self.few else {
      byName = [:]
      return
    }
    byName = Dictionary(names.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
  }

  subscript(name: ScalarString) -> Int? {
    names.count > Self.few ? byName[name] : names.firstIndex(of: name)
  }
}

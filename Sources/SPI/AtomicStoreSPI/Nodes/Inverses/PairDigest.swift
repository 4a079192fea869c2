/// What is the same for equal pairs of numbers in any order, and different for others: the sums of two hashes of each,
/// whose keys differ from process to process, so that no file can be made of other pairs with the same sums.
struct PairDigest: Equatable {
  private var count = 0
  private var first: UInt64 = 0
  private var second: UInt64 = 0

  private static let keys = (
    UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max),
    UInt64.random(in: .min ... .max)
  )
  private let keys = Self.keys

  static func == (one: PairDigest, other: PairDigest) -> Bool {
    one.count == other.count && one.first == other.first && one.second == other.second
  }

  @inline(__always) mutating func add(_ one: UInt64, _ other: UInt64) {
    let hash = Self.folded(one ^ keys.0, other ^ keys.1)
    first &+= hash
    second &+= Self.folded(hash ^ keys.2, other ^ keys.3)
    count += 1
  }

  @inline(__always) private static func folded(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let product = one.multipliedFullWidth(by: other)
    return product.high ^ product.low
  }
}

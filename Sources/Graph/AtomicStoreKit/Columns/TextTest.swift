import AtomicStoreSPI
import StorePredicates

/// A test on the bytes of a string.
struct TextTest {
  let comparator: FetchPredicate.Comparator
  let options: FetchPredicate.Options
  /// The string to compare with, folded if the options require it.
  let other: [UInt8]
  private let original: String
  private let pattern: RegularExpression?
  /// The strings to compare with, for IN, in ascending order.
  let others: [[UInt8]]
  // Everything the loop over rows needs is computed once: the types of the tree are defined in another module.
  private let needsText: Bool
  private let isFolded: Bool
  private let ignoresCase: Bool
  /// The bytes that are searched for; 0 if the comparison reads both texts once.
  private let searchLength: Int
  private let isLong: Bool

  init(_ comparator: FetchPredicate.Comparator, _ options: FetchPredicate.Options, _ text: String) {
    self.comparator = comparator
    self.options = options
    needsText = comparator == .like
    ignoresCase = options.contains(.caseInsensitive)
    isFolded = ignoresCase || options.contains(.diacriticInsensitive)
    original = text
    pattern = comparator == .matches ? try? PatternCache.expression(text, options) : nil
    other = Array(StringComparison.folded(text, options).utf8)
    others = []
    searchLength = comparator == .like || comparator == .contains ? text.utf8.count : 0
    isLong = searchLength >= 64
  }
  init(in texts: [String], _ options: FetchPredicate.Options) {
    comparator = .isIn
    self.options = options
    needsText = false
    ignoresCase = options.contains(.caseInsensitive)
    isFolded = ignoresCase || options.contains(.diacriticInsensitive)
    original = ""
    pattern = nil
    other = []
    searchLength = 0
    isLong = false
    others = texts.map { Array(StringComparison.folded($0, options).utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Whether the test is only whether the bytes are equal, or are not.
  var isSameness: Bool {
    (comparator == .equal || comparator == .notEqual)
      && options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive])
  }

  /// The approximate cost per row, relative to comparing a number.
  var cost: Int {
    switch comparator {
    case .like, .matches: 100
    case .contains: 12
    default: options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]) ? 5 : 15
    }
  }

  /// Whether the bytes are equal. Compares eight at a time.
  @inline(__always) static func isSame(_ bytes: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool
  {
    guard bytes.count == other.count else { return false }
    guard let one = UnsafeRawPointer(bytes.baseAddress), let two = UnsafeRawPointer(other.baseAddress) else {
      return true
    }
    var place = 0
    while place &+ 8 <= bytes.count {
      guard
        one.loadUnaligned(fromByteOffset: place, as: UInt64.self)
          == two.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      else { return false }
      place &+= 8
    }
    while place < bytes.count {
      guard bytes[place] == other[place] else { return false }
      place &+= 1
    }
    return true
  }

  /// - Parameter budget: The steps of the fetch. If none are left, the result is meaningless.
  func holds(_ bytes: UnsafeBufferPointer<UInt8>, _ budget: StepBudget) -> Bool {
    if let pattern { return budget.holds(pattern, bytes) }
    if bytes.count >= 64 || isLong, !budget.use(budget.stepsOfSearch(for: searchLength, in: bytes.count)) {
      return false
    }
    if needsText { return StringComparison.isLike(String(decoding: bytes, as: UTF8.self), original, options) }
    if !isFolded { return compare(bytes) }
    // ASCII letters are folded on the fly; everything else through the tables.
    let isPlain = bytes.allSatisfy { $0 < 0x80 }
    if isPlain, !ignoresCase { return compare(bytes) }
    if isPlain, bytes.count <= 256 {
      return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(bytes.count, 1)) { buffer in
        for (place, byte) in bytes.enumerated() { buffer[place] = byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }
        return compare(UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[0..<bytes.count]))
      }
    }
    return Array(StringComparison.folded(String(decoding: bytes, as: UTF8.self), options).utf8)
      .withUnsafeBufferPointer { compare($0) }
  }

  private func compare(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    switch comparator {
    case .equal: return bytes.count == other.count && bytes.elementsEqual(other)
    case .notEqual: return bytes.count != other.count || !bytes.elementsEqual(other)
    case .less: return bytes.lexicographicallyPrecedes(other)
    case .greaterOrEqual: return !bytes.lexicographicallyPrecedes(other)
    case .greater: return other.lexicographicallyPrecedes(bytes)
    case .lessOrEqual: return !other.lexicographicallyPrecedes(bytes)
    case .beginsWith: return bytes.count >= other.count && bytes.prefix(other.count).elementsEqual(other)
    case .endsWith: return bytes.count >= other.count && bytes.suffix(other.count).elementsEqual(other)
    case .contains: return other.withUnsafeBufferPointer { StringComparison.contains(bytes, $0) }
    case .isIn: return isOneOfOthers(bytes)
    default: return false
    }
  }

  private func isOneOfOthers(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var (low, high) = (0, others.count)
    while low < high {
      let middle = (low + high) / 2
      if others[middle].lexicographicallyPrecedes(bytes) { low = middle + 1 } else { high = middle }
    }
    return low < others.count && others[low].count == bytes.count && others[low].elementsEqual(bytes)
  }
}

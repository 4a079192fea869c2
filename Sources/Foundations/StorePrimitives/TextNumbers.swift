import Glibc

/// Texts with numbers: 0 for the first, 1 for the second that is not equal to it, and so on. Texts are equal if their
/// bytes are.
///
/// All bytes are in one array and the hash table contains numbers only, so that a million texts take a handful of
/// allocations, and none is counted as a reference.
package struct TextNumbers: Sendable {
  @usableFromInline var bytes: [UInt8] = []
  /// Where each text ends in ``bytes``; it begins where the one before ends.
  @usableFromInline var ends: [Int] = []
  /// What is at a place of the hash table: all that a comparison needs but the text's bytes. The memory is too large
  /// for caches, so what counts is how many reads wait for others.
  private struct Entry {
    /// Half of the hash, so that few texts need to be compared, and none when the table grows.
    var hash: UInt32
    /// The number plus one; 0 where nothing is.
    var number: UInt32
    /// Where the text begins, in the lower 40 bits, and its length in the others; see ``longLength``.
    var extent: UInt64
  }
  /// What stands for a length that does not fit beside the start: it follows from ``ends``.
  private static let longLength = 0xFF_FFFF
  private static let startBits: UInt64 = 40
  /// A text at the place of its hash or behind it. The size is a power of two.
  private var places: [Entry] = []
  /// Differs from process to process, so that no file can be made whose texts all have the same hash.
  private let seed = Self.seed
  private static let seed = UInt64.random(in: .min ... .max)

  package init() {}

  /// Makes room for that many texts.
  package mutating func reserve(_ count: Int) {
    ends.reserveCapacity(count)
    while count * 4 > places.count * 3 { grow() }
  }

  /// The number of texts.
  package var count: Int { ends.count }

  /// Calls `body` with the bytes of a text, which are valid inside `body` only.
  @inlinable package func withBytes<Result>(of number: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    let start = number > 0 ? ends[number - 1] : 0
    return bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[start..<ends[number]])) }
  }

  /// Whether the bytes of a text come before those of another one.
  package func precedes(_ one: Int, _ other: Int) -> Bool {
    withBytes(of: one) { one in withBytes(of: other) { one.lexicographicallyPrecedes($0) } }
  }

  /// How many bytes a text has.
  package func length(of number: Int) -> Int { ends[number] - (number > 0 ? ends[number - 1] : 0) }

  /// The number of a text; nil if it has none.
  package func number(of text: UnsafeBufferPointer<UInt8>) -> Int? {
    guard !places.isEmpty else { return nil }
    return find(text, hash(text)).number
  }

  /// The number of a text, which gets the next one if it has none.
  package mutating func add(_ text: UnsafeBufferPointer<UInt8>) -> Int {
    // At most three quarters of the places are taken.
    if (ends.count + 1) * 4 > places.count * 3 { grow() }
    return add(text, hash(text))
  }

  private mutating func add(_ text: UnsafeBufferPointer<UInt8>, _ hash: UInt32) -> Int {
    let (found, place) = find(text, hash)
    if let found { return found }
    let length = UInt64(truncatingIfNeeded: min(text.count, Self.longLength))
    places[place] = Entry(
      hash: hash, number: UInt32(truncatingIfNeeded: ends.count + 1),
      extent: UInt64(truncatingIfNeeded: bytes.count) | length << Self.startBits)
    bytes.append(contentsOf: text)
    ends.append(bytes.count)
    return ends.count - 1
  }

  /// The number of a text, or else the place where it belongs. The table has free places.
  private func find(_ text: UnsafeBufferPointer<UInt8>, _ hash: UInt32) -> (number: Int?, place: Int) {
    let mask = places.count - 1
    var place = Int(hash) & mask
    while true {
      let entry = places[place]
      if entry.number == 0 { return (nil, place) }
      if entry.hash == hash, isEqual(text, entry) { return (Int(entry.number) - 1, place) }
      place = (place + 1) & mask
    }
  }

  private func isEqual(_ text: UnsafeBufferPointer<UInt8>, _ entry: Entry) -> Bool {
    var length = Int(entry.extent >> Self.startBits)
    if length == Self.longLength { length = self.length(of: Int(entry.number) - 1) }
    guard length == text.count else { return false }
    let start = Int(entry.extent & (1 << Self.startBits - 1))
    return bytes.withUnsafeBufferPointer { all in
      guard let one = text.baseAddress, let two = all.baseAddress else { return true }
      return memcmp(one, two + start, text.count) == 0
    }
  }

  private mutating func grow() {
    let size = max(16, places.count * 2)
    let before = places
    places = Array(repeating: Entry(hash: 0, number: 0, extent: 0), count: size)
    for entry in before where entry.number != 0 {
      var place = Int(entry.hash) & (size - 1)
      while places[place].number != 0 { place = (place + 1) & (size - 1) }
      places[place] = entry
    }
  }

  /// Eight bytes at a time, each folded with a multiplication of full width.
  private func hash(_ text: UnsafeBufferPointer<UInt8>) -> UInt32 {
    let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
    func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
      let product = one.multipliedFullWidth(by: other)
      return product.high ^ product.low
    }
    var result = fold(seed ^ UInt64(truncatingIfNeeded: text.count), factor)
    let raw = UnsafeRawBufferPointer(text)
    var index = 0
    while index + 8 <= raw.count {
      result = fold(result ^ raw.loadUnaligned(fromByteOffset: index, as: UInt64.self), factor ^ seed)
      index += 8
    }
    var rest: UInt64 = 0
    while index < raw.count {
      rest = rest << 8 | UInt64(raw[index])
      index += 1
    }
    result = fold(result ^ rest, factor ^ seed)
    return UInt32(truncatingIfNeeded: result ^ result >> 32)
  }
}

import Glibc

/// Texts with numbers: 0 for the first, 1 for the second that is not equal to it, and so on. Texts are equal if their
/// bytes are.
///
/// All bytes are in one array and the hash table contains numbers only, so that a million texts take a handful of
/// allocations, and none is counted as a reference.
@usableFromInline package struct TextNumbers: Sendable {
  @usableFromInline var bytes: [UInt8] = []
  /// Where each text ends in ``bytes``; it begins where the one before ends.
  @usableFromInline var ends: [Int] = []
  /// What is at a place of the hash table. The memory is too large for caches and each of its pages has to be cleared,
  /// so that it is as small as it can be.
  private struct Entry {
    /// Half of the hash, so that few texts need to be compared, and none when the table grows.
    var hash: UInt32
    /// The number plus one; 0 where nothing is.
    var number: UInt32
  }
  /// A text at the place of the upper bits of its hash or behind it, so that a table that grows is written from the
  /// beginning to the end. The size is a power of two.
  private var places: [Entry] = []
  /// Differs from process to process, so that no file can be made whose texts all have the same hash.
  private let seed = Self.seed
  private static let seed = UInt64.random(in: .min ... .max)
  /// How many texts are added in all.
  private var expected: Int
  /// How many were already there.
  private var repeated = 0

  /// - Parameter expected: How many texts are added. There is room for all of them at once where the first thousands
  ///   differ: a table that grows is cleared and filled again each time.
  package init(expecting expected: Int = 0) { self.expected = expected }

  /// Makes room for that many texts.
  package mutating func reserve(_ count: Int) {
    ends.reserveCapacity(count)
    // The first texts may be far longer than the others: what they promise counts up to a limit.
    if !ends.isEmpty {
      bytes.reserveCapacity(min(bytes.count / ends.count * count / 8 * 9, max(bytes.count, Self.greatestRoom)))
    }
    var size = max(16, places.count)
    while count * 4 > size * 3 { size *= 2 }
    if size > places.count { grow(to: size) }
  }

  private static let greatestRoom = 64 << 20

  /// The number of texts.
  package var count: Int { ends.count }

  /// Calls `body` with the bytes of a text, which are valid inside `body` only.
  @inlinable package func withBytes<Result>(of number: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    let start = number > 0 ? ends[number - 1] : 0
    return bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[start..<ends[number]])) }
  }

  /// The number of a text; nil if it has none.
  package func number(of text: UnsafeBufferPointer<UInt8>) -> Int? {
    guard !places.isEmpty else { return nil }
    return find(text, hash(text)).number
  }

  /// Whether a text has this number.
  package func isText(_ text: UnsafeBufferPointer<UInt8>, _ number: Int) -> Bool {
    withBytes(of: number) { known in
      guard known.count == text.count else { return false }
      guard let one = text.baseAddress, let other = known.baseAddress else { return true }
      return memcmp(one, other, text.count) == 0
    }
  }

  /// The number of a text, which gets the next one if it has none.
  package mutating func add(_ text: UnsafeBufferPointer<UInt8>) -> Int {
    makeRoom(for: 1)
    return add(text, hash(text))
  }

  /// Sets the numbers of the texts of a batch.
  ///
  /// A table of a million texts is too large for caches, so that each search waits for memory. The places of all texts
  /// are read first: the processor reads many at once, since none depends on another one.
  mutating func add(_ batch: inout TextBatch) {
    makeRoom(for: batch.count)
    batch.numbers.removeAll(keepingCapacity: true)
    batch.found.removeAll(keepingCapacity: true)
    batch.bytes.withUnsafeBufferPointer { bytes in
      var start = 0
      for end in batch.ends {
        batch.found.append(TextBatch.Found(hash: hash(UnsafeBufferPointer(rebasing: bytes[start..<end])), number: 0))
        start = end
      }
      let size = places.count
      for index in batch.found.indices {
        let hash = batch.found[index].hash
        let entry = places[Self.place(of: hash, size: size)]
        batch.found[index].number = entry.hash == hash ? entry.number : 0
      }
      start = 0
      for (index, end) in batch.ends.enumerated() {
        let text = UnsafeBufferPointer(rebasing: bytes[start..<end])
        let found = batch.found[index]
        start = end
        if found.number != 0, isText(text, Int(found.number) - 1) {
          repeated += 1
          batch.numbers.append(Int(found.number) - 1)
        } else {
          batch.numbers.append(add(text, found.hash))
        }
      }
    }
  }

  /// Makes room for that many texts more.
  private mutating func makeRoom(for more: Int) {
    // At most three quarters of the places are taken.
    while (ends.count + more) * 4 > places.count * 3 {
      if ends.count > 3000, repeated == 0, expected > ends.count {
        reserve(max(expected, ends.count + more))
      } else {
        grow(to: max(16, places.count * 2))
      }
    }
  }

  private mutating func add(_ text: UnsafeBufferPointer<UInt8>, _ hash: UInt32) -> Int {
    let (found, place) = find(text, hash)
    if let found {
      repeated += 1
      return found
    }
    places[place] = Entry(hash: hash, number: UInt32(truncatingIfNeeded: ends.count + 1))
    bytes.append(contentsOf: text)
    ends.append(bytes.count)
    return ends.count - 1
  }

  /// The number of a text, or else the place where it belongs. The table has free places.
  private func find(_ text: UnsafeBufferPointer<UInt8>, _ hash: UInt32) -> (number: Int?, place: Int) {
    let mask = places.count - 1
    var place = Self.place(of: hash, size: places.count)
    while true {
      let entry = places[place]
      if entry.number == 0 { return (nil, place) }
      if entry.hash == hash, isText(text, Int(entry.number) - 1) { return (Int(entry.number) - 1, place) }
      place = (place + 1) & mask
    }
  }

  private static func place(of hash: UInt32, size: Int) -> Int {
    Int(truncatingIfNeeded: UInt64(hash) >> (32 - size.trailingZeroBitCount))
  }

  private mutating func grow(to size: Int) {
    let before = places
    places = Array(unsafeUninitializedCapacity: size) { memory, count in
      Self.useLargePages(UnsafeMutableRawBufferPointer(memory))
      memory.initialize(repeating: Entry(hash: 0, number: 0))
      count = size
    }
    for entry in before where entry.number != 0 {
      var place = Self.place(of: entry.hash, size: size)
      while places[place].number != 0 { place = (place + 1) & (size - 1) }
      places[place] = entry
    }
  }

  /// Has the system clear the memory in large pages, and find it with fewer steps: each access is to another page.
  private static func useLargePages(_ memory: UnsafeMutableRawBufferPointer) {
    let size = 1 << 21
    guard memory.count >= 2 * size, let start = memory.baseAddress else { return }
    let first = start.alignedUp(toMultipleOf: size)
    let length = (start + memory.count).alignedDown(toMultipleOf: size) - first
    // Only advice: without large pages it takes longer.
    if length > 0 { _ = madvise(first, length, MADV_HUGEPAGE) }
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

extension TextBatch {
  /// Returns the numbers of the texts, as if they were added one after the other, and removes them from the batch.
  package mutating func takeNumbers(from texts: inout TextNumbers) -> [Int] {
    texts.add(&self)
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    return numbers
  }
}

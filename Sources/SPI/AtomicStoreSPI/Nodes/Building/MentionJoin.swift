import Glibc
import StoreFiles

/// Finds the nodes of all mentions of a hierarchy at once.
///
/// A table of a million texts is too large for caches, so that each search would wait for memory. So mentions are
/// divided by their hashes first, into parts whose tables are small; what is written then follows what was written
/// before, in each part. The parts are independent of each other.
///
/// `@unchecked Sendable`: each piece and each part is processed by one thread, which writes to entries, places and
/// nodes of that piece or part only; the steps follow each other.
final class MentionJoin: @unchecked Sendable {
  private struct Entry {
    var key: MentionKey
    var mention: UInt32
    var hash: UInt32
  }
  private let keys: UnsafePointer<MentionKey>
  private let long: UnsafeRawPointer
  private let nodes: UnsafeMutablePointer<UInt64>
  private let count: Int
  private let seed = MentionKey.seed
  /// The mentions are divided into pieces by their order, for the threads, and into parts by the upper bits of hashes.
  private let pieces: Int
  private let partBits: Int
  private var parts: Int { 1 << partBits }
  /// By piece and part: the number of mentions, then the next entry.
  private let places: UnsafeMutablePointer<Int>
  /// Where each part begins, and the end.
  private let starts: UnsafeMutablePointer<Int>
  private let entries: UnsafeMutableRawPointer

  /// The maximum number of bytes that finding the nodes needs for each mention: an entry, its node, and if all mentions
  /// are in one part, the node once more and up to four numbers in the part's table.
  static let bytesPerMention = MemoryLayout<Entry>.stride + 8 + 8 + 4 * MemoryLayout<UInt32>.stride

  /// The table of a part with that many mentions fits in the second-level cache.
  private static let partCount = 1 << 14

  /// Nil if the system does not have enough memory.
  ///
  /// - Parameters:
  ///   - nodes: By mention: the node that has the text as its reference, or null for a mention in a relationship.
  init?(
    _ keys: UnsafePointer<MentionKey>, long: UnsafeRawPointer, nodes: UnsafeMutablePointer<UInt64>, count: Int,
    jobs: Int
  ) {
    guard let room = PagedMemory.resized(nil, to: max(count, 1) * MemoryLayout<Entry>.stride) else { return nil }
    entries = room
    self.keys = keys
    self.long = long
    self.nodes = nodes
    self.count = count
    pieces = max(1, min(jobs, count >> 14))
    var bits = 0
    while bits < 12, count >> bits > Self.partCount { bits += 1 }
    partBits = bits
    places = .allocate(capacity: pieces << bits)
    places.initialize(repeating: 0, count: pieces << bits)
    starts = .allocate(capacity: 1 << bits + 1)
    starts.initialize(repeating: 0, count: 1 << bits + 1)
  }

  deinit {
    places.deallocate()
    starts.deallocate()
    PagedMemory.free(entries)
  }

  /// Sets the nodes of mentions in relationships. Returns false if two nodes have the same text; then some are not set.
  func run(jobs: Int) -> Bool {
    ParallelWork.forEach(pieces, jobs: jobs) { self.count(piece: $0) }
    order()
    ParallelWork.forEach(pieces, jobs: jobs) { self.divide(piece: $0) }
    return ParallelWork.allSatisfy(parts, jobs: jobs) { self.join(part: $0) }
  }

  private func mentions(ofPiece piece: Int) -> Range<Int> { count * piece / pieces..<count * (piece + 1) / pieces }

  @inline(__always) private func part(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: hash >> UInt64(64 - partBits))
  }

  private func count(piece: Int) {
    let counts = places + piece << partBits
    for mention in mentions(ofPiece: piece) { counts[part(keys[mention].hash(seed: seed))] += 1 }
  }

  private func order() {
    var next = 0
    for part in 0..<parts {
      starts[part] = next
      for piece in 0..<pieces {
        let count = places[piece << partBits + part]
        places[piece << partBits + part] = next
        next += count
      }
    }
    starts[parts] = next
  }

  private func divide(piece: Int) {
    let next = places + piece << partBits
    let entries = entries.assumingMemoryBound(to: Entry.self)
    for mention in mentions(ofPiece: piece) {
      let key = keys[mention]
      let hash = key.hash(seed: seed)
      let part = part(hash)
      (entries + next[part]).initialize(
        to: Entry(key: key, mention: UInt32(truncatingIfNeeded: mention), hash: UInt32(truncatingIfNeeded: hash)))
      next[part] += 1
    }
  }

  private func join(part: Int) -> Bool {
    let entries = entries.assumingMemoryBound(to: Entry.self) + starts[part]
    let count = starts[part + 1] - starts[part]
    var size = 2
    while size < count * 2 { size *= 2 }
    // By hash: the index of an entry of a node, plus one. By index: the node.
    let table = UnsafeMutablePointer<UInt32>.allocate(capacity: size)
    table.initialize(repeating: 0, count: size)
    let found = UnsafeMutablePointer<UInt64>.allocate(capacity: max(count, 1))
    defer {
      table.deallocate()
      found.deallocate()
    }
    for index in 0..<count {
      let node = nodes[Int(entries[index].mention)]
      found[index] = node
      guard node != NodeHandle.nullBits else { continue }
      let (isTaken, place) = search(entries[index], table, size - 1, entries)
      if isTaken { return false }
      table[place] = UInt32(truncatingIfNeeded: index + 1)
    }
    for index in 0..<count where found[index] == NodeHandle.nullBits {
      let (isFound, place) = search(entries[index], table, size - 1, entries)
      if isFound { nodes[Int(entries[index].mention)] = found[Int(table[place]) - 1] }
    }
    return true
  }

  /// Where an equal text is in the table, or else where it belongs.
  @inline(__always) private func search(
    _ entry: Entry, _ table: UnsafeMutablePointer<UInt32>, _ mask: Int, _ entries: UnsafeMutablePointer<Entry>
  ) -> (isFound: Bool, place: Int) {
    var place = Int(entry.hash) & mask
    while table[place] != 0 {
      let other = entries + Int(table[place]) - 1
      if other.pointee.hash == entry.hash, other.pointee.key.low == entry.key.low,
        other.pointee.key.high == entry.key.high || hasSameLongText(entry.key, other.pointee.key)
      {
        return (true, place)
      }
      place = (place + 1) & mask
    }
    return (false, place)
  }

  @inline(never) private func hasSameLongText(_ one: MentionKey, _ other: MentionKey) -> Bool {
    guard let first = one.offset, let second = other.offset else { return false }
    let text = MentionKey.longText(long, at: first)
    let otherText = MentionKey.longText(long, at: second)
    guard text.count == otherText.count, let bytes = text.baseAddress, let otherBytes = otherText.baseAddress else {
      return false
    }
    return memcmp(bytes, otherBytes, text.count) == 0
  }
}

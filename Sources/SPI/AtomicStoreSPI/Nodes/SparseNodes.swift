/// Nodes by numbers that may be far apart: a hash table in one array, so that a search reads memory once or twice.
package struct SparseNodes: Sendable {
  private struct Entry {
    var number: Int64
    /// The handle's bits, or one of the two values below.
    var bits: UInt64
  }
  private static let free = UInt64.max
  /// A handle was removed: searches go on.
  private static let removed = UInt64.max - 1
  /// The size is a power of two, or 0.
  private var entries: [Entry] = []
  /// How many entries are not free.
  private var used = 0
  private var count = 0
  /// Differs from process to process, so that no file can be made whose numbers all have the same hash.
  private static let processSeed = UInt64.random(in: .min ... .max)
  /// Beside the entries: whether the process has one would be asked at each search.
  private let seed = SparseNodes.processSeed

  package init() {}
  package init(expecting count: Int) { grow(for: count) }

  var isEmpty: Bool { count == 0 }

  /// The bits of the node with that number. They must not be the two greatest values.
  package subscript(number: Int64) -> UInt64? {
    get {
      guard count > 0 else { return nil }
      var place = hash(number)
      while true {
        let entry = entries[place]
        if entry.bits == Self.free { return nil }
        if entry.number == number, entry.bits != Self.removed { return entry.bits }
        place = (place + 1) & (entries.count - 1)
      }
    }
    set {
      if let newValue { set(number, newValue) } else { remove(number) }
    }
  }

  /// The numbers with their nodes' bits, in no particular order.
  var all: some Sequence<(number: Int64, bits: UInt64)> {
    entries.lazy.filter { $0.bits != Self.free && $0.bits != Self.removed }.map { ($0.number, $0.bits) }
  }

  private mutating func set(_ number: Int64, _ bits: UInt64) {
    if (used + 1) * 4 > entries.count * 3 { grow(for: count + 1) }
    var place = hash(number)
    var removed: Int?
    while entries[place].bits != Self.free {
      if entries[place].bits == Self.removed {
        removed = removed ?? place
      } else if entries[place].number == number {
        entries[place].bits = bits
        return
      }
      place = (place + 1) & (entries.count - 1)
    }
    if removed == nil { used += 1 }
    count += 1
    entries[removed ?? place] = Entry(number: number, bits: bits)
  }

  private mutating func remove(_ number: Int64) {
    guard count > 0 else { return }
    var place = hash(number)
    while entries[place].bits != Self.free {
      if entries[place].number == number, entries[place].bits != Self.removed {
        entries[place].bits = Self.removed
        count -= 1
        return
      }
      place = (place + 1) & (entries.count - 1)
    }
  }

  /// Makes room for that many nodes in all, and for as many again.
  private mutating func grow(for wanted: Int) {
    var size = 16
    while size * 3 < wanted * 5 { size *= 2 }
    let before = entries
    entries = Array(repeating: Entry(number: 0, bits: Self.free), count: size)
    used = count
    for entry in before where entry.bits < Self.removed {
      var place = hash(entry.number)
      while entries[place].bits != Self.free { place = (place + 1) & (size - 1) }
      entries[place] = entry
    }
  }

  private func hash(_ number: Int64) -> Int {
    let product = (UInt64(bitPattern: number) ^ seed).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return Int(truncatingIfNeeded: product.high ^ product.low) & (entries.count - 1)
  }
}

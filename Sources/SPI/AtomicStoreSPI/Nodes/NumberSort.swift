/// Sorting rows by numbers, without comparing them: a pass over the rows for each byte in which the numbers differ.
package enum NumberSort {
  /// Sorts rows by a number of each, in ascending order; rows with the same number stay in their order.
  package static func sort(_ rows: inout [UInt32], by number: (UInt32) -> Int64) {
    guard rows.count > 1 else { return }
    // With the sign bit inverted, numbers are in the order of their bits.
    var entries = rows.map { Entry(key: UInt64(bitPattern: number($0)) ^ 1 << 63, row: $0) }
    var differing: UInt64 = 0
    var isSorted = true
    for index in 1..<entries.count {
      differing |= entries[index].key ^ entries[0].key
      if entries[index].key < entries[index - 1].key { isSorted = false }
    }
    guard !isSorted else { return }
    if rows.count < smallCount {
      // Rows with the same number stay in their order, because the order of rows decides between them.
      let order = entries.indices.sorted { (entries[$0].key, $0) < (entries[$1].key, $1) }
      rows = order.map { entries[$0].row }
      return
    }
    var other = entries
    for shift in stride(from: UInt64(0), to: 64, by: 8) where differing >> shift & 0xFF != 0 {
      distribute(entries, into: &other, shift)
      swap(&entries, &other)
    }
    for index in rows.indices { rows[index] = entries[index].row }
  }

  /// Below this, comparing is faster.
  private static let smallCount = 256

  private struct Entry {
    var key: UInt64
    var row: UInt32
  }

  /// Sorts by one byte of the keys.
  private static func distribute(_ entries: [Entry], into target: inout [Entry], _ shift: UInt64) {
    var places = [Int](repeating: 0, count: 257)
    for entry in entries { places[Int(entry.key >> shift & 0xFF) + 1] += 1 }
    for byte in 1..<257 { places[byte] += places[byte - 1] }
    for entry in entries {
      let byte = Int(entry.key >> shift & 0xFF)
      target[places[byte]] = entry
      places[byte] += 1
    }
  }
}

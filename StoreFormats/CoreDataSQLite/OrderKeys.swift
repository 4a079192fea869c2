/// The keys by which the members of an ordered list are sorted.
enum OrderKeys {
  /// The key of the first member of a new list, and what is between two.
  static let first: Int64 = 2048
  static let step: Int64 = 1024

  static func key(at place: Int) -> Int64 { first + Int64(place) * step }

  /// Keys for a list, of which as many members as possible keep theirs.
  ///
  /// - Parameter known: By place, the key that the member has; nil for none.
  static func assign(_ known: [Int64?]) -> [Int64] {
    let kept = longestAscending(known)
    var result: [Int64] = []
    result.reserveCapacity(known.count)
    var place = 0
    for next in kept + [known.count] {
      let below = result.last ?? 0
      let count = Int64(next - place)
      if next == known.count {
        for _ in place..<next {
          let (key, overflow) = (result.last ?? Self.first - step).addingReportingOverflow(step)
          guard !overflow else { return known.indices.map(key(at:)) }
          result.append(key)
        }
        break
      }
      guard let above = known[next], above > below, above - below > count else { return known.indices.map(key(at:)) }
      // With gaps of the same size, at least 1.
      let gap = (above - below) / (count + 1)
      for number in 0..<count { result.append(below + gap * (number + 1)) }
      result.append(above)
      place = next + 1
    }
    return result
  }

  /// The places of a longest ascending sequence of keys that are greater than 0.
  private static func longestAscending(_ keys: [Int64?]) -> [Int] {
    // By length less one, the place of the least key that ends such a sequence.
    var ends: [Int] = []
    var previous = [Int?](repeating: nil, count: keys.count)
    for (place, key) in keys.enumerated() {
      guard let key, key > 0, key < .max else { continue }
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if let other = keys[ends[middle]], other < key { low = middle + 1 } else { high = middle }
      }
      previous[place] = low > 0 ? ends[low - 1] : nil
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    return sequence(first: ends.last) { $0.flatMap { previous[$0] } }.prefix { $0 != nil }.compactMap { $0 }.reversed()
  }
}

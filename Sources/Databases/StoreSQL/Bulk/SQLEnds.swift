/// Where the to-ones of an entity's rows lead, whose other ends are to-manys.
struct SQLEnds {
  /// The number of a row; the least integer for none.
  var ids: [Int64] = []
  /// The entity of that row, where there may be several.
  var entities: [Int64] = []
  /// The position in the to-many, where that is ordered. The greatest integer for none.
  var positions: [Int64] = []

  static let none = Int64.min

  /// The members of all owners: how many each has, and their numbers one after another.
  ///
  /// - Parameters:
  ///   - owners: The numbers of the owners, ascending.
  ///   - entity: Their entity.
  ///   - parts: For each entity of members, their numbers in ascending order, and where they lead.
  ///   - inOrder: Whether they are in the order of their positions, otherwise of their numbers.
  static func members(
    of owners: [Int64], _ entity: Int, _ parts: [(ids: [Int64], ends: SQLEnds)], inOrder: Bool
  ) -> (counts: [UInt32], members: [Int64]) {
    let rows = OwnerRows(owners)
    var counts = [UInt32](repeating: 0, count: owners.count)
    // The owner of each member, in the order of parts.
    var found: [[Int32]] = []
    for part in parts {
      var list = [Int32](repeating: -1, count: part.ids.count)
      let isMixed = !part.ends.entities.isEmpty
      for (place, id) in part.ends.ids.enumerated() where id != none {
        guard !isMixed || part.ends.entities[place] == Int64(entity), let row = rows.row(of: id) else { continue }
        list[place] = Int32(truncatingIfNeeded: row)
        counts[row] += 1
      }
      found.append(list)
    }
    var next: [Int] = []
    next.reserveCapacity(counts.count)
    var total = 0
    for count in counts {
      next.append(total)
      total += Int(count)
    }
    var members = [Int64](repeating: 0, count: total)
    var positions = inOrder ? [Int64](repeating: .max, count: total) : []
    for (part, list) in zip(parts, found) {
      for (place, row) in list.enumerated() where row >= 0 {
        let at = next[Int(row)]
        next[Int(row)] = at + 1
        members[at] = part.ids[place]
        if inOrder, !part.ends.positions.isEmpty { positions[at] = part.ends.positions[place] }
      }
    }
    // Each part is in the order of numbers already.
    guard inOrder || parts.count > 1 else { return (counts, members) }
    var start = 0
    for count in counts where count > 0 {
      let range = start..<(start + Int(count))
      start = range.upperBound
      guard inOrder else {
        members[range].sort()
        continue
      }
      let sorted = range.sorted { (positions[$0], members[$0]) < (positions[$1], members[$1]) }.map { members[$0] }
      members.replaceSubrange(range, with: sorted)
    }
    return (counts, members)
  }
}

/// Finds the rows of owners by their numbers.
private struct OwnerRows {
  private let owners: [Int64]
  private let first: Int64
  /// By number from the first one on, where the numbers have few gaps.
  private var dense: [Int32] = []

  init(_ owners: [Int64]) {
    self.owners = owners
    first = owners.first ?? 0
    let (span, isTooLong) = (owners.last ?? 0).subtractingReportingOverflow(first)
    guard !isTooLong, span / 4 <= Int64(owners.count) + 1000, span >= 0 else { return }
    dense = [Int32](repeating: -1, count: Int(span) + 1)
    for (row, number) in owners.enumerated() { dense[Int(number - first)] = Int32(truncatingIfNeeded: row) }
  }

  func row(of number: Int64) -> Int? {
    guard dense.isEmpty else {
      let (place, isTooLong) = number.subtractingReportingOverflow(first)
      guard !isTooLong, place >= 0, place < Int64(dense.count), dense[Int(place)] >= 0 else { return nil }
      return Int(dense[Int(place)])
    }
    return owners.place(ofSorted: number)
  }
}

extension [Int64] {
  /// The index of a number among numbers in ascending order.
  func place(ofSorted number: Int64) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low] == number ? low : nil
  }
}

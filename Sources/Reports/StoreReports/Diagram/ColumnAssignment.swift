/// Directs the lines of a group so that there is no circle, and gives each box a column.
struct ColumnAssignment {
  /// The columns of the boxes, from 0.
  private(set) var columns: [Int]
  /// The boxes that each box leads to, and those that lead to it.
  private var next: [[Int]]
  private var before: [[Int]]
  private let heights: [Double]

  init(
    diagram: ModelDiagram, links: [Int], ends: [(Int, Int)], heights: [Double], widths: [Double]
  ) {
    self.heights = heights
    columns = Array(repeating: 0, count: heights.count)
    next = heights.map { _ in [] }
    before = next
    var known: Set<[Int]> = []
    var inherited: Set<[Int]> = []
    for (number, (one, other)) in ends.enumerated() where one != other {
      let (first, last) = Self.isReversed(diagram.links[links[number]]) ? (other, one) : (one, other)
      if diagram.links[links[number]].isInheritance { inherited.insert([first, last]) }
      guard known.insert([first, last]).inserted else { continue }
      next[first].append(last)
      before[last].append(first)
    }
    let order = Self.order(next, before) { inherited.contains([$0, $1]) ? 1000 : 1 }
    direct(by: order)
    // About half as high again as wide, like a screen turned: rows are short.
    let area = zip(heights, widths).reduce(0) { $0 + ($1.0 + 30) * ($1.1 + 110) }
    assign(order, limit: max(heights.max() ?? 0, (area * 0.62).squareRoot()))
    tighten(order, limit: max(heights.max() ?? 0, (area * 0.62).squareRoot()))
    compact()
  }

  /// Super-entities stand left of their sub-entities, and owners of many left of those.
  private static func isReversed(_ link: ModelDiagram.Link) -> Bool {
    if link.isInheritance { return true }
    let isToMany = link.to.count.map { $0.upperBound > 1 } ?? false
    let isFromMany = link.from.count.map { $0.upperBound > 1 } ?? false
    return isFromMany && !isToMany
  }

  /// An order of the boxes against which few lines lead (Eades, Lin and Smyth): sinks last, sources first, otherwise
  /// the one with the most lines to others and the fewest from them.
  ///
  /// - Parameter weight: How many lines one counts for: inheritance should keep its direction.
  private static func order(_ next: [[Int]], _ before: [[Int]], weight: (Int, Int) -> Int) -> [Int] {
    var outgoing = next.indices.map { box in next[box].reduce(0) { $0 + weight(box, $1) } }
    var incoming = next.indices.map { box in before[box].reduce(0) { $0 + weight($1, box) } }
    var isLeft = next.map { _ in true }
    var head: [Int] = []
    var tail: [Int] = []
    func take(_ box: Int) {
      isLeft[box] = false
      for other in next[box] where isLeft[other] { incoming[other] -= weight(box, other) }
      for other in before[box] where isLeft[other] { outgoing[other] -= weight(other, box) }
    }
    while head.count + tail.count < next.count {
      let left = next.indices.filter { isLeft[$0] }
      if let sink = left.last(where: { outgoing[$0] == 0 && incoming[$0] > 0 }) {
        tail.append(sink)
        take(sink)
      } else if let source = left.first(where: { incoming[$0] == 0 }) {
        head.append(source)
        take(source)
      } else if let best = left.max(by: {
        (outgoing[$0] - incoming[$0], -$0) < (outgoing[$1] - incoming[$1], -$1)
      }) {
        head.append(best)
        take(best)
      }
    }
    return head + tail.reversed()
  }

  /// Turns lines round that lead against the order.
  private mutating func direct(by order: [Int]) {
    var rank = Array(repeating: 0, count: order.count)
    for (place, box) in order.enumerated() { rank[box] = place }
    var pairs: Set<[Int]> = []
    for box in next.indices {
      for other in next[box] { pairs.insert(rank[box] < rank[other] ? [box, other] : [other, box]) }
    }
    next = next.map { _ in [] }
    before = next
    for pair in pairs.sorted(by: { ($0[0], $0[1]) < ($1[0], $1[1]) }) {
      next[pair[0]].append(pair[1])
      before[pair[1]].append(pair[0])
    }
  }

  /// Each box comes into the first column right of those that lead to it that has room.
  private mutating func assign(_ order: [Int], limit: Double) {
    var used: [Double] = []
    for box in order {
      var column = before[box].map { columns[$0] + 1 }.max() ?? 0
      while column < used.count, used[column] > 0, used[column] + heights[box] > limit { column += 1 }
      while used.count <= column { used.append(0) }
      used[column] += heights[box] + 28
      columns[box] = column
    }
  }

  /// Moves boxes to the right that have more lines there: their lines become shorter.
  private mutating func tighten(_ order: [Int], limit: Double) {
    var used = Array(repeating: 0.0, count: (columns.max() ?? 0) + 1)
    for box in columns.indices { used[columns[box]] += heights[box] + 28 }
    for box in order.reversed() where next[box].count > before[box].count {
      var column = (next[box].map { columns[$0] }.min() ?? columns[box] + 1) - 1
      while column > columns[box], used[column] > 0, used[column] + heights[box] > limit { column -= 1 }
      guard column > columns[box] else { continue }
      used[columns[box]] -= heights[box] + 28
      used[column] += heights[box] + 28
      columns[box] = column
    }
  }

  /// Removes columns without boxes.
  private mutating func compact() {
    let present = Set(columns).sorted()
    var number: [Int: Int] = [:]
    for (index, column) in present.enumerated() { number[column] = index }
    columns = columns.map { number[$0] ?? 0 }
  }
}

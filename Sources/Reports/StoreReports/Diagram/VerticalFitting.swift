/// Moves the items of each column, without changing their order, to where their lines are short and straight.
struct VerticalFitting {
  private let items: [DiagramItem]
  private let edges: [DiagramEdge]
  private let columns: [[Int]]

  init(items: [DiagramItem], edges: [DiagramEdge], columns: [[Int]]) {
    self.items = items
    self.edges = edges
    self.columns = columns
  }

  /// The top of each item.
  func tops() -> [Double] {
    var tops = Array(repeating: 0.0, count: items.count)
    for column in columns {
      var y = 0.0
      for (place, item) in column.enumerated() {
        if place > 0 { y += gap(column[place - 1], item) }
        tops[item] = y
        y += items[item].height
      }
      // Columns begin centered.
      for item in column { tops[item] -= y / 2 }
    }
    for round in 0..<24 {
      let isForward = round.isMultiple(of: 2)
      let isLast = round >= 20
      for column in isForward ? Array(columns.indices) : columns.indices.reversed() {
        fit(column, &tops, left: isForward || isLast, right: !isForward || isLast)
      }
    }
    return tops
  }

  /// The least distance between two items, one below the other.
  private func gap(_ upper: Int, _ lower: Int) -> Double {
    switch (items[upper].box, items[lower].box) {
    case (nil, nil): 10
    case (nil, _), (_, nil): 14
    default: 28
    }
  }

  /// The positions with the least sum of squared distances to the wanted ones that keep order and gaps: neighbors that
  /// would come too close are merged into a block at their common mean.
  private func fit(_ column: Int, _ tops: inout [Double], left: Bool, right: Bool) {
    struct Block {
      var sum: Double
      var weight: Double
      var count: Int
    }
    var blocks: [Block] = []
    /// How far below the first item each one is where nothing has room to spare.
    var shifts: [Double] = []
    var shift = 0.0
    for (place, item) in columns[column].enumerated() {
      if place > 0 {
        let above = columns[column][place - 1]
        shift += items[above].height + gap(above, item)
      }
      shifts.append(shift)
      let (wanted, weight) = wanted(item, tops, left, right)
      var block = Block(sum: (wanted - shift) * weight, weight: weight, count: 1)
      while let last = blocks.last, last.sum / last.weight >= block.sum / block.weight {
        block = Block(sum: block.sum + last.sum, weight: block.weight + last.weight, count: block.count + last.count)
        blocks.removeLast()
      }
      blocks.append(block)
    }
    var place = 0
    for block in blocks {
      for _ in 0..<block.count {
        tops[columns[column][place]] = block.sum / block.weight + shifts[place]
        place += 1
      }
    }
  }

  /// Where an item should be because of its lines, and how much that matters: a line that passes a column should be
  /// straight.
  private func wanted(_ item: Int, _ tops: [Double], _ left: Bool, _ right: Bool) -> (Double, Double) {
    var (sum, weight) = (0.0, 0.0)
    func add(_ other: Int, _ difference: Double) {
      let isPassing = items[item].box == nil
      let strength = isPassing && items[other].box == nil ? 8.0 : isPassing || items[other].box == nil ? 2 : 1
      sum += (tops[other] + difference) * strength
      weight += strength
    }
    if left { for edge in items[item].left { add(edges[edge].from, edges[edge].start - edges[edge].end) } }
    if right { for edge in items[item].right { add(edges[edge].to, edges[edge].end - edges[edge].start) } }
    // Without lines on that side it stays where it is, if there is room.
    return weight > 0 ? (sum / weight, weight) : (tops[item], 0.05)
  }
}
